"""Numbers in many arrays, in the cells of a lattice: those near a rank, without a copy of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from opendp_lite.samplers._arrays import Counts, Floats
from opendp_lite.samplers.lattice import Lattice
from opendp_lite.samplers.rank_choice import InCells, NumbersInCells, counts_before

_SAMPLE: Final = 2**14
"""Of so many numbers the ranks of two are looked for, between which those that are wanted lie."""
_SLACK: Final = 2**8
"""Ranks in the sample: four standard deviations of a random one of this size."""


@attrs.frozen(eq=False)
class PiecesInCells(InCells):
    """Numbers in several arrays, which are not changed.

    Args:
        lattice: Of the cells.
        pieces: The arrays.

    Proof:
        All numbers from ``low`` to ``high`` are put together. As many as ``under`` lie below them.
        So the number at the place p of all in order is at the place p - under of these, if it is
        one of them: if under <= p, and if p - under is below their number. Where that does not hold
        for the places that are asked for, all numbers are put together. NaN is above all.
    """

    lattice: Lattice
    pieces: Sequence[Floats]

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(map(len, self.pieces))

    def between(self, first: int, last: int) -> Counts:
        if self.size >= 8 * _SAMPLE and first < last:
            under, inside = self._near(first, last)
            if under <= first and last - under <= len(inside):
                return NumbersInCells(self.lattice, inside).between(first - under, last - under)
        held: Floats = np.concatenate([np.empty(0), *self.pieces])
        return NumbersInCells(self.lattice, held).between(first, last)

    def before(self, cells: Counts) -> Counts:
        counts = np.zeros(len(cells), dtype=np.int64)
        for piece in self.pieces:
            counts += counts_before(self.lattice.cell(piece), cells)
        return counts

    def _near(self, first: int, last: int) -> tuple[int, Floats]:
        """How many numbers are below some, and those: most likely all from a place to another."""
        size = self.size
        step = size // _SAMPLE
        sample = np.concatenate([piece[::step] for piece in self.pieces])
        sample.sort()
        share = len(sample) / size
        low = int(first * share) - _SLACK
        high = int(last * share) + _SLACK
        least = sample[low] if low >= 0 else -np.inf
        most = sample[high] if high < len(sample) else np.inf
        below, inside = 0, []
        for piece in self.pieces:
            under = piece < least
            below += int(np.count_nonzero(under))
            inside.append(piece[(piece <= most) & ~under])
        return below, np.concatenate(inside)
