"""The falsifiers catch what they were made for."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies.body import Projection
from opendp_lite.engines.deferred import fold
from opendp_lite.engines.fold import Fold
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

Tables = dp.Space[dp.Rows]
Sums = dp.Space[dp.Vectors]


@dp.stage
def narrow_clamp(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Clamps to [0, 1] and claims [0, 0.9]."""
    return dp.row_map(space, Projection(dp.bodies.Box(0, 1)), dp.bodies.Box(0, 0.9))


@dp.stage
def demeaned(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Subtracts the mean of the block as if it were row by row."""
    body = dp.bodies.Box(-1, 1)
    return dp.row_map(space, lambda block: block - block.mean(axis=0, keepdims=True), body)


@dp.stage
def positional(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Treats even rows differently."""

    def function(block: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(block))[:, None] % 2 == 0, block, 0)

    return dp.row_map(space, function, space.domain.body)


@dp.stage
def truncated(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Keeps the first row of each block."""
    return dp.row_map(space, lambda block: block[:1], space.domain.body, drops=True)


class CoarseSum(Fold[np.ndarray]):
    """Rounds up to whole numbers, outside of the body where its bound is no whole number."""

    def empty(self):
        return np.zeros(1, dtype=np.int64)

    def summarise(self, block, scratch):
        return np.ceil(block).sum(axis=0).astype(np.int64)

    def merge(self, first, second):
        return first + second


@dp.stage
def coarse_sum(space: Tables) -> dp.Transformation[Tables, Sums]:
    """A sum whose bound ignores its rounding."""
    radii = space.domain.body.radii()
    return dp.Transformation(
        space,
        dp.Space(dp.Vectors(1, 0), dp.metrics.NormDistance(), unit=radii),
        fold(CoarseSum(), lambda total: dp.Grid(total, 0)),
        lambda distance: radii * distance,
    )


@dp.stage
def half_sum(space: Tables) -> dp.Transformation[Tables, Sums]:
    """An honest sum with a map that claims half of the truth."""
    honest = dp.sum().bind(space)
    return attrs.evolve(
        honest, stability_map=lambda distance: honest.stability_map(distance) * Fraction(1, 2)
    )


@attrs.frozen(init=False, repr=False)
class HopefulBall(dp.bodies.Ball):
    """A ball whose rows may be negative and are said to differ as non-negative ones do."""

    def diameters(self):
        return dp.bodies.NonNegativeBall(self.size, self.p, self.columns).diameters()


@dp.stage
def hopeful_clip(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Clips to norm 1 and claims sqrt(2) for a replaced row."""
    body = HopefulBall(1, columns=space.domain.columns)
    return dp.row_map(space, Projection(body), body)


LIES = [
    narrow_clamp(),
    dp.clamp(0, 1) >> demeaned(),
    dp.clamp(0, 1) >> positional(),
    dp.clamp(0, 1) >> truncated(),
    dp.clamp(0, 0.3) >> coarse_sum(),
    dp.clamp(0, 1) >> half_sum(),
]


@pytest.mark.parametrize("lie", LIES, ids=repr)
def test_assert_stable_catches(lie):
    with pytest.raises(AssertionError, match="rows"):
        dp.assert_stable(lie)


def test_assert_stable_catches_a_sum_of_radii_under_replacement():
    @dp.stage
    def radius_sum(space: Tables) -> dp.Transformation[Tables, Sums]:
        """Claims the radius where a replaced row moves the diameter."""
        honest = dp.sum().bind(space)
        radii = space.domain.body.radii()
        return attrs.evolve(honest, stability_map=lambda distance: radii * distance)

    space = dp.records(size=20, metric=dp.ChangeOneDistance())
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(dp.clamp(-1, 1) >> radius_sum(), space)


def test_assert_stable_catches_sqrt_2_for_rows_that_may_be_negative():
    space = dp.records(columns=2, size=20, metric=dp.ChangeOneDistance())
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(hopeful_clip() >> dp.sum(), space)
    dp.assert_stable(dp.clamp(0, 5) >> dp.clip_to_norm(1) >> dp.sum(), space)


def test_a_law_of_half_the_scale_exceeds_the_claim():
    law = RoundedLaplace(Fraction(4), 0)
    points = np.arange(-200, 201.0)
    gap = np.abs(
        law.log_probability(points, Fraction(0)) - law.log_probability(points, Fraction(1))
    ).max()
    assert gap > (dp.scalar() >> dp.laplace(scale=8)).map(1) * 1.9
