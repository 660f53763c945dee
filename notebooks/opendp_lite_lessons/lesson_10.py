"""Judges of the exercises of lesson 10."""

from __future__ import annotations

from math import e, exp, log

import numpy as np

from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_villages(villages):
    expect(
        villages,
        1024,
        {
            10: "each of ten people is ill or not: the possibilities are multiplied",
            20: "two for each person, but they are multiplied and not added",
            100: "2 to the power of 10, not 10 to the power of 2",
            210: "that is how many there are once it is published that 4 are ill",
            2**9: "all ten people may be ill or not, the last one too",
        },
        "two possibilities for each of ten people",
        within=0,
    )


@check.exercise(2)
def judge_ill_people(ill_people, *, names, possible):
    assert not isinstance(ill_people, str), "give a list of names"
    given = ill_people if isinstance(ill_people, set) else np.ravel(ill_people)
    found = {str(each) for each in given}
    right = {name for name, ill in zip(names, possible[0], strict=True) if ill}
    assert found <= set(names), "give names of the village, as in ['Ann', 'Ben']"
    assert found != set(names) - right, "those are the people who are well"
    assert len(found) == len(right), f"the doctor counted {len(right)} people, not {len(found)}"
    wrong = sorted(found - right)
    assert not wrong, f"{wrong[0]} is well in the village that is left: look at possible[0]"


@check.exercise(3)
def judge_share_recovered(share_recovered, *, exact, recovered):
    right = recovered(np.round(exact / 5) * 5)
    expect(
        share_recovered,
        right,
        {
            recovered(exact): "that is for the exact table; round it first",
            recovered(
                np.round(exact / 10) * 10
            ): "that is for multiples of 10; round to those of 5",
            recovered(exact // 5 * 5): "that rounds down; round to the nearest multiple",
            recovered(np.round(exact / 5)): "divide by 5, round, and multiply by 5 again",
            1 - right: "that is the share of those who are missed",
            100 * right: "give a share, not a percentage",
        },
        "recovered(np.round(exact / 5) * 5)",
        within=2e-3,
    )


@check.exercise(4)
def judge_loss_of_table(loss_of_table):
    expect(
        loss_of_table,
        240,
        {
            1: "that is the loss of one count; losses of all 240 add up",
            120: "that is the number of people; how many counts can one person move?",
            240**0.5: "the root belongs to Gaussian noise and mu; an epsilon grows with the number",
            1 / 240: "multiply in place of dividing",
            60: "a group has about 60 people; how many groups can one person be in?",
        },
        "240 counts, each with a loss of 1",
        within=0,
    )


@check.exercise(5)
def judge_right_at_most(right_at_most):
    expect(
        right_at_most,
        e / (1 + e),
        {
            0.5: "that is before the release",
            e: "those are the odds, e to 1; which probability is that?",
            1 - exp(-1): "odds of e to 1 are the probability e / (1 + e)",
            1 / (1 + e): "that is the probability of being wrong",
            e / 2: "odds are multiplied by e, not probabilities",
            1: "epsilon = 1 leaves doubt: odds of 1 to 1 become e to 1 at most",
        },
        "odds of 1 to 1 become e to 1; turn these into a probability",
    )


@check.exercise(6)
def judge_off(off, *, private):
    expect(
        off,
        private.accuracy(0.95),
        {
            log(20): "that is in units of the scale, and the scale is 240",
            240: "that is the scale of the noise; solve e^(-x / 240) = 0.05 for x",
            240 * log(40): "e^(-x / 240) is for noise on either side already, so do not halve 0.05",
            -240 * log(0.95): "the noise is beyond x with probability 0.05, not 0.95",
            240 * 2**0.5: "that is the standard deviation",
        },
        "solve e^(-x / 240) = 0.05, or ask private.accuracy(0.95)",
    )
