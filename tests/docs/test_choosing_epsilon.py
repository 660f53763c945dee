"""The tables of the page on choosing epsilon hold what the pipelines say."""

from __future__ import annotations

import re
from math import ceil, floor
from pathlib import Path

import pytest

import opendp_lite as dp

PAGE = (Path(__file__).parents[2] / "docs/choosing-epsilon.md").read_text()
ROWS = [
    [float(cell) for cell in re.findall(r"[\d.]+", line.replace(" %", ""))]
    for line in PAGE.splitlines()
    if re.match(r"\| [\d.]+ \|", line)
]
PURE = [row for row in ROWS if len(row) == 5]
GAUSSIAN = [row for row in ROWS if len(row) == 6]


def told(pipeline: dp.Mechanism) -> list[float]:
    """The right guesses, rounded up, and the share that a test misses, rounded down."""
    guess = float(pipeline.statement().loss.guess)
    return [ceil(1000 * guess) / 10, floor(100 * pipeline.tradeoff(0.05))]


@pytest.mark.parametrize("row", PURE, ids=str)
def test_laplace_noise(row: list[float]) -> None:
    epsilon, odds, *chances, error = row
    count = dp.count() >> dp.laplace(epsilon=epsilon)
    assert count.odds() == pytest.approx(odds, abs=0.01)
    assert told(count) == chances
    assert count.accuracy(0.95) == error


@pytest.mark.parametrize("row", GAUSSIAN, ids=str)
def test_gaussian_noise(row: list[float]) -> None:
    rho, mu, epsilon, *chances, error = row
    count = dp.count() >> dp.gaussian(rho=rho)
    assert mu**2 / 2 == pytest.approx(rho, rel=0.05)
    assert count.epsilon(delta=1e-6) == pytest.approx(epsilon, abs=0.01)
    assert told(count) == chances
    assert count.accuracy(0.95) == pytest.approx(error, rel=0.025)


def test_both_tables_are_read() -> None:
    assert (len(PURE), len(GAUSSIAN)) == (5, 4)
