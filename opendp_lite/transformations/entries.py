"""Rows as functions of their entries: sizes, squares, norms, products, rotations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import inf
from operator import mul
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite import bodies
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies import Ball, Body, Box, Everything
from opendp_lite.bodies.body import Values, brief_body, drop_signs, each, products, total
from opendp_lite.engines.data.arrays import EntryMap, Layout
from opendp_lite.engines.data.expressions import Engine, Expression
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.sparse import row_totals
from opendp_lite.numbers.exact import Number, exact, nearest, positive, quote, sqrt_up, whole
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, rows_in, sized_rows
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.row_maps import plain_nan, row_by_row, row_map_trusted


@attrs.frozen(repr=False)
class OuterProduct:
    """A block function that multiplies the entries of each row, two by two."""

    def __call__(self, block: Floats) -> Floats:
        return plain_nan(products(block))


@stage(
    does="Replaces each row x by the products of its entries, the upper triangle of x x^T.",
    changes="A row with a missing entry becomes one with missing products.",
    proof=row_by_row(
        "r is the square of the largest l2 norm of a row before. Two outer "
        "products have an inner product of at least 0, so D is sqrt(2) r in l2."
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"])),
        example(rows_in(Box(-3, 2, columns=2))),
        example(rows_in(Ball(5, columns=3), size=20)),
    ],
)
def outer_products(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces each row x by the products of its entries, the upper triangle of ``x x^T``.

    A sum of them over the rows is what a covariance is made of. Put ``center`` and
    ``clip_to_norm`` before it.

    Returns:
        Rows of d (d + 1) / 2 entries for d columns: ``x[0] x[0], x[0] x[1], ..., x[1] x[1], ...``.
        Those of two different columns are times sqrt(2), so that the l2 norm of a row is the
        Frobenius norm of the matrix. After ``clip_to_norm(r)`` they lie in
        ``OuterProducts(r^2, d)``. A row with a missing entry becomes one with missing products.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> outer = dp.transformations.outer_products()
        >>> products = dp.records(columns=2) >> dp.clip_to_norm(5) >> outer
        >>> products(np.array([[3.0, 4.0], [1.0, -2.0]]))
        NotPrivate([[ 9.        , 16.97056275, 16.        ],
                    [ 1.        , -2.82842712,  4.        ]])
        >>> (products >> dp.sum()).map(1).l2
        25.0
    """
    return row_map_trusted(space, OuterProduct(), _multiply(space.domain.body))


def _multiply(body: Body) -> Body:
    radii = body.radii()
    if radii is None or radii.l2_squared is None:
        return Everything(body.columns * (body.columns + 1) // 2)
    return bodies.OuterProducts(radii.l2_squared, body.columns)


@attrs.frozen(repr=False)
class TimesWeight:
    """A block function from values and weights to weighted distances from both bounds."""

    lower: float
    upper: float
    most: float

    def __call__(self, block: Floats) -> Floats:
        value = np.clip(block[:, 0], self.lower, self.upper)
        weight = np.clip(block[:, 1], 0.0, self.most)
        out = np.empty((len(block), 2))
        np.multiply(weight, value - self.lower, out=out[:, 0])
        np.multiply(weight, self.upper - value, out=out[:, 1])
        return plain_nan(out)


@stage(
    does="Turns a value x and its weight w into the row (w (x - lower), w (upper - x)).",
    changes="Values and weights beyond their bounds count as the bound.",
    proof=row_by_row(
        "The points are a triangle with r = most (upper - lower) and D = 2 r in "
        "l1, sqrt(2) r in l2 (erratum 1.1.5).",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix A"],
    ),
    examples=lambda: [
        example(records(columns=2), -1, 3, most=2),
        example(sized_rows(2), 0, 10, most=2),
    ],
)
def weighted_pairs(
    space: Space[Rows], lower: Number, upper: Number, most: Number
) -> Transformation[Space[Rows], Space[Rows]]:
    """Turns a value x and its weight w into the row (w (x - lower), w (upper - x)).

    Args:
        lower: The lower bound of the values.
        upper: The upper bound of the values.
        most: The largest weight, above 0.

    Returns:
        Rows of two entries of at least 0. Their total over ``upper - lower`` is the weight. Values
        and weights beyond their bounds count as the bound. A row that lacks either is missing.

    Raises:
        ParameterError: If ``lower`` is not below ``upper``, or ``most`` is not above 0.
        SpaceError: If the rows have another number of columns than two.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> pairs = dp.records(columns=2) >> dp.transformations.weighted_pairs(0, 10, most=2)
        >>> pairs(np.array([[4.0, 0.5], [12.0, 3.0]]))
        NotPrivate([[ 2.,  3.],
                    [20.,  0.]])
    """
    low, high = exact(lower, "weighted_pairs: lower"), exact(upper, "weighted_pairs: upper")
    heaviest = positive(most, "weighted_pairs: most")
    if low >= high:
        raise ParameterError(f"weighted_pairs: lower must be below upper, got {lower}, {upper}")
    if space.domain.columns != 2:
        raise SpaceError(
            "weighted_pairs needs two columns, values and weights; the rows have "
            f"{space.domain.columns}. Put dp.select('pay', 'weight') >> before it, or start with "
            "dp.records(columns=2)"
        )
    ends = space.domain.body.bounds()
    if ends is not None and ends[1][-1] > 0:
        heaviest = min(heaviest, ends[1][-1])
    weighted = TimesWeight(nearest(low), nearest(high), nearest(heaviest))
    return row_map_trusted(space, weighted, bodies.Simplex(heaviest * (high - low), 2))


@attrs.frozen(repr=False)
class Augmented:
    """A block function that adds what is left of the total, or of the way to the upper bound."""

    lower: float
    upper: float
    total: float

    def __call__(self, block: Floats) -> Floats:
        out = np.empty((len(block), block.shape[1] + 1))
        np.subtract(block, self.lower, out=out[:, :-1])
        if block.shape[1] == 1:
            np.subtract(self.upper, block[:, 0], out=out[:, 1])
            return out
        np.copyto(out[:, -1], self.total)
        for column in range(block.shape[1]):
            out[:, -1] -= block[:, column]
        return plain_nan(out)


@stage(
    does=(
        "Adds a column with the distance to the bound, so that one sum holds the total and the "
        "count."
    ),
    changes="A row with a missing entry lacks the new one, too.",
    proof=row_by_row(
        "r = R in l1 and l2. Two points differ by at most 2 R in l1 and sqrt(2) R "
        "in l2 (errata 1.1.3 and 1.1.6).",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, sections 3 and 4"],
    ),
    examples=lambda: [
        example(rows_in(Box(-2, 5))),
        example(rows_in(bodies.NonNegativeBall(9, p=1, columns=3), size=20)),
    ],
)
def simplex_augment(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Adds a column with the distance to the bound, so that one sum holds the total and the count.

    Returns:
        From one column in [L, U], rows (x - L, U - x). From d non-negative columns of a total of at
        most R, rows (x_1, ..., x_d, R - sum x). Entries are at least 0 and a row sums to R, so the
        entries of a sum add up to R times the count. A row with a missing entry lacks the new one,
        too.

    Raises:
        SpaceError: If the rows are neither one column in bounds nor in a ``Simplex``.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 100) >> dp.simplex_augment())([20.0, 150.0])
        NotPrivate([[ 20.,  80.],
                    [100.,   0.]])
    """
    body = space.domain.body
    range_ = body.total_range()
    if range_ is None:
        raise SpaceError(
            "simplex_augment needs one column in bounds or non-negative columns of bounded total; "
            f"the rows lie in {brief_body(body)}. Put clamp(lower, upper) before it, on one column"
        )
    lower, total = range_
    augmented = Augmented(nearest(lower), nearest(lower + total), nearest(total))
    return row_map_trusted(space, augmented, bodies.Simplex(total, space.domain.columns + 1))


_ROUNDS = 3


class Rotation:
    """Three times: random signs, then the Walsh-Hadamard transform, over 2^k columns.

    The additions are elementwise and in a fixed order, so a row's image depends on the row alone.

    Example:
        >>> import numpy as np
        >>> import opendp_lite as dp
        >>> rotation = dp.transformations.Rotation(3, seed=1)
        >>> turned = rotation.forward(np.array([[1.0, 2.0, 3.0]]))
        >>> turned.shape, rotation.back(turned[0]).round(6)
        ((1, 4), array([1., 2., 3.]))
    """

    def __init__(self, columns: int, seed: int) -> None:
        self.columns = columns
        self.width = 1 << (columns - 1).bit_length()
        self._seed = seed

    @cached_property
    def _signs(self) -> Floats:
        generator = np.random.Generator(np.random.PCG64(self._seed))
        return generator.choice(np.array([-1.0, 1.0]), (_ROUNDS, self.width, 1))

    def forward(self, block: Floats) -> Floats:
        """The rotated rows."""
        upright = np.zeros((self.width, len(block)))
        upright[: self.columns] = block.T
        for signs in self._signs:
            upright = self._transform(upright * signs)
        return plain_nan(upright).T

    def back(self, row: Floats) -> Floats:
        """A row of the rotated space in the columns it came from."""
        upright = np.array(row, dtype=np.float64).reshape(self.width, 1)
        for signs in self._signs[::-1]:
            upright = self._transform(upright) * signs
        return upright[: self.columns, 0]

    def _transform(self, upright: Floats) -> Floats:
        half, rows = 1, upright.shape[1]
        while half < self.width:
            pairs = upright.reshape(self.width // (2 * half), 2, half, rows)
            both = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
            upright = both.reshape(self.width, rows)
            half *= 2
        found: Floats = upright / np.sqrt(self.width)
        return found


@stage(
    does="Rotates every row by a public random rotation, so that no column stands out.",
    changes="All entries of a row with a missing entry are missing.",
    proof=Proof(
        "Row by row, with a public seed. Signs and Hadamard matrix keep l2 norms.",
        adding="k",
        replacing="k",
        sources=["Ailon and Chazelle 2009"],
    ),
    examples=lambda: [example(records(columns=3), seed=5)],
)
def random_rotation(space: Space[Rows], seed: int = 0) -> Transformation[Space[Rows], Space[Rows]]:
    """Rotates every row by a public random rotation, so that no column stands out.

    ``Rotation(columns, seed).back`` undoes the rotation in a release.

    Args:
        seed: The seed of the rotation, a whole number. It is public and need not be secret.

    Returns:
        Rows of 2^k columns, the least power of two that is enough, with the same l2 norm. All
        entries of a row with a missing entry are missing.

    Raises:
        ParameterError: If ``seed`` is no whole number of at least 0.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rotation = dp.records(columns=3) >> dp.transformations.random_rotation()
        >>> rotated = rotation(np.array([[3.0, 0.0, 4.0]]))
        >>> rotated.shape, round(float(np.linalg.norm(rotated)), 6)
        ((1, 4), 5.0)
    """
    turn = Rotation(space.domain.columns, whole(seed, "seed"))
    radii = space.domain.body.radii()
    longest = None if radii is None else radii.of(2)
    body = Ball(longest, columns=turn.width) if longest else Everything(turn.width)
    return row_map_trusted(space, turn.forward, body)


@attrs.frozen(repr=False)
class Unsigned(EntryMap):
    """A block function that takes the absolute value of every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return np.abs(entries)


@stage(
    does="Replaces every entry by its absolute value.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [
        example(records()),
        example(sized_rows()),
        example(rows_in(Box([0, -5], [1, 1000]))),
    ],
)
def absolute(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every entry by its absolute value.

    Returns:
        Rows without negative entries. Each column's bounds follow from the bounds that it had
        before. After ``clip_to_norm`` the rows also keep their largest norm. Missing values stay
        missing.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.transformations.absolute() >> dp.clamp(0, 5) >> dp.sum())([-3.0, 1.0])
        NotPrivate([4.])
    """
    return row_map_trusted(space, Unsigned(), _drop_signs(space.domain.body), space.domain.names)


def _drop_signs(body: Body) -> Body:
    """The box of the entries' bounds, or a ball where that lets a sum move less."""
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None or body.non_negative():
        return body
    box = Box(*drop_signs(ends), body.columns)
    total, length = radii.of(1), radii.of(2)
    if length is None or length * length >= cast(Fraction, box.radii().l2_squared):
        return box
    if total is not None and total <= length:
        return bodies.NonNegativeBall(total, p=1, columns=body.columns)
    return bodies.NonNegativeBall(length, columns=body.columns)


@attrs.frozen(repr=False)
class Squared(EntryMap):
    """A block function that squares every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return plain_nan(np.square(entries))

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """The same of an engine's columns."""
        return [value * value for value in values]


@stage(
    does="Squares every entry, for example for a variance.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [
        example(records()),
        example(rows_in(Box(-3, 2))),
        example(rows_in(Box(5, 10), size=20)),
    ],
)
def square(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Squares every entry, for example for a variance.

    Returns:
        Non-negative rows. They lie in the box of the squared bounds of each column, or in a ball of
        the squared largest l2 norm where a sum then moves less. Missing values stay missing.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(-3, 2) >> dp.transformations.square())([-5.0, 1.0])
        NotPrivate([9., 1.])
    """
    domain = space.domain
    return row_map_trusted(space, Squared(), _square(domain.body), domain.names)


def _square(body: Body) -> Body:
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None:
        return Everything(body.columns)
    lower, upper = (each(mul, end, end) for end in drop_signs(ends))
    box, together = Box(lower, upper, body.columns), radii.l2_squared
    if together is not None and together * together < cast(Fraction, box.radii().l2_squared):
        return bodies.NonNegativeBall(together, p=1, columns=body.columns)
    return box


_BEYOND: Final = 2.0**1000


@attrs.frozen(repr=False)
class Lengths(EntryMap):
    """A block function that makes one column of the rows' norms."""

    p: float
    largest: float
    columns: int

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        totals = row_totals(entries, layout, self.p, self.columns)
        totals[totals >= _BEYOND] = inf
        lengths: Floats = np.minimum(np.sqrt(totals) if self.p == 2 else totals, self.largest)
        return lengths[:, None]


@stage(
    does="Replaces every row by its norm, in one column.",
    changes="A row with a missing entry has a missing norm.",
    proof=row_by_row(
        "The additions along a row have a fixed order, so a norm has the same "
        "bits wherever its row stands."
    ),
    examples=lambda: [example(records(columns=2)), example(sized_rows(2), p=1)],
)
def norm(space: Space[Rows], p: float = 2) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every row by its norm, in one column.

    Args:
        p: Which norm, 1 or 2.

    Returns:
        Rows of one number, between the smallest and the largest norm that the rows' bounds allow. A
        norm of 2^500 or more (2^1000 where ``p`` is 1) counts as the largest. A row with a missing
        entry has a missing norm. The last bits of a norm are rounded up, by at most 2^-34 of it, or
        by 2^-41 times the number of columns where that is more. One column keeps all bits.

    Raises:
        ParameterError: If ``p`` is neither 1 nor 2.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=2) >> dp.transformations.norm())(np.array([[3.0, 4.0], [0.0, 2.0]]))
        NotPrivate([5., 2.])
    """
    if p not in (1, 2):
        raise ParameterError(f"norm: p must be 1 or 2, got {quote(p)}")
    body = space.domain.body
    ends, radii = body.bounds(), body.radii()
    largest = None if radii is None else radii.of(p)
    if ends is None or not largest:
        return row_map_trusted(space, Lengths(p, inf, body.columns), Everything(1))
    least = _shortest(drop_signs(ends)[0], p, body.columns)
    return row_map_trusted(space, Lengths(p, nearest(largest), body.columns), Box(least, largest))


def _shortest(entries: Values, p: float, columns: int) -> Fraction:
    """A norm that no row of entries of at least these sizes is below."""
    repeats = columns // len(entries)
    if p == 1:
        return total(entries) * repeats
    square = total(each(mul, entries, entries)) * repeats
    return square / sqrt_up(square) if square else square
