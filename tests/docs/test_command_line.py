"""What the page on the command line shows is what is printed, apart from the noise."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from opendp_lite import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/command-line.md").read_text()
SHOWN = re.findall(r"```\nopendp-lite (.*?)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)


def told(text: str) -> str:
    """Text with its released numbers taken out, which noise changes."""
    head, dashes, rest = text.partition("protected")
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", head) + dashes + rest).strip()


@pytest.mark.parametrize(("typed", "output"), SHOWN)
def test_what_is_shown_is_what_is_printed(typed, output, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.main(shlex.split(typed)) == 0
    assert told(capsys.readouterr().out) == told(output)


def test_all_are_found():
    assert len(SHOWN) == 5
