"""The command line in this process, and small files for it."""

import json
from pathlib import Path

import pytest

from opendp_lite import cli


@pytest.fixture
def run(capsys):
    """Runs the command line in this process: its status, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def refused(run):
    """Runs a command that is refused: its message, without anything on standard output."""

    def call(*words: object) -> str:
        status, out, err = run(*words)
        assert (status, out) == (2, "")
        assert "Traceback" not in err
        return err

    return call


@pytest.fixture
def table(tmp_path):
    """Writes a CSV file of this text."""

    def write(text: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


SURVEY = """id,sex,age,education,income
a,f,5,1,1000
a,f,15,2.0,2000
b,m,25,3,3000
b,M,12,2,4000
c, f ,30,1.0,
d,NA,7,4,6000
,m,8,3,8000
"""


@pytest.fixture
def survey(table) -> Path:
    """Seven rows: two people have two, one has no id; a sex and an income are missing."""
    return table(SURVEY, "survey.csv")


@pytest.fixture
def made(run):
    """Runs a command that succeeds: its standard output."""

    def call(*words: object) -> str:
        status, out, err = run(*words)
        assert (status, err) == (0, "")
        return out

    return call


@pytest.fixture
def told(made):
    """Runs a command that succeeds: its JSON."""

    def call(*words: object):
        return json.loads(made(*words, "--json"))

    return call
