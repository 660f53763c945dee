"""Counts the library's own Python calls, files and frames on the way of a release.

``python tests/benchmarks/own_calls.py`` prints them, and times of releases of few rows.
Counts do not depend on the load of a machine; times are the best of many by turns.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time_ns
from typing import Any

import attrs
import numpy as np
import pandas as pd

import opendp_lite as dp

PACKAGE = str(Path(dp.__file__).parent)
WARM = 5


@attrs.define
class Counts:
    """Frames of the package that one call of a function opens."""

    calls: int = 0
    files: set[str] = attrs.Factory(set)
    deepest: int = 0
    _depth: int = 0

    def see(self, frame: Any, event: str, _: object) -> None:
        """As ``sys.setprofile`` calls it."""
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE):
            return
        if event == "call":
            self.calls += 1
            self.files.add(name)
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
        elif event == "return":
            self._depth -= 1


def counted(work: Callable[[], object], *, warm: int = WARM) -> Counts:
    """The counts of one call, the fewest of several: caches are filled before."""
    for _ in range(warm):
        work()
    found = []
    for _ in range(WARM):
        counts = Counts()
        sys.setprofile(counts.see)
        try:
            work()
        finally:
            sys.setprofile(None)
        found.append(counts)
    return min(found, key=lambda each: each.calls)


MEAN = dp.mean(0, 100, epsilon=1, confidence=None)
TOTAL = (dp.records() >> dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.5)).bound
PURE_TOTAL = dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)


def ways() -> dict[str, Callable[[], object]]:
    """What the table of the issue counts, and more of the kind."""
    ages = np.random.default_rng(1).uniform(0, 100, 100)
    listed, frame = ages.tolist(), pd.DataFrame({"age": ages, "sex": ["f", "m"] * 50})
    mean, column = (dp.records() >> MEAN).bound, dp.select("age") >> MEAN
    by, place = dp.by("sex", ["f", "m"], column), iter(range(10**9))
    parts = [PURE_TOTAL, dp.count() >> dp.laplace(epsilon=1), MEAN]
    both = (dp.records() >> dp.compose(parts)).bound
    return {
        "mean of a list": lambda: mean(listed),
        "mean of an array": lambda: mean(ages),
        "mean of a pandas column": lambda: column(frame),
        "clamp > sum > gaussian, an array": lambda: TOTAL(ages),
        "by, two keys": lambda: by(frame),
        "compose of three": lambda: both(ages),
        "mean, typed": lambda: dp.mean(0, 101 + next(place), epsilon=1, confidence=None),
        "mean, typed again": lambda: dp.mean(0, 100, epsilon=1, confidence=None),
        "mean, typed again and bound": lambda: (
            (dp.records() >> dp.mean(0, 100, epsilon=1, confidence=None)).bound
        ),
        "mean, typed again, bound and released": lambda: dp.mean(
            0, 100, epsilon=1, confidence=None
        )(listed),
        "mean of a column, typed again": lambda: (
            dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=None)
        )(frame),
    }


def best(work: Callable[[], object], seconds: float) -> float:
    """The least time of a call, of the calls that fit into so many seconds."""
    found, end = [], process_time_ns() + int(seconds * 1e9)
    while len(found) < WARM or process_time_ns() < end:
        start = process_time_ns()
        work()
        found.append(process_time_ns() - start)
    return min(found) / 1e9


def main() -> None:
    """Prints the counts, and times in microseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each timing")
    chosen = parser.parse_args()
    print(f"{'':44}{'own calls':>10}{'files':>7}{'deepest':>9}{'us':>12}")
    for name, work in ways().items():
        found = counted(work)
        taken = best(work, chosen.seconds) * 1e6
        print(f"{name:44}{found.calls:10}{len(found.files):7}{found.deepest:9}{taken:12.1f}")


if __name__ == "__main__":
    main()
