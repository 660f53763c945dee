"""Pipelines from JSON."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from opendp_lite import norms, spaces
from opendp_lite.documents import read, spells
from opendp_lite.rooms import rooms


def _pipeline(steps: Iterable[Any]) -> Any:
    return functools.reduce(operator.rshift, steps)


def _step(name: str) -> Callable[..., Any] | None:
    """The step of the package, imported now; None where none has this name."""
    of_rooms = (getattr(room, name) for room in rooms() if name in room.__all__)
    of_modules = (vars(module).get(name) for module in (norms, spaces))
    return next(filter(spells, chain(of_rooms, of_modules)), None)


def from_json(text: str, extra: Iterable[Callable[..., Any]] = ()) -> Any:
    """Reads the pipeline that ``to_json`` wrote.

    Args:
        text: The JSON text.
        extra: Your own steps that the pipeline uses.

    Returns:
        A pipeline that equals the one written.

    Raises:
        ParameterError: If the text spells anything but steps of this package and ``extra``.
            Nothing else in a file is ever called.

    Example:
        >>> import opendp_lite as dp
        >>> pipeline = dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=0.03)
        >>> dp.from_json(pipeline.to_json()) == pipeline
        True
    """
    own = {"pipeline": _pipeline} | {function.__name__: function for function in extra}
    return read(text, lambda name: own.get(name) or _step(name))
