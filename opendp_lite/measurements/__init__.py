"""Mechanisms with a privacy map."""

from opendp_lite.measurements.exponential_mechanism import exponential_mechanism
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.l2_mechanism import l2_mechanism
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.noise import added_noise
from opendp_lite.measurements.noisy_max import noisy_max
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measurements.sum_and_count import sum_and_count
from opendp_lite.measurements.thresholded_counts import thresholded_counts

__all__ = [
    "added_noise",
    "exponential_mechanism",
    "gaussian",
    "l2_mechanism",
    "laplace",
    "noisy_max",
    "private_quantile",
    "sum_and_count",
    "thresholded_counts",
]
