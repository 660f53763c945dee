"""Pictures of releases, losses and errors. They need ``pip install "opendp_lite[plot]"``.

Every function returns the axes of matplotlib on which it drew, and takes axes of yours as ``ax=``.
``alt_text(ax)`` says the picture in words.
"""

from opendp_lite.documents import publish
from opendp_lite.plotting.alt_text import alt_text
from opendp_lite.plotting.cdf_curve import cdf_curve
from opendp_lite.plotting.density_curve import density_curve
from opendp_lite.plotting.error_by_loss import error_by_loss
from opendp_lite.plotting.error_by_mean import error_by_mean
from opendp_lite.plotting.error_by_rows import error_by_rows
from opendp_lite.plotting.error_parts import error_parts
from opendp_lite.plotting.estimate_intervals import estimate_intervals
from opendp_lite.plotting.histogram_bars import histogram_bars
from opendp_lite.plotting.noise_probabilities import noise_probabilities
from opendp_lite.plotting.noise_shapes import noise_shapes
from opendp_lite.plotting.plan_steps import plan_steps
from opendp_lite.plotting.privacy_curves import privacy_curves
from opendp_lite.plotting.simplex_picture import simplex_picture
from opendp_lite.plotting.tradeoff_curve import tradeoff_curve

__all__ = [
    "alt_text",
    "cdf_curve",
    "density_curve",
    "error_by_loss",
    "error_by_mean",
    "error_by_rows",
    "error_parts",
    "estimate_intervals",
    "histogram_bars",
    "noise_probabilities",
    "noise_shapes",
    "plan_steps",
    "privacy_curves",
    "simplex_picture",
    "tradeoff_curve",
]

publish("dp.plotting", __all__, globals())
