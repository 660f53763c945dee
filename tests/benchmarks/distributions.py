"""The error of shares of rows, basis by basis: the table of docs/accuracy.md."""

import csv
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from compare import Row

import opendp_lite as dp

RUNS = 41
TERMS = (8, 16, 32)
LARGE = 20_000
COVERED = 300
CONFIDENCE = 0.95
LARGEST = 0.5
"""Of all errors, whatever the basis: more is a defect."""
LOSSES = {"rho = 0.5": {"rho": 0.5}, "epsilon = 1": {"epsilon": 1}}
BASES: dict[str, Callable[[int, float], dp.bases.Basis]] = {
    "Cosine": lambda k, upper: dp.bases.Cosine(k, 0, upper),
    "Weighted(Cosine)": lambda k, upper: dp.bases.Weighted(dp.bases.Cosine(k, 0, upper)),
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


def curves(rows: int) -> dict[str, np.ndarray]:
    """Columns on [0, 100] with jumps and without."""
    generator = np.random.default_rng(0)
    mixed = generator.random(rows)
    atoms = generator.choice([10.0, 25.0, 40.0, 62.0, 80.0], rows)
    return {
        "two bells": np.where(mixed < 0.3, 30, 65) + generator.normal(0, 6, rows),
        "a narrow bell": generator.normal(50, 0.5, rows),
        "decay": generator.exponential(12, rows),
        "five atoms": np.where(mixed < 0.5, atoms, generator.uniform(0, 100, rows)),
        "60 % zeros": np.where(mixed < 0.6, 0.0, generator.exponential(12, rows)),
    }


def shares(data: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of rows up to each edge."""
    return np.searchsorted(np.sort(data.clip(0, 100)), edges, side="right") / len(data)


def largest_and_mean(release: Any, data: np.ndarray) -> tuple[float, float]:
    """The medians over the runs of the largest and the mean error at 1025 edges."""
    edges = np.linspace(0, 100, 1025)
    true = shares(data, edges)
    off = np.array([np.abs(release(data).cdf(edges).value - true) for _ in range(RUNS)])
    return float(median(off.max(axis=1))), float(median(off.mean(axis=1)))


def of_curves() -> Iterator[Row]:
    """``dp.cdf`` beside a basis: the largest and the mean error of a share."""
    for words, loss in LOSSES.items():
        basis = dp.bases.Cosine(24, 0, 100) if "rho" in loss else dp.bases.Haar(32, 0, 100)
        for rows in (LARGE, 1000):
            for kind, data in curves(rows).items():
                ours = largest_and_mean(dp.cdf(0, 100, **loss, confidence=None), data)
                theirs = largest_and_mean(dp.estimators.basis_distribution(basis, **loss), data)
                texts = [
                    " / ".join(f"{100 * each:.2f} %" for each in both) for both in (ours, theirs)
                ]
                name = f"cdf: {kind}, n = {rows}, {words}"
                met = max(ours) < LARGEST
                yield Row(name, texts[0], type(basis).__name__, texts[1], met=met)


def of_intervals() -> Iterator[Row]:
    """How often intervals at an edge, bands and intervals of quantiles hold the truth."""
    edges, asked = np.linspace(0, 100, 1025), np.array([0.1, 0.5, 0.9])
    for words, loss in LOSSES.items():
        for rows in (LARGE, 1000, 100):
            data = curves(rows)["two bells"]
            true = shares(data, edges)
            exactly = np.quantile(data, asked, method="inverted_cdf")
            held = []
            for _ in range(COVERED):
                found = dp.cdf(0, 100, **loss, confidence=CONFIDENCE, sampling=False)(data)
                pairs = [
                    found.interval(edges),
                    found.band(edges),
                    found.quantile(asked).intervals.T,
                ]
                (low, high), (lowest, highest), (first, last) = pairs
                held.append(
                    (
                        ((low <= true) & (true <= high)).mean(),
                        ((lowest <= true) & (true <= highest)).all(),
                        ((first <= exactly) & (exactly <= last)).mean(),
                    )
                )
            alone, together, quantiles = np.mean(held, axis=0)
            text = f"{100 * alone:.1f} % / {100 * together:.1f} % / {100 * quantiles:.1f} %"
            met = bool(min(alone, quantiles, together + 0.03) > CONFIDENCE - 0.02)
            yield Row(f"cdf: intervals, n = {rows}, {words}", text, met=met)


def error(basis: dp.bases.Basis, loss: dict[str, float], data: np.ndarray, upper: float) -> float:
    """The median over the runs of the largest error of a share below a number."""
    release = dp.estimators.basis_distribution(basis, **loss)
    numbers = np.linspace(0, upper, 401)
    true = np.searchsorted(np.sort(data), numbers, side="right") / len(data)
    runs = [np.abs(release(data).cdf(numbers).value - true).max() for _ in range(RUNS)]
    return float(median(runs))


def rows(options: Namespace) -> Iterator[Row]:
    """Of ``dp.cdf``; then for each loss, column and basis, for so many terms each."""
    yield from of_curves()
    yield from of_intervals()
    for words, loss in LOSSES.items():
        for kind, (data, upper) in columns().items():
            for name, basis in BASES.items():
                errors = [error(basis(terms, upper), loss, data, upper) for terms in TERMS]
                text = " / ".join(f"{100 * each:.1f} %" for each in errors)
                met = max(errors) < LARGEST
                yield Row(f"{kind}, {words}", text, name, target=f"<= {LARGEST:.0%}", met=met)
