"""How results are shown: in digits that their error leaves, in tables, and as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from math import floor, isfinite, log10
from typing import Any, Final

import numpy as np

_MOST_PLACES: Final = 15
_CELL: Final = "text-align:left;vertical-align:top"


def significant(error: float, *numbers: float) -> tuple[str, ...]:
    """Numbers with as many digits as the second of a standard error.

    Example:
        >>> significant(0.0312, 38.2517, 0.0312)
        ('38.252', '0.031')
    """
    if not (error > 0 and isfinite(error)):
        return tuple(f"{number:.15g}" for number in numbers)
    places = 1 - int(f"{error:.1e}".partition("e")[2])
    if abs(places) <= _MOST_PLACES:
        shown = max(places, 0)
        return tuple(f"{round(number, places) + 0.0:.{shown}f}" for number in numbers)
    return tuple(_scientific(number, places) for number in numbers)


def _scientific(number: float, places: int) -> str:
    shown = round(number, places) + 0.0
    digits = min(max(floor(log10(abs(shown))) + places, 0), _MOST_PLACES) if shown else 0
    return f"{shown:.{digits}e}"


def for_json(value: Any) -> Any:
    """Floats, lists of floats, or None for NaN and infinities, which JSON does not have.

    Example:
        >>> for_json(np.array([0.5, np.nan]))
        [0.5, None]
    """
    if np.ndim(value):
        return [for_json(each) for each in value]
    number = float(value)
    return number if isfinite(number) else None


def plain(release: Any) -> Any:
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


def html_table(rows: Mapping[str, str]) -> str:
    """A table of two columns, for notebooks."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows.items()
    )
    return f"<table>{cells}</table>"


def shown(release: Any) -> str:
    """A release as a notebook shows it by itself: as its own table, or as escaped text."""
    own = getattr(release, "_repr_html_", None)
    if own is not None:
        return str(own())
    return f"<span style='white-space:pre-wrap'>{escape(str(release))}</span>"


def html_of_each(releases: Iterable[tuple[str, Any]]) -> str:
    """A table of two columns: names, and each release as it shows by itself."""
    cells = "".join(
        f"<tr><th style='{_CELL}'>{escape(name)}</th><td style='{_CELL}'>{shown(release)}</td></tr>"
        for name, release in releases
    )
    return f"<table>{cells}</table>"


def html_grid(
    head: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    pictures: Sequence[str] = (),
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
