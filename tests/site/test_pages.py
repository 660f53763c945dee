"""The pages by themselves: links, headings, images, and a page with an example for each name."""

import inspect
import re
from pathlib import Path

import pytest
from _ext.build_site import gather, moved
from _ext.formulas import _block, _inline
from _ext.proof_rows import proof_rows
from _ext.reference import page_name, pages
from docutils import nodes

from tests.public_names import PUBLIC

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("**/*.md"),
        *(ROOT / "notebooks").glob("*.md"),
        *(ROOT / "tests").glob("**/*.md"),
    }
)
MD = ".md"
"""A text with this in it would be taken for the name of a page."""
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(<?(?!https?:|mailto:)([^)#\s>]*)(?:#([\w-]+))?>?\)")


def slugs(page: Path) -> set[str]:
    """The anchors of the headings of a page, as a repository's view makes them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path) -> list[str]:
    """The links and images of a page that lead nowhere."""
    found = []
    for path, anchor in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        target = page.parent / path if path else page
        if not target.exists():
            found.append(path)
        elif anchor and target.suffix == ".md" and anchor not in slugs(target):
            found.append(f"{path}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_images_lead_somewhere(page):
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path):
    page = tmp_path / f"page{MD}"
    links = f"[a](b{MD}) ![c](d.png) [e](#two) [f](#one) [g](page{MD}) `[h](i{MD})`"
    page.write_text(f"# One\n{links}")
    assert dead_links(page) == [f"b{MD}", "d.png", "#two"]


@pytest.mark.parametrize("path", [path for path in PUBLIC if not inspect.ismodule(PUBLIC[path])])
def test_every_public_name_has_an_example(path):
    public = PUBLIC[path]
    assert ">>> " in (inspect.getdoc(public) or ""), f"{path} has no example in its docstring"
    if isinstance(public, type):
        assert ">>> " in (vars(public).get("__doc__") or ""), f"{path} has only its base's example"


def test_every_public_name_has_a_page():
    texts = pages()
    wanted = {page_name(path, public) for path, public in PUBLIC.items()}
    assert set(texts) == {"index", *wanted}
    for path, public in PUBLIC.items():
        text = texts[page_name(path, public)]
        assert text.startswith(f"# {path}\n")
        assert inspect.ismodule(public) or ">>> " in text, f"the page of {path} has no example"


def test_pages_differ_where_case_is_ignored():
    names = [name.lower() for name in pages()]
    assert len(names) == len(set(names))


def test_each_proof_stands_on_the_page_of_its_step():
    texts, rows = pages(), proof_rows()
    assert len(rows) > 80
    assert rows["private_quantile"].longer.startswith("epsilon under `MaxDivergence`")
    assert rows["scaled_mean"].longer.endswith("does not hold as stated.")
    for step, row in rows.items():
        (path,) = (path for path in PUBLIC if path.rpartition(".")[2] == step)
        assert "## Map, proof and test" in texts[path]
        assert row.longer in texts[path]
        assert row.tests
        for test in row.tests:
            assert test.source in texts[path]
            assert f"def {test.name}(" in test.source


def test_the_table_of_contents_has_every_page(tmp_path):
    gather(tmp_path)
    index, proofs = ((tmp_path / f"{name}{MD}").read_text("utf-8") for name in ("index", "proofs"))
    trees = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", index + proofs, re.DOTALL))
    found = {
        path.relative_to(tmp_path).with_suffix("").as_posix()
        for path in tmp_path.glob("**/*")
        if path.suffix in (".md", ".ipynb")
        and path.parent.name not in ("download", "reference", "solutions")
    }
    assert found - set(trees.split()) == {"index"}
    assert "reference/index" in trees.split()


def test_links_lead_where_pages_stand_in_the_site():
    text = f"[a](docs/mean{MD}) [b](../docs/people{MD}) [CHANGELOG{MD}](../CHANGELOG{MD})"
    assert moved(text) == f"[a](mean{MD}) [b](../people{MD}) [CHANGELOG](CHANGELOG{MD})"
    assert moved("```pycon\n>>> 1\n1\n\n```\n") == "```pycon\n>>> 1\n1\n```\n"
    assert moved("<!-- search: mean, weights -->\n") == "```{index} ! mean, ! weights\n```\n"


class Writer:
    """As much of Sphinx's writer as a formula needs."""

    def __init__(self) -> None:
        self.body: list[str] = []


@pytest.mark.parametrize(("write", "node"), [(_inline, nodes.math), (_block, nodes.math_block)])
def test_formulas_are_written_as_elements(write, node):
    writer = Writer()
    with pytest.raises(nodes.SkipNode):
        write(writer, node("", r"\rho = \frac{\mu^2}{2}"))
    (text,) = writer.body
    assert "<math" in text
    assert "<mfrac>" in text
    assert "ρ" in text
    assert "script" not in text
