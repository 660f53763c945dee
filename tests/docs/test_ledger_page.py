"""What the page on ledgers shows is what is printed, apart from times and hashes."""

from __future__ import annotations

import re
import shlex
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from opendp_lite import cli
from opendp_lite.sessions.ledger.file import LedgerFile

PAGE = (Path(__file__).parents[2] / "docs/ledger.md").read_text()
SHOWN = re.findall(r"```\n((?:opendp-lite|sqlite3) .*?)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)
TYPED = re.findall(r"^\| [^|]+ \| `(opendp-lite ledger [^|]+)` \|$", PAGE, re.MULTILINE)


def told(text: str) -> str:
    """Text without what differs between two ledgers."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    return re.sub(r"[0-9a-f]{12,}", "HASH", text).strip()


@pytest.fixture
def survey(tmp_path, monkeypatch, capsys) -> LedgerFile:
    """The ledger of the page: after its first command, the first session and two releases."""
    monkeypatch.chdir(tmp_path)
    typed, output = SHOWN[0]
    assert cli.main(shlex.split(typed)[1:]) == 0
    assert told(capsys.readouterr().out) == told(output)
    ledger = LedgerFile.open("survey.ledger")
    schema = """{"neighbours": "adding or removing one person, """
    schema += """dp.metrics.SymmetricIdDistance('id')"}"""
    ledger.admit("data 1", "a keyed hash of their content", schema=schema)
    ledger.finish(ledger.reserve(Fraction(1, 10), asked="{}", note="table 3").number)
    ledger.reserve(Fraction(1, 4), asked="{}", note="table 4")
    return ledger


def test_what_is_shown_is_what_is_printed(survey, capsys):
    (show, output), (sqlite, rows) = SHOWN[1:]
    assert cli.main(shlex.split(show)[1:]) == 0
    assert told(capsys.readouterr().out) == told(output)
    try:
        found = subprocess.run(shlex.split(sqlite), capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("the command sqlite3 is not installed")
    assert found.stdout == rows


def test_what_you_type_works(survey, capsys):
    assert len(TYPED) == 4
    for typed in TYPED:
        assert cli.main(shlex.split(typed)[1:]) == 0, capsys.readouterr().err
