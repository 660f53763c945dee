"""The rows of docs/proofs.md: the map of each step, its proof and the tests that hold it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| `(\w+)` \|(.+)\|$", re.MULTILINE)
_LONGER = re.compile(r"^### `(\w+)`\n+(.*?)\n+(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_CELLS = re.compile(r"(?<!\\)\|")
_TEST = re.compile(r"`(test_\w+\.py)::(\w+)`")


@attrs.frozen
class HoldingTest:
    """A test that fails if a map is wrong by a factor of two.

    Args:
        path: Its file, from the root of the repository.
        name: The name of the function.
        source: The text of the function.
    """

    path: str
    name: str
    source: str


@attrs.frozen
class ProofRow:
    """What docs/proofs.md says of one step.

    Args:
        adding: The map where rows are added or removed.
        replacing: The map where rows are replaced.
        proof: Why the map holds.
        longer: What the row leaves out; empty where it says all.
        tests: The tests that hold it.
    """

    adding: str
    replacing: str
    proof: str
    longer: str
    tests: tuple[HoldingTest, ...]


@cache
def proof_rows() -> dict[str, ProofRow]:
    """The rows by the name of their step."""
    found = {}
    text = (ROOT / "docs/proofs.md").read_text("utf-8")
    longer = dict(_LONGER.findall(text))
    for name, line in _ROW.findall(text):
        adding, replacing, last = (cell.strip() for cell in _CELLS.split(line))
        proof, _, tests = last.partition(" <br> Test: ")
        named = tuple(_test(file, function) for file, function in _TEST.findall(tests))
        found[name] = ProofRow(adding, replacing, proof, longer.get(name, ""), named)
    return found


def _test(file: str, name: str) -> HoldingTest:
    (path,) = (ROOT / "tests").rglob(file)
    return HoldingTest(path.relative_to(ROOT).as_posix(), name, _functions(path)[name])


@cache
def _functions(path: Path) -> dict[str, str]:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[_first(node) - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def _first(node: ast.FunctionDef) -> int:
    """The line on which a function begins, with what decorates it."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])
