"""Times the package against its peers, side by side, and prints the table of targets."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import accounting
import centered_sum
import clip_to_norm
import clusters
import distributions
import files
import fit
import fixed_costs
import group_times
import growth
import histogram
import imports
import ledger
import mean
import mean_grid
import memory
import noise
import people
import plan
import quantile
import quantile_errors
import quantile_peer
import scalars
import selection
import sparse_matrix
import spread
import sums
import unbounded
import value_times
from compare import Choice, Clock, Row, table

LIBRARIES = ("numpy", "opendp", "diffprivlib")
OPENDP_ENTRIES = 5_000
BY_NAME_ONLY = {
    "accounting",
    "centered_sum",
    "clusters",
    "distributions",
    "files",
    "fit",
    "growth",
    "mean_grid",
    "plan",
    "quantile_errors",
    "quantile_peer",
    "selection",
    "spread",
    "unbounded",
    "value_times",
}
"""Groups that take long, and run where they are asked for."""


def main() -> None:
    """Runs the named groups, all of them without a name."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help="groups of rows; without a name all but the slow ones",
    )
    parser.add_argument(
        "--opendp-entries",
        type=int,
        default=OPENDP_ENTRIES,
        help=f"length of the vectors that OpenDP is timed on; {OPENDP_ENTRIES} by default",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count processor time instead of wall time, on a machine that is not idle",
    )
    parser.add_argument(
        "--runs",
        type=int,
        help=f"of plan ({plan.RUNS} by default), and of each row of spread and unbounded",
    )
    parser.add_argument(
        "--only", default="", help="rows of spread and unbounded whose name has this text"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=inf,
        help="begin no row of spread and unbounded after so many; no limit by default",
    )
    parser.add_argument(
        "--experiments",
        nargs="+",
        default=[],
        choices=plan.CELLS,
        help="experiments of plan; all by default",
    )
    parser.add_argument(
        "--rows",
        type=float,
        default=files.ROWS,
        help=f"of files and clusters, and the most of growth; {files.ROWS:.0e} by default",
    )
    parser.add_argument("--figure", default="", help="where growth draws its figure")
    parser.add_argument(
        "--failures",
        action="store_true",
        help=f"also count runs of plan that are far off, of {plan.FAILURE_RUNS}",
    )
    arguments = parser.parse_args()
    choice = Choice(arguments.only, arguments.runs, arguments.seconds)
    if arguments.processor_time:
        Clock.processor_time()
    groups: dict[str, Callable[[], Iterator[Row]]] = {
        "noise": lambda: noise.rows(arguments.opendp_entries),
        "sums": sums.rows,
        "mean": mean.rows,
        "memory": memory.rows,
        "clip_to_norm": clip_to_norm.rows,
        "people": people.rows,
        "scalars": scalars.rows,
        "fit": fit.rows,
        "fixed_costs": fixed_costs.rows,
        "files": lambda: files.rows(int(arguments.rows)),
        "clusters": lambda: clusters.rows(int(arguments.rows)),
        "quantile": quantile.rows,
        "quantile_errors": quantile_errors.rows,
        "quantile_peer": quantile_peer.rows,
        "sparse": sparse_matrix.rows,
        "groups": group_times.rows,
        "growth": lambda: growth.rows(
            int(arguments.rows), arguments.figure, processor_time=arguments.processor_time
        ),
        "histogram": histogram.rows,
        "imports": imports.rows,
        "ledger": ledger.rows,
        "value_times": value_times.rows,
        "distributions": distributions.rows,
        "mean_grid": mean_grid.rows,
        "selection": selection.rows,
        "centered_sum": centered_sum.rows,
        "spread": lambda: spread.rows(choice),
        "accounting": accounting.rows,
        "unbounded": lambda: unbounded.rows(choice),
        "plan": lambda: plan.rows(
            arguments.experiments, arguments.runs or plan.RUNS, arguments.failures
        ),
    }
    unknown = [name for name in arguments.names if name not in groups]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(groups)}")
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    print(f"Python {platform.python_version()}, {versions}; {_machine()}")
    clock = "processor" if arguments.processor_time else "wall"
    print(f"{clock} time; load average at the start: {_load()}")
    found: list[Row] = []
    for name in arguments.names or [name for name in groups if name not in BY_NAME_ONLY]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found += groups[name]()
    print(f"load average at the end: {_load()}\n")
    print(table(found))


def _machine() -> str:
    """The class of the machine: processors, their name and their widest vectors."""
    found = {}
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    name = found.get("model name", platform.processor() or "unknown").strip()
    flags = found.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2") if flag in flags), "vectors unknown")
    return f"{os.cpu_count()} processors, {name}, {widest}"


def _load() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


if __name__ == "__main__":
    main()
