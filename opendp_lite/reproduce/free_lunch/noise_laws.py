"""The two noises of the experiments, with their errors in closed form."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, pi, sqrt
from typing import Final

import attrs


@attrs.frozen
class ErrorPair:
    """The mean absolute and the root mean squared error, None if unknown."""

    absolute: float | None = None
    squared: float | None = None


@attrs.frozen
class NoiseLaw:
    """A noise and the privacy it serves.

    ``scale`` takes a sensitivity and a loss. ``errors`` takes the scales of two independent noises
    that add up to an error. ``share`` takes the width of the bounds over the sensitivity of a sum.
    It returns the share of the budget at which the noise of the sum is as large as the width times
    the noise of the count, which is the rule behind the printed table.
    """

    name: str
    option: str
    symbol: str
    loss: float
    scale: Callable[[float, float], float]
    errors: Callable[[float, float], ErrorPair]
    share: Callable[[float], float]


def _of_gaussian(first: float, second: float) -> ErrorPair:
    deviation = hypot(first, second)
    return ErrorPair(sqrt(2 / pi) * deviation, deviation)


def _of_laplace(first: float, second: float) -> ErrorPair:
    """E|X + Y| = (a^2 + a b + b^2) / (a + b) for scales a and b."""
    absolute = (first * first + first * second + second * second) / (first + second)
    return ErrorPair(absolute, sqrt(2) * hypot(first, second))


LAPLACE: Final = NoiseLaw(
    name="Laplace",
    option="epsilon",
    symbol="ε",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / loss,
    errors=_of_laplace,
    share=lambda widths: 1 / (1 + widths),
)
GAUSSIAN: Final = NoiseLaw(
    name="Gaussian",
    option="rho",
    symbol="ρ",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / sqrt(2 * loss),
    errors=_of_gaussian,
    share=lambda widths: 1 / (1 + widths**2),
)
