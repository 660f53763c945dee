"""Means of one column against their claims: at the ends of the bounds, with power that is shown.

What is audited is the noisy total and the noisy number of rows that a release is read from: the
mean, its error and its interval are made of these alone, so they tell no more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.parts.request import Request

E = dp.estimators
pytestmark = pytest.mark.usefixtures("seeded")
REPLACE = dp.ChangeOneDistance()
LOSSES = {
    "rho": {"rho": 1},
    "epsilon": {"epsilon": 2},
    "spill": {"epsilon": 1, "delta": Fraction(1, 100)},
}
HALF_THE_NOISE = {"rho": {"rho": 4}, "epsilon": {"epsilon": 4}, "spill": {"rho": 2}}
MAKES = {
    "recentred_mean": E.recentred_mean,
    "joint_mean": E.joint_mean,
    "simplex_mean": E.simplex_mean,
    "centered_mean": partial(E.centered_mean, share=Fraction(3, 4)),
    "plug_in_mean": partial(E.plug_in_mean, share=Fraction(3, 4)),
    "known_size_mean": E.known_size_mean,
    "resized_mean": partial(E.resized_mean, share=Fraction(9, 10), fill=-1),
}
CASES = {
    ("simplex_mean", "rho"): 1300,
    ("centered_mean", "rho"): 1300,
    ("known_size_mean", "rho"): 1100,
    ("joint_mean", "epsilon"): 1100,
    ("simplex_mean", "epsilon"): 1300,
    ("centered_mean", "epsilon"): 1900,
    ("known_size_mean", "epsilon"): 1100,
    ("recentred_mean", "spill"): 900,
    ("simplex_mean", "spill"): 700,
    ("known_size_mean", "spill"): 700,
    ("resized_mean", "spill"): 700,
}
"""How many releases find half the noise."""
OTHERS = [
    *((name, "rho") for name in ("recentred_mean", "resized_mean", "plug_in_mean")),
    *((name, "epsilon") for name in ("plug_in_mean", "resized_mean")),
    *((name, "spill") for name in ("centered_mean", "plug_in_mean")),
]
"""Of the same noises as one of the cases, with another loss; those of a plug-in mean are those of
a centered one, since 0 is the middle here."""
ADDED = {"top": ([], [1.0]), "bottom": ([-1.0] * 2, [-1.0] * 3)}
REPLACED = {"top": ([-1.0] * 2, [-1.0, 1.0]), "bottom": ([1.0, -1.0], [-1.0, -1.0])}


@pytest.fixture(autouse=True)
def as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release is what it would be read from."""
    monkeypatch.setattr(
        Request, "as_estimate", lambda _, found: (float(found.total), float(found.rows))
    )


def bound(name: str, loss: dict[str, Any]) -> dp.Measurement:
    space = dp.records(size=2, metric=REPLACE) if name == "known_size_mean" else dp.records()
    make = MAKES[name]
    return space >> make(-1, 1, **loss)


Release = tuple[float, float]


def even(release: Release) -> tuple[float, ...]:
    """Along what moves most."""
    return release


def by_shares(release: Release) -> tuple[float, ...]:
    """By the precisions of the total and of the rows, which have 3/4 and 1/4 of rho."""
    return (3 * release[0] + release[1],)


def clipped(release: Release) -> tuple[float, ...]:
    """The likelihood ratio of a Laplace variate is constant beyond 0 and 1."""
    return tuple(np.clip(release, 0, 1))


def by_core(release: Release) -> tuple[float, ...]:
    """The likelihood ratio of a joint noise of an epsilon of 4."""

    def size(total: float, rows: float) -> float:
        return max(abs(total), abs(rows) - 1 / 4)

    total, rows = release
    return (size(total, rows) - size(total - 1, rows - 1),)


def together(release: Release) -> tuple[float, ...]:
    """Rows are filled with -1, and one of them makes room for the row: the sum moves by 2."""
    return (sum(release),)


SCORES = {
    ("centered_mean", "rho"): by_shares,
    ("centered_mean", "epsilon"): clipped,
    ("joint_mean", "epsilon"): by_core,
    ("resized_mean", "spill"): together,
}
"""What tells most about one more row at the top, which moves the total and the rows by 1."""


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_nothing_is_found(name, kind):
    """Each fails with probability 2e-7, were the seed not fixed."""
    pairs = REPLACED if name == "known_size_mean" else ADDED
    honest = bound(name, LOSSES[kind])
    score = SCORES.get((name, kind), even)
    dp.audit(honest, *pairs["top"], releases=CASES[name, kind], score=score)
    dp.audit(honest, *pairs["bottom"], releases=100, score=score)


@pytest.mark.parametrize(("name", "kind"), OTHERS)
def test_nothing_is_found_with_another_loss(name, kind):
    for pair in ADDED.values():
        dp.audit(bound(name, LOSSES[kind]), *pair, releases=100)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_half_the_noise_would_be_found(name, kind, falsely):
    """Among as many releases."""
    data, other = (REPLACED if name == "known_size_mean" else ADDED)["top"]
    false = falsely(bound(name, LOSSES[kind]), bound(name, HALF_THE_NOISE[kind]))
    score = SCORES.get((name, kind), even)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(false, data, other, releases=CASES[name, kind], score=score)
