"""Gaussian differential privacy."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import attrs

from opendp_lite.exact import (
    digits_up,
    exp_down,
    nearest,
    normal_tail,
    round_up,
    sqrt_down,
    sqrt_up,
)
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.max_divergence import AdditiveMeasure, budget
from opendp_lite.measures.measure import group_size
from opendp_lite.measures.profile import GaussianProfile, Profile

_NUDGE = 1 + Fraction(1, 2**44)
_MOST = 700
"""A pure loss beyond this has no mu that floats can find."""


@attrs.frozen(repr=False)
class GaussianDivergence(AdditiveMeasure):
    """Gaussian differential privacy: the loss is mu, and is kept exactly as mu squared.

    To tell two neighbours apart is at least as hard as to tell one Gaussian from another mu
    standard deviations away.

    Proof:
        The squares of mu add, and mu grows with the size of a group (Dong, Roth, Su 2022,
        corollary 2 and theorem 3). They also add where each query is chosen by the answers before,
        so a program may stop at a sum (Smith and Thakurta 2022).

    Example:
        >>> measure = GaussianDivergence()
        >>> measure.show(measure.compose([measure.loss(3), measure.loss(4)]))
        5.0
    """

    def loss(self, value: object) -> Fraction:
        return budget(value, "mu") ** 2

    def show(self, loss: Fraction) -> float:
        return round_up(sqrt_up(without_curve(loss)))

    def typed(self, loss: Fraction) -> Fraction:
        return sqrt_down(loss)

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * group_size(size) ** 2

    def profile(self, loss: Fraction) -> Profile:
        return GaussianProfile(loss)

    def admit(self, profile: Profile) -> Fraction | None:
        ratio, pure = profile.gaussian_ratio, profile.pure
        if ratio is not None or pure is None:
            return ratio
        return squared_mu_of_pure(pure) if pure <= _MOST else None

    def words(self, loss: Fraction) -> str:
        return f"mu = {digits_up(sqrt_up(without_curve(loss)))} (Gaussian differential privacy)"


@lru_cache(maxsize=2**10)
def squared_mu_of_pure(epsilon: Fraction) -> Fraction:
    """The mu squared that every mechanism of this pure loss has.

    The trade-off function of randomised response is the lowest of them (Dong, Roth, Su 2022,
    equation 5). It is made of chords from (0, 1) to (p, p) to (1, 0), p = 1 / (1 + e^epsilon). A
    convex function through both ends that lies at or below p at p lies below the chords. That of
    the Gaussian is p there where P(Z > mu / 2) = p.
    """
    if epsilon == 0:
        return Fraction(0)
    shrunk = exp_down(-epsilon)
    least = shrunk / (1 + shrunk)
    half = Fraction(-NormalDist().inv_cdf(nearest(least)))
    while normal_tail(half)[1] > least:
        half = half * _NUDGE + Fraction(1, 2**60)
    return (2 * half) ** 2
