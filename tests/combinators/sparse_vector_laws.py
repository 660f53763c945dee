"""The laws of sparse vector techniques by enumeration, and the broken ones that were published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

MOST_SCALES = 45
"""Noise beyond so many scales has a probability below e^-45."""


@attrs.frozen
class Noise:
    """Two-sided or one-sided geometric noise, in whole steps; a scale of 0 is no noise.

    With a ``stride`` it lies on every so many-th step.
    """

    scale: float
    one_sided: bool = False
    stride: int = 1

    @property
    def steps(self) -> np.ndarray:
        reach = int(MOST_SCALES * self.scale / self.stride) * self.stride
        return np.arange(0 if self.one_sided else -reach, reach + 1)

    @property
    def chances(self) -> np.ndarray:
        if self.scale == 0:
            return np.ones(1)
        weights = np.exp(-np.abs(self.steps) / self.scale) * (self.steps % self.stride == 0)
        return weights / weights.sum()

    def reaches(self, levels: np.ndarray) -> np.ndarray:
        """The probability of being at least each level."""
        tails = np.append(self.chances[::-1].cumsum()[::-1], 0.0)
        return tails[np.clip(np.ceil(levels).astype(int) - self.steps[0], 0, len(self.steps))]

    def at(self, level: int) -> float:
        place = level - self.steps[0]
        return float(self.chances[place]) if 0 <= place < len(self.steps) else 0.0


@attrs.frozen
class Technique:
    """Compares value + noise with threshold 0 + noise, until ``most`` answers are above.

    ``values`` are whole steps of the grid. With ``tells`` an answer above is the noisy value.
    """

    threshold: Noise
    query: Noise
    most: float = 1
    tells: bool = False
    renewed: bool = False

    def probability(self, values: Sequence[float], answers: Sequence[int | bool | None]) -> float:
        """Of these answers: False for below, True or the number that was told for above.

        They end with the last answer above, or with the last value.
        """
        weights = self.threshold.chances.copy()
        levels, total = self.threshold.steps, 1.0
        for value, answer in zip(values, answers, strict=False):
            above = self.query.reaches(levels - value)
            if answer is False:
                weights *= 1 - above
                continue
            if self.tells:
                weights *= (answer >= levels) * self.query.at(answer - value)
            else:
                weights *= above
            if self.renewed:
                total *= weights.sum()
                weights = self.threshold.chances.copy()
        return float(total * weights.sum())

    def answers(self, count: int) -> Iterator[tuple[bool, ...]]:
        """All sequences of answers to so many values."""

        def walk(given: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
            if len(given) == count or sum(given) == self.most:
                yield given
                return
            yield from walk((*given, False))
            yield from walk((*given, True))

        return walk(())

    def loss(self, values: Sequence[float], others: Sequence[float]) -> float:
        """The largest logarithm of a ratio of probabilities of the same answers."""
        return max(
            abs(
                np.log(self.probability(values, answers))
                - np.log(self.probability(others, answers))
            )
            for answers in self.answers(len(values))
        )

    def run(self, values: Sequence[float], generator: np.random.Generator) -> str:
        """The answers of one run, as a text."""
        level, given, above = drawn(self.threshold, generator), [], 0
        for value in values:
            noisy = value + drawn(self.query, generator)
            if noisy < level:
                given.append("-")
                continue
            above += 1
            given.append(f"[{noisy}]" if self.tells else "+")
            if above == self.most:
                break
            if self.renewed:
                level = drawn(self.threshold, generator)
        return "".join(given)


def drawn(noise: Noise, generator: np.random.Generator) -> int:
    """One draw."""
    if noise.scale == 0:
        return 0
    stop = -np.expm1(-1 / noise.scale)
    one, two = generator.geometric(stop, 2).tolist()
    return one - 1 if noise.one_sided else one - two
