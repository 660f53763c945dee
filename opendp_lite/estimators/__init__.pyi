from opendp_lite.estimators.distributions.basis_distribution import (
    basis_distribution as basis_distribution,
)
from opendp_lite.estimators.distributions.cdf import cdf as cdf
from opendp_lite.estimators.distributions.distribution import distribution as distribution
from opendp_lite.estimators.distributions.histogram import histogram as histogram
from opendp_lite.estimators.many_columns.ball_mean import gaussian_mean as gaussian_mean
from opendp_lite.estimators.many_columns.ball_mean import laplace_mean as laplace_mean
from opendp_lite.estimators.many_columns.binary_mean import binary_mean as binary_mean
from opendp_lite.estimators.many_columns.centered_sum import centered_sum as centered_sum
from opendp_lite.estimators.many_columns.covariance import covariance as covariance
from opendp_lite.estimators.many_columns.elliptical_mean import (
    elliptical_mean as elliptical_mean,
)
from opendp_lite.estimators.many_columns.iome_mean import iome_mean as iome_mean
from opendp_lite.estimators.many_columns.l2_mechanism_mean import (
    l2_mechanism_mean as l2_mechanism_mean,
)
from opendp_lite.estimators.many_columns.multivariate_mean import (
    multivariate_mean as multivariate_mean,
)
from opendp_lite.estimators.many_columns.normal_variance import (
    normal_variance as normal_variance,
)
from opendp_lite.estimators.many_columns.plan_mean import plan_mean as plan_mean
from opendp_lite.estimators.many_columns.plan_plus_mean import plan_plus_mean as plan_plus_mean
from opendp_lite.estimators.many_columns.private_bounds import private_bounds as private_bounds
from opendp_lite.estimators.many_columns.quantile_by_search import (
    quantile_by_search as quantile_by_search,
)
from opendp_lite.estimators.many_columns.scaled_mean import scaled_mean as scaled_mean
from opendp_lite.estimators.many_columns.simplex_vector_mean import (
    simplex_vector_mean as simplex_vector_mean,
)
from opendp_lite.estimators.one_column.budget_for import budget_for as budget_for
from opendp_lite.estimators.one_column.count_ratio import count_ratio as count_ratio
from opendp_lite.estimators.one_column.count_ratio import size_ratio as size_ratio
from opendp_lite.estimators.one_column.expected_error import expected_error as expected_error
from opendp_lite.estimators.one_column.joint_mean import joint_mean as joint_mean
from opendp_lite.estimators.one_column.known_size_mean import known_size_mean as known_size_mean
from opendp_lite.estimators.one_column.mean import mean as mean
from opendp_lite.estimators.one_column.plug_in_mean import centered_mean as centered_mean
from opendp_lite.estimators.one_column.plug_in_mean import plug_in_mean as plug_in_mean
from opendp_lite.estimators.one_column.recentred_mean import recentred_mean as recentred_mean
from opendp_lite.estimators.one_column.resized_mean import resized_mean as resized_mean
from opendp_lite.estimators.one_column.simplex_mean import simplex_mean as simplex_mean
from opendp_lite.estimators.one_column.simplex_ratio import simplex_ratio as simplex_ratio
from opendp_lite.estimators.one_column.standard_deviation import (
    standard_deviation as standard_deviation,
)
from opendp_lite.estimators.one_column.unbounded_mean import unbounded_mean as unbounded_mean
from opendp_lite.estimators.one_column.variance import variance as variance
from opendp_lite.estimators.one_column.weighted_mean import weighted_mean as weighted_mean
