"""Releases by group."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import attrs

from opendp_lite.base.dates import date_meant
from opendp_lite.base.errors import NoKeyError
from opendp_lite.display import formatting
from opendp_lite.display.pictures import Scale, spots_of
from opendp_lite.releases.estimate import Estimate, say_hidden
from opendp_lite.releases.estimates import AT_ONCE
from opendp_lite.releases.result import Result, mark_part, records_of, refuse_array
from opendp_lite.releases.table import Record, name_key

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", covariant=True)
_SHOWN = 20


class _Several(Result, Mapping[K, R]):
    """Releases by key. ``what`` says what it is a key of."""

    __slots__ = ()
    picture: ClassVar = "estimate_intervals"
    what: ClassVar[str]
    releases: Mapping[K, R]

    @property
    def covers(self) -> str:
        said = {each.covers for each in self.values() if isinstance(each, Result)}
        # Those of other parts are others, and hold at once less often.
        return said.pop().replace(AT_ONCE, "all of one part at once") if len(said) == 1 else ""

    @property
    def _footnote(self) -> str:
        kinds = dict.fromkeys(each.covers for each in self.values() if isinstance(each, Result))
        said = self.covers or " or ".join(each for each in kinds if each)
        ends = f"low to high: {said}." if said else ""
        return " ".join(filter(None, [ends, self._unsaid]))

    @property
    def _unsaid(self) -> str:
        found = [each for each in self.values() if isinstance(each, Estimate)]
        hidden = max((each.hidden_rows or 0 for each in found), default=0)
        told = dict.fromkeys([say_hidden(hidden) if hidden else "", *(each.hint for each in found)])
        own = map(formatting.as_sentence, filter(None, told))
        results = (each for each in self.values() if isinstance(each, Result))
        others = (each._unsaid for each in results if not isinstance(each, Estimate))
        return " ".join(filter(None, [*own, *dict.fromkeys(others)]))

    __array__ = refuse_array

    def __getitem__(self, key: K) -> R:
        try:
            known = key in self.releases
            return self.releases[key if known else cast(K, date_meant(key, self))]
        except (KeyError, TypeError):
            found = getattr(self, "threshold", None) is not None
            few = "; groups with few rows are not released" if found else ""
            raise NoKeyError.of(
                self.what, map(formatting.label_key, self), formatting.label_key(key), few
            ) from None

    def __iter__(self) -> Iterator[K]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)


@attrs.frozen(repr=False)
class ByGroup(_Several[Hashable, R], Generic[R]):
    """The releases of a pipeline for each group, by the group's key.

    Args:
        column: What the groups are told apart by.
        releases: A release for each key, in the order that was declared.
        threshold: The least noisy count of a group that is shown, where no keys were declared.

    Example:
        >>> found = ByGroup("sex", {"f": 41.2, "m": 38.5})
        >>> found["f"], list(found), found.as_dict()
        (41.2, ['f', 'm'], {'f': 41.2, 'm': 38.5})
        >>> found
        sex
        f    41.2
        m    38.5
    """

    what: ClassVar = "group"

    column: str
    releases: Mapping[Hashable, R]
    threshold: int | None = None

    def records(self) -> list[Record]:
        """The rows of each group's release, with its key."""
        names = [name_key(each) for each in self.column.split(", ")]

        def keys_of(key: Hashable) -> Record:
            parts = key if isinstance(key, tuple) and len(names) > 1 else (key,)
            found = dict(zip(names, parts, strict=False))
            return found if len(parts) == len(names) else {self.column: key}

        return [keys_of(key) | row for key, each in self.items() for row in records_of(each)]

    def shares(self) -> ByGroup[Any]:
        """The shares within each group, of the histogram that is released for it."""
        shares = {key: cast(Any, each).shares() for key, each in self.items()}
        return ByGroup(self.column, shares, self.threshold)

    def as_dict(self) -> dict[str, Any]:
        """The releases by key, for ``json.dumps``. Keys are quoted where they would be confused."""
        labels = [_label(key) for key in self]
        if len(set(labels)) < len(labels):
            labels = [repr(key) for key in self]
        return dict(zip(labels, map(formatting.plain, self.values()), strict=True))

    def __repr__(self) -> str:
        keys = [_show(key) for key in self]
        found = [each for each in self.values() if isinstance(each, Estimate)]
        held, _, taken = self.covers.partition("; ")
        if held and len(found) == len(self):
            titles = [self.column, "value", held, "noise", ""]
            rows = ([key, *each.cells()] for key, each in zip(keys, found[:_SHOWN], strict=False))
            shown = formatting.align(_drop_empty([titles, *rows]))
            if taken:
                shown.append(f"{taken.capitalize()}.")
        else:
            shown = [self.column, *self._lines(keys)]
        more = len(keys) - _SHOWN
        last = [f"... and {more} more: type release.table()"] if more > 0 else []
        return "\n".join([*shown, *last, *self._note()])

    def _lines(self, keys: Sequence[str]) -> list[str]:
        width = max(map(len, [self.column, *keys]), default=0) + 1
        return [
            formatting.block(f"{key:<{width}}  ", formatting.format_release(release))
            for key, release in zip(keys[:_SHOWN], self.values(), strict=False)
        ]

    def _note(self) -> list[str]:
        if self.threshold is None:
            return []
        return [f"Groups with a noisy count below {self.threshold} are not shown."]

    def _repr_html_(self) -> str:
        shown = [(_show(key), self[key]) for key in list(self)[:_SHOWN]]
        more = len(self) - len(shown)
        last = [f"... and {more} more: type release.table()"] if more else []
        rest = "".join(f"<div>{line}</div>" for line in [*last, *self._note()])
        return f"<div>{self._table(shown)}{rest}</div>"

    def _table(self, shown: Sequence[tuple[str, object]]) -> str:
        """A line for each group, with a picture where all releases are numbers."""
        spots = spots_of(release for _, release in shown)
        if spots is None:
            return formatting.html_of_each([(self.column, ""), *shown])
        scale = Scale.around(spots)
        rows = [(name, formatting.format_release(release)) for name, release in shown]
        return formatting.html_grid(
            "", [self.column, ""], rows, [scale.title(), *map(scale.dot, spots)]
        )


def _drop_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without columns that are empty below their title."""
    full = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    return [[row[place] for place in full] for row in rows]


def _label(key: Hashable) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _show(key: Hashable) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join("missing" if part is None else formatting.key_text(part) for part in parts)


@attrs.frozen(repr=False)
class ByName(_Several[str, Any]):
    """What ``dp.compose`` releases of parts with names: each release by its name, in order.

    Args:
        releases: A release for each name.

    Example:
        >>> found = ByName({"rows": 1204, "age": 41.2})
        >>> found["age"], list(found), found.as_dict()
        (41.2, ['rows', 'age'], {'rows': 1204, 'age': 41.2})
        >>> found
        rows: 1204
        age: 41.2
    """

    what: ClassVar = "release"

    releases: Mapping[str, Any]

    @property
    def covers(self) -> str:
        said = [(name, each.covers) for name, each in self.items() if isinstance(each, Result)]
        return super().covers or "; ".join(f"{name}, {words}" for name, words in said if words)

    def records(self) -> list[Record]:
        """The rows of each release, with its name, and behind it that of a part of its own."""
        found = [(name, row) for name, one in self.items() for row in records_of(one)]
        parts = [", ".join(filter(None, (name, row.get("statistic")))) for name, row in found]
        # Twice: once for the place in front, and once over the own name of the row.
        return [
            {"statistic": part} | row | {"statistic": part}
            for part, (_, row) in zip(parts, found, strict=True)
        ]

    def of_part(self, release: object, part: Hashable) -> Self:
        """Each as a part of a release whose parts have other rows and other noise."""
        return attrs.evolve(
            self, releases={name: mark_part(each, release, part) for name, each in self.items()}
        )

    def as_dict(self) -> dict[str, Any]:
        """The releases by name, for ``json.dumps``."""
        return {name: formatting.plain(release) for name, release in self.items()}

    def __repr__(self) -> str:
        return "\n".join(
            formatting.block(f"{name}: ", formatting.format_release(release))
            for name, release in self.items()
        )

    def _repr_html_(self) -> str:
        return formatting.html_of_each(self.items())
