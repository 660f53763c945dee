"""The types of what pipelines release and say of themselves, for annotations."""

from opendp_lite.by_group import ByGroup
from opendp_lite.by_name import ByName
from opendp_lite.drawing.drawing import Drawing
from opendp_lite.drawing.explanation import Explanation
from opendp_lite.estimate import Estimate
from opendp_lite.estimates import Estimates
from opendp_lite.estimators.distributions.cumulative_distribution import CumulativeDistribution
from opendp_lite.estimators.distributions.distribution import Distribution
from opendp_lite.estimators.distributions.histogram_release import Histogram
from opendp_lite.estimators.distributions.uncertain import Uncertain
from opendp_lite.estimators.many_columns.covariance_estimate import Covariance
from opendp_lite.insecure_release import InsecureRelease
from opendp_lite.sessions.session import Session
from opendp_lite.sessions.session_release import Release
from opendp_lite.statements.statement import Statement

__all__ = [
    "ByGroup",
    "ByName",
    "Covariance",
    "CumulativeDistribution",
    "Distribution",
    "Drawing",
    "Estimate",
    "Estimates",
    "Explanation",
    "Histogram",
    "InsecureRelease",
    "Release",
    "Session",
    "Statement",
    "Uncertain",
]
