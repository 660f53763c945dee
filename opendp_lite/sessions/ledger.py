"""A budget on disk, for releases over days and processes."""

from __future__ import annotations

import json
import os
from typing import Any

import attrs

from opendp_lite.errors import LedgerError, ParameterError
from opendp_lite.exact import described
from opendp_lite.measures.privacy_budget import PrivacyBudget
from opendp_lite.sessions.checked_text import checked_words
from opendp_lite.sessions.data_identity import DataIdentity
from opendp_lite.sessions.ledger_account import LedgerAccount
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.ledger_file import LedgerFile
from opendp_lite.sessions.session import Session, opened_session, require_space
from opendp_lite.shown_results import html_grid
from opendp_lite.spaces import Space

_FIRST = "data"
_NEIGHBOURS = "neighbours"
_SHOWN = 20


def _require_file(_: object, __: object, given: Any) -> None:
    """Refuses a path in place of an opened file."""
    if not isinstance(given, LedgerFile):
        raise ParameterError(
            "open a ledger by dp.Ledger.open(path), or make one by dp.Ledger.create(path, "
            f"budget=dp.rho(1), unit='person'); dp.Ledger got {described(given)}"
        )


def _unit_in(schema: str) -> str:
    """The neighbours that a session wrote beside the columns of a content."""
    try:
        return str(json.loads(schema)[_NEIGHBOURS])
    except (ValueError, LookupError, TypeError):
        return "a unit that the first entry of its data does not state"


@attrs.frozen(eq=False, repr=False)
class Ledger:
    """A privacy budget in a file, which many releases spend over days and processes.

    Make it by ``dp.Ledger.create``, and open it by ``dp.Ledger.open``. Each release pays on the
    disk before it reads any row. You never get a payment back.

    A person with the right to write the file can change it, and a copy that you adopt has a budget
    of its own. ``docs/ledger.md`` says what the file guards against.

    Args:
        file: The file, opened and checked.

    Example:
        >>> import opendp_lite as dp, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "survey.ledger")
        >>> ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="person", data="survey 2026")
        >>> ask = ledger.session([41, 38, 25] * 1000)
        >>> release = ask(dp.mean(0, 100, rho=ask.left / 4), note="table 3")
        >>> dp.Ledger.open(path).left
        Fraction(3, 4)
    """

    file: LedgerFile = attrs.field(validator=_require_file)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: PrivacyBudget[Any],
        *,
        unit: str,
        data: str = "",
        witness: str | os.PathLike[str] | None = None,
    ) -> Ledger:
        """Makes a new ledger.

        Args:
            path: A new file, on a disk of this machine.
            budget: ``dp.epsilon(1)``, ``dp.epsilon(1, delta=1e-6)``, ``dp.rho(1)`` or ``dp.mu(1)``.
            unit: Whom it protects, such as "person". Say "person" only if one row is one person,
                or sessions are opened with ``space=dp.table(person="id")``.
            data: The name of the data, for statements.
            witness: A file elsewhere, best on another disk, that remembers each entry. It shows
                when an older copy of the ledger is put in its place.

        Returns:
            The ledger. Only its owner may read the file.

        Raises:
            LedgerError: If the file exists, its folder cannot be written, or it is on a network.
            ParameterError: If ``budget`` is no budget, or a text is not one line.
        """
        return cls(LedgerFile.create(path, budget, unit=unit, data=data, witness=witness))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Opens a ledger, and checks every entry of it.

        Raises:
            LedgerError: If there is none, or it was changed, copied, moved or rolled back.
        """
        return cls(LedgerFile.open(path))

    @classmethod
    def adopt(cls, path: str | os.PathLike[str], reason: str) -> Ledger:
        """Opens a ledger that was copied, moved or restored, with a reason that it shows for ever.

        Do so only if nobody uses the original any more: two copies would spend the budget twice.

        Raises:
            LedgerError: If there is none, or its entries were changed.
            ParameterError: If there is no reason.
        """
        return cls(LedgerFile.adopt(path, reason))

    def session(
        self, data: object, *, space: Space[Any] | None = None, name: str | None = None
    ) -> Session[Any]:
        """Opens several releases of the data, which spend this ledger's budget.

        It goes through the data once, to tell it from other data. The ledger keeps the names of
        the columns and a keyed hash of the data. Without the key nobody can test a guess by it.

        Args:
            data: The data that the ledger is for.
            space: As for ``dp.session``. All sessions of a ledger have the same unit.
            name: A name for other data than before, such as "version 2". All data of a ledger
                spends the one budget.

        Returns:
            A session. Its releases have their numbers from the ledger.

        Raises:
            LedgerError: If the data is not what the ledger knows under this name, or the unit is
                not that of earlier sessions.
            DataError: If the data cannot be read.
        """
        require_space(space, "session")
        name = None if name is None else checked_words(name, "session: name")
        identity = DataIdentity.of(data, self.file.key())
        scope = self._scope(identity, name)
        account: LedgerAccount[Any] = LedgerAccount(self.file, scope)
        found = opened_session(data, space, account)
        neighbours = f"{found.neighbours}, {found.metric!r}"
        self._admit(scope, identity, neighbours)
        self._require_unit(neighbours)
        return found

    @property
    def budget(self) -> PrivacyBudget[Any]:
        """The most that all releases may cost together."""
        return self.file.budget

    @property
    def spent(self) -> Any:
        """The loss of all releases so far, as people read losses."""
        return self.file.measure.show(self.file.spent)

    @property
    def left(self) -> Any:
        """The loss that may still be spent, exactly."""
        return self.file.measure.typed(self.file.left)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries from the first on, each of them checked."""
        return self.file.view().entries

    def verify(self) -> tuple[LedgerEntry, ...]:
        """Checks the file, the chain of entries, every total, the place and the witness.

        Returns:
            The entries.

        Raises:
            LedgerError: At the first thing that is wrong.
        """
        return self.file.verify().entries

    def raise_budget(self, budget: PrivacyBudget[Any], reason: str) -> LedgerEntry:
        """Raises the budget. The entry and its reason are shown for ever.

        Raises:
            ParameterError: If the budget is not above the one before, is of another measure, or
                there is no reason.
        """
        return self.file.raise_budget(budget, reason)

    def export(self) -> str:
        """The ledger as JSON, without its key."""
        return self.file.view().export()

    def _scope(self, identity: DataIdentity, name: str | None) -> str:
        """The name of this content in the ledger: the one that it has, or is to get."""
        known = self.file.scopes()
        here = [scope for scope, content in known.items() if content == identity.content]
        if here and name in (None, *here):
            return here[0]
        if here:
            raise LedgerError(
                f"the ledger knows this data as {here[0]!r}, not as {name!r}; leave out the name"
            )
        if name in known:
            raise LedgerError(
                f"the ledger knows other data as {name!r}. Give the data as it was, or another "
                "name: all data of a ledger spends its one budget"
            )
        if known and name is None:
            raise LedgerError(
                f"this is other data than the ledger knows ({', '.join(map(repr, known))}). Give "
                "the data as it was, with its rows in the same order. A file and a table that was "
                "read from it count as different: dp.csv_table(path, ...) opens the file. For a "
                "later version give a name: name='version 2' in ledger.session, or --data-name "
                "'version 2'. All of them spend the one budget"
            )
        return _FIRST if name is None else name

    def _admit(self, scope: str, identity: DataIdentity, neighbours: str) -> None:
        """Gives a new content its name, unless another process did so by now."""
        schema = json.dumps({"columns": identity.columns, _NEIGHBOURS: neighbours})
        if self.file.scopes().get(scope) == identity.content:
            return
        try:
            self.file.admit(scope, identity.content, schema=schema)
        except LedgerError:
            if self.file.scopes().get(scope) != identity.content:
                raise

    def _require_unit(self, neighbours: str) -> None:
        """Refuses another unit than that of the first session."""
        entries = self.entries()
        first = next(entry for entry in entries if entry.state is EntryState.ADMITTED)
        before = _unit_in(first.asked)
        if before != neighbours:
            raise LedgerError(
                f"this ledger counts its loss for {before}, and the session is for {neighbours}; "
                "open it with the space of the sessions before, or make another ledger for "
                "other data"
            )

    def _repr_html_(self) -> str:
        entries = self.entries()
        words = self.file.measure.words
        lines = [
            (str(each.number), each.state.value, words(each.price), words(each.total), each.note)
            for each in entries[-_SHOWN:]
        ]
        terms = self.file.terms
        head = f"Ledger {terms.identity} of {terms.data or 'data'}, a unit is a {entries[0].unit}"
        titles = ("entry", "what", "price", "spent so far", "note")
        return html_grid(f"{head}: {self.spent} of {self.budget.words()} spent", titles, lines)

    def __repr__(self) -> str:
        return (
            f"<ledger {self.file.terms.identity} of {self.file.terms.data or 'data'}: {self.spent} "
            f"of {self.budget.words()} spent>"
        )
