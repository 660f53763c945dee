"""The pages of the site are written by docs/_ext, which stands outside of the package."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--site", type=Path, help="the folder of a site that was just built")


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``start.py docs`` builds it: a warning of Sphinx is a failure."""
    # Where all tests run, pytest reads this file too late for an option.
    if (built := request.config.getoption("site", None)) is not None:
        return Path(built).resolve()
    if lacking := [name for name in ("sphinx", "furo", "myst_nb") if find_spec(name) is None]:
        pytest.skip(f"pip install '.[docs]' first: {lacking} are missing")
    folder = tmp_path_factory.mktemp("build")
    program = [sys.executable, str(ROOT / "docs/_ext/build_site.py"), str(folder)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder / "site"
