"""Pipelines that wait for the space before them."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

import attrs

from opendp_lite.calls import Call, broken_at, default_space, links_of
from opendp_lite.core import (
    M2,
    Function,
    In,
    M,
    Measurement,
    Next,
    Out,
    Private,
    R,
    Stable,
    Transformation,
    check_follower,
    follow,
    heading,
    link_text,
    not_a_step,
    with_release,
)
from opendp_lite.documents import step, without_parentheses
from opendp_lite.domains import Domain
from opendp_lite.errors import OpenDPLiteError, SpaceError, shortened
from opendp_lite.exact import Number
from opendp_lite.explain import Explained, Role, waiting
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import Conversion
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.pipeline import Pipeline
from opendp_lite.signatures import without_first
from opendp_lite.spaces import Space

Before = TypeVar("Before", bound=Space[Any])
Later = TypeVar("Later", bound=Space[Any])
P = ParamSpec("P")


class Recipe(Pipeline):
    """What stages and mechanisms share: steps that wait for a space."""

    calls: tuple[Call, ...]

    @property
    def input_kinds(self) -> tuple[type[Domain], ...]:
        """The kinds of domain that the first step works on."""
        return self.calls[0].input_kinds

    @property
    @abstractmethod
    def links(self) -> tuple[Any, ...]:
        """The steps that ``>>`` joined."""

    @property
    @abstractmethod
    def roles(self) -> tuple[Role, ...]:
        """What each of them does with private data."""

    @abstractmethod
    def join(self, before: Any) -> Any:
        """A space or a transformation with these steps after it."""

    def _called_on(self, before: Any) -> Any:
        """A space or a transformation with the calls after it."""
        first = links_of(before)
        links = (*first, *self.links)
        for place, call in enumerate(self.calls, len(first)):
            with broken_at(links, place):
                before = call.join(before)
        return before

    def _drawn(self, d_in: object) -> Explained:
        try:
            self.bound  # noqa: B018
        except SpaceError as problem:
            return self._waiting(str(problem))
        return super()._drawn(d_in)

    def _waiting(self, reason: str) -> Explained:
        """What is said of steps that bind themselves to no space."""
        steps = [
            waiting(heading(link), role) for link, role in zip(self.links, self.roles, strict=True)
        ]
        return Explained(tuple(steps), None, "", "not known yet", reason, "")

    @property
    def input_space(self) -> Any:
        """The space that it binds itself to by default."""
        return self.bound.input_space

    @functools.cached_property
    def _by_default(self) -> Any:
        if not self.input_kinds:
            raise SpaceError(
                f"{self!r} needs an input space. Write dp.records(columns=['age', 'visits']) >> "
                f"{self!r}; the pipelines in it have no space of their own (dp.select('age') >> "
                "...)"
            )
        return self.join(default_space(self.input_kinds[0]))

    def _joined_to(self, before: Any) -> Any:
        if isinstance(before, Space | Transformation):
            try:
                return self.join(before)
            except OpenDPLiteError as problem:
                raise shortened(problem) from problem.__cause__
        if forgotten := without_parentheses(before):
            raise forgotten
        raise SpaceError(
            f"a pipeline starts from a space such as dp.records(); call it on data instead: "
            f"pipeline(data). Got {type(before).__name__}"
        )


@attrs.frozen(repr=False, slots=False)
class Stage(Recipe, Stable[In, Out]):
    """A transformation, or several, waiting for the space before it.

    ``>>`` joins it to further stages, to a mechanism, or to a space before it. Called on data or
    asked for its map, it binds itself to the default space.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 10) >> dp.sum()
        >>> isinstance(total, dp.Stage), total([3, 40])
        (True, NotPrivate([13.]))
    """

    calls: tuple[Call, ...]

    @property
    def bound(self) -> Transformation[In, Out]:
        """The transformation on the default space: one column, one row added or removed."""
        return cast("Transformation[In, Out]", self._by_default)

    def bind(self, space: In) -> Transformation[In, Out]:
        """The transformation that this makes of a space."""
        return cast("Transformation[In, Out]", self.join(space))

    @property
    def links(self) -> tuple[Any, ...]:
        """The steps that ``>>`` joined."""
        return self.calls

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each of them does with private data."""
        return (Role.DATA,) * len(self.calls)

    def join(self, before: Any) -> Any:
        """A space or a transformation with these steps after it."""
        return self._called_on(before)

    @overload
    def __rshift__(self, other: Stage[Out, Later]) -> Stage[In, Later]: ...
    @overload
    def __rshift__(self, other: Mechanism[Out, M, R]) -> Mechanism[In, M, R]: ...
    def __rshift__(self, other: Any) -> Any:
        if not isinstance(other, Recipe):
            raise not_a_step(other, self.calls)
        links = (*self.calls, *other.links)
        with broken_at(links, len(self.calls)):
            other.calls[0].check_kind(self.calls[-1].output_kinds, self.calls[-1])
        return attrs.evolve(cast(Any, other), calls=(*self.calls, *other.calls))

    @overload
    def __rrshift__(self, before: Transformation[Before, In]) -> Transformation[Before, Out]: ...
    @overload
    def __rrshift__(self, before: In) -> Transformation[In, Out]: ...
    def __rrshift__(self, before: Any) -> Any:
        return self._joined_to(before)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""
        return "pipeline", {"steps": self.links}

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.calls))


@attrs.frozen(repr=False, slots=False)
class Mechanism(Recipe, Private[In, M, R]):
    """A measurement waiting for the space before it: see ``Stage``.

    ``calls`` ends with the mechanism; ``after`` holds conversions and post-processing.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 10) >> dp.sum() >> dp.laplace(epsilon=1)
        >>> isinstance(total, dp.Mechanism), total.map(2)
        (True, 2.0)
    """

    calls: tuple[Call, ...]
    after: tuple[Any, ...] = ()

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> Any:
            return super().__class_getitem__(with_release(parameters))

    @property
    def output_measure(self) -> M:
        """The measure of the privacy loss."""
        return self.bound.output_measure

    @property
    def bound(self) -> Measurement[In, M, R]:
        """The measurement on the default space: one column, one row added or removed."""
        return cast("Measurement[In, M, R]", self._by_default)

    def bind(self, space: In) -> Measurement[In, M, R]:
        """The measurement that this makes of a space."""
        return cast("Measurement[In, M, R]", self.join(space))

    @property
    def links(self) -> tuple[Any, ...]:
        """The steps that ``>>`` joined."""
        return *self.calls, *self.after

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each of them does with private data."""
        before = (Role.DATA,) * (len(self.calls) - 1)
        return *before, Role.NOISE, *(Role.RELEASE for _ in self.after)

    def join(self, before: Any) -> Any:
        """A space or a transformation with these steps after it."""
        before = self._called_on(before)
        for link in self.after:
            before = follow(before, link)
        return before

    if TYPE_CHECKING:

        def to_zcdp(
            self: Mechanism[In, MaxDivergence, R],
        ) -> Mechanism[In, ZeroConcentratedDivergence, R]: ...
        def to_approximate(
            self: Mechanism[In, MaxDivergence, R] | Mechanism[In, ZeroConcentratedDivergence, R],
            delta: Number,
        ) -> Mechanism[In, ApproximateDivergence, R]: ...

    @overload
    def __rshift__(self, other: Conversion[M, M2]) -> Mechanism[In, M2, R]: ...
    @overload
    def __rshift__(self, other: Function[R, Next]) -> Mechanism[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Mechanism[In, M]: ...
    def __rshift__(self, other: Any) -> Any:
        check_follower(other, self.calls)
        return attrs.evolve(self, after=(*self.after, other))

    @overload
    def __rrshift__(self, before: Transformation[Before, In]) -> Measurement[Before, M, R]: ...
    @overload
    def __rrshift__(self, before: In) -> Measurement[In, M, R]: ...
    def __rrshift__(self, before: Any) -> Any:
        return self._joined_to(before)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""
        return "pipeline", {"steps": self.links}

    def __repr__(self) -> str:
        return " >> ".join(map(link_text, self.links))


def stage(
    constructor: Callable[Concatenate[In, P], Transformation[In, Out]],
) -> Callable[P, Stage[In, Out]]:
    """Makes a stage of a constructor of transformations.

    Args:
        constructor: ``f(space, *parameters) -> Transformation``. The annotations of ``space`` and
            of the return value, such as ``dp.Space[dp.Rows]``, are also checked when pipelines are
            joined. Raise ``dp.ParameterError`` for parameters that no space could mend: it then
            shows when they are typed.

    Returns:
        A function of the parameters alone, whose result ``>>`` joins.

    Example:
        >>> import opendp_lite as dp
        >>> from fractions import Fraction
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
        return Stage((_call_of(constructor, args, kwargs),))

    return cast(Callable[P, Stage[In, Out]], _without_space(recipe, constructor, "Stage"))


def mechanism(
    constructor: Callable[Concatenate[In, P], Measurement[In, M, R]],
) -> Callable[P, Mechanism[In, M, R]]:
    """Makes a mechanism of a constructor of measurements: as ``stage``.

    Args:
        constructor: ``f(space, *parameters) -> Measurement``.

    Returns:
        A function of the parameters alone, whose result ``>>`` joins.

    Example:
        >>> import opendp_lite as dp
        >>> @dp.mechanism
        ... def half_each(space: dp.Space[dp.Rows], epsilon: float) -> dp.Measurement:
        ...     noisy = dp.laplace(epsilon=epsilon / 2)
        ...     return space >> dp.compose(dp.count() >> noisy, dp.clamp(0, 1) >> dp.sum() >> noisy)
        >>> half_each(1).map(1)
        1.0
    """

    @functools.wraps(constructor)
    def recipe(*args: P.args, **kwargs: P.kwargs) -> Mechanism[In, M, R]:
        return Mechanism((_call_of(constructor, args, kwargs),))

    return cast(Callable[P, Mechanism[In, M, R]], _without_space(recipe, constructor, "Mechanism"))


def _call_of(constructor: Callable[..., Any], args: Any, kwargs: Any) -> Call:
    """The call that was typed; its refusal shows no line but the person's."""
    try:
        return Call.of(constructor, args, kwargs)
    except OpenDPLiteError as problem:
        raise shortened(problem) from problem.__cause__


def _without_space(recipe: Any, constructor: Callable[..., Any], kind: str) -> Any:
    typed = without_first(inspect.signature(constructor))
    recipe.__signature__ = typed.replace(return_annotation=kind)
    return step(recipe)
