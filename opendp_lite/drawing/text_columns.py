"""Columns of text within a width."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from textwrap import wrap
from typing import Final

WIDTH: Final = 100
"""How wide text for a terminal may be."""
_GAP: Final = "  "
_HANG: Final = 2


def in_columns(rows: Sequence[Sequence[str]], width: float = WIDTH) -> list[str]:
    """Lines with the cells of each row side by side. What is too wide goes on below.

    Example:
        >>> in_columns([["step", "domain"], ["dp.clamp(0, 1)", "rows in Box(0, 1)"]], width=27)
        ['step            domain', 'dp.clamp(0, 1)  rows in', '                  Box(0, 1)']
    """
    columns = list(zip(*rows, strict=True))
    wide = _widths(columns, width - len(_GAP) * (len(columns) - 1))
    return [
        _GAP.join(cell.ljust(most) for cell, most in zip(line, wide, strict=True)).rstrip()
        for row in rows
        for line in zip_longest(*map(wrapped, row, wide), fillvalue="")
    ]


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A line, or several of which all but the first stand further to the right."""
    indent = min(len(text) - len(text.lstrip()), width // 2)
    first, later = (" " * min(each, width - 1) for each in (indent, indent + _HANG))
    lines = wrap(
        text.strip(), width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
    return lines or [""]


def _widths(columns: Sequence[Sequence[str]], room: float) -> list[int]:
    """A width for each column: the next to give way is the one that makes fewest lines of it."""
    wide = [max(map(len, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]

    @cache
    def lines(place: int, most: int) -> int:
        return sum(len(wrapped(cell, most)) for cell in columns[place])

    def cost(place: int) -> tuple[bool, int, int]:
        most = wide[place]
        return most <= least[place], lines(place, most - 1) - lines(place, most), -most

    while sum(wide) > room:
        wide[min(range(len(wide)), key=cost)] -= 1
    return wide


def _longest_word(text: str) -> int:
    indent = len(text) - len(text.lstrip()) + _HANG
    first, *others = [len(word) for word in text.split()] or [0]
    return max(first + indent - _HANG, *(indent + each for each in others), 1)
