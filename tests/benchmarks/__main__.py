"""Times the package against its peers, side by side, and prints the table of targets."""

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
import clusters
import columns
import covered
import distributions
import errors
import files
import fit
import fresh
import growth
import ledger
import plan
import pure
import second_day
import speed
import spread
import text_keys
import unbounded
import winners
from compare import Clock, Row, table

LIBRARIES = ("numpy", "opendp", "diffprivlib")
Group = Callable[[argparse.Namespace], Iterator[Row]]
QUICK: dict[str, Group] = {
    "noise": speed.noise,
    "sums": speed.sums,
    "mean": speed.mean,
    "memory": fresh.memory,
    "clip_to_norm": speed.clip_to_norm,
    "people": speed.people,
    "fixed_costs": speed.fixed_costs,
    "quantile": speed.quantile,
    "sparse": fresh.sparse,
    "histogram": speed.histogram,
    "imports": fresh.imports,
    "ledger": ledger.rows,
}
SLOW: dict[str, Group] = {
    "fit": fit.rows,
    "kernels": speed.kernels,
    "files": files.rows,
    "clusters": clusters.rows,
    "quantile_errors": errors.quantile_errors,
    "quantile_peer": errors.quantile_peer,
    "growth": growth.rows,
    "text_keys": text_keys.rows,
    "value_times": speed.value_times,
    "distributions": distributions.rows,
    "coverage": covered.coverage,
    "weighted_shares": covered.weighted_shares,
    "mean_grid": errors.mean_grid,
    "selection": errors.selection,
    "centered_sum": errors.centered_sum,
    "spread": spread.rows,
    "accounting": accounting.rows,
    "unbounded": unbounded.rows,
    "plan": plan.rows,
    "columns": columns.rows,
    "pure": pure.rows,
    "winners": winners.rows,
    "quantile_ends": second_day.quantile_ends,
    "significance": second_day.significance,
}
"""Groups that take long, and run where they are asked for."""
GROUPS = QUICK | SLOW
OF_LONG_TABLES = "rows of columns, spread and unbounded"


def main() -> None:
    """Runs the named groups, all that are quick without a name."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    add, limit = parser.add_argument, "no limit by default"
    add("names", nargs="*", metavar="name", help="groups of rows; else all but the slow ones")
    add("--opendp-entries", type=int, default=5000, help="of OpenDP's vectors; 5000 by default")
    add("--processor-time", action="store_true", help="for a machine that is not idle")
    add(
        "--runs",
        type=int,
        help=f"of plan ({plan.RUNS} by default), quantile_ends, significance and {OF_LONG_TABLES}",
    )
    add("--only", default="", help=f"{OF_LONG_TABLES} whose name has this text")
    add("--seconds", type=float, default=inf, help=f"begin none of {OF_LONG_TABLES} later; {limit}")
    add("--experiments", nargs="+", default=[], choices=plan.CELLS, help="of plan; else all")
    words = f"of files and clusters, and the most of growth; {files.ROWS:.0e} by default"
    add("--rows", type=float, default=files.ROWS, help=words)
    add("--figure", default="", help="where growth draws its figure")
    words = f"also count runs of plan that are far off, of {plan.FAILURE_RUNS}"
    add("--failures", action="store_true", help=words)
    options = parser.parse_args()
    options.rows = int(options.rows)
    if options.processor_time:
        Clock.processor_time()
    unknown = [name for name in options.names if name not in GROUPS]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    print(f"Python {platform.python_version()}, {versions}; {_machine()}")
    clock = "processor" if options.processor_time else "wall"
    print(f"{clock} time; load average at the start: {_load()}")
    found: list[Row] = []
    for name in options.names or QUICK:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found += GROUPS[name](options)
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
