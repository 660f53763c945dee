"""The version of the package that is installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def installed() -> str:
    """The version; ``not installed`` where the package runs from its sources."""
    try:
        return version("opendp_lite")
    except PackageNotFoundError:
        return "not installed"
