"""To which length rows are shortened: by noisy counts of longer ones, and by where these point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, hypot, log, sqrt
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite.bodies.ball import Ball
from opendp_lite.engines.data.arrays import DENSE
from opendp_lite.engines.data.sparse import row_totals
from opendp_lite.estimators.columns.noisy_mean import RowCount, Rowwise, ask_quantiles
from opendp_lite.estimators.parts import Floats, RowSpace, noisy_totals
from opendp_lite.estimators.parts.bounds_search import last_seen
from opendp_lite.estimators.parts.budget import ConcentratedBudget
from opendp_lite.estimators.parts.noisy_totals import JointNoise
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measurements.noise import Aggregate
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import Stage, stage
from opendp_lite.releases.estimate import Estimate
from opendp_lite.transformations import bins, clip_to_norm, norm, sum
from opendp_lite.transformations.row_maps import plain_nan, row_map_trusted

_ANCHOR, _RINGS, _DIRECTION = Fraction(1, 100), Fraction(4, 100), Fraction(25, 1000)
# The share of the rows beyond the first radius that is tried, where a row is replaced or added.
_BEYOND_REPLACED, _BEYOND_ADDED = 0.07, 0.03
_MOST_BEYOND: Final = 0.3
_BITS: Final = 6
# How much more likely a length of that share is than one of the many beyond all rows.
_SURE: Final = 7.0
# The lengths of many normal columns lie within 3 %, so rings are narrow there.
_NARROW: Final = (1, 1.05, 1.1, 1.2, 1.35, 1.6)
# Where noise rules, shorter lengths are tried too. Tried always, they made the error 1.3 times as
# large in a table of 20 different rows.
_SHORTER: Final = (0.85, 0.93)
_RATIO: Final = 2 ** (1 / 3)
# The probability that any empty ring, or sum of neighbours, seems to hold rows. One row that is not
# there, at a thousand times the radius, would spoil a release: 2.6 deviations spoilt half of them.
_GHOST: Final = 1e-3
_TOGETHER: Final = (1, 2, 4, 8, 16, 32)
_BESIDE: Final = 1.5
# What may lie in the rings just beyond the last that shows rows, in deviations of the noise.
_UNSEEN: Final = (0.7, 0.35, 0.15)
# The share of a ring's rows that is taken to lie at its far end, as equal rows may.
_AT_END: Final = 0.25
# How much further than they seem to rows may be beyond the radius, as thin tails hide in the noise.
_FURTHER: Final = 2.0
_TINY: Final = 1e-300
_ONE_SIDED: Final = 0.75
# Deviations that are added to where the tail points: with 1, even tails are cut 10 % too late.
_DOUBT: Final = 0.3
# By so much of a row's length noise may lengthen the average direction of rows beyond the first
# radius. 0.04 and 0.07 did about as well on 16 tables.
_VAGUE: Final = 0.05
_MISSING: Final = 3.0
# What noise takes off a count in 5 % of releases, in its deviations.
_SEEN: Final = 1.645
_USUAL_RINGS: Final = 100
_HIDDEN: Final = 100
# Squares of longer rows are no floats.
_ENDLESS: Final = 2.0**500
ALL_EQUAL: Final = 2.0**-30
"""A reach of this share of the bounds is that of rows which all are equal."""
WIDER, CLOSELY = 0.15, 0.05
"""What intervals take from the budget: noise of the look at what is shortened is this part of the
error of a mean, and that of a variance this part of it. Where spreads are found too large, as of
2 % ones, it is ten times as much."""
# A share is never nothing, and a short fraction. The caps are such fractions themselves, so that
# rounding takes none above its cap.
_LEAST_SHARE, _FINEST = 1e-3, 10_000


@attrs.frozen
class Shortening:
    """To which length rows are shortened, and what to expect of that.

    Args:
        length: The length.
        noise: The l2 error of the mean by noise.
        bias: The l2 distance by which shortening moves the mean.
        longer: By how much of the length the rows beyond it are taken to be longer on average.
        unseen: A group of so many rows, at one length beyond all others, is seen in 95 % of
            releases; or so many rows may be missing in the counts.
        hidden: Whether more rows are missing in the counts than noise explains: then some may lie
            beyond all that show.
    """

    length: float
    noise: float
    bias: float
    longer: float
    unseen: int
    hidden: bool

    @property
    def promised(self) -> float:
        """The l2 error to expect; much more where rows may lie beyond all that show."""
        return sqrt(self.noise**2 + self.bias**2) * (_HIDDEN if self.hidden else 1)


@attrs.frozen(eq=False, repr=False)
class _DirectionsBeyond:
    """A block function that keeps of a row longer than ``least`` its direction, and else 0.

    With ``graded`` the direction is as long as what the row is longer, over ``least``: at most 1.
    """

    least: float
    graded: bool = False

    def __call__(self, block: Floats) -> Floats:
        # Not numpy's norm: its last bit may depend on where in a block a row stands.
        lengths = np.sqrt(row_totals(block, DENSE, 2, block.shape[1]))[:, None]
        near = (lengths <= self.least) | (lengths >= _ENDLESS)
        kept = np.where(near, 0.0, block / np.where(near, 1.0, lengths))
        return plain_nan(kept * np.minimum(lengths / self.least - 1, 1) if self.graded else kept)


@stage
def _directions_beyond(
    space: RowSpace, least: float, *, graded: bool = False
) -> Transformation[RowSpace, RowSpace]:
    """Keeps of rows longer than ``least`` their direction; others become 0.

    No claim is taken from the block function: the sum brings each row into the ball.

    So a row that is added moves it by 1 in l2, and one that is replaced by 2.
    """
    ball = Ball(1, columns=space.domain.columns)
    return row_map_trusted(space, _DirectionsBeyond(least, graded), ball)


def sum_directions(
    rows: Rowwise, least: float, *, graded: bool = False
) -> Stage[RowSpace, Aggregate]:
    """The sum of the directions of rows that are longer than ``least``.

    With ``graded`` each is as long as what shortening takes off, over ``least``, at most 1.
    """
    return rows >> _directions_beyond(least, graded=graded) >> sum()


@attrs.frozen(eq=False)
class Shift:
    """By how much shortening moves the mean of each column.

    Args:
        moved: As far as a noisy look tells.
        doubt: The standard deviation of its noise, which is independent of that on the mean.
        unseen: A group of fewer rows, far from all others, may not have been seen.
    """

    moved: Floats
    doubt: Floats
    unseen: int

    def widen(self, found: Sequence[Estimate]) -> tuple[Estimate, ...]:
        """The estimates of the columns, whose intervals also cover this."""
        return tuple(map(self._widen, found, self.moved.tolist(), self.doubt.tolist()))

    def _widen(self, found: Estimate, moved: float, doubt: float) -> Estimate:
        off = float(noisy_totals.normal_score((1 + found.confidence) / 2)) * doubt
        least, most = cast(tuple[float, float], found.bounds)

        def wide(ends: tuple[float, float]) -> tuple[float, float]:
            low, high = hypot(found.value - ends[0], off), hypot(ends[1] - found.value, off)
            return (
                max(found.value + min(moved, 0.0) - low, least),
                min(found.value + max(moved, 0.0) + high, most),
            )

        return attrs.evolve(
            found,
            standard_error=min(hypot(found.standard_error, doubt), (most - least) / 2),
            interval=wide(found.interval),
            noise_interval=found.noise_interval and wide(found.noise_interval),
            clipped=True,
            clipped_interval=found.interval,
            hidden_rows=self.unseen or None,
        )


def show_columns(
    request: Request,
    columns: tuple[Floats, ...],
    rows: float,
    errors: Callable[[float], JointNoise],
    variances: tuple[Floats, float] | None,
    shift: Shift | None,
) -> tuple[Estimate, ...]:
    """An estimate of each column.

    Args:
        request: What was asked for.
        columns: Their bounds, what was subtracted from values, what these were divided by, and the
            noisy sums of that.
        rows: Their number.
        errors: From such a divisor to how the sum times it errs, with the rows.
        variances: For a sample: those of the values as they were summed, noisily, and how far off.
        shift: By how much shortening moves the means, where rows are shortened.
    """
    shown = []
    for place, (low, high, about, width, total) in enumerate(np.stack(columns, axis=1).tolist()):
        law = noisy_totals.RatioOfNoisySums(low, high, about, errors(width), ridge=1)
        found = noisy_totals.NoisyTotals(law, width * total, rows)
        if variances is not None:
            square = width**2
            found = found.with_variance(variances[0][place] * square, variances[1] * square)
        shown.append(cast(Estimate, request.as_estimate(found)))
    return tuple(shown) if shift is None else shift.widen(shown)


def share_for(off: Floats, allowed: Floats, most: float, *, power: int) -> Fraction:
    """The share of a budget at which noise is as far off as is allowed, at most ``most``.

    Args:
        off: How far all of the budget leaves it off, for each column.
        allowed: How far it may be off.
        most: The largest share.
        power: 2 for a rho, 1 for an epsilon.
    """
    with np.errstate(all="ignore"):
        wanted = float(((off / np.maximum(allowed, _TINY)) ** power).max())
    # In this order a ratio that is no number counts as the least.
    return Fraction(min(most, max(_LEAST_SHARE, wanted))).limit_denominator(_FINEST)


@attrs.frozen(eq=False)
class Shortener:
    """Looks at the lengths of rows, each divided by the widths of their columns.

    Args:
        people: The number of rows.
        rows: The rows, centred and divided.
        widths: What the columns were divided by.
        ends: The least and the largest length to think of.
    """

    people: RowCount
    rows: Rowwise
    widths: Floats
    ends: tuple[float, float]

    def find(self) -> Shortening:
        """The length with the least noise and bias, as far as the counts show.

        A look of 7.5 % of the budget costs 4 % of the error by noise.
        """
        least, beyond, rings = self._anchor()
        edges = self._edges(least * np.array(rings))
        counted = self.rows >> norm() >> bins(edges.tolist()) >> sum()
        counts, off = self.people.look(counted, _RINGS)
        last = _last(counts, off)
        missing = self.people.rows - float(counts[: last + 1].sum())
        off_all = off * sqrt(last + 1)
        hidden = missing > _MISSING * off_all
        held = np.where(np.arange(len(counts)) <= last, counts.clip(0), 0.0)
        unseen = held[last + 1 :][: len(_UNSEEN)]
        unseen += off * np.array(_UNSEEN[: len(unseen)])
        beta = self._pointing(least, beyond)
        tried, longer, shorter = shorten_to(edges, held / self.people.rows)
        bias = beta * shorter
        noise = tried * self._noise_of_one()
        part = shorter / np.maximum(longer * tried, _TINY)
        best = int(np.argmin(noise**2 + bias**2))
        return Shortening(
            float(tried[best]),
            float(noise[best]),
            float(bias[best]),
            1.0 if beyond is None else min(_FURTHER * float(part[best]), 1.0),
            ceil(max(_unseen(len(counts), off), missing + _SEEN * off_all if hidden else 0)),
            hidden,
        )

    def _anchor(self) -> tuple[float, float | None, tuple[float, ...]]:
        """A length that a small share of the rows exceeds; None where the budget finds none.

        And where the first rings end, in units of it.
        """
        cells = log(self.ends[1] / self.ends[0]) / log(2) * 2**_BITS
        slope = sqrt(2 * float(_ANCHOR * self.people.budget)) / float(self.people.ask.space.unit)
        needed = (log(cells) + _SURE) / (slope * self.people.rows)
        beyond = max(needed, self._least_beyond)
        if beyond > _MOST_BEYOND:
            return self.ends[0], None, (1,)
        # Of few rows noise hides where they point, and then hardly any would be shortened.
        wanted = min(self._rows_to_point() / self.people.rows, _MOST_BEYOND)
        rings = _NARROW if wanted <= beyond else _SHORTER + _NARROW
        beyond = max(beyond, wanted)
        cost = _ANCHOR * self.people.budget
        asked = {"bounds": self.ends, "scale": "log", "rho": cost, "bits": _BITS}
        found = float(ask_quantiles(self.people.ask, self.rows >> norm(), 1 - beyond, **asked)[0])
        return min(max(found, self.ends[0]), self.ends[1] / _NARROW[1]), beyond, rings

    def _rows_to_point(self) -> float:
        """The average direction of so many rows is known as well as ``_VAGUE`` says."""
        part = ConcentratedBudget(_DIRECTION * self.people.budget)
        off = part.deviation(part.reach(sum_directions(self.rows, 1.0), self.people.ask.space))
        # The length of d such numbers, by ``_DOUBT`` as in ``_pointing``.
        return off * sqrt(_DOUBT * sqrt(2 * len(self.widths))) / _VAGUE

    def _edges(self, first: Floats) -> Floats:
        """Of the rings, from 0 to the largest length."""
        many = max(int(log(self.ends[1] / first[-1]) / log(_RATIO)), 0) + 1
        edges = np.concatenate([[0.0], first, first[-1] * _RATIO ** np.arange(1, many)])
        return np.append(edges[edges < self.ends[1]], self.ends[1])

    def _pointing(self, least: float, beyond: float | None) -> float:
        """How far the average row beyond that length moves the mean of all, for each 1 cut off.

        In a tail of both sides directions cancel: counting lengths alone cut them 40 % too late.
        """
        most = _ONE_SIDED * float(self.widths.max())
        if beyond is None:
            return most
        total, off = self.people.look(sum_directions(self.rows, least), _DIRECTION)
        many = max(beyond * self.people.rows, 1.0)
        squares, noise = (self.widths * total / many) ** 2, (self.widths * off / many) ** 2
        # The square of the length less its noise, and a part of the deviation of that.
        found = max(float((squares - noise).sum()), 0.0)
        found += _DOUBT * sqrt(float((2 * noise**2 + 4 * noise * squares).sum()))
        # Among more rows than usual the longest are hidden, which point one way more than others.
        # Without this five real tables erred by 1.1 to 1.4 times as much at rho = 1/16, and even
        # tails (t3) by 0.94 times. To add how far the means lie from the medians did not help.
        return min(most, sqrt(found * beyond / self._least_beyond))

    @property
    def _least_beyond(self) -> float:
        """The share of the rows beyond the first length, where the budget finds it."""
        return _BEYOND_REPLACED if self.people.counted is None else _BEYOND_ADDED

    def _noise_of_one(self) -> float:
        """The l2 error of the mean by noise, if rows are shortened to 1."""
        part = ConcentratedBudget(self.people.ask.left)
        reach = part.reach(self.rows >> clip_to_norm(1) >> sum(), self.people.ask.space)
        return part.deviation(reach) * float(np.linalg.norm(self.widths)) / self.people.rows


def _sure(rings: int) -> float:
    """In deviations of the noise: so much shows that a ring, or some neighbours, hold rows."""
    return sqrt(2 * log(3 * rings / _GHOST))


def _unseen(rings: int, off: float) -> float:
    return (_sure(rings) + _SEEN) * off


def unseen_rows(space: RowSpace, rho: Fraction) -> int:
    """About how many rows far from all others may not show, before anything is released."""
    part = ConcentratedBudget(_RINGS * rho)
    counted = norm() >> bins([0.0, 1.0, 2.0]) >> sum()
    return ceil(_unseen(_USUAL_RINGS, part.deviation(part.reach(counted, space))))


def _last(counts: Floats, off: float) -> int:
    """The last ring that surely holds rows; sums of neighbours show a tail that is thin in each."""
    sure = _sure(len(counts)) * off
    return last_seen(counts, {wide: sure * sqrt(wide) for wide in _TOGETHER}, _BESIDE * off, 0)


def shorten_to(edges: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Lengths to try; the share of rows that are longer; by how much the average row is."""
    low, high = edges[:-1, None], edges[1:, None]
    quarters = np.arange(4) / 4
    within = edges[1:-1, None] ** (1 - quarters) * edges[2:, None] ** quarters
    tried = np.append(within.reshape(-1), edges[-1])
    cut = np.maximum(low, tried)
    part = (1 - _AT_END) * np.maximum(high - cut, 0) / (high - low)
    at_end = _AT_END * (high > tried)
    shorter = part * ((high + cut) / 2 - tried) + at_end * (high - tried)
    return tried, shares @ (part + at_end), shares @ shorter
