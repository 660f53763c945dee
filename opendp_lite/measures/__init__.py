"""Measures of privacy loss, their laws, and how one measure converts to another."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
