"""The first page: its drawing is the pipeline's own."""

from __future__ import annotations

from pathlib import Path

import opendp_lite as dp

PICTURE = Path(__file__).parents[2] / "docs/pictures/pipeline.svg"


def drawn() -> str:
    """The pipeline of docs/index.md, on white: its words are black on any page."""
    pipeline = dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.03)
    return pipeline.draw().svg.replace('style="', 'style="background:white;', 1) + "\n"


def test_the_drawing_is_that_of_the_pipeline() -> None:
    """Else write it anew: python -m tests.docs.test_landing_page"""
    assert PICTURE.read_text("utf-8") == drawn()


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
