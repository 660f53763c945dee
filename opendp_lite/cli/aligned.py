"""Lines and tables whose columns stand below each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def aligned(entries: Mapping[str, str]) -> list[str]:
    """A line for each entry: its title, and what is said."""
    width = max(map(len, entries)) + 3
    return [f"{title:<{width}}{value}" for title, value in entries.items()]


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int]
) -> list[str]:
    """A line for the titles and one for each row.

    Args:
        titles: Of the columns.
        rows: A cell for each column.
        numbers: The places of the columns that stand to the right.
    """
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [titles, *rows]
    ]
