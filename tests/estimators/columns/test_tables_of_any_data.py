"""Programs over several columns: what is refused, and radii at the ends."""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import opendp_lite as dp
from tests.estimators.cases import BINARY, PROGRAMS, REPLACE, SIZED, TINY

E = dp.estimators


@pytest.mark.parametrize("name", ["gaussian_mean", "laplace_mean"])
def test_a_mean_of_any_radius_stays_in_its_ball(name):
    for radius in (1e-100, 1e100):
        for rho in (1e-6, 1e6):
            release = (dp.records(columns=2) >> PROGRAMS[name](radius, rho=rho))(np.ones((5, 2)))
            assert np.linalg.norm(release) <= radius * (1 + 1e-12)


def test_no_search_ends_at_a_radius_of_nothing(monkeypatch):
    """Where one did, an exception came in place of a release."""

    def nothing(quantile, lower, upper, rho, steps):
        return dp.private_quantile(0.5, candidates=[0.0, 1e-300], rho=rho, confidence=None)

    monkeypatch.setattr(
        import_module("opendp_lite.estimators.papers.many_columns"), "quantile_by_search", nothing
    )
    space = dp.records(columns=1, size=10, metric=REPLACE)
    assert np.isfinite((space >> E.iome_mean(1, rho=1))(np.zeros(10))).all()


SPACE = dp.records(columns=2, size=9, metric=REPLACE)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("bad", [TINY, Fraction(10) ** 400], ids=["tiny", "huge"])
def test_budgets_and_bounds_that_no_float_holds_are_refused_in_words(name, bad):
    search = name == "quantile_by_search"
    if not search:
        with pytest.raises(dp.OpenDPLiteError, match=r"between|above 0"):
            SPACE >> PROGRAMS[name](1, rho=bad)
    if bad != TINY or not (search or name == "elliptical_mean"):
        with pytest.raises(dp.OpenDPLiteError, match=r"between|below"):
            SPACE >> PROGRAMS[name](bad, rho=1)


@pytest.mark.parametrize("name", SIZED | BINARY)
def test_a_private_number_of_rows_is_refused_where_it_must_be_public(name):
    with pytest.raises(dp.SpaceError, match="ChangeOneDistance"):
        dp.records(columns=2) >> PROGRAMS[name](1, rho=1)
