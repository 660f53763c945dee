"""Joint noise on a total and a number of rows, and the mean that they tell, with an interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import erf, erfc, exp, pi, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.estimators.parts import Floats, Numbers, RowSpace
from opendp_lite.numbers.exact import nearest, open_probability, positive, rational_of_float

_LARGEST_PARAMETER: Final = rational_of_float(1e100)
_LEAST_SHARE: Final = Fraction(1, 10**6)


def moderate(given: object, name: str) -> Fraction:
    """A public number above 0 whose square floats can hold."""
    found = positive(given, name)
    if not 1 / _LARGEST_PARAMETER <= found <= _LARGEST_PARAMETER:
        raise ParameterError(f"{name} must lie between 1e-100 and 1e100, got {nearest(found):g}")
    return found


def share_of(given: object, name: str) -> Fraction:
    """A share of the budget that leaves something for both parts."""
    found = open_probability(given, name)
    if not _LEAST_SHARE <= found <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{name} must leave at least {float(_LEAST_SHARE):g} for either part, got {given}"
        )
    return found


def require_public_size(
    space: RowSpace, name: str, instead: str = "use multivariate_mean()"
) -> int:
    """The declared number of rows; ``instead`` is what also works where it is private."""
    if space.domain.size is None:
        raise SpaceError(
            f"{name} needs a public number of rows. Start with dp.records(columns=..., size=..., "
            f"metric=dp.ChangeOneDistance()), or {instead}, which also works where rows are added "
            "or removed"
        )
    return space.domain.size


def require_private_size(space: RowSpace, name: str) -> None:
    """Refuses a public number of rows, for estimators of a private one."""
    if space.domain.size is not None:
        raise SpaceError(
            f"{name} is for a private number of rows. The number here is public, "
            f"size={space.domain.size}: use known_size_mean(), which spends nothing on a count"
        )


Drawn = tuple[Floats, Floats]

# Laplace scales closer than this are moved so far apart: it changes a probability by 2e-4.
_APART: Final = 1e-3
_STANDARD: Final = NormalDist()
_FURTHEST: Final = 8.29
_ROOT: Final = sqrt(2)
_PER_SCORE: Final = 1024


@cache
def _normal_table() -> Floats:
    scores = np.arange(-_FURTHEST, _FURTHEST, 1 / _PER_SCORE)
    return (1 + normal_within(scores)) / 2


def normal_below(scores: Floats) -> Floats:
    """The probability that a standard normal is at most each of very many scores, to 3e-8."""
    table = _normal_table()
    places = np.minimum(np.maximum((scores + _FURTHEST) * _PER_SCORE, 0), len(table) - 1)
    low = np.minimum(places.astype(np.intp), len(table) - 2)
    found: Floats = table[low] + (places - low) * (table[low + 1] - table[low])
    return found


def normal_within(scores: Floats) -> Floats:
    """The probability that a standard normal lies within +- each score, negative below 0."""
    scaled = np.asarray(scores) / _ROOT
    each = map(erf, scaled.reshape(-1).tolist())
    return np.fromiter(each, np.float64, scaled.size).reshape(scaled.shape)


def normal_score(shares: Numbers) -> Floats:
    """The scores below which a standard normal lies with these probabilities."""
    return np.asarray(_score(shares), dtype=np.float64)


def _score_of(share: float) -> float:
    """The score, or the furthest one that a probability in floats tells from 1."""
    if not 0 < share < 1:
        return _FURTHEST if share >= 1 else -_FURTHEST
    return min(max(_STANDARD.inv_cdf(share), -_FURTHEST), _FURTHEST)


_score: Final[Callable[[Numbers], object]] = np.frompyfunc(_score_of, 1, 1)


class JointNoise(ABC):
    """The noise (s, k) of a total and of a number of rows; the two are uncorrelated.

    A mean theta fits them as well as s - theta k is small: the law of that, for a theta that is
    known, is all that an interval needs, whatever the number of rows.
    """

    # Numbers: a field of one law and a property of others, which no type but this allows.
    total_deviation: Any
    rows_deviation: Any

    @abstractmethod
    def below(self, theta: Floats, gap: Floats) -> Floats:
        """The probability that s - theta k is at most each gap."""

    def scores(self, theta: Floats, gap: Floats) -> Floats:
        """A standard normal lies below each as probably as s - theta k below the gap."""
        return normal_score(self.below(theta, gap))

    @abstractmethod
    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        """So many pairs, from floats and not secure: for simulations, never for releases."""

    def deviation(self, theta: Floats) -> Floats:
        """The standard deviation of s - theta k."""
        found: Floats = np.hypot(self.total_deviation, theta * self.rows_deviation)
        return found


@attrs.frozen(eq=False, repr=False)
class JointNormal(JointNoise):
    """Independent normals; deviations are numbers, or arrays with one for each release."""

    total_deviation: Numbers
    rows_deviation: Numbers

    def below(self, theta: Floats, gap: Floats) -> Floats:
        return (1 + normal_within(gap / self.deviation(theta))) / 2

    def scores(self, theta: Floats, gap: Floats) -> Floats:
        score = gap / self.deviation(theta)
        return np.minimum(np.maximum(score, -_FURTHEST), _FURTHEST)

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        total, rows = generator.standard_normal((2, runs))
        return total * self.total_deviation, rows * self.rows_deviation


@attrs.frozen(eq=False, repr=False)
class JointLaplace(JointNoise):
    """Sums of the same independent Laplace variates, which ``total`` and ``rows`` multiply."""

    total: Floats
    rows: Floats

    @property
    def total_deviation(self) -> float:
        return sqrt(2 * float(self.total @ self.total))

    @property
    def rows_deviation(self) -> float:
        return sqrt(2 * float(self.rows @ self.rows))

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """By partial fractions of the characteristic function, prod 1 / (1 + scale^2 w^2)."""
        scales = _apart(np.abs(self.total - np.multiply.outer(theta, self.rows)))
        squares = scales**2
        size = np.abs(gap)[..., None]
        beyond = np.zeros(np.broadcast_shapes(size.shape[:-1], squares.shape[:-1]))
        for one in range(squares.shape[-1]):
            others = np.delete(squares, one, axis=-1)
            mine = squares[..., one, None]
            weight = np.prod(mine / (mine - others), axis=-1)
            beyond = beyond + weight * np.exp(-size[..., 0] / scales[..., one]) / 2
        return np.where(gap >= 0, 1 - beyond, beyond)

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        each = generator.laplace(size=(runs, len(self.total)))
        return each @ self.total, each @ self.rows


def _apart(scales: Floats) -> Floats:
    """The scales in rising order, no two of them close together."""
    found: Floats = np.sort(scales, axis=-1)
    least = np.maximum(found[..., -1:] * _APART, np.finfo(np.float64).tiny)
    found[..., :1] = np.maximum(found[..., :1], least)
    for place in range(1, found.shape[-1]):
        closest = found[..., place - 1] * (1 + _APART)
        found[..., place] = np.maximum(found[..., place], closest)
    return found


@attrs.frozen(eq=False, repr=False)
class JointSumAndCount(JointNoise):
    """The noise of ``sum_and_count`` on one column: s = reach c U, k = (c + stretch) V / epsilon.

    c is Gamma(3) with probability 2 / (2 + stretch), else Gamma(2); U and V are uniform in
    (-1, 1); ``reach`` is the radius over epsilon.
    """

    reach: float
    epsilon: float
    stretch: float

    @property
    def total_deviation(self) -> float:
        return self.reach * sqrt((8 + 2 * self.stretch) / (2 + self.stretch))

    @property
    def rows_deviation(self) -> float:
        eta = self.stretch
        moment = 24 + 18 * eta + 6 * eta**2 + eta**3
        return sqrt(moment / (3 * (2 + eta))) / self.epsilon

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """The integral over c of the law of a sum of two uniforms, in closed form.

        For uniforms within +-a and +-b that law is a sum of four squares of what is above 0, over
        8 a b. Here a = reach c and b = wide (c + stretch). The density of c is e^-c c (c + stretch)
        / (2 + stretch), so a b cancels and integrals of e^-c (x + y c)^2 remain.
        """
        reach, size = self.reach, -np.abs(gap)
        # Below this the four terms cancel to 10 digits; the law is the same to a millionth.
        wide = np.maximum(np.abs(theta) / self.epsilon, 1e-6 * reach)
        off = wide * self.stretch
        # At -|gap| all terms are small, so none cancels where the law is near 1.
        rising = (
            _integrate_square(size + off, reach + wide)
            - _integrate_square(size - off, reach - wide)
            - _integrate_square(size + off, wide - reach)
            + _integrate_square(size - off, -reach - wide)
        )
        beyond = np.clip(rising / (8 * reach * wide * (2 + self.stretch)), 0.0, 0.5)
        return np.where(gap > 0, 1 - beyond, beyond)

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        shape = np.where(generator.random(runs) < 2 / (2 + self.stretch), 3.0, 2.0)
        core = generator.standard_gamma(shape)
        first, second = generator.uniform(-1, 1, (2, runs))
        return self.reach * core * first, (core + self.stretch) * second / self.epsilon


def _integrate_square(start: Floats, slope: Floats) -> Floats:
    """The integral of e^-c max(start + slope c, 0)^2 over all c above 0.

    From where the line crosses 0 on, a rising one has 2 slope^2 e^-c; so has a falling one, which
    is above 0 before.
    """
    with np.errstate(all="ignore"):
        crossing = np.where(slope == 0, np.inf, -start / slope)
        rest = np.where(crossing > 0, 2 * slope**2 * np.exp(-np.maximum(crossing, 0.0)), 0.0)
    whole = start**2 + 2 * start * slope + 2 * slope**2
    return np.where(
        start < 0, np.where(slope > 0, rest, 0.0), np.where(slope < 0, whole - rest, whole)
    )


_GRID: Final = np.arange(100) / 100
_OCTAVES: Final = np.arange(-16, 15) / 8
# In half widths of the usual interval: most ends lie near one, on either side.
_NEAR: Final = np.outer([-1, 1], 2.0 ** (_OCTAVES * np.abs(_OCTAVES))).reshape(-1)
_STEPS: Final = np.arange(33)[:, None] / 32
_ROUNDS: Final = 6
# The brackets of the ends, in widths of the interval. A straight line between them gives the end:
# mostly to less than a millionth, which is far less than a release shows.
_FINE: Final = 1e-3
_SIDES: Final = np.arange(2)
_NO_ROW: Final = 0.5
_TINY: Final = 1e-300
RIDGE: Final = 0.25
"""Brings a mean towards the middle where noise hides whether there are rows. More of it errs less
for means near the middle, and more for means near a bound. At 1/4 no mean loses 3 %."""


def fitting_ends(
    levels: Callable[[Floats], Floats], points: Floats, fits: NDArray[np.bool_], confidence: float
) -> Floats:
    """The least and the largest number whose level is at most the confidence.

    Args:
        levels: The least confidence at which each number fits a release.
        points: Rising numbers to begin with, from the least possible to the largest.
        fits: Which of these fit, whatever their level: one at least.
        confidence: Such as 0.95.
    """
    held = np.where(fits, 0.0, levels(points))
    inside = np.flatnonzero(held <= confidence)
    first, last = inside[0], inside[-1]
    places = np.array([[first, last], [max(first - 1, 0), min(last + 1, len(points) - 1)]])
    ends, known = points[places], held[places]
    for _ in range(_ROUNDS):
        apart = ends[1] - ends[0]
        if max(-apart[0], apart[1]) <= _FINE * (ends[1, 1] - ends[1, 0]):
            break
        between = ends[0] + apart * _STEPS
        between[-1] = ends[1]
        held = levels(between)
        held[[0, -1]] = known
        last = np.argmin(held[1:] <= confidence, axis=0)
        places = np.array([last, last + 1])
        ends, known = between[places, _SIDES], held[places, _SIDES]
    rise = np.maximum(known[1] - known[0], _TINY)
    share = np.minimum((confidence - known[0]) / rise, 1)
    found: Floats = ends[0] + (ends[1] - ends[0]) * share
    return found


@attrs.frozen(eq=False, repr=False)
class RatioOfNoisySums:
    """The mean of values in [lower, upper] from a total of (x - about) and the rows.

    Args:
        lower: The bounds of the mean.
        upper: As ``lower``.
        about: The number that was subtracted from each value.
        errors: The noise of the total and of the rows.
        least: Fewer rows count as that many.
        ridge: Brings the ratio towards ``about`` where the noise hides whether there are rows, by
            ridge * variance of the rows over their square.
    """

    lower: float
    upper: float
    about: float
    errors: JointNoise
    least: float = 1.0
    ridge: float = 0.0

    def mean(self, total: Numbers, rows: Numbers) -> Floats:
        """The estimate, one for each release."""
        counted = np.maximum(rows, self.least)
        shrunk = counted * counted + self.ridge * self.errors.rows_deviation**2
        return self._in_bounds(self.about + total * (counted / shrunk))

    def standard_error(self, total: Numbers, rows: Numbers, spread: Numbers = 0.0) -> Floats:
        """Of the noise, to the first order; at most half the width, as knowing nothing is.

        ``spread`` is the standard deviation of the values where the people are taken for a sample.
        """
        half = (self.upper - self.lower) / 2
        counted = np.maximum(rows, self.least)
        noise = self.errors.deviation(self.mean(total, rows) - self.about) / counted
        both = np.minimum(np.hypot(noise, spread / np.sqrt(counted)), half)
        return np.where(rows < _NO_ROW * self.least, half, both)

    def interval(
        self, total: float, rows: float, confidence: float, spread: float = 0.0
    ) -> tuple[float, float]:
        """All means that fit the release.

        Args:
            total: Of one release.
            rows: Of the same release.
            confidence: Such as 0.95.
            spread: The standard deviation of the values, where the rows are taken for a sample.

        Returns:
            The ends. The interval is never empty.

        Proof:
            For a mean theta, total - rows (theta - about) has the law of the noise, whatever the
            number of rows (Fieller 1954). Gaps are ordered by likelihood (Feldman and Cousins
            1998): the mean lies in the bounds, so a gap beyond them says nothing against it.
        """
        best = self._in_bounds(self.about + total / max(rows, self.least))
        shown = self.mean(total, rows)
        usual = normal_score((1 + confidence) / 2) * self.standard_error(total, rows, spread)
        near = self._in_bounds(shown + usual * _NEAR)
        grid = self.lower + (self.upper - self.lower) * _GRID
        points = np.sort(np.concatenate([grid, near, [self.upper, best, shown]]))
        fits = (points == best) | (points == shown)
        levels = partial(self.levels, total=total, rows=rows, spread=spread)
        low, high = self._in_bounds(fitting_ends(levels, points, fits, confidence)).tolist()
        return low, high

    def levels(self, theta: Floats, total: Numbers, rows: Numbers, spread: Numbers = 0.0) -> Floats:
        """The least confidence at which each theta fits a release, or one theta each of many."""
        offset = theta - self.about
        deviation = np.maximum(self.errors.deviation(offset), _TINY)
        counted = np.maximum(self._rows_given(offset, deviation, total, rows), self.least)
        if np.any(spread):
            # Values of another mean may spread further, as far as the most that bounds allow: so
            # a share has Wilson's interval (1927) above. It is never less, as noise alone may
            # take an estimate far from the bound: 2 % of 100 rows would hold 91 %.
            room = np.maximum(self._room(self.mean(total, rows)), np.square(spread) + _TINY)
            spread = spread * np.sqrt(np.maximum(self._room(theta) / room, 1.0))
        width = np.hypot(deviation, spread * np.sqrt(counted))
        gap = (total - rows * offset) / width
        # The sample is normal, the noise is not. By the first term of Cornish and Fisher (1938) a
        # sum departs from a normal as its parts do, in proportion to their shares of the variance.
        # The score of the noise at the joint width would be too small: 97 % where 95 were asked.
        noise = (deviation / width) ** 2
        scores = noise * self.errors.scores(offset, gap * deviation) + (1 - noise) * gap
        scale = counted / width
        return _held_before(scores, (self.upper - theta) * scale, (theta - self.lower) * scale)

    def _room(self, mean: Floats) -> Floats:
        """The largest variance of values of this mean."""
        return (self.upper - mean) * (mean - self.lower)

    def _rows_given(
        self, offset: Floats, deviation: Floats, total: Numbers, rows: Numbers
    ) -> Numbers:
        """The best guess at the rows for a known mean: it says nothing about the gap."""
        of_total = self.errors.total_deviation / deviation
        of_rows = self.errors.rows_deviation / deviation
        spread: Numbers = offset * of_rows * (total * of_rows) + rows * (of_total * of_total)
        return spread

    def _in_bounds(self, theta: Numbers) -> Floats:
        return np.minimum(np.maximum(theta, self.lower), self.upper)


def _held_before(scores: Floats, up: Floats, down: Floats) -> Floats:
    """How likely a normal of mean 0 comes before each score, ordered by likelihood.

    The mean is known to lie within ``up`` above and ``down`` below 0, in deviations. A score z
    beyond ``up`` is compared with the mean at ``up``: its level is z^2 - (z - up)^2. Scores of a
    lower level come before it: on either side of 0 as far as ``room`` and the level say.
    """
    size = np.abs(scores)
    within = np.minimum(size, np.where(scores > 0, up, down))
    level = within * (2 * size - within)
    room = np.maximum(np.minimum(np.sqrt(level), [up, down]), _TINY)
    sides = normal_within((level / room + room) / 2)
    found: Floats = (sides[0] + sides[1]) / 2
    return found


# The square of Student's 95 % point over the normal's is about 1 + 2.5 / n.
FEW: Final = 2.5


# In deviations of the noise: further off, what is cut off changes nothing that a float shows.
_FAR: Final = 8.0


def expect_positive(value: float, off: float) -> float:
    """What to expect of a number that is not below 0 from a noisy one and its deviation.

    It is the mean of the normal law that is cut off at 0. A noisy variance that counted as 0 where
    it is below would make intervals too narrow, and one deviation more of each too wide: with 100
    normal rows and epsilon = 1 these held 99 % in place of 95.
    """
    if not off or value >= _FAR * off:
        return max(value, 0.0)
    score = max(value / off, -_FAR)
    below = erfc(-score / _ROOT) / 2
    return off * (score + exp(-score * score / 2) / sqrt(2 * pi) / below)


def stand_out(found: Floats, noise: float) -> Floats:
    """What stands out of noise whose squares are to add up to so much (James and Stein 1961)."""
    return found * max(1 - noise / max(float((found * found).sum()), _TINY), 0.0)


@attrs.frozen(eq=False)
class NoisyTotals:
    """One release, or many simulated ones: ``total`` and ``rows`` are then arrays.

    ``spread`` is the standard deviation of the values, where the rows are taken for a sample.
    """

    ratio: RatioOfNoisySums
    total: Numbers
    rows: Numbers
    spread: float = 0.0

    @property
    def mean(self) -> Floats:
        """The estimates."""
        return self.ratio.mean(self.total, self.rows)

    @property
    def people(self) -> float:
        """The rows of one release, of which there are no fewer than the least."""
        return max(float(self.rows), self.ratio.least)

    def with_variance(
        self, variance: float, off: float, people: float | None = None, weight: float = 1
    ) -> NoisyTotals:
        """Adds a noisy variance of the values, brought to what values in the bounds can have.

        Args:
            variance: The noisy estimate, of the values or of the weighted values.
            off: The standard deviation of its noise.
            people: How many values it is of; the rows if None.
            weight: The largest weight of a row; 1 where rows have none.
        """
        ratio, mean = self.ratio, float(self.mean)
        most = weight * (ratio.upper - mean) * (mean - ratio.lower)
        found = min(expect_positive(variance, off), max(most, 0.0))
        few = 1 + FEW / max(self.people if people is None else people, 1.0)
        return attrs.evolve(self, spread=(found * few) ** 0.5)
