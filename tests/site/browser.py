"""Headless Chromium, driven over a pipe by its own protocol: no driver, no network."""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)
HEIGHT = 900
START = """
import os, sys
asks, answers = (os.dup(int(each)) for each in sys.argv[1:3])
os.dup2(asks, 3)
os.dup2(answers, 4)
os.set_inheritable(3, True)
os.set_inheritable(4, True)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads what it is asked from its third file and answers on its fourth."""


def installed() -> str | None:
    """The program, where one is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One tab. Keeps what the console and the network say of the page that is open."""

    def __init__(self, asks: int, answers: int) -> None:
        self.asks = asks
        self.answers = answers
        self.number = 0
        self.session: str | None = None
        self.unread = b""
        self.said: list[str] = []
        self.asked_for: list[str] = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params):
        """Asks for something and waits for the answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.asks, json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self.number:
                assert "error" not in found, found
                return found["result"]

    def open(self, address: str, width: int, scheme: str = "light") -> None:
        """Opens a page and waits until it is loaded."""
        self.resize(width)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.said, self.asked_for, self.loaded = [], [], False
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._read()

    def resize(self, width: int) -> None:
        """Makes the window so many pixels wide."""
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def value(self, script: str):
        """What a script gives in the page; a promise is waited for."""
        asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
        found = self.call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """Writes what is seen as a PNG."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot")["data"]))

    def _read(self):
        while b"\0" not in self.unread:
            block = os.read(self.answers, 1 << 20)
            assert block, "the browser went away"
            self.unread += block
        line, _, self.unread = self.unread.partition(b"\0")
        found = json.loads(line)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, event: str, params) -> None:
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Network.requestWillBeSent":
            self.asked_for.append(params["request"]["url"])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.said.append(str([each.get("value") for each in params["args"]]))
        elif event == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"].get("exception", params)))
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.said.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")


@contextmanager
def browser(program: str, folder: Path) -> Iterator[Browser]:
    """Starts Chromium with a fresh profile in a folder, and ends it."""
    asks_from, asks_to = os.pipe()
    answers_from, answers_to = os.pipe()
    ends = [str(asks_from), str(answers_to)]
    arguments = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(
        [sys.executable, "-c", START, *ends, *arguments],
        pass_fds=(asks_from, answers_to),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(asks_from)
        os.close(answers_to)
        try:
            yield Browser(asks_to, answers_from)
        finally:
            process.kill()
            os.close(asks_to)
            os.close(answers_from)
