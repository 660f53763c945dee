"""Data: a table to try things on, ``dp.data.doctor_visits()``, and queries to a database."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
