"""The distribution of numbers from noisy sums of a basis' functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError
from opendp_lite.bases.basis import Basis, Cosine, Hermite
from opendp_lite.estimators.distributions.answers import (
    Answers,
    CellNumbers,
    Reading,
    Uncertain,
    numbers_of,
)
from opendp_lite.estimators.parts.budget import Measured, RowSpace, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import Floats
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, nearest, positive, quote, whole
from opendp_lite.pipeline.step_call import calls_in
from opendp_lite.pipeline.steps import mechanism, postprocessor, validator
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.features import basis_features
from opendp_lite.transformations.sums import sum


@attrs.frozen(eq=False)
class _Shares(Reading):
    """The weights of a basis, as tables.

    Args:
        in_cells: Of shape (cells, terms).
        below_edges: Of shape (cells + 1, terms).
    """

    in_cells: Floats
    below_edges: Floats


@lru_cache(maxsize=8)
def _shares(basis: Basis) -> _Shares:
    inside = basis.points().at(np.arange(basis.cells)) / basis.cells / basis.weights() ** 2
    below = np.concatenate([np.zeros((1, basis.terms)), np.cumsum(inside, axis=0)])
    return _Shares(
        basis.edges(),
        basis.middles(),
        below[-1],
        basis.points().places_of,
        lambda values: values @ inside,
        lambda sums: np.maximum.accumulate(np.clip(below @ sums, 0, 1)),
        inside,
        below,
    )


def _sums(given: object) -> Floats:
    return numbers_of(given, "distribution: the sums")


@attrs.frozen(eq=False, repr=False)
class Distribution(Answers):
    """How numbers are distributed, from noisy sums of a basis' functions.

    ``count``, ``density(x)``, ``cdf(x)``, ``quantile(q)``, ``mean()``, ``standard_deviation()``,
    ``moment(order)`` and ``expectation(function)`` are each an ``Uncertain`` with the standard
    error that the noise makes. The standard errors leave out detail that the basis cannot show:
    finer than its last function, within a cell, or beyond its bounds. To see how much there is,
    take more functions and compare.

    Args:
        basis: The functions.
        sums: One for each function.
        deviation: The standard deviation of their noise.
        size: The number of rows where that is public. If None it is estimated as the integral.

    Example:
        >>> import opendp_lite as dp
        >>> basis = dp.bases.Hadamard(4, 0, 100)
        >>> found = dp.estimators.basis_distribution(basis, epsilon=1)([20] * 3000 + [60] * 1000)
        >>> 0.7 < found.cdf(50).value < 0.8
        True
    """

    picture: ClassVar = "type dp.plotting.density_curve(release)"

    basis: Basis
    sums: Floats = attrs.field(converter=_sums)
    deviation: float
    size: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.sums.shape != (self.basis.terms,):
            raise ParameterError(
                f"{self.basis!r} needs {self.basis.terms} sums, got shape {self.sums.shape}"
            )

    @property
    def _shares(self) -> _Shares:
        return _shares(self.basis)

    def _in_cells(self, places: CellNumbers) -> Uncertain:
        return self._linear(self._shares.in_cells[places])

    def _up_to(self, numbers: Floats) -> Uncertain:
        edges, places = self._shares.edges, self._shares.places_of(numbers)
        part = ((numbers - edges[places]) / np.diff(edges)[places]).clip(0, 1)[..., None]
        below = self._shares.below_edges
        return self._linear(below[places] * (1 - part) + below[places + 1] * part)

    @property
    def _origin(self) -> Mapping[str, object]:
        return {"basis": repr(self.basis)}

    @property
    def _means(self) -> str:
        return f"by {self.basis!r}"


def _suits(
    recipe: tuple[object, ...], basis: Basis, deviation: Number, size: int | None = None
) -> str | None:
    _read(basis, deviation, size)
    calls = calls_in(recipe)
    before = [
        earlier for earlier, call in zip([None, *calls], calls, strict=False) if call.is_of(sum)
    ]
    if all(
        call and call.is_of(basis_features) and ("basis", basis) in call.arguments
        for call in before
    ):
        return None
    return (
        "distribution needs the sums of the basis, with nothing between; "
        f"put basis_features({basis!r}) >> sum()"
    )


def _read(basis: Basis, deviation: Number, size: int | None) -> tuple[float, int | None]:
    """The deviation and the size, refused where they, or the basis, are none."""
    if not isinstance(basis, Basis):
        raise ParameterError(
            f"distribution needs a basis such as dp.bases.Cosine(12, 0, 100), got {quote(basis)}"
        )
    declared = None if size is None else whole(size, "size", least=1)
    return nearest(positive(deviation, "deviation")), declared


@postprocessor(
    does="Reads noisy sums of the functions of a basis as a distribution.",
    proof=Proof("Post-processing.", adding="nothing", replacing="nothing"),
)
@validator(_suits)
def distribution(
    sums: ArrayLike, basis: Basis, deviation: Number, size: int | None = None
) -> Distribution:
    """Reads noisy sums of a basis' functions as a distribution.

    ``basis_distribution`` makes the release as well, and knows the deviation.

    Args:
        sums: A release of ``basis_features(basis) >> sum()`` with noise.
        basis: The same basis.
        deviation: The standard deviation of the noise.
        size: The number of rows, where that is public.

    Returns:
        A ``Distribution``.

    Example:
        >>> import opendp_lite as dp
        >>> basis = dp.bases.Hadamard(2, 0, 10)
        >>> found = dp.estimators.distribution(basis, deviation=1)([100.0, 50.0])
        >>> found.cdf(5).value, found.count
        (0.75, <100.0 +- 1.0>)
    """
    return Distribution(basis, sums, *_read(basis, deviation, size))


@mechanism(
    does="How one column is distributed: density, quantiles and moments from one release.",
    changes=(
        "A number beyond the bounds of the basis counts as the bound. A missing number is left "
        "out; where the number of rows is public, it counts as the middle cell."
    ),
    proof=costs_budget(
        "`basis_features`, `sum`, noise for the exact norms of the basis (errata 1.1.1 and 1.1.2).",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix D"],
    ),
    examples=lambda: [
        example(records(), Cosine(5, 0, 10), rho=0.1),
        example(
            records(size=20, metric=ChangeOneDistance()),
            Hermite(4, middle=1, scale=0.5),
            epsilon=1,
            delta=1e-6,
        ),
    ],
)
def basis_distribution(
    space: RowSpace,
    basis: Basis,
    budget: PrivacyBudget[Any] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measured[Distribution]:
    """How one column is distributed: density, quantiles and moments from one release.

    Args:
        basis: What the density is made of, ``Chebyshev(16, 0, 100)`` say. It also says the bounds.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, with Gaussian noise.
        epsilon: The budget of pure privacy, with Laplace noise; with ``delta`` of approximate
            privacy, with Gaussian noise.
        delta: With ``epsilon``.

    Returns:
        A ``Distribution``: ``density(x)``, ``cdf(x)``, ``quantile(q)``, ``mean()``,
        ``moment(order)`` and so on, each with a standard error, as often as you like.

    Raises:
        ParameterError: If the budget is missing, or two are given.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(40, 12, 50_000)
        >>> release = dp.estimators.basis_distribution(dp.bases.Chebyshev(16, 0, 100), epsilon=1)
        >>> found = release(ages)
        >>> round(found.mean().value), round(found.quantile(0.9).value), release.map(1)
        (40, 55, 1.0)
    """
    whole = budget_of("basis_distribution", rho, epsilon, delta)
    summed, size = basis_features(basis) >> sum(), space.domain.size
    released = whole.with_claimed_loss((summed >> whole.noise()).bind(space))
    (law,) = released.facts.laws
    return released >> distribution(basis, deviation=law.standard_deviation, size=size)
