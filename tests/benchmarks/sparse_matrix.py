"""A binary mean of sparse matrices of the shapes of the PLAN paper's datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compare import Row, child

EXPERIMENTS = Path(__file__).resolve().parents[2] / "docs" / "experiments"
SHAPES = {
    "KOSARAK": ("75462 x 27983, 4.19 M ones (Kosarak's shape)", "12 s; IOME 26 minutes"),
    "POS": ("515596 x 1657, 3.37 M ones (POS's shape)", "9 s; IOME 9 minutes"),
}
MOST_SECONDS, MOST_GIGABYTES = 2.0, 1.0
CODE = """
import sys, threading, time
import opendp_lite as dp
sys.path.insert(0, sys.argv[2])
import transactions
shape = getattr(transactions, sys.argv[1])
data = transactions.synthetic_transactions(shape)
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
before, peak, running = resident(), [0], [True]
def watch():
    while running[0]:
        peak[0] = max(peak[0], resident())
        time.sleep(0.001)
watcher = threading.Thread(target=watch)
watcher.start()
start = time.perf_counter()
space = dp.records(columns=shape.columns, size=shape.rows, metric=dp.ChangeOneDistance())
release = (space >> dp.estimators.binary_mean(rho=0.5))(data)
seconds = time.perf_counter() - start
running[0] = False
watcher.join()
print(seconds, (peak[0] - before) / 1e9)
"""


def rows() -> Iterator[Row]:
    """One row a shape, each in a fresh process."""
    for name, (work, published) in SHAPES.items():
        seconds, gigabytes = map(float, child(CODE, name, EXPERIMENTS).split())
        yield Row(
            f"binary_mean, {work}",
            f"{seconds:.2f} s, {gigabytes:.2f} GB more",
            "published figure, another machine",
            published,
            "",
            f"<= {MOST_SECONDS:g} s, {MOST_GIGABYTES:g} GB",
            seconds <= MOST_SECONDS and gigabytes <= MOST_GIGABYTES,
        )
