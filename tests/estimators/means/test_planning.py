"""Errors told beforehand, and the loss that an error costs."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from math import sqrt

import numpy as np
import pytest

import opendp_lite as dp

E = dp.estimators
SIZED = dp.records(size=300, metric=dp.ChangeOneDistance())


@pytest.mark.parametrize(
    ("estimator", "rows", "mean"),
    [
        (dp.mean(0, 100, rho=0.1), 300, 40.0),
        (dp.mean(0, 100, epsilon=0.3), 300, 40.0),
        (dp.mean(0, 100, epsilon=0.3), 5, 90.0),
        (SIZED >> dp.mean(0, 100, epsilon=0.3), 300, 40.0),
        (E.simplex_mean(0, 100, epsilon=1, delta=1e-6), 300, 40.0),
        (E.plug_in_mean(0, 100, epsilon=0.3), 300, 40.0),
    ],
    ids=str,
)
def test_it_is_the_error_of_releases(estimator, rows, mean, seeded):
    """Six standard errors of a mean square of 700 releases."""
    bound = estimator if isinstance(estimator, dp.Measurement) else estimator.bound
    data = [mean] * rows
    squares = np.array([(bound(data) - mean) ** 2 for _ in range(700)])
    told = dp.expected_error(estimator, rows, mean)
    assert abs(squares.mean() - told**2) < 6 * squares.std() / sqrt(700) + 0.03 * told**2


def test_rows_that_are_sampled_have_a_spread(seeded):
    data = np.tile([10.0, 70.0], 150)
    estimator = E.resized_mean(0, 100, rho=0.1)
    squares = np.array([(estimator(data) - 40) ** 2 for _ in range(300)])
    told = dp.expected_error(estimator, 300, 40, spread=30)
    assert abs(squares.mean() - told**2) < 6 * squares.std() / sqrt(300) + 0.03 * told**2
    assert told > dp.expected_error(estimator, 300, 40)


def test_closed_forms():
    """To first order, with many rows; 20 000 releases know an error to 0.5 %, Laplace 0.8 %."""
    error = partial(dp.expected_error, n=10**6)
    assert error(E.simplex_mean(-1, 1, rho=0.5), guess=0.5) * 1e6 == pytest.approx(
        sqrt(2 * 1.25), rel=0.04
    )
    assert error(E.centered_mean(-1, 1, rho=0.5, share=0.5), guess=0) * 1e6 == pytest.approx(
        sqrt(2), rel=0.04
    )
    assert error(E.joint_mean(-1, 1, epsilon=1), guess=1) * 1e6 == pytest.approx(
        sqrt(10 / 3 + 49 / 9), rel=0.35
    )
    sized = dp.records(size=10**6, metric=dp.ChangeOneDistance())
    found = error(sized >> E.known_size_mean(-1, 1, epsilon=1), guess=0.5)
    assert found * 1e6 == pytest.approx(2 * sqrt(2), rel=0.05)


def test_asking_twice_comes_to_the_same_and_spends_no_entropy(monkeypatch):
    def refused():
        raise AssertionError("entropy was asked for")

    monkeypatch.setattr(import_module("opendp_lite.pipeline.core"), "SecureEntropy", refused)
    estimator = dp.mean(0, 100, rho=0.5)
    assert dp.expected_error(estimator, 100, 40) == dp.expected_error(estimator, 100, 40)


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: dp.mean(0, 100, rho=loss),
        lambda loss: dp.mean(0, 100, epsilon=loss),
        lambda loss: E.plug_in_mean(0, 100, rho=loss, confidence=0.95, sampling=True),
        lambda loss: SIZED >> dp.mean(0, 100, epsilon=loss),
    ],
)
@pytest.mark.parametrize("error", [0.02, 3.0])
def test_the_loss_for_an_error_is_the_least_of_three_digits(make, error):
    loss = dp.budget_for(make, error=error, n=300, guess=40)
    assert float(f"{loss:.3g}") == loss
    assert dp.expected_error(make(loss), 300, 40) <= error
    digit = 10.0 ** (np.floor(np.log10(loss)) - 2)
    below = loss - (digit if loss / digit > 100.5 else digit / 10)
    assert dp.expected_error(make(below), 300, 40) > error


def test_errors_that_no_loss_or_any_meets():
    make = partial(dp.mean, 0, 100)
    with pytest.raises(
        dp.ParameterError, match="no budget up to 1e12 brings the error down to 1e-30"
    ):
        dp.budget_for(lambda rho: make(rho=rho), error=1e-30, n=100, guess=40)
    with pytest.raises(
        dp.ParameterError, match="the smallest budget already meets an error of 200"
    ):
        dp.budget_for(lambda rho: make(rho=rho), error=200, n=100, guess=40)
    with pytest.raises(dp.ParameterError, match="error must be above 0"):
        dp.budget_for(lambda rho: make(rho=rho), error=0, n=100, guess=40)
    with pytest.raises(dp.ParameterError, match=r"takes a function .* Got the estimator dp.mean"):
        dp.budget_for(dp.mean(0, 100, rho=1), error=1, n=100, guess=40)


@pytest.mark.parametrize(
    ("estimator", "asked", "words"),
    [
        (0.5, {}, r"expected_error takes an estimator, such as dp.mean\(.*\), got 0.5"),
        (dp.mean(0, 1, rho=1), {"n": 0}, "n must be a whole number of at least 1"),
        (dp.mean(0, 1, rho=1), {"n": 2.5}, "n must be a whole number"),
        (dp.mean(0, 1, rho=1), {"guess": float("nan")}, "guess"),
        (dp.mean(0, 1, rho=1), {"guess": 2}, "guess must lie in the bounds 0 to 1, .* got 2"),
        (SIZED >> dp.mean(0, 1, rho=1), {}, "rows is public, n must be 300, got 9"),
        (dp.mean(0, 1, rho=1), {"spread": float("inf")}, "spread"),
    ],
)
def test_refusals(estimator, asked, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.expected_error(estimator, **({"n": 9, "guess": 0.5} | asked))


def test_what_it_does_not_know_is_refused():
    table = dp.records(columns=2)
    for other in (
        table >> E.weighted_mean(0, 1, most=1, rho=1),
        table >> E.simplex_vector_mean(1, rho=1),
        dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1),
        dp.mean(0, 1, rho=1) >> float,
    ):
        with pytest.raises(dp.SpaceError, match=r"for the means of one column: mean, .*accuracy"):
            dp.expected_error(other, 9, 0.5)
