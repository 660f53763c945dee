"""What each noise is added to on two neighbours, beside the distance that its map was asked at."""

from __future__ import annotations

from contextlib import suppress
from math import ceil
from typing import Any, Final, cast
from unittest.mock import patch

import attrs
import numpy as np

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
from opendp_lite.testing.lawful import require
from opendp_lite.testing.replayable import alike
from opendp_lite.testing.stable import exact_norms


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


_ASK: Final = PrivacyMap.__call__


class _Observer:
    """Sees all releases, and all maps that are asked, while two datasets are released."""

    def __init__(self, seed: int, units: int) -> None:
        self.seed, self.units = seed, units
        self.asked: dict[int, tuple[PrivacyMap, dict[Distance, None]]] = {}
        self.asking = False
        self.running: list[_Step] = []
        self.runs: list[list[_Step]] = []

    def ask(self, privacy_map: PrivacyMap, distance: object) -> object:
        """A loss, with a note of the distance that it is of.

        A program prices a query for one unit. Its rows lie as far apart as the program's own map
        was asked at, so that is noted instead.
        """
        if self.asking:
            noted = self.asked.setdefault(id(privacy_map.law), (privacy_map, {}))
            noted[1][privacy_map.before(distance)] = None
            return _ASK(privacy_map, distance)
        self.asking = True
        for each in self.declared(self.running[-1]) if self.running else (distance,):
            with suppress(OpenDPLiteError):
                self.ask(privacy_map, each)
        self.asking = False
        return _ASK(privacy_map, distance)

    def declared(self, step: _Step) -> tuple[Distance, ...]:
        """What the map of a release was asked; if nothing, the units it was made for."""
        if id(step.law) in self.asked:
            return tuple(self.asked[id(step.law)][1])
        return (step.space.unit * self.units,)

    def begin(self, release: Release, value: object, entropy: object) -> Going:
        """A release; what its law draws is on the second dataset as on the first."""
        if isinstance(entropy, _Step):
            entropy.leaf = False
        *before, steps = self.runs
        place = len(steps)
        step = _Step(release, value, (self.seed, place))
        steps.append(step)
        first = before[0][place : place + 1] if before else [step]
        require(first, "the second dataset has more noises than the first")
        if first[0] is step or not first[0].leaf:
            if release.asks:
                step.found = yield from cast(Going, release.law(value, step))
            else:
                self.running.append(step)
                try:
                    step.found = release.law(value, step)
                finally:
                    self.running.pop()
        drawn = first[0] if first[0].leaf or first[0].draws else step
        return release._follow(drawn.found)

    def steps(self) -> list[NoiseStep]:
        """Those that add noise or choose, in the order in which they did."""
        first, second = self.runs
        require(len(first) == len(second), "the second dataset has fewer noises than the first")
        found = []
        for one, two in zip(first, second, strict=True):
            if one.leaf or one.draws:
                known, real = self.asked.get(id(one.law)), None
                if isinstance(one.value, Grid) and isinstance(two.value, Grid):
                    real = exact_norms(np.array(one.value.exact), np.array(two.value.exact), None)
                name = "a noise of which no map was asked" if known is None else str(known[0].step)
                found.append(NoiseStep(name, self.declared(one), real))
        return found


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
    bound, found = pipeline.bound, list[Any]()
    space = bound.input_space
    distance = space.metric.distance(d_in)
    seen = _Observer(seed, ceil(distance / space.unit))
    hooks: dict[str, Any] = {
        "begin": lambda *given: seen.begin(*given),
        "release": lambda *given: answer(seen.begin(*given)),
    }
    with (
        patch.multiple(Release, **hooks),
        patch.object(PrivacyMap, "__call__", lambda *given: seen.ask(*given)),
    ):
        bound.privacy_map(distance)
        for each in (data, neighbour):
            seen.runs.append([])
            found.append(bound._release(each, InsecureSeededEntropy(seed)))
    one, two = found
    require(alike(one, two), "the release tells more than its noisy values and choices")
    return seen.steps()
