"""Both type checkers accept the package and ``good.py``, and flag exactly the bad lines.

Beside those of ``bad.py`` these are calls of every public name with an argument that none has.
"""

import ast
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import opendp_lite as dp
from tests.public_names import PUBLIC

TESTS = Path(__file__).resolve().parent
CONFIGURATION = TESTS.parent / "pyproject.toml"
PACKAGE = Path(dp.__file__).resolve().parent
GOOD = TESTS / "typing_tests" / "good.py"
BAD = TESTS / "typing_tests" / "bad.py"

PLANTED = """\
import opendp_lite as dp

dp.clamp(0, 1) >> dp.sum()  # type: ignore[operator]
dp.clamp(0, 1) >> dp.gaussian(rho=1)
dp.clamp(0, 1) >> dp.laplace(epsilon=1)  # type: ignore[operator]
"""
"""A good line that is called bad, a bad line that is not, and one that is right."""

MARK = re.compile(r"# type: ignore\[[a-z, -]+\]$")


class Flag(NamedTuple):
    """An error of a type checker."""

    file: Path
    line: int
    message: str


def marks(file: Path) -> dict[int, str]:
    """The lines that say of themselves that they are bad."""
    lines = file.read_text("utf-8").splitlines()
    return {number: line for number, line in enumerate(lines, 1) if MARK.search(line)}


def complaints(flags: Iterable[Flag], must_be_flagged: Iterable[Path]) -> list[str]:
    """Lines that are flagged and not marked; in some files also those marked and not flagged."""
    found: dict[tuple[Path, int], str] = {}
    for flag in flags:
        found.setdefault((flag.file, flag.line), flag.message.partition("\n")[0])
    marked = {(file, line) for file in {file for file, _ in found} for line in marks(file)}
    refused = [
        f"{file.name}:{line}: should be accepted: {message}"
        for (file, line), message in sorted(found.items())
        if (file, line) not in marked
    ]
    accepted = [
        f"{file.name}:{line}: should be flagged: {text}"
        for file in must_be_flagged
        for line, text in marks(file).items()
        if (file, line) not in found
    ]
    return refused + accepted


def run(folder: Path, tool: str, *arguments: str | Path) -> str:
    """What a type checker of this environment prints, started in a folder."""
    command = [sys.executable, "-m", tool, *map(str, arguments)]
    quiet = {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True
    )
    ran = done.returncode in (0, 1) and done.stdout
    assert ran, f"{tool} did not run:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def mypy_flags(folder: Path, *files: Path) -> Iterator[Flag]:
    """Errors of mypy --strict, among them every ``type: ignore`` that is not needed.

    What has not changed since the last run is not read again.
    """
    shown = run(
        folder,
        "mypy",
        "--strict",
        f"--config-file={CONFIGURATION}",
        f"--cache-dir={CONFIGURATION.parent / '.mypy_cache'}",
        "--output=json",
        *files,
    )
    for line in shown.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            if found["severity"] == "error":
                file = (folder / found["file"]).resolve()
                yield Flag(file, found["line"], f"{found['message']} [{found['code']}]")


def pyright_flags(folder: Path, *files: Path) -> Iterator[Flag]:
    """Errors of pyright as configured, ``type: ignore`` comments unheeded."""
    with CONFIGURATION.open("rb") as stream:
        options = tomllib.load(stream)["tool"]["pyright"]
    options |= {"include": [], "exclude": [], "extraPaths": [str(PACKAGE.parent)]}
    options |= {"enableTypeIgnoreComments": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(options), "utf-8")
    shown = run(folder, "pyright", "--outputjson", f"--pythonpath={sys.executable}", *files)
    report = json.loads(shown[shown.index("{") :])
    modules = [path for file in files for path in (file, *file.rglob("*"))]
    analyzed = sum(path.suffix in (".py", ".pyi") for path in modules)
    assert report["summary"]["filesAnalyzed"] == analyzed, report["summary"]
    for found in report["generalDiagnostics"]:
        if found["severity"] == "error":
            file, line = Path(found["file"]).resolve(), found["range"]["start"]["line"] + 1
            yield Flag(file, line, f"{found['message']} [{found.get('rule', 'syntax')}]")


def planted(folder: Path) -> Path:
    """A file whose marks are wrong."""
    file = folder / "planted.py"
    file.write_text(PLANTED, "utf-8")
    return file.resolve()


def wrong_calls(folder: Path) -> Path:
    """A file that gives everything public an argument that it does not have, a line each."""
    calls = [f"{path}(not_there=0)\n" for path, public in PUBLIC.items() if callable(public)]
    assert len(calls) > 150
    file = folder / "calls.py"
    file.write_text("".join(["import opendp_lite as dp\n", *calls]), "utf-8")
    return file.resolve()


def accepted_calls(file: Path, flags: Iterable[Flag]) -> list[str]:
    """The calls in a file that no checker flags."""
    flagged = {flag.line for flag in flags if flag.file == file}
    lines = enumerate(file.read_text("utf-8").splitlines(), 1)
    return [line for number, line in lines if number not in flagged and number > 1]


def test_mypy(tmp_path):
    lie, calls = planted(tmp_path), wrong_calls(tmp_path)
    flags = list(mypy_flags(tmp_path, PACKAGE, GOOD, BAD, lie, calls))
    assert accepted_calls(calls, flags) == []
    wrong = [f"{x.file.name}:{x.line}: {x.message}" for x in flags if x.file not in (lie, calls)]
    assert not wrong, "\n".join(wrong)
    caught = {(flag.line, flag.message.rpartition(" ")[2]) for flag in flags if flag.file == lie}
    assert caught == {(3, "[unused-ignore]"), (4, "[operator]")}


def test_pyright(tmp_path):
    lie, calls = planted(tmp_path), wrong_calls(tmp_path)
    flags = list(pyright_flags(tmp_path, PACKAGE, GOOD, BAD, lie, calls))
    assert accepted_calls(calls, flags) == []
    wrong = complaints([flag for flag in flags if flag.file not in (lie, calls)], [BAD])
    assert not wrong, "\n".join(wrong)
    caught = complaints([flag for flag in flags if flag.file == lie], [lie])
    assert len(caught) == 2, caught
    assert caught[0].startswith("planted.py:4: should be accepted: Operator"), caught
    assert caught[1] == f"planted.py:3: should be flagged: {PLANTED.splitlines()[2]}"


def test_good_lines_carry_no_mark():
    assert "type: ignore" not in GOOD.read_text("utf-8")


def statements() -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of ``bad.py`` and whether they are marked, each on one line then."""
    marked = marks(BAD)
    assert BAD.read_text("utf-8").count("# type: ignore") == len(marked)
    for statement in ast.parse(BAD.read_text("utf-8")).body:
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        held = [line for line in lines if line in marked]
        assert not held or len(lines) == 1, f"bad.py:{lines[0]}: put the bad line by itself"
        yield statement, bool(held)


def named(statement: ast.AST) -> set[str]:
    """Every public path in a statement: ``dp.name`` or ``dp.room.name``."""
    return {ast.unparse(node) for node in ast.walk(statement) if isinstance(node, ast.Attribute)}


def test_every_public_name_has_a_good_line():
    paths = {path for path, public in PUBLIC.items() if not inspect.ismodule(public)}
    assert sorted(paths - named(ast.parse(GOOD.read_text("utf-8")))) == []


def test_good_lines_run():
    runpy.run_path(str(GOOD))


def joins(statement: ast.stmt) -> bool:
    """Whether a line is an expression with ``>>``, or a ``compose``, in it."""
    return isinstance(statement, ast.Expr) and any(
        isinstance(node, ast.RShift) or (isinstance(node, ast.Attribute) and node.attr == "compose")
        for node in ast.walk(statement)
    )


def used(value: object) -> None:
    """A recipe is bound, as any use of it would."""
    if isinstance(value, dp.Stage | dp.Mechanism):
        value.map(1)


def test_bad_joins_are_refused_at_run_time():
    names: dict[str, object] = {"__name__": "bad"}
    for statement, is_bad in statements():
        if not is_bad:
            exec(compile(ast.Module([statement], []), BAD, "exec"), names)
        elif isinstance(statement, ast.Expr) and joins(statement):
            expression = compile(ast.Expression(statement.value), BAD, "eval")
            refusal = refused(lambda code=expression: used(eval(code, names)))
            line = f"bad.py:{statement.lineno}: {ast.unparse(statement)}"
            assert refusal is not None, f"{line}\nis accepted at run time"
            assert isinstance(refusal, dp.OpenDPLiteError | TypeError), f"{line}\n{refusal!r}"


def refused(action: Callable[[], object]) -> Exception | None:
    """The exception that an action ends in."""
    try:
        action()
    except Exception as problem:
        return problem
    return None
