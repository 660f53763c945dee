"""A basis with more noise on fine functions than on coarse ones."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np

from opendp_lite.bases.basis import Basis
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described


def _basis(value: Basis) -> Basis:
    if not isinstance(value, Basis):
        raise ParameterError(
            f"Weighted needs a basis such as dp.bases.Cosine(24, 0, 100), got {described(value)}"
        )
    return value


@spellable
@attrs.frozen(repr=False)
class Weighted(Basis):
    """Another basis, each function but the first divided by the root of its place.

    Function j counts 1 / sqrt(j) times as much, so the sums move less and need less noise. Its sum
    is multiplied by sqrt(j) when it is read. So coarse functions have less noise and fine ones
    more. Shares of rows, quantiles and moments get better by it, but for shares close to a bound.
    Fine detail of a density gets worse.

    Args:
        basis: With its functions from coarse to fine, ``Cosine(24, 0, 100)`` say.

    Proof:
        The norms are those of the weighted functions, exactly, as for every basis. A share below a
        number has coefficients of about 1 / j. Its noise is least where the weights are the roots
        of these.

    Example:
        >>> import opendp_lite as dp
        >>> plain = dp.bases.Cosine(24, 0, 100)
        >>> round(Weighted(plain).l2, 2), round(plain.l2, 2)
        (2.91, 6.86)
    """

    basis: Basis = attrs.field(converter=_basis)

    @property
    def terms(self) -> int:
        return self.basis.terms

    @property
    def cells(self) -> int:
        return self.basis.cells

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.basis.ends

    def edges(self) -> Floats:
        return self.basis.edges()

    def functions(self) -> Floats:
        return self.basis.functions()

    def weights(self) -> Floats:
        places: Floats = np.maximum(np.arange(self.terms), 1.0)
        return self.basis.weights() / np.sqrt(places)
