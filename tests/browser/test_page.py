"""Code that a reader runs in a page, as docs/browser.md has it: in Chromium, without a network."""

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from _ext.build_site import pack

from tests.site.browser import browser, installed

STATIC = Path(__file__).parents[2] / "docs/_static"
PROGRAM = installed()
PAGE = """\
<!doctype html><link rel="stylesheet" href="site.css">
<script>window.PYODIDE = new URL("pyodide/", location).href</script>
<script src="run.js"></script>
<div class="run"><pre>
import opendp_lite as dp
count = dp.count() >> dp.laplace(epsilon=1)
print("loses", count.map(1))
count([1.0] * 100) > 0
</pre></div>
<div class="cell"><div class="cell_input"><pre>
dp.plotting.neighbour_releases(count, at=-1, unit="answers");
</pre></div><div class="cell_output">of the build</div></div>
<div class="cell"><div class="cell_input"><pre>
dp.epsilon(1)
</pre></div></div>
<div class="cell"><div class="cell_input"><pre>
count.map(-1)
</pre></div></div>
"""
RUN = """(async () => {
    const last = [...document.querySelectorAll("button.run-here")].at(-1);
    last.click();
    while (last.disabled) await new Promise((wake) => setTimeout(wake, 100));
    const pictures = [...document.images].map((each) => [each.naturalWidth > 300, each.alt]);
    const told = [...document.querySelectorAll(".shown")].map((each) => each.innerText.trim());
    return [told, pictures, document.querySelectorAll(".cell_output").length];
})()"""


class Site(SimpleHTTPRequestHandler):
    """A folder, served without a word."""

    def log_message(self, *given) -> None:
        """Says nothing."""


@pytest.mark.timeout(600)
@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
def test_code_of_a_page_runs(assets, tmp_path):
    assert PROGRAM is not None
    (tmp_path / "index.html").write_text(PAGE)
    for name in ("run.js", "site.css"):
        shutil.copy(STATIC / name, tmp_path)
    pack(tmp_path / "python.zip")
    (tmp_path / "pyodide").symlink_to(assets)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(tmp_path))) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        with browser(PROGRAM, tmp_path / "profile") as tab:
            tab.open(f"http://127.0.0.1:{site.server_port}/index.html", 700)
            told, pictures, of_the_build = tab.value(RUN)
            tab.picture(tmp_path / "page.png")
        site.shutdown()
    # The last button ran the cells above first, and took away what the build had shown.
    assert told[0] == "loses 1.0\n\nTrue"
    assert told[1] == ""
    assert "epsilon" in told[2]
    assert told[3].startswith("opendp_lite.ParameterError: d_in (a number of rows) must be")
    ((drawn, words),) = pictures
    assert drawn
    assert words.startswith("Releases of two neighbours")
    assert of_the_build == 0
