"""Time to import the package, against numpy alone, in fresh processes."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory

from compare import Clock, Row, child

REPEATS = 21
MOST_MS = 100
CODE = """
import importlib
import sys
import time

start = getattr(time, sys.argv[2])()
importlib.import_module(sys.argv[1])
print(getattr(time, sys.argv[2])() - start, "scipy" in sys.modules)
"""


def _once(name: str, cache: str) -> tuple[float, bool]:
    """Milliseconds, and whether scipy is there; byte code is kept in a folder of its own."""
    settings = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
    elapsed, scipy = child(CODE, name, Clock.read.__name__, **settings).split()
    return float(elapsed) * 1e3, scipy == "True"


def rows() -> Iterator[Row]:
    """How many milliseconds more; whether scipy came along."""
    with TemporaryDirectory() as cache:
        _once("opendp_lite", cache)
        pairs = [(_once("opendp_lite", cache), _once("numpy", cache)) for _ in range(REPEATS)]
    ours = median(a for (a, _), _ in pairs)
    theirs = median(b for _, (b, _) in pairs)
    more = [a - b for (a, _), (b, _) in pairs]
    scipy = any(loaded for (_, loaded), _ in pairs)
    yield Row(
        "import opendp_lite",
        f"{ours:.0f} ms",
        "import numpy",
        f"{theirs:.0f} ms",
        f"{ours - theirs:+.0f} ms ({min(more):+.0f}..{max(more):+.0f})",
        f"<= +{MOST_MS} ms",
        ours - theirs <= MOST_MS,
        f"import: with byte code cached; scipy was {'' if scipy else 'not '}imported with "
        "opendp_lite",
    )
