"""Binary means of a file of transactions: Kosarak, POS or another. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import numpy as np
from tqdm import tqdm

import opendp_lite as dp
from opendp_lite.reproduce.output import make_folder
from opendp_lite.reproduce.plan_figures import draw_by_rho
from opendp_lite.reproduce.plan_settings import PlanDataset
from opendp_lite.reproduce.plan_summary import aligned
from opendp_lite.reproduce.plan_table import Result, Run, Table
from opendp_lite.reproduce.transactions import read_transactions

LABELS: Final = {
    "plan": "PLAN for bits",
    "ours": "ours (binary_mean)",
    "ours-add-remove": "ours, add/remove (weaker unit)",
}


def on_file(path: Path, rhos: Sequence[float], runs: int, folder: Path) -> str:
    """Makes the runs that are missing and draws the figure.

    An error is half the l1 distance to the shares of the items in the file. The items that occur
    are treated as public. If the file is private, they are not.

    Args:
        path: A file of transactions.
        rhos: The budgets.
        runs: How often each estimator runs at each budget.
        folder: Where the table and the figure go.

    Returns:
        The text to print.

    Raises:
        DataError: If a line of the file is no transaction.
        OutputError: If a file cannot be written. The runs in the table are kept.
    """
    rows = read_transactions(path)
    size, columns = len(rows.indptr) - 1, rows.sum(axis=0).size
    shares = np.asarray(rows.sum(axis=0)).ravel() / max(size, 1)
    contents = sha256(path.read_bytes()).hexdigest()[:16]
    dataset = PlanDataset(f"transactions {contents}", size, columns, 0.0)
    make_folder(folder)
    table = Table(folder / f"plan-binary-{path.name.partition('.')[0]}.csv")
    known = table.results()
    wanted = [
        Run(dataset, name, rho, run) for run in range(runs) for name in LABELS for rho in rhos
    ]
    table.open()
    missing = [run for run in wanted if run not in known]
    for run in tqdm(missing, unit="run", file=sys.stderr, dynamic_ncols=True):
        start = perf_counter()
        found = _pipeline(run)(rows)
        seconds = perf_counter() - start
        error = float(np.abs(found - shares).sum() / 2)
        known[run] = Result(run, error, error, seconds)
        table.append(known[run])
    results = [known[run] for run in wanted]
    pictures = [table.path.with_suffix(f".{kind}") for kind in ("png", "svg")]
    title = f"{path.name}: {size} rows, {columns} columns, {rows.nnz} ones"
    draw_by_rho(title, LABELS, results, pictures)
    written = "\n".join(f"written: {file}" for file in (table.path, *pictures))
    return f"{_summary(rhos, results)}\n\n{written}"


def _pipeline(run: Run) -> Any:
    size, columns = run.dataset.n, run.dataset.d
    replaced = dp.records(columns=columns, size=size, metric=dp.ChangeOneDistance())
    space = dp.records(columns=columns) if run.estimator == "ours-add-remove" else replaced
    return space >> dp.estimators.binary_mean(rho=run.rho, published=run.estimator == "plan")


def _summary(rhos: Sequence[float], results: Sequence[Result]) -> str:
    lines = [["median of half the l1 error", *(f"rho {rho:g}" for rho in rhos), "seconds"]]
    for name, label in LABELS.items():
        mine = [each for each in results if each.run.estimator == name]
        errors = [
            median(each.error_empirical for each in mine if each.run.rho == rho) for rho in rhos
        ]
        seconds = median(each.seconds for each in mine)
        lines.append([label, *(f"{error:.4g}" for error in errors), f"{seconds:.2f}"])
    return aligned(lines)
