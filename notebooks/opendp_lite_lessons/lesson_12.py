"""Judges of the exercises of lesson 12."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_epsilon_of_one(epsilon_of_one):
    expect(
        epsilon_of_one,
        2 / 52,
        {
            104: "that multiplies; the 52 losses together are 2",
            2 / sqrt(52): "losses are added, and not their squares",
            26: "that is upside down",
            2 / 50: "a year has 52 weeks",
            0.1: "52 counts of 0.1 lose 5.2 by the sum",
        },
        "52 equal losses add up to 2",
    )


@check.exercise(2)
def judge_plus(plus):
    right = exp(0.1) / (1 + exp(0.1))
    expect(
        plus,
        right,
        {
            0.5: "the truth is a little more probable: the ratio is e^0.1",
            1 - right: "that is the probability of -0.1",
            exp(0.1): "that is the ratio; both probabilities add up to 1",
            0.55: "compute it: p / (1 - p) = e^0.1",
            0.1: "that is the loss; how probable is it?",
            1: "0.1 is the most; half of the releases have a negative loss",
        },
        "p / (1 - p) = e^0.1",
        within=0.002,
    )


@check.exercise(3)
def judge_average(average):
    one = 0.1 * (exp(0.1) - 1) / (exp(0.1) + 1)
    expect(
        average,
        50 * one,
        {
            5: "that is the largest sum",
            one: "that is one release; there are 50",
            0: "a loss of 0.1 is a little more probable than one of -0.1",
            50 * 0.1 * exp(0.1) / (1 + exp(0.1)): "take off the losses of -0.1",
            50 * (exp(0.1) - 1) / (exp(0.1) + 1): "multiply by 0.1, the size of a loss",
        },
        "one loss is 0.1 p - 0.1 (1 - p) on average; there are 50",
    )


@check.exercise(4)
def judge_delta_at_two(delta_at_two, *, sums, exact):
    beyond = sums > 2
    right = float(np.sum(exact[beyond] * (1 - np.exp(2 - sums[beyond]))))
    expect(
        delta_at_two,
        right,
        {
            float(exact[beyond].sum()): (
                "that counts each sum beyond 2 in full; weight it by 1 - e^(2 - L)"
            ),
            float(np.sum(exact[beyond] * np.exp(2 - sums[beyond]))): (
                "that is what does not count; take 1 - e^(2 - L)"
            ),
            float(np.sum(exact * (1 - np.exp(2 - sums)))): "only sums beyond 2 count",
            float(np.sum(1 - np.exp(2 - sums[beyond]))): "weight each sum by its probability",
            1e-6: "that is the delta at another epsilon, 3.17",
        },
        "add up exact * (1 - np.exp(2 - sums)), where sums > 2",
    )


def _first_below_the_sum(logarithm):
    bound = (0.1 * sqrt(2 * k * logarithm) + k * 0.1 * (exp(0.1) - 1) for k in range(1, 1000))
    return next(k for k, each in enumerate(bound, 1) if each < 0.1 * k)


@check.exercise(5)
def judge_releases(releases):
    right = _first_below_the_sum(log(1e6))
    expect(
        releases,
        right,
        {
            right - 1: "there the sum is less still: try one more",
            34.5: "give a whole number",
            28: "that leaves out the second part, k epsilon (e^epsilon - 1)",
            _first_below_the_sum(6): "take the natural logarithm",
            300: "that is the last point of the picture; there are fewer",
        },
        "compare both formulas at k = 1, 2, ...; give the first at which the second is less",
        within=0,
    )


@check.exercise(6)
def judge_rate(rate):
    right = (exp(0.1) - 1) / (exp(1) - 1)
    expect(
        rate,
        right,
        {
            0.1: "the loss is not in proportion to the rate: at 0.1 it is 0.159",
            right * (exp(1) - 1): "divide by e - 1",
            0.1 / (exp(1) - 1): "that leaves out the logarithm: take e^0.1 - 1",
            1 / right: "that is upside down",
            100 * right: "give a share, not a percentage",
            log(1 + 0.1 * (exp(1) - 1)): "that is the loss at a rate of 0.1; solve for the rate",
        },
        "solve ln(1 + q (e - 1)) = 0.1 for q",
    )
