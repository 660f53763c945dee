"""The two families of noise that estimators buy with a budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.estimators.inference.joint_noise import JointLaplace, JointNoise, JointNormal
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.shared_laplace_noise import SharedLaplace
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measures.curve import gaussian_rho
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.norms import Norms
from opendp_lite.recipes import Mechanism

_UNLIKELY: Final = Fraction(1, 10**6)
_RATES: Final = np.linspace(0.01, 0.99, 99)
_ONE: Final = np.ones(1)


class NoiseFamily(ABC):
    """A law of noise with a free scale, and what an estimator must know of it.

    An ``amount`` is a loss in ``measure``, in which the losses of several releases add up.
    """

    @property
    @abstractmethod
    def measure(self) -> Measure[Any]:
        """The measure in which amounts are losses."""

    @property
    @abstractmethod
    def reporting_delta(self) -> Fraction:
        """The delta at which a loss is reported as an epsilon."""

    @abstractmethod
    def noise(self, amount: Fraction) -> Mechanism[Any, Any]:
        """The mechanism that costs this amount."""

    @abstractmethod
    def sensitivity(self, unit: Norms) -> float:
        """The distance that sets the scale, of all norms of it."""

    @abstractmethod
    def scale(self, sensitivity: float, amount: Fraction) -> float:
        """The scale of that noise: sigma of a Gaussian, b of a Laplace."""

    @abstractmethod
    def deviation(self, scale: float) -> float:
        """The standard deviation at a scale."""

    @abstractmethod
    def exceeded(self, scale: float, share: float, weights: Floats = _ONE) -> float:
        """What the weighted sum of noises of a scale exceeds with at most this probability."""

    @abstractmethod
    def errors(self, total: np.ndarray, rows: np.ndarray) -> JointNoise:
        """Of a total and a number of rows that are combinations of noises of scale 1."""

    @abstractmethod
    def shared_errors(self, scale: float, count: int, width: float) -> JointNoise:
        """Of one of ``count`` noisy totals, and of the rows that their sum tells."""

    @abstractmethod
    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        """The share of the sum at which its variance is that of the count times width^2."""

    @abstractmethod
    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        """The share of the sum with the least error of a mean so far from what is subtracted."""

    @abstractmethod
    def together(self, amount: Fraction) -> Fraction:
        """The loss of noises that cost the amount together, each chosen by those before."""


@attrs.frozen
class LaplaceFamily(NoiseFamily):
    """Laplace noise, for pure privacy: amounts are epsilons."""

    @property
    def measure(self) -> MaxDivergence:
        return MaxDivergence()

    @property
    def reporting_delta(self) -> Fraction:
        return Fraction(0)

    def noise(self, amount: Fraction) -> Mechanism[Any, Any]:
        return laplace(epsilon=amount)

    def sensitivity(self, unit: Norms) -> float:
        return float(cast(Fraction, unit.l1))

    def scale(self, sensitivity: float, amount: Fraction) -> float:
        return sensitivity / float(amount)

    def deviation(self, scale: float) -> float:
        return sqrt(2) * scale

    def exceeded(self, scale: float, share: float, weights: Floats = _ONE) -> float:
        most = float(weights.max())
        if len(weights) == 1 or not most:
            return scale * most * log(1 / (2 * share))
        # Chernoff's bound: a noise of scale 1 has the moment generating function 1 / (1 - t^2).
        logs = -np.log1p(-((_RATES[:, None] * weights / most) ** 2)).sum(axis=1)
        return scale * most * float(np.min((logs - log(share)) / _RATES))

    def errors(self, total: np.ndarray, rows: np.ndarray) -> JointNoise:
        return JointLaplace(total, rows)

    def shared_errors(self, scale: float, count: int, width: float) -> JointNoise:
        return SharedLaplace(scale, count, width)

    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        return sensitivity / (sensitivity + width)

    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        root = float(distance / sensitivity) ** (2 / 3)
        return _for_both(1 / (1 + root))

    def together(self, amount: Fraction) -> Fraction:
        return amount


@attrs.frozen
class GaussianFamily(NoiseFamily):
    """Gaussian noise, for zero-concentrated privacy: amounts are rhos."""

    @property
    def measure(self) -> ZeroConcentratedDivergence:
        return ZeroConcentratedDivergence()

    @property
    def reporting_delta(self) -> Fraction:
        return _UNLIKELY

    def noise(self, amount: Fraction) -> Mechanism[Any, Any]:
        return gaussian(rho=amount)

    def sensitivity(self, unit: Norms) -> float:
        return float(cast(Fraction, unit.of(2)))

    def scale(self, sensitivity: float, amount: Fraction) -> float:
        return sensitivity / sqrt(2 * float(amount))

    def deviation(self, scale: float) -> float:
        return scale

    def exceeded(self, scale: float, share: float, weights: Floats = _ONE) -> float:
        return -scale * sqrt(weights @ weights) * NormalDist().inv_cdf(share)

    def errors(self, total: np.ndarray, rows: np.ndarray) -> JointNoise:
        return JointNormal(sqrt(total @ total), sqrt(rows @ rows))

    def shared_errors(self, scale: float, count: int, width: float) -> JointNoise:
        return JointNormal(scale * sqrt((count - 1) / count), scale * sqrt(count) / width)

    def even_share(self, sensitivity: Fraction, width: Fraction) -> Fraction:
        return sensitivity**2 / (sensitivity**2 + width**2)

    def best_share(self, sensitivity: Fraction, distance: Fraction) -> Fraction:
        return _for_both(float(sensitivity / (sensitivity + distance)))

    def together(self, amount: Fraction) -> Fraction:
        return gaussian_rho(2 * amount)


def _for_both(share: float) -> Fraction:
    """A share that leaves something for both."""
    return Fraction(min(max(share, 0.001), 0.999)).limit_denominator(1000)
