"""Steps that wait for the space before them, and functions of a release with parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, TypeVar, cast, overload

import attrs

from opendp_lite.base.errors import OpenDPLiteError, ParameterError, SpaceError, shorten
from opendp_lite.base.spelling import step
from opendp_lite.explain.trace import Explained, Role, TraceStep
from opendp_lite.measures import divergences
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline import core, questions
from opendp_lite.pipeline.core import In, M, Measurement, Next, Out, P, R, Release, Transformation
from opendp_lite.pipeline.questions import Pipeline
from opendp_lite.pipeline.step_call import Call, Wanted, default_space, keep, show_break, type_step
from opendp_lite.spaces.domains import Domain
from opendp_lite.spaces.space import Example, Space
from opendp_lite.spelling import signatures
from opendp_lite.spelling.description import UNPROVED, Description, F, Proof, attach, describe

Before = TypeVar("Before", bound=Space[Domain])
Later = TypeVar("Later", bound=Space[Domain])


class Recipe(Pipeline):
    """What stages and mechanisms share: steps that wait for a space."""

    calls: tuple[Call, ...]
    after: tuple[object, ...] = ()
    last_role: ClassVar[Role]

    @property
    def input_kinds(self) -> tuple[type[Domain], ...]:
        """The kinds of domain that the first step works on."""
        return self.calls[0].input_kinds

    @property
    def links(self) -> tuple[object, ...]:
        """The steps that ``>>`` joined."""
        return *self.calls, *self.after

    def join(self, before: Any) -> Any:
        """A space or a transformation with these steps after it."""
        whole, joined = before, 0
        try:
            for call in self.calls:
                whole = call.join(whole)
                joined += 1
        except OpenDPLiteError as problem:
            first = _links_of(before)
            show_break(problem, (*first, *self.links), len(first) + joined)
            raise
        return functools.reduce(core.follow, self.after, whole)

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""
        return "pipeline", {"steps": self.links}

    @functools.cached_property
    def typed_key(self) -> tuple[object, ...] | None:
        """Equal for steps that were typed alike; None where one of them has no key."""
        keys = tuple([getattr(link, "typed_key", None) for link in self.links])
        return None if None in keys else (type(self), keys)

    def _bound_to(self, space: object) -> object:
        """As ``join``, once for spaces and steps that were typed alike."""
        origin = getattr(space, "origin", None)
        start = None if origin is None else signatures.typed_key(origin)
        if start is None or self.typed_key is None:
            return self.join(space)
        return keep(Wanted((start, self.typed_key), partial(self.join, space)))

    def _drawn(self, d_in: object) -> Explained:
        try:
            self.bound  # noqa: B018
        except SpaceError as problem:
            return self._waiting(str(problem))
        return super()._drawn(d_in)

    def _waiting(self, reason: str) -> Explained:
        """What is said of steps that bind themselves to no space."""
        roles = [*(Role.DATA for _ in self.calls[1:]), self.last_role]
        links = zip_longest(self.links, roles, fillvalue=Role.RELEASE)
        steps = tuple(TraceStep(questions.heading(link), role=role) for link, role in links)
        return Explained(steps, None, "", "not known yet", reason, "")

    @property
    def input_space(self) -> Any:
        """The space that it binds itself to by default."""
        return self.bound.input_space

    @functools.cached_property
    def _by_default(self) -> object:
        if not self.input_kinds:
            raise questions.refuse_no_space(self)
        try:
            return self._bound_to(default_space(self.input_kinds[0]))
        except OpenDPLiteError as problem:
            raise shorten(problem) from problem.__cause__

    def _joined_to(self, before: object) -> object:
        if isinstance(before, Space | Transformation):
            try:
                return self._bound_to(before)
            except OpenDPLiteError as problem:
                raise shorten(problem) from problem.__cause__
        raise questions.refuse_start(before)


@attrs.frozen(repr=False, slots=False)
class Stage(Recipe, core.Stable[In, Out]):
    """A transformation, or several, waiting for the space before it.

    ``>>`` joins it to further stages, to a mechanism, or to a space before it. Called on data or
    asked for its map, it binds itself to the default space.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 10) >> dp.sum()
        >>> isinstance(total, dp.Stage), total([3, 40])
        (True, NotPrivate([13.]))
    """

    last_role = Role.DATA

    calls: tuple[Call, ...]

    @property
    def bound(self) -> Transformation[In, Out]:
        """The transformation on the default space: one column, one row added or removed."""
        return cast("Transformation[In, Out]", self._by_default)

    def bind(self, space: In) -> Transformation[In, Out]:
        """The transformation that this makes of a space."""
        return cast("Transformation[In, Out]", self._bound_to(space))

    @overload
    def __rshift__(self, other: Stage[Out, Later]) -> Stage[In, Later]: ...
    @overload
    def __rshift__(self, other: Mechanism[Out, M, R]) -> Mechanism[In, M, R]: ...
    def __rshift__(self, other: object) -> object:
        if not isinstance(other, Recipe):
            raise questions.refuse_step(other, self.calls)
        try:
            other.calls[0].check_kind(self.calls[-1].output_kinds, self.calls[-1])
        except SpaceError as problem:
            show_break(problem, (*self.calls, *other.links), len(self.calls))
            raise
        return attrs.evolve(cast(Any, other), calls=(*self.calls, *other.calls))

    @overload
    def __rrshift__(self, before: Transformation[Before, In]) -> Transformation[Before, Out]: ...
    @overload
    def __rrshift__(self, before: In) -> Transformation[In, Out]: ...
    def __rrshift__(self, before: object) -> object:
        return self._joined_to(before)


@attrs.frozen(repr=False, slots=False)
class Mechanism(Recipe, core.Private[In, M, R]):
    """A measurement waiting for the space before it: see ``Stage``.

    ``calls`` ends with the mechanism; ``after`` holds conversions and post-processing.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 10) >> dp.sum() >> dp.laplace(epsilon=1)
        >>> isinstance(total, dp.Mechanism), total.map(2)
        (True, 2.0)
    """

    last_role = Role.NOISE

    calls: tuple[Call, ...]
    after: tuple[object, ...] = ()

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
        return cast("Measurement[In, M, R]", self._bound_to(space))

    if TYPE_CHECKING:

        def to_zcdp(
            self: Mechanism[In, divergences.MaxDivergence, R],
        ) -> Mechanism[In, divergences.ZeroConcentratedDivergence, R]: ...
        def to_approximate(
            self: Mechanism[In, divergences.MaxDivergence, R]
            | Mechanism[In, divergences.ZeroConcentratedDivergence, R],
            delta: Number,
        ) -> Mechanism[In, divergences.ApproximateDivergence, R]: ...

    @overload
    def __rshift__(
        self, other: divergences.Conversion[M, core.M2]
    ) -> Mechanism[In, core.M2, R]: ...
    @overload
    def __rshift__(self, other: core.Function[R, Next]) -> Mechanism[In, M, Next]: ...
    @overload
    def __rshift__(self, other: partial[Any] | itemgetter[Any]) -> Mechanism[In, M]: ...
    def __rshift__(self, other: object) -> object:
        questions.check_follower(other, self.calls)
        return attrs.evolve(self, after=(*self.after, other))

    @overload
    def __rrshift__(self, before: Transformation[Before, In]) -> Measurement[Before, M, R]: ...
    @overload
    def __rrshift__(self, before: In) -> Measurement[In, M, R]: ...
    def __rrshift__(self, before: object) -> object:
        return self._joined_to(before)


@overload
def stage(
    constructor: Callable[Concatenate[In, P], Transformation[In, Out]], /
) -> Callable[P, Stage[In, Out]]: ...
@overload
def stage(
    *,
    does: str = "",
    changes: str = "",
    proof: Proof = UNPROVED,
    examples: Callable[[], Sequence[Example]] = tuple,
) -> Callable[
    [Callable[Concatenate[In, P], Transformation[In, Out]]], Callable[P, Stage[In, Out]]
]: ...
def stage(
    constructor: Callable[..., object] | None = None,
    /,
    *,
    does: str = "",
    changes: str = "",
    proof: Proof = UNPROVED,
    examples: Callable[[], Sequence[Example]] = tuple,
) -> object:
    """Makes a stage of a constructor of transformations: ``@dp.stage``, or ``@dp.stage(does=...)``.

    Args:
        constructor: ``f(space, *parameters) -> Transformation``. The annotations of ``space`` and
            of the return value, such as ``dp.Space[dp.Rows]``, are also checked when pipelines are
            joined. Raise ``dp.ParameterError`` for parameters that no space could mend: it then
            shows when they are typed.
        does: What it does, in a sentence. Statements say it.
        changes: What it clips, fills in or leaves out before the noise. Statements say it, too.
        proof: Why its map holds.
        examples: Makes a list of what ``opendp_lite.spaces.space.example`` gives, for tests.

    Returns:
        A function of the parameters alone, whose result ``>>`` joins.

    Example:
        >>> import opendp_lite as dp
        >>> from fractions import Fraction
        >>> Tables = dp.Space[dp.Rows]
        >>> @dp.stage(does="Halves every value.", proof=dp.Proof("Row by row."))
        ... def halve(space: Tables) -> dp.Transformation[Tables, Tables]:
        ...     body = space.domain.body.scale((Fraction(1, 2),))
        ...     return dp.row_map(space, lambda block: block / 2, body)
        >>> (dp.clamp(0, 10) >> halve() >> dp.sum()).map(1)
        dp.Norms(l1=5.0, l2=5.0, linf=5.0)
    """

    said = Description(does, changes, proof, examples)
    return _make_step(Stage, partial(type_step, Stage), constructor, said)


@overload
def mechanism(
    constructor: Callable[Concatenate[In, P], Measurement[In, M, R]], /
) -> Callable[P, Mechanism[In, M, R]]: ...
@overload
def mechanism(
    *,
    does: str = "",
    changes: str = "",
    proof: Proof = UNPROVED,
    examples: Callable[[], Sequence[Example]] = tuple,
) -> Callable[
    [Callable[Concatenate[In, P], Measurement[In, M, R]]], Callable[P, Mechanism[In, M, R]]
]: ...
def mechanism(
    constructor: Callable[..., object] | None = None,
    /,
    *,
    does: str = "",
    changes: str = "",
    proof: Proof = UNPROVED,
    examples: Callable[[], Sequence[Example]] = tuple,
) -> object:
    """Makes a mechanism of a constructor of measurements: as ``stage``.

    Args:
        constructor: ``f(space, *parameters) -> Measurement``.
        does: As for ``stage``.
        changes: As for ``stage``.
        proof: As for ``stage``.
        examples: As for ``stage``.

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

    said = Description(does, changes, proof, examples)
    return _make_step(Mechanism, partial(type_step, Mechanism), constructor, said)


def _links_of(before: object) -> tuple[object, ...]:
    """A space or a transformation as the first links of a chain; nothing of data."""
    if isinstance(before, Transformation):
        return before.input_space, *before.recipe
    return (before,) if isinstance(before, Space) else ()


def _make_step(
    kind: type, make: Callable[..., object], given: Callable[..., object] | None, said: Description
) -> object:
    """What is typed of a function: its parameters but the first make something of a kind."""

    def decorate(function: Callable[..., object]) -> object:
        if not callable(function):
            raise ParameterError(f"a step is made of a function, got {type(function).__name__}")

        @functools.wraps(describe(said)(function))
        def recipe(*args: object, **kwargs: object) -> object:
            return make(function, args, kwargs)

        typed = signatures.without_first(inspect.signature(function))
        cast(Any, recipe).__signature__ = typed.replace(return_annotation=kind.__name__)
        return step(recipe)

    return decorate if given is None else decorate(given)


@attrs.frozen(repr=False)
class Postprocessor(signatures.TypedCall, Generic[Release, Next]):
    """A named function of a release with its parameters, made by ``@postprocessor``."""

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, release: Release, /) -> Next:
        args, kwargs = signatures.call_arguments(self.definition, self.arguments)
        return cast(Next, self.definition(release, *args, **kwargs))

    def refusal(self, recipe: tuple[object, ...]) -> str | None:
        """Why this cannot follow such a recipe, where the function can tell; else None."""
        rejects = getattr(self.definition, "rejects", None)
        args, kwargs = signatures.call_arguments(self.definition, self.arguments)
        return None if rejects is None else rejects(recipe, *args, **kwargs)


def validator(rejects: Callable[..., str | None]) -> Callable[[F], F]:
    """Gives a function ``rejects(recipe, *arguments)``: why it cannot follow a recipe, or None."""

    return attach("rejects", rejects)


@overload
def postprocessor(
    function: Callable[Concatenate[Release, P], Next], /
) -> Callable[P, Postprocessor[Release, Next]]: ...
@overload
def postprocessor(
    *, does: str = "", proof: Proof = UNPROVED
) -> Callable[
    [Callable[Concatenate[Release, P], Next]], Callable[P, Postprocessor[Release, Next]]
]: ...
def postprocessor(
    function: Callable[..., object] | None = None, /, *, does: str = "", proof: Proof = UNPROVED
) -> object:
    """Makes post-processing with parameters that shows in a pipeline's repr and JSON.

    It costs nothing: the privacy map of the pipeline stays (Dwork and Roth 2014, proposition 2.1).

    Args:
        function: ``f(release, *parameters)``, a function of the release alone.
        does: What it does, in a sentence. Statements say it.
        proof: Why the loss stays; ``docs/proofs.md`` shows it.

    Returns:
        A function of the parameters, whose result goes after a mechanism by ``>>``.

    Example:
        >>> import opendp_lite as dp
        >>> @dp.postprocessor(does="Multiplies the release.")
        ... def times(release, factor):
        ...     return release * factor
        >>> (dp.count() >> dp.laplace(epsilon=1) >> times(2)).map(1)
        1.0
    """

    def make(function: Callable[..., object], args: Any, kwargs: Any) -> object:
        return Postprocessor(function, signatures.named_arguments(function, args, kwargs))

    return _make_step(Postprocessor, make, function, Description(does, proof=proof))
