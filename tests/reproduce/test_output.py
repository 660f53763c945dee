"""Files that cannot be written are refused as such; reading is not blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

FULL = Path("/dev/full")
PLAN = ("plan-variance", "--rho", 1, "--runs", 1, "--workers", 1, "--quick")
FREE_LUNCH = ("figure2", "--runs", 20)

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")


@pytest.fixture
def full_disk(monkeypatch):
    """Every file that is opened in this mode is on a full disk."""
    opened = Path.open

    def fill(wanted: str) -> None:
        def full(path: Path, mode: str = "r", *given, **options):
            return opened(FULL if mode == wanted else path, mode, *given, **options)

        monkeypatch.setattr(Path, "open", full)

    return fill


@pytest.mark.parametrize(
    ("words", "mode", "name"),
    [
        (PLAN, "a", "plan-variance.csv"),
        (PLAN, "wb", "plan-variance.csv"),
        (FREE_LUNCH, "w", "figure2.csv"),
    ],
)
def test_a_table_on_a_full_disk(run, full_disk, tmp_path, words, mode, name):
    full_disk(mode)
    status, out, err = run(*words, "--out", tmp_path)
    assert (status, out) == (2, "")
    message = f"{str(tmp_path / name)!r} cannot be written: No space left on device; make room"
    assert f"opendp-lite: error: {message}" in err
    assert "read" not in err.rpartition("error: ")[2]


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_figure_on_a_full_disk(run, tmp_path, kind):
    picture = tmp_path / f"figure2.{kind}"
    picture.symlink_to(FULL)
    status, out, err = run(*FREE_LUNCH, "--out", tmp_path)
    assert (status, out) == (2, "")
    assert f"{str(picture)!r} cannot be written: No space left on device" in err


def test_a_folder_that_cannot_be_made(run, tmp_path, monkeypatch):
    def refused(self: Path, *given, **options) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    status, out, err = run(*FREE_LUNCH, "--out", tmp_path / "new")
    assert (status, out) == (2, "")
    assert f"{str(tmp_path / 'new')!r} cannot be written: Permission denied" in err
