"""How the rows of public cells are estimated from noisy sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from opendp_lite.estimators.inference.parameters import Floats


class Reading(ABC):
    """The weights of the sums in the number of all rows and in totals over the cells.

    Args:
        edges: Of the cells, rising.
        middles: The numbers that the cells stand for.
        whole: The weights of the sums in the number of all rows.
    """

    edges: Floats
    middles: Floats
    whole: Floats

    @property
    def cells(self) -> int:
        """How many cells."""
        return len(self.middles)

    @abstractmethod
    def places_of(self, numbers: Floats) -> Any:
        """The place of the edge below each number."""

    @abstractmethod
    def total(self, values: Floats) -> Floats:
        """The weights in the total of values of shape (..., cells), of shape (..., terms)."""

    @abstractmethod
    def rising(self, sums: Floats) -> Floats:
        """The shares up to each edge from sums per row, made to rise from 0 to 1."""
