"""``opendp-lite reproduce``: checks the arguments and runs a published experiment."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli.told import Told
from opendp_lite.exact import positive, whole
from opendp_lite.reproduce.free_lunch import free_lunch_settings as free_lunch
from opendp_lite.reproduce.free_lunch.noise_laws import NoiseLaw
from opendp_lite.reproduce.plan_settings import EXPERIMENTS, Size

TITLES: Final = {
    **{name: each.title for name, each in EXPERIMENTS.items()},
    **{name: each.title for name, each in free_lunch.EXPERIMENTS.items()},
}
"""What each experiment shows, by its name."""

_PLAN: Final = "opendp_lite.reproduce.plan_command"
_FREE_LUNCH: Final = "opendp_lite.reproduce.free_lunch.free_lunch_command"
_TRANSACTIONS: Final = "opendp_lite.reproduce.transaction_runs"


def run_experiment(arguments: argparse.Namespace) -> Told:
    """Runs an experiment and writes its files.

    Args:
        arguments: What the parser made of the command line.

    Returns:
        The text to print.

    Raises:
        ParameterError: If an argument is out of range or does not go with the experiment.
        DataError: If a file is not as it must be, or cannot be written.
    """
    known = arguments.experiment in free_lunch.EXPERIMENTS
    return Told(_free_lunch(arguments) if known else _plan(arguments))


def _plan(arguments: argparse.Namespace) -> str:
    experiment = EXPERIMENTS[arguments.experiment]
    if arguments.epsilon is not None:
        raise dp.ParameterError(
            f"--epsilon is for table1 and figure3; the budgets of {experiment.name} are --rho"
        )
    if arguments.quick and arguments.full:
        raise dp.ParameterError("--quick and --full are different sizes; give one of them")
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "usual"
    rhos = arguments.rho or experiment.rhos_of(size)
    for rho in rhos:
        positive(rho, "--rho")
    runs = experiment.runs_of(size) if arguments.runs is None else arguments.runs
    workers = os.cpu_count() or 1 if arguments.workers is None else arguments.workers
    command = _needs_plots(_PLAN)
    if arguments.data is not None:
        return _on_file(arguments, rhos, whole(runs, "--runs", least=1))
    order = command.PlanOrder(
        experiment,
        size,
        tuple(dict.fromkeys(map(float, rhos))),
        whole(runs, "--runs", least=1),
        whole(workers, "--workers", least=1),
        Path(arguments.out),
    )
    text: str = command.reproduce(order)
    return text


def _needs_plots(module: str) -> Any:
    """A module that needs more packages than the library."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise dp.ParameterError(
            f"reproduce needs {missing.name}, which is not installed; type: "
            'pip install "opendp_lite[plot]"'
        ) from None


def _on_file(arguments: argparse.Namespace, rhos: Sequence[float], runs: int) -> str:
    if arguments.experiment != "plan-binary":
        raise dp.ParameterError("--data FILE goes with plan-binary: it holds transactions")
    file, folder = Path(arguments.data), Path(arguments.out)
    text: str = importlib.import_module(_TRANSACTIONS).on_file(file, rhos, runs, folder)
    return text


def _free_lunch(arguments: argparse.Namespace) -> str:
    experiment = free_lunch.EXPERIMENTS[arguments.experiment]
    name = experiment.name
    if arguments.data is not None:
        raise dp.ParameterError("--data FILE goes with plan-binary: it holds transactions")
    if arguments.full:
        raise dp.ParameterError(
            f"--full: {name} makes all {free_lunch.RUNS} releases as published anyway; leave it out"
        )
    if arguments.workers is not None:
        raise dp.ParameterError(f"--workers: {name} takes seconds in one process; leave it out")
    losses = _losses(arguments, experiment)
    usual = experiment.quick_runs if arguments.quick else free_lunch.RUNS
    runs = whole(usual if arguments.runs is None else arguments.runs, "--runs", least=2)
    if runs > free_lunch.MOST_RUNS:
        raise dp.ParameterError(f"--runs: {name} holds at most {free_lunch.MOST_RUNS}, got {runs}")
    command = _needs_plots(_FREE_LUNCH)
    text: str = command.reproduce(
        command.FreeLunchOrder(experiment, losses, runs, Path(arguments.out))
    )
    return text


def _losses(
    arguments: argparse.Namespace, experiment: free_lunch.FreeLunchExperiment
) -> dict[NoiseLaw, float]:
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
        losses[law] = float(positive(given[0], option))
        if not least <= losses[law] <= most:
            raise dp.ParameterError(
                f"{option} must lie between {least:g} and {most:g}, where the estimators differ, "
                f"got {given[0]}"
            )
    return losses
