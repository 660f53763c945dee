"""Events that tell the releases of two datasets apart, and the loss that they prove."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial, singledispatch
from math import copysign, exp, inf, log
from numbers import Complex, Real
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Floats, identity
from opendp_lite.measures import divergences
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.numbers.exact import open_probability, quote, whole
from opendp_lite.pipeline.core import AnyMeasurement, AnyPrivate, Private
from opendp_lite.pipeline.questions import Pipeline, brief
from opendp_lite.pipeline.steps import Mechanism
from opendp_lite.sessions.sessions import Release


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

    @np.errstate(all="ignore")
    def strain(self, p: Floats, q: Floats) -> Floats:
        """How near the claim an event comes: 1 at the claim, above 2 beyond it."""
        least = self.least(p, q)
        share = np.where(least > 0, np.minimum(least / self.claim, 1.0), 0.0)
        beyond = (least - self.claim) / (self.claim + _TINY)
        return np.where(least > self.claim, 2 + beyond, share)


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


@own_promises.register(divergences.MaxDivergence)
@own_promises.register(divergences.ApproximateDivergence)
def _of_epsilon(measure: AnyMeasure, measurement: AnyMeasurement, d_in: object) -> list[Promise]:
    loss = measurement.map(d_in)
    epsilon, delta = loss if isinstance(loss, tuple) else (loss, 0.0)
    return [Promise("a loss", float(epsilon), partial(_log_ratio, float(delta)))]


@own_promises.register
def _concentrate(
    measure: divergences.ZeroConcentratedDivergence, measurement: AnyMeasurement, d_in: object
) -> list[Promise]:
    return [Promise("a loss", float(measurement.map(d_in)), _renyi)]


def _hockey_stick(epsilon: float, p: Floats, q: Floats) -> Floats:
    """The least delta for which p <= e^epsilon q + delta."""
    return np.maximum(p - exp(epsilon) * q, 0.0)


@np.errstate(all="ignore")
def _log_ratio(delta: float, p: Floats, q: Floats) -> Floats:
    """The least epsilon for which p <= e^epsilon q + delta."""
    rest = p - delta
    return np.where(rest > q, np.log(rest / q), 0.0)


@np.errstate(all="ignore")
def _renyi(p: Floats, q: Floats) -> Floats:
    """The largest Renyi divergence of coins p and q over its order, at some orders."""
    order = _ORDERS.reshape(-1, *[1] * np.ndim(p))
    hit = order * np.log(p) + (1 - order) * np.log(q)
    miss = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    total = np.logaddexp(hit, miss) / (order - 1) / order
    return np.where(p > q, np.nan_to_num(total, nan=0.0).max(axis=0), 0.0)


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
      entries along the difference of the means and between their middles, and for differences and
      sums of entries;
    - a number that comes back exactly (an atom);
    - the place of a number's lowest bit, and its remainder on the declared grid: both tell of
      noise that was made in floats;
    - the release's form: its type, shape, keys, texts and warnings, None, and where it is NaN,
      infinite or a 0 with a minus. Numbers in a text are entries. An error is a form, too.

    Of releases of many forms, it reads the numbers of the four commonest, and of the four commonest
    numbers of entries.

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
        ParameterError: For fewer than 100 releases, or for something else than such a pipeline.

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
        >>> found.lower_bound <= found.claim
        True
    """
    bound = bind_private(measurement, "audit")
    releases = whole(releases, "audit: releases", least=_FEWEST)
    failure = float(open_probability(failure, "audit: failure"))
    claims = promises(bound, d_in)
    look: Callable[..., object] = identity if score is None else score
    made = [_release(bound, data, look) for _ in range(releases)]
    again = [_release(bound, neighbour, look) for _ in range(releases)]
    # What every release raises is none of the data: they may be no data for this pipeline.
    if all(isinstance(each, Exception) for each in (*made, *again)):
        raise cast(Exception, made[0])
    first, second = [*map(read, made)], [*map(read, again)]
    train = releases // _LEARNT
    # The coarsest grid that the noise declares, if it declares any.
    grid = max((law.exponent for law in bound.facts.laws), default=None)
    events = _choose(first, second, train, grid, claims)
    seen = [Seen.of(event, train, failure / len(events)) for event in events]
    found = [_bound_by_events(claim, seen, releases - train) for claim in claims]
    for audited, claim in zip(found, claims, strict=True):
        if not audited.lower_bound <= audited.claim:
            raise Refuted(
                f"{brief(measurement)} claims {claim.words} of {audited.claim:.6g}, and with a "
                f"failure probability of {failure:g} it is at least {audited.lower_bound:.6g}: "
                f"{audited.event} came in {audited.hits} of {audited.releases} releases of the "
                f"data and {audited.neighbour_hits} of its neighbour",
                audited,
            )
    return found[0]


def bind_private(pipeline: AnyPrivate, falsifier: str) -> AnyMeasurement:
    """A pipeline that ends in noise, bound to a space; anything else is refused."""
    if not isinstance(pipeline, Private):
        got = brief(pipeline) if isinstance(pipeline, Pipeline) else quote(pipeline)
        raise ParameterError(f"{falsifier} takes a pipeline that ends in noise, got {got}")
    return pipeline.bound


def _release(measurement: AnyMeasurement, data: object, look: Callable[..., object]) -> object:
    """What is looked at of a release, with the texts of its warnings; or the error instead."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = measurement(data)
        except Exception as problem:
            return problem.with_traceback(None)
    return (look(found), *(str(each.message) for each in caught)) if caught else look(found)


def _choose(
    first: Sequence[Read],
    second: Sequence[Read],
    train: int,
    grid: int | None,
    claims: Sequence[Promise],
) -> list[Event]:
    """The events to count."""
    rest = len(first) - train

    def rank(hits: Counts, others: Counts) -> Floats:
        p, q = _guess(hits, train, rest, -_SPREAD), _guess(others, train, rest, _SPREAD)
        found: Floats = np.max(np.array([claim.strain(p, q) for claim in claims]), axis=0)
        return found

    ranked: list[tuple[float, Event]] = []
    for score in scores(first, second, train, grid):
        ranked.extend(best_events(score, train, rank))
    ranked.sort(key=lambda each: -each[0])
    events = [event for _, event in ranked]
    swapped = [event for event in events if event.swapped]
    return [event for event in events if not event.swapped][:_TRIED] + swapped[:_TRIED]


def _guess(counts: Counts, train: int, rest: int, spread: float) -> Floats:
    """A probability so many standard deviations off, for as many releases as will be counted."""
    share = (counts + 0.5) / (train + 1)
    centre = share + spread * spread / (2 * rest)
    width = np.sqrt(share * (1 - share) / rest + spread * spread / (4 * rest * rest))
    return (centre + spread * width) / (1 + spread * spread / rest)


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
    # Clopper and Pearson's ends, by the functions that ``scipy.stats.beta`` calls: its own ``ppf``
    # gives NaN for some of these arguments in a browser.
    least, most = np.zeros(_CELLS - 1), np.ones(_CELLS - 1)
    if x:
        least[:] = betaincinv(x, count - x + 1, tails[:-1])
    if y < count:
        most[:] = betainccinv(y + 1, count - y, product / tails[1:])
    return least, most


def fisher(failure: float) -> float:
    """The largest t for which t (1 - ln t) is at most the failure, a little less."""
    t = failure
    for _ in range(50):
        t = failure / (1 - log(t))
    return t * (1 - 1e-9)


Leaf = tuple[str, Sequence[float]]


@singledispatch
def leaves(release: object) -> Iterator[Leaf]:
    """The parts of a release: a name for the form of each, and the numbers in it.

    A part without numbers, such as None, is named by its text. Register a type of your own to have
    its numbers looked at, where its text does not tell them.
    """
    kind = type(release)
    if attrs.has(kind):
        yield kind.__name__, ()
        # Not what has no part in equality: an identity, which is another in each release.
        for field in (each for each in attrs.fields(kind) if each.eq):
            yield from leaves(getattr(release, field.name))
    elif not any("__repr__" in vars(each) for each in kind.__mro__[:-1]):
        yield kind.__name__, ()
    elif hasattr(kind, "__array__"):
        yield kind.__name__, ()
        yield from leaves(np.asarray(release))
    else:
        yield from _of_text(repr(release))


_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


@leaves.register
def _of_text(release: str) -> Iterator[Leaf]:
    """A text without its numbers, and these: each that holds noise is a text of its own."""
    text = _ADDRESS.sub("", release)
    yield _NUMBER.sub("#", text), [*map(float, _NUMBER.findall(text))]


@leaves.register
def _of_error(release: Exception) -> Iterator[Leaf]:
    return _of_text(f"{type(release).__name__}: {release}")


@leaves.register
def _of_release(release: Release) -> Iterator[Leaf]:
    """What was released, without what it cost."""
    yield type(release).__name__, ()
    yield from leaves(release.value)


@leaves.register
def _of_number(release: Real) -> Iterator[Leaf]:
    yield type(release).__name__, (_near(release),)


def _near(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:
        return -inf if number < 0 else inf


@leaves.register
def _of_complex(release: Complex) -> Iterator[Leaf]:
    found = complex(release)
    yield type(release).__name__, (found.real, found.imag)


@leaves.register
def _of_array(release: np.ndarray) -> Iterator[Leaf]:
    # What masks some of its entries tells by these, too.
    if release.dtype.kind in "biuf" and type(release) is np.ndarray:
        yield f"{release.dtype}{release.shape}", release.astype(np.float64).ravel().tolist()
    else:
        yield f"array{release.shape}", ()
        yield from _of_each(release.ravel().tolist())


@leaves.register
def _of_mapping(release: Mapping) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield type(release).__name__, ()
    yield from _of_text(repr(list(release)))
    yield from _of_each(list(release.values()))


@leaves.register(tuple)
@leaves.register(list)
def _of_sequence(release: Sequence[object]) -> Iterator[Leaf]:
    yield f"{type(release).__name__}{len(release)}", ()
    yield from _of_each(release)


@leaves.register
def _of_set(release: AbstractSet) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield type(release).__name__, ()
    yield from _of_text(repr(sorted(map(repr, release))))


def _of_each(parts: Sequence[object]) -> Iterator[Leaf]:
    for part in parts:
        yield from leaves(part)


Read = tuple[str, list[float]]
"""The form of a release, as a text, and its numbers. The form tells where they are not finite."""


def read(release: object) -> Read:
    """The form and the numbers of a release."""
    names: list[str] = []
    numbers: list[float] = []
    for name, found in leaves(release):
        names.append(name)
        numbers.extend(found)
    odd = [f"{place}: {number}" for place, number in enumerate(numbers) if _is_odd(number)]
    return " ".join([*names, *odd]), numbers


def _is_odd(number: float) -> bool:
    """Whether it is not finite or a 0 below 0, which no range of numbers tells apart."""
    return number - number != 0 or (number == 0 and copysign(1, number) < 0)


Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

MOST_ENTRIES: Final = 8
MOST_FORMS: Final = 8
MOST_READ: Final = 4
_PAIRS = 6
# Releases through which no line is drawn, and the square of a correlation that tells of one noise.
_FEW_RELEASES = 3
_ALIKE = 0.5
_INSPECTED = 3
_SHARES = 200
_TAIL = 1.1
_COARSE = 24
_APART = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_ATOMS = 32
_WHOLE = 0


@attrs.frozen(eq=False)
class Score:
    """A number for each release of the data and of its neighbour; of an indicator 1 or 0."""

    words: str
    data: Floats
    neighbour: Floats
    indicates: bool = False


@attrs.frozen(eq=False)
class Event:
    """That a score lies between two numbers, both included."""

    score: Score
    low: float
    high: float
    swapped: bool
    """Whether the neighbour is to have it more often."""

    def counts(self, start: int) -> tuple[int, int]:
        """In how many releases of each, from this one on."""
        parts = self.score.data[start:], self.score.neighbour[start:]
        hits = (np.count_nonzero((each >= self.low) & (each <= self.high)) for each in parts)
        return int(next(hits)), int(next(hits))

    def __str__(self) -> str:
        if self.score.indicates:
            return self.score.words if self.high >= 1 else f"something else than {self.score.words}"
        if self.low == self.high:
            return f"{self.score.words} equal to {self.low!r}"
        if self.high == np.inf:
            return f"{self.score.words} above {np.nextafter(self.low, -np.inf):.12g}"
        if self.low == -np.inf:
            return f"{self.score.words} of at most {self.high:.12g}"
        return f"{self.score.words} from {self.low:.12g} to {self.high:.12g}"


@attrs.frozen(eq=False)
class FormReading:
    """The finite numbers of some releases; the row of any other release is NaN.

    Args:
        form: The form that most of them have.
        entries: What each number is called.
        data: The numbers in releases of the data.
        neighbour: The same for the neighbour.
    """

    form: str
    entries: list[str]
    data: Floats
    neighbour: Floats


def readings(first: Sequence[Read], second: Sequence[Read], train: int) -> Iterator[FormReading]:
    """The numbers of releases that have equally many, and of the commonest forms.

    The commonest form alone may tell nothing, such as None. What is read is chosen by the first
    releases, as the events are.
    """
    seen, widths = Counter[tuple[str, int]](), Counter[int]()
    kept: dict[tuple[str, int], list[int]] = {}
    usual: dict[int, str] = {}
    for form, numbers in (*first[:train], *second[:train]):
        seen[form, len(numbers)] += 1
        if (form, len(numbers)) not in kept:
            kept[form, len(numbers)] = np.flatnonzero(np.isfinite(numbers)).tolist()
    telling = [(*key, times) for key, times in seen.most_common() if kept[key]]
    for form, width, times in telling:
        if len(kept[form, width]) == width:
            widths[width] += times
            usual.setdefault(width, form)
    for width, _ in widths.most_common(MOST_READ):
        among = f" of {width}" if len(widths) > 1 else ""
        entries = [f"entry {j}{among}" for j in range(width)] if width > 1 else ["the release"]
        parts = (_numbers_at(each, width, range(width)) for each in (first, second))
        yield FormReading(usual[width], entries, *parts)
    for form, width, times in telling[:MOST_READ]:
        places = kept[form, width]
        # Where no other form has as many numbers, they were read above.
        if len(places) < width or times < widths[width]:
            names = (f"entry {j}" if width > 1 else "the release" for j in places)
            parts = (_numbers_at(each, width, places, form) for each in (first, second))
            yield FormReading(form, [f"{name} of the form {form!r}" for name in names], *parts)


def _numbers_at(
    found: Sequence[Read], width: int, places: Sequence[int], form: str | None = None
) -> Floats:
    """Some of the numbers of each release that has so many, and the form, if one is given."""
    blank = [np.nan] * len(places)
    rows = np.array(
        [
            [numbers[j] for j in places] if len(numbers) == width and form in (None, own) else blank
            for own, numbers in found
        ]
    )
    rows[~np.isfinite(rows).all(axis=1)] = np.nan
    return rows


def scores(
    first: Sequence[Read], second: Sequence[Read], train: int, grid: int | None
) -> Iterator[Score]:
    """The numbers to look at: forms, and what numbers tell."""
    forms = [[form for form, _ in each] for each in (first, second)]
    for form in _telling_forms(*(each[:train] for each in forms)):
        one, two = (np.array([float(own == form) for own in each]) for each in forms)
        yield Score(f"a release of the form {form!r}", one, two, indicates=True)
    for reading in readings(first, second, train):
        yield from _scores_of(reading, train, grid)


def _scores_of(reading: FormReading, train: int, grid: int | None) -> Iterator[Score]:
    """Entries, their differences and sums, lowest bits and residues."""
    a, b, names = reading.data, reading.neighbour, reading.entries
    if reading.form == bool.__name__:
        yield Score("the release True", a[:, 0], b[:, 0], indicates=True)
        return
    one, two = (x[:train][~np.isnan(x[:train, 0])] for x in (a, b))
    gaps = _gaps(one, two)
    if len(names) > 1 and len(one) and len(two):
        with np.errstate(all="ignore"):
            ones = gaps if gaps.any() else np.ones_like(gaps)
            yield Score("the entries along the difference of the means", a @ ones, b @ ones)
            # The likelihood of two Laplace laws: an entry counts between the two middles alone.
            middles = np.sort([np.median(x, axis=0) for x in (one, two)], axis=0)
            weights = np.nan_to_num(np.sign(gaps) / one.std(axis=0), posinf=0.0, neginf=0.0)
            near = [np.clip(x, *middles) @ weights for x in (a, b)]
            yield Score("the entries between their middles", near[0], near[1])
    chosen = _telling(one, two, gaps)
    for rank, j in enumerate(chosen):
        entry = names[j]
        yield Score(entry, a[:, j], b[:, j])
        if rank < _INSPECTED:
            lowest = f"the exponent of the lowest bit of {entry}"
            yield Score(lowest, lowest_bit(a[:, j]), lowest_bit(b[:, j]))
            unit = 2.0 ** (_WHOLE if grid is None else grid)
            beyond = [_quiet(np.remainder, x[:, j], unit) for x in (a, b)]
            yield Score(f"{entry} modulo {unit!r}", beyond[0], beyond[1])
    pairs = [(i, j) for place, i in enumerate(chosen) for j in chosen[place + 1 :]]
    for words, compute in (("less", np.subtract), ("plus", np.add)):
        for i, j in pairs[:_PAIRS]:
            both = [_quiet(compute, x[:, i], x[:, j]) for x in (a, b)]
            yield Score(f"{names[i]} {words} {names[j]}", both[0], both[1])
    for i, j in pairs[:_PAIRS]:
        # One draw of noise times a width for each entry: so many times the other is without noise.
        slope = _slope(one[:, i], one[:, j])
        if slope:
            both = [_quiet(np.subtract, x[:, i], slope * x[:, j]) for x in (a, b)]
            yield Score(f"{names[i]} less {slope:.6g} times {names[j]}", both[0], both[1])
    if len(names) > 2:
        yield Score("the sum of all entries", _quiet(np.sum, a, 1), _quiet(np.sum, b, 1))


@np.errstate(all="ignore")
def _quiet(compute: Callable[..., Floats], values: Floats, other: Floats | float) -> Floats:
    """What a function of numpy gives, without a warning of what is NaN or beyond floats."""
    return compute(values, other)


@np.errstate(all="ignore")
def _slope(first: Floats, second: Floats) -> float:
    """That of the line through the releases; 0 where they have little in common."""
    if len(first) < _FEW_RELEASES:
        return 0.0
    (spread, common), (_, other) = np.cov(first, second).tolist()
    likeness = common**2 / (spread * other) if spread * other > 0 else 0.0
    return common / other if _ALIKE < likeness < np.inf else 0.0


def _telling_forms(first: list[str], second: list[str]) -> list[str]:
    """The forms that one dataset's releases have most more often than the other's."""
    gaps = Counter(first)
    gaps.subtract(second)
    ordered = sorted(gaps, key=lambda form: (-abs(gaps[form]), form))
    return ordered[:MOST_FORMS] if len(ordered) > 1 else []


def _gaps(a: Floats, b: Floats) -> Floats:
    """The difference of the means, of entries without their extremes."""
    ends = np.concatenate([a, b])
    if not len(ends):
        return np.zeros(a.shape[1])
    low, high = np.quantile(ends, [0.005, 0.995], axis=0, method="lower")
    with np.errstate(all="ignore"):
        middle = (low + high) / 2
        means = [
            (np.clip(x, low, high) - middle).mean(axis=0) if len(x) else np.zeros(a.shape[1])
            for x in (a, b)
        ]
        gap: Floats = np.nan_to_num(means[0] - means[1], posinf=0.0, neginf=0.0)
    return gap


@np.errstate(all="ignore")
def _telling(a: Floats, b: Floats, gaps: Floats) -> list[int]:
    """The entries that differ most, in units of their spread."""
    if a.shape[1] <= MOST_ENTRIES:
        return list(range(a.shape[1]))
    spread = np.std(np.concatenate([a, b]), axis=0)
    ranks = np.nan_to_num(np.abs(gaps) / spread, nan=0.0)
    return sorted(np.argsort(-ranks, kind="stable")[:MOST_ENTRIES].tolist())


@np.errstate(all="ignore")
def lowest_bit(values: Floats) -> Floats:
    """The largest e for which each value is a multiple of 2^e; infinite for 0."""
    share, exponent = np.frexp(values)
    whole = np.abs(np.nan_to_num(share) * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).clip(1).astype(np.float64)) + exponent - 53
    found: Floats = np.where(values == 0, np.inf, lowest)
    return np.where(np.isnan(values), np.nan, found)


def best_events(
    score: Score, train: int, rank: Callable[[Counts, Counts], Floats]
) -> Iterator[tuple[float, Event]]:
    """The best range and the best single value that the data has more often, or the neighbour.

    Before each stands how promising it is.
    """
    a = np.sort(score.data[:train][~np.isnan(score.data[:train])])
    b = np.sort(score.neighbour[:train][~np.isnan(score.neighbour[:train])])
    if not len(a) + len(b):
        return
    low, high = _intervals(np.sort(np.concatenate([a, b])))
    ones, twos = _between(a, low, high), _between(b, low, high)
    single = low == high
    for swapped, (hits, others) in enumerate([(ones, twos), (twos, ones)]):
        ranks = rank(hits, others)
        for kind in (np.flatnonzero(~single), np.flatnonzero(single)):
            best = kind[np.argmax(ranks[kind])]
            event = Event(score, float(low[best]), float(high[best]), bool(swapped))
            yield float(ranks[best]), event


def _between(ordered: Floats, low: Floats, high: Floats) -> Counts:
    return np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left")


def _intervals(ordered: Floats) -> tuple[Floats, Floats]:
    """The ends of intervals: half-lines, between two levels, and single values."""
    levels = np.unique(ordered[_places(len(ordered))])
    after = np.nextafter(levels, np.inf)
    some = np.unique(np.linspace(0, len(levels) - 1, _COARSE).astype(np.int64))
    coarse, coarse_after = levels[some], after[some]
    i, j = np.triu_indices(len(coarse), 1)
    atoms, times = np.unique(ordered, return_counts=True)
    atoms = atoms[np.argsort(-times, kind="stable")[:_ATOMS]]
    infinite = np.full(len(levels), np.inf)
    low = [after, -infinite, coarse_after[i], levels, atoms, *(after[:-k] for k in _APART)]
    high = [infinite, levels, coarse[j], levels, atoms, *(levels[k:] for k in _APART)]
    return np.concatenate(low), np.concatenate(high)


def _places(count: int) -> Counts:
    """Places of an ordered sample: even ones, and denser ones towards both ends."""
    even = np.linspace(0, count - 1, _SHARES + 1)
    tail = _TAIL ** np.arange(int(np.log(count) / np.log(_TAIL)) + 1) - 1
    return np.unique(np.concatenate([even, tail, count - 1 - tail]).astype(np.int64))
