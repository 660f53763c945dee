"""The mean of a column without bounds, which are learned in private: by what clipping costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from math import ceil, fsum, inf, nextafter
from operator import attrgetter
from typing import Final, NoReturn

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.estimators.means.bounded_mean import joint_mean, known_size_mean, recentred_mean
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, Noisy, RowSpace, bounds_search
from opendp_lite.estimators.parts.bounds_search import BoundsSearch, Doubts, SearchPlan, Side, Sides
from opendp_lite.estimators.parts.budget import costs_budget
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, nearest
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases.estimate import Estimate, say_treated
from opendp_lite.spaces.space import example, records, sized_rows
from opendp_lite.transformations import bins, clamp, select, sum
from opendp_lite.transformations.features import FAR_BLOCKS
from opendp_lite.transformations.row_maps import require_one_column

# The exponent at which a median among 2^20 cells to a doubling is found.
_FEWEST: Final = 60.0
_COARSE_BITS: Final = 20
_SURELY: Final = 1.5
_LEAST_LOOK, _MOST_PLAIN_LOOK, _MOST_LOOK = 0.03, 0.1, 0.42
# Of the rows in the fullest doubling where most values are 0.
_SPARSE_SHARE: Final = 0.025
_MOST_LOOKED: Final = 0.85
_FOR_TAILS, _FOR_PURE_TAILS = 0.12, 0.15
# Tails are looked at for themselves where so many deviations of noisy counts are rows.
_ENOUGH: Final = 104.0
_CUTS: Final = 2
# Of a mean where no rows show how far they reach.
_ANYWHERE: Final = (-inf, inf)
# Doublings beyond the last that shows rows, in which tails of few rows are looked at.
_FARTHER: Final = 2
# For a look at where in a block of doublings a far group is: only if a block shows one. So large
# that whatever the block shows is found there, too.
_FOR_GROUP, _FOR_PURE_GROUP = 0.2, 0.24
# How often blocks show a group where there is none: then a look is spent for nothing. And how often
# that look shows one as well, which would put a bound far beyond all values.
_FALSE_ALARM, _FALSE_GROUP = 0.02, 1e-3
# Of what is left, for the rows beyond the bounds, where an interval is asked for.
_FOR_BEYOND, _FOR_PURE_BEYOND = Fraction(1, 20), Fraction(7, 100)
# Each doubling beyond the bounds is taken to hold at most this share of the rows of the one before.
_THINNER: Final = 1 / 4
_THIN_TAILS: Final = (
    "if tails are thin:\n  each doubling of the distance beyond the bounds holds at most a quarter "
    "of the rows of the one before, spread evenly or nearer"
)
_MOVED: Final = 3 / 2 * (1 - _THINNER) / (1 - 2 * _THINNER) - 1
_ALL: Final = 2.0**1000
_MOST_DOUBLINGS: Final = 2 ** (FAR_BLOCKS - 1)


@mechanism(
    does="The mean of one column of which no bounds are known.",
    changes=(
        "Values beyond the bounds that a part of the budget finds are clipped to them. Missing "
        "values are left out; where the number of rows is public they count as the middle of "
        "these bounds."
    ),
    proof=costs_budget(
        "An `adaptive` program: `private_quantile`, noisy `magnitude_counts`, then "
        "`recentred_mean`, `joint_mean` or `known_size_mean`. Epsilon with delta is met by "
        "the zCDP curve.",
        sources=["Canonne, Kamath, Steinke 2020, proposition 12"],
    ),
    examples=lambda: [
        example(records(), rho=0.1, confidence=None),
        example(records(), epsilon=1, delta=1e-6, confidence=0.9, sampling=True),
        example(sized_rows(size=2000), epsilon=3, confidence=None),
    ],
)
def unbounded_mean(
    space: RowSpace,
    budget: AnyBudget | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[float | Estimate]:
    """The mean of one column of which no bounds are known. ``mean`` without bounds picks it.

    A part of the budget finds a median, then how far the values reach on either side of it. The
    values are clipped there. The rest of the budget is for the mean of the clipped values.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``. The interval is for the mean of all values, if tails are thin:
            of the rows beyond the bounds, each doubling of their distance from the median holds
            at most a quarter of the rows of the one before, spread evenly or nearer. 5 % of what
            is left (7 % of an epsilon) counts these rows. The ``clipped_interval`` is for the
            mean of the clipped values.
        sampling: As for ``mean``.

    Returns:
        An ``Estimate``, or without a confidence a number. Values beyond 2^300 in size count as it.
        The number of rows may be too small for bounds. The release is then a private median, and
        with fewer rows still it is 0. ``explain()`` says before how many are too few. An
        ``Estimate`` says it of its release: ``too_few`` is True. A number alone does not. The
        interval is then endless, as it is where all rows that show are equal.
        Missing values are left out. Where the number of rows is public they count as the middle of
        the bounds that were found.
        A group of rows far from all others is found if it is large enough: ``hidden_rows`` says how
        large, and ``explain()`` does so before. The rows of a smaller one are clipped, and no
        interval shows it.

    Raises:
        ParameterError: If the budget is missing or impossible, or if the number of rows is public
            and too small even for a median.
        SpaceError: If the rows have more than one column.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> incomes = np.random.default_rng(0).lognormal(10, 1, 20_000)
        >>> estimate = dp.estimators.unbounded_mean(rho=0.03)(incomes)
        >>> low, high = estimate.interval
        >>> bool(low < float(estimate) < high)
        True
    """
    request = Request.of("mean", confidence, sampling, rho, epsilon, delta)
    require_one_column(space, "mean", ", or use multivariate_mean()")
    whole, size = request.whole.with_choices(), space.domain.size
    plan = SearchPlan.of(space, whole)
    if size is not None and not _shows_median(plan, size, size):
        plan.require(size, "mean", "Give bounds, as in dp.mean(0, 100, epsilon=1), or")

    def program(ask: AnyAsk) -> float | Estimate:
        return _Run(BoundsSearch(ask, plan), request).mean()

    spent = _SpentOnSearch(plan, size, request)
    made = make_adaptive(space, program, whole.measure, whole.amount, "")
    return whole.with_claimed_loss(made).with_explanation(spent, simulate=_unforeseen)


def _unforeseen(*_: object) -> NoReturn:
    raise ParameterError(
        "expected_error: the error of a mean without bounds depends on how far the values reach, "
        "which no guess of the mean tells. Plan with bounds that you think fit: "
        "dp.expected_error(dp.mean(0, 100, epsilon=1), n=1000, guess=40). Without bounds expect "
        "about one and a half times that with 10 000 rows or more, and twice with a pure epsilon"
    )


@attrs.frozen
class _Planned:
    """The shares of the budget by which it is found how far values reach, for so many rows.

    Args:
        plan: How counts err.
        rows: The number of rows, or about that.
    """

    plan: SearchPlan
    rows: float

    @property
    def enough(self) -> bool:
        """Whether tails are worth a look of their own."""
        return self.rows >= _ENOUGH * self.plan.deviation(self._for_tails)

    @property
    def first(self) -> float:
        """For counts of doublings."""
        plain = max(self.plan.for_plain(self.rows), _LEAST_LOOK)
        sparse = self.plan.share_for(_SPARSE_SHARE * self.rows / self.plan.doubts.anywhere)
        usual = _MOST_PLAIN_LOOK if self.enough else _MOST_LOOK
        return max(plain, min(sparse, usual))

    @property
    def again(self) -> float:
        """For a second look where the first saw nothing; 0 with few rows."""
        return max(_MOST_LOOK - self.first, 0.0) if self.enough else 0.0

    @property
    def last(self) -> float:
        """For a last look: where no rows show, a mean needs no more than what is left."""
        return _MOST_LOOKED - self.plan.for_median(self.rows) - max(self.first, _MOST_LOOK)

    @property
    def tails(self) -> float:
        """For finer counts of the tails; 0 with few rows."""
        return self._for_tails if self.enough else 0.0

    @property
    def group(self) -> float:
        """For a look at where a far group is, if blocks show one."""
        return _FOR_PURE_GROUP if self.plan.budget.power == 1 else _FOR_GROUP

    @property
    def blocks(self) -> Doubts:
        """When blocks beyond the tails show a group."""
        return self.plan.doubts_of(_FALSE_ALARM, 2 * FAR_BLOCKS)

    def resolved(self, doublings: int) -> Doubts:
        """When one of so many doublings on a side shows where it is."""
        return self.plan.doubts_of(_FALSE_GROUP, 2 * doublings)

    @property
    def unseen(self) -> int:
        """A far group of fewer rows may be missed in more than a run of 20."""
        plan = self.plan
        if not self.tails:
            return ceil(plan.unseen(plan.deviation(self.first), plan.doubts))
        looks = (self.tails, self.blocks), (self.group, self.resolved(_MOST_DOUBLINGS))
        return ceil(max(plan.unseen(plan.deviation(share), doubts) for share, doubts in looks))

    def bits(self, coarse: Sides, ends: tuple[int, int]) -> int:
        """How finely tails are looked at, by the rows that show in doublings."""
        if not self.enough:
            return 0
        shown = fsum(side.between(*ends).cells[1:].sum() for side in coarse)
        for_each = shown / self.plan.deviation(self.tails) / _ENOUGH
        return next(
            (fewer for fewer in range(_CUTS) if for_each < 2.0 ** (1 + fewer - _CUTS)), _CUTS
        )

    @property
    def _for_tails(self) -> float:
        return _FOR_PURE_TAILS if self.plan.budget.power == 1 else _FOR_TAILS


@attrs.frozen
class _Group:
    """So many rows far from all others, at this distance from the middle or up to half as far."""

    end: float
    rows: float

    @property
    def total(self) -> float:
        """About the sum of their distances."""
        return self.rows * self.end * 3 / 4


_NO_GROUP: Final = _Group(0.0, 0.0)


@attrs.frozen(eq=False)
class _Beyond:
    """What is known of rows beyond both bounds.

    Args:
        counts: Their noisy numbers, below and above.
        reaches: How far the bounds lie from the middle.
        exceeded: What the noise exceeds with a probability.
    """

    counts: Floats
    reaches: Floats
    exceeded: Callable[[float], float]

    def widen(self, found: Estimate) -> Estimate:
        """An estimate whose intervals are for all values, if tails are thin.

        Proof:
            Let each doubling of the distance from the middle, beyond a bound at the distance r,
            hold at most a share t of the rows of the one before, with a mean no farther than
            halfway through it. N rows then come to at most
            N (1 - t) (3/2) (1 + 2 t + 4 t^2 + ...) r, so clipping takes at most
            N r ((3/2) (1 - t) / (1 - 2 t) - 1) off their sum, which is 5/4 N r for t = 1/4. The
            noise on N is independent of that on the mean, so their errors add up in squares.
        """
        each = _MOVED * self.reaches / max(found.rows or 1.0, 1.0)
        moved = each * np.maximum(self.counts, 0.0)
        doubt = each * max(self.exceeded((1 - found.confidence) / 2), 0.0)

        def wide(ends: tuple[float, float]) -> tuple[float, float]:
            off = np.hypot(np.abs(np.array(ends) - found.value), doubt) + moved
            return found.value - float(off[0]), found.value + float(off[1])

        return attrs.evolve(
            found,
            interval=wide(found.interval),
            noise_interval=found.noise_interval and wide(found.noise_interval),
            clipped_interval=found.interval,
            bounds=None,
        )


@attrs.frozen
class _Run:
    """One run: public numbers, and releases so far."""

    search: BoundsSearch
    request: Request

    def mean(self) -> float | Estimate:
        """The estimate."""
        rows = self.search.rows()
        if not self.search.plan.succeeds(rows):
            return self._without_bounds(rows)
        middle = self.search.middle(rows)
        reaches, hidden = self._reaches(middle, rows)
        lower, upper = bounds_search.around(middle, *reaches)
        beyond = None
        if any(reaches) and self.request.confidence is not None:
            beyond = self._count_beyond(lower, upper, reaches)
        found = self._within(lower, upper)
        if not isinstance(found, Estimate):
            return found
        if beyond is None:
            return attrs.evolve(found, standard_error=inf, interval=_ANYWHERE, bounds=None)
        return attrs.evolve(beyond.widen(found), hidden_rows=hidden)

    def _count_beyond(
        self, lower: Fraction, upper: Fraction, reaches: tuple[float, float]
    ) -> _Beyond:
        """Noisy numbers of the rows beyond the bounds."""
        ask, pure = self.search.ask, self.search.plan.budget.power == 1
        part = self.search.plan.left(ask).part(_FOR_PURE_BEYOND if pure else _FOR_BEYOND)
        # Values that are equal to a bound lie within it.
        edges = [-_ALL, nearest(lower), nextafter(nearest(upper), inf), _ALL]
        counting = select(0) >> clamp(-_ALL, _ALL) >> bins(edges) >> sum()
        exceeded = partial(part.exceeded, part.scale(part.reach(counting, ask.space)))
        below, _, above = np.asarray(ask(counting >> part.noise())).tolist()
        return _Beyond(np.array([below, above]), np.array(reaches), exceeded)

    def _reaches(self, middle: float, rows: float) -> tuple[tuple[float, float], int]:
        """How far from the middle values are clipped, below and above it.

        And how many rows may hide beyond.
        """
        plan, shares = self.search.plan, _Planned(self.search.plan, rows)
        coarse, looks = self._looks(middle, shares)
        wide, close = (
            bounds_search.window(coarse, farther) for farther in (_FARTHER, plan.doubts.unseen)
        )
        if wide is None or close is None:
            return (0.0, 0.0), 0
        hidden = ceil(plan.unseen(coarse[0].deviation, plan.doubts))
        sides, groups = _pair(side.between(*wide) for side in coarse), [_NO_GROUP] * 2
        if looks == 1 and shares.tails:
            bits = shares.bits(coarse, wide)
            ends = close if bits == _CUTS else wide
            finer, blocks = self._with_blocks(middle, shares, ends, bits)
            sides = finer if bits else _both(sides, finer)
            groups = self._groups(middle, shares, blocks, ends[1])
            coarse, hidden = coarse if bits else sides, shares.unseen
        safe = [side.end(side.last()) if side.last() else 0.0 for side in coarse]
        lower, upper = (
            Tail.of(side, end).with_group(group)
            for side, end, group in zip(sides, safe, groups, strict=True)
        )
        low, high = (
            (side.total() + group.total) / rows for side, group in zip(sides, groups, strict=True)
        )
        mean, fixed = high - low, self._size is not None
        deviation = self._deviation()
        return cheapest(lower, upper, deviation, mean=mean, fixed_size=fixed), hidden

    def _with_blocks(
        self, middle: float, shares: _Planned, ends: tuple[int, int], bits: int
    ) -> tuple[Sides, Sides]:
        """Counts in these doublings, and in blocks of doublings beyond them."""
        part = self.search.plan.part(shares.tails)
        sides = self.search.sides(middle, part, ends, bits, far=True)
        finer, blocks = zip(*(side.apart() for side in sides), strict=True)
        doubts = shares.blocks
        return _pair(finer), _pair(attrs.evolve(each, doubts=doubts) for each in blocks)

    def _groups(self, middle: float, shares: _Planned, blocks: Sides, most: int) -> list[_Group]:
        """What lies beyond 2^most on each side, if more rows show there than noise.

        One more look, at the doublings of the blocks that show rows, has to find it there as well.
        """
        shown = [side.last() for side in blocks]
        if not any(shown):
            return [_NO_GROUP] * 2
        # Two blocks that show rows together are told by one of them.
        beside = [(max(each - 2, 0), min(each + 1, FAR_BLOCKS)) for each in shown if each]
        ends = [2**block - 1 for both in beside for block in both]
        last = min(most + max(ends), bounds_search.MOST_POWER)
        least = min(most + min(ends), last - 1)
        part, doubts = self.search.plan.part(shares.group), shares.resolved(last - least)
        groups = []
        for side, block, looked in zip(
            blocks, shown, self.search.sides(middle, part, (least, last)), strict=True
        ):
            found = attrs.evolve(looked, doubts=doubts).last() if block else 0
            rows = float(side.cells[block])
            groups.append(_Group(looked.end(found), rows) if found else _NO_GROUP)
        return groups

    def _looks(self, middle: float, shares: _Planned) -> tuple[Sides, int]:
        """Counts of doublings, and how many looks it took until rows showed."""
        found, looks = self._look(middle, shares.first), 1
        if shares.again and not _show(found):
            found, looks = _both(found, self._look(middle, shares.again)), 2
        if not _show(found):
            found, looks = self._last_look(found, middle, shares.last), looks + 1
        return found, looks

    def _last_look(self, found: Sides, middle: float, share: float) -> Sides:
        """At blocks, or at doublings if a sum of noises has shorter tails than one of them."""
        if self.search.plan.budget.power == 1:
            return _both(found, self._look(middle, share))
        blocks = self._look(middle, share, bounds_search.BLOCK_BITS)
        return _pair(one.with_blocks(two) for one, two in zip(found, blocks, strict=True))

    def _look(self, middle: float, share: float, bits: int = 0) -> Sides:
        return self.search.sides(middle, self.search.plan.part(share), bits=bits)

    def _deviation(self) -> float:
        """Of the noise that what is left buys."""
        plan = self.search.plan
        return plan.left(self.search.ask).deviation(plan.unit)

    @property
    def _size(self) -> int | None:
        return self.search.ask.space.domain.size

    def _within(self, lower: Fraction, upper: Fraction) -> float | Estimate:
        """The mean in bounds, for all that is left."""
        ask, plan = self.search.ask, self.search.plan
        chosen: Callable[..., Noisy[float | Estimate]] = known_size_mean
        if self._size is None:
            chosen = joint_mean if plan.budget.power == 1 else recentred_mean
        asked = {"confidence": self.request.confidence, "sampling": self.request.sampling}
        found = ask(chosen(lower, upper, **{plan.budget.keyword: ask.left}, **asked))
        told = say_treated(None, "" if self._size is None else "the middle of these bounds")
        if not isinstance(found, Estimate):
            return found
        return attrs.evolve(found, clipped=True, treated=told)

    def _without_bounds(self, rows: float) -> float | Estimate:
        """A median where there are rows enough for one, else 0."""
        plan, value = self.search.plan, 0.0
        if _shows_median(plan, rows, self._size):
            value = self.search.median(plan.left(self.search.ask), _COARSE_BITS)
        confidence = self.request.confidence
        if confidence is None:
            return value
        sampling = self.request.sampling
        return Estimate(value, inf, _ANYWHERE, confidence, rows, sampling, too_few=True)


def _show(sides: Sides) -> bool:
    """Whether enough is seen: half of the rows are on either side of a median, or equal to it."""
    seen = [side.last() > 0 for side in sides]
    middle = sides[0]
    return all(seen) or (any(seen) and middle.cells[0] > middle.doubts.beside * middle.deviation)


def _both(sides: Sides, others: Sides) -> Sides:
    return _pair(one.together(two) for one, two in zip(sides, others, strict=True))


def _pair(sides: Iterable[Side]) -> Sides:
    below, above = sides
    return below, above


def _shows_median(plan: SearchPlan, rows: float, size: int | None) -> bool:
    """Whether so many rows, as they are or as a noisy count has it, show a median."""
    if size is not None:
        return plan.slope(1.0) * size > _FEWEST
    doubt = _SURELY * plan.doubts.beside * plan.part(plan.for_count).deviation(plan.unit)
    return plan.slope(1 - plan.for_count) * (rows - doubt) > _FEWEST


def _fewest(enough: Callable[[float], bool]) -> int:
    """About how many rows are enough."""
    rows = 1
    while not enough(rows):
        rows += 1 + rows // 100
    return rows


@attrs.frozen
class _SpentOnSearch:
    """What is spent on what, and what is assumed: worked out when it is shown."""

    plan: SearchPlan
    size: int | None
    request: Request

    def __str__(self) -> str:
        if self.size is not None and not self.plan.succeeds(self.size):
            return (
                "the estimator is unbounded_mean, but the release is no mean: it is a median\n"
                f"  {self.size} rows are too few to find bounds in private with this budget\n"
                f"  give bounds, or {self.plan.enough(self.size)}"
            )
        lines = [
            "the estimator is unbounded_mean: no bounds were given",
            *self._say_spent(),
            f"  the rest is for {self._last()} between the bounds that were found",
            "assumed: nothing for privacy; for accuracy, that far groups have rows enough",
            f"  one of {self._hidden()} rows or more, all about as far, is found in 95 % of runs",
            "  one of fewer may be clipped without a sign of it",
            "interval: add confidence=0.95 to get one with each release"
            if self.request.confidence is None
            else f"interval: each release has one, for the mean of all values {_THIN_TAILS}\n"
            "  clipped_interval is for the mean of the clipped values alone",
        ]
        return "\n".join(lines)

    def _hidden(self) -> int:
        """The most rows that a far group may have and be missed, for any number of rows."""
        if self.size is not None:
            return _Planned(self.plan, self.size).unseen
        fewest = _fewest(self.plan.succeeds)
        return max(
            _Planned(self.plan, rows).unseen for rows in fewest * 2.0 ** np.arange(0, 8, 0.25)
        )

    def _say_spent(self) -> list[str]:
        plan, enough = self.plan, partial(_shows_median, self.plan, size=None)
        if self.size is not None:
            shares = _Planned(plan, self.size)
            reached = shares.first + shares.tails
            return [
                f"  {plan.for_median(self.size):.2g} of the budget finds a median, {reached:.2g} "
                "how far the values reach"
            ]
        return [
            f"  {plan.for_count:.0%} of the budget counts the rows: it says how to divide the rest",
            "  about 1 % finds a median, 15 to 21 % how far the values reach, more for few rows",
            f"  with fewer than about {_fewest(plan.succeeds)} rows the release is a private "
            f"median, with fewer than about {_fewest(enough)} it is 0",
            "  the number does not show which it is: confidence=0.95 adds too_few, which does"
            if self.request.confidence is None
            else "  too_few of the release then says so, as a noisy count has it",
        ]

    def _last(self) -> str:
        if self.size is not None:
            return "known_size_mean"
        return "joint_mean" if self.plan.budget.power == 1 else "recentred_mean"


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

    def with_group(self, group: _Group) -> Tail:
        """The same, with a far group, at the end of which it may be clipped as well."""
        if group.end <= self.ends[-1]:
            return self
        ends = np.append(self.ends, group.end)
        beyond = np.maximum(group.end * 3 / 4 - ends, 0.0) * group.rows
        lost = np.append(self.lost, 0.0) + beyond
        return Tail(
            ends, lost, np.append(self.square, 0.0) + lost**2 - np.append(self.lost, 0.0) ** 2
        )

    @classmethod
    def _beyond(cls, side: Side, start: int) -> Tail:
        """What a tail tells that begins after a cell."""
        ends, counts = side.ends[start:], side.cells[start + 1 :]
        begin = ends[0]
        logarithm = -np.log(counts.sum() / max(side.cells[1:].sum(), counts.sum()))
        shape, scale = _laws(logarithm)
        beyond = _excess_share(ends / begin - 1, shape, scale)
        held = beyond[:, :-1] - beyond[:, 1:]
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
    """The square of what is lost at least, since cells hold rows: alone, or all together.

    No law of a smooth tail fits values that are all equal, or a group beyond a gap.
    """
    counts, ends, doubts = side.cells[start + 1 :], side.ends[start:], side.doubts
    surely, likely = (
        np.where(counts > many * side.deviation, counts, 0.0)
        for many in (doubts.together, doubts.beside)
    )
    near, far = (np.maximum(each - clipped[:, None], 0.0) for each in (ends[:-1], ends[1:]))
    beyond = near @ surely
    equal = beyond + np.where(near > 0, 0.0, far) @ likely
    # A smooth tail shows in neighbouring cells as well, equal values do not.
    before = start > 0 and side.cells[start] > doubts.beside * side.deviation
    shown = np.concatenate([[before], likely > 0, [False]])
    alone = bool((shown[1:-1] & ~shown[:-2] & ~shown[2:]).any())
    atom = 1.0 if alone else _EQUAL
    together = near @ counts - doubts.together * side.deviation * np.sqrt((near**2).sum(axis=1))
    cells = (1 - atom) * beyond**2 + atom * equal**2
    found: Floats = np.maximum(cells, np.maximum(together, 0.0) ** 2)
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
