"""Each file and each class of the experiments and the command line has a name of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import opendp_lite

ROOT = Path(opendp_lite.__file__).parent
ROOMS = ("reproduce", "cli")


def test_names_stand_once() -> None:
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        if path.stem != "__init__":
            found[path.stem].append(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    twice = {
        name: [str(path.relative_to(ROOT)) for path in paths]
        for name, paths in found.items()
        if len(paths) > 1 and any(path.relative_to(ROOT).parts[0] in ROOMS for path in paths)
    }
    assert not twice
    assert {"plan_table", "FreeLunchDataset", "mean_command"} <= set(found)
