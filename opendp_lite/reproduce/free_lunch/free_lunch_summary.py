"""The text after an experiment: the printed table with ours beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Final

import attrs

from opendp_lite.reproduce.free_lunch.free_lunch_cells import ErrorEntry, FreeLunchCell
from opendp_lite.reproduce.free_lunch.free_lunch_published import DEDUCED
from opendp_lite.reproduce.plan_summary import aligned

_WIDTH: Final = 100
_SURE: Final = 5.0
"""Standard errors: of 36 cells one is farther off once in 50 000 times."""


@attrs.frozen
class Kind:
    """One of the two errors of a cell."""

    title: str
    of: Callable[[FreeLunchCell], ErrorEntry]


_KINDS: Final = (
    Kind("mean absolute error", lambda cell: cell.absolute),
    Kind("root mean squared error", lambda cell: cell.squared),
)


def comparison(cells: Sequence[FreeLunchCell]) -> str:
    """A block for each kind of error, then remarks on the differences."""
    blocks = [_block(kind, cells) for kind in _KINDS]
    printed = [cell for cell in cells if cell.squared.printed is not None]
    explained = [cell for cell in printed if cell.unexplained is None]
    if explained:
        blocks.append(fill(_agreement(explained), _WIDTH))
    blocks += [fill(f"* {why}:", _WIDTH) + "\n" + found for why, found in _differences(printed)]
    if printed:
        blocks += [fill(each, _WIDTH) for each in DEDUCED]
    return "\n\n".join(blocks)


def _block(kind: Kind, cells: Sequence[FreeLunchCell]) -> str:
    columns = list(dict.fromkeys((cell.setting.dataset, cell.setting.law) for cell in cells))
    found = {(cell.estimator, cell.setting.dataset, cell.setting.law): cell for cell in cells}
    lines = [
        [kind.title, *(f"{dataset.name} " for dataset, _ in columns)],
        ["", *(f"{law.name} " for _, law in columns)],
    ]
    for estimator in sorted({cell.estimator: None for cell in cells}, key=lambda each: each.ours):
        row = [found.get((estimator, *column)) for column in columns]
        printed = [_printed(cell, kind) for cell in row]
        if any(printed):
            lines.append([f"{estimator.label}, printed", *printed])
        lines.append(
            ["  here" if any(printed) else estimator.label, *(_found(cell, kind) for cell in row)]
        )
    return aligned(lines)


def _printed(cell: FreeLunchCell | None, kind: Kind) -> str:
    value = None if cell is None else kind.of(cell).printed
    return "" if value is None else f"{value:.4f} "


def _found(cell: FreeLunchCell | None, kind: Kind) -> str:
    if cell is None:
        return ""
    return f"{kind.of(cell).found:.4f}{'*' if cell.unexplained else ' '}"


def _agreement(cells: Sequence[FreeLunchCell]) -> str:
    off = {
        f"{_name(cell)}, {kind.title}": abs(kind.of(cell).standard_errors or 0.0)
        for cell in cells
        for kind in _KINDS
    }
    farthest = max(off, key=lambda name: off[name])
    far = sum(each > _SURE for each in off.values())
    how = (
        f"{len(off)} cells agree with the printed ones within Monte Carlo error"
        if far == 0
        else f"{far} of {len(off)} cells that should agree with the printed ones do not"
    )
    return f"{how}: the farthest ({farthest}) is {off[farthest]:.1f} standard errors off."


def _name(cell: FreeLunchCell) -> str:
    return f"{cell.setting.dataset.name}, {cell.setting.law.name}, {cell.estimator.label}"


def _differences(cells: Sequence[FreeLunchCell]) -> list[tuple[str, str]]:
    """Each reason that a printed value cannot be reproduced, with the differences."""
    found: list[tuple[str, str]] = []
    for why in dict.fromkeys(cell.unexplained for cell in cells if cell.unexplained):
        lines = [["  above the printed value", *(f"{kind.title}  " for kind in _KINDS)]]
        for cell in cells:
            if cell.unexplained == why:
                lines.append([f"  {_name(cell)}", *(_off(kind.of(cell)) for kind in _KINDS)])
        found.append((why, aligned(lines)))
    return found


def _off(entry: ErrorEntry) -> str:
    return f"{entry.percent:+.1f} %, {entry.standard_errors:+.1f} standard errors"
