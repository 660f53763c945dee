"""Time to import the package and to make a first pipeline, against an import of numpy alone."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory

from compare import Clock, Row, child

REPEATS = 21
MOST_MS = 70
NUMPY = "import numpy"
WORK = {
    "import opendp_lite": "import opendp_lite",
    "the same, and clamp >> sum >> gaussian": (
        "import opendp_lite as dp; dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.03)"
    ),
    "the same, and mean": "import opendp_lite as dp; dp.mean(0, 100, epsilon=1)",
    "the start of opendp-lite": "import opendp_lite.cli as cli; cli.parsed(['count', 'x.csv'])",
}
CODE = """
import sys
import time

start = getattr(time, sys.argv[2])()
exec(sys.argv[1])
print(getattr(time, sys.argv[2])() - start, "scipy" in sys.modules)
"""


def _once(code: str, cache: str) -> tuple[float, bool]:
    """Milliseconds, and whether scipy is there; byte code is kept in a folder of its own."""
    settings = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
    elapsed, scipy = child(CODE, code, Clock.read.__name__, **settings).split()
    return float(elapsed) * 1e3, scipy == "True"


def rows() -> Iterator[Row]:
    """How many milliseconds more, in the middle and at least; whether scipy came along.

    The first row has a target. The others tell where the rest of the time went.
    """
    with TemporaryDirectory() as cache:
        for work, code in WORK.items():
            _once(code, cache)
            pairs = [(_once(code, cache), _once(NUMPY, cache)) for _ in range(REPEATS)]
            yield _row(work, pairs, MOST_MS if code == work else None)


def _row(
    work: str, pairs: list[tuple[tuple[float, bool], tuple[float, bool]]], most: int | None
) -> Row:
    ours, theirs = ([pair[side][0] for pair in pairs] for side in (0, 1))
    more, least = median(ours) - median(theirs), min(ours) - min(theirs)
    scipy = any(loaded for (_, loaded), _ in pairs)
    return Row(
        work,
        f"{median(ours):.0f} ms",
        NUMPY,
        f"{median(theirs):.0f} ms",
        f"{more:+.0f} ms (of the fastest {least:+.0f})",
        "none" if most is None else f"<= +{most} ms",
        most is None or max(more, least) <= most,
        f"{work}: with byte code cached; scipy was {'' if scipy else 'not '}imported with it",
    )
