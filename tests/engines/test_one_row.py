"""One law of all containers: what a row is read as depends on that row, and on no other.

A column is read in every way there is: as a number, a declared key, a key that nobody declared, a
person's id, missing or not, inside of limits or not. Each row of it must be read as it is where it
stands alone in a container of the same type. So adding a row changes nothing of the others.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import chain, combinations, pairwise, product
from pathlib import Path
from typing import Any

import attrs
import dask
import dask.dataframe as frames
import duckdb
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zarr
from pyarrow import dataset as datasets
from pyarrow import parquet as pq

import opendp_lite as dp
from opendp_lite.engines.columns import PRESENCE, Codes, Dataset
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.identities import Identities
from opendp_lite.engines.data.open_data import NUMBERS, read
from opendp_lite.engines.data.table import Column, ColumnReading
from opendp_lite.engines.dates import ByPeriod, Derived, between_dates
from opendp_lite.engines.distinct import Distinct, KeysFound, Numbered
from tests.engines.hostile_columns import CELLS, DUCKDB, KINDS, Cells, held, query_of, write_csv


def sent_ids() -> Identities:
    """As on machines that compare their ids with those of others."""
    found = Identities()
    found.are_sent = True
    return found


DECLARED = [
    [1, None, -1],
    [0.5, 1, 0.1, 2**53, 2**53 + 1, 2**63, 2**64 - 1, 2**11],
    ["a", "1", "", "\u00e9", "NA", "a\0"],
    [dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 5)],
    ["a", 1, None, 0.1],
    [1, 2**53 + 1, dt.date(2024, 1, 31), "01"],
    [pd.Period("2024-01"), pd.Interval(0, 1), 1],
    [2047, 2048],
]
READINGS: dict[str, Callable[[Distinct], ColumnReading]] = {
    "number": lambda _: NUMBERS,
    "presence": lambda _: PRESENCE,
    "key": Numbered,
    "key found": lambda _: KeysFound(Categories((1, 0.5, "a", 2**53, 2.0**54, "2024-01-31"))),
    "id": lambda _: Identities(),
    "id elsewhere": lambda _: sent_ids(),
    "inside": lambda _: between_dates(dt.date(2024, 1, 1), dt.date(2024, 2, 1), "keep"),
    "month": lambda _: Derived(ByPeriod("month", "%Y-%m-%d"), NUMBERS),
}
for place, keys in enumerate(DECLARED):
    READINGS[f"declared {place}"] = lambda _, keys=keys: Codes(Categories(tuple(keys)))
    READINGS[f"others {place}"] = lambda _, keys=keys: Codes(Categories(tuple(keys), True))
Fine = list[str]
"""The readings that no refusal forbids."""
KEYS = Distinct()


def read_as(data, fine: Fine) -> np.ndarray:
    """What each row is read as in each way; rows of one person have the number of the first."""
    met = Distinct()
    columns = tuple(Column("x", READINGS[each](met)) for each in fine)
    source, function = Dataset(data, ("x", "w"), None).columns(columns)
    blocks = [np.array(each if function is None else function(each)) for each in read(source)]
    found = np.concatenate([np.empty((0, len(fine))), *blocks])
    renames = ("key", KEYS.of_keys(met.keys)), ("id", None), ("id elsewhere", None)
    for name, renamed in renames:
        if name in fine:
            column = found[:, fine.index(name)]
            there = ~np.isnan(column)
            if renamed is None:
                first = np.unique(column[there], return_index=True, return_inverse=True)
                column[there] = first[1][first[2]]
            else:
                column[there] = renamed[column[there].astype(int)]
    return found


def is_refused(data, reading: str) -> bool:
    with suppress(dp.DataError):
        read_as(data, [reading])
        return False
    return True


@cache
def fine_of(kind: str) -> tuple[str, ...]:
    """By the type alone."""
    return tuple(each for each in READINGS if not is_refused({"x": KINDS[kind]([])}, each))


def in_blocks(parts: Cells, w=None) -> dp.Blocks:
    ends = np.cumsum([0, *map(len, parts)])
    w = np.zeros(ends[-1]) if w is None else w
    each = [{"x": x, "w": w[ends[n] : ends[n + 1]]} for n, x in enumerate(parts)]
    return dp.Blocks(lambda: iter(each), columns=2, names=["x", "w"])


@attrs.frozen
class Drawn:
    """Cells of a column, and what each is read as where it stands alone."""

    kind: str
    cells: list[Any]
    alone: list[Any]
    fine: Fine

    @classmethod
    def of(cls, kind: str, generator: np.random.Generator) -> Drawn:
        make, pool = KINDS[kind], held(kind)

        def draw(pool, most: int):
            return [pool[n] for n in generator.integers(len(pool), size=generator.integers(most))]

        cells = draw((draw(pool, 5) or pool) if generator.random() < 0.5 else pool, 11)
        alone = [make([cell]) for cell in cells]
        fine = [*fine_of(kind)]
        # A number is the one reading that a value may refuse: it is of another type than is said.
        if "number" in fine and any(is_refused({"x": x}, "number") for x in alone):
            assert is_refused({"x": make(cells)}, "number")
            fine.remove("number")
        return cls(kind, cells, alone, fine)

    def places(self, generator: np.random.Generator) -> list[slice]:
        """Of three parts."""
        ends = [0, *sorted(generator.integers(len(self.cells) + 1, size=2)), len(self.cells)]
        return [slice(*pair) for pair in pairwise(ends)]

    def cut(self, generator: np.random.Generator):
        return [KINDS[self.kind](self.cells[rows]) for rows in self.places(generator)]

    def check_readings(self, generator: np.random.Generator) -> np.ndarray:
        """Alone, among others in any order, and in blocks; what each is read as among others."""
        found = read_as({"x": KINDS[self.kind](self.cells)}, self.fine)
        order = generator.permutation(len(self.cells))
        mixed = read_as(in_blocks([self.alone[place] for place in order]), self.fine)
        for other in (read_as(in_blocks(self.cut(generator)), self.fine), mixed[np.argsort(order)]):
            for column, name in enumerate(self.fine):
                here, there = found[:, column], other[:, column]
                ids = name.startswith("id")
                if ids:
                    here, there = (each[:, None] == each for each in (here, there))
                assert np.array_equal(here, there, equal_nan=not ids), self.tell(name)
        self.require_alone(found, [{"x": x} for x in self.alone])
        return found

    def require_alone(self, found: np.ndarray, alone) -> None:
        for row, data in zip(found, alone, strict=True):
            one = read_as(data, self.fine)[0]
            for name, here, there in zip(self.fine, row, one, strict=True):
                ids = name.startswith("id")
                if ids:
                    here, there = np.isnan(here), np.isnan(there)
                assert np.array_equal(here, there, equal_nan=not ids), self.tell(name)

    def tell(self, what: str) -> str:
        return f"{self.kind}: {what}: {self.cells!r}"


# Types of Arrow that other libraries, and files, hold as others.
OTHERWISE = {"dictionary", "chunks", "duration", "float16", "view", "s", "ns", "numbers"}


def forms(drawn: Drawn, w, generator: np.random.Generator, folder: Path):
    """The column beside one of numbers, in what holds columns of its type."""
    x = KINDS[drawn.kind](drawn.cells)
    yield {"x": x, "w": w}
    yield in_blocks(drawn.cut(generator), w)
    if drawn.kind == "list":
        yield [{"x": cell, "w": number} for cell, number in zip(x, w, strict=True)]
    elif drawn.kind.startswith("CSV"):
        for place, rows in enumerate(drawn.places(generator)):
            (folder / f"{place}.csv").write_bytes(write_csv(drawn.cells[rows], w[rows]))
        kinds = {"x": str if "str" in drawn.kind else float, "w": float}
        yield dp.csv_table(folder / "?.csv", kinds, text="missing")
    elif isinstance(x, pd.Series):
        yield pd.DataFrame({"x": x, "w": w})
        if "view" not in drawn.kind:  # Of it pandas picks no rows.
            parts = [pd.DataFrame({"x": x, "w": w})[rows] for rows in drawn.places(generator)]
            yield frames.from_map(lambda place: parts[place], range(3), meta=parts[0][:0])
    elif type(x) is np.ndarray and x.dtype.str[1:] in ("i4", "f4", "f8", "f16"):
        yield from arrays_on_disk(np.column_stack([x, np.asarray(w, x.dtype)]), folder)
    elif isinstance(x, pl.Series):
        yield pl.DataFrame({"x": x, "w": w})
        if x.dtype != pl.Object:
            yield pl.LazyFrame({"x": x, "w": w})
    elif isinstance(x, pa.Array | pa.ChunkedArray):
        table = pa.table({"x": x, "w": w})
        yield from (table, datasets.dataset(table))
        if not OTHERWISE & {*drawn.kind.split()}:
            yield duckdb.from_arrow(table)
            pq.write_table(table, folder / "x.parquet", row_group_size=3)
            yield dp.parquet(folder / "x.parquet")


def arrays_on_disk(rows: np.ndarray, folder: Path):
    """Of two rows a chunk, or cut through the columns."""
    held = []
    if rows.dtype.type is not np.longdouble:
        held.append(zarr.create_array(folder / "x.zarr", data=rows, chunks=(2, 1), overwrite=True))
    with suppress(TypeError):  # A type that HDF5 has not.
        file = h5py.File(folder / "x.h5", "w")
        held.append(file.create_dataset("x", data=rows, chunks=(2, 2), maxshape=(None, 2)))
    for each in held:
        yield dp.Blocks(lambda each=each: iter([each]), names=["x", "w"])


BITS = dp.select("w") >> dp.clamp(0, 2.0**20) >> dp.sum()


@cache
def asked_of(reading: str) -> list[Any]:
    """The queries that read a column so."""
    x, (name, *place) = dp.select("x"), reading.split()
    if name in ("declared", "others"):
        keys = DECLARED[int(place[0])]
        found = [x >> dp.one_hot(keys, other=name == "others") >> dp.sum()]
        if name == "declared":
            exact = BITS >> dp.gaussian(scale=1e-9)
            found += [dp.keep("x", among=keys) >> BITS, dp.by("x", keys, exact)]
        return found
    if name == "id":
        limits = map(dp.bound_contributions, (1, 2))
        return [dp.table(person="x") >> each >> dp.count(missing=True) for each in limits]
    return {
        "presence": [x >> dp.count()],
        "key": [dp.histogram("x", epsilon=1e9, delta=0.5)],
        "number": [dp.keep("x", between=(0.3, 2.0**53)) >> BITS],
        "inside": [dp.keep("x", between=("2024-01-01", "2024-02-01")) >> BITS],
    }.get(reading, [])


def queries(drawn: Drawn, read: np.ndarray):
    """Queries and their answers by what each row is read as: a power of two says which are in."""

    def bits(inside: np.ndarray) -> float:
        return float((2.0 ** np.flatnonzero(inside)).sum())

    for column, reading in enumerate(drawn.fine):
        found, (name, *place) = read[:, column], reading.split()
        often = Counter(found[~np.isnan(found)].tolist())
        answers: list[Any] = []
        if name == "presence":
            answers = [int(np.sum(~np.isnan(found)))]
        elif name in ("declared", "others"):
            keys = DECLARED[int(place[0])]
            codes = range(len(keys) + (name == "others"))
            sums = {key: bits(found == code) for code, key in enumerate(keys)}
            answers = [[int(np.sum(found == each)) for each in codes], [bits(~np.isnan(found))]]
            answers.append(sums)
        elif name == "id":
            answers = [sum(min(most, times) for times in often.values()) for most in (1, 2)]
        elif reading == "key":
            answers = [{KEYS.keys[int(key)]: n for key, n in often.items() if n > 1}]
        elif name == "number":
            answers = [[bits((found >= 0.3) & (found <= 2.0**53))]]
        elif name == "inside":
            answers = [[bits(found == 1)]]
        for query, answer in zip(asked_of(reading), answers, strict=False):
            yield reading, query, answer


def answer(query, data):
    found = query(data)
    if isinstance(found, Mapping):
        return {key: round(float(np.reshape(each, -1)[0])) for key, each in found.items()}
    return np.asarray(found).tolist()


def is_elsewhere(data, reading: str) -> bool:
    """Whether ids are read in another way than the container's."""
    return reading.startswith("id") and isinstance(data, frames.DataFrame) != ("else" in reading)


def check(kind: str, seed: int, folder: Path, most: int) -> None:
    """The law for cells of a kind that are drawn, and at most so many queries of containers."""
    generator = np.random.default_rng(seed)
    drawn = Drawn.of(kind, generator)
    read = drawn.check_readings(generator)
    w = [2**place for place in range(len(drawn.cells))]
    with dask.config.set({"scheduler": "sync", "dataframe.convert-string": False}):
        asked = [*product(forms(drawn, w, generator, folder), queries(drawn, read))]
        order = [asked[place] for place in generator.permutation(len(asked))]
        order = [each for each in order if not is_elsewhere(each[0], each[1][0])]
        # Rows of each column are picked.
        people = [each for each in order if each[1][0][:2] == "id"]
        for data, (reading, query, expected) in [*people[:2], *order[:most]]:
            said = f"{reading} of a {type(data).__name__}"
            assert answer(query, data) == expected, drawn.tell(said)


def check_query(make, kind: str, pool: list[str], seed: int, most: int = 8) -> None:
    """The law for the rows of a query, and at most so many queries of them."""
    generator = np.random.default_rng(seed)
    cells = [pool[n] for n in generator.permutation(len(pool))[:8]]
    cells += [cells[0], "NULL"] if seed % 2 else []
    fine = [each for each in READINGS if not is_refused(make(query_of(kind, [])), each)]
    drawn, data = Drawn(kind, cells, [], fine), make(query_of(kind, cells))
    read = read_as(data, fine)
    drawn.require_alone(read, [make(query_of(kind, [cell])) for cell in cells])
    asked = [each for each in queries(drawn, read) if each[0] != "id elsewhere"]
    for place in generator.permutation(len(asked))[:most]:
        reading, query, expected = asked[place]
        assert answer(query, data) == expected, drawn.tell(reading)


@pytest.mark.parametrize("kind", DUCKDB)
def test_a_row_of_a_query_is_read_as_it_is_alone(kind):
    check_query(duckdb.connect().sql, kind, DUCKDB[kind], 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_a_row_is_read_as_it_is_alone(part, tmp_path, monkeypatch):
    for place, kind in enumerate(list(filter(held, KINDS))[part::8]):
        monkeypatch.setattr("opendp_lite.engines.data.source.BLOCK_ENTRIES", 1 + place % 7)
        check(kind, 100 * part + place, tmp_path, 2)


@pytest.mark.filterwarnings("ignore")
def test_numbers_are_what_they_are_in_a_list():
    arrays = [cell for cell in CELLS if isinstance(cell, np.ndarray)]
    fine = [each for each in fine_of("list") if each != "number"]
    single = read_as({"x": [each[()] for each in arrays]}, fine)
    assert np.array_equal(read_as({"x": arrays}, fine), single, equal_nan=True)
    for kind in filter(held, KINDS):
        column, fine = KINDS[kind](held(kind)), [*fine_of(kind)]
        dtype = getattr(column, "dtype", None)
        if getattr(dtype, "kind", "O") in "iuf" and dtype != np.longdouble:
            exact = [each for each in fine if not each.startswith("id")]
            found, same = (read_as({"x": each}, exact) for each in (column, column.tolist()))
            assert np.array_equal(found, same, equal_nan=True), kind
        if {"id", "number"} <= {*fine} and "?" not in kind and "bool" not in kind:
            # Beside a missing one, where there may be one.
            whole = KINDS[kind]([cell for cell in held(kind) if type(cell) in (int, type(None))])
            ids = read_as({"x": whole}, ["id"])
            present = ids[~np.isnan(ids)]
            # Those that a type stores as one are nobody's.
            assert len({*present}) == len(present), kind


def test_ids_are_the_same_where_they_are_equal():
    plain = [each for each in CELLS if isinstance(each, str | int | Fraction | Decimal)]
    ids = read_as({"x": plain}, ["id"])[:, 0]
    there = [(cell, one) for cell, one in zip(plain, ids, strict=True) if not np.isnan(one)]
    assert len(there) > 70
    for (cell, one), (other, two) in combinations(there, 2):
        assert (cell == other) == (one == two), (cell, other)


PLAIN = [0, 1, True, 0.5, None, 2**53, 2**53 + 1, 2.0**53, -(2**63), 2**63, np.float32(2**24)]


def in_lists(rows: Cells):
    return [*map(list, rows)]


def in_dictionaries(rows: Cells):
    return [dict(zip(("x", "w"), row, strict=True)) for row in rows]


def in_objects(rows: Cells) -> np.ndarray:
    return np.fromiter(chain.from_iterable(rows), object, 2 * len(rows)).reshape(-1, 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [in_lists, tuple, in_dictionaries, in_objects])
def test_rows_of_values_are_read_as_they_are_alone(make):
    space = dp.records(columns=["x", "w"], person="x")
    people = space >> dp.bound_contributions(1) >> dp.count(missing=True)
    fine = ["number", "presence", "key", "key found", "declared 0", "others 1"]
    for seed in range(40):
        generator = np.random.default_rng(seed)
        pool = [*CELLS, *PLAIN] if seed % 2 else PLAIN
        drawn = [[pool[n] for n in row] for row in generator.integers(len(pool), size=(9, 2))]
        rows, cells = make(drawn), [row[0] for row in drawn]
        column = rows[:, 0] if isinstance(rows, np.ndarray) else cells
        ids, parts = read_as({"x": column}, ["id"])[:, 0], [rows[:3], rows[3:]]
        for data in (rows, dp.Blocks(partial(iter, parts), columns=2)):
            assert people(data) == len({*ids[~np.isnan(ids)]}), drawn
        numbers = [cell for cell in cells if not is_refused(make([(cell, 0)]), "number")]
        pairs = [*pairwise(numbers)]
        alone = np.concatenate([np.empty((0, 6)), *(read_as(make([pair]), fine) for pair in pairs)])
        assert np.array_equal(read_as(make(pairs), fine), alone, equal_nan=True), pairs


# Types of which a single value says whether it is text.
OPEN = ["list", "numpy O", "pandas object", "polars Object", "category of pandas object"]


@pytest.mark.filterwarnings("ignore")
def test_no_cell_decides_whether_blocks_of_two_types_are_refused():
    generator = np.random.default_rng(5)
    for _ in range(60):
        kinds = generator.choice(OPEN), generator.choice(list(filter(held, KINDS)))
        made = [KINDS[kind] for kind in kinds]
        none = in_blocks([make([]) for make in made])
        full = [Drawn.of(kind, generator).cells for kind in kinds]
        for reading in ("id", "declared 4", "inside"):
            whole = in_blocks([make(cells) for make, cells in zip(made, full, strict=True)])
            assert is_refused(whole, reading) == is_refused(none, reading), (kinds, full)
