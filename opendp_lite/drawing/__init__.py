"""Pipelines as pictures and as tables, for notebooks and for terminals."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "Drawing": "opendp_lite.drawing.drawing",
    "Explanation": "opendp_lite.drawing.explanation",
}

if TYPE_CHECKING:
    from opendp_lite.drawing.drawing import Drawing as Drawing
    from opendp_lite.drawing.explanation import Explanation as Explanation
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
