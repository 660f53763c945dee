"""Linear regression: a rough fit, and then the moments of what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial, wraps
from math import hypot, inf, sqrt
from re import compile as compile_pattern
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, TypeVar

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.bodies import Ball, Box
from opendp_lite.combinators.adaptive_programs import TriedOnNames, make_adaptive
from opendp_lite.display.formatting import ONE_PERSON, align, for_json, hold_in, html_grid, percent
from opendp_lite.engines.data.fold import Block
from opendp_lite.estimators.columns.covariance import even_noise
from opendp_lite.estimators.columns.least_squares import Fit, NoisyGram, norm_of_noise
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, Noisy
from opendp_lite.estimators.parts.budget import Budget, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import expect_positive
from opendp_lite.estimators.parts.request import BoundedColumn, bounds_of_each
from opendp_lite.estimators.parts.value_search import Around, Limits, Search, rings_for
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, confidence_of, quote
from opendp_lite.pipeline.core import P
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases.estimate import Estimate, NoiseSource
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record
from opendp_lite.spaces.space import Space, example, records, sized_rows
from opendp_lite.spaces.tables import Tables, TablesOrRows
from opendp_lite.spelling.suggestions import say_formula
from opendp_lite.transformations import clamp, count, outer_products, select, sum
from opendp_lite.transformations.row_maps import map_rows, plain_nan

Column = int | str
R = TypeVar("R")
_CONSTANT: Final = "intercept"
_NOWHERE: Final[Mapping[Column, float]] = MappingProxyType({})
# A term of a formula, such as C(region).
_TERM: Final = compile_pattern(r"[\w.]+\(.+\)")


@attrs.frozen(eq=False, repr=False)
class Regression(Result):
    """A released linear regression: a table of coefficients. All of it is private.

    ``found["age"]`` is a coefficient as a ``dp.Estimate``, ``found["intercept"]`` the constant.

    Args:
        y: The name of what is explained.
        names: Of the coefficients: the columns, and "intercept" at the end.
        values: The coefficients.
        errors: The covariance matrix of their errors, from noise and sampling.
        noise: The part of it that the noise adds.
        confidence: Such as 0.95.
        rows: About how many rows there are.
        residual_deviation: About how far rows lie from the line, in units of y.
        cut: For the slopes, rows were taken to lie no farther from the line than this.
        weak: Empty, or the columns that the noise may hide to be constant or alike. Then nothing is
            known of the coefficients: every interval is endless.
        several: Whether a person may have several rows, which intervals take for independent.
        uneven: How much more y may spread for some x than for others where noise hides it, over the
            variance: infinite with ``robust=False``.

    Example:
        >>> errors = np.diag([0.03, 0.6]) ** 2
        >>> found = Regression("wage", ("age", "intercept"), np.array([0.25, -8.1]), errors,
        ...     errors / 9, 0.95, 3990.0, 6.3, 22.0, ())
        >>> found
        wage = intercept + slopes, about 3990 rows
                      value  std. error  noise alone  95 % interval
          age         0.250       0.030        0.010  0.191 to 0.309
          intercept   -8.10        0.60         0.20  -9.28 to -6.92
        Intervals are for the population, from noise and sampling. Rows lie about 6.3 from the line,
        and were cut at 22 from it. Where y is skewed, as pay is, coefficients may be off by more
        than intervals show.
        >>> found["age"].interval, found.predict({"age": 40}).value
        ((0.19120108046379838, 0.3087989195362016), 1.9000000000000004)
    """

    plotted_by: ClassVar = "estimate_intervals"

    y: str
    names: tuple[str, ...]
    values: Floats
    errors: Floats
    noise: Floats
    confidence: float
    rows: float
    residual_deviation: float
    cut: float
    weak: tuple[str, ...]
    several: bool = False
    uneven: float = 0.0
    source: NoiseSource = attrs.field(factory=NoiseSource, init=False)

    def of_part(self, release: object, part: Hashable) -> Self:
        return copy_with(self, source=NoiseSource(release, part))

    @property
    def noise_errors(self) -> Floats:
        """The standard errors that the noise alone would leave."""
        return np.sqrt(np.diagonal(self.noise))

    @property
    def standard_errors(self) -> Floats:
        """Of the coefficients, from noise and sampling; infinite where the release is weak."""
        found: Floats = np.sqrt(np.diagonal(self.errors))
        return np.full_like(found, np.inf) if self.weak else found

    @property
    def intervals(self) -> Floats:
        """A row (low, high) for each coefficient; each by itself holds that of the population."""
        return np.array([self[name].interval for name in self.names])

    def __getitem__(self, name: Column) -> Estimate:
        if str(name) not in self.names:
            raise ParameterError(
                f"there is no coefficient {quote(name)}; there are {', '.join(self.names)}"
            )
        place = self.names.index(str(name))
        return self._estimate(np.eye(len(self.names))[place])

    def predict(self, at: Mapping[Column, float] = _NOWHERE, **named: float) -> Estimate:
        """The mean of y where the columns have these values, with its error.

        Args:
            at: A number for each column, within its bounds: beyond them nothing was seen.
            **named: Likewise, as in ``predict(school=12, age=40)``.

        Raises:
            ParameterError: If a column is missing, or there is no such column.
        """
        given = {str(n): v for n, v in at.items()} if isinstance(at, Mapping) else {}
        given |= named
        if set(given) != set(self.names[:-1]) or any(map(np.ndim, given.values())):
            said = ", ".join(f"{name!r}: 1" for name in self.names[:-1])
            raise ParameterError(
                f"predict takes one number for each column, as in predict({{{said}}}); "
                f"got {', '.join(given) or 'none'}"
            )
        return self._estimate(np.array([*(float(given[name]) for name in self.names[:-1]), 1.0]))

    def _estimate(self, weights: Floats) -> Estimate:
        """A combination of the coefficients."""
        value = float(weights @ self.values)
        variances = (float(weights @ each @ weights) for each in (self.errors, self.noise))
        error, noise = (np.inf if self.weak else sqrt(max(each, 0.0)) for each in variances)
        score = NormalDist().inv_cdf((1 + self.confidence) / 2)
        interval, for_rows = (
            (value - score * each, value + score * each) for each in (error, noise)
        )
        found = Estimate(
            value,
            error,
            interval,
            self.confidence,
            self.rows,
            sampling=True,
            noise_interval=for_rows,
            several=self.several,
            hint=self._hides if self.weak else "",
            unknown=bool(self.weak),
        )
        return found.of_part(self.source.release, self.source.part)

    @property
    def covers(self) -> str:
        return hold_in(self.confidence, sampling=True, several=self.several)

    def records(self) -> list[Record]:
        """A row for each coefficient, with its name."""
        return [{"name": name, **row} for name in self.names for row in self[name].records()]

    def as_dict(self) -> dict[str, Any]:
        """Everything by name, for ``json.dumps``. A number that is not finite is None."""
        more = {"standard_errors": self.standard_errors, "intervals": self.intervals}
        return super().as_dict() | {name: for_json(each) for name, each in more.items()}

    def _lines(self) -> tuple[list[str], list[list[str]]]:
        titles = ["", "value", "std. error", "noise alone", f"{percent(self.confidence)} interval"]
        if self.weak:
            return titles, [[name, *["not known"] * 4] for name in self.names]
        lines = []
        for name, noise in zip(self.names, self.noise_errors, strict=True):
            each = self[name]
            *shown, low, high = each.justify(
                each.value, each.standard_error, float(noise), *each.interval
            )
            lines.append([name, *shown, f"{low} to {high}"])
        return titles, lines

    def _head(self) -> str:
        return f"{self.y} = intercept + slopes, about {self.rows:.0f} rows"

    @property
    def _hides(self) -> str:
        if len(self.weak) == 1:
            hidden = f"{self.weak[0]} hardly varies, or moves with another column"
        else:
            hidden = f"{', '.join(self.weak)} hardly vary, or move together"
        return f"the noise may hide that {hidden}"

    @property
    def _unsaid(self) -> str:
        if self.weak:
            return (
                f"Weak: {self._hides}. Nothing is\nknown of the slopes. "
                "Take more rows, a larger budget, fewer columns, or narrower\nbounds of "
                f"{', '.join(self.weak)} where they are wider than need be."
            )
        return "Where y is skewed, as pay is, coefficients may be off by more than intervals show."

    def _note(self) -> str:
        if self.weak:
            return self._unsaid
        deviation, cut = (f"{each:.3g}" for each in (self.residual_deviation, self.cut))
        alone = f" {ONE_PERSON.capitalize()}." if self.several else ""
        if self.uneven > _UNEVEN:
            hidden = ": the noise hides whether it does" if self.uneven < inf else ""
            alone += f"\nIntervals take y to spread alike for all rows{hidden}."
        return (
            "Intervals are for the population, from noise and sampling. Rows lie about "
            f"{deviation} from the line,\nand were cut at {cut} from it. {self._unsaid}{alone}"
        )

    def __repr__(self) -> str:
        titles, lines = self._lines()
        table = align([titles, *lines], {1, 2, 3})
        return "\n".join([self._head(), *(f"  {line}" for line in table), self._note()])

    def _repr_html_(self) -> str:
        return html_grid(f"{self._head()}. {self._note()}", *self._lines())


@attrs.frozen(eq=False)
class Frame:
    """Public coordinates of rows: z = turn (x - middle), and how far y lies from a line.

    The residual is (y - at - slopes (x - middle)) / unit.

    Args:
        middle: What is subtracted from the columns.
        turn: A matrix.
        back: Its inverse.
        at: What the line is at the middle.
        slopes: Of the line, for each column.
        unit: Of the residuals.
    """

    middle: Floats
    turn: Floats
    back: Floats
    at: float
    slopes: Floats
    unit: float

    def columns(self, block: Floats) -> list[Floats]:
        """Each z. Column by column, so that a row's image depends on the row alone."""
        x = [block[:, place] - each for place, each in enumerate(self.middle)]
        return [_weigh(x, row) for row in self.turn]

    def lengths(self, longest: float, block: Floats) -> Floats:
        """How long z is, as a share of the longest: a block function, once that is known."""
        return plain_nan((np.sqrt(_squares(self.columns(block))) / longest)[:, None])

    def residuals(self, largest: float, block: Floats) -> Floats:
        """The residual, as a share of the largest, likewise."""
        return plain_nan((self.residual(block) / largest)[:, None])

    def residual(self, block: Floats) -> Floats:
        """The residuals."""
        x = [block[:, place] - each for place, each in enumerate(self.middle)]
        return (block[:, -1] - self.at - _weigh(x, self.slopes)) / self.unit

    def move_to(self, fit: Fit) -> Frame:
        """The same coordinates of x, around a fit in them."""
        slopes = self.slopes + self.unit * fit.value[1:] @ self.turn
        return attrs.evolve(self, at=self.at + self.unit * float(fit.value[0]), slopes=slopes)

    def turn_by(self, gram: NoisyGram) -> Frame:
        """The same line, in coordinates in which columns are uncorrelated and of variance 1.

        Noise that is alike in all directions then hurts all of them alike, also where columns move
        together.
        """
        columns = gram.columns(gram.kept) / gram.kept.sum()
        columns = columns / columns[0, 0]
        means = columns[0, 1:]
        values, vectors = np.linalg.eigh(columns[1:, 1:] - np.outer(means, means))
        deviations = np.sqrt(np.maximum(values, gram.norm / 2 / max(gram.rows, gram.norm)))
        away = self.back @ means
        return attrs.evolve(
            self,
            middle=self.middle + away,
            turn=(vectors / deviations).T @ self.turn,
            back=self.back @ (vectors * deviations),
            at=self.at + float(self.slopes @ away),
        )

    def jacobian(self) -> Floats:
        """How slopes and constant of the columns as they are follow from a fit's coefficients."""
        slopes = np.column_stack([np.zeros(len(self.middle)), self.turn.T])
        constant = np.append(1.0, -self.turn @ self.middle)
        return self.unit * np.vstack([slopes, constant])


def _weigh(columns: Sequence[Floats], weights: Floats) -> Floats:
    """The weighted sum, in one order for all rows."""
    found: Floats = np.zeros(len(columns[0]))
    for column, weight in zip(columns, weights, strict=True):
        found += column * weight
    return found


def _squares(columns: Sequence[Floats]) -> Floats:
    return _weigh([each * each for each in columns], np.ones(len(columns)))


def _fall(lengths: Floats, radius: float | Floats) -> Floats:
    """The weights of rows of these lengths, where none is longer than ``long``."""
    found: Floats = np.minimum(radius / lengths, 1.0) ** _FALL
    return found


@attrs.frozen(eq=False)
class WeightedRow:
    """Block functions: the row (1, z) times the root of a weight, and what residuals make of it.

    The weight depends on x alone, so it moves no slope of a line, where shortening by y would. It
    is 1 where (1, z) is no longer than ``radius``. It falls slowly up to ``long``, and then with
    the square of the length. Residuals are cut first, and those of longer rows nearer to 0. For the
    constant they are cut as little as the length of the row allows.

    Args:
        frame: The coordinates.
        radius: Rows (1, z) that are no longer have the whole weight.
        cut: Their largest residual.
        long: Rows (1, z) that are longer all have one length, once they are weighted.

    Proof:
        With l the length of (1, z): a residual is at most cut and radius cut / (weight l), so a row
        of scores is no longer than radius cut. The root of the weight times l grows up to ``long``
        and stays, so it is at most ``longest``.
    """

    frame: Frame
    radius: float
    cut: float
    long: float

    @property
    def longest(self) -> Fraction:
        """How long a row may be."""
        return Fraction(sqrt(self.radius**_FALL * self.long ** (2 - _FALL)))

    @property
    def largest(self) -> Fraction:
        """How long a row of scores may be."""
        return Fraction(self.radius) * Fraction(self.cut)

    def rows(self, block: Floats) -> Floats:
        """(1, z) times the root of the weight."""
        columns, weight, whole, _ = self._weigh(block)
        return plain_nan(_stack(columns, np.sqrt(weight), whole))

    def kept(self, block: Floats) -> Floats:
        """The same, but 0 where the residual is cut."""
        columns, weight, whole, cut = self._weigh(block)
        root = np.sqrt(np.where(np.abs(whole) > cut, 0.0, weight))
        return plain_nan(_stack(columns, root, whole))

    def scores(self, block: Floats) -> Floats:
        """(1, z) times the weight and the residual."""
        columns, weight, whole, cut = self._weigh(block)
        found = _stack(columns, weight * whole.clip(-cut, cut), whole)
        # The constant takes what the others leave of the length: noise hides no more, and a skewed
        # y moves it less.
        others = _squares(list(found[:, 1:].T))
        rest = np.sqrt(np.maximum((self.radius * self.cut) ** 2 - others, 0.0))
        found[:, 0] = (whole * weight).clip(-rest, rest)
        return plain_nan(found)

    def squares(self, block: Floats) -> Floats:
        """The weight times the square of the residual."""
        _, weight, whole, cut = self._weigh(block)
        return plain_nan((weight * whole.clip(-cut, cut) ** 2)[:, None])

    def _weigh(self, block: Floats) -> tuple[list[Floats], Floats, Floats, Floats]:
        """z, the weight, the residual, and where it is cut."""
        columns = self.frame.columns(block)
        length = np.sqrt(1 + _squares(columns))
        weight = _fall(length, self.radius)
        weight *= np.minimum(self.long / length, 1.0) ** (2 - _FALL)
        cut = self.cut * np.minimum(self.radius / (weight * length), 1.0)
        return columns, weight, self.frame.residual(block), cut


def _stack(columns: Sequence[Floats], factor: Floats, residual: Floats) -> Floats:
    """(1, z) times a factor. A row that lacks y lacks all of it."""
    found = np.stack([factor, *(each * factor for each in columns)], axis=1)
    found[np.isnan(residual)] = np.nan
    return found


@attrs.frozen(eq=False)
class _Tail:
    """How far rows lie from 0: distances, noisy numbers of rows, and how far any is seen.

    ``hidden`` rows are taken to lie beyond: the noise may hide them.
    """

    places: Floats
    rows: Floats
    end: float
    hidden: float = 0.0

    @classmethod
    def of(cls, limits: Limits, reach: float, unit: float, hidden: float = 0.0) -> _Tail:
        """In a unit. Where noise may hide nearly all rows, all are taken to lie at the end."""
        places, rows = limits.away
        end = limits.reach
        if limits.unseen is not None or not rows.clip(0).sum():
            places, rows, end, hidden = np.array([reach]), np.ones(1), reach, 0.0
        return cls(places / unit, rows.clip(0), end / unit, hidden)

    def cut_off(self, cuts: Floats) -> Floats:
        """What each cut takes off a row on average. Hidden rows thin out exponentially."""
        shown = np.maximum(self.places[:, None] - cuts, 0).T @ self.rows
        hidden = self.hidden * self.end / 2 * np.exp(2 - 2 * cuts / self.end)
        found: Floats = (shown + hidden) / self.rows.sum()
        return found


def _width(limits: Limits, reach: float, narrowest: float, rows: float) -> float:
    """About the deviation of what a search found; where noise may hide it, the most it may be."""
    if limits.unseen is not None:
        most = sqrt(limits.unseen.most(_RARELY) / max(rows, 1.0))
        return max(min(reach / 2, most), reach * narrowest)
    return max(sqrt(max(limits.variance, 0.0)), reach * narrowest)


_COUNT, _SANDWICH, _TAIL = Fraction(1, 50), Fraction(1, 20), Fraction(1, 25)
# For the lengths of rows, and for the squares of residuals. With a fiftieth of the budget those are
# known to a quarter at 5000 rows and epsilon = 1, with this to a seventh.
_LENGTHS, _SPREAD = Fraction(1, 50), Fraction(3, 100)
_ROUGH: Final = Fraction(1, 5)
"""Of what is left for the fits, for the first: 10 to 35 % are as good."""
_ROUGH_SQUARES: Final = Fraction(1, 3)
"""Of that, for the squares: their noise is multiplied by slopes below 1, so it matters less."""
# For the rings of all columns together, and half as much for the medians: the least share at which
# rows show. With fewer the unit of a column comes out at half or double.
_RINGS: Final = tuple(Fraction(each, 100) for each in (8, 12, 18, 26, 36))
_SHOWS: Final = 60.0
"""So many deviations of the noise of one ring must the rows be."""
# No column is stretched by more, whatever its rings tell: they may miss the few rows that are not
# at its median, and the rough fit then brings it to its true unit. With few rows a unit comes out
# too small more often: at 500 rows and epsilon = 1 intervals hold 92 % with the first of these, and
# 94 % with the second.
_NARROWEST, _NARROWEST_FEW = 1 / 256, 1 / 64
# Where one ring alone shows, as of a column of many zeros, its unit is a deviation that is exceeded
# so rarely. With half of the reach 38 of 60 releases of such a column were weak.
_RARELY: Final = 0.05
# Residuals are found among many rows, and their reach is that of all bounds together, often 100
# deviations: held to 1 / 64 of it, bounds of 25 deviations had 2.3 times the noise of slopes.
_NARROWEST_RESIDUAL: Final = 2.0**-20
# Of what is left for a fit, for the squares of the columns: the first that shows them clearly. What
# a rough fit leaves of slopes is small, so the noise of squares hardly matters there.
_SQUARES: Final = tuple(Fraction(each, 20) for each in (4, 6, 8, 10))
_CLEAR: Final = 8.0
_STEPS, _FINE = 40, 200
_TINY: Final = 1e-300
_PAIR, _BOUNDS_AT = 2, 2
_LEAST_CUT, _LEAST_UNSEEN = 2.8, 3.2
"""In deviations; the second where the rows are too few to see how far residuals reach.

Rings tell what cutting moves no finer than to half a doubling: for y of 0 and 1, a cut of 2.5 moved
a slope by half of its standard error, and 93 % held."""
# What cutting moves may move a slope always the same way, so its square counts for more than one.
_SHIFT: Final = 4.0
# Rows that the noise of rings may hide beyond the last that shows, in deviations. With none of them
# 72 % of intervals held for lognormal y, 20 000 rows and epsilon = 1, and with this 93. A half lets
# rows far out in x weigh less, which moves the slope of a bent y more.
_HIDDEN: Final = 0.25
# Of `uneven`: there `sampling` sees half of an excess of half the variance, and above it less, so a
# release says it.
_UNEVEN: Final = 0.5
_FARTHEST: Final = 4
# What cutting takes off a skewed y moves the constant always the same way: counted once, 81 % of
# its intervals held for lognormal y, 5000 rows and epsilon = 1, and with this 88 to 92. At 4 the
# slope of wages by experience errs a sixth more.
_CONSTANT_PULL: Final = 2.0
# Where y is not linear in x, less weight for rows far out moves slopes: by about so much of a unit,
# times the share of the spread of x that is lost. With .24 the noise of wages was a tenth larger.
_BENT: Final = 0.06
# Weights of rows longer than the radius fall with this power of their length, and their cut with
# the rest of 1. With a radius of 1.7, without noise, at 1 the slope of wages by school moved by 1.9
# of its sampling error, and at this by .6. At 0 an x and a y with long tails move slopes together.
_FALL: Final = 0.25
# Weights fall slowly up to the length at which noise leaves the squares of the columns as clear as
# this: more noise of squares matters little, as what they multiply is small. No longer than so many
# times the longest row that shows: the noise of rings may hide some.
_LEAST_CLEAR, _FARTHER = 4.0, 1.5
_ALIKE: Final = 0.3
"""A column with this share of the largest part in a direction that noise hides is named."""


@attrs.frozen(eq=False)
class _RegressionPlan:
    """What was asked of a regression: the columns, the last of which is explained."""

    picked: tuple[Column, ...]
    columns: tuple[BoundedColumn, ...]
    budget: Budget
    robust: bool
    confidence: float

    @property
    def rows(self) -> Around:
        """The columns in bounds."""
        inside = clamp([each.lower for each in self.columns], [each.upper for each in self.columns])
        return select(*self.picked) >> inside

    def run(self, ask: AnyAsk) -> Regression:
        """One run. Numbers that floats cannot hold show in the release, and never as a warning."""
        with np.errstate(all="ignore"):
            size = ask.space.domain.size
            if size is None:
                size = ask(self.rows >> count() >> self.budget.part(_COUNT).noise())
            return _RegressionRun(self, ask, float(size)).release()


@attrs.frozen(eq=False)
class _RegressionRun:
    """One run: what is asked, and the noisy or public number of rows."""

    plan: _RegressionPlan
    ask: AnyAsk
    rows: float

    def release(self) -> Regression:
        """A rough fit if it would not be weak, a fit of what it leaves, and the sandwich."""
        plan, many = self.plan, len(self.plan.columns)
        rings = next((each for each in _RINGS if self._shows(each / many)), _RINGS[-1])
        frame, tail = self._start(rings)
        left = 1 - rings * Fraction(3, 2) - _SPREAD - (_SANDWICH if plan.robust else 0)
        if self.ask.space.domain.size is None:
            left -= _COUNT
        root, looks = sqrt(many - 1), self._shows(_TAIL)
        lengths = _Tail(np.array([root]), np.ones(1), root + 2)
        rough = left * _ROUGH
        how = self._cuts(frame, lengths, tail, rough, _LEAST_CUT)
        squares = rough * _ROUGH_SQUARES
        query, off = self._squares(how.rows, how.longest, squares)
        if self.rows > norm_of_noise(off, many):
            left -= squares
            found = NoisyGram.of(self.ask(query), off)
            if not found.weak:
                left -= rough - squares
                fit = self._fit(how, found, rough - squares)
                frame = how.frame.move_to(fit).turn_by(found)
                if looks:
                    left -= _TAIL
                    frame, tail = self._residuals(frame, tail)
            else:
                # In better units the fit may not be weak.
                frame = how.frame.turn_by(found)
        if looks:
            left -= _LENGTHS
            lengths = self._lengths(frame)
        how = self._cuts(frame, lengths, tail, left, _LEAST_CUT if looks else _LEAST_UNSEEN)
        shares = [left * each for each in _SQUARES]
        offs = (self._squares(how.rows, how.longest, each)[1] for each in shares)
        norms = [(each, norm_of_noise(off, many)) for each, off in zip(shares, offs, strict=True)]
        part, off = next((each for each in norms if self.rows > _CLEAR * each[1]), norms[-1])
        if looks:
            clear = how.radius * (self.rows / (_LEAST_CLEAR * off)) ** (1 / (2 - _FALL))
            long = max(how.radius, min(clear, _FARTHER * hypot(1, lengths.end)))
            how = attrs.evolve(how, long=long)
        # A row that is cut moves no sum of cut residuals, wherever the line is, so Newton's step
        # leaves it out. Else a part of the rough fit's error stays, of which no sandwich knows:
        # where y spreads in proportion to x, 82 % of intervals held in place of 90.
        query, off = self._squares(how.kept, how.longest, part)
        fit, filling = self._fit(how, NoisyGram.of(self.ask(query), off), left - part), None
        around = attrs.evolve(how, frame=how.frame.move_to(fit))
        query, off = self._spread(around)
        spread = expect_positive(float(self.ask(query)[0]), off)
        if plan.robust:
            query, off = self._squares(around.scores, around.largest, _SANDWICH)
            filling = NoisyGram.of(self.ask(query), off)
        return self._show(how, fit, spread / max(fit.gram.freedom, 1.0), filling)

    def _fit(self, how: WeightedRow, gram: NoisyGram, share: Fraction) -> Fit:
        """From the noisy products with the residuals."""
        query, off = self._products(how, share)
        return gram.fit(np.asarray(self.ask(query), dtype=np.float64), off)

    def _shows(self, share: Fraction) -> bool:
        """Whether the rows stand out of the noise of rings for this share of the budget."""
        off = self.plan.budget.part(share).deviation(float(self.ask.space.unit))
        return self.rows > _SHOWS * off

    def _start(self, share: Fraction) -> tuple[Frame, _Tail]:
        """Around the middles of all columns, in units of about their deviations."""
        many, budget = len(self.plan.columns), self.plan.budget
        search = Search(self.ask, budget.part(share / 2 / many), budget.part(share / many))
        middles, widths = np.zeros(many), np.ones(many)
        least = _NARROWEST if self._shows(_TAIL) else _NARROWEST_FEW
        tails: list[tuple[Limits, float]] = []
        for place, column in enumerate(self.plan.columns):
            rings = rings_for(float(2 * column.half))
            middle, limits = search.column(self.plan.rows >> select(place), column, rings)
            reach = float(max(column.upper - Fraction(middle), Fraction(middle) - column.lower))
            widths[place] = _width(limits, reach, least, self.rows)
            middles[place] = middle + limits.mean
            tails.append((limits, reach))
        frame = Frame(
            middles[:-1],
            np.diag(1 / widths[:-1]),
            np.diag(widths[:-1]),
            float(middles[-1]),
            np.zeros(many - 1),
            float(widths[-1]),
        )
        limits, reach = tails[-1]
        return frame, _Tail.of(limits, reach, frame.unit)

    def _around_zero(self, rows: Around, share: Fraction) -> Limits:
        """Where numbers between -1 and 1 lie."""
        budget = self.plan.budget.part(share)
        return Search(self.ask, budget, budget).around(rows, (-1.0, 1.0), rings_for(1.0))

    def _residuals(self, frame: Frame, tail: _Tail) -> tuple[Frame, _Tail]:
        """Around the same line, in about the deviation of the residuals.

        Where noise hides them the unit of y stays, which is too wide, as half of the reach would be
        fifty times: 1 of 100 releases of 3 columns and 2000 rows at epsilon 1 were spoilt by that.
        """
        reaches = self._reaches
        largest = float(np.abs(frame.slopes) @ reaches[:-1] + reaches[-1]) / frame.unit
        residuals = map_rows(partial(frame.residuals, largest), Box(-1, 1))
        limits = self._around_zero(self.plan.rows >> residuals, _TAIL)
        if limits.unseen is not None or not limits.away[1].clip(0).sum():
            return frame, tail
        wide = _width(limits, 1.0, _NARROWEST_RESIDUAL, self.rows)
        unit = frame.unit * largest * wide
        hidden = _HIDDEN * self.plan.budget.part(_TAIL).deviation(float(self.ask.space.unit))
        return attrs.evolve(frame, unit=unit), _Tail.of(limits, 1.0, wide, hidden)

    def _lengths(self, frame: Frame) -> _Tail:
        """How long the rows of the columns are."""
        longest = float(np.linalg.norm(np.abs(frame.turn) @ self._reaches[:-1]))
        lengths = map_rows(partial(frame.lengths, longest), Box(0, 1))
        limits = self._around_zero(self.plan.rows >> lengths, _LENGTHS)
        return _Tail.of(limits, 1.0, 1 / longest)

    @property
    def _reaches(self) -> Floats:
        """The widths of the bounds."""
        return np.array([2 * float(each.half) for each in self.plan.columns])

    def _cuts(
        self, frame: Frame, lengths: _Tail, tail: _Tail, share: Fraction, least: float
    ) -> WeightedRow:
        """The radius and the cut of the least error: sampling, noise, and what cutting moves."""
        root = sqrt(len(frame.middle))
        one = self._products(WeightedRow(frame, 1.0, 1.0, 1.0), share * (1 - _SQUARES[0]))[1]
        radii = np.hypot(1, np.geomspace(root, max(lengths.end, root + 1), _STEPS))[:, None]
        cuts = np.geomspace(least, _FARTHEST * max(tail.end, least), _STEPS)
        long, squares = np.hypot(1, lengths.places), lengths.places**2
        weights = _fall(long, radii)
        spread = squares * lengths.rows
        kept = weights @ spread / max(spread.sum(), _TINY)
        known = np.maximum(self.rows * kept[:, None], 1.0)
        noise = one * radii * cuts / known
        # Where residuals of rows of these lengths are cut, for the slopes and for the constant, as
        # a share of the cut: as in rows of scores that are shorter than `long`. A pull is how much
        # a coefficient moves for what is cut off.
        near = np.minimum(radii / long, 1.0) ** (1 - _FALL)
        rest = np.sqrt(np.maximum((radii / weights) ** 2 - squares * near**2, 0.0))
        each = weights * lengths.rows / lengths.rows.sum()
        places = np.append(0.0, np.geomspace(least / _FINE, cuts[-1], _FINE))
        shift = (_BENT * (1 - kept[:, None])) ** 2
        for reach, pull in ((near, each * lengths.places / root), (rest, _CONSTANT_PULL * each)):
            moved = np.interp(reach[:, :, None] * cuts, places, tail.cut_off(places))
            shift = shift + _SHIFT * np.einsum("rl,rlc->rc", pull, moved) ** 2
        best = int(np.argmin(1 / known + noise**2 + shift))
        row, column = divmod(best, _STEPS)
        radius = float(radii[row, 0])
        return WeightedRow(frame, radius, float(cuts[column]), radius)

    def _squares(
        self, rows: Block, longest: Fraction, share: Fraction
    ) -> tuple[Noisy[Floats], float]:
        """The sum of outer products, and the deviation of its noise."""
        summed = self._weigh_rows(rows, longest) >> outer_products() >> sum()
        return even_noise(summed, self.plan.budget.part(share), self.ask.space)

    def _products(self, how: WeightedRow, share: Fraction) -> tuple[Noisy[Floats], float]:
        """The sum of the products with the residuals, and the deviation of its noise."""
        summed = self._weigh_rows(how.scores, how.largest) >> sum()
        return even_noise(summed, self.plan.budget.part(share), self.ask.space)

    def _spread(self, how: WeightedRow) -> tuple[Noisy[Floats], float]:
        """The sum of the squares of the residuals, and the deviation of its noise."""
        summed = self.plan.rows >> map_rows(how.squares, Box(0, Fraction(how.cut) ** 2)) >> sum()
        return even_noise(summed, self.plan.budget.part(_SPREAD), self.ask.space)

    def _weigh_rows(self, rows: Block, longest: Fraction) -> Around:
        return self.plan.rows >> map_rows(rows, Ball(longest, columns=len(self.plan.columns)))

    def _show(
        self, how: WeightedRow, fit: Fit, variance: float, filling: NoisyGram | None
    ) -> Regression:
        """In the units of the columns."""
        frame = how.frame
        found, turned = frame.move_to(fit), frame.jacobian()
        noise = turned @ fit.noise() @ turned.T
        names = tuple(map(str, self.plan.picked))
        return Regression(
            names[-1],
            (*names[:-1], _CONSTANT),
            np.append(found.slopes, found.at - float(found.slopes @ found.middle)),
            noise + turned @ fit.sampling(variance, filling) @ turned.T,
            noise,
            self.plan.confidence,
            max(self.rows, 0.0),
            sqrt(variance) * frame.unit,
            how.cut * frame.unit,
            self._hidden(frame, fit.gram) if fit.gram.weak else (),
            self.ask.space.unit > 1,
            fit.hidden(variance, filling),
        )

    def _hidden(self, frame: Frame, gram: NoisyGram) -> tuple[str, ...]:
        """The columns of the direction of which least is known."""
        widths = np.sqrt(np.square(frame.back).sum(axis=1))
        part = np.abs(gram.eigen[1][1:, 0] @ frame.turn) * widths
        names = np.array([str(each) for each in self.plan.picked[:-1]], dtype=object)
        # Not a number, of noise that no float holds, is no reason to name none.
        return tuple(names[~(part < _ALIKE * part.max())])


def _bounds_by_column(recipe: Callable[P, R]) -> Callable[P, R]:
    """Lets bounds be typed by column: the step itself keeps them in order, those of y first."""

    @wraps(recipe)
    def in_order(*args: P.args, **kwargs: P.kwargs) -> R:
        typed: dict[str, Any] = dict(zip(("y", "x", "bounds"), args, strict=False)) | kwargs
        given = typed.get("bounds")
        if not isinstance(given, Mapping) or not {"y", "x"} <= set(typed):
            return recipe(*args, **kwargs)
        if not isinstance(typed["y"], str | int) or typed["x"] is None:
            raise ParameterError(
                "linear_regression: y is one name and comes first, then x, as in "
                "dp.linear_regression('pay', ['age'], ...)"
            )
        columns = (typed["y"], *_columns(typed["x"]))
        formula = " ".join(map(str, columns))
        if not set(columns) <= set(given) and set("~+") & set(formula):
            raise ParameterError(f"linear_regression: {say_formula(formula)}")
        if not set(columns) <= set(given) and any(map(_TERM.fullmatch, map(str, columns))):
            raise ParameterError(
                "linear_regression: columns go in as they are in the table; of a category make a "
                "column of 0 and 1 for each value but one, with the bounds (0, 1)"
            )
        # Bounds of other columns of the table may be there: one dictionary does for many fits.
        named = {each: given[each] for each in columns if each in given}
        whole = named if len(named) == len(columns) else given
        pairs = bounds_of_each(whole, columns, "linear_regression")
        made: Callable[..., R] = recipe
        if len(args) <= _BOUNDS_AT:
            return made(*args, **(kwargs | {"bounds": pairs}))
        return made(*args[:_BOUNDS_AT], pairs, *args[_BOUNDS_AT + 1 :], **kwargs)

    # Among them the constructor itself, by which ``calls`` pickles a recipe.
    vars(in_order).update(vars(recipe))
    return in_order


def _columns(x: Column | Sequence[Column]) -> tuple[Column, ...]:
    return (x,) if isinstance(x, int | str) else tuple(x)


@_bounds_by_column
@mechanism(
    does="A linear regression of one column on others, with intervals for the population.",
    changes=(
        "Values beyond the bounds are clipped to them. Rows far out in x get less weight, and rows "
        "far from the line are cut, as far as a part of the budget finds good. Rows with a "
        "missing value are left out."
    ),
    proof=costs_budget(
        "An `adaptive` program of a `count`, medians, numbers of rows in rings, and noisy sums of "
        "rows in a ball and of their `outer_products`. The fit is post-processing.",
        sources=["White 1980, for the sandwich"],
    ),
    examples=lambda: [
        example(records(columns=["age", "pay"]), "pay", "age", [(0, 90), (16, 80)], rho=0.1),
        example(sized_rows(3), 2, [0, 1], [(-1, 1), (0, 1), (0, 3)], epsilon=1, confidence=0.9),
        example(records(columns=2), 0, [1], [(0, 1), (0, 1)], epsilon=1, delta=1e-6, robust=False),
    ],
)
def linear_regression(
    space: Space[TablesOrRows],
    y: Column,
    x: Column | Sequence[Column],
    bounds: Mapping[Column, tuple[Number, Number]] | Sequence[tuple[Number, Number]],
    budget: AnyBudget | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    robust: bool = True,
    confidence: Number = 0.95,
) -> Measured[Regression]:
    """A linear regression of one column on others, with intervals for the population.

    Args:
        y: The column that is explained: its name, or its position in an array.
        x: The columns that explain it, or one.
        bounds: The bounds of each column, chosen without looking at the data: ``{"pay": (0, 90),
            "age": (16, 80)}``, or a list of pairs, of y and then of each x. Values beyond are
            clipped to them. Bounds that are too wide cost little, but for a column that is mostly
            one value. Those of other columns may be there.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        robust: Whether intervals also hold where y spreads more for some x than for others, if
            about evenly to both sides. It takes a twentieth of the budget.
        confidence: Of the intervals.

    Returns:
        A ``dp.releases.Regression``. Its intervals are for the slopes of the population that the
        rows were sampled from, if y is about linear in x. Where the noise may hide that columns
        hardly vary or move together, it is ``weak`` and says nothing of the slopes. Rows with a
        missing value are left out.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.
        SpaceError: If a column is not there.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> draw = np.random.default_rng(0)
        >>> age = draw.uniform(20, 60, 20_000)
        >>> people = {"age": age, "pay": 5 + 0.4 * age + draw.normal(0, 6, 20_000)}
        >>> fit = dp.linear_regression("pay", "age", {"pay": (0, 90), "age": (16, 80)}, epsilon=1)
        >>> found = fit(people)
        >>> round(found["age"].value, 1), found["age"].standard_error < 0.02, found.weak
        (0.4, True, ())
    """
    step = "linear_regression"
    columns = (*_columns(x), y)
    if len(columns) < _PAIR or len(set(columns)) < len(columns):
        raise ParameterError(
            f"{step}: y and the columns of x must be different, and one at least; got y = "
            f"{quote(y)} and x = {quote(x)}"
        )
    if not isinstance(bounds, Sequence) or not all(
        isinstance(each, Sequence)
        and len(each) == _PAIR
        and not any(isinstance(e, str) for e in each)
        for each in bounds
    ):
        raise ParameterError(
            f"{step}: bounds are two numbers for each column, as in {{'pay': (0, 100), 'age': "
            "(18, 65)}; of a category make a column of 0 and 1 for each value but one"
        )
    if len(bounds) != len(columns):
        raise ParameterError(
            f"{step} needs bounds of y and then of each x, {len(columns)} pairs in all; got "
            f"{len(bounds)}"
        )
    first, *others = (BoundedColumn.between(low, high, step) for low, high in bounds)
    bounded = (*others, first)
    share = float(confidence_of(confidence, f"{step}: confidence"))
    whole = budget_of(step, rho, epsilon, delta).with_choices()
    plan = _RegressionPlan(columns, bounded, whole, robust, share)
    for place, column in enumerate(bounded):
        (plan.rows >> select(place) >> whole.median(bounds=column.typed)).bind(space)
    why = (
        "a part of the budget finds where the columns lie and how far residuals reach\n"
        "  a fifth of the rest is for a rough fit, and the rest for the sums of what it leaves\n"
        "  no interval shows what cutting rows far from the line moves"
    )
    made = make_adaptive(space, plan.run, whole.measure, whole.amount, why)
    if isinstance(space.domain, Tables):
        summed = (plan.rows >> sum()).bind(space)
        names = space.domain.find_names(columns, step)
        made = TriedOnNames(names, summed.function, step).before(made)
    return whole.with_claimed_loss(made)
