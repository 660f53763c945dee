"""The order of the rooms: an import may only point down the list, late imports too."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import opendp_lite

PACKAGE = "opendp_lite"
ROOT = Path(opendp_lite.__file__).parent

ORDER = (
    "cli",
    "plotting",
    "testing",
    "sessions.ledger",
    "sessions",
    "estimators.papers",
    "estimators.columns",
    "estimators.distributions",
    "estimators.spread",
    "estimators.means",
    "estimators.parts",
    "combinators",
    "measurements.quantile",
    "measurements",
    "transformations",
    "pipeline",
    "explain",
    "spaces",
    "metrics",
    "bases",
    "bodies",
    "samplers",
    "measures",
    "engines.sampling",
    "engines.files",
    "engines.containers",
    "engines",
    "engines.data",
    "data",
    "releases",
    "spelling",
    "display",
    "numbers",
    "base",
)
"""The rooms, which are folders, from the top floor down."""

LATE = {("engines.data", "engines.containers"), ("releases", "plotting")}
"""Late imports that point up: the file of a library once its container is seen, and pictures once
one is asked for."""

ABOVE = {"cli"}
"""Rooms that lie above the front of the package, and type what a person types."""


@cache
def sources() -> Mapping[str, str]:
    """The text of every module of the package by its dotted name, ``opendp_lite`` left out."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


parse = cache(ast.parse)


def room(module: str) -> str:
    """The folder of a module: ``engines.data`` for ``engines.data.fold``."""
    return module.rpartition(".")[0]


def is_face(module: str) -> bool:
    """Whether a module only lists the public names of its folder, in a stub."""
    return module.rpartition(".")[2] == "__init__" or module == "__main__"


def found_module(dotted: str, modules: Mapping[str, str]) -> str | None:
    """The module that a dotted name of this package leads to; None for another package."""
    package, _, rest = dotted.partition(".")
    if package != PACKAGE:
        return None
    parent = rest.rpartition(".")[0]
    candidates = (rest, f"{rest}.__init__".lstrip("."), parent, f"{parent}.__init__".lstrip("."))
    return next((each for each in candidates if each in modules), rest)


def is_type_checking(node: ast.stmt) -> bool:
    """Whether this is ``if TYPE_CHECKING:``, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test).removeprefix("typing.") == (
        "TYPE_CHECKING"
    )


@cache
def imports_of(text: str) -> tuple[list[ast.stmt], list[ast.stmt], list[tuple[int, str]]]:
    """The imports at the top of a module, those anywhere else, and the modules named in texts."""
    tree = parse(text)
    top: list[ast.stmt] = []
    for node in tree.body:
        top.extend(node.body if is_type_checking(node) and isinstance(node, ast.If) else [node])
    kept = [node for node in top if isinstance(node, ast.Import | ast.ImportFrom)]
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    late = [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(rf"{PACKAGE}(\.\w+)+", node.value)
    ]
    return kept, [node for node in found if node not in kept], late


def names_in(node: ast.stmt) -> list[str]:
    """The dotted names that an import statement reads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{PACKAGE if node.level else node.module}.{alias.name}" for alias in node.names]
    return []


def problems(modules: Mapping[str, str]) -> list[str]:
    """What is wrong with the imports of these modules, a line for each."""
    found: list[str] = []
    graph: dict[str, set[str]] = {}
    for module, text in modules.items():
        if not is_face(module) and room(module) not in ORDER:
            found.append(f"{module}: stands in no room of ORDER; say which rooms it may import")
            continue
        kept, elsewhere, late = imports_of(text)
        found += [f"{module}:{node.lineno}: not at the top of the module" for node in elsewhere]
        edges = [(node.lineno, name, False) for node in kept for name in names_in(node)]
        for node in kept:
            if isinstance(node, ast.ImportFrom) and node.level:
                found.append(f"{module}:{node.lineno}: write the full name of what is imported")
        for line, name, is_late in edges + [(line, name, True) for line, name in late]:
            target = found_module(name, modules)
            if target is None:
                continue
            if not is_late:
                graph.setdefault(module, set()).add(target)
            if is_late and (room(module), room(target)) in LATE:
                continue
            found += [
                f"{module}:{line}: imports {target}, {why}" for why in objections(module, target)
            ]
    return list(dict.fromkeys(found)) + circles(graph)


def objections(module: str, target: str) -> Iterator[str]:
    """Why one module may not import another."""
    here, there = room(module), room(target)
    if is_face(module):
        return
    if module == target:
        yield "itself"
    elif target == "__init__" and here not in ABOVE:
        yield "the front of the package, which lies above all rooms"
    elif there not in ORDER and here != there and not is_face(target):
        yield "which stands in no room of ORDER"
    elif here != there and there in ORDER and ORDER.index(there) < ORDER.index(here):
        yield f"but {there} lies above {here}"


def circles(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules of one room that import each other in a circle."""
    found: list[str] = []

    def walk(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            circle = path[path.index(module) :]
            if circle[0] == min(circle):
                found.append(f"{' -> '.join([*circle, module])}: a circle")
            return
        for target in sorted(graph.get(module, ())):
            if room(target) == room(module):
                walk(target, (*path, module))

    for module in sorted(graph):
        walk(module, ())
    return sorted(set(found))


@cache
def problems_now() -> list[str]:
    """What is wrong with the package as it is."""
    return problems(sources())


def planted(module: str, text: str) -> list[str]:
    """The problems that a module of this text makes beside those of the package."""
    found = problems({**sources(), module: text})
    return [line for line in found if line not in problems_now()]


def test_imports_point_down():
    assert not problems_now(), "\n".join(problems_now())


def test_the_top_holds_the_front_alone():
    assert {path.name for path in ROOT.iterdir() if path.is_file()} == {
        "__init__.py",
        "__init__.pyi",
        "__main__.py",
        "py.typed",
    }


def test_every_room_is_in_the_order():
    rooms = {room(module) for module in sources() if not is_face(module)}
    assert rooms == set(ORDER)
    assert len(ORDER) == len(set(ORDER))


def test_planted_circles_are_caught():
    found = planted("bodies.body", "from opendp_lite.bodies.simplex import Simplex\n")
    assert any("bodies.body -> bodies.simplex -> bodies.body: a circle" in x for x in found), found
    assert planted("pipeline.core", "from opendp_lite.pipeline.core import Stable\n") == [
        "pipeline.core:1: imports pipeline.core, itself",
        "pipeline.core -> pipeline.core: a circle",
    ]


UP, FRONT, LATE_IMPORT = "lies above", "the front of the package", "not at the top"
NO_ROOM = "stands in no room of ORDER; say which rooms it may import"
TYPED = "if TYPE_CHECKING:\n    "
PLANTED = [
    ("base.extra", "from opendp_lite.numbers.exact import exact", UP),
    ("base.extra", "import opendp_lite.pipeline.core", UP),
    ("base.extra", "import opendp_lite.pipeline.core as core", UP),
    ("base.extra", "from opendp_lite.pipeline import core", UP),
    ("numbers.extra", "from opendp_lite.bodies import box", UP),
    ("numbers.extra", "import numpy, opendp_lite.bodies.box", UP),
    ("bodies.cube", "from opendp_lite.spaces.domains import Rows", UP),
    ("spaces.extra", "from opendp_lite.pipeline.core import Transformation", UP),
    ("transformations.extra", "from opendp_lite.measurements.noise import bounded", UP),
    ("estimators.parts.extra", "from opendp_lite.estimators.means.mean import mean", UP),
    ("measurements.extra", "from opendp_lite.combinators.composing import compose", UP),
    ("engines.data.extra", "from opendp_lite.engines.rows import LazyRows", UP),
    ("base.extra", 'import_module("opendp_lite.numbers.exact")', UP),
    ("engines.data.extra", '_READER = "opendp_lite.engines.files.arrow"', UP),
    ("spaces.extra", f"{TYPED}from opendp_lite.pipeline.core import Stable", UP),
    ("spaces.extra", f"if typing.{TYPED[3:]}from opendp_lite.pipeline.core import Stable", UP),
    ("transformations.extra", "import opendp_lite", FRONT),
    ("transformations.extra", "import opendp_lite as dp", FRONT),
    ("transformations.extra", "from opendp_lite import clamp", FRONT),
    ("transformations.extra", "def f():\n    import numpy", LATE_IMPORT),
    ("transformations.extra", "def f():\n    from opendp_lite.base.errors import A", LATE_IMPORT),
    ("transformations.extra", "class A:\n    import numpy", LATE_IMPORT),
    ("transformations.extra", "try:\n    import numpy\nfinally:\n    pass", LATE_IMPORT),
    ("transformations.extra", "if True:\n    import numpy", LATE_IMPORT),
    ("transformations.extra", f"{TYPED}pass\nelse:\n    import numpy", LATE_IMPORT),
    ("transformations.extra", f"{TYPED}def f():\n        import numpy", LATE_IMPORT),
    ("pipeline.core", "from . import explain", "write the full name of what is imported"),
    ("helpers.strings", "", NO_ROOM),
    ("sculpture.marble", "", NO_ROOM),
    ("bodies.cube", "from opendp_lite.bodies.body import Body", None),
    ("transformations.extra", "from opendp_lite.pipeline.core import Transformation", None),
    ("measurements.extra", "from opendp_lite.measurements.noise import bounded", None),
    ("combinators.extra", "from opendp_lite.measurements.noise import gaussian", None),
    ("base.extra", "import numpy as np", None),
    ("base.extra", "from opendp_lite_not import core", None),
    ("engines.data.extra", '_PANDAS = "opendp_lite.engines.containers.of_pandas"', None),
    ("spaces.extra", f"{TYPED}from opendp_lite.base.errors import DataError", None),
]


@pytest.mark.parametrize(("module", "text", "words"), PLANTED)
def test_planted_imports_are_judged(module, text, words):
    """In one line each, which names the module; nothing is said of those that may be."""
    found = planted(module, f"{text}\n")
    assert len(found) == (words is not None), found
    assert all(line.startswith(f"{module}:") and words in line for line in found), found
