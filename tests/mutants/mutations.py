"""Mutants: one line of the package changed in one place, at random or from a table."""

import ast
import csv
import random
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "opendp_lite"
CURATED = Path(__file__).with_name("curated.tsv")

OPERATORS = (
    *(("<", "<="), (">", ">="), ("==", "!="), ("in", "not in"), ("is", "is not"), ("and", "or")),
    *(("+", "-"), ("*", "/"), ("<<", ">>"), ("&", "|")),
)
CALLS = (
    *(("min", "max"), ("floor", "ceil"), ("any", "all"), ("minimum", "maximum")),
    *(("exp_up", "exp_down"), ("sqrt_up", "sqrt_down"), ("round_up", "round_down")),
)
SWAPPED = {"//": "*", "**": "*"}
for one, other in (*OPERATORS, *CALLS):
    SWAPPED |= {one: other, other: one}
CONSTANTS = {0: "1", 1: "2", 2: "1", 4: "2", 8: "4", 0.5: "0.4"}
TEXTS = {"__repr__", "__str__", "describe", "_repr_html_", "draw"}
"""Functions that only make text: their mutants say nothing of privacy."""


@attrs.frozen
class Mutant:
    """The nth line of a file that reads ``old``, to be read as ``new``."""

    file: str
    old: str
    new: str
    nth: int
    kind: str

    @property
    def path(self) -> Path:
        return PACKAGE / self.file

    @property
    def module(self) -> str:
        parts = self.path.with_suffix("").relative_to(PACKAGE.parent).parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def place(self) -> tuple[int, str] | None:
        """Its line and the changed source; None where the line is no longer there."""
        lines = self.path.read_text().split("\n") if self.path.exists() else []
        found = [i for i, line in enumerate(lines) if line == self.old]
        if len(found) <= self.nth:
            return None
        lines[found[self.nth]] = self.new
        return found[self.nth] + 1, "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()}  =>  {self.new.strip()}"


def draw(rooms: list[str], count: int, seed: int, known: set[str]) -> list[Mutant]:
    """Mutants of some folders or files of the package: the table's, and others at random.

    A long file does not crowd out a short one: files take turns. Those that are known to survive
    are left out: each would be run against all of its tests again.
    """
    paths = [path for room in rooms for path in _find_files(room)]
    shuffled = random.Random(seed)
    left = []
    for path in paths:
        mutants = [each for each in dict.fromkeys(_change_file(path)) if str(each) not in known]
        shuffled.shuffle(mutants)
        left.append(mutants)
    chosen = [each for each in _read_table() if each.path in paths]
    while len(chosen) < count and any(left):
        for mutants in left:
            if mutants and len(chosen) < count and _parses(mutants[-1]):
                chosen.append(mutants[-1])
            del mutants[-1:]
    return list(dict.fromkeys(chosen))


def _find_files(room: str) -> list[Path]:
    path = PACKAGE / room
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    if not found or not found[0].exists():
        raise SystemExit(f"no folder or file {room!r} in the package")
    return found


def _read_table() -> Iterator[Mutant]:
    with CURATED.open(newline="") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            lines = (PACKAGE / row["file"]).read_text().split("\n")
            places = [line for line in lines if row["old"] in line]
            if len(places) != 1:
                print(f"{CURATED.name}: {len(places)} lines of {row['file']} have {row['old']!r}")
                continue
            new = places[0].replace(row["old"], row["new"])
            yield Mutant(row["file"], places[0], new, 0, "curated")


def _change_file(path: Path) -> Iterator[Mutant]:
    source = path.read_text()
    lines = source.split("\n")
    for line, start, end, text, kind in _find_changes(ast.parse(source)):
        old = lines[line - 1].encode()
        new = (old[:start] + text(old[start:end].decode()).encode() + old[end:]).decode()
        if new != lines[line - 1]:
            nth = lines[: line - 1].count(lines[line - 1])
            yield Mutant(str(path.relative_to(PACKAGE)), lines[line - 1], new, nth, kind)


def _parses(mutant: Mutant) -> bool:
    place = mutant.place()
    try:
        return place is not None and bool(ast.parse(place[1]))
    except SyntaxError:
        return False


def _find_changes(tree: ast.Module):
    """(line, first byte, last byte, function of the text between, kind) of every change."""
    for node in _walk(tree):
        if operands := _find_operands(node):
            left, right = operands
            if left.end_lineno == right.lineno:
                place = left.end_lineno, left.end_col_offset, right.col_offset
                yield *place, _swap_operator, "operator"
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in SWAPPED and isinstance(node.ctx, ast.Load):
                last = node.end_col_offset
                yield node.end_lineno, last - len(name), last, _give(SWAPPED[name]), "call"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            text = CONSTANTS.get(node.value) or repr(
                node.value + 1 if isinstance(node.value, int) else node.value * 1.25
            )
            yield node.lineno, node.col_offset, node.end_col_offset, _give(text), "constant"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            if node.lineno == node.operand.lineno:
                place = node.lineno, node.col_offset, node.operand.col_offset
                yield *place, _give(""), "sign"
        elif isinstance(node, ast.If | ast.IfExp) and node.test.lineno == node.test.end_lineno:
            test = node.test
            yield test.lineno, test.col_offset, test.end_col_offset, _give("False"), "branch"


def _walk(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes whose change can change a result: no annotation, example, text or message."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arg):
            continue
        if isinstance(node, ast.FunctionDef) and node.name in TEXTS:
            continue
        yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                each = value if isinstance(value, list) else [value]
                waiting.extend(child for child in each if isinstance(child, ast.AST))


def _find_operands(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two that an operator stands between; None for anything else."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return node.left, node.comparators[0]
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    return tuple(node.values) if isinstance(node, ast.BoolOp) and len(node.values) == 2 else None


def _swap_operator(text: str) -> str:
    """What stands between two operands, with another operator."""
    operator = text.strip("() ")
    return text.replace(operator, SWAPPED.get(operator, operator), 1)


def _give(text: str):
    return lambda _: text
