"""Several quantiles by recursion: the loss of the exact law of all choices and counts together."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import expm1

import attrs
import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, norm

import opendp_lite as dp
from opendp_lite.measurements.quantile import columns as quantile_columns
from opendp_lite.measurements.quantile import tree as _quantile_tree
from opendp_lite.measurements.quantile.release import Alone
from opendp_lite.measurements.quantile.tree import Branch, Prices, _estimated_error, cells_by_parts
from opendp_lite.measurements.quantile.tree import plan_choices as planned
from opendp_lite.numbers.grid import Grid
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice, Stretch
from opendp_lite.samplers.rank_choice import RankLaw
from opendp_lite.testing.datasets import containers
from tests.own_steps import RELATIONS, space_of

LEAST_P = 1e-8
ORDERS = (1.01, 2.0, 8.0)
PLACES = 12
AT = (0, 5, 6, 11)
"""Rows stand at these places: at both ends, and side by side in the middle, often several."""
MOST = {"add or remove": 4, "replace": 3}
WANTED = [(0.25, 0.5, 0.75), (0.1, 0.5, 0.9), (0, 0.5, 1), (0.1, 0.2, 0.3, 0.9)]

Rows = tuple[int, ...]


def built(wanted, relation: str, **loss):
    return space_of(relation) >> dp.private_quantile(
        list(wanted), bounds=(0, 1), **loss, confidence=None
    )


def root_of(bound) -> Branch:
    """The choices that a bound measurement makes, with the slopes that it draws with."""
    return bound.function.law.choosers[0].root


@attrs.frozen(eq=False)
class Chosen:
    """A choice in floats, known by itself: a cache need not compare all choices below it."""

    quantile: float
    slope: float
    below: Chosen | None
    above: Chosen | None


@cache
def chosen(part: Branch | None) -> Chosen | None:
    if part is None:
        return None
    sides = chosen(part.below), chosen(part.above)
    return Chosen(float(part.quantile), float(part.slope), *sides)


@cache
def law(part: Chosen, rows: Rows, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """How far off each place is, and the logarithm of its probability, by counting."""
    numbers, places = np.array(rows), np.arange(first, last)
    under = (numbers[:, None] < places).sum(axis=0)
    over = (numbers[:, None] > places).sum(axis=0)
    q, n = part.quantile, len(rows)
    far = part.slope * np.maximum(0, np.maximum(under - q * n, over - (1 - q) * n))
    return far, -far - np.logaddexp.reduce(-far)


NOTHING = np.zeros(3 + len(ORDERS))


@cache
def loss_of(part: Chosen | None, one: Rows, other: Rows, first: int, last: int) -> np.ndarray:
    """Of all choices together: the largest log ratio, what the ranges cost, and Renyi moments.

    The ranges of the choices along the dearest outcome are added up, plainly and by their squares.
    Given an outcome of this choice the parts are told apart by that outcome alone.
    """
    if part is None or first == last or one == other:
        return NOTHING
    (far, p), (moved, q) = law(part, one, first, last), law(part, other, first, last)
    sides = np.array(
        [
            loss_of(part.below, below(one, place), below(other, place), first, place)
            + loss_of(part.above, above(one, place), above(other, place), place, last)
            for place in range(first, last)
        ]
    ).T
    reach, order = float(np.ptp(far - moved)), np.array(ORDERS)[:, None]
    dearest = sides[:3].copy()
    dearest[0] += abs(p - q)
    moments = np.logaddexp.reduce(order * p + (1 - order) * q + sides[3:], axis=1)
    ranges = np.array([0, reach, reach**2 / 8])
    return np.append(dearest.max(axis=1) + ranges, moments)


def below(rows: Rows, place: int) -> Rows:
    return tuple(row for row in rows if row < place)


def above(rows: Rows, place: int) -> Rows:
    return tuple(row for row in rows if row >= place)


def neighbours(relation: str) -> Iterator[tuple[Rows, Rows]]:
    """All pairs of datasets of rows at these places, one row apart."""
    for size in range(MOST[relation]):
        for rows in combinations_with_replacement(AT, size):
            if relation == "add or remove":
                for added in AT:
                    yield rows, tuple(sorted((*rows, added)))
            else:
                for a, b in product(AT, repeat=2):
                    if a != b:
                        yield tuple(sorted((*rows, a))), tuple(sorted((*rows, b)))


CLUSTERS = (2,) * 12 + (9,) * 12
ACROSS = [((0, *CLUSTERS), (*CLUSTERS, 11))]
"""A row goes from below one cluster to above the other."""
PAIRS = {relation: list(neighbours(relation)) for relation in RELATIONS}


@attrs.frozen
class Share:
    """The largest losses over pairs of datasets, as shares of the claim."""

    cost: float
    true: float


def shares(root: Branch, loss: dict[str, float], pairs) -> Share:
    """The claim is a rho or an epsilon."""
    ((kind, claim),) = loss.items()
    tree, both = chosen(root), [side for pair in pairs for side in (pair, pair[::-1])]
    ratio, pure, squares, *moments = np.max(
        [loss_of(tree, *side, 0, PLACES) for side in both], axis=0
    )
    if kind == "epsilon":
        return Share(pure / claim, ratio / claim)
    true = max(each / (order - 1) / order for each, order in zip(moments, ORDERS, strict=True))
    return Share(squares / claim, true / claim)


def assert_caught(found: Share) -> None:
    """A claim that is below the truth is seen."""
    with pytest.raises(AssertionError):
        assert_private(found)


def assert_private(found: Share) -> None:
    """Floats are wrong by 1e-12 in a logarithm, which the smallest order magnifies."""
    assert found.cost <= 1 + 1e-9
    assert found.true <= 1 + 1e-6


@pytest.mark.parametrize(
    ("wanted", "loss"),
    [(WANTED[0], {"epsilon": 6}), *product(WANTED, [{"epsilon": 0.5}, {"rho": 0.1}])],
    ids=str,
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_choices_together_keep_the_claim_for_all_small_data(relation, wanted, loss):
    """What is lost is more than half of the claim, so half of it would be a lie."""
    found = shares(root_of(built(wanted, relation, **loss)), loss, PAIRS[relation])
    assert_private(found)
    assert found.cost > 0.6
    if wanted == WANTED[0]:
        assert found.true > 0.5


@pytest.mark.parametrize(
    ("wanted", "epsilon"), [(WANTED[0], 2), *((wanted, 0.5) for wanted in WANTED)], ids=str
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_rho_of_a_pure_loss_holds_for_all_small_data(relation, wanted, epsilon):
    """It is far below that of other pure mechanisms. Half of it would be a lie."""
    bound = built(wanted, relation, epsilon=epsilon)
    rho = (bound >> dp.to_zcdp()).map(1)
    assert rho < 0.16 * epsilon**2
    found = shares(root_of(bound), {"rho": rho}, PAIRS[relation])
    assert_private(found)
    assert found.cost > 0.55
    if wanted == WANTED[0]:
        assert found.true > 0.5


@pytest.mark.parametrize(("loss", "worse"), [({"epsilon": 0.5}, 1.2), ({"rho": 0.1}, 1.05)])
def test_a_row_that_leaves_a_part_and_enters_another_is_paid_for(loss, worse, monkeypatch):
    """With quantiles of parts far from a half, two parts cost more than a move inside of one."""
    honest = _quantile_tree._costs

    def together(part, prices):
        if part is None:
            return Fraction(0), Fraction(0)
        one, _ = honest(part, prices)
        inside = prices.cost(prices.range_inside(part.quantile) * part.slope)
        both = max(together(side, prices)[1] for side in (part.below, part.above))
        return one, inside + both

    found = shares(root_of(built(WANTED[1], "replace", **loss)), loss, ACROSS)
    assert_private(found)
    assert found.cost > 0.99
    monkeypatch.setattr(_quantile_tree, "_costs", together)
    found = shares(root_of(built(WANTED[1], "replace", **loss)), loss, ACROSS)
    assert found.cost > worse
    assert_caught(found)


@pytest.mark.parametrize(
    ("loss", "worse", "true"), [({"epsilon": 0.5}, 1.3, 0.95), ({"rho": 0.1}, 1.9, 1)]
)
def test_the_price_of_an_added_row_is_caught_under_replacement(loss, worse, true, monkeypatch):
    monkeypatch.setattr(Prices, "range_inside", Prices.own_range)
    found = shares(root_of(built(WANTED[0], "replace", **loss)), loss, PAIRS["replace"])
    assert found.cost > worse
    assert found.true > true
    assert_caught(found)


@pytest.mark.parametrize("loss", [{"epsilon": 0.5}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_level_too_few_is_caught(relation, loss):
    """Slopes for a loss twice as large lose more than the claim."""
    ((kind, claim),) = loss.items()
    root = root_of(built(WANTED[0], relation, **{kind: 2 * claim}))
    found = shares(root, loss, PAIRS[relation])
    assert found.true > 1
    assert_caught(found)


OFFSETS = (Fraction(-7), Fraction(-3, 5), Fraction(0), Fraction(1, 3), Fraction(2))
"""Of targets, as counts may lead to: also beyond all of the rows."""


def price_of(part: Branch | None, one: Rows, other: Rows, first: int, last: int, prices) -> float:
    """The most that choices and counts of two datasets cost, for the worst of all offsets."""
    if part is None or first == last or one == other:
        return 0.0
    inner = part.quantile not in (0, 1)
    reach = max(
        float(np.ptp(exponents(part, one, first, last, o) - exponents(part, other, first, last, o)))
        for o in (OFFSETS if inner else (Fraction(0),))
    )
    found = []
    for place in range(first, last):
        sides = (below(one, place), below(other, place)), (above(one, place), above(other, place))
        price = price_of(part.below, *sides[0], first, place, prices)
        price += price_of(part.above, *sides[1], place, last, prices)
        if part.counted:
            moved = len(sides[0][0]) - len(sides[0][1]) - part.quantile * (len(one) - len(other))
            noise = prices.counting(part.counted)
            ratio = abs(float(moved / (noise.scale * Fraction(2) ** noise.exponent)))
            price += ratio if prices.power == 1 else ratio**2 / 2
        found.append(price)
    return (reach if prices.power == 1 else reach**2 / 8) + max(found)


def exponents(part: Branch, rows: Rows, first: int, last: int, offset: Fraction) -> np.ndarray:
    """What the weights of all places are lowered by."""
    numbers, places = np.array(rows), np.arange(first, last)
    under = (numbers[:, None] < places).sum(axis=0)
    over = (numbers[:, None] > places).sum(axis=0)
    target = RankLaw(part.quantile, part.slope, offset).target(len(rows))
    beyond = np.maximum(under - float(target), over - float(len(rows) - target))
    return float(part.slope) * np.maximum(0, beyond)


def with_counts(part: Branch | None, counted: Fraction) -> Branch | None:
    """Counts in all parts where there can be any."""
    if part is None:
        return None
    mine = counted if part.quantile not in (0, 1) else Fraction(0)
    sides = {name: with_counts(getattr(part, name), counted) for name in ("below", "above")}
    return attrs.evolve(part, counted=mine, **sides)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("wanted", WANTED[1:3], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_and_choices_keep_the_claim_for_all_small_data(relation, wanted, power):
    """More than half of the cost is spent, so noise of half the scale would be caught."""
    prices = Prices(power, replaces=relation == "replace")
    plan = planned(tuple(Fraction(str(q)) for q in wanted), prices)
    root = with_counts(plan, Fraction(2, 3))
    assert root is not None
    pairs = PAIRS[relation][::9] + [pair[::-1] for pair in PAIRS[relation][4::9]]
    found = max(price_of(root, *pair, 0, PLACES, prices) for pair in pairs)
    assert 0.6 * root.cost(prices) < found <= root.cost(prices) * (1 + 1e-12)
    assert root.cost(prices) > plan.cost(prices)


@pytest.mark.parametrize("count", [15, 63])
@pytest.mark.parametrize("power", [1, 2])
def test_cuts_that_move_many_quantiles_are_counted(power, count):
    wanted = tuple(Fraction(i + 1, count + 1) for i in range(count))
    parts = list(planned(wanted, Prices(power, replaces=False)).parts())
    assert bool(parts[0].counted) == (power == 2 or count > 15)
    assert not any(part.counted for part in parts if part.below is None and part.above is None)


def test_the_loss_of_a_choice_and_of_its_count_is_split_for_the_least_error():
    """With Gaussian noise: own / a + others / (2 - a) is least at 2 / (1 + sqrt(others))."""
    prices = Prices(2, replaces=False)
    for others in (4.0, 9.0, 20.0):
        error, kept = prices.split(1.0, others)
        assert kept == pytest.approx(2 / (1 + others**0.5), abs=0.01)
        assert error == pytest.approx((1 + others**0.5) ** 2 / 2, rel=0.001)
    for power in (1, 2):
        assert Prices(power, replaces=False).split(1.0, 0.7) == (1.7, 1.0)


@pytest.mark.parametrize("power", [1, 2])
def test_the_noise_of_a_count_is_as_large_as_its_price_says(power):
    """A row changes a count by half of the range of a choice of the same slope."""
    prices, slope = Prices(power, replaces=False), Fraction(1, 5)
    noise = prices.counting(slope)
    scale = float(noise.scale * Fraction(2) ** noise.exponent)
    assert scale == pytest.approx(2.5 if power == 1 else 5)
    variance = noise.standard_deviation**2
    assert variance == pytest.approx(prices.count_variance * 2 / float(slope) ** 2, rel=1e-6)


def test_a_group_keeps_its_claim():
    pairs = [(CLUSTERS, (0, 0, *CLUSTERS))]
    bound = built(WANTED[1], "add or remove", rho=0.1)
    assert (bound.map(0), bound.map(2), bound.map(3)) == (0, 0.4, 0.9)
    found = shares(root_of(bound), {"rho": 0.1}, pairs)
    assert 3.5 < found.cost <= 4
    assert found.true <= 4
    pure = built(WANTED[1], "add or remove", epsilon=0.3)
    assert (pure.map(2), pure.map(5)) == (0.6, 1.5)
    found = shares(root_of(pure), {"epsilon": 0.3}, pairs)
    assert 1.8 < found.cost <= 2
    assert found.true <= 2


def outcomes(part: Chosen | None, rows: Rows, first: int, last: int) -> dict[Rows, float]:
    """The exact law of the places of all quantiles, in order."""
    if part is None:
        return {(): 1.0}
    if first == last:
        masses: list[float] = [1.0]
    else:
        masses = list(np.exp(law(part, rows, first, last)[1]))
    found: dict[Rows, float] = {}
    for place, mass in enumerate(masses, start=first):
        left = outcomes(part.below, below(rows, place), first, place)
        right = outcomes(part.above, above(rows, place), place, last)
        for (a, p), (b, q) in product(left.items(), right.items()):
            found[(*a, place, *b)] = mass * p * q
    return found


@pytest.mark.parametrize("rows", [(), (2,), (0, 2, 2, 2, 5)])
def test_what_is_drawn_follows_the_exact_law(rows):
    root = root_of(built(WANTED[1], "add or remove", epsilon=5))
    expected = outcomes(chosen(root), rows, 0, 6)
    draws, entropy = 600, InsecureSeededEntropy(7)
    placed = quantile_columns.PlacedRows.here(np.array(rows, dtype=np.int64), Stretch(0, 6), 0)
    counts = dict.fromkeys(expected, 0)
    for _ in range(draws):
        counts[tuple(cells_by_parts(root, Prices(1, replaces=False), placed, 3, entropy))] += 1
    common = [key for key, mass in expected.items() if draws * mass >= 5]
    seen = np.array([*(counts[key] for key in common), 0])
    mass = np.array([*(draws * expected[key] for key in common), 0])
    seen[-1], mass[-1] = draws - seen.sum(), draws - mass.sum()
    kept = mass > 1e-9
    assert sum(expected.values()) == pytest.approx(1)
    statistic = ((seen - mass)[kept] ** 2 / mass[kept]).sum()
    assert chi2.sf(statistic, kept.sum() - 1) > LEAST_P


@pytest.mark.parametrize("relation", RELATIONS)
def test_rows_of_one_cell_in_random_order_keep_the_claim(relation):
    """The law of the cells is the mean over all places that their rows may have."""
    cells, bits = 2, 2
    rho = 0.5
    root = chosen(root_of(built(WANTED[1], relation, rho=rho)))

    @cache
    def of_cells(rows: Rows) -> np.ndarray:
        found = np.zeros((cells,) * 3)
        each = list(product(*([(row << bits) + i for i in range(1 << bits)] for row in rows)))
        for placed in each:
            for places, mass in outcomes(root, tuple(sorted(placed)), 0, cells << bits).items():
                found[tuple(place >> bits for place in places)] += mass / len(each)
        return found

    worst = 0.0
    for size in range(2):
        for rows in combinations_with_replacement(range(cells), size):
            others = [(rows, (*rows, a)) for a in range(cells)]
            if relation == "replace":
                others = [((*rows, 0), (*rows, 1))]
            for pair in others:
                p, q = (of_cells(tuple(sorted(side))) for side in pair)
                there = p > 0
                for order in ORDERS:
                    for a, b in ((p, q), (q, p)):
                        moment = (a[there] ** order * b[there] ** (1 - order)).sum()
                        worst = max(worst, float(np.log(moment)) / (order - 1) / order)
    assert 0 < worst <= rho


def test_rows_get_places_of_their_own():
    line = quantile_columns.LatticeLine(LinearLattice(0.0, 1.0, 3))
    rows = np.array([0.3] * 3000 + [0.9, 2.0, -1.0])
    placed = line.place_rows(quantile_columns.ColumnHere(rows), InsecureSeededEntropy(1))
    assert (placed.places, placed.bits) == (Stretch(0, 8 << 32), 32)
    assert (placed.numbers.column >> 32 == [2] * 3000 + [7, 7, 0]).all()
    inside = placed.numbers.column[:3000] - (2 << 32)
    counts = np.histogram(inside, 8, (0, 2**32))[0]
    assert chi2.sf(((counts - 375) ** 2 / 375).sum(), 7) > LEAST_P
    far = quantile_columns.ColumnHere(np.array([0.5, 1e300]))
    for lattice in (LinearLattice(0.0, 1.0), AsinhLattice(-1e200, 1e200, 1e-250, 40)):
        found = quantile_columns.LatticeLine(lattice).place_rows(far, InsecureSeededEntropy(1))
        assert found.bits >= 9
        assert found.places.last <= 2**61
        assert (found.numbers.column < found.places.last).all()
        assert (found.numbers.column >> found.bits == lattice.cell(far.numbers)).all()


def test_rows_between_candidates_get_places_on_both_sides_of_the_middle():
    line = quantile_columns.CandidateLine(np.array([0.0, 1.0, 5.0]))
    tally = np.array([[2, 5, 2005, 2007], [4, 1005, 2006, 2007]])
    placed = line.place_rows(tally, InsecureSeededEntropy(2))
    cells = placed.numbers.column >> placed.bits
    assert len(cells) == 2007
    assert placed.places == Stretch(0, 3 << placed.bits)
    assert (cells[:4] == 0).all()
    between = cells[1005:2005]
    assert set(between) == {1, 2}
    assert abs(int((between == 1).sum()) - 500) < 100
    assert set(cells[4:5]) <= {0, 1}
    assert (cells[5:1005] == 1).all()
    assert (cells[2005:] == 2).all()


DECILES = [i / 10 for i in range(1, 10)]
WAYS = [
    {"bounds": (0, 100)},
    {"bounds": (0, 100), "bits": 12},
    {"bounds": (1, 100), "scale": "log"},
    {"bounds": (-100, 100), "scale": "asinh", "unit": 1},
    {"candidates": np.arange(0, 100.5, 0.5)},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_ties_are_found_as_numpy_finds_them(way, relation):
    """Three tenths of the rows are one number, and half are whole numbers: cuts fall on both."""
    generator = np.random.default_rng(3)
    whole = generator.integers(40, 60, 2000).astype(float)
    data = np.concatenate([np.full(1203, 20.0), whole, generator.uniform(60, 90, 800)])
    found = (
        space_of(relation, len(data))
        >> dp.private_quantile(DECILES, epsilon=300, **way, confidence=None)
    )(data)
    low, high = (
        np.quantile(data, np.clip(np.array(DECILES) + off, 0, 1), method="inverted_cdf")
        for off in (-0.005, 0.005)
    )
    slack = 0.6 if "candidates" in way else 0.06
    assert (found >= low - slack).all()
    assert (found <= high + slack).all()
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_quantiles_in_any_order_and_repeated(way):
    wanted = [0.9, 0.1, 0.5, 0.1, 0.9, 0.3]
    pipeline = dp.records(columns=2) >> dp.private_quantile(
        wanted, rho=1, shares=[1, 3], **way, confidence=None
    )
    data = np.random.default_rng(0).uniform(5, 95, (500, 2))
    for rows in (data, data[:1], data[:0], np.full((4, 2), np.nan), np.full((9, 2), np.inf)):
        found = pipeline(rows)
        assert found.shape == (6, 2)
        assert (found[1] == found[3]).all()
        assert (found[0] == found[4]).all()
        assert (np.diff(found[np.argsort(wanted, kind="stable")], axis=0) >= 0).all()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", [{"rho": Fraction(1, 10)}, {"epsilon": Fraction(1, 3)}], ids=str)
def test_columns_share_the_loss_and_paths_use_it_up(relation, loss):
    bound = space_of(relation, 9, 2) >> dp.private_quantile(
        DECILES, bounds=(0, 1), shares=[1, 3], **loss, confidence=None
    )
    prices = Prices(2 if "rho" in loss else 1, relation == "replace")
    paid = [chooser.root.cost(prices) for chooser in bound.function.law.choosers]
    assert sum(paid) <= bound.loss(1) == next(iter(loss.values()))
    assert float(sum(paid) / bound.loss(1)) == pytest.approx(1, abs=1e-14)
    assert float(paid[1] / paid[0]) == pytest.approx(3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_units_other_than_one_are_paid_for(relation):
    plain = space_of(relation)
    double = dp.Space(plain.domain, plain.metric, unit=Fraction(2))
    for loss in ({"rho": 1}, {"epsilon": 1}):
        wanted = dp.private_quantile(DECILES, bounds=(0, 1), **loss, confidence=None)
        one, two = (list(root_of(space >> wanted).parts()) for space in (plain, double))
        for a, b in zip(one, two, strict=True):
            assert float(b.slope) == pytest.approx(float(a.slope) / 2)
        assert (double >> wanted).map(2) == 1


def test_the_depth_is_that_of_halves():
    for power, count in ((1, 3), (2, 7), (1, 15), (2, 63)):
        wanted = tuple(Fraction(i + 1, count + 1) for i in range(count))
        root = planned(wanted, Prices(power, replaces=False))
        assert root.depth == (count + 1).bit_length() - 1
        assert sorted(part.index for part in root.parts()) == list(range(count))


def test_explain_says_which_way_was_taken():
    two, nine = (
        dp.private_quantile(wanted, bounds=(0, 1), epsilon=1, confidence=None).explain()
        for wanted in ([0.1, 0.9, 0.9], DECILES)
    )
    assert "each of 2 quantiles is chosen on all rows" in two
    assert "9 quantiles are found by recursion" in nine
    assert "at most 4 choices, in place of 9" in nine
    many = dp.private_quantile(
        np.arange(1, 64) / 64, bounds=(0, 1), epsilon=1, confidence=None
    ).explain()
    assert "counts of the rows" in many
    assert "counts of the rows" not in nine


@pytest.mark.parametrize("wanted", [[0.5, 0.3], [0.5, 0.3, 0.7, 1]], ids=len)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_container_and_order_gives_the_same_release(way, wanted):
    generator = np.random.default_rng(3)
    data = generator.uniform(0, 100, (300, 2))
    data[::50], data[1::60], data[2::70] = np.nan, -np.inf, -0.0
    kept = data.copy()
    pipeline = dp.records(columns=2) >> dp.private_quantile(wanted, rho=1, **way, confidence=None)
    expected = pipeline.insecure_release(data, 4).value
    # Rows of one cell get places in the order in which they come, where a cut may fall.
    orders = [("another order", generator.permutation(data))] if len(wanted) == 2 else []
    for name, each in [*containers(data), *orders]:
        assert np.array_equal(pipeline.insecure_release(each, 4).value, expected), name
    assert np.array_equal(data, kept, equal_nan=True)


ZERO, HALF = Fraction(0), Fraction(1, 2)


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("counted", [Fraction(1, 1000), Fraction(1, 100)])
def test_a_count_with_laplace_noise_costs_its_divergence(replaces, counted):
    """Half of the price would be below the divergence of Laplace noise, e + exp(-e) - 1."""
    part = Branch(0, Fraction(1, 2), ZERO, counted, None, None)
    pure = float(part.cost(Prices(1, replaces)))
    least = pure + expm1(-pure)
    assert least <= part.cost(Prices(2, replaces, pure_counts=True)) <= 1.02 * least


ROWS, STEEP, FINE = 20_000, Fraction(1, 100), Fraction(1000)


def cells_beside_a_cut(
    quantiles: tuple[Fraction, Fraction], rows: int, steep: Fraction, counted: Fraction, **more: int
) -> np.ndarray:
    """A median with or without a noisy count, and a quantile of the rows on either side of it."""
    sides = (Branch(i, q, FINE, ZERO, None, None) for i, q in zip((0, 2), quantiles, strict=True))
    root = Branch(1, HALF, steep, counted, *sides)
    prices = Prices(more["power"], replaces=False)
    entropy = InsecureSeededEntropy(6)
    placed = quantile_columns.PlacedRows.here(np.arange(rows, dtype=np.int64), Stretch(0, rows), 0)
    found = [cells_by_parts(root, prices, placed, 3, entropy) for _ in range(more["runs"])]
    return np.array(found, dtype=float).T


def found_beside_a_cut(below: Fraction, above: Fraction, runs: int, power: int) -> np.ndarray:
    return cells_beside_a_cut((below, above), ROWS, STEEP, STEEP, runs=runs, power=power)


@pytest.mark.parametrize("counted", [Fraction(0), Fraction(1000)], ids=["alone", "counted"])
def test_a_count_spares_the_quantiles_beside_a_cut_its_error(counted):
    """The cut is off by tens of ranks, and the quantiles beside it by half of that or nothing."""
    found = cells_beside_a_cut((HALF, HALF), 4000, Fraction(1, 40), counted, runs=40, power=2)
    off = np.abs(found.T - [1000, 2000, 3000]).mean(axis=0)
    assert 20 < off[1] < 80
    assert (off[[0, 2]] < 1.5).all() if counted else (off[[0, 2]] > 10).all()


@pytest.mark.parametrize(("power", "law"), [(1, laplace(scale=50)), (2, norm(scale=100))])
def test_quantiles_beside_a_cut_know_its_count_through_its_noise_alone(power, law):
    """A row has each number, so the released quantiles tell the noise that moved them.

    Without noise, or with noise of half the scale, one row would change them for no price.
    """
    low, cut, high = found_beside_a_cut(HALF, HALF, 600, power)
    trusted = 1 / (1 + Prices(power, replaces=False).count_variance)
    error = cut - ROWS / 2
    for moved in (cut / 2 - low, (cut + ROWS) / 2 - high):
        noise = 2 * moved / trusted - error
        assert kstest(noise, law.cdf).pvalue > LEAST_P
        for factor in (0.5, 2):
            assert kstest(noise * factor, law.cdf).pvalue < LEAST_P
        assert abs(np.corrcoef(noise, error)[0, 1]) < 0.25


def test_the_ends_of_all_rows_have_no_error():
    """The quantiles 0 and 1 are priced for a target that no count moves: else they cost double."""
    low, cut, high = found_beside_a_cut(Fraction(0), Fraction(1), 30, 2)
    assert np.ptp(cut) > 50
    assert set(low) == {0}
    assert set(high) == {ROWS - 1}


def test_a_quantile_moves_by_its_share_of_the_error_of_the_cut():
    """The first quarter below a cut moves by a quarter of it, that above by three quarters."""
    low, cut, high = found_beside_a_cut(Fraction(1, 4), Fraction(1, 4), 30, 2)
    beside, beyond = cut / 4 - low, cut + (ROWS - cut) / 4 - high
    assert np.ptp(beside) > 50
    assert np.abs(beyond - 3 * beside).max() < 5


@attrs.frozen
class Seen(Prices):
    """Hands over what a count is made of, without noise."""

    grids: list[Grid] = attrs.field(factory=list)

    def counting(self, steepness: Fraction):
        return self

    def noisy(self, value: Grid, entropy: Entropy) -> Grid:
        self.grids.append(value)
        return value


@pytest.mark.parametrize("quantile", [Fraction(i, 7) for i in range(1, 7)] + [HALF])
def test_a_row_changes_a_count_by_no_more_than_it_is_priced(quantile):
    """Half of the range of a choice, to the last bit: the quantile is rounded to 2^-20."""
    seen = Seen(1, replaces=False)
    part = Branch(0, quantile, STEEP, STEEP, None, None)
    for below, size in ((50, 100), (51, 101), (50, 101)):
        _estimated_error(part, seen, below, size, ZERO, InsecureSeededEntropy(0))
    first, *others = (grid.exact[0] for grid in seen.grids)
    moved = max(abs(other - first) for other in others)
    priced = seen.own_range(quantile) / 2
    assert priced - Fraction(1, 2**20) < moved <= priced


COLUMNS = 3
CURVED = [[0.5], [0.2, 0.7], [0.25, 0.5, 0.75], [i / 64 for i in range(1, 64)]]


def costs(bound, *, replaces: bool, pure: bool) -> tuple[Fraction | None, Fraction]:
    """The pure loss and the zCDP loss of a row, from the slopes that are drawn with."""
    release = bound.function.law
    ranges: list[Fraction] = []
    loss, rho = Fraction(0), Fraction(0)
    by_parts = type(release.choosers[0]) is not Alone
    for column in range(COLUMNS):
        chooser = release.choosers[column % len(release.choosers)]
        if by_parts:
            prices = Prices(2, replaces, pure)
            rho += chooser.root.cost(prices)
            loss += chooser.root.cost(Prices(1, replaces))
        else:
            ranges += [law.slope * 2 * moved((law.quantile,), replaces) for law in chooser.laws]
        if release.laws:
            law = release.laws[column % len(release.laws)]
            ranges.append(law.slope * 2 * moved(law.quantiles, replaces))
    whole = None if by_parts and not pure else loss + sum(ranges, Fraction(0))
    return whole, rho + sum((each * each for each in ranges), Fraction(0)) / 8


def moved(quantiles: tuple[Fraction, ...], replaces: bool) -> Fraction:
    """By how many ranks a row moves one of some quantiles between 0 and 1."""
    return Fraction(1) if replaces else max(max(q, 1 - q) for q in quantiles)


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("shares", [None, [1, 2, 5]], ids=str)
@pytest.mark.parametrize("wanted", CURVED, ids=len)
def test_a_curve_adds_up_all_choices_of_all_columns(wanted, shares, confidence, loss, replaces):
    """Less would be a lie after dp.compose and dp.to_approx; much more would be a waste."""
    space = space_of("replace" if replaces else "add or remove", 9, COLUMNS)
    bound = space >> dp.private_quantile(
        wanted,
        bounds=(0, 1),
        shares=shares,
        confidence=confidence,
        sampling=False,
        sure=confidence is not None,
        **loss,
    )
    pure, rho = costs(bound, replaces=replaces, pure="epsilon" in loss)
    for rows in (1, 2, 3):
        curve = bound.privacy_map(Fraction(rows)).curve
        assert rho * rows**2 <= curve.rho <= rho * rows**2 * (1 + Fraction(1, 2**40))
        assert (pure is None) == (curve.pure is None)
        if pure is not None:
            assert pure * rows <= curve.pure <= pure * rows * (1 + Fraction(1, 2**40))
