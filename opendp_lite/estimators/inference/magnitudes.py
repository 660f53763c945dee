"""Noisy counts of magnitudes on one side of a column, and what certainly shows in them."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.parameters import Floats

_LIKELY: Final = 3.0


@attrs.frozen
class Doubts:
    """What noise does to counts, in standard deviations of the noise.

    Args:
        anywhere: How far it may lift any of thousands of cells that are empty; in less than one run
            of 10^4.
        beside: How far it may lift the cell next to one that holds rows.
        together: How far it may lift any sum of some dozens of cells, up to the outermost.
        unseen: So many doublings beyond the last that shows rows, others may lie unseen.
        unlikely: The negative logarithm of the likelihood of noise, less a constant.
        side_by_side: As ``anywhere``, for the sum of so many cells.
    """

    anywhere: float
    beside: float
    together: float
    unseen: int
    unlikely: Callable[[Floats], Floats]
    side_by_side: dict[int, float]


def _normally(noise: Floats) -> Floats:
    return noise**2 / 2


def _as_laplace(noise: Floats) -> Floats:
    return np.abs(noise) * sqrt(2)


NORMAL: Final = Doubts(5.6, 3.0, 4.0, 1, _normally, {1: 5.6, 2: 7.92, 4: 11.2})
LAPLACE: Final = Doubts(12.4, 4.2, 5.0, 2, _as_laplace, {1: 12.4, 2: 14.1, 4: 16.6})
"""Sums of Laplace noises have shorter tails than one of them."""


@attrs.frozen(eq=False)
class Side:
    """Noisy counts of one side of a column, from the middle outwards.

    Args:
        cells: The counts; the first is of the cell in the middle.
        least: The cell in the middle ends at 2^least.
        bits: Each doubling has 2^bits cells. Below 0, each cell has 2^-bits doublings.
        deviation: Of the noise on each count.
        doubts: How far that noise goes.
        shown: Other counts show that rows reach up to this cell, or 0.
    """

    cells: Floats
    least: int
    bits: int
    deviation: float
    doubts: Doubts
    shown: int = 0

    def end(self, cell: int) -> float:
        """The far end of a cell."""
        doublings, within = divmod(cell, 2**self.bits)
        return float(2.0 ** (self.least + doublings) * (1 + within / 2**self.bits))

    @property
    def ends(self) -> Floats:
        """The far ends of all cells."""
        return np.array([self.end(cell) for cell in range(len(self.cells))])

    def last(self) -> int:
        """The last cell in which rows are seen; 0 where none are."""
        found, total = self.shown, np.append(0.0, np.cumsum(self.cells[1:]))
        for width, doubt in self.doubts.side_by_side.items():
            seen = np.flatnonzero(total[width:] - total[:-width] > doubt * self.deviation)
            if len(seen):
                first = int(seen[-1]) + 1
                best = first + int(np.argmax(self.cells[first : first + width]))
                found = max(found, best)
        some = self.doubts.beside * self.deviation
        while 0 < found < len(self.cells) - 1 and self.cells[found + 1] > some:
            found += 1
        return found

    def total(self) -> float:
        """About the sum of the distances of the rows that show."""
        ends = np.append(self.ends[0] / 2, self.ends)
        middles = (ends[:-1] + ends[1:]) / 2
        shown = slice(1, self.last() + 1)
        return float(np.maximum(self.cells[shown], 0.0) @ middles[shown])

    def between(self, least: int, most: int) -> Side:
        """The doublings between 2^least and 2^most alone, where each is one cell."""
        cells = self.cells[least - self.least : most - self.least + 1]
        shown = max(self.shown - (least - self.least), 0)
        return attrs.evolve(self, cells=cells, least=least, shown=shown)

    def together(self, other: Side) -> Side:
        """Both counts of the same cells, by inverse variances."""
        total = self.deviation**2 + other.deviation**2
        cells = (other.deviation**2 * self.cells + self.deviation**2 * other.cells) / total
        deviation = self.deviation * other.deviation / sqrt(total)
        return attrs.evolve(self, cells=cells, deviation=deviation)

    def with_blocks(self, blocks: Side) -> Side:
        """These counts, with counts of the same rows in blocks of neighbouring cells.

        A block has one noise, so it shows rows that are spread over its cells. The counts of these
        cells are moved by least squares, each by the same amount.
        """
        width = (len(self.cells) - 1) // (len(blocks.cells) - 1)
        sums = self.cells[1:].reshape(-1, width).sum(axis=1)
        alike = self.deviation**2 / (width * self.deviation**2 + blocks.deviation**2)
        cells = self.cells.copy()
        cells[1:] += np.repeat(alike * (blocks.cells[1:] - sums), width)
        summed = attrs.evolve(
            blocks, cells=np.append(0.0, sums), deviation=self.deviation * sqrt(width)
        )
        block = summed.together(blocks).last()
        refined = attrs.evolve(self, cells=cells, deviation=self.deviation * sqrt(1 - alike))
        return attrs.evolve(refined, shown=refined._last_of(block, width) if block else 0)

    def _last_of(self, block: int, width: int) -> int:
        """The last cell of a block from which on outwards rows show, or most of them do."""
        end = block * width
        outwards = np.cumsum(self.cells[end : end - width : -1])
        enough = min(float(outwards.max()), self.doubts.beside * self.deviation)
        return end - int(np.argmax(outwards >= enough))

    def quantile(self, farthest: float, beyond: float) -> float:
        """A distance with at most about so many rows beyond, the end of one of these cells.

        ``farthest`` is the end of the last cell that may hold rows.
        """
        last = int(np.searchsorted(self.ends, farthest))
        after = np.cumsum(self.cells[last:0:-1])
        enough = np.flatnonzero(after >= max(beyond, _LIKELY * self.deviation))
        return self.end(last - int(enough[0])) if len(enough) else self.end(last)
