"""The keys of groups that a person declares or a release found, by column or by group."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import product
from math import prod
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import is_row, plain_value
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.table import Column, ColumnReading
from opendp_lite.engines.distinct import KeysFound
from opendp_lite.engines.grouped import Groups
from opendp_lite.numbers.exact import list_values, quote
from opendp_lite.releases.estimates import ByGroup
from opendp_lite.releases.result import Result, mark_part
from opendp_lite.spaces.space import Space
from opendp_lite.spaces.tables import Tables, name_once

_MOST: Final = 2**24
# The group of a row is found by a whole number as a float.
_MOST_CODES: Final = 2**53
_FORMS: Final = (
    "Write a list for each column, such as [['f', 'm'], ['Rome', 'Oslo']], for every combination; "
    "or a tuple for each group, such as [('f', 'Rome'), ('m', 'Oslo')]"
)


@attrs.frozen
class Keys:
    """The keys of groups.

    Attributes:
        columns: Those that hold the keys.
        values: The keys, in order. Of several columns they are tuples: those listed, or each
            combination, the last column changing fastest.
        groups: The groups as the engine finds them.
        most: How many groups there may be: more than these, where a release found the keys.
        apart: Whether no unit has rows in two groups, so that the errors of two are independent.
    """

    columns: tuple[str, ...]
    values: tuple[Hashable, ...]
    groups: Groups
    most: int = attrs.field(
        default=attrs.Factory(lambda keys: keys.groups.count, takes_self=True), kw_only=True
    )
    apart: bool = False

    @classmethod
    def of(
        cls,
        space: Space[Tables],
        column: str | Sequence[str],
        keys: Sequence[object],
        other: Hashable,
        step: str,
    ) -> Keys:
        """The keys that a person typed, refused where they do not fit the columns."""
        columns = read_columns(space, column, step)
        if isinstance(column, str):
            found = cls._of_all(columns, [keys], other, step)
            return attrs.evolve(
                found, values=tuple(key for (key,) in cast(Sequence[tuple[Hashable]], found.values))
            )
        if isinstance(keys, str) or not isinstance(keys, Sequence):
            raise ParameterError(
                f"{step} takes the columns first, then their keys; got {quote(keys)} as keys. "
                f"{_FORMS}"
            )
        tuples = [is_row(each) for each in keys]
        lists = [isinstance(each, Sequence) and not isinstance(each, str) for each in keys]
        if not all(lists) or len(set(tuples)) > 1:
            raise ParameterError(
                f"{step}: the keys of a list of columns are all lists, or all tuples; got "
                f"{list_values(keys)}. {_FORMS}"
            )
        if not any(tuples):
            return cls._of_all(columns, keys, other, step)
        if other is not None:
            raise ParameterError(
                f"{step}: other= goes with a list of keys for each column, not with a tuple for "
                f"each group. {_FORMS}"
            )
        return cls._of_rows(columns, cast(Sequence[Sequence[object]], keys), step)

    @classmethod
    def _of_all(
        cls, columns: tuple[str, ...], lists: Sequence[object], other: Hashable, step: str
    ) -> Keys:
        """Each combination of a key of each column."""
        if len(lists) != len(columns):
            raise ParameterError(
                f"{step}: {len(columns)} columns need as many lists of keys; got {len(lists)}. "
                f"{_FORMS}"
            )
        collected = other is not None
        every = [Categories.of(each, step, other=collected, noun="keys") for each in lists]
        if isinstance(other, tuple) or not isinstance(other, Hashable):
            raise ParameterError(f"{step}: other is a name such as 'elsewhere', got {quote(other)}")
        if collected and any(other in each.values for each in every):
            raise ParameterError(f"{step}: other={other!r} is one of the keys; use another name")
        named = [each.values if other is None else (*each.values, other) for each in every]
        count = prod(each.places for each in every)
        if count > _MOST:
            raise ParameterError(f"{step}: {count} groups are more than 2^24")
        return cls(columns, tuple(product(*named)), _groups(columns, every, step, Codes))

    @classmethod
    def _of_rows(
        cls, columns: tuple[str, ...], rows: Sequence[Sequence[object]], step: str
    ) -> Keys:
        """The combinations that are listed, and no others."""
        for place, row in enumerate(rows, 1):
            if len(row) != len(columns):
                raise ParameterError(
                    f"{step}: a tuple has a key for each of {len(columns)} columns; number {place} "
                    f"of the list has {len(row)}. {_FORMS}"
                )
        return cls._of_tuples(columns, rows, step, Codes)

    @classmethod
    def of_found(
        cls, columns: tuple[str, ...], found: Sequence[Hashable], most: int, step: str
    ) -> Keys:
        """The keys that ``thresholded_counts`` released: the rows that it counted for each.

        No column is refused for its type, as none is there.
        """
        one = len(columns) == 1
        rows = [(key,) if one else cast(Sequence[object], key) for key in found]
        keys = cls._of_tuples(columns, rows, step, KeysFound)
        return attrs.evolve(keys, values=tuple(found), most=max(most, len(found)))

    @classmethod
    def _of_tuples(
        cls,
        columns: tuple[str, ...],
        rows: Sequence[Sequence[object]],
        step: str,
        reading: Callable[[Categories], ColumnReading],
    ) -> Keys:
        typed = [tuple(map(plain_value, each)) for each in zip(*rows, strict=True)]
        every = [Categories.of(each, step, noun="keys", repeated=True) for each in typed]
        if prod(each.places for each in every) > _MOST_CODES:
            raise ParameterError(
                f"{step}: these keys have more than 2^53 combinations, with and without a group; "
                "declare fewer"
            )
        places = [
            each.codes(np.fromiter(column, object, len(rows)))
            for each, column in zip(every, typed, strict=True)
        ]
        groups = _groups(columns, every, step, reading)
        codes = groups.of(np.column_stack(places)).astype(np.int64).tolist()
        chosen = Categories.of(codes, step, noun="groups")
        return cls(columns, tuple(zip(*typed, strict=True)), attrs.evolve(groups, chosen=chosen))

    def label(self, found: Sequence[object]) -> ByGroup[object]:
        """What was released of the groups, by key."""
        releases = dict(zip(self.values, found, strict=True))
        # Not a million calls that change nothing.
        if self.apart and any(issubclass(kind, (Result, tuple)) for kind in set(map(type, found))):
            whole = object()
            releases = {key: mark_part(each, whole, key) for key, each in releases.items()}
        return ByGroup(", ".join(self.columns), releases)


def read_columns(space: Space[Tables], column: str | Sequence[str], step: str) -> tuple[str, ...]:
    """The columns that hold the keys, refused where the table has no such ones."""
    several = not isinstance(column, str)
    if several and (not isinstance(column, Sequence) or not column):
        raise ParameterError(
            f"{step} takes the name of a column, or a list of names; a step that makes it comes "
            f"before: dp.period('day', 'month') >> dp.by('day', ...); got {quote(column)}"
        )
    return space.domain.find_names(name_once(list(column) if several else [column], step), step)


def _groups(
    columns: Sequence[str],
    every: Sequence[Categories],
    step: str,
    reading: Callable[[Categories], ColumnReading],
) -> Groups:
    """A group for each combination of the categories of some columns."""
    read = (Column(name, reading(each)) for name, each in zip(columns, every, strict=True))
    return Groups(tuple(read), tuple(each.places for each in every), step)
