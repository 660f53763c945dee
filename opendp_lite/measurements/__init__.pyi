from opendp_lite.measurements.exponential_mechanism import (
    exponential_mechanism as exponential_mechanism,
)
from opendp_lite.measurements.gaussian import gaussian as gaussian
from opendp_lite.measurements.l2_mechanism import l2_mechanism as l2_mechanism
from opendp_lite.measurements.laplace import laplace as laplace
from opendp_lite.measurements.noise import added_noise as added_noise
from opendp_lite.measurements.noisy_max import noisy_max as noisy_max
from opendp_lite.measurements.private_quantile import private_quantile as private_quantile
from opendp_lite.measurements.sum_and_count import sum_and_count as sum_and_count
from opendp_lite.measurements.thresholded_counts import thresholded_counts as thresholded_counts
