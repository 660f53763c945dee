"""A constructor with its arguments, waiting for a space."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from itertools import repeat
from typing import Any, get_args, get_origin, get_type_hints

import attrs

from opendp_lite import explain
from opendp_lite.base.errors import OpenDPLiteError, ParameterError, SpaceError, shorten, traces
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import ByHand
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.plan import Map
from opendp_lite.explain.trace import TraceStep
from opendp_lite.measures.budgets import budget_by_name
from opendp_lite.numbers.exact import nearest
from opendp_lite.pipeline.core import AnyTransformation, Transformation, join_step
from opendp_lite.pipeline.questions import Pipeline, brief_heading, refuse_kind
from opendp_lite.spaces.domains import Domain, Rows
from opendp_lite.spaces.space import Space, StabilityMap, front_space
from opendp_lite.spelling import signatures
from opendp_lite.spelling.suggestions import argument_hint, usage

_LONG = 10**9
# Whether a constructor is running: it builds each step that it types at once, and once.
_BUILDING: ContextVar[bool] = ContextVar("building", default=False)


@attrs.frozen(repr=False)
class Call(signatures.TypedCall):
    """A constructor with its arguments.

    ``input_kinds`` and ``output_kinds`` are the kinds of domain in its annotations, empty where it
    takes any. ``rehearsal`` is what it makes of the default space.
    """

    input_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    output_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    # Not of ``attrs.evolve``: a copy with other arguments is another call.
    rehearsal: Any = attrs.field(default=None, eq=False, init=False)
    typed_key: tuple[object, ...] | None = attrs.field(default=None, eq=False, init=False)

    @classmethod
    def of(
        cls,
        constructor: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        key: tuple[object, ...] | None = None,
    ) -> Call:
        """The call, with what no space could mend refused at once."""
        name = constructor.__name__
        if not signatures.signature_of(constructor).parameters:
            raise TypeError(f"{name}(): its first parameter is the space")
        try:
            arguments = budget_by_name(
                constructor, signatures.named_arguments(constructor, args, kwargs)
            )
        except TypeError as problem:
            known = signatures.typed_signature(constructor).parameters
            hint = argument_hint(path_of(constructor), args, kwargs, known)
            raise TypeError(f"{name}(): {problem}; {usage(name, known)}{hint}") from None
        needs, gives = _read_annotations(constructor)
        needs = needs or _needs_of_parts(arguments)
        made = copy_with(cls(constructor, arguments, needs, gives), typed_key=key)
        return made if _BUILDING.get() else made._rehearse()

    def is_of(self, step: Callable[..., object]) -> bool:
        """Whether this is a call of a public step, such as ``dp.clamp``."""
        return self.definition is inspect.unwrap(step)

    def _rehearse(self) -> Call:
        """The call with what it makes of the default space, where it makes anything of that.

        So parameters that no space could mend are refused when they are typed. Where any space
        will do, one of rows is tried.
        """
        kind, *_ = self.input_kinds or (Rows,)
        try:
            return copy_with(self, rehearsal=self._make(default_space(kind)))
        except ParameterError:
            raise
        except Exception:
            return self

    def join(self, before: object) -> Any:
        """A space or a transformation with this step after it."""
        if isinstance(before, Transformation):
            space = before.output_space
            giver = before.recipe[-1] if before.recipe else "the step before"
            if not before.recipe and not _BUILDING.get():
                before = _mark(before)
        elif isinstance(before, Space):
            space, giver = before, "the space"
        else:
            raise SpaceError(
                f"{self} binds to a space such as dp.records(), got {type(before).__name__}"
            )
        kind = type(space.domain)
        self.check_kind((kind,), giver)
        if kind not in self.input_kinds:
            before, space = self._nearer(before, space)
        # The link of a recipe keeps nothing that was built.
        link = self if self.rehearsal is None else copy_with(self, rehearsal=None)
        return join_step(before, self.build(space), link)

    def _nearer(
        self, before: Space[Domain] | AnyTransformation, space: Space[Domain]
    ) -> tuple[Space[Domain] | AnyTransformation, Space[Domain]]:
        """What comes before, as the kind of value that the step works on: numbers of a table."""
        domain, function = space.domain.towards(self.input_kinds, self.name)
        if domain is space.domain:
            return before, space
        nearer = attrs.evolve(space, domain=domain, metric=space.metric.of_new_values())
        reach = StabilityMap.between(space, nearer, identity)
        if not isinstance(before, Transformation):
            return Transformation(space, nearer, Map(function, self.name), reach), nearer
        whole = copy_with(
            before,
            output_space=nearer,
            function=Map(function, self.name, before.function),
            stability_map=reach.after(before.stability_map),
        )
        return whole, nearer

    def build(self, space: Space[Domain]) -> Any:
        """The transformation or measurement that this makes of a space."""
        known = None if self.rehearsal is None else self.rehearsal.input_space
        if known is not None and (
            known is space or (known.origin == space.origin and known.is_same(space))
        ):
            return self.rehearsal
        try:
            return self._make(space)
        except (TypeError, ValueError, AttributeError, ArithmeticError) as problem:
            # One of ours was given what no check names. A step of your own shows its own errors,
            # also within one of ours: the inner call let them through.
            codes = [each.tb_frame.f_code for each in traces(problem.__traceback__)]
            inner = codes.count(Call._make.__code__) > 1
            if (
                isinstance(problem, OpenDPLiteError)
                or inner
                or path_of(self.definition) == self.name
            ):
                raise
            known = signatures.typed_signature(self.definition).parameters.values()
            types = ", ".join(f"{each.name}: {each.annotation}" for each in known)
            raise ParameterError(
                f"{self.brief()}: an argument is of a type or a size that it does not take; "
                f"its arguments are {types}"
            ) from problem

    def _make(self, space: Space[Domain]) -> object:
        args, kwargs = signatures.call_arguments(self.definition, self.arguments)
        outer = _BUILDING.set(True)
        try:
            made = self.definition(space, *args, **kwargs)
        except OpenDPLiteError as problem:
            named = self.name in str(problem)
            raise type(problem)(*(() if named else (f"{self.brief()}: ",)), *problem.args) from None
        finally:
            _BUILDING.reset(outer)
        if made is None:
            raise SpaceError(f"{self} returned nothing; its last line must return what it made")
        return made

    def check_kind(self, given: tuple[type[Domain], ...], giver: object) -> None:
        """Refuses a kind of domain that the constructor is not for."""
        needs = self.input_kinds
        if not given or any(map(issubclass, given, repeat(needs))):
            return
        if needs or given[0].onward:
            raise refuse_kind(self.name, needs, giver, given[0])

    @property
    def elided(self) -> Call:
        """The call with three dots for each pipeline among the arguments."""
        found = tuple((key, _elide(value)) for key, value in self.arguments)
        return attrs.evolve(self, arguments=found)

    @property
    def heading(self) -> str:
        """The call in words about a pipeline: what was typed, in full."""
        return repr(self.elided)


def type_step(
    kind: Callable[[tuple[Call]], object],
    constructor: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> object:
    """The step that was typed, made once for equal arguments; a refusal shows the person's line.

    A step of a person's own is made each time: it may depend on more than its arguments.
    """
    own = constructor.__module__.startswith("opendp_lite.")
    # In one tuple, as the number of arguments says which of them are names.
    typed = signatures.typed_key((len(args), *args, *kwargs, *kwargs.values())) if own else None
    key = None if typed is None else (constructor, typed)

    def make() -> object:
        return kind((Call.of(constructor, args, kwargs, key),))

    try:
        # Within a constructor a step is not tried on a default space.
        return make() if key is None else keep(Wanted((_BUILDING.get(), key), make))
    except OpenDPLiteError as problem:
        raise shorten(problem) from problem.__cause__


def show_break(problem: OpenDPLiteError, links: Sequence[object], place: int) -> None:
    """Shows in a refusal where the chain broke, unless a constructor and no person joined it."""
    if not _BUILDING.get():
        explain.pointing(problem, list(map(brief_heading, links)), place)


@attrs.frozen(repr=False)
class Wanted:
    """What a function makes, and a key that is equal for the same alone."""

    key: tuple[object, ...]
    make: Callable[[], object] = attrs.field(eq=False)


@lru_cache(maxsize=1024)
def keep(wanted: Wanted) -> Any:
    """What is wanted, made once while it is among the last that were.

    Only what is frozen may be kept, and what no private data is part of.
    """
    return wanted.make()


def forget_steps() -> None:
    """Makes every step anew from now on: for tests that replace what a step is made of."""
    keep.cache_clear()


def _mark(made: AnyTransformation) -> AnyTransformation:
    """A transformation that was put together by hand, with a mark in place of its recipe."""
    mark = ByHand()
    line = TraceStep(mark, map=made.stability_map, space=made.output_space)
    return copy_with(made, trace=(line,), recipe=(mark,))


def calls_in(recipe: tuple[object, ...]) -> list[Call]:
    """The calls of a recipe, without the space before them and what follows the release."""
    return [link for link in recipe if isinstance(link, Call)]


def _needs_of_parts(arguments: signatures.Arguments) -> tuple[type[Domain], ...]:
    """For a combinator over any space: what the recipes among its arguments need.

    Before all others the kind that one of them binds itself to and all take, a table before rows.
    """
    parts = list(_needs_in(tuple(value for _, value in arguments)))
    if not parts:
        return ()
    common = [kind for kind in parts[0] if all(kind in needs for needs in parts)]
    wanted = [kind for kind in common if any(kind is needs[0] for needs in parts)]
    first = max(wanted, key=lambda kind: len(kind.__mro__), default=parts[0][0])
    return (first, *(kind for kind in common or parts[0] if kind is not first))


def _needs_in(value: object) -> Iterator[tuple[type[Domain], ...]]:
    """What each recipe in an argument needs."""
    if isinstance(value, tuple):
        for each in value:
            yield from _needs_in(each)
    elif needs := getattr(value, "input_kinds", ()):
        yield needs


def _elide(value: object) -> object:
    """An argument without the pipelines in it, and with a float in place of a long fraction."""
    if isinstance(value, tuple):
        return tuple(map(_elide, value))
    if isinstance(value, Fraction) and value.denominator > _LONG:
        return nearest(value)
    return ... if isinstance(value, Pipeline) else value


@lru_cache(maxsize=1024)
def _read_annotations(constructor: Callable[..., object]) -> tuple[tuple[type[Domain], ...], ...]:
    """The kinds of domain before and after a step, by its annotations."""
    space_name, *_ = signatures.signature_of(constructor).parameters
    hints = get_type_hints(constructor)
    returned = get_args(hints.get("return"))
    return _kinds(hints.get(space_name)), _kinds(returned[1]) if len(returned) == 2 else ()


def _kinds(annotation: object) -> tuple[type[Domain], ...]:
    """The domain classes in ``Space[A]`` or ``Space[A | B]``, or that a type variable may be."""
    if get_origin(annotation) is not Space:
        return ()
    (kind,) = get_args(annotation)
    options = getattr(kind, "__constraints__", ()) or get_args(kind) or (kind,)
    return tuple(option for option in options if isinstance(option, type))


@cache
def default_space(kind: type[Domain]) -> Space[Domain]:
    """The space that a pipeline of this kind binds itself to when none was said."""
    return front_space(*kind.front())
