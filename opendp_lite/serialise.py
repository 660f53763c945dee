"""Pipelines from JSON."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from opendp_lite import norms, spaces
from opendp_lite.documents import read, spells
from opendp_lite.rooms import ROOMS


def _pipeline(steps: Iterable[Any]) -> Any:
    return functools.reduce(operator.rshift, steps)


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
    names: dict[str, Any] = {
        name: each
        for room in (*ROOMS, norms, spaces)
        for name, each in vars(room).items()
        if spells(each)
    }
    names["pipeline"] = _pipeline
    names.update({function.__name__: function for function in extra})
    return read(text, names)
