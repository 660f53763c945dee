"""The means of several non-negative columns from one simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import Floats, require_private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.exact import Number, nearest, positive
from opendp_lite.examples import example
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.sum import sum


@example(records(columns=["age", "visits"]), 10, epsilon=0.1)
@example(records(columns=["age", "visits"]), 10, epsilon=0.1, confidence=0.9, sampling=True)
@mechanism
def simplex_vector_mean(
    space: Space[Rows],
    total: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any]:
    """The mean of each of several columns that are never negative and of a bounded total.

    Args:
        total: The largest total R of a row. Entries are clipped to [0, R], then a row of a larger
            total is shortened to R. Rows with a missing value are left out.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, none below 0, of a total of at most R. With a confidence a tuple of d
        ``Estimate``, each with an interval for its column alone.

    Raises:
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure.

    Proof:
        Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix B, corrected: the entries must
        not be negative, and their sum, not another norm, is at most R. The number of rows is the
        plain total of all d + 1 noisy sums over R, whose variance is (d + 1) / (2 rho) or
        2 (d + 1) / epsilon^2. For rows in an l2 ball use ``gaussian_mean``.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.tile([1.0, 2.0, 0.0], (20_000, 1))
        >>> means = dp.records(columns=3) >> dp.estimators.simplex_vector_mean(4, epsilon=1)
        >>> means(rows).round(1) + 0
        array([1., 2., 0.])
    """
    bound = positive(total, "simplex_vector_mean: total")
    require_private_size(space, "simplex_vector_mean")
    request = Request.of("simplex_vector_mean", confidence, sampling, rho, epsilon, delta)
    budget, most, columns = request.budget, nearest(bound), space.domain.columns
    inside = clamp(0, bound) >> clip_to_norm(bound, p=1)
    summed = inside >> simplex_augment() >> sum()
    scale = budget.scale(budget.family.sensitivity(summed.bind(space).output_space.unit))
    about = most / (columns + 1)
    errors = budget.family.shared_errors(scale, columns + 1, most)
    ratio = RatioOfNoisySums(0.0, most, about, errors)

    def vector(sums: Any) -> Floats:
        found = np.asarray(sums, dtype=np.float64)
        rows = max(float(found.sum()) / most, 1.0)
        entries: Floats = np.clip(found[:-1] / rows, 0.0, most)
        return entries * min(most / max(float(entries.sum()), most), 1.0)

    def totals(sums: Any) -> list[NoisyTotals]:
        rows = float(np.sum(sums)) / most
        return [NoisyTotals(ratio, float(entry) - about * rows, rows) for entry in sums[:-1]]

    made = request.of_columns(space, inside, summed >> budget.noise(), vector, totals)
    explanation = "all sums, and what each row lacks to the total, share one noise"
    return request.whole.with_claimed_loss(made).explained(explanation)
