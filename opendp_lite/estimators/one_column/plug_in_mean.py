"""The mean as a noisy sum over a noisy count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.uncertainty_options import Report
from opendp_lite.estimators.one_column._sum_and_count import sum_over_count
from opendp_lite.exact import Number
from opendp_lite.spaces import Space


@mechanism
def plug_in_mean(
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
    """The mean of one column as a noisy sum over a noisy count: to compare, use ``mean``.

    Takes: bounds; one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``share`` of the loss
        for the sum, by default the published one, at which the sum's variance is that of the
        count times the square of the width; or ``guess``, a public guess of the mean, which
        decides the best share. ``confidence`` and ``sampling`` as for ``mean``. The number of
        rows is private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), section 3. The error is that of
        the sum, whose sensitivity is the larger of |lower| and |upper|, and the mean times that
        of the count: bounds far from 0 make both large. With n rows its square times n^2 is, for
        Gaussian noise, H^2 / 2 rho a + mean^2 / 2 rho (1 - a) for the share a.

    >>> import opendp_lite as dp
    >>> dp.plug_in_mean(0, 10, rho=0.5).map(1)
    0.5
    >>> round(dp.plug_in_mean(0, 10, rho=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "plug_in_mean")
    report = Report.of("plug_in_mean", confidence, sampling)
    losses = rho, epsilon, delta
    return sum_over_count(space, "plug_in_mean", column, Fraction(0), losses, share, guess, report)
