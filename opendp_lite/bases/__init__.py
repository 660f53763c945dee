"""Function bases for ``basis_features`` and ``basis_distribution``."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "Basis": "opendp_lite.bases.basis",
    "Chebyshev": "opendp_lite.bases.chebyshev",
    "Cosine": "opendp_lite.bases.cosine",
    "Daubechies": "opendp_lite.bases.daubechies",
    "Fourier": "opendp_lite.bases.fourier",
    "Haar": "opendp_lite.bases.haar",
    "Hadamard": "opendp_lite.bases.hadamard",
    "Hermite": "opendp_lite.bases.hermite",
    "Laguerre": "opendp_lite.bases.laguerre",
    "Legendre": "opendp_lite.bases.legendre",
    "MutuallyUnbiased": "opendp_lite.bases.mutually_unbiased",
    "Weighted": "opendp_lite.bases.weighted",
}

if TYPE_CHECKING:
    from opendp_lite.bases.basis import Basis as Basis
    from opendp_lite.bases.chebyshev import Chebyshev as Chebyshev
    from opendp_lite.bases.cosine import Cosine as Cosine
    from opendp_lite.bases.daubechies import Daubechies as Daubechies
    from opendp_lite.bases.fourier import Fourier as Fourier
    from opendp_lite.bases.haar import Haar as Haar
    from opendp_lite.bases.hadamard import Hadamard as Hadamard
    from opendp_lite.bases.hermite import Hermite as Hermite
    from opendp_lite.bases.laguerre import Laguerre as Laguerre
    from opendp_lite.bases.legendre import Legendre as Legendre
    from opendp_lite.bases.mutually_unbiased import MutuallyUnbiased as MutuallyUnbiased
    from opendp_lite.bases.weighted import Weighted as Weighted
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
