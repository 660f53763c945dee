"""The shapes of noise that spends one budget unevenly over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, nearest, positive
from opendp_lite.plotting.canvas import WIDE, axes_of, dressed, with_unit
from opendp_lite.plotting.palette import line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POWERS: Final = {
    "no scaling": inf,
    "budget split evenly": 0.0,
    "least l1 error (p = 1)": 1.0,
    "least l2 error (p = 2)": 2.0,
}
_TURN: Final = np.linspace(0, 2 * np.pi, 201)


def noise_shapes(
    spreads: Sequence[Number] = (4, 1),
    *,
    rho: Number = 0.5,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws the noise of one budget in two columns, for the ways in which PLAN may scale them.

    Args:
        spreads: How far a row moves each of the two columns, or their standard deviations: public.
        rho: The budget of both columns together.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes: for each way the ellipse of one standard deviation. All of them lose ``rho``.

    Raises:
        ParameterError: If there are not two positive spreads, or if matplotlib is not installed.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, lemmas C.2 and C.3 and figure 6: column i of spread D
        is divided by s = D^(2/(p+2)) sqrt(sum D^(2p/(p+2))), which gives the noise the least p-th
        moment. Then sum (D / s)^2 = 1, so Gaussian noise of deviation s / sqrt(2 rho) loses rho.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.noise_shapes((4, 1))
        >>> ax.get_legend_handles_labels()[1][0]
        'no scaling'
    """
    given = np.array([nearest(positive(each, "noise_shapes: spreads")) for each in spreads])
    if given.shape != (2,):
        raise ParameterError(f"noise_shapes draws two columns, got {len(given)} spreads")
    loss = nearest(positive(rho, "rho"))
    axes = axes_of(ax, WIDE)
    for place, (name, power) in enumerate(_POWERS.items()):
        first, second = noise_deviations(given, power) / sqrt(2 * loss)
        axes.plot(first * np.cos(_TURN), second * np.sin(_TURN), label=name, **line_style(place))
    axes.set_aspect("equal")
    across, up = (with_unit(f"noise, column of spread {each:g}", unit) for each in given)
    axes.margins(0.08)
    title = f"One standard deviation of noise at rho = {loss:g}"
    return dressed(axes, title, across, up, beside=True)


def noise_deviations(spreads: Any, power: float) -> Any:
    """The scales s of columns at rho = 1/2, for the least moment of this power."""
    if isinf(power):
        return np.full(len(spreads), np.linalg.norm(spreads))
    shaped = spreads ** (2 / (power + 2))
    return shaped * np.linalg.norm(spreads / shaped)
