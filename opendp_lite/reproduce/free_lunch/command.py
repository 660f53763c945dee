"""One experiment from the releases to the figure. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import attrs
from tqdm import tqdm

import opendp_lite as dp
from opendp_lite.reproduce.free_lunch.cells import cells, estimators_of
from opendp_lite.reproduce.free_lunch.figures import FIGURES, draw
from opendp_lite.reproduce.free_lunch.laws import Law
from opendp_lite.reproduce.free_lunch.settings import Experiment
from opendp_lite.reproduce.free_lunch.summary import comparison
from opendp_lite.reproduce.free_lunch.table import refuse_others, write


@attrs.frozen
class Order:
    """What is to be simulated, at which loss of each law, and where its files go."""

    experiment: Experiment
    losses: Mapping[Law, float]
    runs: int
    folder: Path


def reproduce(order: Order) -> str:
    """Simulates all cells, writes the table and the figure; gives the text to print."""
    experiment = order.experiment
    try:
        order.folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise dp.ParameterError(
            f"--out: {str(order.folder)!r} is no folder; give another"
        ) from None
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
