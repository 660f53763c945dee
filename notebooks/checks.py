"""How the lessons check their exercises.

A check judges what the exercise's own cell assigned in its last run. So an answer of an earlier run
never passes for a cell that failed, and a wrong answer is told in words.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from IPython import get_ipython

Judge = Callable[..., str | None]

_EXERCISE = re.compile(r"\s*# Exercise (\d+)\b")


class Attempts:
    """The last run of each exercise's cell."""

    def __init__(self) -> None:
        self._results: dict[int, Any] = {}

    def note(self, result: Any) -> None:
        """Takes up the result of a cell, if it is an exercise's."""
        if found := _EXERCISE.match(result.info.raw_cell):
            self._results[int(found[1])] = result

    def answers(self, exercise: int, names: tuple[str, ...], values: Mapping[str, Any]) -> Any:
        """The answers of these names.

        Raises:
            AssertionError: If the exercise's cell did not run to its end, or did not assign them.
        """
        result = self._results.get(exercise)
        assert result is not None, f"run the cell that begins with '# Exercise {exercise}' first"
        assert result.success, f"the cell of exercise {exercise} stopped with an error: mend it"
        missing = set(names) - _assigned(result.info.raw_cell)
        assert not missing, f"the cell of exercise {exercise} must assign {' and '.join(missing)}"
        return [values[name] for name in names]


def _assigned(cell: str) -> set[str]:
    """The names that a cell assigns or defines."""
    nodes = list(ast.walk(ast.parse(get_ipython().transform_cell(cell))))
    names = (each for each in nodes if isinstance(each, ast.Name))
    variables = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return variables | {each.name for each in nodes if isinstance(each, ast.FunctionDef)}


def _waits(answer: Any) -> bool:
    held = answer.values() if isinstance(answer, Mapping) else [answer]
    return any(each is ... for each in held)


def check(exercise: int) -> Callable[[Judge], None]:
    """Runs the function below it on the answers that its parameters name, and prints the verdict.

    The function asserts what is right, and may return a text that is told with "Right.".
    """

    def run(judge: Judge) -> None:
        print(_verdict(exercise, judge))

    return run


def _verdict(exercise: int, judge: Judge) -> str:
    names = tuple(inspect.signature(judge).parameters)
    try:
        answers = attempts.answers(exercise, names, judge.__globals__)
        if any(map(_waits, answers)):
            return "Not answered yet."
        told = judge(*answers)
    except AssertionError as problem:
        return f"Not yet: {problem}"
    except Exception as problem:  # a student's answer may be anything
        return f"Not yet: the answer does not work here. {type(problem).__name__}: {problem}"
    return "Right." if told is None else f"Right.\n{told}"


def as_number(answer: Any) -> float:
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
        return bool(abs(as_number(answer) - right) <= within)
    assert np.shape(answer) == np.shape(right), f"give {len(right)} numbers"
    return all(is_near(one, other, within) for one, other in zip(answer, right, strict=True))


attempts = Attempts()
get_ipython().events.register("post_run_cell", attempts.note)
