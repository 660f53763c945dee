"""Many variates at a time, made into whole numbers in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import attrs
import numpy as np

from opendp_lite.samplers._arrays import Flags, Floats, Numbers
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.quantile_table import QuantileTable, Work

LANES: Final = 34_000
"""Variates in a block. Arrays of a power of two would take the same places in a cache."""
_SIGN: Final = np.uint64(2**63)
_MOST_SPARE: Final = 8
_spare: Final[list[Lanes]] = []
"""Working arrays that nobody uses now. Whoever takes one out has it alone."""


@attrs.frozen(eq=False)
class Lanes:
    """Working arrays of a block, kept for later releases: new memory is slow to touch first."""

    sizes: Floats = attrs.field(factory=partial(np.empty, LANES))
    near: Flags = attrs.field(factory=partial(np.empty, LANES, dtype=np.bool_))
    work: Work = attrs.field(
        factory=lambda: Work(np.empty(LANES), np.empty(LANES), np.empty((LANES, 4)))
    )

    @classmethod
    def taken(cls) -> Lanes:
        """Arrays for one user, who gives them back."""
        try:
            return _spare.pop()
        except IndexError:
            return cls()

    def give_back(self) -> None:
        """Lets others have them, unless there are enough."""
        if len(_spare) < _MOST_SPARE:
            _spare.append(self)


def fill(
    table: QuantileTable,
    shape: Callable[[Words, Floats, Floats, int], None],
    edge: float,
    exactly: Callable[[int, int], int],
    entropy: Entropy,
    out: Numbers,
    finish: Callable[[Words, Floats, Floats], object] | None = None,
) -> None:
    """Fills an array with variates that are rounded to nearest, from a word for each.

    Args:
        table: Of the quantile function of their size.
        shape: ``shape(words, y, work, start)`` makes of the sizes in ``y`` what is to be rounded,
            for the positions from ``start`` on.
        edge: What is not nearer than this to a whole number is decided again.
        exactly: ``exactly(position, word)`` decides it.
        entropy: Where the words come from.
        out: Floats or int64.
        finish: ``finish(words, whole, work)`` changes the rounded numbers.
    """
    lanes = Lanes.taken()
    try:
        with np.errstate(all="ignore"):
            for start in range(0, len(out), LANES):
                part = out[start : start + LANES]
                count = len(part)
                words = entropy.words(count)
                y, near, work = lanes.sizes[:count], lanes.near[:count], lanes.work.of(count)
                table.fill(words, y, work)
                shape(words, y, work.second, start)
                whole = np.rint(y, out=part if part.dtype == np.float64 else work.first)
                np.subtract(y, whole, out=y)
                np.abs(y, out=y)
                np.less(y, edge, out=near)
                if finish is not None:
                    finish(words, whole, work.second)
                if whole is not part:
                    np.copyto(part, whole, casting="unsafe")
                if np.count_nonzero(near) < count:
                    for lane in np.flatnonzero(~near).tolist():
                        part[lane] = exactly(start + lane, int(words[lane]))
    finally:
        lanes.give_back()


def with_signs(words: Words, sizes: Floats, work: Floats) -> None:
    """Negates those whose word has its highest bit set."""
    bits, signs = sizes.view(np.uint64), work.view(np.uint64)
    np.bitwise_and(words, _SIGN, out=signs)
    np.bitwise_xor(bits, signs, out=bits)
