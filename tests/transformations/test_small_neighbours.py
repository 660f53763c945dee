"""Every stability map against all small neighbours: it is never passed, and it is met.

A dataset is run once, and all pairs of results are compared, so that few runs give many pairs. How
far two datasets lie apart is known from the rows that they are made of. Nothing is rounded: sums
are whole numbers of steps, and rows are compared by their bits.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.spaces.space import examples_of, row_metric, rows_in
from opendp_lite.spaces.tables import PersonTables
from opendp_lite.testing.datasets import USUAL, row_numbers
from opendp_lite.testing.stable import _Case, _recipe, constants
from opendp_lite.transformations.entries import outer_products
from tests.public_names import STEPS, returned

MOST = 3
"""So many rows are added to a base, or replaced; and so far apart are the furthest neighbours."""
LETTERS = 9
RELATIONS = ({}, {"size": 50, "metric": dp.ChangeOneDistance()})


def choose_rows(bound) -> np.ndarray:
    """The rows that datasets are made of: corners, axes and diagonals, 0, NaN, numbers in code."""
    body = bound.input_space.domain.body
    ends = body.bounds() or ([-1e305], [1e305])
    low, high = (np.resize([float(each) for each in end], body.columns) for end in ends)
    middle, odd = np.clip(0.0, low, high), np.arange(body.columns) % 2 == 1
    rows = [low, high, middle, np.full(body.columns, nan)]
    rows += [np.where(odd, low, high), np.where(odd, high, low)]
    axes = np.eye(body.columns, dtype=bool)[:3]
    along = [np.where(axis, end, middle) for axis in axes for end in (high, low)]
    mentioned = {1.0, *set(constants(_recipe(bound), bound.function)).difference(USUAL)}
    spoken = [np.full(body.columns, each) for each in sorted(mentioned, key=abs)[:4]]
    rows += spoken[:2] + along[:2] + spoken[2:] + along[2:]
    if body.radii() is not None:
        diagonal = float(body.radii().of(2)) / body.columns**0.5 * (1 - 2.0**-50)
        rows += [np.full(body.columns, diagonal), np.where(odd, -diagonal, diagonal)]
    table = np.array(rows)
    table = table[body.contains(table)]
    return table[np.sort(np.unique(row_numbers(table), return_index=True)[1])][:LETTERS]


def make_datasets(space, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """How often each row stands in a dataset, and the dataset: all of at most ``MOST`` rows.

    Where their number is public, so many rows of it; the others are equal to the first.
    """
    size = space.domain.size
    most = min(MOST, MOST if size is None else size)
    base = np.repeat(rows[:1], 0 if size is None else size - most, axis=0)
    for count in range(most + 1) if size is None else (most,):
        for chosen in combinations_with_replacement(range(len(rows)), count):
            places = np.array(chosen, dtype=np.int64)
            yield np.bincount(places, minlength=len(rows)), np.concatenate([base, rows[places]])


def measure_distances(space, counts: np.ndarray) -> np.ndarray:
    """How far each dataset lies from each other one, of which the rows are counted."""
    gaps = counts[:, None] - counts
    if row_metric(space).fixed_size:
        return np.maximum(gaps.clip(0).sum(axis=-1), (-gaps).clip(0).sum(axis=-1))
    return np.abs(gaps).sum(axis=-1)


def count_rows(tables: list[np.ndarray]) -> np.ndarray:
    """How often each row, by its bits, stands in each table."""
    numbers = row_numbers(np.concatenate(tables))
    parts = np.split(numbers, np.cumsum([len(table) for table in tables])[:-1])
    return np.array([np.bincount(part, minlength=numbers.max(initial=0) + 1) for part in parts])


def compare_results(bound):
    """The furthest that neighbours at 1, 2 and 3 move apart, and how far they are said to."""
    rows, case = choose_rows(bound), _Case(bound, bound, 0)
    counts, tables = zip(*make_datasets(bound.input_space, rows), strict=True)
    apart = measure_distances(bound.input_space, np.array(counts))
    results = [case.run(table) for table in tables]
    domain = bound.output_space.domain
    of_rows = isinstance(domain, dp.Rows)
    if of_rows:
        assert all(domain.body.contains(each).all() for each in results)
        images = measure_distances(bound.output_space, count_rows(results))
    else:
        unit = Fraction(2) ** (domain.exponent or 0)
        images = np.array([each.tolist() for each in results], dtype=object)
    for distance in range(1, MOST + 1):
        first, second = np.nonzero(np.triu(apart == distance))
        claimed = case.claim(distance)
        if not len(first):
            continue
        if of_rows:
            yield [images[first, second].max()], [claimed]
            continue
        gaps = np.abs(images[first] - images[second])
        sums = gaps.sum(axis=1).max() * unit, (gaps**2).sum(axis=1).max() * unit**2
        yield [*sums, gaps.max() * unit], [claimed.l1, claimed.l2_squared, claimed.linf]


def check(bound, slack: Fraction) -> None:
    """No pair passes the map, and at each distance some pair nearly meets it."""
    found = list(compare_results(bound))
    assert found
    for number, (reached, claimed) in enumerate(found):
        for true, claim, power in zip(reached, claimed, (1, 2, 1), strict=False):
            assert claim is None or true <= claim
            assert claim is None or number or claim <= true * slack**power


EXAMPLES = {
    f"{path}-{number}": (each, public)
    for path, public in STEPS.items()
    if returned(public) is dp.Transformation
    for number, each in enumerate(examples_of(public))
    if not isinstance(each.space.domain, PersonTables)
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_maps_of_examples_hold_and_are_met(name):
    given, step = EXAMPLES[name]
    bound = given.space >> step(*given.args, **given.kwargs)
    check(bound, LOOSE if name in LOOSE_EXAMPLES else TIGHT)


TIGHT, NEAR, LOOSE = Fraction(100_001, 100_000), Fraction(8, 5), Fraction(4)
"""A map twice as large as the true one is seen where it is met or nearly so."""
LOOSE_EXAMPLES = {"dp.bound_contributions-2", "dp.combinators.group_by-0", "dp.sum-1"}
features, below = dp.transformations.basis_features, dp.transformations.indicator_below
pairs, rotated = dp.transformations.weighted_pairs, dp.transformations.random_rotation
prefixes, blocks = dp.transformations.prefix_features, dp.transformations.block_counts
magnitudes, summed = dp.transformations.magnitude_counts, dp.sum()
ball, diamond, positive = dp.clip_to_norm(2), dp.clip_to_norm(2, p=1), dp.clamp(0, 9)
box, products = dp.clamp([0, -1, 2], [1, 1, 2.5]), outer_products()
MET = {
    1: [
        dp.clamp(-1, 3),
        dp.clamp(-1e200, 1e200),
        dp.clamp(1e-200, 2e-200),
        dp.center(0.3),
        dp.scale(-0.1),
        dp.impute(7),
        dp.clamp(-2, 5) >> dp.resize(6),
        dp.clamp(-3, 2) >> dp.transformations.square(),
        dp.clamp(-1e200, 1e200) >> dp.transformations.norm(p=1),
        below(0.5),
        *[magnitudes(-2, 3), magnitudes(-3, 4, bits=2)],
        *[step(-1, 2, cells=cells) for step in (prefixes, blocks) for cells in (1, 2)],
        blocks(-1, 2, cells=40),
        *[
            step >> summed
            for step in (
                dp.clamp(-1, 3),
                dp.clamp(0, 10) >> dp.center(5),
                dp.clamp(0.1, 0.3) >> dp.scale(-7.7),
                dp.clamp(-2, 5) >> dp.simplex_augment(),
                dp.clip_to_norm(3) >> dp.center(1),
                dp.impute(2) >> dp.clamp(0, 1),
                dp.clamp(-3, 2) >> dp.transformations.square(),
                dp.clamp(-2, 5)
                >> dp.center(1.5)
                >> dp.transformations.square()
                >> dp.center(6.125),
                dp.clamp(-3, 2) >> dp.transformations.absolute(),
                dp.clip_to_norm(0.7) >> dp.center(-0.3) >> dp.transformations.absolute(),
                below(-1e-310),
                dp.clamp(0, 10) >> dp.select([0, 0]),
                dp.one_hot([0, 1, 2]),
                dp.one_hot([1, None]),
                dp.one_hot([-2, -1, 0, 1, 2]),
                dp.bins([0, 1, 2.5]),
                dp.bins([-1e300, 0, 5e-324], other=True),
                features(dp.bases.Hadamard(16, -1, 1)),
                features(dp.bases.MutuallyUnbiased(5, 0, 1, bases=6)),
            )
        ],
    ],
    2: [
        pairs(-1, 3, most=2),
        pairs(-1, 3, most=2) >> summed,
        pairs(-1e50, 1e-50, most=1e40) >> summed,
    ],
    3: [
        *[
            box,
            ball,
            ball >> dp.impute(7),
            below([0, -1, 1e308]),
            products,
            dp.clamp(-1, 2) >> dp.transformations.norm(),
        ],
        *[
            step >> summed
            for step in (
                dp.clamp(0, 1) >> dp.select([1, 1]),
                box,
                box >> dp.transformations.absolute(),
                positive >> dp.clip_to_norm(9, p=1) >> dp.simplex_augment(),
                dp.transformations.norm(p=1) >> dp.clamp(0, 3),
                dp.clamp(1, 2) >> dp.transformations.norm(),
                ball >> dp.transformations.norm(),
                diamond >> dp.transformations.norm(p=1),
            )
        ],
    ],
}
"""Steps whose maps some neighbours meet, by the columns of their rows."""
NEARLY_MET = {
    1: [
        features(dp.bases.Cosine(5, 0, 1)),
        features(dp.bases.Legendre(7, 0, 100)),
        features(dp.bases.Chebyshev(3, -1, 1)),
        features(dp.bases.Hermite(6, middle=0, scale=1e-3)),
        features(dp.bases.Laguerre(3, scale=1e5)),
        features(dp.bases.Haar(8, 0, 1)),
        features(dp.bases.Fourier(3, 0, 1)) >> dp.select([1, 0]),
    ],
    3: [
        ball,
        diamond,
        *[each >> dp.transformations.absolute() for each in (ball, diamond)],
        positive >> ball,
        positive >> ball >> dp.select([2, 0]),
        positive >> dp.scale([1, 0.1, 3]) >> diamond,
        positive >> dp.center(3) >> ball >> products,
        ball >> dp.transformations.square(),
        ball >> dp.center([1, 2, 3]) >> dp.transformations.norm(),
        ball >> products,
        rotated(2) >> ball,
        ball >> rotated(2),
    ],
}
NOT_MET = {
    1: [
        dp.one_hot([0.5], other=True),
        dp.one_hot([0, 1, 2]) >> dp.scale(-2),
        features(dp.bases.Fourier(4, -2, 0.1)),
        features(dp.bases.Daubechies(8, 0, 1)),
        *[
            features(dp.bases.Fourier(3, 0, 1)) >> after
            for after in (
                dp.scale(-0.3),
                dp.center(0.7),
                dp.transformations.absolute(),
                dp.transformations.norm(),
            )
        ],
    ],
    3: [
        ball >> dp.scale([1, 2, 300]),
        positive >> ball >> dp.scale([1, 2, 300]),
        positive >> ball >> dp.center([1, -2, 0]),
        ball >> dp.resize(7, fill=0),
        diamond >> dp.impute(7) >> dp.clamp(-9, 9) >> ball,
        diamond >> dp.center([1, -2, 0]),
        diamond >> dp.select([0, 2, 0]),
        dp.clip_to_norm(1e90) >> products,
        dp.clamp(-1, [1, 2, 300]) >> products,
        ball >> products >> dp.scale([1, -2, 3, 4, 5, 6]),
        ball >> products >> dp.center([1, 0, 0, 2, 0, 1]),
        ball >> products >> dp.select([0, 4]),
    ],
}
"""Steps whose sums move less than their maps say, for these few rows."""
NAMED = [dp.keep("a", between=(-1, 1)), dp.keep("a", among=[0, 1, None]), dp.keep("b", among=[2.5])]
IN_BODIES = [
    (dp.bodies.Simplex(0.3, columns=3), dp.simplex_augment()),
    (dp.bodies.Simplex(1, columns=4), dp.clamp(0, 0.75)),
    (dp.bodies.Simplex(1, columns=4), dp.clip_to_norm(0.9)),
    (dp.bodies.NonNegativeBall(1, p=1, columns=4), dp.clamp(-1, 0.5)),
    (dp.bodies.Ball(1, p=1, columns=4), dp.clamp(-0.75, 1)),
    (dp.bodies.Ball(1, columns=3), dp.clamp(-1, 0.5)),
]


def list_cases():
    for given in RELATIONS:
        for columns, stages in MET.items():
            yield from ((dp.records(columns=columns, **given), each, TIGHT) for each in stages)
        for table, slack in ((NEARLY_MET, NEAR), (NOT_MET, LOOSE)):
            for columns, stages in table.items():
                space = dp.records(columns=columns, **given)
                yield from ((space, each >> summed, slack) for each in stages)
        named = dp.records(columns=["a", "b"], **given)
        yield from ((named, each, LOOSE) for each in NAMED)
        for body, each in IN_BODIES:
            yield rows_in(body, given.get("size")), each >> summed, LOOSE


CASES = {f"{space!r} >> {stage!r}": (space, stage, slack) for space, stage, slack in list_cases()}


@pytest.mark.parametrize("name", CASES)
def test_maps_hold_and_are_met(name):
    space, stage, slack = CASES[name]
    check(space >> stage, slack)


@pytest.mark.parametrize("name", [each for each in CASES if "size=" not in each][::4])
def test_results_are_those_of_rows_wherever_they_come_from(name):
    """In every container, in blocks and in threads; large and wild rows among them.

    Every fourth chain: each of their steps has examples, which tests/test_steps.py tries so.
    """
    space, stage, _ = CASES[name]
    dp.assert_stable(stage, space, trials=6)
