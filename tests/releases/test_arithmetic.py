"""Differences, ratios and shares of releases: intervals hold, and what is not known is said."""

import operator
import pickle
from fractions import Fraction
from math import hypot, inf, isnan, sqrt

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.releases import ByGroup
from opendp_lite.releases.intervals import CellsOfTable, divide, share_interval, subtract

Z = 1.959963984540054
# Five standard deviations of a share of 4000 around .95: a false failure has a chance of 6e-7.
RUNS, OFF = 4000, 5 * sqrt(0.95 * 0.05 / 4000)
TABLE = {"sex": ["f", "m"] * 3000, "pay": [40.0, 30.0, 50.0, 40.0] * 1500}
PAY = dp.by("sex", ["f", "m"], dp.select("pay") >> dp.mean(0, 100, epsilon=1))


def estimate(value: float, error: float = 1.0, **asked: object) -> dp.Estimate:
    ends = (value - Z * error, value + Z * error)
    return dp.Estimate(value, error, ends, 0.95, **asked)


def normal_pairs(first: float, second: float, errors: tuple[float, float], seed: int):
    rng = np.random.default_rng(seed)
    for x, y in rng.normal([first, second], errors, (RUNS, 2)).tolist():
        yield (
            (x, (x - Z * errors[0], x + Z * errors[0])),
            (y, (y - Z * errors[1], y + Z * errors[1])),
        )


@pytest.mark.parametrize("errors", [(1.0, 1.0), (1.0, 0.1), (0.2, 2.0)])
def test_the_interval_of_a_difference_holds_it(errors):
    held = 0
    for one, other in normal_pairs(3.0, -5.0, errors, 1):
        low, high = subtract(*one, *other, independent=True)
        held += low <= 8 <= high
        assert high - low == pytest.approx(2 * Z * hypot(*errors))
    assert abs(held / RUNS - 0.95) < OFF


@pytest.mark.parametrize(
    ("first", "second"), [(3.0, 8.0), (-3.0, 8.0), (0.0, 8.0), (3.0, -8.0), (-3.0, -8.0)]
)
@pytest.mark.parametrize("errors", [(1.0, 1.0), (0.1, 1.5), (2.0, 0.3)])
def test_the_interval_of_a_ratio_holds_it(first, second, errors):
    """Its ends are where a - r b has an interval that just holds 0."""
    held = 0
    for one, other in normal_pairs(first, second, errors, 2):
        low, high = divide(*one, *other, independent=True)
        held += low <= first / second <= high
        if isnan(low) or low == -inf:
            continue
        for end in (low, high):
            scaled = sorted(end * each for each in other[1])
            ends = subtract(*one, end * other[0], (scaled[0], scaled[1]), independent=True)
            assert min(map(abs, ends)) < 1e-6 * (abs(one[0]) + abs(end * other[0]) + 1)
    # Where the second may be 0 the interval is endless, and holds.
    assert -OFF < held / RUNS - 0.95 < OFF + 0.01


def test_lopsided_intervals_give_lopsided_ones():
    assert subtract(1.0, (0.0, 4.0), 1.0, (1.0, 1.0), independent=True) == (-1.0, 3.0)
    assert subtract(1.0, (1.0, 1.0), 1.0, (0.0, 4.0), independent=True) == (-3.0, 1.0)
    assert divide(6.0, (4.0, 9.0), 2.0, (2.0, 2.0), independent=True) == (2.0, 4.5)
    assert divide(6.0, (6.0, 6.0), -2.0, (-3.0, -1.0), independent=True) == (-6.0, -2.0)


@pytest.mark.parametrize("share", [0.0, 0.004, 0.3, 0.98])
@pytest.mark.parametrize("noise", [0.0, 3.0, 40.0])
def test_the_interval_of_a_share_holds_it(share, noise):
    rng = np.random.default_rng(3)
    rows = 500
    ones = rng.binomial(rows, share, RUNS)
    noisy = ones + rng.normal(0, noise, RUNS), rows - ones + rng.normal(0, noise, RUNS)
    ends = np.array(
        [
            share_interval(one, other, (noise**2, noise**2), 0.95, sampling=True)
            for one, other in zip(*map(np.ndarray.tolist, noisy), strict=True)
        ]
    )
    held = np.mean((ends[:, 0] <= share) & (share <= ends[:, 1]))
    # Wilson's interval holds a rare share a little less or more often than it says.
    assert held > (0.85 if share == 0.004 and noise == 0 else 0.935)
    assert ((ends >= 0) & (ends <= 1)).all()
    assert (ends[:, 0] < ends[:, 1]).all() or noise == 0


def test_the_interval_of_a_share_of_rows_has_the_noise_alone():
    of_rows = share_interval(300.0, 700.0, (100.0, 100.0), 0.95, sampling=False)
    # (1 - p) Z - p Z', over the 1000 rows.
    assert of_rows[1] - of_rows[0] == pytest.approx(2 * Z * 10 * hypot(0.7, 0.3) / 1000, rel=0.01)
    exact = share_interval(300.0, 700.0, (0.0, 0.0), 0.95, sampling=True)
    root = Z / (1 + Z * Z / 1000) * sqrt(0.3 * 0.7 / 1000 + Z * Z / 4e6)
    centre = (0.3 + Z * Z / 2000) / (1 + Z * Z / 1000)
    assert exact == pytest.approx((centre - root, centre + root))
    assert share_interval(0.0, 0.0, (1.0, 1.0), 0.95, sampling=True) == (0.0, 1.0)


def test_groups_of_one_release_are_independent():
    found = PAY(TABLE)
    apart = found["f"] - found["m"]
    assert apart.interval[0] < 10 < apart.interval[1]
    f, m = found["f"], found["m"]
    assert apart.interval == subtract(f.value, f.interval, m.value, m.interval, independent=True)
    assert apart.noise_interval is not None
    assert apart.standard_error == hypot(f.standard_error, m.standard_error)
    assert (f / m).interval == divide(f.value, f.interval, m.value, m.interval, independent=True)
    both = sum([f, m])
    assert float(both) == float(f) + float(m)
    with pytest.raises(dp.ParameterError, match="may be of the same people"):
        both - f
    mean = dp.select("pay") >> dp.mean(0, 99, epsilon=1)
    for parts, place in ((dp.compose(a=mean), "a"), (dp.compose(mean), 0)):
        of_parts = dp.by("sex", ["f", "m"], parts)(TABLE)
        assert (of_parts["f"][place] - of_parts["m"][place]).sampling


def test_a_noise_that_is_not_known_of_one_is_not_known_of_two():
    """And a table of both still shows the one that is."""
    known = dp.Estimate(4.0, 1.0, (1.0, 9.0), 0.95, sampling=True, noise_interval=(3.0, 5.0))
    # Each part has its own noise: ends that are 1 and 0.1 away are 1.005 away together.
    less = attrs.evolve(known, noise_interval=(3.9, 4.1))
    low, high = dp.difference(known, less, independent=True).noise_interval
    assert (low, high) == pytest.approx((-(1.01**0.5), 1.01**0.5), rel=1e-9)
    other = attrs.evolve(known, noise_interval=None)
    for first, second in ((known, other), (other, known)):
        assert dp.difference(first, second, independent=True).noise_interval is None
    assert "1.0 of the 4.0" in str(ByGroup("sex", {"f": known, "m": other}))
    assert str(ByGroup("sex", {"f": 1, "old": 2})) == "sex\nf     1\nold   2"


def test_a_number_over_a_release_is_one():
    f, m = PAY(TABLE).values()
    low, high = f.interval
    assert (2 / f).interval == pytest.approx((2 / high, 2 / low))
    assert (2 / f).standard_error == pytest.approx(2 * f.standard_error / f.value**2)
    assert (2 / f).sampling
    assert (1 / f - 1 / m).value == 1 / f.value - 1 / m.value
    assert (1 / estimate(0.5)).interval == (-inf, inf)


@pytest.mark.parametrize("step", [dp.difference, dp.ratio])
def test_what_may_be_of_the_same_people_is_refused_until_it_is_said(step):
    first, second = (PAY(TABLE)["f"] for _ in range(2))
    with pytest.raises(dp.ParameterError, match="independent=True"):
        step(first, second)
    apart, together = (step(first, second, independent=each) for each in (True, False))
    assert together.interval[0] < apart.interval[0] < apart.interval[1] < together.interval[1]
    with pytest.raises(dp.ParameterError, match="independent="):
        first - first
    with pytest.raises(dp.ParameterError, match="95 % and 90 %"):
        step(first, dp.Estimate(1.0, 1.0, (0.0, 2.0), 0.9), independent=True)
    with pytest.raises(dp.ParameterError, match="got float"):
        step(first, 3.0)


def test_people_with_rows_in_several_groups_are_not_independent():
    people = dp.table(person="id") >> dp.bound_contributions(2)
    table = TABLE | {"id": list(range(3000)) * 2}
    found = (people >> dp.by("sex", ["f", "m"], dp.select("pay") >> dp.mean(0, 99, epsilon=1)))(
        table
    )
    with pytest.raises(dp.ParameterError, match="same people"):
        found["f"] - found["m"]


def test_noise_alone_is_independent_of_other_noise():
    first, second = estimate(5.0), estimate(2.0)
    assert (first - second).interval == pytest.approx((3 - Z * sqrt(2), 3 + Z * sqrt(2)))
    assert str(first - second) == "3.0 (0.2 to 5.8 in 95 % of releases of these rows)"
    with pytest.raises(dp.ParameterError, match="same noise"):
        (first - second) - first
    counts = (dp.select("sex") >> dp.one_hot(["f", "m"]) >> dp.sum()) >> dp.laplace(
        epsilon=1, confidence=0.9
    )
    found = counts(TABLE)
    assert float(found[0] - found[1]) == found.values[0] - found.values[1]
    with pytest.raises(dp.ParameterError, match="same noise"):
        found[0] - found[0]
    quantiles = dp.private_quantile(
        [0.25, 0.75], bounds=(0, 9), epsilon=9, confidence=0.9, sampling=False
    )(np.arange(900) % 9)
    with pytest.raises(dp.ParameterError, match="same noise"):
        quantiles[1] - quantiles[0]


@pytest.mark.parametrize("other", [3, 2.5, np.float64(0.5), Fraction(1, 4), np.int64(-2)])
def test_numbers_move_and_scale_an_estimate(other):
    shown, by = estimate(5.0, rows=9.0, bounds=(1.0, 10.0), noise_interval=(4.0, 6.0)), float(other)
    for compute in (operator.add, operator.sub, operator.mul, operator.truediv):
        found = compute(shown, other)
        assert found.value == compute(5.0, by)
        for ends in ("interval", "bounds", "noise_interval"):
            moved = sorted(compute(end, by) for end in getattr(shown, ends))
            assert getattr(found, ends) == pytest.approx(moved)
        scales = compute in (operator.mul, operator.truediv)
        assert found.standard_error == pytest.approx(abs(compute(1.0, by)) if scales else 1.0)
    assert (other - shown).value == by - 5
    # Near an end at 0 nothing is warned of, so it is not when 0 has moved.
    assert "near the bound" not in str(estimate(1.0, bounds=(0.0, 99.0)) + other)
    assert (other + shown, other * shown) == (shown + other, shown * other)
    assert (-shown).interval == (-shown.interval[1], -shown.interval[0])


def test_a_rounded_one_holds_as_much():
    shown = dp.Estimate(15.5512, 0.173, (15.21, 15.89), 0.95, sampling=True)
    assert str(round(shown, 1)) == "15.6 (15.2 to 15.9 in 95 % of samples like this)"
    assert str(round(shown)) == "16 (15 to 16 in 95 % of samples like this)"
    assert round(shown, -1).interval == (10.0, 20.0)
    endless = dp.Estimate(1.25, 0.1, (-inf, inf), 0.95)
    assert round(endless, 1).interval == (-inf, inf)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (lambda a: a > 5, "lies above 5.*float"),
        (lambda a: a < 15.5, "holds 15.5"),
        (lambda a: a >= 99, "lies below 99"),
        (lambda a: a <= 99, "lies below 99"),
        (lambda a: a < "x", "does not compare with str"),
        (lambda a: a - "x", "'Estimate' and 'str'"),
        (lambda a: a + "x", "'Estimate' and 'str'"),
    ],
)
def test_what_is_not_certain_is_refused_in_words(typed, words):
    with pytest.raises(TypeError, match=words):
        typed(dp.Estimate(15.55, 0.17, (15.21, 15.89), 0.95))


def test_estimates_are_sorted_by_value():
    low, high = estimate(1.0), estimate(2.0)
    assert sorted([high, low]) == [low, high]
    assert max(low, high) is high


def test_a_release_of_a_session_computes_too():
    ask = dp.session(TABLE, budget=dp.epsilon(4))
    by_sex = ask(PAY)
    apart = by_sex["f"] - by_sex["m"]
    assert apart.sampling
    mean = ask(dp.select("pay") >> dp.mean(0, 100, epsilon=1))
    assert (mean - 3).value == mean.value.value - 3
    assert (2 * mean, mean / 2, round(mean, 1), -mean) == (
        2 * mean.value,
        mean.value / 2,
        round(mean.value, 1),
        -mean.value,
    )
    assert mean.interval == mean.value.interval
    assert list(by_sex) == ["f", "m"]
    assert len(by_sex) == 2
    later = ask(dp.select("pay") >> dp.mean(0, 100, epsilon=1))
    with pytest.raises(dp.ParameterError, match="same people"):
        later - mean
    assert dp.difference(later, mean, independent=True).sampling
    assert sorted([later, mean], key=float)
    with pytest.raises(AttributeError, match="intervall"):
        _ = mean.intervall


def test_what_is_computed_is_stored_and_read():
    found = PAY(TABLE)
    apart = found["f"] - found["m"]
    assert pickle.loads(pickle.dumps(apart)) == apart
    assert dp.Estimate(**pickle.loads(pickle.dumps(apart)).as_dict()).value == apart.value


def test_functions_that_rise_take_the_ends_along():
    found = dp.Estimate(4.0, 1.0, (1.0, 9.0), 0.95, sampling=True, noise_interval=(3.0, 5.0))
    assert np.sqrt(found).interval == (1.0, 3.0)
    assert (np.sqrt(found).value, np.sqrt(found).standard_error) == (2.0, 0.25)
    assert np.exp(np.log(found)).interval == pytest.approx((1.0, 9.0))
    assert np.log(found).standard_error == 0.25
    assert np.log(found - 2).interval[0] == -inf
    assert np.log(found).noise_interval == (np.log(3.0), np.log(5.0))
    with pytest.raises(dp.ParameterError, match="the release is not above 0"):
        np.log(found - 4)
    # Numbers of numpy leave arithmetic to the release.
    assert (np.float64(3) - found).interval == (-6.0, 2.0)
    assert [each.interval for each in np.array([1.0, 2.0]) * found] == [(1.0, 9.0), (2.0, 18.0)]


@pytest.mark.parametrize("noise", ["laplace", "normal"])
@pytest.mark.parametrize(
    ("rows", "shares"), [(100, (0.02, 0.3, 0.68)), (500, (0.3, 0.3, 0.2, 0.2)), (100, (0.5, 0.5))]
)
def test_differences_and_ratios_of_cells_hold_as_often_as_they_say(rows, shares, noise):
    """Of 2000 samples 95 to 97 % are found to be below 92 or above 99 in 1e-6 of all tests."""
    generator, runs = np.random.default_rng(6), 2000
    counts = generator.multinomial(rows, shares, size=runs)
    of_cells = {"laplace": generator.laplace, "normal": generator.standard_normal}[noise]
    variance = {"laplace": 2.0, "normal": 1.0}[noise]
    counts = np.maximum(counts + of_cells(size=counts.shape), 0.0)
    truths, held = (shares[0] - shares[1], shares[0] / shares[1]), np.zeros(2)
    for one in counts.tolist():
        pair = CellsOfTable(tuple(one), variance).pair(0, 1)
        ends = pair.difference(0.95, sampling=True), pair.ratio(0.95, sampling=True)
        held += [low <= truth <= high for truth, (low, high) in zip(truths, ends, strict=True)]
    assert ((held / runs > 0.92) & (held / runs < 0.99)).all()


def test_cells_of_these_rows_have_the_noise_alone():
    pair = CellsOfTable((300.0, 200.0, 500.0), 2.0).pair(0, 1)
    for found, error, value in (
        (pair.difference(0.95, sampling=False), pair.difference_error(0.1, sampling=False), 0.1),
        (pair.ratio(0.95, sampling=False), pair.ratio_error(1.5, sampling=False), 1.5),
    ):
        assert found == pytest.approx((value - 1.96 * error, value + 1.96 * error), rel=2e-3)
    assert pair.difference_error(0.1, sampling=False) == pytest.approx(sqrt(4.06) / 1000, rel=1e-3)
    assert CellsOfTable((0.0, 0.0), 2.0).pair(0, 1).difference(0.95, sampling=True) == (-1, 1)
    assert CellsOfTable((5.0, 0.0), 2.0).pair(0, 1).ratio(0.95, sampling=True) == (-inf, inf)
    assert CellsOfTable((0.0, 50.0), 2.0).pair(0, 1).ratio(0.95, sampling=True)[0] == 0
