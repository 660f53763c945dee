"""Every estimator on every kind of data: a release, in its bounds, of one shape and type."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import opendp_lite as dp
from opendp_lite.estimators.parts.bounds_search import FARTHEST as FARTHEST_BOUND
from tests.estimators import cases

E = dp.estimators


def datasets(rows: int, columns: int):
    """Tables of one number, of extremes, of wild numbers and of plain ones."""
    generator = np.random.default_rng(rows)
    shape = (rows,) if columns == 1 else (rows, columns)
    sign = generator.choice([-1.0, 1.0], shape)
    return [
        *(np.full(shape, x) for x in (0.0, 1.0, 7.0, np.nan, np.inf, -np.inf, 5e-324, 1e308)),
        *(sign * x for x in (np.inf, 1e308)),
        generator.choice(cases.WILD, shape),
        generator.normal(1, 2, shape),
    ]


def check(case: cases.Case, release, columns: int, asked) -> None:
    """All numbers are finite and in the bounds, of the types that they have for other data."""
    for part in release if isinstance(release, tuple | dp.releases.Estimates) else [release]:
        if asked.get("confidence"):
            assert type(part) is dp.Estimate
            low, high = part.interval
            numbers = part.value, part.standard_error, low, high, part.rows or 0
            if (low, high) == (-np.inf, np.inf):
                # What a search without bounds says of rows that tell it nothing.
                assert part.standard_error == np.inf
                assert case.low == -FARTHEST_BOUND <= part.value <= case.high
                assert part.rows is None or part.rows >= 0
                assert (part.confidence, part.sampling) == (0.95, asked.get("sampling", False))
                continue
            assert all(type(number) in (float, int) and np.isfinite(number) for number in numbers)
            assert case.low <= low <= part.value <= high <= case.high
            assert 0 <= part.standard_error <= case.high - case.low
            assert numbers[-1] >= 0
            assert (part.confidence, part.sampling) == (0.95, asked.get("sampling", False))
            continue
        if case.is_array or (case.is_array is None and columns > 1):
            assert (part.shape, part.dtype) == ((columns,), np.float64)
        else:
            assert type(part) is float
        assert np.isfinite(part).all()
        assert np.min(part) >= case.low
        assert np.max(part) <= case.high
        assert np.sum(part) <= case.total


@pytest.mark.parametrize("name", cases.EVERY)
def test_any_data(name):
    """Each loss, with all that may be asked for; the kinds of data take turns."""
    case, turn = cases.EVERY[name], 0
    for loss in case.losses:
        for asked in case.asked:
            for where in case.where:
                shapes = case.shapes[turn % 2 :: 2] if case.asked is cases.ASKED else case.shapes
                for rows, columns in shapes:
                    if where == cases.REPLACED and not rows:
                        continue
                    space = cases.space_of(columns, None if where == cases.ADDED else rows)
                    kinds = datasets(rows, columns)
                    found = (space >> case.make(**loss, **asked))(kinds[turn % len(kinds)])
                    check(case, found, columns, asked)
                    turn += 1


@pytest.mark.parametrize("name", [name for name in cases.EVERY if name.startswith("binary")])
def test_sparse_rows_of_any_data(name):
    for loss in cases.EVERY[name].losses:
        bound = cases.space_of(20, 7) >> cases.EVERY[name].make(**loss)
        for data in datasets(7, 20):
            check(cases.EVERY[name], bound(sp.csr_array(data)), 20, {})


def test_private_bounds_of_any_data_are_in_order():
    for data in datasets(3000, 1):
        lower, upper = dp.private_bounds(0.9, rho=2)(data)
        assert lower < upper


def bind_middle(case: cases.Case, rows: int) -> dp.Measurement:
    """With a loss of the middle, for so many rows."""
    columns = case.shapes[-1][1]
    size = None if case.where[0] == cases.ADDED else rows
    return cases.space_of(columns, size) >> case.make(**case.losses[len(case.losses) // 2])


FAR = tuple(f"{radius:g}" for radius in cases.RADII[::2])
SHUFFLED = ("pairs", "groups", "plan_mean", "private_bounds", "unbounded_mean, sized")
IN_ORDER = [
    name
    for name in cases.EVERY
    if not any(each in name for each in SHUFFLED)
    and not (name.endswith(FAR) and name.startswith(tuple(cases.PROGRAMS)))
]
"""Estimators that do not bring the rows into a random order, and need no thousand of them."""


@pytest.mark.parametrize("name", IN_ORDER)
def test_rows_in_another_order_or_container_come_to_the_same(name):
    """Seeded: a release by anybody who has the seed."""
    bound, columns = bind_middle(cases.EVERY[name], 60), cases.EVERY[name].shapes[-1][1]
    rows = np.random.default_rng(5).integers(-4, 5, (60, columns)[: 1 + (columns > 1)])
    expected = bound.insecure_release(rows.astype(float), seed=3).value
    pieces = np.array_split(rows.astype(float), 7)
    cut = dp.Blocks(lambda: iter(pieces), columns=columns)
    others = [rows, rows[::-1], rows.tolist(), cut, np.asfortranarray(rows), rows.astype(np.int8)]
    for data in [*others, pd.Series(rows)] if columns == 1 else others:
        assert np.array_equal(bound.insecure_release(data, seed=3).value, expected)
    bits = rows > 0
    expected = bound.insecure_release(bits.astype(float), seed=3).value
    for data in [bits, bits.tolist()]:
        assert np.array_equal(bound.insecure_release(data, seed=3).value, expected)


@pytest.mark.parametrize(
    "name", [name for name in IN_ORDER if cases.ADDED in cases.EVERY[name].where]
)
def test_missing_rows_are_left_out(name):
    bound, columns = bind_middle(cases.EVERY[name], 60), cases.EVERY[name].shapes[-1][1]
    rows = np.random.default_rng(5).normal(1, 2, (60, columns)[: 1 + (columns > 1)])
    some = np.insert(rows, [0, 7, 7, 60], np.nan, axis=0)
    none, missing = rows[:0], rows[:9] * np.nan
    for data, same in ((some, rows), (missing, none)):
        values = [bound.insecure_release(each, seed=3).value for each in (data, same)]
        assert np.array_equal(*values)


def test_missing_rows_are_the_middle_where_their_number_is_public():
    bound = cases.space_of(1, 4) >> dp.mean(-3, 4, rho=1, confidence=None)
    found = bound.insecure_release([np.nan, 1.0, 2.0, -np.nan], seed=3).value
    assert found == bound.insecure_release([0.5, 1.0, 2.0, 0.5], seed=3).value


def between(case: cases.Case, low, high, **given) -> dp.Measurement:
    """A mean between other bounds."""
    make = partial(case.make.func, low, high, **case.make.keywords, **given)
    return (
        cases.space_of(1, 30) if case.where == (cases.REPLACED,) else cases.space_of(1)
    ) >> make()


FARTHEST = [(-1e100, 1e100), (1e-100, 2e-100), (0, 1e-100), (1e16, 1e16 + 2), (-1e100, 0)]
BEYOND = [(1e-200, 1e-199), (-1e200, 1e200), (0, 1e-300), (-1e-150, 1e-150), (0, 1.1e100)]
OF_A_COLUMN = [name for name in cases.MEANS if name != "known_size_mean"]


@pytest.mark.parametrize("bounds", FARTHEST, ids=repr)
@pytest.mark.parametrize("name", [name for name in OF_A_COLUMN if "guess" not in name])
def test_bounds_far_out(name, bounds):
    """The intervals also have a width, where floats between the bounds leave one."""
    low, high = bounds
    wide = cases.Case(None, float(low), float(high))
    for turn, loss in enumerate(cases.MEANS[name].losses):
        asked = cases.ASKED[turn % 3]
        bound = between(cases.MEANS[name], low, high, **loss, **asked)
        for data in ([], [low] * 30, [low, high] * 15):
            release = bound(data)
            check(wide, release, 1, asked)
            small = max(loss.get("rho", 0), loss.get("epsilon", 0)) <= 1
            if asked["confidence"] and small and low != 1e16:
                ends = release.interval
                assert ends[1] - ends[0] > 1e-3 * (high - low)


@pytest.mark.parametrize("bounds", BEYOND, ids=repr)
@pytest.mark.parametrize("name", OF_A_COLUMN)
def test_bounds_whose_squares_are_no_floats_are_refused(name, bounds):
    """A release would be NaN, or an exception."""
    for loss in {
        id(each): each for each in (cases.RHO[1], cases.PURE[1]) if each in cases.MEANS[name].losses
    }.values():
        with pytest.raises(dp.ParameterError, match="another unit"):
            between(cases.MEANS[name], *bounds, **loss)


def test_weights_whose_squares_are_no_floats_are_refused():
    data, asked = np.array([[0.5, 1.0]] * 9), cases.ASKED[1]
    for most in (1e-100, 1e100):
        for loss in (cases.RHO[1], cases.PURE[1]):
            bound = cases.space_of(2) >> dp.weighted_mean(0, 1, most=most, **asked, **loss)
            check(cases.Case(None, 0, 1), bound(data), 2, asked)
    for most, upper in ((1e-101, 1), (1e101, 1), (1e60, 1e60), (1e-60, 1e-60)):
        with pytest.raises(dp.ParameterError, match=r"most .*must lie between"):
            cases.space_of(2) >> dp.weighted_mean(0, upper, most=most, rho=1, confidence=None)


def test_floats_that_round_to_the_same_bound():
    low, high = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**60)
    for make in (E.recentred_mean, E.centered_mean, E.simplex_mean):
        release = make(low, high, rho=1, confidence=0.95)([0.0, 1.0])
        assert (release.value, *release.interval) == (1 / 3, 1 / 3, 1 / 3)
    with pytest.raises(dp.ParameterError, match="too close"):
        E.plug_in_mean(low, high, rho=1).map(1)


def test_no_warning_comes_from_a_value():
    """Also where numpy is told to warn of everything."""
    with np.errstate(all="warn"):
        for data in ([np.nan], [np.inf, -np.inf], [1e308] * 3, [5e-324], []):
            for asked in cases.ASKED:
                for loss in (cases.RHO[1], cases.PURE[1]):
                    check(cases.MEANS["mean"], dp.mean(-3, 4, **loss, **asked)(data), 1, asked)


@pytest.mark.parametrize("kind", ["rho", "epsilon"])
@pytest.mark.parametrize("name", OF_A_COLUMN)
def test_losses_whose_noise_has_no_square_are_refused(name, kind):
    case = cases.MEANS[name]
    if not any(each.keys() == {kind} for each in case.losses):
        return
    for loss in (1e-31, 1e31, Fraction(1, 10**400)):
        with pytest.raises(dp.ParameterError, match=f"{kind} must lie between 1e-30 and 1e30"):
            case.make(**{kind: loss}).map(1)
    for loss in (1e-30, 1e30):
        for asked in cases.ASKED:
            bound = between(case, -1e100, 1e100, **{kind: loss}, **asked)
            check(cases.Case(None, -1e100, 1e100), bound([1.0, 2.0]), 1, asked)


def test_shares_of_next_to_nothing_are_refused():
    for share in (1e-7, 1 - 1e-7, Fraction(1, 10**640)):
        for make in (E.plug_in_mean, E.centered_mean, E.resized_mean):
            with pytest.raises(dp.ParameterError, match="must leave at least 1e-06"):
                make(0, 1, rho=1, share=share).map(1)
        with pytest.raises(dp.ParameterError, match="first must leave at least 1e-06"):
            E.recentred_mean(0, 1, rho=1, first=share).map(1)


def test_rows_that_no_memory_holds_are_not_made_up():
    for loss in ({"rho": 1e-14}, {"epsilon": 1e-6}):
        with pytest.raises(dp.ParameterError, match="which fills up none"):
            E.resized_mean(0, 1, **loss).map(1)
