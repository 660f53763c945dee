"""Pictures of the lessons say in words what they show, for readers who do not see them.

A lesson on the site begins with a cell that nobody sees. It hands the words of
``dp.plotting.alt_text`` on with each picture, and the page takes them up.
"""

from __future__ import annotations

from typing import Any, Final

from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

_LOGGER: Final = getLogger(__name__)

_WORDS: Final = """\
import matplotlib_inline.backend_inline as _inline
from opendp_lite.plotting import alt_text as _alt_text

_inline._fetch_figure_metadata = lambda figure: {
    "image/png": {"alt": " ".join(_alt_text(ax) for ax in figure.axes)}
}
"""
CELL: Final = {
    "cell_type": "code",
    "execution_count": None,
    "metadata": {"tags": ["remove-cell"]},
    "outputs": [],
    "source": _WORDS,
}
"""The cell that nobody sees."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Lets each picture of a notebook have the words that came with it; warns where none did."""
    plain = NbElementRenderer.render_image

    def render_image(self: NbElementRenderer, data: MimeData) -> list[nodes.Element]:
        images = plain(self, data)
        words = data.output_metadata.get(data.mime_type, {}).get("alt")
        if words is None:
            _LOGGER.warning("a picture has no words", location=self.renderer.document["source"])
        for image in images:
            image["alt"] = words or ""
        return images

    NbElementRenderer.render_image = render_image
    return {"parallel_read_safe": True, "parallel_write_safe": True}
