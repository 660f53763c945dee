"""What people type by mistake, and what they are told: the step, what is wrong, what to type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp

DAY = pd.Timestamp("2024-01-01")
mean = dp.mean(0, 100, epsilon=1)
ages = dp.select("age") >> mean
in_rho = dp.select("age") >> dp.mean(0, 100, rho=0.1)
frame = pd.DataFrame({"age": np.arange(100.0), "sex": ["f", "m"] * 50})
estimate = dp.mean(0, 100, epsilon=1, confidence=0.95)(frame["age"])
histogram = dp.histogram("sex", categories=["f", "m"], epsilon=1)(frame)
groups = dp.by("sex", ["f", "m"], ages)(frame)
cdf = dp.cdf(0, 100, epsilon=1)(frame["age"])
shares = dp.estimators.basis_distribution(dp.bases.Legendre(8, 0, 100), epsilon=1)(frame["age"])
session = dp.session(frame, dp.epsilon(1))

PIPELINE = (
    "dp.mean(0, 100, epsilon=1) is a pipeline, not a number yet: call it on data, as in pipel"
)
ERROR = (
    "an Estimate is a release with its error, and does not compute or compare: the error would b"
)
MESSAGES = [
    ("mean()", "dp.mean(0, 100, epsilon=1) is called on data: write pipeline(data)"),
    ("dp.select('age')()", "dp.select('age') is called on data: write pipeline(data)"),
    ("(dp.records() >> mean)()", "dp.records() >> dp.mean(0, 100, epsilon=1) is called on data"),
    ("dp.select('age') | mean", "steps are joined by >>, not by |: write first >> second"),
    ("dp.records() | mean", "steps are joined by >>, not by |: write first >> second"),
    *((code, PIPELINE) for code in ("float(mean)", "int(mean)", "round(mean)", "mean + 1")),
    *((code, PIPELINE) for code in ("1 - mean", "mean > 40", "frame['age'] * mean", "abs(mean)")),
    *((f"{code}", ERROR) for code in ("round(estimate, 2)", "estimate + 1", "2 * estimate")),
    *((f"{code}", ERROR) for code in ("estimate - estimate", "estimate > 1", "int(estimate)")),
    ("sorted([estimate, estimate])", "Write release.value for what is released alone"),
    ("histogram + histogram", "Write release.as_dict() for what is released alone"),
    ("estimate.ci", "'Estimate' object has no attribute 'ci'; it has .interval"),
    ("estimate.conf_int()", "has no attribute 'conf_int'; it has .interval"),
    ("estimate.low", "has no attribute 'low'; it has .interval[0]"),
    ("estimate.intervall", "has no attribute 'intervall'; did you mean .interval?"),
    ("estimate.to_json()", "has no attribute 'to_json'; it has .as_dict()"),
    ("estimate.plot()", "type dp.plotting.estimate_intervals({'mean': release})"),
    ("histogram.ci", "'Histogram' object has no attribute 'ci'; it has .intervals"),
    ("histogram.plot()", "type dp.plotting.histogram_bars(release)"),
    ("histogram.to_pandas()", "type pd.Series(release.as_dict()['counts'], list(release))"),
    (
        "groups.to_frame()",
        "'ByGroup' object has no attribute 'to_frame'; type pd.Series(release.as_",
    ),
    ("cdf.plot()", "type dp.plotting.cdf_curve(release)"),
    ("shares.plot()", "type dp.plotting.density_curve(release)"),
    ("dp.Ledger.create('x', dp.rho(1))", "say whom it protects: unit='row', or unit='person'"),
    (
        "session(in_rho)",
        "the budget counts epsilon, and dp.table() >> dp.select('age') >> dp.mean(0, 100, rho=0.1) "
        "loses rho = 0.1 zCDP. Write epsilon= in the query, or take a budget that counts as the",
    ),
    (
        "dp.session(frame, dp.epsilon(1, delta=1e-6))(in_rho)",
        "loses rho = 0.1 zCDP. Write >> dp.to_approximate(1e-7) after it, or take a budget that",
    ),
    ("dp.histogram('age', edges=[DAY], epsilon=1)", "got a date (Timestamp); count days instead"),
    ("dp.keep('age', between=(DAY, 1))", "between must be a number, got a date (Timestamp); count"),
    ("dp.mean(0, estimate, epsilon=1)", "(did you mean its .value?)"),
    (
        "dp.records() >> dp.sum()",
        "sum needs bounded values, and these may be anything: put dp.clamp",
    ),
    (
        "dp.histogram('age', bins=10, epsilon=1)",
        "in place of bins= it takes edges=range(0, 101, 10",
    ),
]


@pytest.mark.parametrize(("code", "message"), MESSAGES, ids=[code for code, _ in MESSAGES])
def test_what_is_typed_by_mistake_is_told_what_to_type(code: str, message: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as refused:
        eval(code)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "code",
    [
        "dp.plotting.estimate_intervals({'mean': release})",
        "pd.Series(release.as_dict())",
    ],
)
def test_what_is_told_runs(code: str) -> None:
    release: Any = estimate
    assert eval(code, {"dp": dp, "pd": pd, "release": release}) is not None
    counts: Any = histogram
    found = eval(counts.frame, {"pd": pd, "release": counts})
    assert list(found.index) == ["f", "m"]
    for each in (counts, cdf, shares):
        picture = type(each).picture.removeprefix("type ")
        assert eval(picture, {"dp": dp, "release": each}) is not None


def test_errors_print_as_those_of_one_module() -> None:
    with pytest.raises(dp.DataError) as refused:
        (dp.select("aeg") >> mean)(frame)
    assert type(refused.value).__module__ == "opendp_lite.base.errors"
