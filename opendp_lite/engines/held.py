"""Rows held to what a space declares, where only reading them shows whether it is so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs

from opendp_lite.engines.door import read
from opendp_lite.engines.reduced import Job, Merge, reduced
from opendp_lite.engines.source import Source
from opendp_lite.errors import DataError


def held(source: Source, columns: int, size: int | None) -> Source:
    """The rows of a source, refused where they have another width or number than declared."""
    found = source.size
    if found is not None:
        require_size(found, size)
        if source.columns is not None:
            return source
    return _Held(source, columns, size)


def require_size(found: int, size: int | None) -> None:
    if size not in (None, found):
        raise DataError(
            f"records(size={size}) was declared and the data has another number of rows; declare "
            "the true size, or use SymmetricDistance() where it is private"
        )


@attrs.frozen(eq=False, repr=False)
class _Held(Source):
    """Rows of which the width or the number is known once they were read."""

    source: Source
    width: int
    declared: int | None

    @property
    def columns(self) -> int:
        return self.width

    @property
    def names(self) -> tuple[str, ...] | None:
        return self.source.names

    @property
    def library(self) -> str:
        return self.source.library

    def blocks(self) -> Iterator[Any]:
        counted = _Counted(self.source, self.width)
        yield from counted.blocks()
        require_size(counted.rows, self.declared)


@attrs.define(eq=False, repr=False)
class _Counted(Source):
    """Rows of one width, which are counted as they are read."""

    source: Source
    width: int
    rows: int = 0

    @property
    def columns(self) -> int:
        return self.width

    @property
    def part(self) -> int | None:
        return self.source.part

    def blocks(self) -> Iterator[Any]:
        others: set[int] = set()
        for block in read(self.source):
            self.rows += len(block)
            if block.shape[1] == self.width:
                yield block
            elif len(block):
                others.add(block.shape[1])
        if others:
            raise DataError(f"a block has {min(others)} columns, {self.width} were declared")


@reduced.register
def _of_held(source: _Held, job: Job, merge: Merge) -> Any:
    """As the source itself does it, the rows counted on the way."""
    found, rows = reduced(
        source.source, partial(_with_count, job, source.width), partial(_both, merge)
    )
    require_size(rows, source.declared)
    return found


def _with_count(job: Job, columns: int, part: Source) -> tuple[Any, int]:
    counted = _Counted(part, columns)
    return job(counted), counted.rows


def _both(merge: Merge, first: tuple[Any, int], second: tuple[Any, int]) -> tuple[Any, int]:
    return merge(first[0], second[0]), first[1] + second[1]
