"""Exact numbers: how a float is read as a rational, how a rational is shown, certified bounds.

Every stability map and privacy map computes with ``fractions.Fraction``. A float that a person
types stands for a rational, and which one decides whether ten times 0.1 is 1: see
``rational_of_float``. Where a transcendental function cannot be avoided, the functions here return
a rational that is certainly on the named side of the true value.
"""

from __future__ import annotations

import decimal
import math
import numbers
import operator
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import cast

from opendp_lite.base.errors import ParameterError

Number = int | float | Fraction | Decimal
"""The types of a public number."""

# Ten more than the bounds below promise, for the roundings on the way.
_DIGITS = 50
# P(Z > 40) is below 1e-349, and e^-800 below 1e-347: both below ``NEGLIGIBLE``.
_TAIL_LIMIT = 40
_EXP_LIMIT = 800
_LONG = 10**15
# Quarters of a mantissa's last bit: its rounding interval reaches two of them up, and two down,
# or one at a power of two.
_FINE = 2**55
_SHORT = 60
_SHORT_BITS = 200
# So many entries may be parameters; a longer list may be a column of data, given by mistake.
MOST_SHOWN = 6
SECOND_CALL = "data goes into a second call: pipeline(data)"
_MOST_BITS = 14_000
_MOST_DIGITS = 4_000
_FINEST = 2**2048
_SUREST = Fraction(1, 10**20)
_NUDGE = Fraction(1, 2**45)
NEGLIGIBLE = Fraction(1, 10**340)
# Above the middle between 1 and the next float. An x87 unit rounds to 64 bits, and then down to 1.
OVER_HALF = 2.0**-53 + 2.0**-78


def require_one_rounding(total: float) -> None:
    """Refuses a machine whose sum of 1 and ``OVER_HALF`` is 1: all proofs of floats need IEEE's."""
    if total == 1:
        raise ImportError(
            "opendp_lite needs floats that are rounded once, as IEEE 754 says, and here they are "
            "rounded twice, as 32-bit builds for x86 do; use a 64-bit Python"
        )


require_one_rounding(1 + OVER_HALF)


@lru_cache(maxsize=2**16)
def rational_of_float(value: float) -> Fraction:
    """The rational that a finite float stands for.

    A float with at most 15 significant decimal digits stands for that decimal (0.1 for 1/10);
    any other for the simplest fraction that rounds to it (1/3 typed as a float for 1/3). Both
    lie in the float's rounding interval, so the order of floats is kept and
    ``float(rational_of_float(x)) == x``. With this, ten tenths and three thirds of a
    budget are the budget.

    >>> rational_of_float(0.1), rational_of_float(1 / 3), rational_of_float(0.5)
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2))
    """
    if value.is_integer():
        return Fraction(int(value))
    typed = Decimal(repr(value))
    if len(typed.as_tuple().digits) <= 15:
        return Fraction(typed)
    mantissa, exponent = math.frexp(abs(value))
    middle = int(mantissa * _FINE)
    below = 1 if mantissa == 0.5 else 2
    simplest = _simplest_between(middle - below, middle + 2, _FINE)
    result = simplest * Fraction(2) ** exponent
    return result if value > 0 else -result


def _simplest_between(low: int, high: int, below: int) -> Fraction:
    """The fraction of smallest denominator strictly between two (Stern-Brocot descent)."""
    over = below
    numerator, denominator, numerator_before, denominator_before = 1, 0, 0, 1

    def continue_by(term: int) -> tuple[int, int]:
        return (term * numerator + numerator_before, term * denominator + denominator_before)

    while True:
        whole = low // below
        if (whole + 1) * over < high:
            return Fraction(*continue_by(whole + 1))
        low, high = low - whole * below, high - whole * over
        following = continue_by(whole)
        numerator_before, denominator_before = numerator, denominator
        numerator, denominator = following
        if low == 0:
            return Fraction(*continue_by(over // high + 1))
        low, below, high, over = over, high, below, low


def quote(value: object) -> str:
    """A wrong parameter as an error names it: its value if that is short, else its type."""
    if isinstance(value, int) and value.bit_length() > _SHORT_BITS:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, Fraction) and max(map(abs, value.as_integer_ratio())) >> _SHORT_BITS:
        return f"a fraction near {nearest(value):g}"
    if value is None or isinstance(value, str | bool | int | float | Fraction | Decimal):
        text = repr(value)
        return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
    if isinstance(value, tuple | list):
        return f"a list or tuple{f' ({SECOND_CALL})' if len(value) > MOST_SHOWN else ''}"
    if isinstance(value, date):
        return f"a date ({type(value).__name__}); count days instead, from a day that you choose"
    if hasattr(type(value), "value"):
        return f"an object of type {type(value).__name__} (did you mean its .value?)"
    parts = value.values() if isinstance(value, dict) else (value,)
    hint = f" ({SECOND_CALL})" if any(hasattr(type(e), "__len__") for e in parts) else ""
    return f"an object of type {type(value).__name__}{hint}"


def quote_entry(values: Sequence[object], place: int) -> str:
    """An entry of a list as an error names it: of a long one by its place, as it may be data."""
    if len(values) > MOST_SHOWN:
        return f"number {place + 1} of the list"
    return quote(values[place]) if isinstance(values[place], str) else str(values[place])


def list_values(value: object) -> str:
    """As ``quote``, with the values of a short list."""
    if not isinstance(value, tuple | list) or len(value) > MOST_SHOWN:
        return quote(value)
    text = repr(list(cast(Sequence[object], value)))
    return text if len(text) <= _SHORT else f"a list of {len(value)}"


def exact(value: object, name: str) -> Fraction:
    """A finite public number as a rational. Errors call it ``name``."""
    found = Fraction(value) if type(value) is int else _exact(value, name)
    if max(abs(found.numerator), found.denominator) >> _MOST_BITS:
        raise ParameterError(f"{name} has too many digits: {quote(found)}")
    return found


def _exact(value: object, name: str) -> Fraction:
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal):
        # It may be one of a list that is data: a text is not repeated.
        got = (
            "text; write a number, as in 0.05, without quotes"
            if isinstance(value, str)
            else quote(value)
        )
        raise ParameterError(f"{name} must be a number, got {got}")
    if isinstance(value, numbers.Integral):
        return Fraction(_index(value, name))
    if isinstance(value, Decimal):
        value = Decimal(value)
        if not value.is_finite():
            raise ParameterError(f"{name} must be finite, got {value!r}")
        if value and abs(value.adjusted()) > _MOST_DIGITS:
            raise ParameterError(
                f"{name} is too large or too small: its exponent is {value.adjusted()}"
            )
        return Fraction(value)
    if not isinstance(value, numbers.Real):
        raise ParameterError(f"{name} must be a real number, got {quote(value)}")
    as_float = float(value)
    if not math.isfinite(as_float):
        raise ParameterError(f"{name} must be finite, got {as_float}")
    return rational_of_float(as_float)


def _index(value: numbers.Integral, name: str) -> int:
    """A whole number; numpy counts a span of time among them."""
    try:
        return operator.index(value)
    except TypeError:
        raise ParameterError(f"{name} must be a number, got {quote(value)}") from None


def plain(value: Fraction | int) -> Fraction:
    """A fraction of Python's own classes: a class of a person's could compare as it likes."""
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    return Fraction(int(value.numerator), int(value.denominator))


def exact_size(value: object) -> Fraction | None:
    """A number of at least 0 as a Fraction, where it is of Python's own exact classes; else None.

    Classes are compared by identity: ``isinstance`` takes True for a number, and a class of a
    person's own, which may add and compare as it likes.
    """
    if type(value) is int:
        return Fraction(value) if value >= 0 else None
    if type(value) is not Fraction:
        return None
    over, under = value.as_integer_ratio()
    return value if type(over) is type(under) is int and over >= 0 else None


def positive(value: object, name: str) -> Fraction:
    """As ``exact``, refusing zero and below."""
    result = exact(value, name)
    if result <= 0:
        raise ParameterError(f"{name} must be above 0, got {format_number(result)}")
    return result


def open_probability(value: object, name: str) -> Fraction:
    """A number strictly between 0 and 1."""
    result = exact(value, name)
    if not 0 < result < 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {format_number(result)}")
    return result


def confidence_of(given: object, name: str) -> Fraction:
    """A share of all releases, refused where it is a percentage or too close to 1."""
    found = exact(given, name)
    if 1 < found < 100:
        raise ParameterError(
            f"{name} must be between 0 and 1, got {given}; {given} % is {nearest(found / 100):g}"
        )
    if found == 100:
        raise ParameterError(
            f"{name} must be between 0 and 1, got {given}; 100 % is out of reach, ask for 0.99"
        )
    if 1 - open_probability(found, name) < _SUREST:
        raise ParameterError(f"{name} must be at most 1 - 1e-20, got {quote(given)}")
    return found


def whole(value: object, name: str, least: int = 0) -> int:
    """A public whole number of at least ``least``."""
    result = exact(value, name)
    if result.denominator != 1 or result < least:
        raise ParameterError(
            f"{name} must be a whole number of at least {least}, got {format_number(result)}"
        )
    return int(result)


def round_up(value: Fraction) -> float:
    """The smallest float whose reading is at least ``value``: how losses and distances show.

    >>> round_up(3 * rational_of_float(0.1)), round_up(Fraction(1, 3))
    (0.3, 0.3333333333333333)
    """
    close = nearest(value)
    if math.isinf(close):
        return math.inf
    return close if rational_of_float(close) >= value else math.nextafter(close, math.inf)


def digits_up(value: Fraction, digits: int = 6) -> str:
    """A rational in so many significant digits, rounded up: how a loss reads in words.

    >>> digits_up(Fraction(1, 3)), digits_up(Fraction(1, 2)), digits_up(Fraction(1, 10**6))
    ('0.333334', '0.5', '1e-06')
    """
    rounding = decimal_context(digits, decimal.ROUND_CEILING)
    shown = rounding.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{float(shown):.{digits}g}"
    return text if Decimal(text) >= shown else f"{shown.normalize(rounding):e}"


def digits_down(value: Fraction, digits: int = 6) -> Fraction:
    """The largest rational of so many significant digits that is at most ``value``, at least 0."""
    rounding = decimal_context(digits, decimal.ROUND_FLOOR)
    return Fraction(rounding.divide(Decimal(value.numerator), Decimal(value.denominator)))


def sum_up(values: Sequence[Fraction]) -> Fraction:
    """A rational at least the sum; the sum itself unless its denominator is beyond 2^2048.

    Thousands of different denominators make one of thousands of digits; each term is then rounded
    up to a multiple of 2^-2048.
    """
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        if common > _FINEST:
            common = _FINEST
            break
    return Fraction(sum(-(-v.numerator * common // v.denominator) for v in values), common)


def sqrt_up(value: Fraction) -> Fraction:
    """A rational at least the square root; the root itself where it is rational."""
    over, under = value.numerator, value.denominator
    roots = math.isqrt(over), math.isqrt(under)
    if roots[0] ** 2 == over and roots[1] ** 2 == under:
        return Fraction(*roots)
    shift = max(0, 70 - (over.bit_length() - under.bit_length()) // 2)
    scaled = -((-over << (2 * shift)) // under)
    return Fraction(math.isqrt(scaled) + 1, 1 << shift)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational at most the square root; the root itself where it is rational."""
    above = sqrt_up(value)
    return value / above if value else above


def floor_log2(value: Fraction) -> int:
    """The largest k with 2^k <= value, for a positive value."""
    over, under = value.numerator, value.denominator
    guess = over.bit_length() - under.bit_length()
    below = under << max(guess, 0) <= over << max(-guess, 0)
    return guess if below else guess - 1


def short_below(value: Fraction) -> Fraction:
    """A positive rational at most ``value``, within 2^-60 of it relatively, of 61 bits or fewer."""
    bits = floor_log2(value) - _SHORT
    whole = (value.numerator << max(-bits, 0)) // (value.denominator << max(bits, 0))
    return Fraction(whole << max(bits, 0), 1 << max(-bits, 0))


def short_above(value: Fraction) -> Fraction:
    """As ``short_below``, of at least ``value``; itself where it is short, or not above 0."""
    if value <= 0 or value.denominator.bit_length() <= _SHORT:
        return value
    # A step of it is at most 2^-60 of the value.
    grid = Fraction(2) ** (floor_log2(value) - _SHORT)
    return -(-value // grid) * grid


def decimal_context(digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Context:
    """A context of its own: what is left out here, ``decimal.DefaultContext`` would decide."""
    return decimal.Context(
        prec=digits,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero],
    )


def _decimal(value: Fraction, context: decimal.Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp_up(value: Fraction) -> Fraction:
    """A rational at least e^value, within 1e-40 of it relatively.

    ``Context.exp`` is correctly rounded; the error of the argument's rounding is
    at most ``|value| 10^-digits``, which the slack covers. Below -800 the bound is 1e-340.
    """
    if value < -_EXP_LIMIT:
        return NEGLIGIBLE
    digits = _DIGITS + 2 * max(0, floor_log2(abs(value)) if value else 0)
    context = decimal_context(digits)
    rounded = context.exp(_decimal(value, context))
    return Fraction(rounded) * (1 + Fraction(1, 10**42))


def exp_down(value: Fraction) -> Fraction:
    """A rational at most e^value, within 1e-40 of it relatively; 0 below -800."""
    if value < -_EXP_LIMIT:
        return Fraction(0)
    return exp_up(value) * (1 - Fraction(1, 10**41))


def log_up(value: Fraction) -> Fraction:
    """A rational at least ln(value), within 1e-40 absolutely."""
    context = decimal_context(_DIGITS)
    return Fraction(context.ln(_decimal(value, context))) + Fraction(1, 10**40)


@lru_cache(maxsize=2**8)
def _pi(digits: int) -> Decimal:
    """pi by Machin's formula, in integers."""
    one = 10 ** (digits + 10)

    def arctan_inverse(x: int) -> int:
        term = one // x
        total, divisor = term, 1
        while term not in (0, 1):
            term = -(term // (x * x))
            divisor += 2
            total += term // divisor
        return int(total)

    return _decimal(
        Fraction(4 * (4 * arctan_inverse(5) - arctan_inverse(239)), one), decimal_context(digits)
    )


def normal_tail(x: Fraction, precision: int = _DIGITS) -> tuple[Fraction, Fraction]:
    """Certified bounds (low, high) on P(Z > x) for a standard normal Z.

    For 0 <= x <= 40: 1/2 - phi(x) sum x^(2n+1) / (2n+1)!!, a series of positive terms
    (Abramowitz and Stegun 26.2.11), in enough digits that the subtraction leaves 10 fewer than
    ``precision``, which is at least 20.
    Beyond, the tail is below 1e-349 and the bounds are 0 and 1e-340.
    """
    if x < 0:
        low, high = normal_tail(-x, precision)
        return 1 - high, 1 - low
    if x > _TAIL_LIMIT:
        return Fraction(0), NEGLIGIBLE
    digits = precision + int(x * x / 4) + 1
    context = decimal_context(digits)
    point = _decimal(x, context)
    square = context.multiply(point, point)
    exponential = context.exp(context.divide(context.minus(square), Decimal(2)))
    density = context.divide(exponential, context.sqrt(context.multiply(Decimal(2), _pi(digits))))
    total = term = point
    n = 1
    # Terms fall once n is above the square. Then what is left out is of the size of the last.
    limit = Decimal((0, (1,), -(digits + 5)))
    while term > limit or square > n:
        n += 2
        term = context.divide(context.multiply(term, square), Decimal(n))
        total = context.add(total, term)
    middle = Fraction(1, 2) - Fraction(context.multiply(density, total))
    slack = Fraction(1, 10 ** (digits - 12))
    return max(middle - slack, Fraction(0)), middle + slack


@lru_cache(maxsize=2**10)
def normal_quantile_up(miss: Fraction) -> Fraction:
    """A z with P(|Z| > z) <= miss for a standard normal Z; within 2^-40 of the least relatively.

    The float quantile is moved up until the certified tail is small enough, by twice as much each
    time: a walk of equal steps would not end in a lifetime if the tail were off by a thousandth.
    """
    found, step = Fraction(-NormalDist().inv_cdf(nearest(miss / 2))), _NUDGE
    found *= 1 + step
    while 2 * normal_tail(found)[1] > miss:
        step *= 2
        found = found * (1 + step) + Fraction(1, 2**60)
    return found


def format_number(value: Fraction) -> str:
    """A rational as a person would type it, to the nearest float."""
    short = value.denominator == 1 and abs(value) < _LONG
    return str(int(value)) if short else repr(nearest(value))


def nearest(value: Fraction) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
