"""Differentially private estimators as verified pipelines.

import opendp_lite as dp
pipeline = dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5)
pipeline.map(1)      # the zCDP loss when one person is added or removed
pipeline(ages)       # a private release
"""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opendp_lite.bases.basis import Basis
from opendp_lite.bases.chebyshev import Chebyshev
from opendp_lite.bases.cosine import Cosine
from opendp_lite.bases.daubechies import Daubechies
from opendp_lite.bases.fourier import Fourier
from opendp_lite.bases.haar import Haar
from opendp_lite.bases.hadamard import Hadamard
from opendp_lite.bases.hermite import Hermite
from opendp_lite.bases.laguerre import Laguerre
from opendp_lite.bases.legendre import Legendre
from opendp_lite.bases.mutually_unbiased import MutuallyUnbiased
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Body
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.bodies.simplex import Simplex
from opendp_lite.combinators.adaptive import Ask, adaptive
from opendp_lite.combinators.calibrate import calibrate
from opendp_lite.combinators.compose import compose
from opendp_lite.combinators.on_random_pairs import on_random_pairs
from opendp_lite.core import Facts, InsecureRelease, Measurement, Transformation
from opendp_lite.domains import Domain, Rows, Scalars, Vectors
from opendp_lite.engines.blocks import Blocks
from opendp_lite.errors import (
    BudgetExceeded,
    DataError,
    OpenDPLiteError,
    ParameterError,
    SpaceError,
)
from opendp_lite.estimators.distributions.basis_distribution import basis_distribution
from opendp_lite.estimators.distributions.distribution import Distribution, distribution
from opendp_lite.estimators.distributions.uncertain import Uncertain
from opendp_lite.estimators.inference.estimate import Estimate
from opendp_lite.estimators.many_columns.ball_mean import gaussian_mean, laplace_mean
from opendp_lite.estimators.many_columns.binary_mean import binary_mean
from opendp_lite.estimators.many_columns.elliptical_mean import elliptical_mean
from opendp_lite.estimators.many_columns.iome_mean import iome_mean
from opendp_lite.estimators.many_columns.l2_mechanism_mean import l2_mechanism_mean
from opendp_lite.estimators.many_columns.multivariate_mean import multivariate_mean
from opendp_lite.estimators.many_columns.plan_mean import plan_mean
from opendp_lite.estimators.many_columns.plan_plus_mean import plan_plus_mean
from opendp_lite.estimators.many_columns.private_variance import private_variance
from opendp_lite.estimators.many_columns.quantile_by_search import quantile_by_search
from opendp_lite.estimators.many_columns.scaled_mean import scaled_mean
from opendp_lite.estimators.many_columns.simplex_vector_mean import simplex_vector_mean
from opendp_lite.estimators.one_column.budget_for import budget_for
from opendp_lite.estimators.one_column.count_ratio import count_ratio, size_ratio
from opendp_lite.estimators.one_column.expected_error import expected_error
from opendp_lite.estimators.one_column.joint_mean import joint_mean
from opendp_lite.estimators.one_column.known_size_mean import known_size_mean
from opendp_lite.estimators.one_column.mean import mean
from opendp_lite.estimators.one_column.plug_in_mean import centered_mean, plug_in_mean
from opendp_lite.estimators.one_column.recentred_mean import recentred_mean
from opendp_lite.estimators.one_column.resized_mean import resized_mean
from opendp_lite.estimators.one_column.simplex_mean import simplex_mean
from opendp_lite.estimators.one_column.simplex_ratio import simplex_ratio
from opendp_lite.estimators.one_column.weighted_mean import weighted_mean
from opendp_lite.grid import Grid
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.l2_mechanism import l2_mechanism
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.noise import added_noise
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measurements.sum_and_count import sum_and_count
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.conversion import to_approximate, to_zcdp
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import (
    AbsoluteDistance,
    ChangeOneDistance,
    L1Distance,
    L2Distance,
    LInfDistance,
    Metric,
    NormDistance,
    RowMetric,
    SymmetricDistance,
)
from opendp_lite.norms import Norms
from opendp_lite.postprocessor import postprocessor
from opendp_lite.recipes import Mechanism, Stage, mechanism, stage
from opendp_lite.serialise import from_json
from opendp_lite.spaces import Space, records, scalar, vector
from opendp_lite.transformations.absolute import absolute
from opendp_lite.transformations.basis_features import basis_features
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.drop_nan import drop_nan
from opendp_lite.transformations.impute import impute
from opendp_lite.transformations.indicator_below import indicator_below
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.random_rotation import Rotation, random_rotation
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.row_map import row_map
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.select import select
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.weighted_pairs import weighted_pairs

_LATER = {
    "assert_lawful": "opendp_lite.testing.assert_lawful",
    "assert_stable": "opendp_lite.testing.assert_stable",
    "audit": "opendp_lite.testing.audit",
    "csv_column": "opendp_lite.engines.csv_file",
}

if TYPE_CHECKING:
    from opendp_lite.engines.csv_file import csv_column
    from opendp_lite.testing.assert_lawful import assert_lawful
    from opendp_lite.testing.assert_stable import assert_stable
    from opendp_lite.testing.audit import audit
else:
    # Unseen by type checkers, which would take any misspelled name for one that this answers.
    def __getattr__(name: str) -> Any:
        """What few programs need is imported when it is asked for; scipy only by falsifiers."""
        if name in _LATER:
            return getattr(import_module(_LATER[name]), name)
        near = get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'opendp_lite' has no attribute {name!r}{hint}")

    def __dir__() -> list[str]:
        return sorted(__all__)


__all__ = [
    "AbsoluteDistance",
    "ApproximateDivergence",
    "Ask",
    "Ball",
    "Basis",
    "Blocks",
    "Body",
    "Box",
    "BudgetExceeded",
    "ChangeOneDistance",
    "Chebyshev",
    "Cosine",
    "DataError",
    "Daubechies",
    "Distribution",
    "Domain",
    "Estimate",
    "Everything",
    "Facts",
    "Fourier",
    "Grid",
    "Haar",
    "Hadamard",
    "Hermite",
    "InsecureRelease",
    "L1Distance",
    "L2Distance",
    "LInfDistance",
    "Laguerre",
    "Legendre",
    "MaxDivergence",
    "Measure",
    "Measurement",
    "Mechanism",
    "Metric",
    "MutuallyUnbiased",
    "NonNegativeBall",
    "NormDistance",
    "Norms",
    "OpenDPLiteError",
    "ParameterError",
    "Rotation",
    "RowMetric",
    "Rows",
    "Scalars",
    "Simplex",
    "Space",
    "SpaceError",
    "Stage",
    "SymmetricDistance",
    "Transformation",
    "Uncertain",
    "Vectors",
    "ZeroConcentratedDivergence",
    "absolute",
    "adaptive",
    "added_noise",
    "assert_lawful",
    "assert_stable",
    "audit",
    "basis_distribution",
    "basis_features",
    "binary_mean",
    "budget_for",
    "calibrate",
    "center",
    "centered_mean",
    "clamp",
    "clip_to_norm",
    "compose",
    "count",
    "count_ratio",
    "csv_column",
    "distribution",
    "drop_nan",
    "elliptical_mean",
    "expected_error",
    "from_json",
    "gaussian",
    "gaussian_mean",
    "impute",
    "indicator_below",
    "iome_mean",
    "joint_mean",
    "known_size_mean",
    "l2_mechanism",
    "l2_mechanism_mean",
    "laplace",
    "laplace_mean",
    "mean",
    "mechanism",
    "multivariate_mean",
    "norm",
    "on_random_pairs",
    "plan_mean",
    "plan_plus_mean",
    "plug_in_mean",
    "postprocessor",
    "private_quantile",
    "private_variance",
    "quantile_by_search",
    "random_rotation",
    "recentred_mean",
    "records",
    "resize",
    "resized_mean",
    "row_map",
    "scalar",
    "scale",
    "scaled_mean",
    "select",
    "simplex_augment",
    "simplex_mean",
    "simplex_ratio",
    "simplex_vector_mean",
    "size_ratio",
    "square",
    "stage",
    "sum",
    "sum_and_count",
    "to_approximate",
    "to_zcdp",
    "vector",
    "weighted_mean",
    "weighted_pairs",
]
