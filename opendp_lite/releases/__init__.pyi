from opendp_lite.base.dates import PeriodKey as PeriodKey
from opendp_lite.estimators.columns.components import Correlation as Correlation
from opendp_lite.estimators.columns.components import PrincipalComponents as PrincipalComponents
from opendp_lite.estimators.columns.covariance import Covariance as Covariance
from opendp_lite.estimators.columns.regression import Regression as Regression
from opendp_lite.estimators.distributions.answers import Distribution as Distribution
from opendp_lite.estimators.distributions.answers import Uncertain as Uncertain
from opendp_lite.estimators.distributions.cumulative import (
    CumulativeDistribution as CumulativeDistribution,
)
from opendp_lite.estimators.distributions.histograms import Histogram as Histogram
from opendp_lite.estimators.distributions.proportion import Ranking as Ranking
from opendp_lite.estimators.distributions.significance import SignificanceTest as SignificanceTest
from opendp_lite.explain.drawing import Drawing as Drawing
from opendp_lite.explain.drawing import Explanation as Explanation
from opendp_lite.explain.statement import Statement as Statement
from opendp_lite.releases.estimate import Estimate as Estimate
from opendp_lite.releases.estimates import ByGroup as ByGroup
from opendp_lite.releases.estimates import ByName as ByName
from opendp_lite.releases.estimates import Estimates as Estimates
from opendp_lite.releases.result import InsecureRelease as InsecureRelease
from opendp_lite.releases.table import ReleaseTable as ReleaseTable
from opendp_lite.sessions.sessions import Release as Release
from opendp_lite.sessions.sessions import Session as Session
