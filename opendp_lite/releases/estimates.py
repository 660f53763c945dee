"""Tables of released numbers with how far off they may be, and releases by group and by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from opendp_lite.base.dates import date_meant
from opendp_lite.base.errors import NoKeyError, ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.display import formatting, pictures
from opendp_lite.releases.estimate import (
    Estimate,
    NoiseSource,
    bounds_at,
    say_hidden,
)
from opendp_lite.releases.intervals import CellsOfTable, IntervalEnds
from opendp_lite.releases.result import Result, mark_part, records_of, refuse_array
from opendp_lite.releases.table import Record, name_key

Floats = NDArray[np.float64]
_SHOWN: Final = 20
_NAMED: Final = 5
AT_ONCE: Final = "all of them at once"
"""Of joint intervals."""


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
        shared_noise: Whether the errors of the numbers depend on each other, as those of quantiles
            do.
        several: Whether a person may have several rows, which the errors take for independent.
        rows: About how many rows there are; None where the release does not tell.
        bounds: Of quantiles: what lies between which numbers; one at a bound says so.
        treated: What values beyond the bounds and missing ones count as: a table says it below.
        hint: What else there is to know, in words.
        title: What the names are: the title of their column in a table.

    Raises:
        ParameterError: If there are not as many errors, intervals or names as values.

    Example:
        >>> found = Estimates.around([12.0, 7.5], [1.0, 1.0], [2.0, 2.0], [2.3, 2.3], 0.95)
        >>> found
        <Estimates of 2 numbers, intervals in 95 % of releases of these rows
             value  std. error  interval      joint interval
          0  12.0   1.0         10.0 to 14.0  9.7 to 14.3
          1  7.5    1.0         5.5 to 9.5    5.2 to 9.8>
        >>> found[1].interval, [estimate.value for estimate in found]
        ((5.5, 9.5), [12.0, 7.5])
    """

    plotted_by: ClassVar = "estimate_intervals"

    values: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    standard_errors: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    intervals: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    joint_intervals: Floats = attrs.field(converter=_fix, eq=_ARRAY, hash=False)
    confidence: float
    names: tuple[str, ...] | None = None
    sampling: bool = False
    shared_noise: bool = False
    several: bool = False
    rows: float | None = None
    bounds: IntervalEnds | None = None
    treated: str = attrs.field(default="", eq=False)
    hint: str = attrs.field(default="", eq=False)
    title: str = attrs.field(default="name", eq=False)
    # As those of an estimate: not stored.
    source: NoiseSource = attrs.field(factory=NoiseSource, init=False, eq=False)
    # Of sums over other numbers: which noises are in each.
    noises: Sequence[frozenset[NoiseSource]] = attrs.field(default=(), init=False, eq=False)

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
        hint: str = "",
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
        return cls(centre, errors, each, joint, confidence, names, hint=hint)

    def of_part(self, release: object, part: Hashable) -> Self:
        """The same table as a part of a release whose parts have other rows and other noise."""
        return copy_with(self, source=NoiseSource(release, part, self.source.table))

    def of_cells(self, release: object, part: Hashable, table: CellsOfTable) -> Self:
        """As ``of_part``, of shares of the cells of a table."""
        # Rows of other categories are in no cell of the table.
        said = "shares of the rows with these categories"
        return copy_with(self, source=NoiseSource(release, part, table), treated=said)

    def split(self, count: int, names: tuple[str, ...] | None = None) -> list[Estimate | Estimates]:
        """So many parts of equal length; a part of one number is an ``Estimate``.

        The intervals that hold jointly are those of all parts together. ``names`` are those of the
        values of each part.
        """
        width = len(self) // count
        if width == 1:
            return list(self)
        starts = range(0, len(self), width)
        parts = (self.take(range(start, start + width)) for start in starts)
        return [attrs.evolve(part, names=names) for part in parts]

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

    def __getitem__(self, which: float | str | None) -> Estimate:
        # A quantile is named as it is typed, such as 0.5.
        name = "missing" if which is None else str(which)
        place = which if isinstance(which, int | np.integer) else self._place(name)
        low, high = self.intervals[place].tolist()
        value, error = self.values[place].item(), self.standard_errors[place].item()
        found = Estimate(
            *(value, error, (low, high), self.confidence, self.rows),
            sampling=self.sampling,
            several=self.several,
            bounds=bounds_at(value, (low, high), self.bounds),
            treated=self.treated,
            hint=self.hint,
        )
        if self.noises:
            return copy_with(found, sources=self.noises[place])
        if self.source.table is not None:
            return copy_with(found, sources=frozenset([attrs.evolve(self.source, place=place)]))
        if self.sampling or self.shared_noise or self.source.part is not None:
            return found.of_part(self.source.release, self.source.part)
        return found.of_part(self.source.release, (place,))

    def _place(self, name: str) -> int:
        if self.names is None or name not in self.names:
            raise NoKeyError.of("estimate", self.names or range(len(self)), name)
        if self.names.count(name) > 1:
            raise NoKeyError(f"several estimates are called {name!r}; take them by number")
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
        lines = [f"  {line}" for line in formatting.align([self._titles, *cells])]
        more = len(self) - len(cells)
        rest = [f"  ... and {more} more: type release.table()"] if more else []
        rest += [f"  {each}" for each in self._remarks()]
        return "\n".join([f"<Estimates of {self._head()}", *lines, *rest]) + ">"

    def _remarks(self) -> list[str]:
        if self.bounds is None:  # The hint is that of all: no need to look at each.
            return [formatting.as_sentence(self.hint)] if self.hint else []
        names: Sequence[Hashable] = range(len(self)) if self.names is None else self.names
        return say_remarks(dict(zip(names, self, strict=True)))

    def _repr_html_(self) -> str:
        more = len(self) - _SHOWN
        head = self._head() + (f", the first {_SHOWN}" if more > 0 else "")
        spots = [each.spot() for each in self]
        scale = pictures.Scale.around(spots)
        drawn = [scale.title(), *map(scale.dot, spots[:_SHOWN])]
        table = formatting.html_grid(head, self._titles, self._cells(), drawn)
        names = self.names or tuple(map(str, range(len(self))))
        if more > 0:
            table = f"{pictures.step_picture(spots, names, f'{len(self)} numbers')}{table}"
        return f"<div>{table}</div>"

    def _head(self) -> str:
        kind = "joint intervals" if self._once else "intervals"
        return f"{len(self)} numbers, {kind} in {self._of}"

    @property
    def _of(self) -> str:
        return formatting.hold_in(self.confidence, sampling=self.sampling, several=self.several)

    @property
    def covers(self) -> str:
        return f"{self._of}, {AT_ONCE}" if self._once else self._of

    @property
    def _unsaid(self) -> str:
        """Sums of counts are read as a trend of a population."""
        said = (
            "From sample to sample a count varies by chance, by about its root: that is not in it."
        )
        return " ".join([*self._remarks(), *[said] * bool(self.noises)])

    def _cells(self) -> Sequence[Sequence[str]]:
        return [self._row(place) for place in range(min(len(self), _SHOWN))]

    def _row(self, place: int) -> Sequence[str]:
        name = str(place) if self.names is None else formatting.printable(self.names[place])
        value, error = self.values[place].item(), self.standard_errors[place].item()
        kinds = [self.intervals] if self._once else [self.intervals, self.joint_intervals]
        ends = [end for kind in kinds for end in kind[place].tolist()]
        shown, off, *texts = formatting.justify(error, [value, *ends], value, error, *ends)
        pairs = zip(texts[::2], texts[1::2], strict=True)
        return name, shown, off, *(f"{low} to {high}" for low, high in pairs)

    def records(self) -> list[Record]:
        """A row for each number, with its name, and of shares with the key and the noisy count."""
        names: Sequence[object] = range(len(self)) if self.names is None else self.names
        table = self.source.table
        if table is None:
            pairs = zip(names, self, strict=True)
            return [{self.title: name, **each.records()[0]} for name, each in pairs]
        cells = zip(table.keys, self, table.counts, strict=True)
        return [{**key, **each.records()[0], "count": round(n)} for key, each, n in cells]


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


def say_remarks(found: Mapping[Any, Estimate]) -> list[str]:
    """What else there is to know of some numbers, each with whose it is, as sentences."""
    whose: dict[str, list[str]] = {}
    for key, each in found.items():
        for remark in each.remarks():
            whose.setdefault(remark, []).append(_show(key))
    said = []
    for remark, keys in whose.items():
        more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
        named = "" if len(keys) == len(found) else f": {'; '.join(keys[:_NAMED])}{more}"
        said.append(formatting.as_sentence(remark + named))
    return said


K = TypeVar("K", bound=Hashable)
R = TypeVar("R", covariant=True)


class _Several(Result, Mapping[K, R]):
    """Releases by key. ``what`` says what it is a key of."""

    __slots__ = ()
    plotted_by: ClassVar = "estimate_intervals"
    what: ClassVar[str]
    releases: Mapping[K, R]

    @property
    def covers(self) -> str:
        said = {each.covers for each in self.values() if isinstance(each, Result)}
        # Those of other parts are others, and hold at once less often.
        of_one = f"all of one {self.what} at once"
        return said.pop().replace(AT_ONCE, of_one) if len(said) == 1 else ""

    @property
    def _footnote(self) -> str:
        kinds = dict.fromkeys(each.covers for each in self.values() if isinstance(each, Result))
        said = self.covers or " or ".join(each for each in kinds if each)
        ends = f"low to high: {said}." if said else ""
        return " ".join(filter(None, [ends, formatting.as_sentence(self.treated), self._unsaid]))

    @property
    def treated(self) -> str:
        said = {key: getattr(each, "treated", "") for key, each in self.items()}
        one, *more = {*said.values()} - {""} or {""}
        named = [f"{words} ({_show(key)})" for key, words in said.items() if words]
        return "; ".join(named) if more else one

    @property
    def _unsaid(self) -> str:
        found = {key: each for key, each in self.items() if isinstance(each, Estimate)}
        hidden = max((each.hidden_rows or 0 for each in found.values()), default=0)
        own = [formatting.as_sentence(say_hidden(hidden))] if hidden else []
        own += say_remarks(found)
        results = ((k, each) for k, each in self.items() if isinstance(each, Result))
        others = {key: each._unsaid for key, each in results if not isinstance(each, Estimate)}
        for said in dict.fromkeys(filter(None, others.values())):
            keys = [_show(key) for key, each in others.items() if each == said]
            own.append(said if len(keys) == len(others) else f"Of {'; '.join(keys)}: {said}")
        return " ".join(own)

    __array__ = refuse_array

    def __getitem__(self, key: K) -> R:
        try:
            known = key in self.releases
            return self.releases[key if known else cast(K, date_meant(key, self))]
        except (KeyError, TypeError):
            found = getattr(self, "threshold", None) is not None
            few = "; groups with few rows are not released" if found else ""
            raise NoKeyError.of(
                self.what, map(formatting.label_key, self), formatting.label_key(key), few
            ) from None

    def __iter__(self) -> Iterator[K]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)


@attrs.frozen(repr=False)
class ByGroup(_Several[Hashable, R], Generic[R]):
    """The releases of a pipeline for each group, by the group's key.

    Args:
        column: What the groups are told apart by.
        releases: A release for each key, in the order that was declared.
        threshold: The least noisy count of a group that is shown, where no keys were declared.

    Example:
        >>> found = ByGroup("sex", {"f": 41.2, "m": 38.5})
        >>> found["f"], list(found), found.as_dict()
        (41.2, ['f', 'm'], {'f': 41.2, 'm': 38.5})
        >>> found
        sex
        f    41.2
        m    38.5
    """

    what: ClassVar = "group"

    column: str
    releases: Mapping[Hashable, R]
    threshold: int | None = None

    def records(self) -> list[Record]:
        """The rows of each group's release, with its key."""
        names = [name_key(each) for each in self.column.split(", ")]

        def with_key(key: Hashable, row: Record) -> Record:
            parts = key if isinstance(key, tuple) and len(names) > 1 else (key,)
            found = dict(zip(names, parts, strict=False))
            found = found if len(parts) == len(names) else {self.column: key}
            # A row has titles of its own, such as "quantile".
            return {f"{n} (key)" if n in row else n: part for n, part in found.items()} | row

        return [with_key(key, row) for key, each in self.items() for row in records_of(each)]

    @property
    def _summands(self) -> Sequence[object]:
        # A number that is whole is a count.
        parts = [getattr(e, "_summands", [e] * isinstance(e, int)) for e in self.values()]
        return [each for part in parts for each in part] if all(parts) else []

    def shares(self) -> ByGroup[Any]:
        """The shares within each group, of the histogram that is released for it."""
        if not all(hasattr(each, "shares") for each in self.values()):
            raise TypeError(
                "shares are of a histogram: in place of a count by group take "
                f"dp.histogram({self.column.split(', ')[0]!r}, categories=keys, epsilon=1), whose "
                "release has shares(); for shares within each group put it into dp.by"
            )
        shares = {key: cast(Any, each).shares() for key, each in self.items()}
        return ByGroup(self.column, shares, self.threshold)

    def as_dict(self) -> dict[str, Any]:
        """The releases by key, for ``json.dumps``. Keys are quoted where they would be confused."""
        labels = [_label(key) for key in self]
        if len(set(labels)) < len(labels):
            labels = [repr(key) for key in self]
        return dict(zip(labels, map(formatting.plain, self.values()), strict=True))

    def __repr__(self) -> str:
        keys = [_show(key) for key in self]
        if 0 < len(keys) <= _SHOWN and all(isinstance(each, Estimates) for each in self.values()):
            return str(self.table())
        found = [each for each in self.values() if isinstance(each, Estimate)]
        held, _, taken = self.covers.partition("; ")
        if held and len(found) == len(self):
            titles = [self.column, "value", held, "noise", ""]
            rows = ([key, *each.cells()] for key, each in zip(keys, found[:_SHOWN], strict=False))
            shown = formatting.align(_drop_empty([titles, *rows]))
            if taken:
                shown.append(f"{taken.capitalize()}.")
        else:
            shown = [self.column, *self._lines(keys)]
        more = len(keys) - _SHOWN
        last = [f"... and {more} more: type release.table()"] if more > 0 else []
        return "\n".join([*shown, *last, *self._note()])

    def _lines(self, keys: Sequence[str]) -> list[str]:
        width = max(map(len, [self.column, *keys]), default=0) + 1
        return [
            formatting.block(f"{key:<{width}}  ", formatting.format_release(release))
            for key, release in zip(keys[:_SHOWN], self.values(), strict=False)
        ]

    def _note(self) -> list[str]:
        if self.threshold is None:
            return []
        return [f"Groups with a noisy count below {self.threshold} are not shown."]

    @property
    def _footnote(self) -> str:
        return " ".join(filter(None, [super()._footnote, *self._note()]))

    def _repr_html_(self) -> str:
        shown = [(_show(key), self[key]) for key in list(self)[:_SHOWN]]
        more = len(self) - len(shown)
        last = [f"... and {more} more: type release.table()"] if more else []
        lines = filter(None, [*last, *self._note(), formatting.as_sentence(self.treated)])
        rest = "".join(f"<div>{formatting.escape(line)}</div>" for line in lines)
        return f"<div>{self._table(shown)}{rest}</div>"

    def _table(self, shown: Sequence[tuple[str, object]]) -> str:
        """A line for each group, with a picture where all releases are numbers."""
        spots = pictures.spots_of(release for _, release in shown)
        if spots is None:
            return formatting.html_of_each([(self.column, ""), *shown])
        scale = pictures.Scale.around(spots)
        rows = [(name, formatting.format_release(release)) for name, release in shown]
        return formatting.html_grid(
            "", [self.column, ""], rows, [scale.title(), *map(scale.dot, spots)]
        )


def _drop_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without columns that are empty below their title."""
    full = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    return [[row[place] for place in full] for row in rows]


def _label(key: Hashable) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _show(key: Hashable) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join("missing" if part is None else formatting.key_text(part) for part in parts)


@attrs.frozen(repr=False)
class ByName(_Several[str, Any]):
    """What ``dp.compose`` releases of parts with names: each release by its name, in order.

    Args:
        releases: A release for each name.

    Example:
        >>> found = ByName({"rows": 1204, "age": 41.2})
        >>> found["age"], list(found), found.as_dict()
        (41.2, ['rows', 'age'], {'rows': 1204, 'age': 41.2})
        >>> found
        rows: 1204
        age: 41.2
    """

    what: ClassVar = "release"

    releases: Mapping[str, Any]

    @property
    def covers(self) -> str:
        said = [(name, each.covers) for name, each in self.items() if isinstance(each, Result)]
        return super().covers or "; ".join(f"{name}, {words}" for name, words in said if words)

    def records(self) -> list[Record]:
        """The rows of each release, with its name, and behind it that of a part of its own.

        Beside the groups of a part ``by``, names of the same statistics are keys like theirs.
        """
        found = [(name, row) for name, one in self.items() for row in records_of(one)]
        groups = self.releases.get("by")
        if isinstance(groups, ByGroup):
            keys = dict.fromkeys(map(name_key, groups.column.split(", ")), "")
            kinds = {(name == "by", frozenset(row) - {*keys}) for name, row in found}
            if len(kinds) == 2 * len({kind for _, kind in kinds}):
                return [keys | {next(iter(keys)): name} | row for name, row in found]
        parts = [", ".join(filter(None, (name, row.get("statistic")))) for name, row in found]
        # Twice: once for the place in front, and once over the own name of the row.
        return [
            {"statistic": part} | row | {"statistic": part}
            for part, (_, row) in zip(parts, found, strict=True)
        ]

    def of_part(self, release: object, part: Hashable) -> Self:
        """Each as a part of a release whose parts have other rows and other noise."""
        return attrs.evolve(
            self, releases={name: mark_part(each, release, part) for name, each in self.items()}
        )

    def as_dict(self) -> dict[str, Any]:
        """The releases by name, for ``json.dumps``."""
        return {name: formatting.plain(release) for name, release in self.items()}

    def __repr__(self) -> str:
        return "\n".join(
            formatting.block(f"{name}: ", formatting.format_release(release))
            for name, release in self.items()
        )

    def _repr_html_(self) -> str:
        return formatting.html_of_each(self.items())
