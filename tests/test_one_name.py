"""One name, one thing: no two modules or classes share a name, and no constant has two values.

And values that are compared hold no arrays, of which two are neither equal nor not.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.test_layers import parse, sources

MADE_BY = {"TypeVar", "ParamSpec", "WithDefault"}
"""Names for type checkers, which are as good as local."""

APPLICATION = "cli"
"""A room that nothing imports: its constants are its own."""


def named(text: str) -> Iterator[tuple[str, str, str]]:
    """The kind, name and text of each class and public constant at the top of a module."""
    for node in parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield "classes", node.name, ""
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        made = node.value.func if isinstance(node.value, ast.Call) else None
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            hidden = not isinstance(target, ast.Name) or target.id.startswith("_")
            if not hidden and getattr(made, "id", "") not in MADE_BY:
                yield "constants", ast.unparse(target), ast.unparse(node.value)


NODES = {
    "Release": ["engines.plan", "sessions.sessions"],
    "Rows": ["engines.plan", "spaces.domains"],
}
"""Nodes of a plan, which bear the names of what they stand for."""


def shared(modules: Mapping[str, str]) -> Iterator[str]:
    """A line for each name that stands for two things."""
    classes = defaultdict(list)
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for module, text in modules.items():
        for kind, each, value in named(text):
            if kind == "classes":
                classes[each].append(module)
            elif not module.startswith(APPLICATION):
                values[each][module] = value
    for name, places in classes.items():
        if len(places) > 1 and places != NODES.get(name):
            yield f"{name} is the name of {len(places)} classes: {', '.join(sorted(places))}"
    for name, found_values in values.items():
        if len(set(found_values.values())) > 1:
            where = ", ".join(sorted(found_values))
            yield f"{name} has {len(set(found_values.values()))} values: {where}"


def test_each_name_is_for_one_thing():
    assert set(shared(sources())) == set()


def test_planted_twins_are_caught():
    twins = {
        "planted": "class Ball: pass\nclass Ball: pass\n"
        "FEW_VALUES = 7\nFEW_VALUES: int\n_FEW_VALUES = 1\n",
        "cli.another": "FEW_VALUES = 9\n",
    }
    found = set(shared({**sources(), **twins})) - set(shared(sources()))
    assert found == {
        "Ball is the name of 3 classes: bodies.ball, planted, planted",
        "FEW_VALUES has 2 values: planted, samplers.law",
    }


ARRAYS = {"Floats", "Integers", "ndarray", "NDArray"}


def compared_arrays(text: str) -> Iterator[str]:
    """A line for each array in a class of values that attrs compares field by field."""
    for node in parse(text).body:
        if not isinstance(node, ast.ClassDef):
            continue
        made = " ".join(map(ast.unparse, node.decorator_list))
        if not made.startswith("attrs.") or "eq=False" in made:
            continue
        for field in node.body:
            if not isinstance(field, ast.AnnAssign):
                continue
            kind = ast.unparse(field.annotation)
            names = {getattr(each, "id", "") for each in ast.walk(field.annotation)}
            own = field.value is not None and "eq=" in ast.unparse(field.value)
            if names & ARRAYS and not own and not kind.startswith("Callable"):
                yield f"{node.name}.{ast.unparse(field.target)}: {kind}"


def test_values_that_are_compared_hold_no_arrays():
    assert {line for text in sources().values() for line in compared_arrays(text)} == set()
    planted = "@attrs.frozen\nclass Two:\n    a: Floats | None\n    b: Callable[[Floats], int]\n"
    assert list(compared_arrays(planted)) == ["Two.a: Floats | None"]
