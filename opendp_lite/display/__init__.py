"""How numbers and intervals are shown, as text and as SVG."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
