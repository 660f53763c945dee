"""Bounds on the l1, l2 and linf distances between two vectors, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import initialise
from opendp_lite.base.spelling import Storable, spellable
from opendp_lite.numbers.exact import Number, digits_up, exact, quote, round_up, sqrt_up


def _least(*bounds: Fraction | None) -> Fraction | None:
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None


def _sum(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return None if first is None or second is None else first + second


def _largest(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return None if first is None or second is None else max(first, second)


@spellable
@attrs.frozen(init=False, repr=False)
class Norms(Storable):
    """Upper bounds on the l1, l2 and linf norms of a difference of vectors, all at once.

    Laplace noise needs l1 and Gaussian noise needs l2, so one sum serves both. Fields are ``l1``,
    ``l2_squared`` and ``linf``, as exact rationals. Squares of l2 are kept since they are rational
    where l2 is not.

    Args:
        l1: A bound on the l1 norm, or None where nothing is known.
        l2: A bound on the l2 norm, or None.
        linf: A bound on the linf norm, or None.

    Raises:
        ParameterError: If no bound is given, or one is negative.

    Proof:
        Bounds that follow from the others are filled in: linf <= l2 <= l1 and l2^2 <= l1 linf.

    Example:
        >>> Norms(l1=2, linf=1)
        dp.Norms(l1=2.0, l2=1.4142135623730951, linf=1.0)
    """

    l1: Fraction | None
    l2_squared: Fraction | None
    linf: Fraction | None

    def __init__(
        self, l1: Number | None = None, l2: Number | None = None, linf: Number | None = None
    ) -> None:
        given = {
            name: None if value is None else exact(value, name)
            for name, value in (("l1", l1), ("l2", l2), ("linf", linf))
        }
        if any(bound is not None and bound < 0 for bound in given.values()):
            raise ParameterError(f"a norm is at least 0, got l1={l1}, l2={l2}, linf={linf}")
        square = None if given["l2"] is None else given["l2"] ** 2
        if all(bound is None for bound in given.values()):
            raise ParameterError("Norms needs at least one of l1, l2, linf")
        self._fill(given["l1"], square, given["linf"])

    def _fill(self, l1: Fraction | None, square: Fraction | None, linf: Fraction | None) -> None:
        product = None if l1 is None or linf is None else l1 * linf
        square = _least(square, None if l1 is None else l1 * l1, product)
        root = None if square is None else sqrt_up(square)
        initialise(self, l1=l1, l2_squared=square, linf=_least(linf, root, l1))

    @classmethod
    def squared(
        cls, l1: Fraction | None, l2_squared: Fraction | None, linf: Fraction | None
    ) -> Norms:
        """As the constructor, with the square of l2 given exactly."""
        norms = cls.__new__(cls)
        norms._fill(l1, l2_squared, linf)
        return norms

    @property
    def l2(self) -> float | None:
        """The l2 bound as a float, rounded up."""
        return None if self.l2_squared is None else round_up(sqrt_up(self.l2_squared))

    def __mul__(self, factor: Fraction | int) -> Norms:
        """The norms of a difference ``factor`` times as long."""
        size = abs(Fraction(factor))
        return Norms.squared(
            None if self.l1 is None else self.l1 * size,
            None if self.l2_squared is None else self.l2_squared * size * size,
            None if self.linf is None else self.linf * size,
        )

    def __add__(self, other: Norms) -> Norms:
        """The norms of a sum of two differences, by the triangle inequality."""
        root = _sum(self.of(2), other.of(2))
        return Norms.squared(
            _sum(self.l1, other.l1),
            None if root is None else root * root,
            _sum(self.linf, other.linf),
        )

    def beside(self, other: Norms) -> Norms:
        """The norms of two differences in different places of one vector."""
        return Norms.squared(
            _sum(self.l1, other.l1),
            _sum(self.l2_squared, other.l2_squared),
            _largest(self.linf, other.linf),
        )

    def or_else(self, other: Norms) -> Norms:
        """Bounds on either of two differences."""
        return Norms.squared(
            _largest(self.l1, other.l1),
            _largest(self.l2_squared, other.l2_squared),
            _largest(self.linf, other.linf),
        )

    def over(self, dimension: int) -> Norms:
        """Adds the bounds that hold in d dimensions: l2 <= sqrt(d) linf, l1 <= sqrt(d) l2."""
        square = _least(
            self.l2_squared, None if self.linf is None else dimension * self.linf * self.linf
        )
        root = None if square is None else sqrt_up(dimension * square)
        return Norms.squared(_least(self.l1, root), square, self.linf)

    def within(self, bound: Norms) -> bool:
        """Whether every norm that ``bound`` states is bounded here by at most as much."""
        pairs = ((self.l1, bound.l1), (self.l2_squared, bound.l2_squared), (self.linf, bound.linf))
        return all(
            theirs is None or (ours is not None and ours <= theirs) for ours, theirs in pairs
        )

    def of(self, p: float) -> Fraction | None:
        """The bound for p = 1, 2 or infinity, as a rational that is certainly not too small."""
        if p == 1:
            return self.l1
        if p == 2:
            return None if self.l2_squared is None else sqrt_up(self.l2_squared)
        if p == float("inf"):
            return self.linf
        raise ParameterError(f"p must be 1, 2 or infinity, got {quote(p)}")

    def spell(self) -> tuple[str, Mapping[str, object]]:
        """The public name and the bounds as floats, rounded up."""
        return "Norms", {name: round_up(bound) for name, bound in self._by_name().items()}

    def _by_name(self) -> dict[str, Fraction]:
        bounds = {"l1": self.l1, "l2": self.of(2), "linf": self.linf}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def __repr__(self) -> str:
        return f"dp.Norms({', '.join(f'{k}={round_up(v)}' for k, v in self._by_name().items())})"

    def __str__(self) -> str:
        # Then l2, which lies between the two, is the same.
        if self.l1 is not None and self.l1 == self.linf:
            return f"{digits_up(self.l1)} (l1, l2, linf)"
        return ", ".join(f"{k} {digits_up(v)}" for k, v in self._by_name().items())
