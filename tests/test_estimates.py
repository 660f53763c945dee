"""How several estimates are held and shown."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.releases.estimates import Estimates

THREE = Estimates.around(
    [12.0, -0.5, 7.25], [1.0, 0.5, 2.0], 2.0, [3.0, 1.5, 6.0], 0.9, least=0.0, names=("a", "b", "c")
)


def test_intervals_are_around_the_values_and_end_where_nothing_can_lie():
    assert THREE.intervals.tolist() == [[10, 14], [0, 1.5], [5.25, 9.25]]
    assert THREE.joint_intervals.tolist() == [[9, 15], [0, 1], [1.25, 13.25]]
    below = Estimates.around([-9.0], 1.0, 2.0, 2.0, 0.9, least=0.0)
    assert below.intervals.tolist() == [[0, 0]]
    assert below.values.tolist() == [-9]


def test_it_is_a_sequence_of_estimates():
    second = dp.Estimate(-0.5, 0.5, (0.0, 1.5), 0.9)
    assert THREE[1] == THREE["b"] == list(THREE)[1] == second
    assert len(THREE) == 3
    assert np.asarray(THREE).tolist() == [12, -0.5, 7.25]
    assert np.sum(THREE) == 18.75
    with pytest.raises(IndexError):
        THREE[3]
    with pytest.raises(KeyError, match=r"there are \['a', 'b', 'c'\]"):
        THREE["d"]
    with pytest.raises(KeyError, match="no names"):
        Estimates([1.0], [1.0], [(0, 1)], [(0, 1)], 0.9)["a"]


def test_ends_are_exact_or_outside():
    values, half = np.array([0.1, 1e16, 3.0, -7e300]), 0.7
    found = Estimates.around(values, 1.0, half, half, 0.9).intervals.tolist()
    for value, (low, high) in zip(values.tolist(), found, strict=True):
        assert Fraction(low) <= Fraction(value) - Fraction(half)
        assert Fraction(high) >= Fraction(value) + Fraction(half)
        assert low >= np.nextafter(value - half, -np.inf)
    assert Estimates.around([3.0], 1.0, 0.75, 1.0, 0.9).intervals.tolist() == [[2.25, 3.75]]


def test_it_is_frozen_compared_pickled_and_written():
    again = pickle.loads(pickle.dumps(THREE))
    assert again == THREE
    assert hash(again) == hash(THREE)
    assert Estimates.around([1.0], 1.0, 2.0, 3.0, 0.9) != THREE
    with pytest.raises(ValueError, match="read-only"):
        THREE.values[0] = 1
    found = json.loads(json.dumps(THREE.as_dict(), allow_nan=False))
    assert Estimates(**found | {"names": tuple(found["names"])}) == THREE
    broken = Estimates.around([np.inf], 1.0, 1.0, 1.0, 0.9).as_dict()
    assert broken["values"] == [None]


def test_it_is_shown_as_a_table():
    lines = repr(THREE).splitlines()
    assert lines[0] == "<Estimates of 3 numbers, 90 % intervals from the noise alone"
    assert lines[2].split() == ["a", "12.0", "1.0", "10.0", "to", "14.0", "9.0", "to", "15.0"]
    html = THREE._repr_html_()
    assert html.count("<tr>") == 4
    for each in ("90 %", "12.0", "10.0 to 14.0", "joint interval"):
        assert each in html
    many = Estimates.around(np.arange(100.0), 1.0, 1.0, 2.0, 0.9, names=("<b>",) * 100)
    assert repr(many).splitlines()[-1] == "  ... and 80 more>"
    assert len(repr(many).splitlines()) == 23
    assert many._repr_html_().count("<tr>") == 21
    assert "<b>" not in many._repr_html_()
    assert "the first 20" in many._repr_html_()


def test_intervals_that_hold_jointly_are_shown_once():
    ends = [(1.0, 3.0), (4.0, 6.0)]
    found = Estimates([2.0, 5.0], [0.5, 0.5], ends, ends, 0.9, ("low", "high"))
    lines = repr(found).splitlines()
    assert lines[0] == "<Estimates of 2 numbers, 90 % joint intervals from the noise alone"
    assert lines[1].split() == ["value", "std.", "error", "joint", "interval"]
    assert lines[3].split() == ["high", "5.00", "0.50", "4.00", "to", "6.00>"]
    assert found._repr_html_().count("interval</th>") == 1
    several = dp.private_quantile([0.25, 0.75], bounds=(0, 9), epsilon=9, confidence=0.9)
    assert str(several(np.arange(900) % 9)).count("interval") == 2


def test_names_that_repeat_or_break_lines_are_told_apart():
    found = Estimates([1.0, 2.0], [1.0] * 2, [(0, 3)] * 2, [(0, 4)] * 2, 0.9, ("a\nb", "a\nb"))
    assert len(repr(found).splitlines()) == 4
    with pytest.raises(KeyError, match="several estimates are called"):
        found["a\nb"]


def test_sums_have_the_names_of_their_columns():
    table = {"age": [1.0, 2.0], "visits": [3.0, 4.0], "sex": ["f", "m"]}
    summed = dp.select("age", "visits") >> dp.clamp(0, 9) >> dp.sum()
    found = (summed >> dp.laplace(epsilon=1, confidence=0.9))(table)
    assert found.names == ("age", "visits")
    assert [line.split()[0] for line in repr(found).splitlines()[2:]] == ["age", "visits"]
    rows = dp.select("age", "visits") >> dp.clamp(0, 9)
    centred = (rows >> dp.centered_sum(rho=1, confidence=0.9))(table)
    assert centred.names == ("age", "visits")
    by_sex = dp.by("sex", ["f", "m"], summed >> dp.gaussian(rho=1, confidence=0.9))
    assert by_sex(table)["m"].names == ("age", "visits")
    counts = dp.select("sex") >> dp.one_hot(["f", "m"]) >> dp.sum()
    assert (counts >> dp.laplace(epsilon=1, confidence=0.9))(table).names is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [1.0, 2.0], [(0, 1)], [(0, 1)], 0.9), "standard_errors"),
        (([1.0], [1.0], [(0, 1), (0, 1)], [(0, 1)], 0.9), "intervals"),
        (([1.0], [1.0], [(0, 1)], [0.0], 0.9), "joint_intervals"),
        (([1.0], [1.0], [(0, 1)], [(0, 1)], 0.9, ("a", "b")), "names"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words):
    with pytest.raises(dp.ParameterError, match=words):
        Estimates(*arguments)
