"""Shares: their noise, their intervals for rows and for a population, and refusals."""

from datetime import date
from math import hypot, sqrt

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.releases.intervals import share_interval

CITIES = {
    "city": ["Rome", "Oslo", "Bonn", "Oslo"] * 500,
    "age": [float(n) for n in range(2000)],
    "w": [0.5, 1.0, 4.0, 2.0] * 500,
    "far": [float("inf"), float("-inf")] * 1000,
    "day": np.repeat(np.array(["2024-01-01", "2024-03-01"], "M8[D]"), 1000),
}


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ({"column": "city", "among": ["Rome"]}, 0.25),
        ({"column": "city", "among": ["Rome", "Oslo"]}, 0.75),
        ({"column": "age", "between": (0, 399)}, 0.2),
        ({"column": "age", "between": (1600, 1999)}, 0.2),
        ({"column": "age", "between": (1600, None)}, 0.2),
        ({"column": "age", "between": (None, 399)}, 0.2),
        ({"column": "age", "between": (1000, 1000)}, 0.0005),
        ({"column": "far", "between": (1, None)}, 0.5),
        ({"column": "far", "between": (None, 1)}, 0.5),
        ({"column": "day", "between": (None, date(2024, 2, 1))}, 0.5),
        ({"column": "day", "between": ("2024-03-01", "2024-03-01")}, 0.5),
        ({"column": "day", "between": ("2024-02-01T10:30", None)}, 0.5),
    ],
)
@pytest.mark.parametrize("loss", [{"epsilon": 50}, {"rho": 500}, {"epsilon": 60, "delta": 1e-6}])
def test_a_share_counts_what_is_asked_for(asked, share, loss, seeded):
    found = dp.proportion(**asked, **loss)(CITIES)
    assert float(found) == pytest.approx(share, abs=0.002)
    assert found.rows == pytest.approx(2000, abs=2)
    root = sqrt(share * (1 - share) / 2000)
    assert found.standard_error == pytest.approx(root, rel=0.05)
    assert np.ptp(found.noise_interval) < np.ptp(found.interval)
    alone = dp.proportion(**asked, **loss, confidence=None)(CITIES)
    assert alone == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ({"column": "city", "among": ["Rome"]}, 0.5 / 7.5),
        ({"column": "city", "among": ["Rome", "Bonn"]}, 4.5 / 7.5),
        ({"column": "age", "between": (None, 999)}, 0.5),
        ({"column": "day", "between": (None, "2024-02-01")}, 0.5),
    ],
)
@pytest.mark.parametrize("loss", [{"epsilon": 900}, {"rho": 9000}])
def test_a_share_by_weights_is_that_of_their_sums(asked, share, loss, seeded):
    weighted = dp.proportion(**asked, weights="w", most=4, **loss)
    found = weighted(CITIES)
    assert float(found) == pytest.approx(share, abs=0.001)
    w = np.array(CITIES["w"])
    ones = np.isin(CITIES["city"], asked["among"]) if "among" in asked else np.arange(2000) < 1000
    root = sqrt(np.sum((w * (ones - share)) ** 2)) / w.sum()
    assert found.standard_error == pytest.approx(root, rel=0.05)
    assert found.bounds is None
    plain = dp.records(columns=["city", "w"]) >> dp.proportion(
        "city", among=[1], weights="w", most=4, epsilon=900
    )
    rows = [[1, 1.0], [0, 3.0], [1, np.nan], [np.nan, 1.0]] * 99
    assert float(plain(rows)) == pytest.approx(0.25, abs=0.01)
    mean = dp.records(columns=2) >> dp.weighted_mean(0, 1, most=4, epsilon=900)
    assert len({float(each.insecure_release(rows, 1).value) for each in (plain, mean)}) == 1
    assert weighted.map(1) == pytest.approx(next(iter(loss.values())))


def test_the_noise_of_a_share_is_that_of_two_counts(seeded):
    """300 releases: the deviation is known to 4.1 %, so 25 % is six deviations off."""
    share = dp.proportion("city", among=["Rome"], epsilon=0.1, sampling=False)
    found = [share(CITIES) for _ in range(300)]
    deviation = sqrt(2) * 10 * hypot(0.75, 0.25) / 2000
    assert np.std([float(each) for each in found]) == pytest.approx(deviation, rel=0.25)
    assert np.median([each.standard_error for each in found]) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize(("share", "rows"), [(0.02, 100), (0.3, 100), (0.02, 500)])
def test_the_interval_holds_the_share_of_the_population(share, rows, seeded):
    """Of 400 samples 93 to 98 % would be near 95; 5.4 % below that is five deviations."""
    rng = np.random.default_rng(5)
    estimate = dp.proportion(among=[1], rho=0.5)
    ends = np.array([estimate(rng.binomial(1, share, rows)).interval for _ in range(400)])
    held = np.mean((ends[:, 0] <= share) & (share <= ends[:, 1]))
    assert held > 0.896


def test_missing_values_are_left_out_unless_they_are_asked_for(seeded):
    table = {"x": [1.0, 0.0, float("nan"), float("nan")] * 500}
    assert float(dp.proportion("x", among=[1], epsilon=50)(table)) == pytest.approx(0.5, abs=0.01)
    found = dp.proportion("x", among=[None], epsilon=50)(table)
    assert float(found) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("rows", [[], [1.0]])
def test_few_rows_say_that_they_say_little(rows, seeded):
    found = dp.proportion(among=[1], epsilon=0.01)(rows)
    assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1
    assert found.standard_error <= 0.5


@pytest.mark.parametrize(
    ("among", "cell", "said"),
    [(["4"], 4.0, True), (["4"], "4", False), (["f"], 4.0, False), ([4], 5.0, False)],
)
def test_numbers_in_quotes_that_find_nothing_are_told(among, cell, said, seeded):
    """By what is released: a refusal would tell the type of a column, which hangs on its cells."""
    found = dp.proportion("x", among=among, epsilon=5)({"x": [cell] * 900, "y": [0] * 900})
    assert ("write among=[4] without quotes" in str(found)) == said


def test_shares_of_a_histogram_have_intervals_for_the_population(seeded):
    counts = dp.histogram("city", categories=["Rome", "Oslo", "Bonn"], epsilon=1)(CITIES)
    shares = counts.shares()
    assert shares.values.sum() == pytest.approx(1)
    assert shares["Oslo"].interval[0] < 0.5 < shares["Oslo"].interval[1]
    width = np.diff(shares["Oslo"].interval).item()
    assert width == pytest.approx(2 * 1.96 * sqrt(0.25 / 2000), rel=0.05)
    of_rows = counts.shares(sampling=False)
    noise = counts.standard_error * hypot(0.5, 0.5 * sqrt(2)) / 2000
    assert np.diff(of_rows["Oslo"].interval).item() == pytest.approx(2 * 1.96 * noise, rel=0.05)
    one, noise = counts.counts[1], counts.standard_error**2
    rest, joint = counts.counts.sum() - one, 1 - 0.05 / 3
    known = share_interval(float(one), float(rest), (noise, 2 * noise), joint, sampling=True)
    assert shares.joint_intervals[1].tolist() == pytest.approx(known)
    assert (shares.joint_intervals[:, 0] < shares.intervals[:, 0]).all()
    again = counts.shares()
    assert (shares["Oslo"] - shares["Rome"]).interval == (again[1] - shares[0]).interval
    for lost in (
        lambda: 100 * shares[0] - shares[1],
        lambda: shares[0] - shares[1] - shares[2],
        lambda: shares[0] - shares[0],
        lambda: shares[0] - shares.take([1])[0],
    ):
        with pytest.raises(dp.ParameterError, match="same noise"):
            lost()
    assert float(counts["Rome"] - counts["Bonn"]) == counts.counts[0] - counts.counts[2]
    empty = dp.histogram("city", categories=["Ulm"], epsilon=1)({"city": ["Rome"]}).shares()
    assert np.isfinite(empty.values).all()


@pytest.mark.parametrize("weights", [{}, {"weights": "w", "most": 2}], ids=["plain", "weighted"])
def test_an_empty_group_says_that_its_rows_are_few(weights, seeded):
    """Of one seed: noise hides it in 1 of 500, and in 1 of 50 where rows have weights."""
    table = {"sex": ["f"] * 200, "has": ["yes"] * 200, "w": [1.0] * 200}
    share = dp.proportion("has", among=["yes"], epsilon=1, **weights)
    found = dp.by("sex", ["f", "x"], share)(table)
    assert found["x"].too_few
    # The weight of all over the largest is no number of rows.
    assert ("too few rows)" if weights else "too few rows, about") in str(found["x"])
    assert not found["f"].too_few
    assert found.table(suppress=20).columns["value"][1] is None


def test_shares_of_a_population_say_that_rows_of_a_person_count_as_independent(seeded):
    survey = {"person": [1, 1, 2, 3] * 100, "city": ["Rome", "Oslo"] * 200}
    counts = dp.histogram("city", categories=["Rome", "Oslo"], epsilon=1)
    found = (dp.bound_contributions(2, person="person") >> counts)(survey)
    shares = found.shares()
    for said in (shares, shares[0], shares[0] - shares[1], shares.table()):
        assert "rows of one person count as independent" in repr(said)
    for silent in (found.shares(sampling=False), found["Rome"], counts(survey).shares()):
        assert "one person" not in repr(silent)
