"""The package dp_accounting, which is imported where its events are asked for."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

from opendp_lite.errors import ParameterError
from opendp_lite.measures.loss_distribution import float_up


def accounting_library() -> Any:
    """Its events, or a refusal that says how to install it."""
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise ParameterError(
            'to_dp_event needs dp-accounting: pip install "opendp_lite[accounting]"; '
            "pipeline.epsilon(delta) does without"
        ) from None


def noise_multiplier(loss: Fraction) -> float:
    """The noise for a distance of 1 that loses this much, or a little less noise."""
    return math.nextafter(1 / float_up(loss), 0.0)
