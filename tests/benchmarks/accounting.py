"""What several releases lose together: the tables of docs, and random compositions."""

import sys
import time
from argparse import Namespace
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import expm1
from pathlib import Path
from statistics import median

import numpy as np
from compare import Row

import opendp_lite as dp
from opendp_lite.combinators.accounts import find_price
from opendp_lite.measures import curve as composed
from opendp_lite.measures import loss_distribution
from opendp_lite.measures.budgets import filter_budget
from opendp_lite.measures.profile import _find_epsilon

sys.path.append(str(Path(__file__).resolve().parents[1] / "measures"))

from random_compositions import least_margin, parted_rows, trials

DELTA = 1e-6
COMPOSITIONS = 100_000
GROUPS = 20_000
SECONDS = 0.3
TOTAL = dp.clamp(0, 1) >> dp.sum()
COUNT = dp.count()


def laplace(epsilon: float) -> dp.Mechanism:
    """A sum with Laplace noise."""
    return TOTAL >> dp.laplace(epsilon=epsilon)


def count(epsilon: float) -> dp.Mechanism:
    """A count with Laplace noise."""
    return COUNT >> dp.laplace(epsilon=epsilon)


def median_of(epsilon: float) -> dp.Mechanism:
    """A choice by the exponential mechanism."""
    return dp.private_quantile(0.5, bounds=(0, 1), epsilon=epsilon, confidence=None)


CASES = {
    "50 sums, Laplace noise of epsilon = 0.1": [laplace(0.1)] * 50,
    "50 counts, Laplace noise of epsilon = 0.1": [count(0.1)] * 50,
    "100 sums, Laplace noise of epsilon = 0.1": [laplace(0.1)] * 100,
    "100 sums, epsilon = 0.005 to 0.104": [laplace((5 + i) / 1000) for i in range(100)],
    "100 of three kinds, epsilon = 0.005 to 0.104": [
        (laplace, count, median_of)[i % 3]((5 + i) / 1000) for i in range(100)
    ],
    "a Gaussian of rho = 0.1 and a Laplace sum of epsilon = 0.1": [
        TOTAL >> dp.gaussian(rho=0.1),
        laplace(0.1).to_zcdp(),
    ],
}


SAMPLES = [
    (rate, sigma, number)
    for rate, sigma in ((0.001, 0.6), (0.001, 1), (0.01, 1), (0.01, 4), (0.1, 4))
    for number in (1, 100, 1000, 10_000)
]


def theirs(event: object, step: float = 1e-4) -> float | None:
    """The epsilon of dp_accounting at a delta of 1e-6; None where it is not installed."""
    try:
        from dp_accounting.pld import PLDAccountant
    except ImportError:
        return None
    accountant = PLDAccountant(value_discretization_interval=step)
    accountant.compose(event)
    return float(accountant.get_epsilon(DELTA))


def timed(pipeline: dp.Mechanism) -> tuple[float, float]:
    """Its epsilon, and the seconds that it takes to compute with nothing kept."""
    for kept in (composed._curves, composed._laws, loss_distribution._convolve, _find_epsilon):
        kept.cache_clear()
    start = time.perf_counter()
    epsilon = pipeline.epsilon(DELTA)
    return epsilon, time.perf_counter() - start


def compositions() -> Iterator[Row]:
    """The epsilon of each at a delta of 1e-6, and how long it takes to compute."""
    for name, parts in CASES.items():
        pipeline = dp.records() >> dp.compose(*parts)
        epsilon, took = timed(pipeline)
        rho = pipeline.privacy_profile().rho
        assert rho is not None
        zcdp = float(dp.ZeroConcentratedDivergence().profile(rho).epsilon(Fraction(1, 10**6)))
        texts = f"{epsilon:.4f}", "zCDP added up", f"{zcdp:.4f}", f"{took:.3f} s"
        yield Row(f"epsilon at 1e-6: {name}", *texts, f"<= {SECONDS} s", took <= SECONDS)
    for name, part, number in (
        ("sums, Laplace noise of epsilon = 0.1", laplace(0.1), 500),
        ("sums, Laplace noise of epsilon = 0.1", laplace(0.1), 2000),
    ):
        whole = dp.records() >> dp.compose(*[part] * number)
        yield beside_theirs(f"{number} {name}", whole, 1e-4, 1.001, 1.0)


def samples() -> Iterator[Row]:
    """Gaussian sums of samples beside dp_accounting's Poisson-sampled distribution."""
    for rate, sigma, number in SAMPLES:
        one = dp.records() >> dp.sample(rate, TOTAL >> dp.gaussian(scale=sigma))
        whole = dp.compose([dp.sample(rate, TOTAL >> dp.gaussian(scale=sigma))] * number)
        # Their step is to be far below the deviation of one loss, about q sqrt(e^(1 / s^2) - 1).
        deviation = rate * expm1(sigma**-2) ** 0.5
        pipeline = one if number == 1 else dp.records() >> whole
        name = f"{number} samples at {rate}, Gaussian noise of scale {sigma}"
        step = min(1e-4, deviation / 150)
        yield beside_theirs(name, pipeline, step, 1.01, 0.2 if number <= 100 else 1.0)


def beside_theirs(
    name: str, pipeline: dp.Mechanism, step: float, most: float, seconds: float
) -> Row:
    """Our epsilon at 1e-6, theirs, and the seconds of ours."""
    epsilon, took = timed(pipeline)
    other = theirs(pipeline.to_dp_event(), step)
    texts = f"{epsilon:.6f}", "dp_accounting"
    if other is None:
        return Row(f"epsilon at 1e-6: {name}", *texts, "not here", "", f"<= {most}x, {seconds} s")
    met = 1 - 1e-4 <= epsilon / other <= most and took <= seconds
    beside = f"{other:.6f}", f"{epsilon / other:.6f} in {took:.2f} s", f"<= {most}x, {seconds} s"
    return Row(f"epsilon at 1e-6: {name}", *texts, *beside, met)


QUERIES = {
    "counts with epsilon = 0.1": count(0.1),
    "sums with Gaussian noise, rho = 0.00032": TOTAL >> dp.gaussian(rho=0.00032),
    "samples of 1 %, Gaussian noise of scale 1": dp.sample(0.01, TOTAL >> dp.gaussian(scale=1)),
    "samples of 10 %, Gaussian noise of scale 4": dp.sample(0.1, TOTAL >> dp.gaussian(scale=4)),
}
BUDGET = dp.epsilon(3.2, delta=1e-6)


def queries() -> Iterator[Row]:
    """How many queries fit in a session, and how many the best order for each alone allows."""
    for name, query in QUERIES.items():
        best = max(
            most_queries(query, budget_of_order(Fraction(order, 4))) for order in range(16, 60)
        )
        found = most_queries(query, filter_budget(BUDGET))
        texts = f"{found}", "best order for it alone", f"{best}", f"{found / best:.3f}"
        yield Row(f"{name} in (3.2, 1e-6)", *texts, ">= 0.9", found >= 0.9 * best)


def budget_of_order(order: Fraction) -> dp.measures.PrivacyBudget:
    """The budget with all of its weight on one order, and all of delta for composition."""
    measure = dp.measures.RenyiDivergence({order: 1})
    return dp.measures.PrivacyBudget(measure, measure.divide(*BUDGET.loss, Fraction(0)))


def most_queries(query: dp.Mechanism, budget: dp.measures.PrivacyBudget) -> int:
    """How many equal queries the budget pays for."""
    measure, fits = budget.measure, range(10**6)
    price = find_price(dp.records() >> query, measure)
    return bisect(
        fits,
        False,
        key=lambda n: not measure.within(tuple((n + 1) * part for part in price), budget.loss),
    )


def random_ones() -> Iterator[Row]:
    """Random compositions of small laws against exact rational arithmetic, by both ways."""
    generator = np.random.default_rng(0)
    atoms = composed.combine_atoms
    for way, combine in (("atoms", atoms), ("grid", lambda parts: None)):
        composed.combine_atoms = combine
        margins = []
        for trial in trials(seed=1, count=COMPOSITIONS):
            composed._laws.cache_clear()
            curve = composed._DistributionProfile(tuple(Counter(trial.curves).items()))
            margins.append(least_margin(trial.law, curve.delta, generator))
        below = sum(margin < 1 for margin in margins)
        name = f"claimed delta over the true one, {COMPOSITIONS} random compositions, {way}"
        texts = f"least {min(margins):.12f}", "below the truth", f"{below}"
        yield Row(name, *texts, f"median {median(margins):.6f}", "never below 1", below == 0)
    composed.combine_atoms = atoms


def random_groups() -> Iterator[Row]:
    """Random rows in random groups, against exact rational arithmetic."""
    generator = np.random.default_rng(0)
    margins = [trial.margin(generator) for trial in parted_rows(seed=1, count=GROUPS)]
    below = sum(margin < 1 for margin in margins)
    name = f"claimed delta over the true one, {GROUPS} random ways to part rows among groups"
    texts = f"least {min(margins):.12f}", "below the truth", f"{below}"
    yield Row(name, *texts, f"median {median(margins):.6f}", "never below 1", below == 0)


def rows(options: Namespace) -> Iterator[Row]:
    """All of them."""
    yield from compositions()
    yield from samples()
    yield from queries()
    yield from random_ones()
    yield from random_groups()
