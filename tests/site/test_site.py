"""The site is built, each page opened in headless Chromium without a network, and searched."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.browser import Browser, browser, installed
from tests.site.test_search import RIGHT

ROOT = Path(__file__).parents[2]
WIDE, NARROW = 1400, 400
LACKING = [name for name in ("sphinx", "furo", "myst_nb") if find_spec(name) is None]
NODE = shutil.which("node")
pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(LACKING), reason=f"pip install '.[docs]' first: {LACKING} are missing"),
]
SEEN = """({
    ids: [...document.querySelectorAll('[id]')].map(each => each.id),
    links: [...document.links].map(each => each.href),
    images: [...document.images].filter(each => !(each.complete && each.naturalWidth))
        .map(each => each.src),
    formulas: [...document.querySelectorAll('math')]
        .filter(each => !each.getBoundingClientRect().width).length,
})"""
FITS = """({
    page: document.documentElement.scrollWidth,
    beyond: [...document.querySelectorAll('article p, article li, article h1, article h2')]
        .filter(each => !each.closest('.table-wrapper, .highlight, .formula, .output'))
        .filter(each => each.getBoundingClientRect().right > innerWidth)
        .map(each => each.textContent.slice(0, 60)),
    small: [...document.querySelectorAll('article p')]
        .filter(each => each.offsetWidth && parseFloat(getComputedStyle(each).fontSize) < 12)
        .map(each => each.textContent.slice(0, 60)),
})"""
FOUND = """new Promise(resolve => {
    const look = () => {
        const found = [...document.querySelectorAll('#search-results li a')]
        if (found.some(each => each.textContent === TITLE)) resolve(true)
        else if (performance.now() > 20000) resolve(false)
        else setTimeout(look, 50)
    }
    look()
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``start.py docs`` builds it: a warning of Sphinx is a failure."""
    folder = tmp_path_factory.mktemp("build")
    program = [sys.executable, str(ROOT / "docs/_ext/build_site.py"), str(folder)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if (program := installed()) is None:
        pytest.skip("Chromium is not installed")
    with browser(program, tmp_path_factory.mktemp("profile")) as found:
        yield found


def looked_at(tab: Browser, page: Path):
    """What is wrong with a page by itself, and what it holds."""
    tab.open(page.as_uri(), WIDE)
    seen = tab.value(SEEN)
    wrong = [f"the console: {text}" for text in tab.said]
    asked = [urlsplit(address) for address in tab.asked_for]
    wrong += [f"asks {each.netloc}" for each in asked if each.scheme not in ("file", "data")]
    wrong += [f"no image {source}" for source in seen["images"]]
    wrong += ["a formula without a width"] * seen["formulas"]
    for width in (WIDE, NARROW):
        tab.resize(width)
        fits = tab.value(FITS)
        if fits["page"] > width:
            wrong.append(f"{fits['page']} pixels wide at {width}")
        wrong += [f"beyond the edge at {width}: {text}" for text in fits["beyond"]]
        wrong += [f"small at {width}: {text}" for text in fits["small"]]
    return wrong, seen


def dead(links: list[str], ids: dict[Path, set[str]]) -> Iterator[str]:
    """The links that lead to no page, or to no place in it."""
    for link in links:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https", "mailto"):
            continue
        path = Path(unquote(parts.path))
        place = unquote(parts.fragment)
        if not path.is_file() or (place and path in ids and place not in ids[path]):
            yield link


def search(site: Path, words: list[str]) -> dict[str, list[str]]:
    """The pages that a search for each of the words shows, the best first."""
    program = [str(NODE), str(ROOT / "tests/site/search.js"), str(site), *words]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_every_page(site, tab):
    pages = sorted(site.glob("**/*.html"))
    assert len(pages) > 200
    wrong, ids, links = [], {}, {}
    for page in pages:
        found, seen = looked_at(tab, page)
        wrong += [f"{page.relative_to(site)}: {each}" for each in found]
        ids[page], links[page] = set(seen["ids"]), seen["links"]
    for page in pages:
        wrong += [f"{page.relative_to(site)}: dead {link}" for link in dead(links[page], ids)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("clamp", "dp.clamp"),
        ("median", "Quantiles of a column"),
        ("neighbours", "What is protected, and what is not"),
    ],
)
def test_search_works_without_a_network(site, tab, typed, title):
    tab.open(f"{(site / 'search.html').as_uri()}?q={typed}", WIDE)
    assert tab.value(FOUND.replace("TITLE", repr(title)))
    assert tab.said == []


def test_nothing_is_loaded_from_a_network(site):
    loaded = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["'](https?:)?//""")
    for page in site.glob("**/*.html"):
        assert not loaded.search(page.read_text("utf-8")), page
    for sheet in site.glob("**/*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text("utf-8"))


def test_formulas_show(tmp_path, tab):
    (tmp_path / ("index" + ".md")).write_text(
        "# One\n\nSo $\\rho = \\mu^2/2$.\n\n$$\\frac{1}{2}$$\n"
    )
    program = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(ROOT / "docs")]
    subprocess.run([*program, str(tmp_path), str(tmp_path / "site")], check=True, timeout=300)
    wrong, _ = looked_at(tab, tmp_path / "site/index.html")
    assert wrong == []
    tall = tab.value("[...document.querySelectorAll('math')].map(each => each.clientHeight)")
    assert len(tall) == 2
    assert tall[1] > tall[0] > 0


def test_faults_are_found(tmp_path, tab):
    page = tmp_path / "page.html"
    page.write_text(
        "<body style='margin:0'><article><p style='width:900px'>wide</p><p style='font-size:9px'>"
        "small</p></article><img src='none.png'><a href='none.html'>a</a><a href='#none'>b</a>"
        "<script>console.error('said')</script><script src='http://localhost:9/x.js'></script>"
    )
    found, seen = looked_at(tab, page)
    for fault in (
        "said",
        "localhost:9",
        "no image",
        "at 400",
        "beyond the edge at 400",
        "small at",
    ):
        assert any(fault in each for each in found), fault
    assert not any("beyond the edge at 1400" in each for each in found)
    assert len(list(dead(seen["links"], {page: set(seen["ids"])}))) == 2


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_first_three_hits_have_a_right_page(site):
    found = search(site, list(RIGHT))
    lost = [word for word, right in RIGHT.items() if not right & set(found[word][:3])]
    assert len(RIGHT) >= 60
    assert len(lost) <= len(RIGHT) / 10, lost


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_name_finds_its_page_and_guides_stand_before_the_reference(site):
    found = search(site, ["clamp", "bounds"])
    assert "reference/dp.clamp" in found["clamp"][:3]
    places = [page.startswith("reference/") for page in found["bounds"]]
    assert places == sorted(places)
