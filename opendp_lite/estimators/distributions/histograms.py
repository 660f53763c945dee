"""Counts by category or by bin, released as a table with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import ceil, prod, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Final, Self, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import date_meant
from opendp_lite.base.errors import NoKeyError, ParameterError, SpaceError, name_like
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.spelling import is_row
from opendp_lite.bodies.body import Bounds, parse_bounds
from opendp_lite.display import formatting
from opendp_lite.display.pictures import Scale, step_picture
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.dates import are_dates, require_dates
from opendp_lite.engines.grouped import Numbers
from opendp_lite.engines.plan import Map
from opendp_lite.estimators.parts import Floats, Measured, RowSpace
from opendp_lite.estimators.parts.budget import ApproximateBudget, Budget, budget_of, costs_budget
from opendp_lite.measurements.noise import laplace
from opendp_lite.measurements.thresholds import threshold_of, thresholded_counts
from opendp_lite.measures.budgets import AnyBudget, numbers_of
from opendp_lite.measures.curve import Pair, curved_pair
from opendp_lite.measures.divergences import ApproximateDivergence
from opendp_lite.numbers.exact import Number, confidence_of, nearest, round_up, whole
from opendp_lite.pipeline.core import Measurement, Transformation
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.releases.estimate import Estimate, NoiseSource
from opendp_lite.releases.estimates import Estimates
from opendp_lite.releases.intervals import CellsOfTable, share_error, share_interval
from opendp_lite.releases.result import Result, refuse_array
from opendp_lite.releases.table import Record, name_key
from opendp_lite.samplers.law import Errors, Law, half_widths
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, sized_rows
from opendp_lite.spaces.tables import Tables, TablesOrRows, name_once
from opendp_lite.spelling.suggestions import explain_names
from opendp_lite.transformations.columns import select_columns
from opendp_lite.transformations.encoding import Edges, bins, one_for_each, one_hot
from opendp_lite.transformations.sums import sum

_SHOWN: Final = 20
_SHOWN_ACROSS: Final = 12
_BIN: Final = 2
_WEEK: Final = 7

Tallies = NDArray[np.int64 | np.float64]


def _fix(counts: Tallies) -> Tallies:
    found = np.array(counts)
    found.flags.writeable = False
    return found


@attrs.frozen(eq=False, repr=False, slots=False)
class Histogram(Result, Mapping[Hashable, Estimate]):
    """Noisy counts by category, with intervals. All of it is private.

    It is a mapping: ``found["f"]`` is a ``dp.Estimate``, and a loop goes through the keys. A count
    may be negative, since the noise is as likely to be below zero as above. Write
    ``found.counts.clip(0)`` where you need none.

    Args:
        columns: The names of the columns that were counted.
        categories: The keys. The key of a bin is the pair (lower, upper), and for several columns
            a tuple with the category in each.
        counts: An array, of whole numbers where the noise is one.
        standard_error: Of each count.
        margin: The interval of a count reaches so far to either side.
        joint_margin: Likewise, for intervals that hold all at once; None where the keys were not
            declared, so that their number is private.
        confidence: Such as 0.95.
        axes: The categories of each column, where they were declared for several.
        threshold: The least count that is shown, where the keys were not declared.
        hint: What else there is to know of the keys, in words.
        several: Whether a person may have several rows. Shares of a population take them for
            independent.

    Example:
        >>> found = Histogram(("sex",), ("f", "m"), np.array([312, 290]), 1.36, 3, 4, 0.95)
        >>> found
        sex  count  95 % interval
        f      312  309 to 315
        m      290  287 to 293
        Of these rows. Each interval goes 3 up and down; 4 holds for all at once.
        >>> found["f"].interval, list(found), found.shares().values.round(2)
        ((309.0, 315.0), ['f', 'm'], array([0.52, 0.48]))
    """

    plotted_by: ClassVar = "histogram_bars"

    columns: tuple[str, ...]
    categories: tuple[Hashable, ...]
    counts: NDArray[Any] = attrs.field(converter=_fix)
    standard_error: float
    margin: float
    joint_margin: float | None
    confidence: float
    axes: tuple[tuple[Hashable, ...], ...] | None = None
    threshold: int | None = None
    hint: str = ""
    several: bool = False
    # As that of an estimate: what this is a part of, such as a group of ``by``.
    source: NoiseSource = attrs.field(factory=NoiseSource, init=False)
    # Of sums over other counts: which noises are in each.
    noises: Mapping[Hashable, frozenset[NoiseSource]] = attrs.field(factory=dict, init=False)

    def of_part(self, release: object, part: Hashable) -> Self:
        """The same, as a part of a release whose parts have other rows and other noise."""
        return copy_with(self, source=NoiseSource(release, part))

    @property
    def intervals(self) -> NDArray[Any]:
        """A row (low, high) for each count: each by itself holds the true one."""
        return self._within(self.margin)

    @property
    def joint_intervals(self) -> NDArray[Any]:
        """A row (low, high) for each count: they hold all true ones at once.

        Raises:
            ParameterError: If the keys were not declared: how many there are is then private.
        """
        if self.joint_margin is None:
            raise ParameterError(
                "joint_intervals: the number of keys is private, so no interval holds for all; "
                "declare the categories to have them"
            )
        return self._within(self.joint_margin)

    @explain_names
    def shares(self, *, sampling: bool = True) -> Estimates:
        """The counts as shares of their sum: ``np.asarray(found.shares())`` has the numbers.

        Args:
            sampling: Whether the intervals are for the population that the rows are a random sample
                of. With False they are for these rows. Neither costs anything.

        Returns:
            ``Estimates`` by key. Intervals are Wilson's, with the noise in them. Counts below 0
            count as 0. Where the keys were not declared, the shares are of the keys that show.
            The difference and the ratio of two of them know how they depend.
        """
        counts, noise = self.counts.clip(0).astype(np.float64), self.standard_error**2
        total, cells = float(counts.sum()), max(len(counts), 1)
        joint = 1 - (1 - self.confidence) / cells  # Bonferroni

        # All others are counted in so many cells, each with its noise.
        variances = noise, noise * (cells - 1)
        pairs = [(one, total - one) for one in counts.tolist()]

        def intervals(confidence: float) -> list[tuple[float, float]]:
            return [
                share_interval(*pair, variances, confidence, sampling=sampling) for pair in pairs
            ]

        found = Estimates(
            counts / total if total else np.full(len(counts), 1 / cells),
            [share_error(*pair, variances, sampling=sampling) for pair in pairs],
            np.reshape(intervals(self.confidence), (-1, 2)),
            np.reshape(intervals(joint), (-1, 2)),
            self.confidence,
            tuple(", ".join(line[:-2]) for line in self._lines(len(self))),
            sampling=sampling,
            shared_noise=True,
            several=self.several and sampling,
            hint=self.hint.removesuffix("."),
        )
        table = CellsOfTable(
            tuple(counts.tolist()), noise, tuple(key_cells(self.columns, each) for each in self)
        )
        return found.of_cells(self.source.release, self.source.part, table)

    def grid(self) -> NDArray[Any]:
        """The counts as an array with an axis for each column.

        Raises:
            ParameterError: If the categories of several columns were not declared.
        """
        if self.axes is None:
            raise ParameterError("grid: it needs declared categories of several columns")
        return self.counts.reshape([len(axis) for axis in self.axes])

    def rolling(self, width: int) -> Estimates:
        """The sums over so many neighbouring bins or categories, such as weeks, with intervals.

        Sums that overlap share noise, so their difference asks for ``independent=False``. Keys are
        in the order in which they were declared; "other" is left out.

        Args:
            width: How many counts make a sum: 26 weeks, say.

        Returns:
            ``Estimates``, named from the first key of each sum to its last, for these rows. The
            noises are independent: the standard error is that of one count times the root of the
            width.

        Raises:
            ParameterError: If the keys were not declared, are of several columns, or are fewer.

        Proof:
            The quantile of one noise differs from the normal one in units of its deviation, by its
            kurtosis. That of a sum of w is 1/w of it (Cornish and Fisher 1938), so is the
            difference. It is exact for one count, and for Gaussian noise.
        """
        count = len(self) - (self.categories[-1:] == (_OTHER,))
        if self.joint_margin is None or len(self.columns) > 1:
            raise ParameterError("rolling: it needs declared categories or edges of one column")
        size = whole(width, "rolling: width", least=1)
        if size > count:
            raise ParameterError(f"rolling: the histogram has {count} counts, fewer than {size}")
        sums = np.convolve(self.counts[:count], np.ones(size, self.counts.dtype), "valid")
        error, each, joint = self._of_sums(size, count)
        # Of a bin the key is a pair, and that of a category may be none.
        keys = [key if isinstance(key, tuple) else (key, key) for key in self.categories[:count]]
        pairs = zip(keys, keys[size - 1 :], strict=False)
        names = [label((first[0], last[-1])) for first, last in pairs]
        found = Estimates.around(sums, error, each, joint, self.confidence)
        found = attrs.evolve(found, names=tuple(names), shared_noise=True)
        each_noise = [self[key].sources for key in self.categories[:count]]
        noises = [
            frozenset().union(*each_noise[start : start + size]) for start in range(len(sums))
        ]
        return copy_with(found, noises=noises)

    def marginal(self, *columns: str) -> Histogram:
        """The counts of some of several columns: sums over all categories of the others.

        Args:
            columns: The names of the columns that stay.

        Returns:
            A ``Histogram``. The noises are independent, so a sum of w counts has the root of w
            times the standard error of one: a table that is released by itself has less noise.

        Raises:
            ParameterError: If the categories of several columns were not declared, or there is no
                such column.

        Proof:
            As for ``rolling``.
        """
        if self.axes is None:
            raise ParameterError(
                "marginal: it needs declared categories of several columns, as in "
                "dp.histogram(['sex', 'city'], categories=[['f', 'm'], ['Rome', 'Oslo']], ...)"
            )
        grid, axes = self.grid(), self.axes
        if not columns or not set(columns) < set(self.columns):
            raise ParameterError(
                f"marginal takes some of the columns {', '.join(self.columns)}, as in "
                f"marginal({self.columns[0]!r})"
            )
        places = [place for place, name in enumerate(self.columns) if name in columns]
        counts = grid.sum(tuple({*range(grid.ndim)} - {*places}))
        kept = tuple(axes[place] for place in places)
        keys = tuple(product(*kept)) if len(places) > 1 else kept[0]
        # The joint interval is that of as many sums as there are cells, so it is no narrower.
        error, margin, joint = self._of_sums(grid.size // counts.size, grid.size)
        found = attrs.evolve(
            self,
            columns=tuple(self.columns[place] for place in places),
            categories=keys,
            counts=counts.reshape(-1),
            standard_error=error,
            margin=margin,
            joint_margin=joint,
            axes=kept if len(places) > 1 else None,
        )
        noises: dict[Hashable, frozenset[NoiseSource]] = dict.fromkeys(keys, frozenset())
        for cell in cast(Sequence[tuple[Hashable, ...]], self.categories):
            parts = [cell[place] for place in places]
            noises[tuple(parts) if len(parts) > 1 else parts[0]] |= self[cell].sources
        return copy_with(found, source=self.source, noises=noises)

    def _of_sums(self, size: int, count: int) -> tuple[float, float, float]:
        """The standard error of sums of so many counts, and how far the noise of one reaches.

        And how far that of all of them does.
        """
        error = self.standard_error * sqrt(size)

        def reach(margin: float, misses: int) -> float:
            normal = NormalDist().inv_cdf(1 - (1 - self.confidence) / 2 / misses)
            found = error * (normal + (margin / self.standard_error - normal) / size)
            return ceil(found) if self.counts.dtype.kind == "i" else found

        return error, reach(self.margin, 1), reach(cast(float, self.joint_margin), count)

    def __getitem__(self, key: Hashable) -> Estimate:
        try:
            known = key in self._places
            place = self._places[key if known else date_meant(key, self)]
        except (KeyError, TypeError):
            few = "" if self.threshold is None else "; keys with few rows are not released"
            if self.axes is not None and not isinstance(key, tuple):
                first, *_ = self.columns
                few = f". A key has a part for each column; release.marginal({first!r}) adds up"
            raise NoKeyError.of(
                "key", map(formatting.label_key, self), formatting.label_key(key), few
            ) from None
        low, high = map(float, self.intervals[place])
        found = Estimate(
            float(self.counts[place]), self.standard_error, (low, high), self.confidence
        )
        own = frozenset([NoiseSource(self._release, key)])
        return copy_with(found, sources=self.noises.get(key, own))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.categories)

    def __len__(self) -> int:
        return len(self.categories)

    def as_dict(self) -> dict[str, Any]:
        """Everything by name, for ``json.dumps``."""
        return {
            "columns": list(self.columns),
            "categories": [plain_key(key) for key in self.categories],
            "counts": self.counts.tolist(),
            "intervals": self.intervals.tolist(),
            "joint_intervals": None if self.joint_margin is None else self.joint_intervals.tolist(),
            "standard_error": formatting.for_json(self.standard_error),
            "confidence": self.confidence,
            "threshold": self.threshold,
        }

    @property
    def covers(self) -> str:
        return formatting.hold_in(self.confidence, sampling=False)

    def records(self) -> list[Record]:
        """A row for each count, with its key and its interval."""
        rows = zip(self.categories, self.counts.tolist(), strict=True)
        return [
            {
                **key_cells(self.columns, key),
                "count": count,
                "low": low,
                "high": high,
                "standard_error": self.standard_error,
            }
            for (key, count), (low, high) in zip(rows, self.intervals.tolist(), strict=True)
        ]

    @property
    def _summands(self) -> Sequence[Estimate]:
        return [*self.values()]

    def _in_two_ways(self, total: bool, /) -> tuple[list[Record], str]:
        if self.axes is None or len(self.axes) != _BIN:
            return super()._in_two_ways(total)
        (down, across), grid = self.axes, self.grid()
        sizes = [len(across), len(down), grid.size] if total else []
        reach = [self.margin, *(self._of_sums(each, grid.size)[1] for each in sizes)]
        of = "a count by at most", "a row's total by", "a column's by", "that of all by"
        said = ", ".join(map(" ".join, zip(of, map(self._digits, reach), strict=False)))
        if total:
            grid = np.vstack([grid, grid.sum(axis=0)])
            grid = np.hstack([grid, grid.sum(axis=1, keepdims=True)])
            down, across = (*down, "total"), (*across, "total")
        one, other = map(name_key, self.columns)
        records = [
            {one: key_cell(key), other: label(name), "count": type(many.item())(self._digits(many))}
            for key, line in zip(down, grid, strict=True)
            for name, many in zip(across, line, strict=True)
        ]
        return records, f"In {formatting.percent(self.confidence)} of releases noise moves {said}."

    __array__ = refuse_array

    def __repr__(self) -> str:
        if self.axes is not None and len(self.axes) == _BIN:
            shown = _align(*self._cross())
        else:
            lines = self._lines(_SHOWN)
            more = len(self) - len(lines)
            shown = _align(self._titles(), lines)
            shown += f"\n... and {more} more: type release.table()" if more else ""
        return f"{shown}\n{self._note()}"

    def _repr_html_(self) -> str:
        if self.axes is not None and len(self.axes) == _BIN:
            return formatting.html_grid(self._note(), *self._cross())
        spots = [each.spot() for each in self.values()]
        scale = Scale.around(spots, 0.0)
        lines, drawn = self._lines(_SHOWN), [scale.title(), *map(scale.bar, spots[:_SHOWN])]
        table = formatting.html_grid(self._note(), self._titles(), lines, drawn)
        more = len(self) - len(lines)
        if more <= 0:
            return table
        all_of_them = step_picture(spots, [label(key) for key in self], f"{len(self)} counts")
        return f"<div>{all_of_them}{table}... and {more} more: type release.table()</div>"

    @cached_property
    def _release(self) -> object:
        """What all counts are parts of: each has rows and noise of its own."""
        return object()

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {key: place for place, key in enumerate(self.categories)}

    def _within(self, margin: float) -> Tallies:
        whole = self.counts.dtype.kind == "i"
        reach = int(margin) if whole else margin
        return np.stack([self.counts - reach, self.counts + reach], axis=1)

    def _titles(self) -> list[str]:
        return [*self.columns, "count", f"{formatting.percent(self.confidence)} interval"]

    def _lines(self, most: int) -> list[list[str]]:
        several = len(self.columns) > 1
        lines = []
        for key, count, interval in zip(
            self.categories[:most], self.counts, self.intervals, strict=False
        ):
            labels = map(label, cast(tuple[Hashable, ...], key)) if several else [label(key)]
            low, high = (self._digits(end) for end in interval)
            lines.append([*labels, self._digits(count), f"{low} to {high}"])
        return lines

    def _cross(self) -> tuple[list[str], list[list[str]]]:
        down, across = cast(tuple[tuple[Hashable, ...], ...], self.axes)
        more_across, more_down = len(across) - _SHOWN_ACROSS, len(down) - _SHOWN
        titles = [" \\ ".join(self.columns), *map(label, across[:_SHOWN_ACROSS])]
        lines = [
            [label(key), *map(self._digits, counts[:_SHOWN_ACROSS])]
            for key, counts in zip(down[:_SHOWN], self.grid(), strict=False)
        ]
        if more_across > 0:
            titles.append(f"and {more_across} more")
            lines = [[*line, "..."] for line in lines]
        if more_down > 0:
            lines.append([f"and {more_down} more", *["..."] * (len(titles) - 1)])
        return titles, lines

    def _digits(self, number: float) -> str:
        if self.counts.dtype.kind == "i":
            return str(int(number))
        return formatting.significant(self.standard_error, float(number))[0]

    def _note(self) -> str:
        note = f"Of these rows. Each interval goes {self._digits(self.margin)} up and down"
        if self.joint_margin is not None:
            joint = f"{note}; {self._digits(self.joint_margin)} holds for all at once."
            return "\n".join([joint, *self._hidden(), *filter(None, [self.hint])])
        return "\n".join(filter(None, [f"{note}. {self._left_out}", self.hint]))

    @property
    def _left_out(self) -> str:
        return "" if self.threshold is None else say_threshold(self.threshold)

    @property
    def _footnote(self) -> str:
        return " ".join(filter(None, [super()._footnote, self._left_out, self.hint]))

    def _hidden(self) -> list[str]:
        """Which declared keys few rows or none may have, and one like it that rows have."""
        keys = [label(key) for key in self]
        few = [key for key, (low, _) in zip(keys, self.intervals, strict=True) if low <= 0]
        if not few:
            return []
        if len(few) == len(keys):
            return ["The noise hides all of these numbers: check the column and the keys."]
        words = [key for key in self if isinstance(key, str)]
        near = name_like(few[0], set(words) - {*few}) if few[0] in words else ()
        meant = f" Did you mean {near[0]}?" if near else ""
        more = ", and others" if len(few) > 1 else ""
        return [f"The noise hides some of these numbers: {few[0]}{more}.{meant}"]


def say_threshold(least: int) -> str:
    """Which values a release of undeclared ones lacks, in words."""
    return f"Keys with a noisy count below {least} are not shown."


def label(key: Hashable) -> str:
    """A key as a table shows it."""
    if isinstance(key, tuple):
        return " to ".join(map(label, key))
    if isinstance(key, str):
        return formatting.printable(key)
    return "missing" if key is None else formatting.key_text(key)


def key_cells(columns: Sequence[str], key: Hashable) -> Record:
    """The cells of a table that say a key, one for each column."""
    parts = cast(tuple[Hashable, ...], key) if len(columns) > 1 else (key,)
    return dict(zip(map(name_key, columns), map(key_cell, parts), strict=True))


def key_cell(key: Hashable) -> Hashable:
    """A key as a cell of a table: a bin as text."""
    return label(key) if isinstance(key, tuple) else key


def plain_key(key: Hashable) -> object:
    """A key as JSON can hold it."""
    if isinstance(key, tuple):
        return [plain_key(each) for each in key]
    return key if key is None or isinstance(key, str | bool | int | float) else str(key)


def _align(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Text in columns: the last and the first to the left, the numbers between to the right."""
    numbers = {place for place, title in enumerate(titles) if place and "interval" not in title}
    return "\n".join(formatting.align([titles, *lines], numbers))


Which = int | str | Sequence[str]
TableSpace = Space[TablesOrRows]
Picked = Transformation[TableSpace, Space[Any]]
Counting = Measurement[TableSpace, Any, Histogram]
Axes = tuple[tuple[Hashable, ...], ...]
_OTHER: Final = "other"
_MOST_CELLS: Final = 2**24
# The name of the column of data that is one column.
_BARE: Final = "value"


@mechanism(
    does="Counts the rows of each category or of each bin.",
    changes=(
        "A value that is not declared is left out, as a missing value is; with other=True it "
        "counts in a further place. Without declared categories, rare ones are left out."
    ),
    proof=costs_budget(
        "`one_hot` or `bins`, `sum`, noise: l1 = l2 = 1 for a row added or removed, 2 and "
        "sqrt(2) for one replaced. Unknown categories: `thresholded_counts`."
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "age", edges=[0, 18, 65, 120], epsilon=1),
        example(
            sized_rows(["sex", "region"]),
            ["sex", "region"],
            categories=[[0, 1], [1, 2.5, None]],
            rho=0.1,
        ),
        example(
            records(columns=["sex", "age"]),
            ["sex", "age"],
            categories=[0, 1],
            edges=[0, 18, 65],
            rho=1,
        ),
        example(records(), edges=range(0, 101, 10), other=True, epsilon=1, delta=1e-6),
        example(records(columns=["city"]), "city", epsilon=1, delta=1e-6, confidence=0.9),
    ],
)
def histogram(
    space: Space[TablesOrRows],
    column: Which | None = None,
    budget: AnyBudget | None = None,
    *,
    categories: Sequence[object] | NDArray[Any] | None = None,
    edges: Edges | None = None,
    other: bool = False,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
) -> Counting:
    """Counts the rows of each category or of each bin.

    Declare ``categories`` or ``edges``. Without either, epsilon and delta buy the counts of the
    categories that the data hold, if they are not too rare: see ``thresholded_counts``.

    Args:
        column: The column to count, or a list of several for a contingency table. Leave it out if
            the data are one column.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        categories: The values to count, chosen without looking at the data; None stands for missing
            cells. For several columns a list for each.
        edges: Rising numbers between which a column of numbers is counted, or dates or times. An
            interval holds its lower edge, and the last one both. For several columns a list for
            each. With categories too, the edges are those of the last columns.
        other: Whether all other values are counted too, under the key "other".
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        rho: The budget of zero-concentrated privacy, with Gaussian noise.
        delta: With ``epsilon``.
        confidence: Of the intervals.

    Returns:
        A ``Histogram``: ``counts``, ``intervals`` and ``joint_intervals``, and by key a
        ``dp.Estimate``. Declared counts are unbiased, so they may be negative. Laplace noise leaves
        them whole numbers.

    Raises:
        ParameterError: If the budget is missing, or if categories and edges do not fit together.
        SpaceError: If the column is not there.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"sex": ["f", "m", "f"] * 200, "age": [31, 45, 60] * 200}
        >>> count = dp.histogram("sex", categories=["f", "m"], epsilon=1)
        >>> count.map(1)
        1.0
        >>> found = count(survey)
        >>> 380 < found["f"].value < 420, len(found.intervals)
        (True, 2)
        >>> ages = dp.histogram("age", edges=[0, 50, 100], epsilon=1)(survey)
        >>> list(ages), 380 < ages[0, 50].value < 420
        ([(0, 50), (50, 100)], True)
    """
    level = confidence_of(confidence, "histogram: confidence")
    whole = budget_of("histogram", rho, epsilon, delta)
    start = pick_columns(
        space, column, "histogram", numbers=edges is not None and not are_dates(edges)
    )
    domain = start.output_space.domain
    titles, several = domain.names or (_BARE,) * domain.columns, space.unit > 1
    if categories is None and edges is None:
        if other or rho is not None:
            raise ParameterError(
                "histogram: categories that are not declared take epsilon= and delta=, and no "
                "other=; declare them with categories= or edges="
            )
        threshold = threshold_of(start.output_space, "histogram", epsilon, delta)
        unknown = thresholded_counts(epsilon=cast(Number, epsilon), delta=cast(Number, delta))
        told = {"hint": formatting.as_sentence(space.kept), "several": several}
        shown = _Shown(titles, threshold.law, level, least=threshold.least, **told)
        return start >> unknown >> shown.shown_counts_with_intervals
    keys, axes, placed = _declare(domain.columns, categories, edges, other)
    if isinstance(domain, Tables):
        keys = domain.mark_periods(titles, keys)
        axes = axes and tuple(map(domain.mark_periods, zip(titles), axes))
    best = count_places(start >> placed, whole)
    said = filter(None, [formatting.as_sentence(space.kept), _say_days(domain, keys)])
    hint = " ".join(said)
    shown = _Shown(titles, best.facts.laws[0], level, keys, axes, hint=hint, several=several)
    made = best >> shown.counts_with_intervals
    return attrs.evolve(made, facts=attrs.evolve(made.facts, errors=best.facts.errors))


def _say_days(domain: Rows, keys: Sequence[Hashable]) -> str:
    """Of dates a week apart or more what counts, unless a step made periods of the days."""
    days = sorted(key.toordinal() for key in keys if isinstance(key, date))
    near = any(after - day < _WEEK for day, after in pairwise(days))
    if len(days) < _BIN or near or (isinstance(domain, Tables) and domain.periods):
        return ""
    return (
        "Rows of exactly these days count. For those of each month put dp.period('day', 'month') "
        "before."
    )


def count_places(placed: Transformation[TableSpace, RowSpace], whole: Budget) -> Measured[Floats]:
    """Noisy counts of rows that have a one in at most one place, with the lesser noise."""
    counted = placed >> sum()
    ways = [whole.with_claimed_loss(counted >> whole.noise())]
    if isinstance(whole, ApproximateBudget):
        ways.append(_as_approximate(counted >> laplace(epsilon=whole.epsilon)))
    return min(ways, key=lambda way: way.facts.laws[0].standard_deviation)


def pick_columns(space: TableSpace, column: Which | None, step: str, *, numbers: bool) -> Picked:
    """The columns that are counted: those that are there where none is named.

    Args:
        space: Of the data.
        column: What was asked for.
        step: Whose, for refusals.
        numbers: Whether a column without a name is read as numbers.
    """
    if column is not None:
        asked = [column] if isinstance(column, int | str) else column
        return select_columns(space, name_once(asked, step), step)
    domain = space.domain
    if not numbers or not isinstance(domain, Tables) or domain.names is not None:
        return Transformation(space, space, identity, identity)
    metric = space.metric.of_new_values()
    rows = attrs.evolve(space, domain=Rows(1, domain.size), metric=metric)
    return Transformation(space, rows, Map(Numbers()), identity)


def _declare(
    columns: int, categories: Iterable[object] | None, edges: Edges | None, other: bool
) -> tuple[tuple[Hashable, ...], Axes | None, Stage[TableSpace, RowSpace]]:
    """The keys that were declared, by column where there are several, and the step to places."""
    if isinstance(edges, Mapping):
        raise SpaceError("histogram: edges are a list, or for several columns a list for each")
    if columns == 1:
        if categories is not None and edges is not None:
            raise ParameterError(
                "histogram takes categories= or edges= for one column, not both; for two columns "
                "write dp.histogram(['sex', 'age'], categories=..., edges=...)"
            )
        if are_dates(edges):
            return _of_bins(edges, other), None, one_hot([], edges=edges, other=other)
        if edges is not None:
            return _of_bins(edges, other), None, bins(cast(Bounds, edges), other=other)
        declared = cast(Sequence[object], categories)
        return _of_categories(declared, other), None, one_hot(declared, other=other)
    lists = [] if categories is None else one_for_each(categories)
    if categories is not None and any(map(is_row, categories)):
        raise ParameterError(
            "histogram counts every combination: give a list of categories for each column, such "
            "as [['f', 'm'], ['Rome', 'Oslo']]. For tuples, each a combination, write "
            "dp.by(['sex', 'city'], [('f', 'Rome'), ('m', 'Oslo')], dp.count() >> "
            "dp.laplace(epsilon=1))"
        )
    ends = [] if edges is None else one_for_each(edges)
    if len(lists) + len(ends) != columns:
        raise ParameterError(
            f"histogram: {columns} columns need {columns} lists of categories or of edges, got "
            f"{len(lists)} and {len(ends)}. Write categories=[['f', 'm'], range(1, 17)], or "
            "categories=['f', 'm'], edges=[0, 40, 80]: columns with edges come last"
        )
    axes = (
        *(_of_categories(each, other) for each in lists),
        *(_of_bins(each, other) for each in ends),
    )
    cells = prod(map(len, axes))
    if cells > _MOST_CELLS:
        raise ParameterError(f"histogram: {cells} cells are more than 2^24; give fewer categories")
    step = one_hot(lists, edges=ends or None, other=other)
    return tuple(product(*axes)), axes, step


def _as_approximate(pure: Measured[Floats]) -> Measured[Floats]:
    """The same release: a pure loss is an approximate one that spends no delta."""

    def privacy_map(distance: Fraction) -> Pair:
        loss = pure.privacy_map(distance)
        (epsilon,), curve = numbers_of(loss), pure.output_measure.profile(loss)
        return curved_pair((epsilon, Fraction(0)), curve)

    return attrs.evolve(pure, output_measure=ApproximateDivergence(), privacy_map=privacy_map)


def _of_categories(given: object, other: bool) -> tuple[Hashable, ...]:
    found = Categories.of(given, "histogram", other=other).values
    if other and _OTHER in found:
        raise ParameterError(
            "histogram: other=True adds the category 'other', which is declared; call it otherwise"
        )
    return (*found, _OTHER) if other else found


def _of_bins(edges: object, other: bool) -> tuple[Hashable, ...]:
    ends: Sequence[Hashable]
    if are_dates(edges):
        ends = require_dates(cast(Sequence[object], edges), "histogram: edges")
    else:
        ends = [
            int(each) if each.denominator == 1 else nearest(each)
            for each in parse_bounds(edges, "edges")
        ]
    pairs = tuple(pairwise(ends))
    return (*pairs, _OTHER) if other else pairs


@attrs.frozen(eq=False, repr=False)
class _Shown:
    """What a histogram says beside its counts."""

    titles: tuple[str, ...]
    law: Law
    level: Fraction
    keys: tuple[Hashable, ...] = ()
    axes: Axes | None = None
    least: int | None = None
    hint: str = ""
    several: bool = False

    def counts_with_intervals(self, release: Floats) -> Histogram:
        """A histogram of all declared keys."""
        counts = release.astype(np.int64) if self.law.exponent == 0 else release
        return self._make(self.keys, counts, self._reach(len(self.keys)))

    def shown_counts_with_intervals(self, release: dict[Hashable, int]) -> Histogram:
        """A histogram of the keys that were released."""
        counts = np.fromiter(release.values(), np.int64, len(release))
        return self._make(tuple(release), counts, None)

    def _reach(self, entries: int) -> float:
        """How far the noise of all of so many entries reaches, at the level of confidence."""
        (width,) = half_widths([Errors(self.law, entries)], self.level, jointly=True)
        return round_up(width)

    def _make(self, keys: tuple[Hashable, ...], counts: Tallies, joint: float | None) -> Histogram:
        error, each, level = self.law.standard_deviation, self._reach(1), float(self.level)
        shown = self.titles, keys, counts, error, each, joint, level
        return Histogram(*shown, self.axes, self.least, self.hint, self.several)
