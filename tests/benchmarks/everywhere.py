"""A clipped mean by group of Parquet files on each engine, beside the engine alone.

``python tests/benchmarks/everywhere.py --rows 1e8 --folder /tmp/rows`` writes the rows once, and
leaves them there. Each engine works in a process of its own, by turns with its own query: clipped
sums and counts by group. It says a digest of the release under a fixed seed, which is the same
where the integers are. Who is not installed is left out.
"""

import argparse
import os
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from compare import child, power, time_by_turns

import opendp_lite as dp

LOWER, UPPER = 0.0, 100.0
KEYS = [f"city {place}" for place in range(50)]
FILE_ROWS = 5_000_000
ROUNDS = 5
MEAN = dp.by("k", KEYS, dp.select("x") >> dp.mean(LOWER, UPPER, rho=1, confidence=None))
Work = Callable[[], object]


def write_rows(folder: Path, rows: int) -> None:
    """Ages and cities, drawn anew for each file from a seed of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for place in range(-(-rows // FILE_ROWS)):
        path = folder / f"{place:03}.parquet"
        if path.exists():
            continue
        generator, count = np.random.default_rng(place), min(FILE_ROWS, rows - place * FILE_ROWS)
        cities = pa.DictionaryArray.from_arrays(generator.integers(0, 50, count, np.int32), KEYS)
        numbers = pa.array(generator.normal(50, 30, count))
        pq.write_table(pa.table({"x": numbers, "k": cities.cast(pa.string())}), path)


def in_files(folder: str) -> tuple[Any, Work]:
    """dp.parquet, and pyarrow batch by batch."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    dataset = ds.dataset(folder)

    def own() -> object:
        found = []
        for batch in dataset.to_batches():
            clipped = pc.max_element_wise(pc.min_element_wise(batch["x"], UPPER), LOWER)
            table = pa.table({"k": batch["k"], "x": clipped})
            found.append(table.group_by("k").aggregate([("x", "sum"), ("x", "count")]))
        sums = pa.concat_tables(found).group_by("k")
        return sums.aggregate([("x_sum", "sum"), ("x_count", "sum")])

    return dp.parquet(folder), own


def in_polars(folder: str) -> tuple[Any, Work]:
    """A lazy frame, and its streaming engine."""
    import polars as pl

    frame, x = pl.scan_parquet(f"{folder}/*.parquet"), pl.col("x").clip(LOWER, UPPER)
    grouped = frame.group_by("k").agg(x.sum().alias("sum"), x.count().alias("count"))
    return frame, lambda: grouped.collect(engine="streaming")


def in_duckdb(folder: str) -> tuple[Any, Work]:
    """A relation, and SQL."""
    import duckdb

    rows = f"'{folder}/*.parquet'"
    clipped = f"sum(greatest(least(x, {UPPER}), {LOWER})), count(x)"
    own = f"SELECT k, {clipped} FROM {rows} GROUP BY k"
    return duckdb.sql(f"SELECT * FROM {rows}"), lambda: duckdb.sql(own).fetchall()


def in_dask(folder: str) -> tuple[Any, Work]:
    """A frame in the threads of this process."""
    import dask.dataframe as dd

    frame = dd.read_parquet(folder)
    clipped = frame.assign(x=frame["x"].clip(LOWER, UPPER))
    grouped = clipped.groupby("k")["x"].agg(["sum", "count"])
    return frame, grouped.compute


def in_spark(folder: str) -> tuple[Any, Work]:
    """A frame of two threads."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(folder)
    frame.createOrReplaceTempView("rows")
    clipped = f"sum(greatest(least(x, {UPPER}D), {LOWER}D)), count(x)"
    own = f"SELECT k, {clipped} FROM rows GROUP BY k"
    # Anew each time: a frame that was collected once keeps what its groups were made of.
    return frame, lambda: session.sql(own).collect()


ENGINES: dict[str, tuple[str, Callable[[str], tuple[Any, Work]]]] = {
    "files": ("pyarrow", in_files),
    "polars": ("polars", in_polars),
    "DuckDB": ("duckdb", in_duckdb),
    "dask": ("dask", in_dask),
    "Spark": ("pyspark", in_spark),
}


def say(name: str, folder: str, rounds: int) -> None:
    """Prints the line of an engine."""
    data, own = ENGINES[name][1](folder)
    digest = sha256(repr(MEAN.insecure_release(data, seed=1).value).encode()).hexdigest()[:12]
    pairs = time_by_turns(lambda: MEAN(data), own, rounds)
    ours, theirs = (sorted(each) for each in zip(*pairs, strict=True))
    ratio = f"{median(ours) / median(theirs):.2f} | {ours[0] / theirs[0]:.2f}"
    seconds = " | ".join(f"{min(each):.1f}, {median(each):.1f}" for each in (ours, theirs))
    print(f"| {name} | {seconds} | {ratio} | {digest} | {os.getloadavg()[0]:.0f} |")


def lines(folder: Path, rounds: int, names: list[str]) -> Iterator[str]:
    """One for each engine that is here."""
    for name in names or ENGINES:
        there = find_spec(ENGINES[name][0]) is not None
        if there and (name != "Spark" or shutil.which("java") is not None):
            code = f"import everywhere; everywhere.say({name!r}, {str(folder)!r}, {rounds})"
            yield child(code).splitlines()[-1]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="everywhere", description=__doc__)
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path, required=True, help="for the files of the rows")
    options = parser.parse_args()
    write_rows(options.folder, int(options.rows))
    print(
        f"| {power(int(options.rows))} rows | ours, s | own, s | median | least | release | load |"
    )
    for line in lines(options.folder, options.rounds, options.engines):
        print(line, flush=True)


if __name__ == "__main__":
    main()
