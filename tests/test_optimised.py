"""What people read is the same under ``python -OO``, which drops docstrings and assertions."""

import json
import os
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import opendp_lite as dp
from opendp_lite.cli import main
from opendp_lite.spaces.space import examples_of
from tests.public_names import STEPS

ROOT = Path(__file__).parents[1]
COMMANDS = ("", "mean", "sum", "median", "histogram", "report", "ledger")
WRONG = (
    lambda: dp.clamp(10, 0),
    lambda: dp.clamp(),
    lambda: dp.mean(0, 10, confidence=None),
    lambda: dp.mean(0, epsilon=1, confidence=None),
    lambda: dp.mean(0, 10, epsilon=1, rho=1, confidence=None),
    lambda: dp.laplace(epsilon=-1),
    lambda: (dp.sum() >> dp.laplace(epsilon=1))([1.0]),
    lambda: dp.clamp(0, 1) >> dp.sum,
    lambda: dp.count() >> dp.count(),
    lambda: dp.select("age")([1.0]),
    lambda: dp.from_json("{}"),
    lambda: dp.gausian,
    lambda: dp.stage(does=3),
)


def own():
    """A pipeline with a step and a function of one's own, of which one says what it does."""

    @dp.stage(does="Halves every value.", proof=dp.Proof("Row by row."))
    def half(space: dp.Space[dp.Rows]) -> dp.Transformation[Any, dp.Space[dp.Rows]]:
        """Is not read."""
        return dp.row_map(space, lambda rows: rows / 2, dp.bodies.Box(0, 5))

    @dp.postprocessor
    def doubled(release: Any) -> Any:
        """Is not read either."""
        return 2 * release

    return dp.clamp(0, 10) >> half() >> dp.sum() >> dp.laplace(epsilon=1) >> doubled()


def pipelines():
    for path, step in STEPS.items():
        for given in examples_of(step)[:1]:
            yield path, given.space >> step(*given.args, **given.kwargs)
    yield "own", own().bound
    yield "conversions", (dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp()).bound


def refusal(wrong) -> str:
    try:
        wrong()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    raise AssertionError(wrong)


def printed(words: list[str]) -> str:
    """What a command prints as its help."""
    with redirect_stdout(StringIO()) as found, suppress(SystemExit):
        main(words)
    return found.getvalue()


def texts() -> dict[str, str]:
    """What is printed of pipelines, refusals and commands, each by a name."""
    found = {}
    for name, bound in pipelines():
        distance = bound.input_space.metric.show(bound.input_space.unit)
        found[f"repr {name}"] = repr(bound)
        found[f"explain {name}"] = str(bound.explain(distance))
        found[f"drawing {name}"] = bound.draw(distance)._repr_html_()
        if isinstance(bound, dp.Measurement):
            statement = bound.statement(distance)
            found[f"statement {name}"] = f"{statement}{statement.as_dict()}"
    found |= {f"refusal {number}": refusal(each) for number, each in enumerate(WRONG)}
    return found | {f"help {name}": printed([*name.split(), "--help"]) for name in COMMANDS}


def run(*flags: str) -> Popen[str]:
    command = [sys.executable, *flags, "-c", "from tests.test_optimised import *; show()"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return Popen(command, cwd=ROOT, env=environment, stdout=PIPE, text=True)


def show() -> None:
    print(json.dumps({"docstring": texts.__doc__, "texts": texts()}))


def test_optimised_python_says_the_same():
    plain, optimised = (json.loads(each.communicate()[0]) for each in [run(), run("-OO")])
    assert plain["docstring"]
    assert optimised["docstring"] is None
    assert len(plain["texts"]) > 250
    differ = {
        name: (text, optimised["texts"].get(name))
        for name, text in plain["texts"].items()
        if optimised["texts"].get(name) != text
    }
    assert differ == {}
    assert "Halves every value." in plain["texts"]["statement own"]
    assert "Is not read" not in str(plain["texts"])
