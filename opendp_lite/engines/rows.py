"""Rows that are mapped lazily, and several folds of them in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied, summarised
from opendp_lite.engines.door import read
from opendp_lite.engines.fold import AsTheyLie, Block, Fold, Scratch
from opendp_lite.engines.least_rows import Keys
from opendp_lite.engines.quiet import quiet_for
from opendp_lite.engines.reduced import reduced
from opendp_lite.engines.source import Source, blocks_of
from opendp_lite.engines.sparse import NotSparseError, densifies

_UNNAMED: Final = "a step"
_FEW: Final = 4096
"""Entries that go step by step: the other way begins more slowly."""


@attrs.frozen(eq=False, repr=False)
class Part:
    """A block function, and the name of the step that it is a part of."""

    function: Block
    step: str = ""


@attrs.frozen(eq=False, repr=False)
class LazyRows:
    """Rows with block functions that wait to be applied to them.

    Attributes:
        source: An opened container.
        functions: Applied one after the other to each block.
        fused: The name of the step that a fold of them will do itself, where there is one.
        keys: Random words for rows, of the release that they are read for; None for no release.
    """

    source: Source
    functions: tuple[Part, ...] = ()
    fused: str = ""
    keys: Keys | None = None

    def for_release(self, keys: Keys) -> LazyRows:
        """The same, read for a release."""
        return LazyRows(self.source, self.functions, self.fused, keys)

    def numbers(self) -> LazyRows:
        """Itself: a table gives its columns as numbers here."""
        return self


@attrs.frozen(eq=False, repr=False)
class MapRows:
    """The function from rows to rows by a block function; nothing is computed yet."""

    part: Part

    @classmethod
    def by(cls, function: Block) -> MapRows:
        """The function of a step that has no name yet."""
        return cls(Part(function))

    def named(self, step: str) -> MapRows:
        """The same, as a part of a step."""
        return self if self.part.step else MapRows(Part(self.part.function, step))

    def __call__(self, rows: LazyRows) -> LazyRows:
        return LazyRows(rows.source, (*rows.functions, self.part), keys=rows.keys)


def map_rows(rows: LazyRows, function: Block) -> LazyRows:
    """The rows with one more block function; nothing is computed yet."""
    return MapRows.by(function)(rows)


def unfused(
    functions: tuple[Part, ...], fused: str, how: Fold[Any]
) -> tuple[tuple[Part, ...], str]:
    """The block functions that a fold does not do itself, and the step that it does."""
    while functions and how.fuses_with(functions[-1].function):
        fused = functions[-1].step
        functions = functions[:-1]
    return functions, fused


def materialise(rows: LazyRows) -> NDArray[np.float64]:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    found = from_blocks(rows, np.array)
    return np.concatenate(found) if found else np.empty((0, 0))


def from_blocks(rows: LazyRows, taken: Callable[[Any], Any]) -> list[Any]:
    """What is taken of each block of mapped rows, in order; it must be a copy."""
    with quiet_for(rows.source), np.errstate(all="ignore"):
        return [taken(_through(block, rows.functions)) for block in read(rows.source)]


def _through(block: Any, functions: Sequence[Part]) -> Any:
    for part in functions:
        block = _mapped(block, part)
    return block


def _mapped(block: Any, part: Part) -> Any:
    try:
        return applied(block, part.function)
    except NotSparseError:
        refusal = densifies(part.step or _UNNAMED)
    raise refusal


def _summary(block: Any, plan: _Plan, scratch: Scratch) -> Any:
    try:
        return summarised(block, plan.how, scratch)
    except NotSparseError:
        refusal = densifies(plan.step or _UNNAMED)
    raise refusal


class Waiting(Protocol):
    """Rows and how they are to be folded."""

    @property
    def rows(self) -> LazyRows: ...

    @property
    def how(self) -> Fold[Any]: ...

    @property
    def step(self) -> str: ...


@attrs.frozen(eq=False, repr=False)
class _Plan:
    """A fold with the block functions that come before it, as far as it does not do them.

    ``step`` is the one to name where the fold refuses: that of what it does itself, or its own.
    """

    functions: tuple[Part, ...]
    how: Fold[Any]
    step: str

    @classmethod
    def of(cls, waiting: Waiting, pick: Block | None) -> _Plan:
        """What is to be done for a fold of rows, which may first pick its columns."""
        left, fused = unfused(waiting.rows.functions, waiting.rows.fused, waiting.how)
        first = () if pick is None else (Part(pick, "select"),)
        return cls((*first, *left), waiting.how, fused or waiting.step)

    def lying(self) -> AsTheyLie[Any, Any] | None:
        """What does it all for rows as they lie, where there is such."""
        return self.how.as_they_lie([part.function for part in self.functions])


def one_pass(waiting: Sequence[Waiting]) -> list[Any]:
    """The summaries of folds over the same source, in one pass over it."""
    sources = [each.rows.source for each in waiting]
    source, picks = sources[0].together(sources)
    plans = [_Plan.of(each, pick) for each, pick in zip(waiting, picks, strict=True)]
    with quiet_for(source):
        found: list[Any] = reduced(source, partial(_folded, plans), partial(_merged, plans))
    return found


def _merged(plans: Sequence[_Plan], first: list[Any], second: list[Any]) -> list[Any]:
    pairs = zip(plans, first, second, strict=True)
    return [plan.how.merge(one, other) for plan, one, other in pairs]


def _folded(plans: Sequence[_Plan], source: Source) -> list[Any]:
    with np.errstate(all="ignore"):
        if source.size is None or source.size * (source.columns or 1) > _FEW:
            lying = [how for how in map(_Plan.lying, plans) if how is not None]
            if len(lying) == len(plans):
                return _as_they_lie(plans, lying, source)
        if len(plans) == 1:
            return [_folded_alone(plans[0], source)]
        work = _StepByStep(plans)
        for block in read(source):
            work.add(block)
        return work.totals


def _folded_alone(plan: _Plan, source: Source) -> Any:
    how, scratch, total = plan.how, Scratch(), None
    for block in read(source):
        summary = _summary(_through(block, plan.functions), plan, scratch)
        total = summary if total is None else how.merge(total, summary)
    return how.empty() if total is None else total


def _as_they_lie(
    plans: Sequence[_Plan], lying: Sequence[AsTheyLie[Any, Any]], source: Source
) -> list[Any]:
    """The summaries of pieces as they lie.

    What is missing is left out first where each fold leaves it out: entry by entry functions and
    leaving out rows may change places. Else such a piece goes step by step.
    """
    work = _StepByStep(plans)
    parts: list[Any] | None = None
    scratches = [Scratch() for _ in lying]
    for piece in read(source, as_they_lie=True):
        if type(piece) is not np.ndarray or not piece.size:
            work.add(piece)
            continue
        found = _parts(lying, piece, scratches)
        if found is None and len(kept := _without_missing(plans, piece)):
            found = _parts(lying, kept, scratches)
        if found is None:
            for block in blocks_of(piece):
                work.add(block)
        elif parts is None:
            parts = found
        else:
            for place, how in enumerate(lying):
                parts[place] = how.merge(parts[place], found[place])
    if parts is not None:
        work.add_totals([how.finish(part) for how, part in zip(lying, parts, strict=True)])
    return work.totals


def _without_missing(plans: Sequence[_Plan], piece: NDArray[Any]) -> NDArray[Any]:
    """The rows that lack nothing, where every plan leaves out the others; else none."""
    for plan in plans:
        treatments = (part.function for part in plan.functions)
        first = next((each for each in treatments if getattr(each, "only_missing", False)), None)
        if not getattr(first, "leaves_out", False):
            return piece[:0]
    kept: NDArray[Any] = first(piece)  # type: ignore[misc]
    return kept


def _parts(
    lying: Sequence[AsTheyLie[Any, Any]], piece: NDArray[Any], scratches: Sequence[Scratch]
) -> list[Any] | None:
    """What each fold makes of a piece; None where an entry is NaN."""
    found: list[Any] = []
    for how, scratch in zip(lying, scratches, strict=True):
        part = how.part(piece, scratch, seen=bool(found))
        if part is None:
            return None
        found.append(part)
    return found


class _StepByStep:
    """The summaries so far, of blocks to which one function after another is applied."""

    def __init__(self, plans: Sequence[_Plan]) -> None:
        self._plans = plans
        self._scratches = [Scratch() for _ in plans]
        self._steps, self._places = _shared(plans)
        self._totals: list[Any] | None = None

    @property
    def totals(self) -> list[Any]:
        """Those of all blocks."""
        if self._totals is None:
            return [plan.how.empty() for plan in self._plans]
        return self._totals

    def add(self, block: Any) -> None:
        """Adds a block."""
        mapped = [block]
        for place, part in self._steps:
            mapped.append(_mapped(mapped[place], part))
        works = zip(self._places, self._plans, self._scratches, strict=True)
        self.add_totals([_summary(mapped[place], plan, scratch) for place, plan, scratch in works])

    def add_totals(self, found: list[Any]) -> None:
        """Adds the summaries of other rows."""
        self._totals = found if self._totals is None else _merged(self._plans, self._totals, found)


def _shared(plans: Sequence[_Plan]) -> tuple[list[tuple[int, Part]], list[int]]:
    """The block functions of all plans, those that begin alike done once.

    Returns:
        Each function with the place of what it is applied to, and the place of what each plan
        folds. The place 0 is the block, and i is the outcome of the function i - 1.
    """
    steps: list[tuple[int, Part]] = []
    known: dict[tuple[int, int], int] = {}
    places = []
    for plan in plans:
        place = 0
        for part in plan.functions:
            same = place, id(part.function)
            if same not in known:
                steps.append((place, part))
                known[same] = len(steps)
            place = known[same]
        places.append(place)
    return steps, places
