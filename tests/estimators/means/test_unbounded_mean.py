"""unbounded_mean, which mean is without bounds: its loss, its error, and any data."""

import csv
import re
from fractions import Fraction
from functools import partial
from math import inf, sqrt
from pathlib import Path

import attrs
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import gamma, norm

import opendp_lite as dp
from opendp_lite.estimators.means import unbounded_mean as module
from opendp_lite.estimators.means.unbounded_mean import Tail, cheapest
from opendp_lite.estimators.parts.bounds_search import LAPLACE, NORMAL, SearchPlan, Side
from opendp_lite.estimators.parts.budget import budget_of

pytestmark = pytest.mark.usefixtures("seeded")
unbounded = dp.estimators.unbounded_mean
ROWS = 2000
SIZED = dp.records(size=ROWS, metric=dp.ChangeOneDistance())
SPACES = {"added": dp.records(), "replaced": SIZED}
LOSSES = ({"rho": 0.1}, {"rho": 2}, {"epsilon": 2}, {"epsilon": 1, "delta": 1e-6})


@pytest.mark.parametrize("where", SPACES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_a_run_may_ask_leaves_something(where, loss):
    """For every number of rows that a count may come to."""
    budget = budget_of("here", **loss).with_choices()
    plan = SearchPlan.of(SPACES[where], budget)
    for rows in np.geomspace(1, 1e30, 4000):
        if plan.succeeds(rows):
            each = module._Planned(plan, rows)
            shares = (
                plan.for_count,
                plan.for_median(rows),
                each.first,
                max(each.again + each.last, each.tails and each.tails + each.group),
            )
            assert all(0 <= share < 1 for share in shares)
            assert each.last > 0
            assert sum(shares) < 0.95


def error(pipeline, data: np.ndarray, runs: int) -> float:
    truth = float(np.mean(data))
    found = [pipeline.insecure_release(data, seed).value - truth for seed in range(runs)]
    return sqrt(np.mean(np.square(found)))


def visits() -> np.ndarray:
    page = Path(__file__).parents[3] / "docs/data/rand_hie.csv"
    with page.open() as file:
        return np.array([float(row["mdvis"]) for row in csv.DictReader(file)])


def test_the_error_on_doctor_visits():
    """The best bounds in hindsight err by about 0.003, bounds 100 times too wide by more than 1."""
    assert error(dp.mean(rho=0.5, confidence=None), visits(), 60) < 0.008


RANDOM = np.random.default_rng(3)
KNOWN = {
    "far from 0": (RANDOM.normal(1e6, 1, 10_000), 3.5),
    "far below 0, wide": (RANDOM.normal(-5e20, 1e19, 10_000), 3.5e19),
    "bits": ((RANDOM.random(10_000) < 0.3).astype(float), 0.7),
    "from 1 to 5": (RANDOM.integers(1, 6, 10_000).astype(float), 2.0),
    "90 % zeros": (np.where(RANDOM.random(10_000) < 0.9, 0, RANDOM.exponential(10, 10_000)), 60.0),
    "tiny": (RANDOM.normal(0, 1e-60, 10_000), 3.5e-60),
}
"""Numbers, and about the distance of the best bounds from the mean."""


@pytest.mark.parametrize("name", KNOWN)
def test_errors_are_near_those_of_the_best_bounds(name):
    """A good half more than noise at these bounds; where rows are replaced it is twice that."""
    data, reach = KNOWN[name]
    sized = dp.records(size=len(data), metric=dp.ChangeOneDistance())
    noise = reach / (len(data) * sqrt(2 * 0.5))
    assert 0.5 * noise < error(dp.mean(rho=0.5, confidence=None), data, 12) < 2.2 * noise
    assert 0.5 * noise < error(sized >> dp.mean(rho=0.5, confidence=None), data, 12) < 4.4 * noise


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_run_is_far_off(loss):
    """Also with few rows: a wrong bound would be off by many deviations."""
    rows = 600 if "rho" in loss else 3000
    data = np.random.default_rng(4).normal(50, 10, rows)
    assert all(
        abs(dp.mean(**loss, confidence=None).insecure_release(data, seed).value - data.mean()) < 5
        for seed in range(20)
    )


def test_equal_values_come_out_as_they_are():
    for value in (0.0, 42.0, -1e50, 0.1):
        found = dp.mean(rho=0.1, confidence=None).insecure_release(np.full(ROWS, value), 1).value
        assert abs(found - value) <= 1e-9 * abs(value) + 1e-70


@pytest.mark.parametrize("sampling", [False, True])
def test_intervals_hold_the_mean_where_nothing_is_clipped(sampling):
    """In 95 % of 50 releases; fewer than 37 would be found in 1e-6 of tests."""
    data = (np.random.default_rng(2).random(ROWS) < 0.3).astype(float)
    mean = dp.mean(rho=0.1, confidence=0.95, sampling=sampling)
    found = [mean.insecure_release(data, seed).value for seed in range(50)]
    held = sum(each.interval[0] <= data.mean() <= each.interval[1] for each in found)
    assert held >= 37
    assert all(each.clipped for each in found)
    widths = [each.interval[1] - each.interval[0] for each in found]
    assert 0.003 < np.median(widths) < (0.06 if sampling else 0.04)


def test_too_few_rows():
    """Some for a median, none for anything: documented, and the interval says it."""
    some = (
        dp.mean(rho=0.1, confidence=0.9, sampling=False)
        .insecure_release(np.full(200, 7.0), 1)
        .value
    )
    assert some.value == 7.0
    none = dp.mean(rho=0.1, confidence=0.9, sampling=False).insecure_release([7.0] * 3, 1).value
    assert none.value == 0.0
    for each in (some, none):
        assert each.interval == (-inf, inf)
        assert each.standard_error == inf
        assert each.too_few
        assert f"too few rows, about {each.rows:.0f}" in str(each)
    enough = (
        dp.mean(rho=0.1, confidence=0.9, sampling=False)
        .insecure_release(np.full(ROWS, 7.0), 1)
        .value
    )
    assert not enough.too_few
    assert all(
        dp.mean(epsilon=1, confidence=None).insecure_release([], seed).value == 0
        for seed in range(100)
    )


@pytest.mark.parametrize("loss", [{"rho": 0.1}, {"epsilon": 2, "delta": 1e-6}], ids=str)
def test_too_few_rows_of_a_public_number_have_a_median(paid, loss):
    """It costs the whole budget, and the plan says beforehand what it is."""
    values = np.append(np.full(280, 7.0), np.geomspace(8, 1e6, 20))
    mean = dp.records(size=300, metric=dp.ChangeOneDistance()) >> unbounded(**loss, confidence=0.9)
    text = mean.explain()
    assert "the release is no mean: it is a median" in text
    assert "300 rows are too few to find bounds in private with this budget" in text
    assert "give bounds, or a budget about" in text
    paid.clear()
    found = mean.insecure_release(values, 1).value
    assert sum(paid) == budget_of("here", **loss).with_choices().amount
    assert found.value == 7.0
    assert found.rows == 300
    assert found.too_few
    assert found.interval == (-inf, inf)


@pytest.mark.parametrize("rows", [300, 20_000])
def test_where_no_row_shows_how_far_values_reach_the_interval_says_it(rows):
    """All equal, or a tenth of 300 rows unseen: a narrow interval would be a lie."""
    mean = dp.mean(rho=0.1, confidence=0.9, sampling=False)
    values = np.full(rows, 42.0)
    if rows == 300:
        values[:20] = np.geomspace(43, 4e6, 20)
    for seed in range(5):
        found = mean.insecure_release(values, seed).value
        assert found.value == pytest.approx(42)
        assert found.interval == (-inf, inf)
        assert found.standard_error == inf


def test_a_further_look_finds_few_rows_beside_many_equal_ones():
    """30 of 300 rows were missed in a tenth of the runs, which then came to almost 0."""
    random = np.random.default_rng(77)
    values = np.where(random.random(300) < 0.9, 0.0, random.exponential(10, 300))
    mean = dp.mean(rho=0.5, confidence=None)
    assert all(mean.insecure_release(values, seed).value > 0.1 for seed in range(30))


def test_a_look_at_blocks_finds_few_rows_of_a_public_number():
    """They are spread over five doublings. A last look at doublings missed them in these runs."""
    space = dp.records(size=300, metric=dp.ChangeOneDistance())
    mean = space >> dp.mean(rho=0.5, confidence=None)
    for seed in (2, 14, 22, 24, 32, 41, 44, 46, 48, 53):
        random = np.random.default_rng(seed)
        values = np.where(random.random(300) < 0.9, 0.0, random.exponential(10, 300))
        assert mean.insecure_release(values, seed).value > 0.1


def mostly_zeros(tables: int) -> np.ndarray:
    """The last of so many tables of 1000 rows, of which about 900 are 0."""
    random = np.random.default_rng(9)
    found = np.zeros(0)
    for _ in range(tables):
        found = np.where(random.random(1000) < 0.9, 0.0, random.exponential(10, 1000))
    return found


@pytest.mark.parametrize(("tables", "seed"), [(11, 10), (4, 23)])
def test_a_first_look_that_misses_the_last_rows_does_not_set_the_bounds(tables, seed):
    """These were clipped to 16, which lost 0.25."""
    values = mostly_zeros(tables)
    found = dp.mean(rho=0.5, confidence=None).insecure_release(values, seed).value
    assert abs(found - values.mean()) < 0.15


@pytest.mark.parametrize("middle", [4.2e-28, -2.1e-61])
def test_a_median_that_was_missed_is_found_out(monkeypatch, middle):
    """All zeros are on one side of it. The other rows were clipped with them, which lost 0.9."""
    monkeypatch.setattr(module.BoundsSearch, "middle", lambda *_: middle)
    values = mostly_zeros(4)
    space = dp.records(size=1000, metric=dp.ChangeOneDistance())
    mean = space >> dp.mean(rho=0.1, confidence=None)
    off = [mean.insecure_release(values, seed).value - values.mean() for seed in range(10)]
    assert np.abs(off).max() < 0.7


def side(cells: list[float], deviation: float = 1.0, bits: int = 0) -> Side:
    return Side(np.array(cells, dtype=np.float64), 0, bits, deviation, NORMAL)


def test_the_last_cell_with_rows():
    assert side([900, 50, 40, 5, 0, 1, -2, 0]).last() == 3
    assert side([900, 0, 0, 2, 2, -2, 0, 1]).last() == 0
    assert side([0, 4, 4, 4, 4, 2, 0, 0]).last() in (1, 2, 3, 4)
    assert side([0, 0, 0, 6, 2, 0, 0, 0]).last() == 3


@pytest.mark.parametrize("doubts", [NORMAL, LAPLACE], ids=["normal", "laplace"])
def test_sums_of_cells_are_lifted_as_rarely_as_one_cell(doubts):
    """By quadrature; sums of Laplace noises are differences of gamma variates."""

    def lifted(width: int, deviations: float) -> float:
        if doubts is NORMAL:
            return ndtr(-deviations / sqrt(width))
        over = deviations * sqrt(2)
        both = quad(lambda y: gamma.pdf(y, width) * gamma.sf(over + y, width), 0, 60, epsabs=0)
        return both[0]

    one = lifted(1, doubts.anywhere)
    for width, deviations in doubts.side_by_side.items():
        assert lifted(width, deviations) == pytest.approx(one, rel=0.05)


def test_rows_that_no_cell_shows_by_itself_are_seen_together():
    """Four cells had to hold 24.8 deviations, twice what one has to."""
    assert attrs.evolve(side([900, 5, 5, 5, 5, 0, 0, 0]), doubts=LAPLACE).last() == 4
    assert attrs.evolve(side([900, 5, 5, 5, 1, 0, 0, 0]), doubts=LAPLACE).last() == 0


def test_what_is_seen_is_enough_if_half_of_the_rows_are_on_either_side():
    empty, held, spread = side([0, 2, -1, 0]), side([90, 2, -1, 0]), side([0, 2, 30, 1])
    assert not module._show((empty, empty))
    assert not module._show((empty, spread))
    assert not module._show((spread, empty))
    assert not module._show((held, held))
    assert module._show((spread, spread))
    assert module._show((held, attrs.evolve(spread, cells=np.array([90.0, 2, 30, 1]))))


def test_two_looks_count_by_inverse_variances():
    one, two = side([0, 10, 20], deviation=1.0), side([0, 20, 10], deviation=2.0)
    both = one.together(two)
    assert np.allclose(both.cells, [0, 12, 18])
    assert both.deviation == pytest.approx(sqrt(0.8))
    assert both.between(1, 2).cells.tolist() == both.cells[1:].tolist()
    assert both.between(1, 2).end(1) == both.end(2) == 4.0


def test_blocks_show_rows_that_cells_do_not():
    cells, blocks = side([90, 0, 0, 0, 0, 6, 5, 4, 4, 0, 0, 0, 0]), side([90, 0, 19, 0], bits=-2)
    cells, blocks = (attrs.evolve(each, deviation=2.0) for each in (cells, blocks))
    assert cells.last() == 0
    assert cells.with_blocks(blocks).last() == 7
    assert blocks.end(2) == cells.end(8) == 256.0
    shown = cells.with_blocks(blocks).between(2, 12)
    assert shown.last() == 5
    assert shown.end(5) == 2.0**7
    empty = attrs.evolve(blocks, cells=np.array([90.0, 0, 0, 0]))
    assert cells.with_blocks(empty).last() == 0


def test_cells_and_blocks_agree_by_least_squares():
    random = np.random.default_rng(4)
    cells, blocks = side(random.normal(size=9) * 5, 3.0), side(random.normal(size=3) * 5, 2.0, -2)
    found = cells.with_blocks(blocks)
    sums = np.kron(np.eye(2), np.ones(4))
    weighted = np.vstack([np.eye(8) / 3, sums / 2])
    seen = np.append(cells.cells[1:] / 3, blocks.cells[1:] / 2)
    assert np.allclose(found.cells[1:], np.linalg.lstsq(weighted, seen)[0])
    assert found.cells[0] == cells.cells[0]
    variances = np.diag(np.linalg.inv(weighted.T @ weighted))
    assert np.allclose(variances, found.deviation**2)


"""Distances; the counts below are in cells of 4 to a doubling, as ``bits=2`` cuts them."""


def counted(beyond, rows: float, deviation: float, doubts=NORMAL) -> Side:
    """What there is, without noise, of so many rows of a law, by its share beyond a distance."""
    empty = Side(np.zeros(41), -4, 2, deviation, doubts)
    return attrs.evolve(empty, cells=np.append(0.0, -rows * np.diff(beyond(empty.ends))))


LAW = {
    "exponential": (lambda x: np.exp(-x), lambda x: np.exp(-x)),
    "normal": (
        lambda x: 2 * ndtr(-x),
        lambda x: 2 * (np.exp(-(x**2) / 2) / sqrt(2 * np.pi) - x * ndtr(-x)),
    ),
    "power 3": (lambda x: (1 + x) ** -3.0, lambda x: (1 + x) ** -2.0 / 2),
}
"""The share beyond a distance, and the mean of what lies beyond it."""


@pytest.mark.parametrize("doubts", [NORMAL, LAPLACE], ids=["normal", "laplace"])
@pytest.mark.parametrize("law", LAW)
def test_what_clipping_costs_follows_the_tail(law, doubts):
    """Within a factor of two where 20 of 10^5 rows lie beyond."""
    beyond, lost = LAW[law]
    found = Tail.of(counted(beyond, 1e5, 4.0, doubts), 1.0)
    place = int(np.argmin(np.abs(beyond(found.ends) - 2e-4)))
    true = 1e5 * lost(found.ends[place])
    assert true / 2 < found.lost[place] < 2 * true
    assert found.square[place] >= found.lost[place] ** 2


def test_a_law_that_few_rows_follow_varies():
    """What is lost has at least the variance of a Poisson number of exponential excesses."""
    found = Tail.of(counted(LAW["exponential"][0], 1e5, 4.0), 1.0)
    far = found.ends > 8
    varies = found.square[far] - found.lost[far] ** 2
    assert np.all(varies > 2 * 1e5 * np.exp(-found.ends[far]))


def test_one_odd_cell_does_not_set_where_a_long_tail_is_clipped():
    """A doubling of a lognormal tail that has half of its rows.

    One law for the 60 deviations of rows that lie farthest clipped at 28.
    """
    side = counted(lambda x: ndtr(-np.log(1 + x)), 1e5, 2.9)
    cells = side.cells.copy()
    cells[33:37] *= 0.5
    found = Tail.of(attrs.evolve(side, cells=cells), 64.0)
    assert cheapest(Tail.none(), found, 1.0, fixed_size=True)[1] > 44


def test_a_tail_ends_where_the_values_end():
    """Uniform up to 2, or all at 2: nothing is lost there, and no more is paid for."""
    uniform = Tail.of(counted(lambda x: np.maximum(1 - x / 2, 0), 1e4, 5.0), 4.0)
    equal = Tail.of(counted(lambda x: 1.0 * (x < 2), 1e4, 5.0), 4.0)
    for each in (uniform, equal):
        assert cheapest(Tail.none(), each, 3.0, fixed_size=False) == (0.0, 2.0)


def test_values_that_are_all_equal_are_not_clipped_for_a_law_that_misses_them():
    """Rows at 1/2 and at 3/2, as a run found them; no smooth law has such a gap."""
    cells = np.zeros(25)
    cells[[8, 14]] = 227, 184
    found = Tail.of(Side(cells, -3, 2, 9.0, NORMAL), 2.0)
    assert cheapest(Tail.none(), found, 2.6, fixed_size=True) == (0.0, 1.5)


def test_a_smooth_tail_is_clipped_between_the_ends_of_cells():
    """The best power of two costs 1.36 and 1.52 times the least."""
    coarse = Side(np.zeros(11), -4, 0, 0.1, NORMAL)
    cells = np.append(0.0, -1e3 * np.diff(np.exp(-coarse.ends)))
    found = Tail.of(attrs.evolve(coarse, cells=cells), 64.0)
    for deviation in (1.0, 4.0):
        end = cheapest(Tail.none(), found, deviation, fixed_size=True)[1]

        def cost(at, deviation=deviation):
            few = 2e3 * np.exp(-at)  # the variance of a sum of so few rows, as a Poisson law has it
            return (1e3 * np.exp(-at)) ** 2 + few + (at * deviation) ** 2

        best = min(cost(at) for at in np.linspace(0.5, 12, 1000))
        assert cost(end) < 1.25 * best


def test_too_few_rows_show_no_tail():
    found = Tail.of(counted(lambda x: np.exp(-x), 10, 4.0), 8.0)
    assert found.ends.tolist() == [8.0]
    assert cheapest(Tail.none(), found, 1.0, fixed_size=True) == (0.0, 8.0)


def test_counts_that_are_all_noise_break_nothing():
    """Sums below 0 and beyond, in any cell."""
    random = np.random.default_rng(8)
    for _ in range(300):
        cells = random.laplace(0, 30, 41)
        cells[random.integers(41)] += random.choice([0, 300, 1e6])
        with np.errstate(all="raise", under="ignore"):
            found = Tail.of(Side(cells, -4, 2, 30.0, LAPLACE), 8.0)
        assert np.isfinite(found.square).all()


def test_clipping_balances_noise_and_what_is_lost():
    """By going through all pairs; the farther end counts, or the width where rows are replaced."""
    near = Tail(np.array([1.0, 2.0, 4.0]), np.array([60.0, 20.0, 1.0]), np.array([4e3, 5e2, 2.0]))
    far = Tail(np.array([2.0, 4.0, 8.0]), np.array([90.0, 30.0, 2.0]), np.array([9e3, 1e3, 6.0]))
    for fixed in (False, True):
        for deviation in (1.0, 5.0, 20.0):

            def cost(pair, fixed=fixed, deviation=deviation):
                i, j = pair
                reach = near.ends[i] + far.ends[j] if fixed else max(near.ends[i], far.ends[j])
                together = near.square[i] + far.square[j] - near.lost[i] * far.lost[j]
                return together + (reach * deviation) ** 2

            best = min(np.ndindex(3, 3), key=cost)
            chosen = cheapest(near, far, deviation, fixed_size=fixed)
            assert chosen == (near.ends[best[0]], far.ends[best[1]])


def test_bounds_reach_no_farther_from_the_mean_than_values_do():
    """Equal values at -1.25 and 2.75 have their mean at 0.75, and a lower bound of -1.25 is enough.

    Farther from the middle than the upper one lies it would cost noise and save nothing.
    """
    below, above = (
        Tail(np.array([reach, 3.0, 4.0]), np.array([0.1, 0, 0]), np.array([0.1, 0, 0]))
        for reach in (1.25, 2.75)
    )
    assert cheapest(below, above, 30.0, mean=0.75, fixed_size=False) == (1.25, 2.75)
    counts = side([0, 0, 0, 400, 0, 0])
    assert counts.total() == 400 * 6.0


HIDDEN = {
    ("added", "rho"): (0.5, 22),
    ("replaced", "rho"): (0.5, 31),
    ("added", "epsilon"): (1, 84),
    ("replaced", "epsilon"): (1, 168),
}
"""A budget, and the most rows of a far group that may be missed with 2000 rows."""


@pytest.mark.parametrize(("where", "keyword"), HIDDEN)
def test_a_far_group_of_so_many_rows_is_found(where, keyword):
    """In at least 95 of 100 runs; fewer than 20 of 30 would be found in 1e-6 of tests.

    Half of its rows are on either side of 2^12, so in two doublings, and in two blocks where 2^11
    is the end of one.
    """
    amount, hidden = HIDDEN[where, keyword]
    random = np.random.default_rng(6)
    values = random.normal(50, 10, ROWS)
    values[:hidden] = 50 + random.uniform(3000, 5200, hidden)
    mean = SPACES[where] >> dp.mean(**{keyword: amount}, confidence=0.95, sampling=False)
    found = [mean.insecure_release(values, seed).value for seed in range(30)]
    assert all(each.hidden_rows == hidden for each in found)
    assert f"a far group of fewer than {hidden} rows may not be seen" in str(found[0])
    assert f"one of {hidden} rows or more" in mean.explain()
    near = np.array([abs(each.value - values.mean()) for each in found])
    assert (near < values.mean() / 3).sum() >= 20
    held = sum(each.interval[0] < values.mean() < each.interval[1] for each in found)
    assert held >= 20


@pytest.mark.parametrize(("where", "keyword"), HIDDEN)
def test_both_looks_see_as_many_rows(where, keyword):
    """Neither is much dearer than the other lets it be, and neither misses what is said."""
    amount, hidden = HIDDEN[where, keyword]
    plan = SearchPlan.of(SPACES[where], budget_of("here", **{keyword: amount}))
    shares = module._Planned(plan, ROWS)
    # The first by a noisy count in each of 18 blocks, the second in each of 512 doublings.
    assert module._MOST_DOUBLINGS == 256
    for share, doubts, false, cells in (
        (shares.tails, shares.blocks, 0.02, 18),
        (shares.group, shares.resolved(256), 0.001, 512),
    ):
        deviation = plan.deviation(share)
        if keyword == "rho":
            seen = sqrt(2) * (norm.isf(false / (2 * cells)) + norm.isf(0.025)) * deviation
        else:
            over, under = (
                brentq(lambda x, p=p: np.exp(-x) * (1 + x / 2) / 2 - p, 0, 60)
                for p in (false / (2 * cells), 0.025)
            )
            seen = (over + under) * deviation / sqrt(2)
        assert plan.unseen(deviation, doubts) == pytest.approx(seen, rel=1e-6)
        assert 0.9 * hidden < seen <= hidden


def test_few_rows_that_are_far_are_missed():
    """A quarter of what is said to be found: the number is not far above what would do."""
    values = np.random.default_rng(6).normal(50, 10, ROWS)
    values[:5] = 5000
    mean = dp.mean(rho=0.5, confidence=0.95, sampling=False)
    found = [mean.insecure_release(values, seed).value.value for seed in range(30)]
    assert np.median(found) < 51


@pytest.mark.parametrize("loss", [{"rho": 0.5}, {"epsilon": 1}], ids=str)
def test_blocks_and_doublings_without_rows_show_none(loss):
    """By their probabilities, of which the bounds over all cells are no more than twice."""
    plan = SearchPlan.of(dp.records(), budget_of("here", **loss))
    shares, random = module._Planned(plan, 1e5), np.random.default_rng(3)
    noise = random.normal if "rho" in loss else partial(random.laplace, scale=sqrt(0.5))

    def shown(doubts, cells: int, runs: int) -> int:
        empty = Side(np.zeros(cells + 1), 0, 0, 1.0, doubts)
        return sum(
            any(attrs.evolve(empty, cells=noise(size=cells + 1)).last() for _ in range(2))
            for _ in range(runs)
        )

    # 100 of 5000 at most in expectation, and 12 of 12 000.
    assert 50 < shown(shares.blocks, 9, 5000) < 150
    assert 1 <= shown(shares.resolved(4), 4, 12_000) < 32


def test_what_two_laplace_noises_exceed():
    """By quadrature, as differences of gamma variates."""
    plan = SearchPlan.of(dp.records(), budget_of("here", epsilon=1))
    for share in (0.2, 1e-3, 1e-6):
        over = plan.exceeded(share, 2) * sqrt(2)
        both = quad(lambda y, over=over: gamma.pdf(y, 2) * gamma.sf(over + y, 2), 0, 60, epsabs=0)
        assert both[0] == pytest.approx(share, rel=1e-6)


def test_an_interval_for_all_values_counts_those_beyond_the_bounds():
    """A tail as long as is allowed: so many rows halfway through doublings."""
    thin = [(3 / 4) * (1 / 4) ** place for place in range(60)]
    far = sum(s * 1.5 * 2.0**i for i, s in enumerate(thin))
    assert pytest.approx(far - 1) == module._MOVED
    # 4 at the 2.5 % on one side.
    beyond = module._Beyond(
        np.array([-3.0, 5.0]), np.array([10.0, 20.0]), lambda share: 0.1 / share
    )
    plain = dp.Estimate(50.0, 1.0, (48.0, 53.0), 0.95, 1000.0, clipped=True, bounds=(40, 70))
    found = beyond.widen(attrs.evolve(plain, noise_interval=(49.0, 51.0)))
    low, high = 50 - np.hypot(2, 0.05), 50.125 + np.hypot(3, 0.1)
    assert found.interval == pytest.approx((low, high))
    assert found.clipped_interval == (48.0, 53.0)
    assert found.noise_interval == pytest.approx(
        (50 - np.hypot(1, 0.05), 50.125 + np.hypot(1, 0.1))
    )
    assert "if tails are thin" in str(found)
    assert (found + 1).clipped_interval == (49.0, 54.0)


@pytest.mark.parametrize("loss", [{"rho": 0.5}, {"epsilon": 1}], ids=str)
def test_rows_beyond_the_bounds_are_counted_with_the_noise_that_is_said(loss):
    """3 and 8 rows, noisily, for 5 % of what is left (7 % of an epsilon), and no more is taken."""
    values = np.repeat([-9.0, 0.0, 1.0, 9.0], [3, 500, 500, 8])
    plan = SearchPlan.of(dp.records(), budget_of("here", **loss))
    share = 0.05 if "rho" in loss else 0.07

    def program(ask):
        run = module._Run(module.BoundsSearch(ask, plan), None)
        found = run._count_beyond(Fraction(0), Fraction(1), (1.0, 2.0))
        return (*found.counts, found.exceeded(0.025), float(ask.left / plan.budget.amount))

    made = dp.adaptive(program, dp.rho(0.5) if "rho" in loss else dp.epsilon(1))
    runs = np.array([made.insecure_release(values, seed).value for seed in range(400)])
    deviation = plan.deviation(share)
    assert np.allclose(runs[:, 3], 1 - share)
    for place, rows in enumerate([3, 8]):
        # Five deviations of a mean of 400; within 25 % of the deviation, as 1e-6 of tests are not.
        assert abs(runs[:, place].mean() - rows) < deviation / 4
        assert 0.72 < runs[:, place].std() / deviation < 1.3
    off = 1.96 if "rho" in loss else np.log(20) / sqrt(2)
    assert runs[0, 2] == pytest.approx(off * deviation, rel=1e-3)


@pytest.mark.parametrize("share", [0.02, 0.05])
def test_rare_ones_are_not_clipped(share):
    """They lost a tenth of the value."""
    values = (np.arange(1000) < 1000 * share).astype(float)
    mean = dp.mean(rho=0.5, confidence=None)
    off = [mean.insecure_release(values, seed).value - share for seed in range(40)]
    assert abs(np.mean(off)) < share / 15


LONG_TAILS = {
    "lognormal": lambda g, n: g.lognormal(0, 1, n),
    "Pareto 2.5": lambda g, n: g.pareto(2.5, n),
    "t3": lambda g, n: g.standard_t(3, n),
}


@pytest.mark.parametrize("law", LONG_TAILS)
def test_intervals_hold_the_mean_of_all_values(law):
    """In 95 % of 40 releases; fewer than 29 would be found in 1e-6 of tests."""
    mean = dp.mean(rho=0.5, confidence=0.95, sampling=False)
    held, clipped = 0, 0
    for seed in range(40):
        values = LONG_TAILS[law](np.random.default_rng(seed), 1000)
        found = mean.insecure_release(values, seed).value
        held += found.interval[0] < values.mean() < found.interval[1]
        clipped += found.clipped_interval[0] < values.mean() < found.clipped_interval[1]
    assert held >= 29
    assert clipped < 39


def test_an_expected_error_is_refused_in_words():
    for make in (dp.mean(rho=0.1, confidence=None), SIZED >> dp.mean(rho=0.1, confidence=None)):
        with pytest.raises(dp.ParameterError, match="Plan with bounds that you think fit"):
            dp.expected_error(make, n=ROWS, guess=4)
    with pytest.raises(dp.ParameterError, match="Plan with bounds that you think fit"):
        dp.budget_for(lambda rho: dp.mean(rho=rho, confidence=None), error=0.5, n=1000, guess=4)


def test_a_budget_that_a_refusal_names_is_enough():
    for size in (30, 300):
        space = dp.records(size=size, metric=dp.ChangeOneDistance())
        for keyword in ("rho", "epsilon"):
            with pytest.raises(dp.ParameterError) as refusal:
                space >> dp.mean(**{keyword: 0.001}, confidence=None)
            named = float(str(refusal.value).rpartition(f"{keyword}=")[2])
            space >> dp.mean(**{keyword: named * 1.06}, confidence=None)


@pytest.mark.parametrize("loss", [{"rho": 0.1}, {"epsilon": 1}], ids=str)
def test_an_explanation_says_how_many_rows_are_too_few(loss):
    """The numbers are those at which a run decides, were its count exact, within 2 %."""
    text = dp.mean(**loss, confidence=None).explain()
    few, none = map(int, re.findall(r"fewer than about (\d+)", "\n".join(text.closing)))
    plan = SearchPlan.of(dp.records(), budget_of("here", **loss))
    assert plan.succeeds(few)
    assert not plan.succeeds(few / 1.02 - 1)
    assert module._shows_median(plan, none, None)
    assert not module._shows_median(plan, none / 1.02 - 1, None)
    assert "the number does not show which it is: confidence=0.95 adds" in text
    assert (
        "too_few of the release then says so"
        in dp.mean(**loss, confidence=0.9, sampling=False).explain()
    )


def test_an_explanation_says_what_is_spent():
    assert "the estimator is unbounded_mean" in dp.mean(rho=0.03, confidence=None).explain()
    assert "recentred_mean between the bounds" in dp.mean(rho=0.03, confidence=None).explain()
    assert "joint_mean between the bounds" in dp.mean(epsilon=1, confidence=None).explain()
    text = (SIZED >> dp.mean(rho=0.5, confidence=0.9, sampling=False)).explain()
    assert "known_size_mean between the bounds" in text
    assert "0.01 of the budget finds a median" in text
    assert "for the mean of the clipped values" in text


@pytest.mark.parametrize("larger", [3, 4])
def test_two_blocks_that_show_a_group_together_are_both_looked_at(larger):
    """Neither shows it by itself; the look that places it has to reach over all doublings."""
    plan = SearchPlan.of(dp.records(), budget_of("here", epsilon=1).with_choices())
    shares, asked = module._Planned(plan, 30_000), []
    blocks, off = shares.blocks, plan.deviation(shares.tails)
    half, nothing = 0.6 * blocks.side_by_side[2] * off, np.zeros(10)
    assert half < blocks.side_by_side[1] * off

    def side(cells, least=0):
        return Side(cells, least, 0, off, blocks)

    class Looks:
        def sides(self, middle, part, ends):
            asked.append(ends)
            return side(nothing, ends[0]), side(nothing, ends[0])

    looks = Looks()
    looks.plan = plan
    both = np.where(np.isin(np.arange(10), [3, 4]), half, 0.0)
    both[larger] *= 1.01
    module._Run(looks, None)._groups(0.0, shares, (side(both), side(nothing)), most=2)
    ((least, last),) = asked
    # Block b holds the doublings from 2^(b-1) - 1 to 2^b - 1 beyond the tails.
    assert least <= 2 + 2**2 - 1
    assert last >= 2 + 2**4 - 1
