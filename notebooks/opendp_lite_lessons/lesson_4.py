"""Judges of the exercises of lesson 4."""

from __future__ import annotations

import numpy as np

import opendp_lite as dp
from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()


@check.exercise(1)
def judge_times(times, *, d, sigma):
    unscaled, scaled = np.sqrt(d * np.sum(sigma**2)), sigma.sum()
    expect(
        times,
        unscaled / scaled,
        {
            scaled / unscaled: "that is how many times as long it is with scaling",
            (unscaled / scaled) ** 2: "that is the ratio of the squares; take the root",
            unscaled / scaled / np.sqrt(d): "the factor sqrt(d) is missing",
            unscaled: "that is the length without scaling; divide it by that with scaling",
            scaled: "that is the length with scaling; divide the other one by it",
            np.sqrt(d) * np.sqrt(scaled) / scaled: "add up the squares of sigma, and take the root",
        },
        "divide the length without scaling by that with it, as above",
    )


def _expect_scaling(answer, sigma, power):
    """Refuses columns that are not divided by this power of their spread."""
    assert np.shape(answer) == sigma.shape, f"give an array of {len(sigma)} numbers, one a column"
    powers = {
        1 / 2: "that is the power for p = 2, the root",
        2 / 3: "that is the power for p = 1; the power is 2 / (p + 2)",
        1 / 3: "that is sigma^(1 / (p + 2)) for p = 1; the power is 2 / (p + 2)",
        1 / 4: "that is sigma^(1 / (p + 2)) for p = 2; the power is 2 / (p + 2)",
        1: "that makes all columns equally wide; the power is 2 / (p + 2)",
        2: "the power is 2 / (p + 2), so it is below 1",
        -power: "that is what columns are multiplied by; give what they are divided by",
    }
    wrong = {tuple(sigma**each): hint for each, hint in powers.items() if each != power}
    expect(answer, sigma**power, wrong, "take sigma to the power 2 / (p + 2)")


@check.exercise(2)
def judge_divisors(divisors, *, sigma):
    _expect_scaling(divisors, sigma, 2 / 3)


@check.exercise(3)
def judge_scaling(scaling, planned, *, error, rho, sigma, space, unscaled):
    _expect_scaling(scaling, sigma, 1 / 2)
    _require_pipeline(planned, unscaled, rho)
    found = error(planned)
    assert found < 0.075, f"the error is {found:.3f}, as without scaling; hand scaling to program"
    return f"error: {found:.3f}"


def _require_pipeline(pipeline, like, rho):
    assert not isinstance(pipeline, np.ndarray), (
        "that is a release; give the pipeline that makes it"
    )
    assert isinstance(pipeline, dp.Measurement), "give a pipeline that begins with space >>"
    assert pipeline.neighbours() == like.neighbours(), (
        "begin with space: the number of rows is public, and a row is replaced"
    )
    assert pipeline.map(1) == rho, f"this loses {pipeline.map(1)}, and not rho = {rho}"


@check.exercise(4)
def judge_plus(plus, *, error, rho, unscaled):
    _require_pipeline(plus, unscaled, rho)
    assert "plan_plus_mean" in repr(plus), "this pipeline has no plan_plus_mean"
    assert "plan_plus_mean(100," in repr(plus), "the bound is not 100, as for plan_mean"
    return f"error: {error(plus):.3f}"


@check.exercise(5)
def judge_overrun(overrun):
    expect(
        overrun,
        12,
        {
            4: "that is the half move alone; then three copies move",
            9: "that is three copies alone, without the half move and the charge of a third",
            3: "three copies charged a third each lose 3 times; then the move is halved",
            6: "rho grows with the square of the move: a half move does more than double it",
            36: "each copy is charged a third of the claim, so divide by 3",
            1.5: "rho grows with the square of the move, and three copies move at once",
            2: "rho grows with the square of the move; then three copies move",
        },
        "half the move doubles s; three copies move three times as far",
    )


@check.exercise(6)
def judge_repair(repair, *, claim, loss):
    assert np.shape(repair) == (2,), "give a tuple: copies, moves"
    copies, moves = repair
    assert min(copies, moves) > 0, "copies and moves are above 0"
    reached = max(loss(each, copies, moves) / each for each in (claim, claim / 1000))
    assert (copies, moves) != (3, 0.5), "that is the published code"
    if reached > 1:
        assert moves >= 1, (
            f"a replaced row moves the rank of one copy by 1, not by {moves}: "
            f"this loses {reached:.2f} times the claim"
        )
        assert copies <= 1, (
            f"a replaced row moves {copies} copies at once: "
            f"this loses {reached:.2f} times the claim"
        )
        raise AssertionError(f"this loses {reached:.2f} times the claim")
    assert reached > 0.9, f"private, but it loses only {reached:.2f} of the claim: " + (
        "take fewer copies" if copies > 1 else "how far does a row move the rank of one copy?"
    )
