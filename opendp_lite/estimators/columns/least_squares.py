"""Least squares from noisy sums of products: the fit, and how far off it is."""

from __future__ import annotations

from functools import cached_property
from math import inf, sqrt
from typing import Final

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.bodies.simplex import as_matrix
from opendp_lite.estimators.parts import Floats
from opendp_lite.estimators.parts.noisy_totals import FEW, stand_out

# The noise matrix has a norm of about 2 sqrt(p) deviations of an entry off its diagonal; of one or
# two entries it may have as much as 2.8 and more.
_NORM, _LEAST_NORM = 2.0, 2.8
# Of that norm: below it a release is weak. A stricter test would make intervals hold less often:
# those that pass it by luck have a noise that shrinks slopes. At 1.6 norms 85 % hold, not 94.
_WEAK: Final = 0.7


@attrs.frozen(eq=False)
class NoisyGram:
    """A noisy sum of z z^T, where z is (1, the columns) times a weight.

    Args:
        matrix: The sum, symmetric.
        off: The deviation of the noise of an entry off the diagonal; on it, sqrt(2) times as much.
    """

    matrix: Floats
    off: float

    @classmethod
    def of(cls, products: ArrayLike, deviation: float) -> NoisyGram:
        """From the sum of ``outer_products``, with noise of this deviation in all directions."""
        return cls(as_matrix(products), deviation / sqrt(2))

    @property
    def norm(self) -> float:
        """About the largest eigenvalue of the noise."""
        return norm_of_noise(self.off * sqrt(2), len(self.matrix))

    @property
    def noise(self) -> float:
        """About the root of the sum of all squares of the noise, whose variance is twice as large
        on the diagonal."""
        side = len(self.matrix)
        return self.off * sqrt(side * (side + 1))

    @property
    def rows(self) -> float:
        """The noisy sum of the squared weights: the number of rows but for those far out."""
        return float(self.matrix[0, 0])

    @cached_property
    def eigen(self) -> tuple[Floats, Floats]:
        """Its eigenvalues, from the least, and their vectors."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    @property
    def weak(self) -> bool:
        """Whether the noise may hide that columns are alike, or that there are hardly any rows."""
        return bool(self.eigen[0][0] < _WEAK * self.norm or self.freedom < 1)

    @property
    def freedom(self) -> float:
        """The rows less the coefficients."""
        return self.rows - len(self.matrix)

    @property
    def kept(self) -> Floats:
        """The eigenvalues, raised to where the noise would hide them."""
        return np.maximum(self.eigen[0], self.norm / 2)

    def columns(self, values: Floats) -> Floats:
        """The matrix with these in the place of its eigenvalues."""
        vectors = self.eigen[1]
        return (vectors * values) @ vectors.T

    def fit(self, products: Floats, off: float) -> Fit:
        """The coefficients.

        Args:
            products: The noisy sum of z times y.
            off: The deviation of its noise.

        Proof:
            With noise E of entries of variance t^2, the solution of (A + E) b = a is off by
            t^2 A^-1 (A^-1 + tr(A^-1)) b on average, to the second order: noise on moments enlarges
            slopes, where noise on values would shrink them. A ridge of that size takes it off.
        """
        inverse = 1 / self.kept
        ridge = self.off**2 * (inverse + inverse.sum())
        bread = self.columns(1 / (self.kept + ridge))
        growth = 1 + 3 * self.off**2 * float(inverse @ inverse)
        value = bread @ products
        ridged = self.columns(ridge * inverse) @ value
        return Fit(value, bread, growth, ridged, self, off)


def norm_of_noise(deviation: float, side: int) -> float:
    """About the largest eigenvalue of a symmetric matrix of noise of so many columns.

    Entries off the diagonal have the deviation over sqrt(2).
    """
    return deviation / sqrt(2) * max(_NORM * sqrt(side), _LEAST_NORM)


@attrs.frozen(eq=False)
class Fit:
    """Coefficients, the matrix that gave them, and how noise in that matrix adds to their errors.

    Args:
        value: The coefficients, the first of which is the constant.
        bread: The inverse of the columns' part.
        growth: Of the variances, to the second order of the noise.
        ridged: What the ridge took off the coefficients, to the first order.
        gram: What the columns' part is.
        off: The deviation of the noise of the products with y.
    """

    value: Floats
    bread: Floats
    growth: float
    ridged: Floats
    gram: NoisyGram
    off: float

    def noise(self) -> Floats:
        """The covariance of what the noise adds to the coefficients.

        Proof:
            They are off by A^-1 (e - E b), with a covariance of s^2 + t^2 (b^2 + b b^T) between.
            The ridge is of the second order: what it takes off may be too much by as much.
        """
        size = self.off**2 + self.gram.off**2 * float(self.value @ self.value)
        inner = size * np.eye(len(self.value))
        inner += self.gram.off**2 * np.outer(self.value, self.value)
        found: Floats = self.bread @ inner @ self.bread * self.growth
        return found + np.outer(self.ridged, self.ridged)

    def sampling(self, variance: float, filling: NoisyGram | None) -> Floats:
        """That of what another sample of rows would change.

        Args:
            variance: Of the residuals.
            filling: The sum of squares of columns times residuals, where it was released: the
                filling of a sandwich (White 1980). Without it residuals are taken to spread alike.
        """
        gram = self.gram
        even = variance * gram.columns(gram.kept)
        if filling is not None:
            even = even + stand_out(filling.matrix - even, filling.noise**2)
        values, vectors = np.linalg.eigh(even)
        inner = (vectors * values.clip(min=0)) @ vectors.T
        left = max(gram.freedom, 1.0)
        few = (1 + FEW / left) * max(gram.rows, 1.0) / left
        found: Floats = self.bread @ inner @ self.bread * (self.growth * few)
        return found

    def hidden(self, variance: float, filling: NoisyGram | None) -> float:
        """How unevenly residuals may spread where ``sampling`` sees none of it, over their
        variance."""
        if filling is None:
            return inf
        return filling.noise / (variance * max(self.gram.rows, 1.0))
