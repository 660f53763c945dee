"""The steps of PLAN on two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.answers import numbers_of
from opendp_lite.exact import Number, exact, nearest, whole
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.plotting.canvas import dressed, ink, new_axes, with_unit
from opendp_lite.plotting.palette import BLUE, GREEN, ORANGE
from opendp_lite.spaces import records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.sum import sum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS: Final = 4
_SIZE: Final = (7.6, 6.2)
_BITS: Final = 2**20
_ROOM: Final = 1.7
"""How many radii the third panel goes up, so that its legend stands above the circle."""

_TURN: Final = np.linspace(0, 2 * np.pi, 201)


def plan_steps(
    public_rows: ArrayLike,
    *,
    rho: Number = 0.5,
    kept: Number = 0.9,
    seed: int = 0,
    unit: str = "",
    ax: Sequence[Axes] | None = None,
) -> Sequence[Axes]:
    """Draws how PLAN brings rows of two columns to a private mean, in four panels.

    THE ROWS MUST BE PUBLIC OR MADE UP. They are drawn as they are, and nothing is protected. The
    centre, the spreads and the radius are exact here. ``dp.estimators.plan_mean`` estimates them in
    private, from the same budget.

    Args:
        public_rows: Rows of two columns that nobody needs to protect.
        rho: The budget of the sum.
        kept: The share of the rows that clipping leaves as they are.
        seed: Of the noise: the picture is the same at each call.
        unit: Of the values, such as "years".
        ax: Four pairs of axes; by default those of a new figure, two by two.

    Returns:
        The four pairs of axes: the rows with their mean, the rows centred and scaled, the clipped
        rows, and the rows with the noisy mean.

    Raises:
        ParameterError: If the rows are not finite pairs, if there are not four axes, or if
            matplotlib is not installed.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1 and figure 1, with p = 2.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> made_up = np.random.default_rng(0).normal([3, -1], [4, 1], (200, 2))
        >>> panels = dp.plotting.plan_steps(made_up)
        >>> [panel.get_title() for panel in panels][:2]
        ['(a) public rows', '(b) centred and scaled']
    """
    rows = numbers_of(public_rows, "plan_steps: public_rows")
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.isfinite(rows).all() or len(rows) <= 1:
        raise ParameterError(
            f"plan_steps: public_rows must be finite rows of two columns, got shape {rows.shape}"
        )
    panels = new_axes(2, 2, _SIZE).ravel() if ax is None else ax
    if len(panels) != _PANELS:
        raise ParameterError(f"plan_steps draws on four axes, got {len(panels)}")
    middle, shape = np.median(rows, axis=0), np.sqrt(rows.std(axis=0) + rows.std(axis=0).mean())
    shape = np.round(shape * _BITS) / _BITS
    scaled = (rows - middle) / shape
    lengths = np.linalg.norm(scaled, axis=1)
    radius = float(np.quantile(lengths, nearest(exact(kept, "plan_steps: kept"))))
    clipped = scaled * np.minimum(1, radius / np.maximum(lengths, radius / _BITS))[:, None]
    steps = center(tuple(middle)) >> scale(tuple(1 / shape)) >> clip_to_norm(radius) >> sum()
    space = records(columns=2, size=len(rows), metric=ChangeOneDistance())
    noisy = (space >> steps >> gaussian(rho=rho)).insecure_release(rows, whole(seed, "seed"))
    released = middle + shape * np.asarray(noisy.value) / len(rows)
    first, second, third, last = panels
    _dots(first, rows, BLUE, "rows")
    _spot(first, rows.mean(axis=0), "*", ORANGE, "mean of the rows")
    _dots(second, rows - middle, BLUE, "centred")
    _dots(second, scaled, ORANGE, "and scaled")
    _dots(third, clipped, ORANGE, "clipped")
    circle = radius * np.cos(_TURN), radius * np.sin(_TURN)
    third.plot(*circle, color=ink(third), linestyle="--", label="radius")
    _dots(last, rows, BLUE, "rows")
    _spot(last, rows.mean(axis=0), "*", ORANGE, "mean of the rows")
    _spot(last, released, "P", GREEN, "private mean")
    titles = ("(a) public rows", "(b) centred and scaled", "(c) clipped", "(d) private mean")
    of_rows = with_unit("first column", unit), with_unit("second column", unit)
    moved = "first column", "second column"
    labels = (of_rows, moved, moved, of_rows)
    for panel, title, (x, y) in zip(panels, titles, labels, strict=True):
        panel.set_aspect("equal", "datalim")
        dressed(panel, title, x, y)
    third.update_datalim([(0, _ROOM * radius)])
    third.autoscale_view()
    return panels


def _dots(axes: Axes, points: Any, color: str, name: str) -> None:
    marker = "o" if color == BLUE else "x"
    axes.plot(*points.T, marker, color=color, markersize=3, alpha=0.5, label=name)


def _spot(axes: Axes, point: Any, marker: str, color: str, name: str) -> None:
    style: dict[str, Any] = {"color": color, "markersize": 13, "markeredgecolor": ink(axes)}
    axes.plot(*point, marker, label=name, zorder=5, **style)
