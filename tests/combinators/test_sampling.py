"""Samples of rows and random pairs of them: which rows, what they cost, and what they refuse."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from importlib import import_module
from itertools import combinations, pairwise, permutations
from math import exp, expm1, log1p

import attrs
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from scipy.optimize import linprog
from scipy.stats import binom, chi2

import opendp_lite as dp
from opendp_lite.engines.plan import Map
from opendp_lite.engines.rows import materialise
from opendp_lite.estimators.papers.plan import median_of_mean_square
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.testing.datasets import containers
from opendp_lite.testing.stable import change_one_distance, symmetric_distance
from tests.exact_laws import hockey_stick
from tests.own_steps import REPLACE, Rows, doubled, seen

TOTAL = dp.clamp(0, 3) >> dp.sum()
COUNT = dp.count() >> dp.laplace(epsilon=1)
QUIET = dp.laplace(scale=1e-9)
"""Noise that shows the exact value: to look at the sample."""


@pytest.mark.parametrize(
    "make", [list, np.array, lambda rows: dp.Blocks(lambda: [rows[:2], rows[2:]])]
)
def test_each_set_of_so_many_rows_is_as_likely(make):
    """Six standard deviations; the seed is fixed."""
    powers = [1.0, 2.0, 4.0, 8.0, 16.0]
    space = dp.records(size=5, metric=REPLACE)
    made = space >> dp.sample(0.35, dp.clamp(0, 16) >> dp.sum() >> QUIET)
    entropy = InsecureSeededEntropy(3)
    rows = space.domain.to_internal(make(powers))
    releases, expected = 1600, {sum(each) for each in combinations(powers, 2)}
    found = Counter(round(float(made.function(rows, entropy)[0])) for _ in range(releases))
    assert set(found) == expected
    spread = (releases * 0.1 * 0.9) ** 0.5
    assert all(abs(count - releases / 10) < 6 * spread for count in found.values())


def test_a_table_of_a_public_number_of_rows_is_sampled_by_its_rows():
    space = dp.records(columns=["key", "x"], size=6, metric=REPLACE)
    table = {"key": ["a", "b", "a", "b", "a", "b"], "x": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]}
    counts = dp.by("key", ["a", "b"], dp.count() >> dp.laplace(scale=1e-9))
    for _ in range(20):
        assert sum((space >> dp.sample(0.5, counts))(table).values()) == 3
    with pytest.raises(dp.DataError, match="rows"):
        (space >> dp.sample(0.5, counts))({name: column[:5] for name, column in table.items()})
    assert "3 of the 6 rows" in (space >> dp.sample(0.5, counts)).explain()


def test_a_fixed_size_is_refused_of_rows_on_other_machines():
    dask = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    rows = dask.from_array(np.arange(6.0), chunks=2)
    numbers = dp.records(size=6, metric=REPLACE) >> dp.sample(0.5, TOTAL >> QUIET)
    table = dp.records(columns=["x"], size=6, metric=REPLACE) >> dp.sample(
        0.5, dp.select("x") >> TOTAL >> QUIET
    )
    frame = frames.from_pandas(pd.DataFrame({"x": np.arange(6.0)}), npartitions=2)
    for pipeline, data in ((numbers, rows), (table, frame)):
        with pytest.raises(dp.DataError, match="leave out size and metric"):
            pipeline(data)


def test_samples_of_a_fixed_size_compose_by_their_curves():
    """A thousandth of the sum of their epsilons, and never below a single one."""
    space = dp.records(size=1000, metric=REPLACE)
    one = dp.sample(0.01, dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1))
    many = space >> dp.compose([one] * 100)
    alone = (space >> one).epsilon(1e-6)
    assert alone < many.epsilon(1e-6) < 10 * alone


@pytest.mark.parametrize("named", [False, True], ids=["numbers", "table"])
@pytest.mark.parametrize("size", [0, 1, 2, 70, 5000])
def test_every_container_gives_the_same_sample(named, size):
    """By a seed: the same rows are chosen, however the data is cut or held."""
    data = np.random.default_rng(size).uniform(0, 100, (size, 2))
    names = ["age", "visits"] if named else None
    pick = dp.select("visits") if named else dp.clamp(0, 100)
    inner = dp.compose(
        pick >> dp.clamp(0, 100) >> dp.sum() >> QUIET, pick >> dp.count() >> dp.laplace(epsilon=100)
    )
    made = dp.records(columns=names or 2) >> dp.sample(0.3, inner)
    first, n = made.insecure_release(data, seed=1).value
    if size > 100:
        assert abs(n - 0.3 * size) < 6 * (0.21 * size) ** 0.5
        assert 0.3 * size * 40 < first[-1] < 0.3 * size * 60
    for name, container in containers(data, names):
        other, m = made.insecure_release(container, seed=1).value
        assert (name, m) == (name, n)
        assert np.array_equal(other, first)


def test_sparse_matrices_stay_sparse():
    data = np.random.default_rng(0).uniform(0, 3, (400, 5)) * (np.arange(2000).reshape(400, 5) % 3)
    inner = dp.clamp(0, 3) >> dp.sum() >> QUIET
    made = dp.records(columns=5) >> dp.sample(0.5, inner)
    dense, thin = (made.insecure_release(each, 3).value for each in (data, sparse.csr_array(data)))
    assert np.array_equal(dense, thin)
    shift = dp.center(1) >> inner
    with pytest.raises(dp.DataError, match="center would write out the zeros"):
        (dp.records(columns=5) >> dp.sample(0.5, shift))(sparse.csr_array(data))


def test_blocks_are_read_once_and_may_be_filled_anew():
    opened = []

    def blocks() -> Iterable[np.ndarray]:
        opened.append(1)
        held = np.empty((10, 1))
        for number in range(20):
            held[:] = number
            yield held

    def twice(ask):
        query = dp.clamp(0, 19) >> dp.sum() >> QUIET
        return [float(ask(query)[0]) for _ in range(3)]

    program = dp.adaptive(twice, dp.epsilon(10**12))
    first, second, third = dp.sample(0.5, program)(dp.Blocks(blocks))
    assert len(opened) == 1
    assert first == pytest.approx(second)
    assert first == pytest.approx(third)
    assert 600 < first < 1300


@pytest.mark.parametrize("data", [[1.0] * 400, {"x": [1.0] * 400}], ids=["numbers", "table"])
def test_one_sample_for_all_within_and_another_for_the_next(data):
    look = dp.count() >> dp.laplace(epsilon=100)
    pair = dp.sample(0.5, dp.compose(look, look))
    apart = dp.compose(dp.sample(0.5, look), dp.sample(0.5, look))
    space = dp.table() if isinstance(data, dict) else dp.records()
    releases = [(space >> pair)(data) for _ in range(20)]
    assert all(abs(one - other) <= 1 for one, other in releases)
    assert len({one for one, _ in releases}) > 5
    assert sum(abs(one - other) > 2 for one, other in [(space >> apart)(data) for _ in range(20)])
    assert apart.map(1) == pytest.approx(2 * log1p(0.5 * expm1(100)))
    assert pair.map(1) == pytest.approx(log1p(0.5 * expm1(200)))


def test_steps_before_are_done_before():
    """A row that a step before makes of a row has a coin of its own, as the map says."""

    @dp.stage
    def repeated(space: Rows) -> dp.Transformation[Rows, Rows]:
        return attrs.evolve(space >> doubled(), function=Map(Repeat()))

    look = dp.count() >> dp.laplace(epsilon=100)
    made = repeated() >> dp.sample(0.5, look)
    found = [made([1.0]) for _ in range(200)]
    assert sum(each == 1 for each in found) > 60
    assert made.map(1) == pytest.approx(
        2 * dp.sample(0.5, dp.count() >> dp.laplace(epsilon=50)).map(1)
    )


@dp.stage
def once(space: Rows) -> dp.Transformation[Rows, Rows]:
    """Keeps the values that occur once: a row that comes lets another go."""

    def keep(rows):
        values, counts = np.unique(np.asarray(rows), return_counts=True)
        return values[counts == 1]

    return dp.Transformation(
        space,
        dp.Space(space.domain, space.metric, unit=space.unit),
        keep,
        lambda distance: distance,
    )


@pytest.mark.parametrize("within", [lambda part: part, lambda part: dp.sample(1, part)])
def test_a_row_that_comes_may_go_in_another_release(within):
    """Between {x} and {x, x}. Counts by each direction alone would say two thirds of this delta.

    A sample of all rows has the curve of what is within: there other rows may come and go as well.
    """
    look = dp.count() >> dp.laplace(epsilon=6)
    both = dp.compose(dp.sample(0.01, look), within(once() >> dp.sample(0.1, look)))

    def law(rate, rows):
        found = np.zeros(41)
        for hits, share in enumerate(binom.pmf(range(rows + 1), rows, rate)):
            found += share * np.tanh(3) * np.exp(-6 * abs(np.arange(-20, 21) - hits))
        return found

    more, less = (
        np.outer(law(0.01, one), law(0.1, other)).reshape(1, -1) for one, other in ((2, 0), (1, 1))
    )
    for epsilon in (1.0, 2.0, 3.7):
        true = max(hockey_stick(more, less, epsilon), hockey_stick(less, more, epsilon))
        assert true <= both.delta(epsilon) * (1 + 1e-9)
    # Read by all parts in the same way, the rows come or go in all of them.
    alike = dp.compose([dp.sample(0.1, look)] * 20)
    apart = dp.compose([dp.clamp(0, 1) >> dp.sample(0.1, look)] * 20)
    nested = dp.compose([dp.compose(dp.sample(0.1, look), dp.sample(0.1, look))] * 10)
    assert alike.epsilon(1e-6) < 0.98 * apart.epsilon(1e-6)
    assert nested.epsilon(1e-6) == pytest.approx(apart.epsilon(1e-6), rel=1e-6)


class Repeat:
    """Makes two rows of each."""

    def __call__(self, rows):
        return np.repeat(rows, 2, axis=0)


PEOPLE = dp.records(columns=["id", "visits"], person="id")


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_people_come_with_all_of_their_rows(blocks, text):
    """Rows without an id are left out."""
    ids = [n % 300 for n in range(1200)] + [None] * 50
    each = [None if n is None else f"p{n}" for n in ids] if text else ids
    table = {"id": np.array(each, dtype=object), "visits": [4.0] * 1250}
    if blocks:
        cuts = [0, 100, 101, 700, 1250]
        pieces = [{key: value[a:b] for key, value in table.items()} for a, b in pairwise(cuts)]
        data = dp.Blocks(lambda: iter(pieces), columns=None)
    else:
        data = table
    look = dp.compose(
        dp.bound_contributions(9) >> dp.select("visits") >> dp.count() >> dp.laplace(epsilon=900),
        dp.bound_contributions(1) >> dp.select("visits") >> dp.count() >> dp.laplace(epsilon=100),
    )
    for _ in range(5):
        rows, people = (PEOPLE >> dp.sample(0.4, look))(data)
        assert abs(rows - 4 * people) <= 3
        assert abs(people - 120) < 6 * 72**0.5


def test_the_loss_of_a_person_is_that_of_one_coin():
    inner = dp.bound_contributions(5) >> dp.select("visits") >> dp.count() >> dp.laplace(epsilon=1)
    inside, outside = PEOPLE >> dp.sample(0.1, inner), log1p(0.1 * expm1(1))
    assert inside.map(1) == pytest.approx(outside)
    assert inside.neighbours() == "adding or removing one person"
    after = dp.bound_contributions(5) >> dp.select("visits") >> dp.sample(0.1, COUNT)
    five = (PEOPLE >> after).map(1)
    assert five == pytest.approx(min(5 * log1p(0.1 * expm1(0.2)), log1p((1 - 0.9**5) * expm1(1))))
    assert five < inside.map(1)


def test_filters_before_and_within_are_the_same_rows():
    table = {"age": np.arange(1000.0), "x": np.ones(1000)}
    look = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> QUIET
    before = dp.keep("age", between=(0, 499)) >> dp.sample(0.5, look)
    within = dp.sample(0.5, dp.keep("age", between=(0, 499)) >> look)
    picked = dp.keep("age", between=(0, 499)) >> dp.select("x") >> dp.sample(0.5, COUNT)
    pieces = dp.Blocks(
        lambda: iter(
            [{k: v[:300] for k, v in table.items()}, {k: v[300:] for k, v in table.items()}]
        ),
        columns=None,
    )
    for data in (table, pieces):
        for made in (before, within, picked):
            found = (dp.table() >> made)(data)
            assert abs(float(np.ravel(found)[0]) - 250) < 6 * 125**0.5 + 30


def test_groups():
    table = {"sex": ["f", "m"] * 2000, "x": np.ones(4000)}
    mean = dp.select("x") >> dp.mean(0, 2, epsilon=1, confidence=None)
    made = [
        dp.by("sex", ["f", "m"], dp.sample(0.5, mean)),
        dp.sample(0.5, dp.by("sex", ["f", "m"], mean)),
    ]
    for each in made:
        assert each.map(1) == pytest.approx(log1p(0.5 * expm1(1)))
        found = each(table)
        assert all(0.8 < found[key] < 1.2 for key in ("f", "m"))


def test_a_resize_within_is_of_the_sample():
    inner = dp.clamp(0, 1) >> dp.resize(100, fill=0) >> dp.sum() >> dp.laplace(epsilon=1)
    assert dp.sample(0.1, inner).map(1) == pytest.approx(log1p(0.1 * expm1(inner.map(1))))
    assert abs(dp.sample(0.1, inner)([1.0] * 500)[0] - 50) < 80


def test_rate_one_is_the_pipeline_itself():
    for inner in (COUNT, dp.count() >> dp.gaussian(epsilon=1, delta=1e-6)):
        made = dp.sample(1, inner)
        assert made.loss(0) == inner.loss(0)
        for rows in (1, 2, 7):
            assert made.loss(rows) == inner.loss(rows)
            assert made.privacy_profile(rows) == inner.privacy_profile(rows)
    assert abs(dp.sample(1, dp.count() >> dp.laplace(epsilon=100))([1.0] * 50) - 50) <= 1


def test_what_explain_says():
    text = dp.sample(0.1, COUNT).explain()
    assert "each row is in a secret sample with probability 0.1" in text
    assert "intervals are for the sample" in text
    person = dp.sample(0.1, dp.bound_contributions(2) >> COUNT)
    assert "each person is in a secret sample" in (PEOPLE >> person).explain()


def test_a_rational_rate_is_taken_exactly():
    made = dp.sample(Fraction(1, 3), COUNT)
    assert made == dp.from_json(made.to_json())
    assert exp(made.map(1)) == pytest.approx(1 + expm1(1) / 3)


module = import_module("opendp_lite.combinators.sampling")

SUMMED = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=0.5)
MEDIAN = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=1, confidence=None)
Groups = tuple[float, ...]


def law(data: list[float], group: int, monkeypatch, space) -> Counter[Groups]:
    """How many of all orders give each multiset of groups."""
    bound = space >> dp.combinators.on_random_pairs(seen(), group)
    counts: Counter[Groups] = Counter()
    for order in permutations(range(len(data))):
        monkeypatch.setattr(module, "_shuffle", lambda count, e, o=order: np.array(o, np.intp))
        counts[tuple(sorted(materialise(bound(data)).ravel().tolist()))] += 1
    return counts


def best_coupling(first: Counter[Groups], second: Counter[Groups], distance, most: int):
    """The largest probability with which a coupling keeps the multisets within a distance."""
    one, two = list(first), list(second)
    near = [
        (i, j)
        for i, a in enumerate(one)
        for j, b in enumerate(two)
        if 0 <= distance(np.array(a)[:, None], np.array(b)[:, None]) <= most
    ]
    bounds = np.concatenate([np.array([*law.values()]) / law.total() for law in (first, second)])
    constraints = np.zeros((len(bounds), len(near)))
    for column, (i, j) in enumerate(near):
        constraints[i, column] = constraints[len(one) + j, column] = 1
    return -linprog(-np.ones(len(near)), A_ub=constraints, b_ub=bounds).fun


def couple(first: list[float], second: list[float], group: int, monkeypatch, most: int):
    """The largest probability with which groups of two datasets are within a distance."""
    sized = len(first) == len(second)
    space = dp.records(size=len(first), metric=REPLACE) if sized else dp.records()
    distance = change_one_distance if sized else symmetric_distance
    one, two = (law(data, group, monkeypatch, space) for data in (first, second))
    return best_coupling(one, two, distance, most)


PAIRED = [0.0, 1.0, 4.0, 9.5, 17.3, 28.9]
TIED = [0.0, 0.0, 1.0, 1.0, 1.0, 7.0]
COUPLED = [
    *(
        (rows[:n], rows[: n + 1], group, 2)
        for rows in (PAIRED, TIED)
        for group in (1, 2)
        for n in range(1, 6)
    ),
    *((PAIRED[:4], PAIRED, group, 4) for group in (1, 2)),
    *((PAIRED[:n], [*PAIRED[: n - 1], 99.0], group, 1) for group in (1, 2) for n in (4, 5)),
]


@pytest.mark.parametrize(("first", "second", "group", "most"), COUPLED, ids=str)
def test_one_row_more_replaces_one_group_or_adds_one(first, second, group, most, monkeypatch):
    """Two rows more move at most four groups, and one replaced replaces one."""
    assert couple(first, second, group, monkeypatch, most) == pytest.approx(1, abs=1e-9)


def test_a_distance_of_one_would_be_too_little_where_a_row_is_added(monkeypatch):
    assert couple(PAIRED[:4], PAIRED[:5], 1, monkeypatch, 1) < 0.5


def test_the_loss_is_that_of_two_rows_where_one_is_added():
    assert [dp.combinators.on_random_pairs(SUMMED).map(d) for d in (1, 2, 3)] == [0.5, 2.0, 4.5]
    replaced = dp.records(size=8, metric=REPLACE) >> dp.combinators.on_random_pairs(SUMMED)
    assert [replaced.map(d) for d in (1, 2)] == [0.5, 2.0]
    fixed = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1)
    assert dp.combinators.on_random_pairs(fixed).map(1) == 4 * fixed.map(1)
    assert dp.combinators.on_random_pairs(dp.combinators.on_random_pairs(fixed)).map(
        1
    ) == 16 * fixed.map(1)
    resized = dp.clamp(0, 1) >> dp.resize(8, fill=0) >> dp.combinators.on_random_pairs(fixed)
    assert resized.map(1) == fixed.map(1)
    searched = dp.estimators.quantile_by_search(0.5, 0, 1, rho=0.1)
    assert dp.combinators.on_random_pairs(searched).map(1) == 0.1


@pytest.mark.parametrize("group", [1, 2, 3, 8, 9, 40])
def test_a_group_has_the_same_bits_among_any_number_of_others(group, monkeypatch):
    """Else one row more would change many groups."""
    monkeypatch.setattr(module, "_shuffle", lambda count, entropy: np.arange(count))
    generator = np.random.default_rng(group)
    odd = [np.inf, -np.inf, 1e200, -1e200, 1.0]
    bound = dp.records(columns=2) >> dp.combinators.on_random_pairs(seen(), group)
    rows = generator.normal(size=(37 * 2 * group, 2))
    rows[::3] = generator.choice(odd, rows[::3].shape)
    alone = [materialise(bound(part)) for part in np.split(rows, 37)]
    assert materialise(bound(rows)).tobytes() == np.concatenate(alone).tobytes()


@pytest.mark.parametrize("data", [[], [1.0], [np.nan] * 4, [np.inf, -np.inf], [1e308, -1e308] * 3])
def test_any_data_is_released_alike(data):
    for mechanism in (SUMMED, MEDIAN):
        assert np.isfinite(dp.combinators.on_random_pairs(mechanism, 2)(data)).all()


@pytest.mark.parametrize("group", [1, 2, 4, 8, 16])
def test_the_median_of_groups_is_that_of_chi_squared(group):
    exact = chi2.ppf(0.5, group) / group
    assert median_of_mean_square(group) == pytest.approx(exact, rel=2e-3)
    data = np.random.default_rng(group).normal(5, 3, 20_000)
    median = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=100, confidence=None)
    found = dp.combinators.on_random_pairs(median, group).insecure_release(data, seed=1).value
    assert found / 9 == pytest.approx(exact, rel=0.06)


def test_each_column_keeps_its_own_bounds():
    """With the widest for all, the narrow column would pay for the wide one."""
    space = (dp.records(columns=2) >> dp.clamp([0, -5], [1, 5])).output_space
    assert module._of_groups(space, 2).domain.body == dp.bodies.Box(0, [0.5, 50])


def test_no_epsilon_below_the_least_delta_of_a_sample_is_a_refusal():
    """A search for one never ended."""
    known = dp.by("g", dp.count() >> dp.laplace(epsilon=3), epsilon=6, delta=1e-6)
    sampled = dp.table() >> dp.sample(0.5, known)
    for asked in (sampled.epsilon, sampled.statement):
        with pytest.raises(dp.ParameterError, match=r"at delta = 0.09; give a delta of 0.96875 or"):
            asked(d_in=5, delta=0.09)
    with pytest.raises(dp.ParameterError, match=r"give a delta above 0.96875$"):
        sampled.odds(1e-6, 5)
