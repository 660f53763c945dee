"""The means of several non-negative columns from one simplex."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.budget import loss_of
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import Floats, private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.uncertainty_options import Report
from opendp_lite.exact import Number, nearest, positive
from opendp_lite.spaces import Space
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.drop_nan import drop_nan
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.sum import sum


@mechanism
def simplex_means(
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

    Takes: rows of d columns; ``total`` R: entries below 0 count as 0, those above R as R, and then
        a row of a total above R is shortened to it; rows with NaN are left out. One of ``rho``,
        ``epsilon``, ``epsilon`` with ``delta``; ``confidence`` and ``sampling`` as for ``mean``.
        The number of rows is private.
    Gives: d numbers, none below 0, of a total of at most R; with a confidence a tuple of d
        ``Estimate``, each interval by itself.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix B, corrected: the
        entries must not be negative and their sum, not another norm, at most R; the number of
        rows is the plain total of all d + 1 noisy sums over R, whose variance is (d + 1) / 2 rho
        or 2 (d + 1) / epsilon^2. Rows in an l2 ball go to ``gaussian_mean``.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.tile([1.0, 2.0, 0.0], (20_000, 1))
    >>> means = dp.records(columns=3) >> dp.simplex_means(4, epsilon=1)
    >>> means(rows).round(1) + 0
    array([1., 2., 0.])
    """
    bound = positive(total, "simplex_means: total")
    private_size(space, "simplex_means")
    whole = loss_of("simplex_means", rho, epsilon, delta)
    report = Report.of("simplex_means", confidence, sampling)
    loss, most, columns = report.for_mean(whole), nearest(bound), space.domain.columns
    inside = drop_nan() >> clamp(0, bound) >> clip_to_norm(bound, p=1)
    summed = inside >> simplex_augment() >> sum()
    scale = loss.scale(loss.reach(summed.bind(space).output_space.unit))
    about = most / (columns + 1)
    errors = loss.shared_errors(scale, columns + 1, most)
    quotient = Quotient(0.0, most, about, errors)

    def vector(sums: Any) -> Floats:
        found = np.asarray(sums, dtype=np.float64)
        rows = max(float(found.sum()) / most, 1.0)
        entries: Floats = np.clip(found[:-1] / rows, 0.0, most)
        return entries * min(most / max(float(entries.sum()), most), 1.0)

    def readings(sums: Any) -> list[Reading]:
        rows = float(np.sum(sums)) / most
        return [Reading(quotient, float(entry) - about * rows, rows) for entry in sums[:-1]]

    made = report.of_columns(space, inside, summed >> loss.noise(), vector, readings, whole)
    formula = "the entries of a row and what is missing to the total share one noise"
    return attrs.evolve(whole.claimed(made), formula=formula)
