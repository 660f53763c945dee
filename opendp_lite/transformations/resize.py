"""A dataset of private size brought to a public one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Bounds, Floats, array, spread, values
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows
from opendp_lite.engines.rows import LazyRows, materialise
from opendp_lite.errors import SpaceError
from opendp_lite.exact import whole
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.spaces import Space
from opendp_lite.transformations.widths import fitting

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))

Bits = NDArray[np.uint64]
_GOLDEN: Final = 0.6180339887498949


@stage
def resize(
    space: Space[Rows], size: int, fill: Bounds | None = None
) -> Transformation[Space[Rows], Space[Rows]]:
    """Samples rows without replacement down to a public size, or fills up to it.

    Takes: ``size``, at least 1, public (a noisy count, say); ``fill``, the row that fills up, a
        number for all columns or one for each, inside the rows' body; without it, for one column
        in bounds, public values spread evenly over them.
    Gives: exactly ``size`` rows. Which rows stay is decided by a fixed hash of a row's content
        and of how often it came before, so it does not depend on the order of the rows; to the
        data it is as a random sample. All rows are held in memory.
    Moves: d_in rows added or removed (or replaced) become at most d_in rows replaced. The sized
        sum after it has the sensitivity of the body's diameter: U - L for bounds [L, U].
    Because: one more row puts one more (content, occurrence) into the hashed order, which changes
        the first ``size`` of them in at most one place. (papers: Free Lunch, appendix C.2, whose
        sensitivity is corrected.)

    >>> import opendp_lite as dp
    >>> (dp.clamp(0, 10) >> dp.resize(4, fill=5))([1.0, 2.0])
    array([1., 2., 5., 5.])
    """
    domain = space.domain
    count = whole(size, "size", least=1)
    filling = _even(space) if fill is None else _equal(space, fill)

    def resized(rows: LazyRows) -> LazyRows:
        found = materialise(rows).reshape(-1, domain.columns)
        kept = found[hashed_order(found)[:count]]
        return LazyRows(np.concatenate([kept, filling(count - len(kept))]))

    return Transformation(
        space,
        Space(attrs.evolve(domain, size=count), ChangeOneDistance(), unit=space.unit),
        resized,
        _as_it_is,
    )


def _equal(space: Space[Rows], fill: Bounds) -> Callable[[int], Floats]:
    domain = space.domain
    row = array(spread(fitting(values(fill, "fill"), space, "resize"), domain.columns))
    if not domain.body.contains(row[None, :])[0]:
        raise SpaceError(f"resize: the filling row must lie in {domain.body!r}, got {fill}")
    return lambda missing: np.tile(row, (missing, 1))


def _even(space: Space[Rows]) -> Callable[[int], Floats]:
    """The multiples of the golden ratio, modulo the width: evenly spread however many there are."""
    range_ = space.domain.body.total_range()
    if space.domain.columns != 1 or range_ is None:
        raise SpaceError(
            f"resize: say fill=, the row that fills up; only one column in bounds can be filled "
            f"evenly, and the rows lie in {space.domain.body!r}"
        )
    lower, width = map(float, range_)

    def filled(missing: int) -> Floats:
        shares = np.modf((np.arange(missing) + 0.5) * _GOLDEN)[0]
        rows: Floats = (lower + width * shares)[:, None]
        return rows

    return filled


def _as_it_is(distance: Any) -> Any:
    return distance


def hashed_order(rows: Floats) -> NDArray[np.intp]:
    """An order of the rows that depends on their contents alone, as if shuffled."""
    bits: Bits = np.ascontiguousarray(rows).view(np.uint64)
    sorted_rows = np.lexsort(bits.T)
    bits = bits[sorted_rows]
    fresh = np.ones(len(bits), dtype=np.bool_)
    fresh[1:] = (bits[1:] != bits[:-1]).any(axis=1)
    position = np.arange(len(bits))
    start = np.maximum.accumulate(np.where(fresh, position, 0))
    mixed = (position - start).astype(np.uint64)
    for column in range(bits.shape[1]):
        mixed = _mixed(mixed + _STEP) ^ bits[:, column]
    return sorted_rows[np.argsort(_mixed(mixed + _STEP), kind="stable")]


def _mixed(words: Bits) -> Bits:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> _SHIFTS[0])) * _FIRST
    words = (words ^ (words >> _SHIFTS[1])) * _SECOND
    return words ^ (words >> _SHIFTS[2])
