"""The algebra: transformations, measurements, and how they are joined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import attrs
import numpy as np

from opendp_lite.base.errors import OpenDPLiteError, ParameterError, shorten
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.spelling import NO_RECIPE, ByHand, by_hand
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.plan import Map, Node, Own, Rows, plan_of, release_of
from opendp_lite.explain.trace import Role, TraceStep, trace_function
from opendp_lite.measures import divergences
from opendp_lite.measures.budgets import Loss
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.numbers.exact import Number, whole
from opendp_lite.pipeline.questions import (
    LossQuestions,
    Pipeline,
    brief,
    check_follower,
    link_text,
    refuse_no_data,
    refuse_step,
)
from opendp_lite.releases.result import InsecureRelease, mark_as_exact
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy, SecureEntropy
from opendp_lite.samplers.law import Errors, Law
from opendp_lite.spaces.domains import Domain
from opendp_lite.spaces.space import MapFunction as MapLaw
from opendp_lite.spaces.space import PrivacyMap, Space, StabilityMap

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    R = WithDefault("R", covariant=True, default=Any)
else:
    R = TypeVar("R", covariant=True)

In = TypeVar("In", bound=Space[Domain], contravariant=True)
Out = TypeVar("Out", bound=Space[Domain], covariant=True)
M = TypeVar("M", bound=AnyMeasure)
M2 = TypeVar("M2", bound=AnyMeasure)
Release = TypeVar("Release", contravariant=True)
Next = TypeVar("Next", covariant=True)
P = ParamSpec("P")
# What a pipeline is called on where nobody said.
_NO_DATA: Final = object()


def _as_typed(law: MapLaw) -> Any:
    """The function that was typed: its pipeline makes a map of it, which knows both its ends."""
    return law


class Function(Protocol[Release, Next]):
    """A plain function of a release: what may follow noise.

    Pipelines can be called too, but have no ``__name__``: that is how type checkers tell them
    apart. A callable object without a name goes into a lambda.
    """

    @property
    def __name__(self) -> str: ...

    def __call__(self, release: Release, /) -> Next: ...


class Stable(Pipeline, Generic[In, Out]):
    """What can be asked of a transformation, bound to a space or not."""

    __slots__ = ()

    @property
    @abstractmethod
    def bound(self) -> Transformation[In, Out]:
        """The transformation bound to a space: by default one column of private size."""

    if TYPE_CHECKING:

        def __call__(self, data: object) -> Any: ...

    else:

        def __call__(self, data: object = _NO_DATA, *more: object) -> Any:
            """The exact result. It is not private, and its repr says so."""
            if more or data is _NO_DATA:
                raise refuse_no_data(self, more)
            try:
                return self.bound._result(data)
            except OpenDPLiteError as problem:
                raise shorten(problem) from problem.__cause__

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
                    f"{name} is for a pipeline that ends in noise; put noise after {brief(self)}, "
                    "such as dp.laplace(epsilon=1)"
                )
            return super().__getattr__(name)


class Private(LossQuestions, Generic[In, M, R]):
    """What can be asked of a release, bound to a space or not."""

    __slots__ = ()

    @property
    @abstractmethod
    def bound(self) -> Measurement[In, M, R]:
        """The measurement bound to a space: by default one column of private size."""

    if TYPE_CHECKING:

        def __call__(self, data: object) -> R: ...

    else:

        def __class_getitem__(cls, parameters: object) -> object:
            # The release may be anything by default.
            two = type(parameters) is tuple and len(parameters) == 2
            return super().__class_getitem__((*parameters, Any) if two else parameters)

        def __call__(self, data: object = _NO_DATA, *more: object) -> R:
            """A private release. Its loss is ``map(1)`` for one unit of the input space."""
            if more or data is _NO_DATA:
                raise refuse_no_data(self, more)
            return release_from(SecureEntropy(), self.bound, data)

    def insecure_release(self, data: object, seed: int) -> InsecureRelease:
        """A release that anybody with the seed can repeat: for tests and teaching, not private.

        The value comes wrapped, so that it cannot pass for a release.
        """
        return InsecureRelease(
            self.bound._release(data, InsecureSeededEntropy(whole(seed, "seed"))), seed
        )

    def to_zcdp(
        self: Private[In, divergences.MaxDivergence, R],
    ) -> Private[In, divergences.ZeroConcentratedDivergence, R]:
        """As ``>> dp.to_zcdp()``."""
        return self >> divergences.to_zcdp()

    def to_approximate(
        self: Private[In, divergences.MaxDivergence, R]
        | Private[In, divergences.ZeroConcentratedDivergence, R],
        delta: Number,
    ) -> Private[In, divergences.ApproximateDivergence, R]:
        """As ``>> dp.to_approximate(delta)``."""
        return self >> divergences.to_approximate(delta)

    @overload
    def __rshift__(self, other: divergences.Conversion[M, M2]) -> Private[In, M2, R]: ...
    @overload
    def __rshift__(self, other: Function[R, Next]) -> Private[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Private[In, M]: ...
    @abstractmethod
    def __rshift__(self, other: object) -> object: ...


@attrs.frozen(eq=False, repr=False)
class _Joined(Pipeline, Generic[In]):
    """What transformations and measurements share: the steps that were joined."""

    input_space: In
    recipe: tuple[object, ...] = attrs.field(default=(), init=False)
    trace: tuple[TraceStep, ...] = attrs.field(default=(), kw_only=True)

    @property
    def bound(self) -> Any:
        """Itself: it is bound already."""
        return self

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """As ``bind`` of its recipe to its space."""
        return "pipeline", {"steps": (self.input_space, *_spell(self))}

    def __reduce__(self) -> tuple[object, ...]:
        if by_hand(self.recipe):
            raise ParameterError(NO_RECIPE)
        return super().__reduce__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Joined) or type(self) is not type(other) or not self.recipe:
            return self is other
        same_space = self.input_space.is_same(other.input_space)
        return same_space and self.recipe == other.recipe

    def __hash__(self) -> int:
        return hash((self.input_space, self.recipe))


@attrs.frozen(eq=False, repr=False)
class Transformation(_Joined[In], Stable[In, Out]):
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

    output_space: Out
    function: Any = attrs.field(converter=plan_of)
    stability_map: StabilityMap = attrs.field(converter=_as_typed)

    def __attrs_post_init__(self) -> None:
        checked = StabilityMap.between(self.input_space, self.output_space, self.stability_map)
        object.__setattr__(self, "stability_map", checked)

    def _result(self, data: object) -> Any:
        with np.errstate(all="ignore"):
            result = self.function(self.input_space.domain.to_internal(data))
            domain = self.output_space.domain
            return mark_as_exact(domain.to_public(domain.receive(result)))

    if not TYPE_CHECKING:

        def __rshift__(self, other: object) -> object:
            """What is joined to a transformation joins itself."""
            if isinstance(other, Pipeline):
                return NotImplemented
            raise refuse_step(other, self.recipe)


@attrs.frozen
class Facts:
    """What a mechanism says of its noise, beside its loss.

    Args:
        laws: The exact laws of independent noise on the entries of the release.
        explanation: For ``explain()``: a text, or a value whose text is made when it is shown.
        simulate: What ``dp.expected_error`` simulates releases with.
        errors: How far the entries of the release are off, for ``accuracy``: laws, and for how many
            entries each is. Empty where the release is not a value with noise.
        noise: The noise in words, for a picture of a step that does not say it by itself.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.count() >> dp.laplace(epsilon=1)).bound.facts.explanation
        'epsilon = l1 / b, b = 1, standard deviation 1.41421'
    """

    laws: tuple[Law, ...] = ()
    explanation: object = ""
    simulate: Callable[..., Any] | None = None
    errors: tuple[Errors, ...] = ()
    noise: str = ""


@attrs.frozen(eq=False, repr=False)
class Measurement(_Joined[In], Private[In, M, R]):
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

    output_measure: M
    function: Any = attrs.field(converter=release_of)
    privacy_map: PrivacyMap = attrs.field(converter=_as_typed)
    facts: Facts = Facts()

    def __attrs_post_init__(self) -> None:
        checked = PrivacyMap.between(self.input_space, self.output_measure, self.privacy_map)
        object.__setattr__(self, "privacy_map", checked)
        if self.function.price is None:
            price = checked.law, self.input_space
            object.__setattr__(self, "function", attrs.evolve(self.function, price=price))

    def _release(self, data: object, entropy: Entropy) -> R:
        domain = self.input_space.domain
        with np.errstate(all="ignore"):
            value = domain.of_release(domain.to_internal(data), entropy.words)
            release: R = self.function(value, entropy)
        return release

    def with_explanation(
        self,
        explanation: object,
        *,
        simulate: Callable[..., Any] | None = None,
        trace: tuple[TraceStep, ...] | None = None,
    ) -> Measurement[In, M, R]:
        """The same with another explanation, and, where given, simulation and trace."""
        facts = attrs.evolve(
            self.facts, explanation=explanation, simulate=simulate or self.facts.simulate
        )
        return copy_with(self, facts=facts, trace=self.trace if trace is None else trace)

    if TYPE_CHECKING:

        def to_zcdp(
            self: Measurement[In, divergences.MaxDivergence, R],
        ) -> Measurement[In, divergences.ZeroConcentratedDivergence, R]: ...
        def to_approximate(
            self: Measurement[In, divergences.MaxDivergence, R]
            | Measurement[In, divergences.ZeroConcentratedDivergence, R],
            delta: Number,
        ) -> Measurement[In, divergences.ApproximateDivergence, R]: ...

    @overload
    def __rshift__(self, other: divergences.Conversion[M, M2]) -> Measurement[In, M2, R]: ...
    @overload
    def __rshift__(self, other: Function[R, Next]) -> Measurement[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Measurement[In, M]: ...
    def __rshift__(self, other: object) -> object:
        return follow(self, other)


def release_from(entropy: Entropy, measurement: Measurement[Any, Any, R], data: object) -> R:
    """A release whose noise comes from a source that may have been made before it was paid for."""
    try:
        return measurement._release(data, entropy)
    except OpenDPLiteError as problem:
        raise shorten(problem) from problem.__cause__


AnyTransformation = Transformation[Any, Any]
AnyMeasurement = Measurement[Any, Any, Any]
"""A release of whatever data, with a loss in whatever measure."""
AnyPrivate = Private[Any, Any, Any]


def join_step(
    before: Space[Domain] | AnyTransformation, step: AnyTransformation | AnyMeasurement, link: Any
) -> AnyTransformation | AnyMeasurement:
    """A space or a transformation, and the step made on it, whose link in the recipe says its name.

    The maps of all steps become one, and the lines of this step end the trace.
    """
    name, function = link.definition.__name__, step.function
    if isinstance(before, Transformation):
        start, reach, plan = before.input_space, before.stability_map, _receive(before)
        recipe, trace = (*before.recipe, link), before.trace
    else:
        start, reach, plan = step.input_space, StabilityMap(before.metric), Rows(before)
        recipe, trace = (link,), ()
    function = function.name_step(name).on(plan)
    # Of a step that no person can type, the name alone.
    shown = name.strip("_").replace("_", " ") if name.startswith("_") else link
    whole = partial(copy_with, step, input_space=start, function=function, recipe=recipe)
    if isinstance(step, Transformation):
        reach = step.stability_map.after(reach, link)
        line = TraceStep(shown, map=reach, space=step.output_space, parts=step.trace)
        return whole(stability_map=reach, trace=(*trace, line))
    loss = step.privacy_map.after(reach, link)
    says = f"release with {step.facts.noise}" if step.facts.noise else "release"
    line = TraceStep(shown, says, loss, role=Role.NOISE, parts=step.trace)
    return whole(privacy_map=loss, trace=(*trace, line))


def _receive(before: AnyTransformation) -> Node:
    """The plan of a transformation; what a function of a person's own gives is checked."""
    plan: Node = before.function
    received = before.output_space.domain.receive
    own = isinstance(plan, Map) and isinstance(plan.function, Own)
    return plan if received is identity or not own else Map(Own(received), before=plan)


def follow(measurement: AnyMeasurement, other: object) -> AnyMeasurement:
    """What may come after noise: a conversion of the loss, or any function of the release."""
    check_follower(other, measurement.recipe)
    if isinstance(other, divergences.Conversion):
        return _convert(measurement, other)
    return copy_with(
        measurement,
        function=measurement.function.then(cast(Callable[..., object], other)),
        facts=attrs.evolve(measurement.facts, simulate=None, errors=(), noise=""),
        trace=(*measurement.trace, trace_function(link_text(other))),
        recipe=(*_spell(measurement), other),
    )


def _convert(
    measurement: AnyMeasurement, conversion: divergences.Conversion[Any, Any]
) -> AnyMeasurement:
    source = measurement.output_measure
    target = conversion.target(source)

    def convert(loss: Loss) -> object:
        return conversion.convert(loss, source.profile(loss))

    privacy_map = measurement.privacy_map.convert(target, convert, conversion)
    return copy_with(
        measurement,
        output_measure=target,
        privacy_map=privacy_map,
        facts=attrs.evolve(measurement.facts, explanation=conversion.formula()),
        trace=(
            *measurement.trace,
            TraceStep(conversion, "release", privacy_map, role=Role.RELEASE),
        ),
        recipe=(*_spell(measurement), conversion),
    )


def _spell(pipeline: _Joined[Any]) -> tuple[object, ...]:
    """The recipe, with a mark in its place where the pipeline was put together by hand."""
    return pipeline.recipe or (ByHand(),)
