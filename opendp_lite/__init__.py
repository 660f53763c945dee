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
from opendp_lite.core import (
    InsecureRelease,
    Measurement,
    Mechanism,
    Stage,
    Transformation,
    mechanism,
    stage,
)
from opendp_lite.domains import Domain, Rows, Scalars, Vectors
from opendp_lite.engines.blocks import Blocks
from opendp_lite.errors import (
    BudgetExceeded,
    DataError,
    OpenDPLiteError,
    ParameterError,
    SpaceError,
)
from opendp_lite.estimators.basis_distribution import basis_distribution
from opendp_lite.estimators.binary_mean import binary_mean
from opendp_lite.estimators.centered_mean import centered_mean
from opendp_lite.estimators.core_mean import core_mean
from opendp_lite.estimators.count_ratio import count_ratio, size_ratio
from opendp_lite.estimators.distribution import Distribution, distribution
from opendp_lite.estimators.elliptical_mean import elliptical_mean
from opendp_lite.estimators.error_of import error_of
from opendp_lite.estimators.estimate import Estimate
from opendp_lite.estimators.gaussian_mean import gaussian_mean
from opendp_lite.estimators.iome_mean import iome_mean
from opendp_lite.estimators.l2_gamma_mean import l2_gamma_mean
from opendp_lite.estimators.laplace_mean import laplace_mean
from opendp_lite.estimators.loss_for import loss_for
from opendp_lite.estimators.mean import mean
from opendp_lite.estimators.multivariate_mean import multivariate_mean
from opendp_lite.estimators.plan_mean import plan_mean
from opendp_lite.estimators.plan_plus_mean import plan_plus_mean
from opendp_lite.estimators.plug_in_mean import plug_in_mean
from opendp_lite.estimators.private_variance import private_variance
from opendp_lite.estimators.quantile_by_search import quantile_by_search
from opendp_lite.estimators.recentred_mean import recentred_mean
from opendp_lite.estimators.resized_mean import resized_mean
from opendp_lite.estimators.scaled_mean import scaled_mean
from opendp_lite.estimators.simplex_mean import simplex_mean
from opendp_lite.estimators.simplex_means import simplex_means
from opendp_lite.estimators.simplex_ratio import simplex_ratio
from opendp_lite.estimators.sized_mean import sized_mean
from opendp_lite.estimators.uncertain import Uncertain
from opendp_lite.estimators.weighted_mean import weighted_mean
from opendp_lite.measurements.core import core
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.l2_gamma import l2_gamma
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.private_quantile import private_quantile
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
from opendp_lite.transformations.is_below import is_below
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.random_rotation import Rotation, random_rotation
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.row_map import row_map
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.select import select
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.weigh import weigh

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


SPELLED = (
    "AbsoluteDistance",
    "ChangeOneDistance",
    "Chebyshev",
    "Cosine",
    "Daubechies",
    "Fourier",
    "Haar",
    "Hadamard",
    "Hermite",
    "L1Distance",
    "L2Distance",
    "LInfDistance",
    "Laguerre",
    "Legendre",
    "MutuallyUnbiased",
    "NormDistance",
    "Norms",
    "SymmetricDistance",
    "absolute",
    "basis_distribution",
    "basis_features",
    "binary_mean",
    "center",
    "centered_mean",
    "clamp",
    "clip_to_norm",
    "compose",
    "core",
    "core_mean",
    "count",
    "count_ratio",
    "distribution",
    "drop_nan",
    "elliptical_mean",
    "gaussian",
    "gaussian_mean",
    "impute",
    "iome_mean",
    "is_below",
    "l2_gamma",
    "l2_gamma_mean",
    "laplace",
    "laplace_mean",
    "mean",
    "multivariate_mean",
    "norm",
    "on_random_pairs",
    "plan_mean",
    "plan_plus_mean",
    "plug_in_mean",
    "private_quantile",
    "private_variance",
    "quantile_by_search",
    "random_rotation",
    "recentred_mean",
    "records",
    "resize",
    "resized_mean",
    "scalar",
    "scale",
    "scaled_mean",
    "select",
    "simplex_augment",
    "simplex_mean",
    "simplex_means",
    "simplex_ratio",
    "size_ratio",
    "sized_mean",
    "square",
    "sum",
    "to_approximate",
    "to_zcdp",
    "vector",
    "weigh",
    "weighted_mean",
)
"""The names that a pipeline written to JSON may call."""

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
    "Fourier",
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
    "assert_lawful",
    "assert_stable",
    "audit",
    "basis_distribution",
    "basis_features",
    "binary_mean",
    "calibrate",
    "center",
    "centered_mean",
    "clamp",
    "clip_to_norm",
    "compose",
    "core",
    "core_mean",
    "count",
    "count_ratio",
    "csv_column",
    "distribution",
    "drop_nan",
    "elliptical_mean",
    "error_of",
    "from_json",
    "gaussian",
    "gaussian_mean",
    "impute",
    "iome_mean",
    "is_below",
    "l2_gamma",
    "l2_gamma_mean",
    "laplace",
    "laplace_mean",
    "loss_for",
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
    "simplex_means",
    "simplex_ratio",
    "size_ratio",
    "sized_mean",
    "square",
    "stage",
    "sum",
    "to_approximate",
    "to_zcdp",
    "vector",
    "weigh",
    "weighted_mean",
]
