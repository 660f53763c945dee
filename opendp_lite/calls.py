"""A constructor with its arguments, waiting for a space."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from math import isfinite
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import numpy as np

from opendp_lite.core import Transformation, joined
from opendp_lite.documents import path_of
from opendp_lite.domains import Domain
from opendp_lite.engines.deferred import named
from opendp_lite.errors import OpenDPLiteError, ParameterError, SpaceError
from opendp_lite.exact import nearest, plain, reading
from opendp_lite.spaces import Space

_SHORT = 200
_STAR = inspect.Parameter.VAR_POSITIONAL
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_BUILDING: ContextVar[bool] = ContextVar("building", default=False)
"""Whether a constructor is running: it builds each step that it types at once, and once."""

_LONGEST_DECIMAL = 14_000
"""Bits of an integer that Python still writes in decimal digits."""


def frozen_argument(value: Any) -> Any:
    """An argument as a hashable value: arrays and lists become tuples."""
    if isinstance(value, np.ndarray):
        return frozen_argument(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(frozen_argument(each) for each in value)
    return value


def argument_text(value: Any) -> str:
    """An argument as it would be typed."""
    if type(value) is tuple:
        return f"[{', '.join(argument_text(each) for each in value)}]"
    if isinstance(value, Fraction):
        close = nearest(value)
        return plain(value) if isfinite(close) and reading(close) == value else repr(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_DECIMAL:
        return hex(value)
    return str(value.__name__) if inspect.isroutine(value) else repr(value)


@lru_cache(maxsize=1024)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, read once."""
    return inspect.signature(function)


@lru_cache(maxsize=1024)
def hints_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The annotations, read once."""
    return get_type_hints(function)


def without_first(signature: inspect.Signature) -> inspect.Signature:
    """All parameters but the first, which is the space, or the release."""
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(maxsize=1024)
def typed_signature(constructor: Callable[..., Any]) -> inspect.Signature:
    """The parameters that a person types."""
    return without_first(signature_of(constructor))


def spread(
    constructor: Callable[..., Any], arguments: tuple[tuple[str, Any], ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Named arguments as those of a call, after the space."""
    bound = inspect.BoundArguments(typed_signature(constructor), dict(arguments))
    return bound.args, bound.kwargs


def named_arguments(
    constructor: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[tuple[str, Any], ...]:
    """Arguments by name, those left out that are equal to their default.

    So a pipeline is the same value whether a default was typed or not.
    """
    signature = typed_signature(constructor)
    found = signature.bind(*args, **kwargs).arguments
    frozen = ((key, frozen_argument(value)) for key, value in found.items())
    return tuple(
        (key, value) for key, value in frozen if not _is_default(signature.parameters[key], value)
    )


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    default = frozen_argument(parameter.default)
    same_kind = isinstance(value, bool) == isinstance(default, bool)
    return same_kind and (value is default or bool(value == default))


def arguments_text(constructor: Callable[..., Any], arguments: tuple[tuple[str, Any], ...]) -> str:
    """Arguments as they would be typed, without the parentheses."""
    parameters = typed_signature(constructor).parameters
    texts: list[str] = []
    by_name = False
    for key, parameter in parameters.items():
        given = dict(arguments)
        if key not in given:
            by_name = by_name or parameter.kind not in (_STAR, _KEYWORD)
            continue
        if parameter.kind is _STAR:
            texts.extend(argument_text(each) for each in given[key])
        else:
            prefix = f"{key}=" if by_name or parameter.kind is _KEYWORD else ""
            texts.append(prefix + argument_text(given[key]))
    return ", ".join(texts)


@attrs.frozen(repr=False)
class Call:
    """A constructor with its arguments.

    ``input_kinds`` and ``output_kinds`` are the kinds of domain in its annotations, empty where it
    takes any. ``rehearsal`` is what it makes of the default space.
    """

    constructor: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]
    input_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    output_kinds: tuple[type[Domain], ...] = attrs.field(eq=False)
    rehearsal: Any = attrs.field(default=None, eq=False)

    @classmethod
    def of(cls, constructor: Callable[..., Any], args: Any, kwargs: Any) -> Call:
        """The call, with what no space could mend refused at once."""
        parameters = signature_of(constructor).parameters
        name = constructor.__name__
        if not parameters:
            raise TypeError(f"{name}(): its first parameter is the space")
        space_name, *_ = parameters
        try:
            arguments = named_arguments(constructor, args, kwargs)
        except TypeError as problem:
            usage = ", ".join(
                f"{each.name}=" if each.kind is _KEYWORD else each.name
                for each in typed_signature(constructor).parameters.values()
            )
            raise TypeError(f"{name}(): {problem}; it is called {name}({usage})") from None
        hints = hints_of(constructor)
        needs = _kinds(hints.get(space_name)) or _needs_of_parts(arguments)
        returned = get_args(hints.get("return"))
        gives = _kinds(returned[1]) if len(returned) == 2 else ()
        return cls(constructor, arguments, needs, gives)._rehearsed()

    @property
    def name(self) -> str:
        """The constructor's name."""
        return self.constructor.__name__

    def _rehearsed(self) -> Call:
        """The call with what it makes of the default space, where it makes anything of that.

        So parameters that no space could mend are refused when they are typed.
        """
        if _BUILDING.get() or not self.input_kinds:
            return self
        try:
            return attrs.evolve(self, rehearsal=self.build(default_space(self.input_kinds[0])))
        except ParameterError:
            raise
        except Exception:
            return self

    def join(self, before: Any) -> Any:
        """A space or a transformation with this step after it."""
        if isinstance(before, Transformation):
            space = before.output_space
            last = before.recipe[-1] if before.recipe else "the step before"
            self.check_kind((type(space.domain),), last)
        elif isinstance(before, Space):
            space = before
        else:
            raise SpaceError(
                f"{self!r} binds to a space such as dp.records(), got {type(before).__name__}"
            )
        made = self.build(space)
        step = attrs.evolve(made, function=named(made.function, self.name))
        return joined(before, step, self._link())

    def _link(self) -> Call:
        """The call as a link of a recipe, which keeps nothing that was built."""
        return self if self.rehearsal is None else attrs.evolve(self, rehearsal=None)

    def build(self, space: Space[Any]) -> Any:
        """The transformation or measurement that this makes of a space."""
        if self.rehearsal is not None and _same(self.rehearsal.input_space, space):
            return self.rehearsal
        self.check_kind((type(space.domain),), "the space")
        args, kwargs = spread(self.constructor, self.arguments)
        outer = _BUILDING.set(True)
        try:
            made = self.constructor(space, *args, **kwargs)
        except OpenDPLiteError as problem:
            text = str(problem)
            named = text if self.name in text else f"{self.brief()}: {text}"
            raise type(problem)(named) from None
        finally:
            _BUILDING.reset(outer)
        if made is None:
            raise SpaceError(f"{self!r} returned nothing; its last line must return what it made")
        return made

    def check_kind(self, given: tuple[type[Domain], ...], giver: object) -> None:
        """Refuses a kind of domain that the constructor is not for."""
        needs = self.input_kinds
        if not needs or not given or any(issubclass(each, needs) for each in given):
            return
        raise SpaceError(
            f"{self.name} needs {needs[0].kind}; {giver} gives {given[0].kind}. {needs[0].bridge}"
        )

    def brief(self) -> str:
        """The repr where it is short: what is long may be data, given by mistake."""
        text = repr(self)
        return text if len(text) <= _SHORT else f"{path_of(self.constructor)}(...)"

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.name, dict(self.arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the place where the step is defined, and its arguments."""
        return again, (*place_of(self.constructor), self.arguments)

    def __repr__(self) -> str:
        inside = arguments_text(self.constructor, self.arguments)
        return f"{path_of(self.constructor)}({inside})"


def _same(first: Space[Any], second: Space[Any]) -> bool:
    if first is second:
        return True
    return bool(first.unit == second.unit and first.origin == second.origin and first == second)


def place_of(function: Callable[..., Any]) -> tuple[str, str]:
    """Where a decorated function is found again."""
    return function.__module__, function.__qualname__


def again(module: str, name: str, arguments: tuple[tuple[str, Any], ...]) -> Any:
    """What a decorated function made of such arguments, when it is unpickled."""
    public = getattr(import_module(module), name)
    args, kwargs = spread(public.__wrapped__, arguments)
    made = public(*args, **kwargs)
    calls = getattr(made, "calls", None)
    return made if calls is None else calls[0]


def _needs_of_parts(arguments: tuple[tuple[str, Any], ...]) -> tuple[type[Domain], ...]:
    """For a combinator over any space: what the first recipe among its arguments needs."""
    for _, value in arguments:
        if type(value) is tuple:
            found = _needs_of_parts(tuple(("", part) for part in value))
        else:
            found = getattr(value, "input_kinds", ())
        if found:
            return found
    return ()


def _kinds(annotation: Any) -> tuple[type[Domain], ...]:
    """The domain classes in ``Space[A]`` or ``Space[A | B]``; empty for a type variable."""
    if get_origin(annotation) is not Space:
        return ()
    (kind,) = get_args(annotation)
    options = get_args(kind) or (kind,)
    return tuple(option for option in options if isinstance(option, type))


@cache
def default_space(kind: type[Domain]) -> Space[Any]:
    """The space that a pipeline of this kind binds itself to when none was said."""
    domain, metric, origin = kind.front()
    return Space(domain, metric, unit=metric.distance(1), origin=origin)
