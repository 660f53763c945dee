"""Which content of the data a ledger was used with, without keeping any of it."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from opendp_lite.base.errors import (
    Argument,
    LedgerError,
    OpenDPLiteError,
    ParameterError,
    SpaceError,
)
from opendp_lite.base.frozen import initialise
from opendp_lite.combinators.accounts import (
    Account,
    AnySpace,
    Order,
    Receipt,
    say_spent,
)
from opendp_lite.display.formatting import html_grid
from opendp_lite.engines.columns import names_itself
from opendp_lite.engines.data.identities import PrivateName, content
from opendp_lite.explain.of_pipelines import state_all
from opendp_lite.explain.statement import Statement
from opendp_lite.explain.statement_parts import GROUP, loss_of
from opendp_lite.measures.budgets import Loss, PrivacyBudget
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.numbers.exact import Number, quote
from opendp_lite.pipeline.questions import from_json
from opendp_lite.sessions.ledger.entries import NEIGHBOURS, EntryState, LedgerEntry, LedgerView
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.sessions import Session, open_session, place_under, require_space
from opendp_lite.sessions.text import check_words
from opendp_lite.spaces.tables import PersonTables
from opendp_lite.spelling.suggestions import explain_names, refuse_name

_HASH: Final = "sha256"


@attrs.frozen
class DataIdentity:
    """The keyed hash of the content of a container.

    One content has one identity in a list, an array, a frame of pandas or polars, an Arrow table
    and blocks, wherever the columns have the same names and the cells are of the same kinds. The
    columns may change places. The rows may not: data in another order has another identity, and
    is admitted under a name of its own. It spends the same budget, so nothing is lost.

    Numbers are compared as floats: whole numbers beyond 2^53 that differ in their last digits may
    be one content.

    The key belongs to the ledger. Without a key, a hash of small data would identify it: a person
    who guesses the rows would know. Who may read the ledger's file can test a guess.

    Attributes:
        columns: The names of the columns, in alphabetical order; none that only rows tell of.
        content: The hash, in hexadecimal.
    """

    columns: tuple[str, ...]
    content: str

    @classmethod
    def of(cls, data: object, key: bytes, names: tuple[str, ...] = ()) -> DataIdentity:
        """The identity of the data under a key.

        It goes through the data once.

        Args:
            data: The data.
            key: That of the ledger.
            names: Those that a session declares for columns that have none, if they say which
                column tells people apart. In another order they are another identity.

        Raises:
            DataError: If the data cannot be read, or can be gone through only once.
        """
        hashes: dict[str, hmac.HMAC] = {}
        public: set[str] = set()
        for name, cells in content(data):
            # A name that a row tells first may be that of a column as well.
            if not isinstance(name, PrivateName):
                public.add(name)
            if name not in hashes:
                hashes[name] = hmac.new(key, b"column", _HASH)
            hashes[name].update(cells)
        parts = [[name, hashes[name].hexdigest()] for name in sorted(hashes)]
        whole = json.dumps([*parts, [*names]] if names else parts)
        return cls(tuple(sorted(public)), hmac.new(key, whole.encode(), _HASH).hexdigest())


class LedgerAccount(Account[AnyMeasure]):
    """Pays by an entry on the disk, which several processes may add to.

    Args:
        file: The ledger.
        scope: The name of the content of the data there.
    """

    def __init__(self, file: LedgerFile, scope: str) -> None:
        super().__init__()
        self.file, self.scope = file, scope
        self.title, self.unit = file.terms.title, file.terms.unit

    @property
    def measure(self) -> AnyMeasure:
        return self.file.measure

    @property
    def budget(self) -> PrivacyBudget[AnyMeasure]:
        return self.file.budget

    def spent(self) -> Loss:
        return self.file.spent

    def standing(self) -> tuple[PrivacyBudget[AnyMeasure], Loss]:
        head = self.file.head
        return PrivacyBudget(self.measure, head.budget), head.total

    def pay(self, order: Order) -> Receipt:
        asked = asked_text(order)

        def paying() -> Receipt:
            entry = self.file.reserve(order.price, asked=asked, note=order.note, scope=self.scope)
            return self._receipt(self.file.count_paid(entry), entry.number, entry)

        return self._alone(paying)

    def finish(self, receipt: Receipt) -> Receipt:
        number, entry = receipt.number, receipt.entry
        return self._alone(lambda: self._receipt(number, entry, self.file.finish(entry)))

    def _receipt(self, number: int, entry: int, last: LedgerEntry) -> Receipt:
        """The numbers of a payment, as they are at the last entry: the head that it names."""
        budget = PrivacyBudget(self.file.measure, last.budget)
        return Receipt(number, last.total, budget, last.hash, entry)


def _places_of_people(data: object, space: AnySpace | None) -> tuple[str, ...]:
    """The names that say by their places whose rows are whose; none where the data has names."""
    domain = None if space is None else space.domain
    if not isinstance(domain, PersonTables) or names_itself(data):
        return ()
    return domain.rows.names or ()


def asked_text(order: Order) -> str:
    """The pipeline as JSON; the names of its steps where one of them cannot be written."""
    try:
        return order.query.to_json()
    except ParameterError:
        return json.dumps({"steps": order.name})


def state_ledger(
    view: LedgerView, delta: Number | None = None, extra: Iterable[Callable[..., object]] = ()
) -> Statement:
    """See ``Ledger.statement``; of the ledger as it was at one moment."""
    measure, head = view.measure, view.head
    paid = [each for each in view.entries if each.state is EntryState.RESERVED]
    stated, unread = {}, []
    for number, entry in enumerate(paid, 1):
        try:
            stated[number] = from_json(entry.asked, extra).statement()
        except OpenDPLiteError:  # functions and steps of one's own are no JSON
            unread.append(f"what is your own in release {number}")
    if not stated:
        raise LedgerError(
            "statement: no pipeline of this ledger can be read; give your own steps: "
            "ledger.statement(extra=[step])"
            if paid
            else "statement: this ledger has paid for no release yet; make one first"
        )
    spent = head.reach(measure)
    position = place_under(
        view.budget,
        view.spent,
        ledger=view.terms.title,
        number=len(paid),
        head=head.hash,
        unit=view.terms.unit,
        entry=head.number,
        releases=tuple(view.list_events()),
    )
    loss, group = loss_of(measure, spent, delta), measure.words(measure.group(spent, GROUP))
    found = state_all(stated, loss, group, position)
    return attrs.evolve(found, trusted=(*found.trusted, *unread))


_SHOWN = 20


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
        >>> ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="row", data="survey 2026")
        >>> ask = ledger.session([41, 38, 25] * 1000)
        >>> release = ask(dp.mean(0, 100, rho=ask.left / 4), note="table 3")
        >>> dp.Ledger.open(path).left
        Fraction(3, 4)
    """

    file: LedgerFile

    if not TYPE_CHECKING:
        # Hidden from type checkers, which are to flag what is refused here.

        def __init__(self, file: LedgerFile | None = None, *more: object, **terms: object) -> None:
            if more or terms or not isinstance(file, LedgerFile):
                raise ParameterError(
                    "open a ledger by dp.Ledger.open(path), or make one by dp.Ledger.create(path, "
                    f"budget=dp.rho(1), unit='row'); dp.Ledger got {quote(file)}"
                )
            initialise(self, file=file)

        def __call__(self, *_: object) -> NoReturn:
            raise SpaceError(
                "a ledger opens sessions, and these answer: ask = ledger.session(data), then "
                "ask(pipeline)"
            )

        def __getattr__(self, name: str) -> NoReturn:
            refuse_name(self, name, "ledger")

    @classmethod
    @explain_names
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: PrivacyBudget[AnyMeasure],
        *,
        unit: str = "",
        data: str = "",
        witness: str | os.PathLike[str] | None = None,
        query_delta: Number | None = None,
    ) -> Ledger:
        """Makes a new ledger.

        Args:
            path: A new file, on a disk of this machine; or the URL of a PostgreSQL database for
                several machines, "postgresql://user@server/database": see docs/team.md.
            budget: ``dp.epsilon(1)``, ``dp.epsilon(1, delta=1e-6)``, ``dp.rho(1)`` or ``dp.mu(1)``.
            unit: Whom it protects. With "row" a session counts rows; more words may follow, as in
                "row (one visit)". With other words, such as "person", a session counts people, and
                each person may have several rows: open it with ``space=dp.table(person="id")``.
            data: The name of the data, for statements.
            witness: A file elsewhere, best on another disk, that remembers each entry. It shows
                when an older copy of the ledger is put in its place.
            query_delta: As for ``dp.session``. It stays the same share of delta.

        Returns:
            The ledger. Only its owner may read the file.

        Raises:
            LedgerError: If the file exists, its folder cannot be written, or it is on a network.
            ParameterError: If ``budget`` is no budget, or a text is not one line.
        """
        if unit == "":
            raise ParameterError(
                "Ledger.create: say whom it protects: unit='row', or unit='person' where sessions "
                "tell people apart"
            )
        found = LedgerFile.create(
            path, budget, unit=unit, data=data, witness=witness, query_delta=query_delta
        )
        return cls(found)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Opens a ledger, and checks the entries that were not checked before.

        If anything but the ledger wrote to the file, it checks every entry, as ``verify`` does. Of
        a ledger on a server, which a URL opens, it checks what was added since this machine checked
        it last.

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
        self, data: object, *, space: AnySpace | None = None, name: str | None = None
    ) -> Session[AnyMeasure]:
        """Opens several releases of the data, which spend this ledger's budget.

        It goes through the data once, to tell it from other data. The ledger keeps the names of
        the columns and a keyed hash of the data. Without the key nobody can test a guess by it.

        Args:
            data: The data that the ledger is for.
            space: As for ``dp.session``. All sessions of a ledger have the same unit: with
                ``unit="person"`` it is ``dp.table(person="id")``.
            name: A name for other data than before, such as "version 2". All data of a ledger
                spends the one budget.

        Returns:
            A session. Its releases have their numbers from the ledger.

        Raises:
            LedgerError: If the session counts rows and the ledger protects a person, or the other
                way round: nothing is read then. Also if the data is not what the ledger knows under
                this name, or the unit is not that of earlier sessions.
            DataError: If the data cannot be read.
        """
        require_space(space, "session")
        if not self.file.terms.hold_for(space):
            raise self._other_unit(space)
        name = None if name is None else check_words(name, "session: name")
        identity = DataIdentity.of(data, self.file.key(), _places_of_people(data, space))
        scope = self._scope(identity, name)
        found = open_session(data, space, LedgerAccount(self.file, scope))
        neighbours = f"{found.neighbours}, {found.metric!r}"
        self._admit(scope, identity, neighbours)
        self._require_unit(neighbours)
        return found

    @property
    def budget(self) -> PrivacyBudget[AnyMeasure]:
        """The most that all releases may cost together."""
        return self.file.budget.stated

    @property
    def spent(self) -> Any:
        """The loss of all releases so far, as people read losses."""
        return self.file.measure.show(self.file.head.reach(self.file.measure))

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

    def raise_budget(self, budget: PrivacyBudget[AnyMeasure], reason: str) -> LedgerEntry:
        """Raises the budget. The entry and its reason are shown for ever.

        Raises:
            ParameterError: If the budget is not above the one before, is of another measure, or
                there is no reason.
        """
        return self.file.raise_budget(budget, reason)

    def statement(
        self, *, delta: Number | None = None, extra: Iterable[Callable[..., object]] = ()
    ) -> Statement:
        """What all releases so far protect together, in plain words: for a methods section.

        Nothing in it depends on data.

        Args:
            delta: As for ``pipeline.statement``.
            extra: Your own steps that were asked, as for ``dp.from_json``.

        Returns:
            A ``Statement`` of the loss of all of them. It lists each, with its price and note.

        Raises:
            LedgerError: Before the first release, or where no pipeline of the ledger can be read.
        """
        return state_ledger(self.file.view(), delta, extra)

    def export(self) -> str:
        """The ledger as JSON, without its key."""
        return self.file.view().export()

    def _other_unit(self, space: AnySpace | None) -> LedgerError:
        terms = self.file.terms
        mend = (
            "Leave out space=, or make a ledger of people: dp.Ledger.create(path, budget=..., "
            "unit='person')"
            if terms.is_row
            else "Name the column that tells people apart, ledger.session(data, "
            "space=dp.table(person='id')), and begin each query with dp.bound_contributions(3) >> "
            "... Or make a ledger of rows: dp.Ledger.create(path, budget=..., unit='row')"
        )
        return LedgerError(
            f"this ledger protects {terms.protects}, and the session is for "
            f"{'one row' if space is None else space.metric.protected(space.unit)}. Nothing was "
            f"read or spent. {mend}"
        )

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
                "the data as it was, with the same columns, and its rows in the same order. "
                "Columns that only the space names are declared in the same order too. A file "
                "and a table that was read from it count as different: dp.csv_table(path, ...) "
                "opens the file. For a later version add ",
                Argument("name", "version 2"),
                " where the session is opened. All of them spend the one budget",
            )
        return "data" if name is None else name

    def _admit(self, scope: str, identity: DataIdentity, neighbours: str) -> None:
        """Gives a new content its name, unless another process did so by now."""
        schema = json.dumps({"columns": identity.columns, NEIGHBOURS: neighbours})
        if self.file.scopes().get(scope) == identity.content:
            return
        try:
            self.file.admit(scope, identity.content, schema=schema)
        except LedgerError:
            if self.file.scopes().get(scope) != identity.content:
                raise

    def _require_unit(self, neighbours: str) -> None:
        """Refuses another unit than that of the first session."""
        before = self.file.neighbours()
        if before != neighbours:
            raise LedgerError(
                f"this ledger counts its loss for {before}, and the session is for {neighbours}; "
                "open it with the space of the sessions before, or make another ledger for "
                "other data"
            )

    def _repr_html_(self) -> str:
        entries = self.entries()
        measure = self.file.measure
        lines = [
            (
                str(each.number),
                each.state.value,
                measure.words(each.cost(measure)),
                measure.words(each.reach(measure)),
                each.show_note(),
            )
            for each in entries[-_SHOWN:]
        ]
        terms = self.file.terms
        head = f"Ledger {terms.identity} of {terms.data or 'data'}, a unit is a {entries[0].unit}"
        titles = ("entry", "what", "price", "spent so far", "note")
        return html_grid(f"{head}: {self.spent} of {self.budget.words()} spent", titles, lines)

    def __repr__(self) -> str:
        terms, head = self.file.terms, self.file.head
        standing = say_spent(PrivacyBudget(self.file.measure, head.budget), head.total)
        return f"<ledger {terms.identity} of {terms.data or 'data'}: {standing}>"
