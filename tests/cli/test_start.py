"""What is typed wrong is refused before numpy is imported; an interruption at any time is quiet."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_refusals_of_commands import REFUSALS

RAISES = """
import sys
class Raises:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise {error}
sys.meta_path.insert(0, Raises())
from opendp_lite.cli import main
"""
# Refusals of what is in the file, or by the library: they need more than the flags.
OF_FILE = (
    "first line",
    "the file has another",
    "holds text",
    "did you mean",
    "the columns are",
    "does not name all",
    "without a header",
    "must lie between",
    "1e+100",
    "error: --bounds ",
    "is read as",
    "too few to find bounds",
    "asked for twice",
    "stands there twice",
    "NAME is needed",
)


def started(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )


def test_flags_are_refused_before_numpy_is_imported():
    typed = [
        [command.split()[0], "no.csv", *command.split()[2:], *words.split()]
        for command, refusals in REFUSALS.items()
        for words, said in refusals.items()
        if not any(each in said for each in OF_FILE)
    ]
    assert len(typed) > 80
    text = RAISES.format(name="numpy", error="ZeroDivisionError") + (
        f"for words in {typed!r}:\n"
        "    try:\n"
        "        assert main(words) == 2\n"
        "    except SystemExit as stop:\n"
        "        assert stop.code == 2\n"
        "assert 'numpy' not in sys.modules\n"
    )
    found = started(text)
    assert found.returncode == 0, found.stderr
    assert "ZeroDivisionError" not in found.stderr


def test_a_misspelt_column_is_refused_before_any_noise_is_imported():
    words = ["mean", "docs/data/rand_hie.csv", "--column", "mdvs", "--bounds", "0", "9"]
    text = RAISES.format(name="opendp_lite.measurements.noise", error="ZeroDivisionError")
    found = started(text + f"assert main({[*words, '--rho', '1']!r}) == 2")
    assert found.returncode == 0, found.stderr
    assert "names no column 'mdvs'" in found.stderr


@pytest.mark.parametrize("name", ["argparse", "attrs", "opendp_lite.cli.flags", "numpy"])
def test_an_interruption_of_the_imports_is_quiet(name):
    words = ["mean", "docs/data/rand_hie.csv", "--column", "mdvis", "--bounds", 0, 9, "--rho", 1]
    typed = list(map(str, words))
    text = RAISES.format(name=name, error="KeyboardInterrupt") + f"sys.exit(main({typed!r}))"
    found = started(text)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")
