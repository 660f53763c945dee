"""A budget that is given as a value is the one that is given by name."""

import inspect
import itertools
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.measures.budgets import PrivacyBudget
from tests.test_steps import EXAMPLES

THIRD = Fraction(1, 3)
BUDGETS = {"epsilon": dp.epsilon, "rho": dp.rho, "mu": dp.mu}


def spell_both(step, given) -> tuple[dp.Mechanism, dp.Mechanism] | None:
    """An example as it is, and with its budget as a value; None where it has none by name."""
    call = inspect.signature(step).bind(*given.args, **given.kwargs)
    kind = next((each for each in BUDGETS if call.arguments.get(each) is not None), None)
    if kind is None or "budget" not in call.signature.parameters:
        return None
    named = [call.arguments.pop(each) for each in (kind, "delta") if each in call.arguments]
    call.arguments["budget"] = BUDGETS[kind](*named)
    return step(*given.args, **given.kwargs), step(*call.args, **call.kwargs)


def test_both_spellings_are_one_pipeline():
    spelled = [each for each in itertools.starmap(spell_both, EXAMPLES.values()) if each]
    assert len(spelled) > 60
    for by_name, value in spelled:
        assert value == by_name
        assert hash(value) == hash(by_name)
        assert repr(value) == repr(by_name)
        assert value.to_json() == by_name.to_json()


def test_a_threshold_takes_both():
    """No JSON and no example spells a program."""
    value = dp.above_threshold(print, 9, dp.epsilon(1))
    assert value == dp.above_threshold(print, 9, epsilon=1)
    assert dp.laplace(dp.epsilon(THIRD)) == dp.laplace(epsilon=1 / 3)


def test_the_loss_is_the_budget():
    for budget in (dp.epsilon(THIRD), dp.rho(THIRD), dp.epsilon(0.1, delta=1e-7)):
        mean = dp.mean(0, 9, budget, confidence=None).bound
        assert mean.output_measure == budget.measure
        assert budget.measure.within(mean.privacy_map(mean.input_space.unit), budget.loss)


def test_a_budget_of_which_no_number_is_exact_is_rounded_down():
    """A mu that is no rational: the noise is for one just below it."""
    budget = PrivacyBudget(dp.measures.GaussianDivergence(), Fraction(2))
    (mu,) = budget.by_name().values()
    assert Fraction(2) * (1 - Fraction(1, 10**9)) < Fraction(mu) ** 2 <= 2
    assert dp.gaussian(budget) == dp.gaussian(mu=mu)


@pytest.mark.parametrize("given", [1, "epsilon", dp.MaxDivergence()])
def test_what_is_no_budget_is_refused_with_the_call(given):
    words = r"laplace\(\): a budget is dp\.epsilon\(1\) or dp\.rho\(0\.03\), got .*it is called"
    with pytest.raises(TypeError, match=words):
        dp.laplace(given)
