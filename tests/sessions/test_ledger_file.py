"""What a ledger holds and refuses: its numbers are exact, and its entries follow each other."""

import json
import re
import sqlite3
import stat
import subprocess
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from hashlib import sha256

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.measures.curve import gaussian_rho
from opendp_lite.sessions.ledger.entries import COLUMNS, EntryState, check_chain
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.text import read_loss, write_loss
from opendp_lite.sessions.text import round_price as booked
from tests.sessions.ledgers import in_sqlite, refused


def fill(ledger: LedgerFile, prices: Sequence[Fraction]) -> None:
    """Adds an entry for each price without waiting for the disk at each."""
    head, measure, rows = ledger.head, ledger.measure, []
    for price in prices:
        head = head.next(EntryState.RESERVED, measure, price=price, asked="{}").seal()
        rows.append(head.row())
    marks = ", ".join("?" * len(COLUMNS))
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.executemany(f"INSERT INTO entries VALUES ({marks})", rows)


PAIRS = dp.ApproximateDivergence()
PRIMES = [p for p in range(1000, 9000) if all(p % q for q in range(2, 96))]


@pytest.mark.parametrize(
    ("budget", "price", "times"),
    [
        (dp.rho(1), Fraction(1, 10), 10),
        (dp.epsilon(1), Fraction(1, 3), 3),
        (dp.mu(2), Fraction(1), 4),
        (dp.epsilon(1, delta=1e-6), (Fraction(1, 9), Fraction(1, 4 * 10**6)), 4),
        (dp.epsilon(1, delta=1e-6), (Fraction(1, 2), Fraction(0)), 2),
    ],
    ids=["zcdp", "pure", "gaussian", "delta runs out", "epsilon runs out"],
)
def test_each_measure_has_its_filter(make, budget, price, times):
    ledger = make(budget=budget)
    for _ in range(times):
        ledger.reserve(price, asked="{}")
    with pytest.raises(dp.BudgetExceeded, match=r"in the ledger 'survey.ledger' has been spent"):
        ledger.reserve(price, asked="{}")
    ledger.reserve(budget.measure.zero(), asked="{}")
    found = LedgerFile.open(ledger.path)
    assert found.budget == budget
    assert found.spent == budget.measure.compose([price] * times)
    assert found.spent == ledger.spent


def test_a_loss_with_a_curve_is_booked_as_its_number(ledger):
    loss = gaussian_rho(Fraction(1, 5))
    assert type(loss) is not Fraction
    entry = ledger.reserve(loss, asked="{}")
    assert type(entry.price) is Fraction
    assert entry.price == loss
    assert ledger.verify().head == entry


@pytest.mark.parametrize("price", [0.1, "1/10", None, True, (Fraction(1), Fraction(0)), -1])
def test_a_price_that_is_no_exact_loss(ledger, price):
    refused("the price of a release must be", lambda: ledger.reserve(price, asked="{}"))
    assert ledger.spent == 0


def test_thousands_of_denominators_stay_readable(make):
    budget, total = Fraction(10), Fraction(0)
    measure, exact = dp.MaxDivergence(), Fraction(0)
    for prime in PRIMES:
        price = Fraction(1, prime)
        paid = booked(price, total, budget, measure)
        assert price <= paid <= price + Fraction(1, 2**2000)
        total, exact = total + paid, exact + price
    assert len(PRIMES) > 900
    assert exact < total < exact + Fraction(1, 2**1900)
    left = budget - total
    assert booked(left, total, budget, measure) == left
    assert read_loss(write_loss(total), measure) == total
    ledger = make(budget=PrivacyBudget(measure, budget))
    fill(ledger, [Fraction(1, 3)])
    assert ledger.reserve(left / 2, asked="{}").price >= left / 2
    assert ledger.verify()


@pytest.mark.parametrize(
    ("text", "loss"), [("0", Fraction(0)), ("1/3", Fraction(1, 3)), ("12", Fraction(12))]
)
def test_losses_are_text(text, loss):
    assert write_loss(loss) == text
    assert read_loss(text, dp.MaxDivergence()) == loss
    assert write_loss((loss, loss)) == f"{text} {text}"
    assert read_loss(f"{text} {text}", PAIRS) == (loss, loss)


@pytest.mark.parametrize(
    "text", ["", "0.1", "2/6", "1/0", "-1", "01", "1/1", " 1", "1 ", "1e3", "1 1", "9" * 5000, "١"]
)
def test_other_text_is_no_loss(text):
    refused("no exact number", lambda: read_loss(text, dp.MaxDivergence()))


def test_raising_the_budget_is_an_entry(ledger):
    ledger.reserve(Fraction(1), asked="{}")
    entry = ledger.raise_budget(dp.rho(1.5), "the board agreed")
    assert (entry.state, entry.note) == (EntryState.RAISED, "the board agreed")
    assert ledger.left == Fraction(1, 2)
    assert LedgerFile.open(ledger.path).budget == dp.rho(1.5)
    for budget, reason, words in (
        (dp.rho(1.5), "less", "it can only be raised"),
        (dp.rho(1.4), "less", "it can only be raised"),
        (dp.rho(2), "", "reason must say something"),
        (dp.mu(9), "another measure", "stays in this measure; got mu = 9"),
        (Fraction(2), "no budget", "a budget is"),
    ):
        refused(words, partial(ledger.raise_budget, budget, reason))


def test_no_refund(ledger, tenth):
    entry = ledger.reserve(tenth, asked="{}")
    other = ledger.reserve(tenth, asked="{}")
    ledger.finish(entry.number)
    assert ledger.spent == 2 * tenth
    assert ledger.view().find_unfinished() == (other,)
    for wrong in (entry, ledger.view().entries[0], ledger.head):
        refused("pays for no run that goes on", partial(ledger.finish, wrong.number))
    assert ledger.spent == 2 * tenth


def test_contents_share_the_budget(ledger, tenth):
    refused("admit it first", lambda: ledger.reserve(tenth, asked="{}", scope="2026"))
    ledger.admit("2026", "aa", "the survey", schema='{"columns": ["age"]}')
    ledger.admit("2027", "bb")
    twice = (partial(ledger.admit, "2026", "cc"), partial(ledger.admit, "2028", "aa"))
    refused("one name stands for one content", *twice)
    ledger.reserve(tenth, asked="{}", scope="2026")
    ledger.reserve(tenth, asked="{}", scope="2027")
    assert LedgerFile.open(ledger.path).scopes() == {"2026": "aa", "2027": "bb"}
    assert ledger.spent == 2 * tenth


def test_the_file_is_for_its_owner_and_has_no_floats(make, tmp_path):
    ledger = make(witness=tmp_path / "witness")
    ledger.reserve(Fraction(1, 3), asked="{}")
    for path in (ledger.path, tmp_path / "witness"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with in_sqlite(ledger.path) as connection:
        kinds = {
            kind
            for column in ("price", "total", "budget", "time", "hash")
            for (kind,) in connection.execute(f"SELECT typeof({column}) FROM entries")
        }
        assert kinds == {"text"}


def test_a_person_reads_the_file(ledger, tenth):
    ledger.reserve(tenth, asked="{}", note="table 3")
    asked = ["sqlite3", str(ledger.path), "SELECT number, state, price, total, note FROM entries"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("the command sqlite3 is not installed")
    assert told.splitlines() == ["1|created|0|0|survey 2026", "2|reserved|1/10|1/10|table 3"]


def test_an_export_proves_itself_and_holds_no_key(ledger, tenth):
    ledger.admit("2026", "aa")
    ledger.reserve(tenth, asked='{"a": "ü"}', note="ü")
    text = ledger.view().export()
    assert ledger.key().hex() not in text
    assert len(ledger.key()) == 32
    held = json.loads(text)
    previous = list(held["ledger"].values())
    for entry in held["entries"]:
        cells = list(entry.values())
        before = json.dumps(previous, separators=(",", ":")).encode()
        if previous == list(held["ledger"].values()):
            assert entry["previous"] == sha256(before).hexdigest()
        listed = json.dumps(cells[:-1], separators=(",", ":")).encode()
        assert entry["hash"] == sha256(listed).hexdigest()
        previous = cells
    assert held["entries"][-1]["hash"] == ledger.head.hash


def test_keys_and_identities_are_random(make):
    first, second = make("a"), make("b")
    assert first.key() != second.key()
    assert first.terms.identity != second.terms.identity
    assert re.fullmatch("[0-9a-f]{32}", first.terms.identity)


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": Fraction(1)},
        {"budget": PrivacyBudget(dp.MaxDivergence(), Fraction(0))},
        {"budget": PrivacyBudget(dp.MaxDivergence(), Fraction(1, 2**2000))},
        {"unit": ""},
        {"unit": None},
        {"unit": "a\nb"},
        {"data": "a\0b"},
        {"data": "\ud800"},
        {"data": "x" * 3000},
    ],
)
def test_wrong_terms_make_no_file(make, tmp_path, settings):
    with pytest.raises(dp.ParameterError):
        make(**settings)
    assert list(tmp_path.iterdir()) == []


def test_a_measure_of_ones_own_is_refused(make):
    class Own(dp.MaxDivergence):
        pass

    refused(r"a measure of dp\.measures", lambda: make(budget=PrivacyBudget(Own(), Fraction(1))))


def test_a_ledger_is_not_made_twice(ledger, make):
    refused("is there already", lambda: make())
    assert ledger.spent == 0


def test_odd_names_of_files(make):
    for name in ("a b?mode=memory#x%20.ledger", ":memory:", "ü", "-x"):
        ledger = make(name)
        ledger.reserve(Fraction(1, 2), asked="{}")
        assert LedgerFile.open(ledger.path).spent == Fraction(1, 2)
        assert ledger.path.name == name


def test_long_notes_and_pipelines(ledger, tenth):
    asked = json.dumps(["x" * 100] * 1000)
    assert ledger.reserve(tenth, asked=asked, note=" what for ").note == "what for"
    assert LedgerFile.open(ledger.path).head.asked == asked
    refused("one line", lambda: ledger.reserve(tenth, asked="{}", note="a\nb"))


ZERO = Fraction(0)
FORGED = {
    "a total without its price": {"total": ZERO},
    "a price that no total holds": {"price": Fraction(1, 1000)},
    "a budget that nobody raised": {"budget": Fraction(2)},
    "beyond the budget": {"price": Fraction(2), "total": Fraction(2)},
    "a lower budget": {"state": EntryState.RAISED, "price": ZERO, "total": ZERO, "budget": ZERO},
    "another place": {"place": "elsewhere"},
    "another machine": {"machine": "another"},
    "another unit": {"unit": "row"},
    "an end of nothing": {"state": EntryState.RELEASED, "price": ZERO, "total": ZERO},
    "an end that costs": {"state": EntryState.RELEASED, "closes": 1},
    "a reservation that closes": {"closes": 1},
    "a second beginning": {"state": EntryState.CREATED, "price": ZERO, "total": ZERO},
    "another history": {"previous": "0" * 64},
    "a gap": {"number": 3},
}


@pytest.mark.parametrize("cells", FORGED.values(), ids=FORGED)
def test_what_does_not_follow_is_refused(ledger, tenth, cells):
    first = ledger.head
    honest = first.next(EntryState.RESERVED, ledger.measure, price=tenth)
    assert len(list(check_chain([first, honest.seal()], ledger.terms))) == 2
    forged = attrs.evolve(honest, **cells).seal()
    with pytest.raises(dp.OpenDPLiteError, match=r"entry \d (is missing|does not)"):
        list(check_chain([first, forged], ledger.terms))


def test_a_beginning_that_is_none(ledger):
    for cells in ({"total": Fraction(1)}, {"state": EntryState.RESERVED}, {"previous": "0" * 64}):
        forged = attrs.evolve(ledger.head, **cells).seal()
        with pytest.raises(dp.OpenDPLiteError, match="entry 1 does not"):
            list(check_chain([forged], ledger.terms))


def test_an_adoption_may_pass_the_budget(ledger):
    """What a witness saw is counted, even where that is more than the budget."""
    adopted = ledger.head.next(EntryState.ADOPTED, ledger.measure, price=Fraction(2))
    moved = attrs.evolve(adopted, place="elsewhere").seal()
    free = moved.next(EntryState.RESERVED, ledger.measure).seal()
    assert list(check_chain([ledger.head, moved, free], ledger.terms))[-1].total == 2
    paying = moved.next(EntryState.RESERVED, ledger.measure, price=Fraction(1, 9)).seal()
    with pytest.raises(dp.OpenDPLiteError, match="entry 3 does not add up"):
        list(check_chain([ledger.head, moved, paying], ledger.terms))
