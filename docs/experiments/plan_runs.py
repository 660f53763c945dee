"""The runs of an experiment in a CSV file, and making those that are missing."""

from __future__ import annotations

import csv
import io
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from time import perf_counter

import attrs

import opendp_lite as dp
from plan_estimators import EMPIRICAL, estimate, estimators_of
from plan_experiments import PlanDataset, PlanExperiment, Size, draw_sample


@attrs.frozen
class Run:
    """One release. ``rho`` is infinite if nothing is private."""

    dataset: PlanDataset
    estimator: str
    rho: float
    run: int


@attrs.frozen
class Result:
    """A finished run."""

    run: Run
    error_true: float
    error_empirical: float
    seconds: float


FIELDS = (
    "experiment",
    "estimator",
    "n",
    "d",
    "alpha",
    "rho",
    "run",
    "seed",
    "error_true",
    "error_empirical",
    "seconds",
)


@attrs.frozen
class Table:
    """A CSV file of results. Its last line may be cut off."""

    path: Path

    def results(self) -> dict[Run, Result]:
        """The finished runs.

        Raises:
            DataError: If the file holds something else.
        """
        return {each.run: each for each in self._lines()}

    def open(self) -> None:
        """Writes the header if there is none, and removes a broken last line."""
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text or not whole:
            self.path.write_bytes(whole or _line(FIELDS).encode())

    def append(self, result: Result) -> None:
        """Appends a line."""
        with self.path.open("a", newline="", encoding="utf-8") as stream:
            stream.write(_line(_cells(result)))

    def _lines(self) -> Iterator[Result]:
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        reader = csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))
        if "\n" not in text:
            return
        if tuple(next(reader, ())) != FIELDS:
            raise dp.DataError(
                f"{str(self.path)!r} is not a table of runs: its first line is another; give "
                "another folder with --out, or move the file away"
            )
        for cells in reader:
            try:
                yield _result(cells)
            except ValueError:
                raise dp.DataError(
                    f"{str(self.path)!r}, line {reader.line_num}, is not a run of this program; "
                    "delete the line, and the run is made again"
                ) from None


def _line(cells: tuple[object, ...]) -> str:
    return ",".join(map(str, cells)) + "\n"


def _cells(result: Result) -> tuple[object, ...]:
    run, data = result.run, result.run.dataset
    setting = (data.experiment, run.estimator, data.n, data.d, data.alpha, run.rho, run.run)
    found = (result.error_true, result.error_empirical, round(result.seconds, 4))
    return (*setting, data.seed(run.run), *found)


def _result(cells: list[str]) -> Result:
    experiment, estimator, n, d, alpha, rho, run, seed, true, empirical, seconds = cells
    dataset = PlanDataset(experiment, int(n), int(d), float(alpha))
    if dataset.seed(int(run)) != int(seed):
        raise ValueError(seed)
    which = Run(dataset, estimator, float(rho), int(run))
    return Result(which, float(true), float(empirical), float(seconds))


_OVERHEAD = 0.03


def list_runs(
    experiment: PlanExperiment, size: Size, rhos: Sequence[float], runs: int
) -> tuple[Run, ...]:
    """All runs of an experiment: once through every setting, then again."""
    return tuple(
        Run(dataset, name, rho, run)
        for run in range(runs)
        for series in experiment.series
        for dataset in series.datasets(size)
        for name in experiment.estimators
        for rho in ((inf,) if name == EMPIRICAL else rhos)
    )


def measure(run: Run) -> Result:
    """One release and its errors."""
    sample = draw_sample(run.dataset, run.run)
    start = perf_counter()
    found = estimate(run.dataset.experiment, run.estimator, sample, run.rho)
    seconds = perf_counter() - start
    true, empirical = (sample.distance(found, to) for to in (sample.true, sample.empirical))
    return Result(run, true, empirical, seconds)


def estimate_seconds(runs: Sequence[Run], workers: int) -> float:
    """About how long the runs take."""
    total = 0.0
    for each in runs:
        estimator = estimators_of(each.dataset.experiment)[each.estimator]
        total += _OVERHEAD + estimator.cost * each.dataset.n * each.dataset.d / 1e6
    return total / workers


def run_all(
    runs: Sequence[Run], table: Table, workers: int, finished: Callable[[Result], None]
) -> None:
    """Makes the runs and appends each result to the table at once."""
    with closing(_measure_all(runs, workers)) as results:
        for result in results:
            table.append(result)
            finished(result)


def _measure_all(runs: Sequence[Run], workers: int) -> Generator[Result, None, None]:
    if workers == 1 or len(runs) == 1:
        yield from map(measure, runs)
        return
    with _pool(min(workers, len(runs))) as pool:
        try:
            for future in as_completed([pool.submit(measure, run) for run in runs]):
                yield future.result()
        except BrokenProcessPool:
            raise dp.OpenDPLiteError(
                "a process was ended from outside, perhaps because memory ran out. Finished runs "
                "are kept; give the same command again with --workers 1"
            ) from None


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """New processes, which share no randomness and end with this one."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn"),
        signal.signal,
        (signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()
