"""Means of many columns for a pure epsilon: by noise of their bounds, or of what looks find."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log, sqrt
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.bodies.body import Values, to_floats
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns import noisy_mean
from opendp_lite.estimators.columns.noisy_mean import JointBall, Rowwise, ask_quantiles, each_column
from opendp_lite.estimators.columns.radius import (
    ALL_EQUAL,
    CLOSELY,
    WIDER,
    Shift,
    share_for,
    shorten_to,
    show_columns,
    sum_directions,
)
from opendp_lite.estimators.parts import Floats, Measured, Numbers, RowSpace
from opendp_lite.estimators.parts.request import ByColumn, Request
from opendp_lite.measurements.noise import Aggregate, laplace
from opendp_lite.measurements.vector_noise import l2_mechanism, linf_mechanism, sum_and_count
from opendp_lite.measures.divergences import MaxDivergence
from opendp_lite.pipeline.steps import Stage
from opendp_lite.transformations import (
    absolute,
    bins,
    count,
    impute,
    indicator_below,
    norm,
    square,
    sum,
)
from opendp_lite.transformations.bounding import center, clip_to_norm, scale

# For a first count, where the number of rows is private.
_COUNT: Final = Fraction(1, 50)
# A look ends in a far cell of its lattice once in e^4 times at most, whatever the rows: all cells
# that are so many ranks off then weigh e^-4 together. A radius that is far off costs the most.
_SURE, _SURER = 4, 5.5
# How many ranks a median may be off, as a share of the rows.
_OFF: Final = 0.45
_CENTRE_BITS, _SPREAD_BITS, _LENGTH_BITS = 8, 6, 4
_CENTRE_DOUBLINGS, _DOUBLINGS = 62, 41
_LINEAR, _NARROWEST = 2.0**-30, 2.0**-40
_REGULAR: Final = 0.05
_FINE: Final = 2**24
# The share of the rows beyond the first radius; but no fewer than a fortieth of epsilon finds.
_LEAST_BEYOND, _MOST_BEYOND, _FEWEST = 0.1, 0.2, 1000
# About so many rows are shortened in the end, and at most this share.
_SHORTENED, _MOST_SHORTENED = 450, 0.1
# Where rings of lengths end, over the first radius. Lengths of many normal columns lie close.
_RINGS: Final = (1, 1.06, 1.12, 1.18, 1.25, 1.4, 1.6, 2, 3, 5, 8)
# Of epsilon, to count the rows in rings: the first over the number of columns that are as wide as
# the widest, between the others.
# With few columns a mean has little noise, so a bias that counts miss would be most of its error.
_COUNTED, _LEAST_COUNTED, _MOST_COUNTED = 0.343, 0.0428, 0.0857
# A count shows rows above `_SEEN` scales of its noise, times where its ring begins over the first
# radius, as rows that are not there move the radius so far; but `_CLEAR` scales are enough.
_SEEN, _CLEAR = 2.5, 6
# Of what is left at most, to find how far a group is that shows.
_MOST_FOR_FAR: Final = Fraction(3, 5)
# Tails that are thin in each ring show in the sum of neighbours, whose noise grows by the root.
_TOGETHER: Final = (1, 2, 4)
# What may lie in the ring just beyond the last that shows rows, in scales of the noise.
_THIN: Final = 0.7
# How far shortening moves the mean, over what it takes off a row on average and the root of the
# number of columns: by nothing where long rows lie on both sides alike, and by 1 where each is long
# in one of as many skewed columns.
_ONE_SIDED: Final = 0.6
# Of what is left at most, for the rows that are shortened, and for the squares of a population.
_BEYOND, _SQUARES = 0.25, 0.15
# Rows may be longer than twice the radius, beyond which they count as that.
_LONGER: Final = 2.0
# Of the length of a corner of the box: if half of the rows are longer, little can be won.
_LONG: Final = 0.85
# The rows over the scale of the noise with which those are counted.
_FOR_HALF: Final = 20
# With fewer rows for an epsilon no look pays.
_FEW: Final = 300
_MOST_FOR_LOOKS, _MOST_FOR_CENTRES = 0.7, 0.2
# The most for looks where bounds differ in width, as a person chose them by column. They are seldom
# so wide that more pays: on 20 tables of 5000 rows errors were 0.9 to 1.8 times those of the best
# bounds around the true means.
_MOST_BESIDE_BOUNDS: Final = 0.2
# Looks that cost less are taken without asking first whether they can pay.
_CHEAP: Final = 0.08
# The noise on the size of a column is then a quarter of the average, or an eighth where rows are
# added. Columns of about one size, of which none is four times the average, lose what it costs.
_FOR_SIZES, _MOST_FOR_SIZES, _LARGER = 8, 0.06, 4
# Of the bounds: rows that reach less far than 2^-60 count by their length.
_LONG_ROWS: Final = 2**60


@attrs.frozen
class Looks:
    """What looks cost, in shares of epsilon: public numbers say whether they can pay.

    Args:
        rows: Their number times the epsilon of one row.
        columns: How many there are.
        replaced: Whether rows are replaced: that moves a median by a rank, else by half of one.
        bounded: Whether bounds of columns differ in width.
    """

    rows: float
    columns: int
    replaced: bool
    bounded: bool = False

    def medians(self, cells: float) -> float:
        """Of a median of each column."""
        nats = log(cells) + log(self.columns) + _SURE
        return nats * self.columns * (2 if self.replaced else 1) / (_OFF * self.rows)

    def length(self, beyond: float) -> float:
        """Of a length that a share of the rows exceeds."""
        return 2 * (log(_DOUBLINGS * 2**_LENGTH_BITS) + _SURER) / (beyond * self.rows)

    @property
    def centres(self) -> float:
        """Of where the columns lie.

        A centre that is off draws the mean of shortened rows to it: by about its error, times the
        share of rows that are shortened, times 1 / d + 1 / 10. With few columns that takes more
        than finding a centre at all. This is half of the noise for columns of normal shape.
        """
        near = (42 / self.columns + 4.2) * (2 if self.replaced else 1) / self.rows
        found = self.medians(_CENTRE_DOUBLINGS * 2**_CENTRE_BITS)
        shortened = min(_MOST_SHORTENED, _SHORTENED / self.rows)
        return max(found, min(near / self.length(shortened), _MOST_FOR_CENTRES))

    @property
    def spreads(self) -> float:
        """Of how wide they are."""
        return self.medians(_DOUBLINGS * 2**_SPREAD_BITS)

    @property
    def beyond(self) -> float:
        """The share of the rows beyond the first radius, at most about which are shortened."""
        return min(max(_LEAST_BEYOND, _FEWEST / self.rows), _MOST_BEYOND)

    @property
    def whole(self) -> float:
        """Of all that a ball around the centres takes."""
        return self.centres + self.spreads + self.length(self.beyond) + self.rings

    @property
    def rings(self) -> float:
        """Of noisy counts of rows by their length, in rings, where columns are equally wide."""
        return share_for_rings(self.columns)

    @property
    def sizes(self) -> float:
        """Of about how large each column is, where that is all that is found; 0 for no look."""
        wanted = _FOR_SIZES * self.columns / self.rows
        # Of few columns none is so much larger than the average.
        pays = self.columns > _LARGER and wanted < _MOST_FOR_SIZES
        return wanted if pays else 0.0

    @property
    def first(self) -> float:
        """Of the look whether these can pay; 0 where they are cheap."""
        return _FOR_HALF / self.rows if self.centres + self.spreads > _CHEAP else 0.0

    @property
    def pay(self) -> bool:
        """Whether they leave enough for the sum."""
        most = _MOST_BESIDE_BOUNDS if self.bounded else _MOST_FOR_LOOKS
        return self.whole + self.first <= most

    @property
    def none(self) -> bool:
        """Whether no look is taken: the rows are summed in their bounds at once."""
        return self.rows < _FEW or (self.bounded and not self.pay)

    def explain(self, unseen: int) -> str:
        """What is done with so many rows."""
        if self.rows < _FEW:
            return f"fewer than {_FEW} / epsilon rows: no look at them pays"
        if self.none:
            return "too few rows for looks to pay beside bounds of each column"
        if not self.pay:
            return (
                "too few rows for looks at each column\n"
                f"  {self.sizes + self.length(self.beyond) + share_for_rings(1):.2g} of epsilon "
                f"finds {'about how large they are, and ' if self.sizes else ''}a radius\n"
                f"  rows beyond it are shortened, at most about {self.beyond:.2g} of all\n"
                f"  a far group of fewer than {unseen} rows may not be seen\n"
                "  the noise is that of a ball of this radius, or of the bounds if that is less"
            )
        asked = (
            f"{self.first:.2g} of epsilon tells if rows are well inside of the bounds; if so,\n  "
        )
        return (
            f"{asked if self.first else ''}{self.whole:.2g} of epsilon finds centres, spreads and "
            "a radius\n"
            f"  rows beyond it are shortened, at most about {self.beyond:.2g} of all\n"
            f"  a far group of fewer than {unseen} rows may not be seen\n"
            "  the noise is that of a ball of this radius, or of the bounds if that is less"
        )


def pure_mean(
    space: RowSpace,
    rows: Rowwise,
    middle: Values,
    restore: Callable[[Floats | ByColumn], Floats | ByColumn],
    request: Request,
    *,
    bounded: bool,
) -> Measured[Floats | ByColumn]:
    """The mean of each column between bounds 2 apart, for the epsilon of a request.

    Rows between bounds move a sum within a box, and noise of that box is best where nothing else is
    known. Centres and spreads of columns cost what the numbers of rows and columns alone say. Where
    that leaves enough, rows are centred, scaled and shortened to a radius.

    Args:
        space: The space.
        rows: The rows in bounds.
        middle: Halfway between the bounds of each column.
        restore: Gives means in other units.
        request: What was asked for.
        bounded: Whether bounds of columns differ in width.
    """
    inside = rows >> center(middle)
    if space.domain.size is not None:
        inside = inside >> impute(0)
    plan = _PureMean(inside, middle, request.on(space), space, bounded)

    def program(ask: Ask[MaxDivergence]) -> Floats | ByColumn:
        return restore(plan.run(ask).mean())

    made = make_adaptive(space, program, MaxDivergence(), request.whole.amount, "")
    return made.with_explanation(plan.explain(), trace=())


@attrs.frozen(slots=False, eq=False)
class _PureMean:
    """The program.

    Its rows are between -1 and 1, and 0 for a missing value where their number is public. They are
    clamped before all else: sums, medians and lengths then agree on what a row is.
    """

    rows: Rowwise
    middle: Values
    request: Request
    space: RowSpace
    bounded: bool

    def run(self, ask: Ask[MaxDivergence]) -> _ColumnsRun:
        """One run, in which the number of rows is known: public, or a first count."""
        people: float | None = self.space.domain.size
        if people is None:
            people = float(ask(count() >> laplace(epsilon=self._share(_COUNT))))
        public = self.rows, self.middle, self.request, self.space, self.bounded
        return _ColumnsRun(*public, ask, people, self._looks(people))

    def explain(self) -> str:
        """What is decided by public numbers, and the error that needs no look."""
        size = self.space.domain.size
        amount = float(self.request.whole.amount / self.space.unit)
        error = _off_in_cube(self._columns) / amount
        if size is None:
            way = (
                f"{float(_COUNT):.2g} of epsilon counts the rows: with 10000 of them "
                f"{self._looks(10_000.0).explain(self._unseen)}"
            )
            expected = f"{error:.4g} over the number of rows"
        else:
            way = self._looks(size).explain(self._unseen)
            expected = f"{2 * error / max(size, 1):.4g}"
        if self.request.confidence is not None:
            way += "\n  at most 0.36 of what is left is for intervals, and less where rows are many"
        return (
            f"the estimator is that of a pure epsilon\n  {way}\n"
            f"  error of a column with noise of the bounds, over half their width: {expected}"
        )

    @property
    def _columns(self) -> int:
        return len(self.middle)

    @property
    def _unseen(self) -> int:
        """So many rows, far from all others, may not stand out."""
        return round(_CLEAR * self._off_in_counts(share_for_rings(self._columns)))

    def _off_in_counts(self, share: float) -> float:
        """The scale of the noise on the number of rows in a ring."""
        moved = 1 if self.space.domain.size is None else 2
        return moved * float(self.space.unit / self._share(share))

    def _looks(self, people: float) -> Looks:
        rows = people * float(self.request.whole.amount / self.space.unit)
        return Looks(rows, self._columns, self.space.domain.size is not None, self.bounded)

    def _share(self, share: float | Fraction) -> Fraction:
        """Of epsilon, and never nothing."""
        return self.request.whole.amount * Fraction(max(int(share * _FINE), 1), _FINE)


@attrs.frozen(slots=False, eq=False)
class _ColumnsRun(_PureMean):
    """One run: the number of rows, and what looks may cost."""

    ask: Ask[MaxDivergence]
    people: float
    looks: Looks

    def mean(self) -> Floats | ByColumn:
        """The estimate."""
        looks = self.looks
        if looks.none:
            return self._in_box()
        if not looks.pay:
            return self._in_ball(self.rows, np.zeros(self._columns), self._sizes())
        if looks.first:
            most = _LONG * (1 - looks.whole) * sqrt(self._columns)
            if self._count_beyond(self.rows, most, looks.first) > self.people / 2:
                return self._in_box()
        part = self._share(looks.centres)
        lattice = {"scale": "asinh", "unit": _LINEAR, "bits": _CENTRE_BITS}
        middle = ask_quantiles(self.ask, self.rows, 0.5, bounds=(-1, 1), epsilon=part, **lattice)
        around, part = self.rows >> center(noisy_mean.dyadic(middle)), self._share(looks.spreads)
        lattice = {"scale": "log", "bits": _SPREAD_BITS, "bounds": (_NARROWEST, 2)}
        away = ask_quantiles(self.ask, around >> absolute(), 0.5, epsilon=part, **lattice)
        return self._in_ball(around, middle, away / noisy_mean.MEDIAN_OF_NORMAL)

    def _sizes(self) -> Floats:
        """About how large columns are beside each other, where one is far larger than most."""
        share, alike = self.looks.sizes, np.ones(self._columns)
        if not share:
            return alike
        # Each row counts by which part of its l1 length lies in which column.
        parts = self.rows >> absolute() >> scale(_LONG_ROWS) >> clip_to_norm(1, p=1) >> sum()
        total = each_column(self.ask(parts >> laplace(epsilon=self._share(share))))
        # What noise hides is taken to be as large as the noise.
        sizes = np.maximum(total, self._off_in_counts(share))
        return sizes if sizes.max() > _LARGER * sizes.mean() else alike

    def _length(self, rows: Rowwise, beyond: float, longest: float) -> float:
        """A length that a share of the rows exceeds, for what that costs."""
        lattice = {"scale": "log", "bits": _LENGTH_BITS, "bounds": (longest * _NARROWEST, longest)}
        part = self._share(self.looks.length(beyond))
        return float(
            ask_quantiles(self.ask, rows >> norm(), 1 - beyond, epsilon=part, **lattice)[0]
        )

    def _count_beyond(self, rows: Rowwise, length: float, share: float) -> float:
        """The noisy number of rows that are longer, for a share of epsilon."""
        longer = rows >> norm() >> indicator_below(length) >> center(1)
        return -float(
            each_column(self.ask(longer >> sum() >> laplace(epsilon=self._share(share))))[0]
        )

    def _weigh_radii(
        self, rows: Rowwise, widths: Floats, first: float, longest: float
    ) -> tuple[Floats, Floats, bool]:
        """Radii to try, the l2 error of the mean with each, and whether a far group shows."""
        looks = self.looks
        # As many columns of the largest width have about the same noise. Unless looks at columns
        # tell, one of them may be far wider than the others.
        alike = float((widths**2).sum()) if looks.pay else 1.0
        share = share_for_rings(alike)
        edges = first * np.array(_RINGS)
        edges = np.array([0.0, *edges[edges < longest], longest])
        counted = rows >> norm() >> bins(edges.tolist()) >> sum()
        counts = each_column(self.ask(counted >> laplace(epsilon=self._share(share))))
        far = counts[-1] if len(counts) > len(_RINGS) else 0.0
        half = min(max(far, 1.0) / 2 / self.people, _MOST_SHORTENED)
        noise = self._off_in_counts(share)
        clear = far > _CLEAR * noise
        if clear and self._share(looks.length(half)) < _MOST_FOR_FAR * self.ask.left:
            # Shortening a group of rows far away would move the mean by more than all noise.
            tried, bias = np.array([self._length(rows, half, longest)]), np.zeros(1)
        else:
            least = noise * np.minimum(_SEEN * edges[:-1] / first, _CLEAR)
            # The last ring of all has no end to speak of: it counts where it surely holds rows.
            near = counts if clear else counts[: len(_RINGS)]
            beyond = 1 + max(_last_seen(near, least, wide) for wide in _TOGETHER)
            # Beyond the last ring that shows rows, noise alone would look like long rows.
            counts[beyond:] = 0.0
            counts[beyond : min(beyond + 1, len(_RINGS))] = _THIN * noise
            tried, _, shorter = shorten_to(edges, counts.clip(0) / self.people)
            bias = _ONE_SIDED / sqrt(alike) * shorter
        of_one = np.linalg.norm(self._error(rows >> clip_to_norm(1), widths, 0.0))
        return tried, np.hypot(tried * of_one, bias), clear

    def _in_ball(self, rows: Rowwise, middle: Floats, spread: Floats) -> Floats | ByColumn:
        """With noise of a ball around a middle, if that is less than the noise of the box."""
        looks, people = self.looks, self.people
        widths = np.sqrt(spread + _REGULAR * spread.mean())
        widths = widths / widths.max()
        factors = 1 / widths
        scaled = rows >> scale(noisy_mean.dyadic(factors))
        longest = 2 * float(np.linalg.norm(factors))
        radius = self._length(scaled, looks.beyond, longest)
        tried, errors, clear = self._weigh_radii(scaled, widths, radius, longest)
        known = spread if looks.pay else 0.0
        of_box = self._error(self.rows, np.ones(self._columns), 0.0, cube=True)
        if errors.min() > np.linalg.norm(of_box):
            return self._in_box(known)
        radius = float(tried[errors.argmin()])
        shortened, shift = scaled >> clip_to_norm(radius), None
        if self.request.confidence is not None:
            # All rows that show are equal: any other may lie as far as the bounds are.
            lost = min(float(spread.max()), radius) < ALL_EQUAL and not clear
            each = 1 + np.abs(middle) if lost else widths * radius
            wanted = known if self.request.sampling else 0.0
            error = self._error(shortened, widths, wanted)
            shift = self._look_beyond(scaled, radius, each / people, error)
        # Rows around their middle have a mean near 0, to which an exact count matters little.
        stretch = self._columns + 1 if looks.pay else 1
        around = to_floats(self.middle) + middle
        return self._release(shortened, around, widths, stretch, shift, spread=known)

    def _error(self, rows: Rowwise, widths: Floats, spread: Numbers, cube: bool = False) -> Floats:
        """About how far each mean is off, of a sample of columns of this spread."""
        off = self._noise(rows >> sum(), self.ask.left, cube).total_deviation
        found: Floats = np.hypot(widths * off / self.people, spread / sqrt(self.people))
        return found

    def _noise(
        self, query: Stage[RowSpace, Aggregate], amount: Fraction, cube: bool = False
    ) -> JointBall:
        """That of a ball or of the cube, for a sum that costs so much."""
        moved = query.bind(self.space).output_space.unit.over(self._columns)
        reach = float(cast(Fraction, moved.linf if cube else moved.of(2)) / amount)
        return JointBall.alone(reach, self._columns, cube)

    def _look_beyond(self, rows: Rowwise, radius: float, each: Floats, error: Floats) -> Shift:
        """By how much rows are shortened in which direction, for a share of what is left.

        A quarter makes intervals about as narrow as can be: at a twentieth, which is enough for a
        rho, its noise is twenty times that of the mean. ``error`` is how far that may be off.
        """
        query = sum_directions(rows, radius, graded=True)
        off = each * self._noise(query, self.ask.left).total_deviation
        amount = self.ask.left * share_for(off, WIDER * error, _BEYOND, power=1)
        total = each_column(self.ask(query >> l2_mechanism(epsilon=amount)))
        doubt = each * self._noise(query, amount).total_deviation
        return Shift(_LONGER * each * total, doubt, self._unseen)

    def _in_box(self, spread: Numbers = 0.0) -> Floats | ByColumn:
        """With noise of the bounds. Nothing is shortened."""
        middle, widths = to_floats(self.middle), np.ones(self._columns)
        some = attrs.evolve(self, people=max(self.people, 1.0))
        return some._release(self.rows, middle, widths, cube=True, spread=spread)

    def _release(
        self,
        rows: Rowwise,
        around: Floats,
        widths: Floats,
        stretch: int = 1,
        shift: Shift | None = None,
        *,
        spread: Numbers = 0.0,
        cube: bool = False,
    ) -> Floats | ByColumn:
        """The mean by a noisy sum of scaled rows, for all that is left but what squares take."""
        ask, counted = self.ask, self.people
        size, d, squares = self.space.domain.size, self._columns, rows >> square() >> sum()
        moved = squares.bind(self.space).output_space.unit.over(d)
        # Squares are in a box too, or in a simplex, of which Laplace noise is that.
        off = float(moved.linf) * _off_in_cube(d) if cube else float(moved.l1) * sqrt(2)
        amount = ask.left
        if self.request.sampling:
            allowed = CLOSELY * counted * self._error(rows, widths, spread, cube) ** 2
            of_all = widths**2 * off / float(amount) / counted
            amount -= amount * share_for(of_all, allowed, _SQUARES, power=1)
        errors = self._noise(rows >> sum(), amount, cube)
        if size is None:
            errors = JointBall(errors.reach, d, float(self.space.unit / amount), stretch, cube)
            noisy: Any = rows >> sum_and_count(epsilon=amount, stretch=stretch, cube=cube)
        else:
            noisy = rows >> sum() >> (linf_mechanism if cube else l2_mechanism)(epsilon=amount)
        total, people = noisy_mean.read_both(ask(noisy), size)
        means = noisy_mean.ratio(total, people, errors.rows_deviation**2)
        low, high = to_floats(self.middle) - 1, to_floats(self.middle) + 1
        if self.request.confidence is None:
            return (around + widths * means).clip(low, high)
        variances = None
        if self.request.sampling:
            part, counted = ask.left, max(people, 1.0)
            noise = linf_mechanism(epsilon=part) if cube else laplace(epsilon=part)
            found = each_column(ask(squares >> noise)) / counted - means**2
            variances = found, off / float(part) / counted
        return show_columns(
            self.request,
            (low, high, around, widths, total),
            people,
            lambda width: attrs.evolve(errors, reach=errors.reach * width),
            variances,
            shift,
        )


def _off_in_cube(columns: int) -> float:
    """The standard deviation of an entry of the noise of a cube, over its scale."""
    return sqrt((columns + 1) * (columns + 2) / 3)


def share_for_rings(alike: float) -> float:
    """Of epsilon, for counts of rows by their length, where so many columns are equally wide."""
    return min(max(_COUNTED / alike, _LEAST_COUNTED), _MOST_COUNTED)


def _last_seen(counts: Floats, least: Floats, wide: int) -> int:
    """The last ring that shows rows, where so many neighbours are counted together."""
    total = np.append(0.0, np.cumsum(counts))
    together = total[wide:] - total[:-wide]
    seen = int(np.flatnonzero(together > sqrt(wide) * least[: len(together)]).max(initial=0))
    return seen + int(np.argmax(counts[seen : seen + wide]))
