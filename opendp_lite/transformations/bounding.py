"""The body of clipped rows: what the clip says, or what was known before, where that is more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from operator import neg, sub
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite import bodies
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies import Ball, Body, Box
from opendp_lite.bodies.body import (
    ZERO,
    Bounds,
    Projection,
    Values,
    brief_body,
    drop_signs,
    each,
    larger,
    largest,
    norms_of,
    parse_bounds,
    smallest,
    to_floats,
)
from opendp_lite.engines.data.arrays import EntryMap, Layout
from opendp_lite.engines.data.expressions import Engine, Expression, NoExpressionError
from opendp_lite.engines.data.fold import Floats
from opendp_lite.numbers.exact import Number, digits_up, nearest, positive, quote
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, rows_in, sized_rows
from opendp_lite.spelling.description import opendp_twin
from opendp_lite.transformations.row_maps import fitting, row_by_row, row_map_trusted

# A clip that would make a sensitivity so many times larger is refused.
_LOST: Final = 2
_NORMS: Final = (1, 2)


def after_clamp(before: Body, box: Box) -> Body:
    """The body of rows of another body whose entries are brought between the bounds of a box.

    Raises:
        SpaceError: If this box would make a sum twice as sensitive as what was known.

    Proof:
        Where the bounds hold 0, entries move towards 0, and some bodies keep every such row. An
        entry below a bound above 0 rises by at most this bound, so norms by at most its own.
    """
    ends = before.bounds()
    if ends is None:
        return box
    gaps = each(sub, ends[0], box.lower), each(sub, box.upper, ends[1])
    uncut = min(map(smallest, gaps)) >= 0
    lifted = drop_signs(box.bounds())[0]
    stays = uncut or (before.shrinks() and largest(lifted) == 0)
    return _best(before, box, stays, lifted, "clamp")


def after_clip_to_norm(before: Body, ball: Body, radius: Fraction, p: float) -> Body:
    """The body of rows of another body that are shortened to a ball.

    Raises:
        SpaceError: If this ball would make a sum twice as sensitive as what was known.

    Proof:
        A shortened row lies between itself and 0, and no norm of it grows.
    """
    radii = before.radii()
    longest = None if radii is None else radii.of(p)
    uncut = longest is not None and longest <= radius
    return _best(before, ball, uncut or before.shrinks(), ZERO, "clip_to_norm")


def _best(before: Body, clipped: Body, stays: bool, lifted: Values, step: str) -> Body:
    """The body that tells more; ``stays`` says whether clipped rows lie in the first, too."""
    known, claimed, ends = before.radii(), clipped.radii(), before.bounds()
    if known is None or claimed is None or ends is None or clipped.columns == 1:
        return clipped
    if _tells(clipped, before) or not _less(known, _furthest(ends, before.columns)):
        return clipped
    if stays and _tells(before, clipped):
        return before
    rise = norms_of(lifted, clipped.columns)
    lost = [(_of(claimed, p) / (_of(known, p) + _of(rise, p)), p) for p in _NORMS]
    kept = max(_of(known, p) / _of(claimed, p) for p in _NORMS) if stays else Fraction(_LOST)
    worst, p = max(lost)
    if min(worst, kept) >= _LOST:
        raise SpaceError(_refusal(step, before, clipped, p))
    return before if kept < worst else clipped


def _furthest(ends: tuple[Values, Values], columns: int) -> Norms:
    """The norms of the furthest corner of a box."""
    return norms_of(each(lambda low, high: larger(abs(low), abs(high)), *ends), columns)


def _of(norms: Norms, p: int) -> Fraction:
    """A norm that is known: bounded bodies bound all of them."""
    return cast(Fraction, norms.of(p))


def _less(norms: Norms, others: Norms) -> bool:
    """Whether an l1 or l2 norm is smaller."""
    pairs = ((norms.l1, others.l1), (norms.l2_squared, others.l2_squared))
    return any(a is not None and b is not None and a < b for a, b in pairs)


def _tells(one: Body, other: Body) -> bool:
    """Whether one body bounds the l1 and l2 norms of rows and differences by no more."""
    pairs = ((one.radii(), other.radii()), (one.diameters(), other.diameters()))
    return all(a is not None and b is not None and not _less(b, a) for a, b in pairs)


def _refusal(step: str, before: Body, clipped: Body, p: int) -> str:
    known, claimed = (_of(cast(Norms, body.radii()), p) for body in (before, clipped))
    times = digits_up(claimed / known, 3)
    return (
        f"{step}: these rows lie in {brief_body(before)} already, so sum() after it has an "
        f"l{p} sensitivity of {digits_up(known, 3)}. {brief_body(clipped)} forgets that and "
        f"would make it {digits_up(claimed, 3)}. Leave {step} out: "
        f"{times} times less noise. If it is to cut values, put it before the step that bounds "
        "the rows as a whole, or use clip_to_norm(radius, p=1)"
    )


@stage(
    does="Clips every value to the bounds of its column.",
    changes=(
        "Values beyond the bounds are clipped to them. A missing value (NaN) stays missing; a sum "
        "or a count leaves out its row or, where the number of rows is public, counts it as the "
        "middle of the bounds."
    ),
    proof=row_by_row(),
    examples=lambda: [
        example(records(), 0, 10),
        example(records(columns=2), [0, -1], [1, 2.5]),
        example(rows_in(bodies.NonNegativeBall(1, p=1, columns=3)), 0, 0.75),
    ],
)
@opendp_twin(
    lambda here, **_: (
        here.complete(here.after.domain.body.centre())
        >> here.library.t.then_clamp(
            tuple(nearest(*end) for end in here.after.domain.body.bounds())
        )
    )
)
def clamp(
    space: Space[Rows], lower: Bounds, upper: Bounds
) -> Transformation[Space[Rows], Space[Rows]]:
    """Clips every value to the bounds of its column.

    Choose the bounds without looking at the data.

    Args:
        lower: The lower bound. A number for all columns, or one for each.
        upper: The upper bound, in the same form. It is above the lower one in every column.

    Returns:
        Rows in ``Box(lower, upper)``. An infinity goes to the bound on its side. A missing value
        (NaN) stays missing. A sum or a count leaves out its row or, where the number of rows is
        public, counts it as the middle of the bounds. Rows of a bounded total or length, such as
        those of a ``Simplex``, stay in their body where that tells more than the box.

    Raises:
        ParameterError: If a lower bound is not below its upper one.
        SpaceError: If there are bounds for another number of columns, or if the rows lie in a body
            that makes a sum far less sensitive than the box, and would leave it.

    Example:
        >>> import opendp_lite as dp
        >>> dp.clamp(0, 10)([-5.0, 3.0, float("inf")])
        NotPrivate([ 0.,  3., 10.])
    """
    box = Box(lower, upper).over(space.domain.columns)
    body = after_clamp(space.domain.body, box)
    return row_map_trusted(space, Projection(box), body, space.domain.names)


@stage(
    does="Shortens every row that is longer than a radius.",
    changes=(
        "Every row that is longer than the radius is shortened to it. A missing entry stays "
        "missing, and the rest of its row is shortened as if it were 0."
    ),
    proof=row_by_row(
        "For rows without a negative entry D is sqrt(2) r, since their inner product is at least 0."
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 5),
        example(sized_rows(2), 0.1, p=1),
        example(records(), 3),
        example(rows_in(bodies.NonNegativeBall(1, p=1, columns=3)), 1),
    ],
)
def clip_to_norm(
    space: Space[Rows], radius: Number, p: float = 2
) -> Transformation[Space[Rows], Space[Rows]]:
    """Shortens every row that is longer than a radius. Its direction stays the same.

    Args:
        radius: The largest length, above 0.
        p: Which norm is the length, 1 or 2.

    Returns:
        Rows in ``Ball(radius, p)``. Where no entry was negative before, as after ``clamp(0,
        upper)``, they lie in ``NonNegativeBall(radius, p)``. An infinite entry counts as 2^150
        radii. Lengths are rounded up, by at most 2^-34 or 2^-41 times the number of columns, so a
        row of nearly the radius may become so much shorter. A missing entry stays missing, and the
        rest of its row is shortened as if it were 0. Rows of a bounded total, such as those of a
        ``Simplex``, stay in their body where that tells more than the ball.

    Raises:
        ParameterError: If the radius is not above 0, or ``p`` is neither 1 nor 2.
        SpaceError: If the rows lie in a body that makes a sum far less sensitive in l1 than the
            ball, which cuts deeper. ``p=1`` keeps both.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=2) >> dp.clip_to_norm(5))(np.array([[3.0, 4.0], [30.0, 40.0]]))
        NotPrivate([[3., 4.],
                    [3., 4.]])
    """
    if p not in (1, 2):
        raise ParameterError(
            f"clip_to_norm: p must be 1 or 2, got {quote(p)}; clamp bounds each column"
        )
    kind = bodies.NonNegativeBall if space.domain.body.non_negative() else Ball
    longest = positive(radius, "radius")
    ball = kind(longest, p).over(space.domain.columns)
    body = after_clip_to_norm(space.domain.body, ball, longest, p)
    return row_map_trusted(space, Projection(ball), body, space.domain.names)


@attrs.frozen(eq=False, repr=False)
class Moved:
    """A block function that subtracts a public row."""

    middle: Floats

    def __call__(self, block: Floats) -> Floats:
        return np.subtract(block, self.middle)

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """The same of an engine's columns."""
        middle = np.broadcast_to(self.middle, len(values)).tolist()
        # Infinity less infinity would be NaN, which no step after it would take for missing.
        if not all(map(isfinite, middle)):
            raise NoExpressionError("it subtracts an infinity")
        return list(map(sub, values, middle))

    @property
    def subtracted(self) -> Floats:
        """What it subtracts; see ``SumFold.as_they_lie``."""
        return self.middle


@stage(
    does="Subtracts a public point from every row.",
    changes="Missing values stay missing.",
    proof=row_by_row("The body is shifted, so D stays."),
    examples=lambda: [
        example(records(), 5),
        example(records(columns=2), [5, 0.1]),
        example(rows_in(Box(0, 10), size=20), 5),
    ],
)
def center(space: Space[Rows], middle: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Subtracts a public point from every row.

    A sum of centred rows has a smaller sensitivity under add/remove. For values in [L, U] and their
    midpoint it is (U - L) / 2 instead of max(abs(L), abs(U)).

    Args:
        middle: What to subtract. A number for all columns, or one for each.

    Returns:
        Rows in the body moved by ``-middle``. Missing values stay missing.

    Raises:
        SpaceError: If ``middle`` has another number of entries than the rows have columns.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.center(5) >> dp.sum()).map(1).linf
        Fraction(5, 1)
    """
    point = fitting(parse_bounds(middle, "middle"), space, "center")
    body = space.domain.body.shift(each(neg, point))
    return row_map_trusted(space, Moved(to_floats(point)), body, space.domain.names)


@attrs.frozen(eq=False, repr=False)
class Multiplied(EntryMap):
    """A block function that multiplies each column by its factor."""

    by: Floats

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return np.multiply(entries, layout.of_columns(self.by))


@stage(
    does="Multiplies every row by public factors.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [example(records(), 0.1), example(sized_rows(2), [2, 1 / 3])],
)
def scale(space: Space[Rows], factor: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Multiplies every row by public factors.

    Columns of different widths that are brought to one width share one noise fairly.

    Args:
        factor: A number for all columns, or one for each. None of them is 0.

    Returns:
        Rows in the scaled body. Missing values stay missing.

    Raises:
        ParameterError: If a factor is 0.
        SpaceError: If ``factor`` has another number of entries than the rows have columns.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.scale(0.1) >> dp.sum()).map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    factors = fitting(parse_bounds(factor, "factor"), space, "scale")
    if smallest(each(abs, factors)) == 0:
        raise ParameterError("scale: a factor of 0 would remove the column; use select()")
    body = space.domain.body.scale(factors)
    return row_map_trusted(space, Multiplied(to_floats(factors)), body, space.domain.names)
