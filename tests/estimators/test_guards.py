"""Which test guards an estimator: the table, and that it is true.

For each public name:

- privacy fails where a release tells more than it claims. For noise on sums half of it is found;
  for programs a leak of values or of control flow, and what they ask is audited by itself;
- budget fails where the loss is not the one that was given;
- error fails where the error, or the interval, is not the stated one;
- data fails where data of some kind has no release in the bounds, or of another shape;
- parameters fails where a wrong one is not refused in words.

Where an estimator picks another one, the test that it does stands for the privacy of both. What
only reads a release costs nothing: its test is of the loss that is kept, under budget.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import attrs
import pytest

import opendp_lite as dp

HERE = Path(__file__).parent


@attrs.frozen
class Guards:
    """A test for each purpose, None where there is nothing to guard."""

    privacy: str | None
    budget: str | None
    error: str | None
    data: str | None
    parameters: str | None


LOSS = "test_losses.py::test_the_loss_is_what_was_given"
MEANS = Guards(
    privacy="means/test_audits_of_means.py::test_half_the_noise_would_be_found",
    budget=LOSS,
    error="means/test_errors_of_means.py::test_releases_are_as_simulated",
    data="means/test_means_on_any_data.py::test_rows_added_or_removed",
    parameters="means/test_what_to_type.py::test_the_message_says_what_to_type",
)
BALLS = Guards(
    privacy="columns/test_audits_of_columns.py::test_columns",
    budget="columns/test_audits_of_columns.py::test_the_loss_is_what_was_given",
    error="columns/test_columns_with_errors.py::test_each_column_has_its_error_and_interval",
    data="columns/test_columns_with_errors.py::test_any_data",
    parameters="columns/test_tables_of_any_data.py::test_other_refusals",
)
PROGRAMS = Guards(
    privacy="columns/test_audits_of_programs.py::"
    "test_nothing_is_found_in_programs_where_a_row_is_replaced",
    budget="columns/test_tables_of_any_data.py::test_the_loss_is_what_was_asked_for",
    error="columns/test_accuracy.py::test_the_private_error_on_gaussian_a",
    data="columns/test_tables_of_any_data.py::test_rows_replaced",
    parameters="columns/test_tables_of_any_data.py::test_other_refusals",
)
NOISES = attrs.evolve(
    PROGRAMS,
    privacy="columns/test_audits_of_programs.py::test_half_the_noise_would_be_found",
    error="columns/test_accuracy.py::test_the_noise_has_the_stated_covariance",
)
SIMPLEX = "papers/test_simplex_vector_mean.py"
CENTERED = "columns/test_centered_sum.py"
WEIGHTED = "means/test_weighted_mean.py"
BINARY = "columns/test_binary_mean.py"
PICKED = "columns/test_multivariate_mean.py"
UNBOUNDED = "means/test_unbounded_mean.py"
FOUND = "columns/test_private_bounds.py"
RATIOS = "means/test_ratios.py"
COVARIANCE = "columns/test_covariance.py"
SPREAD = "spread/test_spread.py"
PLANNING = "means/test_planning.py"
CURVES = "distributions/test_cdf.py"
HISTOGRAMS = "distributions/test_histogram.py"
BASES = "distributions/test_distribution.py"
CHOSEN = "means/test_budgets_of_means.py::test_a_mean_says_which_was_chosen"
TWO_ROUNDS = "test_both_rounds_of_a_recentred_mean_cost_rho"
SPREADS = Guards(
    privacy=f"{SPREAD}::test_nothing_is_found",
    budget=LOSS,
    error=f"{SPREAD}::test_every_shape",
    data=f"{SPREAD}::test_any_data",
    parameters=f"{SPREAD}::test_the_message_says_what_to_type",
)
GUARDS = {
    "mean": attrs.evolve(MEANS, privacy=CHOSEN),
    "recentred_mean": attrs.evolve(MEANS, budget=f"means/test_budgets_of_means.py::{TWO_ROUNDS}"),
    "joint_mean": MEANS,
    "known_size_mean": attrs.evolve(
        MEANS, data="means/test_means_on_any_data.py::test_rows_replaced"
    ),
    "unbounded_mean": Guards(
        privacy=f"{UNBOUNDED}::test_audits_find_nothing",
        budget=LOSS,
        error=f"{UNBOUNDED}::test_errors_are_near_those_of_the_best_bounds",
        data=f"{UNBOUNDED}::test_any_data",
        parameters=f"{UNBOUNDED}::test_refusals",
    ),
    "private_bounds": Guards(
        privacy=f"{FOUND}::test_audits_find_nothing",
        budget=LOSS,
        error=f"{FOUND}::test_most_values_are_within",
        data=f"{FOUND}::test_any_data",
        parameters=f"{FOUND}::test_refusals",
    ),
    "simplex_mean": MEANS,
    "centered_mean": MEANS,
    "plug_in_mean": attrs.evolve(
        MEANS, privacy="means/test_audits_of_means.py::test_nothing_is_found_with_another_loss"
    ),
    "resized_mean": attrs.evolve(
        MEANS, data="means/test_means_on_any_data.py::test_rows_brought_to_a_noisy_number"
    ),
    "weighted_mean": Guards(
        privacy="means/test_audits_of_means.py::test_weighted_means",
        budget=LOSS,
        error=f"{WEIGHTED}::test_its_error_is_that_of_a_simplex_of_weights",
        data="means/test_means_on_any_data.py::test_weighted_means",
        parameters=f"{WEIGHTED}::test_refusals",
    ),
    "gaussian_mean": attrs.evolve(
        BALLS, error="columns/test_accuracy.py::test_the_noise_has_the_stated_covariance"
    ),
    "laplace_mean": BALLS,
    "l2_mechanism_mean": attrs.evolve(
        BALLS,
        error=f"{PICKED}::test_the_mean_of_a_ball_is_unbiased_and_as_noisy_as_stated",
        parameters="columns/test_columns_with_errors.py::test_intervals_are_refused_in_words",
    ),
    "simplex_vector_mean": Guards(
        privacy="columns/test_audits_of_columns.py::test_columns",
        budget=LOSS,
        error=f"{SIMPLEX}::test_errors_are_those_of_d_plus_one_noises",
        data="means/test_means_on_any_data.py::test_simplex_means",
        parameters=f"{SIMPLEX}::test_refusals",
    ),
    "elliptical_mean": NOISES,
    "centered_sum": Guards(
        privacy=f"{CENTERED}::test_the_worst_row_costs_the_budget_and_no_less",
        budget=f"{CENTERED}::test_the_loss_is_what_was_given",
        error=f"{CENTERED}::test_releases_err_as_stated",
        data=f"{CENTERED}::test_any_data",
        parameters=f"{CENTERED}::test_refusals",
    ),
    "scaled_mean": NOISES,
    "plan_mean": PROGRAMS,
    "plan_plus_mean": PROGRAMS,
    "iome_mean": PROGRAMS,
    "normal_variance": attrs.evolve(
        PROGRAMS, error="columns/test_accuracy.py::test_variances_of_normal_columns"
    ),
    "quantile_by_search": attrs.evolve(
        PROGRAMS, error="columns/test_accuracy.py::test_a_search_finds_its_quantile"
    ),
    "binary_mean": Guards(
        privacy=f"{BINARY}::test_audits_find_nothing",
        budget=LOSS,
        error=f"{BINARY}::test_the_error_is_that_of_the_study",
        data=f"{BINARY}::test_any_data_gives_shares",
        parameters=f"{BINARY}::test_wrong_parameters_are_refused_in_words",
    ),
    "multivariate_mean": Guards(
        privacy=f"{PICKED}::test_the_explanation_says_which_and_why",
        budget=LOSS,
        error=f"{PICKED}::test_the_explanation_says_which_and_why",
        data=f"{PICKED}::test_any_data_gives_a_mean_within_the_bound",
        parameters=f"{PICKED}::test_one_of_rho_and_epsilon",
    ),
    "basis_distribution": Guards(
        privacy=f"{BASES}::test_nothing_is_found_where_a_row_is_added",
        budget=f"{BASES}::test_the_noise_follows_the_sensitivity",
        error=f"{BASES}::test_standard_errors_are_the_spread_of_the_estimates",
        data=f"{BASES}::test_any_data_gives_finite_answers",
        parameters=f"{BASES}::test_wrong_parameters_are_refused_before_a_release_is_spent",
    ),
    "cdf": Guards(
        privacy=f"{CURVES}::test_half_the_noise_would_be_found",
        budget=f"{CURVES}::test_the_noise_follows_the_sensitivity",
        error=f"{CURVES}::test_standard_errors_are_the_spread_of_the_estimates",
        data=f"{CURVES}::test_any_data_gives_finite_answers",
        parameters=f"{CURVES}::test_refusals",
    ),
    "CumulativeDistribution": Guards(
        privacy=None,
        budget=None,
        error=f"{CURVES}::test_intervals_cover_as_often_as_they_should",
        data=f"{CURVES}::test_any_data_gives_finite_answers",
        parameters=f"{CURVES}::test_what_is_asked_wrongly_is_answered_in_words",
    ),
    "histogram": Guards(
        privacy=f"{HISTOGRAMS}::test_noise_is_scaled_to_what_a_row_moves",
        budget=f"{HISTOGRAMS}::test_the_loss_is_what_was_given",
        error=f"{HISTOGRAMS}::test_the_error_of_a_bin_meets_the_target",
        data=f"{HISTOGRAMS}::test_what_is_counted",
        parameters=f"{HISTOGRAMS}::test_what_is_typed_wrong_is_refused",
    ),
    "Histogram": Guards(
        privacy=None,
        budget=None,
        error=f"{HISTOGRAMS}::test_intervals_cover",
        data=f"{HISTOGRAMS}::test_it_is_a_mapping_and_goes_into_json",
        parameters=f"{HISTOGRAMS}::test_what_is_typed_wrong_is_refused",
    ),
    "distribution": Guards(
        privacy=None,
        budget=f"{BASES}::test_the_parts_make_the_whole",
        error=f"{BASES}::test_without_noise_the_truth_is_read",
        data=None,
        parameters=f"{BASES}::test_what_is_refused",
    ),
    "Distribution": Guards(
        privacy=None,
        budget=None,
        error=f"{BASES}::test_two_standard_errors_cover_as_often_as_they_should",
        data=f"{BASES}::test_numbers_that_json_does_not_have_are_none",
        parameters=f"{BASES}::test_what_is_asked_wrongly_is_answered_in_words",
    ),
    "Uncertain": Guards(
        privacy=None,
        budget=None,
        error=None,
        data=f"{BASES}::test_numbers_that_json_does_not_have_are_none",
        parameters=None,
    ),
    "Estimates": Guards(
        privacy=None,
        budget=None,
        error="../test_estimates.py::test_ends_are_exact_or_outside",
        data="../test_estimates.py::test_it_is_frozen_compared_pickled_and_written",
        parameters=None,
    ),
    "Estimate": Guards(
        privacy=None,
        budget=None,
        error="../test_estimate.py::test_as_many_digits_as_the_second_of_the_error",
        data="../test_estimate.py::test_numbers_that_json_does_not_have_are_none",
        parameters=None,
    ),
    "expected_error": Guards(
        privacy=f"{PLANNING}::test_asking_twice_comes_to_the_same_and_spends_no_entropy",
        budget=None,
        error=f"{PLANNING}::test_it_is_the_error_of_releases",
        data=None,
        parameters=f"{PLANNING}::test_refusals",
    ),
    "budget_for": Guards(
        privacy=None,
        budget=None,
        error=f"{PLANNING}::test_the_loss_for_an_error_is_the_least_of_three_digits",
        data=None,
        parameters=f"{PLANNING}::test_errors_that_no_loss_or_any_meets",
    ),
    "variance": SPREADS,
    "covariance": Guards(
        privacy=f"{COVARIANCE}::test_nothing_is_found",
        budget=LOSS,
        error=f"{COVARIANCE}::test_errors_are_as_large_as_they_say",
        data=f"{COVARIANCE}::test_any_data",
        parameters=f"{COVARIANCE}::test_the_message_says_what_to_type",
    ),
    "Covariance": Guards(
        privacy=None,
        budget=None,
        error=f"{COVARIANCE}::test_correlations",
        data=f"{COVARIANCE}::test_what_is_shown",
        parameters=None,
    ),
    "standard_deviation": attrs.evolve(
        SPREADS, privacy=f"{SPREAD}::test_no_release_tells_a_value_of_the_data"
    ),
    "simplex_ratio": Guards(
        privacy=None,
        budget=f"{RATIOS}::test_post_processing_keeps_the_map",
        error=f"{RATIOS}::test_ratio_of_exact_sums_is_the_mean",
        data=f"{RATIOS}::test_ratio_stays_inside_the_bounds",
        parameters=f"{RATIOS}::test_what_does_not_fit_the_release_is_refused",
    ),
    "count_ratio": Guards(
        privacy=None,
        budget=f"{RATIOS}::test_count_and_size_keep_the_map",
        error=f"{RATIOS}::test_sums_over_counts_are_means",
        data=f"{RATIOS}::test_sums_over_counts_are_means",
        parameters=f"{RATIOS}::test_what_does_not_fit_the_release_is_refused",
    ),
    "size_ratio": Guards(
        privacy=None,
        budget=f"{RATIOS}::test_count_and_size_keep_the_map",
        error=f"{RATIOS}::test_sums_over_counts_are_means",
        data=f"{RATIOS}::test_sums_over_counts_are_means",
        parameters=None,
    ),
}
"""Files and tests below this folder."""


def public() -> set[str]:
    """The public names that the estimators' rooms define, with the types of what they release."""
    released = {name: getattr(dp.releases, name).__module__ for name in dp.releases.__all__}
    return {
        *dp.estimators.__all__,
        *(n for n, where in released.items() if where.startswith("opendp_lite.estimators.")),
        *("Estimate", "Estimates"),
    }


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((HERE / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_estimator_has_its_guards():
    assert public() == set(GUARDS)


@pytest.mark.parametrize("name", GUARDS)
def test_the_guards_exist_and_their_files_name_the_estimator(name):
    for guard in filter(None, attrs.astuple(GUARDS[name])):
        file, _, test = guard.partition("::")
        assert test in names_in(file), guard
        assert re.search(rf"\b{name}\b", (HERE / file).read_text("utf-8")), (name, guard)
