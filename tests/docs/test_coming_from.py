"""What the page on other libraries says to type can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opendp_lite as dp

PAGE = (Path(__file__).parents[2] / "docs/coming-from.md").read_text()
ROW = re.compile(r"^\| [^|]+ \| (.+) \|$", re.MULTILINE)
TYPED = sorted(
    {
        code
        for cell in ROW.findall(PAGE)
        for code in re.findall(r"`(\(?dp\.[^`]+)`", cell)
        if "..." not in code
    }
)
COUNT = dp.count() >> dp.laplace(epsilon=1)
COLUMN = [1.0, 2.0, 3.0]
GIVEN = {
    "dp": dp,
    "data": COLUMN,
    "x": COLUMN,
    "table": {"x": COLUMN},
    "lower": 0,
    "upper": 1,
    "first": COUNT,
    "second": COUNT,
    "pipeline": COUNT,
    "program": lambda ask: ask(dp.count() >> dp.gaussian(rho=0.1)),
}


@pytest.mark.parametrize("typed", TYPED)
def test_it_can_be_typed(typed: str) -> None:
    eval(typed, GIVEN)


def test_the_tables_are_read() -> None:
    assert len(TYPED) > 40
