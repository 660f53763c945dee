"""Bounds of each of several columns, and the units that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Values, to_floats
from opendp_lite.estimators.columns.noisy_mean import Rowwise, dyadic
from opendp_lite.estimators.parts.noisy_totals import moderate
from opendp_lite.estimators.parts.request import BoundedColumn, ByColumn, bounds_of_each
from opendp_lite.estimators.parts.types import Floats, RowSpace
from opendp_lite.numbers.exact import Number
from opendp_lite.transformations.bounding import center, clamp, scale

_PAIR: Final = 2
_Pair = tuple[Number, Number]
ColumnsBound = Number | Sequence[_Pair] | Sequence[Number] | Mapping[str, _Pair]


@attrs.frozen
class ColumnBounds:
    """The bounds of each column.

    Args:
        lower: The lower bound of each, in its unit.
        upper: The upper bound of each.
        own: Whether a person gave both, and not one largest size for all.
        given: Those that were given; None where values stay as they are.
        unit: What values are counted in here, from the place in the given bounds nearest to 0.
    """

    lower: Values
    upper: Values
    own: bool
    given: ColumnBounds | None = None
    unit: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: object, space: RowSpace, step: str) -> ColumnBounds:
        """From a largest size, a pair for all columns, or a pair for each."""
        columns = space.domain.columns
        if not isinstance(given, Mapping | Sequence) or isinstance(given, str):
            most = moderate(given, "bound")
            return cls((-most,) * columns, (most,) * columns, own=False)
        pairs = given
        if isinstance(given, Mapping):
            names = space.domain.names
            if names is None:
                raise SpaceError(
                    f"{step}: the rows have no names; give a pair for each column in their order, "
                    "or start with dp.records(columns=['age', ...])"
                )
            pairs = bounds_of_each(given, names, step, "bound")
        elif len(given) == _PAIR and not any(isinstance(end, Sequence) for end in given):
            pairs = [given] * columns
        if not all(isinstance(each, Sequence) and len(each) == _PAIR for each in pairs):
            raise ParameterError(
                f"{step}: bound is one number, a pair (lower, upper), or such a pair for each "
                "column: bound=[(0, 100), (140, 210)], say"
            )
        if len(pairs) != columns:
            raise SpaceError(f"{step} was given {len(pairs)} pairs of bounds for {columns} columns")
        each = [BoundedColumn.between(low, high, step) for low, high in pairs]
        return cls(tuple(one.lower for one in each), tuple(one.upper for one in each), own=True)

    def counted(self, unit: Floats) -> ColumnBounds:
        """Values are counted in units, from the place in their bounds that is nearest to 0.

        Between 1e6 and 1e6 + 1 a search would else look at all sizes up to 1e6, with noise to
        match. The middle of the bounds would serve a column of visits worse: most lie near 0, and
        a search looks finely there.
        """
        lower, upper = (
            tuple(
                (end - Fraction(zero)) / Fraction(one)
                for end, zero, one in zip(ends, self.nearest.tolist(), unit.tolist(), strict=True)
            )
            for ends in (self.lower, self.upper)
        )
        return ColumnBounds(lower, upper, self.own, self, tuple(unit.tolist()))

    @property
    def nearest(self) -> Floats:
        """The place in the bounds that is nearest to 0."""
        low, high = self.floats
        return np.zeros(len(low)).clip(low, high)

    @property
    def even(self) -> bool:
        """Whether all columns have bounds of one width."""
        return len({high - low for low, high in zip(self.lower, self.upper, strict=True)}) == 1

    @property
    def rows(self) -> Rowwise:
        """The rows in bounds, in these units."""
        inside = clamp(self.lower, self.upper)
        if self.given is None:
            return inside
        counted = scale(dyadic(1 / np.array(self.unit))) >> inside
        nearest = self.given.nearest
        return center(dyadic(nearest)) >> counted if nearest.any() else counted

    def restore(self, found: Floats | ByColumn) -> Floats | ByColumn:
        """Means as the columns have them, in their bounds: products are rounded."""
        if self.given is None:
            return found
        nearest = self.given.nearest
        if isinstance(found, np.ndarray):
            return self.given.clip(found * np.array(self.unit) + nearest)
        own = [
            each * unit + zero
            for each, unit, zero in zip(found, self.unit, nearest.tolist(), strict=True)
        ]
        inside = self.given.clip(np.array([each.value for each in own])).tolist()
        return tuple(
            attrs.evolve(each, value=value) for each, value in zip(own, inside, strict=True)
        )

    @property
    def floats(self) -> tuple[Floats, Floats]:
        """The bounds as floats."""
        return to_floats(self.lower), to_floats(self.upper)

    @property
    def largest(self) -> float:
        """The largest size of an entry."""
        return float(np.abs(self.floats).max())

    @property
    def exact_middle(self) -> Values:
        """Halfway between."""
        return tuple((low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def middle(self) -> Floats:
        """The same as floats."""
        return to_floats(self.exact_middle)

    @property
    def halves(self) -> Floats:
        """Half the widths, from exact ends: ends that round to one float are still apart."""
        ends = zip(self.lower, self.upper, strict=True)
        return to_floats([(high - low) / 2 for low, high in ends])

    def clip(self, estimate: Floats) -> Floats:
        """An estimate brought into the bounds; NaN becomes the middle."""
        found = np.where(np.isnan(estimate), self.middle, estimate)
        return found.clip(*self.floats)
