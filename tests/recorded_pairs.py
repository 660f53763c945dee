"""All declared mechanisms and estimators on small neighbours, for ``tests.long`` to record."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

import opendp_lite as dp
from opendp_lite.spaces.space import examples_of, row_metric
from opendp_lite.testing.replayable import record_pairs
from tests.estimators.test_losses import CASES
from tests.own_steps import RELATIONS, doubled, space_of
from tests.public_names import STEPS, returned
from tests.transformations.test_small_neighbours import choose_rows

MOST = 3
LOSSES = {"rho": {"rho": 0.5}, "epsilon": {"epsilon": 1}, "delta": {"epsilon": 1, "delta": 1e-6}}
PAIRED = ("on_random_pairs", 'by="pairs"', "normal_variance", "plan_mean(", "iome_mean(")
"""What pairs rows at random: with one row more all pairs are others, and no map says how far these
lie apart: the loss is that of the best matching of pairs."""


def list_pipelines(few: bool = False):
    """Each bound pipeline that reads rows: under both relations, and with a unit of two rows."""
    yield from filter(_judged, _list_all(few))


def _judged(bound) -> bool:
    return not any(each in repr(bound) for each in PAIRED)


def _list_all(few: bool):
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


def list_datasets(bound, count: int, seed: int) -> Iterator[tuple[int, ...]]:
    """So many at most, in rows of ``choose_rows`` by their places: they differ in the last two.

    A secret sample finds the others in their places. Where rows come and go, one of the two is
    missing or both are in some: a row for another moves less than two that come.
    """
    letters, size = len(choose_rows(bound)), bound.input_space.domain.size
    generator = np.random.default_rng(seed)
    common, first = generator.integers(letters, size=(2, MOST)).tolist()
    start = common[: generator.integers(MOST + 1)] if size is None else common[:1] * (size - 2)
    for place, last, kind in generator.integers((MOST, letters, 5), size=(count, 3)).tolist():
        kept = min(kind, 2) if size is None else min(size, 2)
        yield (*start, *(first[place], last)[:kept])


def count_moved(bound, one: tuple[int, ...], two: tuple[int, ...]) -> int:
    replaced = 1 if row_metric(bound.input_space).fixed_size else 2
    moved = replaced * sum(a != b for a, b in zip(one, two, strict=False))
    return moved + abs(len(one) - len(two))


def find_faults(bound, count: int, seed: int):
    """How many pairs of so many datasets were compared, and where they lay further apart."""
    made = list(dict.fromkeys(list_datasets(bound, count, seed)))
    distances = {}
    for (i, one), (j, two) in combinations(enumerate(made), 2):
        if (apart := count_moved(bound, one, two)) <= 2:
            distances[i, j] = apart
    tables = choose_rows(bound)
    steps = record_pairs(bound, [tables[list(each)] for each in made], distances, seed)
    named = ((tuple(made[each] for each in pair), step) for pair in steps for step in steps[pair])
    return len(steps), [(pair, step) for pair, step in named if not step.holds]
