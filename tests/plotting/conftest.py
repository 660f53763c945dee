"""Pictures in memory, closed after each test."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def canvas():
    mpl.use("Agg")
    yield
    pyplot.close("all")
