"""Judges of the exercises of lesson 6."""

from __future__ import annotations

import numpy as np

from opendp_lite_lessons.checks import Lesson, expect, number

check = Lesson()


@check.exercise(1)
def judge_ruled_out(ruled_out, *, from_one, from_zero, possible):
    share = float(np.mean(possible(from_one, 0)))
    assert np.ndim(ruled_out) == 0, "that is an answer for each release; give the share of them"
    expect(
        ruled_out,
        1 - share,
        {
            share: "that is the share in which 0 is possible",
            len(from_one) * (1 - share): "that is how many releases; give their share",
            100 * (1 - share): "that is in percent; give a share",
            1: "then 0 would be ruled out in each release",
            0: "ask possible() for the count 0, of the releases of the count 1",
        },
        "possible() says for each release whether a count can be its origin",
    )


@check.exercise(2)
def judge_true_epsilon(true_epsilon):
    found = number(true_epsilon)
    assert found != 1, "that is the claim; what is e^1 times a probability of 0?"
    assert found >= 0, "epsilon is never below 0; what is e^epsilon times a probability of 0?"
    assert found > 1 or found == np.inf, (
        "a small epsilon promises more than a large one; what is e^epsilon times 0?"
    )
    assert found == np.inf, f"e^{found:g} times a probability of 0 is 0 still"


@check.exercise(3)
def judge_m(m, *, our_one, our_zero):
    power = number(m)
    assert power != 53, "so many bits has a float; the public grid is coarser: try it"
    assert power >= 0, "releases are multiples of 2^-m, so m is positive"
    assert abs(power) <= 1000, "m is the power, a small number, and not 2^m"
    assert power == round(power), "m is whole: with 2^-m it is the number of bits after the point"
    both = np.concatenate([our_zero, our_one])
    on_grid = [np.all(both * 2.0**each % 1 == 0) for each in (power, power - 1)]
    assert on_grid[0], "some release times 2^m is not whole: try a larger m"
    assert not on_grid[1], "a smaller m is enough"


@check.exercise(4)
def judge_small(small, *, float_sum, neighbours):
    rows = number(small)
    assert rows == round(rows), "give a whole number of rows"
    assert 1 <= rows <= 10**6, "give a number of rows between 1 and a million"
    pairs = [neighbours(int(rows) - less) for less in (0, 1)]
    gaps = [float_sum(longer) - float_sum(shorter) for shorter, longer in pairs]
    assert gaps[0] >= 5000 or rows != 5000, (
        "each small row moves the difference by 1/2 and not by 1: 2000 rows made 1001"
    )
    assert gaps[0] >= 5000, f"the difference is {gaps[0]}; by how much does one small row move it?"
    assert gaps[1] < 5000 or rows != 10_000, (
        f"the difference is {gaps[0]}: Ann's own row counts too, so fewer are enough"
    )
    assert gaps[1] < 5000, f"fewer are enough: the difference is {gaps[0]}"


@check.exercise(5)
def judge_guess(guess, *, float_sum, rng, with_ann, without):
    assert callable(guess), "give a function of a release"
    sums = float_sum(without), float_sum(with_ann)
    told = [[bool(guess(each + middle)) for each in rng.laplace(size=1000)] for middle in sums]
    falsely, rightly = np.mean(told, axis=1)
    assert falsely < 1 or rightly < 1, "it says True of every release; where lie the two sums?"
    assert falsely > 0 or rightly > 0, "it says False of every release; where lie the two sums?"
    assert falsely < 1 or rightly > 0, "each guess is wrong: turn it round"
    right = (1 - falsely + rightly) / 2
    assert right == 1, (
        f"{right:.1%} are right: the sums are 1001 apart, and your bound is near one of them"
    )


@check.exercise(6)
def judge_full(full):
    rows = number(full)
    assert rows == round(rows), "give a whole number of rows"
    assert rows != 255, "255 is the jump; at how many rows does it come?"
    assert rows != 256, "bytes hold 256 numbers, and half of them are negative"
    assert rows != 128, "the sum of 128 rows is -128: the jump has been"
    assert 0 <= rows < 256, "it first happens below 256 rows"
    sums = [int(np.ones(int(rows) + more).sum(dtype=np.int8)) for more in (0, 1)]
    assert abs(sums[1] - sums[0]) == 255, f"the sums of {int(rows)} rows and one more are {sums}"
