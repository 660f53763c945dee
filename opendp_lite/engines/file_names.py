"""The files that a pattern or a directory stands for."""

from __future__ import annotations

from glob import has_magic
from pathlib import Path

from opendp_lite.engines.file_column import FileError


def files_named(source: str | Path) -> list[Path] | None:
    """The files of a directory or a pattern in order; None where it is one file.

    Files whose names begin with a point or an underscore are not data.

    Raises:
        FileError: If there is none.
    """
    path = Path(source)
    if path.is_dir():
        found = path.rglob("*")
    elif has_magic(str(source)) and not path.exists():
        found = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    else:
        return None
    files = sorted(each for each in found if each.is_file() and each.name[0] not in "._")
    if not files:
        where = "in " if path.is_dir() else ""
        raise FileError(f"there is no file {where}{str(source)!r}")
    return files
