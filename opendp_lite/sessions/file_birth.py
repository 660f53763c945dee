"""When a file was made: a copy has a later birth, although it may get the number of a lost file."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

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
def _statx() -> Any:
    """The call of the C library; None in one that has none."""
    return getattr(ctypes.CDLL(None), "statx", None)


def _whole(buffer: ctypes.Array[ctypes.c_char], start: int, count: int) -> int:
    return int.from_bytes(buffer.raw[start : start + count], sys.byteorder)
