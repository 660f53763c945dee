"""Arrays of rationals against the same numbers one by one: dyadic, decimal, huge and mixed."""

import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from operator import add, mul, sub

import numpy as np
import pytest

from opendp_lite.numbers.exact import exact, nearest, rational_of_float, sum_up
from opendp_lite.numbers.fraction_array import (
    LONG,
    FractionArray,
    many,
    rationals_of_floats,
    read_many,
)

COUNT = 60
GENERATOR = np.random.default_rng(0)


def floats(low: int, high: int) -> list[float]:
    """Of such powers of two, of both signs, with a zero."""
    found = GENERATOR.standard_normal(COUNT) * 2.0 ** GENERATOR.integers(low, high, COUNT)
    found[7] = 0.0
    return found.tolist()


KINDS: dict[str, list[Fraction]] = {
    "whole": [Fraction(int(n)) for n in GENERATOR.integers(-(10**6), 10**6, COUNT)],
    "halves": [Fraction(int(n), 2) for n in GENERATOR.integers(-9, 9, COUNT)],
    "decimals": [Fraction(int(n), 10**4) for n in GENERATOR.integers(-(10**7), 10**7, COUNT)],
    "dyadic": list(map(Fraction, floats(-4, 4))),
    "even": list(map(Fraction, GENERATOR.uniform(1, 9, COUNT).tolist())),
    "spread dyadic": list(map(Fraction, floats(-90, 90))),
    "huge": [Fraction(f) for f in floats(980, 1020)],
    "subnormal": [Fraction(f) * Fraction(1, 2**30) for f in floats(-1050, -1020)],
    "huge and subnormal": list(map(Fraction, floats(-1070, 1020))),
    "near the room": [Fraction(int(n)) for n in GENERATOR.integers(2**60, 2**62, COUNT)],
    "simplest": [exact(f, "") for f in floats(-3, 3)],
    "zeros": [Fraction(0)] * COUNT,
    "tiny": [Fraction(n + 1, 2**80) for n in range(COUNT)],
    "one": [Fraction(3, 7)],
}
every = pytest.mark.parametrize("name", KINDS)


def one_by_one(move: Callable[..., Fraction], names: tuple[str, str]) -> Sequence[Fraction]:
    first, second = (KINDS[name] for name in names)
    count = max(len(first), len(second))
    padded = (each * (count // len(each)) for each in (first, second))
    return tuple(map(move, *padded))


def arrays(names: tuple[str, str]) -> list[FractionArray]:
    return [FractionArray.of(KINDS[name]) for name in names]


def assert_plain(values: Sequence[Fraction]) -> None:
    """Fractions of Python's own integers: numpy's would wrap around."""
    assert all(type(each.numerator) is type(each.denominator) is int for each in values)


@every
def test_the_entries_are_the_rationals(name):
    found, values = FractionArray.of(KINDS[name]), KINDS[name]
    assert len(found) == len(values)
    assert tuple(found) == tuple(values)
    assert found == tuple(values)
    assert found == FractionArray.of(values)
    assert found != FractionArray.of([each + 1 for each in values])
    assert found != (*values, Fraction(1))
    assert hash(found) == hash(tuple(values))
    assert found[0] == values[0]
    assert found[-1] == values[-1]
    assert found[:1] == tuple(values[:1])
    assert pickle.loads(pickle.dumps(found)) == found
    assert_plain(tuple(found))
    assert_plain([found[0]])


@every
def test_floats_are_the_nearest(name):
    found = FractionArray.of(KINDS[name]).floats
    assert found.dtype == np.float64
    assert found.tolist() == [nearest(each) for each in KINDS[name]]


@every
def test_sums_and_ends_are_the_same_rationals(name):
    found, values = FractionArray.of(KINDS[name]), KINDS[name]
    sums = [found.sum_up(), found.squares_up(), found.total(), found.largest(), found.smallest()]
    assert sums == [
        sum_up(values),
        sum_up([each * each for each in values]),
        sum(values),
        max(values),
        min(values),
    ]
    assert_plain(sums)
    assert found.alike() == (len(set(values)) == 1)


@every
@pytest.mark.parametrize("unit", [Fraction(1), Fraction(2) ** -60, Fraction(2) ** 40])
def test_floors_are_those_of_fractions(name, unit):
    found = FractionArray.of(KINDS[name])
    assert found.floors(unit) == [int(each // unit) for each in KINDS[name]]
    assert (-found).floors(unit) == [int(-each // unit) for each in KINDS[name]]


@every
def test_pairs_are_worked_out_as_fractions_are(name):
    for names in product([name], KINDS):
        one, two = arrays(names)
        for move in (add, sub, mul):
            found, values = move(one, two), one_by_one(move, names)
            assert tuple(found) == values
            assert_plain(tuple(found))
            assert found.sum_up() == sum_up(values)
            over = found.squares_up() - sum(each * each for each in values)
            assert 0 <= over <= Fraction(COUNT, 2**2048)
        assert tuple(one.larger(two)) == one_by_one(max, names)
        assert tuple(one.smaller(two)) == one_by_one(min, names)
        assert one.above(two).tolist() == [low > high for low, high in zip_of(names)]
        least = one.narrowest(two)
        assert least == min(one_by_one(sub, names))
        assert_plain([least])


@pytest.mark.parametrize("move", [add, sub, mul])
@pytest.mark.parametrize("name", ["huge and subnormal", "subnormal"])
def test_fractions_of_their_own_stay_over_one(name, move):
    """Times a fine number they had a denominator, and the next sum took them for 0."""
    values = KINDS[name]
    halves, thirds = ([Fraction(n + 1, below) for n in range(COUNT)] for below in (2**900, 3**500))
    found = move(FractionArray.of(values), FractionArray.of(halves))
    expected = tuple(map(move, values, halves))
    assert found._is_mixed
    assert found.denominator == 1
    assert tuple(found + FractionArray.of(thirds)) == tuple(map(add, expected, thirds))
    pairs = zip(expected, thirds, strict=True)
    assert found.above(FractionArray.of(thirds)).tolist() == [one > two for one, two in pairs]


def zip_of(names: tuple[str, str]) -> Sequence[tuple[Fraction, Fraction]]:
    return one_by_one(lambda low, high: (low, high), names)


def test_differences_that_floats_cannot_order_are_found_exactly():
    lower = [Fraction(n, 3**40) for n in GENERATOR.integers(0, 2**60, COUNT).tolist()]
    lower[0] = Fraction(1, 10**400)
    upper = [each + 1 + Fraction(n, 7**90) for n, each in enumerate(lower[::-1])][::-1]
    one, two = map(FractionArray.of, (upper, lower))
    assert one._is_mixed or one.denominator > 1
    assert one.narrowest(two) == 1


@every
def test_signs(name):
    found = FractionArray.of(KINDS[name])
    assert tuple(-found) == tuple(-each for each in KINDS[name])
    assert tuple(abs(found)) == tuple(abs(each) for each in KINDS[name])


def test_small_dyadic_and_decimal_numbers_are_int64():
    """The case that is fast is the case that is taken."""
    for name in ("whole", "halves", "decimals", "even", "zeros", "near the room"):
        held = FractionArray.of(KINDS[name]).numerators
        assert held.dtype == (object if name == "near the room" else np.int64)


@pytest.mark.parametrize(("low", "high"), [(-4, 4), (-60, 60), (-1074, -1000), (-1074, 1023)])
def test_floats_are_read_as_the_dyadic_rationals_that_they_are(low, high):
    given = np.array([*floats(low, high), 5e-324, 1.7e308, -0.0, 0.5][: COUNT + 4 * (high > 99)])
    found = FractionArray.of_floats(given)
    assert tuple(found) == tuple(map(Fraction, given.tolist()))
    assert found.floats.tolist() == given.tolist()
    assert_plain(tuple(found))


@pytest.mark.parametrize(
    "given",
    [
        list(range(-40, 40)),
        [0.5] * 40,
        [0.1, 0.25, 1e6, 3],
        [1e-7, 0.3],
        [-0.0, 1e15, 12.5],
        [123456789.123456, 0.000001],
        [999999999999999.0, 0.5],
        [12345678901234.37, 0.5],
        [1e-12, 3.000000000001],
        np.round(GENERATOR.normal(0, 1e3, 300), 2).tolist(),
        np.round(GENERATOR.normal(0, 1e3, 300), 9).tolist(),
        GENERATOR.normal(0, 1, 40).tolist(),
        [1 / 3, 0.1],
        [9007199254740993, 0.5],
        [2**70, 1],
        [1e300, 1.0],
        [5e-324, 1.0],
        [Fraction(1, 3), Fraction(7, 2)],
        [Fraction(1, 2**70), Fraction(2**70)],
    ],
    ids=lambda given: str(given)[:30],
)
def test_what_is_read_at_once_is_what_is_read_one_by_one(given):
    found = read_many(given)
    if found is not None:
        assert tuple(found) == tuple(exact(each, "") for each in given)
        assert_plain(tuple(found))


def test_typed_numbers_are_read_at_once():
    for given in (list(range(99)), [0.1, 2.25, 7], [1e-7, 0.3], [Fraction(1, 3), Fraction(7, 2)]):
        assert read_many(given) is not None


@pytest.mark.parametrize(
    "odd",
    [float("nan"), float("inf"), True, "1", None, 10**5000, 1j, Fraction(1, 10**5000)],
    ids=["nan", "inf", "bool", "text", "None", "long", "complex", "fine"],
)
def test_what_must_be_refused_is_not_read_at_once(odd):
    assert read_many([1.0, odd]) is None
    assert read_many([odd]) is None


def test_few_stay_a_tuple():
    assert type(many([Fraction(1)] * (LONG - 1))) is tuple
    assert type(many([Fraction(1)] * LONG)) is FractionArray


FLOATS = {
    "even": GENERATOR.random(2000),
    "normal": GENERATOR.standard_normal(2000),
    "of every size": GENERATOR.standard_normal(2000) * 2.0 ** GENERATOR.integers(-1021, 1022, 2000),
    "subnormal": GENERATOR.standard_normal(300) * 2.0 ** GENERATOR.integers(-1073, -1015, 300),
    "simple fractions": np.array([p / q for p in range(-40, 40) for q in range(1, 40)]),
    "near simple fractions": np.array(
        [np.nextafter(p / q, side) for p in range(1, 20) for q in range(1, 20) for side in (0, 99)]
    ),
    "of few digits": np.round(GENERATOR.standard_normal(2000), 15),
    "near powers of two": np.array(
        [np.nextafter(2.0**k, side) for k in range(-1022, 1023, 9) for side in (0.0, np.inf)]
    ),
    "ends": np.array([5e-324, 2.0**-1022, 1.7976931348623157e308, -0.0, 0.0, 0.1, 1 / 3, -2 / 3]),
}


@pytest.mark.parametrize("name", FLOATS)
def test_many_are_read_as_each_is(name):
    given = FLOATS[name].tolist()
    found = rationals_of_floats(given)
    assert found == [rational_of_float(each) for each in given]
    assert_plain(found)
