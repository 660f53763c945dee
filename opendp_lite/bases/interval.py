"""The common part of the bases on a bounded interval."""

from __future__ import annotations

from fractions import Fraction

import attrs

from opendp_lite.bases.basis import CELLS, Basis, lower_bound, number_of_terms, upper_bound


@attrs.frozen(repr=False)
class Interval(Basis):
    """So many functions on [lower, upper]."""

    terms: int = attrs.field(converter=number_of_terms)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)

    def __attrs_post_init__(self) -> None:
        self.edges()

    @property
    def cells(self) -> int:
        return CELLS

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper
