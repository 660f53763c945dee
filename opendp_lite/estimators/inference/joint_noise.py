"""How a noisy total and a noisy number of rows err together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import erf, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.parameters import Floats

Drawn = tuple[Floats, Floats]

_APART: Final = 1e-3
"""Laplace scales closer than this are moved so far apart: it changes a probability by 2e-4."""
_NODES: Final = 900
_LARGEST_CORE: Final = 45.0
_STANDARD: Final = NormalDist()
_FURTHEST: Final = 8.29
_ROOT: Final = sqrt(2)


def normal_below(scores: Floats) -> Floats:
    """The probability that a standard normal is at most each score."""
    found: Floats = (1 + normal_within(scores)) / 2
    return found


def normal_within(scores: Floats) -> Floats:
    """The probability that a standard normal lies within +- each score, negative below 0."""
    scaled = np.asarray(scores) / _ROOT
    each = map(erf, scaled.reshape(-1).tolist())
    return np.fromiter(each, np.float64, scaled.size).reshape(scaled.shape)


def normal_score(shares: Any) -> Floats:
    """The scores below which a standard normal lies with these probabilities."""
    found: Floats = np.asarray(_score(shares), dtype=np.float64)
    return found


def _score_of(share: float) -> float:
    """The score, or the furthest one that a probability in floats tells from 1."""
    if not 0 < share < 1:
        return _FURTHEST if share >= 1 else -_FURTHEST
    return min(max(_STANDARD.inv_cdf(share), -_FURTHEST), _FURTHEST)


_score: Final[Callable[[Any], Any]] = np.frompyfunc(_score_of, 1, 1)


class JointNoise(ABC):
    """The noise (s, k) of a total and of a number of rows; the two are uncorrelated.

    A mean theta fits them as well as s - theta k is small: the law of that, for a theta that is
    known, is all that an interval needs, whatever the number of rows.
    """

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


@attrs.frozen(eq=False)
class JointNormal(JointNoise):
    """Independent normals; deviations are numbers, or arrays with one for each release."""

    total_deviation: Any
    rows_deviation: Any

    def below(self, theta: Floats, gap: Floats) -> Floats:
        return normal_below(gap / self.deviation(theta))

    def scores(self, theta: Floats, gap: Floats) -> Floats:
        score = gap / self.deviation(theta)
        found: Floats = np.minimum(np.maximum(score, -_FURTHEST), _FURTHEST)
        return found

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        total, rows = generator.standard_normal((2, runs))
        return total * self.total_deviation, rows * self.rows_deviation


@attrs.frozen(eq=False)
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
        found: Floats = np.where(gap >= 0, 1 - beyond, beyond)
        return found

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


@attrs.frozen(eq=False)
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
        """The integral over c of the law of a sum of two uniforms."""
        width = _LARGEST_CORE / _NODES
        core = np.linspace(width / 2, _LARGEST_CORE - width / 2, _NODES)
        density = core * np.exp(-core) * (core + self.stretch) / (2 + self.stretch) * width
        first: Floats = self.reach * core
        second = np.abs(theta)[..., None] / self.epsilon * (core + self.stretch)
        wide: Floats = np.maximum(second, 1e-6 * first)
        return np.asarray(_two_uniforms(gap[..., None], first, wide) @ (density / density.sum()))

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        shape = np.where(generator.random(runs) < 2 / (2 + self.stretch), 3.0, 2.0)
        core = generator.standard_gamma(shape)
        first, second = generator.uniform(-1, 1, (2, runs))
        return self.reach * core * first, (core + self.stretch) * second / self.epsilon


def _two_uniforms(gap: Floats, first: Floats, second: Floats) -> Floats:
    """The probability that uniforms within +-first and +-second add up to at most the gap."""
    both, apart = first + second, first - second

    def square(value: Floats) -> Floats:
        found: Floats = np.maximum(value, 0.0) ** 2
        return found

    rising = square(gap + both) - square(gap + apart) - square(gap - apart) + square(gap - both)
    found: Floats = rising / (8 * first * second)
    return found
