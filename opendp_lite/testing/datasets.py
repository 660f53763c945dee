"""Neighbouring datasets, in every container that a pipeline accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, permutations, product
from math import inf, nan, nextafter
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body, to_floats
from opendp_lite.combinators.accounts import AnySpace
from opendp_lite.engines.data import open_data, source, sparse
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.fold import Floats
from opendp_lite.metrics.distances import SymmetricDistance
from opendp_lite.spaces.space import row_metric
from opendp_lite.spaces.tables import PersonTables, Tables

SMALL_SIZES: Final = (0, 1, 2, 3, 7)
MANY: Final = ((8, 130), (130, 1000), (1000, 10_000))
"""Ranges of sizes, each drawn evenly on a logarithmic scale."""
MOST_CHANGES: Final = 8
USUAL: Final = (0.0, 1.0, -1.0, 0.5, 0.25, 0.1, 1 / 3, 2 / 3, 0.7, 0.75, 2.0, 10.0, 100.0, 1000.0)
EQUAL_ROWS: Final = (0, 1, 2, 3, 10, 100, 1000)
_EXTREMES = 4
_HUGE = 10**300
_POOL = 128
_SOME = 16
_FEW = 3
# Numbers of the step's own that are tried together and in many equal rows.
_LETTERS = 8
# Rows of each of two groups, at most.
_GROUP = 100
_MOSTLY = 0.9
# What marks a row of its key, beside the step's own numbers: a flag, or an amount below 0.
_FLAGS: Final = (0.0, 1.0, -1.0)
# Where no bounds are: different numbers that no rounding to whole ones keeps.
_APART = 0.25
# What no search by values finds: a 0 below 0 equals the other, and NaN nothing.
_ODD: Final = (-0.0, nan)


def row_numbers(rows: Floats) -> NDArray[np.intp]:
    """A number for each row, the same for rows of the same bits alone."""
    if not rows.size:
        return np.zeros(len(rows), dtype=np.intp)
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1]


@attrs.frozen(eq=False)
class Neighbours:
    """Two datasets that are at most ``distance`` apart, in the space's metric.

    Args:
        common: The rows of both.
        gone: Rows of the first alone.
        fresh: Rows of the second alone.
        distance: How far apart the two are, at most: rows or people.
        trial: The number of the pair, by which it is drawn again.
        order: The order of the second's rows; None for the common rows first.
        person: The column of ids, where people are added and removed and not rows.
    """

    common: Floats
    gone: Floats
    fresh: Floats
    distance: int
    trial: int
    order: NDArray[np.int64] | None = None
    person: int | None = None

    def without(self, name: str, start: int, stop: int) -> Neighbours:
        """The pair without some of the rows of one field, which may then be nearer."""
        rows = np.delete(getattr(self, name), slice(start, stop), axis=0)
        found = attrs.evolve(self, **{name: rows})
        apart = [found.gone, found.fresh]
        if self.person is not None:
            ids = [rows[:, self.person] for rows in apart]
            apart = [np.unique(each[~np.isnan(each)]) for each in ids]
        return attrs.evolve(found, distance=min(found.distance, sum(map(len, apart))))

    @property
    def data(self) -> Floats:
        """The first dataset."""
        return np.concatenate([self.common, self.gone])

    @property
    def other(self) -> Floats:
        """The second dataset."""
        rows = np.concatenate([self.common, self.fresh])
        return rows if self.order is None else rows[self.order]


def neighbours(
    space: AnySpace, seed: int, trials: int, rare: Sequence[float] = ()
) -> Iterator[Neighbours]:
    """Pairs of datasets of a space: rows added, removed, replaced, and put in another order.

    Where a neighbour has one person more or less, all rows of a person come or go.

    The rows come from the body's ``draw``: extreme ones, and without a body NaN, infinities,
    subnormal and huge values. Some of the entries are ``rare`` values, if the body holds them.
    In half of the pairs the changed rows all push the same way.

    Args:
        space: Where the rows lie.
        seed: Each pair follows from it and from the pair's number alone.
        trials: How many pairs to draw.
        rare: Values to look at.

    Returns:
        The pairs, one after another.
    """
    if isinstance(space.domain, PersonTables):
        yield from _of_people(space.domain, seed, trials, rare)
        return
    rows = _Rows(space.domain.body, rare, seed, isinstance(space.domain, Tables))
    replaces = row_metric(space).fixed_size
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        yield _drawn(rows, generator, space.domain.size, replaces, number)


def column_of_ids(domain: PersonTables) -> int:
    """The place of the column that tells people apart."""
    return (domain.rows.names or ()).index(domain.person)


def fixed_people(space: AnySpace, own: Sequence[float], steps: int) -> Iterator[Neighbours]:
    """Those of ``fixed_pairs`` and ``walk``, where each row is a person; and one with many rows."""
    domain = cast(PersonTables, space.domain)
    person = column_of_ids(domain)
    rows = attrs.evolve(space, domain=domain.rows, metric=SymmetricDistance())
    for pair in chain(fixed_pairs(rows, own), walk(rows, own, steps)):
        common, fresh = pair.common.copy(), pair.fresh.copy()
        ids = np.arange(len(common) + len(fresh), dtype=np.float64)
        common[:, person], fresh[:, person] = ids[: len(common)], ids[len(common) :]
        yield attrs.evolve(pair, common=common, fresh=fresh, person=person)
        if len(fresh) == 1 and len(common) <= _FEW:
            yield attrs.evolve(pair, common=common, fresh=fresh.repeat(_SOME, 0), person=person)
    body, numbers = domain.rows.body, np.array([own[:_LETTERS]])
    extremes, sizes = _extreme_rows(body), _sizes(own)
    for row in np.concatenate([extremes, _distinct(body, numbers.T.repeat(body.columns, 1))]):
        # One who has more rows than the step believes, by one and by far; and nobody's row.
        for count in sorted({*EQUAL_ROWS, *(each + 1 for each in sizes)}):
            many = np.tile(row, (count, 1))
            many[:, person] = 0
            yield Neighbours(many[:0], many[:0], many, 1, 0, person=person)
        nobody = row[None].copy()
        nobody[:, person] = nan
        yield Neighbours(nobody[:0], nobody[:0], nobody, 0, 0, person=person)


def fixed_pairs(space: AnySpace, own: Sequence[float]) -> Iterator[Neighbours]:
    """The pairs on which plain faults show, the same for every seed.

    So many equal rows at an extreme of the body, and one row more at each, or the most changes; few
    rows of a number of the step's own, or of a float next to it, and one row more; one row of one
    of these numbers, and one more of another; so many rows of each of two kinds. Or one row is
    replaced.
    """
    body, size = space.domain.body, space.domain.size
    ends, extremes = _ends(body), _extreme_rows(body)
    near = [nextafter(value, end) for value in (*ends.ravel(), *own) for end in (-inf, inf)]
    spoken, special = (
        _distinct(body, np.array([values]).T.repeat(body.columns, axis=1))[:_POOL]
        for values in (own[:_LETTERS], [*own, *near, *USUAL, *_ODD])
    )
    none = extremes[:0]
    sizes = {each - less for each in _sizes(own) for less in (0, 1)}
    if row_metric(space).fixed_size:
        for row in extremes[:, None]:
            common = row.repeat(size - 1, axis=0)
            for other in np.concatenate([extremes, special])[:, None]:
                yield Neighbours(common, row, other, 1, 0)
        # Half of each too, at which a median or a majority turns.
        halves = {size // 2 - 1, size // 2, (size - 1) // 2}
        for (row, other), count in product(_unlike(body, own), sorted(sizes | halves)):
            if 0 <= count < size:
                common = np.concatenate([row.repeat(size - 1 - count, 0), other.repeat(count, 0)])
                yield Neighbours(common, row, other, 1, 0)
        return
    for row, count in product(extremes[:, None], sorted({*EQUAL_ROWS, *sizes})):
        common = row.repeat(count, axis=0)
        for other in extremes[:, None]:
            yield Neighbours(common, none, other, 1, 0)
        yield Neighbours(common, none, extremes[-1:].repeat(MOST_CHANGES, axis=0), MOST_CHANGES, 0)
    yield from _pair_keys(body, own)
    yield from _different(body, sorted(each for each in sizes if each <= EQUAL_ROWS[-1]))
    for row, count in product(special[:, None], range(_FEW + 1)):
        yield Neighbours(row.repeat(count, axis=0), none, row, 1, 0)
    for row, count in product(spoken[:, None], sorted({*EQUAL_ROWS, *sizes})):
        yield Neighbours(row.repeat(count, axis=0), none, row, 1, 0)
    odd = np.array([_ODD]).T.repeat(body.columns, axis=1)
    written = _distinct(body, np.concatenate([spoken, odd]))
    # Halves of the first, which are bounds: sums of these are ties, that round to even both ways.
    letters = _distinct(body, np.concatenate([written, extremes, spoken[:_FEW] / 2]))[:, None]
    for row, other in product(letters, repeat=2):
        yield Neighbours(row, none, other, 1, 0)
    # So many rows of each of two kinds, as of two groups, and one more of one of them.
    few = sorted({*range(1, _FEW + 1), *(each for each in sizes if each <= _GROUP)})
    for (row, other), count in product(_unlike(body, own), few):
        for more in (0, 1):
            common = np.concatenate([row.repeat(count + more, 0), other.repeat(count, 0)])
            yield Neighbours(common, none, other, 1, 0)
    large = [each for each in sizes if _GROUP < each <= EQUAL_ROWS[-1]]
    for (row, other), count in product(_unlike(body, own[:2]), sorted(large)):
        common = np.concatenate([row.repeat(count + 1, 0), other.repeat(count, 0)])
        yield Neighbours(common, none, other, 1, 0)
    for (row, other), count in product(permutations(spoken[:2, None], 2), sorted(sizes)):
        yield Neighbours(np.concatenate([row.repeat(count, 0), other]), none, other, 1, 0)


def _pair_keys(body: Body, own: Sequence[float]) -> Iterator[Neighbours]:
    """A number in each column, as a key and its value; and a second row of the key."""
    columns = min(body.columns, _FEW)
    numbers = *own[:_LETTERS], *_ODD[: 2 * (columns < _FEW)]
    rows = _cells(body, [numbers] * columns)[:, None] if columns > 1 else ()
    for row in rows:
        yield Neighbours(row[:0], row[:0], row, 1, 0)
    # One row, or a few, of a key, and one more that differs in one column: it may change them all.
    for row, other in permutations(_cells(body, [[*own[:_LETTERS], *_FLAGS]] * 2)[:, None], 2):
        if body.columns > 1 and (row != other).sum() < body.columns:
            yield Neighbours(row, row[:0], other, 1, 0)
            yield Neighbours(row.repeat(_FEW, 0), row[:0], other, 1, 0)


def _different(body: Body, sizes: Sequence[int]) -> Iterator[Neighbours]:
    """So many rows that differ in one column or in all, and one more: users of an item, say."""
    low, high = _ends(body)
    for count, place in product(sizes, range(-1, min(body.columns, _FEW) * (body.columns > 1))):
        numbers = np.linspace(low, np.minimum(high, low + count + 1), count + 3)[1:-1]
        if low.min() <= -_HUGE:  # Next to it there are no numbers that differ by so little.
            numbers = np.arange(count + 1.0)[:, None].repeat(body.columns, 1) + _APART
        alike = np.arange(body.columns) != place if place >= 0 else ()
        numbers[:, alike] = numbers[0, alike]
        rows = _distinct(body, numbers)
        yield Neighbours(rows[:count], rows[:0], rows[count:], 1, 0)


def _ends(body: Body) -> Floats:
    """The least and the largest number of each column."""
    bounds = body.bounds() or ((Fraction(-_HUGE),), (Fraction(_HUGE),))
    return np.array([np.broadcast_to(to_floats(each), body.columns) for each in bounds])


def _extreme_rows(body: Body) -> Floats:
    drawn = body.draw(np.random.default_rng(0), _EXTREMES)
    return _distinct(body, np.concatenate([_ends(body), drawn]))[:_EXTREMES]


def _sizes(own: Sequence[float]) -> set[int]:
    """Those of the step's own numbers that may be numbers of rows."""
    return {int(each) for each in own if each in range(1, MANY[-1][1])}


def _cells(body: Body, numbers: Sequence[Sequence[float]]) -> Floats:
    """The rows with each of some numbers in each column; the last column's in those behind it."""
    found = np.array([*product(*numbers)]).reshape(-1, len(numbers))[:, : body.columns]
    return _distinct(body, np.pad(found, ((0, 0), (0, body.columns - found.shape[1])), "edge"))


def _unlike(body: Body, own: Sequence[float]) -> Iterator[tuple[Floats, Floats]]:
    """Two kinds of rows, as of two groups that the first column tells apart, or of missing ones."""
    kinds = _cells(body, [own[: _FEW + 1], own[:_FEW]]), np.full((1, body.columns), nan)
    return permutations(_distinct(body, np.concatenate(kinds))[:, None], 2)


def walk(space: AnySpace, own: Sequence[float], steps: int) -> Iterator[Neighbours]:
    """So many different rows, one more at a time: counts, sums and means pass many values."""
    if row_metric(space).fixed_size:
        return
    rows = draw_between(space.domain.body, own, np.random.default_rng(0), steps)
    rows = _distinct(space.domain.body, rows)
    for count in range(len(rows)):
        yield Neighbours(rows[:count], rows[:0], rows[count : count + 1], 1, 0)


def draw_between(
    body: Body, own: Sequence[float], generator: np.random.Generator, count: int
) -> Floats:
    """Rows of a body, most of them between the first of the step's own numbers: its bounds."""
    rows = body.draw(generator, count)
    first, second = (*own, 0.0, 1.0)[:2]
    between = first + (second - first) * generator.random(rows.shape)
    chosen = (generator.random(count) < _MOSTLY) & body.contains(between)
    return np.where(chosen[:, None], between, rows)


def _distinct(body: Body, rows: Floats) -> Floats:
    """The different rows among these that the body holds, in this order."""
    rows = rows[body.contains(rows)]
    return rows[np.sort(np.unique(row_numbers(rows), return_index=True)[1])]


def _of_people(
    domain: PersonTables, seed: int, trials: int, rare: Sequence[float]
) -> Iterator[Neighbours]:
    """Pairs of datasets in which all rows of some people come or go.

    People have one row or many, and equal rows. Rows without an id come and go as they like.
    """
    rows = _Rows(domain.rows.body, rare, seed, True)
    person = column_of_ids(domain)
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        size, distance = _size_and_distance(generator, number)
        common = rows.draw(generator, size)
        common[:, person] = generator.integers(0, generator.integers(1, _SOME), len(common))
        lost = _lost(generator, distance)
        gone = _rows_of_people(rows, generator, person, range(-lost, 0))
        found = [each + 0.5 for each in range(distance - lost)]
        fresh = _rows_of_people(rows, generator, person, found)
        if generator.random() < 0.5:
            nobody = rows.draw(generator, _SOME)
            nobody[:, person] = np.nan
            common, gone, fresh = (
                np.concatenate([each, nobody[: generator.integers(0, _SOME)]])
                for each in (common, gone, fresh)
            )
        order = generator.permutation(len(common) + len(fresh))
        yield Neighbours(common, gone, fresh, distance, number, order, person)


def _rows_of_people(
    rows: _Rows, generator: np.random.Generator, person: int, ids: Iterable[float]
) -> Floats:
    """Some rows of each of some people; of half of them all are equal."""
    found = [rows.draw(generator, 0)]
    for each in ids:
        made = rows.draw(generator, int(generator.integers(1, _SOME)))
        if generator.random() < 0.5:
            made = made[:1].repeat(len(made), axis=0)
        made[:, person] = each
        found.append(made)
    return np.concatenate(found)


@attrs.frozen(eq=False)
class _Rows:
    """Draws rows of a body; with ``few``, some columns hold few different values, as of a group."""

    body: Body
    rare: Sequence[float]
    seed: int
    few: bool = False

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Rows of the body, with rare values in some of them."""
        rows = self.body.draw(generator, count)
        if self.few and generator.random() < 0.5:
            whole = generator.integers(0, _FEW, rows.shape)
            rows = np.where(generator.random(rows.shape[1]) < 0.5, whole, rows)
        if len(self.rare) and generator.random() < 0.5:
            odd = np.where(
                generator.random(rows.shape) < 0.2, generator.choice(self.rare, rows.shape), rows
            )
            inside = self.body.contains(odd)
            rows = np.where(inside[:, None], odd, rows)
        return rows

    def opposite(self, generator: np.random.Generator, rows: Floats) -> Floats:
        """Rows as far from these as the body has them: mirrored at its centre, or drawn."""
        pool = self.body.draw(generator, _POOL)
        with np.errstate(all="ignore"):
            middle = np.nan_to_num((pool.min(axis=0) + pool.max(axis=0)) / 2)
            mirrored = 2 * middle - rows
            mirrored = np.where(np.isnan(mirrored), -rows, mirrored)
            gaps = np.nan_to_num(np.abs(rows[:, None, :] - pool[None, :, :])).sum(axis=2)
        farthest = pool[gaps.argmax(axis=1)] if len(rows) else rows
        inside = self.body.contains(mirrored)
        return np.where(inside[:, None], mirrored, farthest)


def _drawn(
    rows: _Rows, generator: np.random.Generator, fixed: int | None, replaces: bool, trial: int
) -> Neighbours:
    size, distance = _size_and_distance(generator, trial, fixed)
    if replaces:
        distance = min(distance, size)
    lost = distance if replaces else min(_lost(generator, distance), size)
    found = distance if replaces else distance - lost
    base = rows.draw(generator, size - lost)
    if generator.random() < 0.5:
        some = rows.draw(generator, _SOME if generator.random() < 0.5 else 1)
        one = some[[np.abs(np.nan_to_num(some)).max(axis=1).argmax()]]
        gone, fresh = one.repeat(lost, axis=0), rows.opposite(generator, one).repeat(found, axis=0)
    else:
        gone, fresh = rows.draw(generator, lost), rows.draw(generator, found)
    order = generator.permutation(size - lost + found)
    return Neighbours(base, gone, fresh, distance, trial, order)


def _lost(generator: np.random.Generator, distance: int) -> int:
    """How many rows are removed; the others are added."""
    if generator.random() < 0.5:
        return int(generator.integers(0, distance + 1))
    return distance * int(generator.integers(0, 2))


def _size_and_distance(
    generator: np.random.Generator, trial: int, fixed: int | None = None
) -> tuple[int, int]:
    """How many rows there are, and how far apart the two are: each size comes at each distance."""
    turn, kind = divmod(trial, len(SMALL_SIZES) + len(MANY))
    distance = turn % (MOST_CHANGES + 1)
    if fixed or kind < len(SMALL_SIZES):
        return fixed or SMALL_SIZES[kind], distance
    low, high = MANY[kind - len(SMALL_SIZES)]
    return int(low * (high / low) ** generator.random()), distance


def _cut(data: Floats, lengths: Sequence[int]) -> Blocks:
    return Blocks(lambda: np.split(data, np.cumsum(lengths)), columns=data.shape[1])


def in_pieces(data: Floats) -> Iterator[tuple[str, Blocks]]:
    """The same rows, cut into blocks in two ways."""
    yield "Blocks", _cut(data, [n for n in (1, 0, 2) if n <= len(data)])
    if len(data) > 3:
        yield "Blocks of a third", _cut(data, [len(data) // 3] * 2)


def containers(data: Floats, names: Sequence[str] | None = None) -> Iterator[tuple[str, object]]:
    """The same rows in every kind of container that is installed here.

    Args:
        data: The rows.
        names: Of the columns, for those that are tables.
    """
    titles = [f"c{j}" for j in range(data.shape[1])] if names is None else list(names)
    yield "an array in Fortran order", np.asfortranarray(data)
    yield "an array with negative strides", np.ascontiguousarray(data[::-1])[::-1]
    yield from in_pieces(data)
    if not len(data):
        return
    yield "a list", data[:, 0].tolist() if data.shape[1] == 1 else data.tolist()
    for library, make in _FRAMES.items():
        if find_spec(library) is not None:
            yield library, make(import_module(library), data, titles)


@attrs.frozen(eq=False)
class _Shards(source.Source):
    """Rows in parts that threads go through side by side."""

    each: Sequence[source.Source]

    @property
    def columns(self) -> int | None:
        return self.each[0].columns

    def blocks(self) -> source.RowBlocks:
        for share in self.each:
            yield from share.blocks()

    def parts(self, most: int) -> Sequence[source.Source]:
        return self.each


def in_threads(data: Floats) -> source.Source:
    """The same rows, admitted, in three parts for three threads."""
    return _Shards([open_data.open_source(part) for part in np.array_split(data, 3)])


def without_zeros(data: Floats) -> source.Source:
    """The same rows, admitted, as a sparse matrix; a step that needs the zeros refuses it."""
    row, column = np.nonzero(data)
    ends = np.searchsorted(row, np.arange(len(data) + 1))
    return sparse.SparseMatrix(data[row, column], column, ends, data.shape)


_FRAMES: Final[dict[str, Callable[[Any, Floats, list[str]], object]]] = {
    "pandas": lambda library, data, names: library.DataFrame(data, columns=names),
    "polars": lambda library, data, names: library.DataFrame(data, schema=names),
    "pyarrow": lambda library, data, names: library.table(dict(zip(names, data.T, strict=True))),
}
