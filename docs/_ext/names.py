"""Code that names something leads to its page.

``dp.clamp(0, 10)`` leads to the page of ``dp.clamp``, and ``Box`` to that of ``dp.bodies.Box``. A
bare name in small letters leads nowhere, since it may be a parameter or a method.
``docs/privacy.md`` leads to that page.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

from _ext.reference import page_name, public_names

_FULL = re.compile(r"dp\.\w+(?:\.\w+)?")
_CLASS = re.compile(r"[A-Z]\w+\b(?!\.)")
_PAGE = re.compile(r"docs/([\w-]+)\.md$")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers what links the names."""
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _link(app: Sphinx, tree: nodes.document, page: str) -> None:
    names = public_names()
    short = {path.rpartition(".")[2]: path for path in names}
    for code in list(tree.findall(nodes.literal)):
        target = _target(code.astext(), names, short)
        known = target in app.env.all_docs and target != page
        if target and known and not isinstance(code.parent, nodes.reference | nodes.title):
            code.replace_self(make_refnode(app.builder, page, target, "", code.deepcopy()))


def _target(text: str, names: dict[str, Any], short: dict[str, str]) -> str | None:
    """The page of what a piece of code begins with."""
    if page := _PAGE.match(text):
        return page[1]
    if full := _FULL.match(text):
        path = full[0] if full[0] in names else full[0].rpartition(".")[0]
    elif kind := _CLASS.match(text):
        path = short.get(kind[0], "")
    else:
        return None
    return f"reference/{page_name(path, names[path])}" if path in names else None
