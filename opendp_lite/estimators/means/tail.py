"""What clipping a column would cost, as noisy counts of its magnitudes tell."""

from __future__ import annotations

from math import inf
from operator import attrgetter
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.parts.bounds_search import Side
from opendp_lite.estimators.parts.noisy_totals import Floats

# Of a generalised Pareto law: -1 is uniform, 0 exponential, 1/3 a t law with 3 degrees.
_SHAPES: Final = np.array([-1.0, -0.5, -0.25, -0.1, 0.02, 0.12, 0.22, 0.32])
_POWER_LAW, _THIN = 3.0, 0.5
"""How much rarer than a Weibull tail a power law is, and tails that end sooner, as logarithms."""
_THINNEST: Final = 3.0
_LEAST_SCALE: Final = -5.0
# Of the law, to a doubling, from 2^-5 times the distance at which the tail begins.
_SCALES: Final = 4
# The longest scale: an exponential law has a scale of 1 over the logarithm of the tail's share.
_LONGEST: Final = 2.0
_LEAST_LOG, _MOST_LOG, _MOST_FALL_LOG = 0.5, 4.0, 8.0
_MOST_ROWS, _LEAST_ROWS = (30.0, 60.0, 120.0, 240.0), 8.0
"""Tails have so many rows, in deviations of the noise of a cell; their estimates are averaged."""
# They have at most this share of the rows that show, or else the least number.
_ROWS_SHARE: Final = 0.15
# How much of what is clipped on one side is taken to make up for the other.
_CANCELS: Final = 0.5
# A tail may be clipped at so many ends to a doubling, as a power of two.
_FINEST: Final = 3
# The probability that all values of a cell are equal, at its far end.
_EQUAL: Final = 0.02


@attrs.frozen(eq=False)
class Tail:
    """What clipping one side of a column would cost.

    Args:
        ends: The distances at which it may be clipped.
        lost: What the sum of all values then loses, as expected.
        square: The expected square of that.
    """

    ends: Floats
    lost: Floats
    square: Floats

    @classmethod
    def none(cls, end: float = 0.0) -> Tail:
        """Nothing lies beyond this end."""
        return cls(np.array([end]), np.zeros(1), np.zeros(1))

    @classmethod
    def of(cls, side: Side, safe: float) -> Tail:
        """From the counts of a side, or up to a safe end where they show too few rows.

        The rows beyond a distance where enough of them show follow about a generalised Pareto law
        (Pickands 1975, theorem 7). Each of many such laws is weighted by the likelihood of the
        noisy counts. None falls off more slowly than a power law that begins as it does. A tail may
        begin at several distances, and the average of what they tell counts.
        """
        starts = [start for many in _MOST_ROWS if (start := _start(side, many)) is not None]
        if not starts:
            return cls.none(safe)
        from_each = {start: cls._beyond(side, start) for start in set(starts)}
        farthest = len(from_each[max(starts)].ends)
        lost, square = (
            np.mean([values(from_each[start])[-farthest:] for start in starts], axis=0)
            for values in (attrgetter("lost"), attrgetter("square"))
        )
        return cls(from_each[max(starts)].ends, lost, square)

    @classmethod
    def _beyond(cls, side: Side, start: int) -> Tail:
        """What a tail tells that begins after a cell."""
        ends, counts = side.ends[start:], side.cells[start + 1 :]
        begin = ends[0]
        logarithm = -np.log(counts.sum() / max(side.cells[1:].sum(), counts.sum()))
        shape, scale = _laws(logarithm)
        beyond = _excess_share(ends[:-1] / begin - 1, shape, scale)
        held = beyond - np.append(beyond[:, 1:], np.zeros((len(beyond), 1)), axis=1)
        weight = (held**2).sum(axis=1)
        rows, doubt = np.maximum(held @ counts, 0.0) / weight, side.deviation**2 / weight
        noise = (counts - rows[:, None] * held) / side.deviation
        unlikely = side.doubts.unlikely(noise).sum(axis=1) + _rarity(shape, scale, logarithm)
        trust = np.exp(unlikely.min() - unlikely)
        trust /= trust.sum()
        finer = _finer(ends, 2 ** max(_FINEST - side.bits, 0))
        excess = _excess(finer / begin - 1, shape, scale) * begin
        squares = _excess_square(finer / begin - 1, shape, scale) * begin**2
        square = (trust * (rows**2 + doubt)) @ excess**2 + (trust * rows) @ squares
        return cls(finer, (trust * rows) @ excess, np.maximum(square, _seen(side, start, finer)))


def cheapest(
    below: Tail, above: Tail, deviation: float, *, mean: float = 0.0, fixed_size: bool
) -> tuple[float, float]:
    """How far from the middle to clip, such that clipping and noise together cost least.

    Args:
        below: The tail below the middle.
        above: The tail above it.
        deviation: Of the noise of a sum of values between 0 and 1.
        mean: About how far the mean is above the middle.
        fixed_size: Whether noise goes with the width of the bounds, or with the distance of the
            mean from the farther one.
    """
    lower, upper = below.ends[:, None], above.ends[None, :]
    reach = lower + upper if fixed_size else np.maximum(lower + mean, upper - mean)
    lost = below.square[:, None] + above.square[None, :]
    lost -= 2 * _CANCELS * below.lost[:, None] * above.lost[None, :]
    best = np.unravel_index(np.argmin(lost + (reach * deviation) ** 2), reach.shape)
    return float(below.ends[best[0]]), float(above.ends[best[1]])


def _start(side: Side, most: float) -> int | None:
    """The cell after which a tail begins that has about so many deviations of rows."""
    after = np.cumsum(side.cells[:0:-1])[::-1]
    wanted = min(max(_ROWS_SHARE * after[0], _LEAST_ROWS * side.deviation), most * side.deviation)
    doubt = side.doubts.together * side.deviation * np.sqrt(np.arange(len(after), 0, -1))
    enough = np.flatnonzero(after >= np.maximum(wanted, doubt))
    return int(enough[-1]) if len(enough) else None


def _finer(ends: Floats, parts: int) -> Floats:
    """The ends of cells that are cut into so many parts."""
    cells = len(ends) - 1
    return np.interp(np.linspace(0, cells, cells * parts + 1), np.arange(cells + 1), ends)


def _seen(side: Side, start: int, clipped: Floats) -> Floats:
    """The square of what is lost at least, since single cells certainly hold rows.

    No law of a smooth tail fits values that are all equal.
    """
    counts, ends, doubts = side.cells[start + 1 :], side.ends[start:], side.doubts
    surely, likely = (
        np.where(counts > many * side.deviation, counts, 0.0)
        for many in (doubts.anywhere, doubts.beside)
    )
    near, far = (each - clipped[:, None] for each in (ends[:-1], ends[1:]))
    beyond = np.maximum(near, 0.0) @ surely
    within = np.where((near <= 0) & (far > 0), far, 0.0) @ likely
    found: Floats = (1 - _EQUAL) * beyond**2 + _EQUAL * (beyond + within) ** 2
    return found


def _laws(logarithm: float) -> tuple[Floats, Floats]:
    """Shapes and scales of laws, as columns, for a tail with a share e^-logarithm of the rows."""
    longest = np.log2(_LONGEST / min(max(logarithm, _LEAST_LOG), _MOST_LOG))
    scales = 2.0 ** np.arange(_LEAST_SCALE, longest, 1 / _SCALES)
    shape, scale = (each.ravel() for each in np.meshgrid(_SHAPES, scales, indexing="ij"))
    possible = shape <= scale
    return shape[possible, None], scale[possible, None]


def _rarity(shape: Floats, scale: Floats, logarithm: float) -> Floats:
    """The negative logarithm of how frequent laws are, for a tail with that share of the rows.

    Where (scale - shape) logarithm is 0, the law goes on as the power law that begins so. Where it
    is 1, it goes on as the Weibull law with that share and scale: normal and exponential tails do.
    """
    fall = ((scale - shape) * np.clip(logarithm, _LEAST_LOG, _MOST_FALL_LOG))[:, 0]
    found: Floats = _POWER_LAW * np.clip(1 - fall, 0, 1) + _THIN * np.clip(
        fall - 1, 0, _THINNEST - 1
    )
    return found


def _excess_share(distance: Floats, shape: Floats, scale: Floats) -> Floats:
    """The share of a law beyond a distance."""
    within = np.maximum(1 + shape * distance / scale, 0.0)
    found: Floats = np.where(within > 0, within, inf) ** (-1 / shape)
    return np.where(within > 0, found, 0.0)


def _excess(distance: Floats, shape: Floats, scale: Floats) -> Floats:
    """The mean of what lies beyond a distance, counted from there and as 0 where nothing does."""
    return scale / (1 - shape) * np.maximum(1 + shape * distance / scale, 0.0) ** (1 - 1 / shape)


def _excess_square(distance: Floats, shape: Floats, scale: Floats) -> Floats:
    """The mean square of what lies beyond a distance, likewise.

    The sum of what so many rows lose has this variance for each of them, as a Poisson law has it.
    """
    left = np.maximum(scale + shape * distance, 0.0)
    return 2 * left / (1 - 2 * shape) * _excess(distance, shape, scale)
