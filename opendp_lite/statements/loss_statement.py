"""The privacy loss of a statement, in every measure in which it is known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, digits_up, exact, exp_up, sqrt_up
from opendp_lite.measures.curve import without_curve
from opendp_lite.statements.wording import number

_DELTA: Final = Fraction(1, 10**6)
_MOST: Final = 709
"""The logarithm of the largest float, rounded down."""


@attrs.frozen
class LossStatement:
    """The privacy loss in every measure in which it is known. All numbers are rounded up.

    Args:
        words: The loss in its own measure.
        variant: What public registries call this measure: "Pure DP", say.
        parts: The numbers of the loss in its own measure, exactly, by name.
        epsilon: Holds at ``delta``.
        delta: The probability that epsilon may fail.
        pure: An epsilon that always holds, if there is one.
        rho: Of zero-concentrated privacy, where known.
        mu: Of Gaussian privacy, where all noise is Gaussian.
        guess: Somebody who thinks two neighbouring datasets equally likely, and then sees the
            release, is right about them with at most this probability.
    """

    words: str
    variant: str
    parts: tuple[tuple[str, Fraction], ...]
    epsilon: Fraction
    delta: Fraction
    pure: Fraction | None
    rho: Fraction | None
    mu: Fraction | None
    guess: Fraction

    @property
    def odds(self) -> Fraction | None:
        """The factor by which a release changes anybody's odds at most, if a float holds one."""
        return None if self.pure is None or self.pure > _MOST else exp_up(self.pure)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The loss in words."""
        delta = digits_up(self.delta)
        known = []
        if dict(self.parts).get("delta") != self.delta:
            known.append(f"epsilon = {digits_up(self.epsilon)} at delta = {delta}")
        if self.rho is not None and "rho" not in dict(self.parts):
            known.append(f"rho = {digits_up(self.rho)} (zCDP)")
        if self.mu is not None and "mu squared" not in dict(self.parts):
            known.append(f"mu = {digits_up(self.mu)} (Gaussian privacy)")
        return (f"Loss: {self.words}.", *([f"This implies {', '.join(known)}."] if known else ()))

    def as_dict(self) -> dict[str, Any]:
        """Floats, None where a number is unknown or infinite, and the exact loss as text."""
        numbers = ("epsilon", "delta", "pure", "rho", "mu", "odds", "guess")
        return {
            "words": self.words,
            "variant": self.variant,
            "exact": {name: str(part) for name, part in self.parts},
            **{name: number(getattr(self, name)) for name in numbers},
        }


def loss_of(measurement: Any, distance: Any, delta: Number | None) -> LossStatement:
    """The loss at a distance, and what it implies at a delta."""
    measure, loss = measurement.output_measure, measurement.privacy_map(distance)
    profile = measure.profile(loss)
    level = max(_DELTA, profile.least_delta) if delta is None else exact(delta, "delta")
    if not 0 <= level <= 1:
        raise ParameterError(f"statement: delta must be between 0 and 1, got {delta}")
    plain = without_curve(loss)
    numbers = plain if isinstance(plain, tuple) else (plain,)
    if min(numbers) < 0:
        raise ParameterError(
            f"statement: the map of {measurement!r} gives a loss below 0: {measure.words(loss)}. "
            "Mend the map"
        )
    epsilon, ratio = profile.epsilon(level), profile.gaussian_ratio
    return LossStatement(
        words=measure.words(loss),
        variant=measure.variant,
        parts=tuple(zip(measure.parameters, numbers, strict=False))
        or (("epsilon", epsilon), ("delta", level)),
        epsilon=epsilon,
        delta=level,
        pure=profile.pure,
        rho=profile.rho,
        mu=None if ratio is None else sqrt_up(ratio),
        guess=(1 + profile.delta(Fraction(0))) / 2,
    )
