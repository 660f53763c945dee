"""Numbers of docs/errata.md that one line computes: the page says what comes out."""

import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm

import opendp_lite as dp

PAGE: Final = " ".join((Path(__file__).parents[2] / "docs/errata.md").read_text("utf-8").split())


def numbers(sentence: str) -> list[float]:
    """What stands at the stars of a sentence, which the page has once."""
    pattern = r"([\d.]+\d|\d)".join(map(re.escape, sentence.split("*")))
    (found,) = re.findall(pattern, PAGE)
    return [float(each) for each in found]


def delta(epsilon: float, s: float) -> float:
    """Of Gaussian noise of s times the sensitivity: Balle and Wang 2018, theorem 8."""
    apart = np.exp(epsilon) * norm.cdf(-1 / (2 * s) - epsilon * s)
    return float(norm.cdf(1 / (2 * s) - epsilon * s) - apart)


def classical(epsilon: float, allowed: float) -> float:
    return float(np.sqrt(2 * np.log(1.25 / allowed)) / epsilon)


def test_the_slack_column_does_not_keep_the_norm():
    of = "by a factor of * for d = *, * for d = *, * for d = * and * for d = *"
    told = numbers(of)
    for factor, columns in zip(told[::2], told[1::2], strict=True):
        rows = np.full(int(columns), 1 / np.sqrt(columns))
        slack = 1 - rows.sum()
        assert factor == pytest.approx(np.square([*rows, slack]).sum(), rel=0.01)


def test_the_median_of_a_square_of_two_normal_values():
    exact, by_wilson = numbers("* for k = 1, where the approximation gives *")
    assert exact == pytest.approx(1 / chi2(1).median(), abs=5e-5)
    assert by_wilson == pytest.approx((1 - 2 / 9) ** -3, abs=5e-5)


def test_the_classical_gaussian_claims_too_little_from_here_on():
    for epsilon, allowed in np.reshape(
        [
            *numbers("claim from epsilon = * on at delta = *,"),
            *numbers("and from * on at delta = *e-6. At"),
        ],
        (2, 2),
    ):
        allowed = allowed if allowed < 1 else allowed * 1e-6
        over = [
            delta(each, classical(each, allowed)) > allowed
            for each in (epsilon - 0.1, epsilon + 0.1)
        ]
        assert over == [False, True]


def test_how_far_the_classical_gaussian_is_above_what_is_needed():
    told = numbers("it is * % above what is needed at delta = *, * % at *e-6 and * % at *e-10")
    for percent, allowed in zip(told[::2], [told[1], told[3] * 1e-6, told[5] * 1e-10], strict=True):
        needed = brentq(lambda s, d=allowed: delta(1, s) - d, 0.1, 20)
        assert percent == pytest.approx(100 * (classical(1, allowed) / needed - 1), abs=0.5)
        count = dp.records() >> dp.count() >> dp.gaussian(epsilon=1, delta=allowed)
        assert count.facts.laws[0].standard_deviation == pytest.approx(needed, rel=1e-3)
