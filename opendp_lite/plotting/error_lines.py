"""Lines of errors, which the pictures of estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opendp_lite.errors import ParameterError
from opendp_lite.estimators.one_column.expected_error import expected_error
from opendp_lite.exact import Number, exact, nearest
from opendp_lite.plotting.palette import marked_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_errors(
    axes: Axes,
    estimators: Mapping[str, Any],
    places: Sequence[float],
    error_at: Callable[[Any, float], float],
) -> None:
    """A line for each estimator: its error at each place."""
    for turn, (name, estimator) in enumerate(estimators.items()):
        errors = [error_at(estimator, each) for each in places]
        axes.plot(places, errors, label=name, **marked_style(turn))


def rising(given: Iterable[Number], name: str) -> list[float]:
    """Numbers in order, at least two.

    Raises:
        ParameterError: If there are fewer.
    """
    found = sorted({nearest(exact(each, name)) for each in given})
    if len(found) <= 1:
        raise ParameterError(f"{name} needs two numbers or more to draw a line, got {found}")
    return found


def noise_error(estimator: Any, n: float, guess: Number, spread: Number) -> float:
    """As ``expected_error``, for a number of rows that may come as a float."""
    return expected_error(estimator, n=int(n), guess=guess, spread=spread)
