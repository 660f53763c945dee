"""Counts of keys that nobody declared: the threshold, the loss, and what counts as one key."""

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import prod

import attrs
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.stats import norm

import opendp_lite as dp
from opendp_lite.engines.distinct import CountKeys, KeyCounts
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import FoldRequest as Ask
from opendp_lite.engines.rows import summaries
from opendp_lite.measurements.thresholds import (
    Change,
    GaussianThreshold,
    LaplaceThreshold,
    Threshold,
    TruncatedThreshold,
    change_in,
)
from opendp_lite.measures.profile import GaussianProfile
from opendp_lite.samplers.entropy import InsecureSeededEntropy

REPLACE = dp.ChangeOneDistance()
ALMOST_ALL = {"epsilon": 30, "delta": 0.3}
"""Noise that is 0 in all but e^-30 of the draws, and a threshold of 2."""


def met(scale: Fraction, rows: int, delta: Fraction) -> LaplaceThreshold:
    """The least threshold, with Laplace noise, at which so many rows make new keys with delta."""
    return LaplaceThreshold(1, scale).meet(Change(rows, rows, 1), delta)


def gaussian_of(change: Change, epsilon, delta) -> GaussianThreshold:
    """The threshold with Gaussian noise at which a change costs so much."""
    asked, spill = Fraction(str(epsilon)), Fraction(str(delta))
    return GaussianThreshold.costing(change, asked, spill).meet(change, spill)


def exact_tail(scale: Fraction, least: int) -> Decimal:
    """P(Z >= least) for P(Z = k) in proportion to exp(-|k| / scale), added up term by term."""
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)
        q = (-rate).exp()
        far = least + int(Decimal(200) / rate) + 2
        terms = (q ** abs(k) for k in range(least, max(far, 1)))
        return sum(terms, Decimal(0)) * (1 - q) / (1 + q)


@pytest.mark.parametrize("scale", [Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(20)])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 9])
def test_the_chance_of_a_key_is_the_tail_of_the_law(scale, count):
    threshold = LaplaceThreshold(5, scale)
    assert threshold.law.scale > scale
    true = exact_tail(threshold.law.scale, 5 - count)
    claimed = threshold.chance(count)
    assert Fraction(true) * (1 - Fraction(1, 10**50)) <= claimed
    assert claimed <= Fraction(true) * (1 + Fraction(1, 10**35)) + Fraction(1, 10**50)


def partitions(rows: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """All ways to part rows among keys that have no others."""
    if rows == 0:
        yield ()
    for first in range(min(rows, most or rows), 0, -1):
        for rest in partitions(rows - first, first):
            yield (first, *rest)


def worst_newcomers(threshold: Threshold, rows: int, alike: int) -> Fraction:
    """The largest chance that a key shows of which these rows are all, however they are parted."""
    ways = partitions(rows, min(rows, alike))
    chances = (prod((1 - threshold.chance(n) for n in way), start=Fraction(1)) for way in ways)
    return 1 - min(chances)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(3), Fraction(100)])
@pytest.mark.parametrize("least", [1, 2, 6, 15, 300])
def test_the_worst_way_to_make_new_keys(scale, least):
    threshold = LaplaceThreshold(least, scale)
    for rows in range(8):
        worst = worst_newcomers(threshold, rows, rows)
        assert worst <= threshold.newcomers(rows, rows) <= worst + Fraction(1, 2**2000)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**9)])
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_the_threshold_is_the_least(epsilon, delta, rows):
    scale = rows / epsilon
    found = met(scale, rows, delta)
    assert found.newcomers(rows, rows) <= delta
    assert (
        found.least == 1 or LaplaceThreshold(found.least - 1, scale).newcomers(rows, rows) > delta
    )


def released_law(threshold: Threshold, count: int, far: int) -> NDArray[np.float64]:
    """The probabilities of no release, of each count from the threshold on, and of all beyond."""
    if count == 0:
        return np.array([1.0, *[0.0] * (far - threshold.least + 1)])
    steps = np.arange(threshold.least, far, dtype=np.float64)
    shown = np.exp(threshold.law.log_probability(steps, Fraction(count)))
    beyond = attrs.evolve(threshold, least=far).chance(count)
    return np.array([1 - float(threshold.chance(count)), *shown, float(beyond)])


def divergence(
    threshold: Threshold, first: Mapping[str, int], second: Mapping[str, int], epsilon: float
) -> float:
    """The exact delta of two datasets, given as the rows of each key."""
    keys = sorted({*first, *second})
    reach = 30 if isinstance(threshold, LaplaceThreshold) else int(7 * threshold.scale)
    far = threshold.least + max([*first.values(), *second.values()]) + reach
    laws = [np.ones(1), np.ones(1)]
    for key in keys:
        if first.get(key, 0) == second.get(key, 0):
            continue
        for place, data in enumerate((first, second)):
            law = released_law(threshold, data.get(key, 0), far)
            laws[place] = np.multiply.outer(laws[place], law).ravel()
    return float(np.clip(laws[0] - np.exp(epsilon) * laws[1], 0, None).sum())


def distance(first: Mapping[str, int], second: Mapping[str, int]) -> int:
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in {*first, *second})


DATASETS = [
    {key: count for key, count in zip("abc", counts, strict=True) if count}
    for counts in product([0, 1, 2, 5], [0, 1, 2], [0, 1])
]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 2), Fraction(3, 10)), (Fraction(3, 2), Fraction(1, 100))]
)
def test_the_exact_loss_of_datasets_is_within_the_map(epsilon, delta):
    """Up to three rows added or removed, all keys that they may touch."""
    threshold = met(1 / epsilon, 1, delta)
    reached = 0.0
    for first, second in product(DATASETS, DATASETS):
        apart = distance(first, second)
        if 1 <= apart <= 3:
            most, spill = map(float, threshold.loss(Change(apart, apart, 1)))
            found = divergence(threshold, first, second, most)
            assert found <= spill * (1 + 1e-9) + 1e-12
            reached = max(reached, found / spill if apart == 1 else 0)
    assert reached > 0.999999
    lower = attrs.evolve(threshold, least=threshold.least - 1)
    most, spill = map(float, threshold.loss(Change(1, 1, 1)))
    assert divergence(lower, {"a": 1}, {}, most) > 1.2 * spill


def neighbours(change: Change) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Datasets that differ by some rows in two keys: new ones, frequent ones, and one of each."""
    rows = range(change.alike + 1)
    for one, two, common in product(rows, rows, [(40, 40), (40, 0), (0, 0)]):
        if 1 <= one + two <= change.rows:
            yield {"a": common[0] + one, "b": common[1] + two}, dict(zip("ab", common, strict=True))


@pytest.mark.parametrize("change", [Change(1, 1, 1), Change(2, 1, 1), Change(2, 2, 1)])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 2), Fraction(1, 5)), (Fraction(2), Fraction(1, 100))]
)
def test_the_exact_loss_with_gaussian_noise_is_within_the_map(epsilon, change, delta):
    """In new keys, in frequent ones, and in both; a lower threshold or less noise shows."""
    threshold = gaussian_of(change, epsilon, delta)
    claimed, spill = threshold.loss(change)
    assert claimed == epsilon
    assert delta / 2 < spill <= delta

    def worst(tried: GaussianThreshold) -> float:
        ways = [pair for way in neighbours(change) for pair in (way, way[::-1])]
        return max(divergence(tried, *way, float(epsilon)) for way in ways)

    assert 0.6 * spill < worst(threshold) <= spill * (1 + 1e-9)
    assert worst(attrs.evolve(threshold, variance=threshold.variance / 4)) > 2 * delta
    assert worst(attrs.evolve(threshold, least=threshold.least // 2)) > delta
    lower = attrs.evolve(threshold, least=threshold.least - 1)
    assert threshold.least == 1 or lower.loss(change)[1] > delta


@pytest.mark.parametrize("rows", [1, 3, 5, 6])
@pytest.mark.parametrize("alike", [1, 3, 4])
def test_the_worst_way_to_make_new_keys_of_few_rows_each(rows, alike):
    """Of five rows with four alike the fifth needs a key too, which narrow noise shows.

    Where rows do not divide, the claim counts a whole key for the rest: above the truth, not far.
    """
    for threshold in (
        LaplaceThreshold(9, Fraction(1)),
        LaplaceThreshold(6, Fraction(3)),
        LaplaceThreshold(15, Fraction(1)),
        GaussianThreshold(9, Fraction(9), Fraction(1), Fraction(1, 10)),
    ):
        worst = worst_newcomers(threshold, rows, alike)
        found = threshold.newcomers(rows, alike)
        divides = rows % min(rows, alike) == 0
        assert worst <= found <= worst * (1 + Fraction(1, 10**30) if divides else 2)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(4), Fraction(90)])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 9])
def test_the_chance_of_a_key_with_gaussian_noise(variance, count):
    """By the law's own probabilities, and by its definition: a count of T - 1/2 rounds up to T."""
    threshold = GaussianThreshold(5, variance, Fraction(1), Fraction(1, 10))
    assert threshold.law.scale**2 > variance
    steps = np.arange(5, 150, dtype=np.float64)
    shown = np.exp(threshold.law.log_probability(steps, Fraction(count))).sum()
    claimed = float(threshold.chance(count))
    assert claimed == pytest.approx(shown, rel=1e-9)
    assert claimed == pytest.approx(norm.sf((4.5 - count) / float(variance) ** 0.5), rel=1e-9)


def test_more_rows_than_are_looked_at_one_by_one_cost_a_little_more():
    """The grouped bound is above each way by itself, and below a threshold a tenth higher."""
    change = Change(70, 1, 1)
    threshold = gaussian_of(change, 1, Fraction(1, 10**6))
    spill = threshold.loss(change)[1]
    each = [
        1
        - (1 - threshold.newcomers(new, 1))
        * (1 - GaussianProfile((70 - new) / threshold.variance).delta(Fraction(1)))
        for new in range(71)
    ]
    assert max(each) <= spill <= Fraction(1, 10**6)
    assert threshold.newcomers(70, 1) > spill / 10


def test_rows_replaced_with_gaussian_noise_move_both_datasets():
    """Of two rows replaced in different keys, and one in a new key: l2^2 is 4, and 3."""
    change = Change(2, 1, 2)
    assert [change.squares(new) for new in range(3)] == [4, 3, 2]
    assert [Change(4, 4, 1).squares(new) for new in range(5)] == [16, 9, 4, 1, 0]
    assert [Change(4, 2, 1).squares(new) for new in range(5)] == [8, 6, 4, 1, 0]
    threshold = gaussian_of(change, 1, Fraction(1, 10))
    most, spill = threshold.loss(change)
    pairs = [
        ({"a": 20, "b": 20, "c": 21}, {"a": 21, "b": 20, "c": 20}),
        ({"a": 21, "b": 1}, {"a": 20, "c": 1}),
        ({"a": 1}, {"b": 1}),
    ]
    for pair in pairs:
        for way in (pair, pair[::-1]):
            assert divergence(threshold, *way, float(most)) <= spill


def spread(groups: int, rows: int = 1, *more):
    chosen = dp.bound_contributions(rows, groups=("city", groups))
    return dp.table(person="id") >> chosen >> dp.select("city", *more)


def test_the_better_noise_is_taken_and_told():
    step = dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    one, ten = spread(1) >> step, spread(10) >> step
    packed = dp.table(person="id") >> dp.bound_contributions(10) >> dp.select("city") >> step
    assert "l1 / b, b = 1;" in one.explain()
    assert "l1 / b, b = 10, noise of at most " in packed.explain()
    assert "Gaussian" in ten.explain()
    change = Change(10, 1, 1)
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    gaussian = gaussian_of(change, epsilon, delta)
    laplace = LaplaceThreshold.costing(change, epsilon).meet(change, delta)
    assert ten.loss(1) == gaussian.loss(change)
    assert (gaussian.least, laplace.least) == (72, 156)
    assert ten.loss(2) == gaussian.loss(Change(20, 2, 1))
    assert ten.map(1) == (1, pytest.approx(9e-7, rel=1e-6))
    assert one.loss(1)[1] == laplace_of_one().chance(1)
    assert ten.map(2)[0] > 2


def laplace_of_one() -> LaplaceThreshold:
    return met(Fraction(1), 1, Fraction(1, 10**6))


def test_rows_are_known_to_be_apart_only_while_their_values_are_as_they_were():
    """A step that changes the values may bring rows together that were in different groups."""
    chosen = dp.table(person="id") >> dp.bound_contributions(2, groups=("city", 5))
    kept = chosen >> dp.keep("age", between=(18, 65))
    for space, alike in [
        (chosen >> dp.select("city"), 2),
        (chosen >> dp.select("age", "city"), 2),
        (kept >> dp.select("city"), 2),
        (chosen >> dp.select("age"), 10),
        (chosen >> dp.select("city") >> dp.clamp(0, 9), 10),
        (chosen >> dp.select("city") >> dp.impute(9), 10),
        (chosen >> dp.select("city") >> dp.select("city") >> dp.transformations.absolute(), 10),
        (
            dp.table()
            >> dp.bound_contributions(2, groups=("city", 5), person="id")
            >> dp.select("city"),
            3,
        ),
    ]:
        rows = space.stability_map(Fraction(1))
        assert change_in(space.output_space, rows).alike == alike


def test_groups_of_a_person_are_keys():
    """Values that are one key are one group, whatever they are, so a person has one row in it."""
    alike = [date(2024, 2, 29), datetime(2024, 2, 29), "2024-02-29"]
    alike += [pd.Timestamp("2024-02-29"), "2024-02-29T00:00:00"]
    numbers = [0.1, Decimal("0.1"), Fraction(1, 10), 1, 1.0, True, Decimal(1)]
    data = {"id": ["p"] * 12, "city": alike + numbers}
    keys = Fold(CountKeys(1, ("city",)), KeyCounts.of)
    table = dp.Tables().to_internal(data)
    assert keys(table).keys == (0.1, 1, "2024-02-29", "2024-02-29T00:00:00")
    kept = spread(12).function(table)
    assert keys(kept).keys == keys(table).keys
    assert keys(kept).counts.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_the_exact_loss_of_replaced_rows_is_within_the_map(epsilon):
    """One row of a key becomes one of another: a key may vanish and another appear."""
    threshold = met(2 / Fraction(epsilon), 1, Fraction(1, 100))
    most, spill = map(float, threshold.loss(Change(1, 1, 2)))
    assert most == epsilon
    ratios = []
    for first in DATASETS:
        for old, new in product(first, "abc"):
            second = Counter(first)
            second[old] -= 1
            second[new] += 1
            found = divergence(threshold, first, +second, most)
            assert found <= spill * (1 + 1e-9)
            ratios.append(found / spill)
    assert max(ratios) > 0.999999
    half = LaplaceThreshold(threshold.least, threshold.scale / 2)
    assert divergence(half, {"a": 60, "b": 60}, {"a": 59, "b": 61}, most) > spill


@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_two_replaced_rows_count_once_where_keys_vanish_and_appear(epsilon):
    threshold = met(2 / Fraction(epsilon), 1, Fraction(1, 100))
    most, spill = map(float, threshold.loss(Change(2, 2, 2)))
    assert most == 2 * epsilon
    pairs = [
        ({"a": 2}, {"b": 2}),
        ({"a": 1, "b": 1}, {"c": 2}),
        ({"a": 1, "b": 1}, {"c": 1, "d": 1}),
        ({"a": 2, "b": 1}, {"a": 1, "c": 2}),
        ({"a": 9, "b": 1}, {"a": 8, "c": 2}),
        ({"a": 9, "b": 9}, {"a": 7, "b": 11}),
    ]
    found = [divergence(threshold, *way, most) for pair in pairs for way in (pair, pair[::-1])]
    assert 0.99 * spill < max(found) <= spill * (1 + 1e-9)


def test_the_loss_of_more_rows():
    added = dp.records() >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    threshold = met(Fraction(1), 1, Fraction(1, 10**6))
    assert threshold.least == 15
    assert added.loss(0) == (0, 0)
    assert added.loss(1) == (1, threshold.chance(1))
    assert added.loss(3) == (3, threshold.newcomers(3, 3)) == (3, threshold.chance(3))
    replaced = dp.records(size=9, metric=REPLACE) >> dp.measurements.thresholded_counts(
        epsilon=1, delta=1e-6
    )
    other = met(Fraction(2), 1, Fraction(1, 10**6))
    assert replaced.loss(1) == (1, other.chance(1))
    assert replaced.loss(2) == (2, other.newcomers(2, 2))


def test_a_unit_of_several_rows_is_paid_for():
    """A replaced row may be one that is kept and one that comes: two rows, one unit."""
    space = dp.records(columns=["age", "city"], size=9, metric=REPLACE)
    kept = dp.keep("age", between=(18, 65)) >> dp.select("city")
    bound = space >> kept >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    change, delta = Change(2, 2, 1), Fraction(1, 10**6)
    threshold = TruncatedThreshold.costing(change, Fraction(1)).meet(change, delta)
    assert bound.loss(1) == threshold.loss(change)
    assert threshold.loss(change)[0] == 1
    assert threshold.loss(change)[1] <= delta


def truncated(epsilon, delta) -> TruncatedThreshold:
    """For one row that is added or removed."""
    one = Change(1, 1, 1)
    return TruncatedThreshold.costing(one, Fraction(epsilon)).meet(one, Fraction(delta))


def truncated_law(scale: float, least: int, count: int, far: int) -> NDArray[np.float64]:
    """The probabilities of no release and of each number below far, from the definition."""
    found = np.zeros(far + 1)
    if count == 0:
        found[0] = 1
        return found
    steps = np.arange(1 - least, least)
    weights = np.exp(-np.abs(steps) / scale)
    places = np.where(count + steps >= least, count + steps, 0)
    np.add.at(found, places, weights / weights.sum())
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.01"), ("0.3", "1e-5"), ("2", "1e-9")])
def test_truncated_noise_costs_exactly_what_it_claims(epsilon, delta):
    """For all counts that are one and three apart; half the noise and a lower threshold do not."""
    threshold = truncated(epsilon, delta)
    scale, least, far = float(threshold.law.scale), threshold.least, 5 * threshold.least + 9

    def worst(rows: int, loss: float, scale: float = scale, least: int = least) -> float:
        laws = [truncated_law(scale, least, count, far) for count in range(3 * least)]
        ways = [*zip(laws, laws[rows:], strict=False), *zip(laws[rows:], laws, strict=False)]
        gaps = [np.clip(first - np.exp(loss) * second, 0, None).sum() for first, second in ways]
        return float(max(gaps))

    for rows in (1, 3):
        most, spill = map(float, threshold.loss(Change(rows, rows, 1)))
        assert worst(rows, most) <= spill * (1 + 1e-9)
    most, spill = map(float, threshold.loss(Change(1, 1, 1)))
    assert most == float(Fraction(epsilon))
    assert 0.999 * spill < worst(1, most) <= float(Fraction(delta))
    assert worst(1, most, least=least - 1) > 1.1 * spill
    assert worst(1, most, scale=scale / 2) > 2 * spill


def test_truncated_noise_of_very_many_rows_has_a_loss_at_once():
    threshold = truncated("0.1", "1e-6")
    assert threshold.loss(Change(0, 0, 1)) == (0, 0)
    assert threshold.loss(Change(10**12, 10**12, 1)) == (10**11, 1)
    by_hand = threshold.chance(1) * sum(Fraction(np.exp(i / 10)) for i in range(60))
    assert threshold.loss(Change(60, 60, 1)) == (6, pytest.approx(by_hand, rel=1e-9))
    many = Change(10**5, 10**5, 2)
    wide = TruncatedThreshold.costing(many, Fraction(1)).meet(many, Fraction(1, 10**6))
    assert wide.loss(many)[1] <= Fraction(1, 10**6)
    large = dp.records() >> dp.measurements.thresholded_counts(epsilon=10**6, delta=1e-6)
    assert large.loss(1)[1] <= Fraction(1, 10**6)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("1", "1e-6"), ("0.5", "1e-3")])
def test_truncated_noise_is_at_the_optimum_of_selection(epsilon, delta):
    """No mechanism of this loss shows a key of n rows more often: each bound follows from the
    definition, and from the one for a row less (Desfontaines and others 2022, theorem 1)."""
    threshold = truncated(epsilon, delta)
    scale, least = float(threshold.law.scale), threshold.least
    grown, spill, best = np.exp(1 / scale), float(threshold.chance(1)), 0.0
    for count in range(1, 2 * least):
        best = min(grown * best + spill, 1 - (1 - best - spill) / grown, 1.0)
        hidden = truncated_law(scale, least, count, 3 * least)[0]
        assert 1 - hidden == pytest.approx(best, rel=1e-9)


def test_truncated_noise_follows_its_law():
    """Of 20 000 keys each; a key of no rows does not occur."""
    threshold, each = TruncatedThreshold(6, Fraction(2)), 20_000
    for count in (1, 4, 9):
        found = KeyCounts(tuple(range(each)), np.full(each, count))
        shown = threshold.pass_on(found, InsecureSeededEntropy(count))
        counts = np.bincount([*shown.values()], minlength=30)
        counts[0] = each - len(shown)
        law = truncated_law(float(threshold.law.scale), 6, count, 29)
        assert not counts[law == 0].any()
        seen = law > 0
        square = ((counts[seen] - each * law[seen]) ** 2 / (each * law[seen])).sum()
        assert square < 60
        chance = float(threshold.chance(count))
        assert count > 5 or chance == pytest.approx(1 - law[0], rel=1e-9)


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_counts_of_several_processes_merge(columns):
    """Parts that are folded far apart give their keys places of their own."""
    names = tuple(columns)
    halves = [{"a": ["x", "y", 1.0], "b": [1, 2, 2]}, {"a": [1, "z", "y"], "b": [2, 2, 2]}]
    found = []
    for half in halves:
        waiting = CountKeys(len(names), names).ask(dp.Tables().to_internal(half), "")
        rows, how = pickle.loads(pickle.dumps((waiting.rows, waiting.how)))
        found.append(pickle.loads(pickle.dumps(summaries([Ask(rows, how)])[0])))
    both = KeyCounts.of(waiting.how.merge(*found))
    whole = {name: [each for half in halves for each in half[name]] for name in "ab"}
    alone = Fold(CountKeys(len(names), names), KeyCounts.of)(dp.Tables().to_internal(whole))
    assert both.keys == alone.keys
    assert both.counts.tolist() == alone.counts.tolist()
    assert sum(both.counts) == 6
    apart = pickle.loads(pickle.dumps(waiting.how)), pickle.loads(pickle.dumps(waiting.rows))
    with pytest.raises(dp.DataError, match="two processes"):
        KeyCounts.of(summaries([Ask(apart[1], apart[0])])[0])


def test_sparse_rows_and_hostile_numbers():
    data = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e308, 2.0**53, 2.0**64] * 2)
    expected = [-np.inf, 0, 5e-324, 2**53, 2.0**64, 1e308, np.inf]
    assert list(keys_of(data)) == expected
    with pytest.raises(dp.DataError, match="sparse"):
        keys_of(scipy.sparse.csr_array(data[:, None]))
    assert list(keys_of(np.array([2**64 - 1, 2**64 - 1, 1, 1], dtype=np.uint64))) == [1, 2**64 - 1]
    assert list(keys_of(np.array([2**63 - 1, -(2**63)] * 2))) == [-float(2**63), 2**63 - 1]
    assert list(keys_of(np.array([True, False] * 2))) == [0, 1]


def keys_of(data, *columns: str):
    """The keys of two rows or more, with nearly no noise."""
    step = dp.measurements.thresholded_counts(**ALMOST_ALL)
    return (dp.select(list(columns)) >> step if columns else step)(data)


SAME_KEYS = [
    (
        [1, 1.0, True, np.int8(1), np.float32(1), "1", "1", np.str_("1"), 0.5, 0.5, -0.0, 0],
        {0: 2, 0.5: 2, 1: 5, "1": 3},
    ),
    ([2**60, 2**60, 2**60 + 1, 2**60 + 1], {2**60: 2, 2**60 + 1: 2}),
    ([float("inf")] * 2 + ["inf"] * 2, {float("inf"): 2, "inf": 2}),
    ([None, None, None, "a", "a", float("nan"), np.nan], {"a": 2}),
    ([np.nan, np.nan, 1.0, 1.0], {1: 2}),
    ([], {}),
    ([None], {}),
    ([Decimal("0.1"), 0.1, Fraction(1, 10), Decimal(2), 2, Fraction(2)], {0.1: 3, 2: 3}),
    ([2, Decimal(2), Fraction(2), Fraction(1, 10), Decimal("0.1"), 0.1], {0.1: 3, 2: 3}),
]


@pytest.mark.parametrize(("data", "expected"), SAME_KEYS, ids=str)
def test_equal_values_are_one_key_and_missing_ones_none(data, expected):
    assert keys_of(data) == expected


def test_a_row_that_lacks_one_of_its_cells_has_no_key():
    data = {"a": ["x", "x", None, None], "b": [1, 1, 1, 1]}
    assert keys_of(data, "a", "b") == {("x", 1): 2}


@pytest.mark.parametrize("order", [[1.0, 1, True], [True, 1.0, 1], [1, True, 1.0]])
def test_how_a_key_looks_does_not_depend_on_the_data(order):
    (key,) = keys_of(order)
    assert type(key) is int
    (large,) = keys_of([10**300, 1e300] if order[0] is True else [1e300, 10**300, 1e300]) or [1e300]
    assert type(large) is float


def test_keys_come_in_an_order_of_their_own():
    data = ["b", "b", 2, 2, "a", "a", 10, 10, 1.5, 1.5]
    assert list(keys_of(data)) == list(keys_of(data[::-1])) == [1.5, 2, 10, "a", "b"]
    pairs = {"a": ["y", "y", "x", "x"], "b": [1, 1, "1", "1"]}
    assert list(keys_of(pairs, "a", "b")) == [("x", "1"), ("y", 1)]


CITIES = ["Rome", "Oslo", None, "Bern", "Oslo", "Rome", "Rome"] * 30


def test_categories_that_do_not_occur_are_no_keys():
    kinds = ["a", "b", *map(str, range(2000))]
    column = pd.Series(pd.Categorical(["a", "a", "b"], categories=kinds))
    bound = dp.table() >> dp.measurements.thresholded_counts(epsilon=1, delta=0.3)
    found = [bound.insecure_release(column, seed=seed).value for seed in range(50)]
    assert set().union(*found) == {"a", "b"}


def test_filters_and_several_columns():
    generator = np.random.default_rng(0)
    sex, age = generator.choice(["f", "m"], 3000), generator.integers(0, 100, 3000)
    region = generator.integers(0, 4, 3000).astype(float)
    adults = dp.keep("age", between=(18, 65)) >> dp.select("sex", "region")
    found = (adults >> dp.measurements.thresholded_counts(**ALMOST_ALL))(
        {"age": age, "sex": sex, "region": region}
    )
    kept = (age >= 18) & (age <= 65)
    true = Counter(zip(sex[kept].tolist(), region[kept].tolist(), strict=True))
    assert found == true
    assert list(found) == sorted(true)


def test_threads_count_together(monkeypatch):
    """Rows are folded side by side, and new keys meet in all parts at once."""
    monkeypatch.setattr("opendp_lite.engines.data.source._PROCESSORS", 3)
    monkeypatch.setattr("opendp_lite.engines.data.source.SHARE_ENTRIES", 20_000)
    keys = np.random.default_rng(1).integers(0, 3000, 300_000)
    assert keys_of({"a": keys}, "a") == dict(enumerate(np.bincount(keys).tolist()))
    far_apart = keys * 10**12
    assert len(keys_of({"a": far_apart}, "a")) == 3000
    pairs = {"a": keys, "b": keys % 2}
    assert sum(keys_of(pairs, "a", "b").values()) == len(keys)


class Hostile:
    """Fails wherever it is asked anything."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __hash__(self) -> int:
        raise RuntimeError("secret")


@pytest.mark.parametrize("place", [0, 5, 9])
def test_other_values_have_no_key_and_fail_nowhere(place):
    data = ["a"] * 10
    for odd in (b"a", 1j, (1, 2), [1], {}, Hostile(), 10**400, Decimal("sNaN"), pd.NaT, pd.NA):
        data[place] = odd
        assert keys_of({"a": data}, "a") == {"a": 9}


def test_dates_are_keys():
    days = [date(2024, 2, 29), datetime(2024, 2, 29, 12), pd.Timestamp("2024-02-29")]
    assert list(keys_of(days * 2)) == ["2024-02-29", "2024-02-29T00:00:00", "2024-02-29T12:00:00"]


def test_it_composes_with_others_in_one_measure():
    both = dp.compose(
        dp.select("city") >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6),
        dp.count() >> dp.laplace(epsilon=1) >> dp.to_approximate(1e-9),
    )
    found, rows = both({"city": CITIES})
    assert list(found) == ["Bern", "Oslo", "Rome"]
    assert 150 < rows < 270
