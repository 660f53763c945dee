"""The mean as the middle and a noisy sum of what is left over a noisy count."""

from __future__ import annotations

from typing import Any

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.uncertainty_options import Report
from opendp_lite.estimators.one_column._sum_and_count import sum_over_count
from opendp_lite.exact import Number
from opendp_lite.spaces import Space


@mechanism
def centered_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    guess: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any]:
    """The mean of one column as the middle of the bounds and a mean of what differs from it.

    Takes: bounds; one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``share`` of the loss
        for the sum, by default the published one, at which the sum's variance is that of the
        count times the square of the width; or ``guess``, a public guess of the mean, which
        decides the best share. ``confidence`` and ``sampling`` as for ``mean``. The number of
        rows is private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix C.1. With half the width
        h and the mean at a distance D of the middle, the square of the error times n^2 is, for
        Gaussian noise, h^2 / 2 rho a + D^2 / 2 rho (1 - a) for the share a. At a = 1/2 that is
        the law of ``simplex_mean``; a = 3/4 has the least regret over all D, 4/3; the best is
        h / (h + D), which ``recentred_mean`` looks for.

    >>> import opendp_lite as dp
    >>> dp.centered_mean(0, 10, rho=0.5).map(1)
    0.5
    >>> round(dp.centered_mean(0, 10, rho=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "centered_mean")
    report = Report.of("centered_mean", confidence, sampling)
    losses = rho, epsilon, delta
    return sum_over_count(
        space, "centered_mean", column, column.middle, losses, share, guess, report
    )
