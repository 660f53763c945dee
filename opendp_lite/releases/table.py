"""Releases as tables: to print, to publish, and for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from importlib import import_module
from io import StringIO
from math import ceil, floor, inf, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import Storable
from opendp_lite.display import formatting
from opendp_lite.numbers.exact import Number, format_number, positive, quote, whole
from opendp_lite.spelling.suggestions import refuse_name

Record: TypeAlias = dict[str, Any]
Rounding = Callable[[Fraction], int]
# What a column of numbers is named, and which way its numbers are rounded: intervals outwards.
_ROUNDED: Final[Mapping[str, Rounding]] = {
    "value": round,
    "count": round,
    "share": round,
    "low": floor,
    "high": ceil,
    "band_low": floor,
    "band_high": ceil,
    "wide_low": floor,
    "wide_high": ceil,
}
_SIDES: Final[Mapping[Rounding, int]] = {floor: -1, ceil: 1}
# Of how many rows a number is; the last is of weights, which no number of rows has to equal.
_ROWS: Final = ("rows", "weight_over_most")
_STATISTICS: Final = frozenset({*_ROUNDED, *_ROWS, "standard_error", "p_value"})
_NO_KEYS: Final = _STATISTICS | {"statistic"}
# Whole steps that are meant for digits where the numbers are not whole. A mean in fives is usual.
_DIGITS: Final = (2, 3, 4)
_MOST_DIGITS: Final = 15
_WAYS: Final = 2


def name_key(column: str) -> str:
    """The name of a column of keys, told apart from those of statistics."""
    return f"{column} (key)" if column in _NO_KEYS else column


@attrs.frozen(repr=False)
class ReleaseTable(Storable):
    """Releases in rows and columns.

    Args:
        columns: The cells of each column by its name; None where nothing is shown.
        note: What was left out or rounded, in words.
        places: The decimals that are shown, where the numbers were rounded. Of a ``dp.compose``
            perhaps by the name of the part.
        wide: Whether it has two ways: all columns but the first are of one category each.

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

    columns: Mapping[str, Sequence[object]]
    note: str = ""
    places: int | Mapping[str, int] | None = None
    wide: bool = False

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        note: str = "",
        *,
        suppress: Number | Mapping[str, Number] | None = None,
        round_to: Number | Mapping[str, Number] | None = None,
        digits: int | Mapping[str, int] | None = None,
        percent: bool = False,
        wide: bool = False,
        covers: str = "",
    ) -> ReleaseTable:
        """Of rows, some left out and the others rounded; see ``table`` of a release.

        In two ways no interval is shown: the note says how long the longest is, in ``covers``.
        """
        said: list[str] = [note] if note else []
        places: int | Mapping[str, int] | None = None
        units: Mapping[str, Fraction] = {}
        # A key that is None, and not one that the row lacks, nor a number that is not known.
        records = [
            {
                name: "missing" if v is None and name not in _STATISTICS else v
                for name, v in r.items()
            }
            for r in records
        ]
        if suppress is not None:
            asked = suppress if isinstance(suppress, Mapping) else {"": suppress}
            hidden = [False] * len(records)
            for name, few in asked.items():
                least, counts = positive(few, "table: suppress"), _count_each(records, name)
                hidden = [old or many < least for old, many in zip(hidden, counts, strict=True)]
                said.append(f"Not shown (-): fewer than {few}.")
            records = [_suppress(e) if few else e for e, few in zip(records, hidden, strict=True)]
        if percent:
            # Shares are floats, and counts by group are whole.
            counted = any(isinstance(e.get("value"), int) > ("statistic" in e) for e in records)
            if counted or not all({"value", "share"} & each.keys() for each in records):
                raise ParameterError(
                    "table: percent=True is for shares; of a histogram type "
                    "release.shares().table(percent=True)"
                )
            # Alone a number above 1 may be a change in percent, which is of no certain rows. Beside
            # shares it is none of them.
            large = [each for each in records if abs(each.get("value") or 0) > 1]
            if any("statistic" in each for each in large):
                raise ParameterError(
                    "table: percent=True is for shares, and of these parts not all are; take one, "
                    "as in release['share'].table(percent=True)"
                )
            if any({*_ROWS} & each.keys() for each in large):
                raise ParameterError(
                    "table: percent=True is for shares, and this release is none; leave it out"
                )
            records = [_as_percent(each) for each in records]
            places = _places_of(records)
            said.append("In percent.")
        if digits is not None or round_to is not None:
            units = _units_of(round_to, digits, records)
            each_unit = [units.get(_part(each), units.get("")) for each in records]
            records = [_round(e, u) if u else e for e, u in zip(records, each_unit, strict=True)]
            places = {
                name: len(f"{float(unit):.15f}".rstrip("0").partition(".")[2])
                for name, unit in units.items()
            }
            told = [format_number(u) + (f" ({name})" if name else "") for name, u in units.items()]
            shows_ends = not wide and any("low" in each for each in records)
            ends = ", intervals outwards" if shows_ends else ""
            said.append(f"Rounded to multiples of {', '.join(told)}{ends}.")
        shapes = {frozenset({"value", "count"} & each.keys()) for each in records}
        if shapes >= {frozenset({"value"}), frozenset({"count"})}:
            # Releases of several kinds: one column has what was released.
            records = [{"value" if n == "count" else n: v for n, v in e.items()} for e in records]
        names = dict.fromkeys(name for each in records for name in each)
        if "wide_low" in names and not wide:
            said.insert(bool(note), "wide_low to wide_high: with what clipping may move.")
        columns: Mapping[str, Sequence[Any]]
        columns = {name: [row.get(name) for row in records] for name in names}
        if wide:
            name, columns = _lay_in_two_ways(columns)
            known = [each for each in records if each.get("low") is not None]
            if known:
                whole = all(float(each[name]).is_integer() for each in known)
                places = (0 if whole else _places_of(known)) if places is None else places
                far = max(max(e["high"] - e[name], e[name] - e["low"]) for e in known)
                end = formatting.significant(far, far)[0]
                said.append(f"In {covers}, a number is off by at most {end}.")
            elif units:
                # The note says of the noise alone how far it moves a number.
                more = max(units.values()) / 2
                said.append(f"Rounding moves a number by up to {format_number(more)} more.")
        return cls(columns, " ".join(said), places, wide)

    def to_frame(self) -> Any:
        """A data frame of pandas."""
        return _find_library("pandas").DataFrame(dict(self.columns))

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """As CSV: into a file, or as text where no path is given."""
        text = StringIO()
        # Imported only here: no pipeline needs it.
        rows = import_module("csv").writer(text, lineterminator="\n")
        rows.writerow(self.columns)
        for line in zip(*self.columns.values(), strict=True):
            rows.writerow(
                [formatting.key_text(cell) if isinstance(cell, date) else cell for cell in line]
            )
        if path is None:
            return text.getvalue()
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        arrow = _find_library("pyarrow")
        columns = {name: _of_one_kind(cells) for name, cells in self.columns.items()}
        return arrow.table(columns).__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:
        __getattr__ = refuse_name

    def __getitem__(self, column: str) -> Sequence[object]:
        """The cells of a column."""
        return self.columns[column]

    def __iter__(self) -> Iterator[Record]:
        """A dictionary for each row, of which pandas makes a frame."""
        rows = zip(*self.columns.values(), strict=True)
        return (dict(zip(self.columns, row, strict=True)) for row in rows)

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def __repr__(self) -> str:
        titles = enumerate(self.columns)
        numbers = {at for at, name in titles if (at if self.wide else name in _STATISTICS)}
        lines = formatting.align([list(self.columns), *self._show_rows()], numbers)
        return "\n".join([*lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        return formatting.html_grid(self.note, list(self.columns), self._show_rows())

    def _show_rows(self) -> list[list[str]]:
        rows = zip(*self.columns.values(), strict=True)
        return [self._line(dict(zip(self.columns, row, strict=True))) for row in rows]

    def _line(self, row: Record) -> list[str]:
        """The cells of a row, with the digits that the error or the rounding leaves."""
        places = self.places
        if isinstance(places, Mapping):
            places = places.get(_part(row), places.get(""))
        if self.wide:
            title, *cells = row.values()
            own = [places if isinstance(each, float) else None for each in cells]
            told = [
                formatting.key_text(each) if digits is None else f"{each:.{digits}f}"
                for each, digits in zip(["-" if e is None else e for e in cells], own, strict=True)
            ]
            return [formatting.printable(formatting.key_text(title)), *told]
        error = row.get("standard_error") or 0.0
        estimated = _list_estimates(row)
        known = [row[name] for name in estimated]

        def cell(name: str, value: Any) -> str:
            if value is None:
                return "-"
            if not isinstance(value, int | float) or isinstance(value, bool):
                return formatting.printable(formatting.key_text(value))
            if name in _ROWS:
                return f"{value:.0f}"
            if name in estimated and places is not None:
                # A whole number has the digits that rounding left: the error would take more.
                side = _SIDES.get(_ROUNDED[name], 0)
                return str(value) if isinstance(value, int) else _to_places(value, places, side)
            if name in estimated and error > 0 and isfinite(error):
                return formatting.justify(error, known, value)[0]
            if name == "standard_error":
                return formatting.significant(value, value)[0]
            return f"{value:.6g}" if isinstance(value, float) else str(value)

        return [cell(*each) for each in row.items()]


def _lay_in_two_ways(
    columns: Mapping[str, Sequence[object]],
) -> tuple[str, Mapping[str, Sequence[object]]]:
    """What is in the cells, and the columns: the first key goes down and the second across."""
    name = "value" if "value" in columns else "count"
    titles = [each for each in columns if each not in _NO_KEYS]
    first, second = map(columns.__getitem__, titles) if len(titles) == _WAYS else ([None], [])
    width = next((at for at, key in enumerate(first) if key != first[0]), len(first))
    down, across = first[::width], [formatting.key_text(each) for each in second[:width]]
    if not across or list(second) != [*second[:width]] * len(down):
        raise ParameterError(
            "table: wide=True is for numbers by two keys, each with each: those of a dp.histogram "
            "of two columns with categories=, or of the same histogram by group"
        )
    title = " \\ ".join(titles)
    if len({title, *across}) <= len(across):
        raise ParameterError("table: wide=True would call two columns alike; leave it out")
    parts = {each: columns[name][at::width] for at, each in enumerate(across)}
    return name, {title: down, **parts}


def _list_estimates(record: Record) -> list[str]:
    """The columns of what is estimated and its ends; a count beside a share says how many it is."""
    beside = "count" if record.get("value") is not None else ""
    return [name for name in _ROUNDED if name != beside and record.get(name) is not None]


def add_total(like: Record, found: Record, name: str) -> Record:
    """A last row for a table with rows like this: whole where they are, and ends outwards."""
    key, *others = (each for each in like if each not in _NO_KEYS)
    value = "count" if "count" in like else "value"
    if isinstance(like[value], int):
        found = {each: _ROUNDED.get(each, float)(number) for each, number in found.items()}
    return {key: name, **dict.fromkeys(others, ""), value: found.pop("value"), **found}


def _how_many(record: Record) -> str:
    """The column that says of how many rows a row of the table is; empty where none does."""
    return next((name for name in ("count", *_ROWS) if record.get(name) is not None), "")


def _count_each(records: Sequence[Record], name: str) -> list[float]:
    """Of how many rows each record is: as it says itself, or a part of a ``dp.compose`` does.

    Where both do the fewer: a mean of a column that lacks some is of fewer rows than its group.
    """
    counts = [each for each in records if name and each.get("statistic") == name]
    if name and not all(type(e.get("value")) is int and not _how_many(e) for e in counts or [{}]):
        raise _refuse_part("suppress", name, "a dp.count within a dp.compose", records)
    keys = [each for each in (counts or [{}])[0] if each not in _NO_KEYS]
    known = {tuple(map(each.get, keys)): each["value"] for each in counts}
    found = [(each.get(_how_many(each)), known.get(tuple(map(each.get, keys)))) for each in records]
    # Where nothing is known of a number there may be no row, however many a noisy count has.
    ends = [(each.get("low"), each.get("high")) for each in records]
    found = [(0, n) if e == (-inf, inf) else (m, n) for (m, n), e in zip(found, ends, strict=True)]
    if (None, None) in found:
        raise ParameterError(
            "table: suppress= leaves out what is of few rows, and some of these numbers do "
            "not say of how many they are; count the rows with dp.histogram, whose table "
            "does, or name the count of a dp.compose, as in suppress={'n': 15}"
        )
    return [min(each for each in both if each is not None) for both in found]


def _part(record: Record) -> str:
    """The name of the part of a ``dp.compose`` that a row is of; empty for none."""
    return str(record.get("statistic", ""))


def _refuse_part(asked: str, name: str, of: str, records: Sequence[Record]) -> ParameterError:
    parts = ", ".join(dict.fromkeys(filter(None, map(_part, records)))) or "none"
    return ParameterError(
        f"table: {asked}={{{quote(name)}: ...}} needs the name of {of}; the parts here are: {parts}"
    )


def _suppress(record: Record) -> Record:
    """A row without its statistics."""
    return {name: None if name in _STATISTICS else value for name, value in record.items()}


def _places_of(records: Sequence[Record]) -> int:
    """The decimals of all shares in percent: to the first digit of the least error, one at least.

    So the digits of a column stand below each other.
    """
    errors = [each["standard_error"] for each in records if each.get("standard_error")]
    least = min((each for each in errors if isfinite(each)), default=1.0)
    return min(max(-floor(log10(least)), 1), _MOST_DIGITS)


def _as_percent(record: Record) -> Record:
    shares = [*_list_estimates(record), "standard_error"]
    return {name: 100 * v if name in shares and v is not None else v for name, v in record.items()}


def _units_of(
    round_to: Number | Mapping[str, Number] | None,
    digits: int | Mapping[str, int] | None,
    records: Sequence[Record],
) -> Mapping[str, Fraction]:
    """Of what the numbers of a part become multiples, by its name; under "" those of all."""
    if digits is not None and round_to is not None:
        raise ParameterError(
            "table takes one of round=5, of which numbers become multiples, and digits=1"
        )
    name, asked = ("round", round_to) if digits is None else ("digits", digits)
    parts = asked if isinstance(asked, Mapping) else {"": asked}
    if not parts:
        raise ParameterError(f"table: {name} is an empty dictionary; write None for no rounding")
    rows = {part: [each for each in records if part in ("", _part(each))] for part in parts}
    lost = next((part for part in parts if not rows[part]), "")
    if lost:
        raise _refuse_part(name, lost, "a part of a dp.compose", records)
    if digits is None:
        return {part: _unit_of(each, rows[part]) for part, each in parts.items()}
    least = -_MOST_DIGITS
    return {e: Fraction(10) ** -whole(n, "table: digits", least) for e, n in parts.items()}


def _unit_of(round_to: object, records: Sequence[Record]) -> Fraction:
    unit = positive(round_to, "table: round")
    if unit in _DIGITS and any(each.get("value") and each["value"] % 1 for each in records):
        raise ParameterError(
            f"table: round={round_to} makes multiples of {round_to}; for decimals type "
            f"digits={round_to}"
        )
    return unit


def _to_places(value: float, places: int, side: int) -> str:
    """So many decimals; an end that would narrow is moved outwards by half of the last digit."""
    text = f"{value:.{places}f}"
    narrows = isfinite(value) and side * (float(text) - value) < 0
    return f"{value + side * 0.5 * 10.0**-places:.{places}f}" if narrows else text


def _round(record: Record, unit: Fraction) -> Record:
    """A row whose numbers are multiples of a unit; the rows are whole, the error has two digits."""

    def round_one(value: float, towards: Rounding) -> float:
        if not isfinite(value):
            return value
        number = towards(Fraction(value) / unit) * unit
        whole = unit.denominator == 1 or (isinstance(value, int) and number == value)
        return int(number) if whole else float(number)

    found = {name: round_one(record[name], _ROUNDED[name]) for name in _list_estimates(record)}
    error = record.get("standard_error")
    if error is not None:
        found["standard_error"] = float(f"{error:.2g}")
    rows = {name: record[name] for name in _ROWS if record.get(name) is not None}
    found |= {name: round(many) for name, many in rows.items() if isfinite(many)}
    return record | found


def _of_one_kind(cells: Sequence[object]) -> Sequence[object]:
    """Cells that arrow can hold: as text where they are of several kinds, or of none it knows."""
    kinds = {type(each) for each in cells if each is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [str(each) if isinstance(each, tuple) else each for each in cells]
    return [None if each is None else str(each) for each in cells]


def _find_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ParameterError(
            f"this takes {name}, which is not installed; type: pip install {name}. Or write "
            "release.to_csv(), which needs nothing"
        ) from None
