"""A column in bounds, as every mean of one column begins."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import attrs

from opendp_lite.core import Stage
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, nearest, reading
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.drop_nan import drop_nan
from opendp_lite.transformations.impute import impute

Rowwise = Stage[Space[Rows], Space[Rows]]
_MOST: Final = reading(1e100)
_LEAST: Final = 1 / _MOST


@attrs.frozen
class Column:
    """The bounds that a person gave, as typed and exactly."""

    typed: tuple[Number, Number]
    lower: Fraction
    upper: Fraction

    @classmethod
    def between(cls, lower: Number, upper: Number, step: str) -> Column:
        """The bounds, refused where they hold nothing."""
        bounds = exact(lower, f"{step}: lower"), exact(upper, f"{step}: upper")
        if bounds[0] >= bounds[1]:
            advice = "they are equal" if bounds[0] == bounds[1] else "swap them"
            raise ParameterError(
                f"{step}: lower must be below upper, got {lower}, {upper}; {advice}"
            )
        if max(map(abs, bounds)) > _MOST or bounds[1] - bounds[0] < _LEAST:
            raise ParameterError(
                f"{step}: bounds beyond {float(_MOST):g}, or less than {float(_LEAST):g} apart, "
                "have squares beyond floats; write the column in another unit"
            )
        return cls((lower, upper), *bounds)

    @classmethod
    def of(cls, space: Space[Rows], lower: Number, upper: Number, step: str) -> Column:
        """As ``between``, for a space of one column."""
        found = cls.between(lower, upper, step)
        if space.domain.columns != 1:
            raise SpaceError(
                f"{step} is the mean of one column, the rows have {space.domain.columns}; put "
                "select() before it, or use multivariate_mean()"
            )
        return found

    @property
    def middle(self) -> Fraction:
        """Halfway between the bounds."""
        return (self.lower + self.upper) / 2

    @property
    def half(self) -> Fraction:
        """Half the width."""
        return (self.upper - self.lower) / 2

    @property
    def floats(self) -> tuple[float, float]:
        """The bounds as floats."""
        return nearest(self.lower), nearest(self.upper)

    def rows(self, space: Space[Rows]) -> Rowwise:
        """The rows in bounds: a missing value leaves, or is the middle where the size is public."""
        present = impute(self.middle) if row_metric(space).fixed_size else drop_nan()
        return present >> clamp(*self.typed)

    def public(self, value: Number | None, name: str) -> Fraction | None:
        """A guess inside the bounds."""
        if value is None:
            return None
        found = exact(value, name)
        if not self.lower <= found <= self.upper:
            raise ParameterError(f"{name} must lie in the bounds {self.typed}, got {value}")
        return found
