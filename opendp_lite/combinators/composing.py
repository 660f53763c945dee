"""Several mechanisms on the same data: all of them, the best of them, or the one that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import expm1, inf, isnan
from typing import Any, ClassVar, Final, Protocol, TypeVar, cast, overload

import attrs
import numpy as np

from opendp_lite import combinators
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.combinators.accounts import AnySpace, require_mechanism
from opendp_lite.engines.plan import Release
from opendp_lite.engines.rounds import Going, together
from opendp_lite.explain.trace import side_by_side
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.measures import divergences
from opendp_lite.measures.budgets import numbers_of
from opendp_lite.measures.curve import keep_directions
from opendp_lite.measures.divergences import AnyMeasure, MaxDivergence
from opendp_lite.metrics.distances import Distance
from opendp_lite.numbers.exact import Number, exact, nearest, quote, short_below
from opendp_lite.pipeline.core import Facts, M, Measurement
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.step_call import Call
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimates import ByName
from opendp_lite.samplers.choice import below, logarithmic
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import Errors
from opendp_lite.spaces.space import example, scalar, vector
from opendp_lite.spelling.description import Proof, opendp_twin

S = TypeVar("S", bound=AnySpace)


def composed_parts(call: Call) -> tuple[Any, ...]:
    """The pipelines that a call of ``compose`` was given, one by one or in a list, not by name."""
    return _one_by_one(dict(call.arguments).get("mechanisms", ()))


def _refuse_measures(*parts: tuple[object, AnyMeasure]) -> ParameterError:
    """Of two pipelines of other measures, with the line that converts one of them."""
    of_each = {
        measure: f"{brief(part)} states {' and '.join(measure.parameters)}"
        for part, measure in parts
    }
    said = f"compose adds losses of one measure: {', and '.join(of_each.values())}. "
    measures = [measure for _, measure in parts]
    pair: AnyMeasure = divergences.ApproximateDivergence()
    step = "dp.to_approximate(1e-7)"
    if not {pair, divergences.GaussianDivergence()}.intersection(measures):
        pair, step = divergences.ZeroConcentratedDivergence(), "dp.to_zcdp()"
    typed = [
        f"{brief(part)}" if measure == pair else f"{brief(part)} >> {step}"
        for part, measure in parts
    ]
    return ParameterError(f"{said}Convert the parts, as in dp.compose({', '.join(typed)})")


def _one_by_one(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """What was given in a list as if it was given one by one."""
    return given[0] if len(given) == 1 and isinstance(given[0], tuple) else given


def _errors_of(parts: Sequence[Facts]) -> tuple[Errors, ...]:
    """Those of all parts; none where one of them has none."""
    known = all(part.errors for part in parts)
    return tuple(each for part in parts for each in part.errors) if known else ()


@attrs.frozen(eq=False)
class SideBySide:
    """The releases of all parts, side by side; each pass that they ask for is one for all.

    Args:
        releases: Of the parts.
        put: Makes of them what is released.
    """

    releases: tuple[Release, ...]
    put: Callable[[Sequence[object]], object]
    asks: ClassVar[bool] = True

    def __call__(self, values: Sequence[object], entropy: Entropy) -> Going:
        pairs = zip(self.releases, values, strict=True)
        found = yield from together([each.begin(value, entropy) for each, value in pairs])
        return self.put(found)


@attrs.frozen(eq=False)
class _Because:
    """Where the loss comes from: the parts, and why each loses what it does."""

    parts: Mapping[str, object]

    def __str__(self) -> str:
        lines = (
            f"  {name}: {line}" if place == 0 else f"    {line}"
            for name, explanation in self.parts.items()
            for place, line in enumerate(str(explanation).splitlines())
        )
        return "\n".join(["the losses of the parts add up", *lines])


def _loss_of(part: Measurement[Any, AnyMeasure], distance: Fraction) -> object:
    """The loss of a part: in each direction where it is a sample of the very rows of all parts."""
    loss, first = part.privacy_map(distance), part.recipe[0] if part.recipe else None
    found = keep_directions(loss)
    # By its folder, so that who samples nothing does not import how rows are chosen.
    if found is not loss and isinstance(first, Call) and first.is_of(combinators.sample):
        return found
    return loss


@overload
def compose(first: Mechanism[S, M], /, *mechanisms: Mechanism[S, M]) -> Mechanism[S, M]: ...
@overload
def compose(mechanisms: Sequence[Mechanism[S, M]], /) -> Mechanism[S, M]: ...
@overload
def compose(**named: Mechanism[S, M]) -> Mechanism[S, M, ByName]: ...
@mechanism(
    does="Releases several mechanisms of the same rows, in one pass over the data.",
    proof=Proof(
        "Basic composition; Gaussian curves and loss distributions by theorems of their own.",
        adding="the sum of the losses",
        replacing="the sum of the losses",
        sources=[
            "Dwork and Roth 2014, theorem 3.16",
            "Bun and Steinke 2016, lemma 1.7, for zCDP",
            "Dong, Roth, Su 2022, corollary 2, for Gaussian curves",
            "Zhu, Dong, Wang 2022, theorem 10, for privacy loss distributions",
            "Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022",
        ],
    ),
    examples=lambda: [
        example(vector(2), gaussian(rho=1), gaussian(scale=3)),
        example(scalar(), [laplace(epsilon=1), laplace(epsilon=0.1)]),
        example(scalar(), first=laplace(epsilon=1), second=laplace(epsilon=0.1)),
    ],
)
@opendp_twin(
    lambda here, mechanisms=(), **named: here.add_parts(
        tuple(dict(named.get("named", ())).values()) or _one_by_one(mechanisms)
    )
)
def compose(space: S, /, *mechanisms: Any, **named: Any) -> Measurement[S, Any, Any]:
    """Releases several mechanisms of the same rows, in one pass over the data.

    Args:
        *mechanisms: One or more pipelines that end in noise, with their losses in one measure, one
            by one or in a list. They are bound to no space of their own.
        **named: In their place pipelines with names, such as ``rows=dp.count() >>
            dp.laplace(epsilon=1)``. For names with spaces write ``**{"mean age": ...}``.

    Returns:
        A tuple of the releases, in order. With names a ``ByName``, a mapping in this order, of
        which ``as_dict()`` is for JSON.

    Raises:
        ParameterError: If the measures differ. ``to_zcdp()`` and ``to_approximate(delta)`` convert.
        ParameterError: If some parts have names and others have none.

    Example:
        >>> import opendp_lite as dp
        >>> both = dp.compose(
        ...     dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=0.1),
        ...     dp.count() >> dp.laplace(epsilon=0.2),
        ... )
        >>> both.map(1)
        0.3
        >>> report = dp.compose(
        ...     rows=dp.count() >> dp.laplace(epsilon=1), age=dp.mean(0, 100, epsilon=1)
        ... )
        >>> list(report([40.0, 50.0] * 500))
        ['rows', 'age']
    """
    if mechanisms and named:
        raise ParameterError(
            "compose takes all parts by name or none; write part=... for those without"
        )
    mechanisms = tuple(named.values()) or _one_by_one(mechanisms)
    if not mechanisms:
        raise ParameterError("compose needs at least one mechanism")
    for each in mechanisms:
        if isinstance(each, Mapping):
            raise ParameterError(
                "compose takes names in the call: write two stars, dp.compose(**parts)"
            )
        require_mechanism(each, "compose", "the rows of all")
    # Of parts that are written once and given many times, all is worked out once.
    bound = {id(each): each.bind(space) for each in mechanisms}
    parts: list[Measurement[S, AnyMeasure]] = [bound[id(each)] for each in mechanisms]
    measure = parts[0].output_measure
    for part, recipe in zip(parts, mechanisms, strict=True):
        if part.output_measure != measure:
            raise _refuse_measures((mechanisms[0], measure), (recipe, part.output_measure))

    names = tuple(named) or tuple(f"part {place}" for place in range(1, len(parts) + 1))
    releases = tuple(part.function for part in parts)

    def privacy_map(distance: Fraction) -> object:
        losses = {id(part): _loss_of(part, distance) for part in bound.values()}
        return measure.together([losses[id(part)] for part in parts])

    def put(found: Sequence[object]) -> ByName | tuple[object, ...]:
        return ByName(dict(zip(names, found, strict=True))) if named else tuple(found)

    return Measurement(
        space,
        measure,
        Release(tuple(each.of for each in releases), SideBySide(releases, put)),
        privacy_map,
        Facts(
            laws=tuple(law for part in parts for law in part.facts.laws),
            explanation=_Because(
                {name: part.facts.explanation for name, part in zip(names, parts, strict=True)}
            ),
            errors=_errors_of([part.facts for part in parts]),
        ),
        trace=side_by_side(dict(zip(names, (part.trace for part in parts), strict=True))),
    )


_MOST_RUNS: Final = 10**4
_FASTEST: Final = 40.0
_HALVINGS: Final = 60


def rate_for(runs: Fraction) -> Fraction:
    """The rate at which a logarithmic number has about this mean, above 1."""
    low, high, mean = 0.0, _FASTEST, nearest(runs)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if expm1(middle) > mean * middle else (middle, high)
    return short_below(Fraction(high))


@mechanism(
    does="Makes many releases and releases only the one of the highest score.",
    proof=Proof(
        "For a logarithmic number of runs K, a release has the probability of one run times a "
        "mean of f', with f(q) the mean of q^K. Each of the two changes by a factor of "
        "exp(epsilon) at most.",
        adding="2 epsilon k",
        replacing="2 epsilon k",
        sources=[
            "Papernot and Steinke 2022",
            "Liu and Talwar 2019, for a geometric number of runs",
        ],
    ),
)
def best_of(
    space: S,
    *mechanisms: Mechanism[S, MaxDivergence],
    score: Callable[[Any], float],
    runs: Number = 10,
) -> Measurement[S, MaxDivergence, tuple[int, Any]]:
    """Makes many releases and releases only the one of the highest score.

    Each run picks one of the mechanisms, each as likely. It costs twice as much as one release,
    however many runs there are. Use it where a mechanism has parameters to choose, and its release
    says how good they are.

    The number of runs is random and must stay secret. A person who sees how long a release took
    learns about it, and the loss does not count that.

    Only the chosen release may leave. The score, functions after the noise of a mechanism and
    programs in it see the releases of all runs. They must neither keep nor show any of them, such
    as in a list or a log. No library can watch a function of yours.

    Args:
        *mechanisms: One or more pipelines that end in noise, under ``MaxDivergence``. They are
            bound to no space of their own.
        score: A function from a release to a number, which keeps and shows nothing. NaN counts as
            the lowest.
        runs: The mean number of runs, above 1 and at most 10 000. Few runs are likely: at a mean
            of 10, one of 4 releases is the only run.

    Returns:
        The index of the mechanism, and its release. Of equal scores the first is taken.

    Raises:
        ParameterError: If there is no mechanism, or ``runs`` is out of its range.
        SpaceError: If a loss is not under ``MaxDivergence``.

    Example:
        >>> import opendp_lite as dp
        >>> def clipped(limit):
        ...     rows = dp.clamp(0, limit)
        ...     kept = dp.transformations.indicator_below(limit) >> dp.sum()
        ...     return dp.compose(
        ...         rows >> dp.sum() >> dp.laplace(epsilon=0.2), kept >> dp.laplace(epsilon=0.2)
        ...     )
        >>> choice = dp.combinators.best_of(
        ...     clipped(10), clipped(100), score=lambda release: float(release[1][0]), runs=20
        ... )
        >>> choice.map(1)
        0.8
        >>> index, (total, kept) = choice([42.0] * 1000)
    """
    if not mechanisms:
        raise ParameterError("best_of needs at least one mechanism")
    if not callable(score):
        raise ParameterError(f"best_of: score is a function of a release, got {quote(score)}")
    mean = exact(runs, "runs")
    if not 1 < mean <= _MOST_RUNS:
        raise ParameterError(
            f"best_of: runs is a mean above 1 and at most {_MOST_RUNS}, got {quote(runs)}"
        )
    parts = [_part(each, space) for each in mechanisms]
    releases = [part.function for part in parts]
    rate = rate_for(mean)

    def release(values: tuple[object, ...], entropy: Entropy) -> tuple[int, object]:
        best: tuple[int, object] | None = None
        most = -inf
        for _ in range(logarithmic(rate, entropy)):
            index = below(len(parts), entropy)
            found = releases[index].release(values[index], entropy)
            scored = _number(score(found))
            if best is None or scored > most:
                best, most = (index, found), -inf if isnan(scored) else scored
        assert best is not None
        return best

    def privacy_map(distance: Distance) -> Fraction:
        return 2 * max(max(numbers_of(part.privacy_map(distance))) for part in parts)

    return Measurement(
        space,
        MaxDivergence(),
        Release(tuple(each.of for each in releases), release),
        privacy_map,
        Facts(explanation=f"twice the largest loss; about {nearest(mean):.6g} runs"),
    )


def _number(scored: object) -> float:
    """What a score function gave, refused where it is no number."""
    if isinstance(scored, np.ndarray) and scored.shape != ():
        first = ", ".join("0" for _ in scored.shape)
        mend = f"write r[{first}]" if scored.size == 1 else "take one of them, or their sum"
        raise ParameterError(
            f"best_of: score must give one number, got an array of shape {scored.shape}; {mend}"
        )
    try:
        return float("" if isinstance(scored, str) else cast(float, scored))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"best_of: score must give one number, got {type(scored).__name__}"
        ) from None


def _part(
    given: Mechanism[S, MaxDivergence] | Sequence[object], space: S
) -> Measurement[S, MaxDivergence]:
    if isinstance(given, tuple | list):
        raise ParameterError("best_of takes mechanisms one by one; write best_of(*list, score=...)")
    require_mechanism(given, "best_of", "the rows of all")
    part = cast(Mechanism[S, MaxDivergence], given).bind(space)
    if part.output_measure != MaxDivergence():
        raise SpaceError(
            f"best_of: {brief(given)} has its loss under {part.output_measure!r}, for which no "
            "exact price is known; use laplace(epsilon=) or another pure mechanism"
        )
    return part


class Priced(Protocol):
    """A pipeline with a loss: a ``Mechanism`` or a ``Measurement``, not a ``Stage``."""

    def loss(self, d_in: object = 1) -> Any: ...
    def check(self, d_in: object, d_out: object) -> bool: ...


AnyPriced = TypeVar("AnyPriced", bound=Priced)
_DOUBLINGS = 1000


@overload
def calibrate(
    make: Callable[[int], AnyPriced], d_out: object, d_in: object = 1, *, bounds: tuple[int, int]
) -> AnyPriced: ...
@overload
def calibrate(
    make: Callable[[float], AnyPriced],
    d_out: object,
    d_in: object = 1,
    bounds: tuple[float, float] | None = None,
) -> AnyPriced: ...
def calibrate(
    make: Callable[[Any], AnyPriced],
    d_out: object,
    d_in: object = 1,
    bounds: tuple[float, float] | None = None,
) -> AnyPriced:
    """Builds the pipeline whose loss comes closest to a target from below, by bisection.

    Args:
        make: From one parameter to a pipeline. Its loss rises or falls with the parameter
            throughout.
        d_out: The target loss.
        d_in: How many units are added, removed or replaced.
        bounds: Bounds of the parameter, by default any number above 0. Two whole numbers search
            whole numbers.

    Returns:
        ``make(parameter)`` for the best parameter found. Its loss is at most ``d_out``.

    Raises:
        ParameterError: If no parameter, or every one, meets the target.

    Example:
        >>> import opendp_lite as dp
        >>> found = dp.calibrate(lambda s: dp.count() >> dp.laplace(scale=s), d_out=0.5)
        >>> found.map(1)
        0.5
    """

    def fits(value: float) -> bool:
        return make(value).check(d_in, d_out)

    whole = bounds is not None and all(isinstance(bound, int) for bound in bounds)
    low, high = _bracket(fits) if bounds is None else bounds
    if not low < high:
        raise ParameterError(f"calibrate: bounds must rise, got {low} and {high}")
    rising = fits(low)
    if rising == fits(high):
        outcome = "meets" if rising else "misses"
        raise ParameterError(
            f"calibrate: the loss {outcome} d_out = {d_out} at both {low} and {high}; "
            "widen the bounds or change the target"
        )
    good, bad = (low, high) if rising else (high, low)
    while (middle := (good + bad) // 2 if whole else (good + bad) / 2) not in (good, bad):
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return make(good)


def _bracket(fits: Callable[[float], bool]) -> tuple[float, float]:
    """Two positive numbers of which one meets the target and one does not."""
    low = high = 1.0
    start = fits(1.0)
    for _ in range(_DOUBLINGS):
        low, high = low / 2, high * 2
        if fits(high) != start:
            return high / 2, high
        if fits(low) != start:
            return low, low * 2
    raise ParameterError("calibrate: no parameter above 0 changes whether the target is met")
