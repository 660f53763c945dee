"""Judges of the exercises of lesson 5."""

from __future__ import annotations

from functools import cache
from math import exp, log, sqrt

from scipy.stats import norm

from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_moved(moved):
    if hasattr(moved, "l1"):
        moved = moved.l1, moved.l2
    expect(
        moved,
        (8, 2),
        {
            (16, 2): "16 entries of 1 have an l2 length of 4; which entries have one of 2?",
            (32, 2): "16 entries of 2 have an l2 length of 8; which entries have one of 2?",
            (4, 1): "that is a row added; a row is replaced here",
            (2, 2): "l1 adds up the moves of 16 columns; it is 2 only if one column moves alone",
            (4, 2): "that is l1 for 4 columns, as in the cell above",
            (8, 8): "rows are clipped in l2, so l2 does not grow with the columns",
            (2, 8): "give l1 first",
        },
        "of a vector of 16 entries, l1 is up to sqrt(16) times l2",
    )


@check.exercise(2)
def judge_columns(columns, *, formulas):
    def first(rival):
        return next(d for d in range(1, 100) if formulas["Gaussian"](d) < formulas[rival](d))

    right = first("K-norm")
    expect(
        columns,
        right,
        {
            first("Laplace"): "that is against Laplace noise; take K-norm noise",
            right - 1: "there K-norm noise errs less still: try one more",
            right + 1: "one column less is enough: the root has d (d + 1), not d^2",
        },
        "compare both formulas at d = 1, 2, ...; give the first at which Gaussian noise errs less",
    )


@check.exercise(3)
def judge_exposed(exposed):
    expect(
        exposed,
        1 - (1 - 1e-4) ** 20_190,
        {
            20_190e-4: "that is how many rows it publishes on average, and above 1",
            (1 - 1e-4) ** 20_190: "that is the probability that it publishes none",
            1e-4: "that is the probability for one given row; a table has many",
            1: "it is near 1, and not 1: first compute the probability that no row is published",
            0.5: "compute it: each of 20 190 rows stays hidden with probability 1 - delta",
        },
        "first compute the probability that no row is published",
    )


@check.exercise(4)
def judge_factor(factor, *, gaussian, mu):
    z = norm.isf(0.01)
    expect(
        factor,
        exp(mu * z + mu**2 / 2),
        {
            mu * z + mu**2 / 2: "that is the logarithm of the factor",
            gaussian.odds(
                0.01
            ): "that is what odds promises, which is more; put z into the formula",
            exp(mu * norm.isf(0.005) + mu**2 / 2): (
                "that z is passed on either side; here the odds rise, so take one side"
            ),
            exp(mu * z): "mu^2 / 2 is missing",
            exp(mu * z - mu**2 / 2): "add mu^2 / 2: that is the loss if the row is not in the data",
            exp(1): "that is e^epsilon, with delta = 1e-6 and not 1e-2",
            z: "that is z; put it into the formula",
        },
        "which z does a standard normal number pass in 1 of 100 cases? Put it into the loss",
        within=0.006,
    )


@cache
def _misses(pipeline, alarms):
    """A quarter of a second for each, so a second check need not wait."""
    return pipeline.tradeoff(alarms)


@check.exercise(5)
def judge_misses(misses, *, gaussian, pure):
    right = _misses(pure, 0.05), _misses(gaussian, 0.05)
    expect(
        misses,
        right,
        {
            right[::-1]: "give that of pure first",
            (1 - right[0], 1 - right[1]): "those are the shares that the test finds",
            (0.95, 0.95): "that is without any release",
            (_misses(pure, 0.95), _misses(gaussian, 0.95)): "5 % are the false alarms: 0.05",
            (1 - 0.05 * exp(1),) * 2: "epsilon alone bounds it so; tradeoff knows more of each",
        },
        "ask both for their tradeoff, first pure, then gaussian",
    )


@check.exercise(6)
def judge_factors(factors):
    logarithms = [log(1 / each) for each in (1e-6, 1e-100)]
    right = tuple(2 / sqrt(each) for each in logarithms)
    expect(
        factors,
        right,
        {
            right[::-1]: "give that of delta = 1e-6 first",
            tuple(each / 2 for each in right): "the mean length is 2 d / (n epsilon)",
            tuple(each * sqrt(2) for each in right): (
                "that is the root mean square; take the mean length, 2 d / (n epsilon)"
            ),
            tuple(2 / each for each in logarithms): "the bound has the root of ln(1 / delta)",
            (2 / sqrt(6), 2 / sqrt(100)): "take the natural logarithm",
            tuple(sqrt(each) / 2 for each in logarithms): (
                "that is upside down: the bound must be at most the mean length"
            ),
        },
        "put d = 1 and epsilon = 1 in both errors: c is largest if they agree",
    )
