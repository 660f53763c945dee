"""``--where``: the rows that count, by conditions on columns."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from math import inf, nextafter
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags

_CONDITION: Final = re.compile(r"\s*([^<>=!]*[^<>=!\s])\s*(<=|>=|==|=|<|>)\s*([^<>=\s].*)")


@attrs.frozen
class Condition:
    """One condition: its column, how the two compare, and what it is compared with.

    Attributes:
        words: As it was typed.
        column: The column.
        ends: The least and the largest number that it allows; None for one of some words.
        among: These words.
    """

    words: str
    column: str
    ends: tuple[float | None, float | None] | None = None
    among: Sequence[str | None] = ()

    @property
    def kind(self) -> type:
        """What its column is read as, where nothing else reads it."""
        return str if self.ends is None else float

    def keep(self, kind: type) -> Any:
        """The step that keeps these rows, in a column that is read as numbers or as text."""
        if self.ends is not None and kind is str:
            raise dp.ParameterError(
                f"--where: {self.words!r} compares numbers, and column {self.column!r} is read as "
                f"text for --by, --person or another condition; type {self.column}=WORD|WORD"
            )
        if self.ends is not None:
            return dp.keep(self.column, between=self.ends)
        if kind is str:
            return dp.keep(self.column, among=self.among)
        words = [word for word in self.among if word is not None]
        if len(words) < len(self.among) or not all(map(flags.is_number, words)):
            raise dp.ParameterError(
                f"--where: column {self.column!r} is read as numbers, got {self.words!r}"
            )
        return dp.keep(self.column, among=list(map(flags.number, words)))


def conditions_of(arguments: argparse.Namespace) -> list[Condition]:
    """The conditions that were typed.

    Raises:
        ParameterError: If one is not a column, a comparison and a value.
    """
    return [_condition(text, arguments.na) for text in arguments.where]


def _condition(text: str, na: Sequence[str]) -> Condition:
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise dp.ParameterError(
            f"--where: {text.strip()!r} is no condition; type one in quotes, such as 'age >= 18', "
            "'sex = f' or 'region = north|south'"
        )
    column, sign, value = parts.groups()
    if sign in ("=", "=="):
        quote = value[0]
        # Quotes around a comma make one word of it, as in a CSV file.
        if (
            quote in "'\""
            and len(value.rstrip()) > 1
            and value.rstrip()[-1] == quote
            and "," not in value
        ):
            raise dp.ParameterError(
                f"--where: words stand without quotes of their own; type '{column} = "
                f"{value.rstrip().replace(quote, '')}'"
            )
        among = flags.categories(value.split("|"), na, "--where")
        return Condition(text.strip(), column, among=among)
    if not flags.is_number(value) or abs(float(value)) == inf or float(value) != float(value):
        raise dp.ParameterError(
            f"--where: {text.strip()!r} compares with {value!r}, which is not a number; words go "
            "behind =, as in 'sex = f'"
        )
    # The next float is the next number that a column can hold.
    end = flags.number(value)
    strict = {"<": -inf, ">": inf}
    if sign in strict:
        end = nextafter(end, strict[sign])
    return Condition(text.strip(), column, (None, end) if sign[0] == "<" else (end, None))
