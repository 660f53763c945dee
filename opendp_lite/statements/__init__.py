"""Statements: what a release protects, for readers who do not have the pipeline."""

from opendp_lite.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
