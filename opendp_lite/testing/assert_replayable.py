"""The falsifier of programs: they must know nothing but their answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from opendp_lite.combinators.adaptive import adaptive
from opendp_lite.combinators.witness import ran
from opendp_lite.core import Measurement, Private
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described
from opendp_lite.measures.privacy_budget import PrivacyBudget, require_budget
from opendp_lite.pipeline import Pipeline
from opendp_lite.recipes import Mechanism
from opendp_lite.sessions.session import table_of
from opendp_lite.testing.held_data import held_data
from opendp_lite.testing.replay import Question, recorded, replayed
from opendp_lite.testing.require import require


def assert_replayable(
    program: Private[Any, Any, Any] | Callable[[Any], Any],
    data: Any,
    neighbour: Any,
    budget: PrivacyBudget[Any] | None = None,
    replays: int = 2,
) -> None:
    """Tries to show that a program knows more of the data than the answers that it got.

    It runs the program on the data, and writes down the queries and their answers. Then it runs the
    program again, on the same data and on the neighbour, with the answers of the first run. The
    program must ask the same queries at the same prices, in the same order, and give the same
    result. The test fails for a program that

    - holds the data in a variable, or reads it from a global;
    - chooses a query, a budget, or when to stop, by the data or its number of rows;
    - keeps something from one run to the next;
    - looks at the clock, or draws random numbers of its own. Draw them from a generator with a
      fixed seed that the program makes anew in each run, or let a pipeline draw them.

    The answers of the first run are real releases: use data that is made up.

    It is a falsifier and never a proof. It sees the two datasets of your choice, and programs only
    where they ask: in ``adaptive``, in ``above_threshold``, in estimators made of them, and in
    ``ask`` of a session. It does not see what you computed of the data before, such as its mean in
    a variable of the program: give a function of the data then, which computes it anew. It does not
    see questions asked in other threads, what follows a release in the same pipeline, the time that
    a program takes, a print, or a file that it writes. A pipeline that runs programs a random
    number of times, as ``best_of`` does, departs by chance: test the program in it by itself.

    Args:
        program: One of three:

            - a pipeline that runs programs, such as ``dp.adaptive(program, dp.rho(1))``;
            - with ``budget``, a function of ``ask``. Of a table it asks as in ``dp.session``;
            - a function of the data that releases all by programs or sessions. Its result is
              compared, too.
        data: A dataset, made up.
        neighbour: Another. Make the two as adversarial as you can.
        budget: For a function of ``ask``, such as ``dp.rho(1)``.
        replays: How often each of the two is replayed. Two find a program that does something
            else every other time.

    Raises:
        AssertionError: If a replay departs. It says where, and whether on the same data.
        ParameterError: If nothing was asked, or for something else than such a program.

    Proof:
        The loss of a program is that of its queries if all else is a function of the answers
        (Rogers, Roth, Ullman, Vadhan 2016). A replay that departs refutes this.

    Example:
        >>> import opendp_lite as dp
        >>> rows, fewer = [1.0] * 90, [1.0] * 89
        >>> def honest(ask):
        ...     first = ask(dp.count() >> dp.gaussian(rho=0.1))
        ...     return first if first > 50 else ask(dp.count() >> dp.gaussian(rho=ask.left))
        >>> dp.assert_replayable(honest, rows, fewer, budget=dp.rho(1))
        >>> def curious(ask):
        ...     return ask(dp.count() >> dp.gaussian(rho=0.1)) + len(rows)
        >>> dp.assert_replayable(curious, rows, fewer, budget=dp.rho(1))
        Traceback (most recent call last):
        ...
        AssertionError: the program holds the data, as 'rows': it may know nothing but its answers
    """
    work = _work_of(program, budget)
    name = held_data(program, data)
    require(
        name is None,
        f"the program holds the data, as {name!r}: it may know nothing but its answers",
    )
    events = recorded(partial(work, data))
    if not any(event.within or isinstance(event, Question) for event in events):
        raise ParameterError(
            "assert_replayable: no program asked anything. Give a pipeline with dp.adaptive in it, "
            "a function of ask with budget=dp.rho(1), or a function of the data"
        )
    for _ in range(replays):
        _require_same(replayed(partial(work, data), events), _AGAIN)
        _require_same(replayed(partial(work, neighbour), events), _ELSEWHERE)


_AGAIN = (
    "run again on the same data, with the same answers, {}. It keeps something between runs, looks "
    "at the clock, or draws random numbers of its own: draw them from a generator with a fixed "
    "seed, made in the program"
)
_ELSEWHERE = "run on the neighbour, with the same answers, {}. So it learnt of the data otherwise"


def _require_same(fault: str | None, words: str) -> None:
    require(fault is None, "the program departed: " + words.format(fault))


def _work_of(program: object, budget: PrivacyBudget[Any] | None) -> Callable[[Any], Any]:
    """What is done with a dataset."""
    if isinstance(program, Private):
        measurement: Measurement[Any, Any, Any] = program.bound
        return measurement
    if isinstance(program, Pipeline) or not callable(program):
        raise ParameterError(
            "assert_replayable takes a pipeline that runs programs, a function of ask, or a "
            f"function of the data; got {described(program)}"
        )
    if budget is not None:
        require_budget(budget, "assert_replayable")
        return partial(_asked, adaptive(program, budget))
    return partial(_of_data, program)


def _asked(program: Mechanism[Any, Any, Any], data: Any) -> Any:
    """A release of a program, from a table where the data is one, as in ``dp.session``."""
    space = table_of(data)
    return program(data) if space is None else (space >> program)(data)


def _of_data(function: Callable[[Any], Any], data: Any) -> Any:
    try:
        return ran(partial(function, data))
    except Exception as problem:
        problem.add_note(
            "assert_replayable called it with the data. A function of ask needs budget=dp.rho(1)"
        )
        raise
