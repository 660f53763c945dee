"""The parameter that meets a target loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from opendp_lite.errors import ParameterError


class Priced(Protocol):
    """A pipeline with a loss: a ``Mechanism`` or a ``Measurement``, not a ``Stage``."""

    def loss(self, d_in: object = 1) -> Any: ...
    def check(self, d_in: object, d_out: object) -> bool: ...


AnyPriced = TypeVar("AnyPriced", bound=Priced)
_DOUBLINGS = 1000
_PRECISION = 1e-12


@overload
def calibrate(
    make: Callable[[int], AnyPriced],
    d_out: object,
    d_in: object = 1,
    *,
    bounds: tuple[int, int],
) -> AnyPriced: ...
@overload
def calibrate(
    make: Callable[[float], AnyPriced],
    d_out: object,
    d_in: object = 1,
    bounds: tuple[float, float] | None = None,
) -> AnyPriced: ...
def calibrate(
    make: Callable[[Any], AnyPriced],
    d_out: object,
    d_in: object = 1,
    bounds: tuple[float, float] | None = None,
) -> AnyPriced:
    """Builds the pipeline whose loss comes closest to a target from below, by bisection.

    Args:
        make: From one parameter to a pipeline. Its loss rises or falls with the parameter
            throughout.
        d_out: The target loss.
        d_in: How many units are added, removed or replaced.
        bounds: Bounds of the parameter, by default any number above 0. Two whole numbers search
            whole numbers.

    Returns:
        ``make(parameter)`` for the best parameter found. Its loss is at most ``d_out``.

    Raises:
        ParameterError: If no parameter, or every one, meets the target.

    Example:
        >>> import opendp_lite as dp
        >>> found = dp.calibrate(lambda s: dp.count() >> dp.laplace(scale=s), d_out=0.5)
        >>> found.map(1)
        0.5
    """

    def fits(value: float) -> bool:
        return make(value).check(d_in, d_out)

    whole = bounds is not None and all(isinstance(bound, int) for bound in bounds)
    low, high = _bracket(fits) if bounds is None else bounds
    if not low < high:
        raise ParameterError(f"calibrate: bounds must rise, got {low} and {high}")
    rising = fits(low)
    if rising == fits(high):
        outcome = "meets" if rising else "misses"
        raise ParameterError(
            f"calibrate: the loss {outcome} d_out = {d_out} at both {low} and {high}; "
            "widen the bounds or change the target"
        )
    good, bad = (low, high) if rising else (high, low)
    while abs(good - bad) > (1 if whole else _PRECISION * abs(good)):
        middle = (good + bad) // 2 if whole else (good + bad) / 2
        if middle in (good, bad):
            break
        if fits(middle):
            good = middle
        else:
            bad = middle
    return make(good)


def _bracket(fits: Callable[[float], bool]) -> tuple[float, float]:
    """Two positive numbers of which one meets the target and one does not."""
    low = high = 1.0
    start = fits(1.0)
    for _ in range(_DOUBLINGS):
        low, high = low / 2, high * 2
        if fits(high) != start:
            return high / 2, high
        if fits(low) != start:
            return low, low * 2
    raise ParameterError("calibrate: no parameter above 0 changes whether the target is met")
