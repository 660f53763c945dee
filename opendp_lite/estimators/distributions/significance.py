"""Whether groups differ, or two columns go together, by more than chance and the noise would."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from math import copysign, sqrt
from statistics import NormalDist
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.combinators import by, compose
from opendp_lite.display.formatting import ONE_PERSON, percent, plain
from opendp_lite.engines.data.fold import Floats
from opendp_lite.estimators.distributions.histograms import Histogram, histogram
from opendp_lite.estimators.parts.budget import budget_of, costs_budget
from opendp_lite.estimators.parts.request import BoundedColumn
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number, nearest, quote
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases import ByGroup, ByName, Estimate
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record
from opendp_lite.spaces.space import Space, example, records, row_metric
from opendp_lite.spaces.tables import Tables, TablesOrRows, name_once
from opendp_lite.transformations import center, clamp, count, keep, select, square, sum

_RUNS: Final = 999
# Simulations start from released numbers alone, so they need no secret: the same release has the
# same p-value whenever it is computed. No privacy rests on this generator.
_SEED: Final = 20_261_126
# Of the loss: for the sums of the groups and for their rows. The rest is for the squares of all.
_FOR_SUMS: Final = Fraction(6, 10)
_FOR_ROWS: Final = Fraction(2, 10)
_LEVEL: Final = 0.95
_PAIR: Final = 2
# The least variance, where the bounds are -1 and 1, and the fewest rows of a group.
_LEAST: Final = 1e-4
_FEWEST: Final = 2.0
# The noise of the squares, or of all cells, may not reach so near the whole.
_DEVIATIONS: Final = 2
# Rows of a simulated table: more would be beyond int64, and are all noise.
_MOST_DRAWN: Final = 2**62
# Of smaller shares the whole numbers of ``geometric`` may be beyond int64.
_LEAST_SHARE: Final = 2.0**-50


@attrs.frozen(eq=False, repr=False)
class SignificanceTest(Result):
    """A test that was made of noisy numbers alone. All of it is private.

    Args:
        name: Of the test.
        statistic: How far the release is from no difference, in units of its noise and sampling. Of
            a t-test it is t, with the sign of the first mean less the second.
        p_value: The share of simulated releases without a difference that are as far from it, of
            999 and this one. The noise is simulated too.
        few: Whether the rows are so few beside the noise that the p-value may be too small.
        released: What it was made of: the means of the groups with intervals for the population,
            or the noisy table.
        several: Whether a person may have several rows, which the test takes for independent.

    Example:
        >>> import opendp_lite as dp
        >>> table = {"ill": ["yes", "no", "no"] * 300, "job": ["a", "b", "b"] * 300}
        >>> dp.chi_square(["ill", "job"], [["yes", "no"], ["a", "b"]], epsilon=1)(table).p_value
        0.001
    """

    name: str
    statistic: float
    p_value: float
    few: bool
    released: Histogram | ByGroup[Estimate]
    several: bool = False

    @property
    def covers(self) -> str:
        return self.released.covers

    def __getitem__(self, key: Hashable) -> Estimate:
        """One of the numbers that it was made of: ``test["f"] - test["m"]`` is the difference."""
        return self.released[key]

    def records(self) -> list[Record]:
        """The rows of what was released, each with the p-value: so tables by group have theirs."""
        return [{**row, "p_value": self.p_value} for row in self.released.records()]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``; "p" is the p-value in words."""
        fields = {each.name: getattr(self, each.name) for each in attrs.fields(type(self))}
        return {**fields, "p": self._p, "released": plain(self.released)}

    @property
    def _least(self) -> bool:
        """Whether no simulated release is as far: with more of them p might be smaller."""
        return self.p_value * (1 + _RUNS) <= 1

    @property
    def _p(self) -> str:
        return f"p {'<=' if self._least else '='} {self.p_value:.3f}"

    @property
    def _head(self) -> str:
        warned = "\nToo few rows beside the noise: p may be too small." if self.few else ""
        if not isinstance(self.released, Histogram):
            warned += "\nAll groups are taken to have one spread."
        if self.several:
            warned += f"\n{ONE_PERSON.capitalize()}: p may be too small."
        share = f"{'at most ' if self._least else ''}{percent(self.p_value)}"
        return (
            f"{self.name}: {self._p}, statistic {self.statistic:.4g}\n"
            f"Where nothing differs, {share} of such releases are as far from it.{warned}"
        )

    @property
    def _footnote(self) -> str:
        return f"low to high: {self.covers}.\n{self._head}"

    @property
    def _unsaid(self) -> str:
        return "Of some p may be too small: too few rows beside the noise." if self.few else ""

    def __repr__(self) -> str:
        return f"{self._head}\n{self.released}"


@attrs.frozen(eq=False)
class _Groups:
    """What is released of groups, in units in which the bounds are -1 and 1.

    Its noise is Laplace's for a ``pure`` loss, else normal.
    """

    sums: Floats
    rows: Floats
    squares: float
    deviations: tuple[float, float, float]
    pure: bool

    @cached_property
    def counted(self) -> Floats:
        """The rows of each group, of which there are no fewer than the fewest."""
        return np.maximum(self.rows, _FEWEST)

    @cached_property
    def means(self) -> Floats:
        """That of each group."""
        return (self.sums / self.counted).clip(-1, 1)

    @cached_property
    def spread(self) -> float:
        """The sum of the squares within groups."""
        return float(self._spread(self.sums, self.counted, self.squares))

    @cached_property
    def pooled(self) -> float:
        """The variance within groups."""
        return max(self.spread / float(self.counted.sum()), _LEAST)

    def compare(self) -> tuple[float, float, bool]:
        """The statistic, its p-value, and whether the rows are too few to tell.

        Everything is released again from groups of one mean: sums with sampling and noise, noisy
        rows, and the squares, from which the pooled variance is estimated anew. Else the level
        would be too high.
        """
        generator = np.random.default_rng(_SEED)
        of_sums, of_rows, of_squares = self.deviations
        rows, means, pooled = self.counted[:, None], self.means[:, None], self.pooled
        groups, whole = len(self.rows), rows.sum()
        seen, centre = self._statistic(means, rows, pooled)
        shape = groups, _RUNS
        totals = rows * centre + np.sqrt(rows * pooled) * generator.normal(size=shape)
        squares = pooled * generator.chisquare(max(whole - groups, 1.0), _RUNS)
        squares += (totals**2 / rows).sum(axis=0) + self._draw_noise(generator, of_squares, _RUNS)
        totals += self._draw_noise(generator, of_sums, shape)
        counts = np.maximum(rows + self._draw_noise(generator, of_rows, shape), _FEWEST)
        variance = self._spread(totals, counts, squares) / counts.sum(axis=0)
        again = (totals / counts).clip(-1, 1), counts, np.maximum(variance, _LEAST)
        hits = int((self._statistic(*again)[0] >= seen).sum())
        # The squares of the noisy means are taken from the noisy squares: both noises count.
        doubt = of_squares**2 + float(
            ((2 * means * of_sums) ** 2 + 2 * (of_sums**2 / rows) ** 2).sum()
        )
        few = self.spread < _DEVIATIONS * sqrt(doubt) or bool((self.rows < _FEWEST).any())
        return float(seen[0]), (1 + hits) / (1 + _RUNS), few

    def _draw_noise(
        self, generator: np.random.Generator, deviation: float, size: int | tuple[int, int]
    ) -> Floats:
        if self.pure:
            return generator.laplace(0.0, deviation / sqrt(2), size)
        return generator.normal(0.0, deviation, size)

    def _spread(self, sums: Floats, rows: Floats, squares: Floats | float) -> Floats:
        """The sum of the squares within groups, less what the noise of the sums adds to it."""
        found: Floats = squares - ((sums**2 - self.deviations[0] ** 2) / rows).sum(axis=0)
        return found

    def _statistic(
        self, means: Floats, rows: Floats, variance: Floats | float
    ) -> tuple[Floats, Floats]:
        """The weighted squares of the distances from the common mean, and that mean."""
        of_sums, of_rows, _ = self.deviations
        off = of_sums**2 + (means * of_rows) ** 2
        weights = rows**2 / (variance * rows + off)
        centre = (weights * means).sum(axis=0) / weights.sum(axis=0)
        return (weights * (means - centre) ** 2).sum(axis=0), centre

    def estimates(self, middle: float, half: float) -> list[Estimate]:
        """The means, in the units of the data, with intervals for the population."""
        of_sums, of_rows, _ = self.deviations
        rows, means = self.counted, self.means
        noise = (of_sums**2 + (means * of_rows) ** 2) / rows**2
        errors = np.sqrt(self.pooled / rows + noise)
        reach = NormalDist().inv_cdf((1 + _LEVEL) / 2) * errors
        # No mean lies beyond the bounds, and no error is larger than knowing nothing is.
        shown = (means, (means - reach).clip(-1, 1), (means + reach).clip(-1, 1))
        of_each = *(middle + half * each for each in shown), half * errors.clip(0, 1)
        counts = self.rows.clip(0)
        bounds = middle - half, middle + half
        return [
            Estimate(value, off, (low, high), _LEVEL, n, sampling=True, bounds=bounds)
            for value, low, high, off, n in np.stack([*of_each, counts], axis=1).tolist()
        ]


_Compared = tuple[str, str, Sequence[object]]
"""A column of numbers, the column of the keys, and the keys."""


def _means(
    space: Space[Tables],
    name: str,
    asked: _Compared,
    bounds: tuple[Number, Number],
    *budget: Number | None,
) -> Measurement[Space[Tables], Any, SignificanceTest]:
    """The release of a test of means: sums and rows by group, and the squares of all."""
    column, by_column, keys = asked
    if row_metric(space).fixed_size:
        raise SpaceError(
            f"{name}: the number of rows of the groups is private; leave out size=, or use "
            "SymmetricDistance()"
        )
    # Fourth powers of what noise it allows, in units of the bounds, are floats.
    whole = budget_of(name, *budget)
    pure = whole.keyword == "epsilon"
    if not isinstance(bounds, Sequence) or len(bounds) != _PAIR:
        raise ParameterError(f"{name} takes a pair, as in bounds=(0, 100); got {quote(bounds)}")
    bounded = BoundedColumn.between(*bounds, name)
    if not isinstance(column, str):
        raise ParameterError(f"{name} compares one column of numbers, got {quote(column)}")

    def noise(share: Fraction) -> Mechanism[Any, Any, Any]:
        if pure:
            return laplace(epsilon=whole.amount * share, confidence=_LEVEL)
        return gaussian(rho=whole.amount * share, confidence=_LEVEL)

    values = select(column) >> clamp(bounded.lower, bounded.upper) >> center(bounded.middle)
    each = compose(
        total=values >> sum() >> noise(_FOR_SUMS),
        rows=select(column) >> count() >> noise(_FOR_ROWS),
    )
    declared: tuple[Hashable, ...] = tuple(keys)
    within = keep(by_column, among=declared)
    squares = within >> values >> square() >> sum() >> noise(1 - _FOR_SUMS - _FOR_ROWS)
    released = compose(groups=by(by_column, declared, each), squares=squares).bind(space)
    middle, half = nearest(bounded.middle), nearest(bounded.half)

    def answer(release: ByName) -> SignificanceTest:
        groups, of_squares = release["groups"], release["squares"]
        each = [groups[key] for key in declared]
        sums, rows = ([one[name] for one in each] for name in ("total", "rows"))
        error = sums[0].standard_error / half, rows[0].standard_error
        found = _Groups(
            np.array([one.value for one in sums]) / half,
            np.array([one.value for one in rows]),
            of_squares.value / half**2,
            (*error, of_squares.standard_error / half**2),
            pure,
        )
        source, pairs = object(), zip(declared, found.estimates(middle, half), strict=True)
        means = {key: one.of_part(source, key) for key, one in pairs}
        shown = ByGroup(groups.column, means)
        return SignificanceTest(name, *found.compare(), shown, space.unit > 1)

    return released >> answer


_ROWS_OF_GROUPS: Final = (
    "Values beyond the bounds are clipped to them. Missing values are left out."
)
_PARTS: Final = (
    "`by` of a noisy `sum` and `count` in each group, and a noisy sum of the squares of all, "
    "composed. The rest is post-processing."
)


@mechanism(
    does="Tests whether two groups have the same mean.",
    changes=_ROWS_OF_GROUPS,
    proof=costs_budget(_PARTS, replacing="-"),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "age", "sex", [0, 1], bounds=(0, 9), epsilon=1)
    ],
)
def t_test(
    space: Space[Tables],
    column: str,
    by: str,
    keys: Sequence[object],
    budget: AnyBudget | None = None,
    *,
    bounds: tuple[Number, Number],
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Measurement[Space[Tables], Any, SignificanceTest]:
    """Tests whether two groups have the same mean: a t-test that knows its noise.

    Args:
        column: The column of numbers.
        by: The column that holds the keys of the groups.
        keys: The two keys, chosen without looking at the data. Other rows are left out.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        bounds: (lower, upper). Values beyond them are clipped to them.
        epsilon: The pure loss, for Laplace noise.
        rho: The zCDP loss, for Gaussian noise.

    Returns:
        A ``SignificanceTest``. The p-value comes from 999 simulated releases of groups of one mean,
        with the sampling and the noise of this one. All groups are assumed to have one spread.

    Raises:
        ParameterError: If there are not two keys, or the budget or the bounds are impossible.
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"sex": ["f", "m"] * 9000, "wages": [14, 18, 13, 15, 16, 21] * 3000}
        >>> found = dp.t_test("wages", "sex", ["f", "m"], bounds=(0, 30), epsilon=1)(survey)
        >>> found.p_value, found.few, 3 < found.released["m"].value - found.released["f"].value < 4
        (0.001, False, True)
    """
    if len(tuple(keys)) != _PAIR:
        raise ParameterError(
            f"t_test compares two groups, got {len(tuple(keys))} keys; dp.anova takes more"
        )
    return _means(space, "t-test", (column, by, keys), bounds, rho, epsilon) >> _as_t


def _as_t(found: SignificanceTest) -> SignificanceTest:
    """With t in place of its square."""
    first, second = (each.value for each in cast(ByGroup[Estimate], found.released).values())
    return attrs.evolve(found, statistic=copysign(sqrt(found.statistic), first - second))


@mechanism(
    does="Tests whether several groups have the same mean.",
    changes=_ROWS_OF_GROUPS,
    proof=costs_budget(_PARTS, replacing="-"),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "age", "sex", [0, 1, 2], bounds=(0, 9), rho=0.1)
    ],
)
def anova(
    space: Space[Tables],
    column: str,
    by: str,
    keys: Sequence[object],
    budget: AnyBudget | None = None,
    *,
    bounds: tuple[Number, Number],
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Measurement[Space[Tables], Any, SignificanceTest]:
    """Tests whether several groups have the same mean: a one-way analysis of variance.

    Args:
        column: The column of numbers.
        by: The column that holds the keys of the groups.
        keys: The keys, two or more, chosen without looking at the data.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        bounds: (lower, upper). Values beyond them are clipped to them.
        epsilon: The pure loss, for Laplace noise.
        rho: The zCDP loss, for Gaussian noise.

    Returns:
        A ``SignificanceTest``: see ``dp.t_test``.

    Raises:
        ParameterError: If there are fewer than two keys, or the budget or bounds are impossible.
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"town": ["a", "b", "c"] * 600, "wages": [14, 18, 13, 15, 16, 21] * 300}
        >>> found = dp.anova("wages", "town", ["a", "b", "c"], bounds=(0, 60), rho=0.5)(survey)
        >>> found.p_value, list(found.released)
        (0.001, ['a', 'b', 'c'])
    """
    if len(tuple(keys)) < _PAIR:
        raise ParameterError(f"anova compares two groups or more, got {len(tuple(keys))} keys")
    return _means(space, "anova", (column, by, keys), bounds, rho, epsilon)


@mechanism(
    does="Tests whether two columns of categories are independent.",
    changes="A value that is not declared is left out, as a missing value is.",
    proof=costs_budget("`histogram`, then post-processing."),
    examples=lambda: [
        example(records(columns=["sex", "ill"]), ["sex", "ill"], [[0, 1], [0, 1, 2]], epsilon=1)
    ],
)
def chi_square(
    space: Space[TablesOrRows],
    columns: Sequence[str],
    categories: Sequence[Sequence[object]],
    budget: AnyBudget | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
) -> Measurement[Space[TablesOrRows], Any, SignificanceTest]:
    """Tests whether two columns of categories are independent: a chi-square test.

    Args:
        columns: The names of the two columns.
        categories: A list of values for each, chosen without looking at the data.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        rho: The budget of zero-concentrated privacy.
        delta: With ``epsilon``.

    Returns:
        A ``SignificanceTest``. Its ``released`` is the noisy table, a ``Histogram``. The statistic
        is the sum of (count - expected)^2 / (expected + v), with v the variance of the noise. The
        p-value comes from 999 simulated tables with the released margins, and as much noise.

    Raises:
        ParameterError: If there are not two columns of two categories or more.

    Example:
        >>> import opendp_lite as dp
        >>> table = {"ill": ["yes", "no", "no", "yes"] * 300, "job": ["a", "b", "a", "b"] * 300}
        >>> test = dp.chi_square(["ill", "job"], [["yes", "no"], ["a", "b"]], epsilon=1)
        >>> test.map(1), 0 < test(table).p_value <= 1, list(test(table).released)[0]
        (1.0, True, ('yes', 'a'))
    """
    sizes = [len(tuple(each)) for each in categories]
    if len(tuple(columns)) != _PAIR or len(sizes) != _PAIR or min(sizes) < _PAIR:
        raise ParameterError(
            "chi_square takes two columns and a list of two or more categories for each, as in "
            "dp.chi_square(['sex', 'married'], [['f', 'm'], ['yes', 'no']], epsilon=1)"
        )
    table = histogram(
        list(name_once(columns, "chi_square")),
        categories=categories,
        epsilon=epsilon,
        rho=rho,
        delta=delta,
    ).bind(space)
    return table >> _independence


def _independence(found: Histogram) -> SignificanceTest:
    """The test of a noisy table."""
    generator, deviation = np.random.default_rng(_SEED), found.standard_error
    table = found.grid().astype(np.float64)
    seen = float(_squares(table, deviation))
    whole = min(max(round(float(table.sum())), 1), _MOST_DRAWN)
    down, across = (np.maximum(table.sum(axis=axis), 0.5) for axis in (1, 0))
    shares = np.outer(down / down.sum(), across / across.sum()).ravel()
    shape = (_RUNS, *table.shape)
    again = generator.multinomial(whole, shares, _RUNS).reshape(shape)
    simulated = again + _draw_cells(generator, found, shape)
    hits = int((_squares(simulated, deviation) >= seen).sum())
    few = whole < _DEVIATIONS * deviation * sqrt(table.size)
    p_value = (1 + hits) / (1 + _RUNS)
    return SignificanceTest("chi-square test", seen, p_value, few, found, found.several)


def _squares(tables: Floats, deviation: float) -> Floats:
    """How far tables are from the products of their margins, in units of sampling and noise."""
    down, across = (np.maximum(tables.sum(axis, keepdims=True), 0.0) for axis in (-1, -2))
    expected = down * across / tables.sum((-2, -1), keepdims=True).clip(1)
    spread = np.maximum(expected + deviation**2, _LEAST)
    found: Floats = ((tables - expected) ** 2 / spread).sum((-2, -1))
    return found


def _draw_cells(generator: np.random.Generator, found: Histogram, shape: tuple[int, ...]) -> Floats:
    """Noise as that of the cells: discrete Laplace where they are whole, else normal."""
    if found.counts.dtype.kind != "i":
        return generator.normal(0.0, found.standard_error, shape)
    # With q = exp(-1 / b) the variance is 2 q / (1 - q)^2, which a quadratic solves for q. In this
    # form nothing cancels, however small or large the variance is.
    half = found.standard_error**2 / 2
    root = sqrt(4 * half + 1)
    share = (1 + root) / (2 * half + 1 + root)
    if share < _LEAST_SHARE:
        return generator.laplace(0.0, found.standard_error / sqrt(2), shape)
    drawn: Floats = np.zeros(shape)
    drawn += generator.geometric(share, shape) - generator.geometric(share, shape)
    return drawn
