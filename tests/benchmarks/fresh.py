"""What fresh processes take: memory of releases, time of imports, a sparse matrix."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from compare import Clock, Row, at_most, child, power

SIZE = 10_000_000
SUM = "dp.records() >> dp.clamp(-2, 2) >> dp.sum() >> dp.gaussian(scale=10)"
NUMPY_SUM, SORT = "lambda x: np.clip(x, -2, 2).sum()", "np.sort"
AGAINST_SORT = {
    "private_quantile(0.5)": "dp.private_quantile(0.5, bounds=(-2, 2), rho=0.5, confidence=None)",
    "gaussian, float vector": "lambda x: (dp.vector(len(x)) >> dp.gaussian(scale=10))(x)",
}
PEAK = """
import sys

import numpy as np
from compare import begin_peak, peak

import opendp_lite as dp

release = eval(sys.argv[1])
data = np.random.default_rng().normal(0.0, 2.0, int(sys.argv[2]))
release(data[:100])
before = begin_peak()
release(data)
print((peak() - before) / 1e6)
"""


def memory(options: Namespace) -> Iterator[Row]:
    """The peak of resident memory above what was resident before the release."""
    works = (SUM, NUMPY_SUM, SORT, *AGAINST_SORT.values())
    found: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(3):
        for work, each in found.items():
            each.append(float(child(PEAK, work, SIZE)))
    most = {work: median(each) for work, each in found.items()}

    def row(
        name: str, work: str, peer: str, theirs: str, ratio: str, target: str, met: bool
    ) -> Row:
        name, note = (
            f"{name}, {power(SIZE)} rows, memory",
            (
                f"memory: peak resident memory beyond the data's {SIZE * 8 / 1e6:g} MB, after a "
                "release of 100 rows as warm-up, in fresh processes"
            ),
        )
        ours, its = (f"{most[each]:.3g} MB" for each in (work, theirs))
        return Row(name, ours, peer, its, ratio, target, met, note)

    span = f"({min(found[SUM]):.3g}..{max(found[SUM]):.3g} MB)"
    peer, met = "np.clip(x, L, U).sum()", most[SUM] < 10
    yield row("clamp >> sum >> gaussian", SUM, peer, NUMPY_SUM, span, "< 10 MB", met)
    bound = at_most(1.1)
    for name, work in AGAINST_SORT.items():
        ratio = bound.ratio(most[work], most[SORT])
        target, met = bound.words(), bound.met(ratio)
        yield row(name, work, "np.sort(x)", SORT, f"{ratio:.3g}", target, met)


NUMPY, MOST_MS = "import numpy", 70
IMPORTS = {
    "import opendp_lite": "import opendp_lite",
    "the same, and clamp >> sum >> gaussian": (
        "import opendp_lite as dp; dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.03)"
    ),
    "the same, and mean": "import opendp_lite as dp; dp.mean(0, 100, epsilon=1, confidence=None)",
    "the start of opendp-lite": (
        "from opendp_lite.cli.arguments import parse; parse(['count', 'x.csv'])"
    ),
}
TIMED = """
import sys
import time

start = getattr(time, sys.argv[2])()
exec(sys.argv[1])
print(getattr(time, sys.argv[2])() - start, "scipy" in sys.modules)
"""


def imports(options: Namespace) -> Iterator[Row]:
    """How many milliseconds more than numpy, in the middle and at least; whether scipy came along.

    The first row has a target. The others tell where the rest of the time went. Byte code is kept
    in a folder of its own.
    """
    with TemporaryDirectory() as cache:
        settings = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}

        def once(code: str) -> tuple[float, bool]:
            elapsed, scipy = child(TIMED, code, Clock.read.__name__, **settings).split()
            return float(elapsed) * 1e3, scipy == "True"

        for work, code in IMPORTS.items():
            once(code)
            pairs = [(once(code), once(NUMPY)) for _ in range(21)]
            ours, theirs = ([pair[side][0] for pair in pairs] for side in (0, 1))
            more, least = median(ours) - median(theirs), min(ours) - min(theirs)
            with_it = "" if any(loaded for (_, loaded), _ in pairs) else "not "
            yield Row(
                work,
                f"{median(ours):.0f} ms",
                NUMPY,
                f"{median(theirs):.0f} ms",
                f"{more:+.0f} ms (of the fastest {least:+.0f})",
                f"<= +{MOST_MS} ms" if code == work else "none",
                code != work or max(more, least) <= MOST_MS,
                f"{work}: with byte code cached; scipy was {with_it}imported with it",
            )


EXPERIMENTS = Path(__file__).resolve().parents[2] / "docs" / "experiments"
SHAPES = {
    "KOSARAK": ("75462 x 27983, 4.19 M ones (Kosarak's shape)", "12 s; IOME 26 minutes"),
    "POS": ("515596 x 1657, 3.37 M ones (POS's shape)", "9 s; IOME 9 minutes"),
}
"""Of the PLAN paper's datasets, with the published times."""
SPARSE = """
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


def sparse(options: Namespace) -> Iterator[Row]:
    """A binary mean of a sparse matrix, one row a shape, each in a fresh process."""
    for name, (work, published) in SHAPES.items():
        seconds, gigabytes = map(float, child(SPARSE, name, EXPERIMENTS).split())
        ours, met = f"{seconds:.2f} s, {gigabytes:.2f} GB more", seconds <= 2 and gigabytes <= 1
        peer, target = "published figure, another machine", "<= 2 s, 1 GB"
        yield Row(f"binary_mean, {work}", ours, peer, published, "", target, met)
