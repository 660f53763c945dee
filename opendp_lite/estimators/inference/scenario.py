"""Made-up data, as a simulation knows it."""

from __future__ import annotations

import attrs


@attrs.frozen
class Scenario:
    """So many rows of this mean and this variance, all inside the bounds."""

    rows: int
    mean: float
    variance: float = 0.0
