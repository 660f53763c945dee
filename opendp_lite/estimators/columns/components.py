"""What follows from a released covariance matrix: correlations, and principal components."""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.display.formatting import align, hold_in, html_grid, percent
from opendp_lite.estimators.parts import Floats
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record

_SHAPE: Final = "for columns of about normal shape"
# As far apart as the ends of an interval that says nothing are.
_UNSEEN: Final = 2.0
_TINY: Final = 1e-300
_FAINT: Final = 1e-6
_LOST: Final = 3.0
"""Rows that Fisher's interval takes off."""
# In deviations of its noise: a variance below it does not tell a correlation.
_SEEN: Final = 3.0
# And that of a direction, which is not known below it. Of angles that are shown, in simulations of
# four matrices and six noises, 84 % were within their bound with none, 92 with 3, and 93 with this.
_APART: Final = 4.0
_SHOWN: Final = 6
_UNKNOWN: Final = 45.0
"""In degrees: a direction that may be turned by so much or more is not known."""


@attrs.frozen(eq=False, repr=False)
class Correlation(Result):
    """Released correlations with intervals for the population. All of it is private.

    ``found["a", "b"]`` is one of them as a ``dp.Estimate``. ``np.asarray(found)`` is the matrix.

    Args:
        value: The matrix.
        standard_error: Of each entry, from noise and sampling, to the first order.
        interval: The least and the largest entries. Each pair holds that of the population in a
            share ``confidence`` of all releases, if the columns are of about normal shape.
        confidence: Such as 0.95.
        names: Of the columns.
        rows: About how many rows there are.
        several: Whether a person may have several rows, which intervals take for independent.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 5000)
        >>> table = {"a": rows[:, 0], "b": rows[:, 1]}
        >>> both = dp.select("a", "b") >> dp.covariance(-9, 9, epsilon=5, confidence=0.95)
        >>> found = both(table).correlation()
        >>> 0.7 < float(found["a", "b"]) < 0.9
        True
    """

    plotted_by: ClassVar = "estimate_intervals"

    value: Floats
    standard_error: Floats
    interval: tuple[Floats, Floats]
    confidence: float
    names: tuple[str, ...]
    rows: float
    several: bool = False

    @classmethod
    def of(
        cls,
        matrix: Floats,
        noise: Floats,
        rows: float,
        confidence: float,
        names: tuple[str, ...],
        *,
        several: bool = False,
    ) -> Correlation:
        """From a covariance matrix, and the standard errors that noise gives its entries.

        Proof:
            z = artanh(r) has a variance of 1 / (n - 3) for normal columns (Fisher 1921), and the
            noise adds its own. Where noise may hide a variance, any correlation fits.
        """
        # Of a variance far below its noise nothing is known, and nothing overflows.
        least = np.maximum(np.diagonal(noise) * _FAINT, _TINY)
        deviations = np.sqrt(np.maximum(np.diagonal(matrix), least))
        scale = np.outer(deviations, deviations)
        found = (matrix / scale).clip(-1, 1)
        relative = noise / scale
        halves = np.diagonal(relative) / 2
        added = relative**2 + found**2 * (halves[:, None] ** 2 + halves**2)
        seen = np.diagonal(relative) * _SEEN < 1
        known = seen[:, None] & seen & (rows > _LOST + 1)
        found = np.where(np.diagonal(matrix) > 0, found, 0.0)
        found = np.minimum(found, found.T)
        room = np.maximum(1 - found**2, 1e-12)
        deviation = np.sqrt(1 / max(rows - _LOST, 1.0) + added / room**2)
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
        score = np.arctanh(found.clip(-1 + 1e-12, 1 - 1e-12))
        low, high = np.tanh(score - reach), np.tanh(score + reach)
        error = np.where(known, np.minimum(room * deviation, 1.0), 1.0)
        low, high = np.where(known, low, -1.0), np.where(known, high, 1.0)
        for each, diagonal in ((found, 1.0), (error, 0.0), (low, 1.0), (high, 1.0)):
            np.fill_diagonal(each, diagonal)
        return cls(found, error, (low, high), confidence, names, rows, several)

    def __getitem__(self, pair: tuple[str, str]) -> Estimate:
        if not isinstance(pair, tuple) or not set(pair) <= set(self.names):
            raise ParameterError(
                f"a correlation is of two of the columns {', '.join(self.names)}: found['a', 'b']"
            )
        place = tuple(map(self.names.index, pair))
        low, high = float(self.interval[0][place]), float(self.interval[1][place])
        return Estimate(
            float(self.value[place]),
            float(self.standard_error[place]),
            (low, high),
            self.confidence,
            self.rows,
            sampling=True,
            too_few=high - low >= 1,
            several=self.several,
            hint=_SHAPE,
            unknown=high - low >= _UNSEEN,
        )

    @property
    def covers(self) -> str:
        return hold_in(self.confidence, sampling=True, several=self.several)

    def records(self) -> list[Record]:
        """A row for each pair of columns."""
        pairs = combinations(self.names, 2)
        return [{"a": a, "b": b, **row} for a, b in pairs for row in self[a, b].records()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.value, dtype=dtype)

    @property
    def _unsaid(self) -> str:
        said = f"{_SHAPE.capitalize()}."
        unknown = (self.interval[1] - self.interval[0] >= _UNSEEN).any()
        return f"{said} Of one that is not shown (-) nothing is known." if unknown else said

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@attrs.frozen(eq=False, repr=False)
class PrincipalComponents(Result):
    """The directions in which rows vary most, from a released covariance. All of it is private.

    Args:
        directions: A row of length 1 for each, the largest variance first.
        variances: Along each direction.
        shares: Of all the variance.
        turned: By about how many degrees the noise may have turned each direction: at most so many
            in a share ``confidence`` of all releases, to the first order; 90 where noise may hide
            its variance. From 45 on the direction is not known: it is not shown.
        confidence: Such as 0.95.
        names: Of the columns.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([0, 0], [1, 5], (5000, 2))
        >>> table = {"a": rows[:, 0], "b": rows[:, 1]}
        >>> both = dp.select("a", "b") >> dp.covariance(-20, 20, epsilon=5, confidence=0.95)
        >>> found = both(table).principal_components()
        >>> bool(abs(found.directions[0, 1]) > 0.9)
        True
    """

    directions: Floats
    variances: Floats
    shares: Floats
    turned: Floats
    confidence: float
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        matrix: Floats,
        noise: Floats,
        confidence: float,
        names: tuple[str, ...],
        *,
        scaled: bool = False,
    ) -> PrincipalComponents:
        """From a symmetric matrix, and the standard errors that noise gives its entries.

        Proof:
            To the first order the noise E turns v_k towards v_j by v_j' E v_k over the difference
            of their variances (Kato 1966). Its entries are independent. Where the noise v_k' E v_k
            may hide a variance, that order says too little. Scaled by a variance that noise may
            hide, no direction is known.
        """
        values, vectors = (each[..., ::-1] for each in np.linalg.eigh(matrix))
        # The largest part of each direction is above 0.
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.where(vectors[largest, range(len(values))] < 0, -1, 1)
        # The variance of v_j' E v_k, with each pair of equal entries of E counted once.
        parts, variances = vectors**2, noise**2
        products = vectors[:, :, None] * vectors[:, None, :]
        squares = parts.T @ variances @ parts
        squares += (products * np.tensordot(variances, products, 1)).sum(axis=0)
        squares -= np.einsum("aj,ak,a->jk", parts, parts, np.diagonal(variances))
        known = values > _APART * np.sqrt(np.diagonal(squares))
        if scaled:
            known &= bool((np.diagonal(noise) * _SEEN < 1).all())
        gaps = (values[:, None] - values) ** 2 + np.diag(np.full(len(values), np.inf))
        score = NormalDist().inv_cdf((1 + confidence) / 2)
        turn = score * np.sqrt((squares / np.maximum(gaps, _TINY)).sum(axis=1))
        turned = np.where(known, np.degrees(np.arctan(turn)), 90.0)
        kept = values.clip(min=0)
        shares = kept / max(float(kept.sum()), _TINY)
        return cls(vectors.T, kept, shares, turned, confidence, names)

    def _lines(self) -> tuple[list[str], list[list[str]]]:
        lines = []
        for place in range(min(len(self.shares), _SHOWN)):
            parts = [f"{each:.2f}" for each in self.directions[place] + 0.0]
            shown = [f"{self.shares[place]:.1%}", *parts, f"{self.turned[place]:.1f} degrees"]
            known = self.turned[place] < _UNKNOWN
            lines.append([f"{place + 1}", *(shown if known else ["not known"] * len(shown))])
        return ["", "share", *self.names, "turned by noise, at most"], lines

    def __repr__(self) -> str:
        titles, lines = self._lines()
        more = len(self.shares) - len(lines)
        shown = align([titles, *lines], set(range(1, len(titles) - 1)))
        return "\n".join([*shown, *([f"... and {more} more"] if more else []), self._note])

    def _repr_html_(self) -> str:
        return html_grid(self._note, *self._lines())

    def records(self) -> list[Record]:
        """A row for each direction; None and no parts where it is not known."""
        titles = ["share", *self.names, "turned"]
        rows = np.column_stack([self.shares, self.directions, self.turned]).tolist()
        known = [row[-1] < _UNKNOWN for row in rows]
        return [
            {
                "direction": place,
                "share": None,
                **(dict(zip(titles, row, strict=True)) if one else {}),
            }
            for place, (row, one) in enumerate(zip(rows, known, strict=True), 1)
        ]

    @property
    def _unsaid(self) -> str:
        unknown = (self.turned >= _UNKNOWN).any()
        return "A direction that is not shown (-) is not known." if unknown else ""

    @property
    def _note(self) -> str:
        return f"What the noise alone may turn, in {percent(self.confidence)} of releases."
