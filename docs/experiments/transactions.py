"""Transactions, baskets of items, as a sparse matrix of zeros and ones.

Binary means of a file of them are compared, and of drawn ones of the same shape.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, Literal

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tqdm import tqdm

import opendp_lite as dp
from layout import align
from plan_experiments import PlanDataset
from plan_results import draw_by_rho
from plan_runs import Result, Run, Table

Layout = Literal["baskets", "pairs"]
Whole = NDArray[np.int64]

_MOST_FULL: Final = 0.5
_LOOKED_AT: Final = 100
_SOME: Final = 1000


@attrs.frozen
class Shape:
    """The number of rows, columns and ones of a matrix."""

    rows: int
    columns: int
    ones: int


KOSARAK: Final = Shape(75_462, 27_983, 4_194_414)
POS: Final = Shape(515_596, 1657, 3_367_019)


def read_transactions(
    path: str | Path, layout: Layout | None = None, items: Sequence[int] | None = None
) -> csr_array:
    """Reads a file of transactions as a matrix of zeros and ones.

    Args:
        path: A text file, packed with gzip if its name ends in .gz.
        layout: ``"baskets"`` for a line of item numbers a transaction (FIMI), or ``"pairs"`` for a
            transaction number and an item number a line, between commas, tabs or spaces, with or
            without a header. By default the first lines decide.
        items: The item numbers that get a column, in this order. They must be public if you
            release the result. By default every item in the file gets a column, which tells
            which items occur.

    Returns:
        A row for each transaction, a column for each item. An item twice in a transaction counts
        once.

    Raises:
        DataError: If a line has another form.
        OSError: If the file cannot be read.
    """
    name = Path(path)
    with gzip.open(name, "rt") if name.suffix == ".gz" else name.open() as stream:
        lines = _number_lines(stream)
        first = list(islice(lines, _LOOKED_AT))
        chosen = layout or _layout(first, name)
        rows, found = _places([*first, *lines], chosen, name)
    if chosen == "pairs":
        _, rows = np.unique(rows, return_inverse=True)
    return _build_matrix(rows, found, items)


def synthetic_transactions(shape: Shape, seed: int = 0, skew: float = 1.0) -> csr_array:
    """Draws random transactions of a given shape.

    Args:
        shape: The number of rows, columns and ones.
        seed: The same seed gives the same matrix.
        skew: Item i is drawn in proportion to i^-skew. The lengths of the rows are skewed too, and
            at least 1 if there are enough ones.

    Returns:
        A matrix of floats with exactly that many ones.

    Raises:
        ParameterError: If the ones would fill more than half of the matrix.
    """
    if shape.ones > _MOST_FULL * shape.rows * shape.columns:
        raise dp.ParameterError(f"{shape} is more than half full; ask for fewer ones")
    random = np.random.default_rng(seed)
    popular = np.cumsum(np.arange(1, shape.columns + 1, dtype=np.float64) ** -skew)
    busy = np.cumsum(random.lognormal(0, 1, shape.rows))
    places = np.arange(min(shape.rows, shape.ones)) * shape.columns
    places += _draw_places(popular, len(places), random)
    while (missing := shape.ones - len(places)) > 0:
        tried = 2 * missing + _SOME
        rows, columns = _draw_places(busy, tried, random), _draw_places(popular, tried, random)
        fresh = np.setdiff1d(rows * shape.columns + columns, places)
        places = np.concatenate([places, random.permutation(fresh)[:missing]])
    ones = np.ones(len(places))
    shown = (shape.rows, shape.columns)
    return csr_array((ones, np.divmod(places, shape.columns)), shape=shown)


def _draw_places(weights: NDArray[np.float64], size: int, random: np.random.Generator) -> Whole:
    """Draws places in proportion to weights, given as running totals."""
    found: Whole = np.searchsorted(weights, random.random(size) * weights[-1], side="right")
    return found


Line = tuple[int, str]


def _number_lines(stream: Iterable[str]) -> Iterator[Line]:
    return ((number, line) for number, line in enumerate(stream, start=1) if line.strip())


def _layout(first: Sequence[Line], path: Path) -> Layout:
    if any("," in line or "\t" in line for _, line in first):
        return "pairs"
    if first and all(len(line.split()) == 2 for _, line in first):
        raise dp.DataError(
            f"{str(path)!r}: its lines hold two numbers each, which may be a transaction and an "
            'item or a basket of two; say layout="pairs" or layout="baskets"'
        )
    return "baskets"


def _places(lines: Iterable[Line], layout: Layout, path: Path) -> tuple[Whole, Whole]:
    """The number of the transaction and of the item for every one."""
    lengths: list[int] = []
    numbers: list[int] = []
    for number, line in lines:
        words = line.replace(",", " ").split() if layout == "pairs" else line.split()
        try:
            found = list(map(int, words))
        except ValueError:
            if layout == "pairs" and not numbers and len(words) == 2:
                continue
            raise _bad(path, number, layout) from None
        if layout == "pairs" and len(found) != 2:
            raise _bad(path, number, layout)
        lengths.append(len(found))
        numbers.extend(found)
    if layout == "pairs":
        pairs = np.array(numbers, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
    return np.repeat(np.arange(len(lengths)), lengths), np.array(numbers, dtype=np.int64)


def _bad(path: Path, number: int, layout: Layout) -> dp.DataError:
    wanted = "item numbers" if layout == "baskets" else "a transaction number and an item number"
    return dp.DataError(f"{str(path)!r}, line {number}: it should hold {wanted}")


def _build_matrix(rows: Any, found: Whole, items: Sequence[int] | None) -> csr_array:
    height = int(rows.max()) + 1 if len(rows) else 0
    names = np.unique(found) if items is None else np.asarray(items, dtype=np.int64)
    order = np.argsort(names)
    slots = np.searchsorted(names, found, sorter=order).clip(max=len(names) - 1)
    columns = order[slots]
    known = names[columns] == found
    places = np.unique(rows[known] * len(names) + columns[known])
    ones = np.ones(len(places))
    return csr_array((ones, np.divmod(places, len(names))), shape=(height, len(names)))


LABELS: Final = {
    "plan": "PLAN for bits",
    "ours": "ours (binary_mean)",
    "ours-add-remove": "ours, add/remove (weaker unit)",
}


def run_on_file(path: Path, rhos: Sequence[float], runs: int, folder: Path) -> str:
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
        OSError: If a file cannot be read or written. The runs in the table are kept.
    """
    rows = read_transactions(path)
    size, columns = len(rows.indptr) - 1, rows.sum(axis=0).size
    shares = np.asarray(rows.sum(axis=0)).ravel() / max(size, 1)
    contents = sha256(path.read_bytes()).hexdigest()[:16]
    dataset = PlanDataset(f"transactions {contents}", size, columns, 0.0)
    folder.mkdir(parents=True, exist_ok=True)
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
    return align(lines)
