"""Where a ledger may stand, which file it is, and on which machine."""

from __future__ import annotations

import ctypes
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from struct import unpack_from
from typing import Final
from uuid import getnode

import attrs

from opendp_lite.base.errors import LedgerError, ParameterError, system_reason
from opendp_lite.numbers.exact import quote

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
    # The last of those that are mounted at one place hides the others.
    around = [(point, kind) for point, kind in _mounts() if path.is_relative_to(point)]
    return max(reversed(around), key=lambda each: len(each[0].parts), default=(path, ""))[1]


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
            point = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), words[4])
            yield Path(point), after.split(" ")[0]


def _not_reached(path: Path, problem: OSError) -> str:
    match problem:
        case FileNotFoundError():
            return f"there is no ledger {str(path)!r}; check its name, or create it"
        case PermissionError():
            return f"you may not reach {str(path)!r}; ask its owner for the right to"
        case _:
            return f"{str(path)!r} cannot be reached: {system_reason(problem)}"


# How each of them begins, unless it is empty or begins with zeros.
_MAGIC: Final = {
    "-journal": (bytes.fromhex("d9d505f9"),),
    "-wal": (bytes.fromhex("377f0682"), bytes.fromhex("377f0683")),
    "-shm": ((3007000).to_bytes(4, sys.byteorder),),
}
_BEGIN: Final = 4


def require_own_name(path: Path, what: str) -> None:
    """Refuses a name that SQLite takes for a file of another ledger: it would delete it.

    Raises:
        LedgerError: If the name ends like one of SQLite's.
    """
    if path.name.casefold().endswith(tuple(_MAGIC)):
        raise LedgerError(
            f"the name of {what} ends in none of {', '.join(_MAGIC)}: SQLite makes and deletes "
            f"files of such names. Give {path.name!r} another name"
        )


def require_siblings(path: Path, *, new: bool = False) -> None:
    """Refuses a ledger beside which another file has the name of one of SQLite's.

    A journal that was left by a crash is one of SQLite's, and it is needed; for a new ledger none
    is.

    Raises:
        LedgerError: If there is such a file, which SQLite would delete.
    """
    for end, known in _MAGIC.items():
        if not os.path.lexists(f"{path}{end}"):
            continue
        beside = path.with_name(f"{path.name}{end}")
        foreign = new and beside.exists()
        with suppress(OSError), beside.open("rb") as file:
            begin = file.read(_BEGIN)
            foreign = foreign or (begin.strip(b"\0") != b"" and begin not in known)
        if foreign:
            raise LedgerError(
                f"a file {str(beside)!r} stands beside the ledger, and SQLite would delete it for "
                "a file of its own; move it away, or give it another name"
            )


_MODE: Final = 0o600
_THERE: Final = "there already; open it, or give the new ledger another name"


def make_empty(path: Path) -> None:
    """Makes a file that only its owner may read, where none was."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))
    except FileExistsError:
        here = "a folder; name a file in it" if path.is_dir() else _THERE
        raise LedgerError(f"{str(path)!r} is {here}") from None
    except OSError as problem:
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: {system_reason(problem)}"
        ) from None


def remove_empty(path: Path) -> None:
    """Removes what is left of a ledger that was not made; never one that others may use by now."""
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


_AT_FDCWD: Final = -100
_BIRTH: Final = 0x800
_SIZE: Final = 256
_MASK_AT, _BIRTH_AT = 0, 80
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
    (mask,) = unpack_from("=I", found, _MASK_AT)
    seconds, nanoseconds = unpack_from("=QI", found, _BIRTH_AT)
    return f"{seconds}.{nanoseconds:09}" if mask & _BIRTH else ""


@cache
def _statx() -> Callable[..., int] | None:
    """The call of the C library; None in one that has none."""
    return getattr(ctypes.CDLL(None), "statx", None)


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
