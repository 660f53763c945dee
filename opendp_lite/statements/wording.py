"""Numbers and texts as a statement shows them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from opendp_lite.exact import round_up
from opendp_lite.shown_results import for_json

_LONG: Final = 120


def begun(text: str) -> str:
    """With a capital letter."""
    return f"{text[0].upper()}{text[1:]}"


def number(value: Fraction | None) -> float | None:
    """Rounded up; None where it is unknown or beyond floats."""
    found: float | None = None if value is None else for_json(round_up(value))
    return found


def short(text: str) -> str:
    """The start of a long text."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}... (in full under Pipeline)"
