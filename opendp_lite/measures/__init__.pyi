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
