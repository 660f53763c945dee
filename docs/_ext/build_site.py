"""Builds the documentation site: ``python docs/_ext/build_site.py`` makes build/site.

Name another folder than build as its argument, if you like.

The pages of docs/ read well by themselves in a view of the repository. Here they are joined by the
notebooks, which run, the pages at the root of the repository and the reference, and Sphinx builds
all of it.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import attrs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from sphinx.cmd.build import main as sphinx  # noqa: E402

from _ext.reference import pages, public_names  # noqa: E402

_WORDS = """\
from opendp_lite_lessons.pictures import describe_pictures as _describe

_describe()
"""
CELL = {
    "cell_type": "code",
    "execution_count": None,
    "metadata": {"tags": ["remove-cell"]},
    "outputs": [],
    "source": _WORDS,
}
"""The cell that nobody sees."""
AT_THE_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
BELOW_PROOFS = ("errata",)
"""Listed in the table of contents below the proofs, which need them, and not beside the guides."""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"(\[([^\]\n]+)\]\(([\w./-]+)\))")
_SEARCH = re.compile(r"^<!-- search: (.+) -->$", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w./-]+)\.(?:md|ipynb)\)")


def build(folder: Path) -> int:
    """Gathers the sources and builds the site; 0 where nothing went wrong."""
    site, source, kept = (folder / name for name in ("site", "site-source", "site-doctrees"))
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    gather(source)
    options = ["-j", "auto", "-W", "--keep-going", "-q", "-d", str(kept), "-c", str(ROOT / "docs")]
    wrong = sphinx([*options, str(source), str(site)])
    pack(site / "_static" / "python.zip")
    return wrong


def pack(archive: Path) -> None:
    """Writes what a page needs to run code in a browser: see docs/_static/run.js."""
    installed = Path(attrs.__file__).parents[1]
    places = (
        (ROOT, "opendp_lite"),
        (ROOT / "notebooks", "opendp_lite_lessons"),
        (ROOT / "docs" / "data", "rand_hie.csv"),
        (installed, "attr"),
        (installed, "attrs"),
    )
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for folder, name in places:
            for path in sorted([folder / name, *(folder / name).rglob("*")]):
                if path.is_file() and path.suffix != ".pyc":
                    inside = path.relative_to(folder)
                    # A judge finds its data beside itself.
                    beside = "opendp_lite_lessons" if name.endswith(".csv") else ""
                    packed.write(path, beside / inside)


def gather(source: Path) -> None:
    """Writes all sources of the site into one folder."""
    for path in sorted((ROOT / "docs").glob("**/*.md")):
        _copy(path, source / path.relative_to(ROOT / "docs"))
    for picture in sorted((ROOT / "docs").glob("**/pictures/*.*")):
        target = source / picture.relative_to(ROOT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)
    for name in AT_THE_ROOT:
        _copy(ROOT / name, source / name)
    for path in lessons():
        _copy(path, source / path.relative_to(ROOT))
        if path.suffix == ".ipynb":
            _describe_pictures(source / path.relative_to(ROOT))
    judges = (ROOT / "notebooks" / "opendp_lite_lessons").glob("*.py")
    for path in (*judges, *(ROOT / "docs" / "data").glob("*.csv")):
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    table = Path("data", "steps_of_sums.csv")
    shutil.copyfile(ROOT / "docs" / table, source / table)
    for name, text in pages().items():
        _write(source / "reference" / f"{name}.md", text)
    proofs = source / "proofs.md"
    below = _tree("Below the proofs", list(BELOW_PROOFS))
    proofs.write_text(f"{linked(proofs.read_text('utf-8'))}\n{below}", "utf-8")
    index = source / "index.md"
    index.write_text(with_contents(index.read_text("utf-8"), list(_notebooks(source))), "utf-8")


def moved(text: str) -> str:
    """A text as the site has it.

    Links lead where the pages stand there, and name pages and not files. A session in Python has no
    empty line at its end, which a doctest needs and a reader does not. Words to search for, which a
    page has in a comment, lead to the place of the comment.
    """
    text = _SEARCH.sub(lambda words: _index(words[1]), text)
    text = re.sub(r"\]\((\.\./)?docs/", r"](\1", text)
    text = re.sub(r"\]\(\.\./(?=[A-Z]+\.md|notebooks/)", "](", text)
    text = re.sub(r"\[(?:[\w-]+/)?([\w-]+)\.md\]\(", r"[\1](", text)
    return re.sub(r"^(```pycon\n.*?)\n+```$", r"\1\n```", text, flags=re.DOTALL | re.MULTILINE)


def _index(words: str) -> str:
    """The directive that enters words into the index, first of what a search for them finds."""
    return "```{index} " + ", ".join(f"! {each.strip()}" for each in words.split(",")) + "\n```"


def linked(proofs: str) -> str:
    """The page of proofs, where each step leads to its page in the reference."""
    steps = {path.rpartition(".")[2]: path for path in public_names()}
    return re.sub(
        r"^\| `(\w+)` \|",
        lambda row: f"| [`{row[1]}`](reference/{steps[row[1]]}.md) |",
        proofs,
        flags=re.MULTILINE,
    )


def with_contents(index: str, notebooks: list[str]) -> str:
    """The index with a table of contents behind each heading, made of the links there."""
    head, *parts = _HEADING.split(index)
    told = [head]
    listed: set[str] = set(BELOW_PROOFS)
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        links = [page for page in dict.fromkeys(_PAGE.findall(text)) if page not in listed]
        listed.update(links)
        told += [f"## {title}", text, _tree(title, links)]
    told += [_tree("Notebooks", notebooks), _tree("Reference", ["reference/index"])]
    return "\n".join(told)


def _tree(caption: str, links: list[str]) -> str:
    if not links:
        return ""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *links, "```", ""])


def lessons() -> Iterator[Path]:
    """The notebooks and the pages beside them, but no text form of a notebook."""
    for path in sorted((ROOT / "notebooks").glob("**/*.*")):
        alone = path.suffix == ".md" and not path.with_suffix(".ipynb").exists()
        if (alone or path.suffix == ".ipynb") and ".ipynb_checkpoints" not in path.parts:
            yield path


def _notebooks(source: Path) -> Iterator[str]:
    """What the table of contents lists of the lessons; their solutions are reached by links."""
    pages = (path for path in (source / "notebooks").glob("*.*") if path.suffix != ".py")
    for path in sorted(pages, key=_place):
        yield path.relative_to(source).with_suffix("").as_posix()


def _place(page: Path) -> int:
    """The number of a lesson; the list of lessons is first."""
    number = page.stem.partition("_")[0]
    return int(number) if number.isdigit() else 0


def _copy(path: Path, target: Path) -> None:
    """Copies a page. A link to a folder becomes plain text, since a site shows no folders."""
    text = path.read_text("utf-8")
    for link, words, folder in set(_LINK.findall(text)):
        if (path.parent / folder).is_dir():
            text = text.replace(link, words)
    if target.suffix == ".md" and target.parent.name == "solutions":
        rest = text.removeprefix("---\n")
        text = "---\norphan: true\n" + ("---\n" + text if rest == text else rest)
    _write(target, text)


def _describe_pictures(lesson: Path) -> None:
    """Adds the cell that nobody sees, and a link to the lesson as it is without them."""
    kept = lesson.parent / "download" / lesson.name
    kept.parent.mkdir(exist_ok=True)
    shutil.copyfile(lesson, kept)
    notebook = json.loads(lesson.read_text("utf-8"))
    link = f"{{download}}`download this notebook <download/{lesson.name}>`\n"
    words = [
        "Change and run any cell in this page. The first run fetches Python, some 45 MB. "
        f"Answers typed here are gone when the page is loaded anew. To keep them, {link}"
        "and work there: it runs after `pip install . ./notebooks` in a copy of the repository."
    ]
    notebook["cells"][1:1] = [{"cell_type": "markdown", "metadata": {}, "source": words}, CELL]
    lesson.write_text(json.dumps(notebook), "utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(moved(text), "utf-8")


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"))
