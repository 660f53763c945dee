"""Sums of many columns, around the middle of their bounds, with the count that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from math import sqrt
from typing import Any, Final, Literal, cast, overload

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Values, broadcast, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.columns.noisy_mean import each_column
from opendp_lite.estimators.parts import Floats, Measured, Noisy, RowSpace
from opendp_lite.estimators.parts.budget import Budget, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import moderate
from opendp_lite.measurements.noise import Interval
from opendp_lite.measurements.vector_noise import l2_mechanism, sum_and_count
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.numbers.exact import Number, confidence_of, rational_of_float, round_up, sqrt_up
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import R
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases import Estimate, Estimates
from opendp_lite.samplers.law import ErrorLaw, Errors, Law, NormalError, ScaledError, half_widths
from opendp_lite.spaces.space import example, row_metric, rows_in
from opendp_lite.transformations import center, count, scale, sum

_FINE: Final = 2**24
# Floats end at about 1e308: what lies between leaves room for numbers of rows and for noise.
_LARGEST_SQUARE: Final = rational_of_float(1e100) ** 2
_TIE: Final = 1 + 1e-6
_EXACT: Final = 2.0**-50
CentredAndCount = tuple[Floats, float]
IntervalsAndCount = tuple[Interval, Estimate]


@overload
def centered_sum(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
    with_count: Literal[False] = False,
) -> Mechanism[RowSpace, Spent, Floats]: ...
@overload
def centered_sum(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
    with_count: Literal[False] = False,
) -> Mechanism[RowSpace, Spent, Interval]: ...
@overload
def centered_sum(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
    with_count: Literal[True],
) -> Mechanism[RowSpace, Spent, CentredAndCount]: ...
@overload
def centered_sum(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
    with_count: Literal[True],
) -> Mechanism[RowSpace, Spent, IntervalsAndCount]: ...
@mechanism(
    does="The sum of each column, with half of the noise where bounds lie on one side of 0.",
    changes=(
        "A row with a missing value is left out; where the number of rows is public, what is "
        "missing counts as the middle of its bounds."
    ),
    proof=costs_budget(
        "`sum` of the rows less a public middle, and `count`, composed; for pure privacy "
        "`sum_and_count`. Adding the middle back is post-processing. A row replaced: the "
        "plain `sum`.",
        sources=["Lebeda 2024, *Better Gaussian mechanism using correlated noise*"],
    ),
    examples=lambda: [
        example(rows_in(Box(0, 1, columns=3)), rho=0.5, with_count=True),
        example(rows_in(Box([0, -1], [10, 5])), epsilon=1, delta=1e-6, confidence=0.9),
        example(rows_in(Box(0, 1, columns=3)), epsilon=1),
        example(rows_in(Box(0, 1, columns=2), size=20), rho=0.5),
    ],
)
def centered_sum(
    space: RowSpace,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    with_count: bool = False,
) -> Measured[Any]:
    """The sum of each column, with half of the noise where bounds lie on one side of 0.

    Put ``clamp(lower, upper)`` before it. Rows around 0 move a sum less. So it sums the rows less
    the middle of their bounds, and adds the middle back, times a noisy number of rows. Where this
    does not help, it takes the plain sum. ``explain()`` says which, and the error of both.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for intervals too. It goes with rho, or epsilon and delta.
        with_count: Whether to release the number of rows too. It costs nothing more.

    Returns:
        An array with the sum of each column, or with a confidence ``dp.releases.Estimates`` (a
        ``dp.Estimate`` of one column). With the count, a tuple of this and the noisy number of
        rows. A row with a missing value is left out. Where the number of rows is public, what is
        missing counts as the middle of its bounds.

    Raises:
        ParameterError: If the budget is missing or impossible, or pure with a confidence.
        SpaceError: If the rows are unbounded, or if the count would not come for free.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = dp.records(columns=100) >> dp.clamp(0, 1)
        >>> better = rows >> dp.centered_sum(rho=0.5)
        >>> round(better.accuracy(0.95), 1), better.map(1)
        (10.8, 0.5)
        >>> round((rows >> dp.sum() >> dp.gaussian(rho=0.5)).accuracy(0.95), 1)
        19.6
        >>> round(float(better(np.full((1000, 100), 0.2)).mean()), -2)
        200.0
    """
    whole = budget_of("centered_sum", rho, epsilon, delta)
    share = None if confidence is None else confidence_of(confidence, "centered_sum: confidence")
    pure = whole.power == 1
    if share is not None and pure:
        raise ParameterError(
            "centered_sum: confidence goes with rho, or with epsilon and delta; for pure privacy "
            "use sum() >> laplace(epsilon=1, confidence=0.95)"
        )
    plans = _plans(space, pure)
    best = min(plans, key=lambda plan: plan.length * (_TIE if plan.adds else 1))
    if with_count:
        if not plans[-1].adds or plans[-1].length > best.length * _TIE:
            raise SpaceError(
                f"centered_sum: with_count=True is for free only around a middle, and here "
                f"{_why_plain(space, plans)}. Release the count too: dp.compose(..., dp.count() >> "
                "dp.gaussian(rho=0.03)), or use the public number of rows"
            )
        best = plans[-1]
    noisy = best.noisy(whole)
    errors = best.errors(noisy.bind(space).facts.laws, with_count)
    least = 0.0 if space.domain.body.non_negative() else -np.inf

    def release(found: Floats | CentredAndCount) -> object:
        """From the noisy sum, and the noisy count where there is one."""
        sums, rows = cast(CentredAndCount, found if best.adds else (found, 0.0))
        scaled, added = each_column(sums) * best.widths, best.middles * float(rows)
        if share is None:
            return (scaled + added, float(rows)) if with_count else scaled + added
        rounding, of_sums = np.abs(scaled) + np.abs(added), errors[:-1] if with_count else errors
        names = space.domain.names
        all_sums = _around(scaled + added, _EXACT * rounding, of_sums, share, least, names)
        shown = all_sums[0] if best.columns == 1 else all_sums
        if not with_count:
            return shown
        return shown, _around(np.array([float(rows)]), np.zeros(1), errors[-1:], share, 0.0)[0]

    made = whole.with_claimed_loss((noisy >> release).bind(space))
    explained = made.with_explanation(_say_way(space, plans, best, whole), trace=made.trace)
    return attrs.evolve(explained, facts=attrs.evolve(explained.facts, errors=errors))


def _around(
    values: Floats,
    rounding: Floats,
    errors: Sequence[Errors],
    share: Fraction,
    least: float,
    names: tuple[str, ...] | None = None,
) -> Estimates:
    """Values with their intervals, and a little more for the rounding of floats."""
    repeats = [part.entries for part in errors]
    off = np.repeat([part.law.standard_deviation for part in errors], repeats)
    each, joint = (
        np.repeat([round_up(half) for half in half_widths(errors, share, jointly)], repeats)
        for jointly in (False, True)
    )
    ends = np.nextafter(each + rounding, np.inf), np.nextafter(joint + rounding, np.inf)
    return Estimates.around(values, off, *ends, float(share), least=least, names=names)


@attrs.frozen
class _SumPlan:
    """A way to the sum: what is subtracted and multiplied, and how the errors add up.

    ``middle`` is what is subtracted, and added back with the count; ``factors`` multiply the
    columns. ``length`` is the expected squared length of the noise, for 2 rho = 1 or epsilon = 1.
    """

    columns: int
    middle: Values
    factors: Values
    radius: float
    pure: bool
    reach: float

    @property
    def adds(self) -> bool:
        """Whether the middle is added back with a count."""
        return any(self.middle)

    @cached_property
    def widths(self) -> Floats:
        """What each column is multiplied with in the end."""
        return 1 / to_floats(broadcast(self.factors, self.columns))

    @cached_property
    def middles(self) -> Floats:
        """What was subtracted from each column."""
        return to_floats(broadcast(self.middle, self.columns))

    @cached_property
    def _of_sum(self) -> float:
        return float(np.linalg.norm(self.widths)) * self.radius

    @cached_property
    def _of_count(self) -> float:
        return float(np.linalg.norm(self.middles))

    @property
    def length(self) -> float:
        """The expected squared length of the noise."""
        d = self.columns
        if not self.pure:
            return (self._of_sum + self._of_count) ** 2
        if self.adds:
            return self._of_sum**2 * (d + 3) + self._of_count**2 * (d + 2) * (d + 3) / 3
        return min(self._of_sum**2 * (d + 1), self._in_l1)

    @property
    def _in_l1(self) -> float:
        return 2 * float(self.widths @ self.widths) * self.reach**2

    @property
    def share(self) -> Fraction:
        """Of the budget, for the sum."""
        if not self.adds:
            return Fraction(1)
        whole = int(_FINE * self._of_sum / (self._of_sum + self._of_count))
        return Fraction(min(max(whole, 1), _FINE - 1), _FINE)

    def noisy(self, budget: Budget) -> Noisy[Floats | CentredAndCount]:
        """What is released of the rows: a noisy sum, or one with a noisy count."""
        if self.pure and self.adds:
            return self._after_steps(sum_and_count(epsilon=budget.amount, stretch=0))
        if self.pure:
            narrow = self._in_l1 <= self.length
            noise = budget.noise() if narrow else l2_mechanism(epsilon=budget.amount)
            return self._after_steps(sum() >> noise)
        summed = self._after_steps(sum() >> budget.part(self.share).noise())
        if not self.adds:
            return summed
        return compose(summed, count() >> budget.part(1 - self.share).noise())

    def _after_steps(self, released: Noisy[R]) -> Noisy[R]:
        """A mechanism on the rows as they are summed."""
        if any(factor != 1 for factor in self.factors):
            released = scale(to_floats(self.factors)) >> released
        return center(self.middle) >> released if self.adds else released

    def errors(self, laws: Sequence[Law], with_count: bool) -> tuple[Errors, ...]:
        """How each sum errs, and the count; empty where noise has no law of single entries."""
        if not laws:
            return ()
        kept = max(len(self.factors), len(self.middle))
        pairs = zip(broadcast(self.factors, kept), broadcast(self.middle, kept), strict=True)
        each = groupby(self._error(laws, factor, middle) for factor, middle in pairs)
        repeats = self.columns // kept
        found = tuple(Errors(law, len(list(same)) * repeats) for law, same in each)
        return (*found, Errors(laws[1], 1)) if with_count else found

    def _error(self, laws: Sequence[Law], factor: Fraction, middle: Fraction) -> ErrorLaw:
        """That of a sum over its factor, plus the middle times a count."""
        if not self.adds:
            return ScaledError(laws[0], 1 / abs(factor))
        parts = zip(laws, (1 / factor, middle), strict=True)
        units = [(law, Fraction(2) ** law.exponent * abs(by)) for law, by in parts]
        squares = [(law.scale * unit) ** 2 for law, unit in units]
        slack = Fraction(1, 2) * (units[0][1] + units[1][1])
        return NormalError(sqrt_up(squares[0] + squares[1]), slack)


def _plans(space: RowSpace, pure: bool) -> list[_SumPlan]:
    """The plain sum first, then better ones; the centred one last, where there is one."""
    body, columns, metric = space.domain.body, space.domain.columns, row_metric(space)
    ends, per_row = body.bounds(), metric.per_row(body)
    if ends is None or per_row is None or per_row.l2_squared is None:
        raise SpaceError(
            "centered_sum needs bounded values, and these may be anything: put dp.clamp(0, 100) "
            "before it"
        )
    if per_row.l2_squared > _LARGEST_SQUARE:
        raise SpaceError(
            "centered_sum: rows beyond 1e100 have squares that floats cannot hold; scale() the "
            "rows before"
        )
    kept = max(map(len, ends))
    low, high = (broadcast(each, kept) for each in ends)
    halves = tuple((b - a) / 2 for a, b in zip(low, high, strict=True))
    middle = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    nowhere = (Fraction(0),)

    def plan(start: Values, lengths: Values) -> _SumPlan:
        factors = _factors(lengths)
        # The body as it is where nothing is subtracted or scaled: it may have tighter norms.
        shifted = body.shift(tuple(-each for each in start)) if any(start) else body
        scaled = shifted.scale(factors) if any(each != 1 for each in factors) else shifted
        moved = cast(Norms, metric.per_row(scaled))
        radius, reach = sqrt_up(cast(Fraction, moved.l2_squared)), cast(Fraction, moved.l1)
        return _SumPlan(columns, start, factors, float(radius), pure, float(reach))

    even = (Fraction(1),)
    if metric.fixed_size:
        return [plan(nowhere, even), plan(nowhere, halves)]
    furthest = tuple(max(abs(a), abs(b)) for a, b in zip(low, high, strict=True))
    plans = [plan(nowhere, even), plan(nowhere, furthest)]
    return [*plans, plan(middle, halves)] if any(middle) else plans


def _factors(lengths: Values) -> Values:
    """One over the roots of the lengths, to four digits; 1 where they are equal."""
    if len(set(lengths)) == 1:
        return (Fraction(1),)
    widths = to_floats(tuple(moderate(each, "a width") for each in lengths))
    return tuple(rational_of_float(float(f"{each:.4g}")) for each in 1 / np.sqrt(widths))


def _say_way(space: RowSpace, plans: Sequence[_SumPlan], best: _SumPlan, budget: Budget) -> str:
    """Which way was taken, and the error of a column beside that of the plain sum."""
    unit = budget.scale(float(space.unit))
    ours, plain = (unit * sqrt(plan.length / plan.columns) for plan in (best, plans[0]))
    if not best.adds:
        return f"{_why_plain(space, plans)}\n  error of a column: {ours:.6g}"
    parts = f"{float(best.share):.3g} of the budget is for the sum, the rest for the count"
    if best.pure:
        parts = "sum and count share one noise"
    return (
        "the rows are summed around the middle of their bounds, which a noisy count adds back\n"
        f"  {parts}\n"
        f"  error of a column: {ours:.6g}, of the plain sum {plain:.6g}"
    )


def _why_plain(space: RowSpace, plans: Sequence[_SumPlan]) -> str:
    """Why the plain sum is taken."""
    if row_metric(space).fixed_size:
        return "the plain sum is best: replacing a row moves it by no more than around the middle"
    if not plans[-1].adds:
        return "the plain sum is best: the middle of the bounds is 0, so it needs no count"
    return "the plain sum is as good: centring gains no more than its count costs"
