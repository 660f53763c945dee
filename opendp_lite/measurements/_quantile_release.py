"""What becomes of the rows: the cells that are chosen, as numbers or with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np

from opendp_lite.engines.fold import Floats
from opendp_lite.estimates import Estimates
from opendp_lite.exact import format_number
from opendp_lite.measurements._quantile_interval import IntervalLaw
from opendp_lite.measurements._quantile_lines import SortedLine
from opendp_lite.measurements._quantile_places import Places
from opendp_lite.measurements._quantile_tree import Branch, Prices, cells_by_parts
from opendp_lite.measures.bounded_range import BoundedRangeProfile
from opendp_lite.measures.profile import ConcentratedProfile, Profile
from opendp_lite.measures.pure_concentrated import PureConcentratedProfile
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.rank_choice import RankLaw


class Chooser(ABC):
    """How the cells of all wanted quantiles of one column are chosen."""

    @classmethod
    @abstractmethod
    def cells_of_columns(
        cls, choosers: Any, places: Places, data: Any, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        """The cells of each column, in order.

        Args:
            choosers: Of this class: one for all columns, or one for each.
            places: Where they are looked for.
            data: Of all columns.
            columns: How many there are.
            entropy: Where the random words come from.
        """

    @abstractmethod
    def curves(self, rows: Fraction) -> list[Profile]:
        """The curves of the losses of all choices, for so many rows."""

    @abstractmethod
    def why(self) -> list[str]:
        """Why they are chosen so: lines for ``explain()``."""


@attrs.frozen
class Alone(Chooser):
    """Each quantile is chosen on all rows.

    Args:
        laws: How each is chosen.
        reach: The range of the loss of each choice, for one row.
    """

    laws: tuple[RankLaw, ...]
    reach: Fraction

    @classmethod
    def cells_of_columns(
        cls, choosers: Any, places: Places, data: Any, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        lines = places.lines
        found = [
            type(lines[0]).choose_each(lines, data, laws, columns, entropy)
            for laws in zip(*(chooser.laws for chooser in choosers), strict=True)
        ]
        return [sorted(cells) for cells in zip(*found, strict=True)]

    def curves(self, rows: Fraction) -> list[Profile]:
        return [BoundedRangeProfile(self.reach * rows)] * len(self.laws)

    def why(self) -> list[str]:
        if len(self.laws) == 1:
            return []
        return [f"each of {len(self.laws)} quantiles is chosen on all rows, for an even part"]


@attrs.frozen
class ByParts(Chooser):
    """One quantile is chosen, then those on either side of it on their rows alone.

    Args:
        root: The choices.
        count: How many quantiles are wanted.
        pure: The pure loss for one row, if the choices were made for one.
        rho: The zCDP loss for one row: which choices a row takes part in depends on those before.
    """

    root: Branch
    prices: Prices
    count: int
    pure: Fraction | None
    rho: Fraction

    @classmethod
    def cells_of_columns(
        cls, choosers: Any, places: Places, data: Any, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        return [
            choosers[column % len(choosers)]._cells(places.line(column), data[column], entropy)
            for column in range(columns)
        ]

    def _cells(self, line: SortedLine, data: Any, entropy: Entropy) -> list[int]:
        """The cells of one column."""
        rows = line.placed(data, entropy)
        return cells_by_parts(self.root, self.prices, rows, self.count, entropy)

    def curves(self, rows: Fraction) -> list[Profile]:
        rho = self.rho * rows * rows
        if self.pure is None:
            return [ConcentratedProfile(rho)]
        return [PureConcentratedProfile(self.pure * rows, rho)]

    def why(self) -> list[str]:
        lines = [
            f"{self.count} quantiles are found by recursion: one, then those on either side of it",
            f"  a row takes part in at most {self.root.depth} choices, in place of {self.count}",
        ]
        if any(part.counted for part in self.root.parts()):
            lines.append("  noisy counts of the rows below a cut correct the quantiles beside it")
        return lines


@attrs.frozen
class ReleaseShape:
    """How a release of the distinct quantiles is given back, as numpy shapes it.

    Args:
        order: For each quantile that was asked for, which of the distinct ones it is.
        several: Whether a list of quantiles was given.
    """

    order: tuple[int, ...]
    several: bool

    def numbers(self, found: Floats) -> Any:
        """From a row for each distinct quantile and a column for each column."""
        shaped = found[list(self.order)] if self.several else found[0]
        if found.shape[1] > 1:
            return shaped
        return shaped[:, 0] if self.several else float(shaped[0])

    def estimates(self, found: list[Estimates]) -> Any:
        """The same, from the estimates of each column."""
        if len(found) == 1:
            return found[0].taken(self.order) if self.several else found[0][0]
        rows = [tuple(column[i] for column in found) for i in self.order]
        return tuple(rows) if self.several else rows[0]


@attrs.frozen(eq=False)
class QuantileRelease:
    """The release of numbers: ``choosers`` has one chooser for all columns or one for each."""

    places: Places
    choosers: tuple[Chooser, ...]
    columns: int
    shape: ReleaseShape

    def __call__(self, value: Any, entropy: Entropy) -> Any:
        return self.shape.numbers(self.places.values(self.cells(value, entropy)).T)

    def cells(self, value: Any, entropy: Entropy) -> list[list[int]]:
        """The cells of each column's quantiles."""
        kind = type(self.choosers[0])
        return kind.cells_of_columns(self.choosers, self.places, value, self.columns, entropy)


@attrs.frozen(eq=False)
class EstimateRelease:
    """The release of estimates: ``laws`` has the laws of the intervals, as ``choosers`` has."""

    numbers: QuantileRelease
    laws: tuple[IntervalLaw, ...]
    confidence: float
    sampling: bool

    def __call__(self, value: Any, entropy: Entropy) -> Any:
        cells = self.numbers.cells(value, entropy)
        found = [self._estimates(value, j, each, entropy) for j, each in enumerate(cells)]
        return self.numbers.shape.estimates(found)

    def _estimates(self, value: Any, column: int, cells: list[int], entropy: Entropy) -> Estimates:
        """Those of one column. The intervals hold jointly, so each by itself."""
        line = self.numbers.places.line(column)
        law = self.laws[column % len(self.laws)]
        ends = np.array(law.intervals(line, value[column], cells, entropy))
        deviations = NormalDist().inv_cdf((1 + self.confidence) / 2)
        return Estimates(
            [line.value(cell) for cell in cells],
            (ends[:, 1] / 2 - ends[:, 0] / 2) / deviations,
            ends,
            ends,
            self.confidence,
            tuple(map(format_number, law.quantiles)),
            sampling=self.sampling,
        )
