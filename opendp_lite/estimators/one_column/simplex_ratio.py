"""The mean from the two sums of a simplex release."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.calls import calls_in
from opendp_lite.errors import ParameterError
from opendp_lite.postprocessor import postprocessor, validator
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.sum import sum


def _suits(recipe: tuple[Any, ...], lower: float, upper: float) -> str | None:
    calls = calls_in(recipe)
    clamps, centres, augments, sums, counts = (
        [dict(call.arguments) for call in calls if call.is_of(step)]
        for step in (clamp, center, simplex_augment, sum, count)
    )
    if lower >= upper:
        return f"simplex_ratio: the lower bound, {lower}, must be below the upper, {upper}"
    if sums and clamps and not augments:
        return "simplex_ratio needs the two sums of simplex_augment(); put that before sum()"
    if counts:
        return "simplex_ratio needs the two sums of simplex_augment() >> sum(), not a count"
    clamped = clamps[-1] if clamps else {"lower": lower, "upper": upper}
    if (clamped["lower"], clamped["upper"]) == (lower, upper) or centres:
        return None
    found = f"{clamped['lower']}, {clamped['upper']}"
    return f"simplex_ratio({lower}, {upper}) follows clamp({found}); write simplex_ratio({found})"


@postprocessor
@validator(_suits)
def simplex_ratio(sums: Any, lower: float, upper: float) -> float:
    """The mean from noisy sums of (x - lower) and (upper - x).

    Args:
        sums: A release of ``clamp(lower, upper) >> simplex_augment() >> sum()`` with noise.
        lower: As in ``clamp``.
        upper: As in ``clamp``.

    Returns:
        lower + (upper - lower) m1 / (m1 + m2), inside the bounds, for the sums m1 and m2. The
        number of rows, (m1 + m2) / (upper - lower), counts as at least 1.

    Privacy:
        Costs nothing: it is post-processing.

    Proof:
        Free Lunch, section 4; the transformed-noise estimator of Kulesza, Suresh, Wang 2024.

    Example:
        >>> import opendp_lite as dp
        >>> dp.simplex_ratio(0, 10)([30.0, 70.0])
        3.0
    """
    width = float(upper) - float(lower)
    both = np.asarray(sums, dtype=np.float64)
    if both.shape != (2,):
        raise ParameterError(
            f"simplex_ratio needs the two sums of simplex_augment(), got shape {both.shape}"
        )
    first, second = float(both[0]), float(both[1])
    rows = max((first + second) / width, 1.0)
    return min(max(float(lower) + first / rows, float(lower)), float(upper))
