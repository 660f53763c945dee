"""Falsifiers: they try to show that a claimed map is wrong. Use them on your own steps."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
