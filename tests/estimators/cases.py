"""Data and estimators that many tests of estimators share."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import attrs
import numpy as np

import opendp_lite as dp
from opendp_lite.estimators.parts.bounds_search import FARTHEST

E = dp.estimators
REPLACE = dp.ChangeOneDistance()
WILD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1e-310, 1.0]
RHO = ({"rho": 1e-6}, {"rho": 0.5}, {"rho": 1e6}, {"epsilon": 1.0, "delta": 1e-6})
PURE = ({"epsilon": 1e-6}, {"epsilon": 0.5}, {"epsilon": 1e6})
PLAIN = ({},)
NOISE_ALONE = ({}, {"confidence": 0.95})
ASKED = (
    {"confidence": None},
    {"confidence": 0.95, "sampling": False},
    {"confidence": 0.95, "sampling": True},
)
ADDED, REPLACED = "added", "replaced"
TINY = Fraction(1, 10**400)


def space_of(columns: int, size: int | None = None) -> dp.Space[dp.Rows]:
    """Rows of a private number, or of this public one."""
    return dp.records(columns=columns, size=size, metric=None if size is None else REPLACE)


def sum_around_the_middle(**asked):
    return dp.clamp(0, 1) >> dp.centered_sum(**asked)


@attrs.frozen
class Case:
    """An estimator, the bounds of what it releases, and where it works."""

    make: Callable[..., Any]
    low: float
    high: float
    losses: tuple[dict[str, Any], ...] = RHO + PURE
    asked: tuple[dict[str, Any], ...] = ASKED
    where: tuple[str, ...] = (ADDED,)
    shapes: tuple[tuple[int, int], ...] = ((0, 1), (1, 1), (2, 1), (40, 1))
    """Numbers of rows and of columns."""
    is_array: bool | None = False
    """Whether numbers come as an array; None: where there are several columns."""
    total: float = np.inf
    """No release has a sum beyond it."""


EITHER = (ADDED, REPLACED)
BY_SHARES = {
    "simplex_mean": E.simplex_mean,
    "simplex_mean, extra count": partial(E.simplex_mean, extra_count=0.2),
    "centered_mean": E.centered_mean,
    "plug_in_mean": E.plug_in_mean,
}
"""Means of a private number of rows, with every noise."""
CORE = {"joint_mean": E.joint_mean, "joint_mean, stretched": partial(E.joint_mean, stretch=2.39)}
MORE = {
    "plug_in_mean, guess": partial(E.plug_in_mean, guess=0),
    "centered_mean, share": partial(E.centered_mean, share=0.75),
}


def mean_case(make, **given) -> Case:
    """A mean between -3 and 4."""
    return Case(partial(make, -3, 4), -3, 4, **given)


MEANS = {
    "mean": mean_case(dp.mean, where=EITHER),
    "known_size_mean": mean_case(E.known_size_mean, where=(REPLACED,)),
    **{name: mean_case(make) for name, make in (BY_SHARES | MORE).items()},
    "recentred_mean": mean_case(E.recentred_mean, losses=RHO),
    **{name: mean_case(make, losses=PURE) for name, make in CORE.items()},
}
OF_A_NOISY_NUMBER = ({"rho": 1e-4}, {"rho": 1e6}, {"epsilon": 0.01})
RESIZED = {
    "resized_mean": mean_case(E.resized_mean, losses=OF_A_NOISY_NUMBER),
    "resized_mean, filled": mean_case(partial(E.resized_mean, fill=0.5), losses=OF_A_NOISY_NUMBER),
}
RADII, BUDGETS = (1e-6, 10, 1e7), tuple({"rho": rho} for rho in (1e-6, 0.5, 1e6))
IN_RADIUS = {
    "plan_plus_mean": E.plan_plus_mean,
    "plan_plus_mean for p = 1": partial(E.plan_plus_mean, p=1),
    "plan_plus_mean for p = 10": partial(E.plan_plus_mean, p=10),
    "gaussian_mean": E.gaussian_mean,
    "laplace_mean": lambda bound, rho: E.laplace_mean(bound, epsilon=rho),
    "elliptical_mean": lambda bound, rho: E.elliptical_mean(-bound, bound, rho=rho),
    "quantile_by_search": lambda bound, rho: E.quantile_by_search(
        0.3, -bound, bound, rho=rho, steps=5
    ),
}
UNBOUNDED = {
    "scaled_mean": E.scaled_mean,
    "scaled_mean, searched": partial(E.scaled_mean, searched=True),
    "normal_variance": E.normal_variance,
    "normal_variance by pairs": partial(E.normal_variance, by="pairs"),
    "normal_variance by groups": partial(E.normal_variance, by="pairs", group=3),
    "normal_variance by the 0.841 quantile": partial(E.normal_variance, by="direct"),
}
SIZED = {
    "plan_mean": E.plan_mean,
    "plan_mean for p = 1.5": partial(E.plan_mean, p=1.5, group=2),
    "plan_mean, direct": partial(E.plan_mean, variances="direct"),
    "plan_mean, binary": partial(E.plan_mean, variances="binary"),
    "plan_mean, magnitude": partial(E.plan_mean, variances="magnitude"),
    "plan_mean, none": partial(E.plan_mean, variances="none"),
    "iome_mean": partial(E.iome_mean, steps=6),
}
BINARY = {"normal_variance, binary": partial(E.normal_variance, by="binary")}
PROGRAMS = IN_RADIUS | UNBOUNDED | SIZED | BINARY


def case_of(name: str, radius: float) -> Case:
    """A program with a bound; its release is within it where it is a mean."""
    most = np.inf if name in UNBOUNDED | BINARY else radius * (1 + 1e-12)
    shapes = (0, 3), (1, 1), (2, 4), (40, 3), (0, 1), (3, 9)
    return Case(
        partial(PROGRAMS[name], radius),
        -most,
        most,
        losses=BUDGETS if radius == RADII[1] else BUDGETS[::2],
        asked=PLAIN,
        where=(REPLACED,) if name in SIZED | BINARY else EITHER if radius == RADII[1] else (ADDED,),
        shapes=shapes if radius == RADII[1] else shapes[:4],
        is_array=None if name == "quantile_by_search" else True,
    )


SEARCHES = ({"rho": 0.1}, {"rho": 2}, {"epsilon": 2}, {"epsilon": 1, "delta": 1e-6})
LONG = ((0, 1), (1, 1), (40, 1), (2000, 1))
IN_A_BALL = ({"confidence": 0.95}, {"confidence": 0.95, "sampling": True})
OF_PAIRS, OF_TRIPLES = ((0, 2), (1, 2), (2, 2), (40, 2)), ((0, 3), (1, 3), (9, 3))
ONE_OR_TWENTY = ((0, 1), (1, 1), (7, 1), (0, 20), (1, 20), (7, 20))
array = partial(Case, is_array=True, asked=PLAIN)
of_shares = partial(array, low=0, high=1, losses=(RHO[0], RHO[2]))
told = partial(Case, low=-6, high=6, asked=IN_A_BALL, shapes=OF_TRIPLES)
OTHERS = {
    "centered_sum": array(
        sum_around_the_middle,
        *(-np.inf, np.inf),
        losses=(RHO[1], PURE[1]),
        where=EITHER,
        shapes=OF_TRIPLES,
    ),
    "weighted_mean": Case(
        partial(dp.weighted_mean, -3, 4, most=2), -3, 4, asked=ASKED[:2], shapes=OF_PAIRS
    ),
    "simplex_vector_mean": array(
        partial(E.simplex_vector_mean, 5), 0, 5, shapes=OF_TRIPLES, total=5 * (1 + 1e-12)
    ),
    "unbounded_mean": Case(E.unbounded_mean, -FARTHEST, FARTHEST, SEARCHES, shapes=LONG),
    "unbounded_mean, sized": Case(
        E.unbounded_mean, -FARTHEST, FARTHEST, SEARCHES, where=(REPLACED,), shapes=LONG[-1:]
    ),
    "private_bounds": Case(
        partial(dp.private_bounds, 0.9),
        -np.inf,
        np.inf,
        SEARCHES,
        PLAIN,
        shapes=LONG,
        is_array=None,
    ),
    "variance": Case(partial(dp.variance, -3, 4), 0, 3.5**2, (RHO[0], PURE[2]), where=EITHER),
    "standard_deviation": Case(
        partial(dp.standard_deviation, -3, 4), 0, 3.5, ({"rho": 1},), where=EITHER
    ),
    "binary_mean": of_shares(E.binary_mean, where=EITHER, shapes=ONE_OR_TWENTY),
    "binary_mean, published": of_shares(
        partial(E.binary_mean, published=True), where=(REPLACED,), shapes=ONE_OR_TWENTY
    ),
    **{
        f"multivariate_mean, {bound:g}": array(
            partial(dp.multivariate_mean, bound, confidence=None),
            *(-bound * 5, bound * 5),
            losses=({"rho": 0.5}, {"epsilon": 2}),
            where=EITHER,
            shapes=ONE_OR_TWENTY,
        )
        for bound in (1e-6, 1e6)
    },
    "multivariate_mean, bounds": Case(
        partial(dp.multivariate_mean, (-3, 4)),
        *(-3, 4),
        losses=({"rho": 1e-6}, {"rho": 0.5}, {"rho": 1e6}),
        asked=ASKED,
        where=EITHER,
        shapes=((0, 1), (7, 1), (1, 20), (7, 20)),
        is_array=True,
    ),
    "gaussian_mean, told": told(partial(E.gaussian_mean, 6), losses=RHO[1:2]),
    "laplace_mean, told": told(partial(E.laplace_mean, 6), losses=PURE[1:2]),
    "l2_mechanism_mean, told": told(partial(E.l2_mechanism_mean, 6), losses=PURE[1:2]),
    "simplex_vector_mean, told": told(
        partial(E.simplex_vector_mean, 6), losses=(RHO[1], RHO[3], PURE[1])
    ),
}
OTHERS["weighted_mean, sized"] = attrs.evolve(OTHERS["weighted_mean"], where=(REPLACED,))
EVERY = {
    **MEANS,
    **RESIZED,
    **{f"{name}, {radius:g}": case_of(name, radius) for name in PROGRAMS for radius in RADII},
    **OTHERS,
}
