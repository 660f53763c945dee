"""A binary mean of sparse matrices of the shapes of the PLAN paper's datasets."""

from __future__ import annotations

from collections.abc import Iterator

from compare import Row, child

GOALS = {
    "75462 x 27983, 4.19 M ones (Kosarak's shape)": (75_462, 27_983, 4_190_000),
    "515596 x 1657, 3.37 M ones (POS's shape)": (515_596, 1_657, 3_370_000),
}
MOST_SECONDS, MOST_GIGABYTES = 2.0, 1.0
PUBLISHED = {75_462: "12 s; IOME 26 minutes", 515_596: "9 s; IOME 9 minutes"}
CODE = """
import sys, threading, time
import numpy as np, scipy.sparse as sp
import opendp_lite as dp
rows, columns, ones = map(int, sys.argv[1:])
generator = np.random.default_rng(0)
weights = 1 / np.arange(1, columns + 1)
cells = np.empty(0, np.int64)
while len(cells) < ones:
    row = generator.geometric(0.3, ones).cumsum() % rows
    column = generator.choice(columns, ones, p=weights / weights.sum())
    cells = np.unique(np.concatenate([cells, row * columns + column]))
cells = generator.permutation(cells)[:ones]
data = sp.csr_array((np.ones(ones), (cells // columns, cells % columns)), (rows, columns))
del cells
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
space = dp.records(columns=columns, size=rows, metric=dp.ChangeOneDistance())
release = (space >> dp.binary_mean(rho=0.5))(data)
seconds = time.perf_counter() - start
running[0] = False
watcher.join()
print(seconds, (peak[0] - before) / 1e9)
"""


def rows() -> Iterator[Row]:
    """One row a shape, each in a fresh process."""
    for work, (count, columns, ones) in GOALS.items():
        seconds, gigabytes = map(float, child(CODE, count, columns, ones).split())
        yield Row(
            f"binary_mean, {work}",
            f"{seconds:.2f} s, {gigabytes:.2f} GB more",
            "published figure, another machine",
            PUBLISHED[count],
            "",
            f"<= {MOST_SECONDS:g} s, {MOST_GIGABYTES:g} GB",
            seconds <= MOST_SECONDS and gigabytes <= MOST_GIGABYTES,
        )
