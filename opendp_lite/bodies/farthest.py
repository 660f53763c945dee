"""How far apart two of finitely many points can be, certified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats

Whole = NDArray[np.int64]
Length = Callable[[Whole], Floats]

CLOSE: Final = 2.0**-12
"""A bound on the largest distance may lie so much above it, relatively."""
_UP = 1 + 2.0**-40
_ENTRIES = 2**21


def l1_length(rows: Whole) -> Floats:
    """The l1 norm along the last axis; exact below 2^53."""
    lengths: Floats = np.abs(rows).sum(axis=-1).astype(np.float64)
    return lengths


def l2_length(rows: Whole) -> Floats:
    """The l2 norm along the last axis; the square is exact below 2^63."""
    lengths: Floats = np.sqrt((rows * rows).sum(axis=-1).astype(np.float64))
    return lengths


def farthest(points: Whole, length: Length) -> float:
    """A float that is at least the largest distance of two points, and little more.

    Args:
        points: Whole numbers, an array of shape (points, columns). Neighbours in the array should
            be near each other.
        length: A norm along the last axis.

    Returns:
        A bound of at most 1 + 2^-12 times the largest distance.

    Proof:
        Take two groups of points, with a member a' and b' of each and the radii r and s of the
        groups around these. A point of one and a point of the other are at most ``|a' - b'| + r +
        s`` apart. Pairs of groups are halved until this bound is close to a distance that two
        points have.
    """
    size = 1 << (len(points) - 1).bit_length()
    padded = np.concatenate([points, np.repeat(points[-1:], size - len(points), axis=0)])
    first, second = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    met = left = 0.0
    while size:
        members = padded.reshape(-1, size, padded.shape[1])
        centres = members[:, size // 2]
        radii = _largest_in_group(members, centres, length)
        apart = _distances(centres, first, second, length)
        met = max(met, float(apart.max()))
        bound = (apart + radii[first] + radii[second]) * _UP if size > 1 else apart
        open_ = bound > met * (1 + CLOSE)
        left = max(left, float(bound[~open_].max(initial=0.0)))
        if size == 1 or not open_.any():
            break
        first, second, size = *_halved(first[open_], second[open_]), size // 2
    return max(met, left) * _UP


def _halved(first: Whole, second: Whole) -> tuple[Whole, Whole]:
    """The pairs of the halves of each pair of groups, each once."""
    ones = (2 * first[:, None] + np.array([0, 0, 1, 1])).ravel()
    twos = (2 * second[:, None] + np.array([0, 1, 0, 1])).ravel()
    once = ones <= twos
    return ones[once], twos[once]


def _largest_in_group(members: NDArray[Any], centres: Whole, length: Length) -> Floats:
    step = max(1, _ENTRIES // (members.shape[1] * members.shape[2]))
    parts = [
        length(members[start : start + step] - centres[start : start + step, None]).max(axis=1)
        for start in range(0, len(members), step)
    ]
    return np.concatenate(parts)


def _distances(centres: Whole, first: Whole, second: Whole, length: Length) -> Floats:
    step = max(1, _ENTRIES // centres.shape[1])
    parts = [
        length(centres[first[start : start + step]] - centres[second[start : start + step]])
        for start in range(0, len(first), step)
    ]
    return np.concatenate(parts)
