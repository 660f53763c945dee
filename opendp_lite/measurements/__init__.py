"""Mechanisms with a privacy map."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "added_noise": "opendp_lite.measurements.noise",
    "exponential_mechanism": "opendp_lite.measurements.exponential_mechanism",
    "gaussian": "opendp_lite.measurements.gaussian",
    "l2_mechanism": "opendp_lite.measurements.l2_mechanism",
    "laplace": "opendp_lite.measurements.laplace",
    "noisy_max": "opendp_lite.measurements.noisy_max",
    "private_quantile": "opendp_lite.measurements.private_quantile",
    "sum_and_count": "opendp_lite.measurements.sum_and_count",
    "thresholded_counts": "opendp_lite.measurements.thresholded_counts",
}

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
