"""Plans as data: they print, compare and are sent, and what folds begin with alike is done once."""

import pickle
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.source import BLOCK_ENTRIES
from opendp_lite.engines.plan import Fold, Map, Rows, evaluate, folds_of
from opendp_lite.engines.rounds import answer, together
from opendp_lite.engines.rows import CollectRows, LazyRows, RankCounts
from opendp_lite.engines.rows import FoldRequest as Ask

TOTAL = dp.select("age") >> dp.clamp(0, 100) >> dp.sum()


def test_a_plan_prints():
    kept = dp.keep("age", between=(18, None)) >> TOTAL >> dp.laplace(epsilon=1)
    assert repr(kept.bound.function).splitlines()[:5] == [
        "Rows(dp.table())",
        "  > Keep(keep: Kept(column=Column(name='age', reading=_Numbers()), "
        "test=Chosen(lower=18.0, upper=inf)))",
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


def rows_of_passes(blocks: list[np.ndarray]) -> tuple[LazyRows, list[int]]:
    """Rows in blocks, and a list that grows with each pass over them."""
    passes = []

    def opening() -> Iterator[np.ndarray]:
        passes.append(1)
        return iter(blocks)

    return LazyRows(opened(dp.Blocks(opening))), passes


def test_what_several_releases_sum_up_alike_is_summed_up_once():
    noisy = dp.laplace(epsilon=1)
    twice = dp.compose(TOTAL >> noisy, TOTAL >> dp.laplace(epsilon=2), dp.count() >> noisy)
    other = dp.select("age") >> dp.clamp(0, 99) >> dp.sum() >> noisy
    assert len(folds_of(twice.bound.function.of)) == 2
    assert len(folds_of(dp.compose(twice, other).bound.function.of)) == 3


def test_releases_wait_for_each_other_so_that_each_round_takes_one_pass():
    rows, passes = rows_of_passes([np.arange(10.0)])

    def bisecting(rounds, low=0.0, high=10.0):
        for _ in range(rounds):
            middle = (low + high) / 2
            ((counts,),) = yield (Ask(rows, RankCounts(np.array([middle]), 1)),)
            low, high = (low, middle) if counts[0][0] > 5 else (middle, high)
        return low, high

    found = answer(together([bisecting(3), bisecting(0), bisecting(1)]))
    assert (found, len(passes)) == ([(5.0, 6.25), (0.0, 10.0), (5.0, 10.0)], 3)


def test_a_step_that_two_folds_begin_with_is_done_once_a_block():
    seen = []

    def halve(block):
        seen.append(("halved", len(block)))
        return block / 2

    def raise_one(block):
        seen.append(("raised", len(block)))
        return block + 1

    data = np.arange(BLOCK_ENTRIES + 3.0)
    how = CollectRows(1, "")
    source = opened(data)
    first, other = Map(halve), Map(raise_one)
    plans = (first, other.on(first), Map(halve).on(first), first.on(other), Rows())
    found = evaluate(tuple(Fold(how, how.finish).on(each) for each in plans), LazyRows(source))
    expected = data / 2, data / 2 + 1, data / 4, (data + 1) / 2, data
    for got, right in zip(found, expected, strict=True):
        assert np.array_equal(got[0], right)
    steps = ["halved", "raised", "halved", "raised", "halved"]
    assert seen == [(step, rows) for rows in (BLOCK_ENTRIES, 3) for step in steps]


def test_two_folds_of_the_same_rows_are_told_apart_and_one_fold_is_done_once():
    rows, passes = rows_of_passes([np.array([1.0, 5.0]), np.array([2.0])])
    how = CollectRows(1, "")
    below = RankCounts(np.array([1.5]), 1)
    folds = (
        Fold(how, lambda pieces: how.finish(pieces).tolist()),
        Fold(below, lambda counts: counts.tolist()),
        Fold(how, lambda pieces: len(pieces)),
    )
    found = evaluate(folds, rows)
    assert found == ([[1.0, 5.0, 2.0]], [[[1, 3], [1, 3]]], 2)
    assert len(passes) == 1


@pytest.mark.parametrize("missing", [False, True])
def test_many_folds_of_one_pass_share_their_working_arrays(missing):
    data = np.arange(100_000.0)
    if missing:
        data[::70_000] = np.nan
    sums = [dp.clamp(0, end) >> dp.sum() >> dp.laplace(scale=1) for end in range(1, 41)]
    query = dp.compose(sums)
    query(data)  # What a first release loads or compiles is not of the pass.
    tracemalloc.start()
    try:
        query(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * data.nbytes


def test_numbers_at_a_point_are_not_below_it():
    how = RankCounts(np.array([1.0, 5.0, 9.0]), 1)
    block = np.array([[5.0], [5.0], [0.0], [1.0], [9.5], [np.nan], [np.inf], [-np.inf], [9.0]])
    below, to = how.summarise(block)[0]
    assert below.tolist() == [2, 3, 5, 9]
    assert to.tolist() == [3, 5, 6, 9]


@pytest.mark.parametrize("value", [1.0, 5.0, 9.0])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_candidate_equal_to_all_the_data_is_chosen(value, quantile):
    """Any other has a weight below e^-1000 of its."""
    pipeline = dp.private_quantile(quantile, candidates=[1, 5, 9], epsilon=1000, confidence=None)
    assert {pipeline([value] * 100) for _ in range(20)} == {value}
