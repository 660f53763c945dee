from opendp_lite import bases as bases
from opendp_lite import bodies as bodies
from opendp_lite import combinators as combinators
from opendp_lite import estimators as estimators
from opendp_lite import measurements as measurements
from opendp_lite import measures as measures
from opendp_lite import metrics as metrics
from opendp_lite import plotting as plotting
from opendp_lite import releases as releases
from opendp_lite import transformations as transformations
from opendp_lite.combinators.above_threshold import above_threshold as above_threshold
from opendp_lite.combinators.adaptive import Ask as Ask
from opendp_lite.combinators.adaptive import adaptive as adaptive
from opendp_lite.combinators.by import by as by
from opendp_lite.combinators.calibrate import calibrate as calibrate
from opendp_lite.combinators.compose import compose as compose
from opendp_lite.combinators.sample import sample as sample
from opendp_lite.core import Facts as Facts
from opendp_lite.core import Measurement as Measurement
from opendp_lite.core import Transformation as Transformation
from opendp_lite.domains import Rows as Rows
from opendp_lite.domains import Scalars as Scalars
from opendp_lite.domains import Vectors as Vectors
from opendp_lite.engines.blocks import Blocks as Blocks
from opendp_lite.engines.csv_file import csv_column as csv_column
from opendp_lite.engines.csv_file import csv_table as csv_table
from opendp_lite.engines.parquet_file import parquet as parquet
from opendp_lite.errors import BudgetExceeded as BudgetExceeded
from opendp_lite.errors import DataError as DataError
from opendp_lite.errors import OpenDPLiteError as OpenDPLiteError
from opendp_lite.errors import ParameterError as ParameterError
from opendp_lite.errors import SpaceError as SpaceError
from opendp_lite.estimate import Estimate as Estimate
from opendp_lite.estimators.distributions.cdf import cdf as cdf
from opendp_lite.estimators.distributions.histogram import histogram as histogram
from opendp_lite.estimators.many_columns.centered_sum import centered_sum as centered_sum
from opendp_lite.estimators.many_columns.covariance import covariance as covariance
from opendp_lite.estimators.many_columns.multivariate_mean import (
    multivariate_mean as multivariate_mean,
)
from opendp_lite.estimators.many_columns.private_bounds import private_bounds as private_bounds
from opendp_lite.estimators.one_column.budget_for import budget_for as budget_for
from opendp_lite.estimators.one_column.count_ratio import count_ratio as count_ratio
from opendp_lite.estimators.one_column.expected_error import expected_error as expected_error
from opendp_lite.estimators.one_column.mean import mean as mean
from opendp_lite.estimators.one_column.simplex_ratio import simplex_ratio as simplex_ratio
from opendp_lite.estimators.one_column.standard_deviation import (
    standard_deviation as standard_deviation,
)
from opendp_lite.estimators.one_column.variance import variance as variance
from opendp_lite.examples import example as example
from opendp_lite.grid import Grid as Grid
from opendp_lite.measurements.gaussian import gaussian as gaussian
from opendp_lite.measurements.laplace import laplace as laplace
from opendp_lite.measurements.noisy_max import noisy_max as noisy_max
from opendp_lite.measurements.private_quantile import private_quantile as private_quantile
from opendp_lite.measures.approximate import ApproximateDivergence as ApproximateDivergence
from opendp_lite.measures.conversion import to_approximate as to_approximate
from opendp_lite.measures.conversion import to_zcdp as to_zcdp
from opendp_lite.measures.max_divergence import MaxDivergence as MaxDivergence
from opendp_lite.measures.privacy_budget import epsilon as epsilon
from opendp_lite.measures.privacy_budget import mu as mu
from opendp_lite.measures.privacy_budget import rho as rho
from opendp_lite.measures.zero_concentrated import (
    ZeroConcentratedDivergence as ZeroConcentratedDivergence,
)
from opendp_lite.metrics import ChangeOneDistance as ChangeOneDistance
from opendp_lite.metrics import SymmetricDistance as SymmetricDistance
from opendp_lite.norms import Norms as Norms
from opendp_lite.postprocessor import postprocessor as postprocessor
from opendp_lite.recipes import Mechanism as Mechanism
from opendp_lite.recipes import Stage as Stage
from opendp_lite.recipes import mechanism as mechanism
from opendp_lite.recipes import stage as stage
from opendp_lite.serialise import from_json as from_json
from opendp_lite.sessions.ledger import Ledger as Ledger
from opendp_lite.sessions.session import session as session
from opendp_lite.spaces import Space as Space
from opendp_lite.spaces import records as records
from opendp_lite.spaces import scalar as scalar
from opendp_lite.spaces import table as table
from opendp_lite.spaces import vector as vector
from opendp_lite.tables import Tables as Tables
from opendp_lite.testing.assert_lawful import assert_lawful as assert_lawful
from opendp_lite.testing.assert_replayable import assert_replayable as assert_replayable
from opendp_lite.testing.assert_stable import assert_stable as assert_stable
from opendp_lite.testing.audit import audit as audit
from opendp_lite.transformations.absolute import absolute as absolute
from opendp_lite.transformations.bins import bins as bins
from opendp_lite.transformations.bound_contributions import (
    bound_contributions as bound_contributions,
)
from opendp_lite.transformations.center import center as center
from opendp_lite.transformations.clamp import clamp as clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm as clip_to_norm
from opendp_lite.transformations.count import count as count
from opendp_lite.transformations.drop_nan import drop_nan as drop_nan
from opendp_lite.transformations.impute import impute as impute
from opendp_lite.transformations.keep import keep as keep
from opendp_lite.transformations.norm import norm as norm
from opendp_lite.transformations.one_hot import one_hot as one_hot
from opendp_lite.transformations.resize import resize as resize
from opendp_lite.transformations.row_map import row_map as row_map
from opendp_lite.transformations.scale import scale as scale
from opendp_lite.transformations.select import select as select
from opendp_lite.transformations.simplex_augment import simplex_augment as simplex_augment
from opendp_lite.transformations.square import square as square
from opendp_lite.transformations.sum import sum as sum
