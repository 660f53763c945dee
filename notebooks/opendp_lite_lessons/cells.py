"""Runs a cell of a page in the browser, as a notebook would: see docs/_static/run.js."""

from __future__ import annotations

import logging
import sys
import warnings
from base64 import b64encode
from html import escape
from io import BytesIO
from typing import Any

# Only Pyodide has it, and nothing else imports this module.
from pyodide.code import eval_code

import opendp_lite as dp

# It says that it looks for fonts, which is true of every first picture here.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
# A page is no screen, and its pictures are taken from pyplot below.
warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")


def run(code: str, names: dict[str, Any]) -> str:
    """Prints what a cell prints; returns its last value and its pictures, as HTML."""
    value = eval_code(code, names)
    shown = "" if value is None else f"<pre>{escape(repr(value))}</pre>"
    if hasattr(value, "_repr_html_"):
        shown = value._repr_html_()
    # A page that draws nothing has not fetched matplotlib.
    plt = sys.modules.get("matplotlib.pyplot")
    for number in [] if plt is None else plt.get_fignums():
        figure = plt.figure(number)
        words = " ".join(dp.plotting.alt_text(axes) for axes in figure.axes)
        file = BytesIO()
        figure.savefig(file, format="png", bbox_inches="tight")
        plt.close(figure)
        source = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
        shown += f'<img src="{source}" alt="{escape(words)}">'
    return shown
