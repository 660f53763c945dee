from opendp_lite.by_group import ByGroup as ByGroup
from opendp_lite.by_name import ByName as ByName
from opendp_lite.drawing.drawing import Drawing as Drawing
from opendp_lite.drawing.explanation import Explanation as Explanation
from opendp_lite.estimate import Estimate as Estimate
from opendp_lite.estimates import Estimates as Estimates
from opendp_lite.estimators.distributions.cumulative_distribution import (
    CumulativeDistribution as CumulativeDistribution,
)
from opendp_lite.estimators.distributions.distribution import Distribution as Distribution
from opendp_lite.estimators.distributions.histogram_release import Histogram as Histogram
from opendp_lite.estimators.distributions.uncertain import Uncertain as Uncertain
from opendp_lite.estimators.many_columns.covariance_estimate import Covariance as Covariance
from opendp_lite.insecure_release import InsecureRelease as InsecureRelease
from opendp_lite.sessions.session import Session as Session
from opendp_lite.sessions.session_release import Release as Release
from opendp_lite.statements.statement import Statement as Statement
