"""The share of ones in each of many columns, dense or sparse."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Final

import numpy as np

from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns.noisy_mean import RowCount, dyadic, each_column
from opendp_lite.estimators.parts.noisy_totals import Floats, moderate, require_public_size
from opendp_lite.measurements.noise import gaussian
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.bounding import clamp, clip_to_norm, scale
from opendp_lite.transformations.powers import norm
from opendp_lite.transformations.sums import sum

_LENGTH_SHARE: Final = Fraction(1, 100)
_FIRST_SHARE: Final = Fraction(15, 100)
_CLEAR: Final = 2.5
_REGULAR: Final = 0.05
_SHORTEST: Final = 0.5
Zcdp = ZeroConcentratedDivergence


@mechanism(
    does="The share of ones in each column, with a small l1 error where most entries are 0.",
    changes="Entries are clipped to 0 and 1.",
    proof=Proof(
        "An `adaptive` program. Rows have no negative entry, so a replaced row moves the sum "
        "by sqrt(2) times its length (erratum 1.3.7).",
        adding="the budget",
        replacing="the budget",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, section 7.1 and listing 1"],
    ),
    examples=lambda: [
        example(records(columns=2, size=20, metric=ChangeOneDistance()), rho=0.1, published=True)
    ],
)
def binary_mean(
    space: Space[Rows], *, rho: Number, published: bool = False
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The share of ones in each column, with a small l1 error where most entries are 0.

    Args:
        rho: The budget. 83 hundredths of it go to the last sum.
        published: Whether to use PLAN as published, where rows are replaced. If not, the improved
            algorithm, also where they are added or removed.

    Returns:
        A number from 0 to 1 for each column. Rows may be dense, or a scipy sparse matrix, which is
        never made dense. Entries are clipped to 0 and 1.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).random((100_000, 3)) < [0.5, 0.1, 0.01]
        >>> (dp.records(columns=3) >> dp.estimators.binary_mean(rho=0.03))(rows).round(1) + 0
        array([0.5, 0.1, 0. ])
    """
    whole = moderate(rho, "rho")
    if published:
        require_public_size(space, "binary_mean(published=True)", "leave published out")

    def program(ask: Ask[Zcdp]) -> Floats:
        found = _publish(ask, whole) if published else _improve(ask, whole)
        return np.nan_to_num(found).clip(0, 1)

    if published:
        spent = "of rho 4/16 is for the variances, 3/16 for the radius, 9/16 for the sum"
    else:
        spent = "of rho 1/100 is for each of two radii, 15/100 for a first sum, the rest for a last"
    return make_adaptive(space, program, Zcdp(), whole, spent)


def _publish(ask: Ask[Zcdp], rho: Fraction) -> Floats:
    columns, n = ask.space.domain.columns, require_public_size(ask.space, "binary_mean")
    rho_spread, rho_radius, rho_sum = rho / 4, rho * 3 / 16, rho * 9 / 16
    shares = each_column(ask(clamp(0, 1) >> sum() >> gaussian(rho=rho_spread))) / n
    variance = np.maximum(shares * (1 - shares), columns**-0.4)
    factors = variance ** (-1 / 3)
    rows = scale(dyadic(factors))
    quantile = max(1 - (sqrt(n) + 10 / sqrt(rho_radius)) / n, 0.5)
    longest = float(np.linalg.norm(factors))
    length = private_quantile(quantile, bounds=(0, longest), rho=rho_radius)
    radius = ask(rows >> norm() >> length)
    total = ask(rows >> clip_to_norm(radius) >> sum() >> gaussian(rho=rho_sum))
    found: Floats = each_column(total) / n / factors
    return found


def _improve(ask: Ask[Zcdp], rho: Fraction) -> Floats:
    columns = ask.space.domain.columns
    people = RowCount.of(ask, rho)
    ends = (_SHORTEST, 2 * sqrt(columns))
    radius = people.radius(clamp(0, 1), ends, _LENGTH_SHARE * rho)
    summed = clamp(0, 1) >> clip_to_norm(radius) >> sum()
    first, people = people.total(summed, _FIRST_SHARE * rho)
    shares = _smooth(first / people.rows, radius / people.rows / sqrt(float(_FIRST_SHARE * rho)))
    roots = np.cbrt(shares)
    factors = 1 / (roots + _REGULAR * roots.mean())
    rows = clamp(0, 1) >> scale(dyadic(factors))
    longest = float(np.linalg.norm(factors))
    ends = (_SHORTEST * float(factors.min()), 2 * longest)
    length = people.radius(rows, ends, _LENGTH_SHARE * rho)
    left = ask.left
    last, people = people.total(rows >> clip_to_norm(length) >> sum(), left)
    trust = float(left) * (factors / length) ** 2
    before = float(_FIRST_SHARE * rho) / radius**2
    both = (trust * (last / factors) + before * first) / (trust + before)
    return people.mean(both)


def _smooth(shares: Floats, deviation: float) -> Floats:
    """Shares that stand out of the noise, and one common share for all others."""
    clear = shares > _CLEAR * deviation
    rest = shares[~clear]
    common = max(float(rest.mean()) if len(rest) else 0.0, deviation / len(shares))
    return np.where(clear, shares, common)
