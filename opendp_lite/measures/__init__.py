"""Measures of privacy loss, their laws, and how one measure converts to another."""

from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import to_approximate, to_zcdp
from opendp_lite.measures.gaussian_divergence import GaussianDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.privacy_budget import PrivacyBudget, epsilon, mu, rho
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence

__all__ = [
    "ApproximateDivergence",
    "GaussianDivergence",
    "MaxDivergence",
    "Measure",
    "PrivacyBudget",
    "ZeroConcentratedDivergence",
    "epsilon",
    "mu",
    "rho",
    "to_approximate",
    "to_zcdp",
]
