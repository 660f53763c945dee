"""Judges of the exercises of lesson 7."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

import opendp_lite as dp
from opendp_lite_lessons.checks import Lesson, expect, number

check = Lesson()


@check.exercise(1)
def judge_epsilon_person(epsilon_person):
    expect(
        epsilon_person,
        5,
        {
            1: "that is the loss for one row, which is one year",
            0.2: "that is the other way round: five rows are more to hide than one",
            25: "rho grows with the square of the rows, epsilon with their number",
            exp(5): "that is the factor of the odds; epsilon is its logarithm",
            sqrt(5): "pure epsilon grows with the number of rows and not with its root",
        },
        "what is the epsilon of one year, and of five?",
    )


@check.exercise(2)
def judge_rows_needed(rows_needed):
    expect(
        rows_needed,
        300,
        {
            30: "that is the error itself; it shall be a tenth of the count",
            3: "a tenth of the error: the error shall be a tenth of the count",
            100: "10 is the scale of the noise; take the error of 95 % of the releases",
            460: "that is for 99 % of the releases",
            600: "the error is to either side; do not double it",
        },
        "which count is ten times the error of 95 % of the releases?",
    )


@check.exercise(3)
def judge_totals(total_raw, total_clipped, *, cells, survey):
    counts = cells.counts
    raw, clipped = counts.sum(), counts.clip(0).sum()
    expect(
        (total_raw, total_clipped),
        (raw, clipped),
        {
            (clipped, raw): "give that of the counts as they are first",
            (raw, raw): "set the negative counts to 0 before you add up the second time",
            (clipped, clipped): "the first total adds the negative counts too",
            (raw, np.abs(counts).sum()): "that makes them positive; set them to 0",
            (raw, (counts > 0).sum()): "that counts the cells above 0; add up what is in them",
            (raw, counts.clip(1).sum()): "that sets small counts to 1; set negative ones to 0",
            (len(survey), len(survey)): "that reads the data; add up what was released",
        },
        "the first total adds all the counts, and the second one those above 0 alone; to the row",
        within=0.5,
    )
    return f"{raw:.0f} and {clipped:.0f}; exactly {survey.visits.le(40).sum()} rows"


@check.exercise(4)
def judge_bias_of_an_empty_cell(bias_of_an_empty_cell):
    q = exp(-0.1)
    expect(
        bias_of_an_empty_cell,
        q / (1 - q**2),
        {
            0: "that is the mean of the counts as released; a negative one is set to 0",
            10: "that is the scale, and the mean size of the noise; half of it is negative",
            1 / (1 - q): "that is the mean of the positive ones; the others count as 0",
            2 * q / (1 - q**2): "that is the mean size of the noise; negative noise becomes 0",
            q / (1 - q) ** 2: "divide by the sum of all weights: they are no probabilities yet",
            30: "that is the error of 95 % of the releases; give the mean",
            -q / (1 - q**2): "setting counts to 0 can only add rows",
        },
        "a negative count becomes 0, a positive one stays: take the mean of both kinds",
        within=0.5,
    )


@check.exercise(5)
def judge_share_missing(share_missing, *, counts, survey):
    rows, answered = counts["rows"].value, counts["answered"].value
    expect(
        share_missing,
        1 - answered / rows,
        {
            answered / rows: "that is the share with an answer",
            rows - answered: "that is how many rows have none; divide by all rows",
            rows / answered - 1: "divide by all rows, not by those with an answer",
            100 * (1 - answered / rows): "that is in percent; give a share",
            survey.visits.isna().mean(): "that reads the data; use the two releases",
        },
        "the rows without an answer, by all rows, both as released",
    )


@check.exercise(6)
def judge_weighted(weighted, *, by_health, complete, mean, middle, survey):
    assert np.ndim(weighted) == 0, "that is a number for each group; add them up"
    shares = np.array([number(each) for each in by_health.value.shares()])
    right = shares @ middle
    expect(
        weighted,
        right,
        {
            middle.mean(): "that weights all groups alike",
            middle.sum(): "multiply each mean by the share of its group before you add",
            number(mean): "that is the mean of those who answered",
            by_health.value.counts @ middle: "those weights are counts; take shares",
            shares[::-1] @ middle: "shares and means must be in the same order",
            complete.visits.clip(0, 40).mean(): "that reads data that nobody has; use the releases",
            survey.visits.clip(0, 40).mean(): "that reads the data; use the releases",
        },
        "multiply each mean by its share, and add",
        within=0.006,
    )
    return f"{right:.2f}; {complete.visits.clip(0, 40).mean():.2f} is the mean of all rows"


@check.exercise(7)
def judge_error_of_wide_bounds(error_of_wide_bounds):
    def foretold(upper, epsilon, n=20_000, **interval):
        pipeline = dp.mean(0, upper, epsilon=epsilon, **interval)
        return dp.expected_error(pipeline, n=n, guess=10)

    # With an interval a part of the loss is for it, and the error is a sixth larger: each is right.
    kinds = {}, {"confidence": None}
    right = min(foretold(10_000, 0.2, **kind) for kind in kinds)
    assert not hasattr(error_of_wide_bounds, "explain"), (
        "that is the pipeline; hand it to dp.expected_error"
    )
    expect(
        error_of_wide_bounds,
        right,
        {
            10_000 / 0.2: "that is the noise of the sum; the mean divides it by the rows",
            **{
                foretold(*given, **kind): hint
                for kind in kinds
                for given, hint in {
                    (40, 0.2): "those are the bounds of the visits; take 0 and 10 000",
                    (1000, 0.2): "those bounds end at 1000; take 10 000",
                    (10_000, 1): "that is with epsilon = 1",
                    (10_000, 0.2, 1000): "that is for fewer rows: n is 20 000",
                }.items()
            },
        },
        "the pipeline is a mean with these wide bounds",
        within=right / 5,
    )
    return f"The mean itself is near 10, and the noise is {right:.0f}."


@check.exercise(8)
def judge_median(median, *, ledger):
    left = f"{float(ledger.left):.3f} is left"
    if not isinstance(median, dp.releases.Release):
        assert ledger.left == 0, f"the ledger did not pay for that: {left}. Write median = ask(...)"
        raise AssertionError("that is not the release: assign what ask(...) gives")
    assert "quantile" in str(median.statement()), "that release is no median: see private_quantile"
    assert ledger.left == 0, f"{left}: ask with epsilon=ask.left"
    assert 0 <= number(median.value) <= 5, "that is another quantile: the median is that of 0.5"
