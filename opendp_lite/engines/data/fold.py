"""Reductions of blocks of rows, as values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data import expressions

Floats = NDArray[np.float64]
Numeric = NDArray[Any]
"""An array of numbers, or of other values, whatever its type."""
Indices: TypeAlias = NDArray[np.intp]
Block = Callable[[Floats], Floats]
Given = TypeVar("Given")
Scalar = TypeVar("Scalar", bound=np.generic)
Summary = TypeVar("Summary")
# Floats in an array that makes malloc keep the memory of a release's working arrays.
_KEPT: Final = 2**20


def identity(value: Given) -> Given:
    """The value as it is."""
    return value


@cache
def keep_freed() -> None:
    """Lets malloc keep what is freed, up to 16 MB, by freeing an array of half as much at once.

    No page of it is touched. Without it glibc gives working arrays back to the system once they are
    freed, and the next ones wait for some hundred pages to be mapped and zeroed.
    """
    np.empty(_KEPT)


class AsTheyLie(ABC, Generic[Summary]):
    """A fold of arrays of any type of number and any strides, from which nothing is missing.

    What it finds is what the block functions and the fold that it stands for find, to the last bit.
    """

    @abstractmethod
    def part(self, piece: Numeric, *, seen: bool) -> Summary | None:
        """The summary of some rows, at least one; None where an entry is NaN.

        Args:
            piece: The rows.
            seen: Whether another fold has seen that no entry is NaN.
        """

    def express(
        self, values: Sequence[expressions.Expression], engine: expressions.Engine
    ) -> expressions.Expressed | None:
        """As ``Reduction.express``, of columns as they lie; None where it has no shorter words."""
        return None


class Reduction(ABC, Generic[Summary]):
    """A block gives a summary, two summaries merge into one.

    Both are exact, so merging is associative and commutative: the result is the same for every
    order and every cutting into blocks.
    """

    gathers: bool = False
    """Whether a summary holds rows, so that all may be too many for one machine."""

    def without_gathering(self, rows: Any, step: str) -> object:
        """Of a fold that gathers: what stands for the summary of rows on other machines.

        Args:
            rows: Those rows, as ``LazyRows``.
            step: Its name, for a refusal.
        """
        raise NotImplementedError

    def of_part(self, source: Any) -> Reduction[Summary]:
        """The same for one part of the rows, whose blocks come in their order; its ``Source``."""
        return self

    @abstractmethod
    def empty(self) -> Summary:
        """The summary of no rows."""

    @abstractmethod
    def summarise(self, block: Floats) -> Summary:
        """The summary of a block of rows, which must not be written to."""

    def as_they_lie(self, functions: Sequence[Block]) -> AsTheyLie[Summary] | None:
        """The same fold of what block functions make of rows, for rows as they lie.

        None where there is none that is faster than one function after another.
        """
        return None

    def merge(self, first: Summary, second: Summary) -> Summary:
        """The summary of both; where a fold does not say more, their sum."""
        one: Any = first
        both: Summary = one + second
        return both

    def summarise_groups(self, block: Floats, codes: Indices, groups: int) -> Any:
        """The summaries of a block's rows by their group; here one for each group that occurs.

        Args:
            block: Rows.
            codes: The group of each row, from 0.
            groups: How many groups there are.
        """
        order = np.argsort(codes, kind="stable")
        rows, at = block[order], codes[order]
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        ends = np.append(starts, len(at))[1:]
        return {
            int(at[start]): self.summarise(rows[start:end])
            for start, end in zip(starts, ends, strict=True)
        }

    def merge_groups(self, first: Any, second: Any) -> Any:
        """The summaries by group of both."""
        merged = dict(first)
        for group, summary in second.items():
            merged[group] = self.merge(merged[group], summary) if group in merged else summary
        return merged

    def each_group(self, summaries: Any, groups: int) -> Sequence[Summary]:
        """The summary of each group; ``summaries`` is None where there were no rows at all."""
        known: dict[int, Summary] = {} if summaries is None else summaries
        return [known[group] if group in known else self.empty() for group in range(groups)]

    def steps_of_groups(self, summaries: Any, groups: int) -> Numeric | None:
        """As ``each_group``, finished: a row of whole numbers each; None where it is no such."""
        return None

    def express(
        self, values: Sequence[expressions.Expression], engine: expressions.Engine
    ) -> expressions.Expressed:
        """Whole numbers that an engine computes of columns, which are all that is to be known.

        There are so many for each of some places. ``of_numbers`` makes summaries of them.
        """
        raise expressions.NoExpressionError("it is made of more than sums and counts")

    def of_numbers(
        self, codes: Indices, places: Indices, numbers: expressions.GroupNumbers, groups: int
    ) -> Any:
        """The summaries by group, of the numbers of the groups and places that occur."""
        raise NotImplementedError

    def by_groups(self) -> tuple[Any, AnyReduction, Sequence[Block]]:
        """Its ``Groups`` or None, the fold of each group, and the block functions before that."""
        return None, self, ()

    def fuses_with(self, function: Block) -> bool:
        """Whether this block function, coming just before, would change nothing."""
        return False


AnyReduction: TypeAlias = Reduction[Any]
"""A reduction, whatever its summaries are."""
