"""A column with bounds, as every mean of one column begins."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

import attrs

from opendp_lite.documents import path_of
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, nearest, rational_of_float
from opendp_lite.recipes import Stage
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.impute import impute

P = ParamSpec("P")
R = TypeVar("R")
_LARGEST_BOUND: Final = rational_of_float(1e100)
_BOUNDS: Final = 2


@attrs.frozen
class BoundedColumn:
    """The bounds that a person gave, as typed and exactly."""

    typed: tuple[Number, Number]
    lower: Fraction
    upper: Fraction
    middle: Fraction = attrs.field(
        default=attrs.Factory(lambda column: (column.lower + column.upper) / 2, takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )
    """Halfway between the bounds."""
    half: Fraction = attrs.field(
        default=attrs.Factory(lambda column: (column.upper - column.lower) / 2, takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )
    """Half the width."""
    floats: tuple[float, float] = attrs.field(
        default=attrs.Factory(
            lambda column: (nearest(column.lower), nearest(column.upper)), takes_self=True
        ),
        init=False,
        eq=False,
        repr=False,
    )
    """The bounds as floats."""

    @classmethod
    def between(cls, lower: Number, upper: Number, step: str) -> BoundedColumn:
        """The bounds, refused where they hold nothing."""
        bounds = exact(lower, f"{step}: lower"), exact(upper, f"{step}: upper")
        if bounds[0] >= bounds[1]:
            advice = "they are equal" if bounds[0] == bounds[1] else f"swap them: {upper}, {lower}"
            raise ParameterError(
                f"{step}: lower must be below upper, got {lower}, {upper}; {advice}"
            )
        found = cls((lower, upper), *bounds)
        found.require(_LARGEST_BOUND, step, "squares")
        return found

    @classmethod
    def of(cls, space: Space[Rows], lower: Number, upper: Number, step: str) -> BoundedColumn:
        """As ``between``, for a space of one column."""
        found = cls.between(lower, upper, step)
        if space.domain.columns != 1:
            raise SpaceError(
                f"{step} is the mean of one column, the rows have {space.domain.columns}. Put "
                "select() before it, or use multivariate_mean()"
            )
        return found

    def require(self, largest: Fraction, step: str, powers: str) -> None:
        """Refuses bounds beyond this number, or less than one part of it apart."""
        if max(abs(self.lower), abs(self.upper)) > largest or 2 * self.half < 1 / largest:
            raise ParameterError(
                f"{step}: bounds beyond {float(largest):g}, or less than {float(1 / largest):g} "
                f"apart, have {powers} that floats cannot hold; write the column in another unit"
            )

    def rows(self, space: Space[Rows]) -> Stage[Space[Rows], Space[Rows]]:
        """The rows in bounds; where their number is public, the middle for a missing value.

        Sums of other powers of the rows then agree on it. Where the number is private, each sum and
        count leaves out the same rows by itself.
        """
        inside = clamp(*self.typed)
        return impute(self.middle) >> inside if row_metric(space).fixed_size else inside

    def public(self, value: Number | None, name: str) -> Fraction | None:
        """A guess inside the bounds."""
        if value is None:
            return None
        found = exact(value, name)
        if not self.lower <= found <= self.upper:
            raise ParameterError(f"{name} must lie in the bounds {self.typed}, got {value}")
        return found


def bounds_come_first(rest: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Says what to type where an estimator is given data, a name or a pair in place of bounds.

    Args:
        rest: The arguments after the bounds, for the example in the message.
    """

    def checking(recipe: Callable[P, R]) -> Callable[P, R]:
        @wraps(recipe)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            _check_bounds(cast(Any, recipe).__wrapped__, rest, args, kwargs)
            return recipe(*args, **kwargs)

        # The constructor itself, by which ``calls`` pickles a recipe.
        cast(Any, checked).__wrapped__ = cast(Any, recipe).__wrapped__
        return checked

    return checking


def _check_bounds(
    estimator: Callable[..., Any], rest: str, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    name, example = estimator.__name__, f"{path_of(estimator)}(0, 100, {rest})"
    first = args[0] if args else given.get("lower", 0)
    if isinstance(first, str):
        raise ParameterError(
            f"{name} takes bounds on the values, not a column's name: write "
            f"dp.select({first!r}) >> {example}"
        )
    if isinstance(first, bool) or not isinstance(first, numbers.Number | Decimal):
        raise ParameterError(
            f"{name} takes its bounds as two numbers, and the data in a second call: write "
            f"{example}(data)"
        )
    if len(args) == 1 and "upper" not in given:
        raise ParameterError(f"{name} takes two bounds, lower and upper: write {example}")
    if len(args) > _BOUNDS:
        raise ParameterError(f"{name} takes its arguments after the bounds by name: {example}")
