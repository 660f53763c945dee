"""The budget that a wanted error takes."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, log10
from typing import Any, Final

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.one_column.expected_error import expected_error
from opendp_lite.exact import Number, nearest, positive
from opendp_lite.recipes import Mechanism

_LEAST: Final = -12
_MOST: Final = 12
_DIGITS: Final = 3
_CLOSE: Final = 1e-4
"""Of powers of ten: far less than a step of the third digit."""


def budget_for(
    make: Callable[[float], Mechanism[Any, Any] | Measurement[Any, Any]],
    error: Number,
    n: int,
    guess: Number,
    spread: Number = 0,
) -> float:
    """The least budget, to three digits, at which a mean errs by no more than allowed.

    Args:
        make: A function from a rho or an epsilon to an estimator.
        error: The root mean square error that is allowed.
        n: As for ``expected_error``.
        guess: As for ``expected_error``.
        spread: As for ``expected_error``.

    Returns:
        The argument of ``make``, such as a rho.

    Raises:
        ParameterError: If no budget from 1e-12 to 1e12 will do, or if every one does.

    Proof:
        The error falls as the budget grows; bisection finds the budget.

    Example:
        >>> import opendp_lite as dp
        >>> dp.budget_for(lambda rho: dp.mean(0, 100, rho=rho), error=0.25, n=1000, guess=40)
        0.0289
    """
    if isinstance(make, Mechanism | Measurement):
        raise ParameterError(
            "budget_for takes a function from a budget to an estimator: write "
            f"lambda rho: dp.mean(0, 100, rho=rho). Got the estimator {make!r}"
        )
    allowed = nearest(positive(error, "error"))

    def meets(power: float) -> bool:
        return expected_error(make(_rounded_up(10.0**power)), n, guess, spread) <= allowed

    low, high = float(_LEAST), float(_MOST)
    if not meets(high):
        raise ParameterError(
            f"budget_for: no budget up to 1e{_MOST} brings the error down to {allowed:g}"
        )
    if meets(low):
        raise ParameterError(
            f"budget_for: the smallest budget already meets an error of {allowed:g}; ask for a "
            "smaller error"
        )
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return _rounded_up(10.0**high)


def _rounded_up(budget: float) -> float:
    """Three digits, upwards."""
    place = _DIGITS - 1 - floor(log10(budget))
    return float(f"{ceil(round(budget * 10.0**place, 6))}e{-place}")
