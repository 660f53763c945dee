"""The common part of the bases whose functions are constant on each cell."""

from __future__ import annotations

from fractions import Fraction

import attrs

from opendp_lite.bases.basis import Basis, lower_bound, power_of_two, upper_bound


def _cells(value: int) -> int:
    return power_of_two(value, "cells")


@attrs.frozen(repr=False)
class Stepped(Basis):
    """As many functions as cells of [lower, upper]."""

    cells: int = attrs.field(converter=_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)

    def __attrs_post_init__(self) -> None:
        self.edges()

    @property
    def terms(self) -> int:
        return self.cells

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper
