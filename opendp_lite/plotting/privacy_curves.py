"""The (epsilon, delta) curves of pipelines, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opendp_lite.core import Private
from opendp_lite.exact import nearest
from opendp_lite.plotting.canvas import axes_of, dressed
from opendp_lite.plotting.palette import line_style
from opendp_lite.plotting.same_neighbours import same_neighbours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS: Final = 81
_LEAST: Final = 1e-9
"""The delta at the foot of the picture."""
_BELOW: Final = _LEAST / 1e3
"""Where curves that reach zero leave the picture."""
_ROOM: Final = 1.1


def privacy_curves(
    pipelines: Mapping[str, Private[Any, Any, Any]],
    *,
    d_in: object = 1,
    most: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the delta that holds at each epsilon, a line for each pipeline.

    A lower line protects better. Where lines cross, neither pipeline is better than the other. No
    data is read.

    Args:
        pipelines: By the names for the legend.
        d_in: How far apart neighbouring datasets are.
        most: The largest epsilon; by default where all deltas are below 1e-6.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, with a logarithmic delta from 1e-9 to 1. A line that leaves the picture at its
        foot goes on below; of a pure loss it reaches 0.

    Raises:
        ParameterError: If matplotlib is not installed, or if the pipelines have different
            neighbours: their losses then do not compare.

    Example:
        >>> import opendp_lite as dp
        >>> laplace, gaussian = dp.laplace(epsilon=1), dp.gaussian(rho=0.1)
        >>> both = {"Laplace": dp.count() >> laplace, "Gaussian": dp.count() >> gaussian}
        >>> ax = dp.plotting.privacy_curves(both)
        >>> ax.get_yscale(), len(ax.lines)
        ('log', 2)
    """
    neighbours = same_neighbours(pipelines, d_in, "privacy_curves")
    profiles = {name: each.privacy_profile(d_in) for name, each in pipelines.items()}
    last = max(map(_end, profiles.values())) * _ROOM if most is None else most
    axes = axes_of(ax)
    for place, (name, profile) in enumerate(profiles.items()):
        points = {Fraction(each) for each in np.linspace(0, last, _POINTS)}
        if profile.pure is not None:
            points |= {profile.pure * (1 - Fraction(1, 10**9)), profile.pure}
        epsilons = sorted(points)
        deltas = [max(nearest(profile.delta(each)), _BELOW) for each in epsilons]
        axes.plot(list(map(float, epsilons)), deltas, label=name, **line_style(place))
    axes.set_yscale("log")
    axes.set_ylim(_LEAST, 1.2)
    axes.set_xlim(0, last)
    return dressed(axes, f"Privacy curves: protects {neighbours}", "epsilon", "delta")


def _end(profile: Any) -> float:
    return nearest(profile.epsilon(max(Fraction(1, 10**6), profile.least_delta)))
