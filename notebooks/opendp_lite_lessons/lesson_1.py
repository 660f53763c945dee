"""Judges of the exercises of lesson 1."""

from __future__ import annotations

import numpy as np

import opendp_lite as dp
from opendp_lite_lessons.checks import Lesson, expect, is_near, number

check = Lesson()


@check.exercise(1)
def judge_moved(moved):
    expect(
        getattr(moved, "l1", moved),
        100,
        {
            40: "values are clipped to 100 now, so 40 is not the largest one",
            60: "that is how much more than with 40; how far does a row move the sum in all?",
            1: "one row moves the number of rows by 1; it moves the sum by its value",
            200: "a row is added or removed, not replaced: what else would move the sum?",
            20_190 * 100: "that is the largest sum; how far does one row move it?",
        },
        "which value between 0 and 100 moves a sum the most?",
        within=0,
    )


@check.exercise(2)
def judge_error(error, *, noisy):
    expect(
        error,
        noisy.accuracy(0.99),
        {
            40 * np.log(20): "that is for 95 % of the releases; solve it for 99 %",
            40: "that is the scale of the noise; solve e^(-x / 40) = 0.01 for x",
            40 * np.log(200): "e^(-x / 40) is for noise on either side already, so do not halve",
            -40 * np.log(0.99): "the noise is beyond x with probability 0.01, not 0.99",
            np.log(100): "that is in units of the scale, and the scale is 40 visits",
        },
        "solve e^(-x / 40) = 0.01; more than 120",
    )


@check.exercise(3)
def judge_clipping_error(clipping_error, *, visits):
    clipped = np.clip(visits, 0, 40)
    expect(
        abs(number(clipping_error)),
        visits.mean() - clipped.mean(),
        {
            visits.mean() - visits[visits <= 40].mean(): (
                "that drops the answers above 40; clipping makes 40 of them"
            ),
            visits.sum() - clipped.sum(): "that is the difference of the sums; take the means",
            1 - clipped.mean() / visits.mean(): "that is a share of the mean; give the difference",
            clipped.mean(): "that is a mean; subtract it from the other one",
        },
        "np.clip(visits, 0, 40) clips; subtract its mean from that of visits",
    )


@check.exercise(4)
def judge_epsilon_allowed(epsilon_allowed):
    epsilon = number(epsilon_allowed)
    hints = {
        1.5: "1.5 is the factor of the odds, e^epsilon; epsilon is its logarithm",
        np.log(1.2): "take odds and not probabilities: 50 % is 1 to 1, and 60 % is 60 to 40",
    }
    assert not (told := [hint for value, hint in hints.items() if is_near(epsilon, value, 2e-3)]), (
        told[0]
    )
    odds = np.exp(epsilon)
    reached = f"with this epsilon 50 % become {odds / (1 + odds):.2%}"
    assert odds <= 0.6 / 0.4 + 1e-9, f"{reached}, more than the board allows"
    assert odds > 0.6 / 0.4 - 0.015, f"{reached}; a larger epsilon is allowed"


@check.exercise(5)
def judge_count(count, *, ask):
    assert isinstance(count, dp.releases.Release), (
        "that is no release of the session: write count = ask(...), and dp.count() with noise in it"
        if ask.left
        else "that is no release of the session; run the cell with dp.session, and ask once more"
    )
    assert ask.left == 0, f"{ask.left} is left: write laplace(epsilon=ask.left) to spend all of it"
    assert is_near(count.value, 20_190, 60), "this is no count of rows; open a new session"


@check.exercise(6)
def judge_rho_for_one(rho_for_one):
    rho = number(rho_for_one)
    hints = {
        0.5: "0.5 goes with an epsilon that never fails; Gaussian noise has 1 only up to a delta",
        1: "1 is the epsilon itself; which rho leads to it?",
    }
    assert rho not in hints, hints[rho]
    reached = dp.gaussian(rho=rho).epsilon(delta=1e-6)
    assert reached <= 1, f"this rho has epsilon = {reached:.3f}; a smaller rho has less"
    assert reached > 0.99, f"this rho has epsilon = {reached:.3f}; a larger rho is allowed"


@check.exercise(7)
def judge_epsilon_for_a_row(epsilon_for_a_row):
    expect(
        epsilon_for_a_row,
        0.2,
        {
            1: "then five rows lose five times as much: 5",
            5: "that would lose 25; divide in place of multiplying",
            0.04: "a rho grows with the number of rows squared, an epsilon with the number",
            1 / np.sqrt(5): "that is the root; an epsilon grows with the number of rows itself",
        },
        "the loss for five rows is five times that for one, and it must be 1",
        within=1e-9,
    )
