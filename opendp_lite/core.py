"""The algebra: transformations, measurements, their recipes, and ``>>``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import attrs
import numpy as np

from opendp_lite.calls import Call, front, prefixed, public_name, without_first
from opendp_lite.documents import write
from opendp_lite.domains import Domain
from opendp_lite.engines.rows import settle
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, said, shown_up
from opendp_lite.explain import Arrow, Line, as_html, as_text, lines
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import Conversion
from opendp_lite.measures.conversion import to_approximate as _to_approximate
from opendp_lite.measures.conversion import to_zcdp as _to_zcdp
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import Profile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.norms import Norms
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy, SecureEntropy
from opendp_lite.samplers.law import Law
from opendp_lite.spaces import Space

In = TypeVar("In", bound=Space[Any], contravariant=True)
Out = TypeVar("Out", bound=Space[Any], covariant=True)
Next = TypeVar("Next", bound=Space[Any])
M = TypeVar("M", bound=Measure[Any])
M2 = TypeVar("M2", bound=Measure[Any])
P = ParamSpec("P")
Map = Callable[[Any], Any]


class Function(Protocol):
    """A plain function of a release: what may follow noise.

    Pipelines can be called too, but have no ``__name__``: that is how type checkers tell them
    apart. What else has none (a callable object) goes into a lambda.
    """

    @property
    def __name__(self) -> str: ...

    def __call__(self, release: Any, /) -> Any: ...


def _identity(value: Any) -> Any:
    return value


def _start(space: Space[Any]) -> Arrow:
    metric = space.metric
    return Arrow(
        space,
        space.domain.words,
        type(metric).__name__,
        _nothing,
        _identity,
        lambda distance: str(metric.show(distance)),
    )


def _nothing(distance: Any) -> None:
    """Where a multiplier makes no sense."""


def _release_arrow(step: object, measurement: Any) -> Arrow:
    measure, reach = measurement.output_measure, measurement.privacy_map
    return Arrow(step, lambda: "release", type(measure).__name__, _nothing, reach, measure.words)


class _Bound:
    """What transformations and measurements share: a space, and the recipe that was bound to it."""

    __slots__ = ()
    input_space: Any
    recipe: tuple[Any, ...]
    arrows: tuple[Arrow, ...]

    def neighbours(self, d_in: object = 1) -> str:
        """What it is to be ``d_in`` apart, in words: "adding or removing one row", say."""
        metric = self.input_space.metric
        return str(metric.words(metric.distance(d_in)))

    def _lines(self, d_in: object) -> list[Line]:
        distance = self.input_space.metric.distance(d_in)
        return lines((_start(self.input_space), *self.arrows), distance)

    def _last(self) -> object:
        """The step that a further one would follow."""
        return self.recipe[-1] if self.recipe else "the step before"

    def to_json(self) -> str:
        """The pipeline and its space as JSON; ``dp.from_json`` reads it back."""
        return write(self)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """As ``bind`` of its recipe to its space."""
        return "pipeline", {"steps": (self.input_space, *self.recipe)}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its space and its recipe."""
        if not self.recipe:
            raise ParameterError(
                "what was put together by hand has no recipe to copy or pickle; write it as a "
                "constructor under @dp.stage or @dp.mechanism"
            )
        return _rebound, (self.input_space, self.recipe)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Bound) or type(self) is not type(other) or not self.recipe:
            return self is other
        same_unit = self.input_space.unit == other.input_space.unit
        same_space = bool(same_unit and self.input_space == other.input_space)
        return same_space and self.recipe == other.recipe

    def __hash__(self) -> int:
        return hash((self.input_space, self.recipe))

    def __repr__(self) -> str:
        return " >> ".join([repr(self.input_space), *map(_after_text, self.recipe)])


@attrs.frozen(eq=False, repr=False)
class Transformation(_Bound, Generic[In, Out]):
    """A deterministic step between two spaces.

    Takes: ``input_space``, ``output_space``; ``function``; ``stability_map``: inputs at most
        ``d_in`` apart give outputs at most ``stability_map(d_in)`` apart. Distances are exact:
        a Fraction between datasets, ``Norms`` between vectors.
    """

    input_space: In
    output_space: Out
    function: Map
    stability_map: Map
    recipe: tuple[Call, ...] = attrs.field(default=(), kw_only=True)
    arrows: tuple[Arrow, ...] = attrs.field(default=(), kw_only=True)

    def __call__(self, data: Any) -> Any:
        """The exact result; it is not private."""
        with np.errstate(all="ignore"):
            result = settle(self.function(self.input_space.domain.to_internal(data)))
            return self.output_space.domain.to_public(result)

    def map(self, d_in: object = 1) -> Any:
        """How far apart outputs can be for inputs ``d_in`` apart, rounded up where shown."""
        distance = self.input_space.metric.distance(d_in)
        return self.output_space.metric.show(self.stability_map(distance))

    def check(self, d_in: object, d_out: object) -> bool:
        """Whether inputs ``d_in`` apart certainly give outputs at most ``d_out`` apart."""
        claimed = self.stability_map(self.input_space.metric.distance(d_in))
        allowed = self.output_space.metric.distance(d_out)
        if isinstance(claimed, Norms):
            return claimed.within(cast(Norms, allowed))
        return bool(claimed <= allowed)

    def explain(self, d_in: object = 1) -> str:
        """A line for each step: domain, metric, multiplier, distance for one unit."""
        return as_text(
            self._lines(d_in), [f"distance for {self.neighbours(d_in)}: {self.map(d_in)}"]
        )

    def _repr_html_(self) -> str:
        return as_html(self._lines(1), [f"distance for {self.neighbours(1)}: {self.map(1)}"])

    @overload
    def __rshift__(self, other: Stage[Out, Next]) -> Transformation[In, Next]: ...
    @overload
    def __rshift__(self, other: Mechanism[Out, M]) -> Measurement[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        if not isinstance(other, Stage | Mechanism):
            raise _not_a_step(other, self._last())
        return other.finish(self)


@attrs.frozen(eq=False, repr=False)
class Measurement(_Bound, Generic[In, M]):
    """A randomised release with its privacy loss.

    Takes: ``input_space``; ``output_measure``; ``function(value, entropy)``, the release;
        ``privacy_map``: inputs at most ``d_in`` apart give releases with a loss of at most
        ``privacy_map(d_in)``. Optional: ``profile``, a map to a tighter ``Profile`` than the loss
        implies; ``laws``, what the noise declares of itself; ``formula``, for the explanation, a
        text or what is made into one where it is shown; ``query``, the deterministic part that
        comes before ``function``; ``forecast``, what ``error_of`` simulates releases with.
    """

    input_space: In
    output_measure: M
    function: Callable[[Any, Entropy], Any]
    privacy_map: Map
    profile: Map | None = attrs.field(default=None, kw_only=True)
    laws: tuple[Law, ...] = attrs.field(default=(), kw_only=True)
    formula: object = attrs.field(default="", kw_only=True)
    query: Map = attrs.field(default=_identity, kw_only=True)
    forecast: Callable[..., Any] | None = attrs.field(default=None, kw_only=True)
    recipe: tuple[Any, ...] = attrs.field(default=(), kw_only=True)
    arrows: tuple[Arrow, ...] = attrs.field(default=(), kw_only=True)

    def __call__(self, data: Any) -> Any:
        """A private release. Its loss is ``map(1)`` for one unit of the input space."""
        return self._release(data, SecureEntropy())

    def insecure_release(self, data: Any, seed: int) -> InsecureRelease:
        """A release that anybody with the seed can repeat: for tests and teaching, not private.

        The value comes wrapped, so that it cannot pass for a release.
        """
        return InsecureRelease(self._release(data, InsecureSeededEntropy(seed)), seed)

    def _release(self, data: Any, entropy: Entropy) -> Any:
        with np.errstate(all="ignore"):
            value = settle(self.query(self.input_space.domain.to_internal(data)))
            return self.function(value, entropy)

    def map(self, d_in: object = 1) -> Any:
        """The privacy loss for inputs ``d_in`` apart, rounded up where shown."""
        return self.output_measure.show(self.loss(d_in))

    def loss(self, d_in: object = 1) -> Any:
        """As ``map``, exactly: the loss as rational numbers."""
        return self.privacy_map(self.input_space.metric.distance(d_in))

    def check(self, d_in: object, d_out: object) -> bool:
        """Whether the loss for inputs ``d_in`` apart is at most ``d_out``."""
        return self.output_measure.within(self.loss(d_in), self.output_measure.loss(d_out))

    def privacy_profile(self, d_in: object = 1) -> Profile:
        """The (epsilon, delta) curve for inputs ``d_in`` apart."""
        return self.profile_at(self.input_space.metric.distance(d_in))

    def profile_at(self, distance: Any) -> Profile:
        """As ``privacy_profile``, for an exact distance."""
        if self.profile is not None:
            return cast(Profile, self.profile(distance))
        return self.output_measure.profile(self.privacy_map(distance))

    def epsilon(self, delta: object, d_in: object = 1) -> float:
        """An epsilon that holds at this delta, rounded up."""
        return shown_up(self.privacy_profile(d_in).epsilon(_probability(delta)))

    def delta(self, epsilon: object, d_in: object = 1) -> float:
        """A delta that holds at this epsilon, rounded up."""
        level = exact(epsilon, "epsilon")
        if level < 0:
            raise ParameterError(f"epsilon must be at least 0, got {epsilon}")
        return shown_up(self.privacy_profile(d_in).delta(level))

    def explain(self, d_in: object = 1) -> str:
        """A line for each step: domain, metric, multiplier, distance; then loss and formula."""
        return as_text(self._lines(d_in), self._closing(d_in))

    def _repr_html_(self) -> str:
        return as_html(self._lines(1), self._closing(1))

    def _closing(self, d_in: object) -> list[str]:
        loss = f"loss for {self.neighbours(d_in)}: {self.output_measure.words(self.loss(d_in))}"
        return [loss, *f"because {self.formula}".splitlines()] if self.formula else [loss]

    def to_zcdp(
        self: Measurement[In, MaxDivergence],
    ) -> Measurement[In, ZeroConcentratedDivergence]:
        """As ``>> dp.to_zcdp()``."""
        return self >> _to_zcdp()

    def to_approximate(
        self: Measurement[In, MaxDivergence] | Measurement[In, ZeroConcentratedDivergence],
        delta: Number,
    ) -> Measurement[In, ApproximateDivergence]:
        """As ``>> dp.to_approximate(delta)``."""
        return self >> _to_approximate(delta)

    @overload
    def __rshift__(self, other: Conversion[M, M2]) -> Measurement[In, M2]: ...
    @overload
    def __rshift__(
        self, other: Function | partial[Any] | itemgetter[Any]
    ) -> Measurement[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        return _follow(self, other)


@attrs.frozen
class InsecureRelease:
    """A reproducible release: NOT private, for tests and teaching."""

    value: Any
    seed: int

    def __repr__(self) -> str:
        return f"InsecureRelease(NOT PRIVATE, seed={self.seed}, value={self.value!r})"


def _rebound(space: Space[Any], recipe: tuple[Any, ...]) -> Any:
    bound: Any = space
    for link in recipe:
        bound = _extend(bound, link) if isinstance(link, Call) else _follow(bound, link)
    return bound


def _probability(delta: object) -> Fraction:
    value = exact(delta, "delta")
    if not 0 <= value <= 1:
        raise ParameterError(f"delta must be between 0 and 1, got {delta}")
    return value


def _after_text(link: Any) -> str:
    named = isinstance(link, type | np.ufunc) or inspect.isroutine(link)
    return str(link.__name__) if named else repr(link)


def _without_parentheses(other: object) -> SpaceError | None:
    conversion = next((each for each in (_to_zcdp, _to_approximate) if other is each), None)
    name = f"dp.{conversion.__name__}" if conversion else getattr(other, "makes_step", None)
    return None if name is None else SpaceError(f"{name} is a step once it is called: {name}(...)")


def _not_a_step(other: object, before: object) -> SpaceError:
    if forgotten := _without_parentheses(other):
        return forgotten
    if callable(other):
        return SpaceError(
            f"{_after_text(other)} is a plain function and follows {before}, before any noise: its "
            "effect on privacy is unknown. Put it after laplace() or gaussian(), or write it as a "
            "step with a stability map under @dp.stage"
        )
    return SpaceError(f">> joins pipeline steps; {said(other)} is not one")


def _compose_maps(first: Map, second: Map) -> Map:
    return lambda value: second(first(value))


def _extend(bound: Any, call: Call) -> Any:
    """Chains one step to a space or a transformation: the only place where maps are composed."""
    if not isinstance(bound, Space | Transformation):
        raise SpaceError(
            f"{call!r} binds to a space such as dp.records(), got {type(bound).__name__}"
        )
    if isinstance(bound, Space):
        made = call.build(bound)
        recipe: tuple[Call, ...] = ()
        arrows: tuple[Arrow, ...] = ()
        before: Map = _identity
    else:
        call.check_kind((type(bound.output_space.domain),), bound._last())
        step = call.build(bound.output_space)
        recipe, arrows, before = bound.recipe, bound.arrows, bound.stability_map
        if isinstance(step, Transformation):
            made = attrs.evolve(
                step,
                input_space=bound.input_space,
                function=_compose_maps(bound.function, step.function),
                stability_map=_compose_maps(bound.stability_map, step.stability_map),
            )
        else:
            made = attrs.evolve(
                step,
                input_space=bound.input_space,
                query=_compose_maps(bound.function, step.query),
                privacy_map=_compose_maps(bound.stability_map, step.privacy_map),
                profile=None
                if step.profile is None
                else _compose_maps(bound.stability_map, step.profile),
            )
    if isinstance(made, Transformation):
        metric = made.output_space.metric
        arrow = Arrow(
            call,
            made.output_space.domain.words,
            type(metric).__name__,
            before,
            made.stability_map,
            lambda distance: str(metric.show(distance)),
        )
    else:
        label = f"dp.{call.name}(...)" if made.arrows and _holds_recipes(call) else call
        arrow = _release_arrow(label, made)
    parts = tuple(part.after(before) for part in made.arrows)
    return attrs.evolve(made, recipe=(*recipe, call), arrows=(*arrows, *parts, arrow))


def _holds_recipes(call: Call) -> bool:
    values = [value for _, value in call.arguments]
    parts = [part for each in values for part in (each if type(each) is tuple else (each,))]
    return any(isinstance(part, _Recipe) for part in parts)


def _convert(measurement: Any, conversion: Conversion[Any, Any]) -> Any:
    target = conversion.target(measurement.output_measure)

    def privacy_map(distance: Any) -> Any:
        return conversion.convert(
            measurement.privacy_map(distance), measurement.profile_at(distance)
        )

    converted = attrs.evolve(
        measurement,
        output_measure=target,
        privacy_map=privacy_map,
        profile=measurement.profile_at,
        formula=conversion.formula(),
        recipe=(*measurement.recipe, conversion),
    )
    arrow = _release_arrow(conversion, converted)
    return attrs.evolve(converted, arrows=(*measurement.arrows, arrow))


def _follow(measurement: Any, other: Any) -> Any:
    """What may come after noise: a conversion of the loss, or any function of the release."""
    _check_follower(other, measurement.recipe)
    if isinstance(other, Conversion):
        return _convert(measurement, other)
    function = measurement.function
    return attrs.evolve(
        measurement,
        function=lambda value, entropy: other(function(value, entropy)),
        forecast=None,
        recipe=(*measurement.recipe, other),
        arrows=(
            *measurement.arrows,
            Arrow(
                _after_text(other), lambda: "post-processing", "", _nothing, _identity, lambda _: ""
            ),
        ),
    )


def _check_follower(other: Any, recipe: tuple[Any, ...]) -> None:
    refusal = getattr(other, "refusal", None)
    if refusal is not None and (reason := refusal(recipe)):
        raise SpaceError(reason)
    if isinstance(other, Stage | Mechanism | Transformation | Measurement):
        raise SpaceError(
            f"{other!r} works on data and cannot follow noise; put it before the mechanism. What "
            "follows a release is a plain function"
        )
    if forgotten := _without_parentheses(other):
        raise forgotten
    if not callable(other) and not isinstance(other, Conversion):
        raise SpaceError(f"what follows a release is a function of it, got {said(other)}")


class _Recipe:
    """What recipes share: they bind themselves to the front space of their kind."""

    __array_ufunc__ = None

    @property
    def needs(self) -> tuple[type[Domain], ...]:
        raise NotImplementedError

    def bind(self, space: Any) -> Any:
        raise NotImplementedError

    def _front(self) -> Any:
        if not self.needs:
            raise SpaceError(
                f"{self!r} does not say what it works on; put one space before it "
                "(dp.records(columns=['age', 'visits']) >> ...), and give compose() its pipelines "
                "one by one, without spaces of their own (dp.select('age') >> ...)"
            )
        return self.bind(front(self.needs[0]))

    def __rrshift__(self, space: Any) -> Any:
        if not isinstance(space, Space):
            if forgotten := _without_parentheses(space):
                raise forgotten
            raise SpaceError(
                f"a pipeline starts from a space such as dp.records(); call it on data instead: "
                f"pipeline(data). Got {type(space).__name__}"
            )
        return self.bind(space)


@attrs.frozen(repr=False, slots=False)
class Stage(_Recipe, Generic[In, Out]):
    """A transformation, or several, waiting for the space before it.

    Gives: joined by ``>>`` with further stages, a mechanism, or a space before it; ``bind``;
        called on data or asked for its map, it binds itself to the default space.
    """

    calls: tuple[Call, ...]

    @property
    def needs(self) -> tuple[type[Domain], ...]:
        return self.calls[0].needs

    def bind(self, space: In) -> Transformation[In, Out]:
        """The transformation that this makes of a space."""
        return cast(Transformation[In, Out], self.finish(space))

    def finish(self, bound: Any) -> Any:
        """The transformation that this makes of a space or a transformation."""
        for call in self.calls:
            bound = _extend(bound, call)
        return bound

    @functools.cached_property
    def _bound(self) -> Transformation[In, Out]:
        return cast(Transformation[In, Out], self._front())

    def __call__(self, data: Any) -> Any:
        """The exact result on data of the default space; it is not private."""
        return self._bound(data)

    def map(self, d_in: object = 1) -> Any:
        """As ``Transformation.map``, on the default space."""
        return self._bound.map(d_in)

    def check(self, d_in: object, d_out: object) -> bool:
        """As ``Transformation.check``, on the default space."""
        return self._bound.check(d_in, d_out)

    def explain(self, d_in: object = 1) -> str:
        """As ``Transformation.explain``, on the default space."""
        return self._bound.explain(d_in)

    def _repr_html_(self) -> str:
        return self._bound._repr_html_()

    @overload
    def __rshift__(self, other: Stage[Out, Next]) -> Stage[In, Next]: ...
    @overload
    def __rshift__(self, other: Mechanism[Out, M]) -> Mechanism[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        if not isinstance(other, Stage | Mechanism):
            raise _not_a_step(other, repr(self.calls[-1]))
        other.calls[0].check_kind(self.calls[-1].gives, self.calls[-1])
        return attrs.evolve(other, calls=(*self.calls, *other.calls))

    def __rrshift__(self, space: In) -> Transformation[In, Out]:
        return cast(Transformation[In, Out], super().__rrshift__(space))

    def to_json(self) -> str:
        """The recipe as JSON; ``dp.from_json`` reads it back."""
        return write(self)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""
        return "pipeline", {"steps": self.calls}

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.calls))


@attrs.frozen(repr=False, slots=False)
class Mechanism(_Recipe, Generic[In, M]):
    """A measurement waiting for the space before it: see ``Stage``.

    ``calls`` ends with the mechanism; ``after`` holds conversions and post-processing.
    """

    calls: tuple[Call, ...]
    after: tuple[Any, ...] = ()

    @property
    def needs(self) -> tuple[type[Domain], ...]:
        return self.calls[0].needs

    def bind(self, space: In) -> Measurement[In, M]:
        """The measurement that this makes of a space."""
        return cast(Measurement[In, M], self.finish(space))

    def finish(self, bound: Any) -> Any:
        """The measurement that this makes of a space or a transformation."""
        for call in self.calls:
            bound = _extend(bound, call)
        for link in self.after:
            bound = _follow(bound, link)
        return bound

    def bind_front(self) -> Measurement[In, M]:
        """The measurement on the default space: one column, one row added or removed."""
        return self._bound

    @functools.cached_property
    def _bound(self) -> Measurement[In, M]:
        return cast(Measurement[In, M], self._front())

    def __call__(self, data: Any) -> Any:
        """A private release of data of the default space."""
        return self._bound(data)

    def insecure_release(self, data: Any, seed: int) -> InsecureRelease:
        """As ``Measurement.insecure_release``: NOT private."""
        return self._bound.insecure_release(data, seed)

    def map(self, d_in: object = 1) -> Any:
        """As ``Measurement.map``, on the default space."""
        return self._bound.map(d_in)

    def loss(self, d_in: object = 1) -> Any:
        """As ``Measurement.loss``, on the default space."""
        return self._bound.loss(d_in)

    def check(self, d_in: object, d_out: object) -> bool:
        """As ``Measurement.check``, on the default space."""
        return self._bound.check(d_in, d_out)

    def epsilon(self, delta: object, d_in: object = 1) -> float:
        """As ``Measurement.epsilon``, on the default space."""
        return self._bound.epsilon(delta, d_in)

    def delta(self, epsilon: object, d_in: object = 1) -> float:
        """As ``Measurement.delta``, on the default space."""
        return self._bound.delta(epsilon, d_in)

    def explain(self, d_in: object = 1) -> str:
        """As ``Measurement.explain``, on the default space."""
        return self._bound.explain(d_in)

    def _repr_html_(self) -> str:
        return self._bound._repr_html_()

    def to_zcdp(self: Mechanism[In, MaxDivergence]) -> Mechanism[In, ZeroConcentratedDivergence]:
        """As ``>> dp.to_zcdp()``."""
        return self >> _to_zcdp()

    def to_approximate(
        self: Mechanism[In, MaxDivergence] | Mechanism[In, ZeroConcentratedDivergence],
        delta: Number,
    ) -> Mechanism[In, ApproximateDivergence]:
        """As ``>> dp.to_approximate(delta)``."""
        return self >> _to_approximate(delta)

    @overload
    def __rshift__(self, other: Conversion[M, M2]) -> Mechanism[In, M2]: ...
    @overload
    def __rshift__(self, other: Function | partial[Any] | itemgetter[Any]) -> Mechanism[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        _check_follower(other, self.calls)
        return attrs.evolve(self, after=(*self.after, other))

    def __rrshift__(self, space: In) -> Measurement[In, M]:
        return cast(Measurement[In, M], super().__rrshift__(space))

    def to_json(self) -> str:
        """The recipe as JSON; ``dp.from_json`` reads it back."""
        return write(self)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""
        return "pipeline", {"steps": (*self.calls, *self.after)}

    def __repr__(self) -> str:
        return " >> ".join([*map(repr, self.calls), *map(_after_text, self.after)])


def stage(
    constructor: Callable[Concatenate[In, P], Transformation[In, Out]],
) -> Callable[P, Stage[In, Out]]:
    """Makes a stage of a constructor of transformations.

    Takes: ``f(space, *parameters) -> Transformation``; the annotations of ``space`` and of the
        return value, ``Space[Rows]`` say, are also checked when pipelines are joined.
    Gives: a function of the parameters alone, whose result ``>>`` joins. Raise
        ``ParameterError`` for parameters that no space could mend: it then shows at once.

    >>> import opendp_lite as dp
    >>> Tables = dp.Space[dp.Rows]
    >>> @dp.stage
    ... def halve(space: Tables) -> dp.Transformation[Tables, Tables]:
    ...     body = space.domain.body.scale((Fraction(1, 2),))
    ...     return dp.row_map(space, lambda block: block / 2, body)
    >>> (dp.clamp(0, 10) >> halve() >> dp.sum()).map(1)
    dp.Norms(l1=5.0, l2=5.0, linf=5.0)
    """

    @functools.wraps(constructor)
    def recipe(*args: P.args, **kwargs: P.kwargs) -> Stage[In, Out]:
        return Stage((Call.of(constructor, args, kwargs),))

    return cast(Callable[P, Stage[In, Out]], _without_space(recipe, constructor, "Stage"))


def mechanism(
    constructor: Callable[Concatenate[In, P], Measurement[In, M]],
) -> Callable[P, Mechanism[In, M]]:
    """Makes a mechanism of a constructor of measurements: as ``stage``."""

    @functools.wraps(constructor)
    def recipe(*args: P.args, **kwargs: P.kwargs) -> Mechanism[In, M]:
        return Mechanism((Call.of(constructor, args, kwargs),))

    return cast(Callable[P, Mechanism[In, M]], _without_space(recipe, constructor, "Mechanism"))


def _without_space(recipe: Any, constructor: Callable[..., Any], kind: str) -> Any:
    typed = without_first(inspect.signature(constructor))
    recipe.__signature__ = typed.replace(return_annotation=kind)
    recipe.__name__ = recipe.__qualname__ = public_name(constructor)
    recipe.makes_step = prefixed(constructor, recipe.__name__)
    return recipe
