"""Convex bodies: where rows lie, and what that says of the sensitivity of their sum."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
