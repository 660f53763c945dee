"""Losses and notes as text that a person can read in the file; a loss is never a float."""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import lcm
from typing import Final

from opendp_lite import measures
from opendp_lite.base.errors import LedgerError, ParameterError
from opendp_lite.measures.budgets import Loss, exact_loss, like, numbers_of
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.divergences import AnyMeasure, Measure
from opendp_lite.numbers.exact import quote

# Shorter than what Python refuses to read.
_NUMBER: Final = re.compile(r"(0|[1-9][0-9]{0,3999})(/[1-9][0-9]{0,3999})?")
_DECIMAL: Final = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?(E[+-][0-9]{1,4})?")
_DETAIL: Final = re.compile("[0-9/: ]*")
# Characters of a number in a short text, at most.
_SHORT: Final = 48
_UPWARDS: Final = Context(prec=34, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_FINEST_BITS: Final = 2048
_BUDGET_BITS: Final = 1024
_MOST: Final = 2000


def add_price(measure: AnyMeasure, total: Loss, price: Loss) -> Loss:
    """A total with one price more."""
    return like(measure, numbers_of(measure.compose([total, price])))


def write_loss(loss: Loss) -> str:
    """A loss as text.

    Example:
        >>> write_loss(Fraction(1, 10)), write_loss((Fraction(1), Fraction(1, 10**6)))
        ('1/10', '1 1/1000000')
    """
    return " ".join(map(str, numbers_of(loss)))


def read_loss(text: str, measure: AnyMeasure) -> Loss:
    """The loss that a text stands for.

    Raises:
        LedgerError: If it is not as ``write_loss`` writes it.
    """
    numbers = _numbers_in(text)
    if len(numbers) != len(numbers_of(measure.zero())):
        raise LedgerError("the ledger is damaged: a loss in it is no exact number")
    return like(measure, numbers)


def write_short(loss: Loss) -> str:
    """A loss as a text of bounded length: exactly, or above it by less than 1e-33 of it.

    Example:
        >>> write_short(Fraction(1, 10)), write_short(Fraction(1, 3**99))
        ('1/10', '5.820975652447898512765518086413952E-48')
    """
    return " ".join(map(_short, numbers_of(loss)))


def _short(number: Fraction) -> str:
    text = str(number)
    if len(text) <= _SHORT:
        return text
    return str(_UPWARDS.divide(*map(Decimal, number.as_integer_ratio())))


def read_short(text: str, measure: AnyMeasure) -> Loss:
    """The loss that a text of ``write_short`` or ``write_loss`` stands for.

    Raises:
        LedgerError: If it is another text.
    """
    parts = text.split(" ")
    exact = all(_NUMBER.fullmatch(each) or _DECIMAL.fullmatch(each) for each in parts)
    numbers = tuple(map(Fraction, parts)) if exact else ()
    # Budgets are shorter. A total that holds a longer one could be written, and not read again.
    short = all(each < 1 << _FINEST_BITS for each in numbers)
    if not short or len(numbers) != len(numbers_of(measure.zero())):
        raise LedgerError("a loss that was seen of the ledger is no exact number")
    return like(measure, numbers)


@lru_cache(maxsize=2**10)
def _numbers_in(text: str) -> tuple[Fraction, ...]:
    """The numbers that a text is the one way to write; none where it is another text."""
    parts = text.split(" ")
    if not all(map(_NUMBER.fullmatch, parts)):
        return ()
    numbers = tuple(map(Fraction, parts))
    return numbers if " ".join(map(str, numbers)) == text else ()


def check_budget(loss: object, measure: AnyMeasure) -> Loss:
    """A budget above 0 that is short enough to be written in every entry."""
    budget = without_curve(exact_loss(loss, measure, "the budget of a ledger"))
    numbers = numbers_of(budget)
    if max(numbers) == 0:
        raise ParameterError("the budget of a ledger must be above 0")
    if any(max(each.as_integer_ratio()) >> _BUDGET_BITS for each in numbers):
        raise ParameterError("the budget of a ledger has too many digits; round it")
    return budget


def round_price(price: Loss, total: Loss, budget: Loss, measure: AnyMeasure) -> Loss:
    """The price as it is booked: exactly, or by less than 2^-2000 above.

    Thousands of prices with different denominators would make a total of thousands of digits. A
    price that would bring the denominator of the total beyond 2^2048 is rounded up to a grid that
    holds the total and the budget, so that the rest of a budget can always be spent.
    """
    parts = zip(numbers_of(price), numbers_of(total), numbers_of(budget), strict=True)
    return like(measure, tuple(_book(*each) for each in parts))


def _book(price: Fraction, total: Fraction, budget: Fraction) -> Fraction:
    if (total + price).denominator.bit_length() <= _FINEST_BITS:
        return price
    common = lcm(total.denominator, budget.denominator)
    grid = common << max(0, _FINEST_BITS - common.bit_length())
    return Fraction(-(-price.numerator * grid // price.denominator), grid)


@cache
def find_measure(name: str) -> AnyMeasure:
    """The measure of a name, as ``name_of`` gives it.

    Raises:
        LedgerError: If this version of the package has none of this name.
    """
    kind, _, detail = name.partition(" ")
    # An exponent may stand for a number that fills the memory.
    found = _public(kind) if _DETAIL.fullmatch(detail) else None
    with suppress(ArithmeticError, ValueError, TypeError):
        if isinstance(found, type) and issubclass(found, Measure) and found is not Measure:
            return found.of_detail(detail)
    raise LedgerError(
        "the ledger's budget is under a measure that this version of opendp_lite does not know; "
        "open it with the version that wrote it"
    )


def _public(name: str) -> object:
    """What ``dp.measures`` has under a name; None for nothing."""
    return getattr(measures, name) if name in dir(measures) else None


def name_of(measure: AnyMeasure) -> str:
    """The name under which a ledger writes a measure.

    Raises:
        ParameterError: If it is no measure of ``dp.measures``, so that no ledger could read it.
    """
    kind = type(measure).__name__
    if _public(kind) is not type(measure):
        raise ParameterError(f"a ledger is under a measure of dp.measures, got {quote(measure)}")
    return f"{kind} {measure.detail}".rstrip()


def check_text(given: object, name: str) -> str:
    """A text that a file can hold."""
    if not isinstance(given, str) or "\0" in given:
        raise ParameterError(f"{name} must be text, got {quote(given)}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{name} holds characters that no file can hold") from None
    return str.__str__(given)


def check_line(given: object, name: str) -> str:
    """A line of text, without the space around it; it may be empty."""
    text = check_text(given, name).strip()
    if len(text) > _MOST:
        raise ParameterError(f"{name} has at most {_MOST} characters, got {len(text)}")
    if not text.isprintable():
        raise ParameterError(f"{name} is one line, without line breaks or control characters")
    return text


def check_words(given: object, name: str) -> str:
    """As ``check_line``, of which something is left."""
    text = check_line(given, name)
    if not text:
        raise ParameterError(f"{name} must say something: give a few words")
    return text
