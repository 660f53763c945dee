"""The most frequent values and the number of different ones: what is shown, and how sure it is.

What is released: ``Ranking``.
"""

import math
from itertools import product

import attrs
import numpy as np
import pytest

import opendp_lite as dp

CITIES = ["Rome"] * 500 + ["Oslo"] * 300 + ["Bern"] * 290 + ["Bonn"] * 40 + [None, "Riga"]
DECLARED = ["Bern", "Bonn", "Oslo", "Riga", "Rome"]
LOSSES = [{"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_first_of_declared_values(loss):
    top = dp.top_k(3, "city", categories=DECLARED, **loss)
    found = top({"city": CITIES})
    assert found.keys[0] == "Rome"
    assert set(found.keys) == {"Rome", "Oslo", "Bern"}
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert found.places[0].tolist() == [1, 1]
    assert (found.of, found.shown, found.threshold, len(found)) == (5, False, None, 3)
    assert ((found.intervals[:, 0] < found.counts) & (found.counts < found.intervals[:, 1])).all()
    histogram = dp.histogram("city", categories=DECLARED, **loss)
    assert top.map(1) == histogram.map(1)
    assert "best to worst: true places among 5 values" in repr(found)
    assert found.as_dict()["keys"] == list(found)
    assert [each["place"] for each in found.records()] == [1, 2, 3]


def test_keys_of_several_columns_are_columns():
    """And no bins: "f to Rome" would be one."""
    table = {"sex": ["f"] * 300 + ["m"] * 200, "city": ["Rome"] * 500}
    found = dp.top_k(2, ["sex", "city"], epsilon=1, delta=1e-6)(table)
    assert list(found.to_frame().columns)[:4] == ["place", "sex", "city", "count"]
    assert found.records()[0]["sex"] == "f"
    assert found["m", "Rome"] == found.records()[1]
    assert found.as_dict()["keys"] == [["f", "Rome"], ["m", "Rome"]]
    assert str(found).splitlines()[0].split()[:4] == ["place", "sex", "city", "count"]
    assert "f to Rome" not in f"{found}{found.table()}"


def test_values_that_nobody_declared():
    top = dp.top_k(3, "city", epsilon=1, delta=1e-6)
    assert top.map(1)[0] == 1
    found = top({"city": CITIES})
    assert found.keys[0] == "Rome"
    assert found.shown
    old = {each.name: getattr(found, each.name) for each in attrs.fields(type(found))[:8]}
    assert type(found)(**old).keys == found.keys  # as releases were pickled before thresholds
    assert f"Keys with a noisy count below {found.threshold} are not shown." in repr(found)
    assert "frequent enough to show" in repr(found)
    nothing = top({"city": ["Rome"]})
    assert (nothing.keys, nothing.places.shape, nothing.of) == ((), (0, 2), 0)
    assert dp.top_k(9, categories=[1, 2], epsilon=1)([1, 2, 2]).of == 2


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
def test_all_places_hold_together(loss):
    """Of values that are near each other: in 95 % of releases. 170 of 200 is below 1e-8."""
    counts = [300, 297, 296, 290, 280, 100]
    data = np.repeat(np.arange(6.0), counts)
    top, held, open_places = dp.top_k(6, categories=range(6), **loss), 0, 0
    for seed in range(200):
        found = top.insecure_release(data, seed).value
        truth = np.array(found.keys) + 1
        held += bool(((found.places[:, 0] <= truth) & (truth <= found.places[:, 1])).all())
        open_places += bool((found.places[:5, 1] > found.places[:5, 0]).any())
    assert held >= 170
    assert open_places > 100


def different(rows: tuple[float, ...]) -> int:
    return int(dp.count_distinct()(list(rows)))


def test_a_row_moves_the_number_of_different_values_by_one():
    values = (1.0, 2.0, 3.0, math.nan)
    moved = set()
    for rows in (r for size in range(4) for r in product(values, repeat=size)):
        for value in values:
            moved.add(different((*rows, value)) - different(rows))
            moved |= {different((*rows, value)) - different((*rows, other)) for other in values}
    assert moved == {-1, 0, 1}
    for space in (dp.records(), dp.records(size=9, metric=dp.ChangeOneDistance())):
        bound = dp.count_distinct().bind(space)
        assert bound.map(3) == 3
        assert (bound >> dp.laplace(epsilon=1)).map(1) == 1


def test_what_is_one_value():
    mixed = [1, 1.0, True, "1", None, math.nan, "a", "a"]
    assert dp.count_distinct("x")({"x": mixed}) == 3
    assert dp.count_distinct(["x", "y"])({"x": [1, 1, 2, None], "y": ["a", "b", "a", "a"]}) == 3
    assert dp.count_distinct()(np.repeat(np.arange(20_000.0), 3)) == 20_000
    assert dp.count_distinct()([]) == 0


def test_people_and_groups():
    table = {"id": [1, 1, 1, 2, 2, 3], "sex": ["f", "f", "f", "m", "m", "m"], "day": range(6)}
    people = dp.table(person="id") >> dp.bound_contributions(2)
    days = people >> dp.count_distinct("day") >> dp.laplace(epsilon=1)
    assert days.map(1) == 1
    assert (people >> dp.count_distinct("day")).map(1) == 2
    found = dp.by("sex", ["f", "m"], dp.count_distinct("id") >> dp.laplace(epsilon=60))(table)
    assert found.as_dict() == {"f": 1, "m": 2}
    with pytest.raises(dp.SpaceError, match="bound_contributions"):
        dp.count_distinct("day").bind(dp.table(person="id"))
    with pytest.raises(dp.SpaceError):
        (dp.records(columns=["a"]) >> dp.count_distinct("b")).map(1)


@pytest.mark.parametrize("loss", [{"epsilon": 0.2}, {"rho": 0.02}], ids=str)
@pytest.mark.parametrize("width", [1, 2, 26])
def test_rolling_sums_hold(loss, width):
    """At 95 %: of 100 releases, fewer than 82 have a probability below 1e-6. Seeds are fixed."""
    data = np.repeat(np.arange(30.0), 40)
    histogram = dp.histogram(categories=range(30), **loss)
    held = joint = 0
    for seed in range(100):
        found = histogram.insecure_release(data, seed).value.rolling(width)
        low, high = found.intervals[seed % len(found)]
        held += low <= 40 * width <= high
        inside = (found.joint_intervals[:, 0] <= 40 * width) & (
            40 * width <= found.joint_intervals[:, 1]
        )
        joint += bool(inside.all())
    assert 82 <= held < 100
    assert joint >= 82
    assert len(found) == 31 - width
    assert found.names[0] == f"0 to {width - 1}"
    error = histogram.insecure_release(data, 1).value.standard_error
    assert found.standard_errors[0] == pytest.approx(error * width**0.5)
    half = np.ptp(found.intervals[0]) / 2
    assert width < 26 or half == pytest.approx(1.96 * error * width**0.5, rel=0.1)


def test_rolling_sums_know_which_counts_are_in_them():
    days = dp.histogram(categories=[1, 2, 3, 4], epsilon=1)([1.0, 2, 3, 4, 4])
    pairs = days.rolling(2)
    assert float(pairs[2] - pairs[0]) == days.counts @ [-1, -1, 1, 1]
    assert float(days[4] - pairs["1 to 2"]) == days.counts @ [-1, -1, 0, 1]
    for shared in (lambda: pairs[1] - pairs[0], lambda: pairs[0] + days[2]):
        with pytest.raises(dp.ParameterError, match="same noise"):
            shared()


def test_rolling_of_bins_and_what_it_refuses():
    ages = dp.histogram(edges=[0, 10, 20, 30], other=True, epsilon=1)([5.0, 15.0, 99.0])
    assert ages.rolling(2).names == ("0 to 20", "10 to 30")
    assert (
        ages.rolling(2)
        .table()
        .note.endswith("varies by chance, by about its root: that is not in it.")
    )
    assert "by chance" not in ages.table().note
    with pytest.raises(dp.ParameterError, match="has 3 counts, fewer than 4"):
        ages.rolling(4)
    with pytest.raises(dp.ParameterError, match="width"):
        ages.rolling(0)
    unknown = dp.histogram(epsilon=1, delta=1e-6)([1.0] * 99)
    with pytest.raises(dp.ParameterError, match="needs declared categories"):
        unknown.rolling(1)
    both = dp.histogram([0, 1], categories=[[0, 1], [0, 1]], epsilon=1).bind(dp.records(2))
    with pytest.raises(dp.ParameterError, match="of one column"):
        both(np.zeros((3, 2))).rolling(1)
