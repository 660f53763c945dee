"""Judges of the exercises of lesson 11."""

from __future__ import annotations

import re
from math import exp, log

from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_spread(spread):
    expect(
        spread,
        2,
        {
            1: "each score changes by 1, and in opposite directions",
            0: "the sum of both scores stays; look at their difference",
            -2: "how much it changes, without a sign",
            10: "that is how far ahead the first book is; how much can one reader change it?",
            190: "that is how many votes there are",
        },
        "one score falls by 1, and the other one rises by 1",
    )


@check.exercise(2)
def judge_chosen_first(chosen_first):
    expect(
        chosen_first,
        1 / (1 + exp(-1)),
        {
            100 / 190: "that is in proportion to the votes, not to e^(epsilon votes / spread)",
            1 / (1 + exp(1)): "that is the probability of the second book",
            1 / (1 + exp(-0.5)): "the spread is 1 here: do not divide by 2",
            exp(1): "that is the ratio of both probabilities, which add up to 1",
            exp(-1): "that is the ratio of both probabilities, which add up to 1",
            1 - exp(-1) / 2: "that is noisy max; it comes in exercise 3",
        },
        "the probabilities are in proportion to e^(0.1 100) and e^(0.1 90), and add up to 1",
    )


@check.exercise(3)
def judge_chosen_by_max(chosen_by_max):
    expect(
        chosen_by_max,
        1 - exp(-1) / 2,
        {
            1 / (1 + exp(-1)): "that is the exponential mechanism",
            1 - exp(-1): "the second book is not always first in the order",
            exp(-1) / 2: "that is the probability of the second book",
            0.5: "the first book also wins if the second one comes first and is not taken",
            (1 - exp(-1)) / 2: "add the case that the first book is first in the order",
            1 - exp(-0.5) / 2: "the spread is 1 here: do not divide by 2",
        },
        "the second book wins only if it comes first and is taken; what is left is for the first",
    )


@check.exercise(4)
def judge_votes_behind(votes_behind):
    right = (log(1000) + log(20)) / 0.1
    expect(
        votes_behind,
        right,
        {
            log(20) / 0.1: "ln k is missing: there are 1000 books",
            log(1000) / 0.1: "t is missing: e^(-t) = 0.05",
            right * 0.1: "divide by epsilon",
            right * 2: "the spread is 1 here",
            (log(1000) + 0.05) / 0.1: "0.05 is e^(-t), not t",
            (log(1000) + 0.95) / 0.1: "the 5 % that fail are e^(-t): solve for t",
            (log(1000) - log(20)) / 0.1: "t is ln 20, and it is added",
        },
        "solve e^(-t) = 0.05 for t, and put k = 1000 in the bound",
    )


@check.exercise(5)
def judge_limit_of_99(limit_of_99):
    assert hasattr(limit_of_99, "map"), (
        "give the pipeline that dp.above_threshold makes, without calling it"
    )
    # A release depends on chance, so what the pipeline says of itself is judged.
    made = re.search(r"above_threshold\((\w+), ([\d.]+)", repr(limit_of_99))
    assert made, "build it with dp.above_threshold"
    assert made[1] == "find_limit", "let the program be find_limit"
    loss, threshold = float(limit_of_99.map(1)), float(made[2])
    assert loss == 0.1, f"the pipeline loses {loss:g}, not 0.1"
    assert threshold > 1, "the threshold is a number of rows, not a share: 99 % of 20 190"
    assert threshold > 100, "the threshold is a number of rows, not a percentage: 99 % of 20 190"
    assert abs(threshold - 0.95 * 20_190) > 1, "that keeps 95 % of the rows"
    assert abs(threshold - 0.99 * 20_190) <= 1, "the threshold is 99 % of 20 190 rows"


@check.exercise(6)
def judge_distance(distance):
    right = -100 * log(2 * (1 - 0.95 ** (1 / 100)))
    expect(
        distance,
        right,
        {
            100 * log(10): "that is for one count; all 100 must stay below",
            100 * log(20): "that is for one count, on either side; all 100 must stay below",
            -log(2 * (1 - 0.95 ** (1 / 100))): "that is in units of the scale, which is 100",
            100 * log(2000): "only noise on one side puts a count above the threshold",
            -100 * log(2 * (1 - 0.95)): "that is for one count; all 100 must stay below",
        },
        "the probabilities that a count shows above, 100 times e^(-x / 100) / 2, add up to 5 %",
    )
