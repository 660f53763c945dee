"""A loss as its exact numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import described, plain
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.measure import Measure

Loss = Any
"""A rational, or a pair of them."""


@attrs.frozen(eq=False)
class LossOf:
    """The name of a query's loss, spelled out only where it is refused: columns may be many.

    Args:
        query: Whose loss it is.
        step: What comes before in the text.
    """

    query: object
    step: str = ""

    def __str__(self) -> str:
        return f"{self.step}the loss of {self.query!r}"


def numbers_of(loss: Loss) -> tuple[Fraction, ...]:
    """The numbers of a loss, without the curve that it may carry."""
    found = without_curve(loss)
    return found if isinstance(found, tuple) else (found,)


def like(measure: Measure[Any], numbers: tuple[Fraction, ...]) -> Loss:
    """Numbers as a loss of a measure."""
    return numbers if isinstance(measure.zero(), tuple) else numbers[0]


def checked_loss(loss: object, measure: Measure[Any], name: object) -> Loss:
    """A loss of a measure, without its curve; refused where it is none or is negative.

    Errors call it by the text of ``name``.
    """
    expected = numbers_of(measure.zero())
    given: tuple[Any, ...] = loss if isinstance(loss, tuple) else (loss,)
    exact = all(isinstance(each, Fraction | int) and not isinstance(each, bool) for each in given)
    if not exact or len(given) != len(expected):
        raise ParameterError(
            f"{name} must be an exact loss under {measure!r}, {len(expected)} rational number"
            f"{'s' if len(expected) > 1 else ''}; got {described(loss)}"
        )
    numbers = tuple(map(plain, given))
    if min(numbers) < 0:
        raise ParameterError(f"{name} must be at least 0")
    return like(measure, numbers)


def exact_loss(loss: object, measure: Measure[Any], name: object) -> Loss:
    """As ``checked_loss``, with the curve that the loss carries.

    A loss that combinators add up goes through it: a sum of floats may be rounded down.
    """
    found = checked_loss(loss, measure, name)
    return found if without_curve(loss) is loss else loss
