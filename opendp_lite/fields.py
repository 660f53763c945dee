"""Setting the fields of a frozen value whose constructor does more than copy.

``__attrs_init__`` is not known to pyright, so it is called in this one place.
"""

from __future__ import annotations

from typing import Any


def initialise(value: Any, **fields: Any) -> None:
    """What attrs generates as ``__init__`` where the class has its own."""
    value.__attrs_init__(**fields)
