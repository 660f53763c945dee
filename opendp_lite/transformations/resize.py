"""A dataset of private size brought to a public one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.bounds import Bounds, format_bounds, parse_bounds, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.door import opened
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.missing import LEAVE_OUT
from opendp_lite.engines.rows import LazyRows, map_rows, materialise
from opendp_lite.engines.rows_of_size import rows_of_size
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import described, nearest, whole
from opendp_lite.examples import example, rows_in
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.samplers.fresh_keys import fresh_keys
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.row_map import plain_nan, unchanged
from opendp_lite.transformations.widths import fitting

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))

Bits = NDArray[np.uint64]
_GOLDEN: Final = 0.6180339887498949


@example(rows_in(Box(0, 10)), 4, fill=5)
@example(rows_in(Box(0, 10)), 6)
@stage
def resize(
    space: Space[Rows], size: int, fill: Bounds | None = None
) -> Transformation[Space[Rows], Space[Rows]]:
    """Brings a dataset to a public number of rows.

    Where there are too many rows, it keeps a sample without replacement. Where there are too few,
    it adds public rows. All rows are held in memory. Of rows on dask or Spark only ``size`` are.

    Args:
        size: The public number of rows, at least 1. It may be a noisy count.
        fill: The row that is added. A number for all columns, or one for each. Without it, the rows
            need one column in bounds, and values spread evenly over the bounds are added.

    Returns:
        Exactly ``size`` rows. A fixed hash of a row's content, and of how often it came before,
        decides whether it stays. So their order does not matter. On dask and Spark a secret random
        key of each row decides, anew in each release. Where the number of rows was private, rows
        with missing values are left out first.

    Raises:
        ParameterError: If ``size`` is not a whole number above 0, or memory cannot hold the rows.
        SpaceError: If the row that is added does not lie in the rows' body, or has to be given.

    Stability:
        ``d_out = d_in``: adding, removing or replacing d_in rows replaces at most d_in rows. A sum
        afterwards has the sensitivity of the body's diameter, U - L for bounds [L, U].

    Proof:
        One more row puts one more pair (content, occurrence) into the hashed order. This changes
        the first ``size`` pairs in at most one place. Free Lunch (Fitzsimons, Honaker, Shoemate,
        Singhal), appendix C.2, with the sensitivity corrected. On dask and Spark each row has an
        independent random key, and neighbours are compared with the same keys for the rows that
        they share. What follows is a mixture over the keys, which loses no more than its worst
        part (joint quasi-convexity of the divergences).

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.resize(4, fill=5))([1.0, 2.0])
        NotPrivate([1., 2., 5., 5.])
    """
    domain = space.domain
    count = whole(size, "size", least=1)
    filling = _even(space) if fill is None else _equal(space, fill)
    sized = row_metric(space).fixed_size

    def resized(rows: LazyRows) -> LazyRows:
        made = _room(count, domain.columns)
        with np.errstate(all="ignore"):
            complete = rows if sized else map_rows(rows, LEAVE_OUT)
            kept = (_far if rows.source.library else _near)(complete, count, domain.columns)
        made[: len(kept)] = kept
        made[len(kept) :] = filling(count - len(kept))
        return LazyRows(opened(made))

    return Transformation(
        space,
        Space(attrs.evolve(domain, size=count), ChangeOneDistance(), unit=space.unit),
        resized,
        unchanged,
    )


def _near(rows: LazyRows, size: int, columns: int) -> Floats:
    """So many rows, by the hash of each."""
    found = plain_nan(materialise(rows).reshape(-1, columns))
    return found[hashed_order(found)[:size]]


def _far(rows: LazyRows, size: int, columns: int) -> Floats:
    """So many rows of those on other machines, by a secret random key of each."""
    return plain_nan(rows_of_size(rows, size, columns, rows.keys or fresh_keys, "resize"))


def _room(size: int, columns: int) -> Floats:
    """An array for so many rows, refused before any row is read where there is no memory for it."""
    try:
        return np.empty((size, columns))
    except (MemoryError, ValueError, OverflowError):
        raise ParameterError(f"resize: {described(size)} rows are more than memory holds") from None


def _equal(space: Space[Rows], fill: Bounds) -> Callable[[int], Floats]:
    domain = space.domain
    entries = fitting(parse_bounds(fill, "fill"), space, "resize")
    row = np.broadcast_to(to_floats(entries), (1, domain.columns))
    if not domain.body.contains(row)[0]:
        raise SpaceError(
            f"resize: the filling row must lie in {domain.body!r}, got {format_bounds(entries)}"
        )
    return lambda missing: np.broadcast_to(row, (missing, domain.columns))


def _even(space: Space[Rows]) -> Callable[[int], Floats]:
    """The multiples of the golden ratio, modulo the width: evenly spread however many there are."""
    range_ = space.domain.body.total_range()
    if space.domain.columns != 1 or range_ is None:
        raise SpaceError(
            f"resize: say fill=, the row that fills up; only one column in bounds can be filled "
            f"evenly, and the rows lie in {space.domain.body!r}"
        )
    lower, width = map(nearest, range_)

    def filled(missing: int) -> Floats:
        shares = np.modf((np.arange(missing) + 0.5) * _GOLDEN)[0]
        rows: Floats = (lower + width * shares)[:, None]
        return rows

    return filled


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
