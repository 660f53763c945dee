"""A number read from a release, with how far the noise may have moved it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.shown_results import for_json, html_table, significant


@attrs.frozen(eq=False, repr=False)
class Uncertain:
    """A number, or an array of numbers, with the standard error that the noise makes in it.

    Args:
        value: A float, or an array of any shape.
        standard_error: As ``value``.

    Example:
        >>> Uncertain(38.2517, 0.0312)
        <38.252 +- 0.031>
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
        return f"{value} +- {error}"

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

    def as_dict(self) -> dict[str, Any]:
        """Both by name, as floats or lists, for ``json.dumps``. What is not finite is None."""
        return {"value": for_json(self.value), "standard_error": for_json(self.standard_error)}
