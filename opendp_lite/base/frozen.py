"""Setting the fields of frozen values, beside their constructors.

``__attrs_init__`` is not known to pyright, so it is called in this one place.
"""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from typing import Any, Final, Self, TypeVar

import attrs

from opendp_lite.base.errors import SpaceError

T = TypeVar("T")


def initialise(value: Any, **fields: object) -> None:
    """What attrs generates as ``__init__`` where the class has its own."""
    value.__attrs_init__(**fields)


def copy_with(value: T, /, **fields: object) -> T:
    """A copy with other fields, among them those that ``attrs.evolve`` drops.

    The constructor does not run: nothing is checked or converted again.
    """
    kind: Any = type(value)
    found: T = object.__new__(kind)
    for name, given in ({name: getattr(value, name) for name in _names(kind)} | fields).items():
        object.__setattr__(found, name, given)
    return found


def fields_of(value: object) -> dict[str, object]:
    """The fields of an attrs class by name; none of another class."""
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()


class OwnCopy:
    """Its own copy: it does not change, or a copy of it is the same one."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


# One for each fork that led to this process: a fork may get the number of the process it copies,
# where that has ended, or in a namespace of its own.
_FORKS: Final[list[None]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=partial(_FORKS.append, None))


IN_BROWSER: Final = sys.platform == "emscripten"
"""Whether this is Pyodide, Python in a browser: no threads, no forks, and one source of bits."""


def this_process() -> tuple[int, int]:
    """Its number, and how many forks led to it."""
    return os.getpid(), len(_FORKS)


@attrs.frozen(eq=False, repr=False)
class OwnProcess:
    """The process that made this.

    Args:
        name: What answers in it alone, for a refusal.
        number: Of the process, and of forks that led to it.
    """

    name: str
    number: tuple[int, int] = attrs.field(factory=this_process, init=False)

    @property
    def is_here(self) -> bool:
        """Whether it is this process, and not one that this one is a fork of."""
        return this_process() == self.number

    def require(self) -> None:
        """Refuses another process, such as a fork of this one."""
        if not self.is_here:
            raise SpaceError(
                f"{self.name} answers only in the process that runs the program. A fork of it has "
                "a copy of the budget, and neither would know what the other spends. Use threads, "
                f"or call {self.name} before the fork"
            )
