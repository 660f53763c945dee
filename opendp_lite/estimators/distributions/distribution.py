"""The distribution of numbers from noisy sums of a basis' functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.bases.basis import Basis
from opendp_lite.calls import calls_in
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.uncertain import Uncertain
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.exact import Number, described, exact, nearest, positive, whole
from opendp_lite.postprocessor import postprocessor, validator
from opendp_lite.shown_results import for_json, html_table
from opendp_lite.transformations.basis_features import basis_features
from opendp_lite.transformations.sum import sum

_SHOWN: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@attrs.frozen(eq=False)
class _Shares:
    """The weights of the sums in the rows of each cell, below each edge, and in all.

    Args:
        inside: Of shape (cells, terms).
        below: Of shape (cells + 1, terms).
        whole: Of shape (terms,).
        edges: Of the cells.
        middles: Of the cells.
    """

    inside: Floats
    below: Floats
    whole: Floats
    edges: Floats
    middles: Floats


@lru_cache(maxsize=8)
def _shares(basis: Basis) -> _Shares:
    inside = basis.points().at(np.arange(basis.cells)) / basis.cells
    below = np.concatenate([np.zeros((1, basis.terms)), np.cumsum(inside, axis=0)])
    return _Shares(inside, below, below[-1], basis.edges(), basis.middles())


def _numbers(given: Any, name: str) -> Floats:
    """A number or an array of numbers, in floats."""
    try:
        found = np.asarray(given)
        if found.dtype.kind not in "biufO":
            raise TypeError(found.dtype)
        numbers: Floats = found.astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must be a number or an array of numbers, got {described(given)}"
        ) from None
    if np.isnan(numbers).any():
        raise ParameterError(f"{name} must be numbers, got NaN")
    return numbers


def _sums(given: Any) -> Floats:
    return _numbers(given, "distribution: the sums")


@attrs.frozen(eq=False, repr=False)
class Distribution:
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
    """

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
    def count(self) -> Uncertain:
        """The number of rows."""
        if self.size is not None:
            return Uncertain(float(self.size), 0.0)
        error = self.deviation * float(np.linalg.norm(self._shares.whole))
        return Uncertain(float(self._shares.whole @ self.sums), error)

    def _cells_of(self, numbers: Floats) -> Any:
        return self.basis.points().places_of(numbers)

    def density(self, x: ArrayLike) -> Uncertain:
        """The density at x; a negative estimate counts as 0. Beyond the bounds it is 0."""
        numbers = _numbers(x, "density: x")
        edges, places = self._shares.edges, self._cells_of(numbers)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        widths = np.where(inside, np.diff(edges)[places], np.inf)
        found = self._linear(self._shares.inside[places] / widths[..., None])
        return _plain(np.maximum(found.value, 0.0), found.standard_error)

    def cdf(self, x: ArrayLike) -> Uncertain:
        """The share of rows up to x, from 0 to 1."""
        found = self._linear(self._below(_numbers(x, "cdf: x")))
        return _plain(np.clip(found.value, 0.0, 1.0), found.standard_error)

    def _below(self, numbers: Floats) -> Floats:
        edges, places = self._shares.edges, self._cells_of(numbers)
        part = ((numbers - edges[places]) / np.diff(edges)[places]).clip(0, 1)[..., None]
        below = self._shares.below
        return cast(Floats, below[places] * (1 - part) + below[places + 1] * part)

    @cached_property
    def _rising(self) -> Floats:
        """The share of rows below each edge, made to rise from 0 to 1."""
        shares = self._shares.below @ self._per_row
        rising: Floats = np.maximum.accumulate(np.clip(shares, 0, 1))
        return rising

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
        shares = _numbers(q, "quantile: q")
        if not ((shares >= 0) & (shares <= 1)).all():
            wrong = shares[(shares < 0) | (shares > 1)].flat[0]
            raise ParameterError(
                f"quantile: q is a share between 0 and 1, 0.5 for the median; got {wrong:g}"
            )
        found = self._where(shares)
        error = self._linear(self._below(found)).standard_error
        more, low = shares + error, self._where((shares - error).clip(0, 1))
        high = np.where(more < 1, self._where(more.clip(0, 1)), self._shares.edges[-1])
        return _plain(found, (high - low) / 2)

    def expectation(self, function: Callable[[Floats], Floats]) -> Uncertain:
        """The mean of a function of the numbers, which maps an array of them to another."""
        values = _numbers(
            function(self._shares.middles.copy()), "expectation: the function's values"
        )
        return self._mean_of(values, "expectation: the function")

    def _mean_of(self, values: Floats, name: str) -> Uncertain:
        cells = self.basis.cells
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
        found = self._linear(values @ self._shares.inside)
        return _plain(found.value, found.standard_error)

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
        named = {f"quantile {q:g}": self.quantile(q) for q in _SHOWN}
        return {"mean": self.mean(), "standard deviation": self.standard_deviation(), **named}

    def __repr__(self) -> str:
        mean = self.mean()
        return f"<Distribution of about {self._rows:.0f} rows, mean {mean}, by {self.basis!r}>"

    def _repr_html_(self) -> str:
        rows = {"rows, about": f"{self._rows:.0f}", "basis": repr(self.basis)}
        return html_table(rows | {name: str(found) for name, found in self._summary().items()})

    def as_dict(self) -> dict[str, Any]:
        """The release and a summary, for ``json.dumps``. A number that is not finite is None."""
        return {
            "basis": repr(self.basis),
            "sums": for_json(self.sums),
            "deviation": for_json(self.deviation),
            "size": self.size,
            "count": self.count.as_dict(),
            "mean": self.mean().as_dict(),
            "standard_deviation": self.standard_deviation().as_dict(),
            "quantiles": [{"q": q, **self.quantile(q).as_dict()} for q in _SHOWN],
        }


def _lengths(rows: Floats) -> Floats:
    """The l2 norms along the last axis, of numbers whose squares are beyond floats too."""
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    units = np.where(largest > 0, largest, 1.0)
    lengths: Floats = units[..., 0] * np.linalg.norm(rows / units, axis=-1)
    return lengths


def _plain(value: Any, error: Any) -> Uncertain:
    """Floats for one number, arrays for many."""
    if np.ndim(value):
        return Uncertain(value, error)
    return Uncertain(float(value), float(error))


def _suits(
    recipe: tuple[Any, ...], basis: Basis, deviation: Number, size: int | None = None
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
            f"distribution needs a basis such as dp.bases.Cosine(12, 0, 100), "
            f"got {described(basis)}"
        )
    declared = None if size is None else whole(size, "size", least=1)
    return nearest(positive(deviation, "deviation")), declared


@postprocessor
@validator(_suits)
def distribution(
    sums: Any, basis: Basis, deviation: Number, size: int | None = None
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

    Privacy:
        Costs nothing: it is post-processing.

    Proof:
        The functions are orthonormal. So the density, in their coordinate, is the sum of the
        functions, each times its mean over the rows.

    Example:
        >>> import opendp_lite as dp
        >>> basis = dp.bases.Hadamard(2, 0, 10)
        >>> found = dp.estimators.distribution(basis, deviation=1)([100.0, 50.0])
        >>> found.cdf(5).value, found.count
        (0.75, <100.0 +- 1.0>)
    """
    return Distribution(basis, sums, *_read(basis, deviation, size))
