"""The same exact integers before noise from collections of dask, however they are cut."""

import pickle
import threading
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import opendp_lite as dp
from opendp_lite.engines.containers.elsewhere import Outcome, SentWork
from opendp_lite.engines.containers.elsewhere import find_versions as installed
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows
from opendp_lite.measurements.quantile.columns import (
    ColumnsElsewhere,
    ColumnsHere,
    PlacedRows,
)
from opendp_lite.measurements.quantile.tree import Prices, cells_by_parts
from opendp_lite.measurements.quantile.tree import plan_choices as planned
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import LinearLattice
from tests.engines.refusals import SECRET, refusal

dask = pytest.importorskip("dask", reason="needs dask: pip install 'opendp_lite[dask]'")
cloudpickle = pytest.importorskip("cloudpickle")
arrays = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")
clear_known_categories = pytest.importorskip("dask.dataframe.utils").clear_known_categories

ROWS = 1203
_generator = np.random.default_rng(13)
NUMBERS = _generator.normal(5, 1e3, ROWS // 3 + 1).repeat(3)[:ROWS]
"""Rows that repeat, of any number of digits."""
NUMBERS[::7] = np.nan
NUMBERS[5:9] = [2.0**-1074, -0.0, 2.0**60, np.inf]
WORDS = np.array(["f", "m", "x"])[_generator.integers(0, 3, ROWS)]
FRAME = pd.DataFrame({"w": WORDS, "x": NUMBERS, "id": _generator.integers(0, 99, ROWS)})
SUM = dp.clamp(-1000.0, 2000.0) >> dp.sum()


@pytest.fixture(autouse=True)
def _one_process() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


def exact(query, data) -> bytes:
    """What a query gives, to the last bit."""
    return np.asarray(query(data)).tobytes()


@pytest.mark.parametrize("rows", [ROWS, 1000, 97, 31])
def test_every_chunking_of_an_array_gives_the_same_integers(rows):
    for query in (SUM, dp.count(), dp.clamp(-1, 2) >> dp.transformations.square() >> dp.sum()):
        assert exact(query, arrays.from_array(NUMBERS, chunks=rows)) == exact(query, NUMBERS)
    both = dp.records(columns=3) >> dp.clip_to_norm(100.0) >> dp.sum()
    wide = NUMBERS.reshape(-1, 3)
    for columns in (1, 2, 3):
        cut = arrays.from_array(wide, chunks=(rows, columns))
        assert exact(both, cut) == exact(both, wide)


def test_what_is_sent_knows_nothing_of_the_noise(monkeypatch):
    sent: list[bytes] = []

    def dumps(work) -> bytes:
        sent.append(pickle.dumps(work))
        return sent[-1]

    monkeypatch.setattr("cloudpickle.dumps", dumps)
    release = SUM >> dp.gaussian(rho=1)
    found = {release(arrays.ones(10, chunks=5)).item() for _ in range(3)}
    assert len(found) > 1, "once in 1e11 by chance"
    assert len(sent) == 3
    assert not any(word in code for code in sent for word in (b"samplers", b"measurements"))


X = dp.select("x")
LIMITED = X >> dp.clamp(-1000.0, 2000.0)
QUERIES = {
    "sum": LIMITED >> dp.sum(),
    "several columns": dp.records(columns=["id", "x"]) >> dp.clip_to_norm(50.0) >> dp.sum(),
    "rows": dp.table() >> dp.count(),
    "filter": dp.keep("x", between=(0, 9)) >> dp.select("id") >> dp.clamp(0, 99) >> dp.sum(),
    "all people": dp.table(person="id") >> dp.bound_contributions(ROWS) >> LIMITED >> dp.sum(),
    "all rows": LIMITED >> dp.resize(2 * ROWS) >> dp.sum(),
    "categories": dp.table() >> dp.select("w") >> dp.one_hot(["f", "m"]) >> dp.sum(),
}
MEDIAN = dp.private_quantile(0.5, bounds=(-50, 50), epsilon=0.5, confidence=None)
RELEASES = {
    "mean": X >> dp.mean(-1000.0, 2000.0, rho=1, confidence=None),
    "mean without bounds": X >> dp.mean(rho=1, confidence=None),
    "by": dp.by("w", ["f", "m"], LIMITED >> dp.sum() >> dp.gaussian(rho=1)),
    "histogram": dp.histogram("w", categories=["f", "x"], epsilon=1),
    "unknown keys": dp.histogram("w", epsilon=1, delta=0.1),
    "several": dp.compose(
        rows=dp.count() >> dp.laplace(epsilon=1),
        mean=X >> dp.mean(0, 9, epsilon=1, confidence=None),
    ),
    "median": X >> dp.private_quantile(0.5, bounds=(-1e4, 1e4), epsilon=1, confidence=None),
    "interval": X
    >> dp.private_quantile(
        [0.1, 0.9], bounds=(-1e4, 1e4), epsilon=9, confidence=0.9, sampling=False
    ),
    "doublings": dp.records(columns=["x", "id"])
    >> dp.private_quantile(0.5, bounds=(-1e9, 1e9), scale="asinh", unit=1, rho=1, confidence=None),
    "quantiles by group": dp.by("w", ["m", "x"], X >> MEDIAN),
    "plan": dp.records(columns=["x", "id"]) >> dp.estimators.plan_plus_mean(bound=1e4, rho=1),
    "candidates": X
    >> dp.private_quantile(0.5, candidates=range(-50, 50), epsilon=1, confidence=None),
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_partition_of_a_frame_gives_the_same_integers(name):
    for partitions in (1, 7, 40):
        cut = frames.from_pandas(FRAME, npartitions=partitions, sort=False)
        assert exact(QUERIES[name], cut) == exact(QUERIES[name], FRAME)


@pytest.mark.parametrize("partitions", [1, 7])
def test_categories_that_dask_does_not_know_are_those_of_each_partition(partitions):
    """Dask lists a text in place of them, which is no value of the column."""
    numbers = np.where(np.isnan(NUMBERS), np.nan, FRAME["id"])
    whole = pd.DataFrame({"w": WORDS, "x": numbers, "id": FRAME["id"]})
    places = np.array_split(np.arange(ROWS), partitions)
    parts = [whole.iloc[each].astype("category") for each in places]
    known = frames.from_pandas(whole.astype("category"), npartitions=1)
    meta = clear_known_categories(known._meta)
    some = frames.from_map(lambda part: part, parts, meta=meta)
    assert not some["x"].cat.known
    numeric = dp.select("id") >> dp.one_hot([1, 2, 98], other=True) >> dp.sum()
    missing = dp.select("x") >> dp.one_hot([3, None]) >> dp.sum()
    for query in (*QUERIES.values(), numeric, missing):
        assert exact(query, some) == exact(query, whole)
    index = some.map_partitions(pd.DataFrame.set_index, "x").index
    assert exact(SUM, some["x"]) == exact(SUM, index) == exact(SUM, numbers)
    for query in (dp.select("w") >> SUM, dp.select("w") >> dp.one_hot([1]) >> dp.sum()):
        with pytest.raises(dp.DataError, match="holds text"):
            query(some)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns in memory are drawn one by one, as those of a cluster are: from the same words."""

    def choose(self, lines, laws, columns, entropy):
        pairs = [(lines[place % len(lines)], laws[place % len(laws)]) for place in range(columns)]
        return [line.choose(self[at], law, entropy) for at, (line, law) in enumerate(pairs)]

    monkeypatch.setattr(ColumnsHere, "choose_cells", choose)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("name", RELEASES)
def test_releases_of_a_frame_are_those_of_pandas(name):
    cut = frames.from_pandas(FRAME, npartitions=6, sort=False)
    found, expected = (RELEASES[name].insecure_release(data, 5) for data in (cut, FRAME))
    assert repr(found) == repr(expected)


def test_a_column_of_a_frame_is_one_column():
    cut = frames.from_pandas(FRAME, npartitions=5)["x"]
    assert exact(SUM, cut) == exact(SUM, NUMBERS)
    assert cut.index.size.compute() == dp.count()(cut.index)


def test_a_declared_size_is_that_of_all_partitions():
    cut = frames.from_pandas(FRAME, npartitions=5)
    sized = dp.records(columns=["x"], size=ROWS, metric=dp.ChangeOneDistance())
    known = sized >> dp.clamp(-1000.0, 2000.0) >> dp.sum()
    assert exact(known, cut) == exact(known, FRAME)
    wrong = dp.records(columns=["x"], size=ROWS - 1, metric=dp.ChangeOneDistance())
    with pytest.raises(dp.DataError, match="another number of rows"):
        (wrong >> dp.clamp(0, 1) >> dp.sum())(cut)
    lying = arrays.from_array(NUMBERS, chunks=200).map_blocks(lambda block: block[1:])
    with pytest.raises(dp.DataError, match="another number of rows"):
        (dp.records(size=ROWS, metric=dp.ChangeOneDistance()) >> SUM)(lying)


def broken(block: np.ndarray) -> np.ndarray:
    """Fails, and says too much."""
    raise ValueError(SECRET)


CUT = frames.from_pandas(FRAME, npartitions=3)
TALKS = arrays.from_array(NUMBERS, chunks=300).map_blocks(broken, dtype=float)
TEXT = arrays.from_array(np.array([1.0, SECRET, None] * 9, dtype=object), chunks=5)
REFUSED = [
    (X >> SUM, CUT[["w"]], "no column 'x'"),
    (dp.select("w") >> SUM, CUT, "column 'w': data holds text"),
    (SUM, CUT[["x", "id"]], "data has 2"),
    (SUM, arrays.ones((9, 2), chunks=3), "1 column and the data has 2"),
    (SUM, arrays.ones((9, 2, 2)), "3 dimensions"),
    (SUM, TEXT, "holds text"),
    (SUM, TALKS, "dask could not compute the data"),
    (dp.clamp(0, 1), CUT["x"], "not loaded here"),
]


@pytest.mark.parametrize(("query", "data", "words"), REFUSED, ids=lambda value: str(value)[:30])
def test_refusals_are_ours_and_tell_nothing(query, data, words):
    refusal(lambda: query(data), words)


BETWEEN = dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)


PAIRS = dp.combinators.on_random_pairs(BETWEEN)
SIZED = dp.records(columns=["x", "id"], size=ROWS, metric=dp.ChangeOneDistance())
PAIRED = {
    "pairs": X >> PAIRS,
    "by": dp.by("w", ["f"], X >> PAIRS),
    "beside": dp.compose(X >> PAIRS, X >> dp.mean(0, 9, epsilon=1, confidence=None)),
    "plan_mean": SIZED >> dp.estimators.plan_mean(bound=1e4, rho=1),
    "variance": X >> dp.estimators.normal_variance(1e4, rho=1, by="pairs"),
}


@pytest.mark.parametrize("name", PAIRED)
def test_a_step_that_gathers_rows_is_refused_by_name(name):
    """tests/engines/test_spark.py has the same for Spark."""
    words = r"on_random_pairs must .*of dask .*; use dp.variance.*place of plan_mean"
    with pytest.raises(dp.DataError, match=words):
        PAIRED[name](CUT)


@pytest.mark.usefixtures("one_by_one")
def test_other_ways_than_pairs_run():
    for release in (
        X >> dp.estimators.normal_variance(1e4, rho=1, by="magnitude"),
        X >> dp.estimators.normal_variance(1e4, rho=1, by="direct"),
        SIZED >> dp.estimators.plan_mean(bound=1e4, rho=1, variances="direct"),
    ):
        found, expected = (release.insecure_release(data, 5).value for data in (CUT, FRAME))
        assert found.tolist() == expected.tolist()


NINTHS = [Fraction(i, 9) for i in range(1, 9)]


def test_many_quantiles_are_chosen_as_in_memory_from_the_same_places():
    """Rows of one cell stand in random order: the secret of a release gives each row a place."""
    lattice, prices = LinearLattice(-10.0, 10.0, 6), Prices(1, replaces=False)
    column = ColumnsElsewhere(LazyRows(opened(arrays.from_array(NUMBERS, chunks=301))), "a step")[0]
    there, again, other = (column.place_rows(lattice, InsecureSeededEntropy(i)) for i in (1, 1, 2))
    rows = [each.numbers.between(0, ROWS) for each in (there, again, other)]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    for found in (rows[0], rows[2]):
        assert np.array_equal(found >> there.bits, np.sort(lattice.cell(NUMBERS)))
        inside = np.histogram(found % (1 << there.bits), 8, (0, 1 << there.bits))[0]
        assert chisquare(inside).pvalue > 1e-8
    root = planned(tuple(NINTHS), prices).map(lambda slope: slope / 4)
    here = PlacedRows.here(rows[0].copy(), there.places, there.bits)
    for seed in range(3):
        both = (
            cells_by_parts(root, prices, each, 8, InsecureSeededEntropy(seed))
            for each in (there, here)
        )
        assert next(both) == next(both)


def test_many_quantiles_of_a_frame_have_the_ranks_of_pandas():
    """Choices as steep as these leave the gap between two rows to chance, and nothing else."""
    steep = X >> dp.private_quantile(NINTHS, bounds=(-1e4, 1e4), epsilon=1e5, confidence=None)
    present = np.sort(NUMBERS[~np.isnan(NUMBERS)])
    ranks = [np.searchsorted(present, steep(data)) for data in (CUT, FRAME)]
    assert np.array_equal(*ranks)
    assert np.abs(ranks[0] - len(present) * np.array(NINTHS, dtype=float)).max() < 5


def test_a_ledger_reads_no_collection(tmp_path):
    ledger = dp.Ledger.create(tmp_path / "a.ledger", budget=dp.rho(1), unit="row")
    with pytest.raises(dp.DataError, match="a ledger must see all rows at once"):
        ledger.session(CUT)(RELEASES["mean"])
    assert dp.session(CUT, budget=dp.rho(1))(RELEASES["mean"]).value < 2000


def test_of_several_refusals_it_is_always_the_same():
    """Which partition came first must not show."""
    mixed = [np.array([1.0, {}], dtype=object), np.array(["a"], dtype=object)]
    first, second = (
        arrays.concatenate([arrays.from_array(part, chunks=1) for part in order])
        for order in (mixed, mixed[::-1])
    )
    assert refusal(lambda: SUM(first)) == refusal(lambda: SUM(second))


def test_a_worker_with_other_versions_refuses():
    work = SentWork(b"never read", {**installed(), "numpy": "1.0"})
    outcome = work.of_part(0, [NUMBERS])
    assert "numpy 1.0 here and" in str(outcome.refusal)
    with pytest.raises(dp.DataError, match="the versions differ"):
        work.merge([outcome, Outcome()]).value()


TWO = dp.bound_contributions(2)
CHOSEN = {
    "resize": LIMITED >> dp.resize(99) >> dp.sum() >> dp.laplace(epsilon=1),
    "people": dp.table(person="id") >> TWO >> LIMITED >> dp.sum() >> dp.laplace(epsilon=1),
    "sample": dp.combinators.sample(0.5, LIMITED >> dp.sum() >> dp.laplace(epsilon=1)),
    "sampled people": dp.table(person="id")
    >> dp.combinators.sample(0.5, TWO >> LIMITED >> dp.sum() >> dp.laplace(epsilon=1)),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_rows_are_chosen_anew_in_each_release(name):
    """tests/engines/test_chosen_parts.py holds the law; a seed repeats the choice."""
    release = CHOSEN[name]
    found = [repr(release.insecure_release(CUT, seed).value) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


EIGHTHS = [i / 8 for i in range(1, 8)]
PASSES = {
    "sum": (SUM >> dp.gaussian(rho=1), 1),
    "mean": (dp.mean(0, 100, epsilon=1, confidence=0.95, sampling=False), 1),
    "median": (dp.private_quantile(0.5, bounds=(0, 100), epsilon=1, confidence=None), 3),
    "eighths": (dp.private_quantile(EIGHTHS, bounds=(0, 100), epsilon=1, confidence=None), 21),
    "variance": (dp.variance(0, 100, epsilon=1, confidence=None), 5),
    "resize": (
        dp.clamp(0, 100) >> dp.resize(9) >> dp.variance(0, 100, epsilon=1, confidence=None),
        1,
    ),
    "three quantiles and a count": (
        dp.compose(
            *(
                dp.private_quantile(i / 4, bounds=(0, 100), epsilon=1, confidence=None)
                for i in (1, 2, 3)
            ),
            dp.count() >> dp.laplace(epsilon=1),
        ),
        4,
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_the_rows_are_passed_over_as_often_as_the_page_says(name, monkeypatch):
    """docs/clusters.md tells what to expect of rows that are computed anew in each pass."""
    sent: list[bytes] = []
    dumps = cloudpickle.dumps
    monkeypatch.setattr("cloudpickle.dumps", lambda work: sent.append(b"") or dumps(work))
    pipeline, passes = PASSES[name]
    pipeline(arrays.from_array(np.random.default_rng(0).normal(50, 10, 10_000), chunks=2500))
    assert len(sent) == passes


def test_rows_that_cannot_be_read_leave_no_thread_behind():
    def failing(block: np.ndarray) -> np.ndarray:
        raise ValueError

    rows = arrays.from_array(NUMBERS, chunks=301).map_blocks(failing, dtype=float)
    median = dp.private_quantile(0.5, bounds=(0, 100), epsilon=1, confidence=None)
    before = threading.active_count()
    with pytest.raises(dp.DataError):
        dp.compose(median, median)(rows)
    assert threading.active_count() == before


def test_cells_are_counted_alike_where_the_plan_was_sent():
    """A column is read as numbers or as places: a worker must tell which, and took each for places.

    ``x`` in places of its own would be a count as well, in the wrong cells.
    """
    data = pd.DataFrame(
        {"x": [0.5, 1.5, 1.0, 39.0, np.nan, 2.0], "w": ["f", "m", "f", "f", "m", "f"]}
    )
    parts, edges = frames.from_pandas(data, npartitions=2), [-1, 0.75, 2, 40]
    for query in (
        dp.select("x") >> dp.one_hot([], edges=edges) >> dp.sum(),
        dp.select("x") >> dp.one_hot([], edges=[0, 40]) >> dp.sum(),
        dp.select("w", "x") >> dp.one_hot([["f", "m"]], edges=edges, other=True) >> dp.sum(),
        dp.select("x") >> dp.count(missing=True),
    ):
        assert exact(query, parts) == exact(query, data), query
