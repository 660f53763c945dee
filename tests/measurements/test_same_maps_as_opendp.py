"""Maps of random pipelines beside those of OpenDP's library, which was written by others.

Skipped without ``pip install opendp``. Where the formula is the same, both agree but for rounding:
OpenDP adds to a sum of floats what their rounding could move, and we sum exactly. Where ours is
sharper it is below theirs, and never above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opendp_lite as dp

other: Any = pytest.importorskip("opendp.prelude", reason="needs pip install opendp")
other.enable_features("contrib")

PIPELINES = 60
ROUNDING = 1e-6


def draw_space(generator: np.random.Generator) -> tuple[Any, Any, bool]:
    """Rows of a private number, or of a public one and replaced; here, there, and which."""
    values = other.atom_domain(T=float, nan=False)
    if generator.integers(2):
        return dp.records(), (other.vector_domain(values), other.symmetric_distance()), False
    size = int(generator.integers(1, 100))
    there = other.vector_domain(values, size=size), other.change_one_distance()
    here = dp.records(size=size, metric=dp.ChangeOneDistance())
    return here, there >> other.t.then_metric_unbounded(), True


def draw_total(generator: np.random.Generator) -> tuple[Any, Any, float]:
    """A sum of clipped values, or a number of rows; here, there, and how far a row moves it.

    For rows that come and go theirs takes the width where 0 is between the bounds, so it is not.
    """
    here, there, sized = draw_space(generator)
    if not sized and generator.integers(3) == 0:
        return here >> dp.count(), there >> other.t.then_count(), 1.0
    low, high = np.sort(np.round(generator.normal(0, 10.0 ** generator.integers(-2, 4), 2), 6))
    if low < 0 < high and not sized:
        low, high = (0.0, high) if generator.integers(2) else (low, 0.0)
    clamped = there >> other.t.then_clamp((low, high))
    moved = high - low if sized else max(-low, high)
    return here >> dp.clamp(low, high) >> dp.sum(), clamped >> other.t.then_sum(), moved


def near(ours: float, theirs: float, slack: float = 0.0) -> bool:
    return ours <= theirs * (1 + 1e-12) and theirs <= ours * (1 + ROUNDING) + slack


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_maps_are_those_of_opendp(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(PIPELINES // 3):
        here, there, moved = draw_total(generator)
        rows = int(generator.integers(1, 6))
        if rows > (here.input_space.domain.size or rows):
            continue
        slack = 1e-6 * moved * rows
        distance = float(here.stability_map(here.input_space.metric.distance(rows)).over(1).l1)
        assert near(distance, float(there.map(rows)), slack), (here, rows)
        scale = float(moved * 10.0 ** generator.uniform(-1, 2))
        pure, theirs = here >> dp.laplace(scale=scale), there >> other.m.then_laplace(scale=scale)
        assert near(pure.map(rows), theirs.map(rows), slack / scale), (pure, rows)
        noisy = there >> other.m.then_gaussian(scale=scale)
        concentrated = here >> dp.gaussian(scale=scale)
        rho = concentrated.map(rows)
        assert near(rho, noisy.map(rows), 4 * slack * distance / scale**2), (concentrated, rows)
        # Ours is the curve of a Gaussian, theirs one that holds for every loss of this rho.
        delta = 10.0 ** -generator.uniform(2, 12)
        profile = other.c.make_zCDP_to_approxDP(noisy).map(rows)
        assert concentrated.epsilon(delta=delta, d_in=rows) <= profile.epsilon(delta)
        # Ours knows the law of the noise, and theirs any of this epsilon.
        assert pure.to_zcdp().map(rows) <= other.c.make_pureDP_to_zCDP(theirs).map(rows) * (
            1 + 1e-12
        )
