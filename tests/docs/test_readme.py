"""What the README shows is what you get."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

import opendp_lite as dp

README = (Path(__file__).parents[2] / "README.md").read_text()
CODE, OUTPUT = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)[0]
TYPED = re.findall(r"^\| [^|]+ \| `(dp\.[^|]+)` \|$", README, re.MULTILINE)
NUMBER = re.compile(r"\d+\.\d+")


def test_the_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The noise moves a number by about 0.016: ten times that has a chance of below 1e-7."""
    exec(CODE, {})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", OUTPUT)
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (printed, OUTPUT)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.3)


@pytest.mark.parametrize("typed", TYPED)
def test_what_you_type_works(typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ages.csv").write_text("age\n23\n31\n")
    (tmp_path / "ages").mkdir()
    parquet.write_table(arrow.table({"age": [23.0, 31.0]}), tmp_path / "ages" / "1.parquet")
    monkeypatch.chdir(tmp_path)
    table = {"age": np.array([23.0, 31.0])}
    found = eval(typed, {"dp": dp, "df": table})
    if isinstance(found, dp.Mechanism | dp.Measurement):
        loss = found.map(1)
        assert 0 < (loss[0] if isinstance(loss, tuple) else loss) <= 2


def test_the_table_is_read() -> None:
    assert len(TYPED) >= 10
