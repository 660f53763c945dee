"""``accuracy`` before a release, and the intervals of releases."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from math import exp, sqrt
from operator import itemgetter
from statistics import NormalDist

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers.law import Noise

COUNT = dp.count() >> dp.laplace(epsilon=1)
WIDE = dp.records(columns=20) >> dp.clamp(0, 1) >> dp.sum()
TWO_SIDED = NormalDist().inv_cdf(0.975)


def test_a_count_in_closed_form():
    """P(|noise| > 3) = 2 e^-4 / (1 + e^-1) = 0.0268, and P(|noise| > 2) = 0.0728."""
    assert COUNT.accuracy(0.95) == 3
    assert COUNT.accuracy(1 - 2 * exp(-3) / (1 + exp(-1)) - 1e-9) == 2
    assert (dp.records() >> COUNT).accuracy(0.95) == 3


def test_sums_in_closed_form():
    summed = dp.clamp(0, 4) >> dp.sum()
    assert (summed >> dp.gaussian(scale=3)).accuracy(0.95) == pytest.approx(3 * TWO_SIDED, 1e-4)
    assert (summed >> dp.laplace(scale=3)).accuracy(0.95) == pytest.approx(3 * np.log(20), 1e-4)
    both = summed >> dp.gaussian(epsilon=1, delta=1e-6)
    deviation = both.bound.facts.laws[0].standard_deviation
    assert both.accuracy(0.95) == pytest.approx(deviation * TWO_SIDED, 1e-4)


def test_jointly_counts_every_entry():
    noisy = WIDE >> dp.gaussian(scale=1)
    each = NormalDist().inv_cdf((1 + 0.95 ** (1 / 20)) / 2)
    assert noisy.accuracy(0.95) == pytest.approx(TWO_SIDED, 1e-4)
    assert noisy.accuracy(0.95, jointly=True) == pytest.approx(each, 1e-4)


def test_parts_of_compose_have_one_number_each():
    summed = dp.select([0, 1, 2]) >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=2)
    counted = dp.count() >> dp.gaussian(scale=5)
    both = dp.records(3) >> dp.compose(summed, dp.compose(counted))
    assert both.accuracy(0.95) == pytest.approx(np.array([2, 5]) * TWO_SIDED, 1e-4)
    each = NormalDist().inv_cdf((1 + 0.95 ** (1 / 4)) / 2)
    assert both.accuracy(0.95, jointly=True) == pytest.approx(np.array([2, 5]) * each, 1e-4)


def test_a_conversion_keeps_it_and_a_function_drops_it():
    assert COUNT.to_zcdp().to_approximate(1e-6).accuracy(0.95) == 3
    for nothing in (
        COUNT >> float,
        dp.compose(COUNT, COUNT) >> itemgetter(0),
        dp.compose(COUNT, dp.private_quantile(0.5, bounds=(0, 1), epsilon=1)),
        dp.mean(0, 1, epsilon=1),
        dp.adaptive(lambda ask: ask(COUNT), dp.epsilon(1)),
    ):
        with pytest.raises(dp.SpaceError, match=r"expected_error.*confidence=0.95"):
            nothing.accuracy(0.95)
    with pytest.raises(dp.ParameterError, match=r"95 % is 0\.95"):
        COUNT.accuracy(95)


def test_a_confidence_changes_neither_noise_nor_loss():
    plain, asked = (WIDE >> dp.gaussian(rho=0.5, **c) for c in ({}, {"confidence": 0.9}))
    rows = np.full((50, 20), 0.3)
    found = asked.insecure_release(rows, seed=7).value
    assert found.values == pytest.approx(plain.insecure_release(rows, seed=7).value, abs=0)
    assert asked.map(1) == plain.map(1)
    assert asked.accuracy(0.9) == plain.accuracy(0.9)
    half = (found.intervals[:, 1] - found.values).max()
    assert half == pytest.approx(asked.accuracy(0.9))
    joint = (found.values - found.joint_intervals[:, 0])[found.joint_intervals[:, 0] > 0]
    assert joint == pytest.approx(asked.accuracy(0.9, jointly=True))


def test_one_number_is_an_estimate_and_several_are_estimates():
    one = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1, confidence=0.9)
    assert type(one([0.5])) is dp.Estimate
    assert type((dp.count() >> dp.gaussian(rho=1, confidence=0.9))([0.5])) is dp.Estimate
    several = (WIDE >> dp.laplace(epsilon=1, confidence=0.9))(np.zeros((3, 20)))
    assert type(several) is dp.releases.Estimates
    assert len(several) == 20
    assert pickle.loads(pickle.dumps(several)) == several
    assert json.loads(json.dumps(several.as_dict()))["confidence"] == 0.9


def test_a_count_of_nobody_has_an_interval_from_nothing():
    """The value is unbiased, so it may be negative; no interval reaches below 0."""
    counted = dp.count() >> dp.laplace(epsilon=0.1, confidence=0.9)
    found = [counted.insecure_release([], seed=s).value for s in range(200)]
    assert min(each.value for each in found) < -3
    assert min(min(each.interval) for each in found) == 0
    assert sum(each.interval[0] <= 0 <= each.interval[1] for each in found) >= 155
    signed = dp.clamp(-1, 1) >> dp.sum() >> dp.laplace(epsilon=0.1, confidence=0.9)
    assert min(signed.insecure_release([], seed=s).value.interval[0] for s in range(20)) < 0


@pytest.mark.parametrize("noise", [dp.laplace, dp.gaussian])
def test_coverage_one_by_one_and_together(noise):
    """2000 vectors of 20: a failure has a probability below 1e-6 (5 deviations each side)."""
    pipeline = WIDE >> noise(scale=3, confidence=0.9)
    rows = np.full((100, 20), 0.7)
    truth = np.asarray(WIDE(rows))
    found = [pipeline.insecure_release(rows, seed=s).value for s in range(2000)]
    ends = np.array([each.intervals for each in found])
    share = ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean()
    assert abs(share - 0.9) < 5 * sqrt(0.09 / 40_000) + 1e-3
    ends = np.array([each.joint_intervals for each in found])
    share = ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).all(axis=1).mean()
    assert abs(share - 0.9) < 5 * sqrt(0.09 / 2000) + 1e-3


def test_coverage_of_entries_that_depend_on_each_other():
    """One entry has its confidence, all together at least theirs; 5 deviations, as above."""
    pipeline = dp.vector(20) >> dp.measurements.l2_mechanism(scale=3, confidence=0.9)
    found = [pipeline.insecure_release(np.zeros(20), seed=s).value for s in range(2000)]
    ends = np.array([each.intervals for each in found])[:, 7]
    assert abs(((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean() - 0.9) < 5 * sqrt(0.09 / 2000)
    ends = np.array([each.joint_intervals for each in found])
    share = ((ends[..., 0] <= 0) & (ends[..., 1] >= 0)).all(axis=1).mean()
    assert 0.9 - 5 * sqrt(0.09 / 2000) < share < 0.96
    assert found[0].standard_errors[0] == pytest.approx(3 * sqrt(21), 1e-6)


def test_discrete_noise_covers_at_least_what_is_asked():
    counted = dp.count() >> dp.laplace(epsilon=1, confidence=0.9)
    found = [counted.insecure_release([1.0] * 50, seed=s).value for s in range(4000)]
    share = np.mean([each.interval[0] <= 50 <= each.interval[1] for each in found])
    truly = 1 - 2 * exp(-3) / (1 + exp(-1))
    assert abs(share - truly) < 5 * sqrt(truly * (1 - truly) / 4000)
    assert {each.interval[1] - each.value for each in found} == {2}


def test_hostile_values_have_intervals_too():
    noisy = dp.vector(5) >> dp.laplace(scale=1e-9, confidence=0.5)
    with np.errstate(all="raise"):
        found = noisy(np.array([np.nan, np.inf, -np.inf, 1e308, 5e-324]))
    assert np.all(found.intervals[:, 0] <= found.values)
    assert np.all(found.values <= found.intervals[:, 1])
    assert found[0].value == pytest.approx(0, abs=1e-7)


def test_ends_are_rounded_outwards_where_floats_are_coarse():
    found = (dp.scalar() >> dp.laplace(scale=1e-3, confidence=0.5))(2.0**53)
    low, high = (Fraction(end) for end in found.interval)
    half = Fraction((dp.scalar() >> dp.laplace(scale=1e-3)).accuracy(0.5))
    assert low <= Fraction(found.value) - half
    assert high >= Fraction(found.value) + half


@pytest.mark.parametrize("confidence", [0, 1, 95, "a"])
def test_wrong_confidences_are_refused_when_typed(confidence):
    with pytest.raises(dp.ParameterError, match="confidence"):
        dp.laplace(epsilon=1, confidence=confidence)
    with pytest.raises(dp.ParameterError, match="confidence"):
        dp.gaussian(rho=1, confidence=confidence)


class Undeclared(Noise):
    """Noise of which nothing is known."""

    exponent = 0

    def draw(self, count, offsets, entropy):
        return np.zeros(count, dtype=np.int64)


def test_noise_without_a_law_has_no_interval():
    space, noise = dp.vector(2), Undeclared()
    with pytest.raises(dp.ParameterError, match="declares no law"):
        dp.measurements.added_noise(
            space, noise, dp.MaxDivergence(), lambda n: n.l2_squared, confidence=0.9
        )


def test_an_audit_sees_through_estimates():
    honest = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1, confidence=0.9)
    found = dp.audit(honest, [0.0] * 9, [0.0] * 9 + [1.0], releases=2000)
    assert 0 < found.lower_bound <= found.claim
