"""What is said of a name that no column has."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

_LISTED: Final = 8


def unknown_column(name: str, there: Sequence[str]) -> str:
    """The column that was asked for, the nearest one, and those that are there.

    Example:
        >>> unknown_column("incme", ["income", "sex"])
        "no column 'incme'; did you mean 'income'? The columns are 'income', 'sex'"
        >>> unknown_column("zzz", ["income"])
        "no column 'zzz'; the column is 'income'"
    """
    near = get_close_matches(name, there, n=1, cutoff=0.4)
    lead = f"did you mean {near[0]!r}? The" if near else "the"
    more = f" and {len(there) - _LISTED} more" if len(there) > _LISTED else ""
    columns = "column is" if len(there) == 1 else "columns are"
    listed = ", ".join(map(repr, there[:_LISTED])) or "none"
    return f"no column {name!r}; {lead} {columns} {listed}{more}"
