"""Threads that begin at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import opendp_lite as dp


def race(count: int, work: Callable[[], object]) -> list[object]:
    """What each of so many threads was given; nothing of those for whom the budget was spent."""
    gate = Barrier(count)

    def run() -> list[object]:
        gate.wait()
        try:
            return [work()]
        except dp.BudgetExceeded:
            return []

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(run) for _ in range(count)]
        return [found for each in running for found in each.result()]
