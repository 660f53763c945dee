"""Private quantiles: the loss of the exact law for all small data, and what a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import combinations_with_replacement, product
from math import inf, nan

import attrs
import numpy as np
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows
from opendp_lite.measurements.quantile.columns import (
    ColumnsElsewhere,
    LatticeLine,
    _CellsOf,
    _NumbersElsewhere,
)
from opendp_lite.measurements.quantile.places import lattices_of
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice
from opendp_lite.samplers.rank_choice import CellChoice, NumbersInCells, RankLaw
from tests.own_steps import RELATIONS, doubled, space_of

module = import_module("opendp_lite.measurements.quantile.private_quantile")

ORDERS = (1.0001, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0, 1000.0)
PLACES = (0, 20, 21, 63)
CELLS = 64
MOST = 6
QUANTILES = [0, 0.25, 1 / 3, 0.5, 0.9, 0.98, 1]
LOSSES = [{"epsilon": 0.1}, {"epsilon": 4}, {"rho": 1e-4}, {"rho": 0.1}, {"rho": 3}]


def laws_of(bound) -> list[list[RankLaw]]:
    """The laws that a bound measurement draws from: for each quantile one a column."""
    choosers = bound.function.law.choosers
    return [list(laws) for laws in zip(*(chooser.laws for chooser in choosers), strict=True)]


def built(quantile, relation: str, **loss):
    return space_of(relation) >> dp.private_quantile(
        quantile, bounds=(0, 1), **loss, confidence=None
    )


def neighbours(relation: str, values=PLACES, most: int = MOST) -> Iterator[tuple]:
    """All pairs of datasets of these values, one row apart."""
    for size in range(most):
        for rows in combinations_with_replacement(values, size):
            if relation == "add or remove":
                yield from ((rows, (*rows, added)) for added in values)
            else:
                pairs = product(values, repeat=2)
                yield from (((*rows, a), (*rows, b)) for a, b in pairs if a != b)


@cache
def off(quantile: Fraction, pairs, cells: int, copies: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """How far off each cell is, in units of 1 / denominator: whole numbers, for both datasets."""
    a, b = quantile.numerator, quantile.denominator
    sides = []
    for side in (0, 1):
        found = np.zeros((len(pairs), cells), dtype=np.int64)
        for i, pair in enumerate(pairs):
            counts = copies * np.bincount(np.array(pair[side], dtype=int), minlength=cells)
            size = counts.sum()
            under = np.cumsum(counts) - counts
            over = size - np.cumsum(counts)
            found[i] = np.maximum(0, np.maximum(under * b - a * size, (over - size) * b + a * size))
        sides.append(found)
    return sides[0], sides[1]


def log_masses(distances: np.ndarray, slope: float) -> np.ndarray:
    exponents = -slope * distances
    return exponents - np.logaddexp.reduce(exponents, axis=1, keepdims=True)


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> np.ndarray:
    return np.logaddexp.reduce(order * p + (1 - order) * q, axis=1) / (order - 1)


@attrs.frozen
class Found:
    """The largest losses of a law over pairs of datasets, over their bounds."""

    bounded_range: float
    log_ratio: float
    renyi: float


def losses(bound, pairs, cells: int = CELLS, copies: int = 1, law: RankLaw | None = None) -> Found:
    """Computed from the slope that the measurement draws with and from the loss that it claims."""
    law = law or laws_of(bound)[0][0]
    claim = bound.loss(1)
    zcdp = bound.output_measure == dp.ZeroConcentratedDivergence()
    first, second = off(law.quantile, tuple(pairs), cells, copies)
    change = first - second
    widest = Fraction(int(np.ptp(change, axis=1).max()), law.quantile.denominator) * law.slope
    square, allowed = widest * widest, 8 * claim if zcdp else claim * claim
    slope = float(law.slope) / law.quantile.denominator
    p, q = log_masses(first, slope), log_masses(second, slope)
    epsilon = float(allowed) ** 0.5
    rho = epsilon**2 / 8
    orders = ORDERS if epsilon < 20 else ORDERS[:4]
    worst = max(
        float(renyi(*side, order).max()) / order for side in ((p, q), (q, p)) for order in orders
    )
    return Found(float(square / allowed) ** 0.5, float(np.abs(p - q).max()) / epsilon, worst / rho)


def assert_caught(found: Found) -> None:
    """A claim that is below the truth is seen."""
    with pytest.raises(AssertionError):
        assert_private(found)


def assert_private(found: Found) -> None:
    """Floats are wrong by 1e-12 in a logarithm, which the smallest orders magnify."""
    assert found.bounded_range <= 1
    assert found.log_ratio <= 1 + 1e-9
    assert found.renyi <= 1 + 1e-4


PAIRS = {relation: tuple(neighbours(relation)) for relation in RELATIONS}


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_exact_law_keeps_its_claim_for_all_small_data(relation, quantile, loss):
    assert_private(losses(built(quantile, relation, **loss), PAIRS[relation]))


def test_a_group_keeps_its_claim():
    pairs = [((*rows,), (*rows, 0, 63)) for rows in combinations_with_replacement(PLACES, 4)]
    pairs += [((*rows, 0, 0), (*rows, 63, 63)) for rows in combinations_with_replacement(PLACES, 4)]
    bound = built(0.5, "add or remove", rho=0.1)
    assert (bound.map(2), bound.map(3), bound.map(0)) == (0.4, 0.9, 0)
    assert losses(bound, pairs[:35]).renyi <= 4
    replaced = losses(built(0.5, "replace", rho=0.1), pairs[35:])
    assert 3.9 < replaced.bounded_range**2 <= 4
    assert replaced.renyi <= 4
    pure = built([0.1, 0.7], "add or remove", epsilon=0.3)
    assert (pure.map(2), pure.map(5)) == (0.6, 1.5)


def at_the_edges(cells: int, many: int) -> dict[str, tuple]:
    """Pairs that come near the bound, when most cells lie on one side."""
    half, last = cells // 2, cells - 1
    return {
        "median, added": ((0, last), (0, last, last)),
        "median, added beside": ((half,), (half - 2, half)),
        "median, replaced": ((0, half, half, last), (half, half, last, last)),
        "upper, added": ((half,) * many, ((*(half,) * many, last))),
        "upper, replaced": ((0, *(half,) * many), ((*(half,) * many, last))),
        "lowest, added": ((last,) * many, ((0, *(last,) * many))),
        "lowest, replaced": ((last, *(last,) * many), ((0, *(last,) * many))),
        "upper, replaced at the gap": ((0, 1, *(half,) * many), (1, *(half,) * many, last)),
    }


@pytest.mark.parametrize(
    ("relation", "quantile", "name", "many"),
    [
        ("add or remove", 0.5, "median, added beside", 1),
        ("replace", 0.5, "median, replaced", 1),
        ("add or remove", 0.9, "upper, added", 9),
        ("add or remove", 0.98, "upper, added", 49),
        ("replace", 0.9, "upper, replaced", 19),
        ("replace", 0.98, "upper, replaced", 99),
        ("add or remove", 0, "lowest, added", 9),
        ("add or remove", 1, "upper, added", 9),
        ("replace", 0, "lowest, replaced", 9),
        ("replace", 1, "upper, replaced", 9),
    ],
)
@pytest.mark.parametrize("loss", [{"epsilon": 0.5}, {"rho": 0.01}], ids=str)
def test_the_range_of_the_claim_is_attained(relation, quantile, name, many, loss):
    found = losses(
        built(quantile, relation, **loss), [at_the_edges(CELLS, many)[name]], cells=CELLS
    )
    assert_private(found)
    assert found.bounded_range > 0.99


def test_pure_loss_is_attained():
    """Nearly all cells lie where the weights fall, a few where they rise."""
    cells = 2**14
    half = cells // 2
    added = losses(built(0.5, "add or remove", epsilon=1), [((half,), (half - 2, half))], cells)
    assert 0.99 < added.log_ratio <= 1
    data = (half, half + 2, half + 2, half + 4)
    moved = (half + 2, half + 2, half + 4, half + 4)
    ordered = [(data, moved)]
    replaced = losses(built(0.5, "replace", epsilon=1), ordered, cells)
    assert replaced.log_ratio <= 1 + 1e-9
    assert replaced.bounded_range > 0.99


@pytest.mark.parametrize("relation", RELATIONS)
def test_rho_is_attained(relation):
    """Half of the mass rises and half falls: divergences of alpha epsilon^2 / 8."""
    cells = 2**12
    quarter = cells // 4
    pair = {
        "add or remove": ((3 * quarter,), (quarter, 3 * quarter)),
        "replace": ((0, cells // 2, cells // 2, cells - 1), (cells // 2,) * 2 + (cells - 1,) * 2),
    }[relation]
    found = losses(built(0.5, relation, rho=1e-4), [pair], cells)
    assert 0.99 < found.renyi <= 1 + 1e-4


def test_a_sensitivity_of_one_half_under_replacement_is_caught(monkeypatch):
    monkeypatch.setattr(module, "_score_range", lambda space, quantile: Fraction(1))
    for loss in ({"rho": 1e-3}, {"epsilon": 1}):
        found = losses(built(0.5, "replace", **loss), PAIRS["replace"])
        assert found.bounded_range == pytest.approx(2)
        assert found.renyi > 3
        assert_caught(found)
    assert losses(built(0.5, "replace", rho=1e-3), PAIRS["replace"]).renyi > 3.8


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("quantile", [0, 1])
def test_a_range_of_half_at_the_ends_is_caught(quantile, relation, monkeypatch):
    # A budget that no other test has: a pipeline that is bound is kept with its range.
    monkeypatch.setattr(module, "_score_range", lambda space, quantile: Fraction(1, 2))
    assert_caught(losses(built(quantile, relation, rho=0.03), PAIRS[relation]))


@pytest.mark.parametrize(("quantile", "many"), [(0.9, 19), (0.98, 99)])
def test_the_sensitivity_of_adding_is_caught_under_replacement(quantile, many, monkeypatch):
    monkeypatch.setattr(module, "_score_range", lambda space, q: 2 * max(q, 1 - q))
    found = losses(
        built(quantile, "replace", rho=0.01), [at_the_edges(CELLS, many)["upper, replaced"]]
    )
    assert found.bounded_range == pytest.approx(1 / quantile)
    assert_caught(found)


@pytest.mark.parametrize("relation", RELATIONS)
def test_three_copies_paid_as_a_third_of_rho_are_caught(relation):
    bound = built(0.5, relation, rho=9e-4)
    third, ninth = (laws_of(built(0.5, relation, rho=9e-4 / k))[0][0] for k in (3, 9))
    found = losses(bound, PAIRS[relation], copies=3, law=third)
    assert found.bounded_range == pytest.approx(3**0.5)
    assert found.renyi > 2
    assert_caught(found)
    assert_private(losses(bound, PAIRS[relation], copies=3, law=ninth))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("quantile", [0, 0.3, 0.5, 0.9, 1])
def test_candidates_keep_the_claim(relation, quantile, monkeypatch):
    """Numbers beside, on, between and beyond the candidates, and NaN; the weights as drawn from."""
    drawn = []

    def choose(law, counts, under, over, size, entropy):
        weights = law.weigh(counts, under, over, size)
        exact = np.array([-float(weights.exactly(i)) for i in range(len(counts))])
        drawn.append(exact - np.logaddexp.reduce(exact))
        return 0

    monkeypatch.setattr(RankLaw, "choose", choose)
    pairs = list(neighbours(relation, (1.0, 2.0, 2.5, 5.0, 6.0, nan), 4))
    chosen = dp.private_quantile(quantile, candidates=[2, 3, 5], rho=0.2, confidence=None)
    bound = {size: space_of(relation, size) >> chosen for size in range(relation == "replace", 5)}
    masses: dict[tuple, np.ndarray] = {}
    for data in dict.fromkeys(data for pair in pairs for data in pair):
        bound[len(data)](list(data))
        masses[data] = drawn[-1]
    p, q = (np.array([masses[pair[side]] for pair in pairs]) for side in (0, 1))
    assert np.ptp(p - q, axis=1).max() <= (8 * 0.2) ** 0.5 * (1 + 1e-9)
    for order in ORDERS:
        assert renyi(p, q, order).max() <= order * 0.2 * (1 + 1e-4)
        assert renyi(q, p, order).max() <= order * 0.2 * (1 + 1e-4)


def test_units_other_than_one_are_paid_for():
    """Two rows as one unit: half of the slope."""
    one = dp.records()
    two = dp.Space(one.domain, one.metric, unit=Fraction(2))
    quantile = dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)
    (single,), (double,) = (laws_of(space >> quantile)[0] for space in (one, two))
    assert double.slope == pytest.approx(float(single.slope) / 2)
    assert (two >> quantile).map(2) == 1
    assert (two >> quantile).map(1) == 0.5
    resized = dp.clamp(0, 1) >> dp.resize(5, fill=0.5) >> quantile
    assert resized.map(1) == 1
    assert laws_of(resized.bind(one))[0][0].slope == pytest.approx(0.5)


@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("loss", [{"epsilon": 2}, {"rho": 1}], ids=str)
def test_a_row_that_moves_two_has_the_same_curve(loss, confidence):
    sure = confidence is not None
    plain = dp.private_quantile(
        0.5, bounds=(0, 9), confidence=confidence, sure=sure, sampling=False, **loss
    )
    pipeline = doubled() >> plain
    for epsilon in (0.5, 1, 1.5):
        assert 0 < pipeline.delta(epsilon) == plain.bind(dp.records()).delta(epsilon)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shares", [None, [1, 1, 1], [5, 1, 0.1], [1 / 3, 1e-9, 7]], ids=str)
@pytest.mark.parametrize("loss", [{"rho": 0.1}, {"epsilon": 1 / 3}], ids=str)
def test_columns_and_quantiles_share_the_loss(relation, shares, loss):
    """What the slopes cost together is the claim, less a hair."""
    bound = space_of(relation, 9, 3) >> dp.private_quantile(
        [0.9, 0], bounds=(0, 1), shares=shares, **loss, confidence=None
    )
    paid = []
    for row in laws_of(bound):
        for law in row * (3 // len(row)):
            moved = 1 if relation == "replace" else max(law.quantile, 1 - law.quantile)
            one_way = law.quantile in (0, 1)
            epsilon = (1 if one_way else 2) * law.slope * moved
            paid.append(epsilon if "epsilon" in loss else epsilon**2 / 8)
    assert sum(paid) <= bound.loss(1)
    assert float(sum(paid) / bound.loss(1)) == pytest.approx(1, abs=1e-14)
    given = [1, 1, 1] if shares is None else shares
    assert paid[0] / paid[2] == pytest.approx(given[0] / given[2])
    (claim,) = loss.values()
    assert bound.map(1) == claim


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("wanted", [0.5, [0.5], [0.9, 0.1, 0.5], (1, 0), np.array([0.2, 0.2])])
@pytest.mark.parametrize("how", [{"bounds": (0, 1)}, {"candidates": [0, 0.5, 1]}], ids=str)
def test_releases_have_numpys_shapes(columns, wanted, how):
    pipeline = dp.records(columns=columns) >> dp.private_quantile(
        wanted, rho=5, **how, confidence=None
    )
    data = np.random.default_rng(0).random((60, columns))
    numpys = np.quantile(data[:, 0] if columns == 1 else data, wanted, axis=0)
    for rows in (data, data[:1], data[:0], np.full((3, columns), nan)):
        release = pipeline(rows)
        assert np.shape(release) == np.shape(numpys)
        assert type(release) is (float if np.shape(numpys) == () else np.ndarray)
        assert np.isfinite(release).all()


def test_quantiles_come_in_order():
    wanted = [0.9, 0.1, 0.5, 0.1]
    pipeline = dp.records(columns=2) >> dp.private_quantile(
        wanted, bounds=(0, 1), rho=0.01, confidence=None
    )
    for seed in range(50):
        release = pipeline.insecure_release(np.zeros((3, 2)), seed).value
        assert (np.diff(release[np.argsort(wanted, kind="stable")], axis=0) >= 0).all()


def test_releases_are_near_the_quantiles():
    data = np.random.default_rng(1).lognormal(size=(4000, 2))
    wanted = [0, 0.1, 0.5, 0.98, 1]
    for how in ("linear", "log", "asinh"):
        more = {"unit": 0.1} if how == "asinh" else {}
        pipeline = dp.records(columns=2) >> dp.private_quantile(
            wanted, bounds=(1e-3, [1e3, 1e4]), scale=how, rho=50, **more, confidence=None
        )
        release = pipeline.insecure_release(data, 2).value
        ranks = (data < release[:, None, :]).mean(axis=1)
        assert np.abs(ranks - np.array(wanted)[:, None]).max() < 0.01


def test_what_is_beyond_counts_as_the_bounds_and_nan_is_left_out():
    strict = dp.private_quantile(0.5, bounds=(-1, 1), epsilon=5000, confidence=None)
    assert strict([-inf] * 5 + [0.0]) == pytest.approx(-1, abs=1e-9)
    for missing in (nan, -nan):
        assert strict([missing] * 5 + [-0.5]) == pytest.approx(-0.5, abs=1e-9)
    assert strict([-nan, inf, 1e308, 0.5, -1e308, inf]) == pytest.approx(1, abs=1e-9)
    chosen = dp.private_quantile(0.5, candidates=[-1, 0, 7], epsilon=5000, confidence=None)
    for missing in (nan, -nan):
        assert chosen([missing] * 3 + [-1]) == -1
    assert chosen([-inf] * 3) == -1
    assert chosen([-0.0, 0.0, 0.0, 7, -5]) == 0


def test_without_rows_any_number_is_as_likely():
    entropy_free = dp.private_quantile(0.9, bounds=(0, 8), rho=9, confidence=None)
    found = [entropy_free.insecure_release([], seed).value for seed in range(400)]
    counts = np.histogram(found, 8, (0, 8))[0]
    assert chi2.sf(((counts - 50) ** 2 / 50).sum(), 7) > 1e-8
    chosen = dp.private_quantile(0.9, candidates=[0, 1, 2, 3], rho=9, confidence=None)
    picks = [chosen.insecure_release([], seed).value for seed in range(400)]
    counts = np.bincount(np.array(picks, dtype=int))
    assert chi2.sf(((counts - 100) ** 2 / 100).sum(), 3) > 1e-8


def test_large_data_in_parts_gives_the_same_release():
    data = np.random.default_rng(4).standard_normal(4_200_000)
    kept = data[:1000].copy()
    pipeline = dp.private_quantile(0.5, bounds=(-9, 9), rho=0.5, confidence=None)
    blocks = dp.Blocks(lambda: iter(np.array_split(data[::-1], 5)))
    one, two = (pipeline.insecure_release(rows, 5).value for rows in (data, blocks))
    assert one == two
    assert abs(one) < 0.01
    assert np.array_equal(data[:1000], kept)


@pytest.mark.parametrize("data", [[], [nan], [inf, -inf], [5e-324] * 9, [1e308] * 40, [-0.0]])
@pytest.mark.parametrize("wanted", [0, 0.5, 1, [0.1, 0.5, 0.6, 0.9]], ids=str)
@pytest.mark.parametrize("loss", [1e-300, 1e-6, 1, 1e300])
def test_no_value_and_no_loss_makes_trouble(data, wanted, loss):
    """Four quantiles have intervals too."""
    ends = {"confidence": 0.95, "sampling": True} if np.ndim(wanted) else {}
    for name in ("rho", "epsilon"):
        for how in (
            {"bounds": (-(2.0**900), 2.0**900)},
            {"bounds": (0, 5e-324)},
            {"bounds": (1e300 / 2**100, 2e300 / 2**100), "scale": "log"},
            {"bounds": (-1, 1), "scale": "asinh", "unit": Fraction(1, 10**400)},
            {"candidates": [-1e308, 1e308]},
        ):
            asked = {"confidence": None, "sampling": False, **ends}
            release = dp.private_quantile(wanted, **how, **{name: loss}, **asked)(data)
            for each in release if ends else ():
                assert np.isfinite([each.value, each.standard_error, *each.interval]).all()
            assert ends or (type(release) is float and np.isfinite(release))


def test_lattices_are_those_that_were_asked_for():
    def lattices(**how):
        return lattices_of(**{"scale": "linear", "unit": None, **how})

    one = (Fraction(1),)
    assert lattices(lower=(Fraction(0),), upper=one) == [LinearLattice(0.0, 1.0)]
    both = lattices(lower=(Fraction(1),), upper=(Fraction(2), Fraction(3)), scale="log")
    assert both == [AsinhLattice(1.0, 2.0, 0.0), AsinhLattice(1.0, 3.0, 0.0)]


def test_the_slope_is_below_what_was_asked_for():
    for loss in (Fraction(1, 3), Fraction(1, 10**12), Fraction(10**6), Fraction(2, 7) ** 300):
        plain, root = module._slope(loss, root=False), module._slope(loss, root=True)
        assert plain < loss
        assert root**2 < loss
        if loss < 2**10:
            assert plain > loss * (1 - Fraction(1, 2**49))
            assert root**2 > loss * (1 - Fraction(1, 2**48))
    assert module._slope(Fraction(10**9), root=False) == 2**10


def test_the_law_of_the_release_is_the_law_of_its_objects():
    """The measurement draws with the chooser whose law is checked above."""
    bound = built(0.5, "add or remove", epsilon=1)
    law = laws_of(bound)[0][0]
    data = np.array([0.2, 0.2, 0.9])
    entropies = [InsecureSeededEntropy(seed) for seed in range(20)]
    lattice = LinearLattice(0.0, 1.0)
    cells = [CellChoice(lattice, law).cell(data, e) for e in entropies]
    expected = LatticeLine(lattice).values(np.array(cells)).tolist()
    assert [bound.insecure_release(data, seed).value for seed in range(20)] == expected


@pytest.mark.parametrize("way", [{"bounds": (0, 1)}, {"candidates": np.linspace(0, 1, 1001)}])
@pytest.mark.parametrize("rich", [0, 1])
def test_each_column_is_drawn_with_its_own_share(way, rich):
    """A column without a share is as good as uniform: it fails in one of 10^8 runs."""
    shares = [1.0, 1e-9] if rich == 0 else [1e-9, 1.0]
    median = dp.records(columns=2) >> dp.private_quantile(
        0.5, **way, epsilon=1e4, shares=shares, confidence=None
    )
    found = np.abs(np.array([median(np.full((1001, 2), 0.5)) for _ in range(4)]) - 0.5)
    assert found[:, rich].max() < 1e-6
    assert found[:, 1 - rich].max() > 1e-3


def test_each_column_is_chosen_between_its_own_bounds():
    rows = np.column_stack([np.full(101, 0.25), np.full(101, 104.0)])
    wide = dp.records(columns=2) >> dp.private_quantile(
        [0.4, 0.6], bounds=([0, 100], [1, 108]), epsilon=1e5, confidence=None
    )
    assert np.abs(wide(rows) - [0.25, 104.0]).max() < 1e-6


@pytest.mark.parametrize("quantile", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize(("value", "outermost"), [(-9.0, 0.0), (99.0, 5.0)])
def test_numbers_beyond_the_candidates_count_as_the_outermost(quantile, value, outermost):
    """The quantiles 0 and 1 may lie beyond the data, so the other outermost one is as good."""
    chosen = dp.private_quantile(quantile, candidates=[0, 1, 5], epsilon=1e4, confidence=None)
    found = {chosen([value] * 100) for _ in range(60)}
    free = (quantile == 0 and value > 0) or (quantile == 1 and value < 0)
    assert found == ({0.0, 1.0, 5.0} if free else {outermost})


_generator = np.random.default_rng(7)
NUMBERS = {
    "none": np.empty(0),
    "one": np.array([3.0]),
    "all alike": np.full(40, 2.5),
    "few values": _generator.integers(0, 5, 60) * 1.0,
    "far apart": _generator.normal(0, 1, 50) ** 9,
    "beyond the bounds": _generator.normal(0, 1e3, 50),
}
LATTICES = [LinearLattice(0.0, 5.0, 6), LinearLattice(-9.0, 9.0), AsinhLattice(-1e6, 1e6, 1.0, 20)]


@pytest.mark.parametrize("parts", [2, 7, 2**13])
@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_passes_find_what_sorting_finds(
    name: str, lattice: Lattice, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opendp_lite.measurements.quantile.columns._PARTS", parts)
    numbers = NUMBERS[name]
    column = ColumnsElsewhere(LazyRows(opened(np.column_stack([numbers * 0, numbers]))), "")[1]
    found, expected = column.in_cells(lattice), NumbersInCells(lattice, numbers.copy())
    assert found.size == expected.size == len(numbers)
    for first in range(0, len(numbers), 9):
        for last in {first, first + 1, (first + len(numbers)) // 2, len(numbers)}:
            assert np.array_equal(found.between(first, last), expected.between(first, last))
    asked = np.array([0, 1, 3, 3, 2, lattice.cells // 2, lattice.cells - 1, lattice.cells, -4])
    assert np.array_equal(found.before(asked), expected.before(asked))
    counted = [int((lattice.cell(numbers) < cell).sum()) for cell in asked.tolist()]
    assert found.before(asked).tolist() == counted


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_passes_over_some_of_the_cells_count_from_their_first(name: str, lattice: Lattice) -> None:
    """After a cut only the rows on one side of it are asked for, by places from the cut on."""
    numbers = NUMBERS[name]
    rows = LazyRows(opened(np.column_stack([numbers * 0, numbers])))
    held, end = np.sort(lattice.cell(numbers)), lattice.cells
    for low, high in ((0, end // 2), (end // 3, end), (end // 5, end // 2), (end // 2, end // 2)):
        found = _NumbersElsewhere(rows, _CellsOf(1, lattice, None, ""), low, high)
        inside = held[(held >= low) & (held < high)] - low
        assert found.size == len(inside)
        assert found.between(0, len(inside)).tolist() == inside.tolist()
        asked = np.array([0, min(1, high - low), (high - low) // 2, high - low])
        before = [int((inside < place).sum()) for place in asked.tolist()]
        assert found.before(asked).tolist() == before
