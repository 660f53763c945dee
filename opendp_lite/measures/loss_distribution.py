"""Privacy loss distributions: of any curve, and of several releases together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import count as count_up

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]
"""At least (1 - 2^-47) times the delta at each of some rising levels, all at least 0."""

# Above the relative error of exp, expm1 and of what is done with them here: libraries promise
# 2^-51 or so, and this is 2^-46.
_SLACK = 2.0**-46
# Above what underflow can lose of all masses together, and far below every delta of use.
LOST = 1e-290
# Up to so many atoms are kept where they are; a grid would part them.
_FEW = 2**12
# Of the cells of one part, and of all together: with more, arrays take over 100 MB.
_MOST_OF_ONE, _MOST_OF_ALL = 2**20, 2**22
# Losses beyond have no grid, since exp(loss) is to be a float; sums of losses serve there.
_FARTHEST, _NEAREST = 512.0, 2.0**-30
# Numbers of standard deviations by which a tail is looked for: Chernoff's bound holds at each.
_TRIALS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
# By far enough tilts for a delta of 1e-290; exponents stay below 3e4, and exact to 1e-11.
_MOST_TILTS, _MOST_EXPONENT = 100, 3e4
# Where Renyi divergences are asked for, tails of 1e-20 are cut off, and the grid is as fine as so
# many releases need it: a coarse one widens laws whose large losses are rare.
_CUT, _MANY = 1e-15, 2**14
# exp(700) is about the largest float.
_MOST_SIZE = 700.0
# Of the Euclidean norm, times log2 of the length: the error of a fast Fourier transform (Higham
# 2002, theorem 24.2, with the twiddle factors within one unit). numpy's is 45 times better.
_TRANSFORM = 8 * 2.0**-53


@attrs.frozen(eq=False, repr=False)
class LossDistribution:
    """Masses at multiples of ``step`` that stand for a pair of laws in every composition.

    Attributes:
        step: A power of two.
        first: The lowest multiple.
        masses: Of each multiple from there on. They may add up to more than 1.
        beyond: The mass of an infinite loss.

    Proof:
        Let hat(e) be the sum of p_i (1 - exp(e - l_i))+ and ``beyond``. If hat(e) is at least
        delta(e) for all real e, also below 0, the masses may stand for the pair (P, Q). For delta
        of two independent releases is the integral of delta_2(e - l) dp_1(l), and p_1 at infinity.
        It grows where delta_2 is replaced by hat_2. Then the two change roles. So a mass that is
        moved up or enlarged is safe, and no step needs a total of 1. A mechanism that is chosen by
        the answers before, under a fixed pair, is in Zhu, Dong, Wang 2022, theorem 10.
    """

    step: float
    first: int
    masses: Floats
    beyond: float

    @property
    def losses(self) -> Floats:
        """Exactly."""
        places = np.arange(self.first, self.first + len(self.masses), dtype=np.float64)
        return places * self.step

    @property
    def end(self) -> float:
        """The largest finite loss."""
        return (self.first + len(self.masses) - 1) * self.step

    @property
    def reach(self) -> float:
        """The largest finite loss in size."""
        return max(self.end, -self.first * self.step)

    def cumulant(self, tilt: float) -> Floats:
        """log E exp(tilt loss) of the finite losses, and their tilted mean and variance."""
        losses = self.losses
        exponents = np.where(self.masses > 0, tilt * losses, -math.inf)
        top = float(exponents.max())
        weights = self.masses * np.exp(exponents - top)
        total = weights.sum()
        mean = (weights * losses).sum() / total
        variance = (weights * (losses - mean) ** 2).sum() / total
        return np.array([top + math.log(total), mean, variance])


@attrs.frozen(eq=False, repr=False)
class Chain:
    """Levels on a grid, deltas at them that are convex in e^level, and the slopes after each."""

    levels: Floats
    deltas: Floats
    slopes: Floats

    def until(self, end: float) -> Chain:
        """The same up to a level."""
        count = min(int(np.searchsorted(self.levels, end)) + 1, len(self.levels))
        slopes = np.append(self.slopes[: count - 1], 0.0)
        return Chain(self.levels[:count], self.deltas[:count], slopes)


def draw_chain(curve: Curve, step: float, end: float, start: float) -> Chain:
    """Chords between points of a curve, from ``start`` at 0 to about ``end``.

    Points are left out until the chain is convex. The chords between those that stay are above the
    curve as well, so what a curve was rounded by costs tightness and never safety.
    """
    levels = np.arange(math.ceil(end / step) + 1, dtype=np.float64) * step
    deltas = _raise(curve(levels))
    deltas[0] = start
    # A delta holds at all higher levels.
    deltas = np.minimum.accumulate(deltas)
    while True:
        slopes: Floats = np.diff(deltas) / (np.exp(levels[:-1]) * np.expm1(np.diff(levels)))
        kept = np.ones(len(levels), dtype=bool)
        kept[1:-1] = np.diff(slopes) > 0
        if kept.all():
            return Chain(levels, deltas, np.append(slopes, 0.0))
        levels, deltas = levels[kept], deltas[kept]


def connect_dots(there: Chain, back: Chain, step: float) -> LossDistribution:
    """The losses of P against Q.

    Args:
        there: Chords of the curve of (P, Q). Losses above its end become infinite.
        back: Those of (Q, P), from the same delta at 0. Losses below move up to its end.
        step: A power of two.

    Proof:
        With a = e^level, delta is convex in a, so the chords between some of its points are above
        it (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The mass of Q at a point is the jump
        of the slope there, and that of P is a times as much. Below 0 it is delta(-e) =
        1 - a + a delta_back(e): P's mass at -e is the jump of the slope of the curve of (Q, P). So
        nothing is subtracted from 1, and low tails keep their relative precision.
    """
    rising, falling = (np.rint(each.levels[1:] / step).astype(np.int64) for each in (there, back))
    lowest = falling[-1]
    masses = np.zeros(rising[-1] + lowest + 1)
    masses[lowest + rising] = _jumps(there.slopes) * np.exp(there.levels[1:])
    masses[lowest - falling] = _jumps(back.slopes)
    turn = there.slopes[0] + back.slopes[0]
    masses[lowest] += max(0.0, 1 - there.deltas[0] + turn) + _SLACK * (1 - turn)
    beyond = float(there.deltas[-1]) * (1 + _SLACK)
    return LossDistribution(step, -int(lowest), masses * (1 + _SLACK), beyond)


def _raise(deltas: Floats) -> Floats:
    return np.minimum(deltas * (1 + _SLACK) + LOST, 1.0)


def _jumps(slopes: Floats) -> Floats:
    """Of a slope at each point but the first, at least: each slope has its own relative error."""
    return np.diff(slopes) + _SLACK * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))


Part = tuple[tuple[Curve, ...], int]
"""The curve of each direction, of the last on the way back, and how many releases have them."""


def connect_all(parts: Sequence[Part], small: float) -> tuple[Convolution, ...]:
    """All on one grid in each direction, for a delta of 100 ``small``.

    None at all where losses are too large. All parts have as many directions.
    """
    number, far = sum(count for _, count in parts), np.array([_FARTHEST])
    if any(side(far)[0] > 1 - 2.0**-20 for sides, _ in parts for side in sides):
        return ()
    ends = [
        [(_find_end(side, 1e-5 * small / number), _find_end(side, 1e-12 / number)) for side in each]
        for each, _ in parts
    ]
    widest = max(max(pair) for each in ends for pair in each)
    if not _NEAREST < widest < _FARTHEST:
        return ()
    step, least = 2.0 ** math.floor(math.log2(widest / 128)), widest / _MOST_OF_ONE
    while True:
        pairs = [
            _connect_sides(sides, step, each) for (sides, _), each in zip(parts, ends, strict=True)
        ]
        counts = [count for _, count in parts]
        found = [tuple(zip(each, counts, strict=True)) for each in zip(*pairs, strict=True)]
        whole = tuple(map(Convolution, found))
        # The law is too wide on a coarse grid, so the step shrinks to its place.
        # The direction with the larger delta has the smaller tilt, and it counts.
        fine = max(least, *(each.choose_step(number, 100 * small) for each in whole))
        fine = 2.0 ** math.floor(math.log2(fine) + 0.5)
        if fine >= step:
            return whole
        step = fine


def find_divergences(
    sides: Sequence[Curve], orders: Sequence[float]
) -> tuple[float, float, list[float]] | None:
    """The mass of infinity, and the largest loss and the Renyi divergences of all others.

    The larger of all directions. They are those of masses that stand for the release: x^a, times a
    mass of the loss log x, is a mixture of hockey sticks, and all of these are at least those of
    the release.
    """
    found = [whole.parts[0][0] for whole in connect_all([(tuple(sides), _MANY)], _CUT * _MANY)]
    masses = [float(one.masses.sum()) for one in found]
    if not found or max(masses) > 1 + 2.0**-40:
        return None
    logs = [[float(one.cumulant(order - 1)[0]) for order in orders] for one in found]
    # The sum of a million masses, and exponents below 2^14, are off by less than 2^-31.
    divergences = [
        max(max(each) + 2.0**-29, 0.0) / (order - 1) * (1 + 2.0**-50)
        for order, each in zip(orders, zip(*logs, strict=True), strict=True)
    ]
    # The masses of 2^40 releases have a product of e at most, which multiplies what lies beyond.
    beyond, largest = max(one.beyond for one in found), max(one.reach for one in found)
    return 3 * beyond, largest, divergences


def _connect_sides(
    sides: Sequence[Curve], step: float, ends: Sequence[tuple[float, float]]
) -> list[LossDistribution]:
    """The losses of one release in each direction."""
    # Both ways round delta(0) is the total variation. Two chains must start at one number: else
    # the bound fails just below 0, by their difference.
    first = [_raise(side(np.zeros(1)))[0] for side in sides]
    starts = [min(pair) for pair in zip(first, first[::-1], strict=True)]
    chains = [
        draw_chain(side, step, up, start)
        for side, (up, _), start in zip(sides, ends, starts, strict=True)
    ]
    downs = [chain.until(down) for chain, (_, down) in zip(chains, ends, strict=True)]
    return [connect_dots(*pair, step) for pair in zip(chains, downs[::-1], strict=True)]


def _find_end(curve: Curve, small: float) -> float:
    """About the least level from which on the curve falls by no more than this."""
    rest = float(curve(np.array([_FARTHEST]))[0]) + small
    high = 2.0**-40
    while float(curve(np.array([high]))[0]) > rest and high < _FARTHEST:
        high *= 2
    low = high / 2
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if float(curve(np.array([middle]))[0]) > rest else (low, middle)
    return high


@attrs.frozen(eq=False, repr=False)
class LossLaw:
    """Finite losses of several releases, with masses and their error, and that of infinity.

    Attributes:
        losses: In no order.
        masses: Times ``exp(log_scale - tilt loss)`` those of the losses.
        error: The Euclidean norm of what the masses may be too small by.
        raised: A factor above all relative errors.
        beyond: The mass of an infinite loss.
    """

    losses: Floats
    masses: Floats
    beyond: float
    log_scale: float = 0.0
    tilt: float = 0.0
    error: float = 0.0
    raised: float = 1 + 2.0**-30

    def delta(self, level: float) -> float:
        """At least the delta at this level."""
        above = self.losses > level
        losses = self.losses[above]
        exponents = self.log_scale - self.tilt * losses
        if len(losses) and exponents.max() > _MOST_SIZE:
            return 1.0
        weights = np.exp(exponents) * -np.expm1(level - losses)
        # What the masses lack is at most the product of both norms (Cauchy and Schwarz).
        found = float((weights * self.masses[above]).sum()) + _norm(weights) * self.error
        return min(1.0, (found + self.beyond) * self.raised)


@attrs.frozen(eq=False, repr=False)
class Convolution:
    """The sum of independent losses, worked out near the level that is asked for.

    Each part is tilted by exp(tilt loss), so that the sum of the tilted losses has the level as its
    mean. The error of a Fourier transform is absolute. So it is relative to delta, however small
    delta is.
    """

    parts: tuple[tuple[LossDistribution, int], ...]
    # Tilt, log E exp(tilt loss), mean and variance, a standard deviation of means apart.
    tilts: list[Floats] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "tilts", [np.append(0.0, self.cumulant(0.0))])

    @property
    def step(self) -> float:
        """Of all parts."""
        return self.parts[0][0].step

    def cumulant(self, tilt: float) -> Floats:
        """That of the sum."""
        found: Floats = np.sum([count * one.cumulant(tilt) for one, count in self.parts], axis=0)
        return found

    def delta(self, level: float) -> float:
        """At least the delta at this level."""
        if level >= sum(count * one.end for one, count in self.parts):
            # Above all finite sums. No transform is needed, nor could each be afforded.
            return min(1.0, self.beyond * (1 + 2.0**-30))
        return _convolve(self, self._choose(level)).delta(level)

    @property
    def beyond(self) -> float:
        """The mass of an infinite loss."""
        masses = [(count, float(one.masses.sum()) + one.beyond) for one, count in self.parts]
        total = sum(count * math.log(max(1.0, mass)) for count, mass in masses)
        share = sum(count * one.beyond for one, count in self.parts)
        return math.exp(total) * share if total < _MOST_SIZE else math.inf

    def find_tilt(self, delta: float) -> Floats:
        """That of about the level with this delta, by the saddlepoint method."""
        for place in count_up():
            if place == len(self.tilts) and not self._extend():
                break
            tilt, log_scale, mean, variance = self.tilts[place]
            spread = tilt * (1 + tilt) * math.sqrt(2 * math.pi * variance)
            if log_scale - tilt * mean - math.log1p(spread) <= math.log(delta):
                return self.tilts[place]
        return self.tilts[-1]

    def choose_step(self, number: int, delta: float) -> float:
        """One for so many parts that enlarges this delta by a thousandth, or the variance as much.

        Parting a loss between points enlarges its exp(tilt loss) by 1 + (tilt step)^2 / 12 or so,
        and its variance by step^2 / 6.
        """
        by_tilt = math.sqrt(0.012 / number) / max(float(self.find_tilt(delta)[0]), 1e-9)
        return max(by_tilt, math.sqrt(0.001 * float(self.tilts[0][3]) / number))

    def _choose(self, level: float) -> int:
        while self.tilts[-1][2] < level and self._extend():
            pass
        means = [float(each[2]) for each in self.tilts]
        place = next((place for place, mean in enumerate(means) if mean >= level), len(means) - 1)
        nearer = place and level - means[place - 1] < means[place] - level
        return place - 1 if nearer else place

    def _extend(self) -> bool:
        """A further tilt, unless there is no use for one."""
        tilt, _, mean, variance = self.tilts[-1]
        reach = max(one.end for one, _ in self.parts)
        # All of the law is at one place, but for roundings of its mean.
        if variance <= 1e-12 * self.step**2 or len(self.tilts) > _MOST_TILTS:
            return False
        stride = 1 / math.sqrt(variance)
        found = self.cumulant(tilt + stride)
        # Of a skewed law the variance grows and falls again: no level may lie far between.
        while found[1] - mean > 2 * math.sqrt(max(variance, found[2])):
            stride /= 2
            found = self.cumulant(tilt + stride)
        if (tilt + stride) * reach > _MOST_EXPONENT:
            return False
        self.tilts.append(np.append(tilt + stride, found))
        return bool(found[1] > mean)


@attrs.frozen
class _Window:
    """The places of a sum that are worked out: ``size`` multiples of the step up to ``last``.

    ``over`` is at least the mass above, and ``top`` the largest loss in size.
    """

    last: int
    size: int
    over: float
    top: float


def _choose_window(whole: Convolution, place: int) -> _Window:
    """One beyond which nothing matters to a delta within a standard deviation of the mean."""
    tilt, log_scale, mean, variance = map(float, whole.tilts[place])
    step, deviation = whole.step, math.sqrt(variance)
    least = sum(count * one.first * step for one, count in whole.parts)
    most = sum(count * one.end for one, count in whole.parts)
    shifts = [each / max(deviation, step) for each in _TRIALS]
    higher = [(each, float(whole.cumulant(tilt + each)[0])) for each in shifts]
    lower = [(each, float(whole.cumulant(tilt - each)[0])) for each in shifts]
    tiny = math.log(1e-9)
    spare = tiny + min(0.0, log_scale - tilt * mean) - 2 * tilt * deviation - 5
    # Chernoff: the mass above ``top`` is at most exp(log E exp(trial loss) - trial top).
    top, trial, log_moment = min(
        ((found - spare) / (tilt + shift), tilt + shift, found) for shift, found in higher
    )
    bottom = max((tiny + log_scale - found) / shift for shift, found in lower)
    top, bottom = min(top, most + step), max(min(bottom, mean - 8 * deviation), least - step)
    # A loss above ``level + size step`` wraps to above the level, where its tilt is undone too
    # generously. That is safe, and loose: so the window holds the tail of the tilted law too.
    far = min((found - log_scale - tiny) / shift for shift, found in higher)
    wide = max(top - bottom, min(far, most) - mean + 3 * deviation)
    size, last = 2 ** math.ceil(math.log2(max(wide / step, 64))), math.ceil(top / step)
    rounding = 2.0**-50 * sum(count * (64 + trial * one.reach) for one, count in whole.parts)
    over = 0.0 if top > most else math.exp(min(0.0, log_moment - trial * last * step + rounding))
    return _Window(last, size, over, max(abs(top), abs(bottom)))


@lru_cache(maxsize=32)
def _convolve(whole: Convolution, place: int) -> LossLaw:
    """The law of the sum under a tilt.

    Proof:
        Losses above the window wrap around to its bottom, where no delta counts them: their bound
        is added to the mass of infinity. Losses below wrap to the top, which enlarges every delta.
        Entries F of a transform are off by at most ``off``, so their powers by at most
        n (|F| + off)^(n-1) off, and by 3 n u |F|^n for n products. By Parseval's equation the norm
        of all these is that of the masses' error.
    """
    tilt, log_scale = map(float, whole.tilts[place][:2])
    window = _choose_window(whole, place)
    size = window.size
    if size > _MOST_OF_ALL:
        return LossLaw(np.zeros(0), np.zeros(0), beyond=1.0)
    product: NDArray[np.complex128] = np.ones(size // 2 + 1, dtype=np.complex128)
    absolute: Floats = np.zeros(size // 2 + 1)
    raised, units = 2.0**-30, 2.0**-50
    relative = _TRANSFORM * math.log2(size)
    for one, count in whole.parts:
        log_one = float(one.cumulant(tilt)[0])
        exponents = np.where(one.masses > 0, tilt * one.losses - log_one, 0.0)
        if exponents.max() > _MOST_SIZE:
            return LossLaw(np.zeros(0), np.zeros(0), beyond=1.0)
        tilted = one.masses * np.exp(exponents)
        places = (one.first + np.arange(len(tilted))) % size
        wrapped = np.asarray(np.bincount(places, tilted, size), dtype=np.float64)
        found = np.fft.rfft(wrapped)
        off = relative * math.sqrt(size) * _norm(wrapped)
        bound, power = np.abs(found) + off, _power(found, count)
        error = count * (bound ** (count - 1) * off + units * np.abs(power))
        absolute = absolute * bound**count + np.abs(product) * error + absolute * error
        product = product * power
        # Each tilted mass has the relative error of its exponent, and of the sums that it wraps to.
        raised += count * units * (abs(tilt) * one.reach + abs(log_one) + len(tilted) / size + 8)
    masses: Floats = np.maximum(np.fft.irfft(product, size), 0.0)
    # Half a spectrum stands for all of it; then the error of the way back.
    norms = _norm(absolute) + relative * _norm(np.abs(product))
    last = window.last
    sums = last - (last - np.arange(size, dtype=np.float64)) % size
    raised += units * (abs(log_scale) + abs(tilt) * window.top)
    return LossLaw(
        sums * whole.step,
        masses,
        window.over + whole.beyond,
        log_scale,
        tilt,
        error=math.sqrt(2 / size) * norms,
        raised=1 + 2 * raised,
    )


def _norm(values: Floats) -> float:
    """Euclidean. BLAS would add up by as many threads as there are cores, and in another order."""
    return math.sqrt(float(np.square(values).sum()))


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """By squaring, so that the relative error is below 3 units a factor on each machine."""
    found, square = None, values
    while True:
        if count & 1:
            found = square if found is None else found * square
        count >>= 1
        if not count:
            assert found is not None
            return found
        square = square * square


def combine_atoms(parts: Iterable[tuple[LossDistribution, int]]) -> LossLaw | None:
    """The law of all, each loss where it is: a grid would part what lies at a level itself."""
    losses, masses, beyond, terms = np.zeros(1), np.ones(1), LOST, 0
    for one, count in parts:
        span = (len(one.masses) - 1) * count
        if span > 2 * _FEW:
            return None
        power = np.ones(1)
        for _ in range(count):
            power = np.convolve(power, one.masses)
        here = np.flatnonzero(power)
        if len(here) * len(losses) > _FEW:
            return None
        both = np.add.outer(losses, (one.first * count + here) * one.step).ravel()
        # A loss that is moved up is safe; one that is moved down is not.
        losses, masses = both + np.abs(both) * 2.0**-50, np.outer(masses, power[here]).ravel()
        beyond, terms = beyond + count * one.beyond, terms + count * len(one.masses)
    return LossLaw(losses, masses, beyond, raised=1 + 2.0**-30 + terms * 2.0**-52)
