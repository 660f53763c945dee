"""Every page that code, tests or pages cite exists."""

import re
from pathlib import Path

import pytest

import opendp_lite as dp

ROOT = Path(__file__).parents[2]
PLACES = ("opendp_lite/**/*.py", "tests/**/*.py", "tests/**/*.md", "docs/**/*.md", "*.md", "*.toml")
FILES = sorted({path for place in PLACES for path in ROOT.glob(place)} - {Path(__file__)})
PAGE = re.compile(r"(?<![\w/.*-])[\w./-]*\w\.md\b")


def missing(text: str, folder: Path) -> list[str]:
    """The pages named in a text that stand neither beside it nor at the root."""
    named = sorted(set(PAGE.findall(text)))
    return [page for page in named if not any((at / page).is_file() for at in (ROOT, folder))]


def test_cited_pages_exist():
    absent = {path: missing(path.read_text(), path.parent) for path in FILES}
    assert not {path: pages for path, pages in absent.items() if pages}


def test_a_page_that_is_not_there_is_found():
    absent = "old" + ".md"
    assert missing(f"see {absent}, docs/privacy.md and README.md", ROOT) == [absent]


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".md"], ids=lambda path: path.name
)
def test_names_in_pages_are_public(path):
    """A page types ``dp.clamp`` or ``dp.bodies.Box``: each name can be typed."""
    typed = sorted(set(re.findall(r"\bdp\.([A-Za-z_][\w.]*\w)", path.read_text())))
    # The page on extending the package types the name of the step that it adds.
    added = (
        {"quantize", "quantizing", "transformations.quantize", "transformations.quantizing"}
        if path.stem == "extending"
        else set()
    )
    assert [name for name in typed if name not in added and not there(name)] == []


def there(name: str) -> bool:
    found: object = dp
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def test_a_name_that_is_not_public_is_found():
    assert there("bodies.Box")
    assert not there("bodies.Bax")


def test_the_index_leads_to_every_page():
    index = (ROOT / "docs/index.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []


def test_tests_that_pages_name_exist_once():
    """A page names a test by its file, which has a unique name, and a function by file::name."""
    for path in FILES:
        if path.suffix != ".md":
            continue
        for name, function in re.findall(r"\b(test_\w+\.py)(?:::(\w+))?", path.read_text()):
            files = list((ROOT / "tests").rglob(name))
            assert len(files) == 1, f"{path.name}: {name} is {len(files)} files"
            assert f"def {function}" in files[0].read_text(), f"{path.name}: {name}::{function}"
