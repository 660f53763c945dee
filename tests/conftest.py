"""Spaces and data that many tests share."""

import gc
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.accounts import MemoryAccount, Order, Receipt
from opendp_lite.pipeline.step_call import forget_steps
from opendp_lite.samplers.entropy import InsecureSeededEntropy

REPLACE = dp.ChangeOneDistance()
gc.disable()  # until all tests are collected: they are kept, so looking for garbage takes a quarter
gc.set_threshold(50_000)  # looking every 700 objects took 5 to 8 % of the time of tests of maps


def pytest_collection_finish() -> None:
    """What was collected is not looked through again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(params=["add or remove", "replace"])
def relation(request: pytest.FixtureRequest):
    """A function from columns to the space of each neighbour relation."""

    def space(columns: int = 1) -> dp.Space[dp.Rows]:
        if request.param == "replace":
            return dp.records(columns=columns, size=50, metric=REPLACE)
        return dp.records(columns=columns)

    return space


@pytest.fixture
def wild() -> np.ndarray:
    """Numbers that trip floats."""
    return np.array(
        [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1e-310, 1.0, 2.0**53]
    )


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The prices of all queries of programs, as they are paid."""
    prices: list[Fraction] = []
    pay = MemoryAccount.pay

    def spied(account: MemoryAccount, order: Order) -> Receipt:
        receipt = pay(account, order)
        prices.append(Fraction(order.price))
        return receipt

    monkeypatch.setattr(MemoryAccount, "pay", spied)
    return prices


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases from one fixed seed, so that an audit fails by chance never."""
    entropy = InsecureSeededEntropy(20)
    algebra = import_module("opendp_lite.pipeline.core")
    monkeypatch.setattr(algebra, "SecureEntropy", lambda: entropy)


class Patches(pytest.MonkeyPatch):
    """Forgets the steps that were built before: a kept one would be used in place of a new one."""

    def setattr(self, *args, **kwargs) -> None:
        forget_steps()
        super().setattr(*args, **kwargs)

    def undo(self) -> None:
        super().undo()
        forget_steps()


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    patches = Patches()
    yield patches
    patches.undo()
