"""The modules that hold the public names."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

FRONT: Final = "opendp_lite"
"""The module of the names that most people need."""
ROOMS: Final = (
    "bases",
    "bodies",
    "combinators",
    "estimators",
    "measurements",
    "measures",
    "metrics",
    "releases",
    "transformations",
)
"""Those of the others, as ``dp.bodies``."""


def rooms() -> tuple[ModuleType, ...]:
    """The modules of the others, which import what they name later."""
    return tuple(import_module(f"{FRONT}.{name}") for name in ROOMS)
