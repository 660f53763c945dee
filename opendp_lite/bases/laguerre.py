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
from opendp_lite.bodies.body import Floats
from opendp_lite.documents import spellable

_BEYOND = 30


@spellable
@attrs.frozen(repr=False)
class Laguerre(Basis):
    """Laguerre polynomials times exp(-z / 2), z = (x - lower) / scale: what decays from a bound.

    Takes: ``terms`` k, from 2 to 64; ``scale``, about half of the mean above the bound;
        ``lower``, the bound. No upper bound: the functions vanish at 4 k + 30 scales. What lies
        beyond is not seen, nor counted; what lies below counts as the bound.
    Because: orthonormal on the half line; all are 1 at the bound and nowhere larger, so in these
        units l1 / l2 is sqrt(k).

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
