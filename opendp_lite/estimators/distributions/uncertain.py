"""A number read from a release, with how far the noise may have moved it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.estimators.inference.significant_digits import justified


@attrs.frozen(eq=False)
class Uncertain:
    """A number, or an array of numbers, with the standard error that the noise makes in it.

    >>> print(Uncertain(38.2517, 0.0312))
    38.252 +- 0.031
    """

    value: Any
    standard_error: Any

    def __str__(self) -> str:
        value, error = self.value, self.standard_error
        if np.ndim(value) == 0:
            value, error = justified(float(error), float(value), float(error))
        return f"{value} +- {error}"
