"""Privacy losses as distributions on a grid, each mass an upper bound."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.numbers.exact import nearest

Floats = NDArray[np.float64]

# Above the relative error of every formula here: exponents are below 2^10 in size, and numpy's
# exp and expm1 are taken to be within 2^-45.
_SLACK: Final = 1 + 2.0**-36
# Above what underflow can lose of all masses together.
_LOST: Final = 2.0**-900
# Up to so many atoms are put on the grid one by one.
_FEW: Final = 2**12
# Of a standard deviation: then the masses are widened by (sinh c / c)^2 hardly at all.
_CELLS_OF_GAUSSIAN: Final = 32
_WIDEST_GAUSSIAN: Final = 256.0
# Standard deviations of a Gaussian loss that are put on the grid; beyond lie 1e-43.
_REACH: Final = 14.0


@attrs.frozen(repr=False)
class LossGrid:
    """The multiples of ``step``, a power of two, from -``most`` to ``most`` of them."""

    step: float
    most: int

    @property
    def end(self) -> float:
        """The highest."""
        return self.most * self.step


@attrs.frozen(eq=False, repr=False)
class LossDistribution:
    """A pair of laws that is at least as far apart as a mechanism's releases, both ways round.

    The loss is ln(P / Q) under P. It is on the multiples of ``step``, or infinite.

    Attributes:
        step: A power of two.
        first: The lowest multiple.
        masses: At least the probability of each multiple from there on.
        beyond: At least the probability of an infinite loss.

    Proof:
        A mass at a loss between two neighbours a < b on the grid is parted between a and b, so that
        both P and Q keep their totals. Who forgets the parting has the mass back. So the new pair
        is at least as far apart (data processing), and compositions of such pairs are
        (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; Zhu, Dong, Wang 2022, theorem 10).
        A mass that is moved up, or to infinity, or enlarged, enlarges every delta. Sums and
        products of positive floats have a relative error alone, which the masses are raised by.
    """

    step: float
    first: int
    masses: Floats
    beyond: float = _LOST

    def compose_with(self, other: LossDistribution) -> LossDistribution:
        """That of two releases: the sum of independent losses. Both are on one grid."""
        terms = min(len(self.masses), len(other.masses)) + 4
        return LossDistribution(
            self.step,
            self.first + other.first,
            np.convolve(self.masses, other.masses) * (1 + terms * 2.0**-52),
            _up(self.beyond + other.beyond + _LOST),
        )

    def mix(self, other: LossDistribution) -> LossDistribution:
        """Both on one grid: for parts of one law."""
        first = min(self.first, other.first)
        ends = (each.first + len(each.masses) for each in (self, other))
        total = np.zeros(max(ends) - first)
        for each in (self, other):
            start = each.first - first
            total[start : start + len(each.masses)] += each.masses
        return LossDistribution(
            self.step, first, total * (1 + 2.0**-50), _up(self.beyond + other.beyond)
        )

    def within(self, most: int) -> LossDistribution:
        """The same between -most and most steps: what is above becomes infinite."""
        low, high = -most - self.first, most + 1 - self.first
        if low <= 0 and high >= len(self.masses):
            return self
        kept = self.masses[max(low, 0) : max(high, 0)]
        if not len(kept):
            kept = np.zeros(1)
        above = float(self.masses[max(high, 0) :].sum()) * _SLACK
        kept = kept.copy()
        # What is below moves up to the lowest point, which enlarges every delta.
        kept[0] += float(self.masses[: max(low, 0)].sum())
        kept[0] *= _SLACK
        first = max(self.first, -most)
        return LossDistribution(self.step, first, kept, _up(self.beyond + above))

    def spilling(self, probability: float) -> LossDistribution:
        """The same, and the loss is infinite with this probability besides."""
        return attrs.evolve(self, beyond=_up(self.beyond + probability))

    def delta(self, epsilon: Fraction) -> Fraction:
        """At least the delta at this epsilon."""
        # A float below epsilon, since delta falls with it.
        level = math.nextafter(nearest(epsilon), -math.inf)
        start = max(math.floor(level / self.step) - self.first, 0) if level < 2.0**60 else None
        if start is None or start >= len(self.masses):
            return min(Fraction(1), Fraction(self.beyond))
        losses = np.arange(self.first + start, self.first + len(self.masses)) * self.step
        shares = -np.expm1(np.minimum(level - losses, 0.0))
        above = float(self.masses[start:] @ shares) * _SLACK
        return min(Fraction(1), Fraction(_up(above + self.beyond)))


def atoms(grid: LossGrid, losses: Floats, masses: Floats) -> LossDistribution:
    """A loss with these values and probabilities.

    Each is parted between its neighbours. Distances from the grid are exact, as floats, where they
    are measured towards 0. A loss above the grid is infinite, and one below it is moved up to it.
    """
    step, high = grid.step, losses > grid.end
    above = float(masses[high].sum()) * _SLACK
    masses = np.where(high, 0.0, masses)
    losses = np.where(high, 0.0, np.maximum(losses, -grid.end))
    sizes = np.abs(losses)
    inner = np.floor(sizes / step)
    rest = sizes - inner * step
    positive = losses >= 0
    up, down = np.where(positive, rest, step - rest), np.where(positive, step - rest, rest)
    low = np.where(positive, inner, -inner - 1).astype(np.int64)
    first = int(low.min())
    total = np.zeros(int(low.max()) + 2 - first)
    np.add.at(total, low - first, masses * (np.expm1(down) / math.expm1(step)))
    np.add.at(total, low + 1 - first, masses * (np.expm1(-up) / math.expm1(-step)))
    slack = _SLACK + len(losses) * 2.0**-52
    return LossDistribution(step, first, total * slack).spilling(above)


def band(grid: LossGrid, edge: float, factor: float, lowered: float) -> LossDistribution:
    """A loss with the density ``factor`` exp((loss - lowered) / 2) from -edge to edge.

    Proof:
        The part of a cell [a, b] of width w that goes to b is
        2 factor exp((b - lowered) / 2) tanh(w / 4), and to a likewise. What is beyond the grid
        has 2 factor exp((edge - lowered) / 2) at most above it, and below it
        2 factor exp((-end - lowered) / 2).
    """
    step, cut = grid.step, edge > grid.end
    inner = min(edge, grid.end)
    count = math.floor(inner / step)
    rest = inner - count * step
    points = np.arange(-count, count + 1, dtype=np.float64) * step
    sides = np.full(len(points), 2 * math.tanh(step / 4))
    sides[[0, -1]] = math.tanh(step / 4) if count else 0.0
    for end in (0, -1):
        sides[end] += math.tanh(rest / 4)
    inside = 2 * factor * sides * np.exp((points - lowered) / 2)
    ends = np.array([-inner, inner])
    outside = 2 * factor * math.tanh(rest / 4) * np.exp((ends - lowered) / 2)
    above = 0.0
    if cut:
        inside[0] += 2 * factor * math.exp((-inner - lowered) / 2)
        above = 2 * factor * math.exp((edge - lowered) / 2) * _SLACK
    found = LossDistribution(step, -count, inside * _SLACK).mix(atoms(grid, ends, outside))
    return found.spilling(above)


def two_points(grid: LossGrid, loss: float, share: float = 1.0) -> LossDistribution:
    """Randomised response: the loss is +-``loss``, with odds e^loss; times a ``share``."""
    tail = math.exp(-loss)
    masses = np.array([share / (1 + tail), share * tail / (1 + tail)])
    return atoms(grid, np.array([loss, -loss]), masses)


def bounded_range_losses(grid: LossGrid, loss: float) -> LossDistribution:
    """The density exp((x - loss) / 2) / (2 (1 - exp(-loss))) of ``BoundedRangeProfile``."""
    return band(grid, loss, 1 / (-2 * math.expm1(-loss)), loss)


def laplace_losses(grid: LossGrid, loss: float) -> LossDistribution:
    """The Laplace mechanism: see ``LaplaceProfile``.

    The loss is ``loss`` with probability 1/2 and -loss with probability exp(-loss) / 2. Between
    them it has the density exp((x - loss) / 2) / 4.
    """
    ends = two_points(grid, loss, (1 + math.exp(-loss)) / 2)
    return ends.mix(band(grid, loss, 0.25, loss))


def discrete_laplace_losses(grid: LossGrid, rate: float, steps: int) -> LossDistribution:
    """Discrete Laplace noise of this ``rate`` for a step of the grid, at so many steps.

    The loss is (n - 2 j) rate with probability (1 - q) q^j / (1 + q) for 0 < j < n and q = e^-rate.
    It is n rate with 1 / (1 + q), and -n rate with q^n / (1 + q). The ``rate`` has so few binary
    digits that the losses are exact as floats. Where there are many, the atoms between the ends
    are spread evenly over the gaps between them, which puts them further apart.
    """
    tail = math.exp(-rate)
    if steps <= _FEW:
        places = np.arange(steps + 1, dtype=np.float64)
        masses = np.exp(-places * rate) * (-math.expm1(-rate) / (1 + tail))
        masses[[0, -1]] = 1 / (1 + tail), math.exp(-steps * rate) / (1 + tail)
        return atoms(grid, (steps - 2 * places) * rate, masses)
    edge = steps * rate
    ends = np.array([1 / (1 + tail), math.exp(-edge) / (1 + tail)])
    inside = band(grid, (steps - 1) * rate, 1 / (2 * (1 + tail)), edge + rate)
    return inside.mix(atoms(grid, np.array([edge, -edge]), ends))


def gaussian_losses(grid: LossGrid, ratio: float) -> LossDistribution | None:
    """Gaussian noise with (distance / sigma)^2 = ``ratio``; None where that is above 2^16.

    Proof:
        The loss is normal with mean m^2 / 2 and variance m^2, m the root of the ratio. Its density
        is exp(loss / 2) times a function h that is even, and whose logarithm is concave. The mass
        at a point k of the grid is exp(k / 2) times an integral of h times
        sinh((step - |loss - k|) / 2) / sinh(step / 2), which is at most 1 - |loss - k| / step. With
        h below its tangent at k, the integral is at most
        h(k) step (sinh(c) / c)^2, c = k step / (2 m^2). Tails: P(Z > x) <= exp(-x^2 / 2) / 2.
    """
    root = math.sqrt(ratio)
    if root > _WIDEST_GAUSSIAN:
        return None
    step = grid.step
    fine = min(step, 2.0 ** math.floor(math.log2(root / _CELLS_OF_GAUSSIAN)))
    count = math.ceil((ratio / 2 + _REACH * root) / fine)
    points = np.arange(-count, count + 1, dtype=np.float64) * fine
    slopes = points * (fine / (2 * ratio))
    # sinh(c) / c is 1 in the middle, where c is 0.
    slopes[count] = 1.0
    widened = (np.sinh(slopes) / slopes) ** 2
    widened[count] = 1.0
    density = np.exp(-((points - ratio / 2) ** 2) / (2 * ratio)) / (root * math.sqrt(2 * math.pi))
    masses = density * widened * fine
    edge = count * fine
    below, above = (math.exp(-(((edge + side * ratio / 2) / root) ** 2) / 2) for side in (1, -1))
    masses[0] += below
    found = (
        LossDistribution(step, -count, masses * _SLACK)
        if fine == step
        else atoms(grid, points, masses * _SLACK)
    )
    return found.spilling(above * _SLACK)


def float_up(value: Fraction, bits: int = 53) -> float:
    """A float that is at least a positive value, of so many binary digits."""
    found = math.nextafter(nearest(value), math.inf)
    if math.isinf(found):
        return found
    mantissa, exponent = math.frexp(found)
    return math.ldexp(math.ceil(math.ldexp(mantissa, bits)), exponent - bits)


def _up(value: float) -> float:
    return math.nextafter(value * (1 + 2.0**-50), math.inf)


def accounting_library() -> ModuleType:
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
