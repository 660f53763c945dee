"""Means of one column on every kind of data: a release, in its bounds, of one type."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp

REPLACE = dp.ChangeOneDistance()
WILD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1e-310, 1.0]
SIZES = (0, 1, 2, 40)
RHO = ({"rho": 1e-6}, {"rho": 0.5}, {"rho": 1e6}, {"epsilon": 1.0, "delta": 1e-6})
PURE = ({"epsilon": 1e-6}, {"epsilon": 0.5}, {"epsilon": 1e6})
ASKED = ({}, {"confidence": 0.95}, {"confidence": 0.95, "sampling": True})
BOTH = {
    "mean": dp.mean,
    "plug_in_mean": dp.estimators.plug_in_mean,
    "plug_in_mean, guess": partial(dp.estimators.plug_in_mean, guess=0),
    "centered_mean": dp.estimators.centered_mean,
    "centered_mean, share": partial(dp.estimators.centered_mean, share=0.75),
    "simplex_mean": dp.estimators.simplex_mean,
    "simplex_mean, extra count": partial(dp.estimators.simplex_mean, extra_count=0.2),
}
MAKES = {(name, "rho"): make for name, make in BOTH.items()}
MAKES |= {(name, "epsilon"): make for name, make in BOTH.items()}
MAKES["recentred_mean", "rho"] = dp.estimators.recentred_mean
MAKES["joint_mean", "epsilon"] = dp.estimators.joint_mean
MAKES["joint_mean, stretched", "epsilon"] = partial(dp.estimators.joint_mean, stretch=2.39)
RESIZED = {
    "resized_mean": dp.estimators.resized_mean,
    "resized_mean, filled": partial(dp.estimators.resized_mean, fill=0.5),
}


def losses(kind: str) -> tuple[dict, ...]:
    return RHO if kind == "rho" else PURE


def datasets(rows: int) -> list[np.ndarray]:
    generator = np.random.default_rng(rows)
    sign = generator.choice([-1.0, 1.0], rows)
    return [
        *(np.full(rows, x) for x in (0.0, 7.0, np.nan, np.inf, -np.inf, 5e-324, 1e308)),
        *(sign * x for x in (np.inf, 1e308)),
        generator.choice(WILD, rows),
        generator.normal(0, 2, rows),
    ]


def check(release: object, bounds: tuple[float, float], asked: dict) -> None:
    low, high = bounds
    if not asked:
        assert type(release) is float
        assert low <= release <= high
        return
    assert type(release) is dp.Estimate
    ends = release.interval
    numbers = release.value, release.standard_error, *ends, release.rows
    assert all(type(number) in (float, int) and np.isfinite(number) for number in numbers)
    assert low <= ends[0] <= release.value <= ends[1] <= high
    assert 0 <= release.standard_error <= (high - low) / 2
    assert release.rows >= 0
    assert (release.confidence, release.sampling) == (0.95, "sampling" in asked)


@pytest.mark.parametrize(("name", "kind"), MAKES)
def test_rows_added_or_removed(name, kind):
    turn = 0
    for loss in losses(kind):
        for asked in ASKED:
            bound = MAKES[name, kind](-3, 4, **loss, **asked).bound
            for rows in SIZES[turn % 2 :: 2]:
                kinds = datasets(rows)
                check(bound(kinds[turn % len(kinds)]), (-3, 4), asked)
                turn += 1


@pytest.mark.parametrize("name", RESIZED)
@pytest.mark.parametrize("loss", [{"rho": 1e-4}, {"rho": 1e6}, {"epsilon": 0.01}], ids=repr)
def test_rows_brought_to_a_noisy_number(name, loss):
    for turn, asked in enumerate(ASKED):
        bound = RESIZED[name](-3, 4, **loss, **asked).bound
        for rows in SIZES:
            kinds = datasets(rows)
            check(bound(kinds[(rows + turn) % len(kinds)]), (-3, 4), asked)


@pytest.mark.parametrize(
    "make", [dp.mean, dp.estimators.known_size_mean], ids=["mean", "known_size_mean"]
)
def test_rows_replaced(make):
    turn = 0
    for rows in SIZES[1:]:
        space = dp.records(size=rows, metric=REPLACE)
        for loss in (*RHO, *PURE):
            for asked in ASKED:
                kinds = datasets(rows)
                check((space >> make(-3, 4, **loss, **asked))(kinds[turn % 11]), (-3, 4), asked)
                turn += 1


def test_weighted_means():
    generator = np.random.default_rng(1)
    for turn, rows in enumerate(SIZES[1:] * 3):
        data = generator.choice(WILD, (rows, 2))
        sized = dp.records(columns=2, size=rows, metric=REPLACE)
        for space in (dp.records(columns=2), sized):
            for loss in (RHO[turn % 4], PURE[turn % 3]):
                for asked in ASKED[:2]:
                    bound = space >> dp.estimators.weighted_mean(-3, 4, most=2, **loss, **asked)
                    check(bound(data), (-3, 4), asked)


def test_simplex_means():
    generator = np.random.default_rng(1)
    for turn, rows in enumerate(SIZES * 3):
        data = generator.choice(WILD, (rows, 3))
        for loss in (RHO[turn % 4], PURE[turn % 3]):
            means = (dp.records(columns=3) >> dp.estimators.simplex_vector_mean(5, **loss))(data)
            assert (means.shape, means.dtype) == ((3,), np.float64)
            assert np.isfinite(means).all()
            assert means.min() >= 0
            assert means.sum() <= 5 * (1 + 1e-12)


EVERY = {name: make for (name, kind), make in MAKES.items() if kind == "rho"} | RESIZED


@pytest.mark.parametrize("name", EVERY)
def test_rows_in_another_order_or_container_come_to_the_same(name):
    """Seeded: a release by anybody who has the seed."""
    rows = np.random.default_rng(5).integers(-4, 5, 60)
    bound = EVERY[name](-3, 4, rho=1).bound
    expected = bound.insecure_release(rows.astype(float), seed=3).value
    cut = dp.Blocks(lambda: iter(np.array_split(rows.astype(float), 7)))
    for data in (rows, rows[::-1], rows.tolist(), cut, pd.Series(rows), rows.astype(np.int8)):
        assert bound.insecure_release(data, seed=3).value == expected
    assert (
        bound.insecure_release([], seed=3).value
        == bound.insecure_release(np.full(9, np.nan), seed=3).value
    )
    bits = rows > 0
    expected = bound.insecure_release(bits.astype(float), seed=3).value
    for data in (bits, bits.tolist(), pd.Series(bits)):
        assert bound.insecure_release(data, seed=3).value == expected


@pytest.mark.parametrize("name", EVERY)
def test_missing_rows_are_left_out(name):
    bound = EVERY[name](-3, 4, rho=1).bound
    with_some = [np.nan, 1.0, 2.0, np.nan, -np.nan, -1.0]
    found = bound.insecure_release(with_some, seed=3).value
    assert found == bound.insecure_release([1.0, 2.0, -1.0], seed=3).value


def test_missing_rows_are_the_middle_where_their_number_is_public():
    bound = dp.records(size=4, metric=REPLACE) >> dp.mean(-3, 4, rho=1)
    found = bound.insecure_release([np.nan, 1.0, 2.0, -np.nan], seed=3).value
    assert found == bound.insecure_release([0.5, 1.0, 2.0, 0.5], seed=3).value


FARTHEST = [(-1e100, 1e100), (1e-100, 2e-100), (0, 1e-100), (1e16, 1e16 + 2), (-1e100, 0)]
BEYOND = [(1e-200, 1e-199), (-1e200, 1e200), (0, 1e-300), (-1e-150, 1e-150), (0, 1.1e100)]


@pytest.mark.parametrize("bounds", FARTHEST, ids=repr)
@pytest.mark.parametrize(("name", "kind"), [key for key in MAKES if "guess" not in key[0]])
def test_bounds_far_out(name, kind, bounds):
    """The intervals also have a width, where floats between the bounds leave one."""
    low, high = bounds
    for turn, loss in enumerate(losses(kind)):
        asked = ASKED[turn % 3]
        bound = MAKES[name, kind](low, high, **loss, **asked).bound
        for data in ([], [low] * 30, [low, high] * 15):
            release = bound(data)
            check(release, (float(low), float(high)), asked)
            small = max(loss.get("rho", 0), loss.get("epsilon", 0)) <= 1
            if asked and small and low != 1e16:
                ends = release.interval
                assert ends[1] - ends[0] > 1e-3 * (high - low)


@pytest.mark.parametrize("bounds", BEYOND, ids=repr)
@pytest.mark.parametrize(("name", "kind"), MAKES)
def test_bounds_whose_squares_are_no_floats_are_refused(name, kind, bounds):
    """A release would be NaN, or an exception."""
    with pytest.raises(dp.ParameterError, match="another unit"):
        MAKES[name, kind](*bounds, **losses(kind)[1]).map(1)


def test_weights_whose_squares_are_no_floats_are_refused():
    space = dp.records(columns=2)
    data = np.array([[0.5, 1.0]] * 9)
    for most in (1e-100, 1e100):
        for loss in (RHO[1], PURE[1]):
            bound = space >> dp.estimators.weighted_mean(0, 1, most=most, confidence=0.95, **loss)
            check(bound(data), (0, 1), {"confidence": 0.95})
    for most, upper in ((1e-101, 1), (1e101, 1), (1e60, 1e60), (1e-60, 1e-60)):
        with pytest.raises(dp.ParameterError, match=r"most .*must lie between"):
            space >> dp.estimators.weighted_mean(0, upper, most=most, rho=1)


def test_floats_that_round_to_the_same_bound():
    low, high = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**60)
    for make in (
        dp.estimators.recentred_mean,
        dp.estimators.centered_mean,
        dp.estimators.simplex_mean,
    ):
        release = make(low, high, rho=1, confidence=0.95)([0.0, 1.0])
        assert (release.value, *release.interval) == (1 / 3, 1 / 3, 1 / 3)
    with pytest.raises(dp.ParameterError, match="too close"):
        dp.estimators.plug_in_mean(low, high, rho=1).map(1)


def test_no_warning_comes_from_a_value():
    """Also where numpy is told to warn of everything."""
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for data in ([np.nan], [np.inf, -np.inf], [1e308] * 3, [5e-324], []):
            for asked in ASKED:
                check(dp.mean(-3, 4, rho=0.5, **asked)(data), (-3, 4), asked)
                check(dp.mean(-3, 4, epsilon=0.5, **asked)(data), (-3, 4), asked)


@pytest.mark.parametrize(("name", "kind"), MAKES)
def test_losses_whose_noise_has_no_square_are_refused(name, kind):
    for loss in (1e-31, 1e31, Fraction(1, 10**400)):
        with pytest.raises(dp.ParameterError, match=f"{kind} must lie between 1e-30 and 1e30"):
            MAKES[name, kind](-3, 4, **{kind: loss}).map(1)
    for loss in (1e-30, 1e30):
        for asked in ASKED:
            bound = MAKES[name, kind](-1e100, 1e100, **{kind: loss}, **asked).bound
            check(bound([1.0, 2.0]), (-1e100, 1e100), asked)


def test_shares_of_next_to_nothing_are_refused():
    for share in (1e-7, 1 - 1e-7, Fraction(1, 10**640)):
        for make in (
            dp.estimators.plug_in_mean,
            dp.estimators.centered_mean,
            dp.estimators.resized_mean,
        ):
            with pytest.raises(dp.ParameterError, match="must leave at least 1e-06"):
                make(0, 1, rho=1, share=share).map(1)
        with pytest.raises(dp.ParameterError, match="first must leave at least 1e-06"):
            dp.estimators.recentred_mean(0, 1, rho=1, first=share).map(1)


def test_rows_that_no_memory_holds_are_not_made_up():
    for loss in ({"rho": 1e-14}, {"epsilon": 1e-6}):
        with pytest.raises(dp.ParameterError, match="which fills up none"):
            dp.estimators.resized_mean(0, 1, **loss).map(1)
