"""A released covariance matrix, with how far off its entries may be."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.shown_results import for_json, html_table, significant


@attrs.frozen(eq=False, repr=False)
class Covariance:
    """A released covariance matrix with the errors of its entries. All of it is private.

    Args:
        value: The estimate: symmetric, without negative eigenvalues.
        standard_error: Of each entry, from the noise alone and to the first order.
        interval: The least and the largest matrix entries: each pair holds that entry of the
            covariance of the clipped rows in a share ``confidence`` of all releases.
        confidence: Such as 0.95.
        names: Of the columns; None where they have none.
        rows: About how many rows there are.

    Example:
        >>> import numpy as np
        >>> eye = np.eye(2)
        >>> found = Covariance(4 * eye, 0.1 * eye + 0.1, (3 * eye, 5 * eye), 0.95, ("a", "b"), 90.0)
        >>> found
        <Covariance of a, b: 95 % intervals in .interval, from the noise alone
        [[4. 0.]
         [0. 4.]]>
        >>> found.correlation()
        array([[1., 0.],
               [0., 1.]])
    """

    value: Floats
    standard_error: Floats
    interval: tuple[Floats, Floats]
    confidence: float
    names: tuple[str, ...] | None
    rows: float

    def correlation(self) -> Floats:
        """The correlations: entries over both deviations. A column without a variance has 0."""
        deviations = np.sqrt(np.diagonal(self.value))
        scale = np.outer(deviations, deviations)
        known = scale > 0
        found: Floats = np.where(known, self.value / np.where(known, scale, 1.0), 0.0)
        np.fill_diagonal(found, 1.0)
        return found.clip(-1, 1)

    def __repr__(self) -> str:
        named = f" of {', '.join(self.names)}" if self.names else ""
        share = f"{100 * self.confidence:.12g} %"
        told = f"{share} intervals in .interval, from the noise alone"
        return f"<Covariance{named}: {told}\n{np.array2string(self.value, precision=4)}>"

    def _repr_html_(self) -> str:
        names = self.names or tuple(f"column {place}" for place in range(len(self.value)))
        shown = {}
        for i, j in zip(*np.triu_indices(len(names)), strict=True):
            ends = self.interval[0][i, j], self.interval[1][i, j]
            value, low, high = significant(self.standard_error[i, j], self.value[i, j], *ends)
            shown[f"{names[i]}, {names[j]}"] = f"{value} ({low} to {high})"
        return html_table(shown)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``. A number that is not finite is None."""
        return {
            "value": for_json(self.value),
            "standard_error": for_json(self.standard_error),
            "interval": [for_json(end) for end in self.interval],
            "confidence": for_json(self.confidence),
            "names": None if self.names is None else list(self.names),
            "rows": for_json(self.rows),
        }
