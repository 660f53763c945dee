"""The library in a browser's Python: 32-bit integers, no threads, the same numbers."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
WITH_A_KEY_OF_ITS_OWN = "dp.bound_contributions"
"""Which rows stay is drawn anew at each call, and no seed is given to a transformation."""


def printed(assets: Path, module: str, *given: str):
    """What a module prints in Pyodide, as JSON."""
    assert NODE is not None
    place = Path(attrs.__file__).parents[1]
    words = [NODE, HERE / "pyodide.mjs", assets, ROOT, place, module, *given]
    found = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-3000:]
    return json.loads(found.stdout.splitlines()[-1])


def alike(first: object, second: object) -> bool:
    """Integers and words are the same; floats too, but for the last digits of exp and log."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) and isinstance(second, float):
        same = math.isnan(first) and math.isnan(second)
        return same or math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-15)
    return first == second


@pytest.mark.timeout(900)
def test_losses_integers_and_noise_are_those_of_other_machines(assets):
    """Every declared example: its loss, and what it releases with a seed."""
    here = subprocess.run(
        [sys.executable, "-m", "tests.browser.values"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    expected = json.loads(here.stdout.splitlines()[-1])
    found = printed(assets, "tests.browser.values")
    assert expected.keys() == found.keys()
    different = {
        name: (expected[name], found[name])
        for name in expected
        if not name.startswith(WITH_A_KEY_OF_ITS_OWN) and not alike(expected[name], found[name])
    }
    assert not different
    assert len(expected) > 300
    assert not [name for name in expected if name.endswith("fails")]


@pytest.mark.timeout(900)
def test_lessons_run(assets):
    """The first, the one that uses most (ledgers, groups, pictures), and the quick ones."""
    lessons = ("1", "7", "9", "10", "11", "12")
    for lesson, (cells, errors) in printed(assets, "tests.browser.cells", *lessons).items():
        assert cells > 15, lesson
        assert not errors, lesson
