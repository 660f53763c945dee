"""The mean from a noisy sum and the number of rows, noisy or public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.box import Box
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.combinators.composing import compose, composed_parts
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, Noisy, RowSpace
from opendp_lite.estimators.parts.budget import Budget, costs_budget
from opendp_lite.estimators.parts.noisy_totals import NoisyTotals, RatioOfNoisySums, moderate
from opendp_lite.estimators.parts.request import BoundedColumn, Request, bounds_come_first
from opendp_lite.measures.budgets import numbers_of
from opendp_lite.numbers.exact import Number, format_number
from opendp_lite.pipeline.core import R
from opendp_lite.pipeline.step_call import calls_in
from opendp_lite.pipeline.steps import mechanism, postprocessor, validator
from opendp_lite.releases.estimate import Estimate, say_treated
from opendp_lite.spaces.space import example, records, row_metric
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations import center, clamp, count, impute, sum
from opendp_lite.transformations.entries import simplex_augment, weighted_pairs
from opendp_lite.transformations.row_maps import map_rows, plain_nan


def _suits(recipe: tuple[object, ...], lower: float, upper: float, middle: float = 0) -> str | None:
    """Refuses bounds, steps or a centre that do not belong to the release."""
    calls = calls_in(recipe)
    composed = next((call for call in calls if call.is_of(compose)), None)
    if lower >= upper:
        return f"count_ratio: the lower bound, {lower}, must be below the upper, {upper}"
    if composed is None:
        return (
            "count_ratio needs a sum and a count: dp.compose(... >> sum() >> ..., count() >> ...)"
        )
    parts = composed_parts(composed)
    counts = len(parts) == 2 and any(call.is_of(count) for call in parts[1].calls[-2:-1])
    if not counts:
        return "count_ratio needs a composition of a sum and a count, in this order"
    before = [*calls[: calls.index(composed)], *parts[0].calls]
    centre = [dict(c.arguments)["middle"] for c in before if c.is_of(center)]
    if len(centre) == 1 and centre[0] != middle:
        return f"count_ratio follows center({centre[0]}): write middle={centre[0]}"
    return None


@postprocessor(
    does="The mean from a noisy sum of (x - middle) and a noisy count.",
    proof=Proof("Post-processing.", adding="nothing", replacing="-"),
)
@validator(_suits)
def count_ratio(
    sum_and_count: Sequence[ArrayLike], lower: float, upper: float, middle: float = 0
) -> float:
    """The mean from a noisy sum of (x - middle) and a noisy count.

    Args:
        sum_and_count: A release of ``compose(clamp(lower, upper) >> center(middle) >> sum() >>
            noise, count() >> noise)``.
        lower: As in ``clamp``.
        upper: As in ``clamp``.
        middle: As in ``center``; 0 without it.

    Returns:
        middle + sum / count, inside the bounds. A count below 1 counts as 1.

    Example:
        >>> count_ratio(0, 10, middle=5)([[-8.0], 4.0])
        3.0
    """
    total, rows = map(_one, sum_and_count)
    return _inside(float(middle) + total / max(rows, 1.0), lower, upper)


@postprocessor(
    does="The mean from a noisy sum and a public number of rows.",
    proof=Proof("Post-processing, with a public number of rows.", adding="-", replacing="nothing"),
)
def size_ratio(sums: ArrayLike, size: int, lower: float, upper: float) -> float:
    """The mean from a noisy sum and a public number of rows.

    Args:
        sums: A release of ``clamp(lower, upper) >> sum() >> noise`` under ``ChangeOneDistance``.
        size: The declared number of rows.
        lower: As in ``clamp``.
        upper: As in ``clamp``.

    Returns:
        sum / size, inside the bounds.

    Example:
        >>> size_ratio(4, 0, 10)([12.0])
        3.0
    """
    return _inside(_one(sums) / size, lower, upper)


def _one(value: ArrayLike) -> float:
    return float(np.asarray(value, dtype=np.float64).reshape(()))


def _inside(mean: float, lower: float, upper: float) -> float:
    return min(max(mean, float(lower)), float(upper))


def _simplex_ratio_suits(recipe: tuple[object, ...], lower: float, upper: float) -> str | None:
    calls = calls_in(recipe)
    clamps, centres, augments, sums, counts = (
        [dict(call.arguments) for call in calls if call.is_of(step)]
        for step in (clamp, center, simplex_augment, sum, count)
    )
    if lower >= upper:
        return f"simplex_ratio: the lower bound, {lower}, must be below the upper, {upper}"
    if sums and clamps and not augments:
        return "simplex_ratio needs the two sums of simplex_augment(); put that before sum()"
    if counts:
        return "simplex_ratio needs the two sums of simplex_augment() >> sum(), not a count"
    clamped = clamps[-1] if clamps else {"lower": lower, "upper": upper}
    if (clamped["lower"], clamped["upper"]) == (lower, upper) or centres:
        return None
    found = f"{clamped['lower']}, {clamped['upper']}"
    return f"simplex_ratio({lower}, {upper}) follows clamp({found}); write simplex_ratio({found})"


@postprocessor(
    does="The mean from noisy sums of (x - lower) and (upper - x).",
    proof=Proof(
        "Post-processing.",
        adding="nothing",
        replacing="nothing",
        sources=[
            "Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, section 4",
            "Kulesza, Suresh, Wang 2024",
        ],
    ),
)
@validator(_simplex_ratio_suits)
def simplex_ratio(sums: ArrayLike, lower: float, upper: float) -> float:
    """The mean from noisy sums of (x - lower) and (upper - x).

    Args:
        sums: A release of ``clamp(lower, upper) >> simplex_augment() >> sum()`` with noise.
        lower: As in ``clamp``.
        upper: As in ``clamp``.

    Returns:
        lower + (upper - lower) m1 / (m1 + m2), inside the bounds, for the sums m1 and m2. The
        number of rows, (m1 + m2) / (upper - lower), counts as at least 1.

    Example:
        >>> import opendp_lite as dp
        >>> dp.simplex_ratio(0, 10)([30.0, 70.0])
        3.0
    """
    width = float(upper) - float(lower)
    both = np.asarray(sums, dtype=np.float64)
    if both.shape != (2,):
        raise ParameterError(
            f"simplex_ratio needs the two sums of simplex_augment(), got shape {both.shape}"
        )
    first, second = float(both[0]), float(both[1])
    rows = max((first + second) / width, 1.0)
    return _inside(float(lower) + first / rows, lower, upper)


@bounds_come_first("most=1, epsilon=1")
@mechanism(
    does="The mean of values with weights: the sum of w x over the sum of w.",
    changes=(
        "Values and weights beyond their bounds are clipped to them. A row with a missing value "
        "has the weight 0."
    ),
    proof=costs_budget(
        "`weighted_pairs`, `sum`, noise (erratum 1.1.5). For a population an `adaptive` program "
        "then adds up squares around the mean.",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix A"],
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 0, 10, most=2, rho=0.1, confidence=None),
        example(records(columns=2), 0, 10, most=2, epsilon=1, confidence=0.9, sampling=True),
    ],
)
def weighted_mean(
    space: RowSpace,
    lower: Number,
    upper: Number,
    *,
    most: Number,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[float | Estimate]:
    """The mean of values with weights: the sum of w x over the sum of w.

    Args:
        lower: The lower bound of the values, in the first of two columns. Values below it are
            clipped to it.
        upper: The upper bound, likewise.
        most: The largest weight. Weights are in the second column; larger ones are clipped.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``, whose ``rows`` is the sum of
        the weights over ``most``, so there are at least so many: a table calls it
        ``weight_over_most``. A row with a missing value has the weight 0. Weights of a sum below
        ``most`` count as ``most``. A public number of rows is of no use here.

    Raises:
        ParameterError: If a bound, ``most`` or the budget is missing or impossible.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.repeat([[4.0, 1.0], [10.0, 0.5]], 5000, axis=0)
        >>> mean = dp.records(columns=2) >> dp.weighted_mean(0, 10, most=1, epsilon=1)
        >>> round(float(mean(rows)), 1)
        6.0
    """
    column = BoundedColumn.between(lower, upper, "weighted_mean")
    heaviest = moderate(most, "weighted_mean: most")
    moderate(heaviest * 2 * column.half, "weighted_mean: most times the width of the bounds")
    request = Request.of("weighted_mean", confidence, sampling, rho, epsilon, delta)
    treated = say_treated((format_number(column.lower), format_number(column.upper)))
    # Only their order tells the values from the weights: a table says which is which.
    value, weight = space.domain.names or ("", "")
    named = [f"weighted by {weight}, the values are {value}"] if weight else []
    told = "; ".join([*named, treated, say_weights(heaviest)])
    request = attrs.evolve(request, treated=told, weighted=True)
    budget, rows = request.budget, weighted_pairs(lower, upper, heaviest)
    if row_metric(space).fixed_size:
        rows = rows >> impute(0)
    scale = budget.scale(budget.reach(rows >> sum(), space))
    width, about = 2 * float(column.half), float(column.middle)
    errors = budget.errors([scale / 2, -scale / 2], [scale / width] * 2)
    ratio = RatioOfNoisySums(*column.floats, about, errors, least=float(heaviest))

    def read(sums: Floats) -> NoisyTotals:
        """The sum of w (x - middle), and that of w."""
        first, second = map(float, sums)
        return NoisyTotals(ratio, (first - second) / 2, (first + second) / width)

    noisy: Noisy[NoisyTotals] = rows >> sum() >> budget.noise() >> read
    part = request.for_squares

    def program(ask: AnyAsk) -> float | Estimate:
        """The mean, and then the sum of (w (x - mean))^2 around it, which moves least.

        Around a fixed place three sums are needed, whose noise is six times as large: weights of a
        log normal law then had intervals four times as wide as without privacy, and now twice.
        """
        totals = ask(noisy)
        mean = Fraction(float(totals.mean))
        low, high = map(Fraction, column.floats)
        farthest = heaviest * max(mean - low, high - mean)
        from_mean = partial(_square_from, float((mean - low) / (high - low)))
        squares = rows >> map_rows(from_mean, Box(0, farthest**2)) >> sum()
        off = part.deviation(part.reach(squares, ask.space)) / totals.people
        found = float(ask(squares >> part.noise())[0]) / totals.people
        most = float(heaviest)
        spread = totals.with_variance(found, off, totals.people / most, most)
        return request.on(space).as_estimate(spread)

    if request.sampling:
        made = run_with_noise(space, program, request.whole, "the mean, then squares")
    else:
        made = (noisy >> request.on(space).as_estimate).bind(space)
    shared = request.whole.with_claimed_loss(made)
    return shared.with_explanation("both weighted sums share one noise")


def say_weights(most: Fraction) -> str:
    """What weights above the largest that counts, and missing ones, count as, in words."""
    largest = format_number(most)
    return f"weights above {largest} count as {largest}, rows without a weight are left out"


def run_with_noise(
    space: RowSpace, program: Callable[[AnyAsk], R], budget: Budget, why: str
) -> Measured[R]:
    """A program that asks for noise alone, each chosen by those before."""
    made = make_adaptive(space, program, budget.measure, budget.amount, why)

    def privacy_map(distance: Fraction) -> Fraction:
        (amount,) = numbers_of(made.privacy_map(distance))
        return budget.together(amount)

    return attrs.evolve(made, privacy_map=privacy_map)


def _square_from(share: float, block: Floats) -> Floats:
    """(w (x - mean))^2, from rows of w (x - lower) and w (upper - x).

    The mean is that share of the width above the lower bound.
    """
    found: Floats = plain_nan((block[:, :1] * (1 - share) - block[:, 1:] * share) ** 2)
    return found
