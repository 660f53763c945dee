"""Releases as tables: to print, to publish, and for other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from io import StringIO
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import Storable
from opendp_lite.display.formatting import align, html_grid, printable
from opendp_lite.numbers.exact import Number, positive

Record: TypeAlias = dict[str, Any]
Rounding = Callable[[Fraction], int]
# What a column of numbers is named, and which way its numbers are rounded: intervals outwards.
_STATISTICS: Final[Mapping[str, Rounding]] = {
    "value": round,
    "count": round,
    "low": floor,
    "high": ceil,
    "standard_error": ceil,
    "rows": round,
}
_HOW_MANY: Final = ("count", "rows")


def name_key(column: str) -> str:
    """The name of a column of keys, told apart from those of statistics."""
    return f"{column} (key)" if column in _STATISTICS else column


@attrs.frozen(repr=False)
class ReleaseTable(Storable):
    """Releases in rows and columns.

    Args:
        columns: The cells of each column by its name; None where nothing is shown.
        note: What was left out or rounded, in words.

    Example:
        >>> table = ReleaseTable({"sex": ["f", "m"], "count": [300, None]}, "Not shown (-): few.")
        >>> table
        sex  count
        f      300
        m        -
        Not shown (-): few.
        >>> table.to_csv()
        'sex,count\\nf,300\\nm,\\n'
    """

    columns: Mapping[str, Sequence[Any]]
    note: str = ""

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        suppress: Number | None,
        round_to: Number | None,
        covers: str = "",
    ) -> ReleaseTable:
        """Of rows, some left out and the others rounded; ``covers`` says what intervals are of."""
        said = [f"low to high: {covers}."] if covers else []
        if suppress is not None:
            least = positive(suppress, "table: suppress")
            if not all(map(_how_many, records)):
                raise ParameterError(
                    "table: suppress= leaves out what is of few rows, and these numbers do not "
                    "say of how many they are; leave suppress out, and choose by released counts"
                )
            records = [_suppress(each, least) for each in records]
            said.append(f"Not shown (-): fewer than {suppress}.")
        if round_to is not None:
            unit = positive(round_to, "table: round")
            records = [_round(each, unit) for each in records]
            said.append(f"Rounded to multiples of {round_to}, intervals outwards.")
        names = dict.fromkeys(name for each in records for name in each)
        return cls({name: [row.get(name) for row in records] for name in names}, " ".join(said))

    def to_frame(self) -> Any:
        """A data frame of pandas."""
        return _find_library("pandas").DataFrame(dict(self.columns))

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """As CSV: into a file, or as text where no path is given."""
        text = StringIO()
        # Imported only here: no pipeline needs it.
        rows = import_module("csv").writer(text, lineterminator="\n")
        rows.writerow(self.columns)
        rows.writerows(zip(*self.columns.values(), strict=True))
        if path is None:
            return text.getvalue()
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        arrow = _find_library("pyarrow")
        columns = {name: _of_one_kind(cells) for name, cells in self.columns.items()}
        found: object = arrow.table(columns).__arrow_c_stream__(requested_schema)
        return found

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def __repr__(self) -> str:
        numbers = {place for place, name in enumerate(self.columns) if name in _STATISTICS}
        lines = align([list(self.columns), *self._shown()], numbers)
        return "\n".join([*lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        return html_grid(self.note, list(self.columns), self._shown())

    def _shown(self) -> list[list[str]]:
        return [list(map(_cell, each)) for each in zip(*self.columns.values(), strict=True)]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _how_many(record: Record) -> str:
    """The column that says of how many rows a row of the table is; empty where none does."""
    return next((name for name in _HOW_MANY if record.get(name) is not None), "")


def _suppress(record: Record, least: Fraction) -> Record:
    """A row without its statistics, where it counts too few."""
    if record[_how_many(record)] >= least:
        return record
    return {name: None if name in _STATISTICS else value for name, value in record.items()}


def _round(record: Record, unit: Fraction) -> Record:
    """A row whose statistics are multiples of a unit."""

    def rounded(value: Any, towards: Rounding) -> Any:
        if value is None or not isfinite(value):
            return value
        number = towards(Fraction(value) / unit) * unit
        return int(number) if number.denominator == 1 else float(number)

    statistics = {name: towards for name, towards in _STATISTICS.items() if name in record}
    found = {name: rounded(record[name], each) for name, each in statistics.items()}
    if found.get("rows") is not None:
        found["rows"] = round(found["rows"])
    return record | found


def _of_one_kind(cells: Sequence[Any]) -> Sequence[Any]:
    """Cells that arrow can hold: as text where they are of several kinds, or of none it knows."""
    kinds = {type(each) for each in cells if each is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [each if kinds <= {int} else _plain(each) for each in cells]
    return [None if each is None else str(each) for each in cells]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, tuple) else value


def _find_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ParameterError(
            f"this takes {name}, which is not installed; type: pip install {name}. Or write "
            "release.to_csv(), which needs nothing"
        ) from None
