"""What audits of estimators share."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

import opendp_lite as dp


@pytest.fixture
def falsely() -> Callable[[dp.Measurement, dp.Measurement], dp.Measurement]:
    """A measurement with the noise of one, and the claim of another."""

    def false(honest: dp.Measurement, less: dp.Measurement) -> dp.Measurement:
        return attrs.evolve(honest, function=less.function)

    return false
