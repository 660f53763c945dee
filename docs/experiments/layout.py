"""The style of all figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

RULES: Final[Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "grid.linewidth": 0.5,
    "grid.color": "0.88",
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.fonttype": "none",
    "svg.hashsalt": "opendp_lite",
}
_DPI: Final = 150


def write_figure(figure: Figure, paths: Sequence[Path]) -> None:
    """Writes a figure to every path, in the format of its ending.

    It has no date, so that the same runs give the same file.
    """
    FigureCanvasAgg(figure)
    for path in paths:
        undated = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=_DPI, bbox_inches="tight", metadata=undated)


def align(lines: Sequence[Sequence[str]]) -> str:
    """Columns of text, all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
