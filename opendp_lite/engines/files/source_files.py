"""Parquet files; the files that any source stands for, and the bytes of one, unpacked.

Parquet needs ``opendp_lite[arrow]``. No file of a source is left out in silence.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import has_magic
from pathlib import Path
from typing import BinaryIO, Final, cast

from opendp_lite.engines.data.blocks import Blocks, FileError
from opendp_lite.engines.data.open_data import with_pyarrow
from opendp_lite.spelling.suggestions import explain_names


@explain_names
def parquet(
    source: str | Path | Sequence[str | Path],
    columns: Sequence[str] | None = None,
    *,
    filters: object = None,
    partitioning: object = "hive",
    filesystem: object = None,
) -> Blocks:
    """Opens Parquet files, which may be larger than memory.

    A pipeline reads the columns that it needs, a batch at a time. The files declare the names and
    types of their columns, which are public. Each file is checked for the columns that you ask for
    before any row is read.

    Args:
        source: A path, a pattern such as ``data/*.parquet``, a directory, or several files.
        columns: The names of the columns to take; None for all.
        filters: Conditions such as ``[("year", "==", 2024)]``, or an Arrow expression. Only the
            rows for which they hold are data. Files and groups of rows that have none are not
            read. Choose them without looking at the data.
        partitioning: How names of directories are read as columns, as in ``pyarrow.dataset``:
            "hive" for "year=2024".
        filesystem: Of pyarrow or fsspec, for an object store. An address such as
            ``s3://bucket/visits`` needs none. Patterns are for local files.

    Returns:
        The rows as blocks for a pipeline. A null is NaN.

    Raises:
        ParameterError: If pyarrow is not installed.
        DataError: If no file is there or one cannot be opened. When the rows are read, if a file
            lacks a column, declares it as anything but what a pipeline needs, or is damaged. The
            error names the file.

    Example:
        >>> import opendp_lite as dp
        >>> import pyarrow, pyarrow.parquet, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for year, ages in {2023: [31.0, 45.0], 2024: [52.0, None]}.items():
        ...     table = pyarrow.table({"age": ages, "name": ["Ann", "Bob"]})
        ...     pyarrow.parquet.write_table(table, f"{folder.name}/{year}.parquet")
        >>> people = dp.parquet(f"{folder.name}/*.parquet", columns=["age"])
        >>> (dp.clamp(0, 100) >> dp.sum())(people)
        NotPrivate([128.])
        >>> folder.cleanup()
    """
    reader = with_pyarrow("opendp_lite.engines.files.arrow", "dp.parquet")
    found: Blocks = reader.parquet_blocks(source, columns, filters, partitioning, filesystem)
    return found


_HIDDEN: Final = (".", "_")
# One slash, for ``Path`` leaves one of two; two letters, for one may be a drive.
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def files_named(source: str | Path) -> list[Path] | None:
    """The files of a directory or a pattern in order; None where it is one file.

    A directory that a pattern finds stands for its files. Files and directories whose names begin
    with a point or an underscore are not data. None of the others is left out in silence.

    Raises:
        FileError: If there is none, or one cannot be there to be read.
        OSError: If a directory cannot be listed.
    """
    path = Path(source)
    require_no_address(source)
    if path.is_dir():
        found = _within(path, frozenset())
    elif has_magic(str(source)) and not path.exists():
        found = _data(_matching(path), frozenset())
    else:
        return None
    files = sorted(set(found))
    if not files:
        where = "in " if path.is_dir() else ""
        raise FileError(f"there is no file {where}{str(source)!r}")
    return files


def require_no_address(source: str | Path) -> None:
    """Refuses what names no file of this machine. Of an address, which may hold a password, it
    shows the first word alone.
    """
    if is_address(source):
        word = str(source).partition("/")[0] + "/"
        raise FileError(
            f"the source begins with {word!r}: it is an address and no file of this machine; "
            "download it first and give its path, or hand dp.parquet a filesystem="
        )


def is_address(source: str | Path) -> bool:
    """Whether it names a place elsewhere, and no file of this machine."""
    return _ADDRESS.match(str(source)) is not None and not Path(source).exists()


def _matching(pattern: Path) -> Iterator[Path]:
    """What a pattern finds, behind no hidden directory that it does not name at its start."""
    named = next(place for place, part in enumerate(pattern.parts) if has_magic(part))
    for path in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        if not any(part.startswith(_HIDDEN) for part in path.parts[named:]):
            yield path


def _data(paths: Iterable[Path], above: frozenset[str]) -> Iterator[Path]:
    """The files among some paths, and those of the directories among them."""
    for path in paths:
        if path.name.startswith(_HIDDEN):
            continue
        if path.is_dir():
            yield from _within(path, above)
        elif path.is_file():
            yield path
        else:
            raise FileError(f"{path}: it is a link to a file that is not there, or no file")


def _within(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    """The files of a directory; what lies behind a link to a directory above was seen there."""
    real = os.path.realpath(folder)
    return iter(()) if real in above else _data(folder.iterdir(), above | {real})


_GZIP = b"\x1f\x8b"
_NOT_CSV: Final = {
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"PAR1": "a Parquet file; read it with dp.parquet, or in a shell give it a name that ends in "
    ".parquet",
    b"BZh91AY&SY": "packed with bzip2; unpack it, or pack it with gzip",
    b"\xfd7zX": "packed with xz; unpack it, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "packed with zstandard; unpack it, or pack it with gzip",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}
_PACKED: Final = {_GZIP: "packed with gzip twice; unpack it once", **_NOT_CSV}
# Enough for the header of gzip, in which a name may stand, and for the first bytes behind it.
_START: Final = 2**16


class _FromStart(io.RawIOBase):
    """A stream from its beginning, after its first bytes were read: a pipe goes back nowhere."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


def unpack(stream: BinaryIO) -> BinaryIO:
    """The bytes of a stream, unpacked if its first ones say that it is packed."""
    start = b""
    # A pipe may give its bytes one by one.
    while len(start) < _START and (more := stream.read(_START - len(start))):
        start += more
    _refuse_marks(start, _NOT_CSV)
    whole = cast(BinaryIO, io.BufferedReader(_FromStart(start, stream)))
    if not start.startswith(_GZIP):
        return whole
    # Damage is told once all was read, and not by the first bytes.
    with suppress(OSError, EOFError, zlib.error):
        _refuse_marks(gzip.GzipFile(fileobj=io.BytesIO(start)).peek(1), _PACKED)
    return cast(BinaryIO, gzip.GzipFile(fileobj=whole))


def _refuse_marks(start: bytes, marks: Mapping[bytes, str]) -> None:
    for mark, what in marks.items():
        if start.startswith(mark):
            raise FileError(f"the file is {what}")
