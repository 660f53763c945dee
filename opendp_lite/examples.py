"""Examples that a step carries: what its tests, its JSON and its tables are made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from opendp_lite.bodies.body import Body
from opendp_lite.domains import Rows
from opendp_lite.metrics import ChangeOneDistance, SymmetricDistance
from opendp_lite.spaces import Space

F = TypeVar("F", bound=Callable[..., Any])


@attrs.frozen(eq=False)
class Example:
    """A call of a step, and a space that it can be bound to."""

    space: Space[Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def example(space: Space[Any], *args: Any, **kwargs: Any) -> Callable[[F], F]:
    """Gives a step an example: a space before it, and its parameters.

    Put it above ``@dp.stage`` or ``@dp.mechanism``. The tests of the package take each step's
    examples through its repr, JSON, pickling, and the falsifiers.

    Args:
        space: A space that the step can be bound to.
        *args: Parameters of the step.
        **kwargs: Parameters by name.

    Returns:
        A decorator of the step.

    Example:
        >>> import opendp_lite as dp
        >>> [each.args for each in dp.clamp.examples]
        [(0, 10), ([0, -1], [1, 2.5]), (0, 0.75)]
    """

    def add(step: F) -> F:
        marked: Any = step
        marked.examples = (Example(space, args, kwargs), *getattr(step, "examples", ()))
        return step

    return add


def rows_in(body: Body, size: int | None = None) -> Space[Rows]:
    """The space of datasets in a body, for an example of a step that needs bounded rows.

    Args:
        body: Where each row lies.
        size: The number of rows, where it is public; rows are then replaced, not added.
    """
    metric = SymmetricDistance() if size is None else ChangeOneDistance()
    return Space(Rows(body.columns, size, body), metric, unit=metric.distance(1))


def examples_of(step: object) -> tuple[Example, ...]:
    """The examples of a public function; empty where it has none."""
    found: tuple[Example, ...] = getattr(step, "examples", ())
    return found
