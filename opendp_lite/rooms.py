"""The modules that hold the public names beyond the front."""

from __future__ import annotations

from typing import Final

from opendp_lite import (
    bases,
    bodies,
    combinators,
    estimators,
    measurements,
    measures,
    metrics,
    releases,
    transformations,
)

ROOMS: Final = (
    bases,
    bodies,
    combinators,
    estimators,
    measurements,
    measures,
    metrics,
    releases,
    transformations,
)
