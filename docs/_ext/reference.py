"""The pages of the reference: one for each public name, written from its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any, Final

from sphinx.ext.napoleon import Config, GoogleDocstring

import opendp_lite as dp
from _ext.proof_rows import ROOT, ProofRow, proof_rows
from opendp_lite.base.public_names import FRONT, ROOMS, read_stub

SECTIONS: Final = Config(
    napoleon_custom_sections=["Stability", "Privacy", "Proof"],
    napoleon_use_rtype=False,
    napoleon_use_ivar=True,
)
"""The sections of our docstrings that napoleon does not know are named here."""
_LINK: Final = re.compile(r"\]\((?!https?:|#)")
_FRONT: Final = "dp"


@cache
def kinds() -> tuple[ModuleType, ...]:
    """The modules that have a page, with a list of their names: one for each kind of name."""
    return *(getattr(dp, name) for name in ROOMS), dp.data, dp.plotting


@cache
def public_names() -> dict[str, Any]:
    """Each public name once, by the shortest path to it."""
    names = {
        f"{_title(room)}.{name}": getattr(room, name)
        for room in kinds()
        for name in room.__all__
        if name not in dp.__all__
    }
    return names | {f"dp.{name}": getattr(dp, name) for name in dp.__all__}


def page_name(path: str, public: object) -> str:
    """The name of the page of a public name.

    ``dp.Stage`` and ``dp.stage`` are two pages, also in a folder that ignores case.
    """
    return f"{path}-class" if isinstance(public, type) else path


@cache
def pages() -> dict[str, str]:
    """The text of each page of the reference, in Markdown, by its name."""
    names, rows = public_names(), proof_rows()
    found = {"index": _index(names)}
    for path, public in names.items():
        room = inspect.ismodule(public)
        row = None if room else rows.get(path.rpartition(".")[2])
        text = _room(public, names) if room else _page(path, public, row)
        found[page_name(path, public)] = text
    return found


def _title(room: ModuleType) -> str:
    return f"dp.{room.__name__.rpartition('.')[2]}"


def _shortest(room: ModuleType, name: str) -> str:
    return f"dp.{name}" if name in dp.__all__ else f"{_title(room)}.{name}"


def _summary(public: object) -> str:
    """The first paragraph of a docstring, in one line of Markdown."""
    first = (inspect.getdoc(public) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")


def _list(paths: list[str], names: dict[str, Any]) -> str:
    return "\n".join(
        f"- [`{path}`]({page_name(path, names[path])}.md): {_summary(names[path])}"
        for path in paths
    )


def _tree(paths: list[str], names: dict[str, Any]) -> str:
    lines = [f"{path} <{page_name(path, names[path])}>" for path in paths]
    return "\n".join(["```{toctree}", ":hidden:", "", *lines, "```"])


def _index(names: dict[str, Any]) -> str:
    in_rooms = {_shortest(room, name) for room in kinds() for name in room.__all__}
    titles = [_title(room) for room in kinds()]
    front = [path for path in sorted(names, key=str.lower) if path not in {*in_rooms, *titles}]
    return "\n\n".join(
        [
            "# Reference",
            "One page for each public name, from its docstring. A test runs every example.",
            "## By kind",
            _list(titles, names),
            "## Pipelines, data, budgets and tests",
            _list(front, names),
            _tree([*titles, *front], names),
            "",
        ]
    )


def _room(room: ModuleType, names: dict[str, Any]) -> str:
    paths = sorted((_shortest(room, name) for name in room.__all__), key=str.lower)
    text = (room.__doc__ or "").replace("``", "`")
    return "\n\n".join(
        [f"# {_title(room)}", text, _list(paths, names), _tree(_own(room, paths), names), ""]
    )


def _own(room: ModuleType, paths: list[str]) -> list[str]:
    """The names whose place in the table of contents is this room: the first that has them."""
    before = kinds()[: kinds().index(room)]
    taken = {_shortest(each, name) for each in before for name in each.__all__}
    return [path for path in paths if path not in taken]


def _page(path: str, public: Any, row: ProofRow | None) -> str:
    kind = "class" if isinstance(public, type) else "function"
    parts = [f"# {path}", _described(kind, path, public, _parameters(public))]
    if isinstance(public, type):
        parts += ["## Methods and properties", *_members(path, public)] if _answers(public) else []
    else:
        parts += ["## Signature with types", _fenced(_typed(path, public))]
    parts += _proof(row) if row else []
    return "\n\n".join([*parts, f"Source: `{_source(public)}`", ""])


def _described(kind: str, path: str, public: Any, parameters: str) -> str:
    """A directive of Sphinx with a docstring, in reStructuredText."""
    body = str(GoogleDocstring(inspect.getdoc(public) or "", SECTIONS, what=kind))
    directive = f".. py:{kind}:: {path}{parameters}"
    return "\n".join(["```{eval-rst}", directive, "", indent(body, "   "), "```"])


def _parameters(public: Any) -> str:
    """The parameters of a callable as a person types them, without types."""
    if isinstance(public, type) and issubclass(public, BaseException):
        return ""
    try:
        signature = inspect.signature(public)
    except (TypeError, ValueError):
        return ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in _typeable(signature)]
    return str(inspect.Signature(bare))


def _typeable(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    for each in signature.parameters.values():
        if not each.name.startswith("_") and each.name != "self":
            yield each


def _typed(path: str, public: Any) -> str:
    signature = inspect.signature(public)
    lines = []
    starred = False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not starred:
            lines.append("*")
            starred = True
        starred = starred or each.kind is each.VAR_POSITIONAL
        lines.append(str(each).replace("'", "") if each.default is each.empty else _given(each))
    returned = signature.return_annotation
    arrow = "" if returned is signature.empty else f" -> {returned}"
    inside = "".join(f"    {line},\n" for line in lines)
    return f"{path}(\n{inside}){arrow}" if inside else f"{path}(){arrow}"


def _given(parameter: inspect.Parameter) -> str:
    default = parameter.default
    # The repr of a class, <class 'tuple'>, is no Python, and Sphinx warns of it.
    shown = default.__name__ if isinstance(default, type) else repr(default)
    return f"{parameter.name}: {parameter.annotation} = {shown}"


def _answers(kind: type) -> dict[str, Any]:
    """The methods and properties of a class that this package documents, by their names."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if not base.__module__.startswith("opendp_lite"):
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and inspect.getdoc(member) and _own_text(member):
                found.setdefault(name, member)
    return dict(sorted(found.items()))


def _own_text(member: Any) -> bool:
    """Whether what a class holds is a method or a property, and not a field of it."""
    held = getattr(member, "__func__", member)
    return inspect.isfunction(held) or isinstance(member, property) or hasattr(member, "func")


def _members(path: str, kind: type) -> Iterator[str]:
    for name, member in _answers(kind).items():
        called = f"{path}.{name}"
        if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            yield _described("method", called, member, _parameters(getattr(kind, name)))
        else:
            yield _described("property", called, member, "")


def _proof(row: ProofRow) -> Iterator[str]:
    yield "## Map, proof and test"
    yield (
        "*k* is how many rows two datasets differ by, *r* the radius and *D* the diameter of the "
        "body in which the rows lie. [How to read it](../proofs.md#how-to-read-the-tables)."
    )
    yield f"| add/remove | replace-one |\n|---|---|\n| {row.adding} | {row.replacing} |"
    yield "**Proof.** " + _LINK.sub("](../", row.proof.replace("\\|", "|"))
    if row.longer:
        yield row.longer
    yield "**Tests** that fail if the map is wrong by a factor of two:"
    for test in row.tests:
        yield f"<details><summary><code>{test.path}::{test.name}</code></summary>"
        yield _fenced(test.source)
        yield "</details>"


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def _source(public: Any) -> str:
    found = inspect.unwrap(public)
    if found.__module__ != FRONT:
        path = Path(inspect.getsourcefile(found) or "").relative_to(ROOT).as_posix()
        return f"{path}, line {inspect.getsourcelines(found)[1]}"
    # A refusal names itself by the front, where its class is not.
    module = import_module(read_stub(FRONT)[found.__name__])
    path = Path(str(module.__file__)).relative_to(ROOT).as_posix()
    source = inspect.getsource(module).splitlines()
    starts = f"class {found.__name__}"
    line = next(number for number, text in enumerate(source, 1) if text.startswith(starts))
    return f"{path}, line {line}"
