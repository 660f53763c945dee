"""The experiments stand beside the documentation, outside of the package."""

import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments"
sys.path.insert(0, str(EXPERIMENTS))


@pytest.fixture
def run(capsys):
    """Runs an experiment in this process: its status, standard output and standard error."""
    from command_line import main

    def call(*words: object) -> tuple[int, str, str]:
        try:
            status = main(list(map(str, words)))
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call
