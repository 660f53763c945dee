"""Choices in many lanes: as the exact choice one by one, whatever floats can tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
import pytest
from mpmath import mp, mpf
from sampling import LEAST_P, Words, biased_words, fit

from opendp_lite.engines.data.fold import Scratch
from opendp_lite.samplers import choice as choice_each
from opendp_lite.samplers.choice import (
    FAR_EXPONENT,
    WeightedItems,
    below,
    below_each,
    choose,
    choose_each,
)
from opendp_lite.samplers.entropy import InsecureSeededEntropy

EVERY_LANE = 1e30
"""A margin so wide that floats decide nothing."""
ITEMS = {
    "one": ([1], [0]),
    "two alike": ([1, 1], [0, 0]),
    "thirds": ([3, 1, 4, 1, 5], [Fraction(i, 3) for i in range(5)]),
    "none of some": ([0, 3, 0, 2, 0], [5, 0, 0, Fraction(7, 5), 9]),
    "few near, many far": ([1, 2**56], [0, 39]),
    "beyond the farthest": ([1, 2**48, 3, 2**56], [0, 10**9, 127, 128]),
    "rarely kept": ([1, *[1] * 40], [0, *[Fraction(30 + i) for i in range(40)]]),
    "fine differences": ([1, 1, 1], [Fraction(0), Fraction(1, 2**60), Fraction(1, 2**33)]),
}


def floats_of(exponents) -> np.ndarray:
    return np.array([[min(float(e), FAR_EXPONENT) for e in exponents]])


@attrs.frozen(eq=False)
class Alike(WeightedItems):
    """The items at a place all have its exponent; an item is its place."""

    counts: np.ndarray
    exponents: np.ndarray
    exact: Callable[[int, int], Fraction]

    def drawn(self, lanes, places, entropy):
        return places, self.exponents[lanes % len(self.exponents), places]

    def exactly(self, lane, item):
        return self.exact(lane, item)


def chosen(name, lanes, entropy, margin=choice_each.COIN_MARGIN):
    counts, exponents = ITEMS[name]
    alike = Alike(
        np.tile(counts, (lanes, 1)), floats_of(exponents), lambda _, i: Fraction(exponents[i])
    )
    return choose_each(alike, entropy, Scratch(), margin)


@pytest.mark.parametrize("name", ITEMS)
def test_one_lane_is_the_choice_of_one(name):
    """Of the same words: those of one seed, and those whose uniforms crowd near 0 and 1."""
    counts, exponents = ITEMS[name]
    words = [*np.split(biased_words(600, 1), 60), []]
    for seed, given in enumerate(words * 2):
        alone = Words(given, seed), Words(given, seed)
        expected = choose(
            np.array(counts), floats_of(exponents)[0], lambda i: Fraction(exponents[i]), alone[0]
        )
        assert chosen(name, 1, alone[1]).tolist() == [expected]
        assert alone[0].word() == alone[1].word()


@pytest.mark.parametrize("name", ITEMS)
def test_the_margin_changes_nothing(name):
    """The same words, decided by floats where they can and in exact arithmetic everywhere."""
    for words in (biased_words(4000, 2), []):
        found = [
            chosen(name, 300, Words(words, 3), m) for m in (choice_each.COIN_MARGIN, EVERY_LANE)
        ]
        assert np.array_equal(*found)


def test_words_that_floats_cannot_tell_are_decided_exactly():
    """An item is kept below p = 2^40 / w: uniforms within 2^-64 to 2^-31 of p, to either side."""
    envelope = int(2.0**40 * (1 + 2.0**-30)) + 1
    edge, kept = (2**104) // envelope, []
    for shift in range(34):
        for word in (edge - (1 << shift), edge + (1 << shift)):
            words = Words([0, word], 5), Words([0, word], 5)
            counts, exponents = np.ones((1, 2), np.int64), np.array([[0.0, 50.0]])

            def exactly(_, i):
                return Fraction(50 * i)

            found = [
                choose_each(Alike(counts, exponents, exactly), each, Scratch(), margin).tolist()
                for each, margin in zip(words, (choice_each.COIN_MARGIN, EVERY_LANE), strict=True)
            ]
            assert found[0] == found[1]
            left = [each.word() for each in words]
            assert left[0] == left[1]
            kept.append(left[0] == Words([], 5).word())
            assert kept[-1] == (word < edge)


@pytest.mark.parametrize("wrong", [-(2.0**-33), 2.0**-33])
def test_words_that_wrong_exponents_would_tell_wrongly_are_decided_exactly(wrong):
    """An item is kept below p = exp(-1/2) 2^40 / w: uniforms within 2^-33 of it."""
    mp.dps = 40
    counts, exponents = np.ones((1, 2), np.int64), np.array([[0.0, 0.5 + wrong]])
    sizes = 2.0**40 * (1 + 2.0**-30) * np.exp(-exponents[0])
    first, second = (int(size) + 1 for size in sizes)
    edge = int(mp.exp(-mpf(1) / 2) * 2**104 / second)
    for shift in range(20, 31):
        for word in (edge - (1 << shift), edge + (1 << shift)):
            words = Words([first + second - 1, word], 5)
            choose_each(Alike(counts, exponents, lambda _, i: Fraction(i, 2)), words, Scratch())
            assert (words.word() == Words([], 5).word()) == (word < edge)


def test_floats_decide_nearly_all_and_the_wide_margin_none(monkeypatch):
    asked: list[int] = []
    exact = choice_each.goes_below

    def counted(*args):
        asked.append(1)
        return exact(*args)

    monkeypatch.setattr(choice_each, "goes_below", counted)
    entropy = InsecureSeededEntropy(6)
    chosen("thirds", 2000, entropy)
    assert not asked
    chosen("thirds", 200, entropy, EVERY_LANE)
    assert len(asked) >= 200


def test_frequencies_with_exponents_of_each_lane():
    """Three kinds of lanes side by side."""
    entropy, lanes = InsecureSeededEntropy(7), 3 * 4000
    counts = np.tile([[3, 1, 4], [1, 0, 9], [2**50, 2**50, 1]], (lanes // 3, 1))
    table = [[Fraction(1, 3), 0, 2], [0, 0, Fraction(7, 5)], [Fraction(1, 7), 0, 30]]
    exponents = np.tile(np.array([[float(e) for e in row] for row in table]), (lanes // 3, 1))
    alike = Alike(counts, exponents, lambda lane, i: Fraction(table[lane % 3][i]))
    found = choose_each(alike, entropy, Scratch())
    weights = counts[:3] * np.exp(-exponents[:3])
    for kind in range(3):
        assert fit(np.bincount(found[kind::3], minlength=3), weights[kind]) > LEAST_P


@pytest.mark.parametrize("margin", [choice_each.COIN_MARGIN, EVERY_LANE])
@pytest.mark.parametrize("wrong", [-(2.0**-33), 2.0**-33])
def test_floats_that_are_as_wrong_as_they_may_be_leave_the_law(wrong, margin):
    """Kept with the exact probability: exponents of 0 are exact, others off by 2^-33."""
    exponents = [Fraction(0), Fraction(1, 2), Fraction(2)]
    floats = np.array([[0.0, 0.5 + wrong, 2 + wrong]])
    alike = Alike(np.ones((6000, 3), np.int64), floats, lambda _, i: exponents[i])
    found = choose_each(alike, InsecureSeededEntropy(8), Scratch(), margin)
    assert fit(np.bincount(found), np.exp([-float(e) for e in exponents])) > LEAST_P


@attrs.frozen(eq=False)
class Rising(WeightedItems):
    """Two places of 4 and 6 items each; the exponent of an item is a seventh of its number."""

    counts: np.ndarray
    exponents: np.ndarray = attrs.field(factory=lambda: np.array([[0.0, 4 / 7]]))

    def drawn(self, lanes, places, entropy):
        items = 4 * places + below_each(self.counts[lanes, places], entropy)
        return items, items / 7

    def exactly(self, lane, item):
        return Fraction(item, 7)


@pytest.mark.parametrize("margin", [choice_each.COIN_MARGIN, EVERY_LANE])
def test_items_of_a_place_have_exponents_of_their_own(margin):
    rising = Rising(np.tile([4, 6], (3000, 1)))
    found = choose_each(rising, InsecureSeededEntropy(10), Scratch(), margin)
    assert fit(np.bincount(found, minlength=10), np.exp(-np.arange(10) / 7)) > LEAST_P


def test_whole_numbers_are_those_of_one_by_one():
    totals = [1, 2, 3, 255, 256, 257, 2**52 + 1, 2**53 - 1, 2**62 - 1, 2**62, 2**63 - 1]
    for total in totals:
        for seed in range(20):
            one, two = InsecureSeededEntropy(seed), InsecureSeededEntropy(seed)
            assert below_each(np.array([total]), one).tolist() == [below(total, two)]
            assert one.word() == two.word()


def test_whole_numbers_of_many_lanes_are_uniform():
    totals = np.tile([3, 7, 1, 2**62 + 1], 4000)
    found = below_each(totals, InsecureSeededEntropy(9)).reshape(-1, 4)
    assert (found < totals[:4]).all()
    assert (found >= 0).all()
    for place, total in ((0, 3), (1, 7)):
        assert fit(np.bincount(found[:, place], minlength=total), np.ones(total)) > LEAST_P
    assert abs((found[:, 3] / 2.0**62).mean() - 0.5) < 6 * 0.29 / 4000**0.5


def test_a_bounded_weight_keeps_nothing_by_floats():
    words, likely = np.array([0, 2**64 - 1], dtype=np.uint64), np.array([0.9, 0.9])
    for exponent, expected in ((0.0, [True, False]), (choice_each.FAR_EXPONENT, [False, False])):
        kept, sure = choice_each._decide(words, likely, np.full(2, exponent), 2.0**-30)
        assert kept.tolist() == expected
        assert sure.tolist() == [exponent == 0.0, True]
