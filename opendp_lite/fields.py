"""Setting the fields of frozen values, beside their constructors.

``__attrs_init__`` is not known to pyright, so it is called in this one place.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import attrs

T = TypeVar("T")


def initialise(value: Any, **fields: Any) -> None:
    """What attrs generates as ``__init__`` where the class has its own."""
    value.__attrs_init__(**fields)


def stamped(value: T, **fields: Any) -> T:
    """A copy with fields that the constructor does not take: ``attrs.evolve`` drops them."""
    found = attrs.evolve(cast(Any, value))
    for name, given in fields.items():
        object.__setattr__(found, name, given)
    return cast(T, found)
