"""What every noise declares of itself, and how it is added to values on a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.errors import ParameterError
from opendp_lite.exact import floor_log2
from opendp_lite.samplers.entropy import Entropy

Steps = NDArray[Any]
Floats = NDArray[np.float64]

SCALE_BITS: Final = 16
"""Continuous noise is rounded to a grid of which its scale is 2^16 to 2^17 units."""
SLACK: Final = 1 + Fraction(1, 2**50)
"""Samplers use a scale so much larger than asked for: the true loss is then below the claimed
one also where a float shown as the claim lies half an ulp below the rational it stands for."""
_REACH = 2.0**60
_SAFE = 2**62
_FARTHEST = 960
_OFFSET_BITS = 62


@attrs.frozen
class Offsets:
    """Where values lie within their cell of the output grid: floats, and exactly on demand."""

    floats: Floats | None
    exactly: Callable[[int], Fraction]

    def half_above(self, start: int, stop: int) -> Floats | float:
        """1/2 plus the offsets of a range of positions."""
        return 0.5 if self.floats is None else self.floats[start:stop] + 0.5


def _nowhere(position: int) -> Fraction:
    return Fraction(0)


class Law(ABC):
    """Noise on a grid, with the exact law of what it releases.

    Gives: ``scale`` in units of the output grid 2^``exponent``; ``draw``;
        ``log_probability(steps, value)``, the law of the released grid point ``steps`` for a
        value at ``value`` grid units; ``standard_deviation`` of the release.
    """

    scale: Fraction
    exponent: int

    @abstractmethod
    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        """Noise for so many values that lie at ``offsets`` in their cells."""

    @abstractmethod
    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        """The natural logarithm of the probability of each grid point."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of a released value, in the units of the data."""

    def release(self, values: Steps, exponent: int | None, entropy: Entropy) -> Steps:
        """The values, on the grid 2^exponent or floats, with noise: whole output grid steps."""
        whole, offsets = _in_cells(values, exponent, self.exponent)
        return whole + self.draw(len(values), offsets, entropy)


def _in_cells(values: Steps, exponent: int | None, target: int) -> tuple[Steps, Offsets]:
    """The output cell of each value, and where in it the value lies."""
    if exponent is None:
        return _floats_in_cells(values, target)
    shift = target - exponent
    if shift <= 0:
        largest = max((abs(int(v)) for v in (values.min(), values.max())), default=0)
        if largest << -shift >= _SAFE:
            values = values.astype(object)
        return values << -shift, Offsets(None, _nowhere)
    if shift >= _SAFE.bit_length():
        values = values.astype(object)
    rest = values & ((1 << shift) - 1)
    spare = max(0, shift - _OFFSET_BITS)
    inside = (rest >> spare).astype(np.float64) * 2.0 ** (spare - shift)
    whole = values >> shift
    if whole.dtype == object and all(abs(each) < _SAFE for each in whole):
        whole = whole.astype(np.int64)
    return whole, Offsets(inside, lambda i: Fraction(int(rest[i]), 1 << shift))


def _floats_in_cells(values: Floats, target: int) -> tuple[Steps, Offsets]:
    """As ``_in_cells``; NaN counts as 0, and what is beyond 2^60 cells as 2^60 cells.

    Bringing values into a range moves no two of them further apart.
    """
    cells = np.ldexp(values, -target)
    cells = np.where(np.isnan(cells), 0.0, np.clip(cells, -_REACH, _REACH))
    floor = np.floor(cells)
    inside = cells - floor
    return floor.astype(np.int64), Offsets(inside, lambda i: Fraction(float(inside[i])))


def grid_for(scale: Fraction) -> tuple[Fraction, int]:
    """The scale in units of the grid on which it is 2^16 to 2^17 of them, and its exponent."""
    exponent = floor_log2(scale) - SCALE_BITS
    if abs(exponent) > _FARTHEST:
        raise ParameterError(
            f"a noise scale of about 2^{exponent + SCALE_BITS} is outside of what floats can hold"
        )
    return scale / Fraction(2) ** exponent * SLACK, exponent
