"""A quantile by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.bounds import Bounds, broadcast, collapse, parse_bounds, to_floats, width_of
from opendp_lite.bodies.box import Box
from opendp_lite.core import Facts, Measurement
from opendp_lite.domains import Rows
from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.deferred import Released, identity
from opendp_lite.engines.fold import Block, Floats
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries, fold_present
from opendp_lite.engines.rank_counts import RankCounts
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import (
    Number,
    exact,
    format_number,
    nearest,
    positive,
    short_below,
    sqrt_up,
    whole,
)
from opendp_lite.examples import example
from opendp_lite.measurements.noise import exactly_one
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure, proportions
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import (
    DOUBLING_BITS,
    LINEAR_BITS,
    AsinhLattice,
    Lattice,
    LinearLattice,
)
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.samplers.rank_choice import STEEPEST, CellChoice, RankLaw
from opendp_lite.spaces import Space, records, row_metric

Spacing = Literal["linear", "log", "asinh"]
FARTHEST_BOUND: Final = Fraction(2) ** 900
_FEWEST_CELLS: Final = 2**10
_TWO: Final = 2


@overload
def private_quantile(
    quantiles: Number | Sequence[Number],
    *,
    bounds: tuple[Bounds, Bounds] | None = None,
    candidates: Sequence[Number] | NDArray[Any] | None = None,
    rho: Number,
    scale: Spacing = "linear",
    unit: Number | None = None,
    shares: Sequence[Number] | NDArray[Any] | None = None,
    bits: int | None = None,
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]: ...
@overload
def private_quantile(
    quantiles: Number | Sequence[Number],
    *,
    bounds: tuple[Bounds, Bounds] | None = None,
    candidates: Sequence[Number] | NDArray[Any] | None = None,
    epsilon: Number,
    scale: Spacing = "linear",
    unit: Number | None = None,
    shares: Sequence[Number] | NDArray[Any] | None = None,
    bits: int | None = None,
) -> Mechanism[Space[Rows], MaxDivergence]: ...
@example(records(), 0.5, bounds=(0, 1), rho=0.1)
@example(
    records(size=20, metric=ChangeOneDistance()), [0.25, 0.5], candidates=[0, 0.1, 7], epsilon=0.1
)
@example(
    records(columns=2),
    0.1,
    bounds=([-1, 0], [1, 5]),
    scale="asinh",
    unit=0.1,
    rho=1,
    shares=[1, 2.5],
)
@mechanism
def private_quantile(
    space: Space[Rows],
    quantiles: Number | Sequence[Number],
    *,
    bounds: tuple[Bounds, Bounds] | None = None,
    candidates: Sequence[Number] | NDArray[Any] | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    scale: Spacing = "linear",
    unit: Number | None = None,
    shares: Sequence[Number] | NDArray[Any] | None = None,
    bits: int | None = None,
) -> Measurement[Space[Rows], Any]:
    """Estimates one or more quantiles of each column.

    Give ``bounds``, between which a fine public lattice is laid, or ``candidates``. Give ``rho`` or
    ``epsilon``, which is met exactly for one unit at the front of the pipeline.

    Args:
        quantiles: From 0 to 1, one or several. The quantiles 0 and 1 may lie anywhere beyond the
            data.
        bounds: (lower, upper), each a number or one for each column, as in ([0, 18], [40, 100]).
            Values beyond the bounds count as the bound.
        candidates: Rising numbers of which one is chosen; best for whole numbers. Values beyond
            them count as the outermost.
        rho: The zCDP loss of all quantiles together.
        epsilon: The pure loss of all quantiles together.
        scale: How the lattice is spaced: "linear"; "log" for bounds above 0 of different
            magnitude; "asinh" for both signs, linear within ``unit`` of 0 and logarithmic beyond.
        unit: Goes with ``scale="asinh"``.
        shares: One for each column, in proportion to which the loss is split. Even by default.
        bits: How fine the lattice is: 2^bits cells, or with "log" and "asinh" 2^bits to a doubling.
            48 and 44 by default. With few, numbers that are nearly equal are found with less loss.

    Returns:
        An array of the shape of ``numpy.quantile(rows, quantiles, axis=0)``, and a single number
        for one column. A release lies inside a cell of the lattice and is never a value of the
        data. Several quantiles come in order. Without rows every cell is as likely. A row with a
        missing value is left out. Where the number of rows is public, the centre of the rows' body
        takes its place, or the middle cell or candidate where they have none.

    Raises:
        ParameterError: If the bounds, candidates or other parameters do not fit together.

    Privacy:
        epsilon under ``MaxDivergence``, or rho under ``ZeroConcentratedDivergence``.

    Proof:
        The exponential mechanism (McSherry and Talwar 2007) over the intervals between sorted
        values (Smith 2011), with weights ``exp(-s |rank - q n|)``. One row changes rank - q n by
        max(q, 1 - q) when added or removed and by 1 when replaced. So the logarithms of the
        weights change by values in a range of 2 s times that, or of s times that for q = 0 and
        q = 1, where they all change in one direction. This range is epsilon, and rho is
        epsilon^2 / 8 (Cesar and Rogers 2021, lemma 3.4).

    Example:
        >>> import opendp_lite as dp
        >>> median = dp.private_quantile(0.5, bounds=(0, 100), rho=0.03)
        >>> median.map(1)
        0.03
        >>> 48 < median(list(range(100)) * 100) < 52
        True
    """
    wanted, several = _quantiles(quantiles)
    columns = space.domain.columns
    ranges = [_score_range(space, q) for q in wanted]
    split = (Fraction(1, columns),) if shares is None else _split(shares, columns)
    measure: Measure[Any]
    if exactly_one("private_quantile", rho=rho, epsilon=epsilon) == "rho":
        loss, measure, power = positive(rho, "rho"), ZeroConcentratedDivergence(), 2
        each = collapse(tuple(loss * share / len(wanted) for share in split))
        slopes = [[_slope(8 * part / (r * r), root=True) for part in each] for r in ranges]
        formula = "rho = epsilon^2 / 8, epsilon the bounded range"
    else:
        loss, measure, power = positive(epsilon, "epsilon"), MaxDivergence(), 1
        each = collapse(tuple(loss * share / len(wanted) for share in split))
        slopes = [[_slope(part / r, root=False) for part in each] for r in ranges]
        formula = "epsilon = the range of what a row changes in the weights' logarithms"
    laws = [[RankLaw(q, s) for s in row] for q, row in zip(wanted, slopes, strict=True)]
    query, release = (
        _between(space, bounds, scale, unit, bits)
        if candidates is None
        else _among(space, candidates, (bounds, unit, bits), scale)
    )

    def released(value: Any, entropy: Entropy) -> Any:
        found = [
            [release(value[j], row[j % len(row)], j, entropy) for j in range(columns)]
            for row in laws
        ]
        return _shaped(np.array(found), wanted, several)

    def privacy_map(distance: Fraction) -> Fraction:
        return loss * (distance / cast(Fraction, space.unit)) ** power

    facts = Facts(explanation=formula)
    return Measurement(space, measure, Released(query, released), privacy_map, facts)


Selection = Callable[[Any, RankLaw, int, Entropy], float]


def _between(
    space: Space[Rows],
    bounds: tuple[Bounds, Bounds] | None,
    scale: Spacing,
    unit: Number | None,
    bits: int | None,
) -> tuple[Callable[[Any], Any], Selection]:
    """A choice among the cells of a lattice, one for each column."""
    columns = space.domain.columns
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise ParameterError("private_quantile takes bounds=(lower, upper) or candidates=[...]")
    lattices = _lattices(
        parse_bounds(bounds[0], "lower"), parse_bounds(bounds[1], "upper"), scale, unit, bits
    )
    if len(lattices) not in (1, columns):
        raise SpaceError(
            f"private_quantile was given bounds for {len(lattices)} columns, the rows have "
            f"{columns}; start with dp.records(columns={len(lattices)})"
        )
    how = CollectRows(columns)

    def release(column: Floats, law: RankLaw, j: int, entropy: Entropy) -> float:
        return CellChoice(lattices[j % len(lattices)], law).release(column, entropy)

    middles = [lattice.point(lattice.cells // 2) for lattice in lattices]
    return fold_present(how, _treatment(space, np.array(middles)), how.finish), release


def _among(
    space: Space[Rows], candidates: Bounds, others: tuple[object, ...], scale: str
) -> tuple[Callable[[Any], Any], Selection]:
    """A choice among candidates."""
    if scale != "linear" or any(other is not None for other in others):
        raise ParameterError(
            "private_quantile takes bounds= (with scale=, unit= and bits=) or candidates=, not both"
        )
    points = to_floats(parse_bounds(candidates, "candidates"))
    if not (np.isfinite(points).all() and (points[1:] > points[:-1]).all()):
        raise ParameterError("private_quantile: candidates must rise, as floats")
    ones = np.ones(len(points), dtype=np.int64)
    how = RankCounts(points, space.domain.columns)

    def release(tally: NDArray[np.int64], law: RankLaw, j: int, entropy: Entropy) -> float:
        size = int(tally[0, -1])
        under, over = tally[0, :-1].copy(), size - tally[1, :-1]
        under[0] = over[-1] = 0
        return float(points[law.choose(ones, under, over, size, entropy)])

    treatment = _treatment(space, points[[len(points) // 2]])
    return fold_present(how, treatment, identity), release


def _treatment(space: Space[Rows], middles: Floats) -> Block:
    """Leaves out missing values; where the number of rows is public, fills them.

    By the centre of the rows' body or, where that is unbounded, by the middle of the choices.
    """
    if not row_metric(space).fixed_size:
        return LEAVE_OUT
    return space.domain.body.filling() or FillEntries(middles)


def _lattices(
    lower: tuple[Fraction, ...],
    upper: tuple[Fraction, ...],
    scale: Spacing,
    unit: Number | None,
    bits: int | None = None,
) -> list[Lattice]:
    count = width_of("private_quantile", 1, lower, upper)
    pairs = list(zip(broadcast(lower, count), broadcast(upper, count), strict=True))
    for low, high in pairs:
        if low > high:
            raise ParameterError(
                f"private_quantile: the lower bound, {format_number(low)}, must be below the "
                f"upper, {format_number(high)}; swap them"
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
    if (unit is not None) != (scale == "asinh"):
        raise ParameterError('private_quantile: unit goes with scale="asinh", and it with unit')
    finest = LINEAR_BITS if scale == "linear" else DOUBLING_BITS
    fine = finest if bits is None else whole(bits, "bits", least=1)
    if fine > finest:
        raise ParameterError(f'private_quantile: bits is at most {finest} for scale="{scale}"')
    if scale == "linear":
        return [LinearLattice(float(low), float(high), fine) for low, high in pairs]
    if scale not in ("log", "asinh"):
        raise ParameterError(
            f'private_quantile: scale is "linear", "log" or "asinh", got {scale!r}'
        )
    near = 0.0 if unit is None else nearest(positive(unit, "unit"))
    lattices = [AsinhLattice(float(low), float(high), near, fine) for low, high in pairs]
    fewest = _FEWEST_CELLS if bits is None else _TWO
    if near > FARTHEST_BOUND or any(lattice.cells < fewest for lattice in lattices):
        raise ParameterError(
            f'private_quantile: the bounds are too close together for scale="{scale}"; use '
            '"linear", or a smaller unit'
        )
    return list(lattices)


def _quantiles(given: Number | Sequence[Number]) -> tuple[tuple[Fraction, ...], bool]:
    several = isinstance(given, Sequence | np.ndarray)
    found = parse_bounds(given, "quantiles") if several else (exact(given, "quantiles"),)
    for each in found:
        if not 0 <= each <= 1:
            percent = (
                f"; {format_number(each)} % is {format_number(each / 100)}"
                if 1 < each <= 100
                else ""
            )
            raise ParameterError(
                f"a quantile is between 0 and 1, got {format_number(each)}{percent}"
            )
    return found, several


def _score_range(space: Space[Rows], quantile: Fraction) -> Fraction:
    """The range of what one unit changes in |rank - quantile n|, over all candidates.

    A row adds 1 - quantile or -quantile to rank - quantile n. For the quantiles 0 and 1 that has
    one sign for all candidates, so |rank - quantile n| changes in one direction.
    """
    norms = cast(Norms, row_metric(space).per_row(Box(-quantile, 1 - quantile)))
    moved = cast(Fraction, (norms * space.unit).linf)
    return moved if quantile in (0, 1) else 2 * moved


def _split(shares: Bounds, columns: int) -> tuple[Fraction, ...]:
    given = parse_bounds(shares, "a share")
    if len(given) != columns:
        raise SpaceError(f"private_quantile was given {len(given)} shares for {columns} columns")
    return proportions(given)


def _slope(given: Fraction, *, root: bool) -> Fraction:
    """The slope or its square, as a short number below, with the slack of every sampler."""
    slope = (given / sqrt_up(given) if root else given) / SCALE_SLACK
    return min(short_below(slope), STEEPEST)


def _shaped(found: Floats, wanted: tuple[Fraction, ...], several: bool) -> Any:
    """In the order of the quantiles, as numpy shapes them."""
    order = np.argsort([float(q) for q in wanted], kind="stable")
    ordered = np.empty_like(found)
    ordered[order] = np.sort(found, axis=0)
    shaped = ordered if several else ordered[0]
    if found.shape[1] > 1:
        return shaped
    return shaped[:, 0] if several else float(shaped[0])
