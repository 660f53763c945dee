"""Memory that a release takes beyond the data, in a fresh process."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from compare import Row, at_most, child, power

SIZE = 10_000_000
REPEATS = 3
MOST_MB = 10
MOST_OF_SORT = 1.1
SUM = "dp.records() >> dp.clamp(-2, 2) >> dp.sum() >> dp.gaussian(scale=10)"
NUMPY_SUM = "lambda x: np.clip(x, -2, 2).sum()"
SORT = "np.sort"
AGAINST_SORT = {
    "private_quantile(0.5)": "dp.private_quantile(0.5, bounds=(-2, 2), rho=0.5)",
    "gaussian, float vector": "lambda x: (dp.vector(len(x)) >> dp.gaussian(scale=10))(x)",
}
CODE = """
import resource
import sys
from pathlib import Path

import numpy as np

import opendp_lite as dp

status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")

def kilobytes(name):
    return int(status.read_text().split(name + ":")[1].split()[0])

release = eval(sys.argv[1])
data = np.random.default_rng().normal(0.0, 2.0, int(sys.argv[2]))
release(data[:100])
try:
    clear.write_text("5")
    before = kilobytes("VmRSS")
    release(data)
    print(kilobytes("VmHWM") - before)
except OSError:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    release(data)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def rows() -> Iterator[Row]:
    """The peak of resident memory above what was resident before the release."""
    works = (SUM, NUMPY_SUM, SORT, *AGAINST_SORT.values())
    found: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(REPEATS):
        for work, each in found.items():
            each.append(int(child(CODE, work, SIZE)) * 1024 / 1e6)
    most = {work: median(each) for work, each in found.items()}
    span = f"({min(found[SUM]):.3g}..{max(found[SUM]):.3g} MB)"
    peer, target, met = "np.clip(x, L, U).sum()", f"< {MOST_MB} MB", most[SUM] < MOST_MB
    yield _row("clamp >> sum >> gaussian", most[SUM], peer, most[NUMPY_SUM], span, target, met)
    bound = at_most(MOST_OF_SORT)
    for name, work in AGAINST_SORT.items():
        ratio = bound.ratio(most[work], most[SORT])
        target, met = bound.words(), bound.met(ratio)
        yield _row(name, most[work], "np.sort(x)", most[SORT], f"{ratio:.3g}", target, met)


def _row(
    work: str, ours: float, peer: str, theirs: float, ratio: str, target: str, met: bool
) -> Row:
    return Row(
        f"{work}, {power(SIZE)} rows, memory",
        f"{ours:.3g} MB",
        peer,
        f"{theirs:.3g} MB",
        ratio,
        target,
        met,
        f"memory: peak resident memory beyond the data's {SIZE * 8 / 1e6:g} MB, after a release "
        "of 100 rows as warm-up, in fresh processes",
    )
