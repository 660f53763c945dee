"""The whole distribution from prefix sums: private as claimed, near the truth, honest about it."""

import json
from fractions import Fraction
from functools import partial
from math import inf, nan, sqrt

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import opendp_lite as dp
from opendp_lite.bases.strategies import SquareRoot, Tree
from opendp_lite.estimators.distributions.cumulative import isotonic

LOSSES = [{"rho": 0.5}, {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}]
REPLACE = dp.ChangeOneDistance()
N = 2000
DATA = np.random.default_rng(3).gamma(4, 8, N).clip(0, 100)
SPACES = {"private": dp.records(), "public": dp.records(size=N, metric=REPLACE)}
EDGES = np.linspace(0, 100, 201)
RUNS = 300


def truth(x):
    return np.searchsorted(np.sort(DATA), x, side="right") / N


PLAIN = {"confidence": None, "sampling": False}


def releases(space, count=RUNS, **arguments):
    bound = SPACES[space] >> dp.cdf(0, 100, cells=200, **PLAIN | arguments)
    return [bound.insecure_release(DATA, seed).value for seed in range(count)]


def test_rising_numbers_are_the_nearest_ones():
    generator = np.random.default_rng(0)
    for length in (1, 2, 50, 500):
        numbers = np.cumsum(generator.normal(0.1, 1, length))
        assert isotonic(numbers) == pytest.approx(isotonic_regression(numbers).x, abs=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loss", [{"rho": 1e12}, {"epsilon": 1e7}])
def test_without_noise_the_truth_is_read_at_every_edge(space, loss):
    (found,) = releases(space, 1, **loss)
    assert found.count.value == pytest.approx(N, abs=1e-2)
    assert np.abs(found.cdf(EDGES).value - truth(EDGES)).max() < 1e-5
    assert np.array_equal(found.edges, EDGES)
    assert found.mean().value == pytest.approx(DATA.mean(), abs=0.05)
    assert found.standard_deviation().value == pytest.approx(DATA.std(), abs=0.1)
    shares = np.array([0.1, 0.5, 0.9])
    assert np.abs(found.quantile(shares).value - np.quantile(DATA, shares)).max() < 0.5
    assert found.median().value == found.quantile(0.5).value
    share = np.diff(truth(np.array([30.0, 30.5])))[0] / 0.5
    assert found.density(30.2).value == pytest.approx(share, abs=1e-4)
    assert (found.cdf(-1.0).value, found.cdf(101.0).value) == (0, 1)
    assert (found.density(-1.0).value, found.density(101.0).value) == (0, 0)


def test_numbers_at_the_lower_bound_are_there_at_once():
    """Nine rows of ten are 0: the share up to 0 has no cell to be spread over."""
    data = np.concatenate([np.zeros(900), np.full(100, 50.0)])
    found = dp.cdf(0, 100, cells=10, rho=1e9, confidence=None)(data)
    assert found.cdf([0.0, 40.0, 50.0]).value == pytest.approx([0.9, 0.9, 1.0], abs=1e-4)
    assert found.quantile([0.1, 0.8]).value == pytest.approx([0, 0])
    assert found.mean().value == pytest.approx(0.1 * 45, abs=1e-3)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_shares_rise_from_0_to_1_and_quantiles_undo_them(space, loss):
    (found,) = releases(space, 1, **loss)
    shares = found.cdf(EDGES).value
    assert (np.diff(shares) >= 0).all()
    assert (shares[0] >= 0, shares[-1]) == (True, 1)
    assert (found.density(EDGES).value >= 0).all()
    middle = np.array([0.05, 0.3, 0.6, 0.95])
    assert found.cdf(found.quantile(middle).value).value == pytest.approx(middle, abs=1e-9)


def test_the_noise_follows_the_sensitivity():
    """Of the largest column, or the largest distance of two; too small would be a false claim."""
    sized = dp.records(size=50, metric=REPLACE)
    for space, norms in ((dp.records(), "radii"), (sized, "diameters")):
        release = space >> dp.cdf(0, 1, cells=99, rho=Fraction(1, 8), confidence=None)
        assert release.map(1) == 0.125
        assert release.map(2) == 0.5
        root = getattr(SquareRoot(100), norms)()
        assert release([0.5] * 50).deviation == pytest.approx(2 * root.l2, rel=1e-6)
        pure = space >> dp.cdf(0, 1, cells=99, epsilon=Fraction(1, 100), confidence=None)
        assert pure.map(1) == 0.01
        tree = getattr(Tree(100, replaced=norms == "diameters"), norms)()
        deviation = 100 * sqrt(2) * float(tree.l1)
        assert pure([0.5] * 50).deviation == pytest.approx(deviation, rel=1e-4)
        both = space >> dp.cdf(0, 1, cells=99, epsilon=1, delta=1e-6, confidence=None)
        assert both.map(1) == (1, 1e-6)
        plain = dp.vector(1) >> dp.gaussian(epsilon=1, delta=1e-6)
        sigma = plain.bound.facts.laws[0].standard_deviation * root.l2
        assert both([0.5] * 50).deviation == pytest.approx(sigma, rel=1e-4)


QUESTIONS = {
    "count": lambda found: found.count,
    "cdf": lambda found: found.cdf([5.0, 20.0, 32.0, 60.0]),
    "mean": lambda found: found.mean(),
    "second moment": lambda found: found.moment(2),
    "expectation": lambda found: found.expectation(lambda x: np.where(x > 20, x, 0)),
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loss", [{"rho": 0.02}, {"epsilon": 0.5}], ids=str)
def test_standard_errors_are_the_spread_of_the_estimates(space, loss):
    """300 runs with a fixed seed measure a spread to about 4 in 100.

    Rising shares are nearer to the truth than the noise: down to half of it where few rows are.
    """
    runs = releases(space, **loss)
    for name, ask in QUESTIONS.items():
        found = [ask(run) for run in runs]
        values = np.array([each.value for each in found])
        stated = np.mean([each.standard_error for each in found], axis=0)
        if name == "count" and space == "public":
            assert (stated == 0).all()
            continue
        assert (values.std(axis=0) < 1.15 * stated).all(), name
        least = 0.3 if name == "cdf" else 0.85
        assert (values.std(axis=0) > least * stated).all(), name


@pytest.mark.parametrize(
    ("space", "loss"), [("private", {"rho": 0.5}), ("public", {"epsilon": 1})], ids=str
)
def test_intervals_cover_as_often_as_they_should(space, loss):
    """At all 201 edges of 40 releases, and the band in all: 5 deviations are allowed."""
    runs = releases(space, 40, confidence=0.9, **loss)
    true = truth(EDGES)
    alone, together, quantiles, jointly = [], [], [], []
    shares = np.array([0.1, 0.35, 0.5, 0.9])
    exactly = np.quantile(DATA, shares, method="inverted_cdf")
    for run in runs:
        low, high = run.interval(EDGES)
        alone.append(((low <= true) & (true <= high)).mean())
        low, high = run.band(EDGES)
        together.append(((low <= true) & (true <= high)).all())
        found = run.quantile(shares)
        for ends, held in ((found.intervals, quantiles), (found.joint_intervals, jointly)):
            held.append((ends[:, 0] <= exactly) & (exactly <= ends[:, 1]))
    assert 0.88 < np.mean(alone) < 0.95
    assert abs(np.mean(together) - 0.9) < 5 * sqrt(0.09 / 40)
    assert np.mean(quantiles) > 0.9
    assert np.all(jointly, axis=1).mean() > 0.9
    assert np.mean(run.band(EDGES)[1] - run.band(EDGES)[0]) < 0.12


def test_intervals_hold_wherever_in_a_cell_the_rows_lie():
    """A jump in the middle of a cell: interpolation is off by half of it, intervals hold it."""
    data = np.concatenate([np.full(500, 45.1), np.full(500, 80.0)])
    found = dp.cdf(0, 100, cells=10, rho=100, confidence=0.999999999, sampling=False)(data)
    for x, share in ((42.0, 0.0), (45.0, 0.0), (45.2, 0.5), (48.0, 0.5), (70.0, 0.5), (99.0, 1.0)):
        low, high = found.interval(x)
        assert low <= share <= high
        low, high = found.band(x)
        assert low <= share <= high
    assert found.quantile(0.3).interval == (40, 50)
    assert found.interval(50.0)[1] - found.interval(50.0)[0] < 0.1


RELEASES = {
    "cdf": partial(dp.cdf, 0, 10, cells=12, confidence=0.9),
    **{
        repr(basis): partial(dp.estimators.basis_distribution, basis)
        for basis in (
            dp.bases.Legendre(6, 0, 10),
            dp.bases.Hermite(4, middle=0, scale=1),
            dp.bases.MutuallyUnbiased(5, 0, 1),
        )
    },
}
MORE_QUESTIONS = {
    "density": lambda found: found.density(3.0),
    "median": lambda found: found.quantile(0.5),
    "standard deviation": lambda found: found.standard_deviation(),
}


@pytest.mark.parametrize(
    "data",
    [[], [nan], [inf, -inf], [1e308] * 3, [5e-324], [0.0] * 50, [3.0]],
    ids=["none", "nan", "infinite", "huge", "subnormal", "equal", "one"],
)
@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_any_data_gives_finite_answers(data, loss, name):
    sized = [dp.records(size=len(data), metric=REPLACE)] if data else []
    for space in (dp.records(), *sized):
        found = (space >> RELEASES[name](**loss))(data)
        for asked, ask in {**QUESTIONS, **MORE_QUESTIONS}.items():
            answer = ask(found)
            assert np.isfinite(answer.value).all()
            assert np.isfinite(answer.standard_error).all()
            if asked != "cdf":
                assert type(answer.value) is type(answer.standard_error) is float
        json.dumps(found.as_dict(), allow_nan=False)
        assert "<table>" in found._repr_html_()
        if name != "cdf":
            continue
        for low, high in (found.interval(3.3), found.band(3.3), found.median().interval):
            assert type(low) is type(high) is float
            assert low <= high
        assert all(np.isfinite(column).all() for column in found.table().columns.values())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sampling", [True, False])
def test_a_budget_that_leaves_no_noise_leaves_intervals(sampling):
    """The deviation of the noise was 0, and ratios to it were of 0 and 0."""
    found = dp.cdf(0, 10, epsilon=1e30, sampling=sampling)([1.0, 2.0, 5.0] * 20)
    for low, high in (found.interval(3.0), found.band(3.0)):
        assert low <= 2 / 3 + 1e-9
        assert high >= 2 / 3 - 1e-9
        assert 0.1 < high - low < 0.5 if sampling else high - low < 1e-9


def test_what_it_shows():
    (found,) = releases("private", 1, rho=0.5, confidence=0.9)
    assert repr(found).startswith("<CumulativeDistribution of about 1998 rows, mean 32.422")
    assert repr(found).endswith("at the edges of 200 cells from 0 to 100>")
    every = found.table(at=found.edges).columns
    table = {name: np.array(each) for name, each in every.items()}
    assert list(table) == ["x", "share", "standard_error", "low", "high", "band_low", "band_high"]
    assert {len(column) for column in table.values()} == {201}
    assert np.array_equal(table["share"], found.cdf(EDGES).value)
    assert (table["band_low"] <= table["low"] + 1e-3).all()
    said = found.as_dict()
    assert (said["lower"], said["upper"], said["cells"]) == (0, 100, 200)
    (plain,) = releases("private", 1, rho=0.5)
    assert list(plain.table().columns) == ["x", "share", "standard_error"]
    shown = (dp.records() >> dp.cdf(0, 1, rho=0.5, confidence=None)).explain()
    assert "prefix_features(0, 1)" in shown


@pytest.mark.parametrize(
    ("ends", "cells", "numbers"),
    [
        ((0, 100), 1024, [*(6.25 * each for each in range(17))]),
        ((0, 100), 1000, [*range(0, 101, 5)]),
        ((16, 80), 1024, [16, *range(20, 85, 5)]),
        ((18, 95), 1024, [18, *range(20, 100, 5)]),
        ((-0.25, 1.5), 1024, [-0.25, *(each / 10 for each in range(-2, 16))]),
        ((0, 100), 4, [0, 25, 50, 75, 100]),
        ((0, 23), 23, [*range(0, 24, 2), 23]),
    ],
)
def test_a_table_has_about_twenty_edges_that_read_well(ends, cells, numbers):
    """Within a cell a share is interpolated, and its standard error does not say how far off."""
    found = dp.cdf(*ends, epsilon=1, cells=cells)(list(range(100)))
    edges = [min(edge for edge in found.edges if edge >= number) for number in numbers]
    assert found.table().columns["x"] == found.to_frame()["x"].tolist() == edges
    asked = found.table(at=[ends[0], ends[1]], percent=True)
    assert asked.columns["share"][1] == 100
    assert asked.columns["low"][0] == 100 * found.interval(ends[0])[0]


def test_what_is_asked_wrongly_is_answered_in_words():
    (found,) = releases("private", 1, rho=0.5, confidence=0.9)
    (plain,) = releases("private", 1, rho=0.5)
    for ask, words in (
        (lambda: found.cdf("a"), "cdf: x must be a number"),
        (lambda: found.interval(None), "interval: x must be numbers, got NaN"),
        (lambda: found.band([nan]), "band: x must be numbers, got NaN"),
        (lambda: found.quantile(50), "quantile: q is a share between 0 and 1.*got 50"),
        (
            lambda: found.quantile([[0.5]]),
            r"takes shares in a list, got an array of shape \(1, 1\)",
        ),
        (lambda: found.expectation(5), "expectation takes a function.*got 5"),
        (lambda: found.expectation(lambda x: x[:3]), r"each of the 201.*got shape \(3,\)"),
        (lambda: plain.interval(3.0), "leave out confidence=None"),
        (lambda: plain.band(3.0), "leave out confidence=None"),
    ):
        with pytest.raises(dp.ParameterError, match=words):
            ask()


def test_the_errors_of_the_study():
    """Study, item 13: n = 20 000, rho = 0.5, 1024 cells; medians of 15 runs, in percent."""
    generator = np.random.default_rng(0)
    bells = np.where(generator.random(20_000) < 0.3, 30, 65) + generator.normal(0, 6, 20_000)
    edges = np.linspace(0, 100, 1025)
    true = np.searchsorted(np.sort(bells), edges, side="right") / 20_000
    release = dp.records() >> dp.cdf(0, 100, rho=0.5, confidence=None)
    runs = [release.insecure_release(bells, seed).value for seed in range(15)]
    off = np.array([np.abs(run.cdf(edges).value - true) for run in runs]) * 100
    assert np.median(off.max(axis=1)) < 0.055
    assert np.median(off.mean(axis=1)) < 0.014


@pytest.mark.parametrize(("lower", "upper"), [(0, 120), (-7, 93), (0, 4096), (1, 50)])
def test_whole_numbers_lie_at_edges(lower, upper):
    """As floats, too: 0.57 times 100 is not 57."""
    found = dp.cdf(lower, upper, cells=upper - lower, rho=1, confidence=None)([1.0])
    assert np.array_equal(found.edges, np.arange(lower, upper + 1))


def test_tenths_lie_at_edges():
    found = dp.cdf(0, 10, cells=100, rho=1, confidence=None)([1.0])
    assert np.array_equal(found.edges, np.arange(101) / 10)


@pytest.mark.parametrize(("rows", "loss"), [(100, {"epsilon": 1}), (1000, {"rho": 0.1})])
def test_intervals_hold_the_shares_of_the_population(rows, loss, seeded):
    """By default. Of 150 samples 95 % hold; 86 % would be five deviations fewer."""
    rng, release = np.random.default_rng(7), dp.cdf(0, 1, **loss, cells=20)
    edges = np.linspace(0.05, 0.95, 19)
    alone, together, widths = [], [], []
    for _ in range(150):
        found = release(rng.random(rows))
        low, high = found.interval(0.3)
        alone.append(low <= 0.3 <= high)
        widths.append(high - low)
        low, high = found.band(edges)
        together.append(((low <= edges) & (edges <= high)).all())
    assert min(np.mean(alone), np.mean(together)) > 0.86
    sampled = 2 * 1.96 * (0.3 * 0.7 / rows) ** 0.5
    noise = 2 * 1.96 * found.cdf(0.3).standard_error
    assert np.median(widths) == pytest.approx(np.hypot(sampled, noise), rel=0.15)


def test_a_band_of_a_population_is_as_wide_as_its_theorem():
    """With hardly any noise: Dvoretzky, Kiefer, Wolfowitz for half of the failures, 1 of 40."""
    rows = np.random.default_rng(8).random(20_000)
    found = dp.cdf(0, 1, epsilon=100, cells=20).insecure_release(rows, 1).value
    low, high = found.band(np.linspace(0.1, 0.9, 17))
    assert np.median(high - low) == pytest.approx(2 * (np.log(80) / 40_000) ** 0.5, rel=0.05)


@pytest.mark.parametrize("sampling", [True, False])
def test_the_standard_error_of_a_table_is_of_what_its_interval_is(sampling):
    """Of shares from 0.2 to 0.8, where both ends are about 1.96 of them off."""
    found = dp.cdf(0, 100, epsilon=1, sampling=sampling)(np.linspace(0, 100, 2001))
    rows = [row for row in found.records() if 0.2 < row["share"] < 0.8]
    off = [(row["high"] - row["low"]) / 2 / row["standard_error"] for row in rows]
    assert len(off) > 5
    assert np.array(off) == pytest.approx(1.96, rel=0.3)


def test_a_quantile_prints_with_its_interval_for_the_population():
    """What stands beside the value is what is printed of it: not the noise alone."""
    found = dp.cdf(0, 100, epsilon=1, cells=200).insecure_release(DATA, 1).value
    upper = found.quantile(0.9)
    assert isinstance(upper, dp.Estimate)
    assert upper.interval[0] < np.quantile(DATA, 0.9) < upper.interval[1]
    low, high = upper.noise_interval
    assert upper.interval[0] <= low < upper.value < high <= upper.interval[1]
    assert high - low < upper.interval[1] - upper.interval[0]
    assert "in 95 % of samples like this; " in str(upper)
    assert (upper - 5).value == upper.value - 5
    several = found.quantile([0.1, 0.5, 0.9])
    assert several[0.9].interval == several["0.9"].interval == upper.interval
    assert several.table(digits=0).columns["name"] == ["0.1", "0.5", "0.9"]
    assert found.median().interval == several[1].interval
    assert {"value", "standard_error", "interval", "q"} == set(found.as_dict()["quantiles"][0])


def test_quantiles_of_groups_subtract_and_two_of_one_release_do_not():
    """Groups have other rows and other noise; one release has one noise."""
    table = {"sex": ["f", "m"] * (N // 2), "age": DATA}
    curve = dp.select("age") >> dp.cdf(0, 100, epsilon=1, cells=50, sampling=False)
    found = dp.by("sex", ["f", "m"], curve)(table)
    low, high = (found["f"].median() - found["m"].median()).interval
    assert low < high
    for pair in ([0.1, 0.9], [0.9, 0.1]):
        first, second = map(found["f"].quantile, pair)
        with pytest.raises(dp.ParameterError, match="have the same noise"):
            first - second
