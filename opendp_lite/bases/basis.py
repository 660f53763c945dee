"""The base class of all bases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import fields_of
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable, spellable
from opendp_lite.bodies.points import Points
from opendp_lite.engines.data.fold import Floats
from opendp_lite.numbers.exact import (
    Number,
    exact,
    format_number,
    nearest,
    positive,
    quote,
    rational_of_float,
    whole,
)
from opendp_lite.numbers.norms import Norms

CELLS: Final = 2**14
"""How many cells a smooth basis has."""
MOST_TERMS: Final = 64
MOST_CELLS: Final = 512
_FEWEST_TERMS: Final = 2
_LARGEST_ENTRY: Final = 1e100
_NARROWEST: Final = 1e-100


def to_float(value: Fraction) -> Fraction:
    """The rational that the nearest float stands for. Edges and a repr can hold no more digits."""
    close = nearest(value)
    return rational_of_float(close) if isfinite(close) else value


def lower_bound(value: Number) -> Fraction:
    """A public number."""
    return to_float(exact(value, "lower"))


def upper_bound(value: Number) -> Fraction:
    """A public number."""
    return to_float(exact(value, "upper"))


def public_scale(value: Number) -> Fraction:
    """A public number above 0."""
    return to_float(positive(value, "scale"))


def middle_shares(cells: int) -> Floats:
    """Where the middles of so many cells of [0, 1] lie."""
    shares: Floats = (np.arange(cells) + 0.5) / cells
    return shares


def number_of_terms(value: int) -> int:
    """How many functions, from 2 to 64."""
    return at_most(whole(value, "terms", least=_FEWEST_TERMS), "terms", MOST_TERMS)


def at_most(value: int, name: str, most: int) -> int:
    """A public number, refused where it is larger."""
    if value > most:
        raise ParameterError(f"{name} must be at most {most}, got {quote(value)}")
    return value


def power_of_two(value: int, name: str) -> int:
    """A power of two from 2 to 512."""
    found = whole(value, name, least=_FEWEST_TERMS)
    if found & (found - 1) or found > MOST_CELLS:
        raise ParameterError(
            f"{name} must be a power of two from 2 to {MOST_CELLS}, got {quote(found)}"
        )
    return found


def edges_between(name: str, ends: tuple[Fraction, Fraction], shares: Floats) -> Floats:
    """The edges that lie at these shares of an interval, refused where floats cannot rise so."""
    lower, upper = map(nearest, ends)
    if max(abs(lower), abs(upper)) <= _LARGEST_ENTRY and upper - lower >= _NARROWEST:
        edges = lower + (upper - lower) * shares
        if (np.diff(edges) > 0).all():
            return edges
    first, last = map(format_number, ends)
    if ends[0] >= ends[1]:
        advice = "they are equal" if first == last else "swap them"
        raise ParameterError(f"{name}: lower must be below upper, got {first}, {last}; {advice}")
    raise ParameterError(
        f"{name}: floats from {first} to {last} make no {len(shares) - 1} cells; "
        "bounds may not be too close together for their size, nor closer "
        f"than {_NARROWEST:g}, nor beyond {_LARGEST_ENTRY:g}"
    )


class Basis(Storable, ABC):
    """Orthonormal functions on an interval that is cut into public cells.

    The functions are orthonormal under the uniform distribution on [0, 1], to which the interval is
    scaled. A number stands for the middle of its cell. A number beyond the bounds counts in the
    outermost cell, and a missing one nowhere.

    ``l1``, ``l2`` and ``linf`` are the largest norms of the functions' values at one number,
    rounded up: the sensitivity of their sums under add/remove. ``replacing()`` has those of a
    difference. ``functions()`` has the values in the middle of each cell, and ``edges()`` the edges
    of the cells.

    Example:
        >>> import opendp_lite as dp
        >>> basis = dp.bases.Haar(4, 0, 8)
        >>> isinstance(basis, dp.bases.Basis), basis.terms, basis.edges()
        (True, 4, array([0., 2., 4., 6., 8.]))
    """

    def __attrs_post_init__(self) -> None:
        # Refuses an interval on which floats cannot rise from cell to cell.
        self.edges()

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many functions."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds of the interval."""

    @abstractmethod
    def functions(self) -> Floats:
        """The functions in the middle of each cell of [0, 1], shape (cells, terms)."""

    def weights(self) -> Floats:
        """What each function is multiplied by in the sums, 1 by default; see ``Weighted``."""
        return np.ones(self.terms)

    def edges(self) -> Floats:
        """The rising edges of the cells, one more than cells."""
        return self._at(np.linspace(0, 1, self.cells + 1))

    def _at(self, shares: Floats) -> Floats:
        """The edges that lie at these shares of the interval."""
        return edges_between(type(self).__name__, self.ends, shares)

    def middles(self) -> Floats:
        """The number that each cell stands for."""
        edges = self.edges()
        return (edges[1:] + edges[:-1]) / 2

    def points(self) -> Points:
        """The rows that the functions make, with their exact norms."""
        return _points(self)

    @property
    def l1(self) -> float:
        """The largest sum over the functions of their absolute values, rounded up."""
        return self.points().radius(1)

    @property
    def l2(self) -> float:
        """The largest root of the sum of their squares, rounded up."""
        return self.points().radius(2)

    @property
    def linf(self) -> float:
        """The largest absolute value of any function, rounded up."""
        return self.points().radius(float("inf"))

    def replacing(self) -> Norms:
        """Bounds on the norms of a difference of the functions' values at two numbers."""
        return self.points().diameters()

    def spell(self) -> tuple[str, Mapping[str, object]]:
        """The public name and its arguments."""
        return type(self).__name__, fields_of(self)

    def __repr__(self) -> str:
        texts = [
            f"{name}={format_number(value) if isinstance(value, Fraction) else value}"
            for name, value in fields_of(self).items()
        ]
        return f"{path_of(type(self))}({', '.join(texts)})"


@lru_cache(maxsize=8)
def _points(basis: Basis) -> Points:
    edges, table = basis.edges(), np.asarray(basis.functions(), dtype=np.float64)
    weights = np.asarray(basis.weights(), dtype=np.float64)
    shapes = (basis.cells + 1,), (basis.cells, basis.terms)
    if (edges.shape, table.shape) != shapes:
        raise ParameterError(
            f"{type(basis).__name__}: edges() and functions() must have the shapes {shapes[0]} and "
            f"{shapes[1]}, got {edges.shape} and {table.shape}"
        )
    if not (np.diff(edges) > 0).all() or not _NARROWEST <= np.abs(table).max() <= _LARGEST_ENTRY:
        raise ParameterError(
            f"{type(basis).__name__}: edges() must rise, and the largest of functions() must lie "
            f"from {_NARROWEST:g} to {_LARGEST_ENTRY:g}"
        )
    return Points.nearest_to(basis, edges[1:-1], table * weights)


class Bounded(Basis):
    """Functions on [lower, upper]."""

    lower: Fraction
    upper: Fraction

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper


class Smooth(Basis):
    """Functions on as many cells as a smooth basis has."""

    @property
    def cells(self) -> int:
        return CELLS


@attrs.frozen(repr=False)
class Interval(Smooth, Bounded):
    """So many functions on [lower, upper]."""

    terms: int = attrs.field(converter=number_of_terms)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)


def _cells(value: int) -> int:
    return power_of_two(value, "cells")


@attrs.frozen(repr=False)
class Stepped(Bounded):
    """As many functions as cells of [lower, upper]."""

    cells: int = attrs.field(converter=_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)

    @property
    def terms(self) -> int:
        return self.cells


def _basis(value: Basis) -> Basis:
    if not isinstance(value, Basis):
        raise ParameterError(
            f"Weighted needs a basis such as dp.bases.Cosine(24, 0, 100), got {quote(value)}"
        )
    return value


@spellable
@attrs.frozen(repr=False)
class Weighted(Basis):
    """Another basis, each function but the first divided by the root of its place.

    Function j counts 1 / sqrt(j) times as much, so the sums move less and need less noise. Its sum
    is multiplied by sqrt(j) when it is read. So coarse functions have less noise and fine ones
    more. Shares of rows, quantiles and moments get better by it, but for shares close to a bound.
    Fine detail of a density gets worse.

    Args:
        basis: With its functions from coarse to fine, ``Cosine(24, 0, 100)`` say.

    Proof:
        The norms are those of the weighted functions, exactly, as for every basis. A share below a
        number has coefficients of about 1 / j. Its noise is least where the weights are the roots
        of these.

    Example:
        >>> import opendp_lite as dp
        >>> plain = dp.bases.Cosine(24, 0, 100)
        >>> round(Weighted(plain).l2, 2), round(plain.l2, 2)
        (2.91, 6.86)
    """

    basis: Basis = attrs.field(converter=_basis)

    @property
    def terms(self) -> int:
        return self.basis.terms

    @property
    def cells(self) -> int:
        return self.basis.cells

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.basis.ends

    def edges(self) -> Floats:
        return self.basis.edges()

    def functions(self) -> Floats:
        return self.basis.functions()

    def weights(self) -> Floats:
        places: Floats = np.maximum(np.arange(self.terms), 1.0)
        return self.basis.weights() / np.sqrt(places)
