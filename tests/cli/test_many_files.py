"""Commands over patterns and directories, the line of progress, and an interruption."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp
from opendp_lite.cli import progress
from opendp_lite.cli.progress import follow_progress as followed

SECRET = "patient 42"
SUM = ["--column", "age", "--bounds", 0, 100, "--epsilon", 1e6]


def write(folder: Path, kind: str) -> Path:
    """Three files of one kind, with 9 rows of age 1, 2 and 3."""
    for place in (1, 2, 3):
        frame = pd.DataFrame({"age": np.full(9, place), "sex": ["f", "m", "f"] * 3})
        path = folder / f"{place}.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            getattr(frame, f"to_{kind}")(path)
    return folder


def sums(text: str) -> list[int]:
    """The released sums, without what little noise they have."""
    found = json.loads(text)
    return [round(each["sum"]) for each in found.get("releases", [found])]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_patterns_and_directories(made, tmp_path, kind):
    write(tmp_path, kind)
    for source in (tmp_path, tmp_path / f"*.{kind}", f"{tmp_path}/[123].{kind}"):
        assert sums(made("sum", source, *SUM, "--json")) == [54]
    grouped = made("sum", tmp_path, *SUM, "--by", "sex", "--keys", "f", "m", "--json")
    assert sums(grouped) == [36, 18]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_cannot_be_read_is_named(refused, tmp_path, kind):
    write(tmp_path, kind)
    for text in (b"", f"age\n{SECRET}\n".encode(), b"sex,income\nf,42\n"):
        (tmp_path / f"2.{kind}").write_bytes(text)
        error = refused("sum", f"{tmp_path}/*.{kind}", *SUM)
        assert f"2.{kind}: " in error
        assert "42" not in error.replace(str(tmp_path), "")
    assert "there is no file" in refused("sum", f"{tmp_path}/*.txt", *SUM)


def test_output_does_not_take_the_place_of_data(refused, tmp_path):
    write(tmp_path, "csv")
    error = refused("sum", f"{tmp_path}/*.csv", *SUM, "--output", tmp_path / "2.csv", "--force")
    assert "is a file that is read" in error


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_line_of_progress(monkeypatch):
    terminal, blocks = Terminal(), dp.Blocks(lambda: iter([np.ones(1000)] * 50))
    total = dp.clamp(0, 1) >> dp.sum()
    assert total(followed(blocks, terminal)) == 50_000
    assert terminal.getvalue() == "", "a short pass is silent"
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    assert total(followed(blocks, terminal)) == 50_000
    told = terminal.getvalue()
    assert "rows/s" in told
    assert "50000" not in told
    assert told.endswith("\r" + " " * 60 + "\r"), "the line is gone in the end"
    assert followed(blocks, io.StringIO()) is blocks


def test_an_interruption_releases_nothing(tmp_path):
    path, output = tmp_path / "x.csv", tmp_path / "r.json"
    os.mkfifo(path)
    words = ["-m", "opendp_lite", "sum", path, *SUM, "--output", output]
    running = subprocess.Popen(
        [sys.executable, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with path.open("w") as pipe:
        pipe.write("age,sex\n" + "1,f\n" * 200_000)
        pipe.flush()
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"")
    assert not output.exists()
