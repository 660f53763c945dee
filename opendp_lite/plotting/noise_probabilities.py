"""The law of a mechanism's noise, with the interval that holds it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opendp_lite.core import Private
from opendp_lite.errors import SpaceError
from opendp_lite.exact import Number, confidence_of, nearest, round_up
from opendp_lite.plotting.canvas import WIDE, axes_of, dressed, per, percent, shade, with_unit
from opendp_lite.plotting.palette import line_style, marked_style
from opendp_lite.samplers.law import Law

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS: Final = 401
_FEW_STEPS: Final = 120
_REACH: Final = 1.6
"""The picture is so many times as wide as the interval."""


def noise_probabilities(
    pipeline: Private[Any, Any, Any],
    *,
    confidence: Number = 0.95,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws how probable each noise is, and how far off a release may be.

    The probabilities are exact: they are those that the sampler draws from. No data is read.

    Args:
        pipeline: One that ends in additive noise. What follows the noise is not drawn.
        confidence: The noise lies within the drawn interval with this probability.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Each different law of a composed release has a line. Where few values are possible
        the line shows a probability for each. Where there are many it shows the density: the
        probability of a value over the distance to the next.

    Raises:
        SpaceError: If the mechanism does not declare the law of its noise.
        ParameterError: If matplotlib is not installed, or ``confidence`` is no probability.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.noise_probabilities(dp.count() >> dp.laplace(epsilon=1), unit="rows")
        >>> ax.get_xlabel()
        'noise (rows)'
    """
    laws = list(dict.fromkeys(pipeline.bound.facts.laws))
    if not laws:
        raise SpaceError(
            "noise_probabilities is for pipelines that end in noise of a declared law, such as "
            f"dp.laplace(epsilon=1); {pipeline!r} declares none"
        )
    share = confidence_of(confidence, "noise_probabilities: confidence")
    widths = [law.half_width(1 - share) for law in laws]
    reach = _REACH * float(max(widths))
    steps = [_steps(law, reach) for law in laws]
    whole = all(len(each) <= _FEW_STEPS for each in steps)
    axes = axes_of(ax, WIDE)
    for place, (law, width, each) in enumerate(zip(laws, widths, steps, strict=True)):
        _draw(axes, place, law, each, whole)
        style, bound = line_style(place), round_up(width)
        words = f"at least {percent(nearest(share))} within ±{bound:.4g}"
        filled: dict[str, Any] = {"color": style["color"], "alpha": shade(axes), "linewidth": 0}
        axes.axvspan(-bound, bound, label=words, **filled)
        for end in (-bound, bound):
            axes.axvline(end, color=style["color"], linestyle=":", linewidth=1)
    axes.set_ylim(bottom=0)
    seen = "probability" if whole else with_unit("probability density", per(unit))
    title = "Noise of the release"
    return dressed(axes, title, with_unit("noise", unit), seen, beside=True)


def _steps(law: Law, reach: float) -> Any:
    """Grid points from one end of the picture to the other: all of them where they are few."""
    last = max(int(reach / 2.0**law.exponent), 1)
    if 2 * last < _FEW_STEPS:
        return np.arange(-last, last + 1)
    return np.unique(np.linspace(-last, last, _POINTS).round())


def _draw(axes: Axes, place: int, law: Law, steps: Any, whole: bool) -> None:
    step = 2.0**law.exponent
    chances = np.exp(law.log_probability(steps.astype(np.float64), Fraction(0)))
    heights = chances if whole else chances / step
    deviation = f"standard deviation {law.standard_deviation:.4g}"
    if not whole:
        axes.plot(steps * step, heights, label=deviation, **line_style(place))
        return
    style = marked_style(place)
    axes.vlines(steps * step, 0, heights, color=style["color"], linewidth=1.5)
    axes.plot(steps * step, heights, label=deviation, **{**style, "linestyle": ""})
