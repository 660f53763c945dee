"""How estimates are held and shown, several and one."""

import copy
import json
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.base.frozen import copy_with
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
    with pytest.raises(KeyError, match="there are 'a', 'b', 'c'"):
        THREE["d"]
    named = Estimates([1.0, 2.0], [1.0] * 2, [(0, 1)] * 2, [(0, 1)] * 2, 0.9, names=("0.5", "0.9"))
    assert named[0.9] == named["0.9"] == named[1]
    with pytest.raises(KeyError, match="there are 0"):
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
    assert lines[0] == "<Estimates of 3 numbers, intervals in 90 % of releases of these rows"
    assert lines[2].split() == ["a", "12", "1", "10", "to", "14", "9", "to", "15"]
    html = THREE._repr_html_()
    assert html.count("<tr>") == 4
    for each in ("90 %", "12", "10 to 14", "joint interval"):
        assert each in html
    many = Estimates.around(np.arange(100.0), 1.0, 1.0, 2.0, 0.9, names=("<b>",) * 100)
    assert repr(many).splitlines()[-1] == "  ... and 80 more: type release.table()>"
    assert len(repr(many).splitlines()) == 23
    assert many._repr_html_().count("<tr>") == 21
    assert "<b>" not in many._repr_html_()
    assert "the first 20" in many._repr_html_()


def test_intervals_that_hold_jointly_are_shown_once():
    ends = [(1.0, 3.0), (4.0, 6.0)]
    found = Estimates([2.0, 5.0], [0.5, 0.5], ends, ends, 0.9, ("low", "high"))
    lines = repr(found).splitlines()
    assert lines[0] == "<Estimates of 2 numbers, joint intervals in 90 % of releases of these rows"
    assert lines[1].split() == ["value", "std.", "error", "joint", "interval"]
    assert lines[3].split() == ["high", "5", "0.50", "4", "to", "6>"]
    assert found._repr_html_().count("interval</th>") == 1
    several = dp.private_quantile(
        [0.25, 0.75], bounds=(0, 9), epsilon=9, confidence=0.9, sampling=False
    )
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


def estimate(mean, error, low, high, **asked) -> dp.Estimate:
    return dp.Estimate(mean, error, (low, high), 0.95, 100.0, **asked)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (estimate(41.2587, 0.0821, 41.097, 41.421), "41.259 (41.097 to 41.421"),
        (estimate(41.2587, 1.96, 37.4, 45.1), "41.3 (37.4 to 45.1"),
        (estimate(41.2587, 24.0, 0.0, 100.0), "41 (0 to 100"),
        (estimate(41258.7, 240.0, 40000.0, 41999.0), "41260 (40000 to 42000"),
        (estimate(-0.0001, 0.4, -0.9, 0.9), "0.00 (-0.90 to 0.90"),
        (estimate(3642.0, 1.4, 3639.0, 3645.0), "3642 (3639 to 3645"),
        (estimate(3.0, 0.2, 2.0, 4.0), "3 (2 to 4"),
        (estimate(3.0, 0.2, 2.0, 4.5), "3.0 (2.0 to 4.5"),
        (estimate(0.5, 0.0, 0.5, 0.5), "0.5 (0.5 to 0.5"),
        (estimate(1.0, 0.0999, 0.8, 1.2), "1.0 (0.8 to 1.2"),
    ],
)
def test_as_many_digits_as_the_second_of_the_error(shown, words):
    assert str(shown) == f"{words} in 95 % of releases of these rows)"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (estimate(1.25e-40, 3e-42, 1.2e-40, 1.3e-40), "1.250e-40 (1.200e-40 to"),
        (estimate(2.50000000000007, 7.3e-14, 2.4999999999999, 2.5000000000002), "2.5 ("),
        (estimate(1.25e90, 3e88, 1.2e90, 1.3e90), "1.250e+90 (1.200e+90 to"),
        (estimate(0.0, 3e-42, -1e-41, 1e-41), "0 (-1.00e-41 to 1.00e-41"),
    ],
)
def test_numbers_far_out_have_a_power_of_ten(shown, words):
    assert str(shown).startswith(words)


def test_what_the_interval_is_of():
    sampled = estimate(1.0, 0.1, 0.8, 1.2, sampling=True)
    assert str(sampled) == "1.0 (0.8 to 1.2 in 95 % of samples like this)"
    both = estimate(1.0, 0.1, 0.8, 1.2, sampling=True, noise_interval=(0.95, 1.05))
    assert str(both) == "1.0 (0.8 to 1.2 in 95 % of samples like this; 0.05 of the 0.20 is noise)"
    other = dp.Estimate(1.0, 0.1, (0.0, 2.0), 0.9995, 3.0)
    assert "in 99.95 % of releases" in str(other)
    surest = dp.Estimate(1.0, 0.1, (0.0, 2.0), 0.9999999, 3.0)
    assert "in 99.99999 % of releases" in str(surest)


def test_a_value_near_a_bound_and_one_that_says_little_say_so():
    def within(value, low, high, bounds, **asked):
        return str(dp.Estimate(value, 0.1, (low, high), 0.95, 7.0, bounds=bounds, **asked))

    near = "near the bound 10, so values beyond it may be clipped"
    assert near in within(9.1, 9.0, 9.2, (0.0, 10.0))
    assert "near" not in within(8.9, 8.8, 9.0, (0.0, 10.0))
    assert "near the bound -10" in within(-9.1, -9.9, -9.0, (-10.0, 0.0))
    # 0 is where most columns end by themselves.
    assert "near" not in within(0.1, 0.0, 0.2, (0.0, 10.0))
    assert "near" not in within(-0.1, -0.2, 0.0, (-10.0, 0.0))
    assert "too few rows, about 7" in within(5.0, 2.4, 7.6, (0.0, 10.0))
    assert "too few" not in within(5.0, 2.6, 7.4, (0.0, 10.0))


def test_clipping_by_a_search_is_told():
    shown = estimate(1.0, 0.1, 0.0, 2.0, clipped=True)
    assert str(shown).endswith("in 95 % of releases of these rows after clipping)")
    values = np.arange(2000) % 9
    variance = dp.variance(0, 9, epsilon=9, confidence=0.9, sampling=False)
    assert "after clipping" in str(variance(values))
    found = str(dp.mean(rho=9, confidence=0.9, sampling=False)(values))
    assert "in 90 % of releases of these rows if tails are thin" in found
    assert "after clipping" not in found


def test_too_few_rows_are_told():
    shown = estimate(0.0, 2e90, -2e90, 2e90, too_few=True)
    assert str(shown).endswith("of these rows; too few rows, about 100)")
    assert repr(shown).endswith("of these rows; too few rows, about 100)>")
    assert "too few rows, about 100" in shown._repr_html_()
    assert shown.as_dict()["too_few"] is True
    uncounted = dp.Estimate(0.0, 2e90, (-2e90, 2e90), 0.95, too_few=True)
    assert str(uncounted).endswith("of these rows; too few rows)")


def test_it_is_a_number_too():
    assert float(estimate(1.25, 0.1, 1.0, 1.5)) == 1.25


def test_a_released_one_is_shown_to_its_digits(seeded):
    shown = str(dp.mean(0, 100, rho=0.5, confidence=0.95, sampling=False)([40.0] * 1000))
    mean, _, rest = shown.partition(" (")
    low, _, high = rest.removesuffix(" in 95 % of releases of these rows)").partition(" to ")
    assert [len(each.partition(".")[2]) for each in (mean, low, high)] == [3] * 3
    assert float(low) < float(mean) < float(high)


INF, NAN = float("inf"), float("nan")


def test_it_is_shown_short_and_in_digits_that_its_error_leaves():
    shown = estimate(41.2587, 0.0821, 41.097, 41.421)
    words = "41.259 (41.097 to 41.421 in 95 % of releases of these rows)"
    assert repr(shown) == f"<Estimate {words}>"
    assert len(repr(shown)) <= 80
    html = shown._repr_html_()
    for each in ("41.259", "0.082", "41.097", "41.421", "95 % of releases of these", "100"):
        assert each in html
    assert html.count("<tr>") == 2


def test_it_is_formatted_as_its_value():
    shown = estimate(41.2587, 0.0821, 41.097, 41.421)
    assert f"{shown:.1f}" == "41.3"
    assert f"{shown}" == str(shown)


def test_it_goes_to_json_and_back():
    shown = estimate(np.float64(1.25), 0.1, np.float64(1.0), 1.5, sampling=np.True_)
    found = json.loads(json.dumps(shown.as_dict()))
    assert found == {
        "value": 1.25,
        "standard_error": 0.1,
        "interval": [1.0, 1.5],
        "confidence": 0.95,
        "rows": 100.0,
        "sampling": True,
        "clipped": False,
        "clipped_interval": None,
        "hidden_rows": None,
        "wide_interval": None,
        "bounds": None,
        "too_few": False,
        "count": None,
        "unknown": False,
        "noise_interval": None,
        "several": False,
        "treated": "",
        "weighted": False,
        "hint": "",
    }
    assert dp.Estimate(**found | {"interval": tuple(found["interval"])}) == shown
    # What is to be known goes wherever the number goes.
    warned = copy_with(shown, hint="few rows lie beyond it")
    assert str(pickle.loads(pickle.dumps(warned))) == str(copy.copy(warned)) == str(warned)
    assert warned.as_dict()["hint"] == "few rows lie beyond it"


def test_numbers_that_json_does_not_have_are_none():
    found = estimate(NAN, INF, -INF, 1.0).as_dict()
    assert found["value"] is found["standard_error"] is None
    assert found["interval"] == [None, 1.0]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert repr(estimate(NAN, INF, -INF, 1.0)).startswith("<Estimate nan (-inf to 1")


def test_a_released_one_goes_to_json(seeded):
    for space in (dp.records(), dp.records(size=9, metric=dp.ChangeOneDistance())):
        released = (space >> dp.mean(0, 1, epsilon=1, confidence=0.9, sampling=True))([0.5] * 9)
        found = json.loads(json.dumps(released.as_dict(), allow_nan=False))
        assert found["value"] == float(released)


def test_rows_of_one_person_are_said_to_count_as_independent(seeded):
    """Three equal rows a person: the interval held the mean in 78 of 100 samples."""
    persons = dp.table(person="id") >> dp.bound_contributions(3)
    table = {"id": [0, 0, 1, 2] * 50, "x": [1.0, 1.0, 2.0, 3.0] * 50}
    words = "ows of one person count as independent"
    both = {"bounds": [(0, 9)] * 2, "epsilon": 99}
    for step in (
        dp.select("x") >> dp.mean(0, 9, epsilon=9),
        dp.select("x") >> dp.proportion(among=[1], epsilon=9),
        dp.select("x") >> dp.private_quantile(0.5, bounds=(0, 9), epsilon=9),
        dp.select("x") >> dp.standard_deviation(0, 9, epsilon=9),
        dp.select("x", "id") >> dp.covariance(0, 9, epsilon=9, confidence=0.9),
        dp.linear_regression("x", "id", **both),
        dp.by("id", [0, 1], dp.select("x") >> dp.mean(0, 9, epsilon=9)),
        dp.t_test("x", "id", [0, 1], bounds=(0, 9), epsilon=9),
        dp.chi_square(["x", "id"], [[1, 2], [1, 2]], epsilon=9),
    ):
        released = (persons >> step)(table)
        shown = released.correlation() if hasattr(released, "correlation") else released
        assert words in str(released)
        # A table is what is published.
        assert words in str(shown.table())
        assert words not in str(step(table))
    shown = dp.by("id", [0, 1], dp.select("x") >> dp.mean(0, 9, epsilon=9))
    assert str((persons >> shown)(table)).count(words) == 1
    of_all = dp.select("x") >> dp.cdf(0, 9, epsilon=9)
    assert words in str((persons >> of_all)(table).table())
    assert words not in str(of_all(table).table())
    assert words not in str(
        (persons >> dp.select("x") >> dp.mean(0, 9, rho=9, sampling=False))(table)
    )


def test_groups_of_regressions_say_what_their_intervals_leave_out(seeded):
    table = {"sex": [0, 1] * 2000, "age": [*range(20, 70)] * 80, "pay": [3, 5, 4, 9] * 1000}
    pay = dp.linear_regression("pay", ["age"], bounds=[(0, 9), (0, 99)], epsilon=99)
    said = dp.by("sex", [0, 1], pay)(table).table().note
    assert said.count("coefficients may be off by more than intervals show") == 1


def test_a_spread_that_noise_hides_is_not_taken_for_none(seeded):
    """A mean's interval was that of the noise alone where the noise made its variance negative."""
    rows = np.random.default_rng(1).exponential(10, 460)
    mean = dp.mean(0, 100, epsilon=0.5)
    for _ in range(300):
        found = mean(rows)
        half, of_noise = (
            np.diff(each).item() / 2 for each in (found.interval, found.noise_interval)
        )
        # Some of the deviation of the noise on the squares, of 1250 over the share and the rows: an
        # eighth where they come out eight deviations below 0.
        assert half**2 - of_noise**2 > 0.1 * 1.96**2 * (1250 * 2**0.5 / 0.075 / 460) / 460


NOISY = np.random.default_rng(2).normal(50, 10, 1500).clip(0, 100)
INTERVALS = {
    "mean": partial(dp.mean, 0, 100),
    "variance": partial(dp.variance, 0, 100),
    "standard_deviation": partial(dp.standard_deviation, 0, 100),
    "proportion": partial(dp.proportion, between=(45, 60)),
    "private_quantile": partial(dp.private_quantile, 0.5, bounds=(0, 100)),
}


@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("name", INTERVALS)
def test_the_part_of_the_noise_is_what_an_interval_for_the_rows_has(name, loss):
    """At most a tenth of the budget is for the population, so about as wide; half would be seen."""
    sampled, of_rows = INTERVALS[name](**loss), INTERVALS[name](**loss, sampling=False)
    widths = [
        (
            np.diff(sampled.insecure_release(NOISY, seed).value.noise_interval).item(),
            np.diff(of_rows.insecure_release(NOISY, seed).value.interval).item(),
        )
        for seed in range(20)
    ]
    part, whole = np.median(widths, axis=0)
    assert 0.75 < part / whole < 1.35


def test_a_weighted_spread_that_noise_hides_is_not_taken_for_none():
    """One in ten intervals of such weights was that of the noise alone, and held in 35 of 100."""
    rows = np.random.default_rng(3).uniform(0, [50, 3], (2000, 2))
    mean = dp.records(columns=2) >> dp.weighted_mean(0, 150, most=3, epsilon=1)
    for seed in range(200):
        found = mean.insecure_release(rows, seed).value
        assert np.diff(found.interval) > 1.3 * np.diff(found.noise_interval)
