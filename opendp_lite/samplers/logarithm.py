"""Natural logarithms from additions, multiplications and divisions alone.

The logarithm of a platform's library differs from machine to machine. This one does not, and its
error follows from the error of each operation.
"""

from __future__ import annotations

from math import frexp
from typing import Final, TypeVar

import numpy as np

from opendp_lite.samplers._arrays import Floats

LN2: Final = 0.6931471805599453
_TERMS: Final = 17
Real = TypeVar("Real", float, Floats)


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
