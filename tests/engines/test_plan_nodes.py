"""Plans as data: they print, compare and are sent, and releases share what they ask for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.plan import answer, folds_of, together
from opendp_lite.engines.rows import FoldRequest as Ask
from opendp_lite.engines.rows import LazyRows, RankCounts

TOTAL = dp.select("age") >> dp.clamp(0, 100) >> dp.sum()


def test_a_plan_prints():
    kept = dp.keep("age", between=(18, None)) >> TOTAL >> dp.laplace(epsilon=1)
    assert repr(kept.bound.function).splitlines()[:5] == [
        "Rows(dp.table())",
        "  > Keep(keep: Kept(column=Column(name='age', reading=_Numbers()), "
        "test=_Between(lower=18.0, upper=inf)))",
        "  > Map(select: Select(names=('age',), step='select'))",
        "  > Map(clamp: Numbers())",
        "  > Map(clamp: Projection(body=dp.bodies.Box(0, 100)))",
    ]


@pytest.mark.parametrize(
    "step",
    [TOTAL, dp.select("age") >> dp.clamp(0, 5) >> dp.drop_nan() >> dp.count(), dp.clamp(0, 5)],
    ids=str,
)
def test_equal_plans_are_one_value_however_they_were_made(step):
    plan = step.bound.function
    again = pickle.loads(pickle.dumps(plan))
    assert (again, hash(again), repr(again)) == (plan, hash(plan), repr(plan))
    assert again is not plan


def test_what_several_releases_sum_up_alike_is_summed_up_once():
    noisy = dp.laplace(epsilon=1)
    twice = dp.compose(TOTAL >> noisy, TOTAL >> dp.laplace(epsilon=2), dp.count() >> noisy)
    other = dp.select("age") >> dp.clamp(0, 99) >> dp.sum() >> noisy
    assert len(folds_of(twice.bound.function.of)) == 2
    assert len(folds_of(dp.compose(twice, other).bound.function.of)) == 3


def test_releases_wait_for_each_other_so_that_each_round_takes_one_pass():
    passes = []

    def opening():
        passes.append(1)
        return iter([np.arange(10.0)])

    rows = LazyRows(opened(dp.Blocks(opening, columns=1)))

    def bisecting(rounds, low=0.0, high=10.0):
        for _ in range(rounds):
            middle = (low + high) / 2
            ((counts,),) = yield (Ask(rows, RankCounts(np.array([middle]), 1)),)
            low, high = (low, middle) if counts[0][0] > 5 else (middle, high)
        return low, high

    found = answer(together([bisecting(3), bisecting(0), bisecting(1)]))
    assert (found, len(passes)) == ([(5.0, 6.25), (0.0, 10.0), (5.0, 10.0)], 3)
