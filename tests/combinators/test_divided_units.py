"""Programs in groups: a unit of several rows may be divided, and each part pays its share."""

from contextlib import suppress
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log, tanh
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.integrate import trapezoid

import opendp_lite as dp
from opendp_lite.base.errors import BudgetExceeded
from opendp_lite.combinators import adaptive_programs
from opendp_lite.combinators.accounts import find_price, some_sizes
from opendp_lite.combinators.adaptive_programs import ThresholdNoise, noise_of_mean
from opendp_lite.combinators.grouping import space_of_group
from opendp_lite.engines.rows import materialise
from opendp_lite.samplers.entropy import SecureEntropy
from tests.exact_laws import ways
from tests.test_exact_laws import ROUNDING, compare

__all__ = ["ways"]

PURE, ZCDP = dp.MaxDivergence(), dp.ZeroConcentratedDivergence()
APPROXIMATE = dp.ApproximateDivergence()
REPLACED, TWO_ROWS = (
    dp.records(columns=["key", "x"], size=size, metric=dp.ChangeOneDistance()) for size in (4, 2)
)
PEOPLE = dp.records(columns=["id", "key", "x"], person="id")
SPILL = Fraction(1, 50)


def loss_of(kind: str, epsilon: Fraction, rows: Fraction) -> Fraction:
    return epsilon * (rows if kind in ("linear", "leaky") else min(rows, Fraction(1)))


@dp.mechanism
def answer(
    space: dp.Space[dp.Rows], kind: str, epsilon: Any, measure: Any = PURE
) -> dp.Measurement:
    """One bit, a branch of ``Ways``; its loss falls with the rows that change, or does not."""
    most = Fraction(epsilon)

    def release(rows, entropy) -> object:
        values = materialise(rows)[:, -1]
        ones, zeros = int((values == 1).sum()), int((values == 0).sum())
        if kind == "leaky" and entropy.coin(float(SPILL)):
            return ones, zeros
        steps = (1 if ones else -1) if kind == "any" else ones - zeros
        return int(entropy.coin(1 / (1 + exp(-float(most) * steps))))

    def loss(rows: Fraction) -> object:
        found = loss_of(kind, most, rows)
        if measure == APPROXIMATE:
            return found, (SPILL if kind == "leaky" and rows else Fraction(0))
        if measure == ZCDP:
            return Fraction(float(found) * tanh(float(found) / 2) * (1 + 1e-12))
        return found

    found: dp.Measurement = dp.Measurement(space, measure, release, loss)
    return found


def choose(random: np.random.Generator, kinds: list[str], measure):
    """A program whose every query is chosen by the answers before; it spends what it can."""
    table = {
        answers: (str(random.choice(kinds)), float(random.choice([0.125, 0.25, 0.5, 1.0])))
        for length in range(3)
        for answers in product([0, 1], repeat=length)
    }

    def program(ask) -> object:
        found: tuple[int, ...] = ()
        told = []
        while len(found) < 3:
            kind, epsilon = table[found]
            query = answer(kind, epsilon, measure)
            try:
                told.append(ask(query))
            except BudgetExceeded:
                break
            found = (*found, int(told[-1] == 1))
        return told

    return program


PLACES = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
PROGRAMS = [
    *((kinds, dp.epsilon(2)) for kinds in (["linear"], ["any"], ["linear", "any"])),
    (["linear", "any"], dp.rho(1)),
    (["linear", "leaky", "any"], dp.epsilon(2, delta=0.08)),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("kinds", "budget"), PROGRAMS, ids=repr)
def test_a_program_in_groups_loses_no_more_than_it_says_to_any_replaced_row(
    ways, kinds, budget, seed
):
    """By the exact laws of all answers, for all neighbours of two rows in two groups.

    A leak has the same delta for one row as for two, so it is charged twice.
    """
    program = dp.adaptive(choose(np.random.default_rng(seed), kinds, budget.measure), budget)
    bound = TWO_ROWS >> dp.by("key", [0, 1], program)
    assert bound.map(1) == program.map(1)
    found = compare(ways, bound, PLACES, reach=1, most=2)
    assert all(share <= 1 + ROUNDING for shares in found for share in shares)


@pytest.mark.parametrize(("kind", "met"), [("linear", 0.5), ("any", 0.99)])
def test_more_than_half_of_what_is_said_is_lost(ways, kind, met):
    """By the program that asks as long as it can: once, as one row moves two groups."""

    def program(ask) -> object:
        told = []
        with suppress(BudgetExceeded):
            while len(told) < 3:
                told.append(ask(answer(kind, 1)))
        return told

    bound = TWO_ROWS >> dp.by("key", [0, 1], dp.adaptive(program, dp.epsilon(2)))
    assert bound.map(1) == 2.0
    assert met < compare(ways, bound, PLACES, reach=1, most=2)[0][0] <= 1 + ROUNDING


def test_the_price_of_a_query_in_a_group_is_at_least_that_of_all_its_rows():
    group = space_of_group(REPLACED)
    for query, price in (
        (answer("linear", Fraction(1)), 2),
        (answer("any", Fraction(1)), 2),
        (answer("any", Fraction(1), APPROXIMATE), (2, 0)),
        (answer("leaky", Fraction(1), APPROXIMATE), (2, 2 * SPILL)),
        (dp.count() >> dp.laplace(epsilon=1), 1),
    ):
        bound = query.bind(group)
        assert find_price(bound, bound.output_measure) == price
        undivided = query.bind(attrs.evolve(group, divided=False))
        assert undivided.input_space.unit == 2
        assert find_price(undivided, bound.output_measure) == undivided.privacy_map(Fraction(2))
        # Under a measure that covers no shares a part may lose more than its share.
        renyi = dp.measures.RenyiDivergence({8: 1})
        assert find_price(bound, renyi) == find_price(undivided, renyi)


def test_a_gaussian_with_a_delta_is_charged_what_was_typed():
    """Its delta at half of the epsilon is far below half of the delta: the curve knows."""
    digits = Fraction(3**60, 5**41)
    typed = (dp.count() >> dp.laplace(epsilon=digits)).bind(dp.records())
    assert find_price(typed, APPROXIMATE) == (digits, 0)
    group = space_of_group(REPLACED)
    query = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)
    assert find_price(query.bind(group), APPROXIMATE) == (1, Fraction(1, 10**6))


@pytest.mark.parametrize("rows", [1, 2, 3, 17, 64, 100, 1000])
@pytest.mark.parametrize("budget", [dp.epsilon(1), dp.rho(0.5), dp.mu(1)], ids=repr)
def test_a_program_costs_its_budget_however_many_rows_a_person_has(rows, budget):
    """In three groups, and twice or four times that for two people."""
    program = dp.adaptive(lambda ask: None, budget)
    chosen = PEOPLE >> dp.bound_contributions(rows)
    typed = program.map(1)
    alone, grouped = chosen >> program, chosen >> dp.by("key", range(3), program)
    assert (alone.map(1), grouped.map(1)) == (typed, typed)
    assert grouped.map(2) == alone.map(2)


@pytest.mark.parametrize("rows", range(1, 5))
def test_a_part_of_a_unit_loses_its_share_of_the_budget(rows):
    budget = dp.epsilon(1, delta=0.25)
    group = space_of_group((PEOPLE >> dp.bound_contributions(4)).output_space)
    bound = dp.adaptive(lambda ask: None, budget).bind(group)
    assert bound.loss(rows) == (Fraction(rows, 4), Fraction(rows, 16))


def test_a_unit_of_many_rows_is_not_divided_outside_of_groups():
    """A query that one row changes by as much as all costs what was typed there."""
    chosen = PEOPLE >> dp.bound_contributions(5)
    released = dp.adaptive(lambda ask: ask(answer("any", 1)), dp.epsilon(1))
    data = {"id": [1.0, 2.0], "key": [0.0, 1.0], "x": [1.0, 2.0]}
    price = dp.adaptive(lambda ask: ask.price(answer("any", 1)), dp.epsilon(1))
    assert (chosen >> price)(data) == 1
    assert (chosen >> released).map(1) == 1.0
    with pytest.raises(BudgetExceeded, match="needs epsilon = 5"):
        (chosen >> dp.by("key", [0, 1], released))(data)


def above_at_last(threshold: float, values: tuple[float, ...], noise: ThresholdNoise) -> float:
    """How likely it is that all values but the last are below, by numerical integration."""
    *below, above = values
    grid = np.linspace(0, 60 * float(noise.on_threshold), 400_001)
    density = np.exp(-grid / float(noise.on_threshold)) / float(noise.on_threshold)
    level = threshold + grid - float(noise.on_threshold)

    def tail(value: float):
        least = np.maximum(level - value + float(noise.on_query), 0)
        return np.exp(-least / float(noise.on_query))

    kept = density * tail(above)
    for each in below:
        kept = kept * (1 - tail(each))
    return float(trapezoid(kept, grid))


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_law_of_a_threshold_loses_its_share_for_a_part_of_a_unit(share):
    noise = ThresholdNoise.of(Fraction(1), 1, monotone=False)
    worst = 0.0
    for moves in product([-share, share], repeat=3):
        before = above_at_last(0.0, (0.3, -1.0, 0.5), noise)
        after = above_at_last(0.0, tuple(np.add((0.3, -1.0, 0.5), moves)), noise)
        worst = max(worst, abs(log(before / after)))
    assert share / 3 < worst <= share * (1 + 1e-6)


@pytest.mark.parametrize("parts", [1, 3, 64])
@pytest.mark.parametrize("mean", [Fraction(1, 3), Fraction(7), Fraction(2**40)])
def test_noise_of_thresholds_lies_on_a_grid_that_holds_each_part(parts, mean):
    entropy = SecureEntropy()
    for _ in range(5):
        cells = parts * 2 ** max(0, 20 - (int(mean).bit_length() - 1 if mean >= 1 else -2))
        steps = (noise_of_mean(mean, entropy, parts) + mean) * cells
        assert steps.denominator == 1


def test_thresholds_in_groups_cost_what_was_typed():
    def program(test) -> object:
        return test(dp.count())

    for budget, cost in ((dp.epsilon(1), 1.0), (dp.rho(0.5), 0.5)):
        asked = dp.above_threshold(program, 3, budget)
        assert (REPLACED >> asked).map(1) == cost
        grouped = REPLACED >> dp.by("key", [0, 1], asked)
        assert grouped.map(1) == cost
        assert cost / 4 < grouped.map(2) / 4 <= cost
        table = {"key": [0.0, 0.0, 0.0, 1.0], "x": [1.0] * 4}
        assert set(grouped(table)) == {0, 1}


@dp.stage
def any_row(space: Any) -> dp.Transformation:
    """Says that many rows move it no farther than one."""
    after = dp.Space(dp.Vectors(1), dp.metrics.LInfDistance(), unit=dp.Norms(linf=1))
    return dp.Transformation(
        space, after, lambda rows: np.array([2.0]), lambda rows: dp.Norms(linf=min(rows, 1))
    )


def test_a_query_that_half_a_unit_moves_as_far_has_noise_for_two_halves(monkeypatch):
    """A step of noise down takes two from its value, and the grid of all noise holds halves."""
    parts = []

    def take(mean, entropy, whole):
        parts.append(whole)
        return Fraction(0 if len(parts) == 1 else -1)

    monkeypatch.setattr(adaptive_programs, "noise_of_mean", take)
    asked = dp.above_threshold(
        lambda test: [test(any_row(), level) for level in (0, 0.5)], 0, epsilon=1, most=2
    )
    released = asked.bind(space_of_group(REPLACED))({"key": [0.0] * 4, "x": [1.0] * 4})
    assert (released, parts) == ([True, False], [2, 2, 2])


def test_sizes_are_all_small_ones_and_no_step_is_above_a_64th():
    assert some_sizes(0) == ()
    assert some_sizes(3) == (1, 2, 3)
    for most in (64, 65, 1000, 10**6):
        found = some_sizes(most)
        assert found[:64] == tuple(range(1, 65))
        assert found[-1] == most
        assert all(a < b <= a + a // 64 for a, b in pairwise(found[63:]))
