"""The integers of a sum, as docs/grid.md has them: by its formulas, in numpy, SQL and C."""

import csv
import re
import shutil
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, isfinite
from pathlib import Path

import attrs
import duckdb
import pandas as pd
import pytest

import opendp_lite as dp

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/grid.md").read_text("utf-8")


@attrs.frozen
class Row:
    """A row of the table."""

    lower: str
    upper: str
    exponent: int = attrs.field(converter=int)
    least: int = attrs.field(converter=int)
    most: int = attrs.field(converter=int)
    value: float = attrs.field(converter=float)
    steps: int = attrs.field(converter=int)


with (ROOT / "docs/data/steps_of_sums.csv").open(encoding="utf-8") as file:
    ROWS = [Row(**each) for each in csv.DictReader(file)]


def listing(language: str) -> str:
    """The only code of a language on the page."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def floor_log2(number: Fraction) -> int:
    """The largest k with 2^k <= number."""
    about = number.numerator.bit_length() - number.denominator.bit_length()
    return about if Fraction(2) ** about <= number else about - 1


def test_the_table_is_what_the_formulas_and_the_library_say():
    for row in ROWS:
        require(row)


def require(row: Row) -> None:
    """The grid and the integer of a row follow from the formulas, and are the library's."""
    lower, upper = Fraction(row.lower), Fraction(row.upper)
    reach, width = floor_log2(max(-lower, upper)), floor_log2(upper - lower)
    assert row.exponent == max(min(reach - 40, width - 20), reach - 50)
    unit = Fraction(2) ** row.exponent
    assert (row.least, row.most) == (ceil(lower / unit), floor(upper / unit))
    end = row.most if row.value > 0 else row.least
    nearest = round(Fraction(row.value) / unit) if isfinite(row.value) else end
    assert row.steps == min(max(nearest, row.least), row.most), row
    (total,) = (dp.clamp(float(row.lower), float(row.upper)) >> dp.sum())([row.value])
    assert Fraction(float(total)) == row.steps * unit, row


def test_the_table_has_what_is_hard():
    values = {row.value for row in ROWS}
    assert len(ROWS) == int(re.search(r"has (\d+) rows", PAGE)[1])
    assert {float("inf"), float("-inf"), 5e-324} < values
    ties = [row for row in ROWS if (Fraction(2) ** (1 - row.exponent) * exact(row.value)) % 2 == 1]
    assert {row.steps % 2 for row in ties if row.least < row.steps < row.most} == {0}


def exact(value: float) -> Fraction:
    return Fraction(value) if isfinite(value) else Fraction(0)


def test_sql_gives_the_integers():
    columns = "exponent", "least", "most", "value"
    numbers = pd.DataFrame({name: [getattr(row, name) for row in ROWS] for name in columns})
    with duckdb.connect() as connection:
        connection.register("numbers", numbers)
        found = [each for (each,) in connection.execute(listing("sql")).fetchall()]
    assert found == [row.steps for row in ROWS]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_gives_the_integers(tmp_path):
    main = """
#include <stdio.h>
int main(void) {
    double value; int exponent; long long least, most;
    while (scanf("%lf %d %lld %lld", &value, &exponent, &least, &most) == 4)
        printf("%lld\\n", (long long)steps(value, exponent, least, most));
}
"""
    source, program = tmp_path / "steps.c", tmp_path / "steps"
    source.write_text(listing("c") + main, "utf-8")
    subprocess.run(["cc", "-O2", str(source), "-o", str(program), "-lm"], check=True)
    lines = [f"{row.value!r} {row.exponent} {row.least} {row.most}" for row in ROWS]
    assert run(program, lines) == [row.steps for row in ROWS]


def run(program: Path, lines: Sequence[str]) -> list[int]:
    asked = "\n".join(lines)
    found = subprocess.run([str(program)], input=asked, capture_output=True, text=True, check=True)
    return [int(each) for each in found.stdout.split()]
