"""Results of a person's own functions as floats, whatever type they have."""

from __future__ import annotations

from decimal import Decimal
from math import nan
from numbers import Complex

import numpy as np
from numpy import ma

from opendp_lite.engines.fold import Floats


def _number(value: object) -> float:
    """A real number as a float; NaN for anything else."""
    if not isinstance(value, Complex | Decimal):
        return nan
    try:
        number = complex(value)
    except (OverflowError, ValueError):
        return nan
    return number.real if number.imag == 0 else nan


def real_entries(found: object) -> Floats:
    """A new array of floats, with NaN for each entry that is no real number.

    The type of an array may depend on its values: ``numpy.emath.sqrt`` turns complex at the first
    negative number. So no type is refused, and none warns.
    """
    if isinstance(found, ma.MaskedArray):
        return np.where(ma.getmaskarray(found), np.nan, real_entries(found.data))
    entries = np.asarray(found)
    if entries.dtype.kind in "biuf":
        return np.array(entries, dtype=np.float64)
    if entries.dtype.kind == "c":
        return np.where(np.imag(entries) == 0, np.real(entries), np.nan).astype(np.float64)
    flat = np.fromiter(map(_number, entries.flat), np.float64, entries.size)
    return flat.reshape(entries.shape)
