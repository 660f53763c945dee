"""The mean of rows in a ball, with the noise of the l2 mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, cast

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.ball_noise import JointBall
from opendp_lite.estimators.inference.budget import pure
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.many_columns._noisy_mean import of_ball
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.l2_mechanism import l2_mechanism
from opendp_lite.measurements.sum_and_count import sum_and_count
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.sum import sum

_STRETCH: Final = Fraction(1)


@example(records(columns=["age", "visits"]), 2, epsilon=1)
@example(records(columns=["age", "visits"]), 2, epsilon=1, confidence=0.9, sampling=True)
@mechanism
def l2_mechanism_mean(
    space: Space[Rows],
    radius: Number,
    *,
    epsilon: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], MaxDivergence]:
    """The mean of each column for rows in an l2 ball, with the best noise for pure privacy there.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        epsilon: The budget.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Privacy:
        Epsilon under ``MaxDivergence``.

    Proof:
        The noise has a density in proportion to ``exp(-epsilon |z| / D)`` for rows that move the
        sum by D (Hardt and Talwar 2010). Where a row is replaced the error is
        2 r sqrt(d (d + 1)) / (n epsilon): never more than that of ``laplace_mean``, and below 13 to
        17 columns less than that of Gaussian noise at epsilon = 1 and a delta of 1e-5 to 1e-6. A
        private number of rows shares its noise with the sum (``sum_and_count``). For few columns
        that errs by a quarter to a third less than a part of the budget for each.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.l2_mechanism_mean(5, epsilon=1))(rows).round(0)
        array([3., 4.])
    """
    length = moderate(radius, "radius")
    budget = pure(moderate(epsilon, "epsilon"))
    request = Request.within(budget, "l2_mechanism_mean", confidence, sampling)
    rows, amount = clip_to_norm(length), request.budget.amount
    columns = space.domain.columns
    if space.domain.size is None:
        each = float(amount / cast(Fraction, space.unit))
        errors = JointBall(float(length) / each, columns, 1 / each, float(_STRETCH))
        joint = rows >> sum_and_count(epsilon=amount, stretch=_STRETCH)
        return of_ball(space, request, length, joint, errors)
    total = rows >> sum()
    moved = total.bind(space).output_space.unit.of(2)
    errors = JointBall.alone(float(moved / amount), columns)
    return of_ball(space, request, length, total >> l2_mechanism(epsilon=amount), errors)
