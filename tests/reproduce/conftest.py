"""What tests of the experiments share."""

from __future__ import annotations

import pytest

from opendp_lite import cli


@pytest.fixture
def run(capsys):
    """Runs ``reproduce`` in this process: its status, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        try:
            status = cli.main(["reproduce", *map(str, words)])
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call
