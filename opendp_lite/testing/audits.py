"""What an audit raises when it finds a loss above the claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from math import exp, log
from typing import Any

import attrs
import numpy as np
from scipy.stats import beta

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Floats, identity
from opendp_lite.measures.divergences import (
    ApproximateDivergence,
    MaxDivergence,
    ZeroConcentratedDivergence,
)
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.pipeline.core import AnyMeasurement
from opendp_lite.pipeline.steps import Mechanism
from opendp_lite.testing.events import Counts, Event, Readings, best_events, readings, scores


class Refuted(AssertionError):  # noqa: N818
    """A pipeline loses more than it claims.

    Args:
        message: What was found.
        audit: The ``Audit`` with the numbers, to print or to draw.
    """

    def __init__(self, message: str, audit: Audit) -> None:
        super().__init__(message)
        self.audit = audit


@attrs.frozen
class CountedTest:
    """A test by one event: a release that has it is taken for one of the first dataset.

    Args:
        event: The event, in words.
        false_positives: Releases of the second dataset that had the event.
        false_negatives: Releases of the first dataset that did not.
        releases: How many releases of each dataset were counted.
    """

    event: str
    false_positives: int
    false_negatives: int
    releases: int


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


def promises(measurement: AnyMeasurement, d_in: object) -> list[Promise]:
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
def own_promises(measure: AnyMeasure, measurement: AnyMeasurement, d_in: object) -> list[Promise]:
    """What a loss promises beside its curve: nothing that is known of a measure of one's own."""
    return []


@own_promises.register
def _pure(measure: MaxDivergence, measurement: AnyMeasurement, d_in: object) -> list[Promise]:
    return [Promise("a loss", float(measurement.map(d_in)), partial(_log_ratio, 0.0))]


@own_promises.register
def _approximate(
    measure: ApproximateDivergence, measurement: AnyMeasurement, d_in: object
) -> list[Promise]:
    epsilon, delta = measurement.map(d_in)
    return [Promise("a loss", float(epsilon), partial(_log_ratio, float(delta)))]


@own_promises.register
def _concentrate(
    measure: ZeroConcentratedDivergence, measurement: AnyMeasurement, d_in: object
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


_FEWEST = 100
# One release of so many is learnt from; the others are counted.
_LEARNT = 3
# Events that are counted for each of the two orders of the datasets.
_TRIED = 3
_CELLS = 64
# Standard deviations by which a count that an event was chosen for may flatter it.
_SPREAD = 3.5


@attrs.frozen
class Audit:
    """The result of an audit.

    Args:
        lower_bound: The loss is at least this, with the stated confidence. Under
            ``ApproximateDivergence``, and for a measure of your own, it bounds epsilon at a delta.
        claim: The loss that the pipeline claims, in the same unit.
        hits: Counted releases of the data in which the event came.
        neighbour_hits: The same for the neighbour.
        releases: Counted releases of each dataset.
        event: The event that told most, in words.
        tests: All events that were counted, as tests with their errors, for
            ``dp.plotting.tradeoff_curve``.
    """

    lower_bound: float
    claim: float
    hits: int
    neighbour_hits: int
    releases: int
    event: str = ""
    tests: tuple[CountedTest, ...] = attrs.field(default=(), repr=False)


def audit(
    measurement: AnyMeasurement | Mechanism[Any, Any],
    data: object,
    neighbour: object,
    d_in: object = 1,
    releases: int = 20_000,
    failure: float = 1e-7,
    score: Callable[[Any], object] | None = None,
) -> Audit:
    """Tries to show that a pipeline loses more privacy than its map claims.

    It releases both datasets many times and looks for an event that is more frequent in one of
    them than the claim allows. A third of the releases choose the events, and the others count
    them. The events tried are:

    - a number above, below or between two levels, for every entry of the release, for the
      entries along the difference of the means, and for differences of two entries;
    - a number that comes back exactly (an atom);
    - the place of a number's lowest bit, and its remainder on the declared grid: both tell of
      noise that was made in floats;
    - the release's form: its type, shape, keys and texts, None, and where it is NaN or infinite.

    It is a falsifier and never a proof. It sees two datasets of your choice. An event that only
    one of them has must have a probability of about 100 / ``releases`` to refute an epsilon of 1;
    under zCDP a rare event takes far more. It does not see noise that a cheat can predict
    (a fixed seed or a weak generator), time, memory, or a leak that needs an event of another
    kind, such as one of many bits of many entries together: give such an event as ``score``.

    Args:
        measurement: A pipeline that ends in noise, bound to a space or not.
        data: A dataset.
        neighbour: Another, at most ``d_in`` from it. Make the two as adversarial as you can.
        d_in: Their distance, in the pipeline's metric.
        releases: How many releases to make of each.
        failure: The probability, at most, that a correct pipeline fails.
        score: A function from a release to one or more numbers. The events are then those of
            its result.

    Returns:
        An ``Audit``, with the bound and the event that gave it.

    Raises:
        AssertionError: If the lower bound is above the claim. Its ``audit`` holds the numbers.
        ParameterError: For fewer than 100 releases.

    Proof:
        Events are chosen before the releases that count them are looked at. For one event let x
        and y be its counts. The tail probabilities P(X >= x) and P(Y <= y) at the true p and q
        are independent and at least uniform, so their product is below t with probability at
        most t (1 - ln t) (Fisher's method). That gives a joint confidence region for p and q, by
        Clopper-Pearson. ``failure`` is divided by the number of events that are counted. For an
        epsilon the bound is the least ln((p - delta) / q) of the region. For zCDP it is the least
        Renyi divergence of the two coins over its order, by the data processing inequality.

    Example:
        >>> import opendp_lite as dp
        >>> honest = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
        >>> found = dp.audit(honest, [0.0] * 9, [0.0] * 9 + [1.0], releases=2000)
        >>> 0 < found.lower_bound <= found.claim
        True
    """
    bound = measurement.bound
    if releases < _FEWEST:
        raise ParameterError(f"audit needs at least {_FEWEST} releases, got {releases}")
    claims = promises(bound, d_in)
    look: Callable[[Any], object] = identity if score is None else score
    first = readings([look(bound(data)) for _ in range(releases)])
    second = readings([look(bound(neighbour)) for _ in range(releases)], first.usual)
    train = releases // _LEARNT
    events = _choose(first, second, train, _declared_grid(bound), claims)
    seen = [Seen.of(event, train, failure / len(events)) for event in events]
    found = [_bound_by_events(claim, seen, releases - train) for claim in claims]
    for audited, claim in zip(found, claims, strict=True):
        if not audited.lower_bound <= audited.claim:
            raise Refuted(
                f"{measurement!r} claims {claim.words} of {audited.claim:.6g}, and with a failure "
                f"probability of {failure:g} it is at least {audited.lower_bound:.6g}: "
                f"{audited.event} came in {audited.hits} of {audited.releases} releases of the "
                f"data and {audited.neighbour_hits} of its neighbour",
                audited,
            )
    return found[0]


def _declared_grid(measurement: AnyMeasurement) -> int | None:
    """The exponent of the coarsest grid that the noise declares, if it declares any."""
    exponents = [law.exponent for law in measurement.facts.laws]
    return max(exponents, default=None)


def _choose(
    first: Readings, second: Readings, train: int, grid: int | None, claims: Sequence[Promise]
) -> list[Event]:
    """The events to count."""
    rest = len(first.forms) - train

    def rank(hits: Counts, others: Counts) -> Floats:
        p, q = _guess(hits, train, rest, -_SPREAD), _guess(others, train, rest, _SPREAD)
        found: Floats = np.max(np.array([claim.strain(p, q) for claim in claims]), axis=0)
        return found

    ranked = [
        each
        for score in scores(first, second, train, grid)
        for each in best_events(score, train, rank)
    ]
    ranked.sort(key=lambda each: -each.rank)
    return [
        each.event
        for swapped in (False, True)
        for each in [each for each in ranked if each.event.swapped == swapped][:_TRIED]
    ]


def _guess(counts: Counts, train: int, rest: int, spread: float) -> Floats:
    """A probability so many standard deviations off, for as many releases as will be counted."""
    share = (counts + 0.5) / (train + 1)
    centre = share + spread * spread / (2 * rest)
    width = np.sqrt(share * (1 - share) / rest + spread * spread / (4 * rest * rest))
    found: Floats = (centre + spread * width) / (1 + spread * spread / rest)
    return found


@attrs.frozen(eq=False)
class Seen:
    """An event with its counts, and the cells of p and q that its confidence region lies in."""

    event: Event
    hits: int
    neighbour_hits: int
    least: Floats
    most: Floats

    @classmethod
    def of(cls, event: Event, start: int, failure: float) -> Seen:
        """The event in the releases from this one on."""
        hits, others = event.counts(start)
        x, y = (others, hits) if event.swapped else (hits, others)
        return cls(event, hits, others, *region(x, y, len(event.score.data) - start, failure))

    def as_test(self, count: int) -> CountedTest:
        """The event as a test for the dataset that has it more often."""
        hits, others = self.hits, self.neighbour_hits
        more, less = (others, hits) if self.event.swapped else (hits, others)
        return CountedTest(str(self.event), less, count - more, count)


def _bound_by_events(claim: Promise, seen: Sequence[Seen], count: int) -> Audit:
    """The largest of the events' bounds on one number."""
    bounds = [float(claim.least(each.least, each.most).min()) for each in seen]
    if not bounds:
        return Audit(0.0, claim.claim, 0, 0, count, "no event")
    best, tests = seen[int(np.argmax(bounds))], tuple(each.as_test(count) for each in seen)
    hits = best.hits, best.neighbour_hits
    return Audit(max(bounds), claim.claim, *hits, count, str(best.event), tests)


def region(x: int, y: int, count: int, failure: float) -> tuple[Floats, Floats]:
    """Least p and largest q of cells that cover the confidence region of the two.

    Args:
        x: Hits among ``count`` trials of probability p.
        y: Hits among as many of probability q.
        count: The number of trials of each.
        failure: The probability, at most, that (p, q) lies in no cell.

    Returns:
        For each cell the least p in it, and the largest q.
    """
    product = fisher(failure)
    tails = np.geomspace(product, 1.0, _CELLS)
    least = beta.ppf(tails[:-1], x, count - x + 1) if x else np.zeros(_CELLS - 1)
    most = beta.isf(product / tails[1:], y + 1, count - y) if y < count else np.ones(_CELLS - 1)
    return least, most


def fisher(failure: float) -> float:
    """The largest t for which t (1 - ln t) is at most the failure, a little less."""
    t = failure
    for _ in range(50):
        t = failure / (1 - log(t))
    return t * (1 - 1e-9)
