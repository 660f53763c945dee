"""Estimators against the neighbours that move them most: the loss is the claim, to a rounding."""

from functools import partial

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.testing.replayable import record_events, replay
from tests.exact_losses import lost

E = dp.estimators
REPLACE = dp.ChangeOneDistance()
RHO, EPSILON, SPILL = {"rho": 1}, {"epsilon": 2}, {"epsilon": 1, "delta": 0.01}
ALL = RHO, EPSILON, SPILL
PLAIN = {"confidence": None}
SAMPLED = {"confidence": 0.9, "sampling": True}
WAYS = {}, PLAIN, SAMPLED
FAR = 10.0
ENDS = [([], [1.0]), ([-1.0] * 2, [-1.0] * 3)]
TURNED = [([-1.0] * 2, [-1.0, 1.0]), ([1.0, -1.0], [-1.0, -1.0])]
NONE = np.empty((0, 2))
ALONG, DIAGONALLY = ([(NONE, np.array([row]))] for row in ([1.0, 0.0], [2**-0.5, 2**-0.5]))
# The mean is near 0, so no row has a larger square than one at 1.
HEAVY = [(np.array([[0.0, 1.0]] * 99), np.array([[0.0, 1.0]] * 99 + [[1.0, 1.0]]))]
ROUND = [(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [-1.0, 0.0]]))]
WIDE = [([0.0] * 4, [0.0] * 4 + [FAR]), ([], [FAR])]
WIDE += [([0.0] * 3 + [-FAR], [0.0] * 3 + [FAR]), ([-FAR], [FAR])]
EMPTY, END = np.zeros((4, 3)), np.full((1, 3), FAR)
CORNERS = [(EMPTY, np.concatenate([EMPTY, sign * END])) for sign in (-1, 1)]
CASES = {
    "recentred_mean": (partial(E.recentred_mean, -1, 1), ENDS, (RHO, SPILL)),
    "joint_mean": (partial(E.joint_mean, -1, 1), ENDS, (EPSILON,)),
    "simplex_mean": (partial(E.simplex_mean, -1, 1), ENDS, ALL),
    "centered_mean": (partial(E.centered_mean, -1, 1, share=0.75), ENDS, ALL),
    "plug_in_mean": (partial(E.plug_in_mean, -1, 1, share=0.75), ENDS, ALL),
    "known_size_mean": (partial(E.known_size_mean, -1, 1), TURNED, ALL),
    # Rows are filled with -1, and one of them makes room for the row: the sum moves by 2.
    "resized_mean": (partial(E.resized_mean, -1, 1, share=0.9, fill=-1), ENDS[:1], ALL),
    "weighted_mean": (partial(dp.weighted_mean, 0, 1, most=1), HEAVY, (RHO, EPSILON), WAYS),
    "gaussian_mean": (partial(E.gaussian_mean, 1), ALONG, (RHO,), WAYS),
    "laplace_mean": (partial(E.laplace_mean, 1), DIAGONALLY, (EPSILON,), WAYS),
    "l2_mechanism_mean": (partial(E.l2_mechanism_mean, 1), ALONG, (EPSILON,), WAYS),
    # A sum of squares that does not move has its share of the budget.
    "l2_mechanism_mean, replaced": (partial(E.l2_mechanism_mean, 1), ROUND, (EPSILON,)),
    "simplex_vector_mean": (partial(E.simplex_vector_mean, 1), ALONG, (EPSILON, SPILL), WAYS),
    "gaussian_mean, far": (partial(E.gaussian_mean, FAR), WIDE, (RHO,), ({},)),
    "gaussian_mean, at corners": (partial(E.gaussian_mean, FAR * 3**0.5), CORNERS, (RHO,), ({},)),
    "laplace_mean, far": (partial(E.laplace_mean, FAR), WIDE, (EPSILON,), ({},)),
    "elliptical_mean": (partial(E.elliptical_mean, -FAR, FAR), WIDE + CORNERS, (RHO,), ({},)),
}
ROUNDING = 1e-9


def bound(mechanism: dp.Mechanism, data, other) -> dp.Measurement:
    columns, size = 1 if np.ndim(data) == 1 else np.shape(data)[1], len(data)
    space = dp.records(columns, size, REPLACE) if size == len(other) else dp.records(columns)
    return space >> mechanism


@pytest.mark.parametrize("name", CASES)
def test_a_release_loses_what_is_claimed(name):
    """And so 1e-9 too little noise would be seen, and what a release tells beside it."""
    make, pairs, losses, ways = (*CASES[name], (PLAIN,))[:4]
    for pair, loss, way in ((p, q, w) for p in pairs for q in losses for w in ways):
        pipeline = bound(make(**loss, **way), *pair)
        found = lost(pipeline, *pair)
        if "delta" in loss:
            spent, claim = found.delta(loss["epsilon"]), loss["delta"]
        else:
            spent, claim = found.rho if "rho" in loss else found.pure, pipeline.map(1)
            assert spent == found.rho + found.pure
            assert claim == next(iter(loss.values()))
        assert claim * (1 - ROUNDING) < spent <= claim, (name, pair, loss, way)


@pytest.mark.parametrize("distance", [2, 3])
def test_groups_of_rows(distance):
    pair = [-FAR] * 3, [FAR] * distance + [-FAR] * (3 - distance)
    pipeline = bound(E.gaussian_mean(FAR, rho=0.1), *pair)
    claim = pipeline.map(distance)
    assert claim * (1 - ROUNDING) < lost(pipeline, *pair).rho <= claim


def test_a_mean_of_scaled_columns_loses_no_more_than_its_claim():
    """Columns shorter than its radius would be needed to lose all of it."""
    for pair in WIDE:
        pipeline = bound(E.scaled_mean(FAR / 3, rho=0.5), *pair)
        assert 0.35 < lost(pipeline, *pair).rho < pipeline.map(1)


AT_A_JUMP = [-FAR, -FAR, FAR], [-FAR, -FAR, FAR, FAR]
"""Of the median."""
MOVED_AT_A_JUMP = [-FAR] * 3 + [FAR] * 2, [-FAR] * 2 + [FAR] * 3
HALF = np.repeat([-FAR, FAR], 300)
MOVED = np.where(np.arange(600) == 0, FAR, HALF)
ONES = np.ones((4, 3))
CORNER = np.array([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0], [9.0, 9.0]])
ONE_LESS = CORNER * [[1], [1], [1], [0]]
HEIGHTS = [0.0, 0.0, 0.0, 9.0]
PROGRAMS = [
    *(
        (mechanism, pair)
        for mechanism in (
            E.scaled_mean(FAR / 3, rho=0.5, searched=True),
            E.plan_plus_mean(FAR, rho=0.5),
            E.normal_variance(FAR, rho=0.5),
        )
        for pair in (AT_A_JUMP, MOVED_AT_A_JUMP)
    ),
    *(
        (mechanism, MOVED_AT_A_JUMP)
        for mechanism in (
            E.normal_variance(FAR, rho=0.5, by="pairs"),
            E.normal_variance(FAR, rho=0.5, by="direct"),
            E.normal_variance(FAR, rho=0.5, by="binary"),
            E.quantile_by_search(0.5, -FAR, FAR, rho=0.5, steps=1),
            E.plan_mean(FAR, rho=0.5),
            E.plan_mean(FAR, rho=0.5, variances="none"),
            E.iome_mean(FAR, rho=0.5, steps=1),
        )
    ),
    (E.binary_mean(rho=0.5), (ONES, ONES * np.array([[1], [1], [1], [0]]))),
    (E.binary_mean(rho=0.5, published=True), (ONES, ONES * np.array([[1], [1], [1], [0]]))),
    (E.binary_mean(rho=0.5), (ONES, ONES[:3])),
    (dp.mean(rho=0.5, **PLAIN), (HALF[100:500], np.append(HALF[100:500], FAR))),
    (dp.mean(rho=0.5, **PLAIN), (HALF[:2], HALF[:3])),
    *(
        (E.unbounded_mean(**loss, **PLAIN), (HALF[100:500], np.append(HALF[101:500], FAR)))
        for loss in ({"rho": 0.5}, {"epsilon": 4})
    ),
    (dp.private_bounds(0.9, rho=0.5), (HALF, np.append(HALF, 1e9))),
    (dp.private_bounds(0.9, rho=0.5), (HALF[:3], HALF[:2])),
    (dp.private_bounds(0.9, rho=0.5), (HALF, MOVED)),
    (dp.covariance(0, 9, rho=0.5, confidence=None), (HEIGHTS[1:], HEIGHTS[:3])),
    (dp.linear_regression(0, 1, [(0, 9), (0, 9)], epsilon=1), (CORNER, CORNER[:3])),
    (dp.linear_regression(0, 1, [(0, 9), (0, 9)], rho=0.5), (CORNER, ONE_LESS)),
    (dp.variance(0, 9, rho=0.5, **PLAIN), (HEIGHTS, HEIGHTS[:3])),
    (dp.variance(0, 9, epsilon=1, **PLAIN), (HEIGHTS, [0.0] * 4)),
]
"""A ``standard_deviation`` is a function of the same release as a ``variance``."""


@pytest.mark.parametrize(
    ("mechanism", "pair"), PROGRAMS, ids=[f"{n}-{each!r}" for n, (each, _) in enumerate(PROGRAMS)]
)
def test_a_program_tells_its_answers_alone(mechanism, pair):
    """On both datasets it asks the same for the same answers, and makes the same of them.

    What its queries lose is for their own tests, and that they pay for it for ``test_losses.py``.
    """
    pipeline = bound(mechanism, *pair)
    events = record_events(partial(pipeline, pair[0]))
    assert events
    for data in pair:
        assert replay(partial(pipeline, data), events) is None
