"""Judges of the exercises of lesson 9."""

from __future__ import annotations

from math import exp, log

from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_epsilon_of_coins(epsilon_of_coins):
    expect(
        epsilon_of_coins,
        log(3),
        {
            3: "that is the factor of the odds, e^epsilon; epsilon is its logarithm",
            0.75: "that is how probable a true answer is; compare it with a yes of the others",
            log(2): "a first coin of 1/2 is not the whole: the second one can say the truth too",
            log(1.5): "compare 3/4 with 1/4, the same answer under both truths, not with 1/2",
            log(4): "compare 3/4 with 1/4; that is a factor of 3",
        },
        "how many times as probable is a yes if the truth is yes? take the logarithm",
    )


@check.exercise(2)
def judge_share(share):
    expect(
        share,
        0.25,
        {
            0.375: "that is the share of answers that are yes; a quarter of the others say it too",
            0.125: "that is s - 1/4, which is half of p",
            0.375 / 0.75: "people whose truth is no say yes as well: take off 1/4 first",
            0.375 * 0.75: "three quarters of the yes are not those whose truth is yes",
            100: "give a share, not a number of students",
            0.75: "that is the share whose truth is no",
            0.375 / 2: "that is half of the answers; solve s = 1/4 + p / 2",
        },
        "solve 150 / 400 = 3/4 p + 1/4 (1 - p) for p",
    )


@check.exercise(3)
def judge_people_needed(people_needed):
    right = (1.96 * 2) ** 2 * 3 / 16 / 0.01**2
    expect(
        people_needed,
        right,
        {
            right / 4: "that is for the share of answers; the estimate divides it by 2 t - 1 = 1/2",
            right / 1.96**2: "that makes one standard error 0.01; the interval has 1.96 of them",
            right * 4: "0.01 is on either side of the estimate, so the whole interval is 0.02",
            right / 0.75: "the variance of an answer is 3/4 times 1/4, not 1/4",
            right**0.5: "that is the root of the number",
        },
        "solve 1.96 sqrt(t (1 - t) / n) / (2 t - 1) = 0.01 with t = 3/4",
    )


@check.exercise(4)
def judge_people_for_coins(people_for_coins, *, people, by_coins, by_collector):
    ratio = by_coins.standard_error / by_collector.standard_error
    expect(
        people_for_coins,
        people * ratio**2,
        {
            people
            * ratio: "twice as many people do not halve the error of the coins; four times do",
            ratio**2: "that is how many times as many; multiply by the people who are here",
            ratio: "that is how many times as large the error is; how does it fall with n?",
            people * ratio**0.5: "the error falls with the root of n, so square the ratio",
            people / ratio**2: "the coins need more people, not fewer",
        },
        "the error of the coins falls with 1 / sqrt(n): by which n does it fall by the ratio?",
    )


@check.exercise(5)
def judge_truth(truth):
    expect(
        truth,
        1 / (1 + exp(-0.5)),
        {
            1 / (1 + exp(0.5)): "that is the probability of the other answer",
            exp(-0.5): "that is q; the truth has 1 / (1 + q)",
            exp(0.5): "that is the ratio of both probabilities, which add up to 1",
            1 / (1 + 0.5): "q is e^(-0.5), not 0.5",
            0.5: "at 1/2 the answer tells nothing, and epsilon is 0",
            0.75: "that is for epsilon = ln 3",
        },
        "1 / (1 + e^(-epsilon)) with epsilon = 0.5",
    )


@check.exercise(6)
def judge_factor(factor):
    expect(
        factor,
        243,
        {
            15: "the losses are added; the factors are multiplied",
            3: "that is for one answer",
            5 * log(3): "that is the sum of the losses; which factor of the odds is it?",
            0.75**5: "that is how probable five yes are if the truth is yes; compare both truths",
            125: "3 to the power of 5, not 5 to the power of 3",
            3**0.2: "that takes the root; each yes multiplies the odds again",
        },
        "each yes multiplies the odds by the same factor",
    )
