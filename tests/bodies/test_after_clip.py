"""Clipping rows of a bounded total keeps what is known of them, or is refused in words."""

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies import Ball, Box, Everything, NonNegativeBall, Simplex
from opendp_lite.spaces.space import rows_in
from opendp_lite.transformations.bounding import after_clamp, after_clip_to_norm

BINS = 16
ONE_HOT = Simplex(1, columns=BINS)
TOTALS = [ONE_HOT, NonNegativeBall(1, p=1, columns=BINS)]


def shown(body, step) -> dp.Norms:
    return (rows_in(body) >> step >> dp.sum()).map(1)


@pytest.mark.parametrize("body", TOTALS)
@pytest.mark.parametrize(
    "step",
    [
        dp.clamp(0, 1),
        dp.clamp(-3, 2),
        dp.clamp(0, 0.5),
        dp.clamp(0, 0.2),
        dp.clip_to_norm(1),
        dp.clip_to_norm(0.9),
        dp.clip_to_norm(40),
        dp.clip_to_norm(1, p=1),
    ],
)
def test_rows_of_a_bounded_total_keep_it(body, step):
    """16 bins: l1 1 and not 16 (clamp) or 4 (clip_to_norm), where an error is 1.44 and not 22."""
    assert shown(body, step).l1 == 1
    assert shown(body, step).l2_squared == 1
    noise = rows_in(body) >> step >> dp.sum() >> dp.laplace(epsilon=1)
    (law,) = noise.facts.laws
    assert law.standard_deviation == pytest.approx(np.sqrt(2), rel=1e-4)


@pytest.mark.parametrize("body", TOTALS)
@pytest.mark.parametrize(
    ("step", "words"),
    [
        (dp.clamp(0.1, 1), "would make it 16. Leave clamp out: 16 times less noise"),
        (dp.clip_to_norm(0.5), r"would make it 2.*or use clip_to_norm\(radius, p=1\)"),
    ],
)
def test_a_clip_that_forgets_the_total_is_refused(body, step, words):
    with pytest.raises(dp.SpaceError, match=words):
        rows_in(body) >> step


@pytest.mark.parametrize(
    ("before", "box"),
    [
        (Everything(3), Box(0, 1, columns=3)),
        (Box(0, 1, columns=3), Box(0, 5, columns=3)),
        (Box(0, 1, columns=3), Box(0.5, 5, columns=3)),
        (Ball(5), Box(-9, 9)),
        (Simplex(5), Box(0, 9)),
    ],
)
def test_other_rows_lie_in_the_box_that_was_typed(before, box):
    """Boxes know no total, and one column has one interval."""
    assert after_clamp(before, box) is box


def test_a_ball_around_another_point_does_not_shrink():
    away = Ball(1, center=9, columns=64)
    ball = Ball(50, columns=64)
    assert after_clip_to_norm(away, ball, Fraction(50), 2) is ball
    assert after_clamp(away, Box(8.5, 9.5, columns=64)).diameters().l2 <= 8
    far = Ball(80, columns=64)
    assert after_clip_to_norm(away, far, Fraction(80), 2) is away
