"""Laws for every estimator that takes a budget: all of it is spent, and no more."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.parts.budget import budget_of, concentrated_loss
from opendp_lite.measures.profile import ConcentratedProfile
from tests.estimators.cases import BINARY, PROGRAMS, SIZED, WILD, space_of, sum_around_the_middle

E = dp.estimators
THIRD, SPILL = Fraction(1, 3), Fraction(1, 10**6)
PLAIN = ({},)
NOISE_ALONE = ({}, {"confidence": 0.9})
ASKED = (*NOISE_ALONE, {"confidence": 0.9, "sampling": True})


@attrs.frozen
class Case:
    """An estimator, and what may be asked of it."""

    make: Callable[..., Any]
    columns: int = 1
    rows: tuple[int | None, ...] = (None,)
    """The public numbers of rows, None for a private one."""
    asked: tuple[dict[str, Any], ...] = ASKED
    kinds: str = "rho epsilon delta"
    chooses: bool = False
    """Whether it also makes choices: epsilon with delta is then met by the curve of zCDP."""


ALONE = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(epsilon=THIRD, delta=SPILL)
EITHER = (None, 9)
CASES = {
    "mean": Case(partial(dp.mean, -3, 4), rows=EITHER),
    "mean, no bounds": Case(dp.mean, rows=(None, 9000), chooses=True),
    "unbounded_mean": Case(E.unbounded_mean, rows=(None, 9000), chooses=True),
    "known_size_mean": Case(partial(E.known_size_mean, -3, 4), rows=(9,)),
    "recentred_mean": Case(partial(E.recentred_mean, -3, 4), kinds="rho delta"),
    "joint_mean": Case(partial(E.joint_mean, -3, 4), kinds="epsilon"),
    "joint_mean, even": Case(partial(E.joint_mean, -3, 4, stretch=0), kinds="epsilon"),
    "joint_mean, stretched": Case(partial(E.joint_mean, -3, 4, stretch=2.39), kinds="epsilon"),
    "simplex_mean": Case(partial(E.simplex_mean, -3, 4)),
    "simplex_mean, extra count": Case(partial(E.simplex_mean, -3, 4, extra_count=0.2)),
    "centered_mean": Case(partial(E.centered_mean, -3, 4)),
    "plug_in_mean": Case(partial(E.plug_in_mean, -3, 4)),
    "resized_mean": Case(partial(E.resized_mean, -3, 4)),
    "weighted_mean": Case(partial(dp.weighted_mean, -3, 5, most=0.3), 2, EITHER),
    "variance": Case(partial(dp.variance, 0, 9), rows=EITHER, chooses=True),
    "standard_deviation": Case(partial(dp.standard_deviation, 0, 9), rows=EITHER, chooses=True),
    "covariance": Case(partial(dp.covariance, 0, 9), 2, EITHER, NOISE_ALONE, chooses=True),
    "linear_regression": Case(
        partial(dp.linear_regression, 0, 1, [(0, 9), (0, 9)]),
        2,
        EITHER,
        ({"robust": False}, {"confidence": 0.9}),
        chooses=True,
    ),
    "private_bounds": Case(
        partial(dp.private_bounds, 0.9), rows=(None, 9000), asked=PLAIN, chooses=True
    ),
    "binary_mean": Case(E.binary_mean, 3, (None, 7), PLAIN, "rho"),
    "binary_mean, published": Case(partial(E.binary_mean, published=True), 3, (7,), PLAIN, "rho"),
    "multivariate_mean": Case(
        partial(dp.multivariate_mean, 5, confidence=None), 1, EITHER, PLAIN, "rho epsilon"
    ),
    "multivariate_mean, told": Case(
        partial(dp.multivariate_mean, 5, confidence=0.9), 2, EITHER, PLAIN, "rho epsilon"
    ),
    "multivariate_mean, 20": Case(
        partial(dp.multivariate_mean, 5, confidence=None), 20, EITHER, PLAIN, "rho epsilon"
    ),
    "simplex_vector_mean": Case(partial(E.simplex_vector_mean, 4), 3),
    "gaussian_mean": Case(partial(E.gaussian_mean, 1), 2, EITHER, kinds="rho"),
    "laplace_mean": Case(partial(E.laplace_mean, 1), 2, EITHER, kinds="epsilon"),
    "l2_mechanism_mean": Case(partial(E.l2_mechanism_mean, 1), 2, EITHER, kinds="epsilon"),
    "centered_sum": Case(sum_around_the_middle, 3, EITHER, PLAIN),
    "centered_sum, counted": Case(sum_around_the_middle, 3, asked=({"with_count": True},)),
    "top_k": Case(partial(dp.top_k, 2, categories=[0, 1]), 1, EITHER, PLAIN, "rho epsilon"),
    "cdf": Case(partial(dp.cdf, 0, 1, cells=9), rows=EITHER, asked=NOISE_ALONE),
    "basis_distribution": Case(
        partial(E.basis_distribution, dp.bases.Haar(4, 0, 1)), rows=EITHER, asked=PLAIN
    ),
    **{
        name: Case(
            partial(PROGRAMS[name], 10), 3, (9,) if name in SIZED | BINARY else EITHER, PLAIN, "rho"
        )
        for name in PROGRAMS
        if name not in ("gaussian_mean", "laplace_mean")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_what_was_given(name):
    """For no row, for one and for two, whatever else is asked for."""
    case = CASES[name]
    for size in case.rows:
        metric = None if size is None else dp.ChangeOneDistance()
        space = dp.records(columns=case.columns, size=size, metric=metric)
        for asked in case.asked:
            make = partial(case.make, **asked)
            if "rho" in case.kinds:
                zcdp = space >> make(rho=THIRD)
                assert zcdp.output_measure == dp.ZeroConcentratedDivergence()
                assert [zcdp.loss(k) for k in range(4)] == [k * k * THIRD for k in range(4)]
            if "epsilon" in case.kinds:
                pure = space >> make(epsilon=THIRD)
                assert pure.output_measure == dp.MaxDivergence()
                assert [pure.loss(k) for k in range(4)] == [k * THIRD for k in range(4)]
            if "delta" in case.kinds:
                both = space >> make(epsilon=THIRD, delta=SPILL)
                assert both.output_measure == dp.ApproximateDivergence()
                assert (both.loss(0), both.loss(1)) == ((0, 0), (THIRD, SPILL))
                level, same = both.loss(2)
                assert same == SPILL
                assert 2 * THIRD < level < 3 * THIRD
                if case.chooses:
                    # Two rows cost four times the rho, read off the curve of all rhos.
                    rho = concentrated_loss(THIRD, SPILL)
                    assert level == ConcentratedProfile(4 * rho).epsilon(SPILL)
                    continue
                # All noises together have the curve of one Gaussian: none looser is paid for.
                for delta in (1e-3, 1e-9):
                    assert both.epsilon(delta) == pytest.approx(ALONE.epsilon(delta), rel=1e-6)


QUERIED = [name for name in CASES if CASES[name].chooses]


@pytest.mark.parametrize("name", QUERIED)
@pytest.mark.parametrize("loss", [{"rho": 0.1}, {"epsilon": 2}, {"epsilon": 1, "delta": 1e-6}])
def test_the_loss_is_what_the_queries_pay(name, loss, paid, seeded):
    """By their prices, on any data: where the number of rows is public, nearly all of it."""
    case, whole = CASES[name], budget_of("here", **loss).with_choices().amount
    shape, generator = (9000, case.columns)[: case.columns], np.random.default_rng(1)
    tables = [np.full(shape, each) for each in (4.0, np.nan)]
    tables += [generator.normal(5, 1, shape), generator.choice(WILD, shape)]
    for size, asked in zip(case.rows, case.asked[-2:] * 2, strict=False):
        space = space_of(case.columns, size and 9000)
        bound = space >> case.make(**loss, **asked)
        for table in tables[size is None :: 2]:
            paid.clear()
            bound(table)
            assert sum(paid) <= whole
            assert size is None or sum(paid) > whole * Fraction(999, 1000)


WRONG = [
    ({"delta": 0.1}, "delta goes with epsilon"),
    ({"epsilon": 1e-31}, "between 1e-30 and 1e30"),
]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [(name, *wrong) for name in CASES for wrong in WRONG if "delta" in CASES[name].kinds],
)
def test_what_is_asked_wrongly_is_refused_in_the_words_of_the_step(name, given, words):
    step = name.partition(",")[0].replace("unbounded_", "")
    space = dp.records(columns=CASES[name].columns)
    with pytest.raises(dp.ParameterError, match=f"{step}(.|\n)*{words}|{words}(.|\n)*{step}"):
        space >> CASES[name].make(**given)
