"""compose and calibrate."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

SUM = dp.clamp(0, 4) >> dp.sum()
TEN_TENTHS = [dp.count() >> dp.gaussian(rho=0.1)] * 10


def test_losses_add_without_rounding():
    assert dp.compose(*TEN_TENTHS).map(1) == 1.0
    assert dp.compose(*[SUM >> dp.laplace(epsilon=1 / 3)] * 3).map(1) == 1.0
    both = dp.compose(SUM >> dp.laplace(epsilon=0.1), dp.count() >> dp.laplace(epsilon=0.2))
    assert both.map(1) == 0.3
    assert both.map(2) == 0.6
    assert both.check(1, 0.3)
    assert not both.check(1, 0.29999)


def test_gaussian_curves_compose_exactly():
    composed = dp.compose(*TEN_TENTHS)
    alone = dp.count() >> dp.gaussian(rho=1)
    assert composed.epsilon(delta=1e-6) == alone.epsilon(delta=1e-6)
    converted = dp.compose(*TEN_TENTHS) >> dp.to_approximate(1e-6)
    assert converted.map(1)[0] == alone.epsilon(delta=1e-6)
    mixed = dp.compose(alone, dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp())
    assert mixed.epsilon(delta=1e-6) > alone.epsilon(delta=1e-6)


def test_approximate_losses_add():
    part = SUM >> dp.gaussian(epsilon=0.5, delta=1e-7)
    assert dp.compose(part, part).map(1) == (1.0, 2e-7)


def test_one_pass_over_the_data():
    passes = []

    def opened():
        passes.append(1)
        return iter([np.array([1.0, 2.0]), np.array([3.0])])

    nested = dp.compose(
        SUM >> dp.laplace(epsilon=1),
        dp.compose(dp.count() >> dp.laplace(epsilon=1), SUM >> dp.laplace(epsilon=1)),
        dp.drop_nan()
        >> dp.clamp(0, 1)
        >> dp.simplex_augment()
        >> dp.sum()
        >> dp.laplace(epsilon=1),
    )
    total, (rows, again), both = nested(dp.Blocks(opened))
    assert len(passes) == 1
    assert total.shape == again.shape == (1,)
    assert type(rows) is int
    assert both.shape == (2,)


def test_composed_values_are_those_of_the_parts():
    pipeline = dp.compose(SUM >> dp.gaussian(scale=1e-9), dp.count() >> dp.gaussian(scale=1e-9))
    total, rows = pipeline([1.0, 2.0, 9.0])
    assert total == pytest.approx([7], abs=1e-6)
    assert rows == pytest.approx(3, abs=1e-6)


def test_compose_on_a_space_and_after_a_stage():
    space = dp.records(columns=2, size=3, metric=dp.ChangeOneDistance())
    ball = dp.clip_to_norm(1) >> dp.sum() >> dp.gaussian(rho=0.2)
    bound = space >> dp.compose(ball, ball)
    assert bound.map(1) == 0.4
    shared = dp.clamp(0, 1) >> dp.compose(
        dp.sum() >> dp.gaussian(rho=0.2), dp.count() >> dp.gaussian(rho=0.1)
    )
    assert shared.map(1) == 0.3
    total = dp.clamp(0, 1) >> dp.sum() >> dp.compose(dp.gaussian(rho=0.1), dp.gaussian(rho=0.2))
    assert total.map(1) == 0.3
    assert len(total([1.0])) == 2


def test_audit_of_a_composition(seeded):
    pipeline = dp.compose(SUM >> dp.laplace(epsilon=0.5), dp.count() >> dp.laplace(epsilon=0.5))
    dp.audit(pipeline, [1.0], [1.0, 4.0], releases=2000)


def test_compose_refuses():
    with pytest.raises(dp.ParameterError, match="at least one"):
        dp.records() >> dp.compose()
    with pytest.raises(dp.ParameterError, match="to_zcdp"):
        dp.compose(SUM >> dp.laplace(epsilon=1), SUM >> dp.gaussian(rho=1))


def test_calibrate_finds_parameters():
    scale = dp.calibrate(lambda s: SUM >> dp.gaussian(scale=s), d_out=0.5)
    assert scale.map(1) == pytest.approx(0.5, rel=1e-9)
    assert scale.check(1, 0.5)
    bound = dp.calibrate(lambda u: dp.clamp(0, u) >> dp.sum() >> dp.laplace(scale=10), d_out=1)
    assert bound.map(1) == pytest.approx(1)
    pair = dp.calibrate(
        lambda r: SUM >> dp.gaussian(rho=r) >> dp.to_approximate(1e-6), d_out=(1, 1e-6)
    )
    assert 0.999999 < pair.map(1)[0] <= 1
    copies = dp.calibrate(
        lambda k: dp.compose(*[dp.count() >> dp.laplace(epsilon=0.1)] * k), d_out=1, bounds=(1, 99)
    )
    assert copies.map(1) == 1
    two = dp.calibrate(lambda s: dp.count() >> dp.laplace(scale=s), d_out=1, d_in=2)
    assert two.map(2) == pytest.approx(1)


def test_calibrate_refuses():
    make = lambda s: dp.count() >> dp.laplace(scale=s)  # noqa: E731
    with pytest.raises(dp.ParameterError, match="misses"):
        dp.calibrate(make, d_out=0.1, bounds=(1.0, 2.0))
    with pytest.raises(dp.ParameterError, match="meets"):
        dp.calibrate(make, d_out=100, bounds=(1.0, 2.0))
    with pytest.raises(dp.ParameterError, match="rise"):
        dp.calibrate(make, d_out=1, bounds=(2.0, 1.0))
