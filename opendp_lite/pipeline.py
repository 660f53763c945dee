"""What every pipeline answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from opendp_lite import drawing
from opendp_lite.documents import write
from opendp_lite.explain import Explained, at_space


class Pipeline:
    """What can be asked of every pipeline, bound to a space or not."""

    __slots__ = ()
    __array_ufunc__ = None

    @property
    @abstractmethod
    def bound(self) -> Any:
        """The pipeline bound to a space."""

    @abstractmethod
    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The steps that ``>>`` joins."""

    def neighbours(self, d_in: object = 1) -> str:
        """Says what it is to be ``d_in`` apart: "adding or removing one row", say."""
        metric = self.bound.input_space.metric
        return str(metric.words(metric.distance(d_in)))

    def explain(self, d_in: object = 1) -> drawing.Explanation:
        """A line for each step: domain, metric, multiplier and distance; then the result."""
        return drawing.Explanation.of(self._explained(d_in))

    def draw(self, d_in: object = None) -> drawing.Drawing:
        """A picture for inputs ``d_in`` apart, by default one unit of privacy; prints as text."""
        return drawing.Drawing(self._drawn(d_in))

    def _repr_html_(self) -> str:
        return self.draw().in_notebook()

    def _drawn(self, d_in: object) -> Explained:
        return self._explained(self.bound.input_space.unit if d_in is None else d_in)

    def _explained(self, d_in: object) -> Explained:
        bound = self.bound
        distance = bound.input_space.metric.distance(d_in)
        steps = at_space(bound.input_space), *bound.trace
        return Explained(steps, distance, self.neighbours(d_in), *self._result_of(d_in))

    @abstractmethod
    def _result_of(self, d_in: object) -> tuple[str, str, str]:
        """What a pipeline comes to: of what kind, how much, and why."""

    def to_json(self) -> str:
        """The pipeline as JSON; ``dp.from_json`` reads it back."""
        return write(self)
