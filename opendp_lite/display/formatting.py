"""How results are shown: in digits that their error leaves, in tables, and as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from importlib import import_module
from itertools import zip_longest
from math import floor, isfinite, log10
from textwrap import indent
from typing import Any, Final

import attrs
import numpy as np

_MOST_PLACES: Final = 15
# So many digits are shown, if an error leaves more and is below ten to minus so many.
_TOLD: Final = 12
_SHORT: Final = 60
_WIDEST: Final = 100
_CELL: Final = "text-align:left;vertical-align:top"


def escape(text: str) -> str:
    """Text as HTML shows it."""
    # Its table of names takes a millisecond, and only notebooks and pictures need it.
    return str(import_module("html").escape(text))


def printable(name: str) -> str:
    """A name, or its repr where that is not all letters that one sees."""
    return name if name.isprintable() else repr(name)


def key_text(key: object) -> str:
    """A key as a table shows it: of a time that begins a day the date, of a period its name."""
    if not isinstance(key, date):
        return str(key)
    return getattr(key, "label", "") or str(key).removesuffix(" 00:00:00")


def label_key(key: Any) -> object:
    """A key as a person may type it to look it up: a date as a table shows it."""
    if isinstance(key, tuple):
        return tuple(map(label_key, key))
    return key_text(key) if isinstance(key, date) else key


def fields_text(value: object) -> str:
    """What a plan is made of, with its fields."""
    kind = type(value)
    if not attrs.has(kind) or "__repr__" in vars(kind):
        plain = "__repr__" not in {name for each in kind.__mro__[:-1] for name in vars(each)}
        return str(getattr(value, "__name__", kind.__name__ if plain else repr(value)))
    told = (f"{each.name}={fields_text(getattr(value, each.name))}" for each in attrs.fields(kind))
    return f"{kind.__name__}({', '.join(told)})"


def significant(error: float, *numbers: float) -> tuple[str, ...]:
    """Numbers with as many digits as the second of a standard error.

    Example:
        >>> significant(0.0312, 38.2517, 0.0312)
        ('38.252', '0.031')
        >>> significant(7.3e-14, 2.500000000000071, 7.3e-14)
        ('2.5', '7.3e-14')
    """
    if not (error > 0 and isfinite(error)):
        return tuple(f"{number:.15g}" for number in numbers)
    places = 1 - int(f"{error:.1e}".partition("e")[2])
    if places > _TOLD and max(map(_size, numbers), default=0) + places >= _TOLD:
        return tuple(_at_most_told(number, places) for number in numbers)
    if abs(places) <= _MOST_PLACES:
        shown = max(places, 0)
        return tuple(f"{round(number, places) + 0.0:.{shown}f}" for number in numbers)
    return tuple(_scientific(number, places) for number in numbers)


def justify(error: float, known: Collection[float], *numbers: float) -> tuple[str, ...]:
    """As ``significant``, with fewer digits where all that is known has fewer, as counts do.

    Example:
        >>> justify(1.36, (312, 309.0, 315.0), 312, 309.0, 1.36)
        ('312', '309', '1.4')
    """
    places = next(
        (each for each in range(_MOST_PLACES) if all(round(one, each) == one for one in known)),
        _MOST_PLACES,
    )
    return tuple(
        f"{number:.{places}f}"
        if "e" not in text
        and places < len(text.partition(".")[2])
        and round(number, places) == number
        else text
        for number, text in zip(numbers, significant(error, *numbers), strict=True)
    )


def percent(share: float) -> str:
    """A share in words.

    Example:
        >>> percent(0.95)
        '95 %'
    """
    return f"{100 * share:.12g} %"


def as_sentence(words: str) -> str:
    """Words with a capital letter and a stop; none where there are none.

    Example:
        >>> as_sentence("any one row, or none")
        'Any one row, or none.'
    """
    return f"{words[0].upper()}{words[1:]}." if words else ""


ONE_PERSON: Final = "rows of one person count as independent"
"""What an interval for a population takes for true where a person may have several rows."""


def hold_in(confidence: float, *, sampling: bool, several: bool = False) -> str:
    """In what intervals hold what is estimated, in words.

    Example:
        >>> hold_in(0.95, sampling=True)
        '95 % of samples like this'
    """
    of = "samples like this" if sampling else "releases of these rows"
    return f"{percent(confidence)} of {of}{f'; {ONE_PERSON}' if several else ''}"


def _at_most_told(number: float, places: int) -> str:
    digits = min(max(_size(number) + places + 1, 1), _TOLD)
    return f"{number:.{digits}g}"


def _scientific(number: float, places: int) -> str:
    shown = round(number, places) + 0.0
    if not shown:
        return "0"
    return f"{shown:.{min(max(_size(shown) + places, 0), _MOST_PLACES)}e}"


def _size(number: float) -> int:
    """The power of ten of the first digit."""
    return floor(log10(abs(number))) if number and isfinite(number) else -_MOST_PLACES


def for_json(value: Any) -> Any:
    """Floats, lists of floats, or None for NaN and infinities, which JSON does not have.

    What is no number stays as it is.

    Example:
        >>> for_json(np.array([0.5, np.nan])), for_json(("age", True))
        ([0.5, None], ['age', True])
    """
    if isinstance(value, str | bool | np.bool_ | None):
        return bool(value) if isinstance(value, np.bool_) else value
    if np.ndim(value):
        return [for_json(each) for each in value]
    number = float(value)
    return number if isfinite(number) else None


def plain(release: object) -> object:
    """A release as JSON can hold it.

    Example:
        >>> plain({("f", 1): np.array([0.5]), "n": (3, None)})
        {"('f', 1)": [0.5], 'n': [3, None]}
    """
    own = getattr(release, "as_dict", None)
    if own is not None:
        return own()
    if isinstance(release, Mapping):
        return {key if type(key) is str else str(key): plain(release[key]) for key in release}
    if isinstance(release, tuple | list):
        return [plain(each) for each in release]
    return release if isinstance(release, str | int | bool | None) else for_json(release)


def format_release(release: object) -> str:
    """A release as it prints; several in a tuple as they print, a line each where they are long.

    Example:
        >>> format_release((2.5, 7.0))
        '(2.5, 7.0)'
    """
    if not isinstance(release, tuple) or len(str(release)) < _SHORT:
        return str(release)
    return "\n".join(map(format_release, release))


def align(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """A line for each row, the cells in columns.

    Args:
        rows: A cell for each column.
        right: The places of the columns that stand to the right, as numbers do.

    Example:
        >>> align([["sex", "count"], ["f", "9"]], {1})
        ['sex  count', 'f        9']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def block(name: str, text: str) -> str:
    """A release after its name, or below it where it is long."""
    if "\n" not in text and len(text) < _WIDEST:
        return f"{name}{text}"
    return f"{name.rstrip()}\n{indent(text, '  ')}"


def html_table(rows: Mapping[str, str]) -> str:
    """A table of two columns, for notebooks."""
    return _html_rows(((name, escape(text)) for name, text in rows.items()), "text-align:left")


def _html_rows(rows: Iterable[tuple[str, str]], style: str) -> str:
    """A table of names, each with a cell of HTML beside it."""
    cells = "".join(
        f"<tr><th style='{style}'>{escape(name)}</th><td style='{style}'>{inner}</td></tr>"
        for name, inner in rows
    )
    return f"<table>{cells}</table>"


def to_html(release: object) -> str:
    """A release as a notebook shows it by itself: as its own table, or as escaped text."""
    own = getattr(release, "_repr_html_", None)
    if own is not None:
        return str(own())
    return f"<span style='white-space:pre-wrap'>{escape(format_release(release))}</span>"


def html_of_each(releases: Iterable[tuple[str, object]]) -> str:
    """A table of two columns: names, and each release as it shows by itself."""
    return _html_rows(((name, to_html(release)) for name, release in releases), _CELL)


def html_grid(
    head: str, titles: Sequence[str], rows: Sequence[Sequence[str]], pictures: Sequence[str] = ()
) -> str:
    """A line of text and a table with a row of titles, for notebooks.

    Args:
        head: The line.
        titles: Of the columns.
        rows: The texts of each row.
        pictures: Of a last column, as HTML: its title, then one for each row. None by default.
    """
    texts = [[escape(text) for text in row] for row in (titles, *rows)]
    lines = [[*row, *drawn] for row, drawn in zip_longest(texts, zip(pictures), fillvalue=())]
    above = "".join(f"<th style='text-align:left'>{cell}</th>" for cell in lines[0])
    below = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in line) + "</tr>"
        for line in lines[1:]
    )
    return f"<div>{escape(head)}<table><tr>{above}</tr>{below}</table></div>"
