"""What private bounds hold."""

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.parts.bounds_search import FARTHEST, _round_outwards

pytestmark = pytest.mark.usefixtures("seeded")
LAWS = {
    "normal": lambda g, n: g.normal(50, 10, n),
    "far away": lambda g, n: g.normal(1e6, 1, n),
    "lognormal": lambda g, n: g.lognormal(0, 1, n),
    "bits": lambda g, n: (g.random(n) < 0.3).astype(float),
    "90 % zeros": lambda g, n: np.where(g.random(n) < 0.9, 0, g.exponential(10, n)),
    "huge": lambda g, n: g.normal(0, 1e80, n),
    "equal": lambda g, n: np.full(n, 42.0),
}


@pytest.mark.parametrize("share", [0.99, 0.8])
@pytest.mark.parametrize("name", LAWS)
def test_most_values_are_within(name, share):
    """At least about as many as asked, and not many more where values are spread."""
    data = LAWS[name](np.random.default_rng(2), 20_000)
    for seed in range(15):
        lower, upper = dp.private_bounds(share, rho=0.1).insecure_release(data, seed).value
        held = np.mean((data >= lower) & (data <= upper))
        assert share - 0.01 <= held
        if name in ("normal", "far away", "lognormal", "huge"):
            assert held <= share + 0.4 * (1 - share) + 0.03
            assert upper - lower < 1.3 * np.diff(
                np.quantile(data, [(1 - share) / 2, (1 + share) / 2])
            )


def test_bounds_have_few_digits_and_are_rounded_outwards():
    for ends in ((31.876543, 67.891), (-3e-80, 2e-80), (1e9, 1e9 + 1e-6), (-FARTHEST, 5.0)):
        low, high = _round_outwards(*ends)
        width = ends[1] - ends[0]
        assert ends[0] - width / 1000 <= low <= ends[0] < ends[1] <= high <= ends[1] + width / 1000
    assert _round_outwards(31.876543, 67.891) == (31.87, 67.9)


def test_a_pair_for_each_column():
    data = np.random.default_rng(3).normal([0, 1e6, 5], [1, 10, 1e-5], (20_000, 3))
    space = dp.records(columns=["a", "b", "c"])
    lower, upper = (space >> dp.private_bounds(0.95, rho=0.3))(data)
    assert lower.shape == upper.shape == (3,)
    held = np.mean((data >= lower) & (data <= upper), axis=0)
    assert (held > 0.94).all()
    (space >> dp.clamp(lower, upper) >> dp.sum()).map(1)


def test_too_few_rows():
    assert dp.private_bounds(0.9, rho=0.1)([1.0, 2.0]) == (-FARTHEST, FARTHEST)
