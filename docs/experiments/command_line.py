"""The command line of the experiments: its options, and the way from the runs to the figure."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Final

from tqdm import tqdm

import free_lunch_experiments as free_lunch
import opendp_lite as dp
from free_lunch_estimators import estimators_of, simulate_cells
from free_lunch_results import (
    FIGURES,
    describe_errors,
    draw_errors,
    refuse_others,
    write_table,
)
from plan_experiments import EXPERIMENTS, PlanExperiment, Size
from plan_results import compare_errors, draw_curves, tabulate_variances
from plan_runs import Result, Run, Table, estimate_seconds, list_runs, run_all
from transactions import run_on_file

TITLES: Final = {
    **{name: each.title for name, each in EXPERIMENTS.items()},
    **{name: each.title for name, each in free_lunch.EXPERIMENTS.items()},
}
"""What each experiment shows, by its name."""

_FOLDER: Final = "reproduced"
_INTERRUPTED: Final = 130
_BUSY: Final = 1.5
"""How many times as long the runs take on a machine that is called busy."""

_ABOUT: Final = """\
Runs a published experiment with the estimators of opendp_lite. It prints the errors and draws the
figure. Each estimator runs at its true privacy loss.

plan-...: Aumueller, Lebeda, Nelson, Pagh 2024 (PLAN). Each run becomes a line of a CSV file. If
you stop the command, give it again: it makes only the runs that are missing.

table1, figure2, figure3: Fitzsimons, Honaker, Shoemate, Singhal 2024 (Private Means and the Curious
Incident of the Free Lunch). They take seconds and show the printed numbers beside ours."""


def main(argv: Sequence[str]) -> int:
    """Runs an experiment and writes its files; without a name it lists the experiments.

    Args:
        argv: The words after the name of the program.

    Returns:
        The exit status: 0 for a result, 2 for a refusal, 130 for an interruption.
    """
    arguments = _parse(argv)
    try:
        print(_run(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (dp.OpenDPLiteError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python docs/experiments",
        description=_ABOUT,
        epilog=_list_names(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        choices=list(TITLES),
        help="a name from the list below",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        help="how often each estimator runs in each setting (table1, figure2, figure3: 10 000)",
    )
    parser.add_argument(
        "--rho", metavar="R", type=_loss, nargs="+", help="the budgets (default: as published)"
    )
    parser.add_argument(
        "--epsilon",
        metavar="E",
        type=_loss,
        nargs="+",
        help="with table1 and figure3: the budget of Laplace noise (default: as published)",
    )
    parser.add_argument("--quick", action="store_true", help="less than a minute on two free cores")
    parser.add_argument(
        "--full",
        action="store_true",
        help="with plan-...: all settings and runs as published, for hours",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help="with plan-...: how many processes (default: one for a core)",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="with plan-binary: a file of transactions, such as Kosarak or POS, a line of item "
        "numbers for each or two columns; gzip allowed",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        default=Path(_FOLDER),
        help=f"the folder for the table and the figure (default: {_FOLDER})",
    )
    return parser.parse_args(argv)


def _loss(text: str) -> float:
    loss = float(text)
    if not (isfinite(loss) and loss > 0):
        raise argparse.ArgumentTypeError(f"must be finite and above 0, got {text}")
    return loss


def _list_names() -> str:
    return "\n".join(f"{name:16} {title}" for name, title in TITLES.items())


def _run(arguments: argparse.Namespace) -> str:
    if arguments.experiment is None:
        return _list_names()
    if arguments.data is not None and arguments.experiment != "plan-binary":
        raise dp.ParameterError("--data FILE goes with plan-binary: it holds transactions")
    if arguments.experiment in free_lunch.EXPERIMENTS:
        return _run_free_lunch(arguments, free_lunch.EXPERIMENTS[arguments.experiment])
    return _run_plan(arguments, EXPERIMENTS[arguments.experiment])


def _run_plan(arguments: argparse.Namespace, experiment: PlanExperiment) -> str:
    if arguments.epsilon is not None:
        raise dp.ParameterError(
            f"--epsilon is for table1 and figure3; the budgets of {experiment.name} are --rho"
        )
    if arguments.quick and arguments.full:
        raise dp.ParameterError("--quick and --full are different sizes; give one of them")
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "usual"
    rhos = tuple(dict.fromkeys(arguments.rho or experiment.rhos_of(size)))
    runs = _at_least(1, experiment.runs_of(size), arguments.runs, "--runs")
    workers = _at_least(1, os.cpu_count() or 1, arguments.workers, "--workers")
    if arguments.data is not None:
        return run_on_file(arguments.data, rhos, runs, arguments.out)
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = Table(arguments.out / f"{experiment.name}.csv")
    wanted = list_runs(experiment, size, rhos, runs)
    results = _complete(table, wanted, min(workers, os.cpu_count() or 1))
    pictures = [table.path.with_suffix(f".{kind}") for kind in ("png", "svg")]
    draw_curves(experiment, size, rhos, results, pictures)
    parts = [compare_errors(experiment, rhos, results), _list_files(table.path, *pictures)]
    if experiment.name == "plan-variance":
        parts.insert(0, tabulate_variances(rhos, results))
    return "\n\n".join(parts)


def _at_least(least: int, usual: int, given: int | None, option: str) -> int:
    if given is not None and given < least:
        raise dp.ParameterError(f"{option} must be a whole number of at least {least}, got {given}")
    return usual if given is None else given


def _complete(table: Table, runs: Sequence[Run], workers: int) -> list[Result]:
    """The results of all runs: those in the table, and the others made now."""
    known = table.results()
    missing = [run for run in runs if run not in known]
    table.open()
    name = table.path.stem
    if not missing:
        _say(f"{name}: all {len(runs)} runs are in {table.path}")
        return [known[run] for run in runs]
    about = _estimate_time(estimate_seconds(missing, workers), workers)
    _say(f"{name}: {_count(runs, missing)}; {about}")
    made = 0
    try:
        with tqdm(total=len(missing), unit="run", file=sys.stderr, dynamic_ncols=True) as bar:

            def keep(result: Result) -> None:
                nonlocal made
                known[result.run] = result
                made += 1
                bar.update()

            run_all(missing, table, workers, keep)
    except KeyboardInterrupt:
        _say(
            f"stopped: {made} of {len(missing)} runs were made and are kept in "
            f"{table.path}; the same command goes on from there"
        )
        raise
    return [known[run] for run in runs]


def _count(runs: Sequence[Run], missing: Sequence[Run]) -> str:
    if len(missing) == len(runs):
        return f"{len(runs)} runs"
    return f"{len(missing)} of {len(runs)} runs, the others are there already"


def _estimate_time(seconds: float, cores: int) -> str:
    """How long it takes, also at the load that the machine has now."""
    free = "a free core" if cores == 1 else f"{cores} free cores"
    slower = (_load() + cores) / (os.cpu_count() or 1)
    if slower < _BUSY:
        return f"about {_duration(seconds)} on {free}, longer if they are busy"
    busy = _duration(seconds * slower)
    return f"about {_duration(seconds)} on {free}, {busy} or more at the present load"


def _load() -> float:
    """How many programs want a core; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _duration(seconds: float) -> str:
    """In words.

    Example:
        >>> _duration(0), _duration(89), _duration(90), _duration(4000)
        ('10 seconds', '90 seconds', '2 minutes', '1.1 hours')
    """
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def _run_free_lunch(
    arguments: argparse.Namespace, experiment: free_lunch.FreeLunchExperiment
) -> str:
    name = experiment.name
    if arguments.full:
        raise dp.ParameterError(
            f"--full: {name} makes all {free_lunch.RUNS} releases as published anyway; leave it out"
        )
    if arguments.workers is not None:
        raise dp.ParameterError(f"--workers: {name} takes seconds in one process; leave it out")
    losses = _losses(arguments, experiment)
    usual = experiment.quick_runs if arguments.quick else free_lunch.RUNS
    runs = _at_least(2, usual, arguments.runs, "--runs")
    if runs > free_lunch.MOST_RUNS:
        raise dp.ParameterError(f"--runs: {name} holds at most {free_lunch.MOST_RUNS}, got {runs}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"{name}.csv"
    refuse_others(path)
    number = len(experiment.datasets) * sum(len(estimators_of(law)) for law in experiment.laws)
    _say(f"{name}: {number} cells of {runs} releases")
    with tqdm(
        total=number * runs, unit="release", unit_scale=True, file=sys.stderr, dynamic_ncols=True
    ) as bar:
        cells = simulate_cells(experiment, losses, runs, bar.update)
    write_table(path, cells)
    files = [path]
    if name in FIGURES:
        files += [path.with_suffix(f".{kind}") for kind in ("png", "svg")]
        draw_errors(name, cells, files[1:])
    return f"{describe_errors(cells)}\n\n{_list_files(*files)}"


def _losses(
    arguments: argparse.Namespace, experiment: free_lunch.FreeLunchExperiment
) -> dict[free_lunch.NoiseLaw, float]:
    """The loss for each noise of the experiment: as given, else as published."""
    name, least, most = experiment.name, free_lunch.LEAST_LOSS, free_lunch.MOST_LOSS
    losses = {law: law.loss for law in experiment.laws}
    for law in free_lunch.LAWS:
        given, option = getattr(arguments, law.option), f"--{law.option}"
        if given is None:
            continue
        if law not in losses:
            raise dp.ParameterError(f"{option}: {name} has no {law.name} noise; leave it out")
        if len(given) != 1:
            raise dp.ParameterError(f"{option}: {name} is at one budget, got {len(given)}")
        if not least <= given[0] <= most:
            raise dp.ParameterError(
                f"{option} must lie between {least:g} and {most:g}, where the estimators differ, "
                f"got {given[0]:g}"
            )
        losses[law] = given[0]
    return losses


def _list_files(*paths: Path) -> str:
    return "\n".join(f"written: {path}" for path in paths)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
