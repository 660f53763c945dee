"""Rows that are mapped lazily, and several folds of them in one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.columns import Dataset, Picked
from opendp_lite.engines.data.arrays import Whole
from opendp_lite.engines.data.expressions import (
    Engine,
    GroupNumbers,
    KeyedCells,
    NoExpressionError,
    Term,
    compute,
    express_of,
    why_batches,
)
from opendp_lite.engines.data.fold import (
    AnyReduction,
    AsTheyLie,
    Block,
    Floats,
    Numeric,
    Reduction,
    Summary,
    keep_freed,
)
from opendp_lite.engines.data.open_data import read
from opendp_lite.engines.data.source import (
    QUIET,
    Keys,
    Source,
    blocks_of,
    quiet_for,
    reduce,
    require_here,
)
from opendp_lite.engines.data.sparse import RowBlock, apply_block, summarise_block
from opendp_lite.engines.data.table import Column
from opendp_lite.numbers.edges import count_between

# Entries that go step by step: the other way begins more slowly.
_FEW: Final = 4096
Taken = TypeVar("Taken")
AnyAsTheyLie: TypeAlias = AsTheyLie[Any]
"""A fold of pieces as they lie, whatever it makes of them."""


@attrs.frozen(eq=False, repr=False)
class Part:
    """A block function, and the name of the step that it is a part of."""

    function: Block
    step: str = ""


class OfWhole(ABC):
    """A function in a plan that works on a whole value, and not on its blocks one after another."""

    row_by_row: ClassVar[bool] = True
    """Whether it is known to treat each row by itself."""

    @abstractmethod
    def __call__(self, value: Any, /) -> Any:
        """What it makes of a table, of rows or of an exact value."""


@attrs.frozen(eq=False, repr=False)
class LazyRows:
    """Rows with block functions that wait to be applied to them.

    Attributes:
        source: An opened container.
        functions: Applied one after the other to each block.
        keys: Random words for rows, of the release that they are read for; None for no release.
        table: What the source was picked from: all that is picked from it can be read in one pass.
        asked: Its columns that the source holds.
    """

    source: Source
    functions: tuple[Part, ...] = ()
    keys: Keys | None = None
    table: Dataset | None = None
    asked: tuple[Column, ...] = ()

    @property
    def library(self) -> str:
        """Of rows on other machines: the library that computes them. Else nothing."""
        return self.source.library

    def numbers(self) -> LazyRows:
        """Itself: a table gives its columns as numbers here."""
        return self

    def for_release(self, keys: Keys) -> LazyRows:
        """The same rows, with random words of a release; ``attrs.evolve`` takes 3 us."""
        return LazyRows(self.source, self.functions, keys, self.table, self.asked)

    def map_rows(self, *parts: Part) -> LazyRows:
        """The same with further block functions; nothing is computed yet."""
        functions = (*self.functions, *parts)
        return LazyRows(self.source, functions, self.keys, self.table, self.asked)

    def __reduce__(self) -> tuple[object, ...]:
        """Sent elsewhere without the table."""
        return LazyRows, (self.source, self.functions, self.keys)


@attrs.frozen(eq=False, repr=False)
class FoldRequest(Generic[Summary]):
    """Rows, how they are to be summed up, and the step to name where that is refused."""

    rows: LazyRows
    how: Reduction[Summary]
    step: str = ""


AnyRequest: TypeAlias = FoldRequest[Any]


def materialise(rows: LazyRows) -> Floats:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    found = from_blocks(rows, np.array)
    return np.concatenate(found) if found else np.empty((0, 0))


def from_blocks(rows: LazyRows, take: Callable[[RowBlock], Taken]) -> list[Taken]:
    """What is taken of each block of mapped rows, in order; it must be a copy."""
    with quiet_for(rows.source), np.errstate(all="ignore"):
        return [take(_map_rows(block, rows.functions)) for block in read(rows.source)]


def _map_rows(block: RowBlock, functions: Sequence[Part]) -> RowBlock:
    for part in functions:
        block = apply_block(block, part.function, part.step)
    return block


@attrs.frozen(eq=False, repr=False)
class _Plan:
    """A fold with the block functions that come before it; what an ask is without its rows."""

    functions: tuple[Part, ...]
    how: AnyReduction
    step: str

    @classmethod
    def of(cls, ask: AnyRequest, held: tuple[Column, ...], places: Mapping[Column, int]) -> _Plan:
        """What is to be done for an ask, which first picks its columns of those that are held."""
        functions, asked = ask.rows.functions, ask.rows.asked
        if asked != held:
            functions = (Part(Picked(tuple(map(places.__getitem__, asked))), "select"), *functions)
        return cls(functions, ask.how, ask.step)


def summaries(asks: Sequence[AnyRequest]) -> list[object]:
    """What was asked for, in one pass over each source."""
    found: dict[int, object] = {}
    for places in _by_pass(asks):
        if stays_elsewhere(first := asks[places[0]]):
            found[places[0]] = first.how.without_gathering(first.rows, first.step)
        else:
            found.update(zip(places, _one_pass([asks[place] for place in places]), strict=True))
    return [found[place] for place in range(len(asks))]


def stays_elsewhere(ask: AnyRequest) -> bool:
    """Whether it would gather rows of other machines, and something stands in their place."""
    return ask.how.gathers and bool(ask.rows.library)


def _by_pass(asks: Sequence[AnyRequest]) -> list[list[int]]:
    """The places of those that share a pass over their source."""
    found: dict[int, list[int]] = {}
    for place, ask in enumerate(asks):
        alone = stays_elsewhere(ask)
        found.setdefault(id(ask if alone else ask.rows.table or ask.rows.source), []).append(place)
    return list(found.values())


def why_in_batches(asks: Sequence[AnyRequest]) -> list[str]:
    """Of each ask of tables with an engine, why it does not compute it; empty where it does."""
    found: dict[int, str] = {}
    for places in _by_pass(asks):
        table = asks[places[0]].rows.table
        if table is not None and table.engine is not None:
            terms = [partial(_term_of, asks[place]) for place in places]
            with QUIET:
                found.update(zip(places, why_batches(table.engine, terms), strict=True))
    return [found[place] for place in range(len(asks))]


def _one_pass(asks: Sequence[AnyRequest]) -> list[object]:
    """The summaries of rows of one source or table, in one pass over it."""
    source, table, wanted = asks[0].rows.source, asks[0].rows.table, asks[0].rows.asked
    engine = None if table is None else table.engine
    if engine is not None:
        with QUIET:
            computed = compute(engine, [partial(_term_of, ask) for ask in asks])
        if computed is not None:
            return computed
    if table is not None and len({id(ask.rows.source) for ask in asks}) > 1:
        wanted = tuple(dict.fromkeys(column for ask in asks for column in ask.rows.asked))
        source, _ = table.columns(wanted)
    places = {column: place for place, column in enumerate(wanted)}
    plans = [_Plan.of(ask, wanted, places) for ask in asks]
    with quiet_for(source):
        found: list[object] = reduce(source, partial(_fold_rows, plans), partial(_merge, plans))
    return found


def _term_of(ask: AnyRequest, engine: Engine) -> Term:
    """An ask in the expressions of an engine."""
    groups, how, functions = ask.how.by_groups()
    before = [part.function for part in ask.rows.functions]
    if groups is None:
        before, functions = [], before
    count = 0 if groups is None else len(groups.columns)
    read = [column.reading.express(column.name, engine) for column in ask.rows.asked]
    told = _express(before, read, engine)
    values = _express(functions, told[count:], engine)
    # What is NULL is left out here, whether or not a step says so.
    leaves_out = any(getattr(function, "leaves_out", False) for function in functions)
    if told[count:] and not leaves_out:
        raise NoExpressionError("rows with missing values count")
    keys = tuple(key for places in told[:count] for key in places.keys)
    if groups is not None and tuple(len(each) for _, each in keys) != groups.widths:
        raise NoExpressionError("rows with no declared key are a group of their own")
    # Where no column is read, each row counts, and each that is left has a key.
    first = values or [key for key, _ in keys[:1]]
    if not first:
        raise NoExpressionError("it counts rows of which no column is read")
    lying = how.as_they_lie(functions) if values else None
    shorter = None if lying is None else lying.express(told[count:], engine)
    places, wanted = shorter or how.express(first, engine)
    own = (tuple(functions), ask.rows.asked) if places.keys else None
    # Keys are those of the rows that are kept, by tests of which none knows its column.
    tests = [(getattr(each, "place", None), getattr(each, "test", None)) for each in before]
    kept = tuple((ask.rows.asked[at], test) for at, test in tests if at is not None)
    asked = (groups, kept, own) if keys or own else None
    summary = partial(_summary_of, how, groups, places.widths)
    quick = bool(places.cells) or any(isinstance(each, KeyedCells) for each in read)
    return Term(asked, keys + places.keys, wanted, summary, quick)


def _express(functions: Sequence[Block], values: Sequence[object], engine: Engine) -> Sequence[Any]:
    """An engine's columns after block functions."""
    for function in functions:
        values = express_of(function)(values, engine)
    return values


def _summary_of(
    how: AnyReduction, groups: Any, widths: Sequence[int], places: Floats, numbers: GroupNumbers
) -> object:
    """The summaries by group; a combination of keys that is no group has none."""
    told, rest = np.split(places, [places.shape[1] - len(widths)], axis=1)
    codes = np.zeros(len(places)) if groups is None else groups.of(told)
    known = np.flatnonzero(~np.isnan(codes))
    at = np.zeros(len(known))
    for column, width in enumerate(widths):
        at = at * width + rest[known, column]
    count = 1 if groups is None else groups.count
    found = how.of_numbers(codes[known].astype(np.intp), at.astype(np.intp), numbers[known], count)
    return how.each_group(found, 1)[0] if groups is None else found


def _merge(plans: Sequence[_Plan], first: list[object], second: list[object]) -> list[object]:
    pairs = zip(plans, first, second, strict=True)
    return [plan.how.merge(one, other) for plan, one, other in pairs]


def _fold_rows(given: Sequence[_Plan], source: Source) -> list[object]:
    plans = [_Plan(plan.functions, plan.how.of_part(source), plan.step) for plan in given]
    totals: list[object] | None = None
    with np.errstate(all="ignore"):
        for found in _each_summary(plans, source):
            totals = found if totals is None else _merge(plans, totals, found)
    return [plan.how.empty() for plan in plans] if totals is None else totals


def _each_summary(plans: Sequence[_Plan], source: Source) -> Iterator[list[object]]:
    """The summaries of some rows after others.

    What is missing is left out first where each fold leaves it out: entry by entry functions and
    leaving out rows may change places. Else such a piece goes step by step.
    """
    lying: list[AnyAsTheyLie] = []
    if (size := source.size) is None or size * (source.columns or 1) > _FEW:
        keep_freed()
        folds = (each.how.as_they_lie([x.function for x in each.functions]) for each in plans)
        lying = [how for how in folds if how is not None]
    if len(lying) < len(plans):
        yield from map(partial(_step_by_step, plans), read(source))
        return
    for piece in read(source, as_they_lie=True):
        if type(piece) is not np.ndarray or not piece.size:
            yield _step_by_step(plans, piece)
            continue
        found = _parts(lying, piece)
        if found is None and len(kept := _without_missing(plans, piece)):
            found = _parts(lying, kept)
        if found is None:
            yield from map(partial(_step_by_step, plans), blocks_of(piece))
        else:
            yield found


def _without_missing(plans: Sequence[_Plan], piece: Numeric) -> Numeric:
    """The rows that lack nothing, where every plan leaves out the others; else none."""
    for plan in plans:
        treatments = (part.function for part in plan.functions)
        first = next((each for each in treatments if getattr(each, "only_missing", False)), None)
        if not getattr(first, "leaves_out", False):
            return piece[:0]
    return first(piece)  # type: ignore[misc]


def _parts(lying: Sequence[AnyAsTheyLie], piece: Numeric) -> list[object] | None:
    """What each fold makes of a piece; None where an entry is NaN."""
    found: list[object] = []
    for how in lying:
        part = how.part(piece, seen=bool(found))
        if part is None:
            return None
        found.append(part)
    return found


def _step_by_step(plans: Sequence[_Plan], block: RowBlock) -> list[object]:
    """The summaries of a block; functions with which plans begin alike are applied to it once."""
    made: dict[tuple[int, Block], RowBlock] = {}
    found: list[object] = []
    for plan in plans:
        rows = block
        for part in plan.functions:
            # All rows that were made are held, so each has an address of its own.
            same = id(rows), part.function
            if same not in made:
                made[same] = apply_block(rows, part.function, part.step)
            rows = made[same]
        found.append(summarise_block(rows, plan.how, plan.step))
    return found


Pieces = tuple[Floats, ...]


class CollectRows(Reduction[Pieces]):
    """Copies of the blocks, each turned into rows of one column's numbers.

    Args:
        columns: How many the rows have.
        instead: What to type where the rows may not fit into memory, if they are then refused.
    """

    def __init__(self, columns: int, instead: str = "") -> None:
        self._columns = columns
        self._instead = instead

    gathers = True

    def without_gathering(self, rows: LazyRows, step: str) -> object:
        require_here(rows.library, step, self._instead)
        return None

    def empty(self) -> Pieces:
        return ()

    def summarise(self, block: Floats) -> Pieces:
        return (block.T.copy(),)

    def finish(self, pieces: Pieces) -> Floats:
        """One array of shape (columns, rows), its to change."""
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty((self._columns, 0)), *pieces], axis=1)


Counts = NDArray[np.int64]


class RankCounts(Reduction[Counts]):
    """For each column and each of some rising points: numbers below it, numbers at it or below.

    NaN counts as above all points. The summary has the shape (columns, 2, points + 1); the last
    entries are the number of rows.
    """

    def __init__(self, points: Floats, columns: int) -> None:
        self._points = points
        self._columns = columns

    def empty(self) -> Counts:
        return np.zeros((self._columns, 2, len(self._points) + 1), dtype=np.int64)

    def summarise(self, block: Floats) -> Counts:
        found = self.empty() + len(block)
        for counts, numbers in zip(found, block.T, strict=True):
            rising = np.sort(numbers)
            counts[0, :-1] = rising.searchsorted(self._points, "left")
            counts[1, :-1] = rising.searchsorted(self._points, "right")
        return found


class CellCounts(Reduction[Whole]):
    """Counts the numbers of one column in each cell.

    A number at an edge belongs to the cell below it, so the cells up to an edge hold the numbers up
    to it. There is no NaN among them.

    Args:
        edges: The edges between the cells, which rise; one fewer than cells.
    """

    def __init__(self, edges: Floats) -> None:
        self._edges = edges

    def empty(self) -> Whole:
        return np.zeros(len(self._edges) + 1, dtype=np.int64)

    def summarise(self, block: Floats) -> Whole:
        return count_between(self._edges, block[:, 0], "right")
