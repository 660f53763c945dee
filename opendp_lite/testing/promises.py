"""What a claimed loss promises of any event's probabilities under two neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from math import exp
from typing import Any

import attrs
import numpy as np

from opendp_lite.core import Measurement
from opendp_lite.engines.fold import Floats
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence

_ORDERS = 1 + np.geomspace(1e-3, 1e4, 64)
_TINY = 1e-3
_EPSILONS = (0, 0.5, 1, 2, 3, 5)


@attrs.frozen
class Promise:
    """A claimed number, and the least that it can be for an event of probabilities p and q."""

    words: str
    claim: float
    least: Callable[[Floats, Floats], Floats]

    def strain(self, p: Floats, q: Floats) -> Floats:
        """How near the claim an event comes: 1 at the claim, above 2 beyond it."""
        least = self.least(p, q)
        with np.errstate(all="ignore"):
            share = np.where(least > 0, np.minimum(least / self.claim, 1.0), 0.0)
        beyond = (least - self.claim) / (self.claim + _TINY)
        found: Floats = np.where(least > self.claim, 2 + beyond, share)
        return found


def promises(measurement: Measurement[Any, Any], d_in: object) -> list[Promise]:
    """What a pipeline promises: its loss, where the measure is known here, and its curve."""
    own = own_promises(measurement.output_measure, measurement, d_in)
    return own + [
        Promise(
            f"a delta at epsilon = {epsilon}",
            measurement.delta(epsilon, d_in),
            partial(_hockey_stick, float(epsilon)),
        )
        for epsilon in _EPSILONS
    ]


@singledispatch
def own_promises(
    measure: Measure[Any], measurement: Measurement[Any, Any], d_in: object
) -> list[Promise]:
    """What a loss promises beside its curve: nothing that is known of a measure of one's own."""
    return []


@own_promises.register
def _pure(
    measure: MaxDivergence, measurement: Measurement[Any, Any], d_in: object
) -> list[Promise]:
    return [Promise("a loss", float(measurement.map(d_in)), partial(_log_ratio, 0.0))]


@own_promises.register
def _approximate(
    measure: ApproximateDivergence, measurement: Measurement[Any, Any], d_in: object
) -> list[Promise]:
    epsilon, delta = measurement.map(d_in)
    return [Promise("a loss", float(epsilon), partial(_log_ratio, float(delta)))]


@own_promises.register
def _concentrated(
    measure: ZeroConcentratedDivergence, measurement: Measurement[Any, Any], d_in: object
) -> list[Promise]:
    return [Promise("a loss", float(measurement.map(d_in)), _renyi)]


def _hockey_stick(epsilon: float, p: Floats, q: Floats) -> Floats:
    """The least delta for which p <= e^epsilon q + delta."""
    return np.maximum(p - exp(epsilon) * q, 0.0)


def _log_ratio(delta: float, p: Floats, q: Floats) -> Floats:
    """The least epsilon for which p <= e^epsilon q + delta."""
    rest = p - delta
    with np.errstate(all="ignore"):
        found: Floats = np.where(rest > q, np.log(rest / q), 0.0)
    return found


def _renyi(p: Floats, q: Floats) -> Floats:
    """The largest Renyi divergence of coins p and q over its order, at some orders."""
    order = _ORDERS.reshape(-1, *[1] * np.ndim(p))
    with np.errstate(all="ignore"):
        hit = order * np.log(p) + (1 - order) * np.log(q)
        miss = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
        total = np.logaddexp(hit, miss) / (order - 1) / order
        found: Floats = np.where(p > q, np.nan_to_num(total, nan=0.0).max(axis=0), 0.0)
    return found
