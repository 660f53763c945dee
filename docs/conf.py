"""How Sphinx builds the documentation site. ``python3 start.py docs`` runs it."""

from __future__ import annotations

import sys
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "opendp_lite"
author = "the authors of opendp_lite"
copyright = f"2026, {author}"
release = metadata.version("opendp_lite")
extensions = ["myst_nb", "_ext.alternatives", "_ext.formulas", "_ext.names"]
exclude_patterns = ["conf.py", "notebooks/download/*"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
highlight_language = "text"
"""Of a block that names none: what a page prints is no Python."""
nb_execution_mode = "auto"
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
"""What a loop prints is one block."""
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
html_theme = "furo"
html_title = f"opendp_lite {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# A browser reads no other file for a page that is opened from a disk.
_NO_SUMMARIES = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
html_js_files = ["copy.js", "run.js", (None, {"body": _NO_SUMMARIES})]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_math_renderer = "mathml"
html_copy_source = False
html_use_index = False
add_module_names = False
python_maximum_signature_line_length = 84
toc_object_entries = False


def setup(app: Sphinx) -> None:
    """Registers what folds the contents beside a page."""
    # Before furo asks for the contents, at 500.
    app.connect("html-page-context", _fold, priority=400)


def _fold(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Lists beside a page what is above, beside and below it.

    furo would write all names of the reference beside each of 300 pages. Beside a name stands what
    stands beside its room, which is made once: making it anew took a third of the time of a build.
    """
    rooms = app.env.toctree_includes.items()
    listed = next((room for room, names in rooms if page in names), page)
    beside = listed if listed.startswith("reference/") else page
    whole = partial(app.builder._get_local_toctree, beside)
    context["toctree"] = lambda **options: whole(**options | {"collapse": True})
