"""Files that were copied, moved, replaced, rolled back or changed by hand."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import opendp_lite as dp
from opendp_lite.measures.budgets import numbers_of
from opendp_lite.sessions.ledger import entries as ledger_entry
from opendp_lite.sessions.ledger import file as ledger_file
from opendp_lite.sessions.ledger import witness as sightings
from opendp_lite.sessions.ledger.connection import STATEMENTS
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.text import read_short, write_short

COPY = "is a copy or came from another machine"
ROLLED_BACK = "the ledger was rolled back"
JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal of SQLite begins that is to be undone."""


def spend(ledger: LedgerFile, count: int = 1) -> None:
    for _ in range(count):
        ledger.finish(ledger.reserve(Fraction(1, 100), asked="{}").number)


def copied(ledger: LedgerFile, name: str = "copy") -> Path:
    return Path(shutil.copy2(ledger.path, ledger.path.with_name(name)))


def test_a_copy_is_refused_until_it_is_adopted(ledger):
    spend(ledger)
    copy = copied(ledger)
    with pytest.raises(dp.OpenDPLiteError, match=COPY):
        LedgerFile.open(copy)
    with pytest.raises(dp.ParameterError, match="reason must say something"):
        LedgerFile.adopt(copy, " ")
    adopted = LedgerFile.adopt(copy, "the old disk is broken")
    assert adopted.head.state is EntryState.ADOPTED
    assert adopted.head.note == "the old disk is broken"
    spend(adopted)
    assert LedgerFile.open(copy).spent == Fraction(2, 100)
    spend(ledger)
    assert ledger.spent == Fraction(2, 100)


def test_a_file_that_moves_within_its_disk_is_the_same(ledger):
    spend(ledger)
    moved = ledger.path.rename(ledger.path.with_name("moved"))
    assert LedgerFile.open(moved).spent == Fraction(1, 100)
    with pytest.raises(dp.OpenDPLiteError, match="there is no ledger"):
        ledger.reserve(Fraction(1, 100), asked="{}")


def test_another_machine_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "this_machine", lambda: "another")
    with pytest.raises(dp.OpenDPLiteError, match=COPY):
        LedgerFile.open(ledger.path)
    with pytest.raises(dp.OpenDPLiteError, match=COPY):
        ledger.reserve(Fraction(1, 100), asked="{}")
    LedgerFile.adopt(ledger.path, "moved to the server")
    assert LedgerFile.open(ledger.path).spent == 0
    monkeypatch.undo()
    with pytest.raises(dp.OpenDPLiteError, match=COPY):
        LedgerFile.open(ledger.path)


def test_a_copy_put_in_the_place_of_the_file(ledger):
    old = copied(ledger)
    spend(ledger, 3)
    old.replace(ledger.path)
    for use in (lambda: spend(ledger), lambda: LedgerFile.open(ledger.path), ledger.verify):
        with pytest.raises(dp.OpenDPLiteError, match=f"{COPY}|{ROLLED_BACK}"):
            use()


def test_a_copy_that_gets_the_number_of_the_lost_file(ledger):
    """File systems give the number of a deleted file to the next one; its time of birth differs."""
    old = copied(ledger)
    spend(ledger, 3)
    ledger.path.unlink()
    shutil.copy2(old, ledger.path)
    with pytest.raises(dp.OpenDPLiteError, match=COPY):
        LedgerFile.open(ledger.path)


def test_another_ledger_in_the_place_of_the_file(ledger, make):
    other = make("other.ledger")
    other.path.replace(ledger.path)
    with pytest.raises(dp.OpenDPLiteError, match="another ledger stands at"):
        spend(ledger)
    with pytest.raises(dp.OpenDPLiteError, match="another ledger stands at"):
        ledger.view()


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after it"])
def test_a_file_replaced_within_an_entry_releases_nothing(ledger, monkeypatch, after):
    other, true = copied(ledger), ledger_file.commit

    def replacing(*given):
        true(*given)
        other.replace(ledger.path)

    def replaced(entry):
        other.replace(ledger.path)
        return sealed(entry)

    sealed = ledger_entry.LedgerEntry.seal
    if after:
        monkeypatch.setattr(ledger_file, "commit", replacing)
    else:
        monkeypatch.setattr(ledger_entry.LedgerEntry, "seal", replaced)
    with pytest.raises(dp.OpenDPLiteError, match="was replaced while it was in use"):
        spend(ledger)


def test_a_deleted_file_is_not_made_again(ledger):
    ledger.path.unlink()
    with pytest.raises(dp.OpenDPLiteError, match="there is no ledger"):
        spend(ledger)
    assert not ledger.path.exists()


def test_an_open_ledger_finds_that_it_was_rolled_back_in_place(ledger, unmarked):
    spend(ledger)
    old = ledger.path.read_bytes()
    spend(ledger)
    ledger.path.write_bytes(old)
    for use in (lambda: spend(ledger), ledger.view, ledger.verify, lambda: ledger.spent):
        with pytest.raises(dp.OpenDPLiteError, match=ROLLED_BACK):
            use()
    assert LedgerFile.open(ledger.path).spent == Fraction(1, 100)


def marks_are_kept(path: Path) -> bool:
    try:
        os.setxattr(path, "user.test", b"x")
    except (AttributeError, OSError):
        return False
    return True


def test_a_mark_finds_an_older_copy_written_over_the_file(ledger, marked):
    spend(ledger, 2)
    old = copied(ledger)
    spend(ledger, 3)
    shutil.copyfile(old, ledger.path)
    with pytest.raises(dp.OpenDPLiteError, match="a mark on the file saw entry 11"):
        LedgerFile.open(ledger.path)
    assert LedgerFile.look(ledger.path).trouble.startswith("the ledger was rolled back")
    adopted = LedgerFile.adopt(ledger.path, "the newer file is lost")
    assert adopted.spent == Fraction(5, 100)
    assert LedgerFile.open(ledger.path).spent == Fraction(5, 100)


@pytest.fixture
def marked(tmp_path):
    """Skips where the file system keeps no marks."""
    (tmp_path / "mark").touch()
    if not marks_are_kept(tmp_path / "mark"):
        pytest.skip("this file system keeps no marks")


def failing(code: int):
    """A call of the system that fails."""

    def call(*given):
        raise OSError(code, os.strerror(code))

    return call


LONG = (Fraction(1, 100) + Fraction(1, 3**1290), Fraction(1, 10**6) + Fraction(1, 7**728))
"""Its numbers take 1200 characters each, and its line more than a mark of ext4 may hold."""


def test_a_mark_of_long_numbers_finds_an_older_copy(make, marked):
    ledger = make(budget=dp.epsilon(1, delta=Fraction(1, 1000)))
    ledger.reserve(LONG, asked="{}")
    old = ledger.path.read_bytes()
    for _ in range(3):
        ledger.reserve(LONG, asked="{}")
    spent = ledger.spent
    assert len(os.getxattr(ledger.path, sightings._NAME)) < 400
    ledger.path.write_bytes(old)
    with pytest.raises(dp.OpenDPLiteError, match="a mark on the file saw entry 5"):
        LedgerFile.open(ledger.path)
    counted = LedgerFile.adopt(ledger.path, "the newer file is lost").spent
    for true, found in zip(spent, counted, strict=True):
        assert true <= found < true * (1 + Fraction(1, 10**32))
        assert found.denominator.bit_length() <= 2048
    assert LedgerFile.open(ledger.path).spent == counted


def test_an_adoption_keeps_the_digits_of_a_total_bounded(ledger, marked):
    """What the mark saw and what the copy spent have no denominator in common."""
    prices = [Fraction(1, 100) + Fraction(1, each) for each in (3**1280, 7**728)]
    copy = LedgerFile.adopt(copied(ledger), "a second machine")
    copy.reserve(prices[0], asked="{}")
    ledger.reserve(prices[1], asked="{}")
    ledger.path.write_bytes(copy.path.read_bytes())
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
        Fraction(10**3999 + 1),
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
    "text", ["", "1", "1 2 3", "-1 0", "1e5 0", "inf 0", "1/0 0", "1 1E+99999"]
)
def test_a_short_text_of_no_loss(text):
    with pytest.raises(dp.OpenDPLiteError, match="is no exact number"):
        read_short(text, dp.epsilon(1, delta=1e-6).measure)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.E2BIG, errno.EDQUOT, errno.EACCES])
def test_a_mark_that_cannot_be_written_releases_nothing(make, tmp_path, monkeypatch, code):
    refuse = failing(code)
    ledger = make(unit="row", witness=tmp_path / "elsewhere")
    ask, ran = dp.Ledger(ledger).session([1, 2, 3]), []
    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    with pytest.raises(
        dp.OpenDPLiteError, match=r"mark on .* cannot be written .*the entry counts"
    ):
        ask(dp.count() >> dp.gaussian(rho=0.1) >> ran.append)
    assert (ran, ledger.spent) == ([], Fraction(1, 10))
    with pytest.raises(dp.OpenDPLiteError, match="cannot be written"):
        make("another")
    assert not (tmp_path / "another").exists()
    monkeypatch.undo()
    assert LedgerFile.open(ledger.path).spent == Fraction(1, 10)
    assert ledger.witness.last().seen[0].hash == ledger.head.hash


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_that_keeps_no_marks(ledger, monkeypatch, code):
    refuse = failing(code)
    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    spend(ledger)
    assert ledger.spent == Fraction(1, 100)


def test_a_sandbox_that_refuses_marks(make, monkeypatch):
    """Without an older mark a refused one hides nothing; with one it would stay, and be wrong."""
    refuse = failing(errno.EPERM)
    before = make("before")
    for call in ("setxattr", "getxattr"):
        monkeypatch.setattr(os, call, refuse, raising=False)
    ledger = make("inside")
    spend(ledger)
    assert ledger.spent == Fraction(1, 100)
    monkeypatch.undo()
    if marks_are_kept(before.path):
        monkeypatch.setattr(os, "setxattr", refuse)
        with pytest.raises(dp.OpenDPLiteError, match="cannot be written"):
            spend(before)


def test_a_mark_that_cannot_be_read_is_not_taken_for_none(ledger, monkeypatch):
    fail = failing(errno.EIO)
    monkeypatch.setattr(os, "getxattr", fail, raising=False)
    with pytest.raises(dp.OpenDPLiteError, match=r"the mark on the ledger .* cannot be read"):
        spend(ledger)
    monkeypatch.undo()
    assert ledger.spent == 0


@pytest.mark.parametrize("end", ["goes on", "dies"])
def test_the_lines_of_a_witness_have_the_order_of_the_entries(make, tmp_path, monkeypatch, end):
    """Another process pays between the commit of this one and its line; or this one dies there."""
    ledger = make(witness=tmp_path / "elsewhere")
    other, true = LedgerFile.open(ledger.path), ledger_file.commit

    def overtaken(*given):
        monkeypatch.setattr(ledger_file, "commit", true)
        true(*given)
        other.reserve(Fraction(1, 10), asked="{}")
        if end == "dies":
            raise KeyboardInterrupt

    monkeypatch.setattr(ledger_file, "commit", overtaken)
    if end == "dies":
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(Fraction(1, 100), asked="{}")
    else:
        ledger.reserve(Fraction(1, 100), asked="{}")
    ledger.reserve(Fraction(1, 50), asked="{}")
    assert [each.number for each in ledger.witness.sightings().seen] == [1, 2, 3, 4]
    ledger.verify()


def test_the_mark_is_of_the_last_entry_whoever_marks_last(ledger, monkeypatch, marked):
    """Another process pays and marks between the commit of this one and its mark."""
    other, true = LedgerFile.open(ledger.path), ledger_file.commit

    def overtaken(*given):
        monkeypatch.setattr(ledger_file, "commit", true)
        true(*given)
        other.reserve(Fraction(1, 10), asked="{}")

    monkeypatch.setattr(ledger_file, "commit", overtaken)
    paid = ledger.reserve(Fraction(1, 100), asked="{}")
    assert (paid.number, ledger.head.number) == (2, 3)
    assert [each.number for each in sightings.read_mark(ledger.path).seen] == [3]


def test_a_mark_is_set_while_nobody_else_can_add(ledger, monkeypatch):
    held, true = [], ledger_file.mark

    def marking(path, entry):
        other = closing(sqlite3.connect(path, timeout=0, isolation_level=None))
        with other as connection, pytest.raises(sqlite3.OperationalError, match="locked"):
            connection.execute("BEGIN IMMEDIATE")
        held.append(entry.number)
        true(path, entry)

    monkeypatch.setattr(ledger_file, "mark", marking)
    for _ in range(3):
        ledger.reserve(Fraction(1, 100), asked="{}")
    assert held == [2, 3, 4]


@pytest.fixture
def unmarked(monkeypatch):
    """A file system that keeps no marks."""
    monkeypatch.setattr(sightings, "_call", lambda name: sightings._refuse)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_witness_that_is_no_file_any_more_is_refused(make, tmp_path):
    ledger = make(witness=tmp_path / "elsewhere")
    (tmp_path / "elsewhere").unlink()
    os.mkfifo(tmp_path / "elsewhere")
    with pytest.raises(dp.OpenDPLiteError, match="is no file any more; put it back"):
        spend(ledger, 1)
    assert ledger.spent == 0


def test_a_witness_finds_a_roll_back(make, tmp_path, unmarked):
    ledger = make(witness=tmp_path / "elsewhere")
    spend(ledger, 2)
    old = ledger.path.read_bytes()
    spend(ledger, 3)
    ledger.path.write_bytes(old)
    with pytest.raises(dp.OpenDPLiteError, match="saw entry 11"):
        LedgerFile.open(ledger.path)
    adopted = LedgerFile.adopt(ledger.path, "the newer file is lost")
    assert adopted.spent == Fraction(5, 100)
    assert adopted.head.price == Fraction(3, 100)
    spend(adopted)
    assert LedgerFile.open(ledger.path).spent == Fraction(6, 100)
    assert len(adopted.verify().entries) == 8


def test_a_witness_finds_another_history(make, tmp_path, unmarked):
    ledger = make(witness=tmp_path / "elsewhere")
    spend(ledger, 2)
    old = ledger.path.read_bytes()
    spend(ledger, 3)
    witnessed = (tmp_path / "elsewhere").read_bytes()
    ledger.path.write_bytes(old)
    spend(LedgerFile.adopt(ledger.path, "a test"), 9)
    (tmp_path / "elsewhere").write_bytes(witnessed)
    with pytest.raises(dp.OpenDPLiteError, match="has another history"):
        LedgerFile.open(ledger.path)
    assert LedgerFile.adopt(ledger.path, "both were used").spent == Fraction(2 + 3 + 9 + 3, 100)


def test_a_witness_tells_an_open_ledger_of_entries_that_it_never_saw(make, tmp_path, unmarked):
    ledger = make(witness=tmp_path / "elsewhere")
    spend(ledger, 2)
    idle, old = LedgerFile.open(ledger.path), ledger.path.read_bytes()
    spend(ledger, 3)
    for _ in range(40):
        spend(make(f"other {_}", witness=tmp_path / "elsewhere"), 0)
    ledger.path.write_bytes(old)
    for use in (spend, lambda each: spend(LedgerFile.open(each.path))):
        with pytest.raises(dp.OpenDPLiteError, match="its witness saw entry 11"):
            use(idle)
    assert idle.spent == Fraction(2, 100)
    assert LedgerFile.adopt(ledger.path, "the newer file is lost").spent == Fraction(5, 100)


def test_a_witness_finds_a_roll_back_that_an_open_ledger_went_on_from(
    make, tmp_path, unmarked, monkeypatch
):
    """The handle saw no entry that was lost, and its history becomes the longer one."""
    ledger = make(witness=tmp_path / "elsewhere")
    spend(ledger, 2)
    idle, old = LedgerFile.open(ledger.path), ledger.path.read_bytes()
    spend(ledger, 3)
    ledger.path.write_bytes(old)
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda self: ())
    spend(idle, 5)
    with pytest.raises(dp.OpenDPLiteError, match="has another history"):
        LedgerFile.open(ledger.path)
    adopted = LedgerFile.adopt(ledger.path, "both were used")
    assert adopted.spent == Fraction(2 + 5 + 3, 100)
    assert LedgerFile.adopt(ledger.path, "again").spent == adopted.spent
    assert LedgerFile.open(ledger.path).spent == adopted.spent


def test_a_roll_back_to_before_a_roll_back_that_was_adopted(make, tmp_path, unmarked):
    ledger = make(witness=tmp_path / "elsewhere")
    first = ledger.path.read_bytes()
    spend(ledger)
    second = ledger.path.read_bytes()
    spend(ledger)
    ledger.path.write_bytes(second)
    adopted = LedgerFile.adopt(ledger.path, "the newer file is lost")
    assert adopted.spent == Fraction(2, 100)
    spend(adopted)
    ledger.path.write_bytes(first)
    assert LedgerFile.adopt(ledger.path, "lost again").spent == Fraction(3, 100)


@pytest.mark.parametrize("seed", range(6))
def test_a_witness_counts_what_all_copies_spent(make, tmp_path, unmarked, monkeypatch, seed):
    """Copies of copies, of which some go on although others were adopted."""
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda self: ())
    random = Random(seed)
    budget = dp.epsilon(1, delta=1e-6) if seed % 2 else dp.rho(1)
    price = (Fraction(1, 100), Fraction(0)) if seed % 2 else Fraction(1, 100)
    used, spent = [make(budget=budget, witness=tmp_path / "elsewhere")], 0
    files = [copied(used[0], "0")]
    for name in range(1, 13):
        for _ in range(random.randrange(3)):
            random.choice(used).reserve(price, asked="{}")
            spent += 1
        files.append(copied(random.choice(used), str(name)))
        chosen = shutil.copy2(random.choice(files), tmp_path / f"adopted {name}")
        used.append(LedgerFile.adopt(chosen, "a test"))
        assert numbers_of(used[-1].spent)[0] == Fraction(spent, 100)


def test_a_mark_counts_what_a_copy_spent_that_was_written_over_the_file(ledger, marked):
    spend(ledger, 2)
    copy = LedgerFile.adopt(copied(ledger), "a second machine")
    spend(copy, 3)
    spend(ledger, 9)
    ledger.path.write_bytes(copy.path.read_bytes())
    assert LedgerFile.adopt(ledger.path, "from there").spent == Fraction(2 + 3 + 9, 100)


def test_an_open_ledger_does_not_go_on_from_an_older_copy(ledger, marked):
    spend(ledger, 2)
    idle, old = LedgerFile.open(ledger.path), ledger.path.read_bytes()
    spend(ledger, 3)
    ledger.path.write_bytes(old)
    with pytest.raises(dp.OpenDPLiteError, match="a mark on the file saw entry 11"):
        spend(idle)
    assert LedgerFile.adopt(ledger.path, "the newer file is lost").spent == Fraction(5, 100)


def test_a_lost_witness_is_asked_for(make, tmp_path):
    witness = tmp_path / "elsewhere"
    ledger = make(witness=witness)
    spend(ledger)
    witness.unlink()
    with pytest.raises(dp.OpenDPLiteError, match="put it back, or adopt the ledger"):
        LedgerFile.open(ledger.path)
    LedgerFile.adopt(ledger.path, "the stick is lost")
    assert LedgerFile.open(ledger.path).spent == Fraction(1, 100)


@pytest.mark.parametrize("left", [None, b"", b"\n"], ids=["deleted", "empty", "without a line"])
def test_a_witness_that_is_lost_while_the_ledger_is_open(make, tmp_path, left):
    witness = tmp_path / "elsewhere"
    ledger = make(witness=witness)
    spend(ledger)
    whole = witness.read_bytes()
    witness.unlink()
    if left is not None:
        witness.write_bytes(left)
    with pytest.raises(dp.OpenDPLiteError, match="put it back, or adopt the ledger"):
        spend(ledger)
    assert ledger.spent == Fraction(1, 100)
    assert witness.exists() == (left is not None)
    witness.write_bytes(whole)
    spend(ledger)
    assert LedgerFile.open(ledger.path).spent == Fraction(2, 100)


def test_a_witness_that_is_lost_within_a_payment(make, tmp_path, monkeypatch):
    witness = tmp_path / "elsewhere"
    ledger, true = make(witness=witness), ledger_file.commit

    def losing(*given):
        true(*given)
        witness.unlink()

    monkeypatch.setattr(ledger_file, "commit", losing)
    with pytest.raises(dp.OpenDPLiteError, match=r"cannot be written .*the entry counts"):
        spend(ledger)
    monkeypatch.undo()
    assert ledger.spent == Fraction(1, 100)


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
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make("mine", witness=place)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-WAL"])
def test_a_ledger_has_no_name_that_sqlite_gives_to_its_own_files(make, ledger, end):
    """SQLite would delete it when the ledger of the name before the end is used."""
    name = f"survey.ledger{end}"
    with pytest.raises(dp.OpenDPLiteError, match=f"Give '{name}' another name"):
        make(name)
    moved = ledger.path.rename(ledger.path.with_name(name))
    with pytest.raises(dp.OpenDPLiteError, match=f"Give '{name}' another name"):
        LedgerFile.open(moved)


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["ledger", "witness", "text"])
def test_a_file_that_sqlite_would_take_for_its_own_is_not_deleted(make, tmp_path, kind, end):
    """As an earlier version made them."""
    other = make("other", witness=tmp_path / "elsewhere")
    sources = {"ledger": other.path, "witness": tmp_path / "elsewhere"}
    content = sources[kind].read_bytes() if kind in sources else b"a note of mine"
    ledger, beside = make("mine"), tmp_path / f"mine{end}"
    beside.write_bytes(content)
    for use in (lambda: spend(ledger), lambda: LedgerFile.open(ledger.path), ledger.view):
        with pytest.raises(dp.OpenDPLiteError, match="stands beside the ledger"):
            use()
    ledger.path.unlink()
    with pytest.raises(dp.OpenDPLiteError, match="stands beside the ledger"):
        make("mine")
    assert not ledger.path.exists()
    assert beside.read_bytes() == content


def test_a_witness_does_not_write_into_other_files(ledger, make, tmp_path):
    data = tmp_path / "survey.csv"
    data.write_text("age\n41\n")
    for other in (data, ledger.path):
        with pytest.raises(dp.OpenDPLiteError, match="holds something else than a witness"):
            make("mine", witness=other)
    for other in (tmp_path, "/dev/null"):
        with pytest.raises(dp.OpenDPLiteError, match="the witness is a file in a folder"):
            make("mine", witness=other)
    assert data.read_text() == "age\n41\n"


def stale_journal(ledger: LedgerFile, monkeypatch) -> bytes:
    """The journal of a payment, as SQLite has it on the disk while it writes the pages."""
    journal = ledger.path.with_name(f"{ledger.path.name}-journal")
    true, kept = ledger_file.commit, []

    def copying(*given):
        kept.append(journal.read_bytes())
        true(*given)

    monkeypatch.setattr(ledger_file, "commit", copying)
    ledger.reserve(Fraction(1, 100), asked="{}")
    monkeypatch.setattr(ledger_file, "commit", true)
    (found,) = kept
    sector, page = (int.from_bytes(found[start : start + 4], "big") for start in (20, 24))
    pages = (len(found) - sector) // (page + 8)
    return JOURNAL + pages.to_bytes(4, "big") + found[12:]


@pytest.mark.parametrize("later", [0, 1, 3])
@pytest.mark.parametrize("memory", ["handle", "mark", "witness"])
def test_an_old_journal_that_is_put_back_hides_no_payment(
    make, tmp_path, monkeypatch, memory, later
):
    """SQLite undoes the payment at the next use of the file."""
    ledger = make("mine", witness=tmp_path / "elsewhere" if memory == "witness" else None)
    if memory != "mark":
        monkeypatch.setattr(sightings, "_call", lambda name: sightings._refuse)
    elif not marks_are_kept(ledger.path):
        pytest.skip("this file system keeps no marks")
    spend(ledger, 2)
    idle = LedgerFile.open(ledger.path)
    journal = stale_journal(ledger, monkeypatch)
    spend(ledger, later)
    ledger.path.with_name("mine-journal").write_bytes(journal)
    with closing(sqlite3.connect(ledger.path)) as connection:
        count = connection.execute("SELECT max(number) FROM entries").fetchone()
    assert count == (5,)
    uses = {"handle": [lambda: spend(ledger), lambda: ledger.spent, ledger.verify]}
    others = [lambda: spend(idle), lambda: LedgerFile.open(ledger.path)]
    for use in uses.get(memory, [*uses["handle"], *others]):
        with pytest.raises(dp.OpenDPLiteError, match=f"{ROLLED_BACK}|is damaged"):
            use()


def test_a_line_of_a_witness_that_was_cut_short(make, tmp_path):
    witness = tmp_path / "elsewhere"
    ledger = make(witness=witness)
    spend(ledger)
    whole = witness.read_bytes()
    for lost in range(1, 40):
        witness.write_bytes(whole[:-lost])
        assert LedgerFile.open(ledger.path).spent == Fraction(1, 100)
    spend(ledger)
    assert LedgerFile.open(ledger.path).spent == Fraction(2, 100)


def test_several_ledgers_share_a_witness(make, tmp_path):
    ledgers = [make(name, witness=tmp_path / "elsewhere") for name in "ab"]
    spend(ledgers[0], 2)
    spend(ledgers[1], 1)
    assert [LedgerFile.open(each.path).spent for each in ledgers] == [
        Fraction(2, 100),
        Fraction(1, 100),
    ]


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
    "no terms": "DELETE FROM ledger",
}


def changed(ledger: LedgerFile, sql: str) -> None:
    """Changes the file as a person does who knows SQLite, and puts the triggers back."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
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
    for use in (LedgerFile.open, lambda path: LedgerFile.adopt(path, "a test")):
        with pytest.raises(dp.OpenDPLiteError, match="damaged"):
            use(ledger.path)


def test_the_file_itself_refuses_changes(ledger):
    spend(ledger, 3)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for sql in CHANGES.values():
            with pytest.raises(sqlite3.IntegrityError, match="a ledger is only added to"):
                connection.execute(sql)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO entries SELECT * FROM entries")


def test_changed_tables_are_refused(ledger):
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER refund AFTER INSERT ON entries BEGIN SELECT 1; END")
    with pytest.raises(dp.OpenDPLiteError, match=r"the tables of the ledger .* were changed by"):
        spend(ledger)


def test_a_ledger_of_another_version(ledger):
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(dp.OpenDPLiteError, match="the layout 7 of another version"):
        LedgerFile.open(ledger.path)


def test_a_file_in_the_mode_of_another_program_is_turned_back(ledger):
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
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
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for row in forged:
            connection.execute(f"INSERT INTO entries VALUES ({marks})", row.row())
    assert LedgerFile.open(ledger.path).head.hash != before
    with pytest.raises(dp.OpenDPLiteError, match=ROLLED_BACK):
        spend(ledger)


def test_a_clock_that_runs_backwards_decides_nothing(ledger, monkeypatch):
    spend(ledger)
    monkeypatch.setattr(ledger_entry, "read_clock", lambda: "1970-01-01T00:00:00.000000Z")
    spend(ledger)
    monkeypatch.undo()
    spend(ledger)
    found = LedgerFile.open(ledger.path)
    assert found.spent == Fraction(3, 100)
    assert [entry.number for entry in found.view().clock_set_back()] == [4]


def test_what_the_original_pays_during_an_adoption_is_counted(
    make, tmp_path, unmarked, monkeypatch
):
    """It pays between the look at the witness and the line of the adoption, and once after."""
    original = make(witness=tmp_path / "elsewhere")
    copy, true, prices = copied(original), ledger_file.commit, [Fraction(1, 10), Fraction(1, 20)]

    def meanwhile(*given):
        if prices:
            price = prices.pop()
            monkeypatch.setattr(ledger_file, "commit", true)
            original.reserve(price, asked="{}")
            monkeypatch.setattr(ledger_file, "commit", meanwhile)
        true(*given)

    monkeypatch.setattr(ledger_file, "commit", meanwhile)
    looking = LedgerFile._last_sightings
    monkeypatch.setattr(LedgerFile, "_last_sightings", lambda ledger: ())
    adopted = LedgerFile.adopt(copy, "moved")
    monkeypatch.setattr(LedgerFile, "_last_sightings", looking)
    assert adopted.spent == Fraction(3, 20)
    adopted.verify()
    with pytest.raises(dp.OpenDPLiteError, match=ROLLED_BACK):
        original.reserve(Fraction(1, 100), asked="{}")
