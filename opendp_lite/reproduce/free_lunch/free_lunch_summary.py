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
_FAR: Final = 3
"""Standard errors: of 48 errors one is farther off by chance in 12 % of all tables."""
_UNKNOWN: Final = "no reason is known"


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
    if printed:
        blocks.append(fill(_agreement(printed), _WIDTH))
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
    return f"{kind.of(cell).found:.4f}{'*' if _is_off(kind.of(cell)) else ' '}"


def _is_off(entry: ErrorEntry) -> bool:
    """Whether it lies farther from the printed value than Monte Carlo errors do: a star."""
    return abs(entry.standard_errors or 0.0) > _FAR


def _agreement(cells: Sequence[FreeLunchCell]) -> str:
    off = {
        f"{_name(cell)}, {kind.title}": abs(kind.of(cell).standard_errors or 0.0)
        for cell in cells
        for kind in _KINDS
    }
    starred = sum(_is_off(kind.of(cell)) for cell in cells for kind in _KINDS)
    near = {name: each for name, each in off.items() if each <= _FAR}
    rule = f"within {_FAR} standard errors of the printed ones: Monte Carlo error, theirs included"
    said = [f"{len(near)} of {len(off)} errors lie {rule}."]
    if near:
        farthest = max(near, key=lambda name: near[name])
        said.append(f"The farthest of them ({farthest}) is {near[farthest]:.1f} off.")
    if starred:
        have = "has" if starred == 1 else f"{starred} have"
        said.append(f"The other {have} a star.")
    return " ".join(said)


def _name(cell: FreeLunchCell) -> str:
    return f"{cell.setting.dataset.name}, {cell.setting.law.name}, {cell.estimator.label}"


def _differences(cells: Sequence[FreeLunchCell]) -> list[tuple[str, str]]:
    """Why errors have stars, with the differences."""
    found: dict[str, list[list[str]]] = {}
    for cell in cells:
        if any(_is_off(kind.of(cell)) for kind in _KINDS):
            lines = found.setdefault(cell.unexplained or _UNKNOWN, [])
            lines.append([f"  {_name(cell)}", *(_off(kind.of(cell)) for kind in _KINDS)])
    title = ["  above the printed value", *(f"{kind.title}  " for kind in _KINDS)]
    return [(why, aligned([title, *lines])) for why, lines in found.items()]


def _off(entry: ErrorEntry) -> str:
    return f"{entry.percent:+.1f} %, {entry.standard_errors:+.1f} standard errors"
