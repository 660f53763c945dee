"""Huge public parameters are refused with a ParameterError, and many columns cost nothing."""

import time
import tracemalloc
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp

HUGE = [
    10**400,
    -(10**400),
    Fraction(10**400, 3),
    Fraction(1, 10**400),
    Decimal("1e400"),
    Decimal("1e9999999"),
    10**6000,
    Fraction(1, 10**6000),
    1e308,
    5e-324,
    2**70,
]
TAILS = [
    dp.sum(),
    dp.transformations.absolute() >> dp.sum(),
    dp.transformations.square() >> dp.sum(),
    dp.transformations.norm() >> dp.sum(),
    dp.transformations.random_rotation() >> dp.sum(),
    dp.simplex_augment() >> dp.sum(),
    dp.resize(3),
]
STEPS = {
    "center": dp.center,
    "scale": dp.scale,
    "impute": dp.impute,
    "indicator_below": dp.transformations.indicator_below,
    "clip_to_norm": dp.clip_to_norm,
    "clamp above 0": lambda value: dp.clamp(0, value),
    "clamp below 0": lambda value: dp.clamp(value, 0),
    "random_rotation": dp.transformations.random_rotation,
    "norm": lambda value: dp.transformations.norm(p=value),
    "resize": lambda value: dp.clamp(0, 5) >> dp.resize(value),
    "fill": lambda value: dp.clamp(-1e300, 1e300) >> dp.resize(4, fill=value),
}
BODIES = {
    "Box": lambda value: dp.bodies.Box(-1, value),
    "Ball": dp.bodies.Ball,
    "centre": lambda value: dp.bodies.Ball(1, center=value),
    "p": lambda value: dp.bodies.Ball(1, p=value),
    "NonNegativeBall": dp.bodies.NonNegativeBall,
    "Simplex": lambda value: dp.bodies.Simplex(value, columns=2),
    "Box, columns": lambda value: dp.bodies.Box(0, 1, columns=value),
    "Ball, columns": lambda value: dp.bodies.Ball(1, columns=value),
    "NonNegativeBall, columns": lambda value: dp.bodies.NonNegativeBall(1, columns=value),
    "Simplex, columns": lambda value: dp.bodies.Simplex(1, columns=value),
    "Everything, columns": dp.bodies.Everything,
    "Norms": lambda value: dp.Norms(l1=value, l2=value),
    "terms": lambda value: dp.bases.Cosine(value, 0, 1),
    "upper": lambda value: dp.bases.Legendre(3, 0, value).points(),
    "cells": lambda value: dp.bases.Haar(value, 0, 1),
    "bases": lambda value: dp.bases.MutuallyUnbiased(5, 0, 1, bases=value),
    "moments": lambda value: dp.bases.Daubechies(8, 0, 1, moments=value),
    "distance": lambda value: dp.metrics.L2Distance().words(
        dp.metrics.L2Distance().distance(value)
    ),
    "rows": lambda value: dp.SymmetricDistance().words(dp.SymmetricDistance().distance(value)),
}


def shortly(value: object) -> str:
    return f"{type(value).__name__}{hash(value) % 997}"


@pytest.mark.parametrize("value", HUGE, ids=shortly)
@pytest.mark.parametrize("name", STEPS)
def test_a_step_works_or_is_refused(name, value):
    for space in (dp.records(), dp.records(size=3, metric=dp.ChangeOneDistance())):
        for tail in TAILS:
            with suppress(dp.OpenDPLiteError):
                (STEPS[name](value) >> tail).bind(space)([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_made_or_refused(name):
    for value in [*HUGE, 0, -1, 1.5, 2**40]:
        with suppress(dp.OpenDPLiteError):
            assert repr(BODIES[name](value))


@pytest.mark.parametrize(
    "steps",
    [
        dp.clamp(-1, 1) >> dp.scale(2) >> dp.center(1) >> dp.sum(),
        dp.clip_to_norm(1) >> dp.select([0, 3]) >> dp.sum(),
        dp.clamp(0, 1) >> dp.select([0, 3]) >> dp.sum(),
        dp.transformations.random_rotation() >> dp.clip_to_norm(1) >> dp.sum(),
        dp.impute(0)
        >> dp.clamp(0, 1)
        >> dp.transformations.absolute()
        >> dp.transformations.square()
        >> dp.transformations.norm()
        >> dp.sum(),
        dp.clamp(0, 1) >> dp.clip_to_norm(1, p=1) >> dp.simplex_augment() >> dp.sum(),
        dp.drop_nan() >> dp.transformations.indicator_below(1) >> dp.count(),
        dp.private_quantile([0, 0.5], bounds=(0, 1), rho=1, confidence=None),
        dp.private_quantile(1, candidates=[0, 1], epsilon=1, confidence=None),
        dp.clip_to_norm(1) >> dp.measurements.sum_and_count(epsilon=1),
    ],
    ids=repr,
)
def test_many_columns_are_bound_at_once(steps):
    """Nothing is made for each column before there are data; 10^7 of anything is 80 MB and more."""
    space = dp.records(columns=10**7)
    tracemalloc.start()
    start = time.process_time()
    steps.bind(space).map(1)
    spent, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert spent < 1
    assert peak < 10**7


def test_an_array_of_no_dimension_is_a_number():
    assert dp.gaussian(rho=np.array(0.5)) == dp.gaussian(rho=0.5)
