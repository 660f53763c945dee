"""Additive noise of one's own, and steps of one's own after an aggregate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.law import grid_for
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

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


@dp.stage
def turned(space: Totals) -> dp.Transformation[Totals, Totals]:
    """The entries in the opposite order."""
    return dp.Transformation(space, space, lambda value: value[::-1], lambda distance: distance)


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
    assert (SUM >> turned())(ROWS).tolist() == [7.0, 1.75]
    assert (SUM >> turned() >> turned())(ROWS).tolist() == [1.75, 7.0]
    assert (SUM >> doubled() >> turned())(ROWS).tolist() == [14.0, 3.5]
    assert (SUM >> doubled()).map(1) == SUM.map(1) * 2
    assert (SUM >> turned() >> dp.laplace(scale=2**-40))(ROWS).round(3).tolist() == [7.0, 1.75]
    assert (SUM >> doubled() >> dp.gaussian(scale=2**-40))(ROWS).round(3).tolist() == [3.5, 14.0]
    dp.assert_stable(dp.clamp(0, 1) >> dp.sum() >> turned())
    dp.assert_stable(dp.clamp(0, 1) >> dp.sum() >> doubled())


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
    passes = []

    def opened():
        passes.append(1)
        return iter([ROWS])

    both = dp.compose(
        dp.clamp(0, [1, 5]) >> dp.sum() >> turned() >> dp.laplace(epsilon=1),
        dp.clamp(0, [1, 5]) >> dp.sum() >> doubled() >> dp.compose(dp.laplace(epsilon=1)),
        dp.count() >> dp.laplace(epsilon=1),
    )
    (dp.records(columns=2) >> both)(dp.Blocks(opened, columns=2))
    assert len(passes) == 1


def test_results_that_belie_the_output_space_are_refused():
    @dp.stage
    def rounded(space: Totals) -> dp.Transformation[Totals, Totals]:
        return dp.Transformation(space, space, np.asarray, lambda distance: distance)

    @dp.stage
    def shorter(space: Totals) -> dp.Transformation[Totals, Totals]:
        output = dp.Space(dp.Vectors(2), space.metric, unit=space.unit)
        return dp.Transformation(space, output, lambda value: value[:1] * 1, lambda d: d)

    with pytest.raises(dp.SpaceError, match="whole multiples"):
        (SUM >> rounded())(ROWS)
    with pytest.raises(dp.SpaceError, match=r"the shape \(1,\), not \(2,\)"):
        (SUM >> shorter())(ROWS)


def returning(result, dimension=None):
    """A step after an aggregate. Its results are floats where a dimension is said."""

    @dp.stage
    def step(space: Aggregates) -> dp.Transformation[Aggregates, Aggregates]:
        floats = None if dimension is None else dp.Vectors(dimension)
        output = space if floats is None else dp.Space(floats, space.metric, unit=space.unit)
        return dp.Transformation(space, output, result, lambda distance: distance)

    return step()


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


def test_half_the_noise_of_ones_own_is_caught(seeded):
    """Nothing is found of the true claim, and of half the noise with a probability of 1e-7."""
    total = dp.clamp(0, 1) >> dp.sum()
    dp.audit(total >> geometric(1, claimed=1), [0.5], [0.5, 1.0], releases=3000)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(total >> geometric(1, claimed=2), [0.5], [0.5, 1.0], releases=3000)


def test_noise_for_its_own_grid_is_refused_elsewhere() -> None:
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


def test_a_step_for_one_number_says_so_to_a_vector_and_the_reverse() -> None:
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
