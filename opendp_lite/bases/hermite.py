"""Hermite functions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, lgamma, log, pi

import attrs
import numpy as np
from numpy.polynomial.hermite import hermvander

from opendp_lite.bases.basis import (
    CELLS,
    Basis,
    middle_shares,
    number_of_terms,
    public_scale,
    to_float,
)
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats
from opendp_lite.exact import Number, exact

_BEYOND = 5


def _middle(value: Number) -> Fraction:
    return to_float(exact(value, "middle"))


@spellable
@attrs.frozen(repr=False)
class Hermite(Basis):
    """Hermite functions, for bell-shaped densities and similar ones.

    The functions are Hermite polynomials times exp(-z^2 / 2) with z = (x - middle) / scale. They
    need no bounds, and vanish at sqrt(2 terms) + 5 scales from the middle. Numbers further away are
    not seen.

    Args:
        terms: How many functions, from 2 to 64.
        middle: The middle of the bell.
        scale: About sqrt(2) times the standard deviation of the bell.

    Proof:
        Hermite functions are orthonormal on the real line. Scaled to the interval outside of which
        they vanish, they are orthonormal under the uniform distribution there.

    Example:
        >>> basis = Hermite(8, middle=50, scale=10)
        >>> [float(end) for end in basis.ends], round(basis.l1 / basis.l2, 2)
        ([-40.0, 140.0], 2.64)
    """

    terms: int = attrs.field(converter=number_of_terms)
    middle: Fraction = attrs.field(converter=_middle, kw_only=True)
    scale: Fraction = attrs.field(converter=public_scale, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.edges()

    @property
    def cells(self) -> int:
        return CELLS

    @property
    def _reach(self) -> int:
        return isqrt(2 * self.terms) + _BEYOND

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.middle - self._reach * self.scale, self.middle + self._reach * self.scale

    def functions(self) -> Floats:
        z = self._reach * (2 * middle_shares(self.cells) - 1)[:, None]
        orders = np.arange(self.terms)
        squares = [i * log(2) + lgamma(i + 1) + log(pi) / 2 for i in orders.tolist()]
        sizes = np.exp(-(z**2 + np.array(squares)) / 2) * np.sqrt(2 * self._reach)
        values: Floats = hermvander(z[:, 0], self.terms - 1) * sizes
        return values
