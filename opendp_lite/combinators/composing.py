"""Several mechanisms on the same data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, overload

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.accounts import AnySpace, require_mechanism
from opendp_lite.combinators.sampling import sample
from opendp_lite.engines.plan import Release
from opendp_lite.engines.rounds import Going, together
from opendp_lite.explain.trace import side_by_side
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.measures.curve import keep_directions
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.pipeline.core import Facts, M, Measurement
from opendp_lite.pipeline.step_call import Call
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.by_name import ByName
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import Errors
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import scalar, vector
from opendp_lite.spelling.description import Proof

S = TypeVar("S", bound=AnySpace)


def composed_parts(call: Call) -> tuple[Any, ...]:
    """The pipelines that a call of ``compose`` was given, one by one or in a list, not by name."""
    return _one_by_one(dict(call.arguments).get("mechanisms", ()))


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
    return keep_directions(loss) if isinstance(first, Call) and first.is_of(sample) else loss


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
            raise ParameterError(
                f"compose adds losses of one measure: {mechanisms[0]!r} has {measure!r}, "
                f"{recipe!r} has {part.output_measure!r}. Put >> dp.to_zcdp() or "
                ">> dp.to_approximate(delta) after the one to convert"
            )

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
