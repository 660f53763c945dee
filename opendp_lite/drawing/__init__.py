"""Pipelines as pictures and as tables, for notebooks and for terminals."""

from opendp_lite.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
