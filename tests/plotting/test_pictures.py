"""The drawn numbers are those of the release or of the law, and each picture can be read."""

import inspect
import re
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from math import exp, sqrt

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from scipy.stats import laplace as laplace_law

import opendp_lite as dp
from opendp_lite.plotting import canvas as palette
from opendp_lite.plotting.of_noise import noise_deviations
from opendp_lite.testing.audits import Refuted

AGES = np.random.default_rng(0).gamma(9, 5, 2000).clip(0, 99)
COUNT = dp.count() >> dp.laplace(epsilon=1)
TOTAL = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
MEANS = {
    "mean": dp.mean(0, 100, epsilon=1, confidence=None),
    "simplex": dp.estimators.simplex_mean(0, 100, epsilon=1),
}
SURVEY = {"sex": ["f", "m"] * 500, "city": ["Rome", "Oslo", "Rome", "Lima"] * 250}
PLOT = dp.plotting


@pytest.fixture(autouse=True)
def canvas():
    """Pictures in memory, closed after each test."""
    mpl.use("Agg")
    yield
    pyplot.close("all")


def cross():
    crossed = dp.histogram(
        ["sex", "city"], categories=[["f", "m"], ["Rome", "Oslo", "Lima"]], epsilon=1
    )
    return (dp.table() >> crossed)(SURVEY)


def by_sex():
    mean = dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=0.95, sampling=False)
    people = {"sex": ["f", "m"] * 1000, "age": AGES}
    return (dp.table() >> dp.by("sex", ["f", "m"], mean))(people)


def drawn(line):
    return np.asarray(line.get_xydata(), dtype=float)


def line_of(ax, label):
    return drawn(next(line for line in ax.lines if line.get_label() == label))


def whiskers(ax, place=0):
    """The ends of the intervals in the axes' containers of error bars."""
    bars = [each for each in ax.containers if not hasattr(each, "datavalues")][place]
    side = 0 if bars.has_xerr else 1
    return np.array([np.asarray(each)[:, side] for each in bars.lines[2][0].get_segments()])


def paid(epsilon, note=""):
    ask = dp.session([1.0] * 9, budget=dp.epsilon(1))
    steps = [dp.count() >> dp.laplace(epsilon=each) for each in epsilon]
    return [ask(each, note=note) for each in steps]


def estimate(value):
    return dp.Estimate(value, 0.5, (value - 1, value + 1), 0.95)


CALLS = {
    "budget_bar": lambda ax: PLOT.budget_bar(paid([0.5, 0.25]), ax=ax),
    "heat_map": lambda ax: PLOT.heat_map(cross(), ax=ax),
    "neighbour_releases": lambda ax: PLOT.neighbour_releases(TOTAL, ax=ax),
    "cdf_curve": lambda ax: PLOT.cdf_curve(
        dp.cdf(0, 100, epsilon=1, cells=32, confidence=None)(AGES), ax=ax
    ),
    "density_curve": lambda ax: PLOT.density_curve(
        dp.cdf(0, 100, epsilon=1, cells=32, confidence=None)(AGES), ax=ax
    ),
    "error_by_loss": lambda ax: PLOT.error_by_loss(
        {"mean": lambda loss: dp.mean(0, 1, epsilon=loss, confidence=None)},
        [0.1, 1],
        n=100,
        guess=0.5,
        ax=ax,
    ),
    "error_by_mean": lambda ax: PLOT.error_by_mean(MEANS, [0, 50], n=100, ax=ax),
    "error_by_rows": lambda ax: PLOT.error_by_rows(MEANS, [100, 1000], guess=50, ax=ax),
    "error_parts": lambda ax: PLOT.error_parts(
        AGES,
        lambda low, high: dp.mean(low, high, epsilon=1, confidence=None),
        lower=0,
        uppers=[20, 99],
        ax=ax,
    ),
    "estimate_intervals": lambda ax: PLOT.estimate_intervals(by_sex(), ax=ax),
    "histogram_bars": lambda ax: PLOT.histogram_bars(cross(), ax=ax),
    "noise_probabilities": lambda ax: PLOT.noise_probabilities(TOTAL, ax=ax),
    "noise_shapes": lambda ax: PLOT.noise_shapes(ax=ax),
    "privacy_curves": lambda ax: PLOT.privacy_curves({"count": COUNT}, ax=ax),
    "simplex_picture": lambda ax: PLOT.simplex_picture(0, 100, ax=ax),
    "tradeoff_curve": lambda ax: PLOT.tradeoff_curve({"count": COUNT}, ax=ax),
}
OTHERS = {"alt_text", "plan_steps"}
"""Of those that do not draw on one pair of axes."""


def test_every_picture_is_called_here():
    assert set(CALLS) | OTHERS == set(PLOT.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_a_picture_is_drawn_on_the_axes_given_and_can_be_read(name):
    mine = pyplot.subplots()[1]
    assert CALLS[name](mine) is mine
    assert mine.get_title()
    assert mine.get_xlabel()
    assert mine.get_ylabel() or mine.get_yticklabels()
    text = PLOT.alt_text(mine)
    assert len(mine.get_label()) > 20
    assert text.startswith(f"{mine.get_title()}. {mine.get_label()}. ")
    assert mine.get_xlabel() in text
    own = CALLS[name](None)
    assert own is not mine
    own.figure.canvas.draw()


@pytest.mark.parametrize("name", sorted(set(PLOT.__all__) - {"alt_text"}))
def test_without_matplotlib_the_extra_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    call = CALLS.get(name, lambda _: PLOT.plan_steps(np.eye(2)))
    with pytest.raises(dp.ParameterError, match=r'pip install "opendp_lite\[plot\]"'):
        call(None)


def test_importing_draws_on_nothing():
    program = (
        "import sys, opendp_lite as dp; assert 'opendp_lite.plotting' not in sys.modules; "
        "dp.plotting.privacy_curves; assert 'matplotlib' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "draw", [PLOT.cdf_curve, PLOT.density_curve, PLOT.histogram_bars, PLOT.estimate_intervals]
)
@pytest.mark.parametrize("data", [AGES, [23.0, 31.0], {"age": [23.0]}], ids=["array", "list", "d"])
def test_pictures_of_releases_refuse_data(draw, data):
    with pytest.raises(dp.ParameterError) as caught:
        draw(data)
    assert "23" not in str(caught.value)
    assert str(AGES[0])[:5] not in str(caught.value)


def test_functions_that_read_data_say_so():
    loud = set()
    for name in PLOT.__all__:
        function = getattr(PLOT, name)
        if any(each.startswith("public_") for each in inspect.signature(function).parameters):
            loud.add(name)
            assert "PUBLIC OR MADE UP" in function.__doc__
    assert loud == {"error_parts", "estimate_intervals", "plan_steps", "simplex_picture"}


@pytest.mark.parametrize(
    ("pipeline", "move", "times"),
    [
        (COUNT, 1, exp(1)),
        (dp.clamp(-3, 2) >> dp.sum() >> dp.laplace(epsilon=0.5), 3, exp(0.5)),
        (dp.clamp(0, 2) >> dp.sum() >> dp.gaussian(scale=4), 2, exp(0.5 + 0.125)),
    ],
    ids=["count", "Laplace", "Gaussian"],
)
def test_neighbours_are_as_far_apart_as_a_row_can_bring_them(pipeline, move, times):
    """At a deviation below, Gaussian odds are e^(mu + mu^2 / 2), and Laplace ones e^epsilon."""
    ax = PLOT.neighbour_releases(pipeline)
    out, beside = (line_of(ax, f"with{end} the row") for end in ("out", ""))
    assert out[out[:, 1].argmax(), 0] == pytest.approx(0, abs=0.02 * move)
    assert beside[beside[:, 1].argmax(), 0] == pytest.approx(move, abs=0.02 * move)
    low, high = sorted(line_of(ax, "_ratio")[:, 1])
    assert high / low == pytest.approx(times, rel=2e-3)
    assert f"{times:.2f}"[:3] in ax.texts[0].get_text()


def test_neighbours_of_several_numbers_are_refused():
    two = dp.records(columns=2) >> dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
    for wrong in (two, dp.mean(0, 1, epsilon=1, confidence=None), dp.compose(COUNT, TOTAL)):
        with pytest.raises(dp.SpaceError, match="noise on one number"):
            PLOT.neighbour_releases(wrong)


def test_a_budget_is_drawn_in_shares(tmp_path):
    def shares(ax):
        return {each.get_label(): each.datavalues[0] for each in ax.containers}

    assert shares(PLOT.budget_bar([*paid([0.5, 0.25], "a"), *paid([0.125])])) == {
        "a: 75 %": 0.75,
        "release 1: 12.5 %": 0.125,
        "left: 12.5 %": 0.125,
    }
    noted = shares(PLOT.budget_bar(paid([0.25], "left")))
    assert noted == {"left: 25 %": 0.25, "left: 75 %": 0.75}
    terms = {"budget": dp.mu(1), "unit": "row", "data": "made up"}
    ledger = dp.Ledger.create(tmp_path / "a.ledger", **terms)
    with pytest.raises(dp.ParameterError, match="nothing was paid"):
        PLOT.budget_bar(ledger)
    ledger.session([1.0] * 9)(dp.count() >> dp.gaussian(mu=0.5))
    assert list(shares(PLOT.budget_bar(ledger)).values()) == [0.25, 0.75]
    for wrong in ([], [3.0], [dp.meter([1.0])(COUNT)]):
        with pytest.raises(dp.ParameterError, match=r"releases of dp\.session in a list"):
            PLOT.budget_bar(wrong)


def test_a_table_of_many_keys_is_a_map():
    found = cross()
    ax = PLOT.heat_map(found)
    assert np.array_equal(ax.images[0].get_array(), found.grid())
    marked = {tuple(each) for each in line_of(ax, "_nobody")}
    ends = found.intervals.reshape(2, 3, 2)
    holds = (ends[..., 0] <= 0) & (ends[..., 1] >= 0)
    assert marked == {(x, y) for y, x in zip(*np.nonzero(holds), strict=True)}
    many = {"sex": ["f", "m"], "visits": [0, 1]}
    keys = [["f", "m"], list(range(8))]
    wide = (dp.table() >> dp.histogram(list(many), categories=keys, epsilon=1))(many)
    assert PLOT.histogram_bars(wide).images
    one = dp.histogram(edges=[0, 50, 100], epsilon=1)(AGES)
    with pytest.raises(dp.ParameterError, match="of two columns"):
        PLOT.heat_map(one)


def test_intervals_that_miss_the_truth_differ():
    ax = PLOT.estimate_intervals([estimate(each) for each in (0, 0.5, 3, 1)], public_truth=1.25)
    assert whiskers(ax).tolist() == [[-0.5, 1.5], [0, 2]]
    assert whiskers(ax, 1).tolist() == [[-1, 1], [2, 4]]
    assert ax.get_title().endswith(": 2 of 4 miss 1.25")
    assert ax.get_label() == "About 0.2 are to miss it by chance"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["1", "2", "3", "4"]


def test_words_say_of_a_curve_how_it_bends():
    gaussian = dp.count() >> dp.gaussian(mu=1)
    text = PLOT.alt_text(PLOT.tradeoff_curve({"Gaussian": gaussian}))
    line = next(each for each in text.split(". ") if each.startswith("Gaussian: claim"))
    assert line.startswith("Gaussian: claim: 1 at 0, ")
    assert line.count(" at ") == 5
    ball = PLOT.alt_text(PLOT.simplex_picture(0, 100))
    assert "Also: what the noise hides: l1 ball" in ball


def test_noise_is_drawn_with_its_exact_probabilities():
    ax = PLOT.noise_probabilities(COUNT, unit="rows")
    steps, chances = line_of(ax, "standard deviation 1.357").T
    law = COUNT.bound.facts.laws[0]
    assert np.allclose(chances, np.exp(law.log_probability(steps, Fraction(0))), rtol=1e-12)
    tail = exp(-1)
    assert np.allclose(chances, (1 - tail) / (1 + tail) * tail ** np.abs(steps), rtol=1e-9)
    ends = {float(line.get_xdata()[0]) for line in ax.lines if line.get_linestyle() == ":"}
    assert ends == {-3.0, 3.0} == {-COUNT.accuracy(0.95), COUNT.accuracy(0.95)}


def test_noise_of_many_values_is_drawn_as_a_density():
    pair = dp.compose(TOTAL, dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=0.25))
    ax = PLOT.noise_probabilities(pair, confidence=0.9)
    for scale, label in ((1, "standard deviation 1.414"), (4, "standard deviation 5.657")):
        places, heights = line_of(ax, label).T
        assert np.allclose(heights, laplace_law.pdf(places, scale=scale), rtol=1e-3)
    assert ax.get_legend_handles_labels()[1][1] == "at least 90 % within ±2.303"


def test_noise_of_no_declared_law_is_refused():
    with pytest.raises(dp.SpaceError, match="declares none"):
        PLOT.noise_probabilities(dp.mean(0, 1, epsilon=1, confidence=None))


@pytest.mark.parametrize("joint", [False, True])
def test_bars_are_the_counts_with_their_intervals(joint):
    found = dp.histogram(edges=[0, 20, 50, 100], epsilon=0.1)(AGES)
    ax = PLOT.histogram_bars(found, joint=joint, unit="years")
    bars = ax.patches
    assert [bar.get_height() for bar in bars] == found.counts.tolist()
    assert [bar.get_x() for bar in bars] == [0, 20, 50]
    assert [bar.get_width() for bar in bars] == [20, 30, 50]
    wanted = found.joint_intervals if joint else found.intervals
    assert np.array_equal(whiskers(ax), wanted)


def test_bars_of_two_columns_stand_in_groups():
    found = cross()
    ax = PLOT.histogram_bars(found)
    groups = [each for each in ax.containers if hasattr(each, "datavalues")]
    assert np.array_equal([each.datavalues for each in groups], found.grid().T)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"city: {city}" for city in ("Rome", "Oslo", "Lima")
    ]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["f", "m"]
    assert len({each[0].get_hatch() for each in groups}) == 3


def test_joint_intervals_of_private_keys_are_refused():
    found = (dp.table() >> dp.histogram("city", epsilon=1, delta=1e-6))(SURVEY)
    with pytest.raises(dp.ParameterError, match="number of keys is private"):
        PLOT.histogram_bars(found, joint=True)
    assert len(PLOT.histogram_bars(found).patches) == len(found)


def test_the_cdf_is_drawn_with_its_band():
    found = dp.cdf(0, 100, epsilon=1, cells=32, confidence=0.95, sampling=False)(AGES)
    ax = PLOT.cdf_curve(found)
    places, shares = line_of(ax, "released share").T
    assert np.array_equal(places, found.edges)
    assert np.array_equal(shares, found.cdf(found.edges).value)
    corners = ax.collections[0].get_paths()[0].vertices
    for x in (10.0, 51.7):
        low, high = found.band(x)
        before, after = found.edges[found.edges <= x][-1], found.edges[found.edges > x][0]
        inside = corners[(corners[:, 0] > before) & (corners[:, 0] < after)]
        assert {low, high} <= {float(y) for y in inside[:, 1]}
    assert ax.collections[0].get_label() == "95 % band for the whole curve"


def test_a_cdf_without_confidence_has_its_standard_errors():
    found = dp.estimators.basis_distribution(dp.bases.Cosine(6, 0, 100), epsilon=1)(AGES)
    ax = PLOT.cdf_curve(found)
    edge = found.edges[len(found.edges) // 2]
    at = found.cdf(edge)
    corners = ax.collections[0].get_paths()[0].vertices
    near = corners[corners[:, 0] == edge]
    assert near[:, 1].max() == pytest.approx(at.value + at.standard_error)
    assert near[:, 1].min() == pytest.approx(at.value - at.standard_error)
    assert "standard error" in ax.collections[0].get_label()


@pytest.mark.parametrize("cells", [8, 32])
def test_the_density_joins_cells(cells):
    found = dp.cdf(0, 100, epsilon=1, cells=32, confidence=None)(AGES)
    ax = PLOT.density_curve(found, cells=cells)
    corners = line_of(ax, "released density")
    edges = np.unique(corners[:, 0])
    assert len(edges) == cells + 1
    shares = np.diff(found.cdf(edges).value)
    assert np.allclose(corners[::2, 1], shares / np.diff(edges), atol=1e-12)
    upper = np.unique(ax.collections[0].get_paths()[0].vertices[:, 1])
    for place, (low, high) in enumerate(pairwise(edges)):
        share = found.expectation(lambda x, low=low, high=high: ((x > low) & (x < high)) * 1.0)
        top = corners[2 * place, 1] + share.standard_error / (high - low)
        assert np.abs(upper - top).min() < 1e-12
    if cells == 32:
        own = found.density((edges[1:] + edges[:-1]) / 2)
        assert np.allclose(corners[::2, 1], own.value, atol=1e-12)


def test_estimates_are_drawn_with_their_intervals():
    found = by_sex()
    ax = PLOT.estimate_intervals(found, unit="years")
    assert drawn(ax.lines[-1])[:, 0].tolist() == [each.value for each in found.values()]
    wanted = [each.interval for each in found.values()]
    assert np.allclose(whiskers(ax), wanted, rtol=1e-12)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["f", "m"]
    assert f"{found['f'].value:.4g}" in PLOT.alt_text(ax)


def test_groups_by_dates_or_years_stand_from_left_to_right():
    keys = dp.periods("month", "2024-01-01", "2024-12-31")
    months = dp.releases.ByGroup("day", {key: estimate(0.1) for key in keys})
    ax = months.plot(unit="hours", public_truth=0.1)
    assert [tick.get_text() for tick in ax.get_xticklabels()][:2] == ["2024-01-01", "2024-03-01"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("day", "estimate (hours)")
    assert drawn(ax.lines[-1])[:, 0].tolist() == list(range(12))
    far = dp.Estimate(1.0, np.inf, (-np.inf, np.inf), 0.95)
    years = dp.releases.ByGroup("year", {1990: estimate(0.1), 1991: far, 1993: estimate(0.3)})
    assert [tick.get_text() for tick in years.plot().get_xticklabels()][1] == "1991 (endless)"
    for unordered in ([1991, 1990, 1993], [1990, 1991], [True, False, 3], ["1", "2", "3"]):
        groups = dp.releases.ByGroup("code", {key: estimate(0.1) for key in unordered})
        assert groups.plot().get_ylabel() == ""


def test_many_estimates_have_some_names_and_shares_are_drawn_in_percent():
    ax = PLOT.estimate_intervals({f"week {at}": estimate(0.1) for at in range(50)}, percent=True)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        f"week {at}" for at in range(0, 50, 3)
    ]
    assert ax.get_xlabel() == "estimate (%)"
    assert drawn(ax.lines[-1])[0, 0] == pytest.approx(10)
    mean = dp.select("age") >> dp.mean(0, 100, epsilon=1)
    people = {"sex": ["f", "m"] * 1000, "age": AGES}
    parts = dp.compose(all=mean, by=dp.by("sex", ["f", "m"], mean))(people)
    ax = PLOT.estimate_intervals(parts)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["all", "f", "m"]


def test_an_interval_without_an_end_is_no_bare_dot():
    """One that says nothing would look like one that is certain."""
    far = dp.Estimate(1.0, np.inf, (-np.inf, np.inf), 0.95)
    half = dp.Estimate(2.0, np.inf, (-np.inf, 3.0), 0.95)
    ax = PLOT.estimate_intervals([dp.Estimate(3.0, 1.0, (1.0, 5.0), 0.95), far, half])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "1",
        "2 (endless)",
        "3 (endless)",
    ]
    across = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in across] == [1, 2]
    assert whiskers(ax).tolist() == [[1, 5]]
    assert "-inf to inf" in PLOT.alt_text(ax)


def test_slopes_and_correlations_are_drawn():
    errors = np.diag([0.03, 0.6]) ** 2
    fit = dp.releases.Regression(
        "wage", ("age", "intercept"), np.array([0.25, -8]), errors, errors, 0.95, 9.0, 6.0, 2.0, ()
    )
    (slope,) = fit.plot().get_yticklabels()
    assert slope.get_text() == "age"
    draw = np.random.default_rng(0).normal(size=(2000, 3))
    links = (dp.records(columns=["a", "b", "c"]) >> dp.covariance(-9, 9, rho=1))(draw).correlation()
    assert [tick.get_text() for tick in links.plot().get_yticklabels()] == ["a, b", "a, c", "b, c"]


def test_estimates_of_many_kinds_are_drawn():
    one = dp.Estimate(3.0, 1.0, (1.0, 5.0), 0.95)
    two = dp.releases.Estimates.around([1.0, 2.0], [1, 1], [2, 2], [3, 3], 0.9, names=("a", "b"))
    named = dp.releases.ByName({"one": one, "two": two})
    ax = PLOT.estimate_intervals(named)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["one", "two, a", "two, b"]
    assert whiskers(ax).tolist() == [[1, 5], [-1, 3], [0, 4]]
    assert "90 % and 95 %" in ax.get_title()
    assert len(drawn(PLOT.estimate_intervals(one).lines[-1])) == 1
    both = dp.releases.ByGroup("sex, age", {("f", 1): one, ("m", 2): one})
    assert [each.get_text() for each in both.plot().get_yticklabels()] == ["f, 1", "m, 2"]
    with pytest.raises(dp.ParameterError, match="'rows' is a float without an interval; add conf"):
        PLOT.estimate_intervals(dp.releases.ByName({"rows": 3.0}))


def test_privacy_curves_are_those_of_the_pipelines():
    both = {"Laplace": COUNT, "Gaussian": dp.count() >> dp.gaussian(rho=0.1)}
    ax = PLOT.privacy_curves(both)
    for name, pipeline in both.items():
        for epsilon, delta in line_of(ax, name)[::20]:
            assert delta == pytest.approx(max(pipeline.delta(epsilon), 1e-12), rel=1e-9)
    pure = line_of(ax, "Laplace")
    assert pure[pure[:, 0] >= 1][:, 1].max() == 1e-12
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"]


def test_pipelines_of_other_neighbours_do_not_compare():
    replaced = dp.records(size=20, metric=dp.ChangeOneDistance()) >> TOTAL
    for draw in (PLOT.privacy_curves, PLOT.tradeoff_curve):
        with pytest.raises(dp.ParameterError, match="same neighbours"):
            draw({"added": TOTAL, "replaced": replaced})
        with pytest.raises(dp.ParameterError, match="needs a pipeline"):
            draw({})


@pytest.mark.parametrize(
    "pipeline", [COUNT, dp.count() >> dp.gaussian(mu=1)], ids=["Laplace", "Gaussian"]
)
def test_the_tradeoff_is_the_claimed_bound(pipeline):
    ax = PLOT.tradeoff_curve({"count": pipeline})
    for alpha, missed in line_of(ax, "count: claim")[20:-20:90]:
        claimed = pipeline.tradeoff(alpha)
        assert claimed - 1e-3 <= missed <= claimed + 1e-9


def test_tests_of_an_audit_lie_above_an_honest_claim(seeded):
    found = dp.audit(TOTAL, [0.0] * 9, [0.0] * 9 + [1.0], releases=1500)
    assert found.tests
    for each in found.tests:
        assert each.releases == 1000
        assert 0 <= each.false_positives <= each.releases
    best = next(each for each in found.tests if each.event == found.event)
    assert {best.false_positives, best.releases - best.false_negatives} == {
        found.hits,
        found.neighbour_hits,
    }
    ax = PLOT.tradeoff_curve({"sum": TOTAL}, audits={"sum": found})
    points = line_of(ax, "sum: audit")
    wanted = sorted((t.false_positives / 1000, t.false_negatives / 1000) for t in found.tests)
    assert points.tolist() == [list(each) for each in wanted]
    for alpha, missed in points:
        assert missed > TOTAL.tradeoff(alpha) - 6 * sqrt(0.25 / 1000)
    assert points[:, 1].min() < 0.45


def test_a_lie_is_drawn_below_its_claim(seeded):
    liar = dp.Measurement(
        TOTAL.bound.input_space,
        TOTAL.bound.output_measure,
        TOTAL.bound.function,
        lambda distance: distance / 4,
    )
    with pytest.raises(AssertionError) as caught:
        dp.audit(liar, [0.0] * 9, [0.0] * 9 + [1.0], releases=1500)
    assert isinstance(caught.value, Refuted)
    found = caught.value.audit
    points = line_of(PLOT.tradeoff_curve({"it": liar}, audits={"it": found}), "it: audit")
    assert min(missed - liar.tradeoff(alpha) for alpha, missed in points) < -0.1


def test_an_audit_without_pipeline_is_refused():
    found = dp.audit(TOTAL, [0.0], [0.0, 1.0], releases=100)
    with pytest.raises(dp.ParameterError, match="the audit 'other' has no pipeline"):
        PLOT.tradeoff_curve({"sum": TOTAL}, audits={"other": found})


def test_errors_are_those_to_expect():
    rows = PLOT.error_by_rows(MEANS, [1000, 100], guess=40)
    means = PLOT.error_by_mean(MEANS, [10, 50], n=300)
    for name, mean in MEANS.items():
        assert line_of(rows, name).tolist() == [
            [n, dp.expected_error(mean, n=n, guess=40)] for n in (100, 1000)
        ]
        assert line_of(means, name).tolist() == [
            [guess, dp.expected_error(mean, n=300, guess=guess)] for guess in (10, 50)
        ]
    made = {"mean": lambda loss: dp.mean(0, 100, rho=loss, confidence=None)}
    losses = PLOT.error_by_loss(made, [0.1, 0.01], n=300, guess=40, loss="rho")
    assert line_of(losses, "mean").tolist() == [
        [loss, dp.expected_error(dp.mean(0, 100, rho=loss, confidence=None), n=300, guess=40)]
        for loss in (0.01, 0.1)
    ]
    with pytest.raises(dp.ParameterError, match="two numbers or more"):
        PLOT.error_by_rows(MEANS, [100], guess=40)


def test_the_parts_of_an_error():
    def make(low, high):
        return dp.mean(low, high, epsilon=0.1, confidence=None)

    ax = PLOT.error_parts(AGES, make, lower=0, uppers=[30, 60, 99])
    for place, upper in enumerate((30.0, 60.0, 99.0)):
        clipped = AGES.clip(0, upper)
        parts = [
            AGES.mean() - clipped.mean(),
            clipped.std(ddof=1) / sqrt(len(AGES)),
            dp.expected_error(make(0, upper), n=len(AGES), guess=clipped.mean()),
        ]
        found = [line_of(ax, name)[place] for name in ("clipping", "sampling", "noise")]
        assert [x for x, _ in found] == [upper] * 3
        assert [y for _, y in found] == pytest.approx(parts, rel=1e-9, abs=1e-12)
        whole = line_of(ax, "the whole")[place][1]
        assert whole == pytest.approx(sqrt(sum(each**2 for each in parts)))
    for wrong in ([1.0], [1.0, np.inf]):
        with pytest.raises(dp.ParameterError, match="public_data must be two finite numbers"):
            PLOT.error_parts(wrong, make, lower=0, uppers=[1, 2])
    with pytest.raises(dp.ParameterError, match="uppers must be above lower"):
        PLOT.error_parts(AGES, make, lower=40, uppers=[30, 60])


def test_rows_on_the_simplex_all_use_the_whole_loss():
    ax = PLOT.simplex_picture(20, 80, public_values=[20, 35, 90])
    points = line_of(ax, "example rows")
    assert points.tolist() == [[0, 60], [15, 45], [60, 0]]
    radius = (dp.clamp(20, 80) >> dp.simplex_augment() >> dp.sum()).map(1).l1
    assert np.abs(points).sum(axis=1) == pytest.approx(float(radius))
    ball = ax.patches[0].get_xy()
    assert np.abs(ball).sum(axis=1) == pytest.approx(float(radius))


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 7.0, np.inf])
def test_every_shape_of_noise_loses_the_same(power):
    spreads = np.array([4.0, 1.0])
    scales = noise_deviations(spreads, power)
    assert ((spreads / scales) ** 2).sum() == pytest.approx(1)
    if 0 < power < np.inf:
        moment = (scales**power).sum()
        for tilt in (0.98, 1.02):
            other = scales * [tilt, 1.0]
            other = other * np.linalg.norm(spreads / other)
            assert (other**power).sum() > moment


def test_shapes_of_noise_are_one_standard_deviation():
    ax = PLOT.noise_shapes((4, 1), rho=2)
    circle = line_of(ax, "no scaling")
    assert np.hypot(*circle.T) == pytest.approx(sqrt(17) / 2)
    even = line_of(ax, "budget split evenly")
    assert even.max(axis=0) == pytest.approx([4 * sqrt(2) / 2, sqrt(2) / 2], rel=1e-3)


def test_the_steps_of_plan():
    rows = np.random.default_rng(1).normal([30, -2], [9, 1], (300, 2))
    panels = PLOT.plan_steps(rows, rho=0.1, kept=0.8)
    assert len(panels) == 4
    clipped = line_of(panels[2], "clipped")
    radius = line_of(panels[2], "radius").max()
    lengths = np.linalg.norm(clipped, axis=1)
    assert lengths.max() <= radius * (1 + 1e-9)
    assert np.mean(lengths < radius * (1 - 1e-9)) == pytest.approx(0.8, abs=0.01)
    scaled = line_of(panels[1], "and scaled")
    deviations = rows.std(axis=0)
    shape = np.sqrt(deviations + deviations.mean())
    assert scaled == pytest.approx((rows - np.median(rows, axis=0)) / shape, abs=1e-4)
    mean, released = line_of(panels[3], "mean of the rows"), line_of(panels[3], "private mean")
    assert mean[0] == pytest.approx(rows.mean(axis=0))
    noise = shape * 2 * radius / sqrt(0.2) / 300
    assert (np.abs(released - mean)[0] < 6 * noise + 1).all()
    again = line_of(PLOT.plan_steps(rows, rho=0.1, kept=0.8)[3], "private mean")
    assert np.array_equal(again, released)
    panels[2].figure.canvas.draw()
    top = panels[2].transData.transform([(0, radius)])[0, 1]
    assert panels[2].get_legend().get_window_extent().y0 > top, "the legend hides the circle"
    assert panels[2].get_ylim()[0] < -radius
    with pytest.raises(dp.ParameterError, match="rows of two columns, got shape"):
        PLOT.plan_steps(np.zeros((5, 3)))
    with pytest.raises(dp.ParameterError, match="four axes, got 2"):
        PLOT.plan_steps(rows, ax=panels[:2])


def luminance(color: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one: str, other: str) -> float:
    """As WCAG defines it: 1 where both are the same, 21 for black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_of_drawings_stand_out_on_light_and_on_dark():
    """The contrast of graphics that WCAG 2.1 asks for, 3 to 1, on white and on nearly black."""
    colours = set(re.findall(r"#[0-9a-f]{6}", (COUNT >> abs)._repr_html_()))
    assert len(colours) == 3
    for each in colours:
        assert contrast(each, "white") > 3
        assert contrast(each, "#111111") > 3


def over(color, alpha, ground):
    """What shows of a colour that lets the ground through."""
    return tuple(alpha * np.array(to_rgb(color)) + (1 - alpha) * np.array(to_rgb(ground)))


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", sorted({*CALLS, "plan_steps"}))
def test_all_that_is_drawn_shows_in_light_and_in_dark(name, style):
    with pyplot.style.context(style):
        found = CALLS[name](None) if name in CALLS else PLOT.plan_steps(np.eye(2))
        for ax in np.atleast_1d(found):
            ground = ax.get_facecolor()
            grid = ax.xaxis.get_gridlines()[0]
            assert contrast(over(grid.get_color(), grid.get_alpha(), ground), ground) < 1.6
            filled = [each.get_facecolor() for each in ax.patches]
            filled += [color for each in ax.collections for color in each.get_facecolor()]
            faint = [
                color for color in filled if contrast(over(color, color[3], ground), ground) < 1.15
            ]
            assert faint == []
            drawn = [line.get_color() for line in ax.lines]
            drawn += [color for each in ax.collections for color in each.get_edgecolor()]
            drawn += [text.get_color() for text in ax.texts]
            assert [color for color in drawn if contrast(color, ground) < 2] == []


def test_lines_differ_in_colour_and_in_dashes():
    styles = [palette.line_style(place) for place in range(35)]
    assert len({(each["color"], each["linestyle"]) for each in styles}) == 35
    assert len({each["linestyle"] for each in styles[:5]}) == 5
    assert len({palette.marked_style(place)["marker"] for place in range(7)}) == 7
    assert len({palette.bar_style(place)["hatch"] for place in range(7)}) == 7
    assert all(contrast(each["color"], "white") > 2 for each in styles)
    assert all(contrast(each["color"], "black") > 2 for each in styles)
