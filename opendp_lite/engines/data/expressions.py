"""What a plan adds up, said in the expressions of an engine of columns, which computes it itself.

A reading of a column, a block function and a fold each say their meaning once, against the few
words of ``Engine``. Where one has no ``express``, or an engine no word for a type, it is refused
by ``NoExpressionError``. The rows then come in batches, and the integers are the same: docs/grid.md
has the arithmetic.

A missing value is NULL from the first column on: engines do not agree on how NaN compares. NULL
passes through each operation here, and sums and counts leave it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf, ldexp, nan, prod
from typing import Any, ClassVar, Final, Self, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError

Expression: TypeAlias = Any
"""Of one engine. Those of numbers add, subtract, multiply and compare as floats do, with floats as
well; comparisons are joined by & and |."""
DeclaredKeys: TypeAlias = "tuple[tuple[Expression, Sequence[Hashable]], ...]"
"""Expressions of keys, each with the values whose groups are asked for."""
GroupNumbers: TypeAlias = NDArray[Any]
"""Whole numbers as objects: a row for each group, a column for each that was wanted."""

_MOST_KEYS: Final = 2**12


class NoExpressionError(Exception):
    """Why the rows have to come in batches, in words that are public."""


class Engine(ABC):
    """Rows of an engine that computes expressions of its columns."""

    sums: ClassVar[bool] = False
    """Whether sums of numbers are quicker there than in blocks, as what needs keys or cells is."""
    library: ClassVar[str]
    """Its name, as people write it."""
    barred: ClassVar[str] = ""
    """A character that no text there has."""
    most_edges: ClassVar[int] = 32
    """Edges between which it counts: each is a comparison of each row, which a block needs not."""

    @property
    def session(self) -> Hashable:
        """What it has to be found right for, once; nothing where that is this process."""
        return None

    @property
    def is_own(self) -> bool:
        """Whether no function that is used here was put in the place of its own."""
        return True

    @classmethod
    @abstractmethod
    def public(cls, session: Any, columns: Mapping[str, list[Any]], /) -> Self:
        """The engine on columns x of floats, i of whole numbers of 64 bits, k of texts."""

    @abstractmethod
    def number(self, name: str) -> Expression | None:
        """A column of numbers as float64, NULL for NaN. None where the type may give others."""

    @abstractmethod
    def key(self, name: str, kind: type) -> Expression | None:
        """A column of ``str`` as bytes, or one of ``int``; None where the type is another."""

    @abstractmethod
    def clip(self, value: Expression, low: float, high: float) -> Expression:
        """The value between two floats; NULL stays NULL."""

    @abstractmethod
    def choose(self, condition: Expression, value: Expression) -> Expression:
        """The value where a comparison holds; NULL where it does not, or is NULL itself."""

    @abstractmethod
    def is_there(self, value: Expression) -> Expression:
        """Whether it is not NULL."""

    @abstractmethod
    def among(self, key: Expression, values: Sequence[Hashable]) -> Expression:
        """Whether a key is one of these, as ``to_key`` has them."""

    @abstractmethod
    def total(self, raised: Expression, exponent: int) -> Expression:
        """The exact sum of ``lower(raised, exponent)``, of any number of rows."""

    @abstractmethod
    def count(self, value: Expression) -> Expression:
        """How many values are not NULL."""

    @abstractmethod
    def ask(self, keys: DeclaredKeys, wanted: Sequence[Expression]) -> Iterable[Sequence[Any]]:
        """A row for each group that there is, declared or not: its keys, then what is wanted.

        Of no keys it is one row. What is wanted can be made an ``int``; a sum of nothing is None.
        """


def total_of(engine: Engine, value: Expression, exponent: int, least: int, most: int) -> Expression:
    """The sum of the grid steps of numbers, clipped between two numbers of steps.

    To add 1.5 * 2^52 units rounds to the nearest, ties to even, and all after it is exact.
    """
    inside = engine.clip(value, ldexp(least, exponent), ldexp(most, exponent))
    return engine.total(inside + ldexp(1.5, 52 + exponent), exponent)


def lower(raised: Expression, exponent: int) -> Expression:
    """The steps of what was raised by 1.5 * 2^52 of them: whole floats, at most 2^51 in size.

    Scaling comes last: before, a small number could underflow, of which some engines make an error.
    """
    return (raised - ldexp(1.5, 52 + exponent)) * ldexp(1.0, -exponent)


@attrs.frozen(eq=False)
class KeyedCells:
    """The place of each row in a list of them, where rows are counted or told apart.

    Attributes:
        keys: What says it: the last key changes fastest. A row without one of them has no place.
        cells: And behind them an expression for each cell, which is NULL outside of it; of one cell
            none.
    """

    keys: DeclaredKeys
    cells: tuple[Expression, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        """How many places each key has."""
        return tuple(len(values) for _, values in self.keys)

    @property
    def count(self) -> int:
        """How many places there are."""
        return prod(self.widths) * max(1, len(self.cells))


Expressed: TypeAlias = tuple[KeyedCells, Sequence[Expression]]
"""Places, and the whole numbers that an engine computes for each of them."""


def express_of(function: object) -> Callable[..., Any]:
    """What says a block function, or a test of rows, in the expressions of an engine."""
    express: Callable[..., Any] | None = getattr(function, "express", None)
    if express is None:
        raise NoExpressionError("it has no expression")
    return express


def keep_where(engine: Engine, condition: Expression, value: Expression) -> Expression:
    """The value, or the places, of rows for which a comparison holds; the others have none."""
    if isinstance(value, KeyedCells):
        return KeyedCells(tuple((engine.choose(condition, key), each) for key, each in value.keys))
    return engine.choose(condition, value)


@attrs.frozen(eq=False)
class Term:
    """What an engine is to compute for one fold.

    Attributes:
        groups: What tells the groups apart, the same for folds of the same groups.
        keys: Of these groups.
        wanted: Whole numbers of each group.
        summary: The summary of the fold: of the places of the keys of each group, and its numbers.
        quick: Whether every engine is quicker with it than blocks are.
    """

    groups: Hashable
    keys: DeclaredKeys
    wanted: Sequence[Expression]
    summary: Callable[[NDArray[np.float64], GroupNumbers], object]
    quick: bool


FindTerm: TypeAlias = Callable[[Engine], Term]
"""What an engine is to compute for one fold; raises ``NoExpressionError`` where it cannot."""


def compute(engine: Engine, find_terms: Sequence[FindTerm]) -> list[object] | None:
    """The summary of each term, as the engine computes it; None where blocks have to come.

    What fails in the engine is not shown: blocks then say whatever is to be said.
    """
    try:
        terms = [find_term(engine) for find_term in find_terms]
        _require_use(engine, terms)
        return _answers(engine, terms)
    except MemoryError:
        raise
    except Exception:
        return None


def why_batches(engine: Engine, find_terms: Sequence[FindTerm]) -> list[str]:
    """Of each fold of a pass, why the engine does not compute it; empty where it does."""
    terms, reasons = list[Term](), list[str]()
    for find_term in find_terms:
        why = ""
        try:
            terms.append(find_term(engine))
        except NoExpressionError as problem:
            why = str(problem)
        except Exception:
            why = f"{engine.library} could not say it"
        reasons.append(why)
    other = "another part of the same pass comes in batches" if any(reasons) else ""
    try:
        _require_use(engine, terms)
    except NoExpressionError as problem:
        other = other or str(problem)
    except DataError:  # such as a lost connection, which no batches are read from either
        raise
    except Exception:
        other = other or f"{engine.library} could not sum a public table of numbers"
    return [why or other for why in reasons]


def _require_use(engine: Engine, terms: Sequence[Term]) -> None:
    """Refuses what blocks are quicker with, and an engine that has not been found right."""
    if not (engine.sums or any(term.quick for term in terms)):
        raise NoExpressionError(f"{engine.library} is not quicker with it")
    if not engine.is_own:
        raise NoExpressionError("a macro or a setting of yours changes what is used here")
    if not _is_right(type(engine), engine.session):
        raise NoExpressionError(f"{engine.library} sums a public table of numbers wrong")


def _answers(engine: Engine, terms: Sequence[Term]) -> list[object]:
    """The summaries, by one query for all terms of the same groups."""
    found: dict[int, object] = {}
    for groups in dict.fromkeys(term.groups for term in terms):
        same = [place for place, term in enumerate(terms) if term.groups == groups]
        wanted = [each for place in same for each in terms[place].wanted]
        places, numbers = _ask(engine, terms[same[0]].keys, wanted)
        for place in same:
            own, numbers = np.split(numbers, [len(terms[place].wanted)], axis=1)
            found[place] = terms[place].summary(places, own)
    return [found[place] for place in range(len(terms))]


def _ask(
    engine: Engine, keys: DeclaredKeys, wanted: Sequence[Expression]
) -> tuple[NDArray[np.float64], GroupNumbers]:
    """The places of the declared keys of each group that there is, and its numbers."""
    known = [{to_key(value): place for place, value in enumerate(values)} for _, values in keys]
    places, numbers = list[list[int]](), list[list[int]]()
    for row in engine.ask(keys, wanted):
        here = [there[cell] for there, cell in zip(known, row, strict=False) if cell in there]
        if len(here) == len(keys):
            places.append(here)
            numbers.append([int(cell or 0) for cell in row[len(keys) :]])
    found = np.array(numbers, object).reshape(len(places), len(wanted))
    return np.array(places, np.float64).reshape(len(places), len(keys)), found


def to_key(value: Hashable) -> Hashable:
    """A declared key as engines have it: text as bytes."""
    return value.encode() if isinstance(value, str) else value


def number_of(engine: Engine, name: str | None) -> Expression:
    """A column of numbers."""
    number = None if name is None else engine.number(name)
    if number is None:
        raise NoExpressionError(f"the type of {name!r} is none that {engine.library} sums up here")
    return number


def key_of(engine: Engine, name: str | None, values: Sequence[Hashable]) -> Expression:
    """A column that holds keys, refused where an engine could tell values apart otherwise."""
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= {str, int}:
        raise NoExpressionError(f"the keys of {name!r} are not all text, or all whole numbers")
    if len(values) > _MOST_KEYS:
        raise NoExpressionError(f"{name!r} has more than {_MOST_KEYS} declared keys")
    (kind,) = kinds
    # A half of a pair is no text of UTF-8, and longer numbers are none of 64 bits: no key is one.
    try:
        _ = list(map(to_key, values)) if kind is str else np.array(values, np.int64)
        key = None if name is None else engine.key(name, kind)
    except (UnicodeEncodeError, OverflowError):
        key = None
    if key is None:
        raise NoExpressionError(f"the type of {name!r} is not that of its declared keys")
    return key


_GRIDS: Final = ((-40, -(2**39), 2**40), (-1, -3, 9), (-60, 2**50, 2**50 + 77), (600, -(2**51), 9))
_ODD: Final = (nan, nan, inf, -inf, -0.0, 5e-324, -5e-324, 2.2e-308, -1.7e308)
_WHOLE: Final = (0, 1, -1, 2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**62 + 257, -(2**63))
_TEXTS: Final = (
    *("a", "A", "a ", " a", "a\n", "", " ", "\t", "a\0", "\0", "0", "00", "1", "1.0", "NULL"),
    *("\u00e9", "e\u0301", "\u00df", "ss", "SS", "\ufb01", "fi", "\u03c3", "\u03c2", "\u03a3", "i"),
    *("I", "\u0131", "\u0130", "\ufeffa", "a\u200b", "\u4e2d", "\U0001f600", "a" * 99),
)


@lru_cache(maxsize=64)
def _is_right(kind: type[Engine], session: Hashable) -> bool:
    """Whether an engine computes sums of public hostile numbers as numpy does."""
    rows = {"x": _hostile_numbers()}
    rows["i"] = np.resize(np.array(_WHOLE), len(rows["x"]))
    declared = [each for each in _TEXTS[1:] if not kind.barred or kind.barred not in each]
    texts = np.resize(np.array([_TEXTS[0], *declared, None], object), len(rows["x"]))
    columns = {name: column.tolist() for name, column in (*rows.items(), ("k", texts))}
    # Of the two that are missing one is NULL, and one is NaN.
    columns["x"][0] = None
    engine = kind.public(session, columns)
    key, listed = key_of(engine, "k", declared), (_TEXTS[0], *declared[1::2])
    told = engine.among(key, list(map(to_key, listed)))
    wanted = [engine.count(engine.choose(each, key)) for each in (told, engine.is_there(key))]
    for name in rows:
        value = engine.number(name)
        wanted += [engine.count(engine.choose(each, value)) for each in _comparisons(value)]
        wanted += [engine.count(value), *_totals(engine, value)]
    # Without numpy, to which a text is one that ends in a NUL.
    texts_found = np.array([[each in listed, each is not None] for each in columns["k"]]).T

    def right(inside: NDArray[np.bool_]) -> list[int]:
        found = [int(each.sum()) for each in texts_found[:, inside]]
        for column in rows.values():
            numbers = column[inside & ~np.isnan(column)].astype(np.float64)
            found += [int(each.sum()) for each in _comparisons(numbers)]
            found += [len(numbers), *_totals(_Arrays, numbers)]
        return found

    keys = ((key, declared),)
    places, numbers = _ask(engine, keys, wanted)
    groups = {int(place): row for (place,), row in zip(places, numbers.tolist(), strict=True)}
    inside = [np.array([each == text for each in columns["k"]]) for text in declared]
    all_rows = np.ones(len(texts), np.bool_)
    return groups == dict(enumerate(map(right, inside))) and (
        _ask(engine, (), wanted)[1].tolist() == [right(all_rows)]
    )


class _Arrays:
    """What ``total_of`` needs, of numpy."""

    clip = np.clip

    @staticmethod
    def total(raised: NDArray[np.float64], exponent: int) -> int:
        return int(lower(raised, exponent).astype(np.int64).sum())


def _comparisons(value: Expression) -> list[Expression]:
    beyond = (value < -1.7e308) | (value > 2.0**52 - 1)
    return [(value >= -0.0) & (value <= 5e-324), (value >= -3.3) & (value < 0.0), beyond]


def _totals(engine: Any, value: Expression) -> list[Expression]:
    moved = engine.clip(value, -3.3, 1e9) - 0.1
    squares = total_of(engine, moved * moved, -20, 0, 2**41)
    return [squares, *(total_of(engine, value, *grid) for grid in _GRIDS)]


def _hostile_numbers() -> NDArray[np.float64]:
    """Floats that are easily got wrong: near ties and the ends, huge, tiny, and no numbers."""
    found = np.concatenate(
        [
            np.ldexp(np.add.outer([least, most, 0, 1, 2, -3], [-0.5, 0.25, 0.5, 0.75]), exponent)
            for exponent, least, most in _GRIDS
        ]
    ).ravel()
    return np.concatenate([_ODD, found, np.nextafter(found, inf), np.nextafter(found, -inf)])
