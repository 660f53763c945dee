"""Metrics: how far apart two inputs of a step are."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
