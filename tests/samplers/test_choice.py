"""The exact choice among weighted items, one or many at a time, and what else is exactly drawn."""

import decimal
from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from mpmath import mp, mpf
from sampling import LEAST_P, Words, biased_words, fit, precise

from opendp_lite.samplers import choice
from opendp_lite.samplers.choice import (
    COIN_MARGIN,
    FAR_EXPONENT,
    below,
    below_each,
    choose,
    choose_by_exponents,
    choose_each,
    coins,
    happens,
    logarithmic,
    permute_and_flip,
)
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.exact_reals import LazyUniform, minus_log

EVERY_LANE = 1e30
"""A margin so wide that floats decide nothing."""
ITEMS = {
    "one": ([1], [0]),
    "two alike": ([1, 1], [0, 0]),
    "none of some": ([0, 3, 0, 2, 0], [0, 1, 0, 2, 9]),
    "nothing near": ([0, 5, 7], [0, 90, 91]),
    "2^56 of each": ([2**56, 2**56, 2**56 - 1], [0, Fraction(1, 10**9), 64]),
    "few near, many far": ([1, 2**56], [0, 39]),
    "beyond the farthest": ([1, 2**48, 3, 2**56], [0, 10**9, 127, 128]),
    "all beyond the farthest but one": ([1, 2**56, 2**56], [5, 500, 10**30]),
    "thirds": ([3, 1, 4, 1, 5], [Fraction(i, 3) for i in range(5)]),
    "not the nearest first": ([9, 8, 7], [Fraction(7, 5), Fraction(1, 7), 0]),
    "rarely kept": ([1, *[1] * 40], [0, *[Fraction(30 + i) for i in range(40)]]),
    "fine differences": ([1, 1, 1], [Fraction(0), Fraction(1, 2**60), Fraction(1, 2**33)]),
}


def floats_of(exponents) -> np.ndarray:
    return np.array([[min(float(e), FAR_EXPONENT) for e in exponents]])


def chosen(name, lanes, entropy, margin=COIN_MARGIN) -> np.ndarray:
    """The choices in so many lanes of the same items."""
    counts, exponents = ITEMS[name]

    def exactly(_, index):
        return Fraction(exponents[index])

    many = np.tile(counts, (lanes, 1))
    return choose_each(many, floats_of(exponents), exactly, entropy, margin=margin)


def envelope_of(counts, exponents, floats, monkeypatch):
    """What each item is drawn with, the ratio and the exponent it is kept with."""
    found: list[tuple[Fraction, Fraction]] = []
    places: list[int] = []
    totals: list[int] = []

    def one_place(total, entropy):
        totals.append(total)
        return places[-1]

    def keep(word, ratio, exponent, entropy):
        found.append((ratio, exponent))
        return True

    monkeypatch.setattr(choice, "below", one_place)
    monkeypatch.setattr(choice, "goes_below", keep)
    monkeypatch.setattr(choice, "_decide", lambda words, *_: (words < 0, words < 0))

    def at(place: int) -> int:
        places.append(place)
        return choose(np.array(counts), floats[0], lambda i: exponents[i], Words([]))

    at(0)
    total, start, kept = totals[0], 0, {}
    while start < total:
        index = at(start)
        inside, outside = start, total
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if at(middle) == index else (inside, middle)
        at(start)
        kept[index] = (outside - start, *found[-1])
        start = outside
    return kept


@pytest.mark.parametrize("wrong", [0.0, 2.0**-33, -(2.0**-33)], ids=str)
@pytest.mark.parametrize("name", ITEMS)
def test_what_is_drawn_times_what_is_kept_is_the_weight(name, wrong, monkeypatch):
    """Exactly, for every item; and no item is kept with a probability above 1."""
    mp.dps = 60
    counts, exponents = ITEMS[name][0], [Fraction(e) for e in ITEMS[name][1]]
    floats = (floats_of(exponents) + wrong).clip(0, FAR_EXPONENT)
    kept = envelope_of(counts, exponents, floats, monkeypatch)
    assert set(kept) == {i for i, count in enumerate(counts) if count}
    assert len({ratio * drawn / counts[i] for i, (drawn, ratio, _) in kept.items()}) == 1
    for index, (_, ratio, exponent) in kept.items():
        assert exponent == exponents[index]
        assert precise(ratio) * mp.exp(-precise(exponent)) <= 1
        assert ratio <= Fraction(exp(128))


def test_acceptance_is_nearly_certain_where_floats_are_right(monkeypatch):
    mp.dps = 40
    counts, exponents = [5, 2**40, 7], [Fraction(0), Fraction(1, 3), Fraction(20)]
    kept = envelope_of(counts, exponents, floats_of(exponents), monkeypatch)
    total = sum(drawn for drawn, _, _ in kept.values())
    chance = sum(d * precise(r) * mp.exp(-precise(e)) for d, r, e in kept.values()) / total
    assert chance > 1 - 1e-8


def test_a_million_items_stay_within_int64(monkeypatch):
    counts = np.full(1_000_001, 2**56)
    exponents = np.zeros(1_000_001)
    totals = []

    def last(total, entropy):
        totals.append(total)
        return total - 1

    monkeypatch.setattr(choice, "below", last)
    index = choose(counts, exponents, lambda _: Fraction(0), Words([]))
    assert index == 1_000_000
    assert 2**59 < totals[0] < 2**63


@pytest.mark.parametrize("name", ["thirds", "none of some", "not the nearest first", "two alike"])
def test_frequencies(name):
    counts, exponents = ITEMS[name]
    found = np.bincount(chosen(name, 4000, InsecureSeededEntropy(1)), minlength=len(counts))
    assert fit(found, np.array(counts) * np.exp(-floats_of(exponents)[0])) > LEAST_P


@pytest.mark.parametrize("name", ITEMS)
def test_the_margin_changes_nothing(name):
    """The same words, decided by floats where they can and in exact arithmetic everywhere."""
    for words in (biased_words(4000, 2), []):
        found = [chosen(name, 300, Words(words, 3), m) for m in (COIN_MARGIN, EVERY_LANE)]
        assert np.array_equal(*found)


def test_words_that_floats_cannot_tell_are_decided_exactly():
    """An item is kept below p = 2^40 / w: uniforms within 2^-64 to 2^-31 of p, to either side."""
    envelope = int(2.0**40 * (1 + 2.0**-30)) + 1
    edge, kept = (2**104) // envelope, []
    for shift in range(34):
        for word in (edge - (1 << shift), edge + (1 << shift)):
            words = Words([0, word], 5), Words([0, word], 5)
            items = (
                np.ones((1, 2), np.int64),
                np.array([[0.0, 50.0]]),
                lambda _, i: Fraction(50 * i),
            )
            found = [
                choose_each(*items, each, margin=margin).tolist()
                for each, margin in zip(words, (COIN_MARGIN, EVERY_LANE), strict=True)
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
            choose_each(counts, exponents, lambda _, i: Fraction(i, 2), words)
            assert (words.word() == Words([], 5).word()) == (word < edge)


def test_floats_decide_nearly_all_and_the_wide_margin_none(monkeypatch):
    asked: list[int] = []
    exact = choice.goes_below

    def counted(*args):
        asked.append(1)
        return exact(*args)

    monkeypatch.setattr(choice, "goes_below", counted)
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
    found = choose_each(counts, exponents, lambda lane, i: Fraction(table[lane % 3][i]), entropy)
    weights = counts[:3] * np.exp(-exponents[:3])
    for kind in range(3):
        assert fit(np.bincount(found[kind::3], minlength=3), weights[kind]) > LEAST_P


@pytest.mark.parametrize("margin", [COIN_MARGIN, EVERY_LANE])
@pytest.mark.parametrize("wrong", [-(2.0**-33), 2.0**-33])
def test_floats_that_are_as_wrong_as_they_may_be_leave_the_law(wrong, margin):
    """Kept with the exact probability: exponents of 0 are exact, others off by 2^-33."""
    exponents = [Fraction(0), Fraction(1, 2), Fraction(2)]
    floats = np.array([[0.0, 0.5 + wrong, 2 + wrong]])
    items = np.ones((6000, 3), np.int64), floats, lambda _, i: exponents[i]
    found = choose_each(*items, InsecureSeededEntropy(8), margin=margin)
    assert fit(np.bincount(found), np.exp([-float(e) for e in exponents])) > LEAST_P


@pytest.mark.parametrize("margin", [COIN_MARGIN, EVERY_LANE])
def test_items_of_a_place_have_exponents_of_their_own(margin):
    """Two places of 4 and 6 items each; the exponent of an item is a seventh of its number."""
    counts = np.tile([4, 6], (3000, 1))

    def draw(lanes, places, entropy):
        items = 4 * places + below_each(counts[lanes, places], entropy)
        return items, items / 7

    places = counts, np.array([[0.0, 4 / 7]]), lambda _, item: Fraction(item, 7)
    found = choose_each(*places, InsecureSeededEntropy(10), draw=draw, margin=margin)
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
    for exponent, expected in ((0.0, [True, False]), (FAR_EXPONENT, [False, False])):
        kept, sure = choice._decide(words, likely, np.full(2, exponent), 2.0**-30)
        assert kept.tolist() == expected
        assert sure.tolist() == [exponent == 0.0, True]


@pytest.mark.parametrize("total", [1, 2, 3, 5, 8, 255, 256, 257])
def test_whole_numbers_come_from_the_low_bits_alike(total):
    mask = (1 << total.bit_length()) - 1
    for word in range(mask + 1):
        noise = 0xABCDEF0123 << 24
        found = below(total, Words([noise | word, 0]))
        assert found == (word if word < total else 0)


@pytest.mark.parametrize("total", [2**64, 2**64 + 1, 2**70, 3 * 2**127])
def test_whole_numbers_beyond_a_word(total):
    count = -(total.bit_length() // -64)
    words = [((total - 1) >> (64 * i)) & (2**64 - 1) for i in reversed(range(count))]
    assert below(total, Words(words)) == total - 1
    entropy = InsecureSeededEntropy(4)
    found = [below(total, entropy) for _ in range(2000)]
    assert max(found) < total
    assert abs(np.mean([each / total for each in found]) - 0.5) < 6 * 0.29 / 2000**0.5


COINS = [
    (Fraction(1), Fraction(0)),
    (Fraction(1), Fraction(1, 10**30)),
    (Fraction(999_999, 1_000_000), Fraction(0)),
    (Fraction(1, 3), Fraction(1, 7)),
    (Fraction(7, 5), Fraction(1)),
    (Fraction(exp(100)), Fraction(110)),
    (Fraction(1), Fraction(40)),
    (Fraction(1), Fraction(200)),
    (Fraction(exp(127)), Fraction(300)),
    (Fraction(1, 10**25), Fraction(1, 2)),
    (Fraction(1), Fraction(10**400, 10**400 - 1)),
    (Fraction(2, 3), Fraction(-1, 10**12)),
]


@pytest.mark.parametrize(("ratio", "exponent"), COINS, ids=str)
def test_the_coin_compares_a_uniform_number_exactly(ratio, exponent):
    """Uniform numbers that share 0 to 400 bits with the probability, to either side."""
    mp.prec = 1200
    probability = precise(ratio) * mp.exp(-precise(exponent))
    bits = int(mp.floor(probability * mpf(2) ** 448))
    generator = np.random.default_rng(5)
    for shared in range(0, 448, 13):
        for _ in range(4):
            noise = int.from_bytes(generator.bytes(56), "big")
            noise >>= shared
            uniform = min(
                max(bits + (noise if generator.random() < 0.5 else -noise), 0), 2**448 - 1
            )
            words = [(uniform >> shift) & (2**64 - 1) for shift in range(384, -1, -64)]
            if abs(uniform - bits) > 1:
                assert happens(ratio, exponent, Words(words)) == (uniform < bits)


def test_a_coin_of_probability_one_always_falls_on_one_side():
    for word in (0, 1, 2**63, 2**64 - 1):
        if word < 2**64 - 1:
            assert happens(Fraction(1), Fraction(0), Words([word]))
    assert happens(Fraction(1), Fraction(0), Words([2**64 - 1, 0]))


def test_a_coin_of_no_chance_reads_no_more_words_than_it_needs():
    words = Words([1, 77])
    assert not happens(Fraction(1), Fraction(10**9), words)
    assert words.word() == 77


def test_frequencies_of_the_coin():
    entropy = InsecureSeededEntropy(6)
    for ratio, exponent in ((Fraction(1), Fraction(1)), (Fraction(3, 2), Fraction(2))):
        p = float(ratio) * exp(-float(exponent))
        hits = sum(happens(ratio, exponent, entropy) for _ in range(4000))
        assert abs(hits - 4000 * p) < 6 * (4000 * p * (1 - p)) ** 0.5


def test_the_bracket_holds_the_exponential():
    mp.dps = 400
    generator = np.random.default_rng(7)
    for bits in (64, 128, 640):
        for _ in range(40):
            exponent = Fraction(int(generator.integers(-(2**20), 2**62)), 2**55)
            low, high = choice.exponential_bounds(exponent, bits)
            true = mp.exp(-precise(exponent))
            assert precise(low) < true < precise(high)
            assert high - low < low / 2**bits


def test_no_decimal_context_of_a_person_changes_or_stops_a_bracket(monkeypatch):
    """Nor the one from which new contexts take what they are not given."""
    usual = choice.exponential_bounds(Fraction(1, 3), 64), minus_log(5, 4, 40)
    monkeypatch.setattr(decimal.DefaultContext, "prec", 3)
    monkeypatch.setattr(decimal.DefaultContext, "rounding", decimal.ROUND_UP)
    for signal in list(decimal.DefaultContext.traps):
        monkeypatch.setitem(decimal.DefaultContext.traps, signal, True)
    with decimal.localcontext(decimal.Context()):
        assert usual == (choice.exponential_bounds(Fraction(1, 3), 64), minus_log(5, 4, 40))


@pytest.mark.parametrize("shift", [0, 10**30, -(10**30)])
def test_exponents_of_any_size_choose_by_their_differences(shift):
    entropy = InsecureSeededEntropy(8)
    exponents = [Fraction(shift) + each for each in (Fraction(0), Fraction(1, 2), Fraction(10**9))]
    found = [choose_by_exponents(exponents, entropy) for _ in range(1500)]
    p = 1 / (1 + exp(-0.5))
    assert abs(found.count(0) - 1500 * p) < 6 * (1500 * p * (1 - p)) ** 0.5
    assert found.count(2) == 0


_WORD = 2**64 - 1


def flipped_in_every_order(exponents) -> np.ndarray:
    """The law of the mechanism as it was published: all orders, coins one by one."""
    chances = np.exp(-np.array(exponents, dtype=float))
    found = np.zeros(len(chances))
    orders = list(permutations(range(len(chances))))
    for order in orders:
        left = 1.0
        for place in order:
            found[place] += left * chances[place]
            left *= 1 - chances[place]
    return found / len(orders)


def flip(exponents, entropy) -> int:
    floats = np.array([min(float(each), FAR_EXPONENT) for each in exponents])
    return permute_and_flip(floats, lambda i: Fraction(exponents[i]), entropy)


CASES = [
    [0],
    [0, 0],
    [0, 1],
    [Fraction(1, 3), 0, 2, Fraction(1, 7)],
    [0, 0, 0, 3],
    [2, 10**9, 0, Fraction(1, 2**60)],
    [1, 1, 1, 1, 0],
]


@pytest.mark.parametrize("exponents", CASES, ids=str)
def test_the_law_is_the_published_one(exponents):
    entropy = InsecureSeededEntropy(1)
    found = np.bincount([flip(exponents, entropy) for _ in range(4000)], minlength=len(exponents))
    chances = flipped_in_every_order(exponents)
    assert fit(found, np.where(chances > 1e-9, chances, 0)) > LEAST_P


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(2), Fraction(1, 10**25)])
def test_a_coin_that_floats_cannot_decide_is_decided_exactly(exponent, monkeypatch):
    """Uniform numbers that share up to 130 bits with the probability, to either side."""
    monkeypatch.setattr(choice, "below", lambda total, entropy: total - 1)
    mp.prec = 400
    probability = int(mp.exp(-precise(exponent)) * mpf(2) ** 256)
    generator = np.random.default_rng(3)
    sides = []
    for shared in range(0, 130, 3):
        noise = int.from_bytes(generator.bytes(32), "big") >> shared
        for uniform in (probability - noise, probability + noise):
            if 0 <= uniform < 2**256:
                words = Words([2**63, *((uniform >> shift) & _WORD for shift in (192, 128, 64, 0))])
                found = permute_and_flip(
                    np.array([0.0, float(exponent)]), [Fraction(0), exponent].__getitem__, words
                )
                assert found == (uniform < probability)
                sides.append(found)
    assert len(sides) > 40
    assert set(sides) == {0, 1}


def test_the_best_always_shows_heads():
    """Also for the largest word, which a float rounds up to 1."""
    exponents = [Fraction(0), Fraction(10**9)]
    for word in (0, 1, 2**63, 2**64 - 2, 2**64 - 1):
        words = Words([word, 2**64 - 1, 0, 0, 0, 0])
        found = permute_and_flip(np.array([0.0, FAR_EXPONENT]), exponents.__getitem__, words)
        assert found == 0


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(1), Fraction(18, 5)])
def test_the_law_of_logarithmic_numbers(rate):
    entropy = InsecureSeededEntropy(1)
    found = [min(logarithmic(rate, entropy), 13) for _ in range(6000)]
    sizes = np.arange(1, 13)
    chances = (1 - np.exp(-float(rate))) ** sizes / (sizes * float(rate))
    assert (
        fit(np.bincount(found, minlength=14)[1:], np.append(chances, 1 - chances.sum())) > LEAST_P
    )


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(9)])
def test_coins_that_floats_cannot_decide_are_decided_exactly(rate):
    """E = -ln V is compared with rate U, for V that share up to 150 bits with the tie."""
    mp.prec = 500
    generator = np.random.default_rng(2)
    for shared in range(0, 150, 3):
        uniform = int.from_bytes(generator.bytes(32), "big")
        # The variate reads 63 bits of its first word and all bits of the next ones.
        tie = int(mp.exp(-precise(rate) * uniform / mpf(2) ** 256) * 2**255)
        noise = int.from_bytes(generator.bytes(32), "big") >> (shared + 3)
        for value in (tie - noise, tie + noise):
            if not 0 < value < 2**255 or noise < 2:
                continue
            first, *others = words_of(uniform)
            coin, *more = words_of(value)
            mixed = [word for pair in zip(more, others, strict=True) for word in pair]
            found = choice._heads(LazyUniform(first, 64), rate, Words([coin, *mixed]))
            assert found == (value < tie)


def words_of(value: int) -> list[int]:
    """256 bits as words."""
    return [(value >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)]


class Given:
    """Gives the words of a list."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def __call__(self, places):
        count = len(places)
        found, self.left = self.left[:count], self.left[count:]
        return np.array(found, dtype=np.uint64)


THIRD = Fraction(1, 3)
DIGITS = 2**64 // 3
"""The first 64 binary digits of 1/3, and the next 64 as well: 1/3 repeats."""


def test_a_coin_compares_the_digits_of_a_uniform_number():
    for words, heads in (
        ([DIGITS - 1], True),
        ([DIGITS + 1], False),
        ([DIGITS, DIGITS - 1], True),
        ([DIGITS, DIGITS + 1], False),
        ([DIGITS, DIGITS, DIGITS, 0], True),
        ([0], True),
        ([2**64 - 1], False),
    ):
        given = Given(*words)
        assert coins(THIRD, 1, given).tolist() == [heads]
        assert not given.left


def test_a_dyadic_probability_has_no_digits_left():
    """U = 1/4 is not below 1/4."""
    assert coins(Fraction(1, 4), 3, Given(2**62 - 1, 2**62, 2**62 + 1)).tolist() == [
        True,
        False,
        False,
    ]


def test_only_undecided_coins_draw_again():
    given = Given(0, DIGITS, 2**64 - 1, DIGITS, 0, 2**64 - 1)
    assert coins(THIRD, 4, given).tolist() == [True, True, False, False]
    assert not given.left


def test_sure_coins_draw_nothing():
    assert coins(Fraction(1), 3, Given()).all()
    assert not coins(Fraction(0), 3, Given()).any()
    assert len(coins(THIRD, 0, Given())) == 0


@pytest.mark.parametrize("probability", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)])
def test_frequencies_of_coins(probability):
    """Six standard deviations: by chance once in 10^9, and the seed is fixed."""
    count = 200_000
    words = InsecureSeededEntropy(5).words
    found = coins(probability, count, lambda places: words(len(places))).sum()
    spread = float(probability * (1 - probability) * count) ** 0.5
    assert abs(found - float(probability) * count) < 6 * spread


def test_each_of_many_lanes_is_decided_by_its_own_numbers():
    """Floats and exact arithmetic read the same words, also in lanes that are drawn again."""
    generator = np.random.default_rng(5)
    again = 0
    for seed in range(150):
        lanes, places = int(generator.integers(2, 12)), int(generator.integers(1, 7))
        exact = [
            [Fraction(int(n), 7) for n in generator.integers(0, 90, places)] for _ in range(lanes)
        ]
        for row in exact:
            row[int(generator.integers(places))] = Fraction(0)
        counts = generator.integers(1, 2 ** generator.integers(1, 60, (lanes, 1)), (lanes, places))
        floats = np.array([[float(each) for each in row] for row in exact])
        # Words near the top refuse what was drawn, and near the bottom they keep it.
        words = generator.integers(0, 2**64, 60, dtype=np.uint64) >> generator.integers(
            0, 64, 60
        ).astype(np.uint64)
        words = np.where(generator.random(60) < 0.5, ~words, words).tolist()
        found, left = [], []
        for margin in (COIN_MARGIN, EVERY_LANE):
            entropy = Words(words, seed)
            chosen_items = choose_each(
                counts, floats, lambda lane, item, e=exact: e[lane][item], entropy, margin=margin
            )
            found.append(chosen_items.tolist())
            left.append(entropy.word())
        assert found[0] == found[1]
        assert left[0] == left[1]
        again += len(words) - len(entropy._given) > 2 * lanes + 1
    assert again > 50


def test_a_word_of_zeros_is_not_below_what_is_less_than_its_last_bit(monkeypatch):
    """Of a probability of 2^-70, 64 zeros say nothing yet: the next words decide."""
    heights = iter([-1, 0])
    monkeypatch.setattr(choice, "below", lambda total, entropy: next(heights) % total)
    entropy = Words([0, 2**64 - 1, 0, 0], 1)
    counts, exponents = np.array([[1, 1]]), np.array([[0.0, 90.0]])
    found = choose_each(counts, exponents, lambda _, item: Fraction([0, 90][item]), entropy)
    assert found.tolist() == [0]


def test_a_coin_that_wrong_floats_would_turn_is_decided_exactly():
    """The float of an exponent may be off by 2^-32: the word lies between both probabilities."""
    mp.prec = 200
    right, wrong = (exp_of(mpf(1) / 2 + each) for each in (0, mpf(2) ** -32))
    word = int((right + wrong) / 2 * mpf(2) ** 64)
    floats = np.array([0.0, 0.5 + 2.0**-32])
    entropy = Words([0, word, 1], 1)
    assert permute_and_flip(floats, lambda place: Fraction(place, 2), entropy) == 1


def exp_of(exponent: mpf) -> mpf:
    return mp.exp(-exponent)
