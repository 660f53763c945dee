"""A certificate of the tables: the error of every segment is bounded, not measured at points.

A segment is h 2^-63 from u0 to u1, with the middle c and the half width a. Its quantile function is
a Taylor polynomial of degree 5 around c and a remainder. The remainder is at most a^6 / 720 times
the sixth derivative at u0, since all derivatives fall in size as u grows. The difference of the
table's cubic from this polynomial is at most the sum of its Chebyshev coefficients. To this come
the rounding of the cubic's operations, the rounding of h to a float, and the bits not read yet.
"""

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import factorial
from statistics import NormalDist

import numpy as np
import pytest
from mpmath import erfc, exp, log, mp, mpf, pi, sqrt

from opendp_lite.numbers.exact import normal_tail
from opendp_lite.samplers.quantile_table import (
    ERROR,
    LEAST,
    MARGIN,
    MASK,
    QuantileTable,
    Work,
    exponential_table,
    minus_log,
    minus_logs,
    normal_table,
)

ORDER = 6
SEGMENTS = 256
OCTAVES = range(43, 63)
HORNER = mpf(7) / 2**53 * (1 + mpf(2) ** -40)
"""Higham 2002, section 5.1: seven roundings at most reach a coefficient of a cubic."""


def exponential_derivatives(u: mpf) -> list[mpf]:
    """-ln u and its derivatives."""
    return [-log(u), *((-1) ** n * factorial(n - 1) / u**n for n in range(1, ORDER + 1))]


def normal_size(u: mpf) -> mpf:
    """Q(u): a float and one step of Newton's rule."""
    near = mpf(-NormalDist().inv_cdf(float(u) / 2))
    return near + (erfc(near / sqrt(2)) - u) / (2 * exp(-near * near / 2) / sqrt(2 * pi))


def normal_derivatives(u: mpf) -> list[mpf]:
    """|Z| and its derivatives: q' = -sqrt(pi / 2) exp(q^2 / 2), and by q'' = q q'^2 the others.

    The n-th is q'^n times a polynomial in q, without negative coefficients.
    """
    q = normal_size(u)
    slope = -sqrt(pi / 2) * exp(q * q / 2)
    found, polynomial = [q], [1]
    for n in range(1, ORDER + 1):
        found.append(slope**n * sum(each * q**k for k, each in enumerate(polynomial)))
        raised = [0, *(n * each for each in polynomial)]
        derived = [k * each for k, each in enumerate(polynomial)][1:]
        polynomial = [
            each + (derived[k] if k < len(derived) else 0) for k, each in enumerate(raised)
        ]
    return found


def as_fraction(value: mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def chebyshev_bound(polynomial: list[mpf]) -> mpf:
    """A bound on a polynomial of degree 5 from -1 to 1: the sum of its Chebyshev coefficients."""
    p0, p1, p2, p3, p4, p5 = polynomial
    coefficients = (
        p0 + p2 / 2 + 3 * p4 / 8,
        p1 + 3 * p3 / 4 + 5 * p5 / 8,
        p2 / 2 + p4 / 2,
        p3 / 4 + 5 * p5 / 16,
        p4 / 8,
        p5 / 16,
    )
    return sum(map(abs, coefficients))


def shifted(cubic: list[mpf], centre: mpf, half: mpf) -> list[mpf]:
    """The coefficients in y of the cubic at centre + half y."""
    cube, square, slope, constant = cubic
    return [
        constant + centre * (slope + centre * (square + centre * cube)),
        half * (slope + centre * (2 * square + 3 * centre * cube)),
        half**2 * (square + 3 * centre * cube),
        half**3 * cube,
        mpf(0),
        mpf(0),
    ]


STRIDE = 8
"""The tables are fixed by their digests, and were certified whole: 1 takes every segment again."""


def segments(stride: int = 1) -> Iterator[tuple[int, int, int]]:
    for number in range(0, len(OCTAVES) * SEGMENTS, stride):
        octave, place = divmod(number, SEGMENTS)
        start = (SEGMENTS + place) << (OCTAVES[octave] - 8)
        yield number + 1, start, start + (1 << (OCTAVES[octave] - 8))


def error_of(
    cubic: np.ndarray, start: int, end: int, derivatives: Callable[[mpf], list[mpf]]
) -> mpf:
    """A bound on the error of all that a segment's cubic can give."""
    first, middle, half = mpf(start), mpf(start + end) / 2, mpf(end - start) / 2
    row = [mpf(float(each)) for each in cubic]
    unit = mpf(2) ** -63
    at_middle, at_first = derivatives(middle * unit), derivatives(first * unit)
    taylor = [each * (half * unit) ** n / factorial(n) for n, each in enumerate(at_middle[:ORDER])]
    remainder = abs(at_first[ORDER]) * (half * unit) ** ORDER / factorial(ORDER)
    difference = [p - t for p, t in zip(shifted(row, middle, half), taylor, strict=True)]
    roundings = HORNER * sum(abs(each) * mpf(end) ** (3 - k) for k, each in enumerate(row))
    unknown = abs(at_first[1]) * (unit + mpf(2) ** -53 * end * unit) * (1 + mpf(2) ** -30)
    return chebyshev_bound(difference) + remainder + roundings + unknown


TABLES = [
    (exponential_table, exponential_derivatives),
    (normal_table, normal_derivatives),
]
DIGESTS = {
    exponential_table: "fd664ed775605ae268d1da197cae47ec3b57ac1029d446a764df9992583faa30",
    normal_table: "e5e79f704ade40c6a9867d0224cef0f31c5f8ccf88e6ba6a3188af5c8137dccc",
}


@pytest.mark.parametrize(("table", "derivatives"), TABLES)
def test_the_error_of_every_segment_is_certified(table, derivatives):
    mp.prec = 110
    cubics = table().cubics
    assert len(cubics) == len(OCTAVES) * SEGMENTS + 2
    worst = max(error_of(cubics[row], *ends, derivatives) for row, *ends in segments(STRIDE))
    assert worst <= ERROR
    assert worst > ERROR / 8


@pytest.mark.parametrize("scale", [Fraction(1, 2**1000), Fraction(1), Fraction(2**50)], ids=str)
def test_the_margin_is_three_times_the_errors_that_signed_law_adds_up(scale):
    """That of the table, and five roundings of 14 s + 2 at most."""
    largest = max(table().size(LEAST) for table, _ in TABLES)
    assert largest < 14
    errors = scale * Fraction(ERROR) + 5 * (14 * scale + 2) / Fraction(2**53)
    assert 3 * errors <= Fraction(MARGIN) * (scale + 1)


def test_the_sizes_that_the_certificate_starts_from_are_right():
    """The package's own bounds on the tail are on both sides of them, 2^-70 away."""
    mp.prec = 110
    apart = Fraction(1, 2**70)
    for _, start, end in segments(STRIDE):
        share = Fraction(start + end, 2**64)
        found = as_fraction(normal_size(mpf(start + end) / 2**64))
        assert 2 * normal_tail(found + apart, 40)[1] < share
        assert share < 2 * normal_tail(found - apart, 40)[0]


@pytest.mark.parametrize(("table", "derivatives"), TABLES)
def test_words_that_floats_round_to_1_have_the_size_0(table, derivatives):
    mp.prec = 110
    assert table().cubics[-1].tolist() == [0.0] * 4
    assert derivatives(1 - mpf(2) ** -54)[0] < ERROR
    assert table().size(MASK) == table().size(MASK - 2**8) == 0


@pytest.mark.parametrize(("table", "derivatives"), TABLES)
@pytest.mark.parametrize("row", [1, 700, 2049, 5120])
@pytest.mark.parametrize("power", range(4))
def test_a_wrong_entry_is_found(table, derivatives, row, power):
    mp.prec = 110
    _, start, end = list(segments())[row - 1]
    wrong = table().cubics[row].copy()
    wrong[power] += 4 * ERROR / float(end) ** (3 - power)
    assert error_of(wrong, start, end, derivatives) > ERROR


def test_the_bound_has_the_remainder():
    """K (u - c)^6 / 720 around the middle c is K a^6 / 720 at both ends, and the cubic is 0."""
    _, start, end = next(segments())
    half = mpf(end - start) / 2**64
    found = error_of(np.zeros(4), start, end, lambda u: [mpf(0)] * ORDER + [mpf(10) ** 40])
    assert found >= mpf(10) ** 40 * half**6 / 720


def test_the_bound_has_the_roundings_of_the_cubic():
    """A constant of 3 is reached by seven roundings at most, of 3 2^-53 each."""
    _, start, end = next(segments())
    found = error_of(np.array([0.0, 0, 0, 3]), start, end, lambda u: [mpf(3), *[mpf(0)] * ORDER])
    assert found >= 21 * mpf(2) ** -53


def test_the_bound_has_what_a_word_leaves_open():
    """A slope of 5 in u: the bits that come after h, and the rounding of h to a float."""
    *_, (_, start, end) = segments()
    row = np.array([0.0, 0, 5 * 2.0**-63, 0])
    found = error_of(row, start, end, lambda u: [5 * u, mpf(5), *[mpf(0)] * (ORDER - 1)])
    roundings = HORNER * 5 * mpf(end) / 2**63
    assert found - roundings >= 5 * (1 + mpf(end) / 2**53) / 2**63


@pytest.mark.parametrize("table", DIGESTS)
def test_the_table_is_the_same_on_every_machine(table):
    """The certificate is of these very bits."""
    assert hashlib.sha256(table().cubics[1:].tobytes()).hexdigest() == DIGESTS[table]


@pytest.mark.parametrize(("table", "derivatives"), TABLES)
def test_many_sizes_are_those_of_single_words(table, derivatives):
    """Both ends of every segment, with both signs, and words that have no float."""
    words = [
        h | sign for _, start, end in segments() for h in (start, end - 1) for sign in (0, 2**63)
    ]
    words += [MASK, 2**64 - 1, 0, 2**63, LEAST - 1, LEAST, 1]
    count = len(words)
    found, work = np.empty(count), Work(np.empty(count), np.empty(count), np.empty((count, 4)))
    table().fill(np.array(words, dtype=np.uint64), found, work)
    one = [table().size(word) for word in words]
    assert [None if np.isnan(each) else each for each in found.tolist()] == one
    assert sum(each is None for each in one) == 4


def test_sizes_fall():
    """From one end of a table to the other, but for the error where two segments meet."""
    for table in (exponential_table(), normal_table()):
        ends = [(table.size(start), table.size(end - 1)) for _, start, end in segments()]
        flat = np.array(ends).ravel()
        assert np.all(np.diff(flat) < 2 * ERROR)


def test_a_table_is_made_once():
    assert exponential_table() is exponential_table()
    assert isinstance(normal_table(), QuantileTable)


def points() -> np.ndarray:
    generator = np.random.default_rng(1)
    mantissas = 1 + generator.random(3000)
    exponents = generator.integers(-1022, -1, 3000)
    near_one = 1 - 2.0 ** -generator.integers(1, 53, 300)
    return np.concatenate([np.ldexp(mantissas, exponents), near_one, [1.0, 0.5, 2.0**-1022]])


def test_the_error_is_as_stated():
    mp.dps = 40
    for x in points().tolist():
        true = -log(mpf(x))
        assert abs(minus_log(x) - true) <= 2.0**-50 + 2.0**-51 * true


def test_arrays_have_the_logarithms_of_their_entries():
    x = points()
    assert minus_logs(x).tolist() == [minus_log(each) for each in x.tolist()]
    assert minus_logs(np.array([0.0, 1.0])).tolist() == [np.inf, 0.0]
