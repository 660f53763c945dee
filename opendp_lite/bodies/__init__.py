"""Convex bodies: where rows lie, and what that says of the sensitivity of their sum."""

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Body
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.bodies.one_hots import OneHots
from opendp_lite.bodies.products import OuterProducts
from opendp_lite.bodies.simplex import Simplex

__all__ = [
    "Ball",
    "Body",
    "Box",
    "Everything",
    "NonNegativeBall",
    "OneHots",
    "OuterProducts",
    "Simplex",
]
