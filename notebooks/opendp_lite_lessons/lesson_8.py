"""Judges of the exercises of lesson 8."""

from __future__ import annotations

from math import exp, log, log10

import numpy as np

import opendp_lite as dp
from opendp_lite_lessons.checks import Lesson, expect, number

check = Lesson()
Rows = dp.Space[dp.Rows]


@check.exercise(1)
def judge_beyond(beyond):
    assert callable(beyond), "give a function of a block of rows, such as lambda rows: ..."
    block = np.array([[3.0, 6.0], [5.0, 5.5], [12.0, 0.0]])
    given = block.copy()
    try:
        found = np.asarray(beyond(given))
    except ValueError:
        raise AssertionError(
            "it fails on a block of rows: which function of numpy takes the larger, one by one?"
        ) from None
    assert found.shape == block.shape, (
        f"the result has the shape {found.shape}, the block {block.shape}"
    )
    hints = [
        (block - 5, "values below 5 become negative; they shall become 0"),
        (np.maximum(block, 5), "the deductible must be subtracted too"),
        (np.where(block > 5, block, 0), "a value above 5 stays as it is; subtract 5"),
        (np.abs(block - 5), "values below 5 shall become 0, not positive"),
        (block > 5, "that says whether a value is beyond 5, not how far"),
        (np.minimum(block, 5), "that is what is below 5; give what is beyond"),
    ]
    told = [hint for result, hint in hints if np.array_equal(found, result)]
    assert not told, told[0]
    assert np.array_equal(found, [[0.0, 1.0], [0.0, 0.5], [7.0, 0.0]]), (
        f"of {block.tolist()} it makes {found.tolist()}; which function takes the larger?"
    )
    assert np.array_equal(given, block), "it changes the block that it is given; make a new one"


@check.exercise(2)
def judge_bounds(lower, upper):
    expect(
        (lower, upper),
        (0, 35),
        {
            (-5, 35): "a value of 0 becomes 0, not -5",
            (0, 40): "a value of 40 becomes less; these bounds are safe, and not tight",
            (5, 40): "those are values that are beyond; what becomes of them?",
            (5, 35): "a value of 5 becomes 0, and so do those below",
            (0, 45): "5 is subtracted, not added",
            (35, 0): "give the lower one first",
        },
        "what do 0 and 40 become?",
    )


@check.exercise(3)
def judge_false_body(false_body, *, verdict):
    assert isinstance(false_body, dp.bodies.Box), (
        f"give a dp.bodies.Box, not a {type(false_body).__name__}"
    )

    @dp.stage
    def planted(space: Rows) -> dp.Transformation[Rows, Rows]:
        """The same step with your body."""
        return dp.row_map(space, lambda block: np.maximum(block - 5, 0), false_body)

    found = verdict(dp.assert_stable, dp.records() >> dp.clamp(0, 40) >> planted())
    if found != "nothing found":
        return f"The test says: {found}"
    ends = float(np.min(false_body.lower)), float(np.max(false_body.upper))
    assert ends != (0, 35), "that is the true body: results are between 0 and 35; claim less"
    assert ends[0] > 0 or ends[1] < 35, (
        "that body is larger than needed: it wastes noise, and is no false claim"
    )
    raise AssertionError("that is a false claim, but by too little for the test: claim less")


@check.exercise(4)
def judge_rate_for_half(rate_for_half):
    expect(
        rate_for_half,
        0.5 / 35,
        {
            1 / 35: "this rate has a loss of epsilon = 1",
            2 / 35: "this rate has a loss of epsilon = 2: halve, in place of doubling",
            0.5: "that is epsilon; divide it by how far a row moves the sum",
            35 / 0.5: "that is upside down: epsilon = rate x 35",
            0.5 * 35: "epsilon = rate x 35, so divide",
            0.5 / 40: "a row of 40 moves the sum by 35: five visits are not beyond",
        },
        "rate times the largest move is the loss",
    )


@check.exercise(5)
def judge_far_enough(far_enough):
    expect(
        abs(number(far_enough)),
        35 * log(19),
        {
            log(19): "that is in units of 1 / rate, which is 35",
            35 * log(20): "the 1 in 1 + exp(...) is missing: p is 1 / (1 + exp(-d / 35))",
            35 * log(10): "that is where Laplace noise is right with 95 %",
            35 * log(39): "that is for 97.5 %: the answer is wrong on one side only",
            70 * log(19): "that is for epsilon = 0.5; the rate is 1 / 35 here",
            35 * log10(19): "take the natural logarithm",
            0.95 * 35: "solve 1 / (1 + exp(-d / 35)) = 0.95 for d",
        },
        "solve 1 / (1 + exp(-d / 35)) = 0.95 for d",
        within=0.6,
    )


@check.exercise(6)
def judge_loss_there(loss_there):
    def p(s):
        return 1 / (1 + exp(-(s - 15_000) / 35))

    before, after = p(14_800), p(14_835)
    expect(
        abs(number(loss_there)),
        log(after / before),
        {
            1: "that is the claim; it is a little less there: give three digits",
            after - before: "that is how far p moves; take ln p",
            after / before: "that is the factor; the loss is its logarithm",
            log((1 - before) / (1 - after)): "that is how far ln of no moves; take that of yes",
            log10(after / before): "take the natural logarithm",
            0.99: "give three digits",
        },
        "compute ln p at both sums, and subtract; give three digits",
        within=0.0006,
    )


@check.exercise(7)
def judge_far_enough_for_laplace(far_enough_for_laplace):
    expect(
        abs(number(far_enough_for_laplace)),
        35 * log(10),
        {
            35 * log(20): "the half is missing: on one side it is exp(-d / 35) / 2",
            35 * log(40): "that halves twice: exp(-d / 35) / 2 = 0.05",
            log(10): "that is in units of the scale, which is 35",
            35 * log(19): "that is where your own mechanism errs in 5 %",
            35: "that is the scale, or a logarithm to base 10; take the natural one",
        },
        "solve exp(-d / 35) / 2 = 0.05 for d",
        within=1,
    )
