"""The rising numbers that are nearest to given ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log, log10, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Final, Self, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.bases.strategies import Cells, Products, Strategy, square_root, tree
from opendp_lite.display.formatting import as_sentence, hold_in
from opendp_lite.estimators.distributions import answers
from opendp_lite.estimators.parts import Floats, Measured, RowSpace
from opendp_lite.estimators.parts.budget import budget_of, costs_budget
from opendp_lite.estimators.parts.request import bounds_come_first
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, confidence_of, format_number
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases import Estimates
from opendp_lite.releases.estimate import NoiseSource, say_treated
from opendp_lite.releases.table import Record, ReleaseTable
from opendp_lite.spaces.space import example, records, sized_rows
from opendp_lite.transformations.features import block_counts, prefix_features


def isotonic(numbers: Floats) -> Floats:
    """The rising numbers with the least sum of squared differences from these.

    Proof:
        Neighbours that fall are put together at their mean until none fall (Ayer, Brunk, Ewing,
        Reid, Silverman 1955).

    Example:
        >>> isotonic(np.array([0.0, 3.0, 1.0, 2.0, 5.0]))
        array([0., 2., 2., 2., 5.])
    """
    means: list[float] = []
    lengths: list[int] = []
    for number in numbers.tolist():
        mean, length = number, 1
        while means and means[-1] > mean:
            before, count = means.pop(), lengths.pop()
            mean = (before * count + mean * length) / (count + length)
            length += count
        means.append(mean)
        lengths.append(length)
    return np.repeat(means, lengths)


Ends = tuple[Any, Any]
_SEED: Final = 5
_RUNS: Final = 2000
_AT_ONCE: Final = 250
_ROWS_OF_TABLE: Final = 20


@attrs.frozen(eq=False, repr=False)
class CumulativeDistribution(answers.Answers):
    """How numbers are distributed: the share of rows up to each of many public edges.

    ``quantile(q)`` and ``median()`` are an ``Estimate``, and of several q ``Estimates``.
    ``count``, ``cdf(x)``, ``density(x)``, ``mean()``, ``standard_deviation()``, ``moment(order)``
    and ``expectation(function)`` are each an ``Uncertain`` with the standard error that the noise
    makes. ``interval(x)`` and ``band(x)`` hold at the confidence that was asked for.

    At an edge a share has no error but the noise. Between two edges it is interpolated, so the
    standard error leaves out where in a cell the rows lie; the intervals do not. The shares are
    made to rise from 0 to 1 (isotonic regression), which brings them no further from the truth. The
    standard errors are those from before, so they are rather too large.

    Args:
        ends: The bounds.
        edges: Of the public cells.
        blocks: Whether counts of blocks of cells were released, or else prefix sums.
        sums: The products, with noise.
        deviation: The standard deviation of the noise.
        size: The number of rows where that is public. If None it is estimated.
        confidence: Of the intervals.
        sampling: Whether the intervals are for the population that the rows are a sample of.
        several: Whether a person may have several rows, which intervals take for independent.
        hint: What else there is to know, in words.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [23, 31, 38, 45, 52, 67] * 1000
        >>> found = dp.cdf(0, 100, rho=0.03)(ages)
        >>> 0.6 < found.cdf(50).value < 0.7, 42 < found.mean().value < 44
        (True, True)
    """

    plotted_by: ClassVar = "cdf_curve"

    ends: tuple[Fraction, Fraction]
    _edges: Floats
    blocks: bool
    sums: Floats
    deviation: float
    size: int | None
    confidence: float | None = None
    sampling: bool = False
    several: bool = False
    hint: str = ""
    # As that of an estimate: not stored.
    source: NoiseSource = attrs.field(factory=NoiseSource, init=False)

    def of_part(self, release: object, part: Hashable) -> Self:
        """The same, as a part of a release whose parts have other rows and other noise."""
        return copy_with(self, source=NoiseSource(release, part))

    @classmethod
    def _of_parts(cls, **parts: Any) -> Self:
        """As pickles of version 0.1.0 have it."""
        return cls(**parts)

    @property
    def cells(self) -> Cells:
        """The public cells."""
        return Cells(self.ends, self._edges)

    @property
    def strategy(self) -> Strategy:
        """The matrix whose products were released."""
        count = len(self._edges)
        return tree(count, self.size is not None) if self.blocks else square_root(count)

    @property
    def _shares(self) -> answers.Reading:
        strategy, edges = self.strategy, self._edges

        def places_of(numbers: Floats) -> answers.CellNumbers:
            return np.clip(np.searchsorted(edges, numbers) - 1, 0, len(edges) - 2)

        def rising(sums: Floats) -> Floats:
            shares = np.cumsum(strategy.counts(sums))[:-1]
            return np.append(isotonic(shares).clip(0, 1), 1.0)

        middles, whole = self.cells.middles, strategy.everything
        return answers.Reading(edges, middles, whole, places_of, strategy.weights, rising)

    def _errors(self, shares: Floats, products: Products) -> Floats:
        """The standard errors of shares, from the products of their weights."""
        length = float(self._shares.whole @ self._shares.whole)
        if self.size is None:
            squares = products.squares + shares * (shares * length - 2 * products.along)
        else:
            squares = products.squares - products.along**2 / length
        found: Floats = np.sqrt(squares.clip(0)) * (self.deviation / self._rows)
        return found

    @cached_property
    def _at_edges(self) -> Floats:
        """The standard errors at the edges; none at the last, where the share is 1."""
        errors = self._errors(self._rising, self.strategy.of_edges)
        return np.append(errors[:-1], 0.0)

    def _in_cells(self, places: answers.CellNumbers) -> answers.Uncertain:
        shares = np.diff(self._rising)
        of_cells = self.strategy.of_cells
        products = Products(of_cells.squares[1:], of_cells.along[1:])
        return answers.Uncertain(shares[places], self._errors(shares, products)[places])

    def _up_to(self, numbers: Floats) -> answers.Uncertain:
        """Interpolated: between edges the standard error is at most the interpolated one."""
        value, error = (
            np.interp(numbers, self._edges, at_edges, left=0.0)
            for at_edges in (self._rising, self._at_edges)
        )
        return answers.Uncertain(value, error)

    @cached_property
    def _factors(self) -> tuple[float, float]:
        """How many standard errors of the noise cover one share, and all of them at once.

        For a population, noise and sample take half each of the failures of a band.

        From simulated noise with a public seed, over all edges.
        """
        if self.confidence is None:
            raise ParameterError(
                "cdf: this release has no intervals; leave out confidence=None when you release"
            )
        if not self.deviation:
            return 0.0, 0.0  # So large a budget leaves no noise that floats can tell.
        generator, whole = np.random.default_rng(_SEED), self._shares.whole
        errors = self._at_edges * self._rows / self.deviation
        sized = errors > 0
        found = []
        for _ in range(0, _RUNS, _AT_ONCE):
            noise = self.strategy.noise(generator, _AT_ONCE)
            if self.size is not None:
                noise -= np.outer(noise @ whole / (whole @ whole), whole)
            counts = np.cumsum(self.strategy.counts(noise), axis=1)
            off = counts - counts[:, -1:] * self._rising
            found.append(np.abs(off[:, sized]) / errors[sized])
        ratios = np.concatenate(found)
        at_once = (1 + self.confidence) / 2 if self.sampling else self.confidence
        return (
            float(np.quantile(ratios, self.confidence)),
            float(np.quantile(ratios.max(axis=1), at_once)),
        )

    def _limits(self, factor: float, most: float = 0.0, squared: float = 0.0) -> Ends:
        """Bounds at the edges, from the shares before they were made to rise.

        Args:
            factor: How many standard errors the noise may be off.
            most: How far off the share of a sample may be, beside.
            squared: The square of how many of its deviations it may be off. All p fit for which
                (share - p)^2 is at most that of the noise and squared p (1 - p) / n (Wilson 1927).
        """
        shares = np.cumsum(self.strategy.counts(self._per_row))
        shares[-1] = 1.0
        off, each = factor * self._at_edges + most, squared / self._rows
        middle = (shares + each / 2) / (1 + each)
        apart = (off**2 + each * shares * (1 - shares) + each**2 / 4 + each * off**2).clip(0)
        half = np.sqrt(apart) / (1 + each)
        low = np.minimum(middle - half, self._rising)
        high = np.maximum(middle + half, self._rising)
        # At the upper bound the share is 1 in any sample.
        low[-1] = high[-1] = 1.0
        return low.clip(0, 1), high.clip(0, 1)

    @cached_property
    def _alone(self) -> tuple[Floats, Floats]:
        score = 0.0
        if self.sampling:
            score = NormalDist().inv_cdf((1 + cast(float, self.confidence)) / 2)
        return self._limits(self._factors[0], squared=score**2)

    @cached_property
    def _together(self) -> tuple[Floats, Floats]:
        """Where all bounds hold, each also holds at every edge beyond, as the truth rises."""
        most = 0.0
        if self.sampling:
            # Dvoretzky, Kiefer, Wolfowitz with the constant of Massart 1990.
            failures = (1 - cast(float, self.confidence)) / 2
            most = sqrt(log(2 / failures) / (2 * self._rows))
        low, high = self._limits(self._factors[1], most)
        return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]

    def _between(self, numbers: Floats, limits: tuple[Floats, Floats]) -> Ends:
        """From the bound at the edge before to the one at the edge after."""
        low, high = limits
        before = np.searchsorted(self._edges, numbers, side="right")
        after = np.searchsorted(self._edges, numbers)
        return _pair(np.append(0.0, low)[before], np.append(high, 1.0)[after])

    def interval(self, x: ArrayLike) -> Ends:
        """Bounds on the share of rows up to x, each right at the confidence by itself.

        They hold wherever in a cell the rows lie.
        """
        return self._between(answers.numbers_of(x, "interval: x"), self._alone)

    def band(self, x: ArrayLike) -> Ends:
        """As ``interval``, and right at the confidence for all x at once."""
        return self._between(answers.numbers_of(x, "band: x"), self._together)

    def quantile(self, q: ArrayLike) -> Any:
        """The number up to which there is a share q of the rows.

        Ends of intervals lie on edges, and hold wherever in a cell the rows lie. Each interval is
        right at the confidence by itself, the joint ones are for all q at once.

        Args:
            q: A share, 0.5 for the median, or several in a list.

        Returns:
            An ``Estimate`` of one share. Of several these are ``Estimates``, by name: ``"0.1"``.
            With ``confidence=None`` it is an ``Uncertain``, with the error of the noise alone.

        Raises:
            ParameterError: If a share is not between 0 and 1.

        Example:
            >>> import opendp_lite as dp
            >>> found = dp.cdf(0, 100, epsilon=1)(list(range(100)) * 1000)
            >>> 88 < found.quantile(0.9).interval[0] < 90 < found.quantile(0.9).interval[1] < 92
            True
            >>> found.quantile([0.25, 0.5, 0.75]).names
            ('0.25', '0.5', '0.75')
        """
        found = super().quantile(q)
        if self.confidence is None:
            return found
        shares = np.atleast_1d(answers.shares_of(q, "quantile"))
        if shares.ndim > 1:
            raise ParameterError(
                f"quantile: q takes shares in a list, got an array of shape {shares.shape}"
            )
        ends, joint = (self._between_edges(shares, at) for at in (self._alone, self._together))
        score = NormalDist().inv_cdf((1 + self.confidence) / 2)
        every = copy_with(
            Estimates(
                *(np.atleast_1d(found.value), ends @ [-0.5, 0.5] / score, ends, joint),
                *(self.confidence, tuple(f"{share:.12g}" for share in shares), self.sampling),
                shared_noise=True,
                several=self.several,
                rows=self._rows,
                bounds=(float(self.ends[0]), float(self.ends[1])),
                treated=self.treated,
                hint=self.hint,
            ),
            source=self.source,
        )
        if np.ndim(q):
            return every
        noise = self._between_edges(shares, self._limits(self._factors[0]))[0].tolist()
        return copy_with(every[0], noise_interval=tuple(noise) if self.sampling else None)

    def median(self) -> Any:
        """The number up to which there is half of the rows, as ``quantile`` has it."""
        return self.quantile(0.5)

    def _between_edges(self, shares: Floats, limits: tuple[Floats, Floats]) -> Floats:
        """The two ends of the interval of each quantile.

        Proof:
            The quantile lies above an edge where the share is below q, and up to an edge where it
            is q or more. So the cells at which the bounds at the edges leave this open hold it.
        """
        (low, high), asked = limits, shares[..., None]
        open_ = (high >= asked) & (np.append(0.0, low[:-1]) <= asked)
        edges, cells = self._edges, len(low)
        first, last = open_.argmax(axis=-1), cells - 1 - open_[..., ::-1].argmax(axis=-1)
        return np.stack([edges[(first - 1).clip(0)], edges[last]], axis=-1)

    def as_dict(self) -> dict[str, Any]:
        """As of other distributions, where errors are those of the noise; with the intervals."""
        found = super().as_dict()
        if self.confidence is not None:
            told = found["quantiles"]
            ends = self.quantile([each["q"] for each in told]).intervals.tolist()
            found["quantiles"] = [
                {**each, "interval": pair} for each, pair in zip(told, ends, strict=True)
            ]
        return found

    @property
    def covers(self) -> str:
        level = self.confidence
        return "" if level is None else hold_in(level, sampling=self.sampling, several=self.several)

    @property
    def _unsaid(self) -> str:
        return as_sentence(self.hint)

    @property
    def treated(self) -> str:
        lower, upper = map(format_number, self.ends)
        middle = format_number((self.ends[0] + self.ends[1]) / 2)
        return say_treated((lower, upper), "" if self.size is None else middle)

    def records(self, at: ArrayLike | None = None) -> list[Record]:
        """A row for each number of a ``table``: the share up to it, and its intervals if any."""
        numbers = np.atleast_1d(
            answers.numbers_of(self._few_edges if at is None else at, "table: at")
        )
        if numbers.ndim > 1:
            raise ParameterError(
                f"table: at takes numbers in a list, got an array of shape {numbers.shape}"
            )
        found = self.cdf(numbers)
        error, share = found.standard_error, found.value
        if self.sampling:
            error = np.hypot(error, np.sqrt(share * (1 - share) / max(self._rows, 1)))
        columns = {"x": numbers, "share": share, "standard_error": error}
        if self.confidence is not None:
            limits = (*self.interval(numbers), *self.band(numbers))
            columns |= dict(zip(("low", "high", "band_low", "band_high"), limits, strict=True))
        rows = zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def table(
        self,
        *,
        suppress: Number | Mapping[str, Number] | None = None,
        round: Number | Mapping[str, Number] | None = None,  # noqa: A002
        digits: int | Mapping[str, int] | None = None,
        percent: bool = False,
        total: bool = False,
        wide: bool = False,
        at: ArrayLike | None = None,
    ) -> ReleaseTable:
        """The shares up to some numbers, as a table to print or to publish.

        Args:
            suppress: Is for counts, and refused here.
            round: Numbers become multiples of this: 0.01, say. Ends are rounded outwards.
            digits: In place of ``round``: how many decimals are left.
            percent: Whether shares are multiplied by 100.
            total: Is for counts, as ``suppress`` is.
            wide: Likewise.
            at: The numbers. By default about twenty edges, with short numbers where there are some;
                ``release.edges`` asks for all edges. Between edges the share is interpolated: low
                and high say how far off that may be, and ``standard_error`` does not.
        """
        if total or wide:
            return super().table(total=total, wide=wide)
        return ReleaseTable.of(
            self.records(at),
            self._footnote,
            suppress=suppress,
            round_to=round,
            digits=digits,
            percent=percent,
        )

    @property
    def _few_edges(self) -> Floats:
        """About twenty edges: the first from round numbers on, or those evenly apart if shorter.

        At an edge noise is the only error. Round numbers within cells would hide, where values are
        bunched, how many of a bunch lie below.
        """
        lower, upper = self.ends
        least = (upper - lower) / _ROWS_OF_TABLE
        # Fractions: a multiple worked out in floats may lie just above the edge that it names.
        ten = Fraction(10) ** floor(log10(least))
        step = next(each * ten for each in (1, 2, 5, 10) if each * ten >= least)
        inside = range(floor(lower / step) + 1, ceil(upper / step))
        rounded = [*map(float, (lower, *(each * step for each in inside), upper))]
        found = self._edges[np.unique(np.searchsorted(self._edges, rounded))]
        cells = len(self._edges) - 1
        parts = max(each for each in range(1, _ROWS_OF_TABLE + 1) if cells % each == 0)
        evenly = self._edges[:: cells // parts] if parts > _ROWS_OF_TABLE // 2 else found
        # 6.25, 12.5 and so on read better than 5.07812, 10.0586.
        short, long = (np.mean([len(f"{x:.6g}") for x in edges]) for edges in (evenly, found))
        return evenly if short < long - 1 else found

    @property
    def _origin(self) -> Mapping[str, object]:
        lower, upper = map(float, self.cells.ends)
        return {"lower": lower, "upper": upper, "cells": len(self._edges) - 1}

    @property
    def _means(self) -> str:
        return f"at the edges of {self.cells}"


def _pair(low: Floats, high: Floats) -> Ends:
    """Floats for one number, arrays for many."""
    found = answers.plain(low, high)
    return found.value, found.standard_error


@bounds_come_first("epsilon=1")
@mechanism(
    does=(
        "The whole distribution of one column: the share of rows up to any number, from one "
        "release."
    ),
    changes=(
        "Values beyond the bounds count as the bound. Missing values are left out; where the "
        "number of rows is public they count as the middle of the bounds."
    ),
    proof=costs_budget(
        "Gaussian noise on `prefix_features`, or Laplace noise on `block_counts`; the rest is "
        "post-processing."
    ),
    examples=lambda: [
        example(records(), 0, 10, rho=0.1),
        example(records(), 0, 10, epsilon=1, cells=20, confidence=0.9),
        example(sized_rows(), -1, 1, epsilon=1, delta=1e-6, confidence=0.95),
    ],
)
def cdf(
    space: RowSpace,
    lower: Number,
    upper: Number,
    budget: AnyBudget | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    cells: int = 1024,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[CumulativeDistribution]:
    """The whole distribution of one column: the share of rows up to any number, from one release.

    Shares, quantiles, densities and moments all come from it, as many as you like.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            count as the bound.
        upper: The upper bound, likewise.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        cells: How many cells of one width, up to 4096. Shares are right at their edges and
            interpolated between. More cells hardly add noise. For whole numbers take one for each,
            ``cdf(0, 120, cells=120, ...)`` say.
        confidence: Of the intervals, which cost nothing; None asks for none.
        sampling: Whether the intervals are for the population that the rows are a random sample
            of. With False they are for these rows.

    Returns:
        A ``CumulativeDistribution``: ``quantile(q)`` and ``median()`` with an interval,
        ``cdf(x)``, ``density(x)``, ``mean()`` and so on with a standard error, and ``interval(x)``
        and ``band(x)``. Missing values are left out; where the number of rows is public they count
        as the middle of the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.
        SpaceError: If the rows have more than one column.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(40, 12, 50_000)
        >>> release = dp.cdf(0, 100, epsilon=1)
        >>> found = release(ages)
        >>> round(found.median().value), round(found.cdf(65).value, 2), release.map(1)
        (40, 0.98, 1.0)
        >>> low, high = found.interval(65)
        >>> 0 < high - low < 0.01  # for the population
        True
    """
    whole = budget_of("cdf", rho, epsilon, delta)
    share = None if confidence is None else float(confidence_of(confidence, "cdf: confidence"))
    public = Cells.between("cdf", lower, upper, cells)
    pure = whole.power == 1
    summed = (block_counts if pure else prefix_features)(lower, upper, cells=cells)
    released = whole.with_claimed_loss((summed >> whole.noise()).bind(space))
    (law,) = released.facts.laws
    several = sampling and space.unit > 1
    known = law.standard_deviation, space.domain.size, share, sampling, several, space.kept

    def cumulative_distribution(sums: Floats) -> CumulativeDistribution:
        return CumulativeDistribution(public.ends, public.edges, pure, sums, *known)

    return released >> cumulative_distribution
