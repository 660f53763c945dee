"""Data larger than memory: blocks that can be gone through again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from opendp_lite.engines.rows import blocks
from opendp_lite.engines.sparse import as_rows
from opendp_lite.errors import DataError, ParameterError


def _opens_anew(blocks: object, field: object, value: Any) -> None:
    if not callable(value):
        raise ParameterError(
            "Blocks needs a function that opens the blocks anew at each call: "
            "dp.Blocks(lambda: iter(blocks))"
        )


@attrs.frozen(eq=False)
class Blocks:
    """Rows that come a block at a time.

    Takes: ``open``, a function of no arguments that gives a fresh iterable of blocks at each
        call (arrays, frames, sparse matrices: whatever a pipeline accepts); ``columns``, how many.
    Because: a release is one pass; nothing but the current block is held. A block without rows may
        have any number of columns.

    >>> import opendp_lite as dp, numpy as np
    >>> halves = dp.Blocks(lambda: iter([np.array([1.0, 2.0]), np.array([3.0])]))
    >>> (dp.clamp(0, 10) >> dp.sum())(halves)
    array([6.])
    """

    open: Callable[[], Iterable[object]] = attrs.field(validator=_opens_anew)
    columns: int = 1
    size: int | None = None
    names: tuple[str, ...] | None = None

    def declared(self, size: int | None, names: tuple[str, ...] | None) -> Blocks:
        """The same blocks as a space says: so many rows, and columns of a table by these names."""
        return attrs.evolve(self, size=size, names=names)


@blocks.register
def _of_blocks(data: Blocks) -> Iterator[Any]:
    seen = 0
    for piece in data.open():
        rows = as_rows(piece, data.names)
        width = 1 if len(rows.shape) == 1 else rows.shape[1]
        if width != data.columns:
            if not rows.shape[0]:
                continue
            raise DataError(f"a block has {width} columns, {data.columns} were declared")
        seen += rows.shape[0]
        if data.size is not None and seen > data.size:
            break
        yield from blocks(rows)
    if data.size is not None and seen != data.size:
        raise DataError(
            f"records(size={data.size}) was declared and the blocks hold another number of rows"
        )
