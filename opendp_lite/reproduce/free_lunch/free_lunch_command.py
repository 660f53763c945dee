"""One experiment from the releases to the figure. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import attrs
from tqdm import tqdm

from opendp_lite.reproduce.free_lunch.free_lunch_cells import cells, estimators_of
from opendp_lite.reproduce.free_lunch.free_lunch_figures import FIGURES, draw
from opendp_lite.reproduce.free_lunch.free_lunch_settings import FreeLunchExperiment
from opendp_lite.reproduce.free_lunch.free_lunch_summary import comparison
from opendp_lite.reproduce.free_lunch.free_lunch_table import refuse_others, write
from opendp_lite.reproduce.free_lunch.noise_laws import NoiseLaw
from opendp_lite.reproduce.output import make_folder


@attrs.frozen
class FreeLunchOrder:
    """The simulation, the loss for each noise, and the folder for its files."""

    experiment: FreeLunchExperiment
    losses: Mapping[NoiseLaw, float]
    runs: int
    folder: Path


def reproduce(order: FreeLunchOrder) -> str:
    """Simulates all cells and writes the table and the figure.

    Args:
        order: The experiment with its losses and its number of releases.

    Returns:
        The text to print.

    Raises:
        DataError: If a file of another kind has the table's name.
        OutputError: If a file cannot be written.
    """
    experiment = order.experiment
    make_folder(order.folder)
    path = order.folder / f"{experiment.name}.csv"
    refuse_others(path)
    number = len(experiment.datasets) * sum(len(estimators_of(law)) for law in experiment.laws)
    print(
        f"{experiment.name}: {number} cells of {order.runs} releases", file=sys.stderr, flush=True
    )
    with tqdm(
        total=number * order.runs,
        unit="release",
        unit_scale=True,
        file=sys.stderr,
        dynamic_ncols=True,
    ) as bar:
        found = cells(experiment, order.losses, order.runs, bar.update)
    write(path, found)
    files = [path]
    if experiment.name in FIGURES:
        pictures = [path.with_suffix(f".{kind}") for kind in ("png", "svg")]
        draw(experiment.name, found, pictures)
        files += pictures
    return "\n\n".join([comparison(found), "\n".join(f"written: {file}" for file in files)])
