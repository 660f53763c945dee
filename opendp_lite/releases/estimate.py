"""A released number with how far off it may be, and what is computed from several."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, exp, floor, inf, isfinite, log, nan, sqrt
from numbers import Real
from typing import ClassVar, Final, NoReturn, Self

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.display import formatting, pictures
from opendp_lite.releases import intervals
from opendp_lite.releases.intervals import CellsOfTable, IntervalEnds, TwoCells, join_errors
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record

_FEW: Final = "too few rows"
# Within this share of the width from a bound, values beyond it may have moved the release; of a
# quantile, within the second.
_NEAR: Final = 0.1
_AT_A_BOUND: Final = 1e-3
_LITTLE: Final = 0.5
# Its exponential is about the largest float.
_LARGEST: Final = 709.0
_ENDS: Final = ("interval", "clipped_interval", "wide_interval", "bounds", "noise_interval")


@attrs.frozen(repr=False)
class NoiseSource:
    """A draw of noise, and the rows that it was added to.

    Args:
        release: The same value for all parts of a release, such as the groups of ``by``.
        part: Which of them. Other parts have other rows, and noise of their own.
        table: The cells of which this is the share of one: it is known how these depend.
        place: Of that cell.
    """

    release: object = attrs.field(factory=object)
    part: Hashable = None
    table: CellsOfTable | None = attrs.field(default=None, eq=False)
    place: int = attrs.field(default=0, eq=False)


@attrs.frozen(repr=False)
class Estimate(Result):
    """A released number with its standard error and an interval. All of it is private.

    ``a - b``, ``a / b``, ``a + 3``, ``2 * a``, ``round(a, 2)``, ``np.log(a)`` are estimates: their
    errors follow from those of the parts (see ``dp.difference``). ``float(a)`` is the value alone.

    Args:
        value: The estimate, of a mean or a count, say.
        standard_error: Of the value, to the first order. Where there is a ``clipped_interval`` it
            is that of the clipped values, without what clipping may move.
        interval: Holds what is estimated in a share ``confidence`` of all releases. For a mean this
            is the mean of the clipped values.
        confidence: Such as 0.95.
        rows: About how many rows there are; None where the release does not tell. With weights the
            fewest that could have their total weight, which a table calls ``weight_over_most``.
        sampling: Whether both errors also cover that the rows are a random sample, so that the
            interval is for the population. If not, they are those of the noise alone.
        clipped: Whether values were clipped at ends that a private search found. Without a
            ``clipped_interval`` the interval is then for the clipped values. With few rows these
            may lie far from all values. False does not say that no value lay beyond bounds that you
            gave: ``treated`` says what such values count as.
        clipped_interval: The one for the clipped values, where ``interval`` also covers what
            clipping moves, if tails are thin: ``mean`` says how thin.
        hidden_rows: A group of fewer rows, far from all others, may not have been seen. It would
            be clipped, and no interval shows it. One of so many or more is found in 95 % of
            releases. None where nothing was searched.
        wide_interval: With what such clipping may have moved, where the release can tell. It holds
            the statistic of all values within the bounds if tails are thin: ``variance`` says how
            thin.
        bounds: What is estimated lies between them; None where nothing bounds it on both sides.
        too_few: Whether the rows were too few, as a noisy count has it, to learn where the values
            lie: there may be none. A value without bounds is then a private median, or 0.
        noise_interval: The one for these rows, where ``interval`` is for the population; None where
            the release does not tell.
        several: Whether a person may have several rows. An interval for the population takes them
            for independent draws, and is too narrow where they are alike.
        hint: What else there is to know, in words.
        treated: What values beyond the bounds and missing ones count as: a table says it below.
        weighted: Whether rows have weights.
        count: Of a share: about how many of the rows it is; None of others.
        unknown: Whether nothing is known of it. It prints "not known", and tables leave it empty.

    Example:
        >>> estimate = Estimate(41.2587, 0.0821, (41.097, 41.421), 0.95, 600.2)
        >>> estimate
        <Estimate 41.259 (41.097 to 41.421 in 95 % of releases of these rows)>
        >>> 2 * estimate - 40
        <Estimate 42.52 (42.19 to 42.84 in 95 % of releases of these rows)>
        >>> float(estimate), f"{estimate:.1f}", estimate.as_dict()["interval"]
        (41.2587, '41.3', [41.097, 41.421])
    """

    plotted_by: ClassVar = "estimate_intervals"

    value: float
    standard_error: float
    interval: IntervalEnds
    confidence: float
    rows: float | None = None
    sampling: bool = False
    clipped: bool = False
    clipped_interval: IntervalEnds | None = None
    hidden_rows: int | None = None
    wide_interval: IntervalEnds | None = None
    bounds: IntervalEnds | None = None
    too_few: bool = False
    noise_interval: IntervalEnds | None = None
    several: bool = False
    hint: str = attrs.field(default="", eq=False, repr=False)
    treated: str = attrs.field(default="", eq=False, repr=False)
    weighted: bool = False
    count: float | None = None
    unknown: bool = False
    # Not stored: two readings of one file would be two draws of noise.
    sources: frozenset[NoiseSource] = attrs.field(
        factory=lambda: frozenset([NoiseSource()]), init=False, eq=False, repr=False
    )

    def of_part(self, release: object, part: Hashable) -> Self:
        """The same estimate as a part of a release whose parts have other rows and other noise."""
        return copy_with(self, sources=frozenset([NoiseSource(release, part)]))

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        value, ends, noise, warnings = self.cells()
        held = "" if self.unknown else f"{ends} in {self.covers}"
        said = "; ".join(filter(None, [held, f"{noise} is noise" if noise else "", warnings]))
        return f"{value} ({said})" if said else value

    def cells(self) -> tuple[str, str, str, str]:
        """For a line of a table: the value, its interval, how much is noise, and what to know."""
        if self.unknown:
            return "not known", "not known", "", "; ".join(self._warnings())
        half, noise = _half_width(self.interval), ""
        if self.noise_interval is not None and 0 < half < inf:
            part = _half_width(self.noise_interval)
            # To the first digit of the noise at least, if it is a thousandth of all.
            least = min(half, max(10 * part, half / 100))
            of_noise, all_of_it = formatting.significant(least, part, half)
            noise = f"{of_noise} of the {all_of_it}"
        # An exact 0 is what a share is cut off at: digits would make more of it.
        value = self.justify(self.value)[0] if self.value else "0"
        ends = self._ends(self.interval)
        return value, ends, noise, "; ".join(self._warnings())

    def __repr__(self) -> str:
        return f"<Estimate {self}>"

    def _repr_html_(self) -> str:
        drawn = ""
        if self.bounds is not None:
            scale = pictures.Scale(*self.bounds)
            drawn = f"{scale.dot(self.spot())}{scale.title()}"
        more = f"{noise} is noise" if (noise := self.cells()[2]) else ""
        said = "; ".join(filter(None, [more, *self._warnings()]))
        table = self.table()._repr_html_()
        return f"<div style='width:fit-content'>{table}{formatting.escape(said)}{drawn}</div>"

    def spot(self) -> pictures.Spot:
        """The value with its interval, for a picture."""
        return pictures.Spot(float(self.value), *map(float, self.interval))

    def _ends(self, interval: IntervalEnds) -> str:
        low, high = self.justify(*interval)
        return f"{low} to {high}"

    @property
    def covers(self) -> str:
        """In what the interval holds what is estimated, in words."""
        held = formatting.hold_in(self.confidence, sampling=self.sampling)
        if self.clipped_interval is not None:
            held += " if tails are thin"
        elif self.clipped:
            held += " after clipping"
        return f"{held}; {formatting.ONE_PERSON}" if self.several else held

    @property
    def _summands(self) -> Sequence[Estimate]:
        # A mean, a share and a quantile say of how many rows they are, or between which bounds.
        known = self.rows is not None or self.bounds or self.sampling or self.treated
        return [] if known else [self]

    @property
    def _unsaid(self) -> str:
        hidden = [] if self.hidden_rows is None else [say_hidden(self.hidden_rows)]
        return " ".join(map(formatting.as_sentence, [*hidden, *self.remarks()]))

    def _warnings(self) -> list[str]:
        """What else there is to know, for the line of the number: each in a few words."""
        said = []
        if self.wide_interval is not None:
            said.append(f"{self._ends(self.wide_interval)} with what clipping may move")
        if self.hidden_rows is not None:
            said.append(say_hidden(self.hidden_rows))
        known = self.rows is not None and not self.weighted
        few = f"{_FEW}, about {self.rows:.0f}" if known else _FEW
        return [*said, *(few if each is _FEW else each for each in self.remarks())]

    def remarks(self) -> list[str]:
        """What else there is to know, in words that stand below a table of several as well."""
        said: list[str] = []
        if self.bounds is not None:
            width = self.bounds[1] - self.bounds[0]
            said.extend(
                f"near the bound {bound:g}, so values beyond it may be clipped"
                for bound in self.bounds
                # 0 is mostly the end of what can be, and what a search found no choice, either.
                if bound and not self.clipped and abs(self.value - bound) <= _NEAR * width
            )
        if self.hint:
            said.append(self.hint)
        if self.interval == (-inf, inf) and not self.unknown:
            said.append("its error is not known")
        if self._few:
            said.append(_FEW)
        return said

    def justify(self, *numbers: float) -> tuple[str, ...]:
        """Numbers with as many digits as the second of the standard error.

        There are fewer where the value and its ends have fewer, as counts do.
        """
        return formatting.justify(self.standard_error, (self.value, *self.interval), *numbers)

    def records(self) -> list[Record]:
        """The number with its interval, as one row; None where nothing is known of it."""
        low, high = self.interval
        found: Record = {"value": self.value, "low": low, "high": high}
        found["standard_error"] = self.standard_error
        if self.wide_interval is not None:
            found |= dict(zip(("wide_low", "wide_high"), self.wide_interval, strict=True))
        name = "weight_over_most" if self.weighted else "rows"
        if self.unknown:
            found = dict.fromkeys(found)
        if self.count is not None:
            found["count"] = round(self.count)
        return [found if self.rows is None else found | {name: self.rows}]

    def __add__(self, other: object) -> Estimate:
        if isinstance(other, Estimate):
            return difference(self, -other)
        by = _number(other)
        return NotImplemented if by is None else self._map_ends(lambda end: end + by)

    __radd__ = __add__

    def __neg__(self) -> Estimate:
        return self._map_ends(lambda end: -end, -1.0)

    def __sub__(self, other: object) -> Estimate:
        if isinstance(other, Estimate):
            return difference(self, other)
        by = _number(other)
        return NotImplemented if by is None else self._map_ends(lambda end: end - by)

    def __rsub__(self, other: object) -> Estimate:
        return -self + other

    def __mul__(self, other: object) -> Estimate:
        if isinstance(other, Estimate):
            raise TypeError(
                "two releases are not multiplied: the error of the product is not known. Write "
                "float(a) * float(b) for the values alone"
            )
        by = _number(other)
        return NotImplemented if by is None else self._map_ends(lambda end: end * by, by)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Estimate:
        if isinstance(other, Estimate):
            return ratio(self, other)
        by = _number(other)
        return NotImplemented if by is None else self._map_ends(lambda end: end / by, 1 / by)

    def __rtruediv__(self, other: object) -> Estimate:
        by = _number(other)
        if by is None:
            return NotImplemented
        exact = Estimate(by, 0.0, (by, by), self.confidence)
        found = ratio(exact, self, independent=True)
        return copy_with(found, sources=frozenset(map(_without_table, self.sources)))

    def log(self) -> Estimate:
        """The natural logarithm, which ``np.log`` asks for."""
        value = self._above_zero("log")
        return self._curve(lambda end: log(end) if end > 0 else -inf, 1 / value)

    def sqrt(self) -> Estimate:
        """The square root, which ``np.sqrt`` asks for."""
        return self._curve(lambda end: sqrt(max(end, 0.0)), 0.5 / sqrt(self._above_zero("sqrt")))

    def exp(self) -> Estimate:
        """The exponential, which ``np.exp`` asks for."""

        def rise(end: float) -> float:
            return exp(end) if end < _LARGEST else inf

        return self._curve(rise, rise(self.value))

    def _above_zero(self, step: str) -> float:
        if self.value > 0:
            return self.value
        raise ParameterError(
            f"{step}: the release is not above 0; write float(release) for the value alone"
        )

    def _curve(self, rise: Callable[[float], float], slope: float) -> Estimate:
        """Of a function that is no line: a share of the width between bounds says nothing then."""
        return copy_with(self._map_ends(rise, slope), bounds=None)

    def __round__(self, digits: int | None = None) -> Estimate:
        """The value rounded. Ends are rounded outwards, so that the interval holds as much."""
        places = digits or 0
        low, high = self.interval
        ends = _round_to(floor, low, places), _round_to(ceil, high, places)
        return copy_with(self, value=round(self.value, places), interval=ends)

    def __lt__(self, other: object) -> bool:
        """By value, so that ``sorted`` and ``max`` work; with a number it is refused."""
        return self.value < self._compare_with(other)

    def __gt__(self, other: object) -> bool:
        return self.value > self._compare_with(other)

    def _compare_with(self, other: object) -> float:
        return other.value if isinstance(other, Estimate) else self._refuse_comparison(other)

    def _refuse_comparison(self, other: object) -> NoReturn:
        number = _number(other)
        if number is None:
            raise TypeError(f"a release does not compare with {type(other).__name__}")
        low, high = self.interval
        found = "holds" if low <= number <= high else "lies above" if low > number else "lies below"
        raise TypeError(
            "a release is known up to its error: its "
            f"{formatting.percent(self.confidence)} interval, {self._ends(self.interval)}, {found} "
            f"{number:g}. Write float(release) to compare the value alone"
        )

    __le__ = __ge__ = _refuse_comparison

    @property
    def _few(self) -> bool:
        """Whether the interval says little more than the bounds."""
        wide = self.bounds and _half_width(self.interval) >= _LITTLE * _half_width(self.bounds)
        return bool(self.too_few or wide)

    def _map_ends(self, change: Callable[[float], float], slope: float = 1.0) -> Estimate:
        """Of a function of what is estimated that rises or falls, of this slope at the value."""

        def of_ends(ends: IntervalEnds) -> IntervalEnds:
            low, high = sorted(map(change, ends))
            return low, high

        changed: dict[str, object] = {} if slope > 0 else {"count": None}
        changed |= {
            name: each and of_ends(each) for name in _ENDS for each in [getattr(self, name)]
        }
        error = self.standard_error * abs(slope)
        sources = frozenset(map(_without_table, self.sources))
        found = copy_with(self, value=change(self.value), standard_error=error, sources=sources)
        if self.bounds and 0 in self.bounds and change(0):
            # A value near an end at 0 is none to warn of, and that end is no longer at 0.
            changed |= {"bounds": None, "too_few": self._few}
        return copy_with(found, **changed)


def say_treated(bounds: Sequence[str] | None, missing: str | None = "") -> str:
    """What values beyond bounds, or beyond those found, and missing ones count as, in words.

    Missing ones are left out, or count as what is named. None says nothing of them.
    """
    beyond = "values beyond bounds that a part of the budget finds count as these"
    if bounds is not None:
        lower, upper = bounds
        beyond = f"values below {lower} count as {lower}, values above {upper} as {upper}"
    lost = (
        f"a missing value counts as {missing}" if missing else "rows without a value are left out"
    )
    return beyond if missing is None else f"{beyond}; {lost}"


def bounds_at(value: float, ends: IntervalEnds, bounds: IntervalEnds | None) -> IntervalEnds | None:
    """The bounds of a quantile that is at one of them, or that may lie nearly anywhere.

    Clipping moves no quantile that lies within: only one at a bound is doubtful.
    """
    if bounds is None:
        return None
    width = bounds[1] - bounds[0]
    off = min(value - bounds[0], bounds[1] - value)
    within = off > width * _AT_A_BOUND and ends[1] - ends[0] < width / 2
    return None if within else bounds


def say_hidden(rows: int) -> str:
    """What may lie far off unseen, in words."""
    return f"a far group of fewer than {rows} rows may not be seen, nor rows that lie far apart"


def difference(first: Estimate, second: Estimate, *, independent: bool | None = None) -> Estimate:
    """The difference of two released numbers, with an interval. ``a - b`` is the same.

    The groups of one ``dp.by`` have other rows and other noise, so their errors are independent.
    So are those of two releases whose intervals are for the rows alone. Of two shares of one
    histogram it is known how they depend. Of others you say whether the rows of one are chosen
    without regard to those of the other, as two yearly samples are.

    Args:
        first: A release with an interval, or what a session released.
        second: Likewise, at the same confidence.
        independent: Whether the two are of different people, sampled on their own. With False the
            interval holds however the two depend, and is wider.

    Returns:
        An ``Estimate``. Nothing is read, and nothing is spent.

    Raises:
        ParameterError: If one has no interval, the confidences differ, or it is not known whether
            they are independent.

    Proof:
        MOVER (Zou and Donner 2008): each interval gives its own side's error, and the squares of
        the errors add up. For shares of one histogram, Tango's score interval (1998).

    Example:
        >>> import opendp_lite as dp
        >>> pay = dp.by("sex", ["f", "m"], dp.select("pay") >> dp.mean(0, 100, epsilon=1))
        >>> found = pay({"sex": ["f", "m"] * 5000, "pay": [40, 30, 50, 40] * 2500})
        >>> 8 < float(dp.difference(found["f"], found["m"])) < 12
        True
    """
    one, other, apart, cells = _pair("difference", first, second, independent)
    value = one.value - other.value
    if cells is not None:
        error = cells.difference_error(value, sampling=one.sampling)
        return _of_cells(one, value, error, cells.difference)
    error = join_errors(one.standard_error, other.standard_error, independent=apart)
    return _join(one, other, value, error, partial(intervals.subtract, independent=apart))


def ratio(first: Estimate, second: Estimate, *, independent: bool | None = None) -> Estimate:
    """The ratio of two released numbers, with an interval. ``a / b`` is the same.

    Args:
        first: A release with an interval, or what a session released.
        second: Likewise. Where its interval holds 0, that of the ratio is endless.
        independent: As for ``difference``.

    Returns:
        An ``Estimate``. Nothing is read, and nothing is spent.

    Raises:
        ParameterError: As for ``difference``.

    Proof:
        All r for which ``difference`` leaves 0 to first - r second (Donner and Zou 2012).

    Example:
        >>> import opendp_lite as dp
        >>> pay = dp.by("sex", ["f", "m"], dp.select("pay") >> dp.mean(0, 100, epsilon=1))
        >>> found = pay({"sex": ["f", "m"] * 5000, "pay": [40, 30, 50, 40] * 2500})
        >>> 1.2 < float(dp.ratio(found["f"], found["m"])) < 1.4
        True
    """
    one, other, apart, cells = _pair("ratio", first, second, independent)
    ends = partial(intervals.divide, independent=apart)
    if other.value == 0:
        return _join(one, other, nan, inf, ends)
    value = one.value / other.value
    if cells is not None:
        error = cells.ratio_error(value, sampling=one.sampling)
        return _of_cells(one, value, error, cells.ratio)
    # To the first order, by the derivatives of a / b.
    error = join_errors(one.standard_error, value * other.standard_error, independent=apart)
    return _join(one, other, value, error / abs(other.value), ends)


def _pair(
    step: str, first: object, second: object, independent: bool | None
) -> tuple[Estimate, Estimate, bool, TwoCells | None]:
    """Both, and whether their errors are independent, or how they depend as cells of one table.

    It is refused where none of that is known or said.
    """
    one, other = _estimate(step, first), _estimate(step, second)
    if one.confidence != other.confidence:
        raise ParameterError(
            f"{step}: the intervals are of {formatting.percent(one.confidence)} and "
            f"{formatting.percent(other.confidence)}; release both at one confidence"
        )
    if independent is not None:
        return one, other, independent, None
    cells = _cells(one, other)
    if cells is None and not _known_independent(one, other):
        raise ParameterError(
            f"{step}: the two may be of the same people, or have the same noise. Write "
            f"dp.{step}(a, b, independent=True) if each is a sample of its own, or "
            "independent=False for an interval that holds in any case"
            f"{'; b is -b for a sum' if step == 'difference' else ''}"
        )
    return one, other, True, cells


def _cells(first: Estimate, second: Estimate) -> TwoCells | None:
    """What two shares of one table tell together; None of others, as of 100 times a share."""
    one, other = (next(iter(each.sources)) for each in (first, second))
    if one.table is None or one.place == other.place or (one, one.table) != (other, other.table):
        return None
    found = one.table.pair(one.place, other.place)
    return found if found.shares == (first.value, second.value) else None


def _of_cells(
    one: Estimate, value: float, error: float, ends: Callable[..., IntervalEnds]
) -> Estimate:
    found = Estimate(
        value,
        error,
        ends(one.confidence, sampling=one.sampling),
        one.confidence,
        sampling=one.sampling,
        noise_interval=ends(one.confidence, sampling=False) if one.sampling else None,
        several=one.several,
        treated=one.treated,
    )
    return copy_with(found, sources=frozenset(map(_without_table, one.sources)))


def _without_table(source: NoiseSource) -> NoiseSource:
    """That of a number which is no share of the table itself."""
    return NoiseSource(source.release, source.part)


def _estimate(step: str, given: object) -> Estimate:
    """An estimate, or that of a release which a session paid for."""
    found = given if isinstance(given, Estimate) else getattr(given, "value", None)
    if not isinstance(found, Estimate):
        raise ParameterError(
            f"{step} takes two released numbers with intervals, got {type(given).__name__}; add "
            "confidence=0.95 to a pipeline that releases a number alone"
        )
    return found


def _known_independent(first: Estimate, second: Estimate) -> bool:
    """Whether rows and noise are known to be others."""
    pairs = [(a, b) for a in first.sources for b in second.sources]
    if all(a.release is b.release and a.part != b.part for a, b in pairs):
        return True
    return not (first.sampling or second.sampling or any(a == b for a, b in pairs))


def _join(
    one: Estimate,
    other: Estimate,
    value: float,
    error: float,
    ends: Callable[[float, IntervalEnds, float, IntervalEnds], IntervalEnds],
) -> Estimate:
    noise = clipped = None
    if one.clipped_interval is not None or other.clipped_interval is not None:
        parts = [each.clipped_interval or each.interval for each in (one, other)]
        clipped = ends(one.value, parts[0], other.value, parts[1])
    hidden = [each.hidden_rows for each in (one, other) if each.hidden_rows is not None]
    if one.sampling or other.sampling:
        # The interval of a number that is not for a population is that of its noise.
        noises = [each.noise_interval if each.sampling else each.interval for each in (one, other)]
        if noises[0] is not None and noises[1] is not None:
            noise = ends(one.value, noises[0], other.value, noises[1])
    found = Estimate(
        value,
        error,
        ends(one.value, one.interval, other.value, other.interval),
        one.confidence,
        sampling=one.sampling or other.sampling,
        clipped=one.clipped or other.clipped,
        clipped_interval=clipped,
        hidden_rows=max(hidden, default=None),
        too_few=one.too_few or other.too_few,
        noise_interval=noise,
        several=one.several or other.several,
        treated="; ".join(dict.fromkeys(filter(None, (one.treated, other.treated)))),
        unknown=one.unknown or other.unknown,
    )
    return copy_with(found, sources=one.sources | other.sources)


def _half_width(ends: IntervalEnds) -> float:
    return ends[1] / 2 - ends[0] / 2


def _number(given: object) -> float | None:
    """A real number as a float; None for anything else."""
    return float(given) if isinstance(given, Real | Decimal) else None


def _round_to(towards: Callable[[Fraction], int], number: float, places: int) -> float:
    """A float to so many decimals, in one direction; an end that is endless stays so."""
    if not isfinite(number):
        return number
    exact, unit = Fraction(number), Fraction(10) ** -places
    return float(towards(exact / unit) * unit)
