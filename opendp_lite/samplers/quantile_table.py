"""Natural logarithms from additions, multiplications and divisions alone.

The logarithm of a platform's library differs from machine to machine. This one does not, and its
error follows from the error of each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from math import frexp
from struct import Struct
from typing import Final, NamedTuple, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers.entropy import Words
from opendp_lite.samplers.lattice import Floats

LN2: Final = 0.6931471805599453
_TERMS: Final = 17
Real = TypeVar("Real", float, Floats)
Octaves = NDArray[np.int64]


def log_of_mantissa(x: Real) -> Real:
    """ln x for x from 1 to 2, within 2^-51.

    It is 2 artanh z for z = (x - 1) / (x + 1), at most 1/3. The series of artanh has 18 terms, and
    what is left out is below 2^-60. As z^2 is at most 1/9, Horner's rule moves the sum by less than
    1.6 roundings of it. With those of z, of the product and of the result, all move ln x, at most
    0.694, by less than 5 2^-53 of it.
    """
    z = (x - 1) / (x + 1)
    square = z * z
    total = square * 0
    for k in range(_TERMS, -1, -1):
        total = total * square + 1 / (2 * k + 1)
    return 2 * z * total


def minus_log(x: float) -> float:
    """-ln x for a normal float x from 0 to 1, within 2^-50 and 2^-51 of it."""
    mantissa, exponent = frexp(x)
    return (1 - exponent) * LN2 - log_of_mantissa(2 * mantissa)


def minus_logs(x: Floats) -> Floats:
    """As ``minus_log`` for each entry, by the same operations; infinite at 0."""
    mantissas, exponents = np.frexp(x)
    found: Floats = (1 - exponents) * LN2 - log_of_mantissa(2 * mantissas)
    return np.where(x > 0, found, np.inf)


# A word stands for a sign, its highest bit, and a uniform number U in [h, h + 1) 2^-63, with h its
# other 63 bits. The size of the variate is Q(U), for a falling quantile function Q. The octaves of
# h from 2^43 on have 256 segments each, with a cubic for each segment. A smaller h, once in 2^20
# words, has no float, and its unread bits are drawn instead.
#
# Only IEEE additions, multiplications, divisions and roots make and read a table, in an order that
# is written down here. So it is the same, bit for bit, on every machine, and so is what is read
# from it. ``test_quantile_table.py`` proves the error of every segment.


BITS: Final = 63
"""Bits of a word that its uniform number begins with."""
LEAST: Final = 2**43
"""The least h that has a float."""
ERROR: Final = 2.0**-40
"""A float is so near to Q(U), for every U in [h, h + 1) 2^-63."""
MARGIN: Final = 4 * ERROR
"""Times s + 1: what is nearer than this to a boundary of floor(s Q(U) + c) is decided exactly."""
_SEGMENT_BITS: Final = 8
_SEGMENTS: Final = 2**_SEGMENT_BITS
_OCTAVES: Final = BITS - 43
_FIRST_OCTAVE: Final = 45
SHIFT: Final = 52 - _SEGMENT_BITS
BEFORE: Final = ((1023 + 43) << _SEGMENT_BITS) - 1
"""Less this, the bits of the float of h, shifted by ``SHIFT``, are the row of its segment."""
MASK: Final = 2**63 - 1
"""The bits of a word that h is made of: all but the highest, which is a sign."""
_ROW: Final = Struct("4d")
# Those of Chebyshev on (0, 1), from the largest on.
_NODES: Final = (0.9619397662556434, 0.6913417161825449, 0.3086582838174551, 0.03806023374435663)


@attrs.frozen(eq=False, repr=False)
class QuantileTable:
    """The cubics of one quantile function: a row for each segment, from the cube's coefficient on.

    Row 0 is NaN, for h below ``LEAST``. The last row is for h = 2^63, to which floats round the
    largest h.
    """

    cubics: Floats
    _row: Callable[[int], tuple[float, ...]] = attrs.field(
        default=attrs.Factory(lambda it: partial(_ROW.unpack_from, it.cubics), takes_self=True),
        init=False,
        repr=False,
    )

    def fill(self, words: Words, out: Floats, work: Work) -> None:
        """Fills ``out`` with Q for each word, NaN where h is below ``LEAST``.

        The contents of ``work``, for so many words, are lost.
        """
        index, uniform, rows = work.first.view(np.int64), work.second, work.rows
        np.bitwise_and(words.view(np.int64), MASK, out=index)
        np.copyto(uniform, index)
        np.right_shift(uniform.view(np.int64), SHIFT, out=index)
        np.subtract(index, BEFORE, out=index)
        places = index.astype(np.intp, copy=False)  # A copy only where a place has 32 bits.
        np.take(self.cubics, places, axis=0, out=rows, mode="clip")
        np.multiply(rows[:, 0], uniform, out=out)
        for power in (1, 2):
            np.add(out, rows[:, power], out=out)
            np.multiply(out, uniform, out=out)
        np.add(out, rows[:, 3], out=out)

    def size(self, word: int) -> float | None:
        """As ``fill`` for one word, without arrays; None where h is below ``LEAST``."""
        uniform = float(word & MASK)
        if uniform < LEAST:
            return None
        mantissa, octave = frexp(uniform)
        row = (octave - _FIRST_OCTAVE << _SEGMENT_BITS) + int(mantissa * 2 * _SEGMENTS) + 1
        cube, square, slope, start = self._row(row * _ROW.size)
        return ((cube * uniform + square) * uniform + slope) * uniform + start


class Work(NamedTuple):
    """Arrays for work in between: two columns, and rows of four."""

    first: Floats
    second: Floats
    rows: Floats

    def of(self, count: int) -> Work:
        """So much of them."""
        return Work(*(each[:count] for each in self))


@cache
def exponential_table() -> QuantileTable:
    """Of Q(u) = -ln u."""
    return _table(_minus_log)


@cache
def normal_table() -> QuantileTable:
    """Of the |Z| with P(|Z| > Q(u)) = u, for a standard normal Z."""
    return _table(_normal_size)


def _table(quantile: Callable[[Floats, Octaves], Floats]) -> QuantileTable:
    """The cubics through the values at four nodes of each segment.

    ``quantile(m, octaves)`` is Q(m 2^-octave) for m from 1 to 2, a row for each octave.
    """
    starts = 1 + np.arange(_SEGMENTS) / _SEGMENTS
    nodes = [starts + node / _SEGMENTS for node in _NODES]
    octaves: Octaves = np.arange(_OCTAVES, 0, -1).reshape(-1, 1)
    cubic = _cubic(nodes, [quantile(node, octaves) for node in nodes])
    scaled = [np.ldexp(each, k * (octaves - BITS)) for k, each in enumerate(cubic)]
    inside = np.stack(scaled[::-1], axis=-1).reshape(-1, 4)
    cubics = np.concatenate([np.full((1, 4), np.nan), inside, np.zeros((1, 4))])
    cubics.setflags(write=False)
    return QuantileTable(cubics)


def _cubic(nodes: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, ...]:
    """The coefficients of the cubics through four points each (Newton's divided differences)."""
    a, b, c, _ = nodes
    differences, found = list(values), [values[0]]
    for gap in (1, 2, 3):
        differences = [
            (after - before) / (nodes[i + gap] - nodes[i])
            for i, (before, after) in enumerate(pairwise(differences))
        ]
        found.append(differences[0])
    zeroth, first, second, third = found
    constant = zeroth - a * (first - b * (second - c * third))
    slope = first - (a + b) * second + (a * b + (a + b) * c) * third
    square = second - (a + b + c) * third
    return constant, slope, square, third


def _minus_log(m: Floats, octaves: Octaves) -> Floats:
    return octaves * LN2 - log_of_mantissa(m)


# a, b and c, d of AS 241, from the highest power on. The paper's e and f serve roots beyond 5;
# here the largest is that of 21 ln 2, below 4.
# fmt: off
_CENTRE: Final = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
     4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
     1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
     2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
     4.2313330701600911252e1, 1.0),
)
_TAIL: Final = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
     1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
     4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
     2.05319162663775882187e0, 1.0),
)
# fmt: on
_CENTRAL_HALF: Final = 0.425
_CENTRAL_ROOM: Final = 0.180625
_TAIL_START: Final = 1.6


def _normal_size(m: Floats, octaves: Octaves) -> Floats:
    """By the rational functions of Wichura 1988, algorithm AS 241, PPND16."""
    half = (1 - np.ldexp(m, -octaves)) / 2
    centre = half * _ratio(_CENTRE, _CENTRAL_ROOM - half * half)
    tail = _ratio(_TAIL, np.sqrt(_minus_log(m, octaves + 1)) - _TAIL_START)
    return np.where(half <= _CENTRAL_HALF, centre, tail)


def _ratio(fraction: tuple[Sequence[float], Sequence[float]], x: Floats) -> Floats:
    above, below = (_horner(each, x) for each in fraction)
    return above / below


def _horner(coefficients: Sequence[float], x: Floats) -> Floats:
    total = np.full_like(x, coefficients[0])
    for each in coefficients[1:]:
        total = total * x + each
    return total
