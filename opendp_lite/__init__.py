"""Differentially private means, sums and counts, with a privacy loss derived from the steps.

>>> import opendp_lite as dp
>>> ages = [23, 31, 38, 45, 52, 67] * 1000
>>> mean = dp.mean(0, 100, epsilon=1)
>>> mean.map(1)  # the privacy loss if one row is added or removed
1.0
>>> round(mean(ages))  # a private release; each call is a new one, and losses add up
43
>>> total = dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)
>>> total.map(1)
1.0

``print(mean.explain())`` shows every step and how far off the release may be. More names
are in ``dp.bases``, ``dp.bodies``, ``dp.combinators``, ``dp.estimators``, ``dp.measurements``,
``dp.measures``, ``dp.metrics``, ``dp.releases`` and ``dp.transformations``. ``dp.plotting`` draws.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opendp_lite import (
    bases,
    bodies,
    combinators,
    estimators,
    measurements,
    measures,
    metrics,
    releases,
    transformations,
)
from opendp_lite.combinators.above_threshold import above_threshold
from opendp_lite.combinators.adaptive import Ask, adaptive
from opendp_lite.combinators.by import by
from opendp_lite.combinators.calibrate import calibrate
from opendp_lite.combinators.compose import compose
from opendp_lite.combinators.sample import sample
from opendp_lite.core import Facts, Measurement, Transformation
from opendp_lite.documents import publish
from opendp_lite.domains import Rows, Scalars, Vectors
from opendp_lite.engines.blocks import Blocks
from opendp_lite.errors import (
    BudgetExceeded,
    DataError,
    OpenDPLiteError,
    ParameterError,
    SpaceError,
)
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.distributions.cdf import cdf
from opendp_lite.estimators.distributions.histogram import histogram
from opendp_lite.estimators.many_columns.centered_sum import centered_sum
from opendp_lite.estimators.many_columns.covariance import covariance
from opendp_lite.estimators.many_columns.multivariate_mean import multivariate_mean
from opendp_lite.estimators.many_columns.private_bounds import private_bounds
from opendp_lite.estimators.one_column.budget_for import budget_for
from opendp_lite.estimators.one_column.count_ratio import count_ratio
from opendp_lite.estimators.one_column.expected_error import expected_error
from opendp_lite.estimators.one_column.mean import mean
from opendp_lite.estimators.one_column.simplex_ratio import simplex_ratio
from opendp_lite.estimators.one_column.standard_deviation import standard_deviation
from opendp_lite.estimators.one_column.variance import variance
from opendp_lite.examples import example
from opendp_lite.grid import Grid
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.noisy_max import noisy_max
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import to_approximate, to_zcdp
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.privacy_budget import epsilon, mu, rho
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance, SymmetricDistance
from opendp_lite.norms import Norms
from opendp_lite.postprocessor import postprocessor
from opendp_lite.recipes import Mechanism, Stage, mechanism, stage
from opendp_lite.rooms import ROOMS
from opendp_lite.serialise import from_json
from opendp_lite.sessions.session import session
from opendp_lite.spaces import Space, records, scalar, table, vector
from opendp_lite.tables import Tables
from opendp_lite.transformations.absolute import absolute
from opendp_lite.transformations.bins import bins
from opendp_lite.transformations.bound_contributions import bound_contributions
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.drop_nan import drop_nan
from opendp_lite.transformations.impute import impute
from opendp_lite.transformations.keep import keep
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.one_hot import one_hot
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.row_map import row_map
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.select import select
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.wanted import not_there

_ROOMS_LATER = ("plotting",)
_LATER = {
    "Ledger": "opendp_lite.sessions.ledger",
    "assert_lawful": "opendp_lite.testing.assert_lawful",
    "assert_replayable": "opendp_lite.testing.assert_replayable",
    "assert_stable": "opendp_lite.testing.assert_stable",
    "audit": "opendp_lite.testing.audit",
    "csv_column": "opendp_lite.engines.csv_file",
    "csv_table": "opendp_lite.engines.csv_file",
    "parquet": "opendp_lite.engines.parquet_file",
}

if TYPE_CHECKING:
    from opendp_lite import plotting as plotting
    from opendp_lite.engines.csv_file import csv_column, csv_table
    from opendp_lite.engines.parquet_file import parquet
    from opendp_lite.sessions.ledger import Ledger
    from opendp_lite.testing.assert_lawful import assert_lawful
    from opendp_lite.testing.assert_replayable import assert_replayable
    from opendp_lite.testing.assert_stable import assert_stable
    from opendp_lite.testing.audit import audit
else:
    # Unseen by type checkers, which would take any misspelled name for one that this answers.
    def __getattr__(name: str) -> Any:
        """Falsifiers, files and pictures are imported when asked for; only they need scipy."""
        if name in _LATER:
            return getattr(import_module(_LATER[name]), name)
        if name in _ROOMS_LATER:
            return import_module(f"opendp_lite.{name}")
        raise AttributeError(not_there(name, __all__, ROOMS))

    def __dir__() -> list[str]:
        """The names at the front, and the rooms that are imported when asked for."""
        return sorted([*__all__, *_ROOMS_LATER])


__all__ = [
    "ApproximateDivergence",
    "Ask",
    "Blocks",
    "BudgetExceeded",
    "ChangeOneDistance",
    "DataError",
    "Estimate",
    "Facts",
    "Grid",
    "Ledger",
    "MaxDivergence",
    "Measurement",
    "Mechanism",
    "Norms",
    "OpenDPLiteError",
    "ParameterError",
    "Rows",
    "Scalars",
    "Space",
    "SpaceError",
    "Stage",
    "SymmetricDistance",
    "Tables",
    "Transformation",
    "Vectors",
    "ZeroConcentratedDivergence",
    "above_threshold",
    "absolute",
    "adaptive",
    "assert_lawful",
    "assert_replayable",
    "assert_stable",
    "audit",
    "bases",
    "bins",
    "bodies",
    "bound_contributions",
    "budget_for",
    "by",
    "calibrate",
    "cdf",
    "center",
    "centered_sum",
    "clamp",
    "clip_to_norm",
    "combinators",
    "compose",
    "count",
    "count_ratio",
    "covariance",
    "csv_column",
    "csv_table",
    "drop_nan",
    "epsilon",
    "estimators",
    "example",
    "expected_error",
    "from_json",
    "gaussian",
    "histogram",
    "impute",
    "keep",
    "laplace",
    "mean",
    "measurements",
    "measures",
    "mechanism",
    "metrics",
    "mu",
    "multivariate_mean",
    "noisy_max",
    "norm",
    "one_hot",
    "parquet",
    "postprocessor",
    "private_bounds",
    "private_quantile",
    "records",
    "releases",
    "resize",
    "rho",
    "row_map",
    "sample",
    "scalar",
    "scale",
    "select",
    "session",
    "simplex_augment",
    "simplex_ratio",
    "square",
    "stage",
    "standard_deviation",
    "sum",
    "table",
    "to_approximate",
    "to_zcdp",
    "transformations",
    "variance",
    "vector",
]

for _room in ROOMS:
    publish(f"dp.{_room.__name__.rpartition('.')[2]}", _room.__all__, vars(_room))
publish("dp", __all__, globals())
