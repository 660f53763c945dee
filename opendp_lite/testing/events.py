"""A release of any type as numbers, with its form apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import singledispatch
from math import inf
from numbers import Real
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats
from opendp_lite.sessions.sessions import Release

Leaf = tuple[str, Sequence[float]]


@singledispatch
def leaves(release: object) -> Iterator[Leaf]:
    """The parts of a release: a name for the form of each, and the numbers in it.

    A part without numbers, such as None or a text, is named by all that it is. Register a type
    of your own to have its numbers looked at.
    """
    kind = type(release)
    if attrs.has(kind):
        yield kind.__name__, ()
        for field in attrs.fields(kind):
            yield from leaves(getattr(release, field.name))
    elif not any("__repr__" in vars(each) for each in kind.__mro__[:-1]):
        yield kind.__name__, ()
    else:
        yield repr(release), ()


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
def _of_array(release: np.ndarray) -> Iterator[Leaf]:
    if release.dtype.kind in "biuf":
        yield f"{release.dtype}{release.shape}", release.astype(np.float64).ravel().tolist()
    else:
        yield f"array{release.shape}", ()
        yield from _of_each(release.ravel().tolist())


@leaves.register
def _of_mapping(release: Mapping) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield f"{type(release).__name__}{list(release)!r}", ()
    yield from _of_each(list(release.values()))


@leaves.register(tuple)
@leaves.register(list)
def _of_sequence(release: Sequence[object]) -> Iterator[Leaf]:
    yield f"{type(release).__name__}{len(release)}", ()
    yield from _of_each(release)


@leaves.register
def _of_set(release: AbstractSet) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield f"{type(release).__name__}{sorted(map(repr, release))}", ()


def _of_each(parts: Sequence[object]) -> Iterator[Leaf]:
    for part in parts:
        yield from leaves(part)


@attrs.frozen(eq=False)
class Readings:
    """Many releases: the form of each, as a text, and its numbers where they are all finite.

    ``numbers`` has one row for each release. A row is NaN where a release has not as many finite
    numbers as the ``usual`` form; its types may differ.
    """

    usual: str
    forms: list[str]
    numbers: Floats

    @property
    def width(self) -> int:
        """How many numbers a release of the usual form has."""
        return int(self.numbers.shape[1])


def readings(releases: Sequence[object], usual: str | None = None) -> Readings:
    """The releases as numbers; ``usual`` is the form to look into, by default the commonest."""
    pairs = [_form_and_numbers(release) for release in releases]
    forms = [form for form, _ in pairs]
    common = Counter(forms).most_common(1)[0][0] if usual is None else usual
    width = next((len(numbers) for form, numbers in pairs if form == common), 0)
    blank = [np.nan] * width
    rows = [
        numbers if len(numbers) == width and np.isfinite(numbers).all() else blank
        for _, numbers in pairs
    ]
    return Readings(common, forms, np.array(rows, dtype=np.float64).reshape(len(rows), width))


def _form_and_numbers(release: object) -> tuple[str, list[float]]:
    names: list[str] = []
    numbers: list[float] = []
    for name, found in leaves(release):
        names.append(name)
        numbers.extend(found)
    odd = [f"{place}: {number}" for place, number in enumerate(numbers) if number - number != 0]
    return " ".join([*names, *odd]), numbers


Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

MOST_ENTRIES: Final = 8
MOST_FORMS: Final = 8
_PAIRS = 6
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
        return _inside(self.score.data[start:], self), _inside(self.score.neighbour[start:], self)

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


def _inside(values: Floats, event: Event) -> int:
    return int(np.count_nonzero((values >= event.low) & (values <= event.high)))


def scores(first: Readings, second: Readings, train: int, grid: int | None) -> Iterator[Score]:
    """The numbers to look at: forms, entries, their differences, lowest bits and residues."""
    a, b = first.numbers, second.numbers
    for form in _telling_forms(first.forms[:train], second.forms[:train]):
        flags = _of_form(first, form), _of_form(second, form)
        yield Score(f"a release of the form {form!r}", *flags, indicates=True)
    if not first.width or first.width != second.width:
        return
    gaps = _gaps(a[:train], b[:train])
    if first.width > 1:
        with np.errstate(all="ignore"):
            ones = gaps if gaps.any() else np.ones_like(gaps)
            yield Score("the entries along the difference of the means", a @ ones, b @ ones)
    if first.usual == bool.__name__:
        yield Score("the release True", a[:, 0], b[:, 0], indicates=True)
        return
    chosen = _telling(a[:train], b[:train], gaps)
    for rank, j in enumerate(chosen):
        entry = "the release" if first.width == 1 else f"entry {j}"
        yield Score(entry, a[:, j], b[:, j])
        if rank < _INSPECTED:
            lowest = f"the exponent of the lowest bit of {entry}"
            yield Score(lowest, lowest_bit(a[:, j]), lowest_bit(b[:, j]))
            unit = 2.0 ** (_WHOLE if grid is None else grid)
            beyond = f"{entry} modulo {unit!r}"
            yield Score(beyond, _beyond(a[:, j], unit), _beyond(b[:, j], unit))
    pairs = [(i, j) for place, i in enumerate(chosen) for j in chosen[place + 1 :]]
    for i, j in pairs[:_PAIRS]:
        yield Score(f"entry {i} less entry {j}", _less(a, i, j), _less(b, i, j))


def _less(x: Floats, i: int, j: int) -> Floats:
    with np.errstate(all="ignore"):
        found: Floats = x[:, i] - x[:, j]
    return found


def _beyond(values: Floats, unit: float) -> Floats:
    with np.errstate(all="ignore"):
        found: Floats = np.remainder(values, unit)
    return found


def _telling_forms(first: list[str], second: list[str]) -> list[str]:
    """The forms that one dataset's releases have most more often than the other's."""
    gaps = Counter(first)
    gaps.subtract(second)
    ordered = sorted(gaps, key=lambda form: (-abs(gaps[form]), form))
    return ordered[:MOST_FORMS] if len(ordered) > 1 else []


def _of_form(found: Readings, form: str) -> Floats:
    return np.array([float(each == form) for each in found.forms])


def _gaps(a: Floats, b: Floats) -> Floats:
    """The difference of the means, of entries without their extremes."""
    ends = np.concatenate([a, b])
    ends = ends[~np.isnan(ends).any(axis=1)]
    if not len(ends):
        return np.zeros(a.shape[1])
    low, high = np.quantile(ends, [0.005, 0.995], axis=0, method="lower")
    with np.errstate(all="ignore"):
        middle = (low + high) / 2
        means = [
            (kept - middle).mean(axis=0) if len(kept) else np.zeros(a.shape[1])
            for kept in (_keep(x, low, high) for x in (a, b))
        ]
        gap: Floats = np.nan_to_num(means[0] - means[1], posinf=0.0, neginf=0.0)
    return gap


def _keep(x: Floats, low: Floats, high: Floats) -> Floats:
    rows = x[~np.isnan(x).any(axis=1)]
    kept: Floats = np.clip(rows, low, high)
    return kept


def _telling(a: Floats, b: Floats, gaps: Floats) -> list[int]:
    """The entries that differ most, in units of their spread."""
    if a.shape[1] <= MOST_ENTRIES:
        return list(range(a.shape[1]))
    with np.errstate(all="ignore"):
        spread = np.nanstd(np.concatenate([a, b]), axis=0)
        ranks = np.nan_to_num(np.abs(gaps) / spread, nan=0.0)
    return sorted(np.argsort(-ranks, kind="stable")[:MOST_ENTRIES].tolist())


def lowest_bit(values: Floats) -> Floats:
    """The largest e for which each value is a multiple of 2^e; infinite for 0."""
    share, exponent = np.frexp(values)
    with np.errstate(all="ignore"):
        whole = np.abs(np.nan_to_num(share) * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).clip(1).astype(np.float64)) + exponent - 53
    found: Floats = np.where(values == 0, np.inf, lowest)
    return np.where(np.isnan(values), np.nan, found)


Rank = Callable[[Counts, Counts], Floats]


@attrs.frozen(eq=False)
class Ranked:
    """An event, and how promising it is."""

    rank: float
    event: Event


def best_events(score: Score, train: int, rank: Rank) -> Iterator[Ranked]:
    """The best range and the best single value that the data has more often, or the neighbour."""
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
            yield Ranked(float(ranks[best]), event)


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
