"""What is typed wrong about noise, choices, thresholds and quantiles is refused in these words."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp

REPLACED = dp.records(size=5, metric=dp.ChangeOneDistance())
CENTRED = dp.clamp(0, 100) >> dp.center(50)
REFUSALS = {
    "quantile(-1e-09, bounds=(0, 1), rho=1)": "between 0 and 1",
    "quantile([0.5, 2], bounds=(0, 1), rho=1)": "between 0 and 1",
    "quantile([], bounds=(0, 1), rho=1)": "at least one",
    "quantile(True, bounds=(0, 1), rho=1)": "number",
    "quantile(np.zeros((1, 1)), bounds=(0, 1), rho=1)": "number",
    "quantile(0.5, rho=1)": "got neither",
    "quantile(0.5, bounds=5, rho=1)": r"bounds=\(0, 100\); got 5",
    "quantile(0.5, bounds=(0, 1, 2), rho=1)": r"got \[0, 1, 2\]",
    "quantile(0.5, bounds=(1, 1), rho=1)": "bounds are equal, 1;.*below the upper",
    "quantile(0.5, bounds=(2, 1), rho=1)": "below the upper",
    "quantile(0.5, bounds=(0, inf), rho=1)": "finite",
    "quantile(0.5, bounds=(0, 1e+300), rho=1)": r"2\^900",
    "quantile(0.5, bounds=(-10**400, 1), rho=1)": r"2\^900",
    "quantile(0.5, bounds=(1, 1 + Fraction(1, 10**30)), rho=1)": "different floats",
    "quantile(0.5, bounds=(0, Fraction(1, 10**400)), rho=1)": "different floats",
    "quantile(0.5, bounds=([0, 0], [1, 1, 1]), rho=1)": "do not fit",
    "quantile(0.5, bounds=([0, 0], 1), rho=1)": r"columns=2\)",
    "quantile(0.5, bounds=(0, 1), scale='cube', rho=1)": "cube",
    "quantile(0.5, bounds=(0, 1), scale='log', rho=1)": "above 0",
    "quantile(0.5, bounds=(1, 1 + 1e-12), scale='log', rho=1)": "too close",
    "quantile(0.5, bounds=(0, 1), scale='asinh', rho=1)": "needs unit=",
    "quantile(0.5, bounds=(0, 1), unit=1, rho=1)": "drop unit",
    "quantile(0.5, bounds=(0, 1), scale='asinh', unit=0, rho=1)": "above 0",
    "quantile(0.5, bounds=(0, 1), scale='asinh', unit=1e+300, rho=1)": "too close",
    "quantile(0.5, bounds=(0, 1), scale='asinh', unit=10**400, rho=1)": "too close",
    "quantile(0.5, bounds=(0, 1), shares=[1, 2], rho=1)": "2 shares for 1",
    "dp.records(columns=2) >> quantile(0.5, bounds=(0, 1), shares=[1], rho=1)": "1 shares for 2",
    "dp.records(columns=2) >> quantile(0.5, bounds=(0, 1), shares=3, rho=1)": "1 shares for 2",
    "dp.records(columns=2) >> quantile(0.5, bounds=(0, 1), shares=[1, 0], rho=1)": "above 0",
    "dp.records(columns=2) >> quantile(0.5, bounds=(0, 1), shares=[1, nan], rho=1)": "finite",
    "quantile(0.5, candidates=[], rho=1)": "at least one",
    "quantile(0.5, candidates=[1, 1], rho=1)": "rise",
    "quantile(0.5, candidates=[2, 1], rho=1)": "sort them, and drop repeats",
    "quantile(0.5, candidates=[1, nan], rho=1)": "finite",
    "quantile(0.5, candidates=[10**400, 10**401], rho=1)": "floats",
    "quantile(0.5, candidates=[1, 1 + Fraction(1, 10**30)], rho=1)": "floats",
    "quantile(0.5, candidates=[0, 1], bounds=(0, 1), rho=1)": "not both",
    "quantile(0.5, candidates=[0, 1], scale='log', rho=1)": "not both",
    "quantile(0.5, candidates=[0, 1], unit=1, rho=1)": "not both",
    "dp.vector(3) >> quantile(0.5, bounds=(0, 1), rho=1)": "rows",
    "quantile(0.5, bounds=(0, 1), rho=1)([[1.0, 2.0]])": "2",
    "sum_and_count(epsilon=1).map(1)": r"put dp\.clamp\(0, 100\) before it",
    "(dp.center(3) >> sum_and_count(epsilon=1))([])": "bounded values",
    "REPLACED >> CENTRED >> sum_and_count(epsilon=1)": r"(?=.*size=5).*l2_mechanism",
    "CENTRED >> dp.sum() >> sum_and_count(epsilon=1)": "sum_and_count needs rows",
    "(CENTRED >> sum_and_count(epsilon=1)) >> dp.sum()": "cannot follow noise",
    "dp.records() >> CENTRED >> sum_and_count(epsilon=1e-300)": "scale",
    "sum_and_count(epsilon=1, stretch=1e+305).bind(dp.records())": "bounded",
    "(dp.records(columns=3) >> dp.clamp(0, 1) >> sum_and_count(epsilon=1))([1.0])": "3 columns",
    "dp.vector(3) >> l2_mechanism(scale=1e+300)": "scale",
    "dp.vector(3, unit=0) >> l2_mechanism(epsilon=1)": "depends on no row",
    "dp.clamp(0, 100) >> l2_mechanism(epsilon=1)": r"Put sum\(\) or count\(\) between",
    "dp.gaussian(epsilon=1)": "delta is missing",
    "dp.gaussian(delta=0.1)": "epsilon is missing",
    "dp.gaussian(rho=1).map(-1)": "at least 0",
    "dp.gaussian(rho=1).map(nan)": "finite",
    "(dp.vector(3) >> dp.gaussian(rho=1))(np.zeros(4))": "3 entries",
    "dp.vector(3) >> dp.noisy_max(epsilon=1, names=['a', 'b'])": "2 names for 3",
    "dp.vector(2) >> dp.noisy_max(epsilon=1, names=['a', 'a'])": "twice",
    "dp.vector(2) >> dp.noisy_max(epsilon=1, names=['a', 2])": r"list of texts.*\['a', 2\]",
    "dp.vector(2) >> dp.noisy_max(epsilon=1, names=5)": "list of texts.*got 5",
    "dp.count() >> dp.noisy_max(epsilon=1)": "gives one number. There is nothing to ch",
    "dp.clamp(0, 1) >> dp.noisy_max(epsilon=1)": "vector",
    "quantile(np.arange(1, 64) / 64, bounds=(0, 9), epsilon=1e-300, confidence=None)": (
        "outside of what floats can hold"
    ),
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=95)": "0.95",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=100)": "out of reach, ask for 0.99",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=150)": "between 0 and 1",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=1e-17)": "between 1e-9",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=1e-300)": "between 1e-9",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=1 - Fraction(1, 10**30))": "at most 1 - 1e-20",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=1 - Fraction(1, 10**10))": "between 1e-9",
    "quantile(0.5, bounds=(0, 1), rho=1, confidence=1 - 1e-16, sampling=True)": "between 1e-9",
    "quantile([0, 0.5], bounds=(0, 1), rho=1, confidence=0.9)": "have no interval",
    "quantile(1, bounds=(0, 1), rho=1, confidence=0.9)": "have no interval",
    "thresholded_counts(epsilon=1e-7, delta=1e-12)": r"noise of more than 2\^20",
    "thresholded_counts(epsilon=1, delta=Fraction(1, 10**400))": "1e-300",
    **{
        f"dp.vector(2) >> dp.noisy_max(epsilon=1, names={names})": "list of texts"
        for names in ("'ab'", "{'a', 'b'}", "{'a': 1, 'b': 2}", "iter('ab')", "{'a': 1}.keys()")
    },
}
"""Code that a person types, and the words of its refusal."""
NAMES = {
    **{name: getattr(dp.measurements, name) for name in dp.measurements.__all__},
    "dp": dp,
    "np": np,
    "nan": nan,
    "inf": inf,
    "Fraction": Fraction,
    "quantile": dp.private_quantile,
    "CENTRED": CENTRED,
    "REPLACED": REPLACED,
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_is_typed_wrong_is_refused_in_words(code):
    with pytest.raises(dp.OpenDPLiteError, match=REFUSALS[code]):
        eval(code, dict(NAMES)).map(1)
