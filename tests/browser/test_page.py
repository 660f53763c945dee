"""Code that a reader runs in a page, as docs/browser.md has it: in Chromium, without a network."""

from __future__ import annotations

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

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
</pre><pre>
count.map(-1)
</pre></div>
"""
RUN = """(async () => {
    const told = [];
    for (const button of document.querySelectorAll("button")) {
        button.click();
        while (button.disabled) await new Promise((wake) => setTimeout(wake, 100));
        told.push(button.nextSibling.textContent);
    }
    return told;
})()"""


class Site(SimpleHTTPRequestHandler):
    """A folder, served without a word."""

    def log_message(self, *given: Any) -> None:
        """Says nothing."""


@pytest.mark.timeout(600)
@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
def test_code_of_a_page_runs(assets: Path, tmp_path: Path) -> None:
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
            first, second = tab.value(RUN)
            tab.picture(tmp_path / "page.png")
        site.shutdown()
    assert first == "loses 1.0\nTrue\n"
    assert second.startswith("opendp_lite.ParameterError: d_in (a number of rows) must be")
