"""Memory that a release takes beyond the data, in a fresh process."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from compare import Row, child, power

SIZE = 10_000_000
REPEATS = 3
MOST_MB = 10
WORKS = {
    "ours": "dp.records() >> dp.clamp(-2, 2) >> dp.sum() >> dp.gaussian(scale=10)",
    "numpy": "lambda x: np.clip(x, -2, 2).sum()",
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
    found: dict[str, list[float]] = {name: [] for name in WORKS}
    for _ in range(REPEATS):
        for name, work in WORKS.items():
            found[name].append(int(child(CODE, work, SIZE)) * 1024 / 1e6)
    ours, theirs = median(found["ours"]), median(found["numpy"])
    yield Row(
        f"clamp >> sum >> gaussian, {power(SIZE)} rows, memory",
        f"{ours:.3g} MB",
        "np.clip(x, L, U).sum()",
        f"{theirs:.3g} MB",
        f"({min(found['ours']):.3g}..{max(found['ours']):.3g} MB)",
        f"< {MOST_MB} MB",
        ours < MOST_MB,
        f"memory: peak resident memory beyond the data's {SIZE * 8 / 1e6:g} MB, after a release "
        "of 100 rows as warm-up, in fresh processes",
    )
