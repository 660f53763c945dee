"""The error of shares of rows, basis by basis: the table of docs/accuracy.md."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
from compare import Row

import opendp_lite as dp

RUNS = 41
TERMS = (8, 16, 32)
LARGEST = 0.5
"""Of all errors, whatever the basis: more is a defect."""
LOSSES = {"rho = 0.5": {"rho": 0.5}, "epsilon = 1": {"epsilon": 1}}
BASES: dict[str, Callable[[int, float], dp.bases.Basis]] = {
    "Cosine": lambda k, upper: dp.bases.Cosine(k, 0, upper),
    "Fourier": lambda k, upper: dp.bases.Fourier(k + 1, 0, upper),
    "Legendre": lambda k, upper: dp.bases.Legendre(k, 0, upper),
    "Chebyshev": lambda k, upper: dp.bases.Chebyshev(k, 0, upper),
    "Hermite": lambda k, upper: dp.bases.Hermite(
        k, middle=upper / 2, scale=upper / 2 / np.sqrt(2 * k)
    ),
    "Laguerre": lambda k, upper: dp.bases.Laguerre(k, scale=upper / 4 / k),
    "Haar": lambda k, upper: dp.bases.Haar(k, 0, upper),
    "Daubechies": lambda k, upper: dp.bases.Daubechies(k, 0, upper),
    "Hadamard": lambda k, upper: dp.bases.Hadamard(k, 0, upper),
    "MutuallyUnbiased": lambda k, upper: dp.bases.MutuallyUnbiased(k, 0, upper),
}


def columns() -> dict[str, tuple[np.ndarray, float]]:
    """Numbers and the upper bound, for each kind."""
    generator = np.random.default_rng(0)
    with (Path(__file__).parents[2] / "docs/data/rand_hie.csv").open() as file:
        disea = np.array([float(row["disea"]) for row in csv.DictReader(file)])
    return {
        "one bell": (generator.normal(50, 12, 1000), 100),
        "two bells": (
            np.where(generator.random(1000) < 0.3, 30, 65) + generator.normal(0, 6, 1000),
            100,
        ),
        "decay": (generator.exponential(12, 1000), 100),
        "`disea`": (disea, 60),
    }


def error(basis: dp.bases.Basis, loss: dict[str, float], data: np.ndarray, upper: float) -> float:
    """The median over the runs of the largest error of a share below a number."""
    release = dp.basis_distribution(basis, **loss)
    numbers = np.linspace(0, upper, 401)
    true = np.searchsorted(np.sort(data), numbers, side="right") / len(data)
    runs = [np.abs(release(data).cdf(numbers).value - true).max() for _ in range(RUNS)]
    return float(median(runs))


def rows() -> Iterator[Row]:
    """A row for each loss, column and basis, for so many terms each."""
    for words, loss in LOSSES.items():
        for kind, (data, upper) in columns().items():
            for name, basis in BASES.items():
                errors = [error(basis(terms, upper), loss, data, upper) for terms in TERMS]
                text = " / ".join(f"{100 * each:.1f} %" for each in errors)
                met = max(errors) < LARGEST
                yield Row(f"{kind}, {words}", text, name, "", "", f"<= {LARGEST:.0%}", met)
