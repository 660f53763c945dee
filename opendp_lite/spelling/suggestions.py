"""Names that people type and that are not here: where to go instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from re import sub
from typing import Final

from opendp_lite.base.errors import name_like
from opendp_lite.base.public_names import FRONT, ROOMS, read_stub
from opendp_lite.spelling.signatures import holds_data

# Typed by people who know pandas, numpy, OpenDP or another library of the field.
_INSTEAD: Final = {
    "Gaussian": "dp.gaussian(rho=0.03), or epsilon= with delta=",
    "Laplace": "dp.laplace(epsilon=1)",
    "Session": "dp.session(data, budget=dp.rho(1)): one budget over several releases",
    "filter": "dp.keep('age', between=(18, 65)), or among=[...]",
    "group_by": "dp.by('sex', ['f', 'm'], pipeline): a release for each group",
    "groupby": "dp.by('sex', ['f', 'm'], pipeline): a release for each group",
    "where": "dp.keep('age', between=(18, 65)), or among=[...]",
    "crosstab": "dp.histogram(['sex', 'city'], categories=[[...], [...]], epsilon=1)",
    "contingency_table": "dp.histogram(['sex', 'city'], categories=[[...], [...]], epsilon=1)",
    "deciles": "dp.private_quantile([0.1, 0.2, ...], bounds=(lower, upper), epsilon=1)",
    "fillna": "dp.impute(value), a value that you choose without looking at the data",
    "report": "dp.compose(rows=pipeline, age=pipeline): several releases by name",
    "hist": "dp.histogram('age', edges=range(0, 101, 10), epsilon=1)",
    "value_counts": "dp.histogram('city', categories=[...], epsilon=1), or delta= in their place",
    "median": "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)",
    "quantile": "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)",
    "quantiles": "dp.private_quantile([0.25, 0.5, 0.75], bounds=(lower, upper), epsilon=1)",
    "std": "dp.standard_deviation(lower, upper, epsilon=1)",
    "stdev": "dp.standard_deviation(lower, upper, epsilon=1)",
    "cov": "dp.covariance(lower, upper, rho=0.03)",
    "corr": "dp.covariance(lower, upper, rho=0.03, confidence=0.95), and its .correlation()",
    "corrcoef": "dp.covariance(lower, upper, rho=0.03, confidence=0.95), and its .correlation()",
    "correlation": "dp.covariance(lower, upper, rho=0.03, confidence=0.95), and its .correlation()",
    "private_variance": "dp.variance(lower, upper, epsilon=1); for normal columns and PLAN "
    "dp.estimators.normal_variance(bound, rho=0.03)",
    "var": "dp.variance(lower, upper, epsilon=1)",
    "pvariance": "dp.variance(lower, upper, epsilon=1)",
    "accountant": "dp.session(data, budget=dp.rho(1)): one budget over several releases",
    "approx_bounds": "dp.private_bounds(0.99, epsilon=1)",
    "bounds": "dp.private_bounds(0.99, epsilon=1)",
    "bounded_mean": "dp.mean(lower, upper, epsilon=1)",
    "bounded_sum": "dp.clamp(lower, upper) >> dp.sum() >> dp.laplace(epsilon=1)",
    "context": "dp.session(data, budget=dp.rho(1)): one budget over several releases",
    "budget_accountant": "dp.session(data, budget=dp.rho(1)): one budget over several releases",
    "accuracy": "pipeline.accuracy(0.95), or dp.expected_error(mean, n=1000, guess=40)",
    "error": "pipeline.accuracy(0.95), or dp.expected_error(mean, n=1000, guess=40)",
    "average": "dp.mean(lower, upper, epsilon=1)",
    "proportion": "dp.mean(0, 1, epsilon=1) on a column of zeros and ones",
    "max": "dp.private_quantile(0.99, bounds=(lower, upper), epsilon=1)",
    "min": "dp.private_quantile(0.01, bounds=(lower, upper), epsilon=1)",
    "percentile": "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)",
    "read_csv": "dp.csv_column(path, column), or dp.csv_table(path, {column: str})",
    "csv": "dp.csv_column(path, column), or dp.csv_table(path, {column: str})",
    "read_parquet": "dp.parquet('data/*.parquet', columns=['age'])",
    "scan_parquet": "dp.parquet('data/*.parquet', columns=['age'])",
    "load_csv": "dp.csv_column(path, column), or dp.csv_table(path, {column: str})",
    "noise": "dp.laplace(epsilon=1), or dp.gaussian(rho=0.03)",
    "tools": "dp.mean(lower, upper, epsilon=1)",
    "sensitivity": "(dp.clamp(lower, upper) >> dp.sum()).map(1)",
    "core": "dp.measurements.sum_and_count(epsilon=1)",
    "clip": "dp.clamp(lower, upper), or dp.clip_to_norm(radius)",
    "size": "dp.count()",
    "exponential": "dp.noisy_max(epsilon=1), or dp.measurements.exponential_mechanism(rho=0.03)",
    "exponential_mechanism": "dp.noisy_max(epsilon=1), or rho= for the exponential mechanism",
    "permute_and_flip": "dp.noisy_max(epsilon=1)",
    "report_noisy_max": "dp.noisy_max(epsilon=1)",
    "sparse_vector": "dp.above_threshold(program, threshold, epsilon=1)",
    "svt": "dp.above_threshold(program, threshold, epsilon=1)",
    "max_rows_per_id": "dp.bound_contributions(3), after dp.table(person='id')",
    "truncate": "dp.bound_contributions(3), after dp.table(person='id')",
    "plot": "dp.plotting.privacy_curves({'count': pipeline})",
    "geometric": "dp.count() >> dp.laplace(epsilon=1): whole numbers stay whole",
}
_BUDGET: Final = ("epsilon", "rho", "delta", "scale")
# Arguments that people type, and those that are meant.
_ARGUMENTS: Final = {
    "bounds": ("lower", "upper"),
    "bins": ("edges",),
    "budget": ("epsilon",),
    "eps": ("epsilon",),
    "privacy_budget": ("epsilon",),
    "range": ("lower", "upper"),
    "sd": ("scale",),
    "sigma": ("scale",),
    "std": ("scale",),
}
# How an argument is typed, where its name alone does not tell.
_TYPED: Final = {"edges": "edges=range(0, 101, 10)"}
# Budgets that Laplace noise does not take.
_GAUSSIAN: Final = {
    "delta": "dp.gaussian(epsilon=1, delta=1e-6)",
    "rho": "dp.gaussian(rho=0.03)",
}
_ENDS: Final = 2
# Below it, names that have little in common would be offered.
_CLOSE: Final = 0.75
_PREFIXES: Final = ("make_", "then_", "private_", "dp_", "m_", "t_")


def argument_hint(
    path: str, args: Sequence[object], typed: Collection[str], parameters: Collection[str]
) -> str:
    """What to say of a call that a step does not take; empty where nothing is known.

    Args:
        path: The step, as a person types it.
        args: What was given without a name.
        typed: The names that were typed.
        parameters: The names that it takes.
    """
    if any(holds_data(each) for each in args):
        return f"; data goes into a second call: {path}(...)(data)"
    for name in sorted(set(typed) - set(parameters)):
        meant = _ARGUMENTS.get(name) or name_like(name, parameters)
        if meant and set(meant) <= set(parameters):
            return f"; in place of {name}= it takes {', '.join(_TYPED.get(e, e) for e in meant)}"
        if name in _BUDGET and not set(_BUDGET) & set(parameters):
            return "; noise is a step of its own: put >> dp.laplace(epsilon=1) after it"
        if name in _GAUSSIAN:
            return f"; for {name}= use {_GAUSSIAN[name]}"
    budget = ", epsilon=1" if "epsilon" in parameters else ""
    if {"lower", "upper"} <= set(parameters) and len(args) < _ENDS:
        return f"; bounds on the values come first: {path}(0, 100{budget})"
    if len(args) > 1 and all(isinstance(each, str) for each in args):
        return f"; several columns go into a list: {path}(['sex', 'age'], ...)"
    if args and budget:
        return "; give the budget by name, as in epsilon=1"
    return ""


def not_there(name: str) -> str:
    """What to say of a name that the front does not have."""
    said = f"module 'opendp_lite' has no attribute {name!r}"
    plain = sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    for each in (name, plain):
        if each in _INSTEAD:
            return f"{said}; use {_INSTEAD[each]}"
    for room in ROOMS:
        if name in read_stub(f"{FRONT}.{room}"):
            return f"{said}; it is dp.{room}.{name}"
    bare = next((name.removeprefix(each) for each in _PREFIXES if name.startswith(each)), name)
    if bare in _INSTEAD:
        return f"{said}; use {_INSTEAD[bare]}"
    front = read_stub(FRONT)
    near = [bare] if bare in front else name_like(name, front, cutoff=_CLOSE)
    return f"{said}; did you mean {near[0]!r}?" if near else said
