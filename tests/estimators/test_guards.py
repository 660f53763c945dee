"""Every estimator has its guards: tests of each purpose, in a file that names the estimator.

- privacy fails where a release tells more than it claims. For noise on sums half of it is found;
  for programs a leak of values or of control flow, and what they ask is audited by itself;
- budget fails where the loss is not the one that was given;
- error fails where the error, or the interval, is not the stated one;
- data fails where data of some kind has no release in the bounds, or of another shape;
- parameters fails where a wrong one is not refused in words.

Where an estimator picks another one, the test that it does stands for the privacy of both. What
only reads a release costs nothing: it has guards of its errors or of its data.
"""

import re
from functools import cache
from pathlib import Path

import pytest

import opendp_lite as dp
from tests.public_names import PUBLIC, returned

TESTS = Path(__file__).parents[1]
PURPOSES = {
    "privacy": r"nothing_is_found|finds?_nothing|would_be_found|says_which|explanation_says_which"
    r"|noise_is_scaled|test_columns|costs_the_budget|no_release_tells|loses_what_is_claimed"
    r"|tells_its_answers_alone|a_row_costs_the_claim|losses_hold",
    "budget": r"loss_is_what|cost_rho|follows_the_sensitivity",
    "error": r"errors?_(is|are|of|on|near)|_errors_and|has_its_error|as_simulated|stated_cov"
    r"|most_values|every_shape|err_as|unbiased|variances_of|finds_its_quantile|cover"
    r"|the_spread_of|truth_is_read|differs_five_of|places_hold|correlations|is_the_mean|are_means|ends_are_exact|as_many_digits",
    "data": r"any_data|rows_(added|replaced|brought)|weighted_means|simplex_means|what_is_counted"
    r"|goes_into_json|is_shown|inside_the_bounds|json_does_not_have|pickled_and_written|few_rows_are_said|what_is_one_value",
    "parameters": r"refus|what_to_type|asked_wrongly|one_of_rho|no_loss",
}
"""What the names of tests of each purpose have in them."""


def public() -> set[str]:
    """The public names that the estimators' rooms define, with the types of what they release."""
    released = {name: getattr(dp.releases, name).__module__ for name in dp.releases.__all__}
    return {
        *dp.estimators.__all__,
        *(n for n, where in released.items() if where.startswith("opendp_lite.estimators.")),
        *("Estimate", "Estimates"),
    }


@cache
def texts() -> list[str]:
    """The files that guard estimators, with the cases that they go through."""
    paths = [*TESTS.glob("estimators/**/test_*.py"), *TESTS.glob("test_estimate*.py")]
    files = [path.read_text("utf-8") for path in paths if path != Path(__file__)]
    laws = (TESTS / "test_exact_laws.py").read_text("utf-8").partition("NOT_ENUMERATED = ")[0]
    cases = (TESTS / "estimators/cases.py").read_text("utf-8")
    known = [text + cases * bool(re.search(r"\b(EVERY|PROGRAMS)\[", text)) for text in files]
    return [*known, laws]


def purposes_of(name: str) -> set[str]:
    """The purposes of which a file that names the estimator has a test."""
    text = "\n".join(text for text in texts() if re.search(rf"\b{name}\b", text))
    tests = re.findall(r"^def (test_\w+)", text, re.MULTILINE)
    return {kind for kind, words in PURPOSES.items() if any(re.search(words, t) for t in tests)}


@pytest.mark.parametrize("name", sorted(public()))
def test_every_estimator_has_its_guards(name):
    step = PUBLIC.get(f"dp.{name}") or PUBLIC.get(f"dp.estimators.{name}")
    if returned(step) is dp.Measurement:
        assert purposes_of(name) == set(PURPOSES)
    else:
        assert purposes_of(name) & {"error", "data"}


def test_a_name_without_tests_has_no_guards():
    assert purposes_of("made_up_mean") == set()
