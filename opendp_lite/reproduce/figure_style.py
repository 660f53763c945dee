"""The style of all figures, and writing them. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from opendp_lite.reproduce.output import writing

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


def write(figure: Figure, paths: Sequence[Path]) -> None:
    """Writes a figure to every path, in the format of its ending.

    It has no date, so that the same runs give the same file.

    Raises:
        OutputError: If a file cannot be written.
    """
    FigureCanvasAgg(figure)
    for path in paths:
        undated = {"Date": None} if path.suffix == ".svg" else {}
        with writing(path):
            figure.savefig(path, dpi=_DPI, bbox_inches="tight", metadata=undated)
