"""The curves of Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import attrs

from opendp_lite.exact import exp_down, exp_up
from opendp_lite.measures.dp_events import noise_multiplier
from opendp_lite.measures.loss_distribution import (
    LossDistribution,
    LossGrid,
    discrete_laplace_losses,
    float_up,
    laplace_losses,
)
from opendp_lite.measures.profile import Profile, PureProfile

_RATE_BITS = 24
_MOST_STEPS = 2**28


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

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.loss:
            return Fraction(0)
        return 1 - exp_down((epsilon - self.loss) / 2)

    def dp_event(self, library: Any) -> Any:
        if self.loss == 0:
            return library.NoOpDpEvent()
        return library.LaplaceDpEvent(noise_multiplier(self.loss))

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return laplace_losses(grid, float_up(self.loss))


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

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.pure:
            return Fraction(0)
        last = -floor((epsilon / self.rate - self.steps) / 2) - 1
        kept = exp_down(-(last + 1) * self.rate) + exp_down(
            epsilon - (self.steps - last) * self.rate
        )
        return 1 - kept / (1 + exp_up(-self.rate))

    def dp_event(self, library: Any) -> Any:
        if self.steps == 0:
            return library.NoOpDpEvent()
        return library.DiscreteLaplaceDpEvent(float_up(self.rate), self.steps)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        if self.steps > _MOST_STEPS:
            return PureProfile(self.pure).loss_distribution(grid)
        return discrete_laplace_losses(grid, float_up(self.rate, _RATE_BITS), self.steps)


def _rho(loss: Fraction, kept: Fraction) -> Fraction:
    """At least E - ``kept`` (1 - exp(-E)), where ``kept`` is at most its value.

    Never above that of any mechanism of this pure loss.
    """
    known = PureProfile(loss).rho
    return min(known, loss - kept * (1 - exp_up(-loss)))


def _over_sinh(rate: Fraction) -> Fraction:
    """At most r / sinh(r)."""
    rise = 1 - exp_down(-2 * rate)
    return min(Fraction(1), 2 * rate * exp_down(-rate) / rise)
