"""Where a quantile is looked for: the query of the rows, and the cells of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Bounds, Values, broadcast, parse_bounds, to_floats, width_of
from opendp_lite.engines.data.fold import Block, Floats, Numeric, identity
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import RankCounts
from opendp_lite.measurements.quantile.columns import (
    CandidateLine,
    CollectNumbers,
    LatticeLine,
    SortedLine,
)
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number, format_number, nearest
from opendp_lite.samplers import lattice
from opendp_lite.samplers.lattice import FARTHEST_BOUND, AsinhLattice, LinearLattice
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, row_metric

Spacing = Literal["linear", "log", "asinh"]
_FEWEST_CELLS: Final = 2**10
_TWO: Final = 2
# By default, where rows of one cell are told apart: room for their places in 64 bits.
_DOUBLING_BITS_TO_SPREAD: Final = 40


@attrs.frozen(eq=False)
class Places:
    """The query of the rows, and the cells: one line for all columns or one for each."""

    query: Fold
    lines: tuple[SortedLine, ...]

    def line(self, column: int) -> SortedLine:
        """The cells of a column."""
        return self.lines[column % len(self.lines)]

    def values(self, cells: Sequence[Sequence[int]]) -> Floats:
        """The numbers that stand for cells of each column, a row for each."""
        if len(self.lines) == 1:
            found = self.lines[0].values(np.array(cells, dtype=np.int64).reshape(-1))
            return found.reshape(len(cells), -1)
        return np.array(
            [
                self.line(column).values(np.array(each, dtype=np.int64))
                for column, each in enumerate(cells)
            ]
        )


def between(
    space: Space[Rows],
    bounds: tuple[Bounds, Bounds] | None,
    scale: Spacing,
    unit: Number | None,
    bits: int | None,
    *,
    spread: bool,
) -> Places:
    """The cells of a lattice, one for each column: see ``private_quantile``."""
    columns = space.domain.columns
    if bounds is None:
        raise ParameterError(
            "private_quantile needs bounds=(lower, upper), or candidates=range(101), say, of whole "
            "numbers; got neither"
        )
    several = isinstance(bounds, Sequence | np.ndarray) and not isinstance(bounds, str)
    if not several or len(bounds) != _TWO:
        raise ParameterError(
            f"private_quantile takes a pair, as in bounds=(0, 100); got {exact.list_values(bounds)}"
        )
    if bits is None and spread and scale != "linear":
        bits = _DOUBLING_BITS_TO_SPREAD
    lower, upper = parse_bounds(bounds[0], "lower"), parse_bounds(bounds[1], "upper")
    lattices = lattices_of(lower, upper, scale, unit, bits)
    if len(lattices) not in (1, columns):
        raise SpaceError(
            f"private_quantile was given bounds for {len(lattices)} columns, the rows have "
            f"{columns}; start with dp.records(columns={len(lattices)})"
        )
    how = CollectNumbers(columns)
    middles = [lattice.point(lattice.cells // 2) for lattice in lattices]
    query = Fold(how, how.finish, _treat_missing(space, np.array(middles)))
    return Places(query, tuple(map(LatticeLine, lattices)))


def among(space: Space[Rows], candidates: Sequence[Number] | Numeric) -> Places:
    """Candidates."""
    points = to_floats(parse_bounds(candidates, "candidates"))
    if not (np.isfinite(points).all() and (points[1:] > points[:-1]).all()):
        raise ParameterError(
            "private_quantile: candidates must rise, as floats; sort them, and drop repeats, "
            "as numpy.unique does"
        )
    how = RankCounts(points, space.domain.columns)
    treatment = _treat_missing(space, points[[len(points) // 2]])
    return Places(Fold(how, identity, treatment), (CandidateLine(points),))


def _treat_missing(space: Space[Rows], middles: Floats) -> Block:
    """Leaves out missing values; where the number of rows is public, fills them.

    By the centre of the rows' body or, where that is unbounded, by the middle of the choices.
    """
    if not row_metric(space).fixed_size:
        return LEAVE_OUT
    return space.domain.body.filling() or FillEntries(middles)


def lattices_of(
    lower: Values, upper: Values, scale: Spacing, unit: Number | None, bits: int | None = None
) -> Sequence[LinearLattice | AsinhLattice]:
    """The lattices between bounds that were given, one for all columns or one for each."""
    count = width_of("private_quantile", 1, lower, upper)
    pairs = list(zip(broadcast(lower, count), broadcast(upper, count), strict=True))
    for low, high in pairs:
        if low > high:
            raise ParameterError(
                f"private_quantile: the lower bound, {format_number(low)}, must be below the "
                f"upper, {format_number(high)}; swap them"
            )
        if low == high:
            raise ParameterError(
                f"private_quantile: the bounds are equal, {format_number(low)}; the lower must be "
                "below the upper"
            )
        if not (-FARTHEST_BOUND <= low < high <= FARTHEST_BOUND and float(low) < float(high)):
            raise ParameterError(
                "private_quantile: the lower bound must be below the upper, both within 2^900 "
                f"and different floats; got {nearest(low)} and {nearest(high)}"
            )
        if scale == "log" and low <= 0:
            raise ParameterError(
                'private_quantile: scale="log" needs bounds above 0; for others use '
                'scale="asinh" with a unit'
            )
    if unit is not None and scale != "asinh":
        raise ParameterError('private_quantile: unit is for scale="asinh"; add that, or drop unit')
    if unit is None and scale == "asinh":
        raise ParameterError(
            'private_quantile: scale="asinh" needs unit=, a size below which differences matter '
            "little, such as unit=1"
        )
    finest = lattice.LINEAR_BITS if scale == "linear" else lattice.DOUBLING_BITS
    fine = finest if bits is None else exact.whole(bits, "bits", least=1)
    if fine > finest:
        raise ParameterError(f'private_quantile: bits is at most {finest} for scale="{scale}"')
    if scale == "linear":
        return [LinearLattice(float(low), float(high), fine) for low, high in pairs]
    if scale not in ("log", "asinh"):
        raise ParameterError(
            f'private_quantile: scale is "linear", "log" or "asinh", got {exact.quote(scale)}'
        )
    near = 0.0 if unit is None else nearest(exact.positive(unit, "unit"))
    lattices = [AsinhLattice(float(low), float(high), near, fine) for low, high in pairs]
    fewest = _FEWEST_CELLS if bits is None else _TWO
    if near > FARTHEST_BOUND or any(lattice.cells < fewest for lattice in lattices):
        raise ParameterError(
            f'private_quantile: the bounds are too close together for scale="{scale}"; use '
            '"linear", or a smaller unit'
        )
    return lattices
