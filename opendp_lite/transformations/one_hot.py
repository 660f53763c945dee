"""Categories as rows with a one in the category's place."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Bounds
from opendp_lite.bodies.one_hots import OneHots, Placed
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.categories import Categories
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.fold import Block, Floats
from opendp_lite.engines.lazy_table import Lazily, LazyTable
from opendp_lite.engines.rows import LazyRows, map_rows
from opendp_lite.engines.table import Column
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.examples import example
from opendp_lite.metrics import Metric
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import TablesOrRows
from opendp_lite.transformations.axes import Axis, CategoryAxis, EdgeAxis, one_for_each
from opendp_lite.transformations.row_map import unchanged

_MOST = 2**24
Edges = Bounds | range | Sequence[Bounds | range]


@attrs.frozen(repr=False)
class _Together:
    """A block function from the places in several lists to the place in their product."""

    widths: tuple[int, ...]

    def __call__(self, block: Floats) -> Floats:
        found = block[:, 0].copy()
        for column, width in enumerate(self.widths[1:], 1):
            found *= width
            found += block[:, column]
        return found[:, None]


@attrs.frozen(repr=False)
class _Coded:
    """A block function from numbers to their places."""

    axes: tuple[Axis, ...]

    def __call__(self, block: Floats) -> Floats:
        found = np.empty((len(block), len(self.axes)))
        for column, axis in enumerate(self.axes):
            found[:, column] = axis.of_numbers(block[:, column])
        return found


@attrs.frozen(repr=False)
class _Settled:
    """A block function from what was read of a table to places."""

    axes: tuple[Axis, ...]

    def __call__(self, block: Floats) -> Floats:
        found = np.empty((len(block), len(self.axes)))
        for column, axis in enumerate(self.axes):
            found[:, column] = axis.of_read(block[:, column])
        return found


@example(records(), [1, 2.5, None])
@example(records(columns=["sex", "education"]), [[0, 1], range(1, 4)])
@example(records(columns=["region"]), [0.5, 7], other=True)
@example(records(columns=["sex", "age"]), [0, 1], edges=[-1, 2.5, 10])
@stage
def one_hot(
    space: Space[TablesOrRows],
    categories: Sequence[Any],
    *,
    edges: Edges | None = None,
    other: bool = False,
) -> Transformation[Space[TablesOrRows], Space[Rows]]:
    """Makes of each value a row with a one in the place of its category, and zeros elsewhere.

    A ``sum()`` after it counts the rows of each category, in one pass and without writing the rows
    out. ``dp.histogram`` does all this and adds noise.

    Args:
        categories: The values to count, chosen without looking at the data: text, numbers, or both.
            None stands for missing cells. For several columns a list for each: there is then one
            place for each combination, the last column's category changing fastest.
        edges: Rising numbers for the last column, in place of categories, as ``bins`` takes them.
            For several last columns a list for each.
        other: Whether all other values are counted in a further place, the last one.

    Returns:
        Rows of zeros and at most one 1. A value that is not declared is left out, as a missing
        value is. Where the number of rows is public, it becomes a row of zeros.

    Raises:
        ParameterError: If a category is declared twice, the edges do not rise, or there are none or
            more than 2^24.
        SpaceError: If the lists are not as many as the columns.
        DataError: If all categories are text and a column holds numbers, or the reverse.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards moves by at most 1 in l1, l2 and
        linf if a row is added or removed; by 2 in l1 and sqrt(2) in l2 if one is replaced.

        After ``bound_contributions(k, groups=(column, g))`` a person has at most k rows in a place,
        and k g in all. So a person moves the sum by sqrt(g) k in l2, and by k in linf. This needs
        the categories of that column, without ``other`` and without edges: either may bring several
        groups together. A value is then also left out if it equals a category and is in another
        group, such as a time in another zone.

    Proof:
        Row by row (``row_map``). The rows are corners of a simplex. With groups, a row counts in a
        place only if the key of its value is that of the category (``thresholded_counts`` says what
        a key is). Groups are told apart by their keys, so the rows in one place are of one group.
        By Hoelder's inequality, l2^2 is at most l1 linf.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.select("sex") >> dp.one_hot(["f", "m"]) >> dp.sum()
        >>> counts({"sex": ["f", "m", "f", "?"]})
        NotPrivate([2., 1.])
        >>> counts.map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    every, metric = _apart(space, _axes(space, categories, edges, other))
    widths = tuple(each.places for each in every)
    count = prod(widths)
    if count > _MOST:
        raise ParameterError(f"one_hot: {' x '.join(map(str, widths))} places are more than 2^24")
    last: tuple[Block, ...] = (Placed(count),) if count > 1 else (Placed(1),)
    steps = (*((_Together(widths),) if len(widths) > 1 else ()), *last)
    names = space.domain.names

    def coded(rows: Any) -> LazyRows:
        if isinstance(rows, LazyTable):
            asked = zip(names or (None,), every, strict=True)
            found = rows.columns([Column(name, axis.reading) for name, axis in asked])
            found = found if edges is None else map_rows(found, _Settled(every))
        else:
            found = map_rows(rows, _Coded(every))
        return reduce(map_rows, steps, found)

    after = Rows(count, space.domain.size, OneHots(count))
    return Transformation(space, Space(after, metric, unit=space.unit), Lazily(coded), unchanged)


def _apart(space: Space[Any], axes: tuple[Axis, ...]) -> tuple[tuple[Axis, ...], Metric]:
    """The axes, with one key in each place where rows are spread over keys; and the metric then."""
    metric, names = row_metric(space), space.domain.names
    if names is None:
        return axes, metric.of_new_values()
    found, told = [], []
    for name, axis in zip(names, axes, strict=True):
        spread = metric.most_alike(Fraction(1), [name]) < 1
        keyed = axis.keyed() if spread else None
        found.append(keyed or axis)
        told += [] if keyed is None else [name]
    return tuple(found), metric.of_places(told)


def _axes(
    space: Space[Any], categories: Sequence[Any], edges: Edges | None, other: bool
) -> tuple[Axis, ...]:
    """How each column is counted."""
    lists = _lists(space, categories) if edges is None else one_for_each(categories)
    ends = [] if edges is None else one_for_each(edges)
    if len(lists) + len(ends) != space.domain.columns:
        raise SpaceError(
            f"one_hot was given {len(lists)} lists of categories and {len(ends)} of edges for "
            f"{space.domain.columns} columns; put dp.select() before it, or give one list for each "
            "column"
        )
    return (
        *(CategoryAxis(Codes(Categories.of(each, "one_hot", other=other))) for each in lists),
        *(EdgeAxis.of(each, "one_hot", other=other) for each in ends),
    )


def _lists(space: Space[Any], categories: Sequence[Any]) -> Sequence[Any]:
    """A list of categories for each column."""
    columns = space.domain.columns
    if columns == 1:
        if not isinstance(categories, str) and any(isinstance(each, tuple) for each in categories):
            raise SpaceError(
                "one_hot was given lists of categories for several columns; put dp.select() of as "
                "many columns before it"
            )
        return [categories]
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise ParameterError("one_hot takes a list of categories, or for several columns of lists")
    if len(categories) != columns:
        raise SpaceError(
            f"one_hot was given {len(categories)} lists of categories for {columns} columns; put "
            "dp.select() before it, or give one list for each column"
        )
    return categories
