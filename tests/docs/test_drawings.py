"""The drawings of pipelines on the pages are the pipelines' own."""

import re
from pathlib import Path
from typing import Final

import pytest

import opendp_lite as dp

DOCS: Final = Path(__file__).parents[2] / "docs"
_PEOPLE: Final = dp.records(columns=["id", "sex", "city", "visits"], person="id")
_SUM: Final = dp.clamp(0, 40) >> dp.sum() >> dp.laplace(epsilon=1)
_VOTES: Final = dp.records(columns=3) >> dp.clip_to_norm(1, p=1) >> dp.sum()
DRAWINGS = {
    "distributions": dp.cdf(0, 100, rho=0.03, confidence=0.95),
    "groups": dp.by("sex", ["f", "m"], dp.select("age") >> _SUM),
    "histograms": dp.histogram("education", categories=range(1, 17), epsilon=1),
    "index": dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.03),
    "mean": dp.mean(0, 100, epsilon=1),
    "people": _PEOPLE >> dp.bound_contributions(3) >> dp.select("visits") >> _SUM,
    "pipelines": dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1),
    "sampling": dp.sample(0.1, dp.private_quantile(0.5, bounds=(0, 100), epsilon=1)),
    "selection": _VOTES >> dp.noisy_max(epsilon=1, names=["tea", "coffee", "water"]),
}
"""By page: the pipeline that its text shows."""


def drawn(page: str) -> str:
    """A drawing on white: its words are black on any page."""
    return DRAWINGS[page].draw().svg.replace('style="', 'style="background:white;', 1) + "\n"


def picture(page: str) -> Path:
    return DOCS / f"pictures/pipeline_{page}.svg"


@pytest.mark.parametrize("page", DRAWINGS)
def test_the_drawing_is_that_of_the_pipeline(page):
    """Else write all anew: python -m tests.docs.test_drawings"""
    assert picture(page).read_text("utf-8") == drawn(page)
    # On one line: Sphinx would join the words of two without a space.
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert re.search(rf"^!\[.{{40,}}\]\(pictures/{picture(page).name}\)$", text, re.MULTILINE)


if __name__ == "__main__":
    for each in DRAWINGS:
        picture(each).write_text(drawn(each), "utf-8")
