"""Examples of steps, which the tests of this package and the falsifiers try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import attrs

from opendp_lite.bodies.body import Body
from opendp_lite.metrics.distances import ChangeOneDistance, SymmetricDistance
from opendp_lite.spaces.domains import Domain, Rows
from opendp_lite.spaces.space import Space, records
from opendp_lite.spelling.description import description_of


@attrs.frozen(eq=False)
class Example:
    """A call of a step, and a space that it can be bound to."""

    space: Space[Domain]
    args: tuple[object, ...]
    kwargs: dict[str, Any]


def example(space: Space[Domain], *args: object, **kwargs: object) -> Example:
    """An example of a step: a space before it, and its parameters.

    Give ``@dp.stage`` or ``@dp.mechanism`` a function that lists some. It runs when somebody asks
    for them. The tests of the package take each example through its repr, JSON, pickling, and the
    falsifiers.

    Args:
        space: A space that the step can be bound to.
        *args: Parameters of the step.
        **kwargs: Parameters by name.

    Returns:
        The example.

    Example:
        >>> import opendp_lite as dp
        >>> Tables = dp.Space[dp.Rows]
        >>> @dp.stage(examples=lambda: [example(dp.records(), 5)])
        ... def floor(space: Tables, least: float) -> dp.Transformation[Tables, Tables]:
        ...     body = space.domain.body
        ...     return dp.row_map(space, lambda rows: rows.clip(least), body)
        >>> [each.args for each in examples_of(floor)]
        [(5,)]
    """
    return Example(space, args, kwargs)


def rows_in(body: Body, size: int | None = None) -> Space[Rows]:
    """The space of datasets in a body, for an example of a step that needs bounded rows.

    Args:
        body: Where each row lies.
        size: The number of rows, where it is public; rows are then replaced, not added.
    """
    metric = SymmetricDistance() if size is None else ChangeOneDistance()
    return Space(Rows(body.columns, size, body), metric, unit=metric.distance(1))


def sized_rows(columns: int | Sequence[str] = 1, size: int = 20) -> Space[Rows]:
    """The space of so many rows, of which one may be replaced, for an example."""
    return records(columns, size=size, metric=ChangeOneDistance())


def examples_of(step: Callable[..., object]) -> tuple[Example, ...]:
    """The examples of a public function; empty where it has none."""
    return tuple(cast(Sequence[Example], description_of(step).examples()))
