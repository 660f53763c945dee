"""Means of many columns for a pure epsilon: which way is taken, what it costs, and how it errs."""

from fractions import Fraction
from functools import partial
from math import sqrt

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns.pure_columns import Looks, _ColumnsRun
from opendp_lite.estimators.parts.budget import Budget
from opendp_lite.estimators.parts.request import Request
from opendp_lite.testing.replayable import record_events, replay
from tests.exact_losses import lost

pytestmark = pytest.mark.usefixtures("seeded")


def space(n: int | None, d: int = 8) -> dp.Space:
    """Rows that are replaced, or where their number is private added and removed."""
    if n is None:
        return dp.records(columns=d)
    return dp.records(columns=d, size=n, metric=dp.ChangeOneDistance())


def normal(n: int, d: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(3, 1, (n, d))


def lognormal(n: int) -> np.ndarray:
    return np.random.default_rng(0).lognormal(0, 1, (n, 8))


def one_wide(n: int, d: int = 12) -> np.ndarray:
    """One skewed column, ten times as wide as the others."""
    rows = np.random.default_rng(0).normal(0, 0.1, (n, d))
    rows[:, 0] = np.random.default_rng(1).lognormal(0, 1, n)
    return rows


@pytest.fixture
def paid(monkeypatch):
    """The prices of all that a program asks, in order, and what their steps are called."""
    prices, answer = [], Ask.__call__

    def pay(self, query):
        bound = query.bind(self.space)
        words = str(bound.facts.explanation)
        prices.append((Fraction(bound.loss(1)), words))
        return answer(self, query)

    monkeypatch.setattr(Ask, "__call__", pay)
    return prices


ROWS = {
    "box at once": (np.zeros((200, 8)), "epsilon = linf"),
    "a radius": (normal(1000), "epsilon = l2"),
    "a radius beyond the box": (np.full((1000, 8), 99.0), "epsilon = linf"),
    "sizes, one wide": (one_wide(1500, 8), "epsilon = l2"),
    "sizes, all alike": (normal(1500), "epsilon = l2"),
    "few to win": (np.full((4000, 8), 99.0), "epsilon = linf"),
    "centres": (normal(4000), "epsilon = l2"),
    "centres, many rows": (normal(22_000), "epsilon = l2"),
    "a far group": (np.vstack([normal(9000), np.full((1000, 8), 100.0)]), "epsilon = linf"),
    "missing": (np.where(normal(4000) > 4, np.nan, normal(4000)), "epsilon = l2"),
    "wild": (np.resize([np.inf, -np.inf, 1e308, 5e-324, np.nan], (4000, 8)), "epsilon = linf"),
    "none": (np.zeros((0, 8)), ""),
    "one": (np.full((1, 8), np.nan), "epsilon = linf"),
}


@pytest.mark.parametrize(("sized", "confidence"), [(True, None), (False, 0.95)])
@pytest.mark.parametrize("name", ROWS)
def test_every_way_spends_the_budget_exactly(name, sized, confidence, paid):
    """Whatever the rows: what is asked costs epsilon together, as rationals."""
    rows, last = ROWS[name]
    sized = sized and len(rows) > 0
    whole = space(len(rows) if sized else None)
    mean = whole >> dp.multivariate_mean(100, epsilon=1, confidence=confidence)
    released = np.array([float(each) for each in mean(rows)])
    assert sum(price for price, _ in paid) == mean.loss(1) == 1
    assert np.isfinite(released).all()
    assert np.abs(released).max() <= 100
    if sized and confidence is None:
        assert last in paid[-1][1]


@pytest.mark.parametrize("sized", [True, False])
def test_squares_have_their_part_and_units_of_several_rows_share(sized, paid):
    rows = normal(4000)
    whole = attrs.evolve(space(4000 if sized else None), unit=Fraction(2))
    for confidence in (None, 0.9):
        paid.clear()
        mean = whole >> dp.multivariate_mean(100, epsilon=3, confidence=confidence)
        mean(rows)
        assert 2 * sum(price for price, _ in paid) == 3
        assert mean.loss(2) == 3
    of_sum, of_squares = (price for price, _ in paid[-2:])
    assert 0.01 < of_squares / (of_sum + of_squares) < 0.150001


@pytest.mark.parametrize(
    ("n", "bound", "most", "draw", "sized"),
    [
        (1000, 100, 0.35, normal, True),
        (4000, 100, 0.026, normal, True),
        (20_000, 100, 0.004, normal, True),
        (4000, 5, 0.036, normal, True),
        (20_000, 100, 0.026, lognormal, False),
        (5000, 1000, 0.13, one_wide, True),
        (2500, 1000, 0.15, one_wide, True),
        (5000, [(0, 2 + place) for place in range(8)], 0.018, normal, True),
    ],
)
def test_errors_follow_the_data(n, bound, most, draw, sized):
    """The median of 11 releases is within 1.5 of the bounds that were measured with 200.

    Skewed columns erred twice as much while 450 rows were shortened, whatever that moved.
    """
    rows = draw(n)
    mean = space(n if sized else None, rows.shape[1]) >> dp.multivariate_mean(
        bound, epsilon=1, confidence=None
    )
    ends = np.transpose(bound) if isinstance(bound, list) else (-bound, bound)
    true = rows.clip(*ends).mean(axis=0)
    errors = [np.linalg.norm(mean(rows) - true) for _ in range(11)]
    assert np.median(errors) < 1.5 * most
    assert np.median(errors) > most / 4, "less noise than the budget allows"


@pytest.mark.parametrize(
    ("n", "bound", "sized", "sampling"),
    [
        (100, 1, True, True),
        (100, 1, False, False),
        (4000, 100, True, False),
        (4000, 100, False, True),
    ],
)
def test_intervals_hold_and_are_as_wide_as_the_errors(n, bound, sized, sampling):
    """20 releases of four columns: below 64 of 80 with a chance of 1e-6 if they hold 93 %."""
    mean = space(n if sized else None, 4) >> dp.multivariate_mean(
        bound, epsilon=2, confidence=0.95, sampling=sampling
    )
    held, errors, stated = 0, [], []
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(0.3, 0.1, (n, 4))
        true = [0.3] * 4 if sampling else rows.mean(axis=0)
        for at, found in zip(true, mean(rows), strict=True):
            held += found.interval[0] <= at <= found.interval[1]
            errors.append(found.value - at)
            low, high = found.clipped_interval or found.interval
            assert found.interval[0] <= low <= high <= found.interval[1]
            stated.append((high - low) / 2 / 1.96)
            assert found.sampling == sampling
            assert bound == 1 or found.clipped
    assert held >= 64
    assert sqrt(np.mean(np.square(errors))) == pytest.approx(np.mean(stated), rel=0.5)


def test_an_interval_allows_for_what_noise_hides_where_all_rows_are_equal():
    """A spread, and of rows that may lie apart the distance of the farther bound."""
    mean = space(1000, 2) >> dp.multivariate_mean(1, epsilon=1, confidence=0.95)
    for seed in range(12):
        found = mean.insecure_release(np.full((1000, 2), 0.5), seed).value[0]
        assert np.ptp(found.interval) > 1.01 * np.ptp(found.noise_interval)
    mean = space(3000, 2) >> dp.multivariate_mean(100, epsilon=1, confidence=0.95, sampling=False)
    found = [mean.insecure_release(np.full((3000, 2), at), 3).value[0] for at in (0, 25)]
    assert found[1].interval[1] - 25 == pytest.approx(1.25 * found[0].interval[1], rel=1e-3)


@pytest.mark.parametrize(("size", "moved_by_one"), [(1000, 2), (None, 1)])
def test_a_look_tells_what_shortening_moves_in_which_direction(size, moved_by_one):
    """100 rows are half as much longer as the radius is: half of a row each, in the first column.

    The noise of an entry of the look has the deviation sqrt(d + 1) over a quarter of epsilon.
    """
    rows = np.zeros((1000, 2))
    rows[:100, 0] = 0.3
    on, told = space(size, 2), []
    for epsilon in (8, 10**6):
        budget = Budget(Fraction(epsilon))
        request = Request.within(budget, "here", 0.95, False).on(on)
        public = dp.clamp(-1, 1), (0, 0), request, on, False

        def look(ask, public=public):
            run = _ColumnsRun(*public, ask, len(rows), Looks(1.0, 2, False))
            return run._look_beyond(run.rows, 0.2, np.array([0.1, 0.2]), np.zeros(2))

        made = make_adaptive(on, look, dp.MaxDivergence(), budget.amount, "")
        told.append(made(rows))
    assert told[0].doubt == pytest.approx(moved_by_one * sqrt(3) / 2 * np.array([0.1, 0.2]), 0.01)
    assert told[1].moved == pytest.approx([2 * 0.1 * 50, 0], abs=1e-3)
    assert told[0].unseen == {2: 18, 1: 9}[moved_by_one], "6 scales of noise for 0.0857 of epsilon"


def test_intervals_of_skewed_columns_hold():
    """Of ten samples of three columns; 28 are expected, and none without the look."""
    mean = space(5000, 3) >> dp.multivariate_mean(1000, epsilon=1, confidence=0.95)
    random, held = np.random.default_rng(9), 0
    for seed in range(10):
        found = mean.insecure_release(random.lognormal(0, 1, (5000, 3)), seed=seed).value
        held += sum(each.interval[0] <= np.exp(0.5) <= each.interval[1] for each in found)
        assert all(each.clipped and each.hidden_rows == 140 for each in found)
    assert held >= 22


@pytest.mark.parametrize("budget", [dp.epsilon(1), dp.rho(0.5)], ids=repr)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_column_in_another_unit_is_released_in_that_unit(budget, confidence):
    """To the last bit: half the width of its bounds is the unit of a column."""
    rows = np.random.default_rng(1).uniform(0, 2, (40_000, 2))
    found = []
    for times in (1, 2**20):
        bounds, unit = [(0, 1), (0, 2 * times)], np.array([1, times])
        mean = space(40_000, 2) >> dp.multivariate_mean(bounds, budget, confidence=confidence)
        released = mean.insecure_release(rows * unit, seed=5).value
        one = (
            released / unit
            if confidence is None
            else [each.interval for each in released] / unit[:, None]
        )
        found.append(np.asarray(one, dtype=float))
    assert np.array_equal(*found)


def test_a_far_group_is_found():
    """2 % of the rows at the bound: lost, the error would be 5.5; the noise of the box is 0.05."""
    rows = np.vstack([normal(49_000), np.full((1000, 8), 100.0)])
    mean = space(len(rows)) >> dp.multivariate_mean(100, epsilon=1, confidence=None)
    errors = [np.linalg.norm(mean(rows) - rows.mean(axis=0)) for _ in range(5)]
    assert np.median(errors) < 0.4


def test_what_looks_cost_decides_alone():
    """The numbers of rows and columns, and the relation."""
    assert not Looks(1000, 8, True).pay
    assert Looks(2500, 8, True).pay
    assert Looks(1000, 8, False).first > 0
    assert Looks(1000, 4, False).pay
    assert [Looks(5000, d, True).sizes > 0 for d in (4, 5, 37, 38)] == [False, True, True, False]
    assert Looks(100_000, 8, True).first == 0
    assert Looks(5000, 8, True, bounded=True).none
    assert not Looks(20_000, 8, True, bounded=True).none
    assert Looks(4000, 8, True).centres == 2 * Looks(4000, 8, False).centres
    small, large = (
        space(n) >> dp.multivariate_mean(100, epsilon=1, confidence=None) for n in (200, 4000)
    )
    assert "fewer than 300 / epsilon rows" in small.explain()
    assert "of epsilon finds centres, spreads and a radius" in large.explain()
    assert "0.002739" in large.explain(), "the error of the box"
    own = space(4000) >> dp.multivariate_mean([(0, 1), *[(0, 2)] * 7], epsilon=1)
    assert "too few rows for looks to pay beside bounds of each column" in own.explain()
    pairs = attrs.evolve(space(4000), unit=Fraction(2))
    mean = pairs >> dp.multivariate_mean(100, epsilon=1, confidence=None)
    assert "0.005477" in mean.explain(), "where two rows are replaced"


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("size", [3, None])
def test_the_look_at_sizes_costs_its_share_and_no_less(size, unit):
    """Rows of one column in place of rows of another move it as far as rows can."""
    on = attrs.evolve(space(size, 5), unit=Fraction(unit))
    request = Request.within(Budget(Fraction(unit)), "here", None, False).on(on)
    public = dp.clamp(-1, 1), (0,) * 5, request, on, False
    looks = Looks(1000.0, 5, size is not None)

    def look(ask):
        return _ColumnsRun(*public, ask, 3, looks)._sizes()

    made = make_adaptive(on, look, dp.MaxDivergence(), request.whole.amount, "")
    first = np.eye(1, 5).repeat(3, axis=0)
    changed = np.vstack([first[unit:], [[0, -0.3, 0, 0, 0]] * unit]) if size else first[unit:]
    spent = lost(made, first, changed).pure
    assert float(spent) == pytest.approx(unit * looks.sizes, rel=1e-3)


NEIGHBOURS = {
    "a corner": (np.zeros((4, 2)), np.full((1, 2), 9.0)),
    "one entry": (np.zeros((4, 2)), np.array([[9.0, 0.0]])),
    "nothing": (np.full((4, 2), 9.0), np.full((1, 2), np.nan)),
    "wild": (np.zeros((4, 2)), np.array([[np.inf, -1e308]])),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("looks", [False, True])
def test_neighbours_cost_the_claim_at_most_and_answers_tell_all(name, looks):
    """With few rows, and with so large a budget of the looks that a few rows decide them."""
    rows, other = NEIGHBOURS[name]
    given = {"epsilon": 300, "confidence": 0.9} if looks else {"epsilon": 1, "confidence": None}
    mean = dp.multivariate_mean(9, **given)
    for whole, kept in ((space(None, 2), rows), (space(4, 2), rows[1:])):
        pipeline, changed = whole >> mean, np.vstack([kept, other])
        events = record_events(partial(pipeline, rows))
        assert events
        assert replay(partial(pipeline, changed), events) is None
        if not looks:
            spent = lost(pipeline, rows, changed).pure
            assert spent <= 1
            assert name != "a corner" or spent > 1 / 2 - 1e-9
