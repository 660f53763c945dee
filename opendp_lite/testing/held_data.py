"""Where a function holds some data: in its variables, its defaults, or a global that it reads."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from functools import partial, singledispatch
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.recipes import Recipe

_MOST: Final = 20_000
"""Objects that are looked at."""
_READS: Final = {"LOAD_GLOBAL", "LOAD_NAME"}


def held_data(holder: Any, data: Any) -> str | None:
    """The name under which something reaches the data, or a part or view of it; None if nowhere.

    Args:
        holder: A function, or anything that is made of functions.
        data: The data, as it is handed over.
    """
    wanted = [data, *(data.values() if isinstance(data, Mapping) else ())]
    waiting: list[tuple[str, Any]] = [("", holder)]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST:
        name, found = waiting.pop()
        if name and any(_is_of(found, each) for each in wanted):
            return name
        if id(found) not in seen and not isinstance(found, type | ModuleType):
            seen[id(found)] = found
            waiting.extend(_parts(found))
    return None


def _is_of(found: Any, wanted: Any) -> bool:
    if isinstance(found, np.ndarray) and isinstance(wanted, np.ndarray):
        return bool(found.size and np.may_share_memory(found, wanted))
    return found is wanted and not isinstance(found, str | int | float | None)


@singledispatch
def _parts(found: Any) -> Iterator[tuple[str, Any]]:
    """What something refers to, each by its name."""
    if attrs.has(type(found)):
        fields = (field.name for field in attrs.fields(type(found)))
        yield from ((name, getattr(found, name, None)) for name in fields)
    elif not type(found).__module__.startswith("numpy"):
        yield from getattr(found, "__dict__", {}).items()


@_parts.register
def _of_function(found: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(found.__code__.co_freevars, found.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
    named = found.__code__.co_varnames
    yield from ((f"default of {named[0] if named else ''}", x) for x in found.__defaults__ or ())
    yield from (found.__kwdefaults__ or {}).items()
    yield from vars(found).items()
    for name in _globals_read(found.__code__):
        if name in found.__globals__:
            yield name, found.__globals__[name]


def _globals_read(code: CodeType) -> Iterator[str]:
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in _READS)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_read(inner)


@_parts.register
def _of_method(found: MethodType) -> Iterator[tuple[str, Any]]:
    yield "self", found.__self__
    yield "function", found.__func__


@_parts.register
def _of_partial(found: partial) -> Iterator[tuple[str, Any]]:  # type: ignore[type-arg]
    yield "function", found.func
    yield from (("an argument", each) for each in found.args)
    yield from found.keywords.items()


@_parts.register
def _of_recipe(found: Recipe) -> Iterator[tuple[str, Any]]:
    yield from ((name, value) for call in found.calls for name, value in call.arguments)
    yield from (("what follows", each) for each in getattr(found, "after", ()))


@_parts.register
def _of_mapping(found: Mapping) -> Iterator[tuple[str, Any]]:  # type: ignore[type-arg]
    yield from ((str(key), value) for key, value in found.items())


@_parts.register(tuple)
@_parts.register(list)
@_parts.register(set)
def _of_collection(found: Any) -> Iterator[tuple[str, Any]]:
    yield from (("an entry", each) for each in found)
