"""Laguerre functions."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
from numpy.polynomial.laguerre import lagvander

from opendp_lite.bases.basis import (
    CELLS,
    Basis,
    lower_bound,
    middle_shares,
    number_of_terms,
    public_scale,
)
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats

_BEYOND = 30


@spellable
@attrs.frozen(repr=False)
class Laguerre(Basis):
    """Laguerre functions, for densities that decay from a bound.

    The functions are Laguerre polynomials times exp(-z / 2) with z = (x - lower) / scale. They
    vanish at 4 terms + 30 scales. Numbers further away are not seen, and numbers below the bound
    count as it.

    Args:
        terms: How many functions, from 2 to 64.
        scale: About half of the mean distance from the bound.
        lower: The bound.

    Proof:
        Laguerre functions are orthonormal on the half line. All are 1 at the bound and nowhere
        larger, so l1 / l2 is sqrt(terms).

    Example:
        >>> basis = Laguerre(9, scale=10)
        >>> [float(end) for end in basis.ends], round(basis.l1 / basis.l2, 2)
        ([0.0, 660.0], 3.0)
    """

    terms: int = attrs.field(converter=number_of_terms)
    scale: Fraction = attrs.field(converter=public_scale, kw_only=True)
    lower: Fraction = attrs.field(default=Fraction(0), converter=lower_bound, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.edges()

    @property
    def cells(self) -> int:
        return CELLS

    @property
    def _reach(self) -> int:
        return 4 * self.terms + _BEYOND

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.lower + self._reach * self.scale

    def functions(self) -> Floats:
        z = self._reach * middle_shares(self.cells)
        values = lagvander(z, self.terms - 1) * np.exp(-z / 2)[:, None]
        units: Floats = values * np.sqrt(self._reach)
        return units
