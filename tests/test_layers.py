"""The order of the rooms: an import may only point up the list."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import opendp_lite

PACKAGE = "opendp_lite"
ROOT = Path(opendp_lite.__file__).parent

ORDER = (
    "lazy_names",
    "rooms",
    "errors",
    "own_process",
    "exact",
    "simplest_fractions",
    "fraction_array",
    "fields",
    "dates",
    "documents",
    "docstrings",
    "signatures",
    "wanted",
    "postprocessor",
    "grid",
    "not_private",
    "unknown_column",
    "shown_results",
    "sketch",
    "svg",
    "strips",
    "band",
    "estimate",
    "by_group",
    "by_name",
    "estimates",
    "norms",
    "engines",
    "bodies",
    "bases",
    "strategies",
    "metrics",
    "domains",
    "tables",
    "measures",
    "spaces",
    "examples",
    "samplers",
    "explain",
    "drawing",
    "by_hand",
    "statements",
    "insecure_release",
    "pipeline",
    "loss_questions",
    "core",
    "calls",
    "recipes",
    "transformations",
    "measurements",
    "combinators",
    "estimators",
    "estimators.inference",
    "estimators.one_column",
    "estimators.many_columns",
    "estimators.distributions",
    "sessions",
    "releases",
    "testing",
    "plotting",
    "serialise",
    "__init__",
    "reproduce",
    "cli",
    "__main__",
)
"""Modules, and folders of modules, from the top."""

WINGED = {"estimators"}
"""Folders whose folders are rooms of their own."""

SHARED = {
    "transformations": {"axes", "row_map", "strategy_products", "widths"},
    "measurements": {
        "noise",
        "selection",
        "_quantile_interval",
        "_quantile_lines",
        "_quantile_passes",
        "_quantile_places",
        "_quantile_release",
        "_quantile_tree",
        "_thresholds",
    },
}
"""Rooms whose modules stand by themselves, and the modules that the others there may import."""


@cache
def sources() -> Mapping[str, str]:
    """The text of every module of the package by its dotted name, ``opendp_lite`` left out.

    A module with a stub imports later what the stub names: the text of the stub follows its own.
    """
    found: dict[str, str] = {}
    for path in sorted(ROOT.rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[module] = found.get(module, "") + path.read_text("utf-8")
    return found


def room(module: str) -> str:
    """``transformations`` for ``transformations.clamp``, ``core`` for ``core``.

    In a winged folder a wing is a room: ``estimators.one_column``.
    """
    first, *rest = module.split(".")
    return f"{first}.{rest[0]}" if first in WINGED and len(rest) > 1 else first


def imported(node: ast.stmt, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules of the package that an import statement reads; ``__init__`` for the package."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = PACKAGE if node.level else str(node.module)
        names = [f"{base}.{alias.name}" for alias in node.names]
    for name in names:
        package, _, rest = name.partition(".")
        if package != PACKAGE:
            continue
        for candidate in (rest, f"{rest}.__init__", rest.rpartition(".")[0]):
            if candidate in modules:
                yield candidate
                break
        else:
            yield f"{rest.rpartition('.')[0]}.__init__".removeprefix(".")


def is_type_checking(node: ast.stmt) -> bool:
    """Whether this is ``if TYPE_CHECKING:``, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test).removeprefix("typing.") == (
        "TYPE_CHECKING"
    )


@cache
def imports_of(text: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The import statements at the top of a module, and those anywhere else."""
    tree = ast.parse(text)
    top: list[ast.stmt] = []
    for node in tree.body:
        top.extend(node.body if is_type_checking(node) and isinstance(node, ast.If) else [node])
    kept = [node for node in top if isinstance(node, ast.Import | ast.ImportFrom)]
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return kept, [node for node in found if node not in kept]


def problems(modules: Mapping[str, str]) -> list[str]:
    """What is wrong with the imports of these modules, a line for each."""
    found: list[str] = []
    graph: dict[str, set[str]] = {}
    for module, text in modules.items():
        if room(module) not in ORDER:
            found.append(f"{module}: stands nowhere in ORDER; say which rooms it may import")
            continue
        kept, elsewhere = imports_of(text)
        found += [f"{module}:{node.lineno}: not at the top of the module" for node in elsewhere]
        for node in kept:
            if isinstance(node, ast.ImportFrom) and node.level:
                found.append(f"{module}:{node.lineno}: write the full name of what is imported")
            for target in dict.fromkeys(imported(node, modules)):
                graph.setdefault(module, set()).add(target)
                found += [
                    f"{module}:{node.lineno}: imports {target}, {why}"
                    for why in objections(module, target)
                ]
    return found + circles(graph)


def objections(module: str, target: str) -> Iterator[str]:
    """Why one module may not import another."""
    here, there = room(module), room(target)
    name = target.rpartition(".")[2]
    face = module.removesuffix(".__init__")
    if module != face and target.startswith(f"{face}."):
        if name.startswith("_"):
            yield "which is private to its room"
        return
    if here != there and name.startswith("_") and not name.startswith("__"):
        yield f"which is private to {there}"
    if there not in ORDER:
        yield "which stands nowhere in ORDER"
    elif here == there:
        if module == target:
            yield "itself"
        elif here in SHARED and target.partition(".")[2] not in SHARED[here]:
            yield f"but modules of {here} stand by themselves; share {sorted(SHARED[here])}"
    elif ORDER.index(there) > ORDER.index(here):
        yield f"but {there} lies below {here}"


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


def test_imports_point_up() -> None:
    assert not problems_now(), "\n".join(problems_now())


def test_every_module_is_seen() -> None:
    modules = sources()
    assert {"core", "__init__", "transformations.clamp", "engines.__init__"} <= set(modules)
    seen = {target for _, target in edges(modules)}
    assert {"core", "bodies.body", "domains", "spaces", "engines.rows"} <= seen
    assert ("transformations.sum", "engines.fold") in edges(modules)
    assert len(ORDER) == len(set(ORDER))


def edges(modules: Mapping[str, str]) -> set[tuple[str, str]]:
    """Which module imports which."""
    return {
        (module, target)
        for module, text in modules.items()
        for node in imports_of(text)[0]
        for target in imported(node, modules)
    }


def test_planted_downward_imports_are_caught() -> None:
    for module, line in (
        ("errors", "from opendp_lite.exact import exact"),
        ("errors", "import opendp_lite.core"),
        ("errors", "import opendp_lite.core as core"),
        ("errors", "from opendp_lite import core"),
        ("exact", "from opendp_lite.bodies import box"),
        ("exact", "import numpy, opendp_lite.bodies.box"),
        ("bodies.cube", "from opendp_lite.domains import Rows"),
        ("bodies.cube", "import opendp_lite"),
        ("spaces", "from opendp_lite.core import Stage"),
        ("core", "from opendp_lite.recipes import Stage"),
        ("serialise", "import opendp_lite"),
        ("transformations.extra", "from opendp_lite.measurements.noise import bounded"),
        ("transformations.extra", "import opendp_lite as dp"),
        ("estimators.extra", "from opendp_lite import clamp, gaussian"),
        ("estimators.inference.extra", "from opendp_lite.estimators.one_column.mean import mean"),
        ("measurements.extra", "from opendp_lite.combinators.compose import compose"),
    ):
        found = planted(module, f'"""Planted."""\n\n{line}\n')
        assert len(found) == 1, (module, line, found)
        assert found[0].startswith(f"{module}:3: imports "), found
        assert "lies below" in found[0], found


def test_planted_upward_imports_are_accepted() -> None:
    for module, line in (
        ("bodies.cube", "from opendp_lite.bodies.body import Body"),
        ("transformations.extra", "from opendp_lite.core import Transformation, stage"),
        ("transformations.extra", "from opendp_lite.transformations.row_map import row_map"),
        ("measurements.extra", "from opendp_lite.measurements.noise import bounded"),
        ("combinators.extra", "from opendp_lite.measurements.gaussian import gaussian"),
        ("cli", "import opendp_lite as dp"),
        ("errors", "import numpy as np"),
        ("errors", "from opendp_lite_not import core"),
        ("serialise", "from opendp_lite import bases"),
    ):
        found = planted(module, f'"""Planted."""\n\n{line}\n')
        assert not found, (module, line, found)


def test_planted_neighbours_are_caught() -> None:
    for module, line in (
        ("transformations.extra", "from opendp_lite.transformations.sum import sum"),
        ("transformations.extra", "from opendp_lite.transformations import sum"),
        ("transformations.row_map", "import opendp_lite.transformations.count"),
        ("measurements.extra", "from opendp_lite.measurements.laplace import laplace"),
        ("measurements.noise", "from opendp_lite.measurements.gaussian import gaussian"),
    ):
        found = planted(module, f"{line}\n")
        assert any("stand by themselves" in each for each in found), (module, line, found)


def test_planted_imports_of_private_modules_are_caught() -> None:
    line = "from opendp_lite.estimators.many_columns._columns import dyadic\n"
    found = planted("estimators.distributions.extra", line)
    assert len(found) == 1, found
    assert "private to estimators.many_columns" in found[0], found
    assert not planted("estimators.many_columns.extra", line)


def test_planted_circles_are_caught() -> None:
    found = planted("bodies.body", "from opendp_lite.bodies.simplex import Simplex\n")
    assert any("bodies.body -> bodies.simplex -> bodies.body: a circle" in x for x in found), found
    assert planted("core", "from opendp_lite.core import Stage\n") == [
        "core:1: imports core, itself",
        "core -> core: a circle",
    ]


def test_planted_imports_below_the_top_are_caught() -> None:
    for text in (
        "def f():\n    import numpy\n",
        "def f():\n    from opendp_lite.errors import DataError\n",
        "class A:\n    import numpy\n",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n",
        "if True:\n    import numpy\n",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import numpy\n",
        "if TYPE_CHECKING:\n    def f():\n        import numpy\n",
    ):
        found = planted("transformations.extra", text)
        assert len(found) == 1, (text, found)
        assert "not at the top" in found[0], (text, found)
    assert planted("core", "from . import spaces\n") == [
        "core:1: write the full name of what is imported"
    ]


def test_imports_for_type_checkers_stay_in_order() -> None:
    for test in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        good = f"if {test}:\n    from opendp_lite.errors import DataError\n"
        assert planted("spaces", good) == []
        bad = f"if {test}:\n    from opendp_lite.core import Stage\n"
        assert planted("spaces", bad) == ["spaces:2: imports core, but core lies below spaces"]


def test_planted_modules_without_a_place_are_caught() -> None:
    for module in ("helpers", "helpers.strings", "sculpture"):
        found = planted(module, "")
        assert found == [f"{module}: stands nowhere in ORDER; say which rooms it may import"]
    assert "which stands nowhere in ORDER" in " ".join(
        problems({**sources(), "helpers": "", "core": "import opendp_lite.helpers\n"})
    )
