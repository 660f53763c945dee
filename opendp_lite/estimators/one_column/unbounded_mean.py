"""The mean of a column without bounds, which are learned in private."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil, log2
from typing import Any, Final, overload

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.magnitudes import LAPLACE, NORMAL, Doubts, Reaches, Side
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.one_column.joint_mean import joint_mean
from opendp_lite.estimators.one_column.known_size_mean import known_size_mean
from opendp_lite.estimators.one_column.recentred_mean import recentred_mean
from opendp_lite.exact import Number, digits_up, nearest
from opendp_lite.examples import example
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.magnitude_counts import magnitude_counts

_LEAST, _MOST = -300, 300
FARTHEST: Final = 2.0**_MOST
"""Values beyond it count as it."""
_FINE: Final = 2**24
_SMALLEST: Final = 2.0**-250
_PRECISION: Final = 2.0**-40
_SURE: Final = 80.0
"""The exponent at which a median among 2^30 cells to a doubling is found but once in 10^4 runs."""
_FEWEST: Final = 60.0
_COARSE, _MIDDLING, _FINEST = 20, 30, 44
_FINER: Final = 110.0
_PLAIN_SHARE: Final = 0.13
"""The share of rows in the fullest doubling of a smooth column, and that of a sparse one."""
_SPARSE_SHARE: Final = 0.025
_BESIDE: Final = 5.0
_MOST_LEARNED: Final = 0.6
_LEAST_MEDIAN, _LEAST_COUNTS, _MOST_COUNTS, _TRIMMING = 0.01, 0.08, 0.45, 0.06
_FULL: Final = 0.06
"""Edges are looked for where a cell with this share of the rows is certainly seen."""
_COUNTING: Final = {1: 0.03, 2: 0.01}
_CUTS: Final = 4
_DOUBLINGS: Final = 2
_WANTED: Final = 2.8


@overload
def unbounded_mean(
    *, rho: Number, confidence: None = None
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, float]: ...
@overload
def unbounded_mean(
    *, rho: Number, confidence: Number, sampling: bool = False
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Estimate]: ...
@overload
def unbounded_mean(
    *, epsilon: Number, confidence: None = None
) -> Mechanism[Space[Rows], MaxDivergence, float]: ...
@overload
def unbounded_mean(
    *, epsilon: Number, confidence: Number, sampling: bool = False
) -> Mechanism[Space[Rows], MaxDivergence, Estimate]: ...
@overload
def unbounded_mean(
    *, epsilon: Number, delta: Number, confidence: None = None
) -> Mechanism[Space[Rows], ApproximateDivergence, float]: ...
@overload
def unbounded_mean(
    *, epsilon: Number, delta: Number, confidence: Number, sampling: bool = False
) -> Mechanism[Space[Rows], ApproximateDivergence, Estimate]: ...
@example(records(), rho=0.1)
@example(records(), epsilon=1, delta=1e-6, confidence=0.9, sampling=True)
@example(records(size=2000, metric=ChangeOneDistance()), epsilon=3)
@mechanism
def unbounded_mean(
    space: Space[Rows],
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of one column of which no bounds are known. ``mean`` without bounds picks it.

    A part of the budget finds a median, then how far the values reach on either side of it. The
    values are clipped there. The rest of the budget is for the mean of the clipped values.

    Args:
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``. The interval is for the mean of the clipped values.
        sampling: As for ``mean``.

    Returns:
        A number, or with a confidence an ``Estimate``. Values beyond 2^300 in size count as 2^300.
        The number of rows may turn out to be too small for bounds. The release is then a private
        median, and with fewer rows still it is 0. The interval is then everything up to 2^300.
        Missing values are left out. Where the number of rows is public they count as the middle of
        the bounds that were found.

    Raises:
        ParameterError: If the budget is missing or impossible, or if the number of rows is public
            and too small for it.
        SpaceError: If the rows have more than one column.

    Privacy:
        The budget that was given, in its measure, under either row metric. For epsilon and delta it
        is met by the zCDP curve.

    Proof:
        An ``adaptive`` program of ``private_quantile``, noisy ``magnitude_counts``, and
        ``recentred_mean``, ``joint_mean`` or ``known_size_mean``. All else that it does is
        post-processing. The zCDP curve is that of Canonne, Kamath, Steinke 2020, proposition 12.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> incomes = np.random.default_rng(0).lognormal(10, 1, 20_000)
        >>> estimate = dp.estimators.unbounded_mean(rho=0.03)(incomes)
        >>> abs(estimate / incomes.mean() - 1) < 0.03
        True
    """
    request = Request.of("mean", confidence, sampling, rho, epsilon, delta)
    return learned_mean(space, request)


def learned_mean(space: Space[Rows], request: Request) -> Measurement[Space[Rows], Any]:
    """The whole estimator, for a request that was read."""
    if space.domain.columns != 1:
        raise SpaceError(
            f"mean is the mean of one column, the rows have {space.domain.columns}. Put select() "
            "before it, or use multivariate_mean()"
        )
    budget = request.whole.with_choices()
    plan = _Plan.of(space, budget)
    size = space.domain.size
    if size is not None:
        plan.check(size, request.whole)

    def program(ask: Ask[Any]) -> float | Estimate:
        return _Run(ask, plan, request).mean()

    made = programmed(space, program, budget.measure, budget.amount, "")
    return budget.with_claimed_loss(made).explained(_explanation(plan, size, request))


@attrs.frozen
class _Plan:
    """What is known before the data: how noise and choices err for a share of the budget."""

    budget: Budget
    doubts: Doubts
    power: int
    reach: float
    """By how much one unit moves the counts."""
    rank: float
    """By how much it moves the rank of a median, up and down together."""
    unit: float

    @classmethod
    def of(cls, space: Space[Rows], budget: Budget) -> _Plan:
        pure = budget.measure == MaxDivergence()
        counts = magnitude_counts(_LEAST, _MOST).bind(space).output_space.unit
        unit = float(space.unit)
        rank = 2 * unit if row_metric(space).fixed_size else unit
        reach = budget.family.sensitivity(counts)
        doubts = LAPLACE if pure else NORMAL
        return cls(budget, doubts, 1 if pure else 2, reach, rank, unit)

    def share(self, share: float) -> Fraction:
        return Fraction(int(share * _FINE), _FINE)

    def amount(self, share: float) -> dict[str, Fraction]:
        """A share of the budget as the argument of a step."""
        return {self.budget.keyword: self.budget.amount * self.share(share)}

    def deviation(self, share: float) -> float:
        """Of each count, for a share of the budget."""
        return self.budget.part(self.share(share)).deviation(self.reach)

    def share_for(self, deviation: float) -> float:
        """The share at which counts have this deviation."""
        return (self.budget.deviation(self.reach) / deviation) ** self.power

    def slope(self, share: float) -> float:
        """What a row more weighs in the choice of a median."""
        loss = float(self.budget.amount) * share
        return (loss if self.power == 1 else (8 * loss) ** 0.5) / self.rank

    @property
    def for_count(self) -> float:
        """The share for a first count, where the number of rows is private."""
        return _COUNTING[self.power]

    def for_median(self, rows: float) -> float:
        """The share at which a median is surely found."""
        return max((_SURE / rows / self.slope(1.0)) ** self.power, _LEAST_MEDIAN)

    def least_counts(self, rows: float) -> float:
        """The share at which the fullest doublings of a smooth column are found."""
        return self.share_for(_PLAIN_SHARE * rows / (self.doubts.anywhere + _BESIDE))

    def for_counts(self, rows: float) -> float:
        sparse = self.share_for(_SPARSE_SHARE * rows / self.doubts.anywhere)
        return min(max(sparse, _LEAST_COUNTS), _MOST_COUNTS)

    def for_trimming(self, rows: float) -> float:
        """Nothing, where it would not pay."""
        seen = self.deviation(_TRIMMING) * self.doubts.edge <= _FULL * rows
        return _TRIMMING if seen else 0.0

    def learns(self, rows: float) -> bool:
        """Whether so many rows show their bounds."""
        return self.for_median(rows) + self.least_counts(rows) <= _MOST_LEARNED

    def check(self, size: int, typed: Budget) -> None:
        if self.learns(size):
            return
        needed = self.for_median(size) + self.least_counts(size)
        amount = nearest(self.budget.amount) * needed / _MOST_LEARNED
        found = f"{self.budget.keyword}={amount:.2g}"
        raise ParameterError(
            f"mean: {size} rows are too few to learn bounds in private with this budget. Give "
            f"bounds, mean(lower, upper, ...), or a budget of about {found}"
        )


@attrs.frozen
class _Run:
    """One run: public numbers, and releases so far."""

    ask: Ask[Any]
    plan: _Plan
    request: Request

    def mean(self) -> float | Estimate:
        """The estimate."""
        plan, rows = self.plan, self._rows()
        if not plan.learns(rows):
            return self._without_bounds(rows)
        share = plan.for_median(rows)
        bits = _FINEST if plan.slope(share) * rows > _FINER else _MIDDLING
        middle = self._median(plan.amount(share), bits)
        reaches = self._reaches(middle, rows)
        least = max(abs(middle), _SMALLEST) * _PRECISION
        lower, upper = (
            Fraction(middle) + sign * Fraction(max(reach, least))
            for sign, reach in zip((-1, 1), reaches, strict=True)
        )
        return self.ask(self._within(lower, upper))

    def _rows(self) -> float:
        """The number of rows: public, or a first count."""
        size = self.ask.space.domain.size
        if size is not None:
            return float(size)
        part = self.plan.budget.part(self.plan.share(self.plan.for_count))
        return max(float(self.ask(count() >> part.noise())), 1.0)

    def _median(self, amount: dict[str, Fraction], bits: int) -> float:
        """A median, cut to so many bits: at a number that many rows share it is that number."""
        ends = (-FARTHEST, FARTHEST)
        median: Any = partial(
            private_quantile, 0.5, bounds=ends, scale="asinh", unit=1 / FARTHEST, bits=bits
        )
        found = self.ask(median(**amount))
        half, exponent = np.frexp(found)
        cut = float(np.ldexp(np.trunc(np.ldexp(half, bits + 1)), exponent - bits - 1))
        return cut if abs(cut) > 2 / FARTHEST else 0.0

    def _reaches(self, middle: float, rows: float) -> tuple[float, float]:
        """How far few values lie below and above the middle."""
        plan = self.plan
        wanted = _WANTED * plan.budget.deviation(plan.unit)
        sides = self._sides(middle, _LEAST, _MOST, 0, plan.for_counts(rows))
        found = tuple(side.reaches(rows, wanted) for side in sides)
        share = plan.for_trimming(rows)
        ends = [_end(each) for each in found if each.safe > 0]
        if not share or not ends:
            return found[0].safe, found[1].safe
        least, most = max(min(ends) - _DOUBLINGS, _LEAST), max(ends)
        finer = self._sides(middle, least, most, _CUTS, share)
        below, above = (
            side.inside(_end(each)).trimmed(each) if each.safe > 0 else 0.0
            for side, each in zip(finer, found, strict=True)
        )
        return below, above

    def _sides(
        self, middle: float, least: int, most: int, bits: int, share: float
    ) -> tuple[Side, Side]:
        """Noisy counts of magnitudes below and above the middle."""
        part = self.plan.budget.part(self.plan.share(share))
        counts = magnitude_counts(least, most, bits=bits) >> part.noise()
        cells = np.asarray(self.ask(center(Fraction(middle)) >> counts), dtype=np.float64)
        half, deviation = len(cells) // 2, self.plan.deviation(share)
        below, above = cells[half::-1], cells[half:]
        doubts = self.plan.doubts
        return (
            Side(below, least, bits, deviation, doubts),
            Side(above, least, bits, deviation, doubts),
        )

    def _within(self, lower: Fraction, upper: Fraction) -> Mechanism[Space[Rows], Any]:
        """The mean in bounds, for all that is left."""
        asked = {"confidence": self.request.confidence, "sampling": self.request.sampling}
        left = {self.plan.budget.keyword: self.ask.left}
        chosen: Any = joint_mean if self.plan.power == 1 else recentred_mean
        if self.ask.space.domain.size is not None:
            chosen = known_size_mean
        found: Mechanism[Space[Rows], Any] = chosen(lower, upper, **left, **asked)
        return found

    def _without_bounds(self, rows: float) -> float | Estimate:
        """A median where there are rows enough for one, else 0."""
        plan, value = self.plan, 0.0
        share = 1 - plan.for_count
        if plan.slope(share) * rows > _FEWEST:
            value = self._median({plan.budget.keyword: self.ask.left}, _COARSE)
        if self.request.confidence is None:
            return value
        ends = (-FARTHEST, FARTHEST)
        asked = self.request
        return Estimate(value, FARTHEST, ends, asked.confidence, rows, asked.sampling)


def _end(reaches: Reaches) -> int:
    """The doubling in which a safe reach lies."""
    return min(max(ceil(log2(reaches.safe)), _LEAST + 1), _MOST)


def _explanation(plan: _Plan, size: int | None, request: Request) -> str:
    """What is spent on what, and what is assumed."""
    shares = "a few hundredths count the rows and find a median; the fewer rows, the more"
    if size is not None:
        median, counts = plan.for_median(size), plan.for_counts(size)
        trimming = plan.for_trimming(size)
        shares = (
            f"{median:.1%} of the budget finds a median, {counts + trimming:.1%} how far values "
            "reach"
        )
    return shares
