"""The distribution of numbers from noisy sums: of public cells, or of the functions of a basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, ClassVar, Final, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.bases.basis import Basis, Cosine, Hermite
from opendp_lite.display.formatting import for_json, html_table, significant
from opendp_lite.display.pictures import Spot, band_picture
from opendp_lite.estimators.parts import Floats, Measured, Numbers, RowSpace
from opendp_lite.estimators.parts.budget import budget_of, costs_budget
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, exact, nearest, positive, quote, whole
from opendp_lite.pipeline.step_call import calls_in
from opendp_lite.pipeline.steps import mechanism, postprocessor, validator
from opendp_lite.releases.result import Result
from opendp_lite.spaces.space import example, records, sized_rows
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations import basis_features, sum

CellNumbers = NDArray[np.intp]


@attrs.frozen(eq=False)
class Reading:
    """The weights of the sums in the number of all rows and in totals over the cells.

    Args:
        edges: Of the cells, rising.
        middles: The numbers that the cells stand for.
        whole: The weights of the sums in the number of all rows.
        places_of: The place of the edge below each number.
        total: The weights in the total of values of shape (..., cells), of shape (..., terms).
        rising: The shares up to each edge from sums per row, made to rise from 0 to 1.
    """

    edges: Floats
    middles: Floats
    whole: Floats
    places_of: Callable[[Floats], CellNumbers]
    total: Callable[[Floats], Floats]
    rising: Callable[[Floats], Floats]

    @property
    def cells(self) -> int:
        """How many cells."""
        return len(self.middles)


@attrs.frozen(eq=False, repr=False)
class Uncertain(Result):
    """A number, or an array of numbers, with the standard error that the noise makes in it.

    Args:
        value: A float, or an array of any shape.
        standard_error: As ``value``.

    Example:
        >>> Uncertain(38.2517, 0.0312)
        <38.252 +- 0.031 of noise>
        >>> float(Uncertain(38.2517, 0.0312)), f"{Uncertain(38.2517, 0.0312):.1f}"
        (38.2517, '38.3')
        >>> Uncertain(np.array([0.5, 0.25]), np.array([0.1, np.inf])).as_dict()
        {'value': [0.5, 0.25], 'standard_error': [0.1, None]}
    """

    value: Any
    standard_error: Any

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        value, error = self.value, self.standard_error
        if np.ndim(value) == 0:
            value, error = significant(float(error), float(value), float(error))
        return f"{value} +- {error} of noise"

    def __repr__(self) -> str:
        if np.ndim(self.value) == 0:
            return f"<{self}>"
        shape = " by ".join(map(str, np.shape(self.value)))
        return f"<{shape} numbers with standard errors: value, standard_error>"

    def _repr_html_(self) -> str:
        if np.ndim(self.value) == 0:
            return html_table({"value": str(self)})
        pairs = zip(np.ravel(self.value), np.ravel(self.standard_error), strict=True)
        return html_table({str(at): str(Uncertain(*pair)) for at, pair in enumerate(pairs)})


SHOWN: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
_DRAWN: Final = 200


def numbers_of(given: object, name: str) -> Floats:
    """A number or an array of numbers, in floats."""
    numbers: Floats | None = None
    with suppress(TypeError, ValueError, OverflowError):
        found = np.asarray(given)
        numbers = found.astype(np.float64) if found.dtype.kind in "biufO" else None
    if numbers is None:  # Outside of the error of numpy, which may quote a cell.
        raise ParameterError(f"{name} must be a number or an array of numbers, got {quote(given)}")
    if np.isnan(numbers).any():
        raise ParameterError(f"{name} must be numbers, got NaN")
    return numbers


def shares_of(given: object, name: str) -> Floats:
    """A share or an array of shares."""
    shares = numbers_of(given, f"{name}: q")
    if not ((shares >= 0) & (shares <= 1)).all():
        wrong = shares[(shares < 0) | (shares > 1)].flat[0]
        raise ParameterError(
            f"{name}: q is a share between 0 and 1, 0.5 for the median; got {wrong:g}"
        )
    return shares


class Answers(Result, ABC):
    """Answers about numbers in public cells, from noisy sums.

    Args:
        sums: Linear in the counts of the cells, with independent noise of one size.
        deviation: The standard deviation of that noise.
        size: The number of rows where that is public. If None it is estimated.
    """

    sums: Floats
    deviation: float
    size: int | None

    @property
    @abstractmethod
    def _shares(self) -> Reading:
        """How the sums are read."""

    @property
    @abstractmethod
    def _origin(self) -> Mapping[str, object]:
        """What it is made of, by name, for a table."""

    @property
    @abstractmethod
    def _means(self) -> str:
        """By what it was made, for the repr."""

    @cached_property
    def _rows(self) -> float:
        counted = float(self._shares.whole @ self.sums) if self.size is None else float(self.size)
        return max(counted, 1.0)

    @cached_property
    def _per_row(self) -> Floats:
        """The sums divided by the number of rows; brought to a public number where there is one.

        Proof:
            Of all changes of the sums that give the public number this is the shortest, and for
            independent noise of one size the best.
        """
        sums, one = self.sums, self._shares.whole
        if self.size is not None:
            sums = sums + one * ((self.size - one @ sums) / (one @ one))
        return sums / self._rows

    def _linear(self, weights: Floats) -> Uncertain:
        """The estimates of weights @ sums / rows, for weights of shape (..., terms).

        The first order of the ratio: an error e of the sums moves it by (w - value one) @ e /
        rows; where the number of rows is public the part of e along ``one`` does not matter.
        """
        one, value = self._shares.whole, weights @ self._per_row
        along = value if self.size is None else weights @ one / (one @ one)
        rest = weights - np.multiply.outer(along, one)
        return Uncertain(value, _lengths(rest) * (self.deviation / self._rows))

    @property
    def edges(self) -> Floats:
        """The edges of the cells, from the lower bound to the upper one."""
        return self._shares.edges.copy()

    @property
    def count(self) -> Uncertain:
        """The number of rows."""
        if self.size is not None:
            return Uncertain(float(self.size), 0.0)
        error = self.deviation * float(np.linalg.norm(self._shares.whole))
        return Uncertain(float(self._shares.whole @ self.sums), error)

    @abstractmethod
    def _in_cells(self, places: CellNumbers) -> Uncertain:
        """The shares of rows in these cells."""

    @abstractmethod
    def _up_to(self, numbers: Floats) -> Uncertain:
        """The shares of rows up to these numbers."""

    def density(self, x: ArrayLike) -> Uncertain:
        """The density at x; a negative estimate counts as 0. Beyond the bounds it is 0."""
        numbers = numbers_of(x, "density: x")
        edges, places = self._shares.edges, self._shares.places_of(numbers)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        widths = np.where(inside, np.diff(edges)[places], np.inf)
        found = self._in_cells(places)
        return plain(np.maximum(found.value, 0.0) / widths, found.standard_error / widths)

    def cdf(self, x: ArrayLike) -> Uncertain:
        """The share of rows up to x, from 0 to 1."""
        found = self._up_to(numbers_of(x, "cdf: x"))
        return plain(np.clip(found.value, 0.0, 1.0), found.standard_error)

    @cached_property
    def _rising(self) -> Floats:
        """The share of rows below each edge, made to rise from 0 to 1."""
        return self._shares.rising(self._per_row)

    def _where(self, shares: Floats) -> Floats:
        """The least number up to which there is such a share of rows."""
        edges, rising = self._shares.edges, self._rising
        after = np.searchsorted(rising, shares).clip(1, len(rising) - 1)
        low, high = rising[after - 1], rising[after]
        part = ((shares - low) / np.where(high > low, high - low, 1.0)).clip(0, 1)
        return cast(Floats, edges[after - 1] * (1 - part) + edges[after] * part)

    def quantile(self, q: ArrayLike) -> Uncertain:
        """The number up to which there is a share q of the rows.

        The standard error is half the distance between the quantiles that lie a standard error of
        the share lower and higher. A share of 0 or 1 is a bound. Where q is within some standard
        errors of 0 or 1, the release says little.
        """
        shares = shares_of(q, "quantile")
        found = self._where(shares)
        error = self._up_to(found).standard_error
        more, low = shares + error, self._where((shares - error).clip(0, 1))
        high = np.where(more < 1, self._where(more.clip(0, 1)), self._shares.edges[-1])
        return plain(found, (high - low) / 2)

    def median(self) -> Uncertain:
        """The number up to which there is half of the rows."""
        return self.quantile(0.5)

    def expectation(self, function: Callable[[Floats], Floats]) -> Uncertain:
        """The mean of a function of the numbers, which maps an array of them to another."""
        if not callable(function):
            raise ParameterError(
                "expectation takes a function of an array of numbers, such as numpy.log1p; got "
                f"{quote(function)}"
            )
        values = numbers_of(
            function(self._shares.middles.copy()), "expectation: the function's values"
        )
        return self._mean_of(values, "expectation: the function")

    def _mean_of(self, values: Floats, name: str) -> Uncertain:
        cells = self._shares.cells
        if values.shape[-1:] != (cells,):
            raise ParameterError(
                f"{name} must give one number for each of the {cells} in the array that it gets, "
                f"got shape {values.shape}; np.where and np.full_like make such arrays"
            )
        if not np.isfinite(values).all():
            wrong = self._shares.middles[~np.isfinite(values).reshape(-1, cells).all(axis=0)][0]
            raise ParameterError(
                f"{name} must be finite between the bounds; it is not at {wrong:g}"
            )
        found = self._linear(self._shares.total(values))
        return plain(found.value, found.standard_error)

    def moment(self, order: int, about: Number = 0) -> Uncertain:
        """The mean of (x - about)^order."""
        power, middle = whole(order, "order", least=1), nearest(exact(about, "about"))
        with np.errstate(over="ignore"):
            powers = (self._shares.middles - middle) ** power
        return self._mean_of(powers, f"moment: the power of order {power}")

    def mean(self) -> Uncertain:
        """The mean, within the cells."""
        found, edges = self.moment(1), self._shares.edges
        return attrs.evolve(found, value=float(np.clip(found.value, edges[0], edges[-1])))

    def standard_deviation(self) -> Uncertain:
        """The standard deviation of the numbers; 0 where their variance seems to be negative.

        Where the variance is not above two standard errors of it, the root of one of them is
        that of the deviation: there the tangent of the root, which is taken elsewhere, is too flat.
        """
        variance = self.moment(2, about=self.mean().value)
        found = sqrt(max(variance.value, 0.0))
        error = variance.standard_error
        return Uncertain(found, error / (2 * found) if found**2 > 2 * error else sqrt(error))

    def _summary(self) -> dict[str, Uncertain]:
        """The numbers that a person looks at first."""
        named = {f"quantile {q:g}": self.quantile(q) for q in SHOWN}
        return {"mean": self.mean(), "standard deviation": self.standard_deviation(), **named}

    def __repr__(self) -> str:
        mean = self.mean()
        return f"<{type(self).__name__} of about {self._rows:.0f} rows, mean {mean}, {self._means}>"

    def _repr_html_(self) -> str:
        shown = {"rows, about": f"{self._rows:.0f}", **self._origin, **self._summary()}
        table = html_table({name: str(found) for name, found in shown.items()})
        return f"<div>{self._drawn()}{table}</div>"

    def _drawn(self) -> str:
        """The share of rows up to each of some edges, a standard error to either side."""
        edges = self._shares.edges
        some = edges[np.unique(np.linspace(0, len(edges) - 1, _DRAWN).astype(np.int64))].tolist()
        found = self.cdf(some)
        low, high = found.value - found.standard_error, found.value + found.standard_error
        spots = map(Spot, found.value.tolist(), low.clip(0, 1).tolist(), high.clip(0, 1).tolist())
        return band_picture(
            some,
            list(spots),
            (f"{some[0]:g}", f"{some[-1]:g}"),
            "The share of rows up to each number",
            f"The median is {self.median()}. The band is a standard error of the noise wide to "
            "either side.",
        )

    def as_dict(self) -> dict[str, Any]:
        """The release and a summary, for ``json.dumps``. A number that is not finite is None."""
        return {
            **self._origin,
            "sums": for_json(self.sums),
            "deviation": for_json(self.deviation),
            "size": self.size,
            "count": self.count.as_dict(),
            "mean": self.mean().as_dict(),
            "standard_deviation": self.standard_deviation().as_dict(),
            "quantiles": [{"q": q, **Answers.quantile(self, q).as_dict()} for q in SHOWN],
        }


def _lengths(rows: Floats) -> Floats:
    """The l2 norms along the last axis, of numbers whose squares are beyond floats too."""
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    units = np.where(largest > 0, largest, 1.0)
    found: Floats = units[..., 0] * np.linalg.norm(rows / units, axis=-1)
    return found


def plain(value: Numbers, error: Numbers) -> Uncertain:
    """Floats for one number, arrays for many."""
    if np.ndim(value):
        return Uncertain(value, error)
    return Uncertain(float(value), float(error))


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

    plotted_by: ClassVar = "density_curve"

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
        (0.75, <100.0 +- 1.0 of noise>)
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
        example(sized_rows(), Hermite(4, middle=1, scale=0.5), epsilon=1, delta=1e-6),
    ],
)
def basis_distribution(
    space: RowSpace,
    basis: Basis,
    budget: AnyBudget | None = None,
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
