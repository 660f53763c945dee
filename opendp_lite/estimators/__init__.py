"""Estimators of the research papers as pipelines, and what they release."""

from opendp_lite.estimators.distributions.basis_distribution import basis_distribution
from opendp_lite.estimators.distributions.cdf import cdf
from opendp_lite.estimators.distributions.distribution import distribution
from opendp_lite.estimators.distributions.histogram import histogram
from opendp_lite.estimators.many_columns.ball_mean import gaussian_mean, laplace_mean
from opendp_lite.estimators.many_columns.binary_mean import binary_mean
from opendp_lite.estimators.many_columns.centered_sum import centered_sum
from opendp_lite.estimators.many_columns.covariance import covariance
from opendp_lite.estimators.many_columns.elliptical_mean import elliptical_mean
from opendp_lite.estimators.many_columns.iome_mean import iome_mean
from opendp_lite.estimators.many_columns.l2_mechanism_mean import l2_mechanism_mean
from opendp_lite.estimators.many_columns.multivariate_mean import multivariate_mean
from opendp_lite.estimators.many_columns.normal_variance import normal_variance
from opendp_lite.estimators.many_columns.plan_mean import plan_mean
from opendp_lite.estimators.many_columns.plan_plus_mean import plan_plus_mean
from opendp_lite.estimators.many_columns.private_bounds import private_bounds
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
from opendp_lite.estimators.one_column.standard_deviation import standard_deviation
from opendp_lite.estimators.one_column.unbounded_mean import unbounded_mean
from opendp_lite.estimators.one_column.variance import variance
from opendp_lite.estimators.one_column.weighted_mean import weighted_mean

__all__ = [
    "basis_distribution",
    "binary_mean",
    "budget_for",
    "cdf",
    "centered_mean",
    "centered_sum",
    "count_ratio",
    "covariance",
    "distribution",
    "elliptical_mean",
    "expected_error",
    "gaussian_mean",
    "histogram",
    "iome_mean",
    "joint_mean",
    "known_size_mean",
    "l2_mechanism_mean",
    "laplace_mean",
    "mean",
    "multivariate_mean",
    "normal_variance",
    "plan_mean",
    "plan_plus_mean",
    "plug_in_mean",
    "private_bounds",
    "quantile_by_search",
    "recentred_mean",
    "resized_mean",
    "scaled_mean",
    "simplex_mean",
    "simplex_ratio",
    "simplex_vector_mean",
    "size_ratio",
    "standard_deviation",
    "unbounded_mean",
    "variance",
    "weighted_mean",
]
