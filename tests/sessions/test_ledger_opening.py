"""What opening a ledger checks: what was added, or all of it if anything else wrote to the file."""

import os
from contextlib import suppress
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.tables import EntryTable
from tests.sessions.ledgers import at_commit, in_sqlite, interrupt, refused, spend

FORGE = "INSERT OR REPLACE INTO entries SELECT {} FROM entries WHERE number = 2"


@pytest.fixture
def opened(monkeypatch, marked):
    """Opens a ledger, and says whether all of its entries were checked."""
    read_all, calls = EntryTable.all, []

    def read(table, seen):
        calls.append(seen)
        return read_all(table, seen)

    monkeypatch.setattr(EntryTable, "all", read)

    def opening(ledger: LedgerFile) -> tuple[bool, LedgerFile]:
        calls.clear()
        found = LedgerFile.open(ledger.path)
        return bool(calls), found

    return opening


def test_entries_that_were_checked_are_not_checked_again(ledger, opened, elsewhere, make):
    for each in (ledger, make("watched", witness=elsewhere)):
        spend(each)
        whole, other = opened(each)
        assert not whole
        for handle in (other, each, other):
            spend(handle)
        whole, found = opened(each)
        assert not whole
        assert found.spent == Fraction(4, 100)
        assert len(found.verify().entries) == 9


def edit(ledger: LedgerFile) -> None:
    """Changes a cell of an old entry without SQLite."""
    with ledger.path.open("r+b") as file:
        file.seek(file.read().index(b"a first note"))
        file.write(b"A")


def replace(ledger: LedgerFile) -> None:
    """As above with SQLite, by a statement that no trigger refuses."""
    with in_sqlite(ledger.path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
        cells = ["'A first note'" if each == "note" else each for each in columns]
        connection.execute("PRAGMA recursive_triggers = OFF")
        connection.execute(FORGE.format(", ".join(cells)))


@pytest.mark.parametrize("change", [edit, replace])
@pytest.mark.parametrize("meanwhile", [False, True], ids=["last", "before a payment"])
def test_an_old_entry_that_was_changed_by_hand(ledger, opened, change, meanwhile):
    """The clock of the file system may not have moved on, and an open ledger pays once more."""
    ledger.reserve(Fraction(1, 100), asked="{}", note="a first note")
    for _ in range(2):
        spend(ledger)
    assert not opened(ledger)[0]
    change(ledger)
    if meanwhile:
        spend(ledger)
    refused("entry 2 has the hash of another", lambda: opened(ledger), ledger.verify)


def test_an_old_entry_that_is_changed_while_a_payment_lets_go_of_the_file(
    ledger, opened, monkeypatch
):
    """After the commit, and before the mark that opening trusts: nothing is added then."""
    ledger.reserve(Fraction(1, 100), asked="{}", note="a first note")
    spend(ledger)
    assert not opened(ledger)[0]
    tell = LedgerFile._tell

    def late(self, table, *entries):
        replace(ledger)
        return tell(self, table, *entries)

    with monkeypatch.context() as between:
        between.setattr(LedgerFile, "_tell", late)
        ledger.reserve(Fraction(1, 100), asked="{}", note="a second note")
    refused("entry 2 has the hash of another", lambda: LedgerFile.open(ledger.path))


def test_whatever_else_was_written_has_all_entries_checked(ledger, opened):
    spend(ledger)
    os.utime(ledger.path)
    assert opened(ledger)[0]
    spend(ledger)
    assert opened(ledger)[0], "who paid had not checked the file since"
    spend(opened(ledger)[1])
    assert not opened(ledger)[0]


def test_a_process_that_ends_before_it_marks_the_file(ledger, opened, monkeypatch):
    spend(ledger)
    at_commit(monkeypatch, after=interrupt)
    with suppress(KeyboardInterrupt):
        spend(ledger)
    whole, found = opened(ledger)
    assert whole
    spend(found)
    assert not opened(ledger)[0]
    assert found.spent == Fraction(3, 100)


def test_what_is_asked_of_old_entries_is_known_by_the_mark(make, opened):
    """How many releases there were, and which data and neighbours, without a look at them."""
    ages = [41.0, 38.0, 25.0] * 10
    query = dp.count() >> dp.gaussian(rho=0.01)
    ledger = make("rows", unit="row")
    ask = dp.Ledger.open(ledger.path).session(ages)
    for number in (1, 2, 3):
        assert ask(query).number == number
    whole, found = opened(ledger)
    assert not whole
    assert list(found.scopes()) == ["data"]
    assert found.neighbours().startswith("adding or removing one row")
    assert dp.Ledger(found).session(ages)(query).number == 4


def test_the_mark_stays_short_however_many_contents_there_are(make, marked):
    """File systems give all marks of a file a few kilobytes, and payments need theirs."""
    ledger = make("rows", unit="row")
    sizes = []
    for days in range(1, 7):
        dp.Ledger.open(ledger.path).session([1.0] * days, name=f"day {days}")(
            dp.count() >> dp.gaussian(rho=0.001)
        )
        sizes.append(len(os.getxattr(ledger.path, "user.opendp_lite.checked")))
    assert max(sizes) <= sizes[0] + 1
