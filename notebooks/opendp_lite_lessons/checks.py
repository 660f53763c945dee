"""How the lessons check their exercises.

In a notebook a check judges what the exercise's own cell assigned in its last run. So an answer of
an earlier run never passes for a cell that failed. Without IPython, as in marimo or in a script, it
judges what the names hold.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from typing import Any, Final

import numpy as np

Judge = Callable[..., str | None]

_EXERCISE: Final = re.compile(r"\s*# Exercise (\d+)\b")
# An answer with so many right digits is right, where the question does not ask for more.
_DIGITS: Final = 2
# What counts as no difference, where an answer is not rounded.
_NOTHING: Final = 1e-9


class Lesson:
    """The exercises of a lesson: ``check(1)`` prints what its judge says of the first one."""

    def __init__(self) -> None:
        self._judges: dict[int, Judge] = {}

    def exercise(self, number: int) -> Callable[[Judge], Judge]:
        """Makes a function the judge of an exercise.

        Its parameters name the answers, and behind a star what else of the lesson it needs. It
        asserts what is right, and may return a text that is told with "Right.".
        """

        def register(judge: Judge) -> Judge:
            self._judges[number] = judge
            return judge

        return register

    def __call__(self, exercise: int) -> None:
        """Prints whether the exercise's answer is right, or what to look at again."""
        print(_verdict(exercise, self._judges[exercise], sys._getframe(1).f_globals))

    def require(self, exercise: int) -> None:
        """For a program that grades.

        Raises:
            AssertionError: If the exercise's answer is not right.
        """
        told = _verdict(exercise, self._judges[exercise], sys._getframe(1).f_globals)
        assert told.startswith("Right."), told


def _verdict(exercise: int, judge: Judge, names: Mapping[str, Any]) -> str:
    asked = inspect.signature(judge).parameters.values()
    answers = [each.name for each in asked if each.kind is not each.KEYWORD_ONLY]
    context = [each.name for each in asked if each.kind is each.KEYWORD_ONLY]
    try:
        if _SHELL is not None:
            _ATTEMPTS.require(exercise, answers)
        missing = [name for name in (*answers, *context) if name not in names]
        assert not missing, f"run the cells that assign {' and '.join(missing)} first"
        if any(_waits(names[name]) for name in answers):
            return "Not answered yet."
        told = judge(*(names[name] for name in answers), **{name: names[name] for name in context})
    except AssertionError as problem:
        return f"Not yet: {problem}"
    except Exception as problem:  # a student's answer may be anything
        return f"Not yet: the answer does not work here. {type(problem).__name__}: {problem}"
    return "Right." if told is None else f"Right.\n{told}"


def _waits(answer: Any) -> bool:
    held = answer.values() if isinstance(answer, Mapping) else [answer]
    return any(each is ... for each in held)


class _Attempts:
    """The last run of each exercise's cell."""

    def __init__(self) -> None:
        self._results: dict[int, Any] = {}

    def note(self, result: Any) -> None:
        """Takes up the result of a cell, if it is an exercise's."""
        if found := _EXERCISE.match(result.info.raw_cell):
            self._results[int(found[1])] = result

    def require(self, exercise: int, names: Sequence[str]) -> None:
        """Refuses answers that the exercise's cell did not assign in a run to its end."""
        result = self._results.get(exercise)
        assert result is not None, f"run the cell that begins with '# Exercise {exercise}' first"
        assert result.success, f"the cell of exercise {exercise} stopped with an error: mend it"
        missing = set(names) - _assigned(_SHELL.transform_cell(result.info.raw_cell))
        assert not missing, f"the cell of exercise {exercise} must assign {' and '.join(missing)}"


def _assigned(cell: str) -> set[str]:
    """The names that a cell assigns or defines."""
    nodes = list(ast.walk(ast.parse(cell)))
    names = (each for each in nodes if isinstance(each, ast.Name))
    variables = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return variables | {each.name for each in nodes if isinstance(each, ast.FunctionDef)}


def number(answer: Any) -> float:
    """The answer as a number.

    Raises:
        AssertionError: If it is none, or several.
    """
    assert np.ndim(answer) == 0, "give one number, not a list or an array"
    assert not isinstance(answer, str), "give a number, not a str"
    try:
        return float(answer)
    except (TypeError, ValueError):
        raise AssertionError(f"give a number, not a {type(answer).__name__}") from None


def is_near(answer: Any, right: Any, within: float) -> bool:
    """Whether the answer is within so much of the right number, or of each of several.

    Raises:
        AssertionError: If it is no number, or not as many numbers.
    """
    if np.ndim(right) == 0:
        return bool(abs(number(answer) - right) <= within)
    assert np.shape(answer) == np.shape(right), f"give {len(right)} numbers"
    return all(is_near(one, other, within) for one, other in zip(answer, right, strict=True))


def expect(
    answer: Any,
    right: float | Sequence[float],
    wrong: Mapping[Any, str],
    otherwise: str,
    *,
    within: float | None = None,
) -> None:
    """Refuses numbers that are not right, with a hint of its own for each wrong answer.

    Where chance brings a wrong formula near the right number, its exact value gets the hint still.

    Args:
        answer: What the student found: a number, or as many as are right.
        right: The right number, or several.
        wrong: What to say to a number, or to a tuple, that comes of a usual mistake.
        otherwise: What to say to any other answer.
        within: How far off a right answer may be. Else it may be rounded to two digits.

    Raises:
        AssertionError: With the hint.
    """
    if np.ndim(right):
        assert np.shape(answer) == np.shape(right), f"give {len(right)} numbers"
        given = [number(each) for each in answer]
    else:
        given = [number(answer)]
    same = next((told for value, told in wrong.items() if _agree(given, value, 0)), None)
    if _agree(given, right, 0) or (same is None and _agree(given, right, within)):
        return
    near = [
        (float(np.abs(np.subtract(given, np.ravel(value))).max()), told)
        for value, told in wrong.items()
        if _agree(given, value)
    ]
    raise AssertionError(same or min(near, default=(0, otherwise))[1])


def _agree(given: Sequence[float], value: Any, within: float | None = None) -> bool:
    """Whether numbers are others, so far off at most; or rounded to two digits."""
    pairs = zip(given, np.ravel(value), strict=True)
    return all(
        abs(one - other) <= (_half_a_digit(other) if within is None else max(within, _NOTHING))
        for one, other in pairs
    )


def _half_a_digit(value: float) -> float:
    """Half a unit of the second digit; a whole number of two digits at most is taken as it is."""
    if value == 0 or (value == int(value) and abs(value) < 10**_DIGITS):
        return _NOTHING
    return 0.5001 * 10 ** (floor(log10(abs(value))) - _DIGITS + 1)


def _running_shell() -> Any:
    """IPython's shell, if there is one."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


_ATTEMPTS: Final = _Attempts()
_SHELL: Final = _running_shell()
if _SHELL is not None:
    _SHELL.events.register("post_run_cell", _ATTEMPTS.note)
