"""The rows that a column's values say to keep."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.core import Transformation
from opendp_lite.engines.categories import Categories
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.door import NUMBERS
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.lazy_table import Kept, Lazily, LazyTable
from opendp_lite.engines.table import Column
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, exact, nearest
from opendp_lite.examples import example
from opendp_lite.metrics import SymmetricDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.tables import TablesOrPeople, tables_in
from opendp_lite.transformations.row_map import unchanged

_ENDS = 2


@attrs.frozen
class _Between:
    """Whether numbers lie between two ends."""

    lower: float
    upper: float

    def __call__(self, numbers: Floats) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (numbers >= self.lower) & (numbers <= self.upper)
        return found


@attrs.frozen
class _Declared:
    """Whether values are declared."""

    def __call__(self, codes: Floats) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = ~np.isnan(codes)
        return found


@example(records(columns=["age", "visits"]), "age", between=(18, 65))
@example(records(columns=["region", "visits"]), "region", among=[1, 2.5])
@stage
def keep(
    space: Space[TablesOrPeople],
    column: str,
    *,
    between: tuple[Number | None, Number | None] | None = None,
    among: Sequence[Any] | None = None,
) -> Transformation[Space[TablesOrPeople], Space[TablesOrPeople]]:
    """Keeps the rows of a table that have certain values in a column.

    Args:
        column: The name of the column.
        between: The least and the largest number to keep, as in (18, 65). Both are kept. None
            leaves a side open, as in (18, None).
        among: The values to keep, as in ["north", "south"]; None stands for missing cells.

    Returns:
        The table with these rows. How many there are is private. A row with a missing cell in the
        column is left out, unless None is among the values.

    Raises:
        ParameterError: If not just one of ``between`` and ``among`` is given, or the first of the
            two numbers is larger than the second, or a value is declared twice.
        SpaceError: If the table has no such column.

    Stability:
        ``d_out = d_in`` under add/remove, of rows or of people. If rows are replaced,
        ``d_out = 2 d_in`` rows are added or removed: one may leave the kept rows and another may
        come.

    Proof:
        Whether a row is kept depends on that row alone.

    Example:
        >>> import opendp_lite as dp
        >>> adults = dp.keep("age", between=(18, 65)) >> dp.select("visits") >> dp.clamp(0, 9)
        >>> (adults >> dp.sum())({"age": [12, 30, 65], "visits": [1, 2, 3]})
        NotPrivate([5.])
    """
    domain = tables_in(space.domain)
    (name,) = domain.named([column], "keep")
    if (between is None) == (among is None):
        raise ParameterError("keep takes one of between=(18, 65) or among=['north', 'south']")
    if among is not None:
        kept = Kept(Column(name, Codes(Categories.of(among, "keep"))), _Declared())
    else:
        kept = Kept(Column(name, NUMBERS), _between(between))

    only = Lazily(partial(LazyTable.keep, name=name, kept=kept))
    if domain.size is None:
        return Transformation(space, space, only, unchanged)
    after = attrs.evolve(domain, size=None)
    unit = 2 * cast(Fraction, space.unit)
    return Transformation(space, Space(after, SymmetricDistance(), unit=unit), only, _twice)


def _between(ends: object) -> _Between:
    pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == _ENDS
    if not isinstance(ends, Sequence) or not pair:
        raise ParameterError(f"keep: between is a pair such as (18, 65), got {described(ends)}")
    lower, upper = _end(ends[0], -inf), _end(ends[1], inf)
    if lower > upper:
        raise ParameterError(f"keep: between=({ends[0]}, {ends[1]}) holds nothing; swap the two")
    return _Between(lower, upper)


def _end(given: Any, otherwise: float) -> float:
    return otherwise if given is None else nearest(exact(given, "keep: between"))


def _twice(distance: Fraction) -> Fraction:
    return 2 * distance
