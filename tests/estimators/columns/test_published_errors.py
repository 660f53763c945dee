"""Errors of published code, planted: each is found, and what is right in its place is not."""

from fractions import Fraction

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows, materialise
from opendp_lite.samplers.rank_choice import RankLaw

pytestmark = pytest.mark.usefixtures("seeded")
Tables = dp.Space[dp.Rows]
Zcdp = dp.ZeroConcentratedDivergence
REPLACE = dp.ChangeOneDistance()
RHO = Fraction(1, 2)


@dp.mechanism
def of_sorted_columns(space: Tables, inner: dp.Mechanism) -> dp.Measurement[Tables, Zcdp]:
    """Pairs of rows of which every column was sorted before, in place."""
    honest = dp.combinators.on_random_pairs(inner).bind(space)

    def function(rows, entropy):
        columns = materialise(rows)
        columns.sort(axis=0)
        return honest.function(LazyRows(opened(columns)), entropy)

    return attrs.evolve(honest, function=function)


@dp.stage
def gap(space: Tables) -> dp.Transformation[Tables, Tables]:
    """The difference of two columns, from 0 to 1."""
    return dp.row_map(
        space, lambda rows: np.abs(rows[:, :1] - rows[:, 1:]).clip(0, 1), dp.bodies.Box(0, 1)
    )


@dp.stage
def sorted_columns(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Sorts every column as if it were row by row."""
    return dp.row_map(space, lambda block: np.sort(block, axis=0), space.domain.body)


def space_of(size: int, columns: int = 1) -> dp.Space[dp.Rows]:
    return dp.records(columns=columns, size=size, metric=REPLACE)


def sides(moved: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many of four rows and their copies lie below -5 and below 5, of which one is moved."""
    return (moved, 4 * moved), (0, 3 * moved)


PAIRED = (0, 32, 32, 32), (0, 16, 32, 32)
"""Half squares of pairs from 16 shuffles, below -1, 5, 100 and 200: of four zeros, of one 10."""


@pytest.mark.parametrize(
    ("one", "other", "paid", "lowest", "highest"),
    [
        (*sides(3), 3, 2, 3),  # a median of three copies, for three times the loss
        (*sides(3), 9, 0.8, 1),
        (*sides(1), Fraction(1, 4), 3, 4),  # a replaced row moves a rank by 1, and not by a half
        (*sides(1), 1, 0.8, 1),
        (*PAIRED, 16, 2, 16),  # a row is in each of 16 shuffles
        (*PAIRED, 256, 0.05, 1),
    ],
)
def test_the_exact_loss_of_rows_that_move_together(one, other, paid, lowest, highest):
    """The Renyi divergence of the candidates' laws over its order, against the claim."""
    law, logs = RankLaw(Fraction(1, 2), Fraction(float(2 * RHO / paid) ** 0.5)), []
    for under in (one, other):
        far = np.array([float(law.distance(each, one[-1] - each, one[-1])) for each in under])
        logs.append(-float(law.slope) * far - np.logaddexp.reduce(-float(law.slope) * far))
    orders = 1 + np.geomspace(1e-6, 1e3, 500)
    rho = max(
        np.logaddexp.reduce(a * p + (1 - a) * q) / (a - 1) / a
        for a in orders
        for p, q in (logs, logs[::-1])
    )
    assert lowest < rho / float(RHO) <= highest


def test_columns_sorted_before_pairing_are_found():
    """Replacing a row (0, 0) by (9, 0) moves every column's steps past the other's."""
    steps = np.repeat(np.arange(10.0), 2)
    data = np.stack([steps, steps], axis=1)
    other = np.concatenate([data[1:], [[9.0, 0.0]]])
    total = gap() >> dp.sum() >> dp.gaussian(rho=RHO)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(space_of(20, 2) >> of_sorted_columns(total), data, other, releases=600)
    dp.audit(space_of(20, 2) >> dp.combinators.on_random_pairs(total), data, other, releases=100)


def test_a_row_map_that_sorts_columns_is_not_stable(relation):
    with pytest.raises(AssertionError, match="rows"):
        dp.assert_stable(sorted_columns(), relation(2))
