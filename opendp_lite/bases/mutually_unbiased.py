"""Mutually unbiased bases."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, sqrt

import attrs
import numpy as np

from opendp_lite.bases.basis import MOST_CELLS, Basis, lower_bound, upper_bound
from opendp_lite.bases.hadamard import hadamard_matrix
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described, whole

_PAIR = 2
_MOST_PRIME = 61


def _cells(value: int) -> int:
    cells = whole(value, "cells", least=2)
    prime = cells % 2 == 1 and all(cells % i for i in range(3, isqrt(cells) + 1, 2))
    if (prime and cells <= _MOST_PRIME) or (not cells & (cells - 1) and cells <= MOST_CELLS // 2):
        return cells
    raise ParameterError(
        f"cells must be an odd prime up to {_MOST_PRIME} or a power of two up to "
        f"{MOST_CELLS // 2}, got {described(cells)}"
    )


def _bases(value: int) -> int:
    return whole(value, "bases", least=1)


@spellable
@attrs.frozen(repr=False)
class MutuallyUnbiased(Basis):
    """Several bases on the same cells, as different from each other as can be.

    A function of one basis is spread evenly over all functions of another.

    Each real basis has k columns and each complex one 2 k, for real and imaginary parts; a column
    of zeros is left out. Each basis is divided by sqrt(bases). A row is then as long as in one
    basis, and the functions together serve as an orthonormal basis does (a Parseval frame).

    Args:
        cells: How many cells k of one width, an odd prime up to 61 or a power of two up to 256.
        lower: The lower end of the interval.
        upper: The upper end.
        bases: How many bases, 2 by default. For a power of two there are two, the cells themselves
            and Hadamard's. For a prime there are k + 1.

    Raises:
        ParameterError: If there are not so many cells or bases.

    Proof:
        Wootters and Fields 1989. For an odd prime k the vectors exp(2 pi i (r j^2 + s j) / k) /
        sqrt(k), s = 0, ..., k - 1, are a basis for each r = 0, ..., k - 1. Any two of these and the
        cells themselves are unbiased (Gauss sums). r = 0 is the discrete Fourier basis.

    Example:
        >>> basis = MutuallyUnbiased(7, 0, 7, bases=3)
        >>> basis.terms, round(basis.l2**2, 6)
        (34, 7.0)
    """

    cells: int = attrs.field(converter=_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)
    bases: int = attrs.field(default=_PAIR, converter=_bases, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.edges()
        most = self.cells + 1 if self.cells % 2 else _PAIR
        if self.bases > most:
            raise ParameterError(
                f"there are {most} bases on {self.cells} cells, not {described(self.bases)}"
            )

    @property
    def terms(self) -> int:
        if self.cells % 2 == 0:
            return self.bases * self.cells
        return self.cells + 2 * self.cells * (self.bases - 1) - (self.bases > 1)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper

    def functions(self) -> Floats:
        found = [np.sqrt(self.cells) * np.eye(self.cells)]
        if self.cells % 2 == 0:
            found.append(hadamard_matrix(self.cells))
        else:
            found.extend(self._waves(rate) for rate in range(self.bases - 1))
        together: Floats = np.concatenate(found[: self.bases], axis=1)
        return together / sqrt(self.bases)

    def _waves(self, rate: int) -> Floats:
        places = np.arange(self.cells)
        turns = (rate * places**2)[:, None] + places[:, None] * places
        angles = 2 * np.pi * (turns % self.cells) / self.cells
        parts = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        return parts if rate else np.delete(parts, self.cells, axis=1)
