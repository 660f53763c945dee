"""A mean that is typed wrongly says what to type."""

from __future__ import annotations

import re

import numpy as np
import pytest

import opendp_lite as dp

AGES = [23.0, 31.0, 38.0, 45.0]
EXAMPLE = "dp.mean(0, 100, epsilon=1)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.mean((0, 100), epsilon=1), f"bounds as two numbers, .* write {EXAMPLE}(data)"),
        (lambda: dp.mean([0, 100], rho=0.03), f"bounds as two numbers, .* write {EXAMPLE}(data)"),
        (lambda: dp.mean(AGES), f"the data in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean(np.array(AGES), 0, 100), f"in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean(lower=AGES, upper=9, rho=1), f"in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean("age", 0, 100), f"name: write dp.select('age') >> {EXAMPLE}"),
        (lambda: dp.mean(0, 100, 1), f"after the bounds by name: {EXAMPLE}"),
        (lambda: dp.mean(0, epsilon=1), f"two bounds, lower and upper: write {EXAMPLE}"),
        (lambda: dp.mean(100, 0, epsilon=1), "got 100, 0; swap them: 0, 100"),
        (lambda: dp.mean(0, 100, delta=1e-6), "delta goes with epsilon, .*; add epsilon=1"),
        (lambda: dp.mean(0, 100, rho=1, delta=1e-6), "leave delta out, or give epsilon"),
    ],
)
def test_the_message_says_what_to_type(make, words):
    pattern = re.escape(words).replace(re.escape(".*"), ".*")
    with pytest.raises(dp.ParameterError, match=f"(?i){pattern}"):
        make()


REST = {
    "joint_mean": "epsilon=1",
    "recentred_mean": "rho=0.03",
    "known_size_mean": "epsilon=1",
    "simplex_mean": "epsilon=1",
    "plug_in_mean": "epsilon=1",
    "centered_mean": "epsilon=1",
    "resized_mean": "epsilon=1",
    "weighted_mean": "most=1, epsilon=1",
}


@pytest.mark.parametrize("name", REST)
def test_data_in_place_of_bounds_are_answered_with_a_line_to_type(name):
    words = re.escape(f"dp.estimators.{name}(0, 100, {REST[name]})(data)")
    with pytest.raises(dp.ParameterError, match=words):
        getattr(dp.estimators, name)(AGES)


def test_no_value_of_the_data_is_in_a_message():
    for data in (AGES, np.array(AGES), tuple(AGES[:2]), {"age": AGES}):
        with pytest.raises(dp.ParameterError) as refusal:
            dp.mean(data)
        assert not any(f"{each:g}" in str(refusal.value) for each in AGES)


def test_the_budgets_that_messages_propose_protect_alike():
    """At a delta of 1e-6: rho = 0.03 is within 5 % of epsilon = 1, rho = 0.5 was five times it."""
    assert dp.mean(0, 100, rho=0.03).epsilon(1e-6) == pytest.approx(1, rel=0.05)


def test_typing_and_binding_a_mean_builds_few_steps(monkeypatch):
    """It was 86: every recipe inside a recipe was built again, twice."""
    built = []
    build = dp.mean(0, 100, rho=1).calls[0].__class__.build
    call = dp.mean(0, 100, rho=1).calls[0].__class__

    def counted(self, space):
        known = self.rehearsal is not None and self.rehearsal.input_space == space
        built.extend([] if known else [self.name])
        return build(self, space)

    monkeypatch.setattr(call, "build", counted)
    for budget in ({"rho": 0.5}, {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}):
        built.clear()
        dp.mean(0, 100, **budget).map(1)
        assert len(built) <= 10, built
