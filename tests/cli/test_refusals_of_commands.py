"""What is typed wrong in a command is refused in these words."""

from __future__ import annotations

from pathlib import Path

import pytest

RAND_HIE = Path(__file__).parents[2] / "docs" / "data" / "rand_hie.csv"
REFUSALS = {
    "mean FILE --column mdvis": {
        "--bounds 40 0 --rho 1": "--bounds: the lower must be below the upper; swap them",
        "--bounds 4 4 --rho 1": "--bounds: the lower must be below the upper; they are equal",
        "--bounds nan 4 --rho 1": "--bounds: the lower bound must be finite, got nan",
        "--bounds 0 inf --rho 1": "--bounds: the upper bound must be finite, got inf",
        "--bounds -inf 0 --rho 1": "--bounds: the lower bound must be finite, got -inf",
        "--bounds -1e308 1e308 --rho 1": "1e+100",
        "--bounds 0 1e-300 --rho 1": "error: --bounds ",
        "--bounds 0 1,000 --rho 1": "argument --bounds: '1,000' is not a number",
        "--bounds 0 --rho 1": "argument --bounds: expected 2 arguments",
        "--rho 1 --method simplex": "--method simplex needs --bounds LOWER UPPER",
        "--bounds 0 1": "Choose how private the release is: --epsilon E (1 is a common choice)",
        "--bounds 0 1 --rho 1e-300": "error: --rho must lie between",
        "--bounds 0 1 --epsilon 1e300": "error: --epsilon must lie between",
        "--bounds 0 1 --delta 0.1": "--delta goes with --epsilon. Choose how private",
        "--bounds 0 1 --rho 1 --epsilon 1": "--rho and --epsilon belong to different privacy",
        "--bounds 0 1 --rho 1 --delta 0.1": "--rho and --delta belong to different privacy",
        "--bounds 0 1 --rho 0": "--rho must be above 0, got 0",
        "--bounds 0 1 --rho -1": "--rho must be above 0, got -1",
        "--bounds 0 1 --rho nan": "--rho must be finite, got nan",
        "--bounds 0 1 --rho inf": "--rho must be finite, got inf",
        "--bounds 0 1 --rho -inf": "--rho must be finite, got -inf",
        "--bounds 0 1 --epsilon 0": "--epsilon must be above 0, got 0",
        "--bounds 0 1 --epsilon -.5": "--epsilon must be above 0, got -0.5",
        "--bounds 0 1 --epsilon nan": "--epsilon must be finite, got nan",
        "--bounds 0 1 --epsilon inf --delta 0.1": "--epsilon must be finite, got inf",
        "--bounds 0 1 --epsilon 1 --delta 0": "--delta must be between 0 and 1, got 0",
        "--bounds 0 1 --epsilon 1 --delta -1e-6": "--delta must be between 0 and 1, got -1e-06",
        "--bounds 0 1 --epsilon 1 --delta 1": "--delta must be between 0 and 1, got 1",
        "--bounds 0 1 --epsilon 1 --delta nan": "--delta must be finite, got nan",
        "--bounds 0 1 --rho 1 --confidence 95": "--confidence must be between 0 and 1, got 95; ",
        "--bounds 0 1 --rho 1 --size -3": "--size must be a whole number of at least 1, got -3",
        "--bounds 0 1 --rho 1 --size 0": "--size must be a whole number of at least 1, got 0",
        "--bounds 0 1 --rho 1 --size 2.5": "--size must be a whole number of at least 1",
        "--bounds 0 1 --rho 1 --size inf": "--size must be finite, got inf",
        "--bounds 0 1 --rho 1 --size 2": "--size 2: the file has another number of rows",
        "--bounds 0 1 --rho 1 --size 20191": "--size 20191: the file has another number of rows",
        "--bounds 0 1 --rho 1 --size 9 --missing drop": "--missing drop changes the number of",
        "--bounds 0 1 --rho 1 --size 9 --method simplex": "which --method simplex does not use",
        "--bounds 0 1 --rho 1 --method joint": "--method joint is for a pure loss: give",
        "--bounds 0 1 --epsilon 1 --method recentred": "--method recentred needs Gaussian noise",
        "--bounds 0 1 --rho 1 --method worst": "argument --method: invalid choice: 'worst'",
        "--bounds 0 1 --rho 1 --missing mean": "argument --missing: give the word drop or a num",
        "--bounds 0 1 --rho 1 --missing nan": "--missing must be finite, got nan",
        "--bounds 0 1 --rho 1 --delimiter ; --header": "the first line holds ',' and not ';'",
        "--bounds 0 1 --rho 1 --column mdvs": "the first line names no column 'mdvs'",
        "--bounds 0 1 --rho 1 --column mdvs --header": "did you mean 'mdvis'?",
        "--bounds 0 1 --rho 1 --column x --header": "the columns are 'mdvis', 'lncoins', 'idp'",
        "--bounds 0 1 --rho 1 --no-header": "without a header a column has a number that counts",
        "--bounds 0 1 --rho 1 --column 0 --no-header": "without a header a column has a number",
        "--bounds 0 1 --rho 1 --column -1 --no-header": "without a header a column has a number",
        "--bounds 0 1 --rho 1 --column 99 --no-header": "column 99: the first line has fewer",
        "--bounds 0 1 --rho 1 --column 1 --no-header": "column 1 holds text, not numbers",
        "--bounds 0 1 --rho 1 --text drop": "argument --text: invalid choice: 'drop'",
        "--bounds 0 1 --eps 1": "unrecognized arguments: --eps 1. See opendp-lite mean --help",
        "--rho 1 --size 5": "5 rows are too few to find bounds in private with this budget",
    },
    "histogram SURVEY --column sex": {
        "--rho 1": "declare what to count: --categories WORD ..., --edges X ... or --bins",
        "--epsilon 1": "To count the categories that the data hold, give --epsilon E --delta D",
        "--epsilon 1 --delta 1e-6 --other": "--other goes with --categories, --edges or --bins",
        "--rho 1 --categories f f": "--categories: 'f' is given twice",
        "--rho 1 --categories 1 1.0": "--categories: '1' is given twice; 1 and 1.0 are one",
        "--rho 1 --categories NA .": "--categories: 'NA' is given twice",
        "--rho 1 --categories f --categories m": "--categories is given 2 times; give it once",
        "--rho 1 --categories f --edges 0 1": "--categories and --edges are two ways to count",
        "--rho 1 --edges 0 1 --bins 0 1 2": "--edges and --bins are two ways to count",
        "--rho 1 --categories other --other": "--other adds the category other",
        "--rho 1 --edges 1": "--edges: give two numbers or more",
        "--rho 1 --edges 1 0": "--edges: give two numbers or more, each above the one before",
        "--rho 1 --edges 0 nan": "--edges must be finite, got nan",
        "--rho 1 --edges 0 x": "argument --edges: 'x' is not a number",
        "--rho 1 --bins 1 0 3": "--bins: the lower must be below the upper; swap them",
        "--rho 1 --bins 0 1 0": "--bins: the count must be a whole number of at least 1, got 0",
        "--rho 1 --bins 0 1 1e9": "--bins: the count must be at most 1048576",
        "--categories f": "Choose how private the release is",
        "--rho 1e-300 --categories f": "error: --rho must lie between",
        "--rho 1 --categories f --confidence 95": "--confidence must be between 0 and 1, got 95",
        "--rho 1 --categories f --person id": "--person NAME and --most K go together",
        "--rho 1 --categories f --most 3": "--person NAME and --most K go together",
        "--rho 1 --categories f --person id --most 0": "--most must be a whole number of at le",
        "--rho 1 --categories f --person id --most 1 --size 7": "--size N goes with rows",
        "--rho 1 --categories f --person sex --most 1": "column 'sex' is asked for twice",
        "--rho 1 --categories f --by age": "--by NAME and --keys KEY ... go together",
        "--rho 1 --categories f --keys 1": "--by NAME and --keys KEY ... go together",
        "--rho 1 --categories f --by age --keys 1 --keys 2": "--keys is given 2 times; give it",
        "--rho 1 --categories f --by age --keys 1 1": "--keys: '1' is given twice",
        "--rho 1 --categories f --size 8": "--size 8: the file has another number of rows",
        "--rho 1 --categories f --missing 3": "unrecognized arguments: --missing 3",
        "--rho 1 --categories f --person who --most 1": "does not name all of the columns",
        "--rho 1 --categories f --person ag --most 1 --header": "did you mean 'age'?",
        "--edges 0 1 --rho 1": "column 'sex' holds text, not numbers",
        "age --edges 0 1 --rho 1": "--edges is for one column",
        "sex --categories f --categories f --rho 1": "column 'sex' is asked for twice",
    },
    "quantile NUMBERS --quantiles 0.5": {
        "--rho 1": "arguments are required: --bounds. See opendp-lite q",
        "--bounds 0 1 --epsilon 1 --delta 0.1": "--delta 0.1. See",
        "--bounds 1 0 --rho 1": "--bounds: the lower must be below",
    },
    "quantile NUMBERS": {
        "--bounds 0 1 --rho 1": "arguments are required: --quantiles",
        "--quantiles 50 --bounds 0 1 --rho 1": "got 50; 50 % is 0.5",
        "--quantiles 0 --bounds 0 1 --rho 1": "ask for 0.01 or 0.99",
        "--quantiles 1 --bounds 0 1 --rho 1": "ask for 0.01 or 0.99",
        "--quantiles nan --bounds 0 1 --rho 1": "--quantiles must be finite, got nan",
    },
    "variance NUMBERS": {
        "--rho 1": "arguments are required: --bounds. See opendp-lite variance --help",
        "--bounds 1 1 --rho 1": "--bounds: the lower must be below the upper",
        "--bounds 0 1e200 --rho 1": "error: --bounds beyond 1e+100",
        "--bounds 0 1 --rho 1e-300": "error: --rho must lie between",
    },
    "standard-deviation NUMBERS": {
        "--bounds 0 1 --rho 1 --size 3": "--size 3: the file has another",
        "--bounds 0 1": "Choose how private the release is",
    },
    "count NUMBERS": {
        "": "Choose how private the release is",
        "--epsilon 1 --delta 0.1": "unrecognized arguments: --delta 0.1. See opendp-lite c",
        "--epsilon 1 --size 3": "unrecognized arguments: --size 3",
    },
    "sum NUMBERS": {
        "--epsilon 1": "arguments are required: --bounds. See opendp-lite sum --help",
        "--epsilon 1 --bounds 1 0": "--bounds: the lower must be below the upper",
    },
    "median NUMBERS": {
        "--epsilon 1": "arguments are required: --bounds. See opendp-lite median --help",
        "--epsilon 1 --bounds 0 1 --quantiles 0.5": "unrecognized arguments: --quantiles",
    },
    "histogram SURVEY": {
        "--categories f --by sex --keys f --rho 1": "--column NAME is needed",
    },
}
"""Commands with what they read, what is typed after them, and the words of the refusal."""


@pytest.mark.parametrize(
    ("command", "words"), [(command, words) for command in REFUSALS for words in REFUSALS[command]]
)
def test_what_is_typed_wrong_is_refused_in_words(refused, survey, table, command, words):
    name, read, *first = command.split()
    files = {"FILE": RAND_HIE, "SURVEY": survey, "NUMBERS": table("x\n" + "1\nNA\n" * 9)}
    error = refused(name, files[read], *first, *words.split())
    assert REFUSALS[command][words] in error
    assert "\nopendp-lite" in f"\n{error}"
