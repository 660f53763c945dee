"""Containers of rows: what may hold the data, and how it is gone through."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
