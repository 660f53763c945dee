"""The two noises of the experiments, and what they make of an error in closed form."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, pi, sqrt
from typing import Final

import attrs


@attrs.frozen
class Errors:
    """The mean absolute and the root mean squared error; None where there is none to be had."""

    absolute: float | None = None
    squared: float | None = None


@attrs.frozen
class Law:
    """A noise and the privacy it serves.

    ``scale`` takes a sensitivity and a loss; ``errors`` the scales of two independent noises that
    add up to an error; ``share`` the width of the bounds over the sensitivity of a sum, and gives
    the share of the budget at which the noise of the sum is as large as the width times that of
    the count: the rule behind the printed table.
    """

    name: str
    option: str
    symbol: str
    loss: float
    scale: Callable[[float, float], float]
    errors: Callable[[float, float], Errors]
    share: Callable[[float], float]


def _of_gaussian(first: float, second: float) -> Errors:
    deviation = hypot(first, second)
    return Errors(sqrt(2 / pi) * deviation, deviation)


def _of_laplace(first: float, second: float) -> Errors:
    """Because: E|X + Y| = (a^2 + a b + b^2) / (a + b) for scales a, b."""
    absolute = (first * first + first * second + second * second) / (first + second)
    return Errors(absolute, sqrt(2) * hypot(first, second))


LAPLACE: Final = Law(
    name="Laplace",
    option="epsilon",
    symbol="ε",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / loss,
    errors=_of_laplace,
    share=lambda widths: 1 / (1 + widths),
)
GAUSSIAN: Final = Law(
    name="Gaussian",
    option="rho",
    symbol="ρ",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / sqrt(2 * loss),
    errors=_of_gaussian,
    share=lambda widths: 1 / (1 + widths**2),
)
