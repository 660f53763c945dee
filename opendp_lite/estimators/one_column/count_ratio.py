"""The mean from a noisy sum and the number of rows, noisy or public."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.calls import calls_in
from opendp_lite.combinators.compose import compose, composed_parts
from opendp_lite.postprocessor import postprocessor, validator
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count


def _suits(recipe: tuple[Any, ...], lower: float, upper: float, middle: float = 0) -> str | None:
    """Refuses bounds, steps or a centre that do not belong to the release."""
    calls = calls_in(recipe)
    composed = next((call for call in calls if call.is_of(compose)), None)
    if lower >= upper:
        return f"count_ratio: the lower bound, {lower}, must be below the upper, {upper}"
    if composed is None:
        return (
            "count_ratio needs a sum and a count: dp.compose(... >> sum() >> ..., count() >> ...)"
        )
    parts = composed_parts(composed)
    counts = len(parts) == 2 and any(call.is_of(count) for call in parts[1].calls[-2:-1])
    if not counts:
        return "count_ratio needs a composition of a sum and a count, in this order"
    before = [*calls[: calls.index(composed)], *parts[0].calls]
    centre = [dict(c.arguments)["middle"] for c in before if c.is_of(center)]
    if len(centre) == 1 and centre[0] != middle:
        return f"count_ratio follows center({centre[0]}): write middle={centre[0]}"
    return None


@postprocessor
@validator(_suits)
def count_ratio(sum_and_count: Any, lower: float, upper: float, middle: float = 0) -> float:
    """The mean from a noisy sum of (x - middle) and a noisy count.

    Args:
        sum_and_count: A release of ``compose(clamp(lower, upper) >> center(middle) >> sum() >>
            noise, count() >> noise)``.
        lower: As in ``clamp``.
        upper: As in ``clamp``.
        middle: As in ``center``; 0 without it.

    Returns:
        middle + sum / count, inside the bounds. A count below 1 counts as 1.

    Privacy:
        Costs nothing: it is post-processing.

    Proof:
        The mean of x is the middle plus the mean of x - middle.

    Example:
        >>> count_ratio(0, 10, middle=5)([[-8.0], 4.0])
        3.0
    """
    total, rows = _sum_and_count(sum_and_count)
    return _inside(float(middle) + total / max(rows, 1.0), lower, upper)


@postprocessor
def size_ratio(sums: Any, size: int, lower: float, upper: float) -> float:
    """The mean from a noisy sum and a public number of rows.

    Args:
        sums: A release of ``clamp(lower, upper) >> sum() >> noise`` under ``ChangeOneDistance``.
        size: The declared number of rows.
        lower: As in ``clamp``.
        upper: As in ``clamp``.

    Returns:
        sum / size, inside the bounds.

    Privacy:
        Costs nothing: it is post-processing.

    Proof:
        The number of rows is public, so the noise of the sum is the only noise.

    Example:
        >>> size_ratio(4, 0, 10)([12.0])
        3.0
    """
    return _inside(_one(sums) / size, lower, upper)


def _sum_and_count(release: Any) -> tuple[float, float]:
    total, rows = release
    return _one(total), _one(rows)


def _one(value: Any) -> float:
    return float(np.asarray(value, dtype=np.float64).reshape(()))


def _inside(mean: float, lower: float, upper: float) -> float:
    return min(max(mean, float(lower)), float(upper))
