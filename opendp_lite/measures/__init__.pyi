from opendp_lite.measures.budgets import PrivacyBudget as PrivacyBudget
from opendp_lite.measures.budgets import RenyiDivergence as RenyiDivergence
from opendp_lite.measures.budgets import epsilon as epsilon
from opendp_lite.measures.budgets import mu as mu
from opendp_lite.measures.budgets import rho as rho
from opendp_lite.measures.divergences import ApproximateDivergence as ApproximateDivergence
from opendp_lite.measures.divergences import GaussianDivergence as GaussianDivergence
from opendp_lite.measures.divergences import MaxDivergence as MaxDivergence
from opendp_lite.measures.divergences import Measure as Measure
from opendp_lite.measures.divergences import (
    ZeroConcentratedDivergence as ZeroConcentratedDivergence,
)
from opendp_lite.measures.divergences import to_approximate as to_approximate
from opendp_lite.measures.divergences import to_zcdp as to_zcdp
