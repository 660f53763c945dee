"""A refusal names an argument as a person types it: a parameter in Python, a flag in a shell."""

import pickle

import pytest

import opendp_lite as dp
from opendp_lite.base.errors import Argument, LedgerError
from opendp_lite.cli.arguments import spell_flags

PLAIN = "a,b\n1,2\n"


def read(path, *given, **named):
    (dp.records() >> dp.clamp(0, 1) >> dp.sum())(dp.csv_column(path, *given, **named))


def by_number(name: str) -> str:
    return f"a column has a number that counts from 1 ({name}), got "


def first_line(header: str, by_number: str, delimiter: str) -> str:
    return (
        f"If it holds column names, {header} makes this error list them. If it is data, ask for a "
        f"column by its number: {by_number}. The character between cells is ','; {delimiter} "
        "changes it"
    )


READING = {
    "delimiter": (
        ("a\n1\n", {"delimiter": "ab"}, "--delimiter ab"),
        ("delimiter must be one character", "--delimiter must be one character"),
    ),
    "a tab": (
        ("a\tb\n1\t2\n", {"column": "a", "header": True}, "--column a --header"),
        ("try delimiter='\\t'", "try --delimiter tab"),
    ),
    "a semicolon": (
        ("a;b\n1;2\n", {"column": "a", "header": True}, "--column a --header"),
        ("try delimiter=';'", "try --delimiter ';'"),
    ),
    "no column": (
        (PLAIN, {"header": True}, "--header"),
        ("choose a column (column=...); the", "choose a column (--column ...); the"),
    ),
    "no column of a file that may have no header": (
        (PLAIN, {}, ""),
        ("choose a column (column=...), as", "choose a column (--column ...), as"),
    ),
    "no column by number": (
        (PLAIN, {"header": False}, "--no-header"),
        ("counts from 1 (column=3)", "counts from 1 (--column 3)"),
    ),
    "no such column": (
        (PLAIN, {"column": "x"}, "--column x"),
        (
            first_line("header=True", "header=False, column=3", "delimiter=..."),
            first_line("--header", "--no-header, --column 3", "--delimiter ..."),
        ),
    ),
    "a name without a header": (
        (PLAIN, {"column": "a", "header": False}, "--column a --no-header"),
        (by_number("header=False, column=3"), by_number("--no-header, --column 3")),
    ),
    "text": (
        ("a\n1\nx\n", {"column": "a"}, "--column a"),
        ("as missing: na=..., text='missing'", "as missing: --na ..., --text missing"),
    ),
}
"""A file, what is typed in Python and in a shell, and a part of each refusal."""


@pytest.mark.parametrize("case", READING)
def test_how_a_file_is_read(refused, table, case):
    (text, given, typed), (in_python, in_shell) = READING[case]
    path = table(text)
    with pytest.raises(dp.OpenDPLiteError) as problem:
        read(path, **given)
    assert in_python in str(problem.value)
    assert "--" not in str(problem.value)
    shown = refused("sum", path, "--bounds", 0, 1, "--rho", 1, *typed.split())
    assert in_shell in shown
    assert "=" not in shown


def test_a_number_where_the_file_has_a_header(table):
    """No flag types one: a shell has words."""
    with pytest.raises(dp.ParameterError, match=r"there is no header \(header=False\)"):
        read(table(PLAIN), 1)


ESTIMATING = {
    "sum --bounds 0 1e300 --rho 1": lambda: (
        (dp.clamp(0, 1e300) >> dp.sum() >> dp.gaussian(rho=1)).bound
    ),
    "mean --bounds 0 1 --rho 1e-300": lambda: dp.mean(0, 1, rho=1e-300, confidence=None),
    "mean --bounds 0 1 --epsilon 1e300": lambda: dp.mean(0, 1, epsilon=1e300, confidence=None),
    "variance --bounds 0 1e200 --rho 1": lambda: dp.variance(0, 1e200, rho=1, confidence=None),
    "median --bounds 0 1 --rho 1 --confidence 1e-300": lambda: dp.private_quantile(
        0.5, bounds=(0, 1), rho=1, confidence=1e-300, sampling=False
    ),
    "histogram --column a --categories x --rho 1e-300": lambda: dp.histogram(
        "a", categories=["x"], rho=1e-300
    ),
}
"""What is typed in a shell, and in Python; both are refused in the same words but for the name."""


@pytest.mark.parametrize("typed", ESTIMATING)
def test_what_an_estimator_refuses(refused, table, typed):
    with pytest.raises(dp.ParameterError) as problem:
        ESTIMATING[typed]()
    argument = next(part for part in problem.value.args if isinstance(part, Argument))
    words = str(problem.value)
    assert f"{argument.step}: {argument.name} " in words
    command, *more = typed.split()
    rest = words.partition(f"{argument.name} ")[2]
    shown = refused(command, table("a\n1\n"), *more)
    assert shown.startswith(f"opendp-lite: error: --{argument.name} {rest}")


def test_an_argument_of_a_ledger(tmp_path):
    ledger = dp.Ledger.create(tmp_path / "a", budget=dp.rho(1), unit="row")
    ledger.session([1.0, 2.0])
    with pytest.raises(LedgerError, match="version add name='version 2' where ") as found:
        ledger.session([1.0, 3.0])
    assert "version add --data-name 'version 2' where " in spell_flags(found.value)


def test_a_refusal_is_pickled_with_its_arguments():
    problem = dp.DataError("try ", Argument("header", False))
    assert spell_flags(pickle.loads(pickle.dumps(problem))) == "try --no-header"
