"""Setting the fields of frozen values, beside their constructors.

``__attrs_init__`` is not known to pyright, so it is called in this one place.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

import attrs

T = TypeVar("T")


def initialise(value: Any, **fields: Any) -> None:
    """What attrs generates as ``__init__`` where the class has its own."""
    value.__attrs_init__(**fields)


def stamped(value: T, **fields: Any) -> T:
    """A copy with other fields, among them those that ``attrs.evolve`` drops.

    The constructor does not run: nothing is checked or converted again.
    """
    kind = cast(Any, type(value))
    found = object.__new__(kind)
    for name in _names(kind):
        given = fields[name] if name in fields else getattr(value, name)
        object.__setattr__(found, name, given)
    return cast(T, found)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind))
