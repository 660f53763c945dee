"""What a cell of text stands for: a category, a number, or a missing value.

Apart from the readers of files: the command line asks it before numpy is imported.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
"""Cells that always mean a missing value."""

_WHOLE: Final = re.compile(r"([+-]?[0-9]+)\.0*")


def category_in(cell: str, missing: Collection[str]) -> str | None:
    """The category that a cell holds: its text without space around it; None if it is missing.

    A whole number is one category however many zeros follow its point.

    Example:
        >>> category_in(" f ", {"NA"}), category_in("NA", {"NA"}), category_in("3.0", {"NA"})
        ('f', None, '3')
    """
    text = cell.strip()
    if text in missing:
        return None
    whole = _WHOLE.fullmatch(text) if "." in text else None
    return text if whole is None else whole[1]
