"""A ledger of epsilon and delta: it writes the orders, the weights and what each entry adds."""

import sqlite3
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.base.errors import LedgerError
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.text import find_measure, name_of

BUDGET = dp.epsilon(3.2, delta=1e-6)
ROWS = [1.0] * 9
TENTH = dp.count() >> dp.laplace(epsilon=0.1)


def make(folder, **given):
    return dp.Ledger.create(folder / "a.ledger", BUDGET, unit="row", **given)


def test_it_allows_what_a_session_allows_and_goes_on_in_another_process(tmp_path):
    make(tmp_path)
    for _ in range(4):
        ask = dp.Ledger.open(tmp_path / "a.ledger").session(ROWS)
        for _ in range(11):
            ask(TENTH)
    ledger = dp.Ledger.open(tmp_path / "a.ledger")
    assert ledger.budget == BUDGET
    with pytest.raises(dp.BudgetExceeded, match=r"needs epsilon = 0\.0\d+; \(3\.1"):
        ledger.session(ROWS)(TENTH)
    same = dp.session(ROWS, BUDGET)
    for _ in range(44):
        same(TENTH)
    assert (ledger.spent, ledger.left) == (same.spent, same.left)


def test_its_file_says_all_that_it_counts_by(tmp_path):
    ledger = make(tmp_path)
    ask = ledger.session(ROWS)
    ask(TENTH)
    paid = next(each for each in ledger.entries() if each.state.value == "reserved")
    measure = ask._account.budget.measure
    assert (
        ledger.file.terms.measure
        == name_of(measure)
        == ("RenyiDivergence 65/8:41/50 6:1/10 17/4:1/20 17:1/100 34:1/100 68:1/100")
    )
    assert find_measure(name_of(measure)) == measure
    assert paid.price == measure.loss((Fraction(1, 10), 0))
    assert paid.row()[2].split(" ")[:3] == ["1/10", "0", "0"]


def test_its_budget_is_raised_as_it_is_typed(tmp_path):
    ledger = make(tmp_path, query_delta=5e-7)
    ledger.session(ROWS)(dp.count() >> dp.gaussian(rho=0.01))
    spent = ledger.spent
    for refused in (BUDGET, dp.epsilon(3.1, delta=1e-5), dp.epsilon(4, delta=1e-7)):
        with pytest.raises(dp.ParameterError, match="it can only be raised"):
            ledger.raise_budget(refused, "no")
    with pytest.raises(dp.ParameterError, match=r"epsilon = 3\.2 at delta = 1e-06 and stays in"):
        ledger.raise_budget(dp.rho(9), "no")
    ledger.raise_budget(dp.epsilon(4, delta=1e-5), "the board agreed")
    assert ledger.budget == dp.epsilon(4, delta=1e-5)
    assert ledger.left[1] == Fraction(5, 10**6)
    assert ledger.spent[0] < spent[0]
    dp.Ledger.open(tmp_path / "a.ledger").verify()


def test_with_all_of_delta_for_queries_it_adds_epsilons_and_deltas(tmp_path):
    """As ledgers of this version and of earlier ones did: they open as they were."""
    ledger = make(tmp_path, query_delta=1e-6)
    assert ledger.file.terms.measure == "ApproximateDivergence"
    ask = ledger.session(ROWS)
    for _ in range(32):
        ask(TENTH)
    assert ledger.left == (0, Fraction(1, 10**6))
    with pytest.raises(dp.BudgetExceeded):
        ask(TENTH)
    assert ledger.raise_budget(dp.epsilon(4, delta=1e-6), "more").budget == (4, Fraction(1, 10**6))


@pytest.mark.parametrize(
    "name",
    [
        "RenyiDivergence",
        "RenyiDivergence 2",
        "RenyiDivergence 2:3",
        "RenyiDivergence 1:1/2",
        "RenyiDivergence 2:1/0",
        "MaxDivergence 2:1/2",
        "RenyiDivergence a:b",
    ],
)
def test_a_name_that_no_measure_has_is_refused(name):
    with pytest.raises(LedgerError, match="a measure that this version"):
        find_measure(name)


def test_other_weights_break_the_chain(tmp_path):
    """They would allow other queries, and stand in the terms of which the chain has the hash."""
    make(tmp_path)
    with sqlite3.connect(tmp_path / "a.ledger") as connection:
        connection.execute("DROP TRIGGER ledger_no_update")
        connection.execute("UPDATE ledger SET measure = replace(measure, '41/50', '1/2')")
    connection.close()
    with pytest.raises(LedgerError):
        LedgerFile.open(tmp_path / "a.ledger")


def test_what_a_witness_saw_is_counted_part_by_part(tmp_path):
    """A ledger that was rolled back and adopted has lost what both histories lost together."""
    ledger = make(tmp_path, witness=tmp_path / "witness")
    copy = (tmp_path / "a.ledger").read_bytes()
    ask = ledger.session(ROWS)
    ask(TENTH)
    ask(dp.count() >> dp.gaussian(rho=0.01))
    lost, spent = ledger.file.spent, ledger.spent
    (tmp_path / "a.ledger").write_bytes(copy)
    adopted = dp.Ledger.adopt(tmp_path / "a.ledger", "restored")
    assert all(a >= b for a, b in zip(adopted.file.spent, lost, strict=True))
    assert adopted.spent[0] >= spent[0]
