"""A budget that is given as a value is the one that is given by name."""

import pickle
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.measures.budgets import PrivacyBudget

THIRD = Fraction(1, 3)
BASIS = dp.bases.Haar(4, 0, 8)
PURE = {
    "mean": lambda *b, **n: dp.mean(0, 9, *b, **n, confidence=None),
    "variance": lambda *b, **n: dp.variance(0, 9, *b, confidence=0.9, **n, sampling=False),
    "deviation": lambda *b, **n: dp.standard_deviation(0, 9, *b, **n, confidence=None),
    "covariance": lambda *b, **n: dp.covariance(0, 9, *b, **n),
    "columns": lambda *b, **n: dp.multivariate_mean(9, *b, **n),
    "sum": lambda *b, **n: dp.centered_sum(*b, with_count=True, **n),
    "bounds": lambda *b, **n: dp.private_bounds(0.9, *b, **n),
    "cdf": lambda *b, **n: dp.cdf(0, 9, *b, cells=8, **n, confidence=None),
    "histogram": lambda *b, **n: dp.histogram("sex", *b, categories=["f"], **n),
    "quantile": lambda *b, **n: dp.private_quantile(0.5, *b, bounds=(0, 9), **n, confidence=None),
    "max": lambda *b, **n: dp.noisy_max(*b, names=["a", "b"], **n),
    "threshold": lambda *b, **n: dp.above_threshold(program, 9, *b, **n),
    "laplace": dp.laplace,
    "l2": dp.measurements.l2_mechanism,
    "exponential": dp.measurements.exponential_mechanism,
    "basis": lambda *b, **n: dp.estimators.basis_distribution(BASIS, *b, **n),
    "unbounded": dp.estimators.unbounded_mean,
}
CONCENTRATED = {**PURE, "gaussian": dp.gaussian}
del CONCENTRATED["laplace"], CONCENTRATED["l2"]
APPROXIMATE = ("mean", "variance", "covariance", "sum", "cdf", "histogram", "basis", "gaussian")


def program(test: dp.combinators.ThresholdTest) -> bool:
    return test(dp.count())


CASES = [
    *((PURE[name], dp.epsilon(1), {"epsilon": 1}) for name in PURE),
    *((CONCENTRATED[name], dp.rho(0.03), {"rho": 0.03}) for name in CONCENTRATED),
    *(
        ({**PURE, **CONCENTRATED}[name], dp.epsilon(0.5, 1e-6), {"epsilon": 0.5, "delta": 1e-6})
        for name in APPROXIMATE
    ),
    (dp.gaussian, dp.mu(0.1), {"mu": 0.1}),
    (dp.laplace, dp.epsilon(THIRD), {"epsilon": 1 / 3}),
]


@pytest.mark.parametrize(("step", "budget", "named"), CASES)
def test_both_spellings_are_one_pipeline(step, budget, named):
    value, by_name = step(budget), step(**named)
    assert value == by_name == step(budget=budget)
    assert hash(value) == hash(by_name)
    assert repr(value) == repr(by_name)
    if step is not PURE["threshold"]:
        assert value.to_json() == by_name.to_json()
        assert dp.from_json(value.to_json()) == pickle.loads(pickle.dumps(value)) == value


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
