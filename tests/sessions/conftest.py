"""Small ledgers."""

from __future__ import annotations

from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger.file import LedgerFile


@pytest.fixture
def make(tmp_path):
    """Makes a ledger in a folder of this test."""

    def made(name: str = "survey.ledger", budget=None, **settings) -> LedgerFile:
        settings = {"unit": "person", "data": "survey 2026", **settings}
        return LedgerFile.create(tmp_path / name, budget or dp.rho(1), **settings)

    return made


@pytest.fixture
def ledger(make) -> LedgerFile:
    """A new ledger of rho = 1."""
    return make()


@pytest.fixture
def tenth() -> Fraction:
    """A price."""
    return Fraction(1, 10)
