"""Exact numbers: what a sum or a count hands to the step after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from sys import float_info
from typing import Any, Final

import attrs
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

# Powers of two up to this are floats that scale as ``ldexp`` does, and faster.
_SCALES: Final = 1022


Steps = NDArray[Any]
"""Whole numbers: int64, or Python's; float64 for what a person handed over."""


@attrs.frozen(eq=False, repr=False)
class Grid(NDArrayOperatorsMixin):
    """Exact numbers, each a whole number of steps of ``2^exponent``.

    Every step after ``sum()``, ``count()``, ``dp.vector()`` or ``dp.scalar()`` is given one. It
    works like a numpy array of floats, in the units of the data: ``value * 2``, ``value @ matrix``
    and every function of numpy, such as ``numpy.sum(value)``, give floats. For a method of arrays
    write ``value.floats.round()``. A slice, such as ``value[::-1]``, stays exact.

    Args:
        steps: An array of shape ``(dimension,)``: int64, Python integers where int64 is not
            certainly enough, or float64 for vectors that a person handed over.
        exponent: The numbers are ``steps * 2^exponent``. It is 0 for float64.

    Example:
        >>> value = Grid(np.array([3, 4]), -1)
        >>> value[::-1], value.floats, value.exact
        (Grid([2.0, 1.5]), array([1.5, 2. ]), (Fraction(3, 2), Fraction(2, 1)))
        >>> value * 2, value.shape
        (array([3., 4.]), (2,))
    """

    steps: Steps
    exponent: int

    @property
    def shape(self) -> tuple[int, ...]:
        """``(dimension,)``."""
        return self.steps.shape

    @property
    def floats(self) -> NDArray[np.float64]:
        """The numbers as floats, each correctly rounded."""
        kind = self.steps.dtype.kind
        if kind == "f":
            return self.steps
        if kind == "O":
            return np.array([_scale(step, self.exponent) for step in self.steps], dtype=np.float64)
        if abs(self.exponent) > _SCALES:
            return np.ldexp(self.steps.astype(np.float64), self.exponent)
        return np.multiply(self.steps, 2.0**self.exponent, dtype=np.float64)

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The numbers as rationals. NaN counts as 0, and infinity as the largest float."""
        unit = Fraction(2) ** self.exponent
        steps = np.nan_to_num(self.steps) if self.steps.dtype == np.float64 else self.steps
        return tuple(Fraction(step) * unit for step in steps.tolist())

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[float]:
        return iter(self.floats.tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self.steps[index]
        if isinstance(found, np.ndarray):
            return attrs.evolve(self, steps=found)
        return self[[index]].floats[0]

    def __float__(self) -> float:
        (number,) = self.floats.tolist()
        return float(number)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Steps:
        return np.array(self.floats, dtype=dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **named: object
    ) -> object:
        plain = [each.floats if type(each) is Grid else each for each in inputs]
        return getattr(ufunc, method)(*plain, **named)

    def __matmul__(self, other: Any) -> Any:
        return self.floats @ other

    def __repr__(self) -> str:
        return f"Grid({self.floats.tolist()})"


@attrs.frozen(eq=False, repr=False)
class Grids(Sequence[Grid]):
    """Grids of one dimension and one exponent, of which each is a row of one array of steps."""

    steps: Steps
    exponent: int

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        return Grid(self.steps[place], self.exponent)

    def join(self) -> Grid:
        """All of them, one after another."""
        return Grid(self.steps.reshape(-1), self.exponent)


def _scale(step: int, exponent: int) -> float:
    """step * 2^exponent; the largest float where that is beyond floats."""
    try:
        return step / (1 << -exponent) if exponent < 0 else float(step << exponent)
    except OverflowError:
        # Not by ``copysign``, for which the step itself may be beyond floats.
        return float_info.max if step > 0 else -float_info.max
