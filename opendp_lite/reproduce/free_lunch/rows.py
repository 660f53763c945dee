"""The rows of the experiments: drawn once, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.reproduce.free_lunch.settings import (
    LOG_NORMAL,
    NORMAL,
    ROWS,
    UNIFORM,
    Dataset,
)

Floats = NDArray[np.float64]

_SEED: Final = 20_240_819
_HALVINGS: Final = 100
_LAWS: Final[dict[Dataset, Callable[[np.random.Generator], Floats]]] = {
    LOG_NORMAL: lambda random: random.lognormal(0, 1, ROWS),
    NORMAL: lambda random: random.normal(0, 1, ROWS),
    UNIFORM: lambda random: random.uniform(0, 100, ROWS),
}


@cache
def rows(dataset: Dataset) -> Floats:
    """Clamped rows whose mean is the dataset's.

    Because: a shift of the drawn rows moves the mean of the clamped ones continuously and one
        way, so halving finds the shift.
    """
    drawn = _LAWS[dataset](np.random.default_rng(_SEED))

    def shifted(by: float) -> Floats:
        found: Floats = (drawn + by).clip(dataset.lower, dataset.upper)
        return found

    low, high = -dataset.width, dataset.width
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if shifted(middle).mean() < dataset.mean else (low, middle)
    found = shifted(high)
    found.flags.writeable = False
    return found


def truth(dataset: Dataset) -> Scenario:
    """Of the rows of a dataset."""
    return Scenario(ROWS, dataset.mean, float(rows(dataset).var()))
