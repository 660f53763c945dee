"""The algebra: transformations, measurements, and how they are joined."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

import attrs
import numpy as np

from opendp_lite.by_hand import NO_RECIPE, ByHand, by_hand
from opendp_lite.documents import without_parentheses, write
from opendp_lite.drawing.broken_chain import pointing
from opendp_lite.drawing.drawing import Drawing
from opendp_lite.drawing.explanation import Explanation
from opendp_lite.engines.deferred import Released, chained, identity, query_of, release_of
from opendp_lite.errors import OpenDPLiteError, ParameterError, SpaceError, shortened
from opendp_lite.exact import Number, confidence_of, described, exact, round_up
from opendp_lite.explain import Explained, Map, Role, TraceStep, after_noise, at_release, at_space
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import Conversion, to_approximate, to_zcdp
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.dp_events import accounting_library
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import Profile
from opendp_lite.measures.tradeoff import least_missed, odds_factor
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.not_private import marked
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy, SecureEntropy
from opendp_lite.samplers.error_law import Errors, half_widths
from opendp_lite.samplers.law import Law
from opendp_lite.spaces import Space
from opendp_lite.statements.stated import stated
from opendp_lite.statements.statement import Statement

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    R = WithDefault("R", covariant=True, default=Any)
else:
    R = TypeVar("R", covariant=True)

In = TypeVar("In", bound=Space[Any], contravariant=True)
Out = TypeVar("Out", bound=Space[Any], covariant=True)
M = TypeVar("M", bound=Measure[Any])
M2 = TypeVar("M2", bound=Measure[Any])
Release = TypeVar("Release", contravariant=True)
Next = TypeVar("Next", covariant=True)


class Function(Protocol[Release, Next]):
    """A plain function of a release: what may follow noise.

    Pipelines can be called too, but have no ``__name__``: that is how type checkers tell them
    apart. A callable object without a name goes into a lambda.
    """

    @property
    def __name__(self) -> str: ...

    def __call__(self, release: Release, /) -> Next: ...


class Pipeline:
    """What can be asked of every pipeline, bound to a space or not."""

    __slots__ = ()
    __array_ufunc__ = None

    @property
    @abstractmethod
    def bound(self) -> Any:
        """The pipeline bound to a space."""

    @abstractmethod
    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""

    def neighbours(self, d_in: object = 1) -> str:
        """Says what it is to be ``d_in`` apart: "adding or removing one row", say."""
        metric = self.bound.input_space.metric
        return str(metric.words(metric.distance(d_in)))

    def explain(self, d_in: object = 1) -> Explanation:
        """A line for each step: domain, metric, multiplier and distance; then the result."""
        return Explanation.of(self._explained(d_in))

    def draw(self, d_in: object = None) -> Drawing:
        """A picture for inputs ``d_in`` apart, by default one unit of privacy; prints as text."""
        return Drawing(self._drawn(d_in))

    def _repr_html_(self) -> str:
        return self.draw().in_notebook()

    def _drawn(self, d_in: object) -> Explained:
        return self._explained(self.bound.input_space.unit if d_in is None else d_in)

    def _explained(self, d_in: object) -> Explained:
        bound = self.bound
        distance = bound.input_space.metric.distance(d_in)
        steps = at_space(bound.input_space), *bound.trace
        return Explained(steps, distance, self.neighbours(d_in), *self._result_of(d_in))

    @abstractmethod
    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        """What a pipeline comes to: of what kind, how much, and why."""

    def to_json(self) -> str:
        """The pipeline as JSON; ``dp.from_json`` reads it back."""
        return write(self)


class Stable(Pipeline, Generic[In, Out]):
    """What can be asked of a transformation, bound to a space or not."""

    __slots__ = ()

    @property
    @abstractmethod
    def bound(self) -> Transformation[In, Out]:
        """The transformation bound to a space: by default one column of private size."""

    def __call__(self, data: Any) -> Any:
        """The exact result. It is not private, and its repr says so."""
        try:
            return self.bound._result(data)
        except OpenDPLiteError as problem:
            raise shortened(problem) from problem.__cause__

    def map(self, d_in: object = 1) -> Any:
        """How far apart outputs can be for inputs ``d_in`` apart, rounded up where shown."""
        bound = self.bound
        distance = bound.input_space.metric.distance(d_in)
        return bound.output_space.metric.show(bound.stability_map(distance))

    def check(self, d_in: object, d_out: object) -> bool:
        """Whether inputs ``d_in`` apart certainly give outputs at most ``d_out`` apart."""
        bound = self.bound
        claimed = bound.stability_map(bound.input_space.metric.distance(d_in))
        metric = bound.output_space.metric
        return bool(metric.within(claimed, metric.distance(d_out)))

    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        return "distance", str(self.map(d_in)), ""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if hasattr(Private, name) and not hasattr(Stable, name):
                raise AttributeError(
                    f"{name} is for a pipeline that ends in noise; put noise after {self!r}, such "
                    "as dp.laplace(epsilon=1)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Private(Pipeline, Generic[In, M, R]):
    """What can be asked of a release, bound to a space or not."""

    __slots__ = ()

    @property
    @abstractmethod
    def bound(self) -> Measurement[In, M, R]:
        """The measurement bound to a space: by default one column of private size."""

    def __call__(self, data: Any) -> R:
        """A private release. Its loss is ``map(1)`` for one unit of the input space."""
        try:
            return self.bound._release(data, SecureEntropy())
        except OpenDPLiteError as problem:
            raise shortened(problem) from problem.__cause__

    def insecure_release(self, data: Any, seed: int) -> InsecureRelease:
        """A release that anybody with the seed can repeat: for tests and teaching, not private.

        The value comes wrapped, so that it cannot pass for a release.
        """
        return InsecureRelease(self.bound._release(data, InsecureSeededEntropy(seed)), seed)

    def map(self, d_in: object = 1) -> Any:
        """The privacy loss for inputs ``d_in`` apart, rounded up where shown."""
        return self.bound.output_measure.show(self._loss(d_in))

    def loss(self, d_in: object = 1) -> Any:
        """As ``map``, exactly: the loss as rational numbers."""
        return without_curve(self._loss(d_in))

    def _loss(self, d_in: object) -> Any:
        bound = self.bound
        return bound.privacy_map(bound.input_space.metric.distance(d_in))

    def check(self, d_in: object, d_out: object) -> bool:
        """Whether the loss for inputs ``d_in`` apart is at most ``d_out``."""
        measure = self.bound.output_measure
        return measure.within(self._loss(d_in), measure.loss(d_out))

    def privacy_profile(self, d_in: object = 1) -> Profile:
        """The (epsilon, delta) curve for inputs ``d_in`` apart."""
        return self.bound.output_measure.profile(self._loss(d_in))

    def epsilon(self, delta: object, d_in: object = 1) -> float:
        """An epsilon that holds at this delta, rounded up."""
        return round_up(self.privacy_profile(d_in).epsilon(_probability(delta)))

    def delta(self, epsilon: object, d_in: object = 1) -> float:
        """A delta that holds at this epsilon, rounded up."""
        level = exact(epsilon, "epsilon")
        if level < 0:
            raise ParameterError(f"epsilon must be at least 0, got {epsilon}")
        return round_up(self.privacy_profile(d_in).delta(level))

    def statement(self, d_in: object = 1, *, delta: Number | None = None) -> Statement:
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
        return stated(self.bound, d_in, delta)

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
        composed event. Any other pure loss becomes randomised response, and a zCDP loss a
        ``ZCDpEvent``. No event loses less than the release. The sensitivity is in the event, so the
        accountant keeps its relation "add or remove one".

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
            From the exact tail of the noise, rounded up. Noises of several entries are
            independent, so m of them are within their bounds together with probability c if each
            is with c^(1/m).
        """
        errors = self.bound.facts.errors
        if not errors:
            raise SpaceError(
                "accuracy is for pipelines that end in additive noise, such as "
                f"dp.laplace(epsilon=1); {self!r} releases something else. Leave out what follows "
                "the noise, and dp.sample around it. Ask dp.expected_error(pipeline, n=1000, "
                "guess=40) of a mean of one column; for dp.by around a mean ask it of that mean, "
                "with n the rows of one group. Or give a step that takes it confidence=0.95"
            )
        share = confidence_of(confidence, "accuracy: confidence")
        found = [round_up(width) for width in half_widths(errors, share, jointly)]
        return found[0] if len(found) == 1 else np.array(found)

    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        words = self.bound.output_measure.words(self._loss(d_in))
        return "loss", words, str(self.bound.facts.explanation)

    def to_zcdp(self: Private[In, MaxDivergence, R]) -> Private[In, ZeroConcentratedDivergence, R]:
        """As ``>> dp.to_zcdp()``."""
        return self >> to_zcdp()

    def to_approximate(
        self: Private[In, MaxDivergence, R] | Private[In, ZeroConcentratedDivergence, R],
        delta: Number,
    ) -> Private[In, ApproximateDivergence, R]:
        """As ``>> dp.to_approximate(delta)``."""
        return self >> to_approximate(delta)

    @overload
    def __rshift__(self, other: Conversion[M, M2]) -> Private[In, M2, R]: ...
    @overload
    def __rshift__(self, other: Function[R, Next]) -> Private[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Private[In, M]: ...
    @abstractmethod
    def __rshift__(self, other: Any) -> Any: ...


class _Joined(Pipeline):
    """What transformations and measurements share: the steps that were joined."""

    __slots__ = ()
    input_space: Any
    recipe: tuple[Any, ...]
    trace: tuple[TraceStep, ...]

    @property
    def bound(self) -> Any:
        """Itself: it is bound already."""
        return self

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """As ``bind`` of its recipe to its space."""
        return "pipeline", {"steps": (self.input_space, *_spelled(self))}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its space and its recipe."""
        if by_hand(self.recipe):
            raise ParameterError(NO_RECIPE)
        return _rejoined, (self.input_space, self.recipe)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Joined) or type(self) is not type(other) or not self.recipe:
            return self is other
        same_unit = self.input_space.unit == other.input_space.unit
        same_space = bool(same_unit and self.input_space == other.input_space)
        return same_space and self.recipe == other.recipe

    def __hash__(self) -> int:
        return hash((self.input_space, self.recipe))

    def __repr__(self) -> str:
        return " >> ".join([repr(self.input_space), *map(link_text, _spelled(self))])


@attrs.frozen(eq=False, repr=False)
class Transformation(_Joined, Stable[In, Out]):
    """A step between two spaces that adds no noise.

    Args:
        input_space: The space of its inputs.
        output_space: The space of its outputs.
        function: From a value of the input domain to one of the output domain. A vector or a
            number comes as a ``dp.Grid`` and may be returned as one or as a float array.
        stability_map: Inputs at most ``d_in`` apart give outputs at most
            ``stability_map(d_in)`` apart. Distances are exact: a Fraction between datasets,
            ``dp.Norms`` between vectors.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.records() >> dp.clamp(0, 10) >> dp.sum()
        >>> isinstance(total, dp.Transformation), total.map(2).l1
        (True, Fraction(20, 1))
    """

    input_space: In
    output_space: Out
    function: Map
    stability_map: Map
    recipe: tuple[Any, ...] = attrs.field(default=(), kw_only=True)
    trace: tuple[TraceStep, ...] = attrs.field(default=(), kw_only=True)

    def _result(self, data: Any) -> Any:
        with np.errstate(all="ignore"):
            result = self.function(self.input_space.domain.to_internal(data))
            domain = self.output_space.domain
            return marked(domain.to_public(domain.received(result)))

    if not TYPE_CHECKING:

        def __rshift__(self, other: Any) -> Any:
            """What is joined to a transformation joins itself."""
            if isinstance(other, Pipeline):
                return NotImplemented
            raise not_a_step(other, self.recipe)


@attrs.frozen
class Facts:
    """What a mechanism says of its noise, beside its loss.

    Args:
        laws: The exact laws of independent noise on the entries of the release.
        explanation: For ``explain()``: a text, or a value whose text is made when it is shown.
        simulate: What ``dp.expected_error`` simulates releases with.
        errors: How far the entries of the release are off, for ``accuracy``: laws, and for how many
            entries each is. Empty where the release is not a value with noise.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.count() >> dp.laplace(epsilon=1)).bound.facts.explanation
        'epsilon = l1 / b, b = 1, standard deviation 1.41421'
    """

    laws: tuple[Law, ...] = ()
    explanation: object = ""
    simulate: Callable[..., Any] | None = None
    errors: tuple[Errors, ...] = ()


@attrs.frozen(eq=False, repr=False)
class Measurement(_Joined, Private[In, M, R]):
    """A randomised release with its privacy loss.

    Args:
        input_space: The space of its inputs.
        output_measure: The measure of the loss.
        function: ``function(value, entropy)`` makes the release from a value of the input domain
            and a source of random words. A vector or a number comes as a ``dp.Grid``.
        privacy_map: Inputs at most ``d_in`` apart give releases with a loss of at most
            ``privacy_map(d_in)``. Distances and losses are exact rationals. The loss of another
            mechanism may know a better curve than its number tells. Arithmetic drops the curve.
            ``max`` of two losses is refused: write ``max(Fraction(first), Fraction(second))``.
        facts: More about the noise: see ``Facts``.

    Example:
        >>> import opendp_lite as dp
        >>> count = dp.records() >> dp.count() >> dp.laplace(epsilon=1)
        >>> isinstance(count, dp.Measurement), count.map(2)
        (True, 2.0)
    """

    input_space: In
    output_measure: M
    function: Callable[[Any, Entropy], R]
    privacy_map: Map
    facts: Facts = Facts()
    recipe: tuple[Any, ...] = attrs.field(default=(), kw_only=True)
    trace: tuple[TraceStep, ...] = attrs.field(default=(), kw_only=True)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> Any:
            return super().__class_getitem__(with_release(parameters))

    def _release(self, data: Any, entropy: Entropy) -> R:
        domain = self.input_space.domain
        with np.errstate(all="ignore"):
            value = domain.of_release(domain.to_internal(data), entropy.words)
            return self.function(value, entropy)

    def explained(
        self,
        explanation: object,
        *,
        simulate: Callable[..., Any] | None = None,
        trace: tuple[TraceStep, ...] | None = None,
    ) -> Measurement[In, M, R]:
        """The same with another explanation, and, where given, simulation and trace."""
        return attrs.evolve(
            self,
            facts=attrs.evolve(
                self.facts,
                explanation=explanation,
                simulate=simulate or self.facts.simulate,
            ),
            trace=self.trace if trace is None else trace,
        )

    if TYPE_CHECKING:

        def to_zcdp(
            self: Measurement[In, MaxDivergence, R],
        ) -> Measurement[In, ZeroConcentratedDivergence, R]: ...
        def to_approximate(
            self: Measurement[In, MaxDivergence, R]
            | Measurement[In, ZeroConcentratedDivergence, R],
            delta: Number,
        ) -> Measurement[In, ApproximateDivergence, R]: ...

    @overload
    def __rshift__(self, other: Conversion[M, M2]) -> Measurement[In, M2, R]: ...
    @overload
    def __rshift__(self, other: Function[R, Next]) -> Measurement[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Measurement[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        return follow(self, other)


@attrs.frozen
class InsecureRelease:
    """A reproducible release: NOT private, for tests and teaching.

    Args:
        value: The release.
        seed: The seed that repeats it.

    Example:
        >>> import opendp_lite as dp
        >>> count = dp.count() >> dp.laplace(epsilon=1)
        >>> count.insecure_release([1, 2, 3], seed=1)
        InsecureRelease(NOT PRIVATE, seed=1, value=3)
    """

    value: Any
    seed: int

    def __repr__(self) -> str:
        return f"InsecureRelease(NOT PRIVATE, seed={self.seed}, value={self.value!r})"


def with_release(parameters: Any) -> Any:
    """The type parameters of a measurement, whose release may be anything by default."""
    return (*parameters, Any) if type(parameters) is tuple and len(parameters) == 2 else parameters


def joined(before: Any, step: Any, link: object) -> Any:
    """A space or a transformation, and the step made on it: the only place where maps compose."""
    if not isinstance(before, Transformation):
        return _traced(step, (), (), identity, link)
    received, reach = before.output_space.domain.received, before.stability_map
    value = chained(before.function, received)
    if isinstance(step, Transformation):
        whole: Any = attrs.evolve(
            step,
            input_space=before.input_space,
            function=chained(value, step.function),
            stability_map=_after(reach, step.stability_map),
        )
    else:
        whole = attrs.evolve(
            step,
            input_space=before.input_space,
            function=Released(chained(value, query_of(step.function)), release_of(step.function)),
            privacy_map=_after(reach, step.privacy_map),
        )
    return _traced(whole, before.recipe, before.trace, reach, link)


def _after(first: Map, second: Map) -> Map:
    return lambda distance: second(first(distance))


def _traced(
    whole: Any, recipe: tuple[Any, ...], trace: tuple[TraceStep, ...], before: Map, link: object
) -> Any:
    if isinstance(whole, Transformation):
        step = at_space(whole.output_space, link, before, whole.stability_map)
    else:
        step = at_release(whole.output_measure, link, whole.privacy_map)
    parts = tuple(part.preceded_by(before).indented() for part in whole.trace)
    return attrs.evolve(whole, recipe=(*recipe, link), trace=(*trace, *parts, step))


def follow(measurement: Any, other: Any) -> Any:
    """What may come after noise: a conversion of the loss, or any function of the release."""
    check_follower(other, measurement.recipe)
    if isinstance(other, Conversion):
        return _converted(measurement, other)
    before = release_of(measurement.function)

    def release(value: Any, entropy: Entropy) -> Any:
        return other(before(value, entropy))

    return attrs.evolve(
        measurement,
        function=Released(query_of(measurement.function), release),
        facts=attrs.evolve(measurement.facts, simulate=None, errors=()),
        recipe=(*_spelled(measurement), other),
        trace=(*measurement.trace, after_noise(link_text(other))),
    )


def _converted(measurement: Any, conversion: Conversion[Any, Any]) -> Any:
    source, source_map = measurement.output_measure, measurement.privacy_map
    target = conversion.target(source)

    def privacy_map(distance: Any) -> Any:
        loss = source_map(distance)
        return conversion.convert(loss, source.profile(loss))

    return attrs.evolve(
        measurement,
        output_measure=target,
        privacy_map=privacy_map,
        facts=attrs.evolve(measurement.facts, explanation=conversion.formula()),
        recipe=(*_spelled(measurement), conversion),
        trace=(*measurement.trace, at_release(target, conversion, privacy_map, Role.RELEASE)),
    )


def _spelled(pipeline: Any) -> tuple[Any, ...]:
    """The recipe, with a mark in its place where the pipeline was put together by hand."""
    recipe: tuple[Any, ...] = pipeline.recipe or (ByHand(),)
    return recipe


def check_follower(other: Any, recipe: tuple[Any, ...]) -> None:
    """Refuses what cannot come after noise."""
    if (reason := _refusal(other, recipe)) is not None:
        raise _at_the_end(reason, recipe, other)


def _refusal(other: Any, recipe: tuple[Any, ...]) -> SpaceError | None:
    refusal = getattr(other, "refusal", None)
    if refusal is not None and (reason := refusal(recipe)):
        return SpaceError(reason)
    if isinstance(other, Pipeline):
        return SpaceError(
            f"{other!r} works on data and cannot follow noise; put it before the mechanism. Only a "
            "plain function of the release can follow"
        )
    if forgotten := without_parentheses(other):
        return forgotten
    if not callable(other) and not isinstance(other, Conversion):
        return SpaceError(f"only a function of the release can follow it, got {described(other)}")
    return None


def not_a_step(other: object, recipe: tuple[Any, ...]) -> SpaceError:
    """The refusal of what cannot follow the transformation of a recipe."""
    before = recipe[-1] if recipe else "the step before"
    return _at_the_end(_no_step(other, before), recipe, other)


def _no_step(other: object, before: object) -> SpaceError:
    if forgotten := without_parentheses(other):
        return forgotten
    if callable(other):
        return SpaceError(
            f"{link_text(other)} is a plain function and follows {before}, before any noise: its "
            "effect on privacy is unknown. Put it after laplace() or gaussian(), or write it as a "
            "step with a stability map under @dp.stage"
        )
    return SpaceError(
        f">> joins pipeline steps; {described(other)} is not one. To ask something of a whole "
        "pipeline, put parentheses around it: (a >> b).map(1)"
    )


def _at_the_end(problem: SpaceError, recipe: tuple[Any, ...], other: object) -> SpaceError:
    shown = link_text(other) if callable(other) else described(other)
    return pointing(problem, [*map(heading, recipe), shown], len(recipe))


def heading(link: Any) -> str:
    """A step of a recipe with three dots for each pipeline in it."""
    return link_text(link) if callable(link) else str(getattr(link, "heading", link))


def link_text(link: Any) -> str:
    """A step of a recipe as it would be typed."""
    named = isinstance(link, type | np.ufunc) or inspect.isroutine(link)
    return str(link.__name__) if named else repr(link)


def _rejoined(space: Space[Any], recipe: tuple[Any, ...]) -> Any:
    bound: Any = space
    for link in recipe:
        joins = hasattr(type(link), "join")
        bound = link.join(bound) if joins else follow(bound, link)
    return bound


def _probability(given: object, name: str = "delta") -> Fraction:
    value = exact(given, name)
    if not 0 <= value <= 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {given}")
    return value
