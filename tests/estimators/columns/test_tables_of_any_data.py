"""Every estimator on every kind of data: a release, in its bounds, of one shape and type."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from importlib import import_module

import numpy as np
import pytest

import opendp_lite as dp

REPLACE = dp.ChangeOneDistance()
WILD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1e-310, 1.0]
SHAPES = [(0, 1), (0, 3), (1, 1), (2, 1), (1, 5), (2, 4), (3, 9), (40, 3)]
BOUNDS = (1e-6, 10, 1e7)
BUDGETS = (1e-6, 0.5, 1e6)

BOUNDED = {
    "plan_plus_mean": dp.estimators.plan_plus_mean,
    "plan_plus_mean for p = 1": partial(dp.estimators.plan_plus_mean, p=1),
    "plan_plus_mean for p = 10": partial(dp.estimators.plan_plus_mean, p=10),
    "gaussian_mean": dp.estimators.gaussian_mean,
    "laplace_mean": lambda bound, rho: dp.estimators.laplace_mean(bound, epsilon=rho),
    "elliptical_mean": lambda bound, rho: dp.estimators.elliptical_mean(-bound, bound, rho=rho),
    "quantile_by_search": lambda bound, rho: dp.estimators.quantile_by_search(
        0.3, -bound, bound, rho=rho, steps=5
    ),
}
UNBOUNDED = {
    "scaled_mean": dp.estimators.scaled_mean,
    "scaled_mean, searched": partial(dp.estimators.scaled_mean, searched=True),
    "normal_variance": dp.estimators.normal_variance,
    "normal_variance by pairs": partial(dp.estimators.normal_variance, by="pairs"),
    "normal_variance by groups": partial(dp.estimators.normal_variance, by="pairs", group=3),
    "normal_variance by the 0.841 quantile": partial(dp.estimators.normal_variance, by="direct"),
}
SIZED = {
    "plan_mean": dp.estimators.plan_mean,
    "plan_mean for p = 1.5": partial(dp.estimators.plan_mean, p=1.5, group=2),
    "plan_mean, direct": partial(dp.estimators.plan_mean, variances="direct"),
    "plan_mean, binary": partial(dp.estimators.plan_mean, variances="binary"),
    "plan_mean, magnitude": partial(dp.estimators.plan_mean, variances="magnitude"),
    "plan_mean, none": partial(dp.estimators.plan_mean, variances="none"),
    "iome_mean": partial(dp.estimators.iome_mean, steps=6),
}
BINARY = {"normal_variance, binary": partial(dp.estimators.normal_variance, by="binary")}
EITHER = BOUNDED | UNBOUNDED
EVERY = EITHER | SIZED | BINARY


def datasets(rows: int, columns: int) -> list[np.ndarray]:
    generator = np.random.default_rng(rows)
    shape = rows, columns
    sign = generator.choice([-1.0, 1.0], shape)
    return [
        *(np.full(shape, x) for x in (0.0, 7.0, np.nan, np.inf, 5e-324)),
        *(sign * x for x in (np.inf, 1e308)),
        generator.choice(WILD, shape),
        generator.normal(3, 2, shape),
    ]


def check(name: str, columns: int, size: int | None, kinds: list[np.ndarray], turn: int) -> None:
    metric = None if size is None else REPLACE
    space = dp.records(columns=columns, size=size, metric=metric)
    for bound in BOUNDS:
        for rho in BUDGETS:
            pipeline = space >> EVERY[name](bound, rho=rho)
            for data in (kinds[turn % len(kinds)],):
                release = pipeline(data)
                assert np.isfinite(release).all()
                if name == "quantile_by_search" and columns == 1:
                    assert type(release) is float
                else:
                    assert (release.shape, release.dtype) == ((columns,), np.float64)
                if name not in UNBOUNDED | BINARY:
                    assert np.abs(release).max() <= bound * (1 + 1e-12)
                turn += 1


@pytest.mark.parametrize("name", EITHER)
def test_rows_added_or_removed(name):
    for turn, (rows, columns) in enumerate(SHAPES):
        check(name, columns, None, datasets(rows, columns), turn)


@pytest.mark.parametrize("name", EVERY)
def test_rows_replaced(name):
    for turn, (rows, columns) in enumerate(SHAPES[2:]):
        check(name, columns, rows, datasets(rows, columns), turn)


@pytest.mark.parametrize("name", EVERY)
def test_the_loss_is_what_was_asked_for(name):
    space = dp.records(columns=3, size=9, metric=REPLACE)
    bound = space >> EVERY[name](10, rho=0.1)
    pure = name == "laplace_mean"
    assert [bound.map(d) for d in (1, 2, 3)] == ([0.1, 0.2, 0.3] if pure else [0.1, 0.4, 0.9])
    if name in EITHER:
        free = dp.records(columns=3) >> EVERY[name](10, rho=0.1)
        assert free.map(1) == 0.1
        resized = dp.records(columns=3) >> dp.clamp(-10, 10) >> dp.resize(9, fill=0)
        assert (resized >> EVERY[name](10, rho=0.1)).map(1) == 0.1


@pytest.mark.parametrize("name", EVERY)
def test_rows_in_another_order_or_container_come_to_the_same(name):
    """Seeded: a release by anybody who has the seed."""
    if "pairs" in name or "groups" in name or name.startswith("plan_mean"):
        pytest.skip("the order of the rows is random")
    rows = np.random.default_rng(5).normal(1, 2, (60, 3))
    rows[7, 1], rows[9] = np.nan, np.inf
    bound = dp.records(columns=3, size=60, metric=REPLACE) >> EVERY[name](10, rho=1)
    expected = bound.insecure_release(rows, seed=3).value
    cut = dp.Blocks(lambda: iter(np.array_split(rows, 7)), columns=3)
    for data in (rows[::-1], np.asfortranarray(rows), rows.tolist(), cut):
        assert np.array_equal(bound.insecure_release(data, seed=3).value, expected)


@pytest.mark.parametrize("name", ["gaussian_mean", "laplace_mean"])
def test_a_mean_of_any_radius_stays_in_its_ball(name):
    for radius in (1e-100, 1e100):
        for rho in (1e-6, 1e6):
            release = (dp.records(columns=2) >> EVERY[name](radius, rho=rho))(np.ones((5, 2)))
            assert np.linalg.norm(release) <= radius * (1 + 1e-12)


def test_no_search_ends_at_a_radius_of_nothing(monkeypatch):
    """Where one did, an exception came in place of a release."""

    def nothing(quantile, lower, upper, rho, steps):
        return dp.private_quantile(0.5, candidates=[0.0, 1e-300], rho=rho)

    monkeypatch.setattr(
        import_module("opendp_lite.estimators.papers.iome"),
        "quantile_by_search",
        nothing,
    )
    space = dp.records(columns=1, size=10, metric=REPLACE)
    assert np.isfinite((space >> dp.estimators.iome_mean(1, rho=1))(np.zeros(10))).all()


SPACE = dp.records(columns=2, size=9, metric=REPLACE)
TINY, HUGE = Fraction(1, 10**400), Fraction(10) ** 400
BAD = [0, -1, np.nan, np.inf, "1", None, TINY, HUGE]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", BAD, ids=[str(each)[:4] for each in BAD])
def test_budgets_and_bounds_out_of_range_are_refused_in_words(name, bad):
    words = "above 0|finite|number|between|one of|below"
    search = name == "quantile_by_search"
    if not (search and isinstance(bad, Fraction)):
        with pytest.raises(dp.OpenDPLiteError, match=words):
            SPACE >> EVERY[name](1, rho=bad)
    interval = search or name == "elliptical_mean"
    if not (interval and (bad in ("1", None) or bad == TINY)):
        with pytest.raises(dp.OpenDPLiteError, match=words):
            SPACE >> EVERY[name](bad, rho=1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.estimators.plan_plus_mean(1, rho=1, p=0.9), "p must be at least 1"),
        (lambda: dp.estimators.plan_mean(1, rho=1, p=np.inf), "p must be finite"),
        (lambda: dp.estimators.plan_mean(1, rho=1, variances="median"), '"pairs", "direct"'),
        (
            lambda: dp.estimators.plan_mean(1, rho=1, group=0),
            "group must be a whole number of at least 1",
        ),
        (
            lambda: dp.estimators.iome_mean(1, rho=1, steps=0),
            "steps must be a whole number of at least 1",
        ),
        (
            lambda: dp.estimators.plan_plus_mean(1e101, rho=1),
            "bound must lie between 1e-100 and 1e100",
        ),
        (
            lambda: dp.estimators.gaussian_mean(1e-101, rho=1),
            "radius must lie between 1e-100 and 1e100",
        ),
        (lambda: dp.estimators.elliptical_mean(1, 1, rho=1), "must be below its upper"),
        (lambda: dp.estimators.elliptical_mean([0, 0, 0], 1, rho=1), "3 numbers for 2 columns"),
        (
            lambda: dp.estimators.elliptical_mean(Fraction(1, 3), Fraction(1, 3) + TINY, rho=1),
            "a width must lie",
        ),
        (lambda: dp.estimators.scaled_mean([1, 0], rho=1), "sigma must be above 0"),
        (lambda: dp.estimators.scaled_mean([1, 1e-200], rho=1), "sigma must lie between"),
        (lambda: dp.estimators.scaled_mean([1, 1, 1], rho=1), "3 numbers for 2 columns"),
        (lambda: dp.estimators.scaled_mean(1, rho=1, middle=[1, 2, 3]), "3 numbers for 2 columns"),
        (lambda: dp.estimators.scaled_mean(1, rho=1, beyond=1), "beyond must be between 0 and 1"),
        (lambda: dp.estimators.normal_variance(1, rho=1, by="median"), '"pairs", "direct"'),
        (lambda: dp.estimators.normal_variance(1, rho=1, by="none"), "by is"),
        (lambda: dp.estimators.quantile_by_search(1.1, 0, 1, rho=1), "between 0 and 1"),
        (
            lambda: dp.estimators.quantile_by_search(0.5, [0, 1, 2], 5, rho=1),
            "3 numbers for 2 columns",
        ),
        (lambda: dp.estimators.quantile_by_search(0.5, 1, 0, rho=1), "must be below its upper"),
        (lambda: dp.estimators.quantile_by_search(0.5, 0, 1, rho=1, steps=0), "steps must be"),
    ],
)
def test_other_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        SPACE >> make()


@pytest.mark.parametrize("name", SIZED | BINARY)
def test_a_private_number_of_rows_is_refused_where_it_must_be_public(name):
    with pytest.raises(dp.SpaceError, match="ChangeOneDistance"):
        dp.records(columns=2) >> EVERY[name](1, rho=1)
