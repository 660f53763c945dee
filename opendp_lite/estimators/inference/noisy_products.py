"""A covariance matrix from noisy sums of rows and of their outer products, with intervals."""

from __future__ import annotations

from statistics import NormalDist

import attrs
import numpy as np

from opendp_lite.estimators.inference.parameters import Floats


@attrs.frozen(eq=False)
class NoisyProducts:
    """One release of the sums of rows and of their outer products, and of their number.

    Args:
        products: The upper triangle of the sum of ``x x^T``, off the diagonal times sqrt(2).
        totals: The sum of x.
        rows: The noisy or the public number.
        of_products: The deviation of the noise of each of the products, of equal size in all
            directions.
        of_totals: Of each of the totals.
        of_rows: Of the rows; 0 where they are public.
        radius: The largest length of x.
    """

    products: Floats
    totals: Floats
    rows: float
    of_products: float
    of_totals: float
    of_rows: float
    radius: float

    @property
    def matrix(self) -> Floats:
        """The estimate: symmetric, with eigenvalues from 0 to the square of the radius.

        What the noise adds to the squares of the means is subtracted.
        """
        means, counted = self._means, self._counted
        noise = np.eye(len(means)) * (self.of_totals / counted) ** 2
        found = self._sums / counted - np.outer(means, means) + noise
        values, vectors = np.linalg.eigh(found)
        inside: Floats = (vectors * values.clip(0, self.radius**2)) @ vectors.T
        return (inside + inside.T) / 2

    def standard_errors(self) -> Floats:
        """Of each entry, to the first order; at most the square of the radius."""
        means = self._means
        off = self.matrix - np.outer(means, means)
        noise = np.hypot(self._of_entries, off * self.of_rows) / self._counted
        found: Floats = np.minimum(noise, self.radius**2)
        return found

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """The least and the largest entries that fit the release.

        Proof:
            With the true means m and the true covariance c, the pivot
            products - rows c - m[i] totals[j] - m[j] totals[i] + rows m[i] m[j] is a known
            combination of the noises, whatever the number of rows (Fieller 1954). At the estimated
            means it is less by rows times the product of their errors. The expectation of that is
            added, and its deviation is added to that of the noise.
        """
        level = NormalDist().inv_cdf((1 + confidence) / 2)
        most = np.full_like(self._sums, self.radius**2)
        least = -most
        np.fill_diagonal(least, 0.0)
        if self.rows > level * self.of_rows:
            low, high = self._fitting(level)
            least, most = low.clip(least, most), high.clip(least, most)
        shown = self.matrix
        return np.minimum(least, shown), np.maximum(most, shown)

    def _fitting(self, level: float) -> tuple[Floats, Floats]:
        """The ends, where so many deviations of noise leave rows.

        With x for c - m[i] m[j] they solve (seen - rows x)^2 = off^2 + (of_rows x)^2, where both
        deviations are those of the level.
        """
        products = np.outer(self._means, self._means)
        twice = np.eye(len(products))
        doubt = self.of_totals**2 / self._counted
        seen = self._sums - 2 * self.rows * products + twice * doubt
        off = level**2 * (self._of_entries**2 + (1 + twice) * doubt**2)
        lost = (level * self.of_rows) ** 2
        left = self.rows**2 - lost
        room = np.sqrt(lost * seen**2 + left * off)
        return (
            (seen * self.rows - room) / left + products,
            (seen * self.rows + room) / left + products,
        )

    @property
    def _counted(self) -> float:
        return max(self.rows, 1.0)

    @property
    def _means(self) -> Floats:
        found: Floats = (self.totals / self._counted).clip(-self.radius, self.radius)
        return found

    @property
    def _sums(self) -> Floats:
        """The sum of the outer products as a matrix."""
        side = len(self.totals)
        above, below = np.triu_indices(side)
        found = np.zeros((side, side))
        found[above, below] = self.products / np.where(above == below, 1.0, np.sqrt(2.0))
        found[below, above] = found[above, below]
        return found

    @property
    def _of_entries(self) -> Floats:
        """The deviation of each entry of the sums less what the totals tell of it."""
        squares = self._means**2
        twice = np.eye(len(squares))
        means = (squares[:, None] + squares) * (1 + twice)
        found: Floats = np.sqrt(self.of_products**2 * (1 + twice) / 2 + means * self.of_totals**2)
        return found
