"""Pictures of releases, losses and errors. They need ``pip install "opendp_lite[plot]"``.

Every function returns the axes of matplotlib on which it drew, and takes axes of yours as ``ax=``.
``alt_text(ax)`` says the picture in words.
"""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "alt_text": "opendp_lite.plotting.alt_text",
    "cdf_curve": "opendp_lite.plotting.cdf_curve",
    "density_curve": "opendp_lite.plotting.density_curve",
    "error_by_loss": "opendp_lite.plotting.error_by_loss",
    "error_by_mean": "opendp_lite.plotting.error_by_mean",
    "error_by_rows": "opendp_lite.plotting.error_by_rows",
    "error_parts": "opendp_lite.plotting.error_parts",
    "estimate_intervals": "opendp_lite.plotting.estimate_intervals",
    "histogram_bars": "opendp_lite.plotting.histogram_bars",
    "noise_probabilities": "opendp_lite.plotting.noise_probabilities",
    "noise_shapes": "opendp_lite.plotting.noise_shapes",
    "plan_steps": "opendp_lite.plotting.plan_steps",
    "privacy_curves": "opendp_lite.plotting.privacy_curves",
    "simplex_picture": "opendp_lite.plotting.simplex_picture",
    "tradeoff_curve": "opendp_lite.plotting.tradeoff_curve",
}

if TYPE_CHECKING:
    from opendp_lite.plotting.alt_text import alt_text as alt_text
    from opendp_lite.plotting.cdf_curve import cdf_curve as cdf_curve
    from opendp_lite.plotting.density_curve import density_curve as density_curve
    from opendp_lite.plotting.error_by_loss import error_by_loss as error_by_loss
    from opendp_lite.plotting.error_by_mean import error_by_mean as error_by_mean
    from opendp_lite.plotting.error_by_rows import error_by_rows as error_by_rows
    from opendp_lite.plotting.error_parts import error_parts as error_parts
    from opendp_lite.plotting.estimate_intervals import estimate_intervals as estimate_intervals
    from opendp_lite.plotting.histogram_bars import histogram_bars as histogram_bars
    from opendp_lite.plotting.noise_probabilities import noise_probabilities as noise_probabilities
    from opendp_lite.plotting.noise_shapes import noise_shapes as noise_shapes
    from opendp_lite.plotting.plan_steps import plan_steps as plan_steps
    from opendp_lite.plotting.privacy_curves import privacy_curves as privacy_curves
    from opendp_lite.plotting.simplex_picture import simplex_picture as simplex_picture
    from opendp_lite.plotting.tradeoff_curve import tradeoff_curve as tradeoff_curve
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
