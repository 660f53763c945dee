"""The privacy falsifier: a lower bound on the loss from many releases."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, log1p
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import Mechanism
from opendp_lite.testing.require import require

Floats = NDArray[np.float64]
_FEWEST = 100
_ORDERS = 1 + np.geomspace(1e-3, 1e4, 200)


@attrs.frozen
class Audit:
    """What an audit found: ``lower_bound`` on the loss with the stated confidence.

    Under ``ApproximateDivergence`` the bound is on epsilon at the claimed delta.
    """

    lower_bound: float
    claim: float
    hits: int
    neighbour_hits: int
    releases: int


def audit(
    measurement: Measurement[Any, Any] | Mechanism[Any, Any],
    data: Any,
    neighbour: Any,
    d_in: object = 1,
    releases: int = 20_000,
    failure: float = 1e-7,
    score: Callable[[Any], float] | None = None,
) -> Audit:
    """Tries to show that a pipeline's loss is larger than its privacy map claims.

    Takes: a pipeline; two datasets at most ``d_in`` apart, as adversarial as you can find; how
        many ``releases`` of each; ``score``, a number from a release, by default its component
        along the difference of the mean releases; ``failure``, the probability that a correct
        pipeline fails.
    Gives: an ``Audit``; raises ``AssertionError`` where the lower bound exceeds the claim.
    Because: half of the releases choose a threshold on the score, the other half count how often
        it is passed. Clopper-Pearson bounds on the two probabilities p and q bound the loss: for
        epsilon, ln((p - delta) / q); for zCDP, the Renyi divergence of the two coins over its
        order, by the data processing inequality.

    >>> import opendp_lite as dp
    >>> honest = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
    >>> found = dp.audit(honest, [0.0] * 9, [0.0] * 9 + [1.0], releases=2000)
    >>> 0 < found.lower_bound <= found.claim
    True
    """
    bound = measurement.bound
    if releases < _FEWEST:
        raise ParameterError(f"audit needs at least {_FEWEST} releases, got {releases}")
    first = _scores([bound(data) for _ in range(releases)], score)
    second = _scores([bound(neighbour) for _ in range(releases)], score)
    half = releases // 2
    direction = first[:half].mean(axis=0) - second[:half].mean(axis=0)
    if not direction.any():
        direction = np.ones_like(direction)
    a, b = first @ direction, second @ direction
    loss = bound.loss(d_in)
    found = [
        _bound_along(sign * one, sign * two, half, bound, loss, failure / 4)
        for one, two in ((a, b), (b, a))
        for sign in (1.0, -1.0)
    ]
    best = max(found, key=lambda each: each.lower_bound)
    require(
        best.lower_bound <= best.claim,
        f"{measurement!r} claims a loss of {best.claim:.6g}, and with a failure probability of "
        f"{failure:g} it is at least {best.lower_bound:.6g}: an event came in {best.hits} of "
        f"{best.releases} releases of the data and {best.neighbour_hits} of its neighbour",
    )
    return best


def _scores(releases: list[Any], score: Callable[[Any], float] | None) -> Floats:
    chosen = releases if score is None else [score(release) for release in releases]
    return np.array([_flat(release) for release in chosen])


def _flat(release: Any) -> Floats:
    parts = release if isinstance(release, tuple) else (release,)
    return np.concatenate([np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in parts])


def _bound_along(
    a: Floats,
    b: Floats,
    half: int,
    measurement: Measurement[Any, Any],
    loss: Any,
    failure: float,
) -> Audit:
    """The bound for events {score > threshold}, the threshold chosen on the first halves."""
    levels = np.unique(np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0, 1, 201)))
    trained = [
        _lower(_count(a[:half], t), _count(b[:half], t), half, measurement, loss, failure)
        for t in levels
    ]
    threshold = levels[int(np.argmax(trained))]
    rest = len(a) - half
    hits, others = _count(a[half:], threshold), _count(b[half:], threshold)
    lower = _lower(hits, others, rest, measurement, loss, failure)
    return Audit(lower, _claim(measurement, loss), hits, others, rest)


def _count(scores: Floats, threshold: float) -> int:
    return int(np.count_nonzero(scores > threshold))


def _claim(measurement: Measurement[Any, Any], loss: Any) -> float:
    shown = measurement.output_measure.show(loss)
    return float(shown[0] if isinstance(shown, tuple) else shown)


def _lower(
    hits: int,
    others: int,
    count: int,
    measurement: Measurement[Any, Any],
    loss: Any,
    failure: float,
) -> float:
    p = float(beta.ppf(failure / 2, hits, count - hits + 1)) if hits else 0.0
    q = float(beta.isf(failure / 2, others + 1, count - others)) if others < count else 1.0
    return _BOUNDS[type(measurement.output_measure)](p, q, loss)


def _pure(p: float, q: float, loss: Any) -> float:
    return log(p / q) if p > q else 0.0


def _approximate(p: float, q: float, loss: Any) -> float:
    return _pure(p - float(loss[1]), q, loss)


def _concentrated(p: float, q: float, loss: Any) -> float:
    """sup over orders of the Renyi divergence of coins p and q, over the order."""
    if p <= q:
        return 0.0
    best = -inf
    for order in _ORDERS:
        hit = order * log(p) + (1 - order) * log(q)
        miss = order * log1p(-p) + (1 - order) * log1p(-q) if p < 1 and q < 1 else -inf
        high = max(hit, miss)
        total = high + log(exp(hit - high) + exp(miss - high))
        best = max(best, total / (order - 1) / order)
    return best


_BOUNDS: dict[type[Any], Callable[[float, float, Any], float]] = {
    MaxDivergence: _pure,
    ApproximateDivergence: _approximate,
    ZeroConcentratedDivergence: _concentrated,
}
