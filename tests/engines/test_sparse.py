"""Sparse matrices: what is not stored stays 0, or the step is refused in words."""

import re
import tracemalloc
from fractions import Fraction
from itertools import pairwise
from math import inf, sqrt
from pathlib import Path

import attrs
import numpy as np
import pytest
import scipy.sparse as sp

import opendp_lite as dp
from opendp_lite.engines.data.arrays import EntryMap
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.sparse import KEEPING, SparseMatrix, SparseRows
from opendp_lite.spaces.space import Example, examples_of, rows_in
from opendp_lite.testing.datasets import neighbours
from opendp_lite.testing.stable import exact_norms
from opendp_lite.transformations.row_maps import row_map_trusted
from tests.public_names import STEPS

COLUMNS = 6
FORMATS = [
    *(sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_matrix, sp.coo_array),
    *(sp.lil_matrix, sp.dok_array, sp.bsr_array),
]
WEIGHTS = [1, 0.1, 3, 1 / 3, 2.5, 10]
SUMS = [
    dp.clamp(0, 1) >> dp.sum(),
    dp.clamp([-1, -2, 0, 0, -0.5, -9], [1, 0, 3, 0.1, 0.25, 9]) >> dp.sum(),
    dp.clamp(-3, 10) >> dp.scale(-0.1) >> dp.sum(),
    dp.clamp(0, 1) >> dp.scale(WEIGHTS) >> dp.sum(),
    dp.clip_to_norm(1.5) >> dp.sum(),
    dp.clip_to_norm(1.5, p=1) >> dp.sum(),
    dp.clip_to_norm(1.5) >> dp.clip_to_norm(1, p=1) >> dp.sum(),
    dp.clip_to_norm(2) >> dp.scale(WEIGHTS) >> dp.sum(),
    dp.clip_to_norm(2, p=1) >> dp.scale(WEIGHTS) >> dp.clip_to_norm(3) >> dp.sum(),
    dp.clamp(0, 4) >> dp.clip_to_norm(1.5) >> dp.sum(),
    dp.clamp(0, 4) >> dp.clip_to_norm(1.5, p=1) >> dp.scale(WEIGHTS) >> dp.sum(),
    dp.clamp(0, 4) >> dp.scale(WEIGHTS) >> dp.clip_to_norm(1) >> dp.clamp(0, 0.5) >> dp.sum(),
    dp.clip_to_norm(1e-200) >> dp.sum(),
    dp.transformations.absolute() >> dp.clip_to_norm(2) >> dp.sum(),
    dp.transformations.norm() >> dp.clamp(0, 5) >> dp.sum(),
    dp.clamp(0, 1) >> dp.transformations.norm(p=1) >> dp.sum(),
]


def some(rows: int, columns: int = COLUMNS, seed: int = 0) -> sp.csr_array:
    """A matrix of hostile numbers, of which about half are stored."""
    generator = np.random.default_rng(seed)
    filled = dp.bodies.Everything(columns).draw(generator, rows)
    return sp.csr_array(np.where(generator.random(filled.shape) < 0.5, filled, 0.0))


def bound(stage, rows: int, metric: dp.metrics.RowMetric | None = None, columns: int = COLUMNS):
    size = rows if isinstance(metric, dp.ChangeOneDistance) else None
    return dp.records(columns=columns, size=size, metric=metric) >> stage


def rows_of(matrix) -> SparseRows:
    (block,) = opened(matrix).blocks()
    return block


@pytest.mark.parametrize("stage", SUMS, ids=repr)
@pytest.mark.parametrize("metric", [dp.SymmetricDistance(), dp.ChangeOneDistance()], ids=repr)
def test_sums_of_neighbours_are_as_far_apart_as_the_map_says(stage, metric):
    space = dp.records(
        columns=COLUMNS, size=40 if metric == dp.ChangeOneDistance() else None, metric=metric
    )
    total = stage.bind(space)
    exponent = total.output_space.domain.exponent
    generator = np.random.default_rng(7)
    for pair in neighbours(space, seed=1, trials=24):
        hole = generator.random(COLUMNS) < generator.random()
        sums = []
        for data in (pair.data, pair.other):
            admitted = space.domain.to_internal(sp.csr_array(np.where(hole, 0.0, data)))
            with np.errstate(all="ignore"):
                sums.append(total.function(admitted).steps.tolist())
        claimed = total.stability_map(Fraction(pair.distance))
        assert exact_norms(*sums, exponent).within(claimed)


@pytest.mark.parametrize("stage", SUMS, ids=repr)
def test_sums_are_those_of_the_dense_matrix(stage):
    matrix = some(500)
    total = bound(stage, 500)
    assert np.array_equal(total(matrix), total(matrix.toarray()))


@pytest.mark.parametrize("columns", [1, 40, 1000, 5000])
@pytest.mark.parametrize("p", [1, 2])
def test_clipped_sums_of_wide_rows_are_those_of_the_dense_matrix(columns, p):
    generator = np.random.default_rng(columns)
    kept = generator.random((300, columns)) < 0.3
    matrix = sp.csr_array(np.where(kept, generator.standard_normal(kept.shape) * 3, 0))
    for stage in (dp.clip_to_norm(2, p=p), dp.transformations.norm(p=p) >> dp.clamp(0, 500)):
        total = bound(stage >> dp.sum(), 300, columns=columns)
        assert np.array_equal(total(matrix), total(matrix.toarray()))


@pytest.mark.parametrize("columns", [1, 3, 300])
def test_zeros_and_ones_give_the_very_sums_of_the_dense_matrix(columns):
    ones = sp.csr_array((np.random.default_rng(1).random((700, columns)) < 0.2).astype(float))
    for stage in (
        dp.clamp(0, 1) >> dp.sum(),
        dp.clamp(0, 1) >> dp.clip_to_norm(1000) >> dp.sum(),
        dp.clip_to_norm(1000, p=1) >> dp.sum(),
        dp.clamp(0, 1) >> dp.clip_to_norm(0.7) >> dp.sum(),
    ):
        total = bound(stage, 700, columns=columns)
        assert np.array_equal(total(ones), total(ones.toarray()))


@pytest.mark.parametrize("stage", SUMS, ids=repr)
def test_the_order_of_rows_and_of_entries_and_the_blocks_change_nothing(stage, monkeypatch):
    matrix = some(300, seed=3)
    total = bound(stage, 300)
    expected = total(matrix)
    generator = np.random.default_rng(4)
    assert np.array_equal(total(matrix[generator.permutation(300)]), expected)
    shuffled = matrix.copy()
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        order = start + generator.permutation(stop - start)
        shuffled.indices[start:stop] = matrix.indices[order]
        shuffled.data[start:stop] = matrix.data[order]
    assert np.array_equal(total(shuffled), expected)
    pieces = dp.Blocks(lambda: iter([matrix[:1], matrix[1:1], matrix[1:77], matrix[77:]]), COLUMNS)
    assert np.array_equal(total(pieces), expected)
    monkeypatch.setattr("opendp_lite.engines.data.sparse.STORED_ENTRIES", 7)
    assert np.array_equal(total(matrix), expected)


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_every_kind_of_sparse_matrix(make):
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.5]])
    total = dp.records(columns=3) >> dp.clamp(0, 2) >> dp.sum()
    assert total(make(dense)).tolist() == [1, 2, 2.5]
    assert (dp.records(columns=3) >> dp.count())(make(dense)) == 3


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.int64, np.float32, np.longdouble])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_type_of_number(dtype, index):
    dense = np.array([[1, 0], [1, 1]], dtype=dtype)
    matrix = sp.csr_array(dense)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    assert bound(SUMS[0], 2, columns=2)(matrix).tolist() == [2, 1]


def stored_badly() -> sp.csr_array:
    """Rows with duplicates out of order, explicit zeros, cancelled entries, and flags that lie."""
    data = np.array([0.5, 0.25, 0.0, -0.0, 0.5, 3.0, -3.0, 0.25])
    matrix = sp.csr_array((data, [2, 0, 1, 2, 2, 1, 1, 0], [0, 5, 5, 8]), shape=(3, 3))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def test_a_matrix_is_brought_to_one_form_and_not_changed():
    matrix = stored_badly()
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    block = rows_of(matrix)
    assert block.values.tolist() == [0.25, 1.0, 0.25]
    assert block.indices.tolist() == [0, 2, 0]
    assert block.ends.tolist() == [0, 2, 2, 3]
    for stage in SUMS[:1] + SUMS[4:6]:
        bound(stage, 3, columns=3)(matrix)
    for part, kept in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        assert np.array_equal(part, kept)


def test_an_entry_stored_twice_passes_a_bound_once():
    matrix = sp.csr_array(([1.0] * 5, [1] * 5, [0, 5]), shape=(1, 2))
    matrix.has_canonical_format = True
    assert bound(SUMS[0], 1, columns=2)(matrix).tolist() == [0, 1]


def test_rows_without_entries_and_matrices_without_rows():
    for rows in (0, 1, 5):
        empty = sp.csr_matrix((rows, COLUMNS))
        for stage in SUMS:
            assert not bound(stage, rows)(empty).any()
        assert bound(dp.count(), rows)(empty) == rows
    assert (dp.records(columns=3) >> dp.count())(sp.csr_array((300_000, 3))) == 300_000


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", [dp.bodies.Ball, dp.bodies.NonNegativeBall])
def test_rounded_rows_lie_in_the_body_whatever_the_floats_are(kind, p):
    for body in (kind(3, p=p, columns=COLUMNS), kind(WEIGHTS, p=p)):
        matrix = some(400, seed=9)
        rows = rows_of(matrix)
        with np.errstate(all="ignore"):
            steps = body.snapper().steps(rows.values, rows)
            projected = rows.with_values(body.project(rows.values, rows))
        assert (steps >= 0).all() or kind is dp.bodies.Ball
        unit, radii = Fraction(2) ** body.exponent(), getattr(body, "ball", body).size
        wide = list(radii) * (COLUMNS // len(radii))
        ends, indices = projected.ends, projected.indices
        for start, stop in pairwise(ends):
            pairs = zip(steps[start:stop], indices[start:stop], strict=True)
            assert sum((abs(int(step)) * unit / wide[j]) ** p for step, j in pairs) <= 1
        dense = sp.csr_array((projected.values, indices, ends), shape=matrix.shape).toarray()
        assert body.contains(dense).all()


def test_values_never_show():
    odd = sp.csr_array(np.array([[np.nan, -np.nan, 1e308], [inf, -inf, 5e-324], [-1e308, 0, 1]]))
    for stage in (dp.clamp(-1, 1), dp.clip_to_norm(1), dp.scale(1e300) >> dp.clip_to_norm(1, p=1)):
        pipeline = dp.records(columns=3) >> stage >> dp.sum() >> dp.gaussian(rho=1)
        with np.errstate(all="raise"):
            assert pipeline(odd).shape == (3,)
    clamped = dp.records(columns=3) >> dp.clamp(-1, 1) >> dp.sum()
    assert clamped(odd).tolist() == clamped(odd.toarray()).tolist()


def test_totals_beyond_64_bits():
    bounds = [1.0, 2.0**-30]
    matrix = sp.csr_array(np.ones((20_000, 2)))
    total = dp.records(columns=2) >> dp.clamp(0, bounds) >> dp.sum()
    assert total(matrix).tolist() == [20_000, 20_000 * 2.0**-30]


REFUSED = [
    ("^center would", dp.center(1) >> dp.clamp(0, 1) >> dp.sum()),
    ("^select would", dp.select([0, 1]) >> dp.clamp(0, 1) >> dp.sum()),
    ("^clamp would", dp.clamp([0, 0.5], 1) >> dp.scale(2) >> dp.sum()),
    ("^clamp would", dp.clamp(-2, -1) >> dp.sum()),
    ("^clamp would", dp.scale(2) >> dp.clamp(1, 3) >> dp.sum() >> dp.laplace(epsilon=1)),
    ("^indicator_below would", dp.transformations.indicator_below(2) >> dp.sum()),
    ("resize", dp.clamp(0, 1) >> dp.resize(5, fill=0) >> dp.sum()),
    ("ends in rows", dp.clamp(0, 1)),
    (
        "^private_quantile would",
        dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None),
    ),
    (
        "^on_random_pairs would",
        dp.combinators.on_random_pairs(
            dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)
        ),
    ),
]


@pytest.mark.parametrize(("words", "stage"), REFUSED)
@pytest.mark.parametrize("rows", [0, 3])
def test_what_would_densify_is_refused_whatever_the_rows_are(words, stage, rows):
    matrix = sp.csr_array((rows, 2))
    for data in (matrix, dp.Blocks(lambda: iter([matrix]), columns=2)):
        with pytest.raises(dp.DataError, match=rf"{words}.*densify.*toarray"):
            (dp.records(columns=2) >> stage)(data)


def test_rows_of_named_columns_are_counted():
    rows = np.array([[0, 1], [np.nan, 0], [0, 0], [0, np.nan]])
    named = dp.records(columns=["a", "b"])
    for data in (sp.csr_array(rows), dp.Blocks(lambda: iter([sp.csr_array(rows)]), columns=2)):
        assert (named >> dp.count())(data) == 2
        assert (named >> dp.count(missing=True))(data) == 4
        with pytest.raises(dp.DataError, match=r"^select would.*densify.*toarray"):
            (named >> dp.keep("a", between=(0, 1)) >> dp.count())(data)


def test_own_row_maps_are_refused():
    @dp.stage
    def doubled(
        space: dp.Space[dp.Rows],
    ) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return dp.row_map(
            space, lambda block: 2 * block, dp.bodies.Simplex(1, space.domain.columns)
        )

    with pytest.raises(dp.DataError, match=r"^doubled would.*densify"):
        (dp.records(columns=2) >> doubled() >> dp.sum())(sp.csr_array((3, 2)))


@pytest.mark.parametrize(
    "body", [dp.bodies.Simplex(1, 2), dp.bodies.Ball(1, center=[1, 0])], ids=repr
)
def test_bodies_that_do_not_keep_zeros_refuse(body):
    space = rows_in(body)
    assert not body.keeps_zeros()
    with pytest.raises(dp.DataError, match=r"^sum would.*densify"):
        (space >> dp.sum())(sp.csr_array((1, 2)))


def refusal_of(step, each: Example) -> str:
    """Why a step takes no sparse matrix; empty where it does."""
    bound = each.space >> step(*each.args, **each.kwargs)
    ended = bound >> dp.clamp(-1, 1) >> dp.sum() if is_rows(bound.output_space) else bound
    size = each.space.domain.size or 3
    try:
        ended(sp.csr_array((size, each.space.domain.columns)))
    except dp.DataError as refusal:
        return str(refusal)
    return ""


def is_rows(space) -> bool:
    return isinstance(space.domain, dp.Rows)


def test_a_refusal_names_its_step_and_the_steps_that_keep_zeros():
    takers = set()
    for step in STEPS.values():
        for each in examples_of(step):
            made = step(*each.args, **each.kwargs)
            if isinstance(made, dp.Stage) and is_rows(each.space):
                refusal = refusal_of(step, each)
                assert re.match(
                    rf"$|({step.__name__}|select) would|one array .*resize|the rows of a person",
                    refusal,
                )
                takers |= set() if refusal else {step.__name__}
    assert takers - {"clamp"} == set(KEEPING)


def test_a_step_of_ones_own_may_keep_zeros():
    @attrs.frozen
    class Halved(EntryMap):
        def on_entries(self, entries, layout):
            return entries / 2

    @dp.stage
    def halved(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return row_map_trusted(space, Halved(), space.domain.body)

    matrix = sp.csr_array(np.array([[1.0, 0.0], [0.0, 0.5]]))
    total = dp.records(columns=2) >> dp.clamp(0, 1) >> halved() >> dp.sum()
    assert total(matrix).tolist() == total(matrix.toarray()).tolist() == [0.5, 0.25]


def malformed(part: str, numbers: list[float]) -> sp.csr_array:
    matrix = sp.csr_array(np.eye(3))
    setattr(matrix, part, np.array(numbers))
    return matrix


BAD_INDICES = [0, 1, 3], [0, -1, 2], [0.0, 1.0, 2.0]
BAD_ENDS = [0, 2, 1, 3], [0, 1, 2, 4], [1, 1, 2, 3], [0, 1, 3]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (sp.csr_matrix((4, 2)), "records\\(columns=2\\)"),
        (sp.coo_array(np.array([0.0, 1.0, 2.0])), "1 dimensions"),
        (sp.csr_array(np.array([[1j, 0, 0]])), "complex"),
        *((malformed("indices", each), "check_format") for each in BAD_INDICES),
        *((malformed("indptr", each), "check_format") for each in BAD_ENDS),
    ],
)
def test_public_shapes_are_refused_in_words(data, words):
    with pytest.raises(dp.DataError, match=words):
        (dp.records(columns=3) >> dp.clamp(0, 1) >> dp.sum())(data)


def test_a_declared_size_is_checked():
    total = bound(SUMS[0], 4, dp.ChangeOneDistance())
    assert total(some(4)).shape == (COLUMNS,)
    for data in (some(5), dp.Blocks(lambda: iter([some(5)]), columns=COLUMNS)):
        with pytest.raises(dp.DataError, match="size=4"):
            total(data)


def test_a_non_negative_clip_moves_a_sized_sum_by_sqrt_2():
    stage = dp.clamp(0, 1) >> dp.scale(WEIGHTS) >> dp.clip_to_norm(3) >> dp.sum()
    assert bound(stage, 4, dp.ChangeOneDistance()).map(1).l2_squared == 18
    assert bound(stage, 4).map(1).l2 == 3
    below = dp.clamp(-1, 1) >> dp.clip_to_norm(3) >> dp.sum()
    assert bound(below, 4, dp.ChangeOneDistance()).map(1).l2 == 6


def test_several_releases_take_one_pass():
    both = bound(
        dp.clamp(0, 1)
        >> dp.compose(dp.sum() >> dp.laplace(epsilon=1), dp.count() >> dp.laplace(epsilon=1)),
        50,
    )
    sums, count = both(some(50))
    assert sums.shape == (COLUMNS,)
    assert isinstance(count, int)


def test_memory_is_that_of_a_block_not_of_the_matrix():
    generator = np.random.default_rng(0)
    rows, columns, entries = 20_000, 7_000, 1_000_000
    lengths = generator.multinomial(entries, np.full(rows, 1 / rows))
    ends = np.append(0, np.cumsum(lengths)).astype(np.int32)
    starts = generator.integers(0, columns, rows)
    within = np.arange(entries) - np.repeat(ends[:-1], lengths)
    indices = (np.repeat(starts, lengths) + within) % columns
    matrix = SparseMatrixLike(np.ones(entries), indices.astype(np.int32), ends, (rows, columns))
    stage = dp.clamp(0, 1) >> dp.scale(1 / sqrt(7)) >> dp.clip_to_norm(1) >> dp.sum()
    total = dp.records(columns=columns) >> stage
    tracemalloc.start()
    try:
        total(matrix)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6


class SparseMatrixLike:
    """What is asked of a sparse matrix, without scipy."""

    def __init__(self, data, indices, indptr, shape):
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape

    def tocsr(self):
        return self


def test_a_matrix_is_known_by_what_it_can_do():
    like = SparseMatrixLike(np.ones(2), np.array([0, 1]), np.array([0, 1, 2]), (2, 2))
    assert isinstance(opened(like), SparseMatrix)
    assert bound(SUMS[0], 2, columns=2)(like).tolist() == [1, 1]


def test_nothing_outside_of_the_engines_knows_of_sparse_rows():
    package = Path(dp.__file__).parent
    outside = (path for path in package.rglob("*.py") if "engines" not in path.parts)
    assert [path.name for path in outside if "engines.sparse" in path.read_text()] == []
