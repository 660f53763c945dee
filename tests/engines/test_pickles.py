"""Folds, their summaries and rows can be sent to another process and folded there."""

import pickle
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import opendp_lite as dp
from opendp_lite.engines.columns import PRESENCE
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.data.source import reduce as reduced
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import CollectRows, LazyRows, Part, RankCounts, materialise
from opendp_lite.releases.result import InsecureRelease
from opendp_lite.spaces.space import examples_of
from opendp_lite.transformations.sums import CountFold, SumFold
from tests.public_names import STEPS


@attrs.frozen(eq=False)
class Far(Source):
    """Rows that are folded elsewhere."""

    rows: Source
    folded: list[Any] = attrs.field(factory=list)

    @property
    def columns(self) -> int | None:
        return self.rows.columns

    @property
    def size(self) -> int | None:
        return self.rows.size

    def blocks(self):
        return self.rows.blocks()


@reduced.register
def _of_far(source: Far, job: Any, merge: Any) -> Any:
    there, _ = sent((job, merge))
    source.folded.append(sent(there(source.rows)))
    assert pickle.dumps(source.folded[-1]) == pickle.dumps(sent(job(source.rows)))
    return source.folded[-1]


VALUES = np.array([0.5, -3.0, np.nan, 1e9, 2.0])
BODIES = [
    dp.bodies.Box(0, 10),
    dp.bodies.Ball(3, p=2),
    dp.bodies.Ball(3, p=1),
    dp.bodies.NonNegativeBall(2),
    dp.bodies.Simplex(3),
]
FOLDS = [
    *map(SumFold, BODIES),
    CountFold(),
    RankCounts(np.array([0.0, 1.0]), 1),
    CollectRows(1, ""),
]


def sent(value):
    return pickle.loads(pickle.dumps(value))


class OwnRelease(InsecureRelease):
    """Of a person's own: its call takes other arguments than its fields."""

    def __init__(self) -> None:
        super().__init__(1.5, seed=1)


def test_a_value_of_a_type_of_ones_own_comes_back():
    assert sent(OwnRelease()) == OwnRelease()


def outcome(how, summary):
    return how.finish(summary) if hasattr(how, "finish") else summary


def released(rows: LazyRows, how):
    return Fold(how, lambda summary: outcome(how, summary))(rows)


@pytest.mark.parametrize("how", FOLDS, ids=lambda how: type(how).__name__)
def test_folds_and_summaries_make_a_round_trip(how):
    expected = released(LazyRows(opened(VALUES)), how)
    assert np.array_equal(
        released(sent(LazyRows(opened(VALUES))), sent(how)), expected, equal_nan=True
    )
    halves = [released_summary(sent(how), part) for part in (VALUES[:2], VALUES[2:])]
    merged = how.merge(*map(sent, halves))
    assert np.array_equal(outcome(how, merged), expected, equal_nan=True)


def released_summary(how, part: np.ndarray):
    return Fold(how, identity)(LazyRows(opened(part)))


@pytest.mark.parametrize(
    "data",
    [
        VALUES,
        VALUES.tolist(),
        pd.DataFrame({"x": VALUES}),
        pd.Series(VALUES, dtype="Float64"),
        pl.Series(VALUES),
        pa.chunked_array([VALUES[:2], VALUES[2:]]),
        sp.csr_array(VALUES[:, None]),
        {"x": VALUES},
    ],
    ids=lambda data: type(data).__name__,
)
def test_rows_with_what_waits_for_them_make_a_round_trip(data):
    rows = (
        LazyRows(opened(data)).map_rows(Part(np.negative))
        if not sp.issparse(data)
        else LazyRows(opened(data))
    )
    how = SumFold(dp.bodies.Box(-10, 10))
    assert np.array_equal(released(sent(rows), how), released(rows, how))
    assert sent(opened(data)).size == len(VALUES)


PLANNED = [
    pytest.param(step, each, id=f"{path}-{place}")
    for path, step in STEPS.items()
    for place, each in enumerate(examples_of(step))
    # Of numbers alone, where a period needs dates.
    if isinstance(each.space.domain, dp.Rows) and path != "dp.period"
]


@pytest.mark.parametrize(("step", "each"), PLANNED)
def test_the_plan_of_every_step_can_be_sent_and_folds_the_same_elsewhere(step, each):
    domain = each.space.domain
    rows = np.abs(np.random.default_rng(3).normal(1, 2, (domain.size or 30, domain.columns)))
    bound = each.space >> step(*each.args, **each.kwargs)
    if isinstance(bound, dp.Transformation) and isinstance(bound.output_space.domain, dp.Rows):
        lazy = bound.function(domain.to_internal(rows)).numbers()
        assert np.array_equal(materialise(sent(lazy)), materialise(lazy), equal_nan=True)
        bound = bound >> dp.clip_to_norm(3) >> dp.clamp(-1, 1) >> dp.sum()
    far = Far(opened(rows))
    bound(far)
    assert far.folded or step in (dp.resize, dp.bound_contributions, dp.sample)


@pytest.mark.parametrize("reading", [NUMBERS, PRESENCE])
def test_what_is_compared_by_identity_stays_itself(reading):
    assert pickle.loads(pickle.dumps(reading)) is reading
