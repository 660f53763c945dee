"""Pipelines are compared where their losses protect the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opendp_lite.core import Private
from opendp_lite.errors import ParameterError


def same_neighbours(pipelines: Mapping[str, Private[Any, Any, Any]], d_in: object, who: str) -> str:
    """What the pipelines protect, in words.

    Raises:
        ParameterError: If there is none, or if they protect different things.
    """
    words = {name: each.neighbours(d_in) for name, each in pipelines.items()}
    if not words:
        raise ParameterError(f"{who} needs a pipeline, as in {{'Laplace': pipeline}}")
    if len(set(words.values())) > 1:
        listed = "; ".join(f"{name}: {each}" for name, each in words.items())
        raise ParameterError(
            f"{who} compares losses between the same neighbours, got {listed}; bind the pipelines "
            "to one space"
        )
    return next(iter(words.values()))
