"""Formulas as MathML, written when the site is built: a reader's browser asks no network."""

from __future__ import annotations

from typing import Any, Final

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from _ext.typesetting import is_formula, typeset

_PROOFS: Final = ("proofs", "errata")
"""Pages, beside the reference, on which a letter by itself is a symbol."""
_MATHEMATICS: Final = (
    "accounting",
    "distributions",
    "exactness",
    "glossary",
    "grid",
    "mean",
    "spread",
    "tests-of-differences",
)
"""Other pages with formulas. The rest speaks of 4 x 12 lessons and 0.3 s, which are none."""
_AS_TYPED: Final = (
    nodes.FixedTextElement,
    nodes.literal,
    nodes.title,
    nodes.reference,
    nodes.strong,
    nodes.math,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the renderer, which ``html_math_renderer = "mathml"`` chooses."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-read", _typeset)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def _typeset(app: Sphinx, document: nodes.document) -> None:
    """Typesets the formulas of prose, and those in backticks."""
    page = app.env.docname
    lone = page in _PROOFS or page.startswith("reference/")
    if lone or page in _MATHEMATICS:
        for paragraph in list(document.findall(nodes.paragraph)):
            _typeset_element(paragraph, lone)


def _typeset_element(element: nodes.Element, lone: bool) -> None:
    joined: list[nodes.Node] = []
    for child in element.children:
        formula = isinstance(child, nodes.literal) and is_formula(child.astext())
        text = formula or isinstance(child, nodes.Text)
        # Markdown makes a text of each line, and a formula may be in two.
        before = joined.pop().astext() if text and _ends_in_text(joined) else ""
        joined.append(nodes.Text(before + child.astext()) if text else child)
    element.children = []
    for child in joined:
        if isinstance(child, nodes.Text):
            element.extend(_parts(child.astext(), lone))
            continue
        if isinstance(child, nodes.Element) and not isinstance(child, _AS_TYPED):
            _typeset_element(child, lone)
        element.append(child)


def _ends_in_text(children: list[nodes.Node]) -> bool:
    return bool(children) and isinstance(children[-1], nodes.Text)


def _parts(prose: str, lone: bool) -> list[nodes.Node]:
    return [
        nodes.raw("", part, format="html") if mathml else nodes.Text(part)
        for part, mathml in typeset(prose, lone=lone)
        if part
    ]
