"""Pairs of rows: the coupling behind the loss, by enumeration, and what they estimate."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.engines.rows import materialise
from opendp_lite.estimators.many_columns.normal_variance import median_of_mean_square
from opendp_lite.testing.distances import change_one_distance, symmetric_distance

module = import_module("opendp_lite.combinators.on_random_pairs")

REPLACE = dp.ChangeOneDistance()
SUMMED = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=0.5)
MEDIAN = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=1)
Groups = tuple[float, ...]


@dp.mechanism
def seen(space: dp.Space[dp.Rows]) -> dp.Measurement[dp.Space[dp.Rows], dp.MaxDivergence]:
    """Releases the rows themselves: not private, to see what a mechanism is given."""
    return dp.Measurement(
        space, dp.MaxDivergence(), lambda rows, entropy: rows, lambda distance: distance
    )


def law(data: list[float], group: int, monkeypatch: Any, space: Any) -> Counter[Groups]:
    """How many of all orders give each multiset of groups."""
    bound = space >> dp.combinators.on_random_pairs(seen(), group)
    counts: Counter[Groups] = Counter()
    for order in permutations(range(len(data))):
        monkeypatch.setattr(module, "_shuffled", lambda count, e, o=order: np.array(o, np.intp))
        counts[tuple(sorted(materialise(bound(data)).ravel().tolist()))] += 1
    return counts


def best_coupling(first: Counter[Groups], second: Counter[Groups], distance: Any, most: int):
    """The largest probability with which a coupling keeps the multisets within a distance."""
    one, two = list(first), list(second)
    near = [
        (i, j)
        for i, a in enumerate(one)
        for j, b in enumerate(two)
        if 0 <= distance(np.array(a)[:, None], np.array(b)[:, None]) <= most
    ]
    bounds = np.concatenate([np.array([*law.values()]) / law.total() for law in (first, second)])
    constraints = np.zeros((len(bounds), len(near)))
    for column, (i, j) in enumerate(near):
        constraints[i, column] = constraints[len(one) + j, column] = 1
    return -linprog(-np.ones(len(near)), A_ub=constraints, b_ub=bounds).fun


ROWS = [0.0, 1.0, 4.0, 9.5, 17.3, 28.9]
TIED = [0.0, 0.0, 1.0, 1.0, 1.0, 7.0]


@pytest.mark.parametrize("rows", [ROWS, TIED], ids=["distinct", "tied"])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_one_row_more_replaces_one_group_or_adds_one(rows, group, size, monkeypatch):
    space = dp.records()
    first = law(rows[:size], group, monkeypatch, space)
    second = law(rows[: size + 1], group, monkeypatch, space)
    found = best_coupling(first, second, symmetric_distance, 2)
    assert found == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("group", [1, 2])
def test_two_rows_more_move_at_most_four_groups(group, monkeypatch):
    first, second = (law(ROWS[:n], group, monkeypatch, dp.records()) for n in (4, 6))
    found = best_coupling(first, second, symmetric_distance, 4)
    assert found == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("group", "size"), [(1, 4), (1, 5), (2, 4), (2, 5)])
def test_one_row_replaced_replaces_one_group(group, size, monkeypatch):
    space = dp.records(size=size, metric=REPLACE)
    first = law(ROWS[:size], group, monkeypatch, space)
    second = law([*ROWS[: size - 1], 99.0], group, monkeypatch, space)
    found = best_coupling(first, second, change_one_distance, 1)
    assert found == pytest.approx(1, abs=1e-9)


def test_a_distance_of_one_would_be_too_little_where_a_row_is_added(monkeypatch):
    first, second = (law(ROWS[:n], 1, monkeypatch, dp.records()) for n in (4, 5))
    assert best_coupling(first, second, symmetric_distance, 1) < 0.5


def test_the_loss_is_that_of_two_rows_where_one_is_added():
    assert [dp.combinators.on_random_pairs(SUMMED).map(d) for d in (1, 2, 3)] == [0.5, 2.0, 4.5]
    replaced = dp.records(size=8, metric=REPLACE) >> dp.combinators.on_random_pairs(SUMMED)
    assert [replaced.map(d) for d in (1, 2)] == [0.5, 2.0]
    fixed = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1)
    assert dp.combinators.on_random_pairs(fixed).map(1) == 4 * fixed.map(1)
    assert dp.combinators.on_random_pairs(dp.combinators.on_random_pairs(fixed)).map(
        1
    ) == 16 * fixed.map(1)
    resized = dp.clamp(0, 1) >> dp.resize(8, fill=0) >> dp.combinators.on_random_pairs(fixed)
    assert resized.map(1) == fixed.map(1)
    searched = dp.estimators.quantile_by_search(0.5, 0, 1, rho=0.1)
    assert dp.combinators.on_random_pairs(searched).map(1) == 0.1


@pytest.mark.parametrize(("releases", "noise"), [(800, SUMMED), (300, MEDIAN)])
def test_audit_finds_nothing(releases, noise, seeded):
    pipeline = dp.combinators.on_random_pairs(noise)
    for size in (3, 4):
        dp.audit(pipeline, [0.0] * size, [*[0.0] * size, 1e5], releases=releases)
    replaced = dp.records(size=4, metric=REPLACE) >> pipeline
    dp.audit(replaced, [0.0] * 4, [0.0, 0.0, 0.0, 1e5], releases=releases)


@pytest.mark.parametrize("group", [1, 2, 3, 8, 9, 40])
def test_a_group_has_the_same_bits_among_any_number_of_others(group, monkeypatch):
    """Else one row more would change many groups."""
    monkeypatch.setattr(module, "_shuffled", lambda count, entropy: np.arange(count))
    generator = np.random.default_rng(group)
    odd = [np.inf, -np.inf, 1e200, -1e200, 1.0]
    bound = dp.records(columns=2) >> dp.combinators.on_random_pairs(seen(), group)
    rows = generator.normal(size=(37 * 2 * group, 2))
    rows[::3] = generator.choice(odd, rows[::3].shape)
    alone = [materialise(bound(part)) for part in np.split(rows, 37)]
    assert materialise(bound(rows)).tobytes() == np.concatenate(alone).tobytes()


@pytest.mark.parametrize("data", [[], [1.0], [np.nan] * 4, [np.inf, -np.inf], [1e308, -1e308] * 3])
def test_any_data_is_released_alike(data):
    for mechanism in (SUMMED, MEDIAN):
        assert np.isfinite(dp.combinators.on_random_pairs(mechanism, 2)(data)).all()


@pytest.mark.parametrize("group", [1, 2, 4, 8, 16])
def test_the_median_of_groups_is_that_of_chi_squared(group):
    exact = chi2.ppf(0.5, group) / group
    assert median_of_mean_square(group) == pytest.approx(exact, rel=2e-3)
    data = np.random.default_rng(group).normal(5, 3, 20_000)
    median = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=100)
    found = dp.combinators.on_random_pairs(median, group).insecure_release(data, seed=1).value
    assert found / 9 == pytest.approx(exact, rel=0.06)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.combinators.on_random_pairs(dp.clamp(0, 1)).map(1), "ends in noise"),
        (lambda: dp.combinators.on_random_pairs(SUMMED, 0).map(1), "at least 1"),
        (lambda: dp.combinators.on_random_pairs(SUMMED, 1.5).map(1), "whole number"),
        (lambda: dp.combinators.on_random_pairs(SUMMED, 10**12).map(1), "at most"),
        (
            lambda: dp.records(size=3, metric=REPLACE) >> dp.combinators.on_random_pairs(SUMMED, 2),
            "no group",
        ),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()


def test_each_column_keeps_its_own_bounds():
    """With the widest for all, the narrow column would pay for the wide one."""
    space = (dp.records(columns=2) >> dp.clamp([0, -5], [1, 5])).output_space
    assert module._of_groups(space, 2).domain.body == dp.bodies.Box(0, [0.5, 50])
