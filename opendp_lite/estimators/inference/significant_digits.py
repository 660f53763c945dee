"""As many digits as an error leaves."""

from __future__ import annotations

from math import floor, log10
from typing import Final

_MOST_PLACES: Final = 15


def justified(error: float, *numbers: float) -> tuple[str, ...]:
    """Numbers with as many digits as the second of a standard error.

    >>> justified(0.0312, 38.2517, 0.0312)
    ('38.252', '0.031')
    """
    if error <= 0:
        return tuple(f"{number:.15g}" for number in numbers)
    places = 1 - int(f"{error:.1e}".partition("e")[2])
    if abs(places) <= _MOST_PLACES:
        shown = max(places, 0)
        return tuple(f"{round(number, places) + 0.0:.{shown}f}" for number in numbers)
    return tuple(_scientific(number, places) for number in numbers)


def _scientific(number: float, places: int) -> str:
    shown = round(number, places) + 0.0
    digits = min(max(floor(log10(abs(shown))) + places, 0), _MOST_PLACES) if shown else 0
    return f"{shown:.{digits}e}"
