"""A release of one column as a mean reads it: a total and a number of rows, with their noise."""

from __future__ import annotations

from typing import Any

import attrs

from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient


@attrs.frozen(eq=False)
class Reading:
    """One release, or many of a forecast: ``total`` and ``rows`` are then arrays."""

    quotient: Quotient
    total: Any
    rows: Any

    @property
    def mean(self) -> Floats:
        """The estimates."""
        return self.quotient.mean(self.total, self.rows)
