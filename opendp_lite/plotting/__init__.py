"""Pictures of releases, losses and errors. They need ``pip install "opendp_lite[plot]"``.

Every function returns the axes of matplotlib on which it drew, and takes axes of yours as ``ax=``.
``alt_text(ax)`` says the picture in words.
"""

from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
