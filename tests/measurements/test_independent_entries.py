"""Entries of one release, and parts of one composition, have noises of their own.

Were they the same, their differences would be released exactly. Seeds are fixed: nothing here
fails by chance.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import opendp_lite as dp

RELEASES = 300
TOTAL = dp.clamp(-1, 1) >> dp.sum()
NOISES = {
    "laplace": TOTAL >> dp.laplace(epsilon=1),
    "gaussian": TOTAL >> dp.gaussian(rho=0.5),
    "discrete": dp.transformations.indicator_below(0.5) >> dp.sum() >> dp.laplace(epsilon=1),
    "l2_mechanism": dp.clip_to_norm(1) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=1),
    "core": dp.clamp(-1, 1) >> dp.measurements.sum_and_count(epsilon=1),
}
PARTS = {
    "laplace": TOTAL >> dp.laplace(epsilon=1),
    "gaussian": TOTAL >> dp.gaussian(epsilon=1, delta=1e-6),
    "count": dp.count() >> dp.laplace(epsilon=1),
}


def flat(release) -> list[float]:
    parts = release if isinstance(release, tuple) else (release,)
    return [float(x) for part in parts for x in np.atleast_1d(part)]


def check(noises: np.ndarray) -> None:
    """No two columns are equal, opposite, or a fixed number apart more often than by chance."""
    for i, j in combinations(range(noises.shape[1]), 2):
        a, b = noises[:, i], noises[:, j]
        for apart in (a - b, a + b):
            _, times = np.unique(apart, return_counts=True)
            assert times.max() <= RELEASES / 2
        assert abs(np.corrcoef(a, b)[0, 1]) < 6 / RELEASES**0.5


@pytest.mark.parametrize("columns", [2, 3, 8, 9])
@pytest.mark.parametrize("name", NOISES)
def test_entries_of_a_release(name, columns):
    pipeline = dp.records(columns=columns) >> NOISES[name]
    rows = np.zeros((2, columns))
    noises = [flat(pipeline.insecure_release(rows, seed).value) for seed in range(RELEASES)]
    check(np.array(noises))


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_composition(name):
    if name == "gaussian":
        pipeline = dp.compose(PARTS[name], PARTS[name])
    else:
        pipeline = dp.compose(PARTS[name], PARTS[name], dp.count() >> dp.laplace(epsilon=1))
    noises = [flat(pipeline.insecure_release([0.0], seed).value) for seed in range(RELEASES)]
    check(np.array(noises))


def test_queries_of_a_program():
    query = TOTAL >> dp.gaussian(rho=0.1)

    def program(ask):
        return ask(query), ask(query), ask(dp.compose(query, query))

    pipeline = dp.adaptive(program, dp.rho(1)) >> (lambda found: (*found[:2], *found[2]))
    noises = [flat(pipeline.insecure_release([0.0], seed).value) for seed in range(RELEASES)]
    check(np.array(noises))
