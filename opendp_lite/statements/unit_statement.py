"""Who or what the loss of a statement protects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import attrs

from opendp_lite.explain import TraceStep
from opendp_lite.metrics import RowMetric
from opendp_lite.statements.wording import begun
from opendp_lite.tables import Tables

_GROUP: Final = 5


@attrs.frozen
class UnitStatement:
    """Who or what the loss protects.

    Args:
        protected: "one row", say.
        neighbours: How two neighbouring datasets differ: "adding or removing one row", say.
        adjacency: Whether neighbours are bounded or unbounded.
        limit: How many rows of a person count; empty where nothing is said.
        question: What somebody who sees the release may ask.
        count: How many rows or people; None for values of another kind.
        group: The loss for five rows, in words; empty where the unit is not one row.
    """

    protected: str
    neighbours: str
    adjacency: str
    limit: str
    question: str
    count: int | None
    group: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The unit in words."""
        found = [
            f"{begun(self.protected)}.",
            f"Neighbouring datasets differ by {self.neighbours}. {self.adjacency}",
        ]
        if self.limit:
            found.append(f"Rows that count: {self.limit}.")
        if self.group:
            found.append(
                f"A person with several rows is protected less: with {_GROUP} rows the loss is "
                f"{self.group}."
            )
        return tuple(found)


def unit_of(measurement: Any, distance: Any) -> UnitStatement:
    """What a distance between inputs protects."""
    metric = measurement.input_space.metric
    return UnitStatement(
        protected=metric.protected(distance),
        neighbours=metric.words(distance),
        adjacency=metric.adjacency,
        limit=", ".join(dict.fromkeys(_limits(measurement.trace))),
        question=metric.question(distance),
        count=int(distance) if isinstance(distance, Fraction) else None,
        group=_group(measurement, distance),
    )


def _group(measurement: Any, distance: Any) -> str:
    """The loss for several rows, where one row is the unit."""
    if not isinstance(measurement.input_space.metric, RowMetric) or distance != 1:
        return ""
    loss = measurement.privacy_map(_GROUP * distance)
    return str(measurement.output_measure.words(loss))


def _limits(trace: Sequence[TraceStep]) -> Iterator[str]:
    """How many rows of a person count, wherever a step says so."""
    for each in trace:
        domain = None if each.space is None else each.space.domain
        if isinstance(domain, Tables) and domain.limit:
            yield domain.limit
