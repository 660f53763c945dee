"""A released histogram."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.display.formatting import for_json, html_grid, printable, significant
from opendp_lite.display.pictures import Scale, step_picture
from opendp_lite.releases.estimates import Estimate
from opendp_lite.releases.result import Result

_SHOWN: Final = 20
_SHOWN_ACROSS: Final = 12
_BIN: Final = 2

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

    Example:
        >>> found = Histogram(("sex",), ("f", "m"), np.array([312, 290]), 1.36, 3, 4, 0.95)
        >>> found
        sex  count  95 % interval
        f      312  309 to 315
        m      290  287 to 293
        From the noise alone. Each interval goes 3 up and down; 4 holds for all at once.
        >>> found["f"].interval, list(found), found.shares().round(2)
        ((309.0, 315.0), ['f', 'm'], array([0.52, 0.48]))
    """

    picture: ClassVar = "type dp.plotting.histogram_bars(release)"
    frame: ClassVar = "pd.Series(release.as_dict()['counts'], list(release))"

    columns: tuple[str, ...]
    categories: tuple[Hashable, ...]
    counts: NDArray[Any] = attrs.field(converter=_fix)
    standard_error: float
    margin: float
    joint_margin: float | None
    confidence: float
    axes: tuple[tuple[Hashable, ...], ...] | None = None
    threshold: int | None = None

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

    def shares(self) -> NDArray[np.float64]:
        """The counts as shares of their sum, with 0 for those below 0; NaN if none is above."""
        found = self.counts.clip(0).astype(np.float64)
        with np.errstate(all="ignore"):
            shares: NDArray[np.float64] = found / found.sum()
        return shares

    def grid(self) -> NDArray[Any]:
        """The counts as an array with an axis for each column.

        Raises:
            ParameterError: If the categories of several columns were not declared.
        """
        if self.axes is None:
            raise ParameterError("grid: it needs declared categories of several columns")
        return self.counts.reshape([len(axis) for axis in self.axes])

    def __getitem__(self, key: Hashable) -> Estimate:
        place = self._places.get(key)
        if place is None:
            raise KeyError(f"there is no key {key!r}; {self._there()}")
        low, high = map(float, self.intervals[place])
        return Estimate(
            float(self.counts[place]), self.standard_error, (low, high), self.confidence
        )

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.categories)

    def __len__(self) -> int:
        return len(self.categories)

    def as_dict(self) -> dict[str, Any]:
        """Everything by name, for ``json.dumps``."""
        return {
            "columns": list(self.columns),
            "categories": [_plain(key) for key in self.categories],
            "counts": self.counts.tolist(),
            "intervals": self.intervals.tolist(),
            "joint_intervals": None if self.joint_margin is None else self.joint_intervals.tolist(),
            "standard_error": for_json(self.standard_error),
            "confidence": self.confidence,
            "threshold": self.threshold,
        }

    def table(self) -> str:
        """All keys, counts and intervals, a line for each."""
        return _align(self._titles(), self._lines(len(self)))

    def __repr__(self) -> str:
        if self.axes is not None and len(self.axes) == _BIN:
            shown = _align(*self._cross())
        else:
            lines = self._lines(_SHOWN)
            more = len(self) - len(lines)
            shown = _align(self._titles(), lines)
            shown += f"\n... and {more} more" if more else ""
        return f"{shown}\n{self._note()}"

    def _repr_html_(self) -> str:
        if self.axes is not None and len(self.axes) == _BIN:
            return html_grid(self._note(), *self._cross())
        spots = [each.spot() for each in self.values()]
        scale = Scale.around(spots, 0.0)
        lines, drawn = self._lines(_SHOWN), [scale.title(), *map(scale.bar, spots[:_SHOWN])]
        table = html_grid(self._note(), self._titles(), lines, drawn)
        more = len(self) - len(lines)
        if more <= 0:
            return table
        all_of_them = step_picture(spots, [label(key) for key in self], f"{len(self)} counts")
        return f"<div>{all_of_them}{table}... and {more} more</div>"

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {key: place for place, key in enumerate(self.categories)}

    def _within(self, margin: float) -> Tallies:
        whole = self.counts.dtype.kind == "i"
        reach = int(margin) if whole else margin
        return np.stack([self.counts - reach, self.counts + reach], axis=1)

    def _titles(self) -> list[str]:
        return [*self.columns, "count", f"{100 * self.confidence:.12g} % interval"]

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
        return significant(self.standard_error, float(number))[0]

    def _note(self) -> str:
        note = f"From the noise alone. Each interval goes {self._digits(self.margin)} up and down"
        if self.joint_margin is not None:
            return f"{note}; {self._digits(self.joint_margin)} holds for all at once."
        return f"{note}. Keys with a noisy count below {self.threshold} are not shown."

    def _there(self) -> str:
        if self.threshold is not None:
            return "keys with few rows are not released"
        return f"there are {', '.join(map(repr, self.categories[:_SHOWN]))}"


def label(key: Hashable) -> str:
    """A key as a table shows it."""
    if isinstance(key, tuple):
        return " to ".join(map(label, key))
    if isinstance(key, str):
        return printable(key)
    return "missing" if key is None else str(key)


def _plain(key: Hashable) -> object:
    """A key as JSON can hold it."""
    if isinstance(key, tuple):
        return [_plain(each) for each in key]
    return key if key is None or isinstance(key, str | bool | int | float) else str(key)


def _align(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Text in columns: the last and the first to the left, the numbers between to the right."""
    rows = [titles, *lines]
    widths = [max(len(row[place]) for row in rows) for place in range(len(titles))]
    left = {0, *(place for place, title in enumerate(titles) if "interval" in title)}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
