"""Editors show a signature and a text for every public name: Pyright is asked, as they ask it."""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import opendp_lite as dp
from tests.public_names import PUBLIC

SERVER = (sys.executable, "-m", "pyright.langserver", "--stdio")
SEARCHED = [str(Path(dp.__file__).parents[1])]
PLANTED = '''\
"""A function behind a class that an editor cannot see through."""

from typing import Protocol, cast


class _Noise(Protocol):
    def __call__(self, *, rho: float) -> float: ...


def _noise(*, rho: float) -> float:
    """Adds noise."""
    return rho


def shown(*, rho: float) -> float:
    """Adds noise."""
    return rho


def silent(*, rho: float) -> float:
    return rho


noise = cast(_Noise, _noise)
'''


class Server:
    """A language server, spoken to over its standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process = process
        self.root = root
        self.asked = 0
        self.answers: dict[int, Any] = {}

    def send(self, message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: object) -> int:
        """Sends a request and returns its number, by which ``answer`` waits for it."""
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        return self.asked

    def answer(self, number: int):
        """The result of a request. What the server asks meanwhile is answered with its settings."""
        while number not in self.answers:
            message = self._read()
            if "method" not in message:
                assert "error" not in message, message
                self.answers[message["id"]] = message["result"]
            elif "id" in message:
                asked = message.get("params") or {}
                settings = [self._settings(each["section"]) for each in asked.get("items", ())]
                self.send({"id": message["id"], "result": settings or None})
        return self.answers.pop(number)

    def _settings(self, section: str):
        if section == "python":
            return {"pythonPath": sys.executable}
        shown = {"diagnosticMode": "openFilesOnly", "extraPaths": SEARCHED}
        return shown if section == "python.analysis" else {}

    def _read(self):
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server went away"
        return json.loads(self.process.stdout.read(length))

    def hovers(self, module: str, names: Sequence[str]) -> list[str]:
        """What the editor shows of each name, read off a file in which it stands by itself."""
        file = self.root / f"hovered_{module}.py"
        alias = "dp" if module == "opendp_lite" else module
        text = "\n".join([f"import {module} as {alias}", *names, ""])
        uri = file.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        asked = [
            self.ask(
                "textDocument/hover",
                {
                    "textDocument": {"uri": uri},
                    "position": {"line": line, "character": len(name) - 1},
                },
            )
            for line, name in enumerate(names, 1)
        ]
        found = [self.answer(each) for each in asked]
        return ["" if each is None else str(each["contents"]["value"]) for each in found]


@contextmanager
def server(root: Path) -> Iterator[Server]:
    """Pyright, started in a folder."""
    with subprocess.Popen(
        SERVER, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            found = Server(process, root)
            folder = {"uri": root.as_uri(), "name": root.name}
            can = {
                "workspace": {"configuration": True},
                "textDocument": {"hover": {"contentFormat": ["plaintext"]}},
            }
            hello = {
                "processId": None,
                "rootUri": root.as_uri(),
                "workspaceFolders": [folder],
                "capabilities": can,
            }
            found.answer(found.ask("initialize", hello))
            found.send({"method": "initialized", "params": {}})
            yield found
        finally:
            process.kill()


def missing(name: str, public: object, shown: str) -> Iterator[str]:
    """What a person hovering over a public name does not see."""
    bare, text = name.rpartition(".")[2], inspect.getdoc(public)
    first = text.partition("\n")[0] if text else ""
    if inspect.isfunction(public) and f"def {bare}(" not in shown:
        yield f"{name}: no signature in {shown[:80]!r}"
    if not first or first not in shown:
        yield f"{name}: no text in {shown[:80]!r}"


def test_editors_show_every_public_name(tmp_path):
    with server(tmp_path) as editor:
        shown = editor.hovers("opendp_lite", list(PUBLIC))
    assert len(shown) > 100
    rows = zip(PUBLIC.items(), shown, strict=True)
    found = [line for (name, public), text in rows for line in missing(name, public, text)]
    assert not found, "\n".join(found)


def test_a_planted_twin_shows_nothing(tmp_path):
    (tmp_path / "planted.py").write_text(PLANTED, "utf-8")
    space = {}
    exec(PLANTED, space)
    names = ["planted.noise", "planted.shown", "planted.silent"]
    with server(tmp_path) as editor:
        shown = editor.hovers("planted", names)
    twin, good, silent = (
        list(missing(name, space[name.rpartition(".")[2]], text))
        for name, text in zip(names, shown, strict=True)
    )
    assert [line.partition(" in ")[0] for line in twin] == [
        "planted.noise: no signature",
        "planted.noise: no text",
    ], twin
    assert not good, good
    assert [line.partition(" in ")[0] for line in silent] == ["planted.silent: no text"]
