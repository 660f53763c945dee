"""A distribution from one release."""

from __future__ import annotations

from typing import Any, Protocol, cast, overload

from opendp_lite.bases.basis import Basis
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.distribution import distribution
from opendp_lite.exact import Number
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.basis_features import basis_features
from opendp_lite.transformations.sum import sum


@mechanism
def _basis_distribution(
    space: Space[Rows],
    basis: Basis,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measurement[Space[Rows], Any]:
    """How one column is distributed: density, quantiles and moments from one release.

    Takes: one column, under either row metric; ``basis``, what the density is made of, which also
        says the bounds; ``rho``, or ``epsilon`` with ``delta``, or ``epsilon`` alone.
    Gives: a ``Distribution``: ``density(x)``, ``cdf(x)``, ``quantile(q)``, ``mean()``,
        ``moment(order)`` and so on, each with a standard error through the noise, as often as you
        like.
    Costs: rho, or epsilon with delta, with Gaussian noise; epsilon alone with Laplace noise. The
        noise follows the exact l2 or l1 sensitivity of the basis.
    Because: Free Lunch, appendix D, with the sensitivities corrected: see ``basis_features``.

    >>> import opendp_lite as dp, numpy as np
    >>> ages = np.random.default_rng(0).normal(40, 12, 50_000)
    >>> release = dp.basis_distribution(dp.Chebyshev(16, 0, 100), rho=0.5)
    >>> found = release(ages)
    >>> round(found.mean().value), round(found.quantile(0.9).value), release.map(1)
    (40, 55, 0.5)
    """
    summed = basis_features(basis) >> sum()
    given = {"rho": rho, "epsilon": epsilon, "delta": delta}
    named = tuple(name for name, value in given.items() if value is not None)
    if named not in (("rho",), ("epsilon",), ("epsilon", "delta")):
        raise ParameterError(
            "basis_distribution takes rho=, or epsilon= with delta=, or epsilon= alone; "
            f"got {' and '.join(named) or 'none'}"
        )
    pure = named == ("epsilon",)
    loss: dict[str, Any] = {"epsilon": epsilon} if pure else {"rho": rho, "epsilon": epsilon}
    noise: Any = laplace(**loss) if pure else cast(Any, gaussian)(**loss, delta=delta)
    released = (summed >> noise).bind(space)
    (law,) = released.laws
    reading = distribution(basis, deviation=law.standard_deviation, size=space.domain.size)
    return cast(Measurement[Space[Rows], Any], released >> reading)


class _BasisDistribution(Protocol):
    @overload
    def __call__(
        self, basis: Basis, *, rho: Number
    ) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]: ...
    @overload
    def __call__(
        self, basis: Basis, *, epsilon: Number
    ) -> Mechanism[Space[Rows], MaxDivergence]: ...
    @overload
    def __call__(
        self, basis: Basis, *, epsilon: Number, delta: Number
    ) -> Mechanism[Space[Rows], ApproximateDivergence]: ...


basis_distribution: _BasisDistribution = cast(_BasisDistribution, _basis_distribution)
