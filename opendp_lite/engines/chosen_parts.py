"""A table with only the rows that a rule chooses, here or where they lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, cast

import attrs
import numpy as np

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.chosen_rows import (
    Choice,
    Piece,
    Unchosen,
    chosen_rows,
    tables_of,
    with_rows,
)
from opendp_lite.engines.held import require_size
from opendp_lite.engines.identities import MIXED
from opendp_lite.engines.lazy_table import Kept, LazyTable
from opendp_lite.engines.least_rows import Keys
from opendp_lite.engines.quiet import QUIET
from opendp_lite.engines.reduced import reduced
from opendp_lite.engines.secret_words import SecretWords
from opendp_lite.engines.source import Source, first_place
from opendp_lite.engines.table import Column
from opendp_lite.errors import DataError


@attrs.frozen(eq=False, repr=False)
class ChosenPart:
    """The rows of a part that may be chosen, as they travel.

    Attributes:
        pieces: The rows.
        seen: How many were read.
        text: Whether the ids are text, of each part that says so.
    """

    pieces: tuple[Piece, ...]
    seen: int
    text: frozenset[bool]

    def merged(self, other: ChosenPart) -> ChosenPart:
        """Those of both."""
        return attrs.evolve(
            self,
            pieces=self.pieces + other.pieces,
            seen=self.seen + other.seen,
            text=self.text | other.text,
        )

    def ended(self, keys: Keys) -> Sequence[Piece]:
        """The rows that are chosen, once all parts are merged."""
        return self.pieces


class Rule(ABC):
    """How rows are chosen. It can be sent to other machines.

    Attributes:
        step: Its name, for refusals.
        filters: Those of the table.
    """

    step: ClassVar[str]
    filters: tuple[Kept, ...]

    @property
    @abstractmethod
    def told(self) -> tuple[Column, ...]:
        """What else the rule looks at; ids come first."""

    @abstractmethod
    def here(self, keys: Keys) -> Choice:
        """The choice among rows that are read in this process."""

    @abstractmethod
    def there(self, keys: Keys, secret: SecretWords) -> Choice:
        """The choice among the rows of a part, which has words of its own."""

    @abstractmethod
    def sent(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        """What travels of a part."""


def chosen(table: LazyTable, rule: Rule, keys: Keys) -> LazyTable:
    """A table with the rows that a rule chooses, chosen now in one pass.

    The chosen rows of a table on other machines come here.

    Args:
        table: Any rows.
        rule: How they are chosen.
        keys: Independent random words of the release.
    """
    dataset = table.dataset
    whole = dataset.whole()
    if not isinstance(whole, Blocks) or not whole.library:
        return chosen_rows(table, rule.here(keys))
    with QUIET:
        columns = (*(kept.column for kept in rule.filters), *rule.told)
        rows = Unchosen.of(whole, table, columns)
        found: ChosenPart = reduced(rows, _ChosenOfPart(rule, SecretWords.of(keys)), _merged)
        require_size(found.seen, dataset.size)
        if len(found.text) > 1:
            raise DataError(f"column {rule.told[0].name!r}: {MIXED}")
        pieces = found.ended(keys)
    return with_rows(table, tables_of(pieces))


def _merged(first: ChosenPart, second: ChosenPart) -> ChosenPart:
    return first.merged(second)


@attrs.frozen(eq=False, repr=False)
class _ChosenOfPart:
    """The job for a part of the rows."""

    rule: Rule
    secret: SecretWords

    def __call__(self, source: Source) -> ChosenPart:
        rows = cast(Unchosen, source)
        choice = self.rule.there(self.secret.of_rows(rows, self.rule.step), self.secret)
        choice.seen = start = first_place(rows)
        with np.errstate(all="ignore"):
            pieces = rows.by(choice, None)
            stay = choice.settle()
        held = [piece.among(stay) for piece in pieces]
        return self.rule.sent(choice, held, choice.seen - start)
