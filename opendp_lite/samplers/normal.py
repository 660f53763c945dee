"""Standard normals Z made of exponentials, one or many, decided exactly.

|Z| is an exponential E, kept when 2 E' > (E - 1)^2 for another exponential E'
(Devroye 1986, section IV.1.1). Of a first uniform that is too small for floats nothing is
asked: E is then above 13, and kept only if the second uniform is too small as well.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import (
    BITS,
    LANES,
    LEAST,
    LazyExponential,
    exactly_below,
    flip_signs,
    logarithms,
    to_nearest,
)

_PER_ACCEPTED = 1.36
_SPARE = 48
_UNIT = 2.0**-BITS


class Normal(NamedTuple):
    """|Z| as a float within 2^-43, None where none is; whether Z > 0; |Z| exactly."""

    size: float | None
    positive: bool
    exactly: LazyExponential


def one_normal(square_margin: float, entropy: Entropy) -> Normal:
    """One standard normal, without arrays."""
    while True:
        word, other = entropy.words(2).tolist()
        top, rival = word >> 1, other >> 1
        size = -log(top * _UNIT) if top >= LEAST else None
        if size is not None and rival >= LEAST:
            excess = (size - 1) ** 2 + 2 * log(rival * _UNIT)
            if excess > square_margin:
                continue
            if excess < -square_margin:
                return Normal(size, bool(word & 1), LazyExponential(top))
        exponential = LazyExponential(top)
        if exactly_below(exponential, LazyExponential(rival), entropy):
            return Normal(size, bool(word & 1), exponential)


@attrs.frozen
class RoundedNormals:
    """Many standard normals, times a float, plus offsets, rounded to nearest.

    ``exactly(position, positive, size)`` decides again, from the exact |Z|, those that come
    within ``edge`` of a tie, or whose float is not within 2^-43.
    """

    factor: float
    edge: float
    offsets: Floats | None
    exactly: Callable[[int, bool, LazyExponential], int]
    square_margin: float

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """So many of them."""
        noise = np.empty(count, dtype=np.int64)
        done = 0
        with np.errstate(all="ignore"):
            while done < count:
                done += self._fill(noise, done, entropy)
        return noise

    def _fill(self, noise: NDArray[np.int64], start: int, entropy: Entropy) -> int:
        """Draws a block of proposals and fills ``noise`` from ``start`` on; gives how many."""
        wanted = min(len(noise) - start, int(LANES / _PER_ACCEPTED))
        lanes = int(wanted * _PER_ACCEPTED) + _SPARE
        words, others = entropy.words(lanes), entropy.words(lanes)
        first, second = np.empty(lanes), np.empty(lanes)
        logarithms(words, first)
        doubtful = logarithms(others, second)
        excess = first + 1.0
        np.multiply(excess, excess, out=excess)
        np.add(second, second, out=second)
        np.add(excess, second, out=excess)
        keep = excess < self.square_margin
        surely = excess < -self.square_margin
        extended: dict[int, LazyExponential] = {}
        if np.count_nonzero(doubtful) or np.count_nonzero(keep) > np.count_nonzero(surely):
            doubtful |= keep & ~surely
            for each in np.flatnonzero(doubtful):
                lane = int(each)
                extended[lane] = LazyExponential(int(words[lane]) >> 1)
                rival = LazyExponential(int(others[lane]) >> 1)
                keep[lane] = exactly_below(extended[lane], rival, entropy)
        flip_signs(words, first)
        kept = np.flatnonzero(keep)[:wanted]
        y, stop = first[kept], start + len(kept)
        np.multiply(y, self.factor, out=y)
        if self.offsets is not None:
            np.add(y, self.offsets[start:stop], out=y)
        sure = to_nearest(y, noise[start:stop], self.edge)
        if extended:
            unknown = [lane for lane in extended if int(words[lane]) >> 1 < LEAST]
            sure[np.isin(kept, unknown)] = False
        if np.count_nonzero(sure) < len(kept):
            for each in np.flatnonzero(~sure):
                place = int(each)
                lane, word = int(kept[place]), int(words[kept[place]])
                size = extended.get(lane) or LazyExponential(word >> 1)
                noise[start + place] = self.exactly(start + place, bool(word & 1), size)
        return len(kept)
