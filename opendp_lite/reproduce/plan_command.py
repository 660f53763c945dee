"""One experiment from the runs to the figure. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
from tqdm import tqdm

from opendp_lite.reproduce.output import make_folder
from opendp_lite.reproduce.plan_figures import draw
from opendp_lite.reproduce.plan_runner import expected_seconds, planned, run_all
from opendp_lite.reproduce.plan_settings import PlanExperiment, Size
from opendp_lite.reproduce.plan_summary import comparison, variances
from opendp_lite.reproduce.plan_table import Result, Run, Table

_BUSY: Final = 1.5
"""How many times as long the runs take on a machine that is called busy."""


@attrs.frozen
class PlanOrder:
    """The runs and the folder for their files."""

    experiment: PlanExperiment
    size: Size
    rhos: tuple[float, ...]
    runs: int
    workers: int
    folder: Path


def reproduce(order: PlanOrder) -> str:
    """Makes the runs that are missing and draws the figure.

    Args:
        order: The experiment with its budgets and its number of runs.

    Returns:
        The text to print.

    Raises:
        DataError: If the table holds lines of another program.
        OutputError: If a file cannot be written. The runs in the table are kept.
    """
    make_folder(order.folder)
    name = order.experiment.name
    table = Table(order.folder / f"{name}.csv")
    known = table.results()
    runs = planned(order.experiment, order.size, order.rhos, order.runs)
    missing = [run for run in runs if run not in known]
    table.open()
    if missing:
        cores = min(order.workers, os.cpu_count() or 1)
        about = _expected(expected_seconds(missing, cores), cores)
        _say(f"{name}: {_counted(runs, missing)}; {about}")
        found = _made(missing, table, order.workers)
        known.update({result.run: result for result in found})
    else:
        _say(f"{name}: all {len(runs)} runs are in {table.path}")
    results = [known[run] for run in runs]
    pictures = [order.folder / f"{name}.{kind}" for kind in ("png", "svg")]
    draw(order.experiment, order.size, order.rhos, results, pictures)
    return _text(order, results, [table.path, *pictures])


def _made(missing: Sequence[Run], table: Table, workers: int) -> list[Result]:
    found: list[Result] = []
    try:
        with tqdm(total=len(missing), unit="run", file=sys.stderr, dynamic_ncols=True) as bar:

            def finished(result: Result) -> None:
                found.append(result)
                bar.update()

            run_all(missing, table, workers, finished)
    except KeyboardInterrupt:
        _say(
            f"stopped: {len(found)} of {len(missing)} runs were made and are kept in "
            f"{table.path}; the same command goes on from there"
        )
        raise
    return found


def _text(order: PlanOrder, results: Sequence[Result], files: Sequence[Path]) -> str:
    parts = [comparison(order.experiment, order.rhos, results)]
    if order.experiment.name == "plan-variance":
        parts.insert(0, variances(order.rhos, results))
    parts.append("\n".join(f"written: {path}" for path in files))
    return "\n\n".join(parts)


def _counted(runs: Sequence[object], missing: Sequence[object]) -> str:
    if len(missing) == len(runs):
        return f"{len(runs)} runs"
    return f"{len(missing)} of {len(runs)} runs, the others are there already"


def _expected(seconds: float, cores: int) -> str:
    """How long it takes, also at the load that the machine has now."""
    free = "a free core" if cores == 1 else f"{cores} free cores"
    slower = (_load() + cores) / (os.cpu_count() or 1)
    if slower < _BUSY:
        return f"about {_duration(seconds)} on {free}, longer if they are busy"
    busy = _duration(seconds * slower)
    return f"about {_duration(seconds)} on {free}, {busy} or more at the load of now"


def _load() -> float:
    """How many programs want a core; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _duration(seconds: float) -> str:
    """In words.

    Example:
        >>> _duration(3), _duration(70), _duration(100), _duration(4000)
        ('10 seconds', '70 seconds', '2 minutes', '1.1 hours')
    """
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
