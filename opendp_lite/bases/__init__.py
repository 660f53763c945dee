"""Function bases for ``basis_features`` and ``basis_distribution``."""

from opendp_lite.bases.basis import Basis
from opendp_lite.bases.chebyshev import Chebyshev
from opendp_lite.bases.cosine import Cosine
from opendp_lite.bases.daubechies import Daubechies
from opendp_lite.bases.fourier import Fourier
from opendp_lite.bases.haar import Haar
from opendp_lite.bases.hadamard import Hadamard
from opendp_lite.bases.hermite import Hermite
from opendp_lite.bases.laguerre import Laguerre
from opendp_lite.bases.legendre import Legendre
from opendp_lite.bases.mutually_unbiased import MutuallyUnbiased
from opendp_lite.bases.weighted import Weighted

__all__ = [
    "Basis",
    "Chebyshev",
    "Cosine",
    "Daubechies",
    "Fourier",
    "Haar",
    "Hadamard",
    "Hermite",
    "Laguerre",
    "Legendre",
    "MutuallyUnbiased",
    "Weighted",
]
