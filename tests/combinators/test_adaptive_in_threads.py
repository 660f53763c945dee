"""Threads that ask at once cannot spend more than the budget."""

from __future__ import annotations

import threading
import time
from fractions import Fraction

import opendp_lite as dp
from opendp_lite.measures.max_divergence import AdditiveMeasure

TENTH = dp.count() >> dp.gaussian(rho=0.1)


def test_threads_cannot_overspend_while_a_price_is_worked_out(monkeypatch):
    """Between reading what is spent and writing the price, another thread gets its turn."""

    def slow(self, losses):
        total = sum(losses, Fraction(0))
        time.sleep(0.002)
        return total

    monkeypatch.setattr(AdditiveMeasure, "compose", slow)
    outcomes, gate = [], threading.Barrier(8)

    def program(ask):
        def race():
            gate.wait()
            for _ in range(3):
                try:
                    outcomes.append(ask(TENTH))
                except dp.BudgetExceeded:
                    outcomes.append(None)

        threads = [threading.Thread(target=race) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ask.spent

    assert dp.adaptive(program, dp.rho(1))([1.0, 2.0]) == 1
    assert len(outcomes) == 24
    assert sum(each is not None for each in outcomes) == 10
