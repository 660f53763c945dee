"""What a mean of one column may cost: rho, epsilon, or epsilon with delta."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.joint_noise import LaplacePair, NormalPair, Pair
from opendp_lite.estimators.inference.shared_laplace_noise import SharedLaplacePair
from opendp_lite.exact import Number, nearest, open_probability, positive, reading
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.noise import one_of
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import GaussianProfile, Profile, gaussian_ratio
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.norms import Norms

_UNLIKELY: Final = Fraction(1, 10**6)
_LEAST_SHARE: Final = Fraction(1, 10**6)
_ratio_for = lru_cache(maxsize=256)(gaussian_ratio)
_MOST: Final = reading(1e30)


class Loss(ABC):
    """A loss that may be divided: ``part`` of it costs that share, and parts add."""

    @abstractmethod
    def part(self, share: Fraction) -> Loss:
        """A share of the loss."""

    @abstractmethod
    def noise(self) -> Mechanism[Any, Any]:
        """Noise that costs all of it."""

    @abstractmethod
    def reach(self, moved: Norms) -> float:
        """How far a row moves what noise is added to, in the norm that the noise reads."""

    @abstractmethod
    def scale(self, sensitivity: float) -> float:
        """The scale of that noise: sigma of a Gaussian, b of a Laplace."""

    @abstractmethod
    def deviation(self, sensitivity: float) -> float:
        """Its standard deviation."""

    @abstractmethod
    def errors(self, total: np.ndarray, rows: np.ndarray) -> Pair:
        """The law of noises of scale 1 that the arrays multiply for the total and the rows."""

    @abstractmethod
    def shared_errors(self, scale: float, count: int, width: float) -> Pair:
        """As ``SharedLaplacePair``: of one of so many totals of one noise, and of their sum."""

    @abstractmethod
    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        """The share of the sum at which its variance is that of the count times width^2."""

    @abstractmethod
    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        """The share of the sum with the least error of a mean so far from what is subtracted."""

    @abstractmethod
    def claimed(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        """A measurement made of such noises, with its loss in the measure that was asked for."""

    @property
    @abstractmethod
    def measure(self) -> Measure[Any]:
        """The measure in which parts of it add up to ``budget``."""

    @property
    @abstractmethod
    def budget(self) -> Fraction:
        """All of it in that measure."""

    @property
    @abstractmethod
    def told_at(self) -> Fraction:
        """The delta at which it is told as an epsilon."""

    @abstractmethod
    def profile(self, unit: Fraction) -> Callable[[Fraction], Profile] | None:
        """The curve of noises that cost all of it together, each chosen by those before."""


@attrs.frozen
class Pure(Loss):
    """Epsilon under ``MaxDivergence``."""

    epsilon: Fraction

    def part(self, share: Fraction) -> Pure:
        return Pure(self.epsilon * share)

    def noise(self) -> Mechanism[Any, Any]:
        return laplace(epsilon=self.epsilon)

    def reach(self, moved: Norms) -> float:
        return float(cast(Fraction, moved.l1))

    def scale(self, sensitivity: float) -> float:
        return sensitivity / float(self.epsilon)

    def deviation(self, sensitivity: float) -> float:
        return sqrt(2) * self.scale(sensitivity)

    def errors(self, total: np.ndarray, rows: np.ndarray) -> Pair:
        return LaplacePair(total, rows)

    def shared_errors(self, scale: float, count: int, width: float) -> Pair:
        return SharedLaplacePair(scale, count, width)

    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        return sensitivity / (sensitivity + width)

    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        root = float(distance / sensitivity) ** (2 / 3)
        return _share(1 / (1 + root))

    def claimed(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        return measurement

    @property
    def measure(self) -> MaxDivergence:
        return MaxDivergence()

    @property
    def budget(self) -> Fraction:
        return self.epsilon

    @property
    def told_at(self) -> Fraction:
        return Fraction(0)

    def profile(self, unit: Fraction) -> None:
        return None


@attrs.frozen
class Concentrated(Loss):
    """Rho under ``ZeroConcentratedDivergence``."""

    rho: Fraction

    def part(self, share: Fraction) -> Loss:
        return Concentrated(self.rho * share)

    def noise(self) -> Mechanism[Any, Any]:
        return gaussian(rho=self.rho)

    def reach(self, moved: Norms) -> float:
        return float(cast(Fraction, moved.of(2)))

    def scale(self, sensitivity: float) -> float:
        return sensitivity / sqrt(2 * float(self.rho))

    def deviation(self, sensitivity: float) -> float:
        return self.scale(sensitivity)

    def errors(self, total: np.ndarray, rows: np.ndarray) -> Pair:
        return NormalPair(sqrt(total @ total), sqrt(rows @ rows))

    def shared_errors(self, scale: float, count: int, width: float) -> Pair:
        return NormalPair(scale * sqrt((count - 1) / count), scale * sqrt(count) / width)

    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        return sensitivity**2 / (sensitivity**2 + width**2)

    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        return _share(float(sensitivity / (sensitivity + distance)))

    def claimed(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        return measurement

    @property
    def measure(self) -> ZeroConcentratedDivergence:
        return ZeroConcentratedDivergence()

    @property
    def budget(self) -> Fraction:
        return self.rho

    @property
    def told_at(self) -> Fraction:
        return _UNLIKELY

    def profile(self, unit: Fraction) -> Callable[[Fraction], Profile]:
        return lambda distance: GaussianProfile(2 * self.rho * (distance / unit) ** 2)


@attrs.frozen
class Approximate(Concentrated):
    """Epsilon at delta: Gaussians whose exact curve together meets it, ``rho`` half its ratio.

    Because: Gaussian mechanisms compose by adding the squares of distance over sigma, also where
    each is chosen by the answers before (Dong, Roth, Su 2022, theorem 4 and corollary 2).
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def told_at(self) -> Fraction:
        return self.delta

    def claimed(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        whole = 2 * self.rho

        def privacy_map(distance: Any) -> tuple[Fraction, Fraction]:
            profile: Any = measurement.profile_at(distance)
            if profile.ratio == 0:
                return Fraction(0), Fraction(0)
            met = profile.ratio == whole
            return (self.epsilon if met else profile.epsilon(self.delta)), self.delta

        return attrs.evolve(
            measurement,
            output_measure=ApproximateDivergence(),
            privacy_map=privacy_map,
            profile=measurement.profile_at,
        )


def _share(share: float) -> Fraction:
    """A share that leaves something for both."""
    return Fraction(min(max(share, 0.001), 0.999)).limit_denominator(1000)


def share_of(given: object, name: str) -> Fraction:
    """A share of the loss that leaves something for both parts."""
    found = open_probability(given, name)
    if not _LEAST_SHARE <= found <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{name} must leave at least {float(_LEAST_SHARE):g} for either part, got {given}"
        )
    return found


def loss_of(step: str, rho: Number | None, epsilon: Number | None, delta: Number | None) -> Loss:
    """The loss that was asked for, refused where it is none or two."""
    if rho is not None and delta is not None:
        raise ParameterError(
            f"{step}: delta goes with epsilon, got it with rho; leave delta out, or give epsilon "
            "in place of rho"
        )
    if rho is epsilon is delta is None:
        raise ParameterError(
            f"{step} takes one of rho= or epsilon=; got none. Say how much the release may give "
            "away (less is more private and noisier): epsilon=1 is common, as is rho=0.5"
        )
    given = one_of(step, rho=rho, epsilon=delta if epsilon is None else epsilon)
    if given == "rho":
        return Concentrated(_moderate(rho, f"{step}: rho"))
    if epsilon is None:
        raise ParameterError(f"{step}: epsilon and delta go together, epsilon is missing")
    level = _moderate(epsilon, f"{step}: epsilon")
    if delta is None:
        return Pure(level)
    spill = open_probability(delta, f"{step}: delta")
    return Approximate(_ratio_for(level, spill) / 2, level, spill)


def _moderate(given: object, name: str) -> Fraction:
    """Above 0, and such that no square of a noise is beyond floats, whatever the bounds."""
    found = positive(given, name)
    if not 1 / _MOST <= found <= _MOST:
        raise ParameterError(f"{name} must lie between 1e-30 and 1e30, got {nearest(found):g}")
    return found
