"""A released number with how far off it may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from opendp_lite import display
from opendp_lite.base.errors import ParameterError
from opendp_lite.display.formatting import (
    align,
    for_json,
    html_grid,
    html_table,
    percent,
    printable,
    significant,
)
from opendp_lite.releases.result import Result


@attrs.frozen(repr=False)
class Estimate(Result):
    """A released number with its standard error and an interval. All of it is private.

    Args:
        value: The estimate, of a mean or a count, say.
        standard_error: Of the value, to the first order.
        interval: Holds what is estimated in a share ``confidence`` of all releases. For a mean this
            is the mean of the clipped values.
        confidence: Such as 0.95.
        rows: About how many rows there are; None where the release does not tell.
        sampling: Whether both errors also cover that the rows are a random sample. If not, they
            are those of the noise alone.
        clipped: Whether values were clipped at ends that a private search found. The interval is
            then for the clipped values. With few rows these may lie far from all values.
        wide_interval: With what such clipping may have moved, where the release can tell. It holds
            the statistic of all values within the bounds if tails are thin: ``variance`` says how
            thin.
        bounds: What is estimated lies between them; None where nothing bounds it on both sides.
        too_few: Whether the rows were too few, as a noisy count has it, to learn where the values
            lie. The value is then a private median, or 0, and says nothing of the mean.

    Example:
        >>> estimate = Estimate(41.2587, 0.0821, (41.097, 41.421), 0.95, 600.2)
        >>> estimate
        <Estimate 41.259 +- 0.082, 95 % interval 41.097 to 41.421, from the noise alone>
        >>> float(estimate), f"{estimate:.1f}"
        (41.2587, '41.3')
        >>> estimate.as_dict()["interval"]
        [41.097, 41.421]
    """

    picture: ClassVar = "type dp.plotting.estimate_intervals({'mean': release})"

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    rows: float | None = None
    sampling: bool = False
    clipped: bool = False
    wide_interval: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    too_few: bool = False

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{self.justify(self.value)[0]} ({self._interval()}, {self._say_coverage()})"

    def __repr__(self) -> str:
        value, error = self.justify(self.value, self.standard_error)
        return f"<Estimate {value} +- {error}, {self._interval()}, {self._say_coverage()}>"

    def _repr_html_(self) -> str:
        value, error = self.justify(self.value, self.standard_error)
        shown = {
            "estimate": value,
            "standard error": error,
            f"{percent(self.confidence)} interval": self._ends(self.interval),
            "covers": self._source().removeprefix("from "),
        }
        if self.wide_interval is not None:
            shown["with what clipping may move"] = self._ends(self.wide_interval)
        if self.rows is not None:
            shown["rows, about"] = f"{self.rows:.0f}{', too few' if self.too_few else ''}"
        drawn = "" if self.bounds is None else self._on_bounds(*self.bounds)
        return f"<div>{html_table(shown)}{drawn}</div>"

    def _on_bounds(self, lower: float, upper: float) -> str:
        scale = display.Scale(lower, upper)
        return f"<div style='width:fit-content'>{scale.dot(self.spot())}{scale.title()}</div>"

    def spot(self) -> display.Spot:
        """The value with its interval, for a picture."""
        return display.Spot(float(self.value), *map(float, self.interval))

    def _ends(self, interval: tuple[float, float]) -> str:
        low, high = self.justify(*interval)
        return f"{low} to {high}"

    def _interval(self) -> str:
        return f"{percent(self.confidence)} interval {self._ends(self.interval)}"

    def _say_coverage(self) -> str:
        """What the interval covers, and what it does not."""
        found = self._source()
        if self.wide_interval is not None:
            found += f"; {self._ends(self.wide_interval)} with what clipping may move"
        if self.too_few:
            found += "; too few rows" + ("" if self.rows is None else f", about {self.rows:.0f}")
        return found

    def _source(self) -> str:
        source = "from noise and sampling" if self.sampling else "from the noise alone"
        return f"{source}, after clipping" if self.clipped else source

    def justify(self, *numbers: float) -> tuple[str, ...]:
        """Numbers with as many digits as the second of the standard error.

        Those of a count are whole, and have no decimals.
        """
        shown = significant(self.standard_error, *numbers)
        if not all(float(end).is_integer() for end in (self.value, *self.interval)):
            return shown
        return tuple(
            f"{number:.0f}" if "." in text and "e" not in text and number == int(number) else text
            for number, text in zip(numbers, shown, strict=True)
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``. A number that is not finite is None."""
        return {each.name: for_json(getattr(self, each.name)) for each in attrs.fields(type(self))}


Floats = NDArray[np.float64]
_SHOWN: Final = 20


def _fix(numbers: ArrayLike) -> Floats:
    found = np.array(numbers, dtype=np.float64)
    found.flags.writeable = False
    return found


_ARRAY: Final = attrs.cmp_using(eq=np.array_equal)


@attrs.frozen(repr=False)
class Estimates(Result):
    """Several released numbers with standard errors and intervals. All of it is private.

    ``estimates[0]`` is the first as a ``dp.Estimate``, ``len`` counts them, and a loop goes through
    them. Functions of numpy take the values.

    Args:
        values: The estimates, an array.
        standard_errors: One for each value.
        intervals: A row (low, high) for each value. Each by itself holds what is estimated in a
            share ``confidence`` of all releases.
        joint_intervals: Likewise. All of them together hold what is estimated in that share. Where
            they are the ``intervals``, a table shows them once and says "joint".
        confidence: Such as 0.95.
        names: Of the values, where they have names. ``estimates["age"]`` is then one of them.
        sampling: Whether the errors also cover that the rows are a random sample.

    Raises:
        ParameterError: If there are not as many errors, intervals or names as values.

    Example:
        >>> found = Estimates.around([12.0, 7.5], [1.0, 1.0], [2.0, 2.0], [2.3, 2.3], 0.95)
        >>> found
        <Estimates of 2 numbers, 95 % intervals from the noise alone
             value  std. error  interval      joint interval
          0  12.0   1.0         10.0 to 14.0  9.7 to 14.3
          1  7.5    1.0         5.5 to 9.5    5.2 to 9.8>
        >>> found[1].interval, [estimate.value for estimate in found]
        ((5.5, 9.5), [12.0, 7.5])
    """

    values: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    standard_errors: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    intervals: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    joint_intervals: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    confidence: float
    names: tuple[str, ...] | None = None
    sampling: bool = False

    def __attrs_post_init__(self) -> None:
        count = len(self.values)
        shapes = {
            "standard_errors": (self.standard_errors.shape, (count,)),
            "intervals": (self.intervals.shape, (count, 2)),
            "joint_intervals": (self.joint_intervals.shape, (count, 2)),
            "names": ((count if self.names is None else len(self.names),), (count,)),
        }
        for name, (found, wanted) in shapes.items():
            if found != wanted:
                raise ParameterError(
                    f"Estimates: {name} of {count} values have the shape {wanted}, got {found}"
                )

    @classmethod
    def around(
        cls,
        values: ArrayLike,
        standard_errors: ArrayLike,
        half_widths: ArrayLike,
        joint_half_widths: ArrayLike,
        confidence: float,
        *,
        least: float = -np.inf,
        names: tuple[str, ...] | None = None,
    ) -> Estimates:
        """Intervals of given half-widths around values, cut off below ``least``.

        Nothing that is estimated lies below ``least``, so what is cut off held nothing. Ends are
        rounded outwards where they are no floats.
        """
        centre = np.array(values, dtype=np.float64)
        errors = np.broadcast_to(np.asarray(standard_errors, dtype=np.float64), centre.shape)
        each, joint = (
            np.maximum(_ends(centre, half), least) for half in (half_widths, joint_half_widths)
        )
        return cls(centre, errors, each, joint, confidence, names)

    def split(self, count: int, names: tuple[str, ...] | None = None) -> list[Estimate | Estimates]:
        """So many parts of equal length; a part of one number is an ``Estimate``.

        The intervals that hold jointly are those of all parts together. ``names`` are those of the
        values of each part.
        """
        width = len(self) // count
        if width == 1:
            return list(self)
        return [
            Estimates(
                self.values[start : start + width],
                self.standard_errors[start : start + width],
                self.intervals[start : start + width],
                self.joint_intervals[start : start + width],
                self.confidence,
                names,
            )
            for start in range(0, len(self), width)
        ]

    def take(self, places: Sequence[int]) -> Estimates:
        """Those at some places, in their order."""
        which = list(places)
        return attrs.evolve(
            self,
            values=self.values[which],
            standard_errors=self.standard_errors[which],
            intervals=self.intervals[which],
            joint_intervals=self.joint_intervals[which],
            names=None if self.names is None else tuple(self.names[place] for place in which),
        )

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Estimate]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, which: int | str) -> Estimate:
        place = self._place(which) if isinstance(which, str) else which
        low, high = self.intervals[place].tolist()
        value, error = self.values[place].item(), self.standard_errors[place].item()
        return Estimate(value, error, (low, high), self.confidence, sampling=self.sampling)

    def _place(self, name: str) -> int:
        if self.names is None or name not in self.names:
            there = "they have no names" if self.names is None else f"there are {list(self.names)}"
            raise KeyError(f"no estimate is called {name!r}; {there}")
        if self.names.count(name) > 1:
            raise KeyError(f"several estimates are called {name!r}; take them by number")
        return self.names.index(name)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)

    @property
    def _once(self) -> bool:
        """Whether the intervals are the joint ones."""
        return np.array_equal(self.intervals, self.joint_intervals)

    @property
    def _titles(self) -> Sequence[str]:
        """Of the columns of a table, beside that of names."""
        kinds = ["joint interval"] if self._once else ["interval", "joint interval"]
        return ["", "value", "std. error", *kinds]

    def __repr__(self) -> str:
        cells = self._cells()
        lines = [f"  {line}" for line in align([self._titles, *cells])]
        more = len(self) - len(cells)
        rest = [f"  ... and {more} more"] if more else []
        return "\n".join([f"<Estimates of {self._head()}", *lines, *rest]) + ">"

    def _repr_html_(self) -> str:
        more = len(self) - _SHOWN
        head = self._head() + (f", the first {_SHOWN}" if more > 0 else "")
        spots = [each.spot() for each in self]
        scale = display.Scale.around(spots)
        drawn = [scale.title(), *map(scale.dot, spots[:_SHOWN])]
        table = html_grid(head, self._titles, self._cells(), drawn)
        names = self.names or tuple(map(str, range(len(self))))
        all_of_them = display.step_picture(spots, names, f"{len(self)} numbers") if more > 0 else ""
        return f"<div>{all_of_them}{table}</div>"

    def _head(self) -> str:
        source = "noise and sampling" if self.sampling else "the noise alone"
        kind = "joint intervals" if self._once else "intervals"
        return f"{len(self)} numbers, {percent(self.confidence)} {kind} from {source}"

    def _cells(self) -> Sequence[Sequence[str]]:
        return [self._row(place) for place in range(min(len(self), _SHOWN))]

    def _row(self, place: int) -> Sequence[str]:
        name = str(place) if self.names is None else printable(self.names[place])
        value, error = self.values[place].item(), self.standard_errors[place].item()
        kinds = [self.intervals] if self._once else [self.intervals, self.joint_intervals]
        ends = [end for kind in kinds for end in kind[place].tolist()]
        shown, off, *texts = significant(error, value, error, *ends)
        pairs = zip(texts[::2], texts[1::2], strict=True)
        return name, shown, off, *(f"{low} to {high}" for low, high in pairs)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``. A number that is not finite is None."""
        return {each.name: for_json(getattr(self, each.name)) for each in attrs.fields(type(self))}


def _ends(centre: Floats, half: ArrayLike) -> Floats:
    return np.stack([_outwards(centre, half, side) for side in (-1.0, 1.0)], axis=-1)


def _outwards(centre: Floats, half: ArrayLike, side: float) -> Floats:
    """centre + side * half, rounded away from the centre unless it is a float.

    Proof:
        The error of a float addition is a float, and these six operations find it (Knuth, The Art
        of Computer Programming 2, 4.2.2, theorem B).
    """
    with np.errstate(all="ignore"):
        step = side * np.asarray(half, dtype=np.float64)
        end = centre + step
        back = end - centre
        lost = (centre - (end - back)) + (step - back)
        found: Floats = np.where(lost == 0, end, np.nextafter(end, side * np.inf))
    return found
