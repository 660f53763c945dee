"""The curve that a private quantile composes with: what its choices cost together, for any rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import opendp_lite as dp
from opendp_lite.engines.deferred import release_of
from opendp_lite.measurements._quantile_release import Alone
from opendp_lite.measurements._quantile_tree import Prices, PricesOfPure

COLUMNS = 3
REPLACE = dp.ChangeOneDistance()
WANTED = [[0.5], [0.2, 0.7], [0.25, 0.5, 0.75], [i / 64 for i in range(1, 64)]]


def costs(bound: Any, *, replaces: bool, pure: bool) -> tuple[Fraction | None, Fraction]:
    """The pure loss and the zCDP loss of a row, from the slopes that are drawn with."""
    release = release_of(bound.function)
    numbers = getattr(release, "numbers", release)
    ranges: list[Fraction] = []
    loss, rho = Fraction(0), Fraction(0)
    by_parts = type(numbers.choosers[0]) is not Alone
    for column in range(COLUMNS):
        chooser = numbers.choosers[column % len(numbers.choosers)]
        if by_parts:
            prices = (PricesOfPure if pure else Prices)(2, replaces)
            rho += chooser.root.cost(prices)
            loss += chooser.root.cost(Prices(1, replaces))
        else:
            ranges += [law.slope * 2 * moved((law.quantile,), replaces) for law in chooser.laws]
        if release is not numbers:
            law = release.laws[column % len(release.laws)]
            ranges.append(law.slope * 2 * moved(law.quantiles, replaces))
    whole = None if by_parts and not pure else loss + sum(ranges, Fraction(0))
    return whole, rho + sum((each * each for each in ranges), Fraction(0)) / 8


def moved(quantiles: tuple[Fraction, ...], replaces: bool) -> Fraction:
    """By how many ranks a row moves one of some quantiles between 0 and 1."""
    return Fraction(1) if replaces else max(max(q, 1 - q) for q in quantiles)


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("shares", [None, [1, 2, 5]], ids=str)
@pytest.mark.parametrize("wanted", WANTED, ids=len)
def test_a_curve_adds_up_all_choices_of_all_columns(wanted, shares, confidence, loss, replaces):
    """Less would be a lie after dp.compose and dp.to_approx; much more would be a waste."""
    size = {"size": 9, "metric": REPLACE} if replaces else {}
    bound = dp.records(columns=COLUMNS, **size) >> dp.private_quantile(
        wanted, bounds=(0, 1), shares=shares, confidence=confidence, **loss
    )
    pure, rho = costs(bound, replaces=replaces, pure="epsilon" in loss)
    for rows in (1, 2, 3):
        curve = bound.privacy_map(Fraction(rows)).curve
        assert rho * rows**2 <= curve.rho <= rho * rows**2 * (1 + Fraction(1, 2**40))
        assert (pure is None) == (curve.pure is None)
        if pure is not None:
            assert pure * rows <= curve.pure <= pure * rows * (1 + Fraction(1, 2**40))
