"""Logarithms made of IEEE operations, against high precision."""

from __future__ import annotations

import numpy as np
from mpmath import log, mp, mpf

from opendp_lite.samplers.quantile_table import minus_log, minus_logs


def points() -> np.ndarray:
    generator = np.random.default_rng(1)
    mantissas = 1 + generator.random(3000)
    exponents = generator.integers(-1022, -1, 3000)
    near_one = 1 - 2.0 ** -generator.integers(1, 53, 300)
    return np.concatenate([np.ldexp(mantissas, exponents), near_one, [1.0, 0.5, 2.0**-1022]])


def test_the_error_is_as_stated():
    mp.dps = 40
    for x in points().tolist():
        true = -log(mpf(x))
        assert abs(minus_log(x) - true) <= 2.0**-50 + 2.0**-51 * true


def test_arrays_have_the_logarithms_of_their_entries():
    x = points()
    assert minus_logs(x).tolist() == [minus_log(each) for each in x.tolist()]
    assert minus_logs(np.array([0.0, 1.0])).tolist() == [np.inf, 0.0]
