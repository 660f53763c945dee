"""What is handed to a step after an aggregate."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from sys import float_info

import numpy as np

import opendp_lite as dp


def test_no_value_makes_the_exact_numbers_raise() -> None:
    """A mechanism of a user's own reads them: an exception would tell of the data."""
    most = Fraction(float_info.max)
    found = dp.Grid(np.array([nan, inf, -inf, 0.1]), 0).exact
    assert found == (0, most, -most, Fraction(0.1))
    assert dp.Grid(np.array([3, -(2**63)]), -1).exact == (Fraction(3, 2), -(2**62))
    assert dp.Grid(np.array([2**70], dtype=object), 1).exact == (2**71,)
