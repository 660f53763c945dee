"""Whether two queries are the same, functions among their arguments included."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, singledispatch
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.above_threshold import ThresholdTest
from opendp_lite.combinators.adaptive import Ask
from opendp_lite.core import Measurement, Transformation
from opendp_lite.recipes import Recipe

_DEPTH = 12
"""How deep functions within functions are compared. Beyond, they count as the same."""


def alike(first: Any, second: Any, depth: int = _DEPTH) -> bool:
    """Whether two values are equal, or do the same as far as their code and variables tell.

    A program that makes a function anew each time makes the same one, if the code and what it
    refers to are the same. Objects without an equality of their own are told apart by their type.
    """
    if first is second or not depth:
        return True
    return type(first) is type(second) and _same(first, second, depth - 1)


@singledispatch
def _same(first: Any, second: Any, depth: int) -> bool:
    """As ``alike``, of two values of one type."""
    if not any("__eq__" in vars(kind) for kind in type(first).__mro__[:-1]):
        return True
    if attrs.has(type(first)):
        fields = (field.name for field in attrs.fields(type(first)) if field.eq)
        return all(alike(getattr(first, n), getattr(second, n), depth) for n in fields)
    return bool(np.all(first == second))


@_same.register
def _of_function(first: FunctionType, second: FunctionType, depth: int) -> bool:
    parts = ((each.__code__, each.__defaults__, each.__kwdefaults__) for each in (first, second))
    own, other = parts
    return alike(own, other, depth) and alike(first.__closure__, second.__closure__, depth)


@_same.register
def _of_cell(first: CellType, second: CellType, depth: int) -> bool:
    return alike(_content(first), _content(second), depth)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


@_same.register
def _of_method(first: MethodType, second: MethodType, depth: int) -> bool:
    own, other = ((each.__func__, each.__self__) for each in (first, second))
    return alike(own, other, depth)


@_same.register
def _of_builtin(first: BuiltinFunctionType, second: BuiltinFunctionType, depth: int) -> bool:
    return first == second


@_same.register
def _of_partial(first: partial, second: partial, depth: int) -> bool:  # type: ignore[type-arg]
    own, other = ((each.func, each.args, each.keywords) for each in (first, second))
    return alike(own, other, depth)


@_same.register(tuple)
@_same.register(list)
def _of_sequence(first: Any, second: Any, depth: int) -> bool:
    if len(first) != len(second):
        return False
    return all(alike(own, other, depth) for own, other in zip(first, second, strict=True))


@_same.register
def _of_mapping(first: Mapping, second: Mapping, depth: int) -> bool:  # type: ignore[type-arg]
    if first.keys() != second.keys():
        return False
    return all(alike(first[key], second[key], depth) for key in first)


@_same.register
def _of_array(first: np.ndarray, second: np.ndarray, depth: int) -> bool:
    same = first.shape == second.shape and first.dtype == second.dtype
    return same and bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))


@_same.register
def _of_recipe(first: Recipe, second: Recipe, depth: int) -> bool:
    """Step by step: equality alone would tell functions apart that are made anew."""
    own, other = ((each.calls, getattr(each, "after", ())) for each in (first, second))
    return alike(own, other, depth)


@_same.register(Transformation)
@_same.register(Measurement)
def _of_bound(first: Any, second: Any, depth: int) -> bool:
    own, other = ((each.input_space, each.recipe) for each in (first, second))
    return alike(own, other, depth)


@_same.register
def _of_ask(first: Ask, second: Ask, depth: int) -> bool:  # type: ignore[type-arg]
    """Each run has its own."""
    return True


@_same.register
def _of_test(first: ThresholdTest, second: ThresholdTest, depth: int) -> bool:
    return True
