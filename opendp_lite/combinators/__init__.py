"""Steps made of other pipelines."""

from opendp_lite.combinators.above_threshold import ThresholdTest, above_threshold
from opendp_lite.combinators.adaptive import Ask, adaptive
from opendp_lite.combinators.best_of import best_of
from opendp_lite.combinators.by import by
from opendp_lite.combinators.calibrate import calibrate
from opendp_lite.combinators.compose import compose
from opendp_lite.combinators.group_by import group_by
from opendp_lite.combinators.on_random_pairs import on_random_pairs

__all__ = [
    "Ask",
    "ThresholdTest",
    "above_threshold",
    "adaptive",
    "best_of",
    "by",
    "calibrate",
    "compose",
    "group_by",
    "on_random_pairs",
]
