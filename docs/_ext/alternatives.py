"""Pictures of the lessons say in words what they show, for readers who do not see them.

A lesson on the site begins with a cell that nobody sees (build_site.py). It hands the words of
``dp.plotting.alt_text`` on with each picture, and the page takes them up.
"""

from __future__ import annotations

from typing import Any, Final

from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

_LOGGER: Final = getLogger(__name__)


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
