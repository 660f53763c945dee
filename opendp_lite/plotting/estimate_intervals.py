"""Released numbers with their intervals, below each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opendp_lite.by_group import ByGroup
from opendp_lite.by_name import ByName
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimates import Estimates
from opendp_lite.estimators.distributions.histogram_release import label
from opendp_lite.plotting.canvas import axes_of, dressed, ink, percent, with_unit
from opendp_lite.plotting.palette import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE: Final = 0.32
_FRAME: Final = 1.1
_WIDTH: Final = 6.0
_LEAST: Final = 3

Named = tuple[str, Estimate]


def estimate_intervals(
    release: Estimate | Estimates | ByGroup[Any] | ByName | Mapping[Any, Any],
    *,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws each released number as a dot on its interval: the means of groups, say.

    Args:
        release: An estimate, several of them, or estimates by group or by name. Ask for them with
            ``confidence=0.95`` when you release. Only the release is drawn.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, the first number at the top. Each interval holds by itself.

    Raises:
        ParameterError: If a number came without its interval, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> mean = dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=0.95)
        >>> survey = {"sex": ["f", "m"] * 500, "age": [30, 50] * 500}
        >>> found = (dp.table() >> dp.by("sex", ["f", "m"], mean))(survey)
        >>> ax = dp.plotting.estimate_intervals(found, unit="years")
        >>> [tick.get_text() for tick in ax.get_yticklabels()]
        ['f', 'm']
    """
    found = list(_named(release, ""))
    values = np.array([each.value for _, each in found])
    ends = np.array([each.interval for _, each in found]).reshape(-1, 2)
    axes = axes_of(ax, (_WIDTH, _FRAME + _LINE * max(len(found), _LEAST)))
    places, off = np.arange(len(found)), np.abs(ends.T - values)
    lines: dict[str, Any] = {"ecolor": BLUE, "elinewidth": 2, "capsize": 4, "capthick": 2}
    axes.errorbar(values, places, xerr=off, fmt="none", label="interval", **lines)
    axes.plot(values, places, "o", color=BLUE, markeredgecolor=ink(axes), label="released value")
    axes.set_yticks(places, [name for name, _ in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    confidences = sorted({each.confidence for _, each in found})
    shares = " and ".join(map(percent, confidences))
    title = f"Released values with {shares} intervals"
    return dressed(axes, title, with_unit("estimate", unit), "", legend=False)


@singledispatch
def _named(release: Any, name: str) -> Iterator[Named]:
    """The estimates in a release, each with its name."""
    what = f"the release {name!r}" if name else "the release"
    raise ParameterError(
        f"estimate_intervals: {what} is a {type(release).__name__} without an interval; add "
        "confidence=0.95 to the step when you release"
    )


@_named.register
def _one(release: Estimate, name: str) -> Iterator[Named]:
    yield name, release


@_named.register
def _several(release: Estimates, name: str) -> Iterator[Named]:
    names = release.names or tuple(map(str, range(len(release))))
    for own, each in zip(names, release, strict=True):
        yield _joined(name, own), each


@_named.register
def _mapped(release: Mapping, name: str) -> Iterator[Named]:  # type: ignore[type-arg]
    for key, each in release.items():
        yield from _named(each, _joined(name, label(key)))


def _joined(first: str, second: str) -> str:
    return f"{first}, {second}" if first else second
