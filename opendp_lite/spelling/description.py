"""What a step says of itself: what it does to the data, and why its map holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import one_line

F = TypeVar("F", bound=Callable[..., object])


def _in_one_line(text: str) -> str:
    """A text of a person's own: it adds no line of its own to what others read."""
    if not isinstance(text, str):
        raise ParameterError(
            f"the description of a step is made of texts, got {type(text).__name__}"
        )
    # Nearly all are plain already; looking at each letter would cost imports some milliseconds.
    return text if text.isprintable() else " ".join(one_line(text).split())


def _lines(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_in_one_line, (texts,) if isinstance(texts, str) else texts))


@attrs.frozen
class Proof:
    """Why the map of a step holds: a row of docs/proofs.md.

    Args:
        text: The reason, in a few sentences. A longer one stands in docs/proofs.md.
        adding: The map where rows are added or removed: "k", say, for k rows. A dash where the step
            refuses that.
        replacing: The map where rows are replaced, likewise.
        sources: The papers, each with its theorem.

    Example:
        >>> import opendp_lite as dp
        >>> str(dp.Proof("A row is in one group.", sources="McSherry 2009, theorem 4"))
        'A row is in one group. Source: McSherry 2009, theorem 4.'
    """

    text: str = attrs.field(default="", converter=_in_one_line)
    adding: str = attrs.field(default="", converter=_in_one_line, kw_only=True)
    replacing: str = attrs.field(default="", converter=_in_one_line, kw_only=True)
    sources: Sequence[str] = attrs.field(default=(), converter=_lines, kw_only=True)

    def __str__(self) -> str:
        if not self.sources:
            return self.text
        kind = "Source" if len(self.sources) == 1 else "Sources"
        return f"{self.text} {kind}: {'; '.join(self.sources)}."


UNPROVED: Final = Proof()


@attrs.frozen(eq=False, repr=False)
class Description:
    """What a step says of itself; empty where its author says nothing.

    Args:
        does: What it does, in a sentence.
        changes: What it clips, fills in or leaves out before the noise.
        proof: Why its map holds.
        examples: Makes its examples, when somebody asks for them: see ``opendp_lite.spaces.space``.
    """

    does: str = attrs.field(default="", converter=_in_one_line)
    changes: str = attrs.field(default="", converter=_in_one_line)
    proof: Proof = UNPROVED
    examples: Callable[[], Sequence[object]] = tuple


_NOTHING_SAID: Final = Description()


def attach(name: str, value: object) -> Callable[[F], F]:
    """Gives a function an attribute."""

    def add(function: F) -> F:
        setattr(function, name, value)
        return function

    return add


def describe(description: Description) -> Callable[[F], F]:
    """Gives the function that defines a step what it says of itself."""
    return attach("description", description)


def opendp_twin(twin: Callable[..., object]) -> Callable[[F], F]:
    """Gives the function that defines a step what makes its twin in OpenDP: see ``to_opendp``."""
    return attach("opendp_twin", twin)


def description_of(function: Callable[..., object]) -> Description:
    """What a function that defines a step says of itself.

    Example:
        >>> import opendp_lite as dp
        >>> description_of(dp.impute).does
        'Puts a public value in the place of every missing one (NaN).'
    """
    found = getattr(function, "description", None)
    return found if isinstance(found, Description) else _NOTHING_SAID
