"""A table of real data to try things on, from any folder: ``dp.data.doctor_visits()``."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
