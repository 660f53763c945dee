"""A quantile by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, Protocol, cast, overload

import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import (
    Bounds,
    Floats,
    array,
    compact,
    spread,
    values,
    width_of,
)
from opendp_lite.bodies.box import Box
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.rank_counts import RankCounts
from opendp_lite.engines.rows import fold
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, floor_log2, nearest, positive, sqrt_up, whole
from opendp_lite.measurements.noise import one_of
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure, proportions
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.norms import Norms
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import (
    DOUBLING_BITS,
    LINEAR_BITS,
    AsinhLattice,
    Lattice,
    LinearLattice,
)
from opendp_lite.samplers.law import SLACK
from opendp_lite.samplers.rank_choice import STEEPEST, CellChoice, RankLaw
from opendp_lite.spaces import Space, row_metric

Spacing = Literal["linear", "log", "asinh"]
_FARTHEST: Final = Fraction(2) ** 900
_SLOPE_BITS: Final = 60
_FEWEST_CELLS: Final = 2**10
_TWO: Final = 2


@mechanism
def _private_quantile(
    space: Space[Rows],
    quantiles: Number | Sequence[Number],
    *,
    bounds: tuple[Bounds, Bounds] | None = None,
    candidates: Sequence[Number] | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    scale: Spacing = "linear",
    unit: Number | None = None,
    shares: Sequence[Number] | None = None,
    bits: int | None = None,
) -> Measurement[Space[Rows], Any]:
    """Chooses a number of which about so large a share of the rows lies below.

    Takes: ``quantiles``, from 0 to 1, one or several; the outermost may lie anywhere beyond the
        data. ``bounds``, (lower, upper), each a number or one for each column, as in ([0, 18], [40,
        100]); what lies between is cut into a fine public lattice. Or ``candidates``, rising
        numbers of which one is chosen; best for whole numbers. ``rho`` or ``epsilon``, the loss of
        all together, solved for one unit at the front. ``scale``, how the lattice is spaced:
        "linear"; "log" for bounds above 0 of different magnitude; "asinh" for both signs, linear
        within ``unit`` of 0 and logarithmic beyond. ``shares``, one for each column, in proportion
        to which the loss is split; even by default. ``bits``, how fine the lattice is: 2^bits
        cells, or with "log" and "asinh" 2^bits to a doubling; 48 and 44 by default. With few,
        numbers that are nearly equal are found with less. Raises ``ParameterError``.
    Gives: the shape of ``numpy.quantile(rows, quantiles, axis=0)``, and a single number for one
        column. A number between the bounds, never a value of the data: values are brought to the
        edges of the lattice's cells and the release lies inside a cell. Values beyond the bounds,
        or beyond the candidates, count as the outermost and NaN as the upper one; put drop_nan()
        or impute() before. Without rows any cell is as likely. Several quantiles come in order.
    Costs: epsilon under ``MaxDivergence``, or rho under ``ZeroConcentratedDivergence``.
    Because: the exponential mechanism (McSherry and Talwar 2007) over the intervals between
        sorted values (Smith 2011), with weights exp(-s |rank - q n|). One row changes
        rank - q n by max(q, 1 - q) when added or removed and by 1 when replaced, and the
        logarithm of a ratio of weights by at most twice s times that: that is epsilon, and by
        its bounded range rho = epsilon^2 / 8 (Cesar and Rogers 2021, lemma 3.4).

    >>> import opendp_lite as dp
    >>> median = dp.private_quantile(0.5, bounds=(0, 100), rho=0.1)
    >>> median.map(1)
    0.1
    >>> 48 < median(list(range(100)) * 100) < 52
    True
    """
    wanted, several = _quantiles(quantiles)
    columns = space.domain.columns
    moved = [_rank_moved(space, q) for q in wanted]
    split = [Fraction(1, columns)] * columns if shares is None else _split(shares, columns)
    measure: Measure[Any]
    if one_of("private_quantile", rho=rho, epsilon=epsilon) == "rho":
        loss, measure, power = positive(rho, "rho"), ZeroConcentratedDivergence(), 2
        each = compact(tuple(loss * share / len(wanted) for share in split))
        slopes = [[_slope(2 * part / (move * move), root=True) for part in each] for move in moved]
        formula = "rho = epsilon^2 / 8, epsilon the bounded range"
    else:
        loss, measure, power = positive(epsilon, "epsilon"), MaxDivergence(), 1
        each = compact(tuple(loss * share / len(wanted) for share in split))
        slopes = [[_slope(part / (2 * move), root=False) for part in each] for move in moved]
        formula = "epsilon = twice the slope times what a row moves a rank"
    laws = [
        [RankLaw(q, s) for s in spread(tuple(row), columns)]
        for q, row in zip(wanted, slopes, strict=True)
    ]
    query, release = (
        _between(space, bounds, scale, unit, bits)
        if candidates is None
        else _among(space, candidates, (bounds, unit, bits), scale)
    )

    def function(value: Any, entropy: Entropy) -> Any:
        found = [[release(value[j], law, j, entropy) for j, law in enumerate(row)] for row in laws]
        return _shaped(np.array(found), wanted, several)

    def privacy_map(distance: Fraction) -> Fraction:
        return loss * (distance / cast(Fraction, space.unit)) ** power

    return Measurement(space, measure, function, privacy_map, formula=formula, query=query)


Release = Callable[[Any, RankLaw, int, Entropy], float]


def _between(
    space: Space[Rows],
    bounds: tuple[Bounds, Bounds] | None,
    scale: Spacing,
    unit: Number | None,
    bits: int | None,
) -> tuple[Callable[[Any], Any], Release]:
    """A choice among the cells of a lattice, one for each column."""
    columns = space.domain.columns
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise ParameterError("private_quantile takes bounds=(lower, upper) or candidates=[...]")
    lattices = _lattices(values(bounds[0], "lower"), values(bounds[1], "upper"), scale, unit, bits)
    if len(lattices) not in (1, columns):
        raise SpaceError(
            f"private_quantile was given bounds for {len(lattices)} columns, the rows have "
            f"{columns}; start with dp.records(columns={len(lattices)})"
        )
    chosen = lattices * columns if len(lattices) == 1 else lattices
    how = CollectRows(columns)

    def release(column: Floats, law: RankLaw, j: int, entropy: Entropy) -> float:
        return CellChoice(chosen[j], law).release(column, entropy)

    return lambda rows: fold(rows, how, how.finish), release


def _among(
    space: Space[Rows], candidates: Sequence[Number], others: tuple[object, ...], scale: str
) -> tuple[Callable[[Any], Any], Release]:
    """A choice among candidates."""
    if scale != "linear" or any(other is not None for other in others):
        raise ParameterError(
            "private_quantile takes bounds= (with scale=, unit= and bits=) or candidates=, not both"
        )
    points = array(values(candidates, "candidates"))
    if not (np.isfinite(points).all() and (points[1:] > points[:-1]).all()):
        raise ParameterError("private_quantile: candidates must rise, as floats")
    ones = np.ones(len(points), dtype=np.int64)
    how = RankCounts(points, space.domain.columns)

    def release(tally: NDArray[np.int64], law: RankLaw, j: int, entropy: Entropy) -> float:
        size = int(tally[0, -1])
        under, over = tally[0, :-1].copy(), size - tally[1, :-1]
        under[0] = over[-1] = 0
        return float(points[law.choose(ones, under, over, size, entropy)])

    return lambda rows: fold(rows, how, lambda counts: counts), release


def _lattices(
    lower: tuple[Fraction, ...],
    upper: tuple[Fraction, ...],
    scale: Spacing,
    unit: Number | None,
    bits: int | None = None,
) -> list[Lattice]:
    count = width_of("private_quantile", 1, lower, upper)
    pairs = list(zip(spread(lower, count), spread(upper, count), strict=True))
    for low, high in pairs:
        if not (-_FARTHEST <= low < high <= _FARTHEST and float(low) < float(high)):
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
    if near > _FARTHEST or any(lattice.cells < fewest for lattice in lattices):
        raise ParameterError(
            f'private_quantile: the bounds are too close together for scale="{scale}"; use '
            '"linear", or a smaller unit'
        )
    return list(lattices)


def _quantiles(given: Number | Sequence[Number]) -> tuple[tuple[Fraction, ...], bool]:
    several = isinstance(given, Sequence | np.ndarray)
    found = values(given, "quantiles") if several else (exact(given, "quantiles"),)
    for each in found:
        if not 0 <= each <= 1:
            raise ParameterError(f"a quantile is between 0 and 1, got {float(each)}")
    return found, several


def _rank_moved(space: Space[Rows], quantile: Fraction) -> Fraction:
    """How far one unit moves rank - quantile n: a sum of 1 - quantile, or -quantile, for a row."""
    norms = cast(Norms, row_metric(space).per_row(Box(-quantile, 1 - quantile)))
    return cast(Fraction, (norms * space.unit).linf)


def _split(shares: Bounds, columns: int) -> tuple[Fraction, ...]:
    given = values(shares, "a share")
    if len(given) != columns:
        raise SpaceError(f"private_quantile was given {len(given)} shares for {columns} columns")
    return proportions(given)


def _slope(given: Fraction, *, root: bool) -> Fraction:
    """The slope or its square, as a short number below, with the slack of every sampler."""
    slope = (given / sqrt_up(given) if root else given) / SLACK
    grid = Fraction(2) ** (floor_log2(slope) - _SLOPE_BITS)
    return min(int(slope / grid) * grid, STEEPEST)


def _shaped(found: Floats, wanted: tuple[Fraction, ...], several: bool) -> Any:
    """In the order of the quantiles, as numpy shapes them."""
    order = np.argsort([float(q) for q in wanted], kind="stable")
    ordered = np.empty_like(found)
    ordered[order] = np.sort(found, axis=0)
    shaped = ordered if several else ordered[0]
    if found.shape[1] > 1:
        return shaped
    return shaped[:, 0] if several else float(shaped[0])


class _PrivateQuantile(Protocol):
    @overload
    def __call__(
        self,
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
    def __call__(
        self,
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


private_quantile: _PrivateQuantile = cast(_PrivateQuantile, _private_quantile)
