"""What an interval takes for the noise of the squares is the noise that they get."""

from __future__ import annotations

from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.estimators.parts.budget import Budget, ConcentratedBudget
from opendp_lite.estimators.parts.request import BoundedColumn, SumOfSquares

SPACES = [dp.records(), dp.records(size=7, metric=dp.ChangeOneDistance())]


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize(
    "loss", [Budget(Fraction(1, 20)), ConcentratedBudget(Fraction(1, 20))], ids=repr
)
def test_the_noise_of_the_squares_is_known(space, loss):
    """A replaced row moves their sum twice as far as one that is added."""
    squares = SumOfSquares.of(space, BoundedColumn.between(-3, 4, "test"), loss)
    (law,) = (space >> dp.clamp(-3, 4) >> squares.mechanism()).facts.laws
    assert loss.deviation(squares.reach) == pytest.approx(law.standard_deviation, rel=1e-6)
