"""A constructor with its arguments, waiting for a space."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from math import isfinite
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import numpy as np

from opendp_lite.domains import Domain
from opendp_lite.errors import OpenDPLiteError, ParameterError, SpaceError
from opendp_lite.exact import nearest, plain, reading
from opendp_lite.spaces import Space

_SHORT = 200
_PACKAGE = __name__.split(".")[0]
_STAR = inspect.Parameter.VAR_POSITIONAL
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

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


def prefixed(function: Callable[..., Any], name: str) -> str:
    """The name as a person who wrote ``import opendp_lite as dp`` types it."""
    return f"dp.{name}" if function.__module__.split(".")[0] == _PACKAGE else name


@lru_cache(maxsize=1024)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, read once."""
    return inspect.signature(function)


@lru_cache(maxsize=1024)
def hints_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The annotations, read once."""
    return get_type_hints(function)


def without_first(signature: inspect.Signature) -> inspect.Signature:
    """What a person types: all parameters but the space, or the release."""
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(maxsize=1024)
def _typed(constructor: Callable[..., Any]) -> inspect.Signature:
    """What a person types of a constructor's call."""
    return without_first(signature_of(constructor))


def spread(
    constructor: Callable[..., Any], arguments: tuple[tuple[str, Any], ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Named arguments as those of a call, after the space."""
    bound = inspect.BoundArguments(_typed(constructor), dict(arguments))
    return bound.args, bound.kwargs


def public_name(function: Callable[..., Any]) -> str:
    """A constructor's name at the front door."""
    return function.__name__.lstrip("_")


@attrs.frozen(repr=False)
class Call:
    """A constructor with its arguments.

    ``needs`` and ``gives`` are the kinds of domain in its annotations, empty where it takes any.
    """

    constructor: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]
    needs: tuple[type[Domain], ...] = attrs.field(eq=False)
    gives: tuple[type[Domain], ...] = attrs.field(eq=False)

    @classmethod
    def of(cls, constructor: Callable[..., Any], args: Any, kwargs: Any) -> Call:
        """The call, with what no space could mend refused at once."""
        signature = signature_of(constructor)
        if not signature.parameters:
            raise TypeError(f"{public_name(constructor)}(): its first parameter is the space")
        space_name, *_ = signature.parameters
        rest = _typed(constructor)
        try:
            bound = rest.bind(*args, **kwargs)
        except TypeError as problem:
            usage = ", ".join(
                f"{each.name}=" if each.kind is _KEYWORD else each.name
                for each in rest.parameters.values()
            )
            name = public_name(constructor)
            raise TypeError(f"{name}(): {problem}; it is called {name}({usage})") from None
        arguments = tuple((key, frozen_argument(value)) for key, value in bound.arguments.items())
        hints = hints_of(constructor)
        needs = _kinds(hints.get(space_name)) or _needs_of_parts(arguments)
        returned = get_args(hints.get("return"))
        gives = _kinds(returned[1]) if len(returned) == 2 else ()
        call = cls(constructor, arguments, needs, gives)
        call._rehearse()
        return call

    @property
    def name(self) -> str:
        """The constructor's name at the front door."""
        return public_name(self.constructor)

    def _rehearse(self) -> None:
        if not self.needs:
            return
        try:
            self.build(front(self.needs[0]))
        except ParameterError:
            raise
        except Exception:
            return

    def build(self, space: Space[Any]) -> Any:
        """The transformation or measurement that this makes of a space."""
        self.check_kind((type(space.domain),), "the space")
        args, kwargs = spread(self.constructor, self.arguments)
        try:
            made = self.constructor(space, *args, **kwargs)
        except OpenDPLiteError as problem:
            text = str(problem)
            named = text if self.name in text else f"{self.brief()}: {text}"
            raise type(problem)(named) from None
        if made is None:
            raise SpaceError(f"{self!r} returned nothing; its last line must return what it made")
        return made

    def check_kind(self, given: tuple[type[Domain], ...], giver: object) -> None:
        """Refuses a kind of domain that the constructor is not for."""
        if not self.needs or not given or any(issubclass(each, self.needs) for each in given):
            return
        raise SpaceError(
            f"{self.name} needs {self.needs[0].kind}; {giver} gives {given[0].kind}. "
            f"{self.needs[0].bridge}"
        )

    def brief(self) -> str:
        """The repr where it is short: what is long may be data, given by mistake."""
        text = repr(self)
        return text if len(text) <= _SHORT else f"{prefixed(self.constructor, self.name)}(...)"

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.name, dict(self.arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the place where the step is defined, and its arguments."""
        made = self.constructor
        return _again, (made.__module__, made.__qualname__, self.arguments)

    def __repr__(self) -> str:
        parameters = signature_of(self.constructor).parameters
        texts: list[str] = []
        for key, value in self.arguments:
            default, kind = parameters[key].default, parameters[key].kind
            if default is not inspect.Parameter.empty and value == default:
                continue
            if kind is _STAR:
                texts.extend(argument_text(each) for each in value)
            else:
                prefix = f"{key}=" if kind is _KEYWORD else ""
                texts.append(prefix + argument_text(value))
        return f"{prefixed(self.constructor, self.name)}({', '.join(texts)})"


def _again(module: str, name: str, arguments: tuple[tuple[str, Any], ...]) -> Call:
    constructor = getattr(import_module(module), name).__wrapped__
    args, kwargs = spread(constructor, arguments)
    return Call.of(constructor, args, kwargs)


def _needs_of_parts(arguments: tuple[tuple[str, Any], ...]) -> tuple[type[Domain], ...]:
    """For a combinator over any space: what the first recipe among its arguments needs."""
    for _, value in arguments:
        for part in value if type(value) is tuple else (value,):
            found: tuple[type[Domain], ...] = getattr(part, "needs", ())
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


def front(kind: type[Domain]) -> Space[Any]:
    """The space that a pipeline of this kind binds itself to when none was said."""
    domain, metric, origin = kind.front()
    return Space(domain, metric, unit=metric.distance(1), origin=origin)
