"""Lemmas that a solver proves: rounding to the grid bit by bit, sums in parts, radii, sure lanes.

Needs ``pip install z3-solver``; skipped without it. A lemma holds for all values of its letters: z3
looks for one where it fails, and finds that there is none.
"""

from itertools import combinations

import pytest

from opendp_lite.bodies.grid_rounding import MAGIC, ORIGIN
from opendp_lite.transformations.sums import _LOW, _LOW_BITS, _ROOM, _TURN

z3 = pytest.importorskip("z3")

SECONDS = 60
DOUBLE = z3.Float64()
NEAREST, UP, DOWN = z3.RNE(), z3.RTP(), z3.RTN()
BIAS, FRACTION = 1023, 52
GRIDS = (-940, 0, 860)
"""Exponents of a grid: near both ends of what a body takes, and 1. Between them all exponents move
by as much, as a power of two moves nothing else."""


def prove(claim, *given) -> None:
    """Fails where some values meet what is given and not the claim, or where z3 does not know."""
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*given, z3.Not(claim))
    found = solver.check()
    assert found == z3.unsat, solver.model() if found == z3.sat else "z3 does not know"


def bits_of(x, grid: int):
    """The bits of a float once 1.5 * 2^52 grid units are added, less those of 0 on the grid.

    As a whole number of 65 bits, so that nothing wraps.
    """
    magic = z3.FPVal(MAGIC * 2.0**grid, DOUBLE)
    origin = ORIGIN + (grid << FRACTION)
    return z3.SignExt(1, z3.fpToIEEEBV(z3.fpAdd(NEAREST, x, magic))) - z3.BitVecVal(origin, 65)


@pytest.mark.parametrize("grid", GRIDS)
def test_a_float_has_the_integer_nearest_to_it(grid):
    """Up to 2^51 units, and of two as near the even one: for each exponent, all signs and bits."""
    fraction, sign = z3.BitVec("fraction", FRACTION), z3.BitVec("sign", 1)
    whole = z3.ZeroExt(13, fraction) + (1 << FRACTION)
    for exponent in range(-1, 52, 1 if grid == 0 else 13):
        x = z3.fpFP(sign, z3.BitVecVal(BIAS + grid + exponent, 11), fraction)
        # |x| is whole * 2^-shift units.
        shift = FRACTION - exponent
        floor, rest = z3.LShR(whole, shift), whole & ((1 << shift) - 1)
        half = z3.BitVecVal(1 << (shift - 1), 65)
        up = z3.Or(z3.UGT(rest, half), z3.And(rest == half, floor & 1 == 1))
        nearest = floor + z3.If(up, z3.BitVecVal(1, 65), z3.BitVecVal(0, 65))
        at_the_end = [fraction == 0] if exponent == 51 else []
        prove(bits_of(x, grid) == z3.If(sign == 0, nearest, -nearest), *at_the_end)


@pytest.mark.parametrize("grid", GRIDS)
def test_all_other_floats_have_0_or_lie_beyond_the_ends(grid):
    """Subnormal numbers, infinities: so a clip of the bits has the end. NaN stays NaN."""
    x = z3.FP("x", DOUBLE)
    bits, end = bits_of(x, grid), z3.FPVal(2.0 ** (grid + 51), DOUBLE)
    half = z3.FPVal(2.0 ** (grid - 1), DOUBLE)
    prove(bits == 0, z3.fpLT(z3.fpAbs(x), half))
    prove(bits >= 2**51, z3.fpGEQ(x, end))
    prove(bits <= -(2**51), z3.fpLEQ(x, z3.fpNeg(end)))
    prove(z3.fpIsNaN(z3.fpAdd(NEAREST, x, end)), z3.fpIsNaN(x))


def test_the_nearest_integer_is_half_a_unit_away_and_rises():
    """What the two lemmas before say of bits is so said of numbers. The half is of any x."""
    x, y = z3.Reals("x y")
    m, n = z3.Ints("m n")

    def nearest(x, n):
        gap = x - z3.ToReal(n)
        tie = z3.Or(gap == z3.Q(1, 2), gap == z3.Q(-1, 2))
        return z3.And(gap <= z3.Q(1, 2), gap >= z3.Q(-1, 2), z3.Implies(tie, n % 2 == 0))

    prove(m <= n, nearest(x, m), nearest(y, n), x <= y)
    prove(m == n, nearest(x, m), nearest(x, n))


def test_the_difference_to_the_nearest_whole_number_is_exact():
    """So the samplers compare the true distance of a float from a whole number with their edge.

    By the lemma of Sterbenz: y / 2 <= n <= 2 y, or n is 0. No number of the package stands in
    it, so both ends and some exponents between show that it is said rightly.
    """
    fraction = z3.BitVec("fraction", FRACTION)
    for exponent in (-2, -1, 0, 1, 13, 26, 39, 51, 52):
        y = z3.fpFP(z3.BitVecVal(0, 1), z3.BitVecVal(BIAS + exponent, 11), fraction)
        whole = z3.fpRoundToIntegral(NEAREST, y)
        prove(z3.fpEQ(z3.fpSub(UP, y, whole), z3.fpSub(DOWN, y, whole)))


def test_a_sure_lane_has_the_whole_number_of_the_true_value():
    """Within ``margin`` of the float y, and that further than it from a half: the same one."""
    y, true, margin = z3.Reals("y true margin")
    n, true_n = z3.Ints("n true_n")
    near = z3.And(true - y <= margin, y - true <= margin)
    edge = z3.Q(1, 2) - margin
    sure = z3.And(y - z3.ToReal(n) < edge, z3.ToReal(n) - y < edge)
    # Ties go up in the law, and no sure lane is one.
    rounded = z3.And(z3.ToReal(true_n) <= true + z3.Q(1, 2), true + z3.Q(1, 2) < true_n + 1)
    prove(n == true_n, near, sure, rounded)


def test_low_and_high_bits_are_the_number_and_fit_for_2_to_the_31_rows():
    """As parts of groups are added: each part apart, in int64, and put together at the end."""
    steps = z3.BitVec("steps", 64)
    low, high = steps & _LOW, steps >> _LOW_BITS
    prove((high << _LOW_BITS) + low == steps)
    prove(z3.And(low >= 0, low <= _LOW))
    most = 2**51
    prove(
        z3.And(high <= most >> _LOW_BITS, high >= -(most >> _LOW_BITS)),
        steps <= most,
        steps >= -most,
    )
    rows, total, each, bound = z3.Ints("rows total each bound")
    for bound in (_LOW, most >> _LOW_BITS):
        step = z3.And(total <= rows * bound, total >= -rows * bound, each <= bound, each >= -bound)
        following = total + each
        prove(
            z3.And(following < 2**63, following >= -(2**63), following <= (rows + 1) * bound),
            *(step, rows >= 0, rows < 2**31),
        )


def test_a_sum_is_known_from_its_value_modulo_2_to_the_64():
    """Of so many rows that it is within 2^62: the bits count ``ORIGIN`` for each row as well."""
    total, rows, origin, turns = z3.Ints("total rows origin turns")
    seen = total + rows * origin + turns * _TURN
    # What int64 holds: the one number from -2^63 to 2^63 with this value modulo 2^64.
    wrapped = (seen - rows * origin + _TURN // 2) % _TURN - _TURN // 2
    moved = z3.Int("moved")
    # With moved for the product, which is the same in both places, all is linear.
    found = z3.substitute(wrapped, (rows * origin, moved))
    prove(found == total, total <= _ROOM, total >= -_ROOM)


VECTORS = [2, 3]


def vector(name: str, size: int):
    return [z3.Real(f"{name}{place}") for place in range(size)]


def square(x):
    return z3.Sum([each * each for each in x])


def size_of(x):
    return z3.If(x >= 0, x, -x)


@pytest.mark.parametrize("size", VECTORS)
def test_norms_bound_each_other(size):
    """linf^2 <= l2^2 <= l1 linf, l1^2 <= d l2^2 and l2^2 <= d linf^2: what ``Norms`` fills in."""
    x, most = vector("x", size), z3.Real("most")
    given = [each >= 0 for each in x]
    largest = [*(each <= most for each in x), z3.Or(*(each == most for each in x))]
    one = z3.Sum(x)
    prove(square(x) <= one * most, *given, *largest)
    prove(one * one <= size * square(x))
    prove(square(x) <= size * most * most, *given, *largest)
    prove(most * most <= square(x), *given, *largest)


def test_rows_without_negative_entries_lie_the_root_of_two_radii_apart():
    """Of a ball, in any number of columns: so a replaced row moves a sum by sqrt(2) r in l2.

    With one, two and inner for x x, y y and x y, of which each term is at least 0.
    """
    a, b, one, two, inner, limit = z3.Reals("a b one two inner limit")
    prove(a * b >= 0, a >= 0, b >= 0)
    prove(one - 2 * inner + two <= 2 * limit, inner >= 0, one <= limit, two <= limit)


def test_outer_products_lie_the_root_of_two_squared_radii_apart():
    """The inner product of two outer products is a square, that of the rows."""
    x, y = vector("x", 2), vector("y", 2)
    inner = z3.Sum([x[i] * x[j] * y[i] * y[j] for i in range(2) for j in range(2)])
    prove(inner == (x[0] * y[0] + x[1] * y[1]) * (x[0] * y[0] + x[1] * y[1]))


def test_augmented_rows_lie_on_a_segment_of_the_simplex():
    """(x - a, b - x) for x in [a, b]: the sum is b - a, and two rows differ by 2 (b - a) in l1."""
    x, y, low, high = z3.Reals("x y low high")
    inside = [low <= each for each in (x, y)] + [each <= high for each in (x, y)]
    gaps = [(x - low) - (y - low), (high - x) - (high - y)]
    prove(size_of(gaps[0]) + size_of(gaps[1]) <= 2 * (high - low), *inside)
    prove(square(gaps) <= 2 * (high - low) * (high - low), *inside)


def test_corners_of_a_simplex_lie_two_radii_apart_in_l1():
    """So a row that leaves one bin for another moves the counts by 2."""
    places = list(combinations(range(4), 2))
    r = z3.Real("r")
    for one, other in places:
        gaps = [r * ((place == one) - (place == other)) for place in range(4)]
        prove(z3.Sum([size_of(each) for each in gaps]) == 2 * r, r >= 0)
