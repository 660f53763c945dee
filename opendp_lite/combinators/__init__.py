"""Steps made of other pipelines."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "Ask": "opendp_lite.combinators.adaptive",
    "ThresholdTest": "opendp_lite.combinators.above_threshold",
    "above_threshold": "opendp_lite.combinators.above_threshold",
    "adaptive": "opendp_lite.combinators.adaptive",
    "best_of": "opendp_lite.combinators.best_of",
    "by": "opendp_lite.combinators.by",
    "calibrate": "opendp_lite.combinators.calibrate",
    "compose": "opendp_lite.combinators.compose",
    "group_by": "opendp_lite.combinators.group_by",
    "on_random_pairs": "opendp_lite.combinators.on_random_pairs",
    "sample": "opendp_lite.combinators.sample",
}

if TYPE_CHECKING:
    from opendp_lite.combinators.above_threshold import ThresholdTest as ThresholdTest
    from opendp_lite.combinators.above_threshold import above_threshold as above_threshold
    from opendp_lite.combinators.adaptive import Ask as Ask
    from opendp_lite.combinators.adaptive import adaptive as adaptive
    from opendp_lite.combinators.best_of import best_of as best_of
    from opendp_lite.combinators.by import by as by
    from opendp_lite.combinators.calibrate import calibrate as calibrate
    from opendp_lite.combinators.compose import compose as compose
    from opendp_lite.combinators.group_by import group_by as group_by
    from opendp_lite.combinators.on_random_pairs import on_random_pairs as on_random_pairs
    from opendp_lite.combinators.sample import sample as sample
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
