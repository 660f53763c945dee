"""Numbers that a step's own code and parameters mention: values at which it may change."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import attrs

USUAL: Final = (0.0, 1.0, -1.0, 0.5, 0.25, 0.1, 1 / 3, 2 / 3, 0.7, 0.75, 2.0, 10.0, 100.0, 1000.0)
_MOST = 48
_MOST_OBJECTS = 400
_PACKAGE = __name__.split(".")[0]
_LARGEST = 1e300


def constants(*roots: Any) -> tuple[float, ...]:
    """Usual numbers, and those in the code, closures and fields that these objects reach."""
    found = dict.fromkeys(USUAL)
    for number in _reached(deque(roots)):
        if len(found) >= _MOST:
            break
        found[number] = None
    return tuple(found)


def _reached(waiting: deque[Any]) -> Iterator[float]:
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_OBJECTS:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, bool | str | bytes):
            continue
        if isinstance(each, int | float | Fraction):
            if -_LARGEST <= each <= _LARGEST:
                yield float(each)
        else:
            waiting.extend(_inside(each))


def _inside(each: Any) -> Iterator[Any]:
    if isinstance(each, tuple | list):
        yield from each[:_MOST]
    elif isinstance(each, types.CodeType):
        yield from each.co_consts
    elif isinstance(each, types.FunctionType):
        yield from _of_function(each)
    elif isinstance(each, functools.partial):
        yield from (each.func, *each.args, *each.keywords.values())
    elif isinstance(each, types.MethodType):
        yield from (each.__func__, each.__self__)
    elif attrs.has(type(each)):
        yield from (getattr(each, field.name, None) for field in attrs.fields(type(each)))
        yield vars(type(each)).get("__call__")


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    if function.__module__.split(".")[0] == _PACKAGE:
        return
    yield function.__code__
    yield from function.__defaults__ or ()
    for name in function.__code__.co_names:
        yield function.__globals__.get(name)
