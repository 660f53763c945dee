"""Numbers as people type and read them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

_EXACT: Final = 2**53


def as_typed(value: Fraction) -> float:
    """The nearest number as a person would type it: 40, not 40.0."""
    return int(value) if value.denominator == 1 and abs(value) < _EXACT else float(value)


def short(value: float) -> str:
    """A float without superfluous characters.

    Example:
        >>> short(1.0), short(1e-06)
        ('1', '1e-6')
    """
    mantissa, _, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent)}" if exponent else "")


def rounded_up(value: float, digits: int = 3) -> str:
    """A number with few digits that is at least as large.

    Example:
        >>> rounded_up(4.8801)
        '4.89'
    """
    return short(float(Context(digits, ROUND_CEILING).create_decimal(repr(value))))


def rounded_down(value: Fraction, digits: int = 6) -> float:
    """A number with few digits that is no larger.

    Example:
        >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(1, 2))
        (0.666666, 0.5)
    """
    context = Context(digits, ROUND_FLOOR)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return as_typed(Fraction(found))


def shielded(argv: Sequence[str]) -> list[str]:
    """Negative numbers behind a space, so that argparse takes none for an option."""
    return [f" {word}" if word.startswith("-") and is_number(word) else word for word in argv]


def is_number(word: str) -> bool:
    """Whether a word is a number in plain digits, which Python reads as a float."""
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word


def number(text: str) -> float:
    """A number that was typed, as an int where it is whole.

    Raises:
        argparse.ArgumentTypeError: If it is no number.
    """
    if not is_number(text):
        raise argparse.ArgumentTypeError(
            f"{text.strip()!r} is not a number; write numbers like 1234.5, without separators"
        )
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value
