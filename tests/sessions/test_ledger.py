"""Ledgers: what a person types, over several handles, processes and kinds of data."""

import json
import os
from fractions import Fraction
from functools import partial

import attrs
import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp
from opendp_lite.base.errors import LedgerError
from opendp_lite.sessions.ledger.entries import EntryState
from tests.sessions.ledgers import refused

VECTOR = dp.vector(3, dp.metrics.LInfDistance(), unit=5)
TENTH = dp.count() >> dp.gaussian(rho=0.1)
AGES = [41.0, 38.0, 25.0] * 100
TABLE = pd.DataFrame({"age": AGES, "sex": ["f", "m", "f"] * 100, "id": range(300)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "survey.ledger"


@pytest.fixture
def ledger(path):
    return dp.Ledger.create(path, budget=dp.rho(1), unit="row", data="survey 2026")


def test_a_budget_lasts_from_one_opening_to_the_next(ledger, path):
    """The mean errs by 0.4 at most, so chance fails its tolerance in less than 1e-12 of runs."""
    release = ledger.session(AGES)(
        dp.mean(0, 100, rho=ledger.left / 4, confidence=None), note="table 3"
    )
    assert abs(release.value - 34.67) < 3
    assert (release.price, release.note) == (Fraction(1, 4), "table 3")
    again = dp.Ledger.open(path)
    assert (again.left, again.spent, again.budget) == (Fraction(3, 4), 0.25, dp.rho(1))
    ask = again.session(AGES)
    ask(dp.count() >> dp.gaussian(rho=ask.left))
    with pytest.raises(dp.BudgetExceeded, match=r"1 of 1 has"):
        ledger.session(AGES)(dp.count() >> dp.gaussian(rho=1e-9))
    assert ledger.left == 0 == ask.left


def test_the_entry_stands_before_any_row_is_read(path):
    seen = []
    ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="row")

    def opened():
        states = [entry.state for entry in dp.Ledger.open(path).entries()]
        seen.append((dp.Ledger.open(path).left, states[-1]))
        return iter([np.array(AGES)])

    ask = ledger.session(dp.Blocks(opened))
    seen.clear()
    ask(TENTH)
    assert seen == [(Fraction(9, 10), EntryState.RESERVED)]
    assert ledger.entries()[-1].state == EntryState.RELEASED


def test_what_fails_is_paid_and_stays_open(path):
    readings = iter([True, True, False])

    def opened():
        if not next(readings):
            raise OSError
        return iter([np.array(AGES)])

    ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="row")
    ask = ledger.session(dp.Blocks(opened))
    with pytest.raises(dp.DataError):
        ask(TENTH)
    assert ledger.left == Fraction(9, 10)
    assert len(ledger.file.view().find_unfinished()) == 1


def test_the_trail_holds_the_pipeline_and_no_value(ledger, path):
    release = ledger.session(TABLE)(
        dp.select("age") >> dp.mean(0, 100, rho=0.1, confidence=None), note="table 3"
    )
    reserved = [entry for entry in ledger.entries() if entry.state is EntryState.RESERVED]
    (entry,) = reserved
    assert (entry.number, entry.note, entry.unit) == (release.receipt.entry, "table 3", "row")
    pipeline = dp.from_json(entry.asked)
    assert pipeline.map(1) == 0.1
    assert str(release.value) not in ledger.export()
    stored = path.read_bytes()
    assert str(release.value).encode() not in stored
    assert np.float64(release.value).tobytes() not in stored


def test_a_pipeline_that_cannot_be_written_is_named_by_its_steps(ledger):
    secret = TABLE["age"].tolist()

    def program(ask):
        return ask(TENTH), len(secret)

    ledger.session(TABLE)(dp.adaptive(program, dp.rho(0.1)) >> (lambda found: found[0]))
    asked = next(e.asked for e in ledger.entries() if e.state is EntryState.RESERVED)
    assert json.loads(asked)["steps"].startswith("dp.adaptive(program")
    assert "38.0" not in ledger.export()


def test_prices_of_other_measures(ledger):
    ask = ledger.session(AGES)
    ask(dp.count() >> dp.laplace(epsilon=0.5))
    ask(dp.adaptive(lambda inner: inner(TENTH), dp.rho(0.2)))
    assert ledger.verify()[-1].total == ask.budget.loss - ask.left
    normal = dp.Ledger.create(ledger.file.path.with_name("mu"), budget=dp.mu(1), unit="row")
    ask = normal.session(AGES)
    ask(dp.count() >> dp.gaussian(rho=0.125))
    assert (ask.spent, ask.left**2) == (0.5, pytest.approx(0.75))
    assert "price=0.25, unit='row'" in repr(normal.entries()[-2])
    ask(dp.count() >> dp.gaussian(mu=ask.left))
    assert normal.spent == 1.0
    budget = dp.epsilon(3, delta=1e-6)
    both = dp.Ledger.create(ledger.file.path.with_name("both"), budget=budget, unit="row")
    ask = both.session(["a"] * 99)
    ask(dp.histogram(categories=["a"], rho=0.1))
    ask(dp.histogram(epsilon=0.5, delta=1.25e-7))
    paid = [repr(each).partition("price=")[2][:9] for each in both.entries()[2::2]]
    assert paid == ["(-, 0), u", "(0.5, 1.2"]
    with pytest.raises(
        dp.BudgetExceeded, match=r"^Write delta=\d\.?\d*e-\d+ or less.*needs epsilon"
    ):
        ask(dp.histogram(epsilon=0.5, delta=1.25e-7))


def test_a_ledger_is_opened_or_created():
    refused(r"dp\.Ledger\.open\(path\).*got 'survey\.ledger'", lambda: dp.Ledger("survey.ledger"))


def test_other_data_is_refused_or_gets_a_name(ledger):
    ledger.session(TABLE)
    before = len(ledger.entries())
    assert ledger.session(TABLE.copy(), name="data").left == 1
    for wrong, words in (
        (lambda: ledger.session(TABLE[::-1]), "other data"),
        (lambda: ledger.session(TABLE.head(3), name="data"), "other data as 'data'"),
        (lambda: ledger.session(TABLE, name="later"), "knows this data as 'data'"),
        (lambda: ledger.session(TABLE, name=3), "name must be text"),
    ):
        with pytest.raises(dp.OpenDPLiteError, match=words):
            wrong()
    assert len(ledger.entries()) == before
    later = ledger.session(TABLE.head(200), name="version 2")
    later(TENTH)
    assert ledger.session(TABLE).left == Fraction(9, 10)


PEOPLE = dp.table(person="id")


def test_all_sessions_have_one_unit(path):
    ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="person")
    ledger.session(TABLE, space=PEOPLE)(dp.bound_contributions(2) >> TENTH)
    assert ledger.session(TABLE, space=PEOPLE).left == Fraction(9, 10)
    refused(r"'id'.*'sex'", lambda: ledger.session(TABLE, space=dp.table(person="sex")))


SIZED = dp.records(size=300, metric=dp.ChangeOneDistance())
CHEAP = attrs.evolve(PEOPLE, unit=Fraction(1, 1000))


@pytest.mark.parametrize(
    ("unit", "space", "words"),
    [
        ("person", None, r"any one person, with all rows, and the session is for one row\. "),
        ("person", dp.table(), r"ledger\.session\(data, space=dp\.table\(person='id'\)\)"),
        ("Household", dp.table(), r"dp\.bound_contributions\(3\) >> \.\.\. Or make"),
        ("year of a person", SIZED, r"dp\.Ledger\.create\(path, budget=\.\.\., unit='row'\)"),
        ("person", CHEAP, "any one person"),
        ("row", PEOPLE, "Leave out space=, or make a ledger of people"),
        (
            "Row (one visit)",
            PEOPLE,
            r"any one Row \(one visit\), and the session is for one person",
        ),
        ("row", attrs.evolve(dp.table(), unit=Fraction(1, 2)), "any one row"),
    ],
)
def test_a_loss_for_another_unit_is_refused_before_anything_is_read(path, unit, space, words):
    """A loss for a row says nothing of a person, and that for a person may be half of a row's."""
    read = []
    data = dp.Blocks(lambda: read.append(1) or iter([]))
    dp.Ledger.create(path, budget=dp.rho(1), unit=unit)
    again = dp.Ledger.open(path)
    with pytest.raises(LedgerError, match=words) as problem:
        again.session(data, space=space)
    assert "Nothing was read or spent" in str(problem.value)
    assert (read, len(again.entries()), again.left) == ([], 1, 1)


def test_one_row_may_cost_twice_the_loss_of_a_person():
    """Why a ledger of rows takes no session of people: of one row each, two rows may change."""
    count = dp.count() >> dp.gaussian(scale=1)
    rows = dp.records(columns=["id", "age"])
    assert (PEOPLE >> dp.bound_contributions(1) >> count).map(1) == 0.5
    assert (rows >> dp.bound_contributions(1, person="id") >> count).map(1) == 2


@pytest.mark.parametrize(
    ("unit", "space"),
    [("person", PEOPLE), ("row", SIZED), ("ROWS", dp.table()), ("person", VECTOR), ("row", VECTOR)],
)
def test_units_of_a_ledger(path, unit, space):
    ledger = dp.Ledger.create(path, budget=dp.rho(1), unit=unit)
    assert ledger.session(TABLE, space=space).left == 1


def test_another_order_of_columns_without_names_is_other_data(path):
    """The names are places there: another column would say who the people are."""
    ledger = dp.Ledger.create(path, budget=dp.epsilon(9), unit="person")
    rows = np.array([[7.0, n] for n in range(9)])
    spaces = [dp.records(columns=each, person="id") for each in (["id", "x"], ["x", "id"])]
    for data in (rows, rows.tolist(), dp.Blocks(lambda: [rows], columns=2)):
        ledger.session(data, space=spaces[0])
        refused(
            "declared in the same order", lambda data=data: ledger.session(data, space=spaces[1])
        )
    named = pd.DataFrame(rows, columns=["id", "x"])
    for space in (*spaces, dp.table(person="id")):
        ledger.session(named, space=space, name="named")


def test_the_name_of_data_is_a_line_of_words(ledger):
    assert ledger.session(AGES, name=" first ")(TENTH).receipt.entry == 3
    refused("name", lambda: ledger.session(AGES, name="  "))


def test_columns_of_a_file_are_one_content(ledger, tmp_path):
    file = tmp_path / "survey.csv"
    file.write_text("age,sex\n" + "41,f\n38,m\n" * 100)
    ledger.session(dp.csv_column(file, "age"))(dp.mean(0, 100, rho=0.1, confidence=None))
    sexes = ledger.session(dp.csv_table(file, {"sex": str}))
    sexes(dp.histogram("sex", categories=["f", "m"], rho=0.1))
    assert ledger.left == Fraction(8, 10)
    file.write_text("age,sex\n" + "41,f\n38,m\n" * 101)
    refused("other data", lambda: ledger.session(dp.csv_column(file, "age")))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_opens_the_ledger_itself(ledger, path):
    ask = ledger.session(AGES)
    child = os.fork()
    if child == 0:
        try:
            ask(TENTH)
        except dp.SpaceError:
            dp.Ledger.open(path).session(AGES)(TENTH)
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ask.left == Fraction(9, 10)


def test_a_statement_says_what_is_left(ledger):
    ask = ledger.session(AGES)
    ask(dp.count() >> dp.laplace(epsilon=0.5))
    release = ask(dp.mean(0, 100, rho=0.1, confidence=0.95, sampling=False), note="table 3")
    place = release.statement().position
    last = ledger.entries()[-1]
    assert (place.number, place.entry, place.head) == (2, last.closes, last.hash)
    assert place.budget == "rho = 1 zCDP"
    spent, left = (float(each.split()[2]) for each in (place.spent, place.left))
    assert spent >= last.total
    assert left <= 1 - last.total
    text = " ".join(str(release.statement()).split())
    for words in (
        f"of the ledger {ledger.file.terms.identity} of survey 2026",
        "table 3",
        "any one row",
    ):
        assert words in text
    assert str(release.value.value) not in text
    session = dp.session(AGES, dp.rho(1))(TENTH).statement().position
    assert (session.ledger, session.head, session.left) == ("a session", "", "rho = 0.9 zCDP")


BUDGETS = {
    "rho": (dp.rho, {}, dp.gaussian(rho=0.1)),
    "mu": (dp.mu, {}, dp.gaussian(mu=0.3)),
    "pure": (dp.epsilon, {}, dp.laplace(epsilon=0.5)),
    "approximate": (dp.epsilon, {"delta": 1e-6}, dp.gaussian(rho=0.01)),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_statement_of_all_releases_has_the_loss_of_the_whole(path, name):
    kind, delta, noise = BUDGETS[name]
    larger = kind(4, **delta)
    ledger = dp.Ledger.create(path, budget=kind(3, **delta), unit="row", data="survey 2026")
    refused("this ledger has paid for no release yet", ledger.statement)
    ask = ledger.session(AGES)
    counted = ask(dp.count() >> noise, note="table 3").statement().pipeline
    ask(dp.clamp(0, 9) >> dp.sum() >> noise)
    ask(dp.count() >> noise >> abs)
    ledger.raise_budget(larger, "the panel agreed")
    found = ledger.statement(delta=1e-5)
    measure, spent = ledger.file.measure, ledger.file.head.reach(ledger.file.measure)
    profile = measure.profile(spent)
    assert found.loss.words == measure.words(spent) == found.position.spent
    assert (found.loss.delta, found.loss.epsilon) == (Fraction(1, 10**5), profile.epsilon(1e-5))
    assert found.loss.guess == (1 + profile.delta(0)) / 2
    assert found.unit.group == measure.words(measure.group(spent, 5))
    assert (found.position.number, found.position.head) == (3, ledger.entries()[-1].hash)
    first, _, third, raised = found.position.releases
    assert first.startswith("Release 1 (entry 3, ")
    assert first.endswith(f"{measure.words(ledger.entries()[2].cost(measure))}, 'table 3'.")
    assert third.startswith("Release 3 (entry 7, ")
    assert raised.endswith(f"{larger.words()}, 'the panel agreed'.")
    text = " ".join(str(found).split())
    for words in (
        f"All releases of the ledger {ledger.file.terms.identity} of survey 2026 so far: 3.",
        "In release 2: Noise: ",
        "dp.clamp: lower = 0, upper = 9.",
        f"1: {counted} 2: ",
        "relies on what is your own in release 3, which is no part",
    ):
        assert words in text
    assert found.sections.keys() >= {"All releases"}
    assert "All releases" not in ask(dp.count() >> noise).statement().sections


def test_a_statement_of_all_releases_knows_your_steps_and_what_was_not_finished(ledger):
    @dp.stage
    def halve(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return dp.row_map(space, lambda rows: rows / 2, space.domain.body)

    ledger.session(AGES)(dp.clamp(0, 9) >> halve() >> dp.sum() >> dp.gaussian(rho=0.1))
    refused("no pipeline of this ledger can be read; give your own steps", ledger.statement)
    assert "the step halve" in ledger.statement(extra=[halve]).trusted
    ledger.file.reserve(Fraction(1, 10), asked=(dp.records() >> TENTH).to_json())
    late = ledger.statement(extra=[halve]).position
    assert late.releases[1].endswith("rho = 0.1 zCDP. It was not finished, and counts.")
    assert late.spent == "rho = 0.2 zCDP"


def test_a_statement_is_of_the_moment_of_its_head(ledger):
    ask, other = ledger.session(AGES), ledger.session(AGES)

    def meanwhile(release):
        assert other(TENTH).number == 2
        ledger.raise_budget(dp.rho(2), "the panel agreed")
        assert other(TENTH).number == 3
        return release

    release = ask(TENTH >> meanwhile)
    assert (release.number, dp.Ledger.open(ledger.file.path).session(AGES)(TENTH).number) == (1, 4)
    ledger.raise_budget(dp.rho(9), "the panel agreed again")
    place = release.statement().position
    head = next(entry for entry in ledger.entries() if entry.hash == place.head)
    assert (head.closes, head.total, head.budget) == (release.receipt.entry, Fraction(3, 10), 2)
    told = (place.spent, place.left, place.budget)
    assert told == ("rho = 0.3 zCDP", "rho = 1.7 zCDP", "rho = 2 zCDP")


def test_raise_and_repr(ledger, path):
    ledger.session(AGES)(TENTH)
    ledger.raise_budget(dp.rho(2), "the panel agreed")
    assert dp.Ledger.open(path).left == Fraction(19, 10)
    assert "rho = 0.1 zCDP spent, rho = 1.9 zCDP left" in repr(ledger)
    with pytest.raises(dp.ParameterError):
        ledger.raise_budget(dp.epsilon(3), "more")


@pytest.mark.parametrize("schema", ["", "[" * 10**5], ids=["nothing", "deep"])
def test_data_that_was_admitted_without_a_unit_is_refused_in_words(ledger, schema):
    ledger.file.admit("by hand", "00", schema=schema)
    with pytest.raises(LedgerError, match="a unit that the first entry of its data does not state"):
        ledger.session([1.0] * 10, name="mine")


def test_a_misspelt_person_is_refused_before_the_ledger_keeps_it(tmp_path):
    """The ledger would take no other space from then on, though nothing was spent."""
    data = {"id": ["a", "b"], "age": [3.0, 4.0]}
    ledger = dp.Ledger.create(tmp_path / "people.ledger", budget=dp.rho(1), unit="person")
    for opened in (ledger.session, partial(dp.session, budget=dp.rho(1))):
        with pytest.raises(dp.DataError, match=r"'ID'.*'id'"):
            opened(data, space=dp.table(person="ID"))
    assert ledger.session(data, space=dp.table(person="id")).spent == 0
