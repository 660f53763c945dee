"""Exact results, marked: they show that they are not private."""

from __future__ import annotations

from typing import Any

import numpy as np


class NotPrivateArray(np.ndarray[Any, np.dtype[Any]]):
    """An exact result of a pipeline without noise. It works like any numpy array."""

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self), separator=", ", prefix="NotPrivate(")
        return f"NotPrivate({text})"

    __str__ = __repr__


class NotPrivateInt(int):
    """An exact count of a pipeline without noise."""

    def __repr__(self) -> str:
        return f"NotPrivate({int(self)})"

    __str__ = __repr__


class NotPrivateFloat(float):
    """An exact number of a pipeline without noise."""

    def __repr__(self) -> str:
        return f"NotPrivate({float(self)})"

    __str__ = __repr__


def marked(value: Any) -> Any:
    """The value, which says in its repr that it is not private."""
    if isinstance(value, np.ndarray):
        return value.view(NotPrivateArray)
    return NotPrivateInt(value) if isinstance(value, int) else NotPrivateFloat(value)
