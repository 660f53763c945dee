"""What needs pyarrow, imported where it is used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from opendp_lite.errors import ParameterError


def with_pyarrow(module: str, what: str) -> ModuleType:
    """A module that imports pyarrow.

    Raises:
        ParameterError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise ParameterError(
            f'{what} needs pyarrow, which is not installed; type: pip install "opendp_lite[arrow]"'
        ) from None
