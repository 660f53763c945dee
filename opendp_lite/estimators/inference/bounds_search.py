"""How a program finds in private where a column lies and how far it reaches."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.magnitudes import LAPLACE, NORMAL, Doubts, Side
from opendp_lite.exact import nearest
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.magnitude_counts import magnitude_counts
from opendp_lite.transformations.select import select

LEAST_POWER: Final = -300
MOST_POWER: Final = 300
FARTHEST: Final = 2.0**MOST_POWER
"""Values beyond it count as it."""
Sides = tuple[Side, Side]
_FINE: Final = 2**24
_SMALLEST: Final = 2.0**-250
_PRECISION: Final = 2.0**-40
_SURE: Final = 80.0
"""The exponent at which a median among 2^30 cells to a doubling is missed once in 10^4 runs."""
_FINER: Final = 110.0
_BITS, _FINEST_BITS = 30, 44
_PLAIN_SHARE: Final = 0.13
"""Of the rows in the fullest doubling of a smooth column, on one side of its median."""
_BESIDE: Final = 5.0
_MOST_LEARNED: Final = 0.75
_BLOCK_BITS: Final = -2
"""Of blocks of four doublings: rows in one tail are spread over no more than two of them."""
_NEARER: Final = 4
"""So many doublings nearer than the last that shows rows, they are looked for again."""
_MOST_APART: Final = 6
"""By how many doublings the nearer side may end before the other, and still be looked at."""
_LEAST_MEDIAN: Final = 0.01
_FOR_PURE_COUNT, _FOR_COUNT = 0.05, 0.02


@attrs.frozen
class SearchPlan:
    """What is known before the data: how counts and medians err for a share of the budget.

    Args:
        budget: Of the search and of what follows it.
        doubts: How far noise may lift an empty cell.
        power: Noise goes with the share of the budget to the power of -1 / power.
        reach: How far one unit moves the counts, in the norm of their noise.
        rank: How far it moves the score of a median, up and down together.
        unit: How many rows it is.
    """

    budget: Budget
    doubts: Doubts
    power: int
    reach: float
    rank: float
    unit: float

    @classmethod
    def of(cls, space: Space[Rows], budget: Budget) -> SearchPlan:
        """For a column of a space."""
        pure, fixed = budget.measure == MaxDivergence(), row_metric(space).fixed_size
        counts = (select(0) >> magnitude_counts(LEAST_POWER, MOST_POWER)).bind(space).output_space
        return cls(
            budget,
            LAPLACE if pure else NORMAL,
            1 if pure else 2,
            budget.family.sensitivity(counts.unit),
            float(space.unit) * (2 if fixed else 1),
            float(space.unit),
        )

    def part(self, share: float) -> Budget:
        """A share of the budget."""
        return self.budget.part(Fraction(int(share * _FINE), _FINE))

    def argument(self, amount: Fraction) -> dict[str, Fraction]:
        """An amount as the argument of a step."""
        return {self.budget.keyword: amount}

    def deviation(self, share: float) -> float:
        """Of each noisy count, for a share of the budget."""
        return self.part(share).deviation(self.reach)

    def share_for(self, deviation: float) -> float:
        """The share at which noisy counts have this deviation."""
        return (self.budget.deviation(self.reach) / deviation) ** self.power

    def slope(self, share: float) -> float:
        """How much one row weighs in the choice of a median."""
        loss = float(self.budget.amount) * share
        return (loss if self.power == 1 else float(np.sqrt(8 * loss))) / self.rank

    @property
    def for_count(self) -> float:
        """The share for a first count of the rows."""
        return _FOR_PURE_COUNT if self.power == 1 else _FOR_COUNT

    def for_median(self, rows: float) -> float:
        """The share at which a median is surely found."""
        return max((_SURE / rows / self.slope(1.0)) ** self.power, _LEAST_MEDIAN)

    def for_plain(self, rows: float) -> float:
        """The share at which the fullest doublings of a smooth column are surely seen."""
        return self.share_for(_PLAIN_SHARE * rows / (self.doubts.anywhere + _BESIDE))

    def succeeds(self, rows: float) -> bool:
        """Whether so many rows show their bounds."""
        return self._needed(rows) <= _MOST_LEARNED

    def _needed(self, rows: float) -> float:
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
        times = self._needed(size) / _MOST_LEARNED
        amount = nearest(self.budget.amount) * times
        return f"a budget about {times:.2g} times as large, here {self.budget.keyword}={amount:.2g}"


@attrs.frozen
class BoundsSearch:
    """One search, in one column: public numbers, and what ``ask`` releases."""

    ask: Ask[Any]
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
        return self.median(self.plan.part(share).amount, _FINEST_BITS if fine else _BITS)

    def median(self, amount: Fraction, bits: int) -> float:
        """A median cut to so many bits. Where many rows share a short number, it is that number."""
        choice: Any = partial(
            private_quantile,
            0.5,
            bounds=(-FARTHEST, FARTHEST),
            scale="asinh",
            unit=1 / FARTHEST,
            bits=bits,
        )
        found = self.ask(select(self.column) >> choice(**self.plan.argument(amount)))
        half, exponent = np.frexp(found)
        cut = float(np.ldexp(np.trunc(np.ldexp(half, bits + 1)), exponent - bits - 1))
        return cut if abs(cut) > 2 / FARTHEST else 0.0

    def doublings(self, middle: float, part: Budget) -> Sides:
        """Noisy counts of the magnitudes below and above the middle, a doubling to a cell."""
        return self.sides(middle, (LEAST_POWER, MOST_POWER), 0, part)

    def blocks(self, middle: float, part: Budget) -> Sides:
        """The same, with several doublings to a cell."""
        return self.sides(middle, (LEAST_POWER, MOST_POWER), _BLOCK_BITS, part)

    def sides(self, middle: float, ends: tuple[int, int], bits: int, part: Budget) -> Sides:
        """Noisy counts of the magnitudes below and above the middle, between powers of two."""
        counts = magnitude_counts(*ends, bits=bits) >> part.noise()
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
