"""Makes the runs that are not in the table yet, on all cores."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from math import inf
from time import perf_counter

import opendp_lite as dp
from opendp_lite.reproduce.plan_data import draw
from opendp_lite.reproduce.plan_estimators import EMPIRICAL, estimate, estimators_of
from opendp_lite.reproduce.plan_settings import PlanExperiment, Size
from opendp_lite.reproduce.plan_table import Result, Run, Table

_OVERHEAD = 0.03


def planned(
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
    sample = draw(run.dataset, run.run)
    start = perf_counter()
    found = estimate(run.dataset.experiment, run.estimator, sample, run.rho)
    seconds = perf_counter() - start
    true, empirical = (sample.distance(found, to) for to in (sample.true, sample.empirical))
    return Result(run, true, empirical, seconds)


def expected_seconds(runs: Sequence[Run], workers: int) -> float:
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
    with closing(_results(runs, workers)) as results:
        for result in results:
            table.append(result)
            finished(result)


def _results(runs: Sequence[Run], workers: int) -> Generator[Result, None, None]:
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
