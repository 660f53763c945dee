"""A ledger on a server that was checked before: a mark on the own machine, and what is forged."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import sleep

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import postgres, tables
from opendp_lite.sessions.ledger.entries import COLUMNS, LedgerEntry, digest_of
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.tables import EntryTable
from tests.sessions.ledgers import refused, spend
from tests.sessions.servers import make, run

psycopg = pytest.importorskip("psycopg")

AGES = [41.0, 38.0, 25.0] * 100
QUERY = dp.count() >> dp.gaussian(rho=0.1)
OFF, ON = (f"ALTER TABLE opendp_lite.entries {it} TRIGGER USER" for it in ("DISABLE", "ENABLE"))


@attrs.define
class Reads:
    """What was read of a server meanwhile."""

    entries: int = 0
    whole: int = 0


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Counts entries that are read, and checks of all."""
    found, of_row, read_all = Reads(), LedgerEntry.of_row, EntryTable.all

    def count_row(row, measure) -> LedgerEntry:
        found.entries += 1
        return of_row(row, measure)

    def count_all(table: EntryTable, seen: LedgerEntry):
        found.whole += 1
        return read_all(table, seen)

    monkeypatch.setattr(LedgerEntry, "of_row", count_row)
    monkeypatch.setattr(EntryTable, "all", count_all)
    return found


@pytest.fixture
def sit_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Goes to the machine of somebody."""
    return lambda name: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))


@pytest.fixture
def known(url) -> LedgerFile:
    """A ledger of rho = 1 with data, three releases and a mark at its last entry, the eighth."""
    make(url)
    ask = dp.Ledger.open(url("ann")).session(AGES)
    for _ in range(3):
        ask(QUERY)
    return LedgerFile.open(url("ann"))


def forge(url, number: int, **cells: object) -> None:
    """The owner changes an entry, and makes its hash anew."""
    with psycopg.connect(url("dana")) as connection:
        row = connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM opendp_lite.entries WHERE number = {number}"
        ).fetchone()
        held = {**dict(zip(COLUMNS, row, strict=True)), **cells}
        held["hash"] = digest_of(list(held.values())[:-1])
        named = ", ".join(f"{each} = %s" for each in held)
        connection.execute(OFF)
        connection.execute(
            f"UPDATE opendp_lite.entries SET {named} WHERE number = {number}", [*held.values()]
        )
        connection.execute(ON)


def test_what_was_checked_is_not_read_again(known, url, reads, sit_at):
    """However many there are; others paid meanwhile, and what they added is checked."""
    sit_at("bob")
    spend(LedgerFile.open(url("bob")), 2)
    spend(known, 10)
    sit_at("")
    LedgerFile.open(url("ann"))
    for added in (0, 1, 3):
        spend(known, added)
        reads.entries = reads.whole = 0
        assert LedgerFile.open(url("ann")).spent == known.spent
        # The first one, the one of the mark, the data that was admitted, and what was added.
        assert (reads.entries, reads.whole) == (3 + 2 * added, 0)
    ask = dp.Ledger.open(url("ann")).session(AGES)
    assert (ask(QUERY).number, reads.whole) == (3 + 2 + 10 + 4 + 1, 0)
    assert len(known.verify().entries) == known.head.number


def test_a_tail_may_take_longer_to_check_than_a_transaction_may_stand_still(
    known, url, monkeypatch
):
    spend(known, 2)
    check, waits = tables.entries.check_chain, []

    def check_slowly(found, *given):
        listed = list(found)
        waits.append(len(listed) > 2 and sleep(0.6))
        return check(listed, *given)

    monkeypatch.setattr(tables.entries, "check_chain", check_slowly)
    assert LedgerFile.open(url("ann"), wait=0.3).spent == Fraction(32, 100)
    assert None in waits


def drop_admission(url) -> None:
    forge(url, 2, state="released", closes=99, scope="", content="", asked="")


def admit_other_data(url) -> None:
    forge(url, 2, content="00" * 32)


def protect_another_unit(url) -> None:
    with psycopg.connect(url("dana")) as connection:
        connection.execute("ALTER TABLE opendp_lite.ledger DISABLE TRIGGER USER")
        connection.execute("UPDATE opendp_lite.ledger SET unit = 'person'")
        connection.execute("ALTER TABLE opendp_lite.ledger ENABLE TRIGGER USER")
        terms = "identity, measure, unit, data, witness, created"
        row = connection.execute(f"SELECT {terms} FROM opendp_lite.ledger").fetchone()
    forge(url, 1, unit="person", previous=digest_of(row))


def lower_the_total(url) -> None:
    forge(url, 8, total="1/10")


@pytest.mark.parametrize(
    "attack", [drop_admission, admit_other_data, protect_another_unit, lower_the_total]
)
def test_what_is_used_of_entries_before_the_mark_was_not_forged(known, url, reads, attack):
    attack(url)
    refused(
        "changed by hand|has another history|rolled back|does not follow",
        lambda: LedgerFile.open(url("ann")),
        lambda: dp.Ledger.open(url("ann")).session(AGES),
    )
    assert reads.whole > 0


@pytest.mark.parametrize("honest", [False, True], ids=["its hash is wrong", "its hash is right"])
def test_what_was_forged_before_the_mark_changes_no_total_and_is_found_where_it_is_read(
    known, url, honest, reads
):
    """Entry 3 pays for the first release: it is made free, or to look as if it were none."""
    if honest:
        forge(url, 3, state="adopted", price="0", total="0", asked="")
    else:
        run(url("dana"), OFF, "UPDATE opendp_lite.entries SET price = '0' WHERE number = 3", ON)
    opened = dp.Ledger.open(url("ann"))
    assert opened.spent == 0.3
    assert reads.whole == 0
    assert opened.session(AGES)(QUERY).number == 4
    refused("changed by hand: entry [34]", opened.entries, opened.verify, opened.export)
    refused("changed by hand", lambda: LedgerFile.look(url("ann")))
    refused("changed by hand", lambda: LedgerFile.adopt(url("dana"), "hides it"))


@pytest.mark.parametrize("number", [9, 10])
@pytest.mark.parametrize("cell", ["price", "total", "note", "state"])
def test_what_was_forged_after_the_mark_is_found(known, url, number, cell):
    spend(known)
    forge(url, number, **{cell: "1/7" if cell in ("price", "total") else "adopted"})
    refused("changed by hand|rolled back", lambda: LedgerFile.open(url("ann")))


@pytest.mark.parametrize("kept", [5, 8, 9])
@pytest.mark.parametrize("grown", [0, 3])
def test_a_server_that_went_back(known, url, sit_at, kept, grown):
    """Before the mark, to it, or behind it, and others who know nothing of it go on from there."""
    spend(known)
    words = f"DELETE FROM opendp_lite.entries WHERE number > {kept}"
    run(url("dana"), OFF, words, ON)
    sit_at("bob")
    spend(LedgerFile.open(url("bob")), grown)
    sit_at("")
    refused("its witness saw entry 10", lambda: LedgerFile.open(url("ann")))


def test_a_payment_that_only_the_witness_saw_cannot_be_hidden_before_the_mark(known, url):
    """A server shows one history to the mark, and another to a process that pays."""
    true = {each.number: each for each in known.view().entries}[5]
    forge(url, 5, price="1/2", total="7/10")
    with psycopg.connect(url("dana")) as connection:
        row = connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM opendp_lite.entries WHERE number = 5"
        ).fetchone()
    known.witness.append([LedgerEntry.of_row(row, known.measure)])
    refused("entry [56]", lambda: LedgerFile.open(url("ann")))
    # Also with the history of the mark in its place.
    forge(url, 5, price=str(true.price), total=str(true.total))
    refused("its witness saw entry 5", lambda: LedgerFile.open(url("ann")))


def test_an_adoption_that_was_forged_before_the_mark_counts_for_nothing(known, url):
    """It says that it counted what the witness saw and the server lost."""
    other = LedgerFile.open(url("ann"))
    spend(known)
    lost = known.head.hash
    run(url("dana"), OFF, "DELETE FROM opendp_lite.entries WHERE number > 8", ON)
    forge(url, 3, state="adopted", asked=f'["{lost}"]')
    refused("its witness saw entry 10", lambda: spend(other))
    refused("changed by hand|its witness saw", lambda: LedgerFile.open(url("ann")))


def test_a_true_adoption_is_remembered(known, url, reads, sit_at):
    """What it counted is still the last line of the witness."""
    spend(known)
    run(url("dana"), OFF, "DELETE FROM opendp_lite.entries WHERE number > 8", ON)
    theirs = known.witness.path
    sit_at("dana")
    mine = LedgerFile.open(url("dana"))
    with mine.witness.path.open("ab") as file:
        file.write(theirs.read_bytes())
    LedgerFile.adopt(url("dana"), "restored")
    sit_at("")
    found = LedgerFile.open(url("ann"))
    assert (found.spent, reads.whole > 0) == (Fraction(31, 100), True)
    reads.whole = 0
    found = LedgerFile.open(url("ann"))
    spend(found)
    assert (LedgerFile.open(url("ann")).spent, reads.whole) == (Fraction(32, 100), 0)


def cut(path: Path) -> None:
    path.write_text(path.read_text()[:-9])


def change(path: Path) -> None:
    path.write_text(path.read_text().replace(", 3, [[", ", 2, [["))


def empty(path: Path) -> None:
    path.write_text("")


def garble(path: Path) -> None:
    path.write_bytes(b'{"a": [[[\xff')


def reshape(path: Path) -> None:
    """As another version with the same name might write it."""
    held = json.loads(path.read_text())[:2]
    path.write_text(json.dumps([*held, digest_of(held)]))


def nest(path: Path) -> None:
    path.write_text("[" * 10**5)


@pytest.mark.parametrize("spoil", [cut, change, empty, garble, reshape, nest, Path.unlink])
def test_a_mark_that_is_spoilt_has_all_checked(known, url, reads, spoil):
    (path,) = Path(known.witness.path).parent.glob("*.checked")
    spoil(path)
    assert dp.Ledger.open(url("ann")).session(AGES)(QUERY).number == 4
    assert reads.whole == 1
    LedgerFile.open(url("ann"))
    assert reads.whole == 1


def test_another_version_checks_all_anew(known, url, reads, monkeypatch):
    monkeypatch.setattr(postgres, "find_version", lambda: "another")
    LedgerFile.open(url("ann"))
    assert reads.whole == 1
