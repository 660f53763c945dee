"""Time and memory of a clipped sum as rows or columns grow, ours beside everybody's.

Each figure is of a fresh process, which draws its data anew, works once on little data to warm up,
and then on all of it. Who is not installed is left out.
"""

import importlib.util
import json
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from compare import Row, begin_peak, child, peak, power, show

LOWER, UPPER, SCALE = -2.0, 2.0, 10.0
ENTRIES = 10_000_000
"""Of a matrix, whatever its number of columns. More rows than that are read from a file alone."""
REPEATS = 3
SECONDS = 0.3
"""For so long the work is repeated within a process; the best time counts."""
BLOCK = 1_000_000

Work = Callable[[], object]
Maker = Callable[[np.ndarray, Path], Work]


def ours(data: np.ndarray, folder: Path) -> Work:
    """clamp >> sum >> gaussian."""
    import opendp_lite as dp

    pipeline = dp.records() >> dp.clamp(LOWER, UPPER) >> dp.sum() >> dp.gaussian(scale=SCALE)
    return partial(pipeline, data)


def our_mean(data: np.ndarray, folder: Path) -> Work:
    """dp.mean."""
    import opendp_lite as dp

    return partial((dp.records() >> dp.mean(LOWER, UPPER, rho=0.5, confidence=None)), data)


def in_numpy(data: np.ndarray, folder: Path) -> Work:
    """The sum without noise."""
    return lambda: np.clip(data, LOWER, UPPER).sum()


def in_opendp(data: np.ndarray, folder: Path) -> Work:
    """OpenDP's clamp, sum and noise for a public number of rows."""
    from peers import opendp_sum

    return partial(opendp_sum("gaussian", LOWER, UPPER, len(data)), data)


def in_diffprivlib(data: np.ndarray, folder: Path) -> Work:
    """diffprivlib's sum."""
    from peers import diffprivlib_tools

    return partial(diffprivlib_tools().sum, data, epsilon=1.0, bounds=(LOWER, UPPER))


def in_pyarrow(data: np.ndarray, folder: Path) -> Work:
    """The sum without noise."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(data)
    return lambda: pc.sum(pc.max_element_wise(pc.min_element_wise(column, UPPER), LOWER))


def in_polars(data: np.ndarray, folder: Path) -> Work:
    """The sum without noise."""
    import polars as pl

    column = pl.Series("x", data)
    return lambda: column.clip(LOWER, UPPER).sum()


def in_duckdb(data: np.ndarray, folder: Path) -> Work:
    """The sum without noise, of an Arrow table."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.register("rows", pa.table({"x": data}))
    words = f"SELECT sum(greatest(least(x, {UPPER}), {LOWER})) FROM rows"
    return lambda: connection.execute(words).fetchall()


def in_dask(data: np.ndarray, folder: Path) -> Work:
    """The sum without noise."""
    import dask.array as da

    column = da.from_array(data, chunks=BLOCK, name=False)
    return lambda: da.clip(column, LOWER, UPPER).sum().compute(scheduler="threads")


def of_parquet(data: np.ndarray, folder: Path) -> Work:
    """clamp >> sum >> gaussian of a Parquet file."""
    import opendp_lite as dp

    pipeline = dp.clamp(LOWER, UPPER) >> dp.sum() >> dp.gaussian(scale=SCALE)
    return partial(pipeline, dp.parquet(_file(data, folder), columns=["x"]))


def parquet_in_pyarrow(data: np.ndarray, folder: Path) -> Work:
    """The sum of a Parquet file without noise, by blocks."""
    import pyarrow.dataset as ds

    file = ds.dataset(_file(data, folder))

    def total() -> float:
        blocks = (block.column(0).to_numpy() for block in file.to_batches(columns=["x"]))
        return sum(float(np.clip(block, LOWER, UPPER).sum()) for block in blocks)

    return total


def our_columns(data: np.ndarray, folder: Path) -> Work:
    """clip_to_norm >> sum >> gaussian."""
    import opendp_lite as dp

    rows = dp.records(columns=data.shape[1])
    pipeline = rows >> dp.clip_to_norm(1) >> dp.sum() >> dp.gaussian(scale=SCALE)
    return partial(pipeline, data)


def columns_in_numpy(data: np.ndarray, folder: Path) -> Work:
    """The same without noise."""

    def total() -> Any:
        norms = np.linalg.norm(data, axis=1, keepdims=True)
        return (data / np.maximum(norms, 1)).sum(axis=0)

    return total


OURS, BASELINE = "opendp_lite", "numpy"
BY_ROWS: dict[str, tuple[str, Maker]] = {
    OURS: ("", ours),
    "opendp_lite, dp.mean": ("", our_mean),
    BASELINE: ("", in_numpy),
    "OpenDP": ("opendp", in_opendp),
    "diffprivlib": ("diffprivlib", in_diffprivlib),
    "pyarrow": ("pyarrow", in_pyarrow),
    "polars": ("polars", in_polars),
    "DuckDB": ("duckdb", in_duckdb),
    "dask": ("dask", in_dask),
    "opendp_lite, Parquet": ("pyarrow", of_parquet),
    "pyarrow, Parquet": ("pyarrow", parquet_in_pyarrow),
}
BY_COLUMNS: dict[str, tuple[str, Maker]] = {
    OURS: ("", our_columns),
    BASELINE: ("", columns_in_numpy),
}
PRIVATE = {name for name in BY_ROWS if name.startswith((OURS, "OpenDP", "diffprivlib"))}
COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Of Okabe and Ito: safe for colour-blind readers, with a marker for each."""
MARKERS = "osD^vPX<>hd"
STREAM = "pyarrow, Parquet"
LIKE = {"opendp_lite, Parquet": STREAM, STREAM: STREAM}
"""Whom a peer is compared with, where that is not numpy. These read a file, however long it is."""


@dataclass(frozen=True)
class Figure:
    """What one fresh process measured."""

    seconds: float
    processor: float
    megabytes: float


def _file(data: np.ndarray, folder: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "rows.parquet"
    with pq.ParquetWriter(path, pa.schema([("x", pa.float64())])) as file:
        for start in range(0, len(data), BLOCK):
            file.write_table(pa.table({"x": data[start : start + BLOCK]}))
    return str(path)


def measured(maker: Maker, data: np.ndarray) -> Figure:
    """Works in this process, which nothing else has used."""
    with tempfile.TemporaryDirectory() as folder:
        maker(data[: max(100, len(data) // 1000)].copy(), Path(folder))()
        work = maker(data, Path(folder))
        before = begin_peak()
        work()
        most = peak() - before
        times = []
        while sum(wall for wall, _ in times) < SECONDS:
            wall, processor = time.perf_counter(), time.process_time()
            work()
            times.append((time.perf_counter() - wall, time.process_time() - processor))
    return Figure(min(wall for wall, _ in times), min(each for _, each in times), most / 1e6)


def of_fresh_process(table: str, name: str, rows: int, columns: int) -> Figure:
    """What a process of its own measures."""
    printed = child("import growth; growth.main()", table, name, rows, columns)
    return Figure(**json.loads(printed.splitlines()[-1]))


def figures(table: str, rows: int, columns: int) -> dict[str, list[Figure]]:
    """Everybody's figures at one size, by turns."""
    known = {"rows": BY_ROWS, "columns": BY_COLUMNS}[table]
    names = [
        name
        for name, (needs, _) in known.items()
        if (not needs or importlib.util.find_spec(needs) is not None)
        and (rows * columns <= ENTRIES or name in LIKE)
    ]
    found: dict[str, list[Figure]] = {name: [] for name in names}
    for _ in range(REPEATS):
        for name in names:
            found[name].append(of_fresh_process(table, name, rows, columns))
    return found


def sizes(most: int) -> Iterator[tuple[str, int, int]]:
    """Tables, rows and columns, up to so many rows."""
    size = 10_000
    while size < most:
        yield "rows", size, 1
        size *= 10
    yield "rows", most, 1
    for columns in (1, 10, 100, 1000, 10_000, 100_000):
        yield "columns", ENTRIES // columns, columns


def rows(options: Namespace) -> Iterator[Row]:
    """A line for each who works and each size, and the figure."""
    wall, processor = attrgetter("seconds"), attrgetter("processor")
    clock, other = (processor, wall) if options.processor_time else (wall, processor)
    drawn: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for table, size, columns in sizes(options.rows):
        found = figures(table, size, columns)
        entries = size * columns
        for name, runs in found.items():
            peer = LIKE.get(name, BASELINE)
            ours, theirs = (min(map(clock, each)) / entries for each in (runs, found[peer]))
            ratios = [clock(a) / clock(b) for a, b in zip(runs, found[peer], strict=True)]
            at = size if table == "rows" else columns
            drawn.setdefault((table, name), []).append((at, ours * 1e9))
            memory = median(each.megabytes for each in runs)
            beside = min(map(other, runs)) / entries
            yield Row(
                f"{power(size)} x {columns:,}: {name}{'' if name in PRIVATE else ' *'}",
                show(ours, "entry"),
                peer,
                show(beside, "entry"),
                f"{ours / theirs:.3g} ({min(ratios):.3g}..{max(ratios):.3g})",
                f"{memory:.3g} MB",
                True,
                "growth: ours is the time by the clock that was asked for, peer's is the same "
                "work by the other clock (wall or processor time), and the target's column has the "
                "memory beyond the data. * releases without privacy",
            )
    if options.figure:
        draw(drawn, options.figure)


def draw(drawn: dict[tuple[str, str], list[tuple[int, float]]], path: str) -> None:
    """Time of an entry against the number of rows, and of columns."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    titles = {"rows": "One column", "columns": f"{power(ENTRIES)} entries in all"}
    looks = {
        name: (COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)])
        for place, name in enumerate(BY_ROWS)
    }
    for axis, (table, title) in zip(axes, titles.items(), strict=True):
        for (kind, name), points in drawn.items():
            if kind == table:
                colour, marker = looks[name]
                style = "-" if name in PRIVATE else "--"
                width = 2.4 if name.startswith(OURS) else 1.2
                axis.loglog(
                    *zip(*points, strict=True),
                    style,
                    color=colour,
                    marker=marker,
                    lw=width,
                    label=name,
                )
        axis.set(title=title, xlabel=table, ylabel="nanoseconds an entry")
    axes[1].set_ylim(1, 100)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=4,
        fontsize=8,
        title="solid: with noise; dashed: without",
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measures one work in this process."""
    table, name, count, columns = sys.argv[1:]
    known = {"rows": BY_ROWS, "columns": BY_COLUMNS}[table]
    shape = int(count) if table == "rows" else (int(count), int(columns))
    data = np.random.default_rng().normal(0, 2, shape)
    print(json.dumps(asdict(measured(known[name][1], data))))
