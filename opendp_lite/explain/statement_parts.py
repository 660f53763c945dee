"""Numbers and texts as a statement shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.display.formatting import as_sentence, for_json
from opendp_lite.explain.trace import TraceStep, walk
from opendp_lite.measures.budgets import WEAK, WEAK_DELTA, Loss, numbers_of
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.metrics.distances import Distance, Metric, RowMetric
from opendp_lite.numbers.exact import Number, digits_up, exact, exp_up, round_up, sqrt_up
from opendp_lite.spaces.tables import Tables

_LONG: Final = 120


def number(value: Fraction | None) -> float | None:
    """Rounded up; None where it is unknown or beyond floats."""
    return None if value is None else for_json(round_up(value))


def short(text: str) -> str:
    """The start of a long text."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}... (in full under Pipeline)"


_SAVED: Final = Fraction(999, 1000)
# The logarithm of the largest float, rounded down.
_MOST: Final = 709


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
    def is_weak(self) -> bool:
        """Whether it protects hardly at all."""
        return self.epsilon >= WEAK or dict(self.parts).get("delta", 0) >= WEAK_DELTA

    @property
    def sentences(self) -> tuple[str, ...]:
        """The loss in words."""
        delta = digits_up(self.delta)
        known = []
        stated = dict(self.parts).get("epsilon")
        # A delta that saves less than a thousandth of a pure loss says nothing new.
        saves = stated is None or self.epsilon < stated * _SAVED
        if saves and dict(self.parts).get("delta") != self.delta:
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


def loss_of(measure: AnyMeasure, loss: Loss, delta: Number | None) -> LossStatement:
    """A loss, and what it implies at a delta."""
    profile = measure.profile(loss)
    level = max(Fraction(1, 10**6), profile.least_delta) if delta is None else exact(delta, "delta")
    if not 0 <= level <= 1:
        raise ParameterError(f"statement: delta must be between 0 and 1, got {delta}")
    epsilon, ratio = profile.epsilon(level), profile.gaussian_ratio
    return LossStatement(
        words=measure.words(loss),
        variant=measure.variant,
        parts=tuple(zip(measure.parameters, numbers_of(loss), strict=False))
        or (("epsilon", epsilon), ("delta", level)),
        epsilon=epsilon,
        delta=level,
        pure=profile.pure,
        rho=profile.rho,
        mu=None if ratio is None else sqrt_up(ratio),
        guess=(1 + profile.delta(Fraction(0))) / 2,
    )


GROUP: Final = 5
"""The rows of a person in the example of what several rows cost."""


@attrs.frozen
class UnitStatement:
    """Who or what the loss protects.

    Args:
        protected: "one row", say.
        neighbours: How two neighbouring datasets differ: "adding or removing one row", say.
        adjacency: Whether neighbours are bounded or unbounded.
        limit: How many rows of a person count; empty where nothing is said.
        question: What somebody who sees the release may ask.
        count: How many rows or people; None for values of another kind.
        group: The loss for five rows, in words; empty where the unit is not one row.
    """

    protected: str
    neighbours: str
    adjacency: str
    limit: str
    question: str
    count: int | None
    group: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The unit in words."""
        found = [
            as_sentence(self.protected),
            f"Neighbouring datasets differ by {self.neighbours}. {self.adjacency}",
        ]
        if self.limit:
            found.append(f"Rows that count: {self.limit}.")
        if self.group:
            found.append(
                f"A person with several rows is protected less: with {GROUP} rows the loss is "
                f"{self.group}."
            )
        return tuple(found)


def unit_of(
    metric: Metric,
    distance: Distance,
    trace: Sequence[TraceStep],
    loss_at: Callable[[Distance], str],
) -> UnitStatement:
    """What a distance between inputs protects.

    Args:
        metric: Of the inputs.
        distance: Between them.
        trace: Of the measurement.
        loss_at: The loss at a distance, in words.
    """
    return UnitStatement(
        protected=metric.protected(distance),
        neighbours=metric.words(distance),
        adjacency=metric.adjacency,
        limit=", ".join(dict.fromkeys(_limits(trace))),
        question=metric.question(distance),
        count=int(distance) if isinstance(distance, Fraction) else None,
        group=loss_at(distance * GROUP) if isinstance(metric, RowMetric) and distance == 1 else "",
    )


def _limits(trace: Sequence[TraceStep]) -> Iterator[str]:
    """How many rows of a person count, wherever a step says so."""
    for each in walk(trace):
        domain = None if each.space is None else each.space.domain
        if isinstance(domain, Tables) and domain.limit:
            yield domain.limit


@attrs.frozen
class PublicParameters:
    """The parameters of one step, which anybody may know.

    Args:
        step: Its name.
        given: The parameters by name, as they were typed.
    """

    step: str
    given: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        typed = ", ".join(f"{name} = {short(text)}" for name, text in self.given)
        return f"{self.step}: {typed}."


@attrs.frozen
class StepStatement:
    """A step and why its map holds.

    Args:
        name: As it is typed, without parameters.
        does: What it does.
        proof: The proof, or where it stands.
        sources: The papers that the proof relies on, with their theorems.
        own: Whether it is no part of opendp_lite.
    """

    name: str
    does: str
    proof: str
    sources: tuple[str, ...]
    own: bool

    @property
    def because(self) -> str:
        """The sources, or else the first sentence of the proof."""
        if self.sources:
            return f"{'; '.join(self.sources)}."
        return self.proof.partition(". ")[0] or "No proof is stated."

    def __str__(self) -> str:
        where = "" if self.own else f" (docs/proofs.md, {self.name.rpartition('.')[2]})"
        return f"{self.name}: {self.does} Proof: {self.because.removesuffix('.')}{where}."
