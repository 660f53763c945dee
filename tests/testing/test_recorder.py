"""The recorder: no noise of the library is given more than it was priced for, and lies are seen."""

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.testing import record
from tests.own_steps import Rows
from tests.recorded_pairs import find_faults, list_pipelines


@dp.stage
def hopeful_sum(space: Rows) -> dp.Transformation[Rows, dp.Space[dp.Vectors]]:
    """Claims half of what a row moves."""
    honest = dp.sum().bind(space)
    return attrs.evolve(honest, stability_map=lambda d: honest.stability_map(d / 2))


LIE = dp.select("b") >> dp.clamp(0, 3) >> hopeful_sum() >> dp.laplace(epsilon=1)
COUNT = dp.count() >> dp.laplace(epsilon=1)
TABLE = dp.records(columns=["a", "b"])
PIPELINES = {
    "alone": (LIE, "!"),
    "converted": (LIE >> dp.to_zcdp() >> dp.to_approximate(1e-6), "!"),
    "composed": (dp.compose(COUNT, dp.compose(LIE, COUNT)), ".!."),
    "asked": (dp.adaptive(lambda ask: (ask(COUNT), ask(LIE)), dp.epsilon(2)), ".!"),
    "by group": (dp.by("a", [0, 1], LIE), "!"),
    "in each group": (dp.by("a", [0, 1], dp.compose(LIE, COUNT)), "!..."),
    "asked in each group": (dp.by("a", [0, 1], dp.adaptive(lambda f: f(LIE), dp.epsilon(1))), "!."),
    "of a sample": (dp.sample(0.9999, LIE), ".!"),
}


def test_no_noise_is_given_more_than_it_was_priced_for():
    """The long run of ``tests/recorded_pairs.py`` takes more pairs of more pipelines."""
    for number, bound in enumerate(list_pipelines(few=True)):
        pairs, faults = find_faults(bound, 4, number)
        assert pairs, bound
        assert not faults, (bound, faults)


def test_pairs_of_one_row_and_of_two_show_a_lie():
    """Few rows are so large that it shows."""
    for space in (TABLE, dp.records(columns=["a", "b"], size=5, metric=dp.ChangeOneDistance())):
        pairs, faults = find_faults(space >> LIE, 20, 0)
        assert pairs > 30
        assert len(faults) > 1


@pytest.mark.parametrize("name", PIPELINES)
def test_a_lie_is_seen_wherever_it_stands(name):
    pipeline, seen = PIPELINES[name]
    found = record(TABLE >> pipeline, np.zeros((1, 2)), np.array([[0.0, 0.0], [0.0, 3.0]]))
    assert "".join("!."[step.holds] for step in found) == seen
    lies = [step for step in found if not step.holds]
    assert all(step.real and step.real.l1 == 3 and step.declared for step in lies)


def test_two_rows_are_declared_to_each_query_of_a_program():
    clipped = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=1)
    program = dp.clamp(0, 3) >> dp.adaptive(lambda ask: ask(clipped), dp.rho(1))
    (found,) = record(program, [], [3.0, 5.0], d_in=2)
    assert found.real == dp.Norms(l1=6)
    assert dp.Norms(l1=8) in found.declared
    assert not record(program, [], [3.0, 5.0])[0].holds


def test_a_release_that_tells_more_than_its_noisy_values_is_seen():
    runs: list[None] = []

    def remembers(ask: dp.combinators.Ask) -> object:
        runs.append(None)
        return ask(COUNT), len(runs)

    with pytest.raises(AssertionError, match="more than its noisy values"):
        record(dp.adaptive(remembers, dp.epsilon(1)), [], [1.0])


def test_a_ranking_that_tells_more_is_seen():
    """Though it has no equality of its own."""
    kept: list[object] = []

    def remembers(ask: dp.combinators.Ask) -> object:
        kept.append(ask(dp.top_k(1, categories=[0, 1], epsilon=1)))
        return attrs.evolve(kept[-1], confidence=0.9 + len(kept) / 100)

    with pytest.raises(AssertionError, match="more than its noisy values"):
        record(dp.adaptive(remembers, dp.epsilon(1)), [], [1.0])
