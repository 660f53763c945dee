"""How far off one quantile is, beside OpenDP's permute-and-flip among the same candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import opendp.prelude as odp
from compare import Row
from peers import opendp_name

import opendp_lite as dp

SIZE = 1000
POINTS = np.linspace(-4.0, 4.0, 4001)
"""A step between two of them holds less than a row of the data."""
QUANTILES = 0.5, 0.9
EPSILONS = 0.1, 0.2, 0.5, 1.0, 2.0
RUNS = 2000


def rows() -> Iterator[Row]:
    """The mean rank errors over normal data that are drawn anew for each run."""
    for quantile in QUANTILES:
        for epsilon in EPSILONS:
            errors = _errors(quantile, epsilon)
            (ours, theirs), doubt = errors.mean(axis=1), errors.std(axis=1) / RUNS**0.5
            ratio = ours / theirs
            off = ratio * float(np.hypot(*(doubt / (ours, theirs))))
            yield Row(
                f"quantile {quantile:g}, {SIZE} rows, epsilon = {epsilon:g}",
                f"{ours:.3g} ranks",
                f"{opendp_name()}, the same {len(POINTS)} candidates",
                f"{theirs:.3g} ranks",
                f"{ratio:.2f} +- {off:.2f}",
                "<= 1x",
                bool(ratio <= 1),
            )


def _errors(quantile: float, epsilon: float) -> np.ndarray:
    """The rank errors of our releases, and of OpenDP's on the same rows."""
    ours = dp.records() >> dp.private_quantile(quantile, candidates=POINTS, epsilon=epsilon)
    theirs = _opendp_quantile(quantile, epsilon)
    generator, found = np.random.default_rng(0), np.empty((2, RUNS))
    for run in range(RUNS):
        data = np.sort(generator.normal(size=SIZE))
        chosen = float(ours(data)), theirs(data.tolist())
        found[:, run] = np.abs(np.searchsorted(data, chosen) - quantile * SIZE)
    return found


def _opendp_quantile(quantile: float, epsilon: float) -> Callable[[list[float]], float]:
    """OpenDP's release at this loss for a row added or removed."""
    space = odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.symmetric_distance()

    def made(scale: float) -> odp.Measurement:
        return odp.m.make_private_quantile(
            *space, odp.max_divergence(), POINTS.tolist(), quantile, scale=scale
        )

    return odp.binary_search_chain(made, d_in=1, d_out=epsilon)
