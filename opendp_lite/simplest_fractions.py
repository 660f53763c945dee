"""Many floats as the rationals that they stand for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.exact import rational_of_float

_FINE: Final = 2**55
_LEAST: Final = 2.0**-1022
"""Smaller floats have fewer digits than 15."""
_DIGITS: Final = "%.15g"
Counts = NDArray[np.int64]


def rationals_of_floats(given: list[float]) -> list[Fraction]:
    """As ``rational_of_float`` of each of many finite floats.

    Proof:
        A decimal of at most 15 digits comes back if its nearest normal float is written with 15.
        So a float that is not what 15 digits of it say is no such decimal, and stands for the
        simplest fraction near it. That is found for all at once, in whole numbers below 2^58: the
        ends of each interval start below 2^56 over 2^55 and only shrink, and a convergent is no
        larger than the fraction it leads to.
    """
    long = np.array([_is_long(each) for each in given])
    pairs = zip(given, long.tolist(), strict=True)
    found: list[Any] = [0 if is_long else rational_of_float(each) for each, is_long in pairs]
    mantissas, exponents = np.frexp(np.array(given)[long])
    middles = (np.abs(mantissas) * _FINE).astype(np.int64)
    above, below = _simplest(middles - 1, middles + 2)
    above = np.where(mantissas < 0, -above, above)
    parts = (np.flatnonzero(long), above, below, exponents)
    for place, over, under, exponent in zip(*(part.tolist() for part in parts), strict=True):
        found[place] = Fraction(over << max(exponent, 0), under << max(-exponent, 0))
    return found


def _is_long(value: float) -> bool:
    """Whether a float is neither whole nor a decimal of at most 15 digits, as far as is plain."""
    if value.is_integer() or abs(value) < _LEAST:
        return False
    return float(_DIGITS % value) != value


def _simplest(low: Counts, high: Counts) -> tuple[Counts, Counts]:
    """The fractions of smallest denominator between two numbers over 2^55 (Stern-Brocot descent).

    A lane leaves as soon as it is decided; ``lanes`` are those that are left.
    """
    found = np.empty((2, len(low)), dtype=np.int64)
    lanes, below, over = np.arange(len(low)), np.full_like(low, _FINE), np.full_like(low, _FINE)
    last = np.array([[1], [0]]) + np.zeros_like(found)
    before = np.array([[0], [1]]) + np.zeros_like(found)
    while len(lanes):
        whole = low // below
        decided = (whole + 1) * over < high
        low, high = low - whole * below, high - whole * over
        following = last * whole + before
        ending = ~decided & (low == 0)
        found[:, lanes[decided]] = (following + last)[:, decided]
        last, before = following, last
        steps = over[ending] // high[ending] + 1
        found[:, lanes[ending]] = last[:, ending] * steps + before[:, ending]
        left = ~(decided | ending)
        lanes, last, before = lanes[left], last[:, left], before[:, left]
        low, below, high, over = over[left], high[left], below[left], low[left]
    return found[0], found[1]
