"""What the commands that make a release need once they run: ``--help`` imports none of it."""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
