from opendp_lite.samplers.l2_gamma import CubeGamma as CubeGamma
from opendp_lite.samplers.l2_gamma import L2Gamma as L2Gamma
from opendp_lite.samplers.l2_gamma import bessel_integrals as bessel_integrals
from opendp_lite.samplers.rounded_laws import DiscreteLaplace as DiscreteLaplace
from opendp_lite.samplers.rounded_laws import RoundedGaussian as RoundedGaussian
from opendp_lite.samplers.rounded_laws import RoundedLaplace as RoundedLaplace
