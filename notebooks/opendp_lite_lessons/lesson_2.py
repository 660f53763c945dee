"""Judges of the exercises of lesson 2."""

from __future__ import annotations

import inspect

import numpy as np

import opendp_lite as dp
from opendp_lite_lessons.checks import Lesson, expect

check = Lesson()
Rows = dp.Space[dp.Rows]


@check.exercise(1)
def judge_moved(moved):
    expect(
        getattr(moved, "l1", moved),
        60,
        {
            120: "that is without scale(0.5): how large is a value after it?",
            20: "that is how far one row moves it",
            30: "scale halves the values, and leaves the number of rows as it is",
            40: "that is one value before scale(0.5); take three values after it",
            240: "scale(0.5) multiplies each value by 0.5; it does not divide by it",
            3: "three rows stay three rows in clamp and scale; how far do their values move a sum?",
        },
        "how large is one value after scale(0.5), at most? Take three",
    )


@check.exercise(2)
def judge_rho(rho_one, rho_three):
    expect(
        (rho_one, rho_three),
        (20**2 / (2 * 40**2), 60**2 / (2 * 40**2)),
        {
            (40**2 / (2 * 40**2), 120**2 / (2 * 40**2)): (
                "one row moves the sum by 20 and not by 40, after scale(0.5)"
            ),
            (20 / 40, 60 / 40): "that is epsilon of Laplace noise; rho has squares",
            (20**2 / (2 * 40**2), 3 * 20**2 / (2 * 40**2)): (
                "three rows are three times the distance, and rho takes its square"
            ),
            (20**2 / 40**2, 60**2 / 40**2): "a factor of 2 is missing below the line",
            (20**2 / (2 * 40), 60**2 / (2 * 40)): "the standard deviation is squared too",
        },
        "put the distances of exercise 1, for one row and for three, into distance^2 / (2 s^2)",
    )


@check.exercise(3)
def judge_share(share, *, visits, verdict):
    assert callable(share), "give a function of a block of rows, such as lambda rows: ..."
    block = np.array([[20.0], [10.0]])
    found = np.asarray(share(block.copy()))
    assert found.shape == block.shape, (
        f"of a block of the shape {block.shape} it makes the shape {found.shape}; divide the block"
    )
    alone = [np.asarray(share(row[None, :].copy())) for row in block]
    assert np.allclose(found, np.concatenate(alone)), (
        "the result of a row changes with the other rows of its block, as before"
    )
    factor = float(found[0, 0])
    hints = {
        20 / visits.max(): "that divides by the largest value of the data; you must not look at it",
        1.0: "a value of 20 becomes 1, so one of 40 becomes 2, and the step promises 1 at most",
        800.0: "that multiplies by 40; divide",
        20.0: "that changes nothing; the bounds of clamp are public, so you may use them",
    }
    told = [hint for value, hint in hints.items() if np.isclose(factor, value)]
    assert not told, told[0]
    assert np.allclose(found, [[0.5], [0.25]]), (
        f"values of 20 and 10 become {found.ravel().tolist()}; think of the bounds of clamp"
    )

    @dp.stage
    def mended_share(space: Rows) -> dp.Transformation[Rows, Rows]:
        """Your function, as a step."""
        return dp.row_map(space, share, dp.bodies.Box(0, 1, columns=space.domain.columns))

    found = verdict(dp.assert_stable, dp.clamp(0, 40) >> mended_share())
    assert found == "nothing found", found


@check.exercise(4)
def judge_neighbours(data, neighbour, *, careless, total, verdict):
    assert np.ndim(data) == np.ndim(neighbour) == 1, "give two lists of values, not their sums"
    shorter, longer = sorted([list(data), list(neighbour)], key=len)
    assert len(longer) == len(shorter) + 1, (
        f"the lists have {len(shorter)} and {len(longer)} rows; neighbours differ by one row"
    )
    assert longer[:-1] == shorter, "the row more is at the end; all rows before it agree"
    sums = [float(np.clip(each, 0, 40).sum()) for each in (shorter, longer)]
    assert sums[0] != sums[1], f"the last row moves the sum by nothing: both are {sums[0]}"
    assert max(sums) >= 500 or max(longer) <= 40, (
        f"values are clipped to 40 before they are added: the sums are {sums}"
    )
    assert max(sums) >= 500, f"the sums are {sums}: below 500 the noise is honest"
    found = verdict(dp.audit, total >> careless(1), data, neighbour, releases=600)
    assert found != "nothing found", f"the sums are {sums}: choose a last row that moves them more"


@check.exercise(5)
def judge_exact_count(exact_count, *, noise_of, released, turn):
    expect(
        exact_count,
        released - noise_of(turn),
        {
            released: "that is the release, with its noise; noise_of(turn) is what it added",
            released + noise_of(turn): "the mechanism added its noise; take it away again",
            noise_of(turn): "that is the noise of this release; what is left without it?",
            released - noise_of(0): "that is the noise of release 0; which number has yours?",
        },
        "which noise did this turn add? Take it away again",
        within=0,
    )


@check.exercise(6)
def judge_mended(mended, *, made_up, one_less, verdict):
    assert not hasattr(mended, "explain"), (
        "that is a pipeline; give a program, which asks for it: def mended(ask): return ask(...)"
    )
    assert inspect.isfunction(mended), (
        "give a program: a function of ask, which it calls; def mended(ask): return ask(...)"
    )
    session = dp.session(made_up, budget=dp.rho(1))
    asked = []

    def ask(query):
        asked.append(query)
        return session(query)

    answer = mended(ask)
    assert asked, "the program must call ask with a pipeline: else it has no private answer"
    assert answer is not None, "the program returns nothing: return what ask gives"
    assert session.spent == 0.1, f"the program spent rho = {session.spent}, and not 0.1"
    assert "sum" in str(asked), "the program must ask for a sum: dp.clamp(...) >> dp.sum() >> ..."
    assert str(max(made_up)) not in str(asked), "the bound is still the largest value of the data"
    found = verdict(dp.assert_replayable, mended, made_up, one_less, budget=dp.rho(1))
    assert found == "nothing found", found


_LIES = {
    "a quarter of the noise": (True, "what did the audit find when half the noise was missing?"),
    "noise from a known seed": (
        False,
        "an audit counts how often a release comes; what did it say of `predictable`?",
    ),
    "the exact value, in one of 10 releases": (
        True,
        "among 3000 releases 300 are the exact value; how many would honest noise give?",
    ),
    "the exact value, in one of 10^12 releases": (
        False,
        "how many releases of a millisecond has a year?",
    ),
    "the release takes longer if Ann is in the data": (
        False,
        "an audit sees what is released; does it look at a clock?",
    ),
}


@check.exercise(7)
def judge_found_by_audit(found_by_audit):
    assert isinstance(found_by_audit, dict), "replace the dots alone, by True or False"
    assert set(found_by_audit) == set(_LIES), "keep the five lies as they are; replace the dots"
    assert all(isinstance(each, bool) for each in found_by_audit.values()), "write True or False"
    wrong = [lie for lie, (right, _) in _LIES.items() if found_by_audit[lie] is not right]
    assert not wrong, f"{wrong[0]}: {_LIES[wrong[0]][1]}"
