"""Correlations and principal components of a released covariance."""

import json

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.columns.components import Correlation, PrincipalComponents
from tests.estimators.cases import WILD

NAMES = ("a", "b", "c")
TRUE = np.array([[4.0, 3.0, 0.0], [3.0, 9.0, -1.0], [0.0, -1.0, 1.0]])


def noisy(generator: np.random.Generator, matrix: np.ndarray, off: np.ndarray) -> np.ndarray:
    raw = np.triu(generator.standard_normal(matrix.shape) * off)
    return matrix + raw + np.triu(raw, 1).T


@pytest.mark.parametrize("off", [0.01, 0.12, 0.4])
def test_intervals_of_correlations_hold_as_often_as_they_say(off):
    """Of 1500 samples of 400 normal rows: noise or sampling that counts half would show."""
    generator, runs, rows = np.random.default_rng(3), 1500, 400
    true, errors = 0.5, off * np.sqrt(np.outer(np.diagonal(TRUE), np.diagonal(TRUE)))
    held, root = 0, np.linalg.cholesky(TRUE)
    for _ in range(runs):
        sample = np.cov(root @ generator.standard_normal((3, rows)))
        found = Correlation.of(noisy(generator, sample, errors), errors, rows, 0.95, NAMES)
        low, high = found["a", "b"].interval
        held += low <= true <= high
    assert 0.93 < held / runs <= (0.97 if off < 0.2 else 1.0)


@pytest.mark.parametrize("off", [0.02, 0.1])
def test_noise_turns_directions_by_what_is_said(off):
    """Angles stay below it in 88 to 99.5 %; were it half or double, in 70 or in all."""
    generator, runs = np.random.default_rng(4), 1000
    errors, vectors = np.full((3, 3), off), np.linalg.eigh(TRUE)[1][:, ::-1]
    below = np.zeros(3)
    for _ in range(runs):
        found = PrincipalComponents.of(noisy(generator, TRUE, errors), errors, 0.95, NAMES)
        angles = np.degrees(
            np.arccos(np.abs((found.directions * vectors.T).sum(axis=1)).clip(0, 1))
        )
        below += angles <= found.turned
    assert ((below / runs > 0.85) & (below / runs < 0.995)).all()


def test_the_largest_part_of_each_direction_is_above_0():
    each = np.random.default_rng(0).normal(size=(6, 6))
    found = PrincipalComponents.of(each @ each.T, np.full((6, 6), 1e-6), 0.95, tuple("abcdef"))
    assert (found.directions.max(axis=1) > -found.directions.min(axis=1)).all()
    assert "0.0 degrees" in repr(found)


def test_what_noise_hides_is_not_told():
    matrix = np.diag([1.0, 1.0, 0.1])
    found = Correlation.of(matrix, np.full((3, 3), 0.1), 1000.0, 0.95, NAMES)
    assert found["a", "c"].interval == (-1, 1)
    assert str(found["a", "c"]).startswith("not known (for columns of about normal shape; too few")
    assert str(found).endswith("about normal shape. Of one that is not shown (-) nothing is known.")
    assert found["a", "b"].interval[1] < 1
    assert [row["value"] is None for row in found.records()] == [False, True, True]
    assert found.to_csv().splitlines()[2] == "a,c,,,,,1000.0"
    assert np.isnan(found.to_frame()["low"][1])
    assert PrincipalComponents.of(matrix, np.full((3, 3), 0.1), 0.95, NAMES).turned[0] > 60


def test_a_direction_that_is_not_known_is_not_shown():
    """Nor the others, where one variance that all are brought to 1 by is hidden."""
    matrix, off = np.diag([9.0, 4.0, 0.1]), np.full((3, 3), 0.1)
    found = PrincipalComponents.of(matrix, off, 0.95, NAMES)
    assert [each < 45 for each in found.turned] == [True, True, False]
    assert repr(found).splitlines()[3].split() == ["3", *["not", "known"] * 5]
    assert str(found.table()).endswith("A direction that is not shown (-) is not known.")
    assert found.records()[2] == {"direction": 3, "share": None}
    assert found.to_csv().splitlines()[3] == "3,,,,,"
    units = np.sqrt(np.diagonal(matrix))
    scaled = [each / np.outer(units, units) for each in (matrix, off)]
    assert (PrincipalComponents.of(*scaled, 0.95, NAMES, scaled=True).turned == 90).all()


def test_few_directions_are_shown_that_noise_turned_farther_than_is_said():
    """Without the rule for a variance that noise may hide, more than a tenth would be."""
    generator, runs, off = np.random.default_rng(8), 1000, np.full((3, 3), 3.5)
    wrong = np.zeros(3)
    for _ in range(runs):
        matrix = noisy(generator, np.diag([12.0, 4.0, 1.0]), off)
        found = PrincipalComponents.of(matrix, off, 0.95, NAMES)
        angles = np.degrees(np.arccos(np.abs(np.diagonal(found.directions)).clip(0, 1)))
        wrong += (found.turned < 45) & (angles > found.turned)
    assert wrong.mean() / runs < 0.05


def test_a_strong_correlation_is_not_said_to_be_clipped():
    matrix = np.array([[1.0, 0.97], [0.97, 1.0]])
    found = Correlation.of(matrix, np.full((2, 2), 1e-3), 1000.0, 0.95, ("a", "b"))
    assert str(found["a", "b"]).endswith("samples like this; for columns of about normal shape)")


def test_a_covariance_has_both():
    rows = np.random.default_rng(1).multivariate_normal([50, 40, 30], TRUE, 5000)
    bound = dp.records(columns=list(NAMES)) >> dp.covariance(0, 100, rho=1)
    found = bound(rows)
    links, parts = found.correlation(), found.principal_components()
    assert links["a", "b"].value == pytest.approx(0.5, abs=0.05)
    assert np.asarray(links).shape == (3, 3)
    assert parts.shares.sum() == pytest.approx(1)
    assert abs(parts.directions[0] @ np.linalg.eigh(TRUE)[1][:, -1]) > 0.99
    assert found.principal_components(scaled=True).variances.sum() == pytest.approx(3)
    for each in (links, parts):
        assert json.dumps(each.as_dict())
        assert len(each.records()) == 3
        assert "<table>" in each._repr_html_()
    with pytest.raises(dp.ParameterError, match="two of the columns a, b, c"):
        links["a", "d"]


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_any_data(rows):
    bound = dp.records(columns=2) >> dp.covariance(-3, 4, epsilon=1, confidence=0.95)
    for data in (np.resize(WILD, (rows, 2)), np.ones((rows, 2)), np.full((rows, 2), np.nan)):
        found = bound(data)
        links, parts = found.correlation(), found.principal_components(scaled=True)
        assert (np.abs(links.value) <= 1).all()
        assert (links.interval[0] <= links.value).all()
        assert (links.value <= links.interval[1]).all()
        assert np.isfinite(parts.directions).all()
        assert repr(links)
        assert repr(parts)
