"""Reductions of blocks of rows, as values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Block = Callable[[Floats], Floats]
Summary = TypeVar("Summary")


class Scratch:
    """Buffers that live for one pass over the data, reused from block to block."""

    def __init__(self) -> None:
        self._buffers: dict[Hashable, NDArray[Any]] = {}

    def take(self, name: Hashable, shape: tuple[int, int]) -> Floats:
        """A float buffer of this shape; what it holds is left from the block before."""
        size = shape[0] * shape[1]
        held = self._buffers.get(name)
        if held is None or held.size < size:
            held = self._buffers[name] = np.empty(size)
        return held[:size].reshape(shape)


class Fold(ABC, Generic[Summary]):
    """A block gives a summary, two summaries merge into one.

    Both are exact, so merging is associative and commutative: the result is the same for every
    order and every cutting into blocks.
    """

    @abstractmethod
    def empty(self) -> Summary:
        """The summary of no rows."""

    @abstractmethod
    def summarise(self, block: Floats, scratch: Scratch) -> Summary:
        """The summary of a block of rows, which must not be written to."""

    @abstractmethod
    def merge(self, first: Summary, second: Summary) -> Summary:
        """The summary of both."""

    def fuses_with(self, function: Block) -> bool:
        """Whether this block function, coming just before, would change nothing."""
        return False
