"""Convex bodies: where rows lie, and what that says of the sensitivity of their sum."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "Ball": "opendp_lite.bodies.ball",
    "Body": "opendp_lite.bodies.body",
    "Box": "opendp_lite.bodies.box",
    "Everything": "opendp_lite.bodies.everything",
    "NonNegativeBall": "opendp_lite.bodies.non_negative_ball",
    "OneHots": "opendp_lite.bodies.one_hots",
    "OuterProducts": "opendp_lite.bodies.products",
    "Simplex": "opendp_lite.bodies.simplex",
}

if TYPE_CHECKING:
    from opendp_lite.bodies.ball import Ball as Ball
    from opendp_lite.bodies.body import Body as Body
    from opendp_lite.bodies.box import Box as Box
    from opendp_lite.bodies.everything import Everything as Everything
    from opendp_lite.bodies.non_negative_ball import NonNegativeBall as NonNegativeBall
    from opendp_lite.bodies.one_hots import OneHots as OneHots
    from opendp_lite.bodies.products import OuterProducts as OuterProducts
    from opendp_lite.bodies.simplex import Simplex as Simplex
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
