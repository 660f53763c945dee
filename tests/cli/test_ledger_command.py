"""The command that makes ledgers, shows them and checks them."""

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import tables
from opendp_lite.sessions.ledger.file import LedgerFile


@pytest.fixture
def ledger(made, tmp_path) -> LedgerFile:
    """A ledger made by the command, with one release that ended and one that did not."""
    path = tmp_path / "survey.ledger"
    made("ledger", "create", path, "--rho", 1, "--unit", "person", "--data", "survey 2026")
    found = LedgerFile.open(path)
    found.finish(found.reserve(Fraction(1, 10), asked='{"a": 1}', note="table 3").number)
    found.reserve(Fraction(1, 3), asked="{}", note="table 4")
    return found


@pytest.mark.parametrize(
    ("typed", "budget"),
    [
        (["--rho", "0.1"], dp.rho(0.1)),
        (["--mu", "2"], dp.mu(2)),
        (["--epsilon", "1"], dp.epsilon(1)),
        (["--epsilon", "1", "--delta", "1e-6"], dp.epsilon(1, delta=1e-6)),
    ],
)
def test_each_budget_can_be_typed(made, tmp_path, typed, budget):
    told = made("ledger", "create", tmp_path / "a", *typed, "--unit", "household")
    assert "protected   any one household, with all rows" in told
    assert budget.words() in told
    assert LedgerFile.open(tmp_path / "a").budget.stated == budget


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ([], "Give one budget"),
        (["--rho", "1", "--mu", "1"], "--rho and --mu belong to different privacy settings"),
        (["--delta", "1e-6"], "--delta goes with --epsilon. Give one budget"),
        (["--rho", "1", "--delta", "1e-6"], "give --rho alone"),
        (["--rho", "0"], "rho must be above 0"),
        (["--rho", "-1"], "rho must be above 0"),
        (["--rho", "x"], "is not a number"),
    ],
)
def test_a_budget_that_is_none(refused, tmp_path, typed, words):
    assert words in refused("ledger", "create", tmp_path / "a", "--unit", "person", *typed)
    assert not (tmp_path / "a").exists()


def test_show(made, ledger):
    told = made("ledger", "show", ledger.path)
    assert "protected      any one person" in told
    assert "budget         rho = 1 zCDP" in told
    assert "spent          rho = 0.433334 zCDP" in told
    assert "left           0.566666" in told
    assert "not finished   1 of the releases; they count" in told
    assert f"entry 4, {ledger.head.hash[:12]}" in told
    lines = [re.sub(r"[\d-]{10} [\d:]{8}", "", line).split() for line in told.splitlines()[-3:]]
    assert lines == [
        ["1", "created", "0", "0", "survey", "2026"],
        ["1", "2", "released", "0.1", "0.1", "table", "3"],
        ["2", "4", "not", "finished", "0.334", "0.434", "table", "4"],
    ]
    assert "trouble" not in told


def test_show_writes_a_statement_of_all_releases(made, refused, survey, tmp_path):
    path, page = tmp_path / "survey.ledger", tmp_path / "survey.html"
    show = "ledger", "show", path, "--statement", page
    made("ledger", "create", path, "--rho", 1, "--unit", "row")
    assert "no release yet; make one first" in refused(*show)
    made("count", survey, "--rho", 0.1, "--ledger", path)
    assert "released" in made(*show)
    assert "All releases of the ledger" in page.read_text("utf-8")
    assert "is there already" in refused(*show)
    made(*show, "--force")


def test_what_queries_spend_of_delta_is_a_flag(made, refused, tmp_path):
    pair = ["--epsilon", "1", "--delta", "1e-6", "--unit", "row"]
    made("ledger", "create", tmp_path / "a", *pair, "--query-delta", "2e-7")
    assert LedgerFile.open(tmp_path / "a").left[1] == Fraction(2, 10**7)
    words = "--query-delta is a part of the budget's delta, from 0 to 1e-06; got 2e-06"
    assert words in refused("ledger", "create", tmp_path / "b", *pair, "--query-delta", "2e-6")


def test_numbers_of_other_measures(made, tmp_path):
    for name, budget, price, told in (
        ("mu", dp.mu(2), 1, "1.73205"),
        ("pair", dp.epsilon(1, delta=1e-6), (Fraction(1, 3), 1e-7), "at 2.5e-8"),
    ):
        ledger = LedgerFile.create(tmp_path / name, budget, unit="person")
        ledger.reserve(ledger.measure.loss(price), asked="{}")
        shown = made("ledger", "show", ledger.path)
        assert told in shown


def test_a_copy_is_shown_with_its_trouble(made, refused, ledger, tmp_path):
    copy = shutil.copy(ledger.path, tmp_path / "copy")
    assert "trouble        the ledger" in made("ledger", "show", copy)
    assert "is a copy" in refused("ledger", "verify", copy)
    assert "required: --reason" in refused("ledger", "adopt", copy)
    made("ledger", "adopt", copy, "--reason", "the disk broke")
    assert "the disk broke" in made("ledger", "show", copy)
    assert "trouble" not in made("ledger", "show", copy)


def test_verify(made, refused, ledger, monkeypatch):
    assert made("ledger", "verify", ledger.path).startswith("whole ")
    monkeypatch.setattr(tables.entries, "read_clock", lambda: "1970-01-01T00:00:00Z")
    ledger.reserve(Fraction(0), asked="{}")
    assert "was set back before entry 5;" in made("ledger", "verify", ledger.path)
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole.replace(b"table 3", b"table 4"))
    assert "entry 2 has the hash of another" in refused("ledger", "verify", ledger.path)


def test_raise(made, refused, ledger):
    made("ledger", "raise", ledger.path, "--rho", "1.5", "--reason", "the board agreed")
    assert "raised to 1.5" in made("ledger", "show", ledger.path)
    words = refused("ledger", "raise", ledger.path, "--rho", "1", "--reason", "less")
    assert "it can only be raised" in words


def test_export(made, ledger):
    held = json.loads(made("ledger", "export", ledger.path))
    assert held["ledger"]["data"] == "survey 2026"
    assert [entry["state"] for entry in held["entries"]] == [
        "created",
        "reserved",
        "released",
        "reserved",
    ]
    assert held["entries"][1]["asked"] == '{"a": 1}'
    assert ledger.key().hex() not in json.dumps(held)


@pytest.mark.parametrize("action", ["show", "verify", "export"])
def test_what_is_no_ledger(refused, tmp_path, action):
    (tmp_path / "x").write_text("age\n1\n" * 500)
    assert "is a folder" in refused("ledger", action, tmp_path)
    assert "there is no ledger" in refused("ledger", action, tmp_path / "nothing")
    assert "it is no ledger" in refused("ledger", action, tmp_path / "x")
    assert Path(tmp_path / "x").read_text().startswith("age")


def test_other_data_pays_under_a_name_of_its_own(made, refused, tmp_path):
    path, file = tmp_path / "a.ledger", tmp_path / "ages.csv"
    made("ledger", "create", path, "--rho", 1, "--unit", "row")
    typed = ("mean", file, "--column", "age", "--bounds", 0, 100, "--rho", 0.1)
    file.write_text("age\n" + "41\n38\n" * 100)
    made(*typed, "--ledger", path)
    file.write_text("age\n" + "41\n38\n" * 101)
    assert "--data-name 'version 2'" in refused(*typed, "--ledger", path)
    told = made(*typed, "--ledger", path, "--data-name", "version 2")
    assert "spent: rho = 0.2 zCDP" in told
    shown = made("ledger", "show", path).splitlines()
    assert [line.split()[5] for line in shown if "released" in line] == ["data", "version"]
    stated = str(dp.Ledger.open(path).statement())
    assert "of data." in stated
    assert "of version 2." in stated
    read = dp.csv_table(file, {"age": float})
    assert dp.Ledger.open(path).session(read).spent == 0.2
    assert "--data-name is written into a ledger" in refused(*typed, "--data-name", "version 2")


PEOPLE = ["--person", "id", "--most", 2]


def test_a_release_counts_what_the_ledger_protects(made, refused, survey, tmp_path):
    typed = ["mean", survey, "--column", "age", "--bounds", 0, 100, "--rho", 0.1]
    count = dp.select("age") >> dp.count() >> dp.gaussian(rho=0.1)
    people = dp.table(person="id") >> dp.bound_contributions(2) >> count
    saved = {"row": tmp_path / "row.json", "person": tmp_path / "person.json"}
    saved["row"].write_text((dp.table() >> count).to_json())
    saved["person"].write_text(people.to_json())
    for unit, right, wrong, words, neighbours in (
        ("person", PEOPLE, [], "for one row. Nothing was read or spent. Add --person", "person"),
        ("row", [], PEOPLE, "Leave out --person and --most, or make a ledger of people", "row"),
    ):
        path = tmp_path / f"{unit}.ledger"
        made("ledger", "create", path, "--rho", 1, "--unit", unit)
        other = saved["row" if unit == "person" else "person"]
        report = ["report", survey, "--numbers", "age", "--words", "id", "--ledger", path]
        assert words in refused(*typed, *wrong, "--ledger", path)
        assert words in refused(*report, "--pipeline", other)
        assert words in refused(*typed[:1], "none.csv", *typed[2:], *wrong, "--ledger", path)
        shown = made("ledger", "show", path)
        assert len(LedgerFile.open(path).view().entries) == 1
        assert "losses are for" not in shown
        made(*typed, *right, "--ledger", path)
        made(*report, "--pipeline", saved[unit])
        shown = made("ledger", "show", path)
        assert f"losses are for   adding or removing one {neighbours}, dp." in shown
        assert "spent            rho = 0.2 zCDP" in shown


def test_a_release_that_fails_says_what_became_of_its_price(made, refused, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("x\n1\ntext\n3\n")
    typed = "mean", file, "--bounds", 0, 10, "--rho", 0.1
    for name, more in (("a.ledger", ()), ("b.ledger", ("--size", 4))):
        path = tmp_path / name
        made("ledger", "create", path, "--rho", 1, "--unit", "row")
        told = refused(*typed, "--ledger", path, *more)
        assert told.endswith("booked before the data was read, and is not given back.\n")
        assert "spent rho = 0.1" in " ".join(made("ledger", "show", path).split())
        assert "booked" not in refused(*typed, "--ledger", path, "--column", "y", *more)


def test_the_help_of_an_action_is_a_sentence(made):
    assert "All entries as JSON, without the key" in made("ledger", "export", "--help")
