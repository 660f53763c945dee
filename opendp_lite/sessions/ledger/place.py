"""Where a ledger may stand, which file it is, and on which machine."""

from __future__ import annotations

import ctypes
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import getnode

import attrs

from opendp_lite.base.errors import LedgerError, ParameterError, system_reason
from opendp_lite.numbers.exact import quote
from opendp_lite.sessions.ledger.connection import require_own_name

_MOUNTS: Final = Path("/proc/self/mountinfo")
# Kinds of file systems that several machines may share: locks of one may not hold in another.
_REMOTE: Final = frozenset(
    {
        *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fhgfs", "gfs", "gfs2"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs"),
        *("prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
    }
)
_LOCAL_FUSE: Final = frozenset({"fuse.fuse-overlayfs"})
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


@attrs.frozen
class FilePlace:
    """A file, and what tells it from a copy of it.

    Attributes:
        path: Without symbolic links.
        identity: Its number in its file system, and its time of birth. Where the system tells no
            births it is the number of the file system, which may change when the system starts.
    """

    path: Path
    identity: str

    @classmethod
    def of(cls, path: Path) -> FilePlace:
        """The file at a path as it is now.

        Raises:
            LedgerError: If there is none, or it is no file of its own on a disk of this machine.
        """
        try:
            found = path.stat()
            born = file_birth(path)
        except OSError as problem:
            raise LedgerError(_not_reached(path, problem)) from None
        if stat.S_ISDIR(found.st_mode):
            raise LedgerError(f"{str(path)!r} is a folder; name a file in it")
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"{str(path)!r} is no file on a disk; name one")
        if found.st_nlink > 1:
            raise LedgerError(
                f"the file {str(path)!r} has another name too (a hard link), so that a write that "
                "was cut short could not be undone under both; delete the other name"
            )
        told = f"born {born}" if born else f"on {found.st_dev}"
        return cls(path, f"{found.st_ino} {told}")

    def require_unchanged(self) -> None:
        """Refuses where another file stands at the path by now."""
        if FilePlace.of(self.path) != self:
            raise LedgerError(
                f"the file {str(self.path)!r} was replaced while it was in use; nothing is "
                "released. Open the ledger again to see what stands there"
            )


def resolve(path: object) -> Path:
    """A path without symbolic links; its folder must be there, on a disk of this machine.

    Raises:
        LedgerError: If a ledger cannot stand there.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a ledger is a file: give its path, got {quote(path)}")
    try:
        found = Path(path).resolve()
        folder = found.parent.is_dir()
    except (OSError, ValueError, RuntimeError):
        raise LedgerError("the path of the ledger cannot be read; give another") from None
    if not folder:
        raise LedgerError(f"there is no folder {str(found.parent)!r}; make it first")
    require_own_name(found, "a ledger")
    kind = file_system_of(found)
    if kind in _REMOTE or (kind.startswith("fuse") and kind not in _LOCAL_FUSE | {"fuseblk"}):
        raise LedgerError(
            f"{str(found)!r} stands on a file system of the kind {kind}, which other machines may "
            "share. Its locks may not hold between them, so that both could spend the same budget. "
            "Put the ledger on a disk of this machine"
        )
    if any(point == found for point, _ in _mounts()):
        raise LedgerError(
            f"the file {str(found)!r} is mounted by itself, so it may have other paths, "
            "where a write that was cut short could not be undone; mount its folder instead"
        )
    return found


def file_system_of(path: Path) -> str:
    """The kind of file system that a path stands on; empty where the system does not tell."""
    best, kind = -1, ""
    for point, found in _mounts():
        if path.is_relative_to(point):
            depth = len(point.parts)
            if depth >= best:
                best, kind = depth, found
    return kind


def _mounts() -> Iterator[tuple[Path, str]]:
    """What is mounted where, and of which kind; nothing where the system does not tell."""
    try:
        lines = os.fsdecode(_MOUNTS.read_bytes()).splitlines()
    except OSError:
        return
    for line in lines:
        before, _, after = line.partition(" - ")
        words = before.split(" ")
        if len(words) > 4:
            yield _unescape(words[4]), after.split(" ")[0]


def _unescape(text: str) -> Path:
    return Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), text))


def _not_reached(path: Path, problem: OSError) -> str:
    match problem:
        case FileNotFoundError():
            return f"there is no ledger {str(path)!r}; check its name, or create it"
        case PermissionError():
            return f"you may not reach {str(path)!r}; ask its owner for the right to"
        case _:
            return f"{str(path)!r} cannot be reached: {system_reason(problem)}"


_AT_FDCWD: Final = -100
_BIRTH: Final = 0x800
_SIZE: Final = 256
_MASK_AT, _SECONDS_AT, _NANOSECONDS_AT = 0, 80, 88
"""Where ``struct statx`` of Linux has its mask and the time of birth."""


def file_birth(path: Path) -> str:
    """The time of birth of a file, as text; empty where the system does not tell.

    Nothing is opened: closing a second handle of a file drops the locks that SQLite has on it.
    """
    if sys.platform != "linux":
        return str(getattr(path.stat(), "st_birthtime", ""))
    call = _statx()
    found = ctypes.create_string_buffer(_SIZE)
    if call is None or call(_AT_FDCWD, os.fsencode(path), 0, _BIRTH, found) != 0:
        return ""
    if not _whole(found, _MASK_AT, 4) & _BIRTH:
        return ""
    return f"{_whole(found, _SECONDS_AT, 8)}.{_whole(found, _NANOSECONDS_AT, 4):09}"


@cache
def _statx() -> Callable[..., int] | None:
    """The call of the C library; None in one that has none."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), "statx", None)
    return found


def _whole(buffer: ctypes.Array[ctypes.c_char], start: int, count: int) -> int:
    return int.from_bytes(buffer.raw[start : start + count], sys.byteorder)


_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
# The bit of a network address that says that Python made it up.
_RANDOM: Final = 1 << 40


@cache
def this_machine() -> str:
    """A hash that tells this machine from others; ``unknown`` where nothing does."""
    name = next(filter(None, map(_read, _IDS)), "")
    if not name and not getnode() & _RANDOM:
        name = str(getnode())
    return sha256(f"opendp_lite ledger {name}".encode()).hexdigest()[:16] if name else "unknown"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
