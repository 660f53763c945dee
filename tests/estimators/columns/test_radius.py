"""The looks that choose a radius for rows of many columns, and what is made of them."""

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns.noisy_mean import ColumnBounds, RowCount, ratio
from opendp_lite.estimators.columns.plan_plus import _PlanPlus, shrink
from opendp_lite.estimators.columns.radius import _directions_beyond, _last, shorten_to
from opendp_lite.estimators.papers.plan import _longest
from opendp_lite.estimators.parts.budget import ConcentratedBudget
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from tests.estimators.cases import WILD, space_of
from tests.exact_losses import lost

REPLACE = dp.ChangeOneDistance()
COUNTED = dp.transformations.norm() >> dp.bins([0.0, 1.0, 2.0, 4.0]) >> dp.sum()
POINTING = _directions_beyond(0.5) >> dp.sum()
GRADED = _directions_beyond(0.5, graded=True) >> dp.sum()
LONGER = (
    dp.transformations.norm() >> dp.clamp(0.5, 2.5) >> dp.transformations.center(0.5) >> dp.sum()
)
FAR = np.array([[3.0, 0.0]])
NEIGHBOURS = {
    "counts, added": (COUNTED, np.zeros((0, 2)), FAR, 1),
    "counts, replaced": (COUNTED, FAR / 2, FAR, 2**0.5),
    "directions, added": (POINTING, np.zeros((0, 2)), FAR, 1),
    "directions, replaced": (POINTING, -FAR, FAR, 2),
    "graded, replaced": (GRADED, -FAR, FAR, 2),
    "longer, added": (LONGER, np.zeros((0, 2)), FAR, 2),
    "longer, replaced": (LONGER, FAR / 9, FAR, 2),
}
"""The neighbours that move a sum most, and by how much in l2."""


def bound(query, one, other):
    """On rows that are replaced where both have as many, else added."""
    return space_of(2, len(one) if len(one) == len(other) else None) >> query


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_move_a_look_as_far_as_it_says(name):
    query, one, other, moved = NEIGHBOURS[name]
    stable = bound(query, one, other)
    found = [np.asarray(stable(rows)) for rows in (one, other)]
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(moved)
    assert float(stable.map(1).l2) == pytest.approx(moved)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_look_costs_its_rho(name):
    query, one, other, _ = NEIGHBOURS[name]
    pipeline = bound(query, one, other) >> dp.gaussian(rho=1)
    assert 1 - 1e-6 < lost(pipeline, one, other).rho <= 1


@pytest.mark.parametrize("size", [None, 9])
@pytest.mark.parametrize("query", [COUNTED, GRADED], ids=["counts", "directions"])
def test_looks_keep_their_maps_on_any_rows(query, size):
    for columns in (1, 3):
        dp.assert_stable(query, space_of(columns, size), trials=24)


def test_a_direction_does_not_depend_on_where_a_row_stands():
    """Of 200 columns: numpy's norm of a block and of a row differ in their last bits."""
    rows = np.random.default_rng(1).normal(size=(300, 200))
    whole = np.asarray((space_of(200) >> _directions_beyond(1.0))(rows))
    alone = [np.asarray((space_of(200) >> _directions_beyond(1.0))(row[None])) for row in rows]
    assert np.array_equal(whole, np.concatenate(alone))
    assert np.linalg.norm(whole, axis=1) == pytest.approx(np.ones(300), abs=1e-9)


def test_directions_of_wild_rows():
    rows = np.array([[0.3, 0.4], [3.0, 4.0], [np.nan, 4.0], [np.inf, 1.0], [1e200, 1e200], [0, 0]])
    found = np.asarray((space_of(2) >> _directions_beyond(0.5))(rows))
    wanted = np.array([[0, 0], [0.6, 0.8], [np.nan, np.nan], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    graded = np.asarray((space_of(2) >> _directions_beyond(4.0, graded=True))(rows))
    np.testing.assert_allclose(graded, wanted / 4, atol=1e-9)


@pytest.mark.parametrize("more", [{}, {"confidence": None}, {"p": 1}], ids=str)
@pytest.mark.parametrize("given", [5, (0, 9), [(0, 9), (-1, 5)]], ids=repr)
def test_the_loss_is_the_budget_to_the_last_digit(given, more):
    """Also for groups, and for persons of three rows each."""
    rho = Fraction(1, 7)
    for size in (None, 40, 100_000):
        mean = space_of(2, size) >> dp.multivariate_mean(given, rho=rho, **more)
        assert mean.privacy_map(Fraction(1)) == rho
        assert mean.privacy_map(Fraction(3)) == 9 * rho
    people = dp.records(columns=["a", "b", "who"], person="who") >> dp.bound_contributions(3)
    several = people >> dp.select("a", "b") >> dp.multivariate_mean(given, rho=rho, **more)
    assert several.privacy_map(Fraction(1)) == rho


@pytest.mark.parametrize("size", [None, 0, 1, 60])
def test_a_release_of_wild_rows_lies_in_its_bounds(size):
    rows = np.random.default_rng(2).choice(WILD, (60 if size is None else size, 2))
    for given in ([(0, 9), (-2, 5)], 1e6):
        space = space_of(2, size or None)
        low, high = np.transpose(
            [(0, 9), (-2, 5)] if isinstance(given, list) else [(-given, given)]
        )
        for rho in (1e-6, 0.5, 1e6):
            found = (space >> dp.multivariate_mean(given, rho=rho, confidence=None))(rows)
            assert np.array_equal(found, np.clip(found, low, high))


def test_the_last_ring_is_one_that_holds_rows():
    counts = np.zeros(150)
    counts[:3] = 1000, 300, 40
    assert _last(counts, 5.0) == 2
    thin = counts.copy()
    thin[3:19] = 12.0
    assert 14 <= _last(thin, 5.0) <= 18, "no ring shows by itself, sixteen together do"
    noise = np.random.default_rng(3).normal(0, 5, (400, 150))
    ghosts = [_last(counts + each, 5.0) > 3 for each in noise]
    assert np.mean(ghosts) < 0.03, "a thousandth of empty rings, and two in fifteen beside the last"


def test_what_shortening_takes_off_is_near_the_truth():
    lengths = np.random.default_rng(4).exponential(1, 200_000)
    edges = np.concatenate([[0.0], np.geomspace(0.5, 30, 40)])
    shares = np.histogram(lengths, edges)[0] / len(lengths)
    tried, longer, found = shorten_to(edges, shares)
    true = [np.maximum(lengths - each, 0).mean() for each in tried]
    inside = tried < 5
    assert found[inside] == pytest.approx(np.array(true)[inside], rel=0.25)
    assert longer[inside] == pytest.approx(
        [np.mean(lengths > each) for each in tried[inside]], rel=0.25
    )
    assert (found[-1], longer[-1]) == (0, 0)


def test_shrinking_pays_where_noise_rules_and_does_nothing_elsewhere():
    """Of 64 columns of two widths; the errors of 200 draws are known to 2 %."""
    random = np.random.default_rng(5)
    widths = np.repeat([1.0, 4.0], 32)
    for signal, least, most in ((0.0, 0.0, 0.1), (1.0, 0.4, 0.6), (30.0, 0.98, 1.02)):
        true = random.normal(0, signal, 64)
        noisy = true + random.normal(0, 1, (200, 64))
        shrunk = np.array([shrink(each, widths, 1.0) for each in noisy])
        before, after = (np.square(widths * (each - true)).sum() for each in (noisy, shrunk))
        assert least <= after / before <= most
    assert shrink(noisy[0], widths, 0.0) == pytest.approx(noisy[0])
    assert shrink(noisy[0, :2], np.ones(2), 1.0) == pytest.approx(noisy[0, :2])


def test_a_noisy_count_brings_means_towards_0_by_its_variance():
    counted = RowCount(None, 9.0, 9.0, Fraction(1, 50), Fraction(1))
    totals = np.array([90.0])
    assert counted.mean(totals) == pytest.approx(ratio(totals, 9.0, 25.0))
    mean = space_of(2) >> dp.estimators.elliptical_mean(-1, 1, rho=1)
    empty = [mean.insecure_release(np.zeros((0, 2)), seed).value for seed in range(20)]
    assert np.median(np.abs(empty).max(axis=1)) < 0.3


def test_plan_gives_a_wide_column_more_noise_and_the_others_little():
    """By the roots of their spreads. The errors of five releases are 0.05 to 0.09."""
    rows = np.random.default_rng(13).normal(0, np.append(np.ones(15), 30), (5000, 16))
    mean = space_of(16, 5000) >> dp.estimators.plan_mean(200, rho=0.5)
    for seed in range(3):
        found = mean.insecure_release(rows, seed=seed).value
        assert np.linalg.norm(found - rows.mean(axis=0)) < 0.2


def test_few_samples_have_a_row_that_plan_takes_for_too_long():
    """One in ten at most, of normal rows."""
    rows = np.random.default_rng(12).normal(size=(200, 500, 4))
    assert np.mean(np.linalg.norm(rows, axis=2).max(axis=1) > _longest(np.ones(4), 500)) < 0.1


def test_a_far_group_is_kept_where_counts_show_it():
    """Two rows in a hundred, far beyond all others: the share that was cut before dropped them."""
    random = np.random.default_rng(6)
    rows = random.normal(0, 1, (20_000, 3))
    rows[:400, 0] += 60
    found = [
        (space_of(3) >> dp.multivariate_mean(1e3, rho=0.5, confidence=None))(rows)[0]
        for _ in range(5)
    ]
    assert np.median(found) == pytest.approx(rows[:, 0].mean(), abs=0.1)


def test_bounds_are_taken_where_they_promise_less():
    """Uniform columns fill their bounds; narrow ones do not."""
    random = np.random.default_rng(7)
    wide, narrow = random.uniform(0, 1, (5000, 4)), random.normal(0.5, 1e-4, (5000, 4))
    space = space_of(4, 5000)
    for rows, given, most in ((wide, (0, 1), 0.0024), (narrow, (0, 1), 1e-5)):
        means = [
            (space >> dp.multivariate_mean(given, rho=0.5, confidence=None))(rows)
            for _ in range(15)
        ]
        assert np.median(np.linalg.norm(means - rows.mean(axis=0), axis=1)) < most


@pytest.mark.parametrize(("corners", "most"), [(False, 0.7), (True, 1.0)])
def test_few_rows_are_shortened_where_a_look_tells_that_few_reach_far(corners, most):
    """The noise of the bounds is 0.5, and 0.52 after the look: 50 errors know it to 2 %."""
    random = np.random.default_rng(8)
    rows = random.uniform(0, 1, (60, 30))
    mean = space_of(30, 60) >> dp.multivariate_mean((0, 1), rho=0.5, confidence=None)
    rows = (rows < 0.2) * 1.0 if corners else rows
    found = [mean.insecure_release(rows, seed=seed).value for seed in range(50)]
    errors = np.linalg.norm(np.array(found) - rows.mean(axis=0), axis=1)
    words = "each column errs by about 0.19 of half the width of its bounds, or less"
    assert words in " ".join(str(mean.explain()).split())
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.521 * most, rel=0.07)


def test_few_rows_with_intervals_go_to_the_bounds_with_all_of_the_budget():
    mean = space_of(30, 60) >> dp.multivariate_mean((0, 1), rho=0.5, confidence=0.9, sampling=False)
    why = " ".join(str(mean.explain()).split())
    assert "by about 0.18 of half the width of its bounds" in why
    assert "shortened" not in why


def middle_error(space, given, rows, confidence=None, releases=3):
    """The median error of three or more releases, seeded."""
    mean = space >> dp.multivariate_mean(given, rho=0.5, confidence=confidence)
    found = [mean.insecure_release(rows, seed=seed).value for seed in range(releases)]
    return np.median(np.linalg.norm(np.array(found, dtype=float) - rows.mean(axis=0), axis=1))


def test_few_rows_are_shortened_around_a_first_sum():
    """The noise of the bounds is 2.0 in rows that lie within an eighth of them.

    With an interval, and with few columns, it is taken: rare rows must not be shortened unseen.
    """
    rows = np.random.default_rng(11).normal(5, 2, (130, 13))
    space = space_of(13, 130)
    assert middle_error(space, (0, 20), rows) < 1.1
    assert middle_error(space, (0, 20), rows, confidence=0.95) > 1.4
    why = str((space >> dp.multivariate_mean((0, 20), rho=0.5, confidence=None)).explain())
    assert "a first sum finds where the columns lie" in why
    why = str(
        (space_of(3, 100) >> dp.multivariate_mean((0, 20), rho=0.5, confidence=None)).explain()
    )
    assert "a look tells whether" in why


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize(("bound", "own"), [(10, False), ((0, 20), True)])
def test_an_explanation_speaks_of_bounds_and_intervals_where_there_are_any(bound, own, confidence):
    mean = space_of(3) >> dp.multivariate_mean(bound, rho=1, confidence=confidence)
    why = " ".join(str(mean.explain()).split())
    assert ("or else the sum of the rows in their bounds" in why) == own
    assert ("; give each column bounds" in why) != own
    assert ("15 % of it is for intervals" in why) == (confidence is not None)


def test_rows_are_shortened_where_noise_hides_where_they_point():
    """Even tails of 64 columns: the median of these errors is 0.156, and was 0.218."""
    rows = np.random.default_rng(13).standard_t(3, (4000, 64))
    mean = space_of(64, 4000) >> dp.multivariate_mean(300, rho=0.0625, confidence=None)
    found = [mean.insecure_release(rows, seed=seed).value for seed in range(3)]
    errors = np.linalg.norm(np.array(found) - rows.mean(axis=0), axis=1)
    assert np.median(errors) < 0.185


def test_where_scales_are_lost_the_bounds_give_them():
    """Half of the columns are 0 in nine rows of ten: their medians tell nothing of how wide.

    With widths from medians alone the errors were 0.36 and, in the bounds, 0.23; now 0.14.
    """
    random = np.random.default_rng(12)
    rows = random.uniform(0, 16, (5000, 60))
    rows[:, ::2] *= random.random((5000, 30)) < 0.1
    for given in (16, (0, 16)):
        assert middle_error(space_of(60, 5000), given, rows) < 0.19


def test_columns_of_rare_ones_are_as_wide_as_their_mean_shows():
    """Quantiles saw nothing of them, so rows seemed long.

    The errors were 0.0061 and 0.0035; now they are 0.0047 and 0.0026.
    """
    random = np.random.default_rng(14)
    ones = (random.random((5000, 4)) < [0.05, 0.1, 0.15, 0.2]) * 1.0
    # In units of half the widths of their bounds.
    rows = np.column_stack([2 * ones, random.normal(1, 0.16, (5000, 10))])
    for size, most in ((5000, 0.0055), (None, 0.0030)):
        assert middle_error(space_of(14, size), [(0, 2)] * 14, rows, releases=9) < most


def test_a_mean_far_from_the_median_costs_no_more_where_rows_are_added():
    """With medians as centres the count erred by as much as the mean is off: 0.099, now 0.0094."""
    random = np.random.default_rng(15)
    rows = np.column_stack([(random.random(5000) < 0.4) * 100.0, random.normal(0, 1, (5000, 3))])
    assert middle_error(space_of(4), 1000, rows, releases=9) < 0.026


@pytest.mark.parametrize(
    ("law", "true"),
    [
        (lambda g, shape: g.lognormal(0, 1, shape), np.exp(0.5)),
        (lambda g, shape: g.exponential(1, shape), 1.0),
        (lambda g, shape: (g.random(shape) < 0.02).astype(float), 0.02),
    ],
    ids=["lognormal", "exponential", "rare ones"],
)
def test_intervals_of_skewed_columns_hold(law, true):
    """Of 14 samples of three columns, seeded; 40 are expected, and below 31 comes by 1e-6."""
    random = np.random.default_rng(9)
    mean = space_of(3) >> dp.multivariate_mean(1e3, rho=0.03, confidence=0.95)
    held = []
    for seed in range(14):
        found = mean.insecure_release(law(random, (5000, 3)), seed=seed).value
        held += [each.interval[0] <= true <= each.interval[1] for each in found]
    assert sum(held) >= 31
    assert all(each.interval[0] <= each.clipped_interval[0] for each in found)


def test_intervals_take_little_of_the_budget_where_rows_are_many(monkeypatch):
    """The last price is that of squares, the one before the sum's, and first that of the look."""
    prices, answer = [], Ask.__call__

    def pay(self, query):
        prices.append(query.bind(self.space).loss(1))
        return answer(self, query)

    monkeypatch.setattr(Ask, "__call__", pay)
    mean, taken = space_of(3) >> dp.multivariate_mean(1e3, rho=0.5), []
    for size in (300, 20_000):
        prices.clear()
        mean.insecure_release(np.random.default_rng(3).normal(0, 1, (size, 3)), seed=1)
        assert sum(prices) == Fraction(1, 2)
        taken.append([float(2 * each) for each in (prices[-3], prices[-1])])
    assert taken[0] == pytest.approx([0.05, 0.1], rel=0.5)
    assert max(taken[1]) < 0.01


def test_where_most_rows_may_not_show_an_interval_reaches_far():
    """Of 100 lognormal rows 90 may not show. Intervals held 30 %, and now nearly all; seeded."""
    random = np.random.default_rng(9)
    mean, held = space_of(3) >> dp.multivariate_mean(1e3, rho=0.0625), []
    for seed in range(10):
        found = mean.insecure_release(random.lognormal(0, 1, (100, 3)), seed=seed).value
        held += [each.interval[0] <= np.exp(0.5) <= each.interval[1] for each in found]
    assert sum(held) >= 25


def test_a_release_says_how_many_far_rows_it_may_not_show():
    """Counts cost 4 % of rho. A group of twice as many shows, and moves the mean as it should.

    Seeded: in 1 of 25 releases noise makes it seem that rows are missing, and more may hide then.
    """
    rows = np.random.default_rng(10).normal(0, 1, (5000, 3))
    mean = space_of(3) >> dp.multivariate_mean(1e3, rho=0.5, confidence=0.95)
    first = mean.insecure_release(rows, seed=1).value[0]
    off = (2 * 0.04 * 0.5) ** -0.5
    assert 6 * off < first.hidden_rows < 7.5 * off
    assert f"a far group of fewer than {first.hidden_rows} rows may not be seen" in str(first)
    assert "a group of fewer than about 34 rows" in " ".join(str(mean.explain()).split())
    rows[: 2 * first.hidden_rows, 1] += 500
    releases = [mean.insecure_release(rows, seed=seed).value for seed in range(7)]
    found = np.median([float(each[1]) for each in releases])
    assert found == pytest.approx(rows[:, 1].mean(), rel=0.05)


def test_bounds_by_name_are_those_of_the_columns():
    rows = {"pay": np.full(4000, 70.0), "age": np.full(4000, 30.0)}
    means = dp.multivariate_mean({"age": (0, 50), "pay": (0, 60)}, rho=1e6)
    found = (dp.records(columns=["pay", "age"]) >> means)(rows)
    shown = [float(each) for each in found.values()]
    assert shown == pytest.approx([60, 30], abs=0.1), "and values beyond count as the bound"


def test_a_total_has_the_noise_of_what_its_count_leaves():
    """Of rho = 1/2 the first count takes 1/200, and the last one half of the others."""
    space, rho = space_of(2), Fraction(1, 2)
    request = Request.within(ConcentratedBudget(rho), "here", 0.95, False).on(space)

    def program(ask):
        people, bounds = RowCount.of(ask, rho), ColumnBounds.of(10, space, "here")
        run = _PlanPlus(ask, bounds, 2.0, rho, people, request)
        return run._release(np.zeros(2), np.ones(2), bounds.rows, share=Fraction(1, 2))

    made = make_adaptive(space, program, ZeroConcentratedDivergence(), rho, "")
    found = made.insecure_release(np.zeros((1000, 2)), 1).value[0]
    off = np.hypot(10, 10) / np.sqrt(2 * 0.5 * 0.995 / 2)
    assert np.ptp(found.interval) == pytest.approx(2 * 1.96 * off / found.rows, rel=0.01)


def test_an_interval_covers_what_shortening_moves_and_no_more():
    """100 of 1000 rows are longer by 2 than they may be: the mean comes out 0.2 too low."""
    rows, space, rho = np.zeros((1000, 2)), space_of(2), Fraction(10**6)
    rows[:100, 0] = 3
    request = Request.within(ConcentratedBudget(rho), "here", 0.95, False).on(space)

    def program(ask):
        people, bounds = RowCount.of(ask, rho), ColumnBounds.of(10, space, "here")
        run = _PlanPlus(ask, bounds, 2.0, rho, people, request)
        return run._shorten(np.zeros(2), np.ones(2), 1.0, np.full(2, 2.0))

    moved, still = make_adaptive(space, program, ZeroConcentratedDivergence(), rho, "")(rows)
    assert moved.value == pytest.approx(0.1, abs=0.005)
    assert moved.clipped_interval == pytest.approx((0.1, 0.1), abs=0.005)
    assert moved.interval == pytest.approx((0.1, 0.3), abs=0.005)
    assert still.interval == pytest.approx((0, 0), abs=0.005)
