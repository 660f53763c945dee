"""Columns of Parquet and CSV files: releases against the same readers with clip and sum."""

import csv
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv
import pyarrow.dataset as datasets
import pyarrow.parquet as parquet
from compare import Clock, Row, at_most, child, compare, power

import opendp_lite as dp
from opendp_lite.engines.files import csv as csv_file

ROWS = 20_000_000
FILES = 8
CHUNK = 2_500_000
ROUNDS = 5
LOWER, UPPER = -2.0, 2.0
MOST_MB = 350
SUM_TIMES, MEAN_TIMES, CSV_TIMES = 1.3, 1.8, 1.5
OWN_SECONDS = 1500e-9
MARKS = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."]
TOTAL = dp.clamp(LOWER, UPPER) >> dp.sum() >> dp.gaussian(scale=10)
MEAN = dp.mean(LOWER, UPPER, epsilon=1, confidence=None)
PEAK = """
import sys

from compare import peak

import opendp_lite as dp

release = eval(sys.argv[1])
release(dp.parquet(sys.argv[2]))
print(peak() // 2**20)
"""


def write_parquet(folder: Path, rows: int) -> None:
    """Parquet files of one float64 column."""
    generator = np.random.default_rng(1)
    schema = pa.schema({"x": pa.float64()})
    for file in range(FILES):
        with parquet.ParquetWriter(folder / f"{file}.parquet", schema) as writer:
            for start in range(0, rows // FILES, CHUNK):
                count = min(CHUNK, rows // FILES - start)
                writer.write_table(pa.table({"x": generator.normal(0, 2, count)}))


def in_arrow(folder: Path) -> float:
    """The clipped sum by the reader that ours uses, without privacy."""
    total = 0.0
    for file in datasets.dataset(folder).get_fragments():
        batches = file.to_batches(
            columns=["x"],
            batch_size=2**18,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            fragment_scan_options=datasets.ParquetFragmentScanOptions(pre_buffer=False),
        )
        for batch in batches:
            total += float(np.clip(batch.column(0).to_numpy(), LOWER, UPPER).sum())
    return total


def write_csv(path: Path, rows: int, quoted: bool) -> None:
    """Three columns; if ``quoted``, with commas within cells and a missing cell in five."""
    generator = np.random.default_rng(2)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "x", "city"])
        for start in range(0, rows, 100_000):
            values = generator.normal(0, 2, min(100_000, rows - start)).round(4).tolist()
            for place, value in enumerate(values, start):
                missing = quoted and place % 5 == 0
                cell = ("NA", "")[place % 2] if missing else value
                writer.writerow([place, cell, "New York, NY" if quoted else "Oslo"])


def csv_in_arrow(path: Path) -> float:
    """The sum of the column by pyarrow's reader of blocks, told the type and the missing cells."""
    options = arrow_csv.ConvertOptions(
        include_columns=["x"], column_types={"x": pa.float64()}, null_values=MARKS
    )
    found = arrow_csv.open_csv(path, convert_options=options)
    return sum(compute.sum(batch.column(0)).as_py() or 0.0 for batch in found)


def rows(options: Namespace) -> Iterator[Row]:
    """Parquet in time and memory, then CSV of a twentieth of the rows."""
    count = options.rows
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_parquet(folder, count)
        data = dp.parquet(folder)
        for label, release, times in (
            ("clamp >> sum >> gaussian", TOTAL, SUM_TIMES),
            ("dp.mean", MEAN, MEAN_TIMES),
        ):
            ours = f"{label}, {power(count)} rows of Parquet", partial(release, data)
            peer = "same reader, clip and sum", partial(in_arrow, folder)
            yield compare(ours, peer, at_most(times), rounds=ROUNDS, size=count)
        for label, code in {
            "clamp >> sum": "dp.clamp(-2, 2) >> dp.sum()",
            "mean": "dp.mean(-2, 2, epsilon=1, confidence=None)",
        }.items():
            peak = int(child(PEAK, code, folder))
            work = f"{label}, {power(count)} rows of Parquet, memory"
            note = "memory: peak resident memory of the process, libraries included"
            target, met = f"< {MOST_MB} MB", peak < MOST_MB
            yield Row(work, f"{peak} MB", target=target, met=met, note=note)
    cells = count // 20
    with TemporaryDirectory() as name:
        for quoted in (False, True):
            path = Path(name) / "x.csv"
            write_csv(path, cells, quoted)
            kind = "with quotes and missing cells" if quoted else "plain"
            column = dp.csv_column(path, "x")
            name = f"clamp >> sum >> gaussian, {power(cells)} rows of CSV, {kind}"
            ours = name, partial(TOTAL, column)
            peer = "pyarrow.csv.open_csv and sum", partial(csv_in_arrow, path)
            yield compare(ours, peer, at_most(CSV_TIMES), rounds=ROUNDS, size=cells)
            yield _own(path, cells, kind)


def _own(path: Path, count: int, kind: str) -> Row:
    """The same row by row, as where pyarrow is not installed."""
    usual = csv_file._quick_reader
    csv_file._quick_reader = lambda: None
    try:
        start = Clock.read()
        TOTAL(dp.csv_column(path, "x"))
        each = (Clock.read() - start) / count
    finally:
        csv_file._quick_reader = usual
    target = f"<= {OWN_SECONDS * 1e9:.0f} ns/row"
    work = f"row by row, {power(count)} rows of CSV, {kind}"
    return Row(work, f"{each * 1e9:.0f} ns/row", target=target, met=each <= OWN_SECONDS)
