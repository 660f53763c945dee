"""The privacy of a sum and a count at once: its map, and many releases."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers.core_noise import CoreNoise

TABLE = dp.records(columns=3)
ONE = dp.clamp(0, 100) >> dp.center(50)
COLUMN = ONE >> dp.measurements.sum_and_count(epsilon=1)
PIPELINE = TABLE >> dp.clip_to_norm(2) >> dp.measurements.sum_and_count(epsilon=1, stretch=2.39)


@pytest.mark.parametrize("epsilon", [1, 0.1, 1 / 3, Fraction(2, 7), 30])
@pytest.mark.parametrize("stretch", [0, 1, 2.39, 10**6])
@pytest.mark.parametrize(
    "before",
    [
        dp.records() >> ONE,
        dp.records() >> dp.clamp(1e-9, 3e9),
        TABLE >> dp.clip_to_norm(0.3),
        TABLE >> dp.clip_to_norm(0.3) >> dp.center([5, 0, 0.1]),
        TABLE >> dp.clamp(-7, 3),
        TABLE >> dp.clip_to_norm(1, p=1),
        dp.records() >> dp.clamp(0, 1) >> dp.simplex_augment(),
    ],
    ids=repr,
)
def test_the_map_returns_what_was_asked_for(before, epsilon, stretch):
    pipeline = before >> dp.measurements.sum_and_count(epsilon=epsilon, stretch=stretch)
    asked = dp.laplace(epsilon=epsilon).map(1)
    assert pipeline.map(1) == asked
    assert pipeline.map(0) == 0
    assert pipeline.loss(5) == 5 * pipeline.loss(1)
    assert pipeline.check(1, asked)
    assert not pipeline.check(1, asked * (1 - 1e-9))


def test_epsilon_is_for_one_unit():
    assert PIPELINE.map(2) == 2
    wide = (
        dp.records(columns=5)
        >> dp.clip_to_norm(10)
        >> dp.measurements.sum_and_count(epsilon=1, stretch=2)
    )
    assert wide.map(2) == 2
    pairs = (
        attrs.evolve(dp.records(), unit=Fraction(2))
        >> ONE
        >> dp.measurements.sum_and_count(epsilon=1)
    )
    assert (pairs.map(1), pairs.map(2)) == (0.5, 1)
    twice = np.array([pairs([])[1] for _ in range(2000)])
    expected = CoreNoise.near(Fraction(50), Fraction(1, 2), Fraction(1), 1).deviations[1]
    assert twice.std() == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("stretch", [0, 1, 4])
@pytest.mark.parametrize("columns", [1, 4])
def test_the_noise_has_the_scales_that_the_map_needs(columns, stretch, seeded):
    """Second moments within 6 of their standard errors; the l2 norm of a row is at most r."""
    pipeline = (
        dp.records(columns)
        >> dp.clip_to_norm(3)
        >> dp.measurements.sum_and_count(epsilon=0.5, stretch=stretch)
    )
    rows = np.zeros((7, columns))
    rows[:, 0] = 1
    found = [pipeline(rows) for _ in range(4000)]
    sums, counts = np.array([s for s, _ in found]), np.array([k for _, k in found])
    shape = Fraction(stretch)
    law = CoreNoise.near(Fraction(3), Fraction(1, 2), shape, columns)
    sums[:, 0] -= 7
    squares, entry = (sums**2).sum(axis=1), law.deviations[0]
    assert abs(squares.mean() - columns * entry**2) < 6 * squares.std() / 4000**0.5
    sides = (counts - 7) ** 2
    assert abs(sides.mean() - law.deviations[1] ** 2) < 6 * sides.std() / 4000**0.5


def nearness(radius, epsilon, stretch, data, neighbour):
    """How much nearer a release is to the first dataset: the loss of the ideal."""
    ends = [(rows.sum(axis=0), len(rows)) for rows in (data, neighbour)]

    def exponent(release, end):
        reach = np.linalg.norm(release[0] - end[0]) * epsilon / radius
        return max(reach, abs(release[1] - end[1]) * epsilon - stretch, 0)

    return lambda release: exponent(release, ends[1]) - exponent(release, ends[0])


EXTREMES = {
    "a row at the top": ([0.0, 0, 100], [0.0, 0, 100, 100]),
    "a row at the bottom": ([0.0, 0, 100], [0.0, 0, 0, 100]),
    "a row in the middle": ([0.0, 0, 100], [0.0, 0, 100, 50]),
    "a row beyond": ([0.0, 0, 100], [0.0, 0, 100, 1e308]),
    "a row of nothing": ([0.0, 0, 100], [0.0, 0, 100, np.nan]),
    "infinity": ([100.0] * 5, [100.0] * 4),
    "the first row": ([], [-np.inf]),
}


@pytest.mark.parametrize("stretch", [0, 2.39])
@pytest.mark.parametrize("name", EXTREMES)
def test_audit_finds_nothing(name, stretch, seeded):
    """The bound may exceed the claim with probability 1e-8 for each: below 1e-6 together."""
    pipeline = ONE >> dp.measurements.sum_and_count(epsilon=1, stretch=stretch)
    dp.audit(pipeline, *EXTREMES[name], releases=1000, failure=1e-8)


@pytest.mark.parametrize("stretch", [0, 1, 4])
@pytest.mark.parametrize("columns", [1, 5])
def test_audit_finds_no_more_than_the_claim_where_the_loss_is_largest(columns, stretch, seeded):
    pipeline = (
        dp.records(columns)
        >> dp.clip_to_norm(2)
        >> dp.measurements.sum_and_count(epsilon=1, stretch=stretch)
    )
    data = np.zeros((3, columns))
    for row in (np.full(columns, 2 * columns**-0.5), -2 * np.eye(columns)[0], np.zeros(columns)):
        neighbour = np.vstack([data, row])
        score = nearness(2, 1, stretch, data, neighbour)
        found = dp.audit(pipeline, data, neighbour, releases=800, failure=1e-8, score=score)
        assert columns > 1 or stretch > 1 or not row.any() or found.lower_bound > 0.3


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("size", [2, 0])
def test_audit_catches_half_of_the_noise(columns, size, seeded):
    """By a row that moves the sum and the count, and by one of zeros, which moves the count."""
    space = dp.records(columns) >> dp.clip_to_norm(2)
    honest, careless = (
        space >> dp.measurements.sum_and_count(epsilon=epsilon, stretch=0) for epsilon in (1, 2)
    )
    lie = attrs.evolve(honest, function=careless.function)
    data = np.zeros((3, columns))
    neighbour = np.vstack([data, np.eye(columns)[:1] * size])
    score = nearness(2, 2, 0, data, neighbour)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(lie, data, neighbour, releases=2500 if size else 5000, score=score)
    assert dp.audit(honest, data, neighbour, releases=500, score=score).claim == 1


def test_releases_have_one_shape_and_type(wild):
    rows = np.column_stack([wild, wild[::-1], wild])
    huge = np.full((9, 3), 1e308)
    for data in (rows, rows[:0], rows[:1], huge, np.full((2, 3), 5e-324)):
        total, count = PIPELINE(data)
        assert (total.shape, total.dtype, type(count)) == ((3,), np.float64, float)
        assert np.isfinite(total).all()
        assert np.isfinite(count)
    for data in (wild, wild[:0], [], [np.nan]):
        total, count = COLUMN(data)
        assert (total.shape, total.dtype, type(count)) == ((1,), np.float64, float)
        assert np.isfinite([*total, count]).all()


def test_what_is_released_is_the_sum_and_the_count():
    rows = np.array([[3.0, -1, 0.5], [0.25, 0.25, 0]] * 50_000)
    ball = dp.clip_to_norm(10)
    total, count = (TABLE >> ball >> dp.measurements.sum_and_count(epsilon=50))(rows)
    assert total == pytest.approx(rows.sum(axis=0), abs=30)
    assert count == pytest.approx(100_000, abs=30)
    blocks = dp.Blocks(lambda: (rows[i : i + 999] for i in range(0, len(rows), 999)), columns=3)
    total, count = (TABLE >> ball >> dp.measurements.sum_and_count(epsilon=50))(blocks)
    assert total == pytest.approx(rows.sum(axis=0), abs=30)
    assert count == pytest.approx(100_000, abs=30)


def test_the_data_is_read_once():
    reads = []

    def source():
        reads.append(1)
        yield np.ones((5, 3))

    PIPELINE(dp.Blocks(source, columns=3))
    assert len(reads) == 1


@pytest.mark.parametrize("power", [-280, -40, 40, 280])
@pytest.mark.parametrize("columns", [1, 3, 300])
def test_scales_far_from_one(power, columns):
    """Radii, and epsilons whose counts have grids coarser than one row and finer."""
    scale = 2.0**power
    space = dp.records(columns)
    rows = np.zeros((4, columns))
    sums, _ = (space >> dp.clip_to_norm(scale) >> dp.measurements.sum_and_count(epsilon=1))(rows)
    assert columns * 1e-12 < np.linalg.norm(sums / scale) < 60 * columns
    sums, count = (space >> dp.clip_to_norm(1) >> dp.measurements.sum_and_count(epsilon=scale))(
        rows
    )
    assert columns * 1e-12 < np.linalg.norm(sums * scale) < 60 * columns
    assert abs(count - 4) * scale < 60 * columns
    assert count != 4 or power > 0


def test_the_grids_do_not_depend_on_the_data():
    for data in ([], [50.0] * 7, [1e300]):
        total, count = COLUMN(data)
        law = CoreNoise.near(Fraction(50), Fraction(1), Fraction(1), 1)
        assert (total * 2.0**-law.sum_exponent % 1 == 0).all()
        assert count * 2.0**-law.count_exponent % 1 == 0


def test_explanations_state_the_deviations():
    assert "epsilon = 1 " in COLUMN.explain()
    assert "standard deviations 91.2871 of an entry of the sum and 2.33333 of" in COLUMN.explain()
    assert COLUMN.bound.facts.laws == ()


def test_insecure_releases_repeat():
    first, second = (COLUMN.insecure_release([3.0], seed=3).value for _ in range(2))
    assert (first[0].tolist(), first[1]) == (second[0].tolist(), second[1])
    assert COLUMN([3.0])[1] != COLUMN([3.0])[1]


def test_recipes_round_trip():
    recipe = (
        dp.clip_to_norm(2)
        >> dp.measurements.sum_and_count(epsilon=Fraction(1, 3), stretch=0.1)
        >> dp.to_zcdp()
    )
    read = dp.from_json(recipe.to_json())
    assert (read, repr(read)) == (recipe, repr(recipe))
    assert (
        repr(COLUMN)
        == "dp.clamp(0, 100) >> dp.center(50) >> dp.measurements.sum_and_count(epsilon=1)"
    )
    assert (TABLE >> read).loss(1) == (TABLE >> recipe).loss(1)


def test_it_composes():
    both = dp.compose(COLUMN, dp.count() >> dp.laplace(epsilon=0.5))
    assert both.map(1) == 1.5
    (total, count), again = both([1.0] * 10)
    assert total.shape == (1,)
    assert (type(count), type(again)) == (float, int)
    assert (COLUMN >> (lambda release: release[1])).map(3) == 3


FIXED = dp.records(size=5, metric=dp.ChangeOneDistance())


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        *(
            (
                lambda bad=bad: dp.measurements.sum_and_count(epsilon=bad),
                dp.ParameterError,
                "0|finite|number",
            )
            for bad in (0, -1, np.nan, np.inf, "1", None)
        ),
        *(
            (
                lambda bad=bad: dp.measurements.sum_and_count(epsilon=1, stretch=bad),
                dp.ParameterError,
                "stretch",
            )
            for bad in (-1, -1e-300, np.nan, np.inf, "1", None)
        ),
        (
            lambda: dp.measurements.sum_and_count(epsilon=1).map(1),
            dp.SpaceError,
            r"Put clamp\(lower, upper\)",
        ),
        (
            lambda: (dp.center(3) >> dp.measurements.sum_and_count(epsilon=1))([]),
            dp.SpaceError,
            "bounded body",
        ),
        (
            lambda: FIXED >> ONE >> dp.measurements.sum_and_count(epsilon=1),
            dp.SpaceError,
            r"l2_mechanism\(\) or .*laplace",
        ),
        (lambda: FIXED >> ONE >> dp.measurements.sum_and_count(epsilon=1), dp.SpaceError, "size=5"),
        (
            lambda: ONE >> dp.sum() >> dp.measurements.sum_and_count(epsilon=1),
            dp.SpaceError,
            "sum_and_count needs rows",
        ),
        (lambda: COLUMN >> dp.sum(), dp.SpaceError, "cannot follow noise"),
        (lambda: COLUMN.map(-1), dp.ParameterError, "at least 0"),
        (lambda: COLUMN.map(0.5), dp.ParameterError, "whole"),
        (
            lambda: dp.records() >> ONE >> dp.measurements.sum_and_count(epsilon=1e-300),
            dp.ParameterError,
            "scale",
        ),
        (
            lambda: dp.measurements.sum_and_count(epsilon=1, stretch=1e305).bind(dp.records()),
            dp.SpaceError,
            "bounded",
        ),
        (
            lambda: (TABLE >> dp.clamp(0, 1) >> dp.measurements.sum_and_count(epsilon=1))([1.0]),
            dp.DataError,
            "3 columns",
        ),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()
