"""Intervals of quantiles: their exact loss, their exact coverage, and what a person sees."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, floor

import numpy as np
import pytest
from scipy.stats import binom

import opendp_lite as dp
from opendp_lite.measurements.quantile.columns import CandidateLine, ColumnHere, LatticeLine
from opendp_lite.measurements.quantile.release import IntervalLaw, Stretches, sampling_of
from opendp_lite.samplers.lattice import LinearLattice
from tests.own_steps import RELATIONS, space_of

BITS = 4
CELLS = 1 << BITS
LINE = LatticeLine(LinearLattice(0.0, float(CELLS), BITS))
AT = (0, 5, 6, 15)
MIDDLES = (0, 5, 10)
SEVERAL = ((0, 5, 10), (5, 5, 6), (2, 9, 15))
ORDERS = (1.01, 2.0, 8.0)
LOSSES = [{"epsilon": 1}, {"rho": 0.5}]
SAMPLING = [False, True]


def built(relation: str, q=0.5, *, sampling: bool = False, confidence: float = 0.9, **loss):
    return space_of(relation) >> dp.private_quantile(
        q, bounds=(0, CELLS), bits=BITS, confidence=confidence, sampling=sampling, sure=True, **loss
    )


def law_of(bound) -> IntervalLaw:
    """The law of the interval that a bound measurement draws."""
    return bound.function.law.laws[0]


def exponents(law: IntervalLaw, cells: tuple[int, ...], *middles: int) -> list[Fraction]:
    """Of rows in the middles of these cells."""
    rows = np.array(cells, dtype=float) + 0.5
    return law.exponents(LINE, ColumnHere(rows), law.stretches(CELLS, middles))


def weighed(law: IntervalLaw, exponents: list[Fraction], *middles: int) -> np.ndarray:
    """The probability of each stretch."""
    far = np.array([float(each) for each in exponents])
    found = law.stretches(CELLS, middles).weights * np.exp(far.min() - far)
    return found / found.sum()


def masses(law: IntervalLaw, cells: tuple[int, ...], *middles: int) -> np.ndarray:
    """The probability of each stretch around some cells."""
    return weighed(law, exponents(law, cells, *middles), *middles)


def range_of_change(law: IntervalLaw, one, other, *middles: int) -> Fraction:
    """Of the exponents of all stretches, where the rows of one dataset become those of another."""
    pairs = zip(exponents(law, one, *middles), exponents(law, other, *middles), strict=True)
    change = [a - b for a, b in pairs]
    return max(change) - min(change)


def neighbours(relation: str):
    for rows in (r for size in range(3) for r in combinations_with_replacement(AT, size)):
        if relation == "add or remove":
            yield from ((rows, (*rows, added)) for added in AT)
        else:
            yield from (((*rows, a), (*rows, b)) for a, b in product(AT, repeat=2) if a != b)


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("quantile", [0.5, 0.9, [0.25, 0.5, 0.9]], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_exact_law_keeps_half_of_the_claim(relation, quantile, loss, sampling):
    """The other half is for the quantile itself."""
    ((kind, claim),) = loss.items()
    law = law_of(built(relation, quantile, sampling=sampling, **loss))
    pairs = {tuple(tuple(sorted(side)) for side in pair) for pair in neighbours(relation)}
    rows = sorted({side for pair in pairs for side in pair})
    at = np.array([[rows.index(side) for side in pair] for pair in pairs]).T
    reach, ratio, true = Fraction(0), 0.0, 0.0
    for middles in [(middle,) for middle in MIDDLES] if quantile in (0.5, 0.9) else SEVERAL:
        exactly = [exponents(law, each, *middles) for each in rows]
        far = np.array(exactly, dtype=float)
        moved = np.ptp(far[at[0]] - far[at[1]], axis=1)
        for one, other in at.T[moved > moved.max() - 1e-9]:
            change = [a - b for a, b in zip(exactly[one], exactly[other], strict=True)]
            reach = max(reach, max(change) - min(change))
        p, q = np.array([weighed(law, each, *middles) for each in exactly])[at]
        ratio = max(ratio, float(np.abs(np.log(p / q)).max()))
        for order in ORDERS:
            for a, b in ((p, q), (q, p)):
                moment = np.log((a**order * b ** (1 - order)).sum(axis=1)).max()
                true = max(true, float(moment) / (order - 1) / order)
    half = Fraction(claim) / 2
    if kind == "epsilon":
        assert reach <= half
        assert ratio <= half
        assert reach > half * Fraction(2, 5)
    else:
        assert reach * reach / 8 <= half
        assert true <= half


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.5}], ids=str)
def test_the_range_of_the_claim_is_attained(relation, loss):
    """A row comes into the narrow widths and leaves room outside of none: both signs at once."""
    law = law_of(built(relation, 0.5, confidence=0.1, **loss))
    pairs = [
        (rows, (*rows, added)) if relation == "add or remove" else ((*rows, 15), (*rows, added))
        for size in (12, 20, 40)
        for rows in ((*(0,) * size, *(8,) * many, *(15,) * size) for many in (6, 12, 30, 60))
        for added in (0, 8, 15)
    ]
    reach = max(range_of_change(law, *pair, middle) for pair in pairs for middle in (7, 8, 9))
    allowed = Fraction(1, 2) if "epsilon" in loss else 2
    assert float(reach) > 0.99 * float(allowed) ** (1 if "epsilon" in loss else 0.5)


@pytest.mark.parametrize("loss", [{"epsilon": 8}, {"rho": 8}], ids=str)
def test_a_row_moves_the_margins_for_sampling_on_both_sides_of_what_is_wanted(loss):
    """A row below all stretches takes from narrow and wide ones what it adds to the margin too."""
    law = law_of(built("add or remove", 0.5, sampling=True, confidence=0.9, **loss))
    rows = (7,) * 20 + (9,) * 20
    allowed = 4 if "epsilon" in loss else 32**0.5
    assert 0.97 * allowed < range_of_change(law, (1, *rows), rows, 8) <= allowed


def near(quantile: Fraction, rows: tuple[int, ...]) -> list[int]:
    """All that anybody calls this quantile of the rows."""
    place = quantile * len(rows)
    ranks = range(max(1, floor(place)), min(len(rows), ceil(place + 1)) + 1)
    return [sorted(rows)[rank - 1] for rank in ranks if place - 1 < rank < place + 2]


def miss(law: IntervalLaw, rows: tuple[int, ...], *middles: int) -> float:
    """The probability that an interval is without all that anybody calls its quantile."""
    stretches, held = law.stretches(CELLS, middles), True
    for quantile, first, last in zip(law.quantiles, stretches.first, stretches.last, strict=True):
        for row in near(quantile, rows):
            held = held & (first <= row) & (row <= last)
    return float(masses(law, rows, *middles)[~np.atleast_1d(held)].sum()) if rows else 0.0


def worst(law: IntervalLaw) -> float:
    """Over data of few and of many rows, and over all cells around which an interval may lie.

    The hardest rows are all at one end of the interval, just more than the quantile of them.
    """
    few = product((0, 1, 3, 9), repeat=3)
    data = [(*(3,) * a, *(7,) * b, *(8,) * c) for a, b, c in few]
    data += [(*(3,) * (1000 + more), *(12,) * 1000) for more in (-2, -1, 0, 1, 2, 3)]
    return max(miss(law, rows, middle) for rows in data for middle in (3, 6, 8, 12))


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("relation", RELATIONS)
def test_coverage_holds_for_all_data_and_is_nearly_attained(relation, confidence):
    """Twice as many failures, or half as many, would not be true."""
    found = worst(law_of(built(relation, 0.5, confidence=confidence, epsilon=0.1)))
    assert (1 - confidence) / 2 < found <= 1 - confidence
    assert worst(law_of(built(relation, 0.5, confidence=confidence, epsilon=6))) <= 1 - confidence


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_intervals_hold_together_for_all_data(relation, confidence):
    """Around released numbers that are right, and around such as are far off."""
    wanted = [0.25, 0.5, 0.9]
    data = [(*(3,) * a, *(7,) * b, *(8,) * c) for a, b, c in product((0, 1, 9), repeat=3)]
    data += [(*(3,) * (500 + more), *(12,) * 500) for more in (-2, -1, 0, 1, 2)]
    worst = 0.0
    for loss in ({"epsilon": 0.2}, {"epsilon": 6}):
        law = law_of(built(relation, wanted, confidence=confidence, **loss))
        worst = max(worst, *(miss(law, rows, *cells) for rows in data for cells in SEVERAL))
    assert (1 - confidence) / 4 < worst <= 1 - confidence


def test_stretches_of_several_quantiles_rise_from_their_cells_to_all_cells():
    wanted = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
    for cells in (1, 2, 16, 101, 2**20, 2**48):
        last = cells - 1
        for middles in ((0, 0, 0), (0, last // 2, last), (last // 3,) * 3, (last,) * 3):
            found = Stretches.among(cells, middles, wanted)
            assert found.first[:, 0].tolist() == found.last[:, 0].tolist() == list(middles)
            assert (np.diff(found.first, axis=1) <= 0).all()
            assert (np.diff(found.last, axis=1) >= 0).all()
            assert (found.first >= 0).all()
            assert (found.last < cells).all()
            assert (found.first[:, -1] == 0).all()
            assert (found.last[:, -1] == last).all()
            assert (found.weights >= 1).all()
            assert found.narrower < 6


@pytest.mark.parametrize("size", [3, 40, 1000])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_margin_for_sampling_holds_the_binomial(size, quantile, confidence):
    """The normal limit and one rank: exactly four fifths of the failures, and little less."""
    failures = 0.8 * (1 - confidence)
    for public in (True, False):
        sampling, moved = sampling_of(confidence, size_is_public=public)
        q = Fraction(quantile)
        margin = float(sampling.margin(q, size))
        center = quantile * size
        outside = binom.cdf(np.ceil(center - margin) - 1, size, quantile) + binom.sf(
            np.floor(center + margin), size, quantile
        )
        assert outside <= failures * 1.05 + 1e-4
        steps = [sampling.margin(q, n + 1) - sampling.margin(q, n) for n in range(60)]
        assert max(steps) <= moved or public
        assert min(steps) >= 0
    public_margin = sampling_of(0.95, size_is_public=True)[0].margin(Fraction(1, 2), 10_000)
    assert 100 < public_margin < 110


def covered(pipeline, draw, truth, runs: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean width."""
    held, width = 0, 0.0
    for seed in range(runs):
        data = draw(np.random.default_rng(seed))
        low, high = pipeline.insecure_release(data, seed).value.interval
        held += low <= truth(data) <= high
        width += (high - low) / runs
    return held / runs, width


def draw_normal(generator):
    return generator.normal(50, 10, 1000)


RUNS = 60


def test_intervals_are_narrow():
    """About 25 of 1000 rows lie in the interval of a median for epsilon = 1."""
    pipeline = dp.private_quantile(
        0.5, bounds=(0, 1), epsilon=1, confidence=0.95, sampling=False, sure=True
    )
    _, width = covered(pipeline, lambda generator: generator.random(1000), np.median, RUNS)
    assert 0.01 < width < 0.04


def test_several_intervals_are_narrow_and_hold_together():
    """One choice for all. An even part of the loss for each had about 250 rows on either side.

    At 95 %, fewer than 28 of 40 have a probability below 1e-7.
    """
    levels, generator, held, widths = np.arange(1, 10) / 10, np.random.default_rng(4), 0, []
    pipeline = dp.private_quantile(
        levels, bounds=(0, 1000), epsilon=1, confidence=0.95, sampling=False
    )
    for seed in range(40):
        rows = generator.normal(500, 100, 1000)
        ends = pipeline.insecure_release(rows, seed).value.intervals
        true = np.quantile(rows, levels)
        held += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
        widths.append(np.diff(np.searchsorted(np.sort(rows), ends), axis=1).mean() / 2)
    assert held >= 28
    assert 20 < np.median(widths) < 100


@pytest.mark.parametrize("relation", RELATIONS)
def test_sampling_covers_the_population(relation):
    """The median of a normal law, 1.96 sqrt(n) / 2 ranks and more: 2e-7 as above."""
    wide, narrow = (
        space_of(relation, 1000)
        >> dp.private_quantile(
            0.5, bounds=(0, 100), epsilon=4, confidence=0.95, sampling=sampling, sure=True
        )
        for sampling in (True, False)
    )
    share, width = covered(wide, draw_normal, lambda data: 50.0, RUNS)
    missed, less = covered(narrow, draw_normal, lambda data: 50.0, RUNS)
    assert share >= 46 / RUNS
    assert missed < 0.75
    assert less < width < 5


@pytest.mark.parametrize(
    "how",
    [
        {"bounds": (-50, 100)},
        {"bounds": (1, 100), "scale": "log"},
        {"bounds": (-50, 100), "scale": "asinh", "unit": 1},
        {"bounds": (0, 100), "bits": 5},
        {"candidates": range(0, 101, 4)},
        {"candidates": [3]},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", ["rows", "none", "one", "nan", "far"])
def test_intervals_are_inside_the_bounds_around_their_values(how, data):
    rows = {
        "rows": np.random.default_rng(1).normal(30, 20, (300, 2)),
        "none": np.zeros((0, 2)),
        "one": np.ones((1, 2)),
        "nan": np.full((4, 2), np.nan),
        "far": np.tile([[np.inf, -np.inf]], (50, 1)),
    }[data]
    pipeline = dp.records(columns=2) >> dp.private_quantile(
        [0.9, 0.1, 0.5], rho=0.5, confidence=0.9, sampling=True, **how
    )
    low, high = how.get(
        "bounds", (min(how.get("candidates", [0])), max(how.get("candidates", [0])))
    )
    found = pipeline(rows)
    assert (len(found), *map(len, found)) == (3, 2, 2, 2)
    for column in range(2):
        nine, one, five = (found[i][column] for i in range(3))
        for each in (nine, one, five):
            assert low <= each.interval[0] <= each.value <= each.interval[1] <= high
            assert each.standard_error == pytest.approx(
                (each.interval[1] - each.interval[0]) / 2 / 1.6448536
            )
            assert (each.confidence, each.sampling) == (0.9, True)
            assert each.rows == nine.rows >= 0
        assert one.value <= five.value <= nine.value


def test_shapes():
    rows = np.random.default_rng(2).random((50, 2))
    plain = dp.private_quantile(0.5, bounds=(0, 1), rho=1, confidence=0.95, sampling=False)
    assert type(plain(rows[:, 0])) is dp.Estimate
    assert [type(each) for each in (dp.records(columns=2) >> plain)(rows)] == [dp.Estimate] * 2
    several = dp.private_quantile([0.5, 0.2], bounds=(0, 1), rho=1, confidence=0.95, sampling=False)
    found = several(rows[:, 0])
    assert type(found) is dp.releases.Estimates
    assert found.names == ("0.5", "0.2")
    assert found["0.2"].value <= found["0.5"].value
    assert "0.2" in repr(found)
    for added in ([0.1 + 0.2, 0.7 - 1e-14], [0.1 + 0.2, 0.5, 0.7 - 1e-14, 1e-6]):
        named = dp.private_quantile(added, bounds=(0, 1), epsilon=1)(rows[:, 0]).names
        assert named[0] == "0.3"
        assert float(named[-1]) in (0.7, 1e-6)
    near = dp.private_quantile([0.3, 0.1 + 0.2], bounds=(0, 1), epsilon=1)(rows[:, 0])
    assert near.names == ("0.3", "0.30000000000000004")
    assert "<table>" in found._repr_html_()


def test_half_of_the_loss_is_for_the_intervals():
    for loss in ({"epsilon": 1}, {"rho": 0.2}):
        bound = dp.private_quantile(
            0.5, bounds=(0, 1), confidence=0.95, sampling=False, sure=True, **loss
        ).bind(dp.records())
        release = bound.function.law
        value = release.choosers[0].laws[0].slope
        assert value == release.laws[0].slope
        ((_, given),) = loss.items()
        paid = 2 * value if "epsilon" in loss else 2 * value**2 / 8
        assert paid <= bound.loss(1)
        assert float(paid) == pytest.approx(given)
        assert bound.map(1) == given


def test_rows_outside_of_stretches_are_counted():
    widths = np.array([0, 1, 4, 16])
    rows = np.array([0.5, 4.5, 5.5, 5.7, 6.5, 15.5, 99.0])
    under, over, _ = LINE.outside(ColumnHere(rows), 5 - widths, 5 + widths)
    assert under.tolist() == [2, 1, 1, 0]
    assert over.tolist() == [3, 2, 2, 0]
    tally = np.array([[1, 2, 4, 6], [2, 3, 5, 6]])
    line = CandidateLine(np.array([0.0, 1.0, 2.0]))
    under, over, size = line.outside(tally, np.array([1, 0]), np.array([1, 2]))
    assert (under.tolist(), over.tolist(), size) == ([2, 0], [3, 0], 6)


def test_ends_hold_their_cells():
    for cells in (16, 2**20, 2**48, 101):
        found = Stretches.around(cells, 7)
        assert (np.diff(found.last[0]) > 0).all()
        assert (found.last[0] - 7 == 7 - found.first[0]).all()
        assert found.last[0, [0, -1]].tolist() == [7, cells + 7]
        assert (found.weights >= 1).all()
        assert found.narrower < 6
    low, high = LINE.ends(4, 6)
    inside = np.linspace(low, high, 101)[1:-1]
    assert set(LINE.lattice.cell(inside)) == {3, 4, 5, 6, 7}
    assert LINE.ends(-3, 99) == (0.0, 16.0)


@pytest.mark.parametrize("confidence", [1e-9, 1 - Fraction(1, 10**9)])
@pytest.mark.parametrize("sampling", SAMPLING)
def test_the_least_and_the_most_that_may_be_asked_for(confidence, sampling):
    found = dp.private_quantile(
        0.5, bounds=(0, 1), epsilon=1, confidence=confidence, sampling=sampling
    )([0.5] * 9)
    assert np.isfinite([found.standard_error, *found.interval]).all()
