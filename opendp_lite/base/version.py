"""The version of this package, in a file of its own: metadata cost more than the front."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def find_version() -> str:
    """The version; ``not installed`` where the package runs from its sources."""
    try:
        return version("opendp_lite")
    except PackageNotFoundError:
        return "not installed"
