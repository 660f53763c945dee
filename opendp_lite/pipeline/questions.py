"""What every pipeline answers, and what is said of steps that do not fit."""

from __future__ import annotations

import functools
import inspect
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import numpy as np

from opendp_lite import explain as views
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.frozen import OwnCopy
from opendp_lite.base.public_names import FRONT, find_public, read_stub
from opendp_lite.base.spelling import one_line, read, spells, without_parentheses, write
from opendp_lite.engines.where import say_where
from opendp_lite.explain.trace import Explained, TraceStep
from opendp_lite.measures.budgets import Loss
from opendp_lite.measures.curve import least_missed, odds_factor, without_curve
from opendp_lite.measures.divergences import Conversion
from opendp_lite.measures.profile import Profile, accounting_library
from opendp_lite.numbers.exact import Number, confidence_of, exact, quote, round_up
from opendp_lite.pipeline.opendp import translate
from opendp_lite.samplers.law import half_widths
from opendp_lite.spaces.domains import Domain
from opendp_lite.spaces.space import StabilityMap
from opendp_lite.spelling.suggestions import other_names, plain_name

_OF_RELEASES: Final = frozenset(
    (
        *("as_dict", "interval", "intervals", "plot", "rows", "shares", "standard_error"),
        *("standard_errors", "table", "to_csv", "to_frame", "value", "values"),
    )
)
# What people type in place of a call.
_SHOWS: Final = frozenset({"describe", "head", "print", "show", "summary"})
_CALLS: Final = frozenset({"collect", "compute", "evaluate", "execute", "fit", "release", "run"})


def link_text(link: Any, show: Callable[[object], str] = repr) -> str:
    """A step of a recipe as it would be typed; of a partial the function, which has a name."""
    if isinstance(link, functools.partial):
        return link_text(link.func, show)
    named = isinstance(link, type | np.ufunc) or inspect.isroutine(link)
    return one_line(str(link.__name__) if named else show(link))


def brief(link: object) -> str:
    """As ``link_text``, in a refusal: many values in a step may be data, given by mistake."""
    if isinstance(link, Pipeline):
        return " >> ".join(map(brief, link.spell()[1]["steps"]))
    # A function object of a person's own may print the data that it holds.
    own = type(link).__module__.startswith(f"{FRONT}.")
    return link_text(link, str if own else lambda each: type(each).__name__)


class Pipeline(OwnCopy):
    """What can be asked of every pipeline, bound to a space or not."""

    __slots__ = ()
    __array_ufunc__ = None

    if not TYPE_CHECKING:
        # Hidden from type checkers, which are to flag what is refused here.

        def __getattr__(self, name: str) -> NoReturn:
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            hint = ""
            if name in _OF_RELEASES:
                hint = f"; a release has it: pipeline(data).{name}"
            elif name in _CALLS:
                hint = "; a pipeline is called on data: pipeline(data)"
            elif name in _SHOWS:
                hint = (
                    "; print(pipeline.explain()) shows its steps, print(pipeline(data)) a release"
                )
            elif name in read_stub(FRONT):
                hint = f"; steps are joined by >>: pipeline >> dp.{name}(...)"
            elif plain_name(name) in other_names():
                hint = f"; {other_names()[plain_name(name)]}"
            raise AttributeError(f"{said}{hint}", name=name, obj=self)

        def _refuse_arithmetic(self, *_: object) -> NoReturn:
            raise SpaceError(
                f"{brief(self)} is a pipeline, not a number yet: call it on data, as in "
                "pipeline(data), and compute with what it releases"
            )

        def _refuse_bar(self, _: object) -> NoReturn:
            raise SpaceError("steps are joined by >>, not by |: write first >> second")

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_arithmetic
        __truediv__ = __rtruediv__ = __pow__ = __neg__ = __abs__ = _refuse_arithmetic
        __float__ = __int__ = __round__ = _refuse_arithmetic
        __lt__ = __le__ = __gt__ = __ge__ = _refuse_arithmetic
        __or__ = __ror__ = _refuse_bar

    @property
    @abstractmethod
    def bound(self) -> Any:
        """The pipeline bound to a space."""

    @abstractmethod
    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""

    def __repr__(self) -> str:
        _, arguments = self.spell()
        return " >> ".join(map(link_text, arguments["steps"]))

    def neighbours(self, d_in: object = 1) -> str:
        """Says what it is to be ``d_in`` apart: "adding or removing one row", say."""
        metric = self.bound.input_space.metric
        return str(metric.words(metric.distance(d_in)))

    def explain(self, d_in: object = 1, *, data: object = None) -> views.Explanation:
        """A line for each step: domain, metric, multiplier and distance; then the result.

        Args:
            d_in: How far apart neighbouring datasets are.
            data: A lazy frame of polars, a relation of DuckDB, or a frame of Spark, say. Then lines
                follow on what the engine computes, and for what its rows come in batches. No row
                of these is read; a list is looked at.
        """
        bound = self.bound
        explained = self._explain_by(d_in)
        if data is None:
            return views.Explanation.of(explained)
        rows = bound.input_space.domain.to_internal(data)
        return views.Explanation.of(explained, say_where(bound.function, rows, data))

    def draw(self, d_in: object = None) -> views.Drawing:
        """A picture for inputs ``d_in`` apart, by default one unit of privacy; prints as text."""
        return views.Drawing(self._drawn(d_in))

    def _repr_html_(self) -> str:
        return self.draw().in_notebook()

    def _drawn(self, d_in: object) -> Explained:
        return self._explain_by(self.bound.input_space.unit if d_in is None else d_in)

    def _explain_by(self, d_in: object) -> Explained:
        bound = self.bound
        space = bound.input_space
        distance = space.metric.distance(d_in)
        start = TraceStep(space, map=StabilityMap(space.metric), space=space)
        return Explained(
            (start, *bound.trace), distance, self.neighbours(d_in), *self._result_of(d_in)
        )

    @abstractmethod
    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        """What a pipeline comes to: of what kind, how much, and why."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as the steps that ``>>`` joins, each by the name that a person types."""
        _, arguments = self.spell()
        return functools.reduce, (operator.rshift, tuple(arguments["steps"]))

    def to_opendp(self) -> Any:
        """The same steps as a measurement or transformation of OpenDP's library.

        Its maps are OpenDP's own. ``docs/coming-from.md`` says what is the same.

        Returns:
            An ``opendp.prelude.Measurement``, or ``Transformation`` where no noise was added.

        Raises:
            ParameterError: If OpenDP is not installed.
            SpaceError: If OpenDP has no twin of a step, or refuses it. It wants features enabled.

        Example:
            >>> import opendp.prelude  # doctest: +SKIP
            >>> import opendp_lite as dp
            >>> opendp.prelude.enable_features("contrib")  # doctest: +SKIP
            >>> total = dp.clamp(0, 10) >> dp.sum() >> dp.laplace(epsilon=1)
            >>> total.to_opendp().map(1)  # doctest: +SKIP
            1.000000009313226
        """
        return translate(self.bound)

    def to_json(self) -> str:
        """The pipeline as JSON; ``dp.from_json`` reads it back."""
        return write(self)


class LossQuestions(Pipeline):
    """What can be asked of a release before it is made: no data is read."""

    __slots__ = ()

    def map(self, d_in: object = 1) -> Any:
        """The privacy loss for inputs ``d_in`` apart, rounded up where shown."""
        return self.bound.output_measure.show(self._loss(d_in))

    def loss(self, d_in: object = 1) -> Any:
        """As ``map``, exactly: the loss as rational numbers."""
        return without_curve(self._loss(d_in))

    def _loss(self, d_in: object) -> Loss:
        bound = self.bound
        found: Loss = bound.privacy_map(bound.input_space.metric.distance(d_in))
        return found

    def check(self, d_in: object, d_out: object) -> bool:
        """Whether the loss for inputs ``d_in`` apart is at most ``d_out``."""
        measure = self.bound.output_measure
        return bool(measure.within(self._loss(d_in), measure.loss(d_out)))

    def privacy_profile(self, d_in: object = 1) -> Profile:
        """The (epsilon, delta) curve for inputs ``d_in`` apart."""
        found: Profile = self.bound.output_measure.profile(self._loss(d_in))
        return found

    def epsilon(self, delta: object, d_in: object = 1) -> float:
        """An epsilon that holds at this delta, rounded up."""
        return round_up(self.privacy_profile(d_in).epsilon(_probability(delta)))

    def delta(self, epsilon: object, d_in: object = 1) -> float:
        """A delta that holds at this epsilon, rounded up."""
        return round_up(self.privacy_profile(d_in).delta(exact(epsilon, "epsilon")))

    def statement(self, d_in: object = 1, *, delta: Number | None = None) -> views.Statement:
        """What a release protects, how well, and what it relies on, in plain words.

        No data is read, and nothing in it depends on data. ``str()`` gives the words,
        ``as_dict()`` what JSON can hold. A notebook shows a table.

        Args:
            d_in: How far apart neighbouring datasets are: a number of rows or of people.
            delta: Where epsilon is read off the curve; by default 1e-6, or the least delta at
                which the loss holds.

        Returns:
            A ``Statement``: its fields are the loss, the unit of privacy, what is public, and so
            on. ``docs/statements.md`` explains them.

        Raises:
            ParameterError: If no epsilon holds at ``delta``, or ``d_in`` is not above 0.
        """
        return views.make_statement(self.bound, d_in, delta)

    def tradeoff(self, alpha: object, d_in: object = 1) -> float:
        """How often a test for one unit certainly misses it, rounded down.

        Somebody looks at the release and says whether one unit is in the data.

        Args:
            alpha: How often they may say so of a unit that is not there: between 0 and 1.
            d_in: How many units are in question together.

        Returns:
            The least share of cases in which they miss a unit that is there. 1 - alpha tells
            nothing at all.

        Raises:
            ParameterError: If ``alpha`` is not between 0 and 1.

        Proof:
            Wasserman and Zhou 2010, theorem 2.4; Dong, Roth, Su 2022, equation 5: the best
            bound of all points on the curve of epsilon and delta.

        Example:
            >>> import opendp_lite as dp
            >>> round((dp.count() >> dp.gaussian(mu=1)).tradeoff(0.05), 4)
            0.7405
        """
        missed = least_missed(self.privacy_profile(d_in), _probability(alpha, "alpha"))
        return 0.0 - round_up(-missed)

    def odds(self, delta: object = 0, d_in: object = 1) -> float:
        """How far the release moves anybody's odds about one unit: by a factor of at most this.

        The odds are those of two neighbouring datasets, such as 1 to 9 that a person is in the
        data. The release multiplies or divides them by at most this number, whatever else people
        know.

        Args:
            delta: The bound holds except with this probability over the noise. With 0 it holds for
                certain: only a pure loss has such a bound.
            d_in: How many units are in question together.

        Returns:
            A number of at least 1, rounded up. It is e^epsilon for a pure loss.

        Raises:
            ParameterError: If no factor is known at this ``delta``.

        Proof:
            By Bayes' rule the odds change by e^loss (Kasiviswanathan and Smith 2014). The tail of
            the loss is bounded by the curve of epsilon and delta: see ``odds_factor``.

        Example:
            >>> import opendp_lite as dp
            >>> round((dp.count() >> dp.laplace(epsilon=1)).odds(), 3)
            2.718
            >>> round((dp.count() >> dp.gaussian(rho=0.03)).odds(delta=0.01), 2)
            2.04
        """
        return round_up(odds_factor(self.privacy_profile(d_in), _probability(delta)))

    def to_dp_event(self, d_in: object = 1) -> Any:
        """The loss as an event of the package dp_accounting, for its accountants.

        Gaussian and Laplace noise become the events of that name, and what ``dp.compose`` joins a
        composed event. A choice by the exponential mechanism becomes its own event where the
        installed version has it. Any other pure loss becomes randomised response, and a zCDP loss
        a ``ZCDpEvent``. No event loses less than the release. The sensitivity is in the event, so
        the accountant keeps its relation "add or remove one".

        Args:
            d_in: How many units are in question together.

        Returns:
            A ``dp_accounting.DpEvent``.

        Raises:
            ParameterError: If dp-accounting is not installed.
            SpaceError: If the loss is known at one delta alone.
        """
        return self.privacy_profile(d_in).dp_event(accounting_library())

    def accuracy(self, confidence: Number, jointly: bool = False) -> Any:
        """How far off the release may be, known before it is made: no data is read.

        It is for pipelines that end in additive noise. What is clipped or left out before the
        noise is no part of it.

        Args:
            confidence: 0.95, say: the probability that an entry is no further off.
            jointly: Whether it is the probability that no entry at all is further off.

        Returns:
            A number, in the units of the data. The released entry differs from the exact value by
            at most that much. For several releases of different noise, as ``dp.compose`` makes, or
            for columns of different noise, an array with one number for each, in order.

        Raises:
            ParameterError: If ``confidence`` is not between 0 and 1.
            SpaceError: If what is released is not a value with noise of a declared law.

        Proof:
            From the exact tail of the noise, rounded up. m entries are within their bounds together
            with probability c, or more, if each is with c^(1/m): their noises are independent, or
            they are those of the l2 mechanism (``samplers.error_law``).
        """
        errors = self.bound.facts.errors
        if not errors:
            raise SpaceError(
                "accuracy is for pipelines that end in additive noise, such as "
                f"dp.laplace(epsilon=1); {brief(self)} releases something else. Leave out what "
                "follows the noise, and dp.sample around it. Ask dp.expected_error(pipeline, "
                "n=1000, guess=40) of a mean of one column; for dp.by around a mean ask it of "
                "that mean, with n the rows of one group. Or give a step that takes it "
                "confidence=0.95"
            )
        share = confidence_of(confidence, "accuracy: confidence")
        found = [round_up(width) for width in half_widths(errors, share, jointly)]
        return found[0] if len(found) == 1 else np.array(found)

    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        words = self.bound.output_measure.words(self._loss(d_in))
        return "loss", words, str(self.bound.facts.explanation)


def _probability(given: object, name: str = "delta") -> Fraction:
    value = exact(given, name)
    if not 0 <= value <= 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {given}")
    return value


def _pipeline(steps: Iterable[object]) -> object:
    return functools.reduce(operator.rshift, steps)


def _step(name: str) -> Callable[..., object] | None:
    """The step of the package, imported now; None where none has this name."""
    return cast("Callable[..., object] | None", next(filter(spells, find_public(name)), None))


def from_json(text: str, extra: Iterable[Callable[..., object]] = ()) -> Any:
    """Reads the pipeline that ``to_json`` wrote.

    Args:
        text: The JSON text.
        extra: Your own steps that the pipeline uses.

    Returns:
        A pipeline that equals the one written.

    Raises:
        ParameterError: If the text spells anything but steps of this package and ``extra``.
            Nothing else in a file is ever called.

    Example:
        >>> import opendp_lite as dp
        >>> pipeline = dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=0.03)
        >>> dp.from_json(pipeline.to_json()) == pipeline
        True
    """
    own = {"pipeline": _pipeline} | {function.__name__: function for function in extra}
    return read(text, lambda name: own.get(name) or _step(name))


def heading(link: object) -> str:
    """A step of a recipe with three dots for each pipeline in it."""
    return link_text(link) if callable(link) else str(getattr(link, "heading", link))


def brief_heading(link: object) -> str:
    """As ``heading``, in a refusal."""
    return brief(getattr(link, "elided", link))


def refuse_no_data(pipeline: object, more: tuple[object, ...]) -> SpaceError:
    """The refusal of a call without data, or with more than that."""
    alone = " alone, and a step before picks a column: dp.select('age') >> pipeline" if more else ""
    return SpaceError(f"{brief(pipeline)} is called on data{alone}: write pipeline(data)")


def check_follower(other: object, recipe: tuple[object, ...]) -> None:
    """Refuses what cannot come after noise."""
    refusal = getattr(other, "refusal", None)
    if refusal is not None and (reason := refusal(recipe)):
        problem = SpaceError(reason)
    elif isinstance(other, Pipeline):
        problem = SpaceError(
            f"{brief(other)} works on data and cannot follow noise; put it before the mechanism. "
            "Only a plain function of the release can follow"
        )
    elif forgotten := without_parentheses(other):
        problem = forgotten
    elif callable(other) or isinstance(other, Conversion):
        return
    else:
        problem = SpaceError(f"only a function of the release can follow it, got {quote(other)}")
    raise _at_the_end(problem, recipe, other)


def refuse_step(other: object, recipe: tuple[object, ...]) -> SpaceError:
    """The refusal of what cannot follow the transformation of a recipe."""
    if forgotten := without_parentheses(other):
        problem = forgotten
    elif callable(other):
        before = recipe[-1] if recipe else "the step before"
        problem = SpaceError(
            f"{brief(other)} is a plain function and follows {before}, before any noise: its "
            "effect on privacy is unknown. Put it after laplace() or gaussian(), or write it as a "
            "step with a stability map under @dp.stage"
        )
    else:
        problem = SpaceError(
            f">> joins pipeline steps; {quote(other)} is not one. To ask something of a whole "
            "pipeline, put parentheses around it: (a >> b).map(1)"
        )
    return _at_the_end(problem, recipe, other)


def _at_the_end(problem: SpaceError, recipe: tuple[object, ...], other: object) -> SpaceError:
    shown = brief(other) if callable(other) else quote(other)
    return views.pointing(problem, [*map(brief_heading, recipe), shown], len(recipe))


def refuse_kind(
    step: str, needs: tuple[type[Domain], ...], giver: object, given: type[Domain]
) -> SpaceError:
    """The refusal of a kind of domain that a step is not for; it may need none by name."""
    if not needs:
        return SpaceError(f"{step} does not name {given.kind} in its annotation; {given.onward}")
    alone = "" if needs[1:] else needs[0].given
    return SpaceError(
        f"{step} needs {alone or needs[0].kind}; {giver} gives {given.given or given.kind}. "
        f"{needs[0].bridge_from(given)}"
    )


def refuse_no_space(pipeline: object) -> SpaceError:
    """The refusal of steps that bind themselves to no space."""
    shown = brief(pipeline)
    return SpaceError(
        f"{shown} needs an input space. Write dp.records(columns=['age', 'visits']) >> "
        f"{shown}; the pipelines in it have no space of their own (dp.select('age') >> ...)"
    )


def refuse_start(before: object) -> SpaceError:
    """The refusal of what no pipeline starts from."""
    return without_parentheses(before) or SpaceError(
        "a pipeline starts from a space such as dp.records(); call it on data instead: "
        f"pipeline(data). Got {type(before).__name__}"
    )
