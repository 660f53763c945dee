"""Nobody but ``adaptive`` reads the rows that ``ask`` holds."""

import ast
from collections.abc import Mapping

from tests.test_layers import parse, sources

HELD = "_account"
HOLDER = "combinators.adaptive_programs"


def readers(sources: Mapping[str, str]) -> list[str]:
    """Where an object's ``_account`` is read that is not the reader's own."""
    return [
        f"{path}:{node.lineno}"
        for path, text in sources.items()
        if path != HOLDER
        for node in ast.walk(parse(text))
        if reads(node)
    ]


def reads(node: ast.AST) -> bool:
    """Whether this is ``x._account`` for an x other than self, or the name as a text."""
    if isinstance(node, ast.Attribute) and node.attr == HELD:
        return not (isinstance(node.value, ast.Name) and node.value.id == "self")
    return isinstance(node, ast.Constant) and node.value == HELD


def test_nobody_reads_the_rows_of_ask():
    found = sources()
    assert f"self.{HELD}" in found[HOLDER], "ask holds its rows by another name: say it in HELD"
    assert readers(found) == []


def test_planted_readers_are_caught():
    for text in (
        "def f(ask):\n    return len(ask._account)\n",
        "def f(ask):\n    return self.ask._account.source\n",
        "def f(ask):\n    return getattr(ask, '_account')\n",
        "def f(ask):\n    return vars(ask)['_account']\n",
        "def f(ask):\n    ask._account = 3\n",
    ):
        assert readers({"estimators.extra": text}) == ["estimators.extra:2"]
    assert readers({"estimators.extra": "def f(self):\n    return self._account\n"}) == []
