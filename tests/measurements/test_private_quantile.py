"""Private quantiles: what they cost, where they lie, and what a person sees.

Their exact law is for ``tests/test_exact_laws.py``.
"""

from fractions import Fraction
from importlib import import_module
from math import inf, nan

import numpy as np
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows
from opendp_lite.measurements.quantile.columns import ColumnsElsewhere, _CellsOf, _NumbersElsewhere
from opendp_lite.measurements.quantile.places import lattices_of
from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice
from opendp_lite.samplers.rank_choice import NumbersInCells, RankLaw
from tests.own_steps import RELATIONS, doubled, space_of

module = import_module("opendp_lite.measurements.quantile.private_quantile")


def laws_of(bound) -> list[list[RankLaw]]:
    """The laws that a bound measurement draws from: for each quantile one a column."""
    choosers = bound.function.law.choosers
    return [list(laws) for laws in zip(*(chooser.laws for chooser in choosers), strict=True)]


def built(quantile, relation: str, **loss):
    return space_of(relation) >> dp.private_quantile(
        quantile, bounds=(0, 1), **loss, confidence=None
    )


def test_a_group_keeps_its_claim():
    bound = built(0.5, "add or remove", rho=0.1)
    assert (bound.map(2), bound.map(3), bound.map(0)) == (0.4, 0.9, 0)
    pure = built([0.1, 0.7], "add or remove", epsilon=0.3)
    assert (pure.map(2), pure.map(5)) == (0.6, 1.5)


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


def test_shares_that_are_nearly_even_have_nearly_the_curve_of_even_ones():
    given = {"bounds": (0, 9), "confidence": 0.9, "sampling": False, "epsilon": 2}
    even, uneven = (
        dp.records(columns=2) >> dp.private_quantile(0.5, shares=shares, **given)
        for shares in (None, [1, 1 + 1e-9])
    )
    assert uneven.delta(0.5) == pytest.approx(even.delta(0.5), rel=1e-3)


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
def test_passes_find_what_sorting_finds(name, lattice, parts, monkeypatch):
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
def test_passes_over_some_of_the_cells_count_from_their_first(name, lattice):
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
