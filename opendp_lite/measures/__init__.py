"""Measures of privacy loss, their laws, and how one measure converts to another."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "ApproximateDivergence": "opendp_lite.measures.approximate",
    "GaussianDivergence": "opendp_lite.measures.gaussian_divergence",
    "MaxDivergence": "opendp_lite.measures.max_divergence",
    "Measure": "opendp_lite.measures.measure",
    "PrivacyBudget": "opendp_lite.measures.privacy_budget",
    "ZeroConcentratedDivergence": "opendp_lite.measures.zero_concentrated",
    "epsilon": "opendp_lite.measures.privacy_budget",
    "mu": "opendp_lite.measures.privacy_budget",
    "rho": "opendp_lite.measures.privacy_budget",
    "to_approximate": "opendp_lite.measures.conversion",
    "to_zcdp": "opendp_lite.measures.conversion",
}

if TYPE_CHECKING:
    from opendp_lite.measures.approximate import ApproximateDivergence as ApproximateDivergence
    from opendp_lite.measures.conversion import to_approximate as to_approximate
    from opendp_lite.measures.conversion import to_zcdp as to_zcdp
    from opendp_lite.measures.gaussian_divergence import GaussianDivergence as GaussianDivergence
    from opendp_lite.measures.max_divergence import MaxDivergence as MaxDivergence
    from opendp_lite.measures.measure import Measure as Measure
    from opendp_lite.measures.privacy_budget import PrivacyBudget as PrivacyBudget
    from opendp_lite.measures.privacy_budget import epsilon as epsilon
    from opendp_lite.measures.privacy_budget import mu as mu
    from opendp_lite.measures.privacy_budget import rho as rho
    from opendp_lite.measures.zero_concentrated import (
        ZeroConcentratedDivergence as ZeroConcentratedDivergence,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
