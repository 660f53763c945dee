"""Quantiles by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import Argument, ParameterError, SpaceError
from opendp_lite.bodies.body import Bounds, collapse, parse_bounds
from opendp_lite.bodies.box import Box
from opendp_lite.engines.data.fold import Numeric
from opendp_lite.engines.plan import Release
from opendp_lite.measurements.noise import exactly_one, gaussian, laplace
from opendp_lite.measurements.quantile import release as releases
from opendp_lite.measurements.quantile.places import Places, Spacing, among, between
from opendp_lite.measurements.quantile.release import Chooser, IntervalLaw, TwoEnds
from opendp_lite.measurements.quantile.tree import Prices, plan_choices
from opendp_lite.measures import MaxDivergence, PrivacyBudget, ZeroConcentratedDivergence, profile
from opendp_lite.measures.curve import composed_profile, curved_number
from opendp_lite.measures.divergences import AnyMeasure, proportions
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Facts, Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.samplers.rank_choice import STEEPEST, RankLaw
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.sums import count

# So many quantiles divide the loss evenly; more are found by recursion.
_MOST_ALONE: Final = 2
# So many have two ends each where their intervals are for a population: those of quartiles are then
# 1.3 to 3.4 times narrower than one choice for all. Of the rows, or for five quantiles of 500 rows,
# they would be as wide, and the values two to five times as far off.
_MOST_WITH_ENDS: Final = 3
_FOR_INTERVALS: Final = Fraction(1, 2)
# The part of the loss that counts the rows, where two ends are chosen: at epsilon = 1 the count is
# off by 28 rows, and a sample of 100 still has about its own deviation.
_FOR_ROWS: Final = Fraction(1, 20)
# Of the intervals that hold their quantile, or miss it: floats tell no rarer ones apart.
_RAREST: Final = Fraction(1, 10**9)


@mechanism(
    does=(
        "Estimates one or more quantiles of each column, with intervals if you ask for a "
        "confidence."
    ),
    changes=(
        "Values beyond the bounds count as the bound, and values beyond the candidates as the "
        "outermost. A row with a missing value is left out; where the number of rows is public, "
        "the centre of the body of the rows takes its place."
    ),
    proof=Proof(
        "The exponential mechanism with weights exp(-s |rank - q n|). One row moves rank - q "
        "n by max(q, 1 - q), or by 1 if replaced. The logarithms of the weights change within "
        "a range of 2 s times this, or of s times this for q = 0 and q = 1, where all change "
        "in one direction. That range is epsilon, and rho is epsilon^2 / 8. More than two "
        "quantiles: each choice on the rows of one part; the loss is that of the dearest path "
        "of a row, or of two paths that part where a row is replaced. Noisy counts of the "
        "rows below a cut change by half of a range, and are paid for likewise. An interval "
        "is two such choices, or with sure=True one more. A noisy count of the rows, a "
        "twentieth of the loss, says how many ranks apart the two are: adaptive composition.",
        adding="epsilon k, or rho = epsilon^2 / 8",
        replacing="epsilon k, or rho = epsilon^2 / 8",
        sources=[
            "McSherry and Talwar 2007",
            "Smith 2011",
            "Cesar and Rogers 2021, lemma 3.4",
            "Kaplan, Schnapp, Stemmer 2022",
        ],
    ),
    examples=lambda: [
        example(records(), 0.5, bounds=(0, 1), rho=0.1, confidence=None),
        example(sized_rows(), [0.25, 0.5], candidates=[0, 0.1, 7], epsilon=0.1, confidence=None),
        example(
            records(columns=2),
            0.1,
            bounds=([-1, 0], [1, 5]),
            scale="asinh",
            unit=0.1,
            rho=1,
            shares=[1, 2.5],
            confidence=None,
        ),
        example(records(), [0.25, 0.5, 0.75], bounds=(0, 100), epsilon=1, confidence=None),
        example(sized_rows(), [0.1, 0.5, 0.9], candidates=[0, 1], rho=1, confidence=None),
        example(records(), 0.5, bounds=(0, 100), epsilon=1, confidence=0.95, sampling=True),
        example(sized_rows(), [0.1, 0.5], candidates=[0, 1, 2], rho=1, confidence=0.9),
        example(records(), 0.5, bounds=(0, 9), rho=1, confidence=0.9, sampling=True, sure=True),
    ],
)
def private_quantile(
    space: Space[Rows],
    quantiles: Number | Sequence[Number],
    budget: PrivacyBudget[AnyMeasure] | None = None,
    *,
    bounds: tuple[Bounds, Bounds] | None = None,
    candidates: Sequence[Number] | Numeric | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    scale: Spacing = "linear",
    unit: Number | None = None,
    shares: Sequence[Number] | Numeric | None = None,
    bits: int | None = None,
    confidence: Number | None = 0.95,
    sampling: bool = True,
    sure: bool = False,
) -> Measurement[Space[Rows], Any]:
    """Estimates one or more quantiles of each column, with intervals if you ask for a confidence.

    Give ``bounds``, between which a fine public lattice is laid, or ``candidates``. Give ``rho`` or
    ``epsilon``, which is met exactly for one unit at the front of the pipeline.

    Args:
        quantiles: From 0 to 1, one or several. The quantiles 0 and 1 may lie anywhere beyond the
            data.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        bounds: (lower, upper), each a number or one for each column, as in
            ``([0, 18], [40, 100])``. Values beyond the bounds count as the bound.
        candidates: Rising numbers of which one is chosen; best for whole numbers. Values beyond
            them count as the outermost.
        rho: The zCDP loss of all quantiles together.
        epsilon: The pure loss of all quantiles together.
        scale: How the lattice is spaced: "linear"; "log" for bounds above 0 of different
            magnitude; "asinh" for both signs, linear within ``unit`` of 0 and logarithmic beyond.
        unit: Goes with ``scale="asinh"``.
        shares: One for each column, in proportion to which the loss is split. Even by default.
        bits: How fine the lattice is: 2^bits cells, or with "log" and "asinh" 2^bits to a doubling.
            48 and 44 by default, and 40 to a doubling for three or more quantiles. With few,
            numbers that are nearly equal are found with less loss. With two ends at most as many
            as the interval can show.
        confidence: The share of samples, or of releases, whose intervals hold the quantiles. One or
            two quantiles, and three for a population, are then the middle of two that are released
            in their place, a few ranks apart. For values on which many rows lie give
            ``candidates``, or take ``sure``. None asks for numbers alone.
        sampling: Whether the interval is for the quantile of the population, of which the rows are
            a random sample. If not, it is for that of the rows.
        sure: Whether the intervals hold for all data, however bunched, and are two to three times
            as wide. More quantiles always have such. Half of the loss goes to one choice
            of all intervals of a column.

    Returns:
        An ``Estimate``, or ``Estimates`` of several quantiles, whose intervals hold together.
        Several columns have a tuple of them, or for several quantiles a tuple of tuples,
        ``found[quantile][column]``. Without a confidence: an array of the shape of
        ``numpy.quantile(rows, quantiles, axis=0)``, and a number for one column.

        A release is the shortest decimal in a cell of the lattice, and tells that
        cell alone. Several quantiles come in order. Without rows every cell is as likely for one
        quantile. A row with a missing value is left out. Where the number of rows is public, the
        centre of the rows' body takes its place, or the middle cell or candidate where they have
        none.

    Raises:
        ParameterError: If the bounds, candidates or other parameters do not fit together.
        SpaceError: If the bounds or shares are for another number of columns.

    Example:
        >>> import opendp_lite as dp
        >>> median = dp.private_quantile(0.5, bounds=(0, 100), rho=0.03)
        >>> median.map(1)
        0.03
        >>> 48 < float(median(list(range(100)) * 100)) < 52
        True
        >>> fifths = dp.private_quantile([0.2, 0.5, 0.8], bounds=(0, 100), epsilon=1)
        >>> found = fifths([x / 100 for x in range(10_000)])
        >>> found.values.round(-1)
        array([20., 50., 80.])
        >>> low, high = found["0.5"].interval
        >>> 0 < high - low < 9
        True
    """
    wanted, several = _quantiles(quantiles)
    distinct = tuple(sorted(set(wanted)))
    columns = space.domain.columns
    split = (Fraction(1, columns),) if shares is None else _split(shares, columns)
    share_of_columns = collapse(split)
    whole = _Budget.of(rho, epsilon)
    level = _level(distinct, confidence, sampling, sure)
    with_ends = level is not None and not sure
    by_parts = len(distinct) > (_MOST_WITH_ENDS if with_ends and sampling else _MOST_ALONE)
    if candidates is None:
        places = between(space, bounds, scale, unit, bits, spread=by_parts)
    else:
        if scale != "linear" or any(other is not None for other in (bounds, unit, bits)):
            raise ParameterError(
                "private_quantile takes bounds= (with scale=, unit= and bits=) or candidates=, not "
                "both"
            )
        places = among(space, candidates)
    order = tuple(distinct.index(q) for q in wanted)
    if level is not None and with_ends and not by_parts:
        asked = order, several, level, sampling
        return _with_two_ends(space, places, distinct, whole, share_of_columns, *asked)
    for_values = Fraction(1) if level is None else 1 - _FOR_INTERVALS
    chooser = (_by_parts if by_parts else _alone)(space, distinct, whole.power)
    choosers = tuple(chooser(whole.part(share * for_values)) for share in share_of_columns)
    each: list[_Budget] = []
    laws: tuple[IntervalLaw, ...] = ()
    if level is not None:
        each = [whole.part(share * _FOR_INTERVALS) for share in share_of_columns]
        laws = tuple(_interval_law(space, distinct, part, level, sampling) for part in each)
    release = releases.QuantileRelease(places, choosers, columns, order, several, laws)
    one_row = 1 / cast(Fraction, space.unit)
    ranges = [part.range() * one_row for part in each]

    def privacy_map(distance: Fraction) -> Fraction:
        loss = whole.amount * (distance * one_row) ** whole.power
        curves = [curve for chooser in choosers for curve in chooser.curves(distance)]
        curves += [profile.BoundedRangeProfile(reach * distance) for reach in ranges]
        alike = columns // len(choosers)
        summed = whole.measure.profile(loss)
        return curved_number(loss, composed_profile(curves, summed, times=alike))

    why = _explanation(choosers[0], whole, level)
    return Measurement(
        space, whole.measure, Release(places.query, release), privacy_map, Facts(explanation=why)
    )


@attrs.frozen
class _Budget:
    """A loss, and how the ranges of choices add up to it: themselves, or their squares over 8."""

    amount: Fraction
    measure: AnyMeasure
    power: int

    @classmethod
    def of(cls, rho: Number | None, epsilon: Number | None) -> _Budget:
        """The loss that a person gave."""
        if exactly_one("private_quantile", rho=rho, epsilon=epsilon) == "rho":
            return cls(exact.positive(rho, "rho"), ZeroConcentratedDivergence(), 2)
        return cls(exact.positive(epsilon, "epsilon"), MaxDivergence(), 1)

    def part(self, share: Fraction) -> _Budget:
        """A share of the loss."""
        return _Budget(self.amount * share, self.measure, self.power)

    def curve_of_choices(self, units: Fraction) -> profile.Profile:
        """The curve of two or more choices that share it, for so many units.

        Ranges r of two choices that add up to it cost 2 (r / 2)^2 / 8 in zCDP; those of more, less.
        """
        given = self.amount * units**self.power
        if self.power == 1:
            return profile.PureConcentratedProfile(given, given * given / 16)
        return profile.ConcentratedProfile(given)

    def range(self) -> Fraction:
        """The range of a choice that costs all of it, or a little more."""
        return self.amount if self.power == 1 else exact.sqrt_up(8 * self.amount)

    def slope(self, reach: Fraction) -> Fraction:
        """The slope that costs all of it, where a slope of 1 has this range."""
        if self.power == 1:
            return _slope(self.amount / reach, root=False)
        return _slope(8 * self.amount / (reach * reach), root=True)


ChooserOf = Callable[[_Budget], Chooser]
"""What chooses the quantiles of a column, for its part of the loss."""


def _alone(space: Space[Rows], wanted: tuple[Fraction, ...], power: int) -> ChooserOf:
    """Each quantile on all rows, with an even part of a loss."""
    reaches = [_score_range(space, q) for q in wanted]
    unit = cast(Fraction, space.unit)

    def chooser(budget: _Budget) -> Chooser:
        each = budget.part(Fraction(1, len(wanted)))
        pairs = zip(wanted, reaches, strict=True)
        laws = tuple(RankLaw(q, each.slope(reach)) for q, reach in pairs)
        return releases.Alone(laws, each.range() / unit)

    return chooser


def _by_parts(space: Space[Rows], wanted: tuple[Fraction, ...], power: int) -> ChooserOf:
    """By recursion, with slopes that cost a loss along the dearest path."""
    prices = Prices(power, row_metric(space).fixed_size)
    plan = plan_choices(wanted, prices)
    rows = cast(Fraction, space.unit)
    cost = plan.cost(prices) * rows**power

    def chooser(budget: _Budget) -> Chooser:
        given = budget.amount / cost

        def price(slope: Fraction) -> Fraction:
            return _slope(given * slope**power, root=power != 1)

        root = plan.map(price)
        for part in root.parts():
            if part.counted:
                # Refuses noise that has no grid, before any row is read.
                prices.counting(part.counted)
        if power == 2:
            return releases.ByParts(root, prices, len(wanted), None, root.cost(prices))
        rho = root.cost(Prices(2, prices.replaces, pure_counts=True))
        return releases.ByParts(root, prices, len(wanted), budget.amount / rows, rho)

    return chooser


def _with_two_ends(
    space: Space[Rows],
    places: Places,
    distinct: tuple[Fraction, ...],
    whole: _Budget,
    shares: Sequence[Fraction],
    order: tuple[int, ...],
    several: bool,
    confidence: float,
    sampling: bool,
) -> Measurement[Space[Rows], Any]:
    """One or two quantiles with intervals from two ends: see ``TwoEnds``."""
    size, columns = space.domain.size, space.domain.columns
    counted, counting, paid = None, None, Fraction(0)
    if not row_metric(space).fixed_size:
        counted, paid = count().bind(space), _FOR_ROWS
        cost = whole.amount * paid
        noise: Any = laplace(epsilon=cost) if whole.power == 1 else gaussian(rho=cost)
        counting = noise.bind(counted.output_space)
    miss = (1 - confidence) / 2 / len(distinct)
    each = [whole.part(share * (1 - paid) / len(distinct)) for share in shares]

    def law(q: Fraction, part: _Budget) -> TwoEnds:
        reach = _score_range(space, q)
        two, three = (part.part(Fraction(1, parts)).slope(reach) for parts in (2, 3))
        return TwoEnds(q, (two, three), miss, sampling)

    laws = tuple(tuple(law(q, part) for part in each) for q in distinct)
    people = space.unit != 1, space.kept
    release = releases.EndsRelease(
        places, laws, columns, order, several, confidence, size, counting, *people
    )

    def privacy_map(distance: Fraction) -> Fraction:
        units = distance / cast(Fraction, space.unit)
        loss = whole.amount * units**whole.power
        summed = whole.measure.profile(loss)
        own = [part.curve_of_choices(units) for part in each for _ in distinct]
        curves = [composed_profile(own, summed, times=columns // len(each))]
        if counted is not None and counting is not None:
            given = counting.privacy_map(counted.stability_map(distance))
            curves.append(whole.measure.profile(given))
        return curved_number(loss, composed_profile(curves, summed))

    why = (
        "each quantile is the middle of two that are released, a few ranks below and above it\n"
        "  near an end of the rows it is released too\n"
        "  the intervals hold if values lie evenly around it, or many of them are equal to it\n"
        "  if candidates are given, all values have to be among them"
    )
    return Measurement(
        space, whole.measure, Release(places.query, release), privacy_map, Facts(explanation=why)
    )


def _level(
    wanted: tuple[Fraction, ...], confidence: Number | None, sampling: bool, sure: bool
) -> float | None:
    """The confidence; None where no interval is asked for."""
    if confidence is None:
        return None
    if wanted[0] == 0 or wanted[-1] == 1:
        raise ParameterError(
            "private_quantile: the quantiles 0 and 1 may lie anywhere beyond the data, so they "
            "have no interval; ask for 0.01 or 0.99, or for a number alone with confidence=None"
        )
    share = exact.confidence_of(confidence, "private_quantile: confidence")
    if not _RAREST <= share <= 1 - _RAREST:
        raise ParameterError(
            Argument("confidence", step="private_quantile"),
            f" must be between 1e-9 and 1 - 1e-9, got {exact.quote(confidence)}",
        )
    return exact.nearest(share)


def _interval_law(
    space: Space[Rows],
    wanted: tuple[Fraction, ...],
    budget: _Budget,
    confidence: float,
    sampling: bool,
) -> IntervalLaw:
    """How the intervals of the quantiles are chosen."""
    margin: releases.SamplingMargin | None = None
    more = Fraction(0)
    if sampling:
        margin, moved = releases.sampling_of(
            confidence, size_is_public=row_metric(space).fixed_size, count=len(wanted)
        )
        more = 2 * moved * cast(Fraction, space.unit)
    reach = max(_score_range(space, q) for q in wanted) + more
    return IntervalLaw(wanted, budget.slope(reach), confidence, margin)


def _explanation(chooser: Chooser, budget: _Budget, confidence: float | None) -> str:
    """Which way was taken, and why."""
    loss = "each choice has rho = r^2 / 8: one row changes the odds of its results by exp(r)"
    if budget.power == 1:
        loss = "one row changes the probability of any result by a factor of at most exp(epsilon)"
    lines = [loss, *chooser.why()]
    if confidence is not None:
        lines.append("half of the loss is for one choice of all intervals")
    return "\n".join(lines)


def _quantiles(given: Number | Sequence[Number]) -> tuple[tuple[Fraction, ...], bool]:
    several = isinstance(given, Sequence | np.ndarray)
    found = tuple(parse_bounds(given, "quantiles"))
    for each in found:
        if not 0 <= each <= 1 and several:
            raise ParameterError(
                "private_quantile: quantiles are shares between 0 and 1, such as [0.25, 0.5, "
                "0.75]; the data goes into a second call, as in "
                "dp.private_quantile(0.5, bounds=(0, 100), epsilon=1)(data)"
            )
        if not 0 <= each <= 1:
            shown = exact.format_number(each)
            percent = f"; {shown} % is {exact.format_number(each / 100)}" if 1 < each <= 100 else ""
            raise ParameterError(f"a quantile is between 0 and 1, got {shown}{percent}")
    return found, several


def _score_range(space: Space[Rows], quantile: Fraction) -> Fraction:
    """The range of what one unit changes in |rank - quantile n|, over all candidates.

    A row adds 1 - quantile or -quantile to rank - quantile n. For the quantiles 0 and 1 that has
    one sign for all candidates, so |rank - quantile n| changes in one direction.
    """
    norms = cast(Norms, row_metric(space).per_row(Box(-quantile, 1 - quantile)))
    moved = cast(Fraction, (norms * space.unit).linf)
    return moved if quantile in (0, 1) else 2 * moved


def _split(shares: Bounds, columns: int) -> tuple[Fraction, ...]:
    given = parse_bounds(shares, "a share")
    if len(given) != columns:
        raise SpaceError(f"private_quantile was given {len(given)} shares for {columns} columns")
    return proportions(given)


def _slope(given: Fraction, *, root: bool) -> Fraction:
    """The slope or its square, as a short number below, with the slack of every sampler."""
    slope = (given / exact.sqrt_up(given) if root else given) / SCALE_SLACK
    return min(exact.short_below(slope), STEEPEST)
