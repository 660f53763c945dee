"""What several releases lose together: the table of docs/accounting.md, and random compositions."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
from compare import Row

import opendp_lite as dp
from opendp_lite.measures import composed

sys.path.append(str(Path(__file__).resolve().parents[1] / "measures"))

from random_compositions import least_margin, trials

DELTA = 1e-6
COMPOSITIONS = 100_000
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
    return dp.private_quantile(0.5, bounds=(0, 1), epsilon=epsilon)


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


def compositions() -> Iterator[Row]:
    """The epsilon of each at a delta of 1e-6, and how long it takes to compute."""
    for name, parts in CASES.items():
        composed._curves.cache_clear()
        pipeline = dp.records() >> dp.compose(*parts)
        start = time.perf_counter()
        epsilon = pipeline.epsilon(DELTA)
        took = time.perf_counter() - start
        zcdp = float(
            dp.ZeroConcentratedDivergence()
            .profile(pipeline.privacy_profile().rho)
            .epsilon(Fraction(1, 10**6))
        )
        texts = f"{epsilon:.4f}", "zCDP added up", f"{zcdp:.4f}", f"{took:.3f} s"
        yield Row(f"epsilon at 1e-6: {name}", *texts, f"<= {SECONDS} s", took <= SECONDS)


def random_ones() -> Iterator[Row]:
    """Random compositions of small laws against exact rational arithmetic."""
    generator = np.random.default_rng(0)
    margins = []
    for trial in trials(seed=1, count=COMPOSITIONS):
        found = composed._distribution([(each, 1) for each in trial.curves])
        assert found is not None
        margins.append(least_margin(trial.law, found.delta, generator))
    below = sum(margin < 1 for margin in margins)
    name = f"claimed delta over the true one, {COMPOSITIONS} random compositions"
    texts = f"least {min(margins):.12f}", "below the truth", f"{below}"
    yield Row(name, *texts, f"median {median(margins):.6f}", "never below 1", below == 0)


def rows(options: Namespace) -> Iterator[Row]:
    """All of them."""
    yield from compositions()
    yield from random_ones()
