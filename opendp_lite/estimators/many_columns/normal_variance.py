"""The variance of columns that are about normal, from a quantile."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.combinators.on_random_pairs import on_random_pairs
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.parameters import Floats, moderate, require_public_size
from opendp_lite.estimators.many_columns._columns import coordinate_bound, dyadic, each_column
from opendp_lite.exact import Number, described, whole
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.absolute import absolute
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.sum import sum

Deviations = Literal["pairs", "direct", "binary", "magnitude", "none"]
_WAYS: Final = ("pairs", "direct", "binary", "magnitude", "none")
_NARROWEST: Final = 2.0**-40
_BITS: Final = 10
_ONE_SIGMA: Final = Fraction(841, 1000)
MEDIAN_OF_NORMAL: Final = NormalDist().inv_cdf(0.75)
"""The median of |Z| for a standard normal Z."""
Zcdp = ZeroConcentratedDivergence


@example(records(), 10, rho=1, by="pairs", group=2)
@mechanism
def normal_variance(
    space: Space[Rows],
    bound: Number,
    *,
    rho: Number,
    by: Deviations = "magnitude",
    group: int = 1,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The variance of each column, for columns of about normal shape: a scale for noise.

    It is read off a quantile. For an exponential column it gives half of the variance, and for one
    of 90 % zeros 0. ``variance`` is right for every shape.

    Args:
        bound: M. The entries lie in [-M, M].
        rho: The budget. "magnitude" and "direct" spend a quarter of it on the medians.
        by: "magnitude", a median of ``|x - median|`` on a logarithmic grid; "pairs", the median of
            half the squared differences of random pairs; "direct", the 0.841 quantile less the
            median; "binary", q (1 - q) for entries 0 and 1, where rows are replaced.
        group: With "pairs": how many of them are averaged.

    Returns:
        A number of at most M^2 for each column. It is right for normal columns; by "binary" for
        columns of zeros and ones, where it is at least 1 / (4 n); by "pairs" with a group of 8 or
        more also for many others. By "pairs" it is 1 where the public number of rows makes no
        group.

    Raises:
        ParameterError: If ``by`` is none of these.
        SpaceError: If ``by`` is "binary" and the number of rows is private.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, appendix D and section 7.1. The median of the mean of
        k pairs is brought to their mean by the chi-squared distribution of k degrees of freedom,
        and that of ``|x - median|`` by the normal one.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal(50, 3, 100_000)
        >>> round(dp.estimators.normal_variance(1e6, rho=0.03)(rows)[0])
        9
    """
    most, budget = coordinate_bound(bound), moderate(rho, "rho")
    check_way(by, group)
    if by == "none":
        raise ParameterError('normal_variance: by is "magnitude", "pairs", "direct" or "binary"')
    if by == "binary":
        require_public_size(space, 'normal_variance(by="binary")', 'use by="pairs"')

    def program(ask: Ask[Zcdp]) -> Floats:
        first = budget / 4 if by in ("direct", "magnitude") else Fraction(0)
        middle = np.zeros(space.domain.columns)
        if first:
            middle = each_column(ask(private_quantile(0.5, bounds=(-most, most), rho=first)))
        found: Floats = deviations(ask, by, middle, most, budget - first, group) ** 2
        return found.clip(max=most**2)

    return programmed(space, program, Zcdp(), budget, _spent(by))


def _spent(by: Deviations) -> str:
    if by in ("direct", "magnitude"):
        return "a quarter of rho is for the medians, the rest for the spread around them"
    return "all of rho is for one release"


def check_way(by: object, group: object) -> None:
    """Refuses ways and groups that ``deviations`` does not know."""
    if by not in _WAYS:
        ways = ", ".join(f'"{each}"' for each in _WAYS)
        raise ParameterError(f"variances are estimated by one of {ways}; got {described(by)}")
    whole(group, "group", least=1)


def deviations(
    ask: Ask[Any], by: Deviations, middle: Floats, bound: float, rho: Fraction, group: int
) -> Floats:
    """The standard deviation of each column, for a program that has their medians."""
    columns, size = ask.space.domain.columns, ask.space.domain.size
    if by == "none" or (by == "pairs" and size is not None and size < 2 * group):
        return np.ones(columns)
    if by == "pairs":
        half_square = private_quantile(0.5, bounds=(0, 2 * bound * bound), rho=rho)
        medians = each_column(ask(on_random_pairs(half_square, group)))
        return deviation_of_squares(medians, group)
    if by == "direct":
        upper = each_column(ask(private_quantile(_ONE_SIGMA, bounds=(-bound, bound), rho=rho)))
        return np.maximum(upper - middle, bound * _NARROWEST)
    if by == "magnitude":
        ends = (bound * _NARROWEST, 2 * bound)
        away = private_quantile(0.5, bounds=ends, scale="log", rho=rho, bits=_BITS)
        return each_column(ask(center(dyadic(middle)) >> absolute() >> away)) / MEDIAN_OF_NORMAL
    rows = require_public_size(ask.space, 'variances by="binary"')
    shares = each_column(ask(clamp(0, 1) >> sum() >> gaussian(rho=rho))) / rows
    inside: Floats = shares.clip(0, 1)
    return np.sqrt(np.maximum(inside * (1 - inside), 1 / (4 * rows)))


def deviation_of_squares(medians: Floats, group: int) -> Floats:
    """The deviation from the median of the mean of so many half squared differences."""
    found: Floats = np.sqrt(medians / median_of_mean_square(group))
    return found


def median_of_mean_square(freedom: int) -> float:
    """The median of a chi-squared variable over its mean, within 1e-3.

    For one degree of freedom the square of a normal quantile; else the expansion of Choi 1994,
    theorem 1, for the median of a gamma variable of shape a.
    """
    if freedom == 1:
        return MEDIAN_OF_NORMAL**2
    a = freedom / 2
    return 1 - 1 / (3 * a) + 8 / (405 * a**2) + 184 / (25515 * a**3)
