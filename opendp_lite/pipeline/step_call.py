"""A constructor with its arguments, waiting for a space."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypeVar, cast, get_args, get_origin

import attrs

from opendp_lite import explain
from opendp_lite.base.errors import OpenDPLiteError, ParameterError, SpaceError
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import ByHand, Named, call_when_read
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.plan import Map
from opendp_lite.explain.trace import TraceStep
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.numbers.exact import nearest, quote
from opendp_lite.pipeline.core import AnyTransformation, Transformation, heading, join_step
from opendp_lite.pipeline.questions import Pipeline
from opendp_lite.spaces.domains import Domain, Rows
from opendp_lite.spaces.maps import StabilityMap
from opendp_lite.spaces.space import Space, made_by
from opendp_lite.spelling.signatures import (
    Arguments,
    arguments_text,
    call_arguments,
    entries_of,
    hints_of,
    named_arguments,
    signature_of,
    typed_key,
    typed_signature,
)
from opendp_lite.spelling.suggestions import argument_hint, usage

T = TypeVar("T")

_SHORT = 200
_LONG = 10**9
_BUDGETS = ("epsilon", "delta", "rho", "mu")
# Whether a constructor is running: it builds each step that it types at once, and once.
_BUILDING: ContextVar[bool] = ContextVar("building", default=False)


@attrs.frozen(repr=False)
class Call:
    """A constructor with its arguments.

    ``input_kinds`` and ``output_kinds`` are the kinds of domain in its annotations, empty where it
    takes any. ``rehearsal`` is what it makes of the default space.
    """

    constructor: Callable[..., object]
    arguments: Arguments
    input_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    output_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    rehearsal: Any = attrs.field(default=None, eq=False)
    typed_key: tuple[object, ...] | None = attrs.field(default=None, eq=False)

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
        if not signature_of(constructor).parameters:
            raise TypeError(f"{name}(): its first parameter is the space")
        try:
            arguments = _budget_by_name(constructor, named_arguments(constructor, args, kwargs))
        except TypeError as problem:
            known = typed_signature(constructor).parameters
            hint = argument_hint(path_of(constructor), args, kwargs, known)
            raise TypeError(f"{name}(): {problem}; {usage(name, known)}{hint}") from None
        needs, gives = _read_annotations(constructor)
        needs = needs or _needs_of_parts(arguments)
        return cls(constructor, arguments, needs, gives, typed_key=key)._rehearse()

    @property
    def name(self) -> str:
        """The constructor's name."""
        return self.constructor.__name__

    @property
    def definition(self) -> Callable[..., object]:
        """The function that defines it."""
        return self.constructor

    def is_of(self, step: Callable[..., object]) -> bool:
        """Whether this is a call of a public step, such as ``dp.clamp``."""
        return self.constructor is inspect.unwrap(step)

    def _rehearse(self) -> Call:
        """The call with what it makes of the default space, where it makes anything of that.

        So parameters that no space could mend are refused when they are typed. Where any space
        will do, one of rows is tried.
        """
        if _BUILDING.get():
            return self
        kind, *_ = self.input_kinds or (Rows,)
        try:
            self.check_kind((kind,), "the space")
            return attrs.evolve(self, rehearsal=self._made_of(default_space(kind)))
        except ParameterError as problem:
            raise self._name_step(problem) from None
        except Exception:
            return self

    def join(self, before: object) -> Any:
        """A space or a transformation with this step after it."""
        if isinstance(before, Transformation):
            space = before.output_space
            last = before.recipe[-1] if before.recipe else "the step before"
            self.check_kind((type(space.domain),), last)
            if not before.recipe and not _BUILDING.get():
                before = _mark(before)
        elif isinstance(before, Space):
            space = before
        else:
            raise SpaceError(
                f"{self!r} binds to a space such as dp.records(), got {type(before).__name__}"
            )
        before = self._nearer(before, space)
        made = self.build(before if isinstance(before, Space) else before.output_space)
        step = copy_with(made, function=made.function.name_step(self.name))
        return join_step(before, step, self._link())

    def _nearer(
        self, before: Space[Domain] | AnyTransformation, space: Space[Domain]
    ) -> Space[Domain] | AnyTransformation:
        """What comes before, as the kind of value that the step works on: numbers of a table."""
        domain, function = space.domain.towards(self.input_kinds, self.name)
        if domain is space.domain:
            return before
        nearer = Space(domain, space.metric.of_new_values(), unit=space.unit)
        if isinstance(before, Transformation):
            whole = Map(function, self.name, before.function)
            reach = StabilityMap.between(space, nearer, identity)
            return copy_with(
                before,
                output_space=nearer,
                function=whole,
                stability_map=reach.after(before.stability_map),
            )
        return Transformation(space, nearer, Map(function, self.name), identity)

    def _link(self) -> Call:
        """The call as a link of a recipe, which keeps nothing that was built."""
        return self if self.rehearsal is None else attrs.evolve(self, rehearsal=None)

    def build(self, space: Space[Domain]) -> Any:
        """The transformation or measurement that this makes of a space."""
        if self.rehearsal is not None and _same(self.rehearsal.input_space, space):
            return self.rehearsal
        self.check_kind((type(space.domain),), "the space")
        try:
            return self._made_of(space)
        except OpenDPLiteError as problem:
            raise self._name_step(problem) from None

    def _made_of(self, space: Space[Domain]) -> Any:
        """What the constructor makes of a space; its refusal may not name the step."""
        args, kwargs = call_arguments(self.constructor, self.arguments)
        outer = _BUILDING.set(True)
        try:
            made = self.constructor(space, *args, **kwargs)
        finally:
            _BUILDING.reset(outer)
        if made is None:
            raise SpaceError(f"{self!r} returned nothing; its last line must return what it made")
        return made

    def _name_step(self, problem: OpenDPLiteError) -> OpenDPLiteError:
        """A refusal that names the step."""
        step = () if self.name in str(problem) else (f"{self.brief()}: ",)
        return type(problem)(*step, *problem.args)

    def check_kind(self, given: tuple[type[Domain], ...], giver: object) -> None:
        """Refuses a kind of domain that the constructor is not for."""
        needs = self.input_kinds
        if not given or any(issubclass(each, needs) for each in given):
            return
        if not needs and not given[0].onward:
            return
        if not needs:
            raise SpaceError(
                f"{self.name} does not name {given[0].kind} in its annotation; {given[0].onward}"
            )
        gives = given[0].given or given[0].kind
        alone = "" if needs[1:] else needs[0].given
        raise SpaceError(
            f"{self.name} needs {alone or needs[0].kind}; {giver} gives {gives}. "
            f"{needs[0].bridge_from(given[0])}"
        )

    @property
    def heading(self) -> str:
        """The repr with three dots for each pipeline among the arguments."""
        found = tuple((key, _elide(value)) for key, value in self.arguments)
        return f"{path_of(self.constructor)}({arguments_text(self.constructor, found)})"

    def brief(self) -> str:
        """The repr where it is short: what is long may be data, given by mistake."""
        if any(entries_of(value) > _SHORT for _, value in self.arguments):
            return f"{path_of(self.constructor)}(...)"
        text = repr(self)
        return text if len(text) <= _SHORT else f"{path_of(self.constructor)}(...)"

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.name, dict(self.arguments)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what a person types, which makes a stage or a mechanism of one call."""
        args, kwargs = call_arguments(self.constructor, self.arguments)
        return call_when_read(Named.of(self.constructor), *args, **kwargs)

    def __str__(self) -> str:
        return self.brief()

    def __repr__(self) -> str:
        inside = arguments_text(self.constructor, self.arguments)
        return f"{path_of(self.constructor)}({inside})"


def call_key(
    constructor: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[object, ...] | None:
    """Equal for the same call of a step of this library alone; None where nothing may be kept.

    A step of a person's own is none: what it makes may depend on more than its arguments.
    """
    own = constructor.__module__.startswith("opendp_lite.")
    key = typed_key((args, tuple(kwargs.items()))) if own else None
    return None if key is None else (constructor, key)


def is_building() -> bool:
    """Whether a constructor types this, so that it is not tried on a default space."""
    return _BUILDING.get()


@attrs.frozen(repr=False)
class _Wanted:
    key: tuple[object, ...]
    make: Callable[[], object] = attrs.field(eq=False)


@lru_cache(maxsize=1024)
def _once(wanted: _Wanted) -> Any:
    return wanted.make()


def forget_steps() -> None:
    """Makes every step anew from now on: for tests that replace what a step is made of."""
    _once.cache_clear()


def keep(key: tuple[object, ...] | None, make: Callable[[], T]) -> T:
    """What a function makes, made once for equal keys while it is among the last that were wanted.

    Only what is frozen may be kept, and what no private data is part of.
    """
    found: T = make() if key is None else _once(_Wanted(key, make))
    return found


def _budget_by_name(constructor: Callable[..., object], arguments: Arguments) -> Arguments:
    """The arguments, in which numbers by name replace a budget that was given as a value.

    So both spellings are the same value, with one repr and one JSON text.
    """
    given, step = dict(arguments), constructor.__name__
    parameters = typed_signature(constructor).parameters
    if "epsilon" not in parameters:
        return arguments
    for name in _BUDGETS:
        if isinstance(given.get(name), PrivacyBudget):
            raise _refuse_named_budget(constructor, given, name)
    if "budget" not in given:
        return arguments
    budget = given.pop("budget")
    if not isinstance(budget, PrivacyBudget):
        raise TypeError(f"a budget is dp.epsilon(1) or dp.rho(0.03), got {quote(budget)}")
    numbers = budget.by_name()
    if unknown := set(numbers) - set(parameters):
        known = [name for name in ("epsilon", "rho", "mu") if name in parameters]
        raise ParameterError(
            f"{step} takes no {' and no '.join(sorted(unknown))}; got a budget of "
            f"{budget.words()}. Give it {' or '.join(f'{name}=' for name in known)}"
        )
    if twice := [name for name in _BUDGETS if name in given]:
        raise ParameterError(
            f"{step} takes one budget; got {twice[0]}= beside a budget of {budget.words()}. Leave "
            "one out"
        )
    every = given | numbers
    return tuple((name, every[name]) for name in parameters if name in every)


def _refuse_named_budget(
    constructor: Callable[..., object], given: dict[str, object], name: str
) -> ParameterError:
    """The refusal of a whole budget as one of its numbers."""
    (kind, number), *more = cast(PrivacyBudget[AnyMeasure], given[name]).by_name().items()
    numbers = ", ".join(map(str, [number, *(f"{key}={each}" for key, each in more)]))
    others = tuple((key, _elide(each)) for key, each in given.items() if key not in _BUDGETS)
    typed = filter(None, [arguments_text(constructor, others), f"dp.{kind}({numbers})"])
    return ParameterError(
        f"{constructor.__name__}: {name} is a number, and a budget goes in by itself: "
        f"{path_of(constructor)}({', '.join(typed)})"
    )


def _mark(made: AnyTransformation) -> AnyTransformation:
    """A transformation that was put together by hand, with a mark in place of its recipe."""
    mark = ByHand()
    line = TraceStep(mark, map=made.stability_map, space=made.output_space)
    return copy_with(made, trace=(line,), recipe=(mark,))


@contextmanager
def broken_at(links: Sequence[object], place: int) -> Iterator[None]:
    """Shows in a refusal where the chain broke, unless a constructor and no person joined it."""
    try:
        yield
    except OpenDPLiteError as problem:
        if not _BUILDING.get():
            explain.pointing(problem, list(map(heading, links)), place)
        raise


def links_of(before: object) -> tuple[object, ...]:
    """A space or a transformation as the first links of a chain; nothing of anything else."""
    if isinstance(before, Transformation):
        return before.input_space, *before.recipe
    return (before,) if isinstance(before, Space) else ()


def calls_in(recipe: tuple[object, ...]) -> list[Call]:
    """The calls of a recipe, without the space before them and what follows the release."""
    return [link for link in recipe if isinstance(link, Call)]


def _same(first: Space[Domain], second: Space[Domain]) -> bool:
    if first is second:
        return True
    return bool(first.unit == second.unit and first.origin == second.origin and first == second)


def _needs_of_parts(arguments: Arguments) -> tuple[type[Domain], ...]:
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
    space_name, *_ = signature_of(constructor).parameters
    hints = hints_of(constructor)
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
    domain, metric, origin = kind.front()
    return made_by(Space(domain, metric, unit=metric.distance(1)), origin)
