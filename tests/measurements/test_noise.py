"""Noise: what it costs, many releases, one's own, and what it says of accuracy."""

import json
import pickle
from fractions import Fraction
from itertools import combinations
from math import exp, sqrt
from operator import itemgetter
from statistics import NormalDist

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers.law import Noise, grid_for
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedLaplace
from tests.exact_losses import lost
from tests.opened import Opened

FOUR, WIDEST = dp.vector(4), dp.vector(4, metric=dp.metrics.LInfDistance())
THREE = dp.records(columns=3, size=20190, metric=dp.ChangeOneDistance())
REPLACED_SUM = THREE >> dp.clip_to_norm(10) >> dp.sum()
CLOSED = [
    (dp.clamp(0, 0.1) >> dp.sum() >> dp.laplace(scale=0.1), 1, 1),
    (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(scale=4), 1, 0.5),
    (dp.records(columns=4) >> dp.clip_to_norm(2) >> dp.sum() >> dp.laplace(scale=4), 1, 1),
    (REPLACED_SUM >> dp.laplace(epsilon=1), 1, 1),
    (REPLACED_SUM >> dp.gaussian(scale=20), 1, 0.5),
    (dp.gaussian(rho=0.1), 1, 0.1),
    (dp.gaussian(scale=2), dp.Norms(l2=1), 0.125),
    (dp.laplace(scale=2), dp.Norms(l1=3), 1.5),
    *((FOUR >> dp.laplace(**noise), 1, 1) for noise in ({"epsilon": 1}, {"scale": 2})),
    (WIDEST >> dp.laplace(scale=4), 1, 1),
    (WIDEST >> dp.gaussian(scale=2), 1, 0.5),
    (dp.vector(4, metric=dp.metrics.L1Distance()) >> dp.gaussian(scale=2), 1, 0.125),
    (FOUR >> dp.gaussian(scale=1), dp.Norms(linf=1), 2),
]
"""Pipelines, a distance, and the loss there; some norms follow from the dimension."""


@pytest.mark.parametrize(("pipeline", "distance", "loss"), CLOSED, ids=repr)
def test_scales_and_losses_in_closed_form(pipeline, distance, loss):
    assert pipeline.map(distance) == loss


@pytest.mark.parametrize(
    ("before", "scale"),
    [(dp.count(), 0.25), (dp.count(), 3), (dp.clamp(0, 4) >> dp.sum(), 2.0**-30)],
    ids=repr,
)
def test_the_curve_of_laplace_noise_ends_at_its_loss(before, scale):
    loss = (before >> dp.laplace(scale=scale)).bound.privacy_map(Fraction(2))
    assert loss.curve.pure == loss


def test_approximate_gaussian_for_other_distances():
    pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)
    assert pipeline.map(1) == (1, 1e-6)
    epsilon, delta = pipeline.map(2)
    assert (2 < epsilon < 2.2, delta) == (True, 1e-6)
    assert pipeline.map(0) == (0, 0)
    assert pipeline.delta(epsilon=1) <= 1e-6 * (1 + 1e-9)


def test_laws_carry_the_scale_that_the_map_needs():
    total = dp.clamp(0, 4) >> dp.sum()
    (law,) = (total >> dp.gaussian(rho=0.5)).bound.facts.laws
    assert law.standard_deviation == pytest.approx(4, rel=1e-9)
    (law,) = (total >> dp.laplace(epsilon=2)).bound.facts.laws
    assert law.standard_deviation == pytest.approx(2 * 2**0.5, rel=1e-9)
    (law,) = (dp.count() >> dp.laplace(epsilon=1)).bound.facts.laws
    assert isinstance(law, DiscreteLaplace)
    assert law.exponent == 0
    for scale in (1e-12, 1e-3, 1.0, 1e9, 1e15):
        (law,) = (total >> dp.gaussian(scale=scale)).bound.facts.laws
        assert law.scale * Fraction(2) ** law.exponent > Fraction(scale)


DATA = [1.0, 2.0, 3.0]
AUDITED = [
    dp.count() >> dp.laplace(epsilon=1),
    dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=1),
    dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.5),
    dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-3),
    dp.clamp(0, 4) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5),
    dp.clamp(0, 4) >> dp.simplex_augment() >> dp.sum() >> dp.laplace(epsilon=1),
    dp.clip_to_norm(4) >> dp.sum() >> dp.laplace(epsilon=1) >> dp.to_zcdp(),
]


@pytest.mark.parametrize("pipeline", AUDITED, ids=repr)
def test_a_row_at_the_end_costs_the_claim_and_others_less(pipeline):
    end, *others = (4.0, 0.0, np.nan, np.inf, 1e308)
    for data, added in ((DATA, end), ([], end), *((DATA, other) for other in others)):
        found = lost(pipeline, data, [*data, added])
        if found.pure:
            assert not found.rho
            spent, claim = found.pure, 1
        elif isinstance(pipeline.map(1), tuple):
            claim, delta = pipeline.map(1)
            spent, claim = found.delta(claim), delta
        else:
            spent, claim = found.rho, pipeline.map(1)
        assert spent <= claim
        assert added != end or spent > claim * (1 - 1e-9)


def test_noise_on_bare_vectors_and_numbers():
    mechanism = dp.vector(5) >> dp.gaussian(scale=1e-9)
    wild = np.array([1.0, np.nan, np.inf, -np.inf, 1e300])
    release = mechanism(wild)
    assert np.isfinite(release).all()
    assert release[0] == pytest.approx(1, abs=1e-6)
    assert abs(release[1]) < 1e-6
    assert (dp.vector(2, metric=dp.metrics.L1Distance()) >> dp.laplace(epsilon=2)).map(1) == 2
    assert dp.laplace(scale=1e-12)(3.0) == pytest.approx(3)
    unit = dp.vector(3, metric=dp.metrics.NormDistance(), unit=dp.Norms(l1=2, l2=1))
    assert (unit >> dp.gaussian(rho=0.5)).map(dp.Norms(l2=1)) == 0.5


LARGE = [2**53, 2**53 + 1, 2**60, 2**61 + 256, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 10**30]


def test_every_type_of_an_entry_is_brought_to_one_range():
    """Else a neighbour that changes the type of the others moves them far apart."""
    one, two = dp.vector(1).domain, dp.vector(2).domain
    for value in LARGE:
        for sign in (1, -1):
            number, limit = sign * value, sign * 2.0**53
            assert one.to_internal([number]) == limit
            assert one.to_internal([float(number)]) == limit
            assert one.to_internal(np.array([number], dtype=object)) == limit
            assert dp.scalar().domain.to_internal(number) == limit
            assert dp.scalar().domain.to_internal(float(number)) == limit
            for other in (1, 1.5, None):
                assert two.to_internal([number, other])[0] == limit
            for kind in (np.int64, np.uint64):
                if np.iinfo(kind).min <= number <= np.iinfo(kind).max:
                    assert one.to_internal(np.array([number], dtype=kind)) == limit
    assert one.to_internal([2**53 - 1]) == 2**53 - 1
    assert one.to_internal(np.array([-7], dtype=np.int8)) == -7
    with pytest.raises(dp.DataError, match="rounded to float64"):
        one.to_internal(np.zeros(1, dtype=np.longdouble))


def test_hand_built_grids_take_whole_numbers_only():
    space = dp.Space(dp.Scalars(0), dp.metrics.AbsoluteDistance(), unit=dp.Norms(l1=1))
    exact = space >> dp.laplace(scale=1e-3)
    assert exact(7) == 7
    assert exact(np.uint64(2**63)) == 2**61
    with pytest.raises(dp.DataError, match="whole numbers"):
        exact(0.999999)
    fine = dp.Space(dp.Vectors(1, -3), dp.metrics.L1Distance(), unit=dp.Norms(l1=1))
    with pytest.raises(dp.DataError, match="comes from sum"):
        (fine >> dp.laplace(scale=1))(np.array([1]))


Totals = dp.Space[dp.Vectors]
Aggregates = dp.Space[dp.Scalars | dp.Vectors]


@dp.mechanism
def geometric(
    space: Aggregates, scale: int, claimed: int
) -> dp.Measurement[Aggregates, dp.MaxDivergence]:
    """Discrete Laplace noise of one scale, with the claim of another."""
    exponent = space.domain.exponent
    if exponent is None:
        noise = RoundedLaplace(*grid_for(Fraction(scale)))
    else:
        noise = DiscreteLaplace(Fraction(scale) / Fraction(2) ** exponent, exponent)
    return dp.measurements.added_noise(
        space, noise, dp.MaxDivergence(), lambda norms: norms.l1 / claimed
    )


def returning(result, dimension=None):
    """A step after an aggregate. Its results are floats where a dimension is said."""

    @dp.stage
    def step(space: Aggregates) -> dp.Transformation[Aggregates, Aggregates]:
        floats = None if dimension is None else dp.Vectors(dimension)
        output = space if floats is None else dp.Space(floats, space.metric, unit=space.unit)
        return dp.Transformation(space, output, result, lambda distance: distance)

    return step()


turned = returning(lambda value: value[::-1])
"""The entries in the opposite order."""


@dp.stage
def doubled(space: Totals) -> dp.Transformation[Totals, Totals]:
    """Twice the vector, in floats."""
    output = dp.Space(dp.Vectors(space.domain.dimension), space.metric, unit=space.unit * 2)
    return dp.Transformation(space, output, lambda value: 2 * value, lambda distance: distance * 2)


@dp.mechanism
def seen(space: Aggregates) -> dp.Measurement[Aggregates, dp.MaxDivergence]:
    """Not private: hands out what a mechanism is given."""
    return dp.Measurement(space, dp.MaxDivergence(), lambda value, entropy: value, lambda norms: 0)


ROWS = np.array([[1.0, 5.0], [0.5, 2.0], [0.25, 0.0]])
SUM = dp.records(columns=2) >> dp.clamp(0, [1, 5]) >> dp.sum()


def test_a_step_may_follow_a_sum_or_a_count():
    assert (SUM >> turned)(ROWS).tolist() == [7.0, 1.75]
    assert (SUM >> turned >> turned)(ROWS).tolist() == [1.75, 7.0]
    assert (SUM >> doubled() >> turned)(ROWS).tolist() == [14.0, 3.5]
    assert (SUM >> doubled()).map(1) == SUM.map(1) * 2
    assert (SUM >> turned >> dp.laplace(scale=2**-40))(ROWS).round(3).tolist() == [7.0, 1.75]
    assert (SUM >> doubled() >> dp.gaussian(scale=2**-40))(ROWS).round(3).tolist() == [3.5, 14.0]
    dp.assert_stable(dp.clamp(0, 1) >> dp.sum() >> doubled() >> turned)


def test_what_a_mechanism_is_given_is_the_same_whatever_came_before():
    for value in (
        (SUM >> seen())(ROWS),
        (SUM >> doubled() >> seen())(ROWS / 2),
        (dp.vector(2) >> seen())([1.75, 7.0]),
    ):
        assert isinstance(value, dp.Grid)
        assert value.exact == (Fraction(7, 4), Fraction(7))
        assert (value + 1).tolist() == [2.75, 8.0]
        assert list(value) == value.floats.tolist() == np.asarray(value).tolist() == [1.75, 7.0]
        assert (value[1], len(value), value[::-1].exact[0]) == (7.0, 2, 7)
    assert float((dp.count() >> seen())([1.0, 2.0])) == 2


def test_folds_of_ones_own_steps_still_share_one_pass():
    rows = Opened(ROWS, columns=2)
    both = dp.compose(
        dp.clamp(0, [1, 5]) >> dp.sum() >> turned >> dp.laplace(epsilon=1),
        dp.clamp(0, [1, 5]) >> dp.sum() >> doubled() >> dp.compose(dp.laplace(epsilon=1)),
        dp.count() >> dp.laplace(epsilon=1),
    )
    (dp.records(columns=2) >> both)(rows.blocks)
    assert rows.times == 1


def test_results_that_belie_the_output_space_are_refused():
    rounded = returning(np.asarray)
    shorter = returning(lambda value: value[:1] * 1, dimension=2)
    with pytest.raises(dp.SpaceError, match="whole multiples"):
        (SUM >> rounded)(ROWS)
    with pytest.raises(dp.SpaceError, match=r"the shape \(1,\), not \(2,\)"):
        (SUM >> shorter)(ROWS)


@pytest.mark.parametrize(
    "result",
    [
        lambda value: dp.Grid(value.steps / 2, value.exponent),
        lambda value: dp.Grid((value.steps / 2).astype(np.float32), value.exponent),
        lambda value: dp.Grid(np.array([Fraction(1, 2)] * len(value)), value.exponent),
        lambda value: dp.Grid(value.steps.reshape(1, -1), value.exponent),
    ],
)
def test_steps_of_a_grid_that_are_not_whole_are_refused(result):
    """Their fractions would be rounded off after the stability map was taken, or the grid lost."""
    for total, data in ((dp.count(), [1.0] * 3), (SUM, ROWS)):
        with pytest.raises(dp.SpaceError, match="whole multiples"):
            (total >> returning(result) >> dp.laplace(epsilon=1))(data)
    with pytest.raises(dp.SpaceError, match="whole multiples"):
        (SUM >> returning(result, dimension=2) >> dp.laplace(epsilon=1))(ROWS)


def test_a_grid_of_other_steps_than_the_space_says_is_refused():
    for total, data in ((dp.count(), [1.0] * 3), (SUM, ROWS)):
        other = returning(lambda value: dp.Grid(value.steps, value.exponent + 1))
        with pytest.raises(dp.SpaceError, match="whole multiples"):
            (total >> other >> dp.laplace(epsilon=1))(data)
    finer = returning(lambda value: dp.Grid(value.steps, value.exponent - 1), dimension=2)
    found = (SUM >> finer >> dp.laplace(scale=2**-40))(ROWS)
    assert found.round(3).tolist() == [0.875, 3.5]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64, object])
@pytest.mark.parametrize(
    "noise", [dp.laplace(scale=2**-40), dp.gaussian(scale=2**-60), dp.gaussian(scale=2**60)]
)
def test_whole_steps_of_any_type_are_as_good(noise, kind):
    def made(kind):
        steps = np.array([100, 7] * 9).astype(kind)
        wide = dp.records(columns=18) >> dp.clamp(0, 1) >> dp.sum()
        pipeline = wide >> returning(lambda value: dp.Grid(steps, value.exponent)) >> noise
        return pipeline.insecure_release(np.zeros((2, 18)), seed=1).value.tolist()

    assert made(kind) == made(np.int64)


@pytest.mark.parametrize("kind", [complex, object])
def test_results_that_are_no_real_numbers_count_as_missing_in_silence(kind, recwarn):
    def root(value):
        return np.emath.sqrt(value - 5).astype(kind)

    pipeline = SUM >> returning(root, dimension=2) >> dp.laplace(scale=2**-30)
    assert pipeline(ROWS).round(3).tolist() == [0.0, 1.414]
    assert not recwarn.list


@pytest.mark.parametrize(
    "space",
    [dp.scalar(), dp.vector(2, dp.metrics.L1Distance()), dp.count().bind(dp.records())],
    ids=repr,
)
def test_noise_of_ones_own_costs_what_its_map_says(space):
    pipeline = space >> geometric(4, claimed=4)
    assert pipeline.loss(1) == Fraction(1, 4)
    assert pipeline.facts.laws[0].scale > 0


def test_half_the_noise_of_ones_own_is_caught():
    """The loss of a row is that of the noise, whatever the map claims."""
    pair = [0.5], [0.5, 1.0]
    for claimed in (1, 2):
        pipeline = dp.clamp(0, 1) >> dp.sum() >> geometric(1, claimed=claimed)
        assert lost(pipeline, *pair).pure == pytest.approx(claimed * float(pipeline.map(1)))


def test_noise_for_its_own_grid_is_refused_elsewhere():
    @dp.mechanism
    def whole_steps(space: Aggregates) -> dp.Measurement[Aggregates, dp.MaxDivergence]:
        """Noise of a step of 1, whatever the values."""
        noise = DiscreteLaplace(Fraction(2), 0)
        return dp.measurements.added_noise(
            space, noise, dp.MaxDivergence(), lambda norms: norms.l1 / 2
        )

    assert (dp.count() >> whole_steps()).map(1) == 0.5
    with pytest.raises(dp.SpaceError, match=r"multiples of 2\^0, and the values are floats"):
        dp.scalar() >> whole_steps()
    with pytest.raises(dp.SpaceError, match=r"values are multiples of 2\^-\d+\. Put count\(\)"):
        (dp.clamp(0, 1) >> dp.sum() >> whole_steps()).map(1)
    with pytest.raises(dp.SpaceError, match="RoundedLaplace, which is for all values"):
        (dp.clamp(0, 1) >> dp.sum() >> whole_steps()).map(1)


def test_a_step_for_one_number_says_so_to_a_vector_and_the_reverse():
    @dp.mechanism
    def of_a_count(
        space: dp.Space[dp.Scalars],
    ) -> dp.Measurement[dp.Space[dp.Scalars], dp.MaxDivergence]:
        """For one number."""
        return dp.laplace(epsilon=1).bind(space)

    @dp.mechanism
    def of_a_sum(space: Totals) -> dp.Measurement[Totals, dp.MaxDivergence]:
        """For a vector."""
        return dp.laplace(epsilon=1).bind(space)

    with pytest.raises(
        dp.SpaceError, match=r"needs one number; .* dp\.Space\[dp\.Scalars \| dp\.V"
    ):
        dp.clamp(0, 1) >> dp.sum() >> of_a_count()
    with pytest.raises(dp.SpaceError, match=r"gives one number\. .* dp\.Space\[dp\.Scalars\]"):
        dp.count() >> of_a_sum()


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
        dp.compose(COUNT, dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)),
        dp.mean(0, 1, epsilon=1, confidence=None),
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


def which_hold(ends: np.ndarray, truth) -> np.ndarray:
    """Which of the intervals hold the truth."""
    return (ends[..., 0] <= truth) & (truth <= ends[..., 1])


@pytest.mark.parametrize("noise", [dp.laplace, dp.gaussian])
def test_coverage_one_by_one_and_together(noise):
    """400 vectors of 20: a failure has a probability below 1e-6 (5 deviations each side)."""
    pipeline = WIDE >> noise(scale=3, confidence=0.9)
    rows = np.full((100, 20), 0.7)
    truth = np.asarray(WIDE(rows))
    found = [pipeline.insecure_release(rows, seed=s).value for s in range(400)]
    ends = np.array([each.intervals for each in found])
    share = which_hold(ends, truth).mean()
    assert abs(share - 0.9) < 5 * sqrt(0.09 / 8000) + 1e-3
    ends = np.array([each.joint_intervals for each in found])
    share = which_hold(ends, truth).all(axis=1).mean()
    assert abs(share - 0.9) < 5 * sqrt(0.09 / 400) + 1e-3


def test_coverage_of_entries_that_depend_on_each_other():
    """One entry has its confidence, all together at least theirs; 5 deviations, as above."""
    pipeline = dp.vector(20) >> dp.measurements.l2_mechanism(scale=3, confidence=0.9)
    found = [pipeline.insecure_release(np.zeros(20), seed=s).value for s in range(500)]
    ends = np.array([each.intervals for each in found])[:, 7]
    assert abs(which_hold(ends, 0).mean() - 0.9) < 5 * sqrt(0.09 / 500)
    ends = np.array([each.joint_intervals for each in found])
    share = which_hold(ends, 0).all(axis=1).mean()
    assert 0.9 - 5 * sqrt(0.09 / 500) < share < 0.96
    assert found[0].standard_errors[0] == pytest.approx(3 * sqrt(21), 1e-6)


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


@pytest.mark.usefixtures("seeded")
def test_an_audit_sees_through_estimates():
    honest = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1, confidence=0.9)
    found = dp.audit(honest, [0.0] * 9, [0.0] * 9 + [1.0], releases=500)
    assert 0 < found.lower_bound <= found.claim


RELEASES = 300
TOTAL = dp.clamp(-1, 1) >> dp.sum()
NOISES = {
    "laplace": TOTAL >> dp.laplace(epsilon=1),
    "gaussian": TOTAL >> dp.gaussian(rho=0.5),
    "discrete": dp.transformations.indicator_below(0.5) >> dp.sum() >> dp.laplace(epsilon=1),
    "l2_mechanism": dp.clip_to_norm(1) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=1),
    "core": dp.clamp(-1, 1) >> dp.measurements.sum_and_count(epsilon=1),
}
PARTS = {
    "laplace": TOTAL >> dp.laplace(epsilon=1),
    "gaussian": TOTAL >> dp.gaussian(epsilon=1, delta=1e-6),
    "count": dp.count() >> dp.laplace(epsilon=1),
}


def drawn(pipeline, data) -> np.ndarray:
    """Many releases, a row for each."""
    return np.array([flat(pipeline.insecure_release(data, s).value) for s in range(RELEASES)])


def flat(release) -> list[float]:
    parts = release if isinstance(release, tuple) else (release,)
    return [float(x) for part in parts for x in np.atleast_1d(part)]


def check(noises: np.ndarray) -> None:
    """No two columns are equal, opposite, or a fixed number apart more often than by chance."""
    for i, j in combinations(range(noises.shape[1]), 2):
        a, b = noises[:, i], noises[:, j]
        for apart in (a - b, a + b):
            _, times = np.unique(apart, return_counts=True)
            assert times.max() <= RELEASES / 2
        assert abs(np.corrcoef(a, b)[0, 1]) < 6 / RELEASES**0.5


@pytest.mark.parametrize("columns", [2, 9])
@pytest.mark.parametrize("name", NOISES)
def test_entries_of_a_release(name, columns):
    pipeline = dp.records(columns=columns) >> NOISES[name]
    check(drawn(pipeline, np.zeros((2, columns))))


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_composition(name):
    counted = [] if name == "gaussian" else [PARTS["count"]]
    pipeline = dp.compose(PARTS[name], PARTS[name], *counted)
    check(drawn(pipeline, [0.0]))


def test_queries_of_a_program():
    query = TOTAL >> dp.gaussian(rho=0.1)

    def program(ask):
        return ask(query), ask(query), ask(dp.compose(query, query))

    pipeline = dp.adaptive(program, dp.rho(1)) >> (lambda found: (*found[:2], *found[2]))
    check(drawn(pipeline, [0.0]))


@pytest.mark.parametrize("name", NOISES)
def test_a_seed_repeats_a_release_and_nothing_else_does(name):
    """Three of the least noise are equal once in 5e10 by chance."""
    first, second = (NOISES[name].insecure_release([0.5], seed=3) for _ in range(2))
    assert flat(first.value) == flat(second.value)
    assert "NOT PRIVATE" in repr(first)
    assert name == "discrete" or len({tuple(flat(NOISES[name]([0.5]))) for _ in range(3)}) > 1
