"""Tests on noisy releases: their level, what they see, their loss, what they refuse.

What is released: ``SignificanceTest``.
"""

import json

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.distributions.histograms import Histogram
from opendp_lite.estimators.distributions.significance import _Groups, _independence, _squares
from tests.exact_losses import lost

KEYS = ["a", "b", "c"]
RUNS = 300


def levels(p_values: list[float]) -> tuple[float, float]:
    """The shares of p-values of at most 0.05 and at most 0.5."""
    found = np.array(p_values)
    return float((found <= 0.05).mean()), float((found <= 0.5).mean())


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("noisy", [True, False])
def test_where_nothing_differs_five_of_a_hundred_are_small(pure, noisy):
    """Where noise rules, and where sampling does. With half of either it would be 30 of 100.

    Of 300 at 5 %, 36 or more have a probability of 1e-6; at 50 %, 105 or fewer or 195 likewise.
    """
    generator, found, warned = np.random.default_rng(1), [], 0
    draw, unit = (generator.laplace, 2**-0.5) if pure else (generator.normal, 1.0)
    deviations = (20.0, 10.0, 4.0) if noisy else (1.0, 1.0, 1.0)
    for _ in range(RUNS):
        groups = generator.normal(0.1, 0.2, (3, 400)).clip(-1, 1)
        sums = groups.sum(axis=1) + draw(0, unit * deviations[0], 3)
        rows = 400 + draw(0, unit * deviations[1], 3)
        squares = float((groups**2).sum() + draw(0, unit * deviations[2]))
        _, p, few = _Groups(sums, rows, squares, deviations, pure).compare()
        warned += few
        found.append(p)
    assert warned < 0.05 * RUNS
    small, half = levels(found)
    assert small < 0.12
    assert 0.35 < half < 0.65


@pytest.mark.parametrize("whole", [True, False])
def test_independent_columns_are_found_so(whole):
    """As above, in a table with a noise of its own size in the cells."""
    generator, found = np.random.default_rng(2), []
    axes = ((0, 1), (0, 1, 2))
    keys = tuple((i, j) for i in axes[0] for j in axes[1])
    q = np.exp(-1 / 8)
    deviation = float(np.sqrt(2 * q) / (1 - q))
    for _ in range(RUNS):
        cells = generator.multinomial(600, np.outer([0.4, 0.6], [0.2, 0.3, 0.5]).ravel())
        if whole:
            noise = generator.geometric(1 - q, 6) - generator.geometric(1 - q, 6)
        else:
            noise = generator.normal(0, deviation, 6)
        release = Histogram(("x", "y"), keys, cells + noise, deviation, 9, 9, 0.95, axes)
        found.append(_independence(release).p_value)
    small, half = levels(found)
    assert small < 0.12
    assert 0.35 < half < 0.65


def survey(generator, apart: float, rows: int = 2000) -> dict[str, object]:
    towns = generator.choice([*KEYS, "elsewhere"], rows)
    wages = generator.normal(20, 6, rows) + apart * (towns == "b")
    ill = np.where(generator.random(rows) < 0.3 + apart / 20 * (towns == "b"), "yes", "no")
    return {"town": towns, "wages": wages, "ill": ill}


TESTS = {
    "t-test": lambda **loss: dp.t_test("wages", "town", KEYS[:2], bounds=(0, 60), **loss),
    "anova": lambda **loss: dp.anova("wages", "town", KEYS, bounds=(0, 60), **loss),
    "chi-square test": lambda **loss: dp.chi_square(["ill", "town"], [["yes", "no"], KEYS], **loss),
}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("epsilon", [1e-30, 1e-19, 1e-16, 700, 1000, 1e30])
def test_noise_of_any_size_is_simulated(name, epsilon):
    """A release is paid for before its p-value is computed. At 700 that failed, and near 1e-19."""
    rows = {"wages": [20.0, 40.0] * 30, "town": KEYS * 20, "ill": ["yes", "yes", "no"] * 20}
    test = TESTS[name](epsilon=epsilon)
    found = [test.insecure_release(rows, seed).value.p_value for seed in range(4)]
    assert all(0 < each <= 1 for each in found)
    rows = {name: [None] * 60 for name in rows}
    found = [test.insecure_release(rows, seed).value.p_value for seed in range(4)]
    assert all(0 < each <= 1 for each in found)
    assert epsilon < 2 or "chi" not in name or min(found) == 1


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
def test_a_difference_is_seen(name, loss):
    generator = np.random.default_rng(3)
    test = TESTS[name](**loss)
    assert test.map(1) == next(iter(loss.values()))
    apart = [test(survey(generator, 4.0)).p_value for _ in range(10)]
    alike = [test(survey(generator, 0.0)).p_value for _ in range(10)]
    assert max(apart) <= 0.01
    assert np.mean(alike) > 0.15
    found = test(survey(generator, 4.0))
    assert found.name == name
    assert not found.few
    assert json.loads(json.dumps(found.as_dict()))["p_value"] == found.p_value
    least = "p <= 0.001" if found.p_value == 0.001 else f"p = {found.p_value:.3f}"
    assert f"{name}: {least}, statistic" in repr(found)
    assert least in found.table().note
    assert {row["p_value"] for row in found.records()} == {found.p_value}
    assert found.as_dict()["p"] == least
    assert "low to high: 95 % of " in found.table().note


def test_the_statistic_of_a_t_test_is_t():
    """Without noise: the difference over its error, whose spread is the pooled one."""
    generator = np.random.default_rng(9)
    rows = survey(generator, 4.0)
    found = TESTS["t-test"](rho=1e9)(rows)
    wages, towns = np.clip(rows["wages"], 0, 60), np.array(rows["town"])
    inside = [wages[towns == key] for key in "ab"]
    pooled = sum(each.var() * len(each) for each in inside) / sum(map(len, inside))
    error = np.sqrt(pooled * sum(1 / len(each) for each in inside))
    assert found.statistic == pytest.approx((inside[0].mean() - inside[1].mean()) / error, rel=1e-3)
    # What the refusal of found.difference says to type.
    assert (found["a"] - found["b"]).value == pytest.approx(inside[0].mean() - inside[1].mean())


def test_a_chi_square_counts_the_noise_of_the_cells():
    """Each cell is 4 from the 5 of its margins; 5 is also the variance of a sample."""
    assert _squares(np.array([[9.0, 1.0], [1.0, 9.0]]), 3.0) == pytest.approx(4 * 16 / (5 + 9))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("loss", [1e-320, 1e-308, 1e-200, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("budget", ["epsilon", "rho"])
def test_no_budget_makes_a_release_fail_that_is_paid(name, loss, budget):
    """Their squares were beyond floats. Noise alone is no evidence."""
    if not 1e-30 <= loss <= 1e30:
        with pytest.raises(dp.ParameterError, match=r"between 1e-30 and 1e30"):
            TESTS[name](**{budget: loss})
        return
    for rows in (
        {"town": ["a"], "wages": [9.0], "ill": ["no"]},
        {"town": [], "wages": [], "ill": []},
    ):
        found = TESTS[name](**{budget: loss}).insecure_release(rows, 1).value
        assert np.isfinite(found.statistic)
        assert 0 < found.p_value <= 1
        assert found.few or loss > 1


def test_means_lie_within_the_bounds_whatever_the_noise():
    rows = {"town": ["c"] * 40, "wages": [19.0] * 40}
    test = dp.t_test("wages", "town", ["a", "b"], bounds=(10, 60), epsilon=0.1)
    for seed in range(20):
        found = test.insecure_release(rows, seed).value
        for each in found.released.values():
            assert 10 <= each.interval[0] <= each.value <= each.interval[1] <= 60
            assert each.standard_error <= 25


def test_means_are_those_of_the_population():
    generator, held = np.random.default_rng(4), 0
    test = dp.anova("wages", "town", KEYS, bounds=(0, 60), epsilon=1)
    for seed in range(60):
        found = test.insecure_release(survey(generator, 0.0), seed).value
        for each in found.released.values():
            assert each.sampling
            held += each.interval[0] <= 20 <= each.interval[1]
    # At 95 %, fewer than 150 of 180 have a probability of 1e-8.
    assert held >= 150


def test_few_rows_are_said():
    rows = {"town": ["a", "b"] * 20, "wages": [19.0, 20.0] * 20, "ill": ["yes", "no"] * 20}
    for name in TESTS:
        found = TESTS[name](epsilon=0.01).insecure_release(rows, 1).value
        assert found.few
        assert "Too few rows" in repr(found)
        assert found.table().note.count("oo few rows") == 1
        assert 0 < found.p_value <= 1
    half = rows | {"half": [0, 1] * 20}
    by_half = dp.by("half", [0, 1], TESTS["anova"](epsilon=0.01))(half)
    assert by_half.table().note.endswith("may be too small: too few rows beside the noise.")
    assert TESTS["anova"](epsilon=1)({"town": [], "wages": [], "ill": []}).few


@pytest.mark.parametrize("name", TESTS)
def test_a_row_costs_the_claim(name):
    """Of what a row changes most: the rows of a group."""
    rows = {"town": ["a", "b"] * 3, "wages": [60.0, 0.0] * 3, "ill": ["yes", "no"] * 3}
    more = {key: [*values, values[0]] for key, values in rows.items()}
    assert 3 - 1e-9 < lost(TESTS[name](epsilon=3).bound, rows, more).pure <= 3
