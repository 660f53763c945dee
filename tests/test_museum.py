"""Published privacy defects of other libraries, each as a test of this one.

Each test carries the places where the defect was reported and what went wrong there; its docstring
says what holds here. ``python -m tests.test_museum`` writes the table of docs/museum.md.
"""

import inspect
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import comb, exp, isfinite, log, log1p
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import norm

import opendp_lite as dp
from opendp_lite.combinators.losses_of_samples import SampledGaussianProfile
from opendp_lite.measurements import thresholds
from opendp_lite.measures.profile import ConcentratedProfile, GaussianProfile
from opendp_lite.numbers.exact import NEGLIGIBLE
from opendp_lite.spaces.tables import tables_in
from opendp_lite.testing.stable import _Case
from tests.museum_peers import DIFFPRIVLIB, IBM

F = Fraction
NAN, INF = float("nan"), float("inf")
PAGE = Path(__file__).resolve().parent.parent / "docs/museum.md"
HEAD = "| reported as | what went wrong there | what holds here | test |\n|---|---|---|---|\n"
OPENDP, CORE, SDK = "opendp/opendp", "opendp/smartnoise-core", "opendp/smartnoise-sdk"
GOOGLE = "google/differential-privacy"
TUMULT, OPACUS, SYFT = "opendp/tumult-core", "meta-pytorch/opacus", "OpenMined/PySyft"
PEOPLE = dp.records(columns=["id", "group", "x"], person="id")
REPLACED = dp.records(size=16, metric=dp.ChangeOneDistance())


@attrs.frozen
class Exhibit:
    """A defect: where it was reported, what went wrong, and the test."""

    place: str
    number: int | str
    wrong: str
    test: Callable[[], None]

    @property
    def name(self) -> str:
        return f"{self.place}#{self.number}"

    @property
    def row(self) -> str:
        holds = " ".join((inspect.getdoc(self.test) or "").split())
        if isinstance(self.number, int):
            link = f"[{self.name}](https://github.com/{self.place}/issues/{self.number})"
        else:
            link = f"{self.place}, changelog of {self.number}"
        return f"| {link} | {self.wrong} | {holds} | `{self.test.__name__}` |\n"


EXHIBITS: list[Exhibit] = []


def bug(place: str, number: int | str, wrong: str):
    """Declares where a defect was reported that the test shows to be none here."""

    def declare(test: Callable[[], None]) -> Callable[[], None]:
        EXHIBITS.append(Exhibit(place, number, wrong, test))
        return test

    return declare


def keeps(step, one, two, distance: int = 1, space=None, rows: bool = False) -> None:
    """Two datasets so far apart come out no further apart than the step's map says, exactly."""
    bound = step.bind(dp.records() if space is None else space)
    case = _Case(step, bound, 0)
    wide = tables_in(bound.input_space.domain).columns
    first, second = (
        case.run(np.asarray(each, dtype=np.float64).reshape(-1, wide)) for each in (one, two)
    )
    assert case.fault(first, second, distance) is None


def refused(make, words: str) -> None:
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()


# --- choices and thresholds ---------------------------------------------------------------------


@bug(OPENDP, 2911, "The noisy maximum flips and permutes, and was priced as a bounded range.")
def test_a_noisy_maximum_has_the_price_of_its_own_law():
    """Its zCDP loss is above the Renyi divergence of its exact law, and a range's is below."""
    choice = dp.vector(2, dp.metrics.LInfDistance()) >> dp.noisy_max(epsilon=1)
    equal, apart = (0.5, 0.5), (1 - exp(-1) / 2, exp(-1) / 2)
    found = log(sum(p * p / q for p, q in zip(equal, apart, strict=True))) / 2
    assert 1 / 8 < found <= (choice >> dp.to_zcdp()).map(1)


class TiedAtFive:
    """Noise that brings every count to 5."""

    def release(self, counts, exponent: int, entropy):
        return np.full(len(counts), 5)


@attrs.frozen
class Tied(thresholds.LaplaceThreshold):
    law = TiedAtFive()


@attrs.frozen
class FoundKeys:
    keys: tuple[str, ...] = ("rare",)
    counts: tuple[int, ...] = (1,)


@bug(OPENDP, 2922, "A noisy count at the threshold itself was released and not counted in delta.")
def test_a_tie_with_the_threshold_is_in_delta():
    """A tie shows the key, and delta is the tail of the noise with the tie."""
    assert Tied(5, F(1)).pass_on(FoundKeys(), None) == {"rare": 5}  # type: ignore[arg-type]
    tail = sum(exp(-k) for k in range(4, 60)) * (1 - exp(-1)) / (1 + exp(-1))
    assert tail <= thresholds.LaplaceThreshold(5, F(1)).chance(1) <= tail * (1 + 1e-5)


@bug(SDK, 204, "The threshold was that of Laplace noise, and the noise was Gaussian.")
def test_a_threshold_is_that_of_its_own_noise():
    """Each noise computes its chance from its own tail."""
    change, delta = thresholds.Change(1, 1, 1), F(1, 10**6)
    way = thresholds.GaussianThreshold.costing(change, F(1), delta).meet(change, delta)
    assert norm.sf((way.least - 1.5) / float(way.law.scale)) <= way.chance(1) <= delta
    cut = thresholds.TruncatedThreshold.costing(change, F(1)).meet(change, delta)
    assert cut.chance(1) <= delta < attrs.evolve(cut, least=cut.least - 1).chance(1)


@bug(OPENDP, "0.4.0", "Histograms of found keys underestimated what a row moves.")
@bug(OPENDP, 941, "The noise on counts of found keys was in floats, with a small violation.")
def test_counts_of_found_keys_are_whole_and_pay_for_both_keys_of_a_replaced_row():
    """Counts are whole, with discrete noise; a replaced row pays for the key that it left."""
    assert thresholds.LaplaceThreshold(9, F(2)).loss(thresholds.Change(1, 1, 2))[0] == 1
    assert thresholds.LaplaceThreshold(9, F(2)).loss(thresholds.Change(1, 1, 1))[0] == F(1, 2)
    found = dp.table() >> dp.select("x") >> dp.measurements.thresholded_counts(epsilon=5, delta=0.1)
    assert {type(each) for each in found({"x": ["a"] * 99}).values()} == {int}


@bug(TUMULT, "0.1.1", "The parts of a released table followed those of the private one.")
def test_found_keys_come_in_an_order_of_their_own():
    """The same keys come in the same order, however the rows lie."""
    found = (
        dp.table() >> dp.select("x") >> dp.measurements.thresholded_counts(epsilon=50, delta=0.1)
    )
    rows = ["b"] * 90 + ["c"] * 95 + ["a"] * 100
    assert list(found({"x": rows})) == list(found({"x": rows[::-1]}))


@bug("alan-turing-institute/reprosyn", 38, "The categories were read from the private rows.")
@bug("hazy/dpart", 6, "The bounds of columns were read from the private rows.")
def test_categories_are_declared_or_cost_delta():
    """Categories that nobody declared need a delta, and each declared one is released."""
    refused(lambda: dp.records() >> dp.histogram(epsilon=1), "keys that are not declared need")
    shown = dp.table() >> dp.histogram("x", categories=["a", "b"], epsilon=1)
    assert [len(shown({"x": rows}).counts) for rows in ([], ["a"] * 9, ["z"])] == [2, 2, 2]


# --- sums ---------------------------------------------------------------------------------------


@bug(OPENDP, 2923, "One row moved the rounding of the mean, and so each squared deviation.")
def test_squares_around_a_centre_are_exact():
    """Sums of squares are exact on a public grid: a row moves its own term alone."""
    low = 2.0**50
    step = dp.clamp(low, low + 1) >> dp.center(low + 0.5) >> dp.transformations.square() >> dp.sum()
    keeps(step, [low + 0.25] * 1024, [low + 0.5] + [low + 0.25] * 1023, 2)


@bug(OPENDP, 2925, "Sums within a tree of counts wrapped around at the largest integer.")
@bug(GOOGLE, 40, "A sum of many integers overflowed.")
@bug("privcount/privcount", 195, "Counts were not protected against overflow.")
def test_no_sum_wraps_around():
    """Sums are exact beyond 64 bits."""
    step = dp.clamp(-(2**62), 2**62) >> dp.sum()
    for many in (2, 3, 8, 9, 600):
        keeps(step, [2.0**62] * many, [2.0**62] * (many - 1))
        keeps(step, [-(2.0**62)] * many, [-(2.0**62)] * (many - 1))


@bug(OPENDP, 2941, "A column of 32-bit floats overflowed that was taken for one of 64 bits.")
def test_narrow_floats_are_summed_exactly():
    """The sum of 32-bit floats is the exact one."""
    total = (dp.clamp(-1e38, 1e38) >> dp.sum()).bind(dp.records())
    rows = np.array([1e38] * 4 + [-1e38] * 7, dtype=np.float32)
    apart = [
        float(total.function(total.input_space.domain.to_internal(each)).exact[0])
        for each in (rows, rows[1:])
    ]
    assert abs(apart[0] - apart[1]) <= 1e38


@bug(GOOGLE, 126, "Rounding within sums of floats moves more than a row's bound.")
@bug(GOOGLE, 127, "A float sum depends on the order of its rows.")
def test_sums_know_no_order_and_no_rounding():
    """The sum of any rows in any order is the same exact number."""
    step = dp.clamp(0, 2**53) >> dp.sum()
    keeps(step, [2.0**53] + [1.0] * 99, [2.0**53, *[1.0] * 98, 2.0**-9])
    rows = np.geomspace(1e-9, 2.0**53, 200)
    keeps(step, rows, rows[::-1], 0)


@bug(OPENDP, 314, "Half of an odd range was cut to a whole number.")
def test_distances_are_exact_fractions():
    """A replaced row moves a sum by the whole range, as an exact fraction."""
    for high in (F(1), F(3), F(1, 2), F(7, 3)):
        assert (REPLACED >> dp.clamp(0, high) >> dp.sum()).map(1).l1 == high


@bug(CORE, 356, "The sensitivity of a mean was divided by the number of the rows at hand.")
@bug(OPACUS, 571, "A batch's gradient was divided by a number of rows that is private.")
def test_a_private_number_of_rows_divides_nothing():
    """Where rows come and go, a sum moves by a row's bound, and the number of rows is paid for."""
    assert (dp.clamp(0, 10) >> dp.sum()).map(1).l1 == 10
    mean = dp.mean(0, 10, epsilon=1, confidence=None).bind(dp.records())
    assert [float(mean.privacy_map(F(rows))) for rows in (1, 2)] == [1.0, 2.0]
    assert all(0 <= mean(rows) <= 10 for rows in ([], [10.0]))


@bug(SDK, 317, "A sum over a column without bounds was released without noise.")
@bug(IBM, 20, "Bounds that nobody gave were read from the private rows, with a warning.")
def test_a_sum_without_bounds_is_refused():
    """A sum of unbounded rows is refused before any data is read; nothing reads bounds for free."""
    refused(lambda: dp.records() >> dp.sum(), "sum needs bounded values")


@bug(SDK, 622, "The clipped rows were put aside, and the covariance was that of the raw ones.")
@bug(CORE, 154, "The sensitivity of a covariance lacked an axis.")
@bug(IBM, 23, "The noise of a covariance did not make it private (the Wishart mechanism).")
@bug(IBM, 42, "The same mechanism was still there a year later.")
def test_a_covariance_is_of_clipped_rows():
    """Products of clipped rows move by what their map says, whatever the rows were."""
    step = dp.clamp([-1, -1], [1, 1]) >> dp.transformations.outer_products() >> dp.sum()
    space = dp.records(columns=2)
    for row in ([1e9, 1e9], [1, 1], [-1, 1], [INF, -INF], [NAN, 1]):
        keeps(step, [[0.5, 0.5], row], [[0.5, 0.5]], space=space)


@bug(IBM, 105, "The square of a feature had the sensitivity of its lower bound: 0 for (0, 100).")
@bug(IBM, 104, "The same, and centring shared one part of the budget without adding up.")
def test_squares_move_by_the_larger_bound():
    """The square of a row in (0, 100) moves a sum by 10 000, and parts of a budget add up."""
    step = dp.clamp(0, 100) >> dp.transformations.square() >> dp.sum()
    assert step.map(1).l1 == 10_000
    keeps(step, [100.0], [])
    both = dp.compose(dp.count() >> dp.laplace(epsilon=0.5), dp.count() >> dp.laplace(epsilon=0.5))
    assert both.map(1) == 1.0


@bug(GOOGLE, 405, "NaN passed the clamp; a product of sensitivities overflowed to infinity.")
@bug(OPENDP, 2935, "Noise took NaN for 0, so that a sum over a missing value was 0 with noise.")
@bug(OPENDP, 1673, "Domains of floats were taken to hold no NaN.")
def test_a_missing_value_moves_a_sum_no_more_than_a_row():
    """A missing value is left out or stands at the centre, and bounds that overflow are refused."""
    for step in (dp.clamp(0, 1) >> dp.sum(), dp.clamp(5, 6) >> dp.sum(), dp.count()):
        keeps(step, [NAN] + [1.0] * 99, [1.0] * 99)
        keeps(step, [INF] + [1.0] * 99, [1.0] * 99)
    keeps(dp.clamp(0, 1) >> dp.sum(), [NAN] + [1.0] * 15, [1.0] * 16, space=REPLACED)
    huge = dp.clamp(-1e308, 1e308) >> dp.sum()
    refused(lambda: dp.records() >> huge, "cannot be summed")


@bug(OPENDP, 2936, "A missing value could be filled with NaN, in a column said to hold none.")
def test_missing_values_are_filled_with_numbers():
    """The filling value is a finite number."""
    for value in (NAN, INF):
        refused(lambda value=value: dp.impute(value), "must be finite")


# --- rows ---------------------------------------------------------------------------------------


@bug(OPENDP, 2938, "A cast that fails made values missing, and a public number of rows was free.")
@bug(OPENDP, 2939, "Cutting NaN into bins made values missing, and their number was free.")
@bug(OPENDP, 2940, "A remainder by zero made values missing, and their number was free.")
def test_a_public_number_of_rows_is_never_counted():
    """Where the number of rows is public nothing counts or drops rows; bins and functions pay."""
    refused(lambda: REPLACED >> dp.count(), "the number of rows is public")
    refused(lambda: REPLACED >> dp.drop_nan(), "holds fixed")
    one, two = [NAN] + [1.0] * 15, [1.0] * 16
    keeps(dp.bins([0, 1.5, 3]) >> dp.sum(), one, two, space=REPLACED)

    @dp.stage
    def remainder(space: dp.Space[dp.Rows]) -> Any:
        return dp.row_map(space, lambda rows: np.mod(3, rows), dp.bodies.Box(0, 3))

    with np.errstate(all="ignore"):
        keeps(remainder() >> dp.sum(), [0.0] + [3.0] * 15, [3.0] * 16, space=REPLACED)


@bug(OPENDP, 2944, "Codes of bins followed their order in the data, so one row moved them all.")
def test_a_row_has_the_bin_of_its_value():
    """Bins are numbered by the declared edges."""
    keeps(dp.bins([0, 1, 3]) >> dp.sum(), [2.0] + [0.5] * 100, [0.5] * 100)
    keeps(dp.one_hot([0.5, 2.0]) >> dp.sum(), [2.0] + [0.5] * 100, [0.5] * 100)


@bug(OPENDP, 2926, "An order-sensitive distance was halved as if rows had no order.")
@bug(OPENDP, 2927, "A dataset of the right size was shuffled by resizing, which order counts.")
def test_rows_have_no_order():
    """Distances count rows in any order, and a resized dataset has each row that it can keep."""
    rows = [0.0, 1.0, 2.0]
    keeps(dp.clamp(0, 9) >> dp.resize(3, fill=0), [*rows, 9.0], rows)
    keeps(dp.clamp(0, 9) >> dp.resize(3, fill=0), rows, rows[::-1], 0)


@bug(OPENDP, 355, "Rows that were removed and then filled up were counted once.")
def test_resizing_counts_what_it_fills_up():
    """Each removed row is one replaced row, filled up or not."""
    step = dp.clamp(0, 9) >> dp.resize(3, fill=0)
    for kept in range(3):
        keeps(step, [9.0] * 3, [9.0] * kept, 3 - kept)
    keeps(step >> dp.sum(), [9.0] * 3, [], 3)


@bug(OPENDP, 2930, "Vectors of other lengths were neighbours, and their noisy length showed it.")
def test_the_shape_of_a_release_is_public():
    """A space has a public number of entries, and another one is refused."""
    noisy = dp.vector(2) >> dp.laplace(scale=1)
    assert len(noisy([1.0, 2.0])) == 2
    refused(lambda: noisy([1.0]), "needs a vector of 2 entries")


@bug(OPENDP, 2950, "Pairs of rows were said to move by one for one row; one row moves two.")
def test_a_row_moves_two_pairs():
    """A mechanism on random pairs costs for one row what it costs for two."""
    total = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(scale=1)
    pairs = dp.combinators.on_random_pairs(total)
    assert pairs.map(1) == total.map(2) == 2.0


@bug(OPENDP, 2945, "A group of at most k rows was said to change by k; all replaced are 2 k.")
def test_replaced_rows_of_a_group_count_twice():
    """Three replaced rows are three gone and three come, in each group."""
    space = dp.records(columns=["key", "x"], size=3, metric=dp.ChangeOneDistance())
    sums = dp.by(
        "key", ["a"], dp.select("x") >> dp.clamp(-10, 10) >> dp.sum() >> dp.laplace(scale=30)
    )
    assert (space >> sums).map(3) >= 2


@bug(OPENDP, 2949, "A bound on the rows of a group outlived a step that merged the groups.")
def test_a_bound_on_groups_ends_where_values_change():
    """After a step that changes values, a person's 100 groups may all be one."""

    @dp.stage
    def merge(space: dp.Space[dp.Rows]) -> Any:
        return dp.row_map(space, lambda rows: rows * 0, space.domain.body)

    chosen = PEOPLE >> dp.bound_contributions(1, groups=("group", 100)) >> dp.select("group")
    assert (chosen >> dp.one_hot(range(200)) >> dp.sum()).map(1) == dp.Norms(l1=100, l2=10, linf=1)
    merged = chosen >> merge() >> dp.one_hot([0, 1]) >> dp.sum()
    assert merged.map(1) == dp.Norms(l1=100, l2=100, linf=100)


@bug(GOOGLE, 84, "Values that people share slipped through the bound on what a person gives.")
@bug(GOOGLE, 87, "A search for bounds forgot that a person may have several rows.")
def test_people_pay_for_all_of_their_rows():
    """A number of values moves by the rows kept of a person; a search for bounds pays for them."""
    chosen = dp.bound_contributions(3) >> dp.count_distinct("x")
    others = [[person, 0, person % 5] for person in range(20)]
    keeps(chosen, others, others + [[99, 0, value] for value in range(50)], space=PEOPLE)
    search = dp.private_bounds(0.9, epsilon=1)
    rows = PEOPLE >> dp.bound_contributions(4) >> dp.select("x")
    assert (rows >> search).map(1) == 1.0
    assert (attrs.evolve(dp.records(), unit=F(4)) >> search).privacy_map(F(1)) >= F(1, 4)


@bug(TUMULT, "0.3.0", "Missing values could be filled in the column that rows are grouped by.")
def test_ids_are_not_filled():
    """A table of people takes no step that changes ids."""
    refused(lambda: PEOPLE >> dp.impute(0), "bound_contributions")


@bug(TUMULT, "0.9.0", "Groups with missing values were dropped, or came out as NaN.")
def test_every_declared_group_is_released():
    """All declared groups come out, with a number each, whatever their rows are."""
    means = dp.by("key", ["a", "b", "c"], dp.select("x") >> dp.mean(0, 1, epsilon=1))
    found = means({"key": ["a", None, "b"], "x": [NAN, 1.0, INF]})
    assert set(found) == {"a", "b", "c"}
    assert all(isfinite(each.value) for each in found.values())


# --- noise --------------------------------------------------------------------------------------

FLOATS = "The bits of noise in floats told the value: "


@bug(OPENDP, 414, FLOATS + "sums have the precision of the larger number.")
@bug(CORE, 242, FLOATS + "plain Laplace noise.")
@bug(SDK, 461, FLOATS + "such noise was used unasked.")
@bug(IBM, 19, FLOATS + "plain Laplace noise.")
@bug(IBM, 94, FLOATS + "more samples do not mend it.")
@bug("world-federation-of-advertisers/cross-media-measurement", 1357, FLOATS + "plain samplers.")
def test_releases_lie_on_a_public_grid():
    """Releases of 0 and of a third are multiples of one public step."""
    for noise in (dp.laplace(scale=1), dp.gaussian(scale=1)):
        noisy = dp.vector(64) >> noise
        for value in (0.0, 1 / 3, 1e-300):
            steps = np.asarray(noisy(np.full(64, value))) * 2.0**20
            assert (steps == np.rint(steps)).all()


@bug(OPENDP, 182, "A sampled minus zero made the noise NaN.")
@bug(OPENDP, 104, "Noise that ends at bounds had a delta of its own for a value outside of them.")
@bug(CORE, 319, "The bounds of geometric noise could be passed by.")
def test_noise_is_a_number_for_every_value():
    """Releases of any floats are finite, and a clamp comes before the noise, not after it."""
    noisy = dp.vector(7) >> dp.laplace(scale=1)
    assert np.isfinite(noisy([-0.0, 0.0, NAN, INF, -INF, 5e-324, 1e308])).all()
    keeps(dp.clamp(0, 10) >> dp.sum(), [1e300], [10.0], 0)


@bug(CORE, 316, "A sign of the analytic Gaussian mechanism was wrong: too little noise.")
def test_gaussian_noise_meets_its_budget():
    """The noise for (epsilon, delta) has a delta of at most that, by the exact formula."""
    for epsilon, delta in ((0.01, 1e-9), (0.1, 0.3), (1, 1e-6), (9, 1e-3), (0.5, 0.01)):
        noisy = dp.scalar() >> dp.gaussian(epsilon=epsilon, delta=delta)
        mu = 1 / noisy.facts.laws[0].standard_deviation
        met = norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert 0.99 * delta < met <= delta * (1 + 1e-9)


@bug(IBM, 28, "Noise came from a generator whose next numbers can be predicted.")
def test_no_seed_of_others_moves_the_noise():
    """Noise comes from the system; numpy's seed changes nothing."""
    noisy, found = dp.vector(8) >> dp.laplace(scale=1), []
    for _ in range(2):
        np.random.seed(0)
        found.append(tuple(noisy(np.zeros(8))))
    assert found[0] != found[1]


@bug(SDK, 572, "A quantile was released for 1491 equal rows, and failed for 1492.")
@bug(IBM, 107, "A quantile failed where many rows are equal.")
def test_a_quantile_fails_for_no_data():
    """Weights are compared by their exponents, so none is lost to underflow."""
    median = dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)
    for rows in (1491, 1492, 200_000):
        assert 0 <= median([0.0] * rows + [1.0]) <= 1


@bug(TUMULT, "0.1.1, quantiles", "A quantile for zCDP stated a pure loss.")
def test_a_quantile_states_the_loss_that_was_asked():
    """Each budget gives a loss under its own measure."""
    made = [
        dp.private_quantile(0.5, bounds=(0, 1), confidence=None, **budget).bind(dp.records())
        for budget in ({"rho": 1}, {"epsilon": 1})
    ]
    assert [each.output_measure for each in made] == [
        dp.ZeroConcentratedDivergence(),
        dp.MaxDivergence(),
    ]


# --- accounting ---------------------------------------------------------------------------------


@bug(OPENDP, 2933, "Two releases of one secret sample each had the price of a sample.")
@bug(OPACUS, 813, "The rate of a sample was computed from the wrong number.")
def test_a_sample_is_drawn_for_all_that_reads_it():
    """`sample` draws itself; two releases of one sample are composed first, and pay for both."""
    one = dp.count() >> dp.laplace(epsilon=1)
    both = dp.sample(F(1, 10), dp.compose(one, one))
    assert float(both.loss(1)) >= log1p((exp(2) - 1) / 10) * (1 - 1e-12)
    two = dp.compose(dp.sample(F(1, 10), one), dp.sample(F(1, 10), one))
    assert float(two.loss(1)) >= 2 * log1p((exp(1) - 1) / 10) * (1 - 1e-12)
    assert float(two.loss(1)) < float(both.loss(1))


@bug(SDK, 621, "A term of advanced composition lacked its logarithm.")
def test_compositions_are_above_the_exact_law():
    """Twenty noisy counts, each as bad as randomised response, lose no more than is stated."""
    level, count = F(1, 10), 20
    stated = dp.compose(*[dp.count() >> dp.laplace(epsilon=level)] * count)
    p = 1 / (1 + exp(-0.1))
    for epsilon in (0.2, 0.5, 1.0):
        true = sum(
            comb(count, k)
            * max(0, p**k * (1 - p) ** (count - k) - exp(epsilon) * p ** (count - k) * (1 - p) ** k)
            for k in range(count + 1)
        )
        assert true <= stated.delta(epsilon) <= 1.2 * true + 1e-12


@bug(OPENDP, 2820, "The delta of a zCDP loss was rounded to the wrong side.")
@bug(OPENDP, 621, "A large delta turned a zCDP loss into a negative epsilon.")
@bug(OPENDP, 845, "A delta of 0 made the conversion of a zCDP loss run for ever.")
def test_conversions_of_zcdp_hold_and_end():
    """A zCDP curve is above its Gaussian's; no epsilon is negative; a delta of 0 is refused."""
    for rho in (F(1, 1000), F(1, 2), F(9)):
        curve, true = ConcentratedProfile(rho), GaussianProfile(2 * rho)
        # Below 1e-340 a Gaussian's is rounded up to that.
        assert all(curve.delta(e) + NEGLIGIBLE >= true.delta(e) for e in (F(0), F(1, 10), F(20)))
        assert curve.epsilon(F(99, 100)) >= 0
        refused(lambda curve=curve: curve.epsilon(F(0)), "delta above 0")


@bug(OPACUS, 346, "A search for the noise ended above the budget that was asked for.")
def test_a_search_for_noise_ends_within_the_budget():
    """The noise that is found costs at most the budget, exactly."""
    for target in (F(3, 10), F(1), F(5)):
        found = dp.calibrate(lambda s: dp.count() >> dp.laplace(scale=s), target)
        assert target * F(999, 1000) < found.loss(1) <= target


@bug("tensorflow/privacy", 166, "A small Renyi loss was shown as an epsilon of 0.")
def test_a_small_loss_is_not_none():
    """The curve of sampled noise is above the exact one at 0, so a small delta has its epsilon."""
    curve = SampledGaussianProfile(F(1), F(105, 100_000), 1, directed=True)
    least = 0.00105 * (2 * norm.cdf(0.5) - 1)
    assert least <= curve.delta(F(0)) <= least * (1 + 1e-3)
    assert curve.epsilon(F(1, 10**4)) > 0


@bug(SYFT, 6914, "Less noise cost less of the budget.")
@bug(SYFT, 6917, "The order of queries changed what they cost.")
def test_less_noise_costs_more_in_any_order():
    """A price is that of the query alone: it falls with the noise, and prices add in any order."""
    quiet, loud = (dp.count() >> dp.laplace(scale=scale) for scale in (4, 2))
    assert loud.map(1) > quiet.map(1)
    left = []
    for queries in ((quiet, loud), (loud, quiet)):
        ask = dp.session([1.0] * 10, dp.epsilon(1))
        for query in queries:
            ask(query)
        left.append(ask.left)
    assert left == [F(1, 4)] * 2


# --- the page, and the peers --------------------------------------------------------------------


def make_table() -> str:
    return HEAD + "".join(each.row for each in sorted(EXHIBITS, key=order_of))


def order_of(each: Exhibit) -> tuple[str, bool, int, str]:
    known = isinstance(each.number, int)
    return each.place.lower(), not known, int(each.number) if known else 0, str(each.number)


def test_the_page_shows_the_table():
    """``python -m tests.test_museum`` writes it."""
    assert make_table() in PAGE.read_text()
    names = [each.name for each in EXHIBITS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", DIFFPRIVLIB)
def test_a_peer_shows_what_is_said_of_it(name):
    """Where diffprivlib 0.6 is installed: else the page would blame a library of today."""
    peer = pytest.importorskip("diffprivlib")
    pytest.importorskip("diffprivlib.models.linear_regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert DIFFPRIVLIB[name](peer) == peer.__version__.startswith("0.6")


if __name__ == "__main__":
    before, _, _ = PAGE.read_text().partition("| reported as |")
    sys.stdout.write(f"{PAGE.write_text(before + make_table())} characters\n")
