"""Some of the rows, and how many of each person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from math import inf
from re import compile as compile_pattern
from typing import Any, Final, Self, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Bounds, brief_body, parse_bounds, say_got, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.expressions import Engine, Expression, KeyedCells, to_key
from opendp_lite.engines.data.fold import Floats, identity
from opendp_lite.engines.data.open_data import NUMBERS, open_source
from opendp_lite.engines.data.source import Places, Words
from opendp_lite.engines.data.table import Column as TableColumn
from opendp_lite.engines.data.table import ColumnReading
from opendp_lite.engines.dates import are_dates, between_dates, require_dates
from opendp_lite.engines.grouped import Kept, LazyTable
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries
from opendp_lite.engines.plan import Keep, Own
from opendp_lite.engines.rows import LazyRows, Part, materialise
from opendp_lite.engines.sampling.rules import contributions, rows_of_size
from opendp_lite.metrics.distances import ChangeOneDistance, SpreadDistance, SymmetricDistance
from opendp_lite.numbers.exact import Number, exact, nearest, quote, whole
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, row_metric, rows_in, sized_rows
from opendp_lite.spaces.tables import PersonTables, Tables, TablesOrPeople, tables_in
from opendp_lite.spelling.description import Proof, opendp_twin
from opendp_lite.transformations.row_maps import fitting, plain_nan, row_by_row, row_map_trusted

_ENDS = 2
_CONDITION = compile_pattern(r"(\w+) *([<>]|[<>=]=|=) *(\S{1,20})")


@attrs.frozen
class Chosen:
    """Whether values of a column are asked for: what its reading makes of them lies between two.

    Attributes:
        reading: How the column is read. NaN stands for missing values, which are not asked for.
        lower: The least of what is asked for, as it is read.
        upper: The largest.
    """

    reading: ColumnReading = attrs.field(repr=False)
    lower: float
    upper: float

    @classmethod
    def of(
        cls,
        step: str,
        column: object,
        between: Sequence[object] | None,
        among: Sequence[object] | None,
        more: str = "",
    ) -> Self:
        """What a person typed; ``more`` stands at the end of a refusal of none or both."""
        if (between is None) == (among is None):
            if isinstance(column, str) and (condition := _CONDITION.fullmatch(column)):
                name, sign, value = condition.groups()
                ends = {"<": f"(None, {value})", ">": f"({value}, None)"}.get(sign[0])
                told = f"between={ends}), which counts {value} too" if ends else f"among=[{value}])"
                more = f"; write dp.{step}({name!r}, {told}"
            raise ParameterError(
                f"{step} takes one of between=(18, 65) or among=['north', 'south']{more}"
            )
        if among is not None:
            declared = Categories.of(among, step, other=True)
            return cls(Codes(declared), 0, len(declared.values) - 1)
        if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != _ENDS:
            raise ParameterError(
                f"{step}: between is a pair such as (18, 65) or (18, None), got {quote(between)}"
            )
        first, last = between
        if are_dates(between):
            typed = require_dates([end for end in between if end is not None], f"{step}: between")
            falls = typed[0] > typed[-1]
            lower = None if first is None else typed[0]
            upper = None if last is None else typed[-1]
            read = between_dates(lower, upper, "between=")
            found = cls(read, 1, 1)
        else:
            least, most = (
                otherwise if end is None else nearest(exact(end, f"{step}: between"))
                for end, otherwise in ((first, -inf), (last, inf))
            )
            falls = least > most
            found = cls(NUMBERS, least, most)
        if falls:
            raise ParameterError(f"{step}: between=({first}, {last}) holds nothing; swap the two")
        return found

    def __call__(self, read: Floats) -> NDArray[np.bool_]:
        return np.logical_and(read >= self.lower, read <= self.upper)

    def express(self, read: Expression, engine: Engine) -> Expression:
        """The same of an engine's column."""
        if isinstance(read, KeyedCells):
            ((key, values),) = read.keys
            return engine.among(key, list(map(to_key, values)))
        return (read >= self.lower) & (read <= self.upper)


@stage(
    does="Keeps the rows of a table that have certain values in a column.",
    changes=(
        "Keeps the rows that have certain values in a column. A row with a missing cell in the "
        "column is left out, unless None is among the values."
    ),
    proof=Proof(
        "Row by row: a row becomes itself or nothing. Of a replaced row, the old one may "
        "leave and the new one come.",
        adding="k",
        replacing="2 k rows added or removed",
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), "age", between=(18, 65)),
        example(records(columns=["region", "visits"]), "region", among=[1, 2.5]),
    ],
)
def keep(
    space: Space[TablesOrPeople],
    column: str,
    *,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
    among: Sequence[object] | None = None,
) -> Transformation[Space[TablesOrPeople], Space[TablesOrPeople]]:
    """Keeps the rows of a table that have certain values in a column.

    Args:
        column: The name of the column.
        between: The least and the largest number to keep, as in (18, 65). Both are kept. None
            leaves a side open, as in (18, None). Of a column of dates or times two dates, or two
            times, which may be text such as "2024-01-31". A date is the whole of its day.
        among: The values to keep, as in ["north", "south"]; None stands for missing cells.

    Returns:
        The table with these rows. How many there are is private. A row with a missing cell in the
        column is left out, unless None is among the values.

    Raises:
        ParameterError: If not just one of ``between`` and ``among`` is given, or the first of the
            two numbers is larger than the second, or a value is declared twice.
        SpaceError: If the table has no such column.

    Example:
        >>> import opendp_lite as dp
        >>> adults = dp.keep("age", between=(18, 65)) >> dp.select("visits") >> dp.clamp(0, 9)
        >>> (adults >> dp.sum())({"age": [12, 30, 65], "visits": [1, 2, 3]})
        NotPrivate([5.])
    """
    domain = tables_in(space.domain)
    (name,) = domain.find_names([column], "keep")
    chosen = Chosen.of("keep", column, between, among)
    only = Keep(Kept(TableColumn(name, chosen.reading), chosen))
    if domain.size is None:
        return Transformation(space, space, only, identity)
    after = attrs.evolve(domain, size=None)
    unit = 2 * cast(Fraction, space.unit)
    fewer = attrs.evolve(space, domain=after, metric=SymmetricDistance(), unit=unit)
    return Transformation(space, fewer, only, lambda distance: 2 * distance)


@stage(
    does="Leaves out every row that has a missing value (NaN).",
    changes="Leaves out every row that has a missing value (NaN).",
    proof=Proof("Row by row: a row becomes itself or nothing.", adding="k", replacing="-"),
    examples=lambda: [example(records()), example(records(columns=2))],
)
@opendp_twin(lambda here: here.made >> here.library.t.then_drop_null())
def drop_nan(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Leaves out every row that has a missing value (NaN).

    Sums, counts and quantiles do this by themselves, for the columns that reach them. Use this step
    where a value that is missing in any column should remove the row from all of them.

    Returns:
        Rows without missing values. Their number is private.

    Raises:
        SpaceError: If the number of rows is public. Use ``impute(value)`` then.

    Example:
        >>> import opendp_lite as dp
        >>> dp.drop_nan()([1.0, float("nan"), 3.0])
        NotPrivate([1., 3.])
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            "drop_nan changes the number of rows, which ChangeOneDistance holds fixed; "
            "use impute(value) instead"
        )
    return row_map_trusted(space, LEAVE_OUT, space.domain.body, space.domain.names)


@stage(
    does="Puts a public value in the place of every missing one (NaN).",
    changes="Puts a public value in the place of every missing one (NaN).",
    proof=row_by_row(),
    examples=lambda: [example(records(), -0.5), example(sized_rows(2), [0, 1])],
)
@opendp_twin(
    lambda here, value: here.untouched() >> here.library.t.then_impute_constant(_entry(value))
)
def impute(space: Space[Rows], value: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Puts a public value in the place of every missing one (NaN).

    Without this step, sums, counts and quantiles leave out rows with missing values. Where the
    number of rows is public, the centre of the rows' body stands for what is missing.

    Args:
        value: What to put there. A number for all columns, or one for each.

    Returns:
        As many rows as before, without missing values, in a box that holds ``value`` too. What was
        known of the norms of rows is no longer known: put this step before ``clip_to_norm``.

    Raises:
        SpaceError: If ``value`` has another number of entries than the rows have columns.

    Example:
        >>> import opendp_lite as dp
        >>> dp.impute(2)([1.0, float("nan")])
        NotPrivate([1., 2.])
    """
    domain = space.domain
    exact = fitting(parse_bounds(value, "value"), space, "impute")
    body = domain.body
    if ends := body.bounds():
        # A filled row may leave a ball or a box: each entry is one of before, or the filling.
        low, high, fill = [[*each] * (body.columns // len(each)) for each in (*ends, exact)]
        least = [min(pair) for pair in zip(low, fill, strict=True)]
        body = Box(least, [max(pair) for pair in zip(high, fill, strict=True)])
    return row_map_trusted(space, FillEntries(to_floats(exact)), body, domain.names)


def _entry(value: Bounds) -> float:
    """That of the only column."""
    return nearest(*parse_bounds(value, "value"))


def fresh_keys(places: Places) -> Words:
    """A new word for each place."""
    return SecureEntropy().words(len(places))


_PAIR = 2


@stage(
    does="Keeps at most so many rows of each person, chosen at random.",
    changes=(
        "Keeps at most so many rows of each person, chosen at random. Rows without an id are left "
        "out."
    ),
    proof=Proof(
        "The m rows of a person with the least random keys stay. Neighbours are compared with "
        "the same keys for shared rows, so other people's rows stay the same, and one row "
        "more lets at most one in and one out. With g groups: m g k for k people, of which m "
        "k in one group (`SpreadDistance`), and (m + 1) k for k rows. It holds for all keys, "
        "so a mixture over them loses no more than its worst part.",
        adding="m k for k people; 2 k for k rows",
        replacing="4 k",
    ),
    examples=lambda: [
        example(records(columns=["id", "visits"], person="id"), 2),
        example(records(columns=["id", "city", "visits"], person="id"), 2, groups=("city", 3)),
        example(records(columns=["id", "visits"]), 3, person="id"),
    ],
)
def bound_contributions(
    space: Space[TablesOrPeople],
    rows: int,
    *,
    groups: tuple[str, int] | None = None,
    person: str | None = None,
) -> Transformation[Space[TablesOrPeople], Space[Tables]]:
    """Keeps at most so many rows of each person, chosen at random.

    Each release chooses anew. All that one release reads after this step is of one choice.

    Args:
        rows: How many rows of a person are kept. With ``groups``, how many in each group.
        groups: A column, and how many of its values are kept of each person, as in ("city", 2).
            Missing cells are one value.
        person: The column that tells people apart. Leave it out after ``records(person="id")``.

    Returns:
        The table with the chosen rows. A person with few rows keeps them all. Any choice of so many
        rows of a person is equally likely. Rows without an id are left out. The chosen rows are
        held in memory if the data comes in blocks, and their places if it is in memory. Those of a
        table on dask or Spark are chosen there and come here.

    Raises:
        ParameterError: If a number is not whole or below 1, or ``groups`` is no such pair.
        SpaceError: If the table has no such column, or nothing tells people apart.

    Example:
        >>> import opendp_lite as dp
        >>> space = dp.records(columns=["id", "visits"], person="id")
        >>> mean = space >> dp.bound_contributions(3) >> dp.select("visits") >> dp.mean(
        ...     0, 40, epsilon=1
        ... )
        >>> mean.map(1)
        1.0
        >>> mean.neighbours()
        'adding or removing one person'
    """
    most = whole(rows, "rows", least=1)
    group = _group(space, groups)
    column = _person(space, person)
    kept_groups = 1 if group is None else group[1]
    if isinstance(space.domain, PersonTables):
        factor = most * kept_groups
    else:
        changed = 2 if group is None else most + 1
        factor = changed * (2 if row_metric(space).fixed_size else 1)

    def move(distance: Fraction) -> Fraction:
        return distance * factor

    read = (column,) if group is None else (column, group[0])

    def choose(table: LazyTable) -> LazyTable:
        table.dataset.require(read, "bound_contributions")
        return contributions(table, column, most, group, table.keys or fresh_keys)

    limit = _words(most, group)
    domain = attrs.evolve(tables_in(space.domain), size=None, limit=limit)
    metric, unit = _spread(space, group), move(cast(Fraction, space.unit))
    after = Space(domain, metric, unit=unit, kept=f"rows counted: {limit}")
    return Transformation(space, after, Keep(Own(choose)), move)


def _spread(space: Space[TablesOrPeople], group: tuple[str, int] | None) -> SymmetricDistance:
    """The metric between tables with the chosen rows: those of a person may be in several groups.

    One row more of a person may exchange one group for another, so then nothing is known.
    """
    people = isinstance(space.domain, PersonTables)
    return SpreadDistance(*group) if people and group else SymmetricDistance()


def _person(space: Space[TablesOrPeople], given: str | None) -> str:
    domain = space.domain
    if isinstance(domain, PersonTables):
        if given not in (None, domain.person):
            raise SpaceError(
                f"bound_contributions: {domain.person!r} tells people apart here; leave out person="
            )
        return domain.person
    if given is None:
        raise SpaceError(
            "bound_contributions: say which column tells people apart. Start with "
            "dp.records(columns=[...], person='id') or dp.table(person='id'), where a neighbour "
            "has one person more or less"
        )
    if not isinstance(given, str):
        raise ParameterError(f"bound_contributions: person is a name; got {quote(given)}")
    (name,) = domain.find_names([given], "bound_contributions")
    return str(name)


def _group(space: Space[TablesOrPeople], given: object) -> tuple[str, int] | None:
    if given is None:
        return None
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != _PAIR:
        raise ParameterError(
            "bound_contributions: groups is a column and a number, such as ('city', 2); got "
            f"{quote(given)}"
        )
    column, most = given
    (name,) = tables_in(space.domain).find_names([column], "bound_contributions: groups")
    return name, whole(most, "the number of groups", least=1)


def _words(most: int, group: tuple[str, int] | None) -> str:
    if group is None:
        return f"at most {most} of a person"
    return f"at most {most} of a person in each of {group[1]} groups by {group[0]}"


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))

Bits = NDArray[np.uint64]
_GOLDEN: Final = 0.6180339887498949


def _resize_twin(here: Any, size: int, fill: Bounds | None = None) -> Any:
    if fill is None:
        raise here.refuse("write fill=, the one number that OpenDP fills up with")
    return here.complete() >> here.library.t.then_resize(size, _entry(fill))


@stage(
    does="Brings a dataset to a public number of rows.",
    changes=(
        "Brings the rows to a public number: it leaves out some at random, or adds public ones. "
        "Where the number of rows was private, rows with missing values are left out first."
    ),
    proof=Proof(
        "Rows are ordered by a hash of content and occurrence. One row more shifts one place "
        "into the order, so the first `size` rows change in at most one place. On dask and "
        "Spark they are ordered by independent random keys, and neighbours are compared with "
        "the same keys for shared rows.",
        adding="k rows replaced",
        replacing="k rows replaced",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix C.2"],
    ),
    examples=lambda: [example(rows_in(Box(0, 10)), 4, fill=5), example(rows_in(Box(0, 10)), 6)],
)
@opendp_twin(_resize_twin)
def resize(
    space: Space[Rows], size: int, fill: Bounds | None = None
) -> Transformation[Space[Rows], Space[Rows]]:
    """Brings a dataset to a public number of rows.

    Where there are too many rows, it keeps a sample without replacement. Where there are too few,
    it adds public rows. All rows are held in memory. Of rows on dask or Spark only ``size`` are.

    Args:
        size: The public number of rows, at least 1. It may be a noisy count.
        fill: The row that is added. A number for all columns, or one for each. Without it, the rows
            need one column in bounds, and values spread evenly over the bounds are added.

    Returns:
        Exactly ``size`` rows. A fixed hash of a row's content, and of how often it came before,
        decides whether it stays. So their order does not matter. On dask and Spark a secret random
        key of each row decides, anew in each release. Where the number of rows was private, rows
        with missing values are left out first.

    Raises:
        ParameterError: If ``size`` is not a whole number above 0, or memory cannot hold the rows.
        SpaceError: If the row that is added does not lie in the rows' body, or has to be given.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.resize(4, fill=5))([1.0, 2.0])
        NotPrivate([1., 2., 5., 5.])
    """
    domain = space.domain
    count = whole(size, "size", least=1)
    filling = _even(space) if fill is None else _equal(space, fill)
    sized = row_metric(space).fixed_size

    def bring(rows: LazyRows) -> LazyRows:
        made = _room(count, domain.columns)
        with np.errstate(all="ignore"):
            complete = rows if sized else rows.map_rows(Part(LEAVE_OUT))
            kept = (_far if rows.source.library else _near)(complete, count, domain.columns)
        made[: len(kept)] = kept
        made[len(kept) :] = filling(count - len(kept))
        return LazyRows(open_source(made))

    return Transformation(
        space,
        attrs.evolve(space, domain=attrs.evolve(domain, size=count), metric=ChangeOneDistance()),
        Keep(Own(bring)),
        identity,
    )


def _near(rows: LazyRows, size: int, columns: int) -> Floats:
    """So many rows, by the hash of each."""
    found = plain_nan(materialise(rows).reshape(-1, columns))
    return found[hashed_order(found)[:size]]


def _far(rows: LazyRows, size: int, columns: int) -> Floats:
    """So many rows of those on other machines, by a secret random key of each."""
    return plain_nan(rows_of_size(rows, size, columns, rows.keys or fresh_keys, "resize"))


def _room(size: int, columns: int) -> Floats:
    """An array for so many rows, refused before any row is read where there is no memory for it."""
    try:
        return np.empty((size, columns))
    except (MemoryError, ValueError, OverflowError):
        raise ParameterError(f"resize: {quote(size)} rows are more than memory holds") from None


def _equal(space: Space[Rows], fill: Bounds) -> Callable[[int], Floats]:
    domain = space.domain
    entries = fitting(parse_bounds(fill, "fill"), space, "resize")
    row = np.broadcast_to(to_floats(entries), (1, domain.columns))
    if not domain.body.contains(row)[0]:
        raise SpaceError(
            f"resize: the filling row must lie in {brief_body(domain.body)}{say_got(entries)}"
        )
    return lambda missing: np.broadcast_to(row, (missing, domain.columns))


def _even(space: Space[Rows]) -> Callable[[int], Floats]:
    """The multiples of the golden ratio, modulo the width: evenly spread however many there are."""
    range_ = space.domain.body.total_range()
    if space.domain.columns != 1 or range_ is None:
        raise SpaceError(
            f"resize: say fill=, the row that fills up; only one column in bounds can be filled "
            f"evenly, and the rows lie in {brief_body(space.domain.body)}"
        )
    lower, width = map(nearest, range_)

    def fill(missing: int) -> Floats:
        shares = np.modf((np.arange(missing) + 0.5) * _GOLDEN)[0]
        found: Floats = (lower + width * shares)[:, None]
        return found

    return fill


def hashed_order(rows: Floats) -> NDArray[np.intp]:
    """An order of the rows that depends on their contents alone, as if shuffled."""
    bits: Bits = np.ascontiguousarray(rows).view(np.uint64)
    sorted_rows = np.lexsort(bits.T)
    bits = bits[sorted_rows]
    fresh = np.ones(len(bits), dtype=np.bool_)
    fresh[1:] = (bits[1:] != bits[:-1]).any(axis=1)
    position = np.arange(len(bits))
    start = np.maximum.accumulate(np.where(fresh, position, 0))
    mixed = (position - start).astype(np.uint64)
    for column in range(bits.shape[1]):
        mixed = _mix(mixed + _STEP) ^ bits[:, column]
    return sorted_rows[np.argsort(_mix(mixed + _STEP), kind="stable")]


def _mix(words: Bits) -> Bits:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> _SHIFTS[0])) * _FIRST
    words = (words ^ (words >> _SHIFTS[1])) * _SECOND
    return words ^ (words >> _SHIFTS[2])
