"""Noise of which a word makes one draw, by a table of a quantile function."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.exact import nearest
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import FEW, Law, Offsets, usable_scale
from opendp_lite.samplers.quantile_table import MARGIN


@attrs.frozen
class QuantileLaw(Law):
    """A law with its scale as a float, and how near to a whole number a float decides."""

    scale: Fraction = attrs.field(validator=usable_scale)
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)
    _factor: float = attrs.field(
        default=attrs.Factory(lambda law: nearest(law.scale), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )
    _edge: float = attrs.field(
        default=attrs.Factory(lambda law: 0.5 - law.margin * (law._factor + 1), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW:
            return self.few(count, offsets, entropy)
        found = np.empty(count, dtype=np.int64)
        self.fill(found, offsets, entropy)
        return found
