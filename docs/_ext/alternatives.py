"""Pictures say in words what they show, for readers who do not see them.

A lesson on the site begins with a cell that nobody sees (build_site.py). It hands the words of
``dp.plotting.alt_text`` on with each picture, and the page takes them up. Drawings of pipelines
have their words within.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

_LOGGER: Final = getLogger(__name__)
_ON_WHITE: Final = "background:white;"


def inline_drawings(app: Sphinx, document: nodes.document) -> None:
    """Puts drawings of pipelines into the page itself, where they take the colour of its text.

    Their files are on white, for whoever shows a file alone, as a host of the source does.
    """
    for image in [*document.findall(nodes.image)]:
        path = Path(document["source"]).parent / image["uri"]
        if path.suffix == ".svg":
            drawing = path.read_text("utf-8").replace(_ON_WHITE, "", 1)
            image.replace_self(nodes.raw("", drawing, format="html"))


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
    # Before Sphinx collects the pictures, of which these are then none.
    app.connect("doctree-read", inline_drawings, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
