"""Many floats as the rationals that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from operator import methodcaller, mul
from typing import Any, Final, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import nearest, rational_of_float, sum_up

_FINE: Final = 2**55
# Smaller floats have fewer digits than 15.
_LEAST: Final = 2.0**-1022
_DIGITS: Final = "%.15g"
Counts = NDArray[np.int64]


def rationals_of_floats(given: list[float]) -> list[Fraction]:
    """As ``rational_of_float`` of each of many finite floats.

    Proof:
        A decimal of at most 15 digits comes back if its nearest normal float is written with 15.
        So a float that is not what 15 digits of it say is no such decimal, and stands for the
        simplest fraction near it. That is found for all at once, in whole numbers below 2^58: the
        ends of each interval start below 2^56 over 2^55 and only shrink, and a convergent is no
        larger than the fraction it leads to.
    """
    long = np.array([_is_long(each) for each in given])
    pairs = zip(given, long.tolist(), strict=True)
    found = [Fraction(0) if is_long else rational_of_float(each) for each, is_long in pairs]
    mantissas, exponents = np.frexp(np.array(given)[long])
    middles = (np.abs(mantissas) * _FINE).astype(np.int64)
    reach = np.where(np.abs(mantissas) == 0.5, 1, 2)
    above, below = _simplest(middles - reach, middles + 2)
    above = np.where(mantissas < 0, -above, above)
    parts = (np.flatnonzero(long), above, below, exponents)
    for place, over, under, exponent in zip(*(part.tolist() for part in parts), strict=True):
        found[place] = Fraction(over << max(exponent, 0), under << max(-exponent, 0))
    return found


def _is_long(value: float) -> bool:
    """Whether a float is neither whole nor a decimal of at most 15 digits, as far as is plain."""
    if value.is_integer() or abs(value) < _LEAST:
        return False
    return float(_DIGITS % value) != value


def _simplest(low: Counts, high: Counts) -> tuple[Counts, Counts]:
    """The fractions of smallest denominator between two numbers over 2^55 (Stern-Brocot descent).

    A lane leaves as soon as it is decided; ``lanes`` are those that are left.
    """
    found = np.empty((2, len(low)), dtype=np.int64)
    lanes, below, over = np.arange(len(low)), np.full_like(low, _FINE), np.full_like(low, _FINE)
    last = np.array([[1], [0]]) + np.zeros_like(found)
    before = np.array([[0], [1]]) + np.zeros_like(found)
    while len(lanes):
        whole = low // below
        decided = (whole + 1) * over < high
        low, high = low - whole * below, high - whole * over
        following = last * whole + before
        ending = ~decided & (low == 0)
        found[:, lanes[decided]] = (following + last)[:, decided]
        last, before = following, last
        steps = over[ending] // high[ending] + 1
        found[:, lanes[ending]] = last[:, ending] * steps + before[:, ending]
        left = ~(decided | ending)
        lanes, last, before = lanes[left], last[:, left], before[:, left]
        low, below, high, over = over[left], high[left], below[left], low[left]
    return found[0], found[1]


LONG: Final = 32
"""So many rationals are kept as an array; of fewer, tuples are as fast."""
# Of two numerators: their sum or product fits int64 below it.
_ROOM: Final = 2**62
# Its square is one that ``sum_up`` adds without rounding.
_LARGEST_DENOMINATOR: Final = 2**1024
# Numerators numbers over less than this are no subnormal numbers, so floats round them once.
_EVERY_FLOAT: Final = 2**960
_EXACT: Final = 2**53
_MANTISSA: Final = 53
_MOST_DIGITS: Final = 10**15
_DECIMALS: Final = (10**2, 10**4, 10**6, 10**9, 10**12)
# Times the sizes of two numbers: twice what the difference of their floats may be off.
_SLACK: Final = 2.0**-50
_ratio: Final[Callable[[int | Fraction], tuple[int, int]]] = methodcaller("as_integer_ratio")
Numerators = NDArray[Any]
"""Numbers of type int64, or objects: Python's integers or fractions."""


@attrs.frozen(eq=False, repr=False, slots=False)
class FractionArray(Sequence[Fraction]):
    """Rationals, all ``numerators`` over one ``denominator``.

    The numerators are int64 where they fit, and else Python's integers. Rationals whose common
    denominator is beyond 2^1024 are kept as they are, over 1. Sums, products and comparisons are
    exact, and broadcast as numpy's do. To others it is a sequence, equal to a tuple of its entries.

    Example:
        >>> from fractions import Fraction
        >>> from opendp_lite.numbers.fraction_array import FractionArray
        >>> halves = FractionArray.of([Fraction(1, 2), Fraction(3)])
        >>> halves.numerators, halves.denominator, (halves + halves)[0]
        (array([1, 6]), 2, Fraction(1, 1))
    """

    numerators: Numerators
    denominator: int

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> FractionArray:
        """Of rationals one by one."""
        if isinstance(values, FractionArray):
            return values
        common = 1
        for value in values:
            common = lcm(common, value.denominator)
            if common > _LARGEST_DENOMINATOR:
                return cls(_objects(values), 1)
        return cls(_narrow([v.numerator * (common // v.denominator) for v in values]), common)

    @classmethod
    def of_floats(cls, floats: NDArray[np.float64]) -> FractionArray:
        """Finite floats as the dyadic rationals that they are."""
        mantissas, exponents = np.frexp(floats)
        whole = np.ldexp(mantissas, _MANTISSA).astype(np.int64)
        zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        whole, shifts = whole >> np.maximum(zeros, 0), exponents.astype(np.int64) + zeros
        shifts -= _MANTISSA
        least = int(shifts.min(where=whole != 0, initial=0))
        if -least >= _LARGEST_DENOMINATOR.bit_length():
            return cls.of([Fraction(each) for each in floats.tolist()])
        shifts = np.where(whole == 0, 0, shifts - least)
        if (np.ldexp(abs(whole.astype(np.float64)), shifts) < _ROOM // 4).all():
            return cls(whole << shifts, 1 << -least)
        pairs = zip(whole.tolist(), shifts.tolist(), strict=True)
        return cls(_narrow([number << shift for number, shift in pairs]), 1 << -least)

    @property
    def floats(self) -> NDArray[np.float64]:
        """The nearest float of each."""
        below = self.denominator
        if self._narrow and below & (below - 1) == 0 and below <= _EVERY_FLOAT:
            return np.ldexp(self.numerators.astype(np.float64), 1 - below.bit_length())
        if self._narrow and below < _EXACT and self._largest < _EXACT:
            return self.numerators / np.float64(below)
        return np.array([nearest(each) for each in self])

    @cached_property
    def _fractions(self) -> tuple[Fraction, ...]:
        held = self.numerators.tolist()
        if self._is_mixed:
            return tuple(held)
        return tuple(Fraction(each, self.denominator) for each in held)

    @cached_property
    def _largest(self) -> int:
        """The size of the largest numerator of int64."""
        return int(abs(self.numerators).max(initial=0))

    @cached_property
    def _ends(self) -> list[int | Fraction]:
        """The least and the largest numerator."""
        if self._narrow:
            return [int(self.numerators.min()), int(self.numerators.max())]
        floats = self._near
        far = (floats == floats.min()) | (floats == floats.max())
        return [min(self.numerators[far]), max(self.numerators[far])]

    @cached_property
    def _near(self) -> NDArray[np.float64]:
        """The nearest floats of the numerators: in their order, and equal only if near."""
        held = self.numerators.tolist()
        try:
            return np.array([over / under for over, under in map(_ratio, held)])
        except OverflowError:
            return np.array([nearest(each) for each in held])

    @property
    def _narrow(self) -> bool:
        return self.numerators.dtype != object

    def __len__(self) -> int:
        return len(self.numerators)

    @overload
    def __getitem__(self, place: int) -> Fraction: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Fraction, ...]: ...
    def __getitem__(self, place: int | slice) -> Fraction | tuple[Fraction, ...]:
        if isinstance(place, slice):
            return tuple(FractionArray(self.numerators[place], self.denominator))
        found = self.numerators[place]
        return Fraction(int(found) if self._narrow else found, self.denominator)

    def __iter__(self) -> Iterator[Fraction]:
        return iter(self._fractions)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FractionArray):
            return len(self) == len(other) and self._equals(other)
        return isinstance(other, tuple) and self._fractions == other

    def _equals(self, other: FractionArray) -> bool:
        if self.numerators is other.numerators and self.denominator == other.denominator:
            return True
        one, two = self._align(other)
        return bool((one.numerators == two.numerators).all())

    def __hash__(self) -> int:
        return hash(self._fractions)

    def __repr__(self) -> str:
        return repr(self._fractions)

    def __reduce__(self) -> tuple[type[FractionArray], tuple[Numerators, int]]:
        return FractionArray, (self.numerators, self.denominator)

    def __add__(self, other: FractionArray) -> FractionArray:
        return self._combine(other, np.add)

    def __sub__(self, other: FractionArray) -> FractionArray:
        return self._combine(other, np.subtract)

    def __mul__(self, other: FractionArray) -> FractionArray:
        one, two = self._kept_alike(other, self.denominator * other.denominator)
        if not (one._narrow and two._narrow and one._largest * two._largest < _ROOM):
            one, two = one._wide(), two._wide()
        return FractionArray(
            one.numerators * two.numerators, one.denominator * two.denominator
        )._reduce()

    def __neg__(self) -> FractionArray:
        return FractionArray(-self.numerators, self.denominator)

    def __abs__(self) -> FractionArray:
        return FractionArray(abs(self.numerators), self.denominator)

    def larger(self, other: FractionArray) -> FractionArray:
        """The larger of two, place by place."""
        one, two = self._align(other)
        found = np.where(one._exceeds(two), one.numerators, two.numerators)
        return FractionArray(found, one.denominator)

    def smaller(self, other: FractionArray) -> FractionArray:
        """The smaller of two, place by place."""
        one, two = self._align(other)
        found = np.where(one._exceeds(two), two.numerators, one.numerators)
        return FractionArray(found, one.denominator)

    def above(self, other: FractionArray) -> NDArray[np.bool_]:
        """Where these are above others."""
        one, two = self._align(other)
        return one._exceeds(two)

    def largest(self) -> Fraction:
        """The largest of all."""
        return Fraction(max(self._ends), self.denominator)

    def smallest(self) -> Fraction:
        """The smallest of all."""
        return Fraction(min(self._ends), self.denominator)

    def narrowest(self, lower: FractionArray) -> Fraction:
        """The least of these less others, place by place.

        Differences of floats say which can be the least, and those are found exactly: all of them
        where floats are infinite.
        """
        one, two = self._align(lower)
        over, under = np.broadcast_arrays(one.numerators, two.numerators)
        if not one._narrow:
            with np.errstate(invalid="ignore", over="ignore"):
                near = one._near - two._near
                slack = _SLACK * (abs(one._near).max() + abs(two._near).max())
                far = near > near.min() + slack
            over, under = over[~far], under[~far]
        return Fraction(min((over - under).tolist()), one.denominator)

    def alike(self) -> bool:
        """Whether all are equal."""
        first = self.numerators[0]
        if not self._narrow and (self._near != self._near[0]).any():
            return False
        return bool((self.numerators == first).all())

    def total(self) -> Fraction:
        """The sum of all."""
        return Fraction(sum(self.numerators.tolist()), self.denominator)

    def sum_up(self) -> Fraction:
        """As ``sum_up`` of its entries."""
        return sum_up(self._fractions) if self._is_mixed else self.total()

    def squares_up(self) -> Fraction:
        """As ``sum_up`` of the squares of its entries."""
        found = self.numerators.tolist()
        if self._is_mixed:
            return _squares_up(list(map(_ratio, found)))
        return Fraction(sum(map(mul, found, found)), self.denominator**2)

    def floors(self, unit: Fraction) -> list[int]:
        """How many whole units each has, rounded down."""
        up, down = unit.denominator, unit.numerator * self.denominator
        ratios = map(_ratio, self.numerators.tolist())
        return [over * up // (under * down) for over, under in ratios]

    @cached_property
    def _is_mixed(self) -> bool:
        """Whether the entries are fractions of their own, over 1."""
        return not self._narrow and any(type(each) is Fraction for each in self.numerators)

    def _combine(self, other: FractionArray, move: Callable[..., Numerators]) -> FractionArray:
        one, two = self._align(other)
        return FractionArray(move(one.numerators, two.numerators), one.denominator)

    def _exceeds(self, other: FractionArray) -> NDArray[np.bool_]:
        """Where these numerators are above others over the same denominator.

        Rounding to floats keeps the order, so only those that are equal as floats are compared.
        """
        one, two = np.broadcast_arrays(self.numerators, other.numerators)
        if self._narrow:
            return np.asarray(one > two, dtype=np.bool_)
        found, even = self._near > other._near, self._near == other._near
        found[even] = one[even] > two[even]
        return found

    def _align(self, other: FractionArray) -> tuple[FractionArray, FractionArray]:
        """Both over one denominator, with room for a sum."""
        one, two = self._kept_alike(other, lcm(self.denominator, other.denominator))
        common = lcm(one.denominator, two.denominator)
        first, second = common // one.denominator, common // two.denominator
        fits = one._narrow and two._narrow and one._largest * first + two._largest * second < _ROOM
        # Where all are 0, the factor alone may be too large.
        if not fits or max(first, second) >= _ROOM:
            one, two = one._wide(), two._wide()
        return one._over(common, first), two._over(common, second)

    def _kept_alike(self, other: FractionArray, common: int) -> tuple[FractionArray, FractionArray]:
        """Both as they are, or, where the entries of one are fractions of their own, both as such.

        Fractions of their own over more than 1 would come to ever larger denominators.
        """
        if common > _LARGEST_DENOMINATOR or self._is_mixed or other._is_mixed:
            return self._one_by_one(), other._one_by_one()
        return self, other

    def _over(self, denominator: int, factor: int) -> FractionArray:
        return self if factor == 1 else FractionArray(self.numerators * factor, denominator)

    def _wide(self) -> FractionArray:
        """With objects for numerators."""
        if not self._narrow:
            return self
        return FractionArray(self.numerators.astype(object), self.denominator)

    def _one_by_one(self) -> FractionArray:
        """Each as a fraction of its own."""
        return self if self._is_mixed else FractionArray(_objects(self._fractions), 1)

    def _reduce(self) -> FractionArray:
        """Over a smaller denominator and with int64 numerators, where products allow it."""
        if self._narrow or self._is_mixed or not len(self):
            return self
        held = self.numerators.tolist()
        shared = gcd(self.denominator, *held)
        return FractionArray(_narrow([each // shared for each in held]), self.denominator // shared)


def many(values: Sequence[Fraction]) -> Sequence[Fraction]:
    """Rationals as they are kept: an array of many, a tuple of few."""
    return FractionArray.of(values) if len(values) >= LONG else tuple(values)


def read_many(given: Sequence[Any]) -> FractionArray | None:
    """Numbers that a person typed, as ``exact`` reads each; None where they must be read singly.

    Proof:
        A whole float stands for itself. If m / 10^k rounds to a float x and abs(m) is below 10^15,
        it is the only decimal of at most 15 digits that does, so it is what Python shows of x.
    """
    kinds = set(map(type, given))
    if kinds == {Fraction}:
        fits = all(type(v.numerator) is type(v.denominator) is int for v in given)
        found = FractionArray.of(given) if fits else None
        return found if found is not None and found._narrow else None
    if not kinds <= {int, float} or max(map(abs, given)) > float(_EXACT):
        return None
    floats = np.array(given, dtype=np.float64)
    if not np.isfinite(floats).all():
        return None
    if (floats == np.rint(floats)).all():
        return FractionArray(floats.astype(np.int64), 1)
    for below in _DECIMALS:
        steps = np.rint(floats * below)
        if (abs(steps) >= _MOST_DIGITS).any():
            break
        if (steps / below == floats).all():
            return FractionArray(steps.astype(np.int64), below)
    return FractionArray.of(rationals_of_floats(floats.tolist()))


def _squares_up(ratios: list[tuple[int, int]]) -> Fraction:
    """As ``sum_up`` of the squares of fractions, without a fraction for each."""
    common = 1
    for _, under in ratios:
        common = lcm(common, under)
        if common > _LARGEST_DENOMINATOR:
            common = _LARGEST_DENOMINATOR
            break
    square = common * common
    terms = (-(-over * over * square // (under * under)) for over, under in ratios)
    return Fraction(sum(terms), square)


def _narrow(numbers: list[int]) -> Numerators:
    """Numerators numbers as int64 where they leave room for a sum."""
    if max(map(abs, numbers), default=0) < _ROOM // 2:
        return np.array(numbers, dtype=np.int64)
    return _objects(numbers)


def _objects(values: Sequence[object]) -> Numerators:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
