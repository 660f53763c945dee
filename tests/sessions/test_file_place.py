"""Where a ledger may not stand."""

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import place as file_place
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.place import FilePlace, file_system_of
from opendp_lite.sessions.ledger.place import resolve as resolved
from tests.sessions.ledgers import refused

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /home/ann/my\040share rw - nfs4 server:/home rw
41 27 0:41 / /win rw shared:1 master:2 - 9p drvfs rw
42 27 0:42 / /cloud rw - fuse.sshfs ann@server: rw
43 27 8:1 / /usb rw - fuseblk /dev/sda1 rw
44 27 0:43 / /win/local rw - ext4 /dev/vdb rw
45 27 0:44 / /usb/over rw - cifs //server/x rw
46 27 8:2 / /usb/over rw - ext4 /dev/sdb rw
"""


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    """A table of mounts."""
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    monkeypatch.setattr(file_place, "_MOUNTS", table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/x.ledger", "ext4"),
        ("/home/ann/my share/x.ledger", "nfs4"),
        ("/home/ann/my share 2/x.ledger", "ext4"),
        ("/win/x", "9p"),
        ("/win/local/x", "ext4"),
        ("/cloud/deep/er/x", "fuse.sshfs"),
        ("/usb/x", "fuseblk"),
        ("/usb/over/x", "ext4"),
    ],
)
def test_the_kind_of_a_file_system(mounts, path, kind):
    assert file_system_of(Path(path)) == kind


def test_a_file_that_is_mounted_by_itself_is_refused(tmp_path, monkeypatch):
    path, table = tmp_path.resolve() / "x.ledger", tmp_path / "mounts"
    LedgerFile.create(path, dp.rho(1), unit="person")
    table.write_text(rf"{MOUNTS}47 27 254:0 /there/x.ledger {path} rw - ext4 /dev/vda rw")
    monkeypatch.setattr(file_place, "_MOUNTS", table)
    refused("mounted by itself", lambda: LedgerFile.open(path))
    assert resolved(tmp_path / "y.ledger").name == "y.ledger"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs", "fuse", "virtiofs"])
def test_file_systems_of_several_machines_are_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(file_place, "file_system_of", lambda path: kind)
    new = partial(LedgerFile.create, budget=dp.rho(1), unit="person")
    uses = (partial(use, tmp_path / "x.ledger") for use in (LedgerFile.open, new))
    refused(f"of the kind {kind}, which other machines", *uses)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "fuseblk", "", "fuse.fuse-overlayfs"])
def test_disks_of_this_machine_are_not(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(file_place, "file_system_of", lambda path: kind)
    assert resolved(tmp_path / "x").parent == tmp_path.resolve()


def test_this_machine_has_a_kind_of_file_system(tmp_path):
    if sys.platform == "linux":
        assert file_system_of(tmp_path.resolve()) != ""


def test_folders_devices_and_nothing_are_refused(tmp_path, ledger):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("no ledger at all\n" * 100)
    (tmp_path / "empty").touch()
    for path, words in (
        (tmp_path, "is a folder"),
        ("/dev/null", "is no file on a disk"),
        (tmp_path / "pipe", "is no file on a disk"),
        (tmp_path / "nothing", "there is no ledger"),
        (tmp_path / "no" / "folder", "there is no folder"),
        (tmp_path / "text", "it is no ledger"),
        (tmp_path / "empty", "If making it was cut short, it is empty"),
        (tmp_path / "text" / "x", "there is no folder"),
        ("a\0b", "cannot be read"),
        (3, "give its path"),
        ("", "is a folder"),
    ):
        refused(words, partial(LedgerFile.open, path))
    new = partial(LedgerFile.create, budget=dp.rho(1), unit="person")
    refused("is a folder; name a file in it", lambda: new(tmp_path))
    refused("the witness is a file", lambda: new(tmp_path / "x", witness=tmp_path))
    refused("a file of its own", lambda: new(tmp_path / "x", witness=tmp_path / "x"))


def test_two_names_of_one_file_are_refused(ledger):
    os.link(ledger.path, ledger.path.with_name("other"))
    refused("has another name too", lambda: LedgerFile.open(ledger.path))


def test_a_symbolic_link_leads_to_the_file(ledger, tenth):
    link = ledger.path.with_name("link")
    link.symlink_to(ledger.path)
    LedgerFile.open(link).reserve(tenth, asked="{}")
    assert ledger.spent == tenth
    assert LedgerFile.open(link).path == ledger.path.resolve()


def test_a_file_has_a_time_of_birth(tmp_path):
    """A file that is deleted and copied back has another identity, whatever number it gets."""
    path, copy = tmp_path / "a", tmp_path / "b"
    path.write_text("x")
    if not file_place.file_birth(path):
        pytest.skip("this file system does not tell when a file was made")
    before = FilePlace.of(path)
    shutil.copy2(path, copy)
    path.write_text("longer")
    assert FilePlace.of(path) == before
    path.unlink()
    shutil.copy2(copy, path)
    assert FilePlace.of(path) != before
    refused("was replaced", lambda: before.require_unchanged())


def test_a_system_that_tells_no_births(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    monkeypatch.setattr(file_place, "_statx", lambda: None)
    assert file_place.file_birth(tmp_path / "a") == ""
