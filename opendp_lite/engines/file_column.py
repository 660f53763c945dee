"""A column of a file, and how it is found among the names that the file declares."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

import attrs

from opendp_lite.engines.blocks import Blocks
from opendp_lite.errors import DataError

_LISTED: Final = 20


class FileError(DataError):
    """A file has another format than declared, or no such column."""


@attrs.frozen(eq=False, repr=False)
class FileColumn(Blocks):
    """A column of a file as blocks for a pipeline.

    ``name`` is public: you typed it, or the file declares its names. Otherwise it is empty.
    """

    name: str = attrs.field(default="", kw_only=True)


def picked(names: Sequence[str], column: str | None) -> str:
    """Finds the column that you asked for.

    Args:
        names: FileColumn names that are known to be public. A refusal lists them.
        column: The name that you typed, or None for the only column.

    Returns:
        One of ``names``.

    Raises:
        FileError: If no column or several columns have this name.
    """
    if column is None:
        if len(names) == 1:
            return names[0]
        raise FileError(f"choose a column (column=, or --column NAME); the {_listing(names)}")
    wanted = column.strip()
    if names.count(wanted) == 1:
        return wanted
    if wanted in names:
        raise FileError(f"two columns have the name {wanted!r}; rename one of them")
    same = [name for name in names if name.casefold() == wanted.casefold()]
    near = same or get_close_matches(wanted, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}? The" if near else "; the"
    raise FileError(f"there is no column {wanted!r}{hint} {_listing(names)}")


def _listing(names: Sequence[str]) -> str:
    texts = [repr(name) for name in names if name]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    columns = "column is" if len(texts) == 1 else "columns are"
    return f"{columns} {', '.join(texts[:_LISTED])}{more}"
