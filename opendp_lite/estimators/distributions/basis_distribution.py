"""A distribution from one release."""

from __future__ import annotations

from typing import Any, cast, overload

from opendp_lite.bases.basis import Basis
from opendp_lite.bases.cosine import Cosine
from opendp_lite.bases.hermite import Hermite
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.distributions.distribution import Distribution, distribution
from opendp_lite.estimators.inference.budget import budget_of
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.basis_features import basis_features
from opendp_lite.transformations.sum import sum


@overload
def basis_distribution(
    basis: Basis, *, rho: Number
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Distribution]: ...
@overload
def basis_distribution(
    basis: Basis, *, epsilon: Number
) -> Mechanism[Space[Rows], MaxDivergence, Distribution]: ...
@overload
def basis_distribution(
    basis: Basis, *, epsilon: Number, delta: Number
) -> Mechanism[Space[Rows], ApproximateDivergence, Distribution]: ...
@example(records(), Cosine(5, 0, 10), rho=0.1)
@example(
    records(size=20, metric=ChangeOneDistance()),
    Hermite(4, middle=1, scale=0.5),
    epsilon=1,
    delta=1e-6,
)
@mechanism
def basis_distribution(
    space: Space[Rows],
    basis: Basis,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measurement[Space[Rows], Any, Distribution]:
    """How one column is distributed: density, quantiles and moments from one release.

    Args:
        basis: What the density is made of, ``Chebyshev(16, 0, 100)`` say. It also says the bounds.
        rho: The budget of zero-concentrated privacy, with Gaussian noise.
        epsilon: The budget of pure privacy, with Laplace noise; with ``delta`` of approximate
            privacy, with Gaussian noise.
        delta: With ``epsilon``.

    Returns:
        A ``Distribution``: ``density(x)``, ``cdf(x)``, ``quantile(q)``, ``mean()``,
        ``moment(order)`` and so on, each with a standard error, as often as you like.

    Raises:
        ParameterError: If the budget is missing, or two are given.

    Privacy:
        The budget that was given, in its measure, under either row metric.

    Proof:
        Free Lunch, appendix D, with the l1 and l2 sensitivities corrected: see ``basis_features``.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(40, 12, 50_000)
        >>> release = dp.estimators.basis_distribution(dp.bases.Chebyshev(16, 0, 100), epsilon=1)
        >>> found = release(ages)
        >>> round(found.mean().value), round(found.quantile(0.9).value), release.map(1)
        (40, 55, 1.0)
    """
    budget = budget_of("basis_distribution", rho, epsilon, delta)
    summed, size = basis_features(basis) >> sum(), space.domain.size
    released = budget.with_claimed_loss((summed >> budget.noise()).bind(space))
    (law,) = released.facts.laws
    reading = distribution(basis, deviation=law.standard_deviation, size=size)
    return cast(Measurement[Space[Rows], Any], released >> reading)
