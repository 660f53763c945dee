from opendp_lite.bodies.ball import Ball as Ball
from opendp_lite.bodies.body import Body as Body
from opendp_lite.bodies.box import Box as Box
from opendp_lite.bodies.box import Everything as Everything
from opendp_lite.bodies.simplex import NonNegativeBall as NonNegativeBall
from opendp_lite.bodies.simplex import OneHots as OneHots
from opendp_lite.bodies.simplex import OuterProducts as OuterProducts
from opendp_lite.bodies.simplex import Simplex as Simplex
