"""How an estimator of one column works: as a mechanism, and as a simulation of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from opendp_lite.core import Mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import BoundedColumn
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.spaces import Space


class EstimatorPlan(ABC):
    """A mechanism that releases ``NoisyTotals``, and the same arithmetic with floats for noise."""

    column: BoundedColumn

    @abstractmethod
    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        """The mechanism, on rows that are in bounds."""

    @abstractmethod
    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        """So many releases of made-up data: not private, for planning."""


class OneRoundPlan(EstimatorPlan):
    """A plan whose noise is the same whatever the data: ``ratio`` says all of it."""

    @abstractmethod
    def ratio(self) -> RatioOfNoisySums:
        """How the total and the rows err, and how they become a mean."""

    def rows(self, scenario: Scenario) -> float:
        """The number of rows before noise."""
        return scenario.rows

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        ratio, rows = self.ratio(), self.rows(scenario)
        total, off = ratio.errors.draw(runs, generator)
        return NoisyTotals(ratio, rows * (scenario.mean - ratio.about) + total, rows + off)
