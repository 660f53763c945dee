"""Small ledgers."""

import os
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import postgres, sqlite
from opendp_lite.sessions.ledger.file import LedgerFile
from tests.sessions.servers import Server, begin_server, run


@pytest.fixture
def make(tmp_path):
    """Makes a ledger in a folder of this test."""

    def made(name: str = "survey.ledger", budget=None, **settings) -> LedgerFile:
        budget = budget or dp.rho(1)
        # Prices of a test are pairs: what else such a ledger counts is in test_ledger_filter.py.
        loss = getattr(budget, "loss", None)
        whole = loss[1] if isinstance(loss, tuple) else None
        settings = {"unit": "person", "data": "survey 2026", "query_delta": whole, **settings}
        return LedgerFile.create(tmp_path / name, budget, **settings)

    return made


@pytest.fixture
def ledger(make) -> LedgerFile:
    """A new ledger of rho = 1."""
    return make()


@pytest.fixture
def elsewhere(tmp_path):
    """Where a witness stands."""
    return tmp_path / "elsewhere"


@pytest.fixture
def watched(make, elsewhere) -> LedgerFile:
    """A new ledger of rho = 1 with a witness."""
    return make(witness=elsewhere)


@pytest.fixture
def tenth() -> Fraction:
    """A price."""
    return Fraction(1, 10)


@pytest.fixture
def unmarked(monkeypatch):
    """A file system that keeps no marks."""
    monkeypatch.setattr(sqlite, "_call", lambda name: sqlite._refuse_call)


@pytest.fixture
def marked(tmp_path):
    """Skips where the file system keeps no marks."""
    (tmp_path / "mark").touch()
    try:
        os.setxattr(tmp_path / "mark", "user.test", b"x")
    except (AttributeError, OSError):
        pytest.skip("this file system keeps no marks")


@pytest.fixture(params=["a mark on the file", "its witness"])
def remembered(request) -> tuple[LedgerFile, str]:
    """A ledger, and who alone remembers its entries outside of the file."""
    marks = request.param == "a mark on the file"
    request.getfixturevalue("marked" if marks else "unmarked")
    return request.getfixturevalue("ledger" if marks else "watched"), request.param


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """A server with an owner of ledgers who is no superuser, and two analysts."""
    found = begin_server()
    run(
        found.url("owner", "postgres"),
        "CREATE ROLE dana LOGIN",
        "CREATE ROLE analysts",
        "CREATE ROLE ann LOGIN PASSWORD 'p@ss/w:rd' IN ROLE analysts",
        "CREATE ROLE bob LOGIN IN ROLE analysts",
        "CREATE DATABASE survey OWNER dana",
    )
    yield found
    postgres.close_resting()
    found.stop("immediate")
    shutil.rmtree(found.folder, ignore_errors=True)


@pytest.fixture
def url(server, tmp_path, monkeypatch) -> Callable[..., str]:
    """The URL of a user; no ledger stands there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run(server.url("dana", "survey"), "DROP SCHEMA IF EXISTS opendp_lite CASCADE")
    return lambda user, database="survey": server.url(user, database)
