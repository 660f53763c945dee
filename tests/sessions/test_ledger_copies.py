"""Files that were copied, moved, replaced, rolled back or changed by hand."""

import errno
import os
import shutil
import sqlite3
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import permutations
from random import Random

import pytest

import opendp_lite as dp
from opendp_lite.measures.budgets import numbers_of
from opendp_lite.sessions.ledger import entries as ledger_entry
from opendp_lite.sessions.ledger import file as files
from opendp_lite.sessions.ledger import sqlite as ledger_file
from opendp_lite.sessions.ledger import tables, witness
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.sqlite import STATEMENTS
from opendp_lite.sessions.text import read_short, write_short
from tests.sessions.ledgers import at_commit, copy, in_sqlite, interrupt, refused, spend

COPY = "is a copy or came from another machine"
ROLLED_BACK = "the ledger was rolled back"
JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal of SQLite begins that is to be undone."""


def test_a_copy_is_refused_until_it_is_adopted(ledger):
    spend(ledger)
    other = copy(ledger)
    refused(COPY, lambda: LedgerFile.open(other))
    refused("reason must say something", lambda: LedgerFile.adopt(other, " "))
    adopted = LedgerFile.adopt(other, "the old disk is broken")
    assert adopted.head.state is EntryState.ADOPTED
    assert adopted.head.note == "the old disk is broken"
    spend(adopted)
    assert LedgerFile.open(other).spent == Fraction(2, 100)
    spend(ledger)
    assert ledger.spent == Fraction(2, 100)


def test_a_file_that_moves_within_its_disk_is_the_same(ledger):
    spend(ledger)
    moved = ledger.path.rename(ledger.path.with_name("moved"))
    assert LedgerFile.open(moved).spent == Fraction(1, 100)
    refused("there is no ledger", lambda: ledger.reserve(Fraction(1, 100), asked="{}"))


def test_another_machine_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file.place, "this_machine", lambda: "another")
    refused(COPY, lambda: LedgerFile.open(ledger.path), lambda: spend(ledger))
    LedgerFile.adopt(ledger.path, "moved to the server")
    assert LedgerFile.open(ledger.path).spent == 0
    monkeypatch.undo()
    refused(COPY, lambda: LedgerFile.open(ledger.path))


def test_a_copy_put_in_the_place_of_the_file(ledger):
    old = copy(ledger)
    spend(ledger, 3)
    old.replace(ledger.path)
    uses = (lambda: spend(ledger), lambda: LedgerFile.open(ledger.path), ledger.verify)
    refused(f"{COPY}|{ROLLED_BACK}", *uses)


def test_a_copy_that_gets_the_number_of_the_lost_file(ledger):
    """File systems give the number of a deleted file to the next one; its time of birth differs."""
    old = copy(ledger)
    spend(ledger, 3)
    ledger.path.unlink()
    shutil.copy2(old, ledger.path)
    refused(COPY, lambda: LedgerFile.open(ledger.path))


def test_another_ledger_in_the_place_of_the_file(ledger, make):
    other = make("other.ledger")
    other.path.replace(ledger.path)
    refused("another ledger stands at", lambda: spend(ledger), ledger.view)


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after it"])
def test_a_file_replaced_within_an_entry_releases_nothing(ledger, monkeypatch, after):
    other, sealed = copy(ledger), ledger_entry.LedgerEntry.seal

    def replace(*given):
        other.replace(ledger.path)
        return sealed(*given) if given else None

    if after:
        at_commit(monkeypatch, after=replace)
    else:
        monkeypatch.setattr(ledger_entry.LedgerEntry, "seal", replace)
    refused("was replaced while it was in use", lambda: spend(ledger))


def test_a_deleted_file_is_not_made_again(ledger):
    ledger.path.unlink()
    refused("there is no ledger", lambda: spend(ledger))
    assert not ledger.path.exists()


def test_an_open_ledger_finds_that_it_was_rolled_back_in_place(ledger, unmarked):
    spend(ledger)
    old = ledger.path.read_bytes()
    spend(ledger)
    ledger.path.write_bytes(old)
    refused(ROLLED_BACK, lambda: spend(ledger), ledger.view, ledger.verify, lambda: ledger.spent)
    assert LedgerFile.open(ledger.path).spent == Fraction(1, 100)


def test_an_older_copy_written_over_the_file_is_found(remembered):
    ledger, memory = remembered
    spend(ledger, 2)
    old = copy(ledger)
    spend(ledger, 3)
    shutil.copyfile(old, ledger.path)
    refused(f"{memory} saw entry 11", lambda: LedgerFile.open(ledger.path))
    assert LedgerFile.look(ledger.path).trouble.startswith(ROLLED_BACK)
    adopted = LedgerFile.adopt(ledger.path, "the newer file is lost")
    assert (adopted.spent, adopted.head.price) == (Fraction(5, 100), Fraction(3, 100))
    spend(adopted)
    assert LedgerFile.open(ledger.path).spent == Fraction(6, 100)
    assert len(adopted.verify().entries) == 8


def test_an_open_ledger_does_not_go_on_from_an_older_copy(remembered, make, elsewhere, monkeypatch):
    """It never saw the entries that are lost, nor does the end of the witness tell of them."""
    ledger, memory = remembered
    monkeypatch.setattr(witness, "_TAIL", 500)
    spend(ledger, 2)
    idle, old = LedgerFile.open(ledger.path), ledger.path.read_bytes()
    spend(ledger, 3)
    for each in range(5):
        make(f"other {each}", witness=elsewhere)
    ledger.path.write_bytes(old)
    uses = (lambda: spend(idle), lambda: spend(LedgerFile.open(ledger.path)))
    refused(f"{memory} saw entry 11", *uses)
    assert idle.spent == Fraction(2, 100)
    assert LedgerFile.adopt(ledger.path, "the newer file is lost").spent == Fraction(5, 100)


def fail(monkeypatch, name: str, code: int) -> None:
    """A call of the system fails from now on."""

    def call(*given):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, call, raising=False)


LONG = (Fraction(1, 100) + Fraction(1, 3**1290), Fraction(1, 10**6) + Fraction(1, 7**728))
"""Its numbers take 1200 characters each, and its line more than a mark of ext4 may hold."""


def test_a_mark_of_long_numbers_finds_an_older_copy(make, marked):
    ledger = make(budget=dp.epsilon(1, delta=Fraction(1, 1000)))
    ledger.reserve(LONG, asked="{}")
    old = ledger.path.read_bytes()
    for _ in range(3):
        ledger.reserve(LONG, asked="{}")
    spent = ledger.spent
    assert len(os.getxattr(ledger.path, ledger_file._LAST)) < 400
    ledger.path.write_bytes(old)
    refused("a mark on the file saw entry 5", lambda: LedgerFile.open(ledger.path))
    counted = LedgerFile.adopt(ledger.path, "the newer file is lost").spent
    for true, found in zip(spent, counted, strict=True):
        assert true <= found < true * (1 + Fraction(1, 10**32))
        assert found.denominator.bit_length() <= 2048
    assert LedgerFile.open(ledger.path).spent == counted


def test_an_adoption_keeps_the_digits_of_a_total_bounded(ledger, marked):
    """What the mark saw and what the copy spent have no denominator in common."""
    prices = [Fraction(1, 100) + Fraction(1, each) for each in (3**1280, 7**728)]
    other = LedgerFile.adopt(copy(ledger), "a second machine")
    other.reserve(prices[0], asked="{}")
    ledger.reserve(prices[1], asked="{}")
    ledger.path.write_bytes(other.path.read_bytes())
    counted = LedgerFile.adopt(ledger.path, "from there").spent
    assert sum(prices) <= counted < sum(prices) * (1 + Fraction(1, 10**32))
    assert counted.denominator.bit_length() <= 2049


@pytest.mark.parametrize(
    "number",
    [
        Fraction(0),
        Fraction(1, 100),
        Fraction(1, 3**99),
        Fraction(3**99),
        Fraction(10**48 - 1),
        1 + Fraction(1, 10**50),
        Fraction(2**1024 - 1, 3**650),
        Fraction(1, 10**3999),
        Fraction(10**600 + 1),
    ],
    ids=lambda each: f"{each.numerator.bit_length()}-{each.denominator.bit_length()}",
)
def test_a_short_text_is_never_below_the_loss(number):
    text = write_short((number, number))
    first, second = read_short(text, dp.epsilon(1, delta=1e-6).measure)
    assert len(text) <= 97
    assert number <= first == second
    assert first == number or (len(str(number)) > 48 and first < number * (1 + Fraction(1, 10**33)))


@pytest.mark.parametrize(
    "text", ["", "1", "1 2 3", "-1 0", "1e5 0", "inf 0", "1/0 0", "1 1E+99999", "1 1E+9999"]
)
def test_a_short_text_of_no_loss(text):
    refused("is no exact number", lambda: read_short(text, dp.epsilon(1, delta=1e-6).measure))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.E2BIG, errno.EDQUOT, errno.EACCES])
def test_a_mark_that_cannot_be_written_releases_nothing(make, elsewhere, monkeypatch, code):
    ledger = make(unit="row", witness=elsewhere)
    ask, ran = dp.Ledger(ledger).session([1, 2, 3]), []
    fail(monkeypatch, "setxattr", code)
    asked = dp.count() >> dp.gaussian(rho=0.1) >> ran.append
    refused(r"mark on .* cannot be written .*the entry counts", lambda: ask(asked))
    assert (ran, ledger.spent) == ([], Fraction(1, 10))
    refused("cannot be written", lambda: make("another"))
    assert not elsewhere.with_name("another").exists()
    monkeypatch.undo()
    assert LedgerFile.open(ledger.path).spent == Fraction(1, 10)
    assert ledger.witness.last().seen[0].hash == ledger.head.hash


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_that_keeps_no_marks(ledger, monkeypatch, code):
    fail(monkeypatch, "setxattr", code)
    spend(ledger)
    assert ledger.spent == Fraction(1, 100)


def test_a_sandbox_that_refuses_marks(make, monkeypatch):
    """Without an older mark a refused one hides nothing; with one it would stay, and be wrong."""
    before = make("before")
    for call in ("setxattr", "getxattr"):
        fail(monkeypatch, call, errno.EPERM)
    ledger = make("inside")
    spend(ledger)
    assert ledger.spent == Fraction(1, 100)
    monkeypatch.undo()
    fail(monkeypatch, "setxattr", errno.EPERM)
    if before.storage.read_mark().seen:
        refused("cannot be written", lambda: spend(before))


def test_a_mark_that_cannot_be_read_is_not_taken_for_none(ledger, monkeypatch):
    fail(monkeypatch, "getxattr", errno.EIO)
    refused(r"the mark on the ledger .* cannot be read", lambda: spend(ledger))
    monkeypatch.undo()
    assert ledger.spent == 0


@pytest.mark.parametrize("end", ["goes on", "dies"])
def test_the_lines_of_a_witness_have_the_order_of_the_entries(watched, monkeypatch, end):
    """Another process pays between the commit of this one and its line; or this one dies there."""
    other = LedgerFile.open(watched.path)

    def overtake():
        other.reserve(Fraction(1, 10), asked="{}")
        if end == "dies":
            interrupt()

    at_commit(monkeypatch, after=overtake)
    with suppress(KeyboardInterrupt):
        watched.reserve(Fraction(1, 100), asked="{}")
    watched.reserve(Fraction(1, 50), asked="{}")
    assert [each.number for each in watched.witness.sightings().seen] == [1, 2, 3, 4]
    watched.verify()


def test_the_mark_is_of_the_last_entry_whoever_marks_last(ledger, monkeypatch, marked):
    """Another process pays and marks between the commit of this one and its mark."""
    other = LedgerFile.open(ledger.path)
    at_commit(monkeypatch, after=lambda: other.reserve(Fraction(1, 10), asked="{}"))
    paid = ledger.reserve(Fraction(1, 100), asked="{}")
    assert (paid.number, ledger.head.number) == (2, 3)
    assert [each.number for each in ledger.storage.read_mark().seen] == [3]


def test_a_mark_is_set_while_nobody_else_can_add(ledger, monkeypatch):
    held, true = [], ledger_file.SqliteFile.mark

    def marking(storage, entry):
        with (
            in_sqlite(storage.path) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("BEGIN IMMEDIATE")
        held.append(entry.number)
        true(storage, entry)

    monkeypatch.setattr(ledger_file.SqliteFile, "mark", marking)
    for _ in range(3):
        ledger.reserve(Fraction(1, 100), asked="{}")
    assert held == [2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_witness_that_is_no_file_any_more_is_refused(watched, elsewhere):
    elsewhere.unlink()
    os.mkfifo(elsewhere)
    refused("is no file any more; put it back", lambda: spend(watched))
    assert watched.spent == 0


def test_a_witness_finds_another_history(watched, elsewhere, unmarked):
    spend(watched, 2)
    old = watched.path.read_bytes()
    spend(watched, 3)
    witnessed = elsewhere.read_bytes()
    watched.path.write_bytes(old)
    elsewhere.unlink()
    spend(LedgerFile.adopt(watched.path, "a test"), 9)
    elsewhere.write_bytes(witnessed)
    refused("has another history", lambda: LedgerFile.open(watched.path))
    adopted = LedgerFile.adopt(watched.path, "both were used")
    assert adopted.spent == Fraction(2 + 9 + 3, 100)


def test_a_witness_that_ends_with_a_lost_history_and_was_told_all_keeps_no_payment(
    watched, elsewhere, unmarked
):
    """Whether all was told cannot be read off its last line, which stays what it is."""
    spend(watched)
    old = watched.path.read_bytes()
    spend(watched)
    lost = elsewhere.read_bytes()
    watched.path.write_bytes(old)
    spend(LedgerFile.adopt(watched.path, "the newer file is lost"))
    elsewhere.write_bytes(elsewhere.read_bytes() + b"\n" + lost)
    found = LedgerFile.open(watched.path)
    spend(found)
    spend(found)
    assert found.spent == Fraction(5, 100)
    assert len(found.verify().entries) == 10


@pytest.mark.parametrize("earlier", [False, True], ids=["now", "an earlier version"])
def test_lines_of_witnesses_tell_the_same_in_any_order(
    watched, elsewhere, unmarked, monkeypatch, earlier
):
    """Two machines saw payments that are lost, and an adoption before them, in files of theirs.

    An adoption by an earlier version names nothing that it counted: that is counted once more.
    """
    spend(watched)
    old = watched.path.read_bytes()
    spend(watched)
    watched.path.write_bytes(old)
    if earlier:
        adopt = LedgerFile._adopt
        monkeypatch.setattr(files, "write_counted", lambda hashes: "")
        monkeypatch.setattr(
            LedgerFile, "_adopt", lambda *given, late=False: not late and adopt(*given) and None
        )
    spend(LedgerFile.adopt(watched.path, "an earlier one"))
    monkeypatch.undo()
    monkeypatch.setattr(ledger_file, "_call", lambda name: ledger_file._refuse_call)
    old, saw = watched.path.read_bytes(), [elsewhere.read_bytes()]
    for _ in range(2):
        spend(LedgerFile.open(watched.path), 4)
        saw.append(elsewhere.read_bytes())
    lines = saw[-1].splitlines(keepends=True)
    for told in (*map(b"".join, permutations(saw)), b"\n" + b"".join(lines[::-1]), saw[-1]):
        watched.path.write_bytes(old)
        elsewhere.write_bytes(told)
        refused("was rolled back", lambda: LedgerFile.open(watched.path))
        found = LedgerFile.adopt(watched.path, "put together")
        assert found.spent == Fraction(3 + 8 + earlier, 100)
        assert LedgerFile.open(watched.path).spent == found.spent
        spend(found)


def test_a_witness_finds_a_roll_back_that_an_open_ledger_went_on_from(
    watched, unmarked, monkeypatch
):
    """The handle saw no entry that was lost, and its history becomes the longer one."""
    spend(watched, 2)
    idle, old = LedgerFile.open(watched.path), watched.path.read_bytes()
    spend(watched, 3)
    watched.path.write_bytes(old)
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda self: ())
    spend(idle, 5)
    refused("has another history", lambda: LedgerFile.open(watched.path))
    for reason in ("both were used", "again"):
        assert LedgerFile.adopt(watched.path, reason).spent == Fraction(2 + 5 + 3, 100)
    assert LedgerFile.open(watched.path).spent == Fraction(2 + 5 + 3, 100)


def test_a_roll_back_to_before_a_roll_back_that_was_adopted(watched, unmarked):
    first = watched.path.read_bytes()
    spend(watched)
    second = watched.path.read_bytes()
    spend(watched)
    watched.path.write_bytes(second)
    adopted = LedgerFile.adopt(watched.path, "the newer file is lost")
    assert adopted.spent == Fraction(2, 100)
    spend(adopted)
    watched.path.write_bytes(first)
    assert LedgerFile.adopt(watched.path, "lost again").spent == Fraction(3, 100)


@pytest.mark.parametrize("seed", range(6))
def test_a_witness_counts_what_all_copies_spent(
    make, tmp_path, elsewhere, unmarked, monkeypatch, seed
):
    """Copies of copies, of which some go on although others were adopted."""
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda self: ())
    random = Random(seed)
    budget = dp.epsilon(1, delta=1e-6) if seed % 2 else dp.rho(1)
    price = (Fraction(1, 100), Fraction(0)) if seed % 2 else Fraction(1, 100)
    used, spent = [make(budget=budget, witness=elsewhere)], 0
    files = [copy(used[0], "0")]
    for name in range(1, 13):
        for _ in range(random.randrange(3)):
            random.choice(used).reserve(price, asked="{}")
            spent += 1
        files.append(copy(random.choice(used), str(name)))
        chosen = shutil.copy2(random.choice(files), tmp_path / f"adopted {name}")
        used.append(LedgerFile.adopt(chosen, "a test"))
        assert numbers_of(used[-1].spent)[0] == Fraction(spent, 100)


def test_a_mark_counts_what_a_copy_spent_that_was_written_over_the_file(ledger, marked):
    spend(ledger, 2)
    other = LedgerFile.adopt(copy(ledger), "a second machine")
    spend(other, 3)
    spend(ledger, 9)
    ledger.path.write_bytes(other.path.read_bytes())
    assert LedgerFile.adopt(ledger.path, "from there").spent == Fraction(2 + 3 + 9, 100)


@pytest.mark.parametrize("left", [None, b"", b"\n"], ids=["deleted", "empty", "without a line"])
def test_a_lost_witness_is_asked_for(watched, elsewhere, left):
    spend(watched)
    whole = elsewhere.read_bytes()
    elsewhere.unlink()
    if left is not None:
        elsewhere.write_bytes(left)
    uses = (lambda: spend(watched), lambda: LedgerFile.open(watched.path))
    refused("put it back, or adopt the ledger", *uses)
    assert watched.spent == Fraction(1, 100)
    assert elsewhere.exists() == (left is not None)
    LedgerFile.adopt(copy(watched), "the stick is lost")
    assert LedgerFile.open(watched.path.with_name("copy")).spent == Fraction(1, 100)
    elsewhere.write_bytes(whole)
    spend(watched)
    assert LedgerFile.open(watched.path).spent == Fraction(2, 100)


def test_a_witness_that_is_lost_within_a_payment(watched, elsewhere, monkeypatch):
    at_commit(monkeypatch, after=elsewhere.unlink)
    refused(r"cannot be written .*the entry counts", lambda: spend(watched))
    assert watched.spent == Fraction(1, 100)


@pytest.mark.parametrize("linked", [False, True], ids=["named", "through a link"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine", "the witness is a file of its own, elsewhere"),
        ("mine-JOURNAL", "the name of a witness ends in none of -journal, -wal, -shm"),
        ("another-wal", "the name of a witness ends in none of -journal, -wal, -shm"),
    ],
)
def test_a_witness_is_no_file_of_a_ledger(make, tmp_path, name, words, linked):
    place = tmp_path / name
    if linked:
        link = tmp_path / "link"
        link.symlink_to(place)
        place = link
    refused(words, lambda: make("mine", witness=place))
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-WAL"])
def test_a_ledger_has_no_name_that_sqlite_gives_to_its_own_files(make, ledger, end):
    """SQLite would delete it when the ledger of the name before the end is used."""
    name = f"survey.ledger{end}"
    refused(f"Give '{name}' another name", lambda: make(name))
    moved = ledger.path.rename(ledger.path.with_name(name))
    refused(f"Give '{name}' another name", lambda: LedgerFile.open(moved))


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["ledger", "witness", "text"])
def test_a_file_that_sqlite_would_take_for_its_own_is_not_deleted(
    make, tmp_path, watched, elsewhere, kind, end
):
    """As an earlier version made them."""
    sources = {"ledger": watched.path, "witness": elsewhere}
    content = sources[kind].read_bytes() if kind in sources else b"a note of mine"
    ledger, beside = make("mine"), tmp_path / f"mine{end}"
    beside.write_bytes(content)
    uses = (lambda: spend(ledger), lambda: LedgerFile.open(ledger.path), ledger.view)
    refused("stands beside the ledger", *uses)
    ledger.path.unlink()
    refused("stands beside the ledger", lambda: make("mine"))
    assert not ledger.path.exists()
    assert beside.read_bytes() == content


def test_a_witness_does_not_write_into_other_files(ledger, make, tmp_path):
    data = tmp_path / "survey.csv"
    data.write_text("age\n41\n")
    for other, words in (
        (data, "holds something else than a witness"),
        (ledger.path, "holds something else than a witness"),
        (tmp_path, "the witness is a file in a folder"),
        ("/dev/null", "the witness is a file in a folder"),
    ):
        refused(words, partial(make, "mine", witness=other))
    assert data.read_text() == "age\n41\n"


def stale_journal(ledger: LedgerFile, monkeypatch) -> bytes:
    """The journal of a payment, as SQLite has it on the disk while it writes the pages."""
    journal = ledger.path.with_name(f"{ledger.path.name}-journal")
    kept = []
    at_commit(monkeypatch, before=lambda: kept.append(journal.read_bytes()))
    ledger.reserve(Fraction(1, 100), asked="{}")
    (found,) = kept
    sector, page = (int.from_bytes(found[start : start + 4], "big") for start in (20, 24))
    pages = (len(found) - sector) // (page + 8)
    return JOURNAL + pages.to_bytes(4, "big") + found[12:]


@pytest.mark.parametrize("later", [0, 1, 3])
@pytest.mark.parametrize("memory", ["handle", "mark", "witness"])
def test_an_old_journal_that_is_put_back_hides_no_payment(request, monkeypatch, memory, later):
    """SQLite undoes the payment at the next use of the file."""
    request.getfixturevalue("marked" if memory == "mark" else "unmarked")
    ledger = request.getfixturevalue("watched" if memory == "witness" else "ledger")
    spend(ledger, 2)
    idle = LedgerFile.open(ledger.path)
    journal = stale_journal(ledger, monkeypatch)
    spend(ledger, later)
    ledger.path.with_name("survey.ledger-journal").write_bytes(journal)
    with in_sqlite(ledger.path) as other:
        assert other.execute("SELECT max(number) FROM entries").fetchone() == (5,)
    uses = [lambda: spend(ledger), lambda: ledger.spent, ledger.verify]
    others = [lambda: spend(idle), lambda: LedgerFile.open(ledger.path)]
    refused(f"{ROLLED_BACK}|is damaged", *uses, *(others if memory != "handle" else []))


def test_a_line_of_a_witness_that_was_cut_short(watched, elsewhere):
    spend(watched)
    whole = elsewhere.read_bytes()
    for lost in range(1, 40):
        elsewhere.write_bytes(whole[:-lost])
        assert LedgerFile.open(watched.path).spent == Fraction(1, 100)
    spend(watched)
    assert LedgerFile.open(watched.path).spent == Fraction(2, 100)


def test_a_line_that_no_ledger_wrote_is_passed_over(watched, elsewhere):
    """Python refuses to read a number of so many digits, and SQLite to look for a shorter one."""
    with elsewhere.open("a") as file:
        for number in ("9" * 5000, "9" * 19):
            file.write(f"\n{watched.terms.identity} {number} {'a' * 64} reserved 1/10 1/10 .\n")
    spend(watched)
    assert LedgerFile.open(watched.path).spent == watched.spent == Fraction(1, 100)


def test_a_line_of_a_loss_that_no_ledger_has_is_not_adopted(watched, elsewhere):
    """Its total could be written, and never be read again."""
    with elsewhere.open("a") as file:
        file.write(f"\n{watched.terms.identity} 2 {'a' * 64} reserved 9E+3990 9E+3990 .\n")
    refused("is no exact number", partial(LedgerFile.adopt, watched.path, "a test"))
    assert LedgerFile.look(watched.path).spent == 0


def test_several_ledgers_share_a_witness(make, watched, elsewhere):
    other = make("b", witness=elsewhere)
    spend(watched, 2)
    spend(other, 1)
    spent = [LedgerFile.open(each.path).spent for each in (watched, other)]
    assert spent == [Fraction(2, 100), Fraction(1, 100)]


CHANGES = {
    "a price": "UPDATE entries SET price = '1/1000' WHERE number = 2",
    "a price and its total": "UPDATE entries SET price = '0', total = '0' WHERE number = 4",
    "the budget": "UPDATE entries SET budget = '2'",
    "a note": "UPDATE entries SET note = 'other' WHERE number = 2",
    "a time": "UPDATE entries SET time = '2020' WHERE number = 2",
    "an entry left out": "DELETE FROM entries WHERE number = 2",
    "all entries left out": "DELETE FROM entries",
    "the unit": "UPDATE ledger SET unit = 'row'",
    "a number of another kind": "UPDATE entries SET price = '0.01' WHERE number = 2",
    "a negative price": "UPDATE entries SET price = '-1/100' WHERE number = 2",
    "an endless number": "UPDATE entries SET price = printf('%.*c', 9999, '9') WHERE number = 2",
    "a state": "UPDATE entries SET state = 'refunded' WHERE number = 2",
    "bytes for a number": "UPDATE entries SET closes = x'00' WHERE number = 3",
    "a text that is no UTF-8": "UPDATE entries SET note = CAST(x'ff' AS TEXT) WHERE number = 2",
    "no terms": "DELETE FROM ledger",
}


def changed(ledger: LedgerFile, sql: str) -> None:
    """Changes the file as a person does who knows SQLite, and puts the triggers back."""
    with in_sqlite(ledger.path) as connection:
        triggers = [each for each in STATEMENTS if "TRIGGER" in each]
        for trigger in triggers:
            connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
        connection.execute(sql)
        for trigger in triggers:
            connection.execute(trigger)


@pytest.mark.parametrize("sql", CHANGES.values(), ids=CHANGES)
def test_a_change_by_hand_is_found(ledger, sql):
    spend(ledger, 3)
    changed(ledger, sql)
    uses = (LedgerFile.open, partial(LedgerFile.adopt, reason="a test"))
    refused("damaged", *(partial(use, ledger.path) for use in uses))


@pytest.mark.parametrize("table", ["ledger", "secret"])
def test_terms_or_a_key_that_somebody_added_are_found_by_a_whole_check(ledger, table):
    """The first are read as before, so that nothing is spent wrongly; no trigger forbids it."""
    spend(ledger, 3)
    with in_sqlite(ledger.path) as connection:
        connection.execute(f"INSERT INTO {table} SELECT * FROM {table}")
    refused("damaged", ledger.verify, partial(LedgerFile.open, ledger.path))


def test_a_number_that_would_fill_the_memory_is_not_read(ledger):
    changed(ledger, "UPDATE ledger SET measure = 'RenyiDivergence 2:1e999999999'")
    refused("under a measure that this version", partial(LedgerFile.open, ledger.path))


@pytest.mark.parametrize("key", ["'none'", "5"])
def test_a_key_that_is_none_is_refused(ledger, key):
    """It was a ValueError of Python's."""
    changed(ledger, f"UPDATE secret SET key = {key}")
    refused("it has no key", LedgerFile.open(ledger.path).key)


def test_damage_that_is_no_text_is_refused(ledger):
    """SQLite quotes it, and Python could not read what it said."""
    held = ledger.path.read_bytes()
    damaged = held.replace(b"CREATE TABLE entries", b"CREATE \x82ABLE entries", 1)
    assert damaged != held
    other = copy(ledger)
    other.write_bytes(damaged)
    refused("it is damaged", partial(LedgerFile.open, other))


def test_the_file_itself_refuses_changes(ledger):
    spend(ledger, 3)
    with in_sqlite(ledger.path) as connection:
        for sql in CHANGES.values():
            with pytest.raises(sqlite3.IntegrityError, match="a ledger is only added to"):
                connection.execute(sql)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO entries SELECT * FROM entries")


def test_changed_tables_are_refused(ledger):
    with in_sqlite(ledger.path) as connection:
        connection.execute("CREATE TRIGGER refund AFTER INSERT ON entries BEGIN SELECT 1; END")
    refused(r"the tables of the ledger .* were changed by", lambda: spend(ledger))


def test_a_ledger_of_another_version(ledger):
    with in_sqlite(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 7")
    refused("the layout 7 of another version", lambda: LedgerFile.open(ledger.path))


def test_a_file_in_the_mode_of_another_program_is_turned_back(ledger):
    with in_sqlite(ledger.path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    spend(ledger)
    assert not ledger.path.with_name("survey.ledger-wal").exists()
    assert ledger.spent == Fraction(1, 100)


def test_a_forged_chain_shows_in_its_head(ledger, unmarked):
    """Who computes every hash anew is not refused; the head that a statement shows is another."""
    spend(ledger)
    before = ledger.head.hash
    entries = ledger.view().entries
    zero = Fraction(0)
    forged, previous = [], entries[0].previous
    for each in entries:
        cells = {**each.as_dict(), "price": "0", "total": "0", "previous": previous, "hash": ""}
        cells["hash"] = ledger_entry.digest_of(tuple(cells.values())[:-1])
        row = ledger_entry.LedgerEntry.of_row(tuple(cells.values()), ledger.measure)
        forged.append(row)
        previous = row.hash
    assert forged[-1].total == zero
    marks = ", ".join("?" * len(ledger_entry.COLUMNS))
    changed(ledger, "DELETE FROM entries")
    with in_sqlite(ledger.path) as connection:
        for row in forged:
            connection.execute(f"INSERT INTO entries VALUES ({marks})", row.row())
    assert LedgerFile.open(ledger.path).head.hash != before
    refused(ROLLED_BACK, lambda: spend(ledger))


def test_a_clock_that_runs_backwards_decides_nothing(ledger, monkeypatch):
    spend(ledger)
    monkeypatch.setattr(tables.entries, "read_clock", lambda: "1970-01-01T00:00:00.000000Z")
    spend(ledger)
    monkeypatch.undo()
    spend(ledger)
    found = LedgerFile.open(ledger.path)
    assert found.spent == Fraction(3, 100)
    assert [entry.number for entry in found.view().clock_set_back()] == [4]


def test_what_the_original_pays_during_an_adoption_is_counted(watched, unmarked, monkeypatch):
    """It pays between the look at the witness and the line of the adoption, and once after."""
    other, prices = copy(watched), [Fraction(1, 10), Fraction(1, 20)]

    def pay():
        watched.reserve(prices.pop(), asked="{}")
        if prices:
            at_commit(monkeypatch, before=pay)

    at_commit(monkeypatch, before=pay)
    looking = LedgerFile._last_sightings
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda ledger: ())
    adopted = LedgerFile.adopt(other, "moved")
    monkeypatch.setattr(LedgerFile, "_last_sightings", looking)
    assert adopted.spent == Fraction(3, 20)
    adopted.verify()
    refused(ROLLED_BACK, lambda: spend(watched))
