"""Names that are imported when they are first asked for: what that must not change."""

import ast
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import opendp_lite as dp
from tests.test_layers import ROOT, sources

LAZY = [
    f"opendp_lite.{module}".removesuffix(".__init__")
    for module, text in sources().items()
    if "lazy_names(__name__" in text
]
"""The modules whose names are imported when they are first asked for."""

HEAVY = {
    *("numpy", "scipy", "attr", "attrs", "matplotlib"),
    *("concurrent", "decimal", "difflib", "email", "fractions", "hashlib", "html", "inspect"),
    *("json", "logging", "pathlib", "sqlite3", "ssl", "statistics", "urllib", "zipfile"),
    *("pandas", "polars", "pyarrow"),
}
"""Modules that ``import opendp_lite`` needs nothing of."""


def run(program: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def imported(program: str) -> set[str]:
    """The modules that a program imports in a process of its own."""
    told = "import sys; before = set(sys.modules)\n{}\nprint(*set(sys.modules) - before)"
    return set(run(told.format(program)).split())


def seen_by_checkers(text: str) -> dict[str, str]:
    """The names that a stub imports and the modules that they are from."""
    return {
        str(each.asname): str(line.module)
        for line in ast.parse(text).body
        if isinstance(line, ast.ImportFrom)
        for each in line.names
    }


def stub(name: str) -> str:
    """The text that type checkers read of a module."""
    return Path(str(import_module(name).__file__)).with_suffix(".pyi").read_text("utf-8")


def disagreements(module: ModuleType, seen: Mapping[str, str]) -> list[str]:
    """The names that are not the same for type checkers as when the program runs."""
    names = dir(module)
    found = [name for name in {*names, *seen} if name not in names or name not in seen]
    same = (name for name in names if name in seen)
    return found + [
        name
        for name in same
        if getattr(module, name) is not getattr(import_module(seen[name]), name)
    ]


def test_what_is_lazy():
    rooms = {"bodies", "estimators", "releases", "transformations", "plotting"}
    assert {"opendp_lite", *(f"opendp_lite.{room}" for room in rooms)} <= set(LAZY)
    with_stub = {path.with_suffix(".py") for path in ROOT.rglob("*.pyi")}
    assert with_stub == {Path(str(import_module(name).__file__)) for name in LAZY}


@pytest.mark.parametrize("name", LAZY)
def test_type_checkers_see_what_runs(name):
    module, seen = import_module(name), seen_by_checkers(stub(name))
    assert disagreements(module, seen) == []
    assert module.__all__ == sorted(set(module.__all__))
    lines = (f"from {seen[name]} import {name} as {name}" for name in seen)
    version = ["__version__: str"] if module is dp else []
    assert ast.unparse(ast.parse(stub(name))) == "\n".join([*lines, *version])


def test_planted_disagreements_are_found(monkeypatch):
    seen = dict.fromkeys(("Box", "Ball", "Cube"), dp.bodies.Box.__module__)
    text = "".join(f"from {module} import {name} as {name}\n" for name, module in seen.items())
    assert seen_by_checkers(text) == seen
    del seen["Ball"]
    others = set(dp.bodies.__all__) - {"Box"}
    assert set(disagreements(dp.bodies, seen)) == {*others, "Cube"}
    own = {name: getattr(dp.bodies, name).__module__ for name in dp.bodies.__all__}
    assert disagreements(dp.bodies, own) == []
    monkeypatch.setattr(sys.modules[own["Box"]], "Box", object)
    assert disagreements(dp.bodies, own) == ["Box"]


@pytest.mark.parametrize("name", LAZY)
def test_no_module_bears_the_name_of_a_public_function(name):
    """Python sets a module in its package once it is imported, in the place of the function."""
    package = import_module(name)
    if not hasattr(package, "__path__"):
        return
    clashes = {each for each in package.__all__ if find_spec(f"{name}.{each}")}
    assert clashes == {each for each in clashes if isinstance(getattr(package, each), ModuleType)}


def test_importing_imports_nothing_else():
    found = imported("import opendp_lite")
    ours = {name for name in found if name.startswith("opendp_lite")}
    assert ours == {"opendp_lite", "opendp_lite.base", "opendp_lite.base.public_names"}
    assert not {name.partition(".")[0] for name in found} & HEAVY


def test_the_version_is_read_when_it_is_asked_for():
    assert run("import opendp_lite as dp; print(dp.__version__)") == version("opendp_lite")


def test_a_mean_imports_what_it_needs():
    found = imported("import opendp_lite as dp; dp.mean(0, 1, epsilon=1, confidence=None)")
    assert not found & {"importlib.metadata", "opendp_lite.samplers.l2_gamma"}


def test_a_pipeline_imports_what_it_needs():
    found = imported(
        "import opendp_lite as dp; dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.03)"
    )
    ours = {name.split(".")[1] for name in found if name.startswith("opendp_lite.")}
    assert not ours & {"bases", "cli", "estimators", "plotting", "sessions", "testing"}
    assert not found & {"opendp_lite.explain.svg_picture", "opendp_lite.explain.of_pipelines"}
    others = {name.partition(".")[0] for name in found}
    assert not others & {"scipy", "matplotlib", "csv", "sqlite3", "email", "zipfile"}


THREADS = """
import threading
import opendp_lite as dp
from opendp_lite.base.public_names import ROOMS

folders = {*ROOMS, "data", "plotting"}
names = [name for name in dp.__all__ if name.islower() and name not in folders][::6]
start, found = threading.Barrier(8), [{} for _ in range(8)]

def ask(place):
    start.wait()
    for name in names[2 * place:] + names[:2 * place]:
        found[place][name] = getattr(dp, name)

threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
assert all(len(each) == len(names) for each in found)
assert all(each[name] is getattr(dp, name) for each in found for name in names)
"""


def test_threads_that_ask_first_get_the_same():
    run(f"import sys; sys.setswitchinterval(1e-4)\n{THREADS}")


PIPELINES = [
    dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=0.5),
    dp.mean(0, 100, epsilon=1, confidence=0.95, sampling=False),
    dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 100, rho=0.1, confidence=None)),
    dp.compose(
        dp.count() >> dp.laplace(epsilon=1),
        dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None),
    ),
    dp.transformations.basis_features(dp.bases.Hadamard(4, 0, 10))
    >> dp.sum()
    >> dp.gaussian(scale=2),
    dp.vector(2, dp.metrics.LInfDistance()) >> dp.laplace(scale=1),
    dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp(),
]
READ = """
import json, pickle, sys
for text, dumped, shown in json.load(sys.stdin):
    {}
    assert repr(found) == shown, found
    str(found.explain()), str(found.statement()), found.draw()
    assert found.to_json() == text
"""


@pytest.mark.parametrize(
    "line",
    [
        "import opendp_lite; found = opendp_lite.from_json(text)",
        "found = pickle.loads(bytes.fromhex(dumped))",
    ],
    ids=["from JSON", "unpickled"],
)
def test_pipelines_are_read_where_nothing_was_imported(line):
    given = [(each.to_json(), pickle.dumps(each).hex(), repr(each)) for each in PIPELINES]
    done = subprocess.run(
        [sys.executable, "-c", READ.format(line)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_places_that_look_names_up_import_them():
    """Ledgers look measures up by name; people look modules up at the front."""
    told = (
        "from opendp_lite.sessions.text import find_measure, name_of\n"
        "for name in ('MaxDivergence', 'GaussianDivergence', 'ZeroConcentratedDivergence'):\n"
        "    assert name_of(find_measure(name)) == name\n"
        "import opendp_lite as dp\n"
        "dp.BudgetExceeded, dp.plotting.privacy_curves\n"
        "print(dp.metrics.L1Distance(), repr(dp.bodies.Box(0, 1)), dp.bases.Haar.__name__)"
    )
    assert run(told).startswith("dp.metrics.L1Distance() dp.bodies.Box")


@pytest.mark.parametrize("place", [dp.bodies, dp.releases])
def test_a_name_that_is_not_there_is_refused(place):
    with pytest.raises(AttributeError, match=f"'{place.__name__}' has no attribute 'Bax'") as said:
        getattr(place, "Bax")  # noqa: B009
    assert (said.value.name, said.value.obj) == ("Bax", place)


PLANTED = """
from opendp_lite.base.public_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
"""


def test_a_planted_package(tmp_path, monkeypatch):
    """Its broken module is no missing name, and what a person sets on it stays."""
    folder = tmp_path / "planted_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(PLANTED)
    (folder / "__init__.pyi").write_text(
        "from planted_package.wholes import (\n    whole as whole,\n)\n"
    )
    (folder / "wholes.py").write_text("def whole(): ...\n")
    (folder / "broken.py").write_text("import a_library_that_is_not_installed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = import_module("planted_package")
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_installed"):
        _ = package.broken
    assert not hasattr(package, "missing")
    assert package.whole is import_module("planted_package.wholes").whole
    assert dir(package) == package.__all__ == ["whole"]
    monkeypatch.setattr(package, "whole", pickle)
    assert package.whole is pickle


HELP = """
import contextlib, io, opendp_lite.cli
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    opendp_lite.cli.main(["mean", "--help"])
"""
MEAN = """
import contextlib, io, opendp_lite.cli
with contextlib.redirect_stdout(io.StringIO()):
    opendp_lite.cli.main("mean {file} --bounds 0 9 --epsilon 1".split())
"""


def test_help_imports_nothing_of_the_library():
    found = imported(HELP)
    ours = {name.split(".")[1] for name in found if name.startswith("opendp_lite.")}
    assert "cli" in ours
    assert not ours & {"pipeline", "engines", "estimators", "sessions", "transformations"}
    assert not {name.partition(".")[0] for name in found} & {
        *("numpy", "scipy", "email", "sqlite3", "ssl", "zipfile")
    }


def test_a_command_imports_no_other(tmp_path):
    file = tmp_path / "values.csv"
    file.write_text("x\n" + "1\n2\n3\n" * 100)
    found = imported(MEAN.format(file=file))
    assert "opendp_lite.estimators.means.mean" in found
    assert not found & {"opendp_lite.bases", "opendp_lite.sessions.ledger.ledgers"}
    assert not {name.partition(".")[0] for name in found} & {
        *("email", "pandas", "scipy", "sqlite3", "zipfile")
    }
