"""How far released entries lie from their exact values, and with which probability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import attrs

from opendp_lite.exact import exp_up, log_up, normal_quantile_up


class ErrorLaw(ABC):
    """The law of the difference between a released entry and its exact value."""

    @abstractmethod
    def half_width(self, miss: Fraction) -> Fraction:
        """A number that the difference exceeds with a probability of at most ``miss``.

        It is the least such number, or hardly larger: at most by a step of the output grid, or as
        the law says. It is in the units of the data.
        """

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of a released value, in the units of the data."""


@attrs.frozen
class NormalError(ErrorLaw):
    """A normal of at most this deviation, and a rounding of at most ``slack`` after it."""

    deviation: Fraction
    slack: Fraction

    def half_width(self, miss: Fraction) -> Fraction:
        return self.deviation * normal_quantile_up(miss) + self.slack

    @property
    def standard_deviation(self) -> float:
        return float(self.deviation)


@attrs.frozen
class ScaledError(ErrorLaw):
    """The error of another law, times a positive number."""

    law: ErrorLaw
    factor: Fraction

    def half_width(self, miss: Fraction) -> Fraction:
        return self.factor * self.law.half_width(miss)

    @property
    def standard_deviation(self) -> float:
        return float(self.factor) * self.law.standard_deviation


@attrs.frozen
class Errors:
    """The law of the errors of so many entries of a release."""

    law: ErrorLaw
    entries: int


def half_widths(
    errors: Sequence[Errors], confidence: Fraction, jointly: bool = False
) -> tuple[Fraction, ...]:
    """How far the entries may be off at this confidence, for each law.

    With ``jointly`` it is the confidence that no entry at all is further off.

    Proof:
        Of m entries each within its half-width with probability c^(1/m), all are within theirs with
        probability c if they are independent, and with at least that if they are jointly normal
        around 0 (Sidak 1967, theorem 1). The entries of one law may also be independent normals of
        one random deviation, as those of the l2 mechanism are: given it, all are within with
        p^m, the mean of which is at least the m-th power of the mean of p, by Jensen's inequality.
        Rounding a release is covered by the slack of its law.
    """
    each = confidence
    if jointly:
        entries = sum(part.entries for part in errors)
        each = confidence if entries == 1 else exp_up(log_up(confidence) / entries)
    return tuple(part.law.half_width(1 - each) for part in errors)
