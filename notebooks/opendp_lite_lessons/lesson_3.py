"""Judges of the exercises of lesson 3."""

from __future__ import annotations

import numpy as np

from opendp_lite_lessons.checks import Lesson, expect, number

check = Lesson()


@check.exercise(1)
def judge_moved(moved):
    if hasattr(moved, "l1"):
        moved = moved.l1, moved.l2
    expect(
        moved,
        (100, 100),
        {
            (100, 100 / np.sqrt(2)): "that is the row in the middle; which row is longer in l2?",
            (100, 100 * np.sqrt(2)): "that is the row (100, 100), which is not on the simplex",
            (200, 100 * np.sqrt(2)): "that is the row (100, 100), or a row replaced: one is added",
            (200, 200): "a row is added here, not replaced",
            (100, 50): "no row of the simplex is so short; which one is the longest?",
        },
        "a row is (x, 100 - x); at which x is each norm largest?",
        within=0,
    )


@check.exercise(2)
def judge_rows_and_mean(rows_and_mean):
    rows, mean = 100.5, 100 * 5100 / 10_050
    expect(
        rows_and_mean,
        (rows, mean),
        {
            (rows, 51): "divide by the rows that the release tells; one digit after the point",
            (100, 51): "the number of rows is noisy too: what do both sums together tell?",
            (10_050, mean): "both sums are 100 for each row; divide by 100",
            (rows, 100 - mean): "that is the mean of the way to the upper bound",
            (rows, 100 * 5100 / 4950): "divide the first sum by both together, not by the second",
            (mean, rows): "give the number of rows first",
        },
        "both sums together tell the rows; the mean is 100 times the share of the first sum",
        within=0.05,
    )


@check.exercise(3)
def judge_share(share):
    expect(
        share,
        0.5,
        {
            0.2: "that is the share that the paper gave the sum",
            0.8: "that is the share that the paper gave the count",
            1: "then nothing is left for the count, and the second term is infinite",
            2: "then 1 / (2 rho a) is 1 / (4 rho), and more than all of rho is spent",
            0.25: "then the first term is 2 h^2 / rho",
            1 / np.sqrt(2): "the formula has a itself, not its square",
        },
        "both terms need the factor 1 / rho",
    )


@check.exercise(4)
def judge_best_share(best_share):
    expect(
        best_share,
        2 / 3,
        {
            100 / 125: "h is half the width of the bounds",
            50 / 125: "D is how far the mean is from the middle, and not the mean",
            100 / 175: "h is half the width, and D is how far the mean is from the middle",
            1 / 3: "that is the share of the count",
            0.5: "that is best at the ends of the bounds, and 75 is none",
        },
        "what is h, the half width, and how far is 75 from the middle?",
    )


@check.exercise(5)
def judge_true_rho(true_rho):
    expect(
        true_rho,
        1,
        {
            0.5: "that is the claim: it takes one sum alone, and the other moves too",
            np.sqrt(2): "the l2 distance is right; rho has its square",
            2: "that is twice too much: l2 and not l1, or twice the variance",
            0.25: "the distance is R times a number above 1: both sums move",
            100 * np.sqrt(2): "that is the l2 distance; square it, over twice the variance",
        },
        "both sums move by R at once: what is the l2 distance?",
    )


@check.exercise(6)
def judge_factor(factor):
    expect(
        factor,
        2,
        {
            1: "that is without the slack, which is R less the sum of the entries, and not 0",
            np.sqrt(2): "that is the length; give its square",
            0: "the square of a negative entry is positive",
            1.25: "the slack is R less the sum of all four entries",
            10: "the slack is R less the sum, not R and the sum",
            3: "that adds the sum of the entries; add the square of the slack",
        },
        "the slack is R less the sum of the entries; it may be negative",
    )


@check.exercise(7)
def judge_recentred_error(recentred_error, *, rho):
    found = number(recentred_error)
    if not isinstance(recentred_error, np.floating):
        assert found != rho, "this is rho: measure the error"
        raise AssertionError("that is typed or foretold: assign what error(...) measures")
    assert found < 10, "that is a release, which is a mean: how far off is it in many releases?"
    assert found < 0.9, "so much err the plug-in and the centered mean: take recentred_mean"
    assert found < 0.6, "so much errs the simplex, or a smaller rho: take recentred_mean and rho"
    assert found > 0.42, "so little takes a larger rho: take the same as for the others"
