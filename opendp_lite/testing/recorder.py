"""What each noise is added to on two neighbours, beside the distance that its map was asked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, Final, TypeAlias, cast
from unittest.mock import patch

import attrs

from opendp_lite.base.errors import OpenDPLiteError
from opendp_lite.engines.plan import Release
from opendp_lite.engines.rounds import Going, answer
from opendp_lite.metrics.distances import Distance
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.samplers.entropy import InsecureSeededEntropy, Words
from opendp_lite.spaces.maps import PrivacyMap
from opendp_lite.spaces.space import Space
from opendp_lite.testing import audits, lawful, replayable, stable


@attrs.frozen
class NoiseStep:
    """A step that adds noise or chooses, on two neighbouring datasets.

    Attributes:
        step: The step as it is typed.
        declared: The distances that its privacy map was asked at, of which the largest counts.
            Where a formula prices several noises and asks no map of theirs, so many units as they
            were made for.
        real: How far apart the two values are that it was given, exactly; None of a step that is
            given rows.
    """

    step: str
    declared: tuple[Distance, ...]
    real: Norms | None

    @property
    def holds(self) -> bool:
        """Whether the values are no further apart than was declared."""
        norms = [each for each in self.declared if isinstance(each, Norms)]
        return self.real is None or any(map(self.real.within, norms))


class _Step(InsecureSeededEntropy):
    """A release on its way, and its random words; a step within is handed them, to no avail."""

    found: object = None
    leaf, draws = True, False

    def __init__(self, release: Release, value: object, seed: Any) -> None:
        super().__init__(seed)
        self.value = value
        self.law, self.space = cast(tuple[object, Space[Any]], release.price)

    def words(self, count: int) -> Words:
        self.draws = True
        return super().words(count)

    def word(self) -> int:
        self.draws = True
        return super().word()

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The value exactly; None of what is no vector."""
        return self.value.exact if isinstance(self.value, Grid) else None


_ASK: Final = PrivacyMap.__call__
_Asked: TypeAlias = dict[int, tuple[PrivacyMap, dict[Distance, None]]]
"""Maps by their laws, and the distances that they were asked at."""


class _Observer:
    """Sees all releases, and all maps that are asked, while several datasets are released.

    Args:
        seed: Of the noise.
        unit: Of the space of the datasets.
        distances: How far apart some of the datasets are.
    """

    def __init__(self, seed: int, unit: Any, distances: Iterable[Any]) -> None:
        self.seed, self.unit = seed, unit
        self.asked: dict[Any, _Asked] = {each: {} for each in distances}
        self.noting: tuple[_Asked, ...] | None = None
        self.running: list[_Step] = []
        self.runs: list[list[_Step]] = []

    def ask(self, privacy_map: PrivacyMap, distance: object) -> object:
        """A loss, with a note of the distance that it is of.

        A program prices a query for one unit. Its rows lie as far apart as the program's own map
        was asked at, so that is noted instead.
        """
        if self.noting:
            (noted,) = self.noting
            found = noted.setdefault(id(privacy_map.law), (privacy_map, {}))
            found[1][privacy_map.before(distance)] = None
        elif self.noting is None:
            for apart in self.asked:
                given = self.find_declared(self.running[-1], apart) if self.running else (distance,)
                for each in given:
                    with suppress(OpenDPLiteError):
                        self.note(privacy_map, each, self.asked[apart])
            return self.note(privacy_map, distance)
        return _ASK(privacy_map, distance)

    def note(self, privacy_map: PrivacyMap, distance: object, *noted: _Asked) -> object:
        """A loss; the distances that all maps are asked at for it are noted here, or nowhere."""
        self.noting = noted
        try:
            return self.ask(privacy_map, distance)
        finally:
            self.noting = None

    def find_declared(self, step: _Step, apart: Any) -> tuple[Distance, ...]:
        """What the map of a release was asked; if nothing, the units it was made for."""
        if id(step.law) in self.asked[apart]:
            return tuple(self.asked[apart][id(step.law)][1])
        return (step.space.unit * ceil(apart / self.unit),)

    def begin(self, release: Release, value: object, entropy: object) -> Going:
        """A release; what its law draws is on each later dataset as on the first."""
        if isinstance(entropy, _Step):
            entropy.leaf = False
        steps, drawn = self.runs[-1], self.runs[0]
        place = len(steps)
        step = _Step(release, value, (self.seed, place))
        steps.append(step)
        lawful.require(place < len(drawn), "a later dataset has more noises than the first")
        first = drawn[place]
        if first is step or not first.leaf:
            if release.asks:
                step.found = yield from cast(Going, release.law(value, step))
            else:
                self.running.append(step)
                try:
                    step.found = release.law(value, step)
                finally:
                    self.running.pop()
        return release._follow((first if first.leaf or first.draws else step).found)

    def compare(self, first: int, second: int, apart: Any) -> list[NoiseStep]:
        """The steps of two datasets that add noise or choose, in the order in which they did."""
        pairs = zip(self.runs[first], self.runs[second], strict=True)
        return [
            self._step(*pair, apart)
            for pair, one in zip(pairs, self.runs[0], strict=True)
            if one.leaf or one.draws
        ]

    def _step(self, one: _Step, two: _Step, apart: Any) -> NoiseStep:
        known = self.asked[apart].get(id(one.law))
        name = "a noise of which no map was asked" if known is None else str(known[0].step)
        real = None
        if one.numbers is not None and two.numbers is not None:
            real = stable.exact_norms(one.numbers, two.numbers)
        return NoiseStep(name, self.find_declared(one, apart), real)


def record_pairs(
    pipeline: AnyPrivate,
    datasets: Sequence[object],
    distances: Mapping[tuple[int, int], object],
    seed: int = 0,
) -> dict[tuple[int, int], list[NoiseStep]]:
    """As ``record``, of many pairs of a few datasets, each of which is released once.

    Args:
        pipeline: A pipeline that ends in noise.
        datasets: All get the noisy values and choices of the first.
        distances: Pairs of their places, and how far apart the two are.
        seed: Of the noise.
    """
    bound, found = audits.bind_private(pipeline, "record"), list[Any]()
    space: Any = bound.input_space
    exact = {pair: space.metric.distance(each) for pair, each in distances.items()}
    seen = _Observer(seed, space.unit, exact.values())
    hooks: dict[str, Any] = {
        "begin": lambda *given: seen.begin(*given),
        "release": lambda *given: answer(seen.begin(*given)),
    }
    with (
        patch.multiple(Release, **hooks),
        patch.object(PrivacyMap, "__call__", lambda *given: seen.ask(*given)),
    ):
        for apart, noted in seen.asked.items():
            seen.note(bound.privacy_map, apart, noted)
        for each in datasets:
            seen.runs.append([])
            found.append(bound._release(each, InsecureSeededEntropy(seed)))
            same = len(seen.runs[-1]) == len(seen.runs[0])
            lawful.require(same, "a later dataset has fewer noises than the first")
            told = replayable.alike(found[0], found[-1])
            lawful.require(told, "the release tells more than its noisy values and choices")
    return {pair: seen.compare(*pair, apart) for pair, apart in exact.items()}


def record(
    pipeline: AnyPrivate, data: object, neighbour: object, d_in: object = 1, seed: int = 0
) -> list[NoiseStep]:
    """Writes down how far two neighbours really move what each noise is added to.

    It releases both datasets. The second release gets the noisy values and choices of the first, so
    that a program asks the same on both. What a step draws beside, such as a secret sample, comes
    from the same words: let the row that differs come last.

    It is a falsifier and never a proof, as it sees two datasets. Of steps that are given rows, such
    as ``private_quantile``, it says nothing: test what comes before them with
    ``dp.assert_stable``. While it runs, it sees all releases of the process: run one at a time.

    Args:
        pipeline: A pipeline that ends in noise, bound to a space or not.
        data: A dataset, made up.
        neighbour: Another.
        d_in: How far apart the two are, as for ``pipeline.map(d_in)``.
        seed: Of the noise.

    Returns:
        A ``NoiseStep`` for each step that adds noise or chooses. ``step.holds`` says whether the
        real distance is within what was declared.

    Raises:
        AssertionError: If the second release comes to something else, though its noisy values are
            those of the first: it tells more than these.

    Example:
        >>> import opendp_lite as dp
        >>> from opendp_lite.testing import record
        >>> pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.laplace(scale=8)
        >>> (found,) = record(pipeline, [1.0], [1.0, 3.0])
        >>> found.step, found.real.l1, found.declared[0].l1, found.holds
        ('dp.laplace(scale=8)', Fraction(3, 1), Fraction(4, 1), True)

    References:
        Re:cord-play, arXiv 2602.17454, 2026.
    """
    (steps,) = record_pairs(pipeline, (data, neighbour), {(0, 1): d_in}, seed).values()
    return steps
