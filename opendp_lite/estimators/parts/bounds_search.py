"""Bounds that hold most values of each column, found by noisy counts of magnitudes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor, inf, log, log10, nextafter, sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, RowSpace
from opendp_lite.estimators.parts.budget import Budget, budget_of, costs_budget
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, nearest, open_probability
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.spaces.space import example, records, row_metric, sized_rows
from opendp_lite.transformations import center, count, magnitude_counts, select
from opendp_lite.transformations.features import FAR_BLOCKS

_LIKELY: Final = 3.0


@attrs.frozen
class Doubts:
    """What noise does to counts, in standard deviations of the noise.

    Args:
        anywhere: How far it may lift any of thousands of cells that are empty; in less than one run
            of 10^4.
        beside: How far it may lift the cell next to one that holds rows.
        together: How far it may lift any sum of some dozens of cells, up to the outermost.
        unseen: So many doublings beyond the last that shows rows, others may lie unseen.
        unlikely: The negative logarithm of the likelihood of noise, less a constant.
        side_by_side: As ``anywhere``, for the sum of so many cells.
    """

    anywhere: float
    beside: float
    together: float
    unseen: int
    unlikely: Callable[[Floats], Floats]
    side_by_side: dict[int, float]


NORMAL: Final = Doubts(5.6, 3.0, 4.0, 1, lambda noise: noise**2 / 2, {1: 5.6, 2: 7.92, 4: 11.2})
LAPLACE: Final = Doubts(
    12.4, 4.2, 5.0, 2, lambda noise: np.abs(noise) * sqrt(2), {1: 12.4, 2: 14.1, 4: 16.6}
)
"""Sums of Laplace noises have shorter tails than one of them."""


def last_seen(cells: Floats, doubts: Mapping[int, float], beside: float, last: int) -> int:
    """The last cell in which noisy counts show rows, or a known one, or -1 for none.

    Args:
        cells: The counts.
        doubts: For each width, how far noise may lift the sum of so many neighbouring cells.
        beside: How far it may lift the cell next to one that holds rows.
        last: A cell that is known to hold rows; -1 for none.
    """
    total = np.append(0.0, np.cumsum(cells))
    for width, doubt in doubts.items():
        seen = np.flatnonzero(total[width:] - total[:-width] > doubt)
        if len(seen):
            first = int(seen[-1])
            last = max(last, first + int(np.argmax(cells[first : first + width])))
    while 0 <= last < len(cells) - 1 and cells[last + 1] > beside:
        last += 1
    return last


@attrs.frozen(eq=False)
class Side:
    """Noisy counts of one side of a column, from the middle outwards.

    Args:
        cells: The counts; the first is of the cell in the middle.
        least: The cell in the middle ends at 2^least.
        bits: Each doubling has 2^bits cells. Below 0, each cell has 2^-bits doublings.
        deviation: Of the noise on each count.
        doubts: How far that noise goes.
        shown: Other counts show that rows reach up to this cell, or 0.
    """

    cells: Floats
    least: int
    bits: int
    deviation: float
    doubts: Doubts
    shown: int = 0

    def end(self, cell: int) -> float:
        """The far end of a cell."""
        doublings, within = divmod(cell, 2**self.bits)
        return float(2.0 ** (self.least + doublings) * (1 + within / 2**self.bits))

    @property
    def ends(self) -> Floats:
        """The far ends of all cells."""
        return np.array([self.end(cell) for cell in range(len(self.cells))])

    def last(self) -> int:
        """The last cell in which rows are seen; 0 where none are."""
        doubts = {wide: by * self.deviation for wide, by in self.doubts.side_by_side.items()}
        beside = self.doubts.beside * self.deviation
        return 1 + last_seen(self.cells[1:], doubts, beside, self.shown - 1)

    def total(self) -> float:
        """About the sum of the distances of the rows that show."""
        ends = np.append(self.ends[0] / 2, self.ends)
        middles = (ends[:-1] + ends[1:]) / 2
        shown = slice(1, self.last() + 1)
        return float(np.maximum(self.cells[shown], 0.0) @ middles[shown])

    def between(self, least: int, most: int) -> Side:
        """The doublings between 2^least and 2^most alone, where each is one cell."""
        cells = self.cells[least - self.least : most - self.least + 1]
        shown = max(self.shown - (least - self.least), 0)
        return attrs.evolve(self, cells=cells, least=least, shown=shown)

    def apart(self) -> tuple[Side, Side]:
        """The cells, and beside them the blocks beyond them, where these are counted as well."""
        cells, far = np.split(self.cells, [-FAR_BLOCKS])
        blocks = attrs.evolve(self, cells=np.append(0.0, far), bits=0)
        return attrs.evolve(self, cells=cells), blocks

    def together(self, other: Side) -> Side:
        """Both counts of the same cells, by inverse variances."""
        total = self.deviation**2 + other.deviation**2
        cells = (other.deviation**2 * self.cells + self.deviation**2 * other.cells) / total
        deviation = self.deviation * other.deviation / sqrt(total)
        return attrs.evolve(self, cells=cells, deviation=deviation)

    def with_blocks(self, blocks: Side) -> Side:
        """These counts, with counts of the same rows in blocks of neighbouring cells.

        A block has one noise, so it shows rows that are spread over its cells. The counts of these
        cells are moved by least squares, each by the same amount.
        """
        width = (len(self.cells) - 1) // (len(blocks.cells) - 1)
        sums = self.cells[1:].reshape(-1, width).sum(axis=1)
        alike = self.deviation**2 / (width * self.deviation**2 + blocks.deviation**2)
        cells = self.cells.copy()
        cells[1:] += np.repeat(alike * (blocks.cells[1:] - sums), width)
        summed = attrs.evolve(
            blocks, cells=np.append(0.0, sums), deviation=self.deviation * sqrt(width)
        )
        block = summed.together(blocks).last()
        refined = attrs.evolve(self, cells=cells, deviation=self.deviation * sqrt(1 - alike))
        return attrs.evolve(refined, shown=refined._last_of(block, width) if block else 0)

    def _last_of(self, block: int, width: int) -> int:
        """The last cell of a block from which on outwards rows show, or most of them do."""
        end = block * width
        outwards = np.cumsum(self.cells[end : end - width : -1])
        enough = min(float(outwards.max()), self.doubts.beside * self.deviation)
        return end - int(np.argmax(outwards >= enough))

    def quantile(self, farthest: float, beyond: float) -> float:
        """A distance with at most about so many rows beyond, the end of one of these cells.

        ``farthest`` is the end of the last cell that may hold rows.
        """
        last = int(np.searchsorted(self.ends, farthest))
        after = np.cumsum(self.cells[last:0:-1])
        enough = np.flatnonzero(after >= max(beyond, _LIKELY * self.deviation))
        return self.end(last - int(enough[0])) if len(enough) else self.end(last)


LEAST_POWER: Final = -300
MOST_POWER: Final = 300
FARTHEST: Final = 2.0**MOST_POWER
"""Values beyond it count as it."""
_ENDS: Final = (LEAST_POWER, MOST_POWER)
Sides = tuple[Side, Side]
_FINE: Final = 2**24
_SMALLEST: Final = 2.0**-250
_PRECISION: Final = 2.0**-40
# The exponent at which a median among 2^30 cells to a doubling is missed once in 10^4 runs.
_SURE: Final = 80.0
_FINER: Final = 110.0
_BITS, _FINEST_BITS = 30, 44
# Of the rows in the fullest doubling of a smooth column, on one side of its median.
_PLAIN_SHARE: Final = 0.13
_BESIDE: Final = 5.0
_MOST_LEARNED: Final = 0.75
BLOCK_BITS: Final = -2
"""Of blocks of four doublings: rows in one tail are spread over no more than two of them."""
# So many doublings nearer than the last that shows rows, they are looked for again.
_NEARER: Final = 4
# By how many doublings the nearer side may end before the other, and still be looked at.
_MOST_APART: Final = 6
_LEAST_MEDIAN: Final = 0.01
_FOR_PURE_COUNT, _FOR_COUNT = 0.05, 0.02
_STEPS: Final = 60
MISSED: Final = 0.025
"""How often a look misses as many rows as it is said to see."""


@attrs.frozen
class SearchPlan:
    """What is known before the data: how counts and medians err for a share of the budget.

    Args:
        budget: Of the search and of what follows it.
        doubts: How far noise may lift an empty cell.
        reach: How far one unit moves the counts, in the norm of their noise.
        rank: How far it moves the score of a median, up and down together.
        unit: How many rows it is.
    """

    budget: Budget
    doubts: Doubts
    reach: float
    rank: float
    unit: float

    @classmethod
    def of(cls, space: RowSpace, budget: Budget) -> SearchPlan:
        """For a column of a space."""
        reach, unit = budget.reach(select(0) >> magnitude_counts(*_ENDS), space), float(space.unit)
        doubts = LAPLACE if budget.power == 1 else NORMAL
        return cls(budget, doubts, reach, unit * (2 if row_metric(space).fixed_size else 1), unit)

    def part(self, share: float) -> Budget:
        """A share of the budget."""
        return self.budget.part(Fraction(int(share * _FINE), _FINE))

    def left(self, ask: AnyAsk) -> Budget:
        """What a program may still spend."""
        return attrs.evolve(self.budget, amount=ask.left)

    def deviation(self, share: float) -> float:
        """Of each noisy count, for a share of the budget."""
        return self.part(share).deviation(self.reach)

    def share_for(self, deviation: float) -> float:
        """The share at which noisy counts have this deviation."""
        return (self.budget.deviation(self.reach) / deviation) ** self.budget.power

    def doubts_of(self, false: float, cells: int) -> Doubts:
        """Where noise may lift any of so many empty cells with this probability.

        Each cell is looked at by itself and with the one beside it.
        """
        lifted = {width: self.exceeded(false / (2 * cells), width) for width in (1, 2)}
        return attrs.evolve(self.doubts, side_by_side=lifted)

    def exceeded(self, share: float, width: int) -> float:
        """What noise on one cell or two together exceeds with a probability, in its deviations."""
        if self.budget.power == 1 and width > 1:
            # Two Laplace noises of scale 1 exceed x with the probability exp(-x) (1 + x / 2) / 2.
            found = 1.0
            for _ in range(_STEPS):
                found = log((1 + found / 2) / (2 * share))
        else:
            found = self.budget.exceeded(1.0, share, np.ones(width))
        return found / self.budget.deviation_at(1.0)

    def unseen(self, deviation: float, doubts: Doubts) -> float:
        """So many rows in one cell, or in two neighbouring ones, are seen but for ``MISSED``."""
        return deviation * (doubts.side_by_side[2] + self.exceeded(MISSED, 2))

    def slope(self, share: float) -> float:
        """How much one row weighs in the choice of a median."""
        loss = float(self.budget.amount) * share
        return (loss if self.budget.power == 1 else float(np.sqrt(8 * loss))) / self.rank

    @property
    def for_count(self) -> float:
        """The share for a first count of the rows."""
        return _FOR_PURE_COUNT if self.budget.power == 1 else _FOR_COUNT

    def for_median(self, rows: float) -> float:
        """The share at which a median is surely found."""
        return max((_SURE / rows / self.slope(1.0)) ** self.budget.power, _LEAST_MEDIAN)

    def for_plain(self, rows: float) -> float:
        """The share at which the fullest doublings of a smooth column are surely seen."""
        return self.share_for(_PLAIN_SHARE * rows / (self.doubts.anywhere + _BESIDE))

    def succeeds(self, rows: float) -> bool:
        """Whether so many rows show their bounds."""
        return self._need(rows) <= _MOST_LEARNED

    def _need(self, rows: float) -> float:
        return self.for_median(rows) + self.for_plain(rows)

    def require(self, size: int, step: str, instead: str) -> None:
        """Refuses a public number of rows that is too small."""
        if self.succeeds(size):
            return
        raise ParameterError(
            f"{step}: {size} rows are too few to find bounds in private with this budget. "
            f"{instead} {self.enough(size)}"
        )

    def enough(self, size: int) -> str:
        """The budget with which so many rows would show their bounds."""
        times = self._need(size) / _MOST_LEARNED
        amount = nearest(self.budget.amount) * times
        name = self.budget.keyword
        return f"a budget about {times:.2g} times as large, here {name}={amount:.2g}"


@attrs.frozen
class BoundsSearch:
    """One search, in one column: public numbers, and what ``ask`` releases."""

    ask: AnyAsk
    plan: SearchPlan
    column: int = 0

    def rows(self) -> float:
        """The number of rows: public, or a first count."""
        size = self.ask.space.domain.size
        if size is not None:
            return float(size)
        noisy = count() >> self.plan.part(self.plan.for_count).noise()
        return max(float(self.ask(select(self.column) >> noisy)), 1.0)

    def middle(self, rows: float) -> float:
        """A median, found so exactly as so many rows allow."""
        share = self.plan.for_median(rows)
        fine = self.plan.slope(share) * rows > _FINER
        return self.median(self.plan.part(share), _FINEST_BITS if fine else _BITS)

    def median(self, part: Budget, bits: int) -> float:
        """A median cut to so many bits. Where many rows share a short number, it is that number."""
        ends = (-FARTHEST, FARTHEST)
        choice = part.median(bounds=ends, scale="asinh", unit=1 / FARTHEST, bits=bits)
        found = self.ask(select(self.column) >> choice)
        half, exponent = np.frexp(found)
        cut = float(np.ldexp(np.trunc(np.ldexp(half, bits + 1)), exponent - bits - 1))
        return cut if abs(cut) > 2 / FARTHEST else 0.0

    def sides(
        self,
        middle: float,
        part: Budget,
        ends: tuple[int, int] = _ENDS,
        bits: int = 0,
        *,
        far: bool = False,
    ) -> Sides:
        """Noisy counts of the magnitudes below and above the middle, between powers of two.

        A cell is as wide as ``Side.bits`` says: a doubling, if it is 0. With ``far`` there are
        blocks beyond, which ``Side.apart`` takes off.
        """
        counts = magnitude_counts(*ends, bits=bits, far=far) >> part.noise()
        centred = select(self.column) >> center(Fraction(middle))
        cells = np.asarray(self.ask(centred >> counts), dtype=np.float64)
        half, deviation = len(cells) // 2, part.deviation(self.plan.reach)
        below, above = (
            Side(each, ends[0], bits, deviation, self.plan.doubts)
            for each in (cells[half::-1], cells[half:])
        )
        return below, above


def window(sides: Sides, farther: int) -> tuple[int, int] | None:
    """The powers of two between which values end, as seen in doublings; None where none show.

    They reach so many doublings farther than the last that shows rows.
    """
    seen = [side.last() + side.least for side in sides if side.last()]
    if not seen:
        return None
    nearest_end = max(min(seen), max(seen) - _MOST_APART)
    least = max(nearest_end - _NEARER, LEAST_POWER)
    return least, min(max(seen) + farther, MOST_POWER)


def around(middle: float, below: float, above: float) -> tuple[Fraction, Fraction]:
    """Bounds so far from the middle, which floats tell apart."""
    least = max(abs(middle), _SMALLEST) * _PRECISION
    return (
        Fraction(middle) - Fraction(max(below, least)),
        Fraction(middle) + Fraction(max(above, least)),
    )


_COARSE: Final = 0.2
_CUTS: Final = 3
LowerAndUpper = tuple[Any, Any]
"""Numbers, or arrays with one for each column."""


@mechanism(
    does="Finds bounds that hold about this share of the values of each column.",
    changes=(
        "Missing values are left out, or are 0 less the median where the number of rows is public."
    ),
    proof=costs_budget(
        "An `adaptive` program of `private_quantile` and noisy `magnitude_counts`; columns "
        "share the budget. Epsilon with delta is met by the zCDP curve.",
        sources=["Canonne, Kamath, Steinke 2020, proposition 12"],
    ),
    examples=lambda: [
        example(records(), 0.99, rho=0.1),
        example(records(columns=2), 0.9, epsilon=1, delta=1e-6),
        example(sized_rows(size=2000), 0.95, epsilon=3),
    ],
)
def private_bounds(
    space: RowSpace,
    share: Number,
    budget: AnyBudget | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measured[LowerAndUpper]:
    """Finds bounds that hold about this share of the values of each column.

    You need to know nothing of the values. Use the bounds in other releases, as in
    ``dp.clamp(*bounds)``; those have a loss of their own.

    Args:
        share: The share of the values that the bounds are to hold, 0.99 say. As many values are to
            lie below the lower bound as above the upper one.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say. All columns share it evenly.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.

    Returns:
        (lower, upper): two numbers for one column, two arrays with a number for each of several
        columns. Lower is below upper, whatever the data. The bounds reach up to an eighth farther
        from the median than asked. Where hundreds of values are equal, they are within. The number
        of rows may turn out to be too small: the bounds are then -2^300 and 2^300, beyond which no
        values are told apart. Missing values are left out, or are 0 less the median where the
        number of rows is public.

    Raises:
        ParameterError: If the budget is missing or impossible, if ``share`` does not lie between 0
            and 1, or if the number of rows is public and too small.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(42, 10, 20_000)
        >>> lower, upper = dp.private_bounds(0.99, rho=0.03)(ages)
        >>> bool(lower < upper)  # such as 14 and 68
        True
    """
    outside = (1 - open_probability(share, "private_bounds: share")) / 2
    typed = budget_of("private_bounds", rho, epsilon, delta)
    whole, columns = typed.with_choices(), space.domain.columns
    plan = SearchPlan.of(space, whole.part(Fraction(1, columns)))
    if space.domain.size is not None:
        plan.require(space.domain.size, "private_bounds", "Give")

    def program(ask: AnyAsk) -> LowerAndUpper:
        searches = (BoundsSearch(ask, plan, column) for column in range(columns))
        found = [_bounds(search, nearest(outside)) for search in searches]
        if columns == 1:
            return found[0]
        lower, upper = np.array(found).T
        return lower, upper

    spent = "a median of each column first, then noisy counts of magnitudes around it"
    made = make_adaptive(space, program, whole.measure, whole.amount, spent)
    return whole.with_claimed_loss(made)


def _bounds(search: BoundsSearch, outside: float) -> tuple[float, float]:
    """The bounds of one column: lower and upper."""
    plan, rows = search.plan, search.rows()
    if not plan.succeeds(rows):
        return -FARTHEST, FARTHEST
    middle = search.middle(rows)
    share = max(_COARSE, plan.for_plain(rows))
    counted = 0.0 if search.ask.space.domain.size is not None else plan.for_count
    left = plan.part(1 - share - counted - plan.for_median(rows))
    sides = search.sides(middle, plan.part(share))
    ends = window(sides, 1) or (LEAST_POWER, LEAST_POWER + 1)
    below, above = (
        side.quantile(2 * coarse.end(coarse.last()), outside * rows) if coarse.last() else 0.0
        for side, coarse in zip(search.sides(middle, left, ends, _CUTS), sides, strict=True)
    )
    lower, upper = map(nearest, around(middle, below, above))
    return _round_outwards(lower, max(upper, nextafter(lower, inf)))


def _round_outwards(lower: float, upper: float) -> tuple[float, float]:
    """Both to a thousandth of what lies between them, or a little less: what a person types."""
    unit = Fraction(10) ** (floor(log10(upper - lower)) - 3)
    return float(floor(Fraction(lower) / unit) * unit), float(ceil(Fraction(upper) / unit) * unit)
