"""docs/proofs.md has a row for every public step, and the tests that it names exist."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import get_origin, get_type_hints

import pytest

import opendp_lite as dp
from opendp_lite.measures.divergences import Conversion
from opendp_lite.spelling.description import UNPROVED, description_of
from tests.public_names import PUBLIC

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \|(.+)\|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/proofs.md").read_text())


def makes_a_step(public) -> bool:
    """Whether a public name makes a transformation, a measurement, or what follows one."""
    function = inspect.unwrap(public)
    if not inspect.isfunction(function):
        return False
    returned = get_type_hints(function, localns={"Axes": object}).get("return")
    kind = get_origin(returned) or returned
    converts = isinstance(kind, type) and issubclass(kind, Conversion)
    follows = inspect.signature(public).return_annotation == "Postprocessor"
    return kind in (dp.Transformation, dp.Measurement) or converts or follows


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def named(row: str) -> list[tuple[str, str]]:
    return re.findall(r"`(test_\w+\.py)::(\w+)`", row)


def test_every_public_step_has_one_row():
    steps = [path.rpartition(".")[2] for path, each in PUBLIC.items() if makes_a_step(each)]
    assert {"clamp", "row_map", "gaussian", "mean", "to_zcdp", "simplex_ratio"} <= set(steps)
    assert sorted(name for name, _ in ROWS) == sorted(steps)


def test_rows_say_what_the_steps_say():
    """The table is written by hand, from the values: each wrong row is shown as it should be."""
    said = {path.rpartition(".")[2]: description_of(each).proof for path, each in PUBLIC.items()}
    wrong = []
    for step, row in ROWS:
        proof = said[step]
        texts = (proof.adding, proof.replacing, f"{proof} <br> Test: ")
        wanted = " | ".join(text.replace("|", "\\|") for text in texts)
        if proof != UNPROVED and not row.strip().startswith(wanted):
            wrong.append(f"| `{step}` | {wanted}")
    assert not wrong, "\n".join(wrong)
    assert {step for step, _ in ROWS if said[step] == UNPROVED} == {"row_map", "added_noise"}


@pytest.mark.parametrize(("step", "row"), ROWS, ids=[name for name, _ in ROWS])
def test_a_row_is_complete_and_its_tests_exist(step, row):
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 3, "add/remove, replace-one, proof and test"
    proof, _, tests = cells.pop().partition(" <br> Test: ")
    assert all(cell.strip() for cell in (*cells, proof))
    assert named(tests), f"{step}: no test is named"
    for name, test in named(tests):
        files = list((ROOT / "tests").rglob(name))
        assert len(files) == 1, f"{step}: {name} is {len(files)} files"
        assert test in functions_of(files[0]), f"{step}: {name}::{test} is not there"
