"""A sum or a count for each group of the rows, as one vector."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.calls import Call
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows, Scalars, Vectors
from opendp_lite.engines.categories import Categories
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.deferred import chained
from opendp_lite.engines.grouped import EachGroup, Groups, is_row_by_row
from opendp_lite.engines.table import Column
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import described, listed
from opendp_lite.examples import example
from opendp_lite.grid import Grid
from opendp_lite.metrics import NormDistance, SymmetricDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import Stage, stage
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import Tables
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.select import select
from opendp_lite.transformations.sum import sum

_MOST: Final = 2**24


@attrs.frozen
class Keys:
    """The declared keys of groups.

    Attributes:
        columns: Those that hold the keys.
        values: The keys, in order; of several columns tuples, the last one changing fastest.
        groups: The groups as the engine finds them.
    """

    columns: tuple[str, ...]
    values: tuple[Hashable, ...]
    groups: Groups

    @classmethod
    def of(
        cls,
        space: Space[Tables],
        column: str | Sequence[str],
        keys: Sequence[Any],
        other: Hashable,
        step: str,
    ) -> Keys:
        """The keys that a person typed, refused where they do not fit the columns."""
        several = not isinstance(column, str)
        if several and (not isinstance(column, Sequence) or not column):
            raise ParameterError(
                f"{step} takes the name of a column, or a list of names; got {described(column)}"
            )
        columns = space.domain.named(list(column) if several else [column], step)
        if several and (isinstance(keys, str) or not isinstance(keys, Sequence)):
            raise ParameterError(
                f"{step} takes the columns first, then a list of keys for each; got "
                f"{described(keys)} as keys"
            )
        lists = list(keys) if several else [keys]
        if several and len(lists) != len(columns):
            raise ParameterError(
                f"{step}: {len(columns)} columns need as many lists of keys, got {len(lists)}"
            )
        if several and any(isinstance(each, str) for each in lists):
            raise ParameterError(
                f"{step}: {len(columns)} columns need a list of keys each, such as "
                f"[['f', 'm'], range(1, 17)]; got {listed(lists)}"
            )
        collected = other is not None
        every = [Categories.of(each, step, other=collected, noun="keys") for each in lists]
        if isinstance(other, tuple):
            raise ParameterError(f"{step}: other is a name such as 'elsewhere', got a list")
        if collected and any(other in each.values for each in every):
            raise ParameterError(f"{step}: other={other!r} is one of the keys; use another name")
        named = [each.values if other is None else (*each.values, other) for each in every]
        widths = tuple(each.places for each in every)
        if prod(widths) > _MOST:
            raise ParameterError(f"{step}: {prod(widths)} groups are more than 2^24")
        values = tuple(product(*named)) if several else named[0]
        readings = zip(columns, every, strict=True)
        found = Groups(tuple(Column(name, Codes(each)) for name, each in readings), widths, step)
        return cls(columns, values, found)

    @property
    def title(self) -> str:
        """The columns in words."""
        return ", ".join(self.columns)


def space_of_group(space: Space[Tables]) -> Space[Tables]:
    """The space of the rows of one group, whose number is private.

    A unit that replaces a row adds one row and removes one, in one group or in two.
    """
    unit = cast(Fraction, space.unit) * _changes(space)
    domain = attrs.evolve(space.domain, size=None)
    return Space(domain, SymmetricDistance(), unit=unit)


def _changes(space: Space[Tables]) -> int:
    """How many rows one row of distance adds or removes."""
    return 2 if row_metric(space).fixed_size else 1


@example(
    records(columns=["sex", "visits"]),
    "sex",
    [1, 2.5],
    select("visits") >> clamp(-1, 3) >> sum(),
)
@example(records(columns=["sex", "region"]), ["sex", "region"], [[0, 1], [1]], count())
@stage
def group_by(
    space: Space[Tables],
    column: str | Sequence[str],
    keys: Sequence[Any],
    aggregate: Stage[Any, Any],
    *,
    other: Hashable = None,
) -> Transformation[Space[Tables], Space[Vectors]]:
    """A sum or a count for each group of the rows, side by side in one vector.

    Put noise after it. ``dp.by`` does this for any mechanism and names the groups.

    Args:
        column: The column that holds the keys, or a list of several.
        keys: The keys to report, chosen without looking at the data; None stands for missing cells.
            For several columns a list for each: there is then one group for each combination.
        aggregate: A pipeline without noise that ends in a vector or a number, such as
            ``dp.select("income") >> dp.clamp(0, 100) >> dp.sum()``.
        other: A name for a further group, of all rows whose key is not declared.

    Returns:
        The aggregates of the groups, one group after another. A group without rows has the
        aggregate of no rows. A row whose key is not declared is in no group.

    Raises:
        ParameterError: If a key is declared twice, or ``aggregate`` ends in noise or in rows.
        SpaceError: If the table has no such column.

    Stability:
        Under add/remove that of the aggregate for one group. If a row is replaced, it may leave one
        group and enter another. A sum over rows of radius R and diameter D then moves by 2 R in l1,
        by the root of max(2 R^2, D^2) in l2, and by max(R, D) in linf.

    Proof:
        A row is in at most one group, and the parts of the vector for two groups are orthogonal.
        For an aggregate that is no sum or count of rows taken one by one, a replaced row counts as
        one removed and one added.

    Example:
        >>> import opendp_lite as dp
        >>> incomes = dp.select("income") >> dp.clamp(0, 100) >> dp.sum()
        >>> by_sex = dp.combinators.group_by("sex", ["f", "m"], incomes)
        >>> by_sex({"sex": ["f", "m", "f"], "income": [30, 20, 50]})
        NotPrivate([80., 20.])
        >>> by_sex.map(1)
        dp.Norms(l1=100.0, l2=100.0, linf=100.0)
    """
    if not isinstance(aggregate, Stage):
        raise ParameterError(
            "group_by takes a pipeline without noise, such as dp.select('income') >> "
            f"dp.clamp(0, 100) >> dp.sum(); got {described(aggregate)}. dp.by takes mechanisms"
        )
    return grouped(space, Keys.of(space, column, keys, other, "group_by"), aggregate)


def grouped(
    space: Space[Tables], keys: Keys, aggregate: Stage[Any, Any]
) -> Transformation[Space[Tables], Space[Vectors]]:
    """As ``group_by``, for keys that were read before."""
    inner = aggregate.bind(space_of_group(space))
    domain = inner.output_space.domain
    if not isinstance(domain, Vectors | Scalars):
        raise SpaceError(
            f"group_by: {aggregate!r} gives {domain.words()}; end it in sum() or count()"
        )
    count = keys.groups.count
    one = _moved(space, inner, aggregate, count)

    def moved(distance: Fraction) -> Norms:
        return one * distance

    return Transformation(
        space,
        Space(
            Vectors(domain.dimension * count, domain.exponent),
            NormDistance(),
            unit=moved(space.unit),
        ),
        chained(EachGroup(inner.function, keys.groups), partial(_side_by_side, domain)),
        moved,
        trace=inner.trace,
    )


def _side_by_side(domain: Vectors | Scalars, values: Sequence[Grid]) -> Grid:
    found = [domain.received(value) for value in values]
    return Grid(np.concatenate([value.steps for value in found]), found[0].exponent)


def _moved(
    space: Space[Tables], inner: Transformation[Any, Any], aggregate: Stage[Any, Any], groups: int
) -> Norms:
    """How far one row of distance moves the vector of all groups."""
    added: Norms = inner.stability_map(Fraction(1))
    if not row_metric(space).fixed_size:
        return added
    replaced = _replaced(inner, aggregate.calls, space_of_group(space))
    if replaced is None:
        return added * 2
    return (added if groups == 1 else added.beside(added)).or_else(replaced)


def _replaced(
    inner: Transformation[Any, Any], calls: Sequence[Call], space: Space[Tables]
) -> Norms | None:
    """How far a row that is replaced within its group moves a sum or a count of rows.

    None where the aggregate is not known to take the rows one by one.
    """
    *before, last = calls
    if last.is_of(count):
        return inner.stability_map(Fraction(1)) if _row_by_row(before, space) else None
    if not last.is_of(sum) or not before or not _row_by_row(before, space):
        return None
    body = cast(Rows, bound_to(before, space).output_space.domain).body
    return body.diameters()


def _row_by_row(calls: Sequence[Call], space: Space[Tables]) -> bool:
    return not calls or is_row_by_row(bound_to(calls, space).function)


def bound_to(calls: Sequence[Call], space: Space[Any]) -> Transformation[Any, Any]:
    """Some steps of a pipeline on a space."""
    steps: Stage[Any, Any] = Stage(tuple(calls))
    return steps.bind(space)
