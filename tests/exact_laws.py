"""The law of a release, without a sample: every random decision is a branch with its probability.

A mechanism draws through few doors: noise, a choice by weights, coins, places of tied rows, and
numbers of runs. Here each is a branch, and the release is made once for each way through all
branches. So what lies between the data and the doors, and after them, is the mechanism's own code.
That a door follows its law is for tests/samplers.

Noise is on a coarse grid, a few steps wide, as its maps depend on no grid; and what is noisy is
brought between two ends, which are the same for all data. Both are post-processing, so a loss that
is found here is one of the mechanism. A draw that is no door has no law here, and fails.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import ceil, erfc, exp, inf, log, sqrt

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.measurements.vector_noise import CoreNoise
from opendp_lite.measures import divergences
from opendp_lite.numbers.grid import Grid
from opendp_lite.pipeline.step_call import forget_steps
from opendp_lite.samplers import CubeGamma
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Stretch
from opendp_lite.samplers.law import SCALE_SLACK, Law
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian
from opendp_lite.testing.replayable import _compared_by

MOST = 200_000
"""Ways through the branches of one release."""


class NotEnumerable(Exception):
    """A draw that is no door, or too many ways."""


@attrs.define(eq=False)
class Ways(Entropy):
    """The source of all decisions of a release, which goes one way after the other."""

    reach: int = 0
    runs: int = 0
    waiting: list[list[int]] = attrs.Factory(list)
    taken: list[int] = attrs.Factory(list)
    place: int = 0
    mass: float = 1.0

    def word(self) -> int:
        raise NotEnumerable("a word that no door draws")

    def words(self, count: int):
        raise NotEnumerable("words that no door draws")

    def law_of(self, bound, data: object, *, reach: int = 3, runs: int = 0) -> dict[object, float]:
        """The probability of each release of a dataset.

        Args:
            bound: Was bound while the doors were branches.
            data: The rows.
            reach: Noisy values are brought to so many steps around 0 at most.
            runs: How many runs the best is taken of.
        """
        self.reach, self.runs, self.waiting = reach, runs, [[]]
        found: dict[object, float] = {}
        for _ in range(MOST):
            if not self.waiting:
                assert abs(sum(found.values()) - 1) < 1e-9
                return found
            self.taken, self.place, self.mass = self.waiting.pop(), 0, 1.0
            key = key_of(bound._release(data, self))
            found[key] = found.get(key, 0.0) + self.mass
        raise NotEnumerable(f"more than {MOST} ways")

    def branch(self, weights: Sequence[float]) -> int:
        """A place in proportion to its weight: on this way one, on the others the rest."""
        if self.place == len(self.taken):
            first, *others = (place for place, weight in enumerate(weights) if weight > 0)
            self.waiting.extend([*self.taken, other] for other in others)
            self.taken.append(first)
        found = self.taken[self.place]
        self.place += 1
        self.mass *= weights[found] / sum(weights)
        return found

    def noise(self, law, values, exponent: int, _: object):
        """As ``Noise.release``."""
        at = _on_grid(values, exponent, law.exponent)
        if isinstance(law, Law):
            found = [self.branch(masses(law, each, self.reach)) for each in at]
            return np.array(found, dtype=np.int64) - self.reach
        find = cube_masses if isinstance(law, CubeGamma) or len(at) == 1 else disc_masses
        return self._cell(find(at, ((law.scale, Fraction(0)),) * len(at), self.reach), len(at))

    def core_noise(self, law: CoreNoise, sums: Grid, count: Grid, _: object) -> tuple[Grid, Grid]:
        """As ``CoreNoise.noisy``."""
        at = (
            *_on_grid(sums.steps, sums.exponent, law.sum_exponent),
            *_on_grid(count.steps, count.exponent, law.count_exponent),
        )
        assert law.cube or len(at) == 2
        shape = *((law.sum_scale, Fraction(0)),) * law.columns, (law.count_scale, law.stretch)
        found = self._cell(cube_masses(at, shape, self.reach), len(at))
        return Grid(found[:-1], law.sum_exponent), Grid(found[-1:], law.count_exponent)

    def _cell(self, chances: Sequence[float], entries: int):
        shape = (2 * self.reach + 1,) * entries
        return np.array(np.unravel_index(self.branch(chances), shape), dtype=np.int64) - self.reach

    def choose_each(self, counts, exponents, exactly, _: object, *, draw=None, **__):
        """As the door of that name: each item of each place has its exact weight."""
        found = []
        for lane in range(len(counts)):
            places = np.flatnonzero(counts[lane]).tolist()
            if draw is None:
                items, copies = places, counts[lane, places].tolist()
            else:
                items = [
                    int(draw(np.array([lane]), np.array([place]), each)[0][0])
                    for place in places
                    for each in range(counts[lane, place])
                ]
                copies = [1] * len(items)
            far = [exactly(lane, item) for item in items]
            pairs = zip(copies, far, strict=True)
            weights = [many * exp(min(far) - each) for many, each in pairs]
            found.append(items[self.branch(weights)])
        return np.array(found, dtype=np.int64)

    def the_item(self, _: object, item: int):
        """As ``below_each``, which ``choose_each`` asks for one item after the other."""
        return np.array([item])

    def permute_and_flip(self, exponents, exactly, _: object) -> int:
        heads = [place for place in range(len(exponents)) if self.coin(exp(-exactly(place)))]
        return heads[self.below(len(heads))]

    def below(self, total: int, _: object = None) -> int:
        return self.branch([1.0] * total)

    def coin(self, chance: float) -> bool:
        return self.branch([1 - chance, chance]) == 1

    def coins(self, probability: Fraction, count: int, keys: object):
        return np.array([self.coin(float(probability)) for _ in range(count)], dtype=bool)

    def shuffle(self, count: int, _: object):
        orders = [*permutations(range(count))]
        return np.array(orders[self.below(len(orders))], dtype=np.intp)

    def logarithmic(self, rate: Fraction, _: object) -> int:
        assert self.runs, "of how many runs is the best taken?"
        return self.runs

    def noise_of_mean(self, mean: Fraction, _: object, parts: int = 1) -> Fraction:
        """Exponential noise less its mean, but for a tail below 1e-11."""
        cells, scale = _cells(mean, parts)
        tails = np.exp(-np.arange(26 * max(1, int(scale))) / float(scale))
        return Fraction(self.branch((tails[:-1] - tails[1:]).tolist()), cells) - mean

    def is_above(self, test, value: Fraction, threshold: Fraction, sensitivity: Fraction) -> bool:
        """With a noise of its own: the least one that is enough, and the probability of more."""
        mean = test.noise.on_query
        cells, scale = _cells(mean, 1)
        least = ceil(((threshold - value) / sensitivity + test.level + mean) * cells)
        return self.coin(exp(-max(0, least) / scale))

    def place_rows(self, cells, count: int, _: object):
        """Two places in each cell, either as likely for each row."""
        inside = [self.below(2) for _ in range(len(cells))]
        return 2 * cells + np.array(inside, dtype=np.int64), Stretch(0, 2 * count), 1


def _cells(mean: Fraction, parts: int) -> tuple[int, Fraction]:
    """A coarse grid for noise of this mean, and the mean in steps of it."""
    cells = parts * max(1, ceil(2 / mean))
    return cells, mean * SCALE_SLACK * cells


DOORS = {
    "noise": [f"samplers.law.{kind}.release" for kind in ("Noise", "Law")],
    "core_noise": ["measurements.vector_noise.CoreNoise.noisy"],
    "choose_each": ["samplers.choice.choose_each", "samplers.rank_choice.choose_each"],
    "the_item": ["samplers.rank_choice.below_each"],
    "permute_and_flip": ["measurements.selection.permute_and_flip"],
    "below": ["combinators.composing.below"],
    "logarithmic": ["combinators.composing.logarithmic"],
    "coins": ["combinators.sampling.coins"],
    "shuffle": ["combinators.sampling._shuffle"],
    "noise_of_mean": ["combinators.adaptive_programs.noise_of_mean"],
    "is_above": ["combinators.adaptive_programs._NoisyThreshold._is_above"],
    "place_rows": ["measurements.quantile.columns._place_here"],
}


def _function(method):
    return lambda *given, **named: method(*given, **named)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ways]:
    """All doors are branches, and noise is 2 to 4 steps wide."""
    made = Ways()
    for door, places in DOORS.items():
        for each in places:
            # A function: as a method of a law it gets the law first.
            monkeypatch.setattr(f"opendp_lite.{each}", _function(getattr(made, door)))
    monkeypatch.setattr("opendp_lite.samplers.law.SCALE_BITS", 1)
    forget_steps()
    yield made
    forget_steps()


def key_of(value: object) -> object:
    """What tells releases apart: all that they hold."""
    if isinstance(value, np.ndarray):
        return (*value.shape, *map(key_of, value.ravel().tolist()))
    if isinstance(value, dict):
        return tuple((key, key_of(each)) for key, each in value.items())
    if isinstance(value, tuple | list):
        return tuple(map(key_of, value))
    if isinstance(value, float) and value != value:
        return "nan"
    # Before Python 3.13 None has no equality of its own. An object marks what one noise is in.
    if value is None or type(value) is object:
        return repr(type(value))
    parts = _compared_by(value)
    assert parts != (), f"{type(value).__name__} has no equality"
    return value if parts is None else (type(value).__name__, *map(key_of, parts))


def _on_grid(values, exponent: int, target: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(each) * Fraction(2) ** (exponent - target) for each in values.tolist())


@cache
def masses(law: Law, at: Fraction, reach: int) -> tuple[float, ...]:
    """P(k) of a noisy value of ``at`` steps, for k from -reach to reach, where it is brought."""
    edges = [k - Fraction(1, 2) for k in range(1 - reach, reach + 1)]
    found = []
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        above = 1.0 if low is None else tail(law, low - at)
        beyond = 0.0 if high is None else tail(law, high - at)
        if high is not None and high <= at:  # both are nearly 1
            above = tail(law, at - high)
            beyond = 0.0 if low is None else tail(law, at - low)
        found.append(above - beyond)
    return tuple(found)


def tail(law: Law, edge: Fraction) -> float:
    """P(noise > edge), from the definition of each law."""
    if isinstance(law, DiscreteLaplace):
        steps, ratio = int(abs(edge) + Fraction(1, 2)), exp(-1 / law.scale)
        found = ratio**steps / (1 + ratio)
    elif isinstance(law, RoundedGaussian):
        return erfc(float(edge / law.scale) / sqrt(2)) / 2
    else:
        found = exp(-abs(edge) / law.scale) / 2
    return found if edge > 0 else 1 - found


FAR = 60.0
"""In scales: what is beyond is below 1e-24."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
Shape = tuple[tuple[Fraction, Fraction], ...]
"""The scale of each entry, and the part of it where the density is flat."""


def _edges(at: Fraction, scale: Fraction, reach: int) -> list[float]:
    """Between the cells of a noisy value from -reach to reach, in scales from the value."""
    inner = [float((k - Fraction(1, 2) - at) / scale) for k in range(1 - reach, reach + 1)]
    return [-2 * FAR, *inner, 2 * FAR]


@cache
def cube_masses(at: tuple[Fraction, ...], shape: Shape, reach: int) -> tuple[float, ...]:
    """P of all cells around ``at``, of the density exp(-max(|z_j| / scale - flat, 0)).

    It is a mixture of boxes of half sides c + flat, of weight exp(-c), and each of them is a
    product. Between two kinks of c its volume in a cell is a polynomial.
    """
    edges = [_edges(value, scale, reach) for value, (scale, _) in zip(at, shape, strict=True)]
    flats = [float(flat) for _, flat in shape]
    kinks = {abs(e) - flat for each, flat in zip(edges, flats, strict=True) for e in each}
    ends = np.array(sorted({0.0, FAR, *(each for each in kinks if 0 < each < FAR)}))
    halves = np.diff(ends)[:, None] / 2
    level = (ends[:-1, None] + halves * (1 + NODES)).ravel()
    found = np.exp(-level) * (halves * WEIGHTS).ravel()
    for each, flat in zip(edges, flats, strict=True):
        lengths = np.diff(np.clip(np.array(each)[:, None], -level - flat, level + flat), axis=0)
        found = found[..., None, :] * lengths
    masses = found.sum(axis=-1).ravel()
    return tuple((masses / masses.sum()).tolist())


@cache
def disc_masses(at: tuple[Fraction, ...], shape: Shape, reach: int) -> tuple[float, ...]:
    """P of all cells around ``at`` in the plane, of the density exp(-|z| / scale)."""
    rows, columns = (_edges(v, scale, reach) for v, (scale, _) in zip(at, shape, strict=True))
    table = np.array([[np.sign(x * y) * _quadrant(abs(x), abs(y)) for y in columns] for x in rows])
    masses = np.diff(np.diff(table, axis=0), axis=1).ravel()
    return tuple((masses / masses.sum()).tolist())


@cache
def _quadrant(width: float, height: float) -> float:
    """The integral of exp(-|z|) over a rectangle at 0: by angle, as radii have a closed form."""
    found = 0.0
    for near, far in ((width, height), (height, width)):
        ends = np.arctan(far / near * np.array([0, 0.1, 0.5, 1])) if near else np.zeros(1)
        halves = np.diff(ends)[:, None] / 2
        length = near / np.cos(ends[:-1, None] + halves * (1 + NODES))
        found += float(((1 - np.exp(-length) * (1 + length)) * halves * WEIGHTS).sum())
    return found


EPSILONS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
ORDERS = (1.01, 1.5, 2.0, 8.0, 32.0)


def shares_of(bound, distance: int, p, q) -> list[float]:
    """What pairs of laws lose at most, a row of p and of q for each, over what is claimed.

    First by the measure itself, then by the curve, and of a pure loss by its zCDP.
    """
    measure, loss = bound.output_measure, bound.loss(distance)
    curve = bound.privacy_profile(distance)
    levels = [each for each in EPSILONS if curve.delta(Fraction(each)) > 0]
    found = [hockey_stick(p, q, each) / float(curve.delta(Fraction(each))) for each in levels]
    match measure:
        case divergences.MaxDivergence():
            rho = (bound >> dp.to_zcdp()).loss(distance)
            found = [ratios(p, q).max() / float(loss), rho_of(p, q) / float(rho), *found]
        case divergences.ZeroConcentratedDivergence():
            found = [rho_of(p, q) / float(loss), *found]
        case divergences.ApproximateDivergence():
            found = [hockey_stick(p, q, float(loss[0])) / float(loss[1]), *found]
    return found


def ratios(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, np.log(p / q), -inf)


def rho_of(p, q) -> float:
    """The largest divergence of an order, over the order."""
    moments = [(p * np.exp((order - 1) * ratios(p, q))).sum(axis=1).max() for order in ORDERS]
    return max(log(m) / (order - 1) / order for m, order in zip(moments, ORDERS, strict=True))


def hockey_stick(p, q, epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0).sum(axis=1).max())
