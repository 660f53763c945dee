"""The loss of Laplace noise."""

from __future__ import annotations

import math
from fractions import Fraction
from math import floor
from types import ModuleType

import attrs
import numpy as np

from opendp_lite.measures import profile
from opendp_lite.measures.loss_distribution import Floats, LossDistribution
from opendp_lite.measures.profile import Profile, float_up
from opendp_lite.numbers.exact import exp_down, exp_up, log_up

# With more steps, they are not kept as atoms.
_MOST_STEPS, _FARTHEST = 2**12, 512


@attrs.frozen
class LaplaceProfile(Profile):
    """The curve of continuous Laplace noise of scale b at an l1 distance of ``loss`` b.

    delta = 1 - exp((e - E) / 2) and rho = E + exp(-E) - 1 at the loss E.

    Proof:
        The loss is E with probability 1/2, -E with probability exp(-E) / 2, and has the density
        exp((x - E) / 2) / 4 between. From it follows delta. For rho see
        ``DiscreteLaplaceProfile``, of which this is the limit (also Harrison and Manurangsi 2026).

        A vector loses no more than one entry that takes the whole l1 distance. Move the entries
        one after another. A test of false-positive rate a misses at least f1(a) after the first
        move. After the second it misses at least f2(1 - f1(a)), and so on, as for groups in Dong,
        Roth, Su 2022. For shifts of one law with a concave log density, the best tests are
        thresholds (Karlin and Rubin 1956), the same for every shift. So this bound is attained by
        one entry that makes all moves.

        More noise loses less: noise of a larger scale is noise of the smaller one with further
        noise added.
    """

    loss: Fraction

    @property
    def pure(self) -> Fraction:
        return self.loss

    @property
    def rho(self) -> Fraction:
        return _rho(self.loss, Fraction(1))

    def group(self, size: int) -> Profile:
        return LaplaceProfile(self.loss * size)

    def renyi(self, orders: tuple[Fraction, ...]) -> profile.Divergences:
        known = (min(order * self.rho, self._divergence(order)) for order in orders)
        return Fraction(0), self.loss, tuple(known)

    def _divergence(self, order: Fraction) -> Fraction:
        """log((a e^((a-1) E) + (a-1) e^(-a E)) / (2 a - 1)) / (a - 1).

        See Mironov 2017, proposition 6.
        """
        twice = 2 * order - 1
        mean = (order + (order - 1) * exp_up(-twice * self.loss)) / twice
        return self.loss + log_up(mean) / (order - 1)

    def _delta(self, epsilon: Fraction) -> Fraction:
        return 1 - exp_down((epsilon - self.loss) / 2)

    def _event(self, library: ModuleType) -> object:
        return library.LaplaceDpEvent(profile.noise_multiplier(self.loss))

    def deltas(self, levels: Floats) -> Floats:
        return -np.expm1(np.minimum(levels - float_up(self.loss), 0.0) / 2)


@attrs.frozen
class DiscreteLaplaceProfile(Profile):
    """The curve of discrete Laplace noise, P(k) in proportion to exp(-|k| ``rate``).

    The value moves by ``steps`` steps of the grid, in all entries together. With n steps, the rate
    r and q = exp(-r), it is randomised response for n = 1. For many small steps it is
    ``LaplaceProfile``.

    Proof:
        The loss is (n - 2 j) r at the noise j for 0 <= j <= n. The best test of the level e takes
        the noises up to j, the last with a loss above e, so
        delta = 1 - q^(j + 1) / (1 + q) - exp(e) q^(n - j) / (1 + q).
        Vectors: as for ``LaplaceProfile``.

        rho = n r - (1 - q^n) r / sinh(r), which is the Kullback-Leibler divergence, so no smaller
        rho holds (Harrison and Manurangsi 2026 also have tight bounds). Put u = a - 1/2 for the
        order a, and let g be the logarithm of the sum of sqrt(P Q) cosh(u loss), which is 0 at
        a = 1. The Renyi divergence of order a is g / (a - 1). If g is concave as a function of u^2,
        it is at most its slope at a = 1 times u^2 - 1/4 = a (a - 1). So the divergence is at most
        that slope times a. The slope is the limit for a -> 1, the Kullback-Leibler divergence. The
        sum is in proportion to F(u), for which
        F(i y) sin(r y) = sin((n + 1) r y) - q sin((n - 1) r y). The right side changes its sign
        between the 2 n + 2 places of a period where the first sine is +-1, so all its zeros are
        real. So F is a product of factors 1 + u^2 / y^2, whose logarithms are concave in u^2.
    """

    rate: Fraction
    steps: int

    @property
    def pure(self) -> Fraction:
        return self.rate * self.steps

    @property
    def rho(self) -> Fraction:
        return _rho(self.pure, _over_sinh(self.rate))

    def group(self, size: int) -> Profile:
        return DiscreteLaplaceProfile(self.rate, self.steps * size)

    def _delta(self, epsilon: Fraction) -> Fraction:
        # The largest j with (n - 2 j) r above epsilon: a loss of epsilon itself adds nothing.
        last = -floor((epsilon / self.rate - self.steps) / 2) - 1
        kept = exp_down(-(last + 1) * self.rate) + exp_down(
            epsilon - (self.steps - last) * self.rate
        )
        return 1 - kept / (1 + exp_up(-self.rate))

    def _event(self, library: ModuleType) -> object:
        return library.DiscreteLaplaceDpEvent(float_up(self.rate), self.steps)

    def deltas(self, levels: Floats) -> Floats:
        rate, loss, tail = float_up(self.rate), float_up(self.pure), math.exp(-float_up(self.rate))
        # Beside a kink both tests have the same delta, so the wrong one loses a rounding.
        last = np.maximum(-np.floor((levels / rate - self.steps) / 2) - 1, 0.0)
        kept = np.exp(-(last + 1) * rate) + np.exp(levels - (self.steps - last) * rate)
        found = 1 - kept / (1 + tail) + 2.0**-50 * (1 + loss)
        return np.where(levels < loss, np.maximum(found, 0.0), 0.0)

    def atoms(self) -> LossDistribution | None:
        if self.steps > _MOST_STEPS or self.pure > _FARTHEST:
            return None
        rate, places = float_up(self.rate, profile.RATE_BITS), np.arange(self.steps + 1)
        tail = math.exp(-rate)
        masses = np.zeros(2 * self.steps + 1)
        masses[::-2] = np.exp(-places * rate) * (-math.expm1(-rate) / (1 + tail))
        masses[[-1, 0]] = 1 / (1 + tail), math.exp(-self.steps * rate) / (1 + tail)
        return LossDistribution(rate, -self.steps, masses, 0.0)


def _rho(loss: Fraction, kept: Fraction) -> Fraction:
    """At least E - ``kept`` (1 - exp(-E)), where ``kept`` is at most its value.

    Never above that of any mechanism of this pure loss.
    """
    known = profile.zcdp_of_pure(loss)
    return min(known, loss - kept * (1 - exp_up(-loss)))


def _over_sinh(rate: Fraction) -> Fraction:
    """At most r / sinh(r)."""
    rise = 1 - exp_down(-2 * rate)
    return min(Fraction(1), 2 * rate * exp_down(-rate) / rise)
