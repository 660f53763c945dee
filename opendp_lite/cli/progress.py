"""The line that tells, on a terminal, how fast a long pass goes through the rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

import attrs

import opendp_lite as dp
from opendp_lite.engines.data.source import RowBlocks
from opendp_lite.engines.data.table import Column

_FIRST: Final = 2.0
_EVERY: Final = 0.5


@attrs.frozen(eq=False, repr=False)
class Followed(dp.Blocks):
    """Blocks of which each pass is told about. How many rows there are is never told."""

    given: dp.Blocks = attrs.field(kw_only=True)
    terminal: TextIO = attrs.field(kw_only=True)

    @property
    def files(self) -> Any:
        return self.given.files

    def require(self, columns: Sequence[Column] | None, names: Sequence[str] | None) -> None:
        self.given.require(columns, names)

    def only(self, columns: Sequence[Column] | None) -> dp.Blocks:
        return follow_progress(self.given.only(columns), self.terminal)

    def rows_by(self, work: Callable[[object], RowBlocks]) -> RowBlocks:
        start = time.perf_counter()
        rows, told = 0, start + _FIRST - _EVERY
        try:
            for block in self.given.rows_by(work):
                rows += len(block)
                now = time.perf_counter()
                if now - told >= _EVERY:
                    told = now
                    self._tell(
                        f"reading for {now - start:.0f} s, {rows / (now - start):.1e} rows/s"
                    )
                yield block
        finally:
            if told >= start + _FIRST:
                self._tell("")

    def _tell(self, words: str) -> None:
        self.terminal.write(f"\r{words:60}\r{words}")
        self.terminal.flush()


def follow_progress(blocks: dp.Blocks, terminal: TextIO | None = None) -> dp.Blocks:
    """The same blocks, with a line on standard error for long passes if that is a terminal."""
    terminal = terminal or sys.stderr
    if terminal is None or not terminal.isatty():
        return blocks
    return Followed(
        blocks.open, blocks.columns, blocks.size, blocks.names, given=blocks, terminal=terminal
    )
