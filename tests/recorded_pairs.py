"""All declared mechanisms and estimators on small neighbours, for ``tests.long`` to record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import opendp_lite as dp
from opendp_lite.spaces.space import examples_of
from opendp_lite.testing import NoiseStep, record
from tests.estimators.test_losses import CASES
from tests.own_steps import RELATIONS, doubled, space_of
from tests.public_names import STEPS, returned
from tests.transformations.test_small_neighbours import choose_rows

MOST = 3
LOSSES: dict[str, dict[str, Any]] = {
    "rho": {"rho": 0.5},
    "epsilon": {"epsilon": 1},
    "delta": {"epsilon": 1, "delta": 1e-6},
}
PAIRED = ("on_random_pairs", 'by="pairs"', "normal_variance", "plan_mean(", "iome_mean(")
"""What pairs rows at random: with one row more all pairs are others, and no map says how far these
lie apart: the loss is that of the best matching of pairs."""


def list_pipelines(few: bool = False) -> Iterator[Any]:
    """Each bound pipeline that reads rows: under both relations, and with a unit of two rows."""
    yield from filter(_judged, _list_all(few))


def _judged(bound: Any) -> bool:
    return not any(each in repr(bound) for each in PAIRED)


def _list_all(few: bool) -> Iterator[Any]:
    for public in STEPS.values():
        if returned(public) is dp.Measurement:
            for each in examples_of(public):
                if type(each.space.domain) in (dp.Rows, dp.Tables):
                    yield each.space >> public(*each.args, **each.kwargs)
    for number, case in enumerate(CASES.values()):
        for size in case.rows:
            space = space_of(RELATIONS[size is not None], size or 5, case.columns)
            for kind in case.kinds.split()[: 1 if few else None]:
                made = case.make(**LOSSES[kind], **case.asked[0 if few else -1])
                if not few or number % 2:
                    yield space >> doubled() >> made
                if not few or not number % 2:
                    yield space >> made


def list_pairs(bound: Any, count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Pairs of at most ``MOST`` rows or of the public number; the rows that differ come last."""
    letters, generator = choose_rows(bound), np.random.default_rng(seed)
    size = bound.input_space.domain.size
    for number in range(count):
        distance = 1 + number % 2
        rows = letters[generator.integers(len(letters), size=MOST + 2)]
        if size is None:
            common = rows[: generator.integers(MOST + 1)]
            yield common, np.concatenate([common, rows[-distance:]]), distance
        else:
            distance = min(size, distance)
            same = rows[:1].repeat(size - distance, axis=0)
            both = (rows[1 : 1 + distance], rows[-distance:])
            yield *(np.concatenate([same, each]) for each in both), distance


def find_faults(bound: Any, count: int, seed: int) -> Iterator[tuple[Any, NoiseStep]]:
    """The pairs and steps where neighbours lay further apart than was declared."""
    for first, second, distance in list_pairs(bound, count, seed):
        for pair in ((first, second), (second, first)):
            for step in record(bound, *pair, d_in=distance, seed=seed):
                if not step.holds:
                    yield pair, step
