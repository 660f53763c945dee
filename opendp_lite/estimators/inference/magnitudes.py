"""Where a column ends, as noisy counts of its magnitudes show."""

from __future__ import annotations

from math import log, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.parameters import Floats

_REST: Final = 1.5
"""Where no more rows are seen, so many deviations of the noise are taken to be left."""
_MOST_BEYOND: Final = 2.0
_STEEPER: Final = 1.02
_WIDTHS: Final = (1, 2, 4)
_NEXT: Final = 4
_LIKELY: Final = 3.0
_CERTAIN: Final = 0.95
_LEAST_SHARE: Final = 1e-12
_HALF: Final = 0.5
_MOST_DOUBLINGS: Final = 20.0


@attrs.frozen
class Doubts:
    """How far noise may lift an empty cell, in standard deviations of the noise.

    Args:
        anywhere: Any of thousands of cells; in less than one run of 10^4.
        beside: The cell next to one that holds rows.
        among: Any of about a hundred cells.
        edge: What a cell at an edge of the data certainly holds.
    """

    anywhere: float
    beside: float
    among: float
    edge: float


NORMAL: Final = Doubts(5.6, 3.0, 3.5, 9.0)
LAPLACE: Final = Doubts(12.4, 4.2, 4.7, 10.6)


@attrs.frozen
class Reaches:
    """How far a side of a column reaches.

    Args:
        safe: Few rows lie beyond, whatever the shape of the tail.
        tight: Few rows lie beyond, if the tail goes on as it begins.
    """

    safe: float = 0.0
    tight: float = 0.0

    @property
    def doubling(self) -> int:
        """The power of two at or beyond the safe reach."""
        half, exponent = np.frexp(self.safe)
        return int(exponent) - int(half == _HALF)


@attrs.frozen(eq=False)
class Side:
    """Noisy counts of one side of a column, from the middle outwards.

    Args:
        cells: The counts; the first is of the cell in the middle.
        least: The cell in the middle ends at 2^least.
        bits: Each doubling has 2^bits cells.
        deviation: Of the noise on each count.
        doubts: How far that noise goes.
    """

    cells: Floats
    least: int
    bits: int
    deviation: float
    doubts: Doubts

    def end(self, cell: int) -> float:
        """The far end of a cell."""
        doublings, within = divmod(cell, 2**self.bits)
        return float(2.0 ** (self.least + doublings) * (1 + within / 2**self.bits))

    def last(self) -> int:
        """The last cell in which rows are seen; 0 where none are."""
        found, total = 0, np.append(0.0, np.cumsum(self.cells[1:]))
        for width in _WIDTHS:
            many = self.doubts.anywhere * self.deviation * sqrt(width)
            seen = np.flatnonzero(total[width:] - total[:-width] > many)
            if len(seen):
                first = int(seen[-1]) + 1
                best = first + int(np.argmax(self.cells[first : first + width]))
                found = max(found, best)
        some = self.doubts.beside * self.deviation
        while 0 < found < len(self.cells) - 1 and self.cells[found + 1] > some:
            found += 1
        return found

    def reaches(self, rows: float, wanted: float) -> Reaches:
        """How far it reaches, in doublings, such that about ``wanted`` rows lie beyond.

        The logarithm of the share of rows beyond a distance is taken to be a power of the distance,
        as for the tails of normal, exponential and many heavier laws.
        """
        last = self.last()
        if last == 0:
            return Reaches()
        beyond = max(float(self.cells[last + 1 : last + 3].sum()), _REST * self.deviation)
        exponents = [_exponent(beyond, rows)]
        for back in (1, 2):
            inside = float(self.cells[max(last - back, 0) + 1 : last + 1].sum())
            exponents.append(_exponent(max(inside, self.deviation) + beyond, rows))
        for nearer in (1, 0):
            exponents[nearer] = max(exponents[nearer], exponents[nearer + 1] * _STEEPER)
        at_end, before, further = exponents
        target = _exponent(wanted, rows)
        safe = min(_beyond(target, at_end, log(at_end / further) / 2), _MOST_BEYOND)
        tight = _beyond(target, before, log(before / further)) / 2
        safe, tight = safe * self.end(last), tight * self.end(last)
        return Reaches(safe, min(safe, tight))

    def trimmed(self, reaches: Reaches) -> float:
        """A reach in the light of these finer counts.

        Where rows end in a full cell, it is the end of that cell. Else the tail goes on as it
        begins, but no rows that are seen are left out.
        """
        if not reaches.safe:
            return 0.0
        cells = self.cells[: ((reaches.doubling - self.least) << self.bits) + 1] / self.deviation
        full = np.flatnonzero(cells[1:] > self.doubts.edge) + 1
        if len(full) and _nothing(cells[full[-1] + 1 :]):
            return min(reaches.safe, self.end(int(full[-1])))
        seen = np.flatnonzero(cells[1:] > self.doubts.among) + 1
        farthest = self.end(int(seen[-1])) if len(seen) else 0.0
        return min(reaches.safe, max(reaches.tight, farthest))

    def quantile(self, reaches: Reaches, beyond: float) -> float:
        """A distance with at most about so many rows beyond, the end of one of these cells."""
        if not reaches.safe:
            return 0.0
        last = min(((reaches.doubling - self.least) << self.bits), len(self.cells) - 1)
        after = np.cumsum(self.cells[last:0:-1])
        enough = np.flatnonzero(after >= max(beyond, _LIKELY * self.deviation))
        return self.end(last - int(enough[0])) if len(enough) else self.end(last)


def _nothing(after: Floats) -> bool:
    """Whether cells beyond an edge, in deviations of their noise, show no rows."""
    close = after[:_NEXT].sum() < _LIKELY * sqrt(_NEXT)
    together = after.sum() < _LIKELY * sqrt(max(len(after), 1))
    return bool(close and together)


def _exponent(count: float, rows: float) -> float:
    """The negative logarithm of a share of the rows."""
    return -log(min(max(count / rows, _LEAST_SHARE), _CERTAIN))


def _beyond(target: float, at: float, growth: float) -> float:
    """How many times as far out the exponent is the target, growing so much in a doubling.

    ``growth`` is of its logarithm.
    """
    if target <= at:
        return 1.0
    return float(2.0 ** min(log(target / at) / growth, _MOST_DOUBLINGS))
