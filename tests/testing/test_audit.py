"""Lies that ``audit`` must catch, and honest releases of every type that it must let pass."""

import warnings
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from itertools import count, cycle
from math import log
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.ma import masked_array
from scipy.stats import binom

import opendp_lite as dp
from opendp_lite.engines.data.fold import Floats
from opendp_lite.pipeline.core import AnyMeasurement
from opendp_lite.pipeline.steps import Mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.testing.audits import _renyi, fisher, lowest_bit, read, readings, region

pytestmark = pytest.mark.usefixtures("seeded")
AnyMechanism = Mechanism[Any, Any]
TOTAL = dp.clamp(0, 1) >> dp.sum()
NONE, ONE = [0.5], [0.5, 1.0]


def uniform(entropy: Entropy) -> float:
    """Above 0 and below 1."""
    return ((entropy.word() >> 11) + 0.5) * 2.0**-53


def textbook_laplace(entropy: Entropy) -> float:
    """The inverse of the distribution function, in floats."""
    share = uniform(entropy)
    return log(2 * share) if share < 0.5 else -log(2 - 2 * share)


def lie_about(honest: AnyMechanism, function) -> AnyMeasurement:
    """The honest map, with a function of the honest release, the exact sum and entropy."""
    bound = honest.bind(dp.records())
    exact = TOTAL.bind(dp.records()).function

    def release(value: object, entropy: Entropy) -> object:
        return function(bound.function(value, entropy), exact(value).floats[0], entropy)

    return attrs.evolve(bound, function=release)


PURE = TOTAL >> dp.laplace(epsilon=1)
ZCDP = TOTAL >> dp.gaussian(rho=0.5)
SMOOTH = TOTAL >> dp.gaussian(epsilon=1, delta=1e-6)


class Frame:
    """As the tables of other libraries: a text that is long, and an array."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return "a table"

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.values)


LIES = {
    "the exact value in 5 % of releases": lambda noisy, exact, entropy: (
        exact if uniform(entropy) < 0.05 else noisy[0]
    ),
    "the exact value as another type in 5 % of releases": lambda noisy, exact, entropy: (
        float(exact) if uniform(entropy) < 0.05 else noisy[0]
    ),
    "nearly the exact value in 5 % of releases": lambda noisy, exact, entropy: (
        exact + 1e-9 * uniform(entropy) if uniform(entropy) < 0.05 else noisy[0]
    ),
    "a billion times the value in 3 % of releases": lambda noisy, exact, entropy: (
        1e9 * exact if uniform(entropy) < 0.03 else noisy[0]
    ),
    "a billion times the value and noise in 3 % of releases": lambda noisy, exact, entropy: (
        1e9 * (exact + uniform(entropy)) if uniform(entropy) < 0.03 else noisy[0]
    ),
    "noise made in floats": lambda noisy, exact, entropy: exact + textbook_laplace(entropy),
    "noise made in 32-bit floats": lambda noisy, exact, entropy: np.float32(
        np.float32(exact) + np.float32(textbook_laplace(entropy))
    ),
    "the value in the low bits": lambda noisy, exact, entropy: noisy[0] + exact * 2.0**-30,
    "the parity of the value": lambda noisy, exact, entropy: 2 * np.floor(noisy[0]) + (exact > 1),
    "NaN for one dataset": lambda noisy, exact, entropy: np.nan if exact > 1 else noisy[0],
    "an infinity for one dataset": lambda noisy, exact, entropy: np.array(
        [np.inf if exact > 1 else 0.0, noisy[0]]
    ),
    "None for one dataset": lambda noisy, exact, entropy: None if exact > 1 else noisy[0],
    "another type for one dataset": lambda noisy, exact, entropy: (
        int(noisy[0]) if exact > 1 else float(int(noisy[0]))
    ),
    "another shape for one dataset": lambda noisy, exact, entropy: np.repeat(noisy, int(exact + 1)),
    "another key for one dataset": lambda noisy, exact, entropy: {str(exact): noisy[0]},
    "a text": lambda noisy, exact, entropy: {"noisy": noisy[0], "exact": str(exact)},
    "the sign of a 0": lambda noisy, exact, entropy: -0.0 if exact > 1 else 0.0,
    "a warning": lambda noisy, exact, entropy: exact > 1 and warnings.warn("above 1", stacklevel=1),
    "an error": lambda noisy, exact, entropy: [noisy[0]][int(exact > 1)],
    "shares that add up to the value": lambda noisy, exact, entropy: (
        noisy[0],
        2 * noisy[0],
        exact - 3 * noisy[0],
    ),
    "the value less noise beside the noise": lambda noisy, exact, entropy: (
        noisy[0],
        exact - noisy[0],
    ),
    "a sentence": lambda noisy, exact, entropy: f"{noisy[0]:.3f}, or {exact + noisy[0] / 99:.3f}",
    "a key": lambda noisy, exact, entropy: {float(noisy[0]): "noisy", exact: "exact"},
    "a decimal": lambda noisy, exact, entropy: Decimal(exact + float(noisy[0]) / 99),
    "a table": lambda noisy, exact, entropy: Frame([noisy[0], exact]),
    "an imaginary part": lambda noisy, exact, entropy: complex(noisy[0], exact),
    "what is masked": lambda noisy, exact, entropy: masked_array(noisy, [exact > 1]),
    "two entries with one noise": lambda noisy, exact, entropy: (noisy[0], noisy[0] + exact),
    "one noise times 3 and times 2": lambda noisy, exact, entropy: (
        3 * noisy[0],
        2 * noisy[0] + exact,
    ),
    "None, and else the exact value": lambda noisy, exact, entropy: None if noisy[0] < 2 else exact,
    "an error, and else the exact value": lambda noisy, exact, entropy: [exact][int(noisy[0] < 2)],
    "the exact value beside a NaN": lambda noisy, exact, entropy: (
        (np.nan, exact) if noisy[0] > 2 else (noisy[0], 0)
    ),
    "less noise in a rarer form": lambda noisy, exact, entropy: (
        {"less": exact + noisy[0] / 8} if uniform(entropy) < 0.2 else {"noisy": noisy[0]}
    ),
    "a scale that depends on the value": lambda noisy, exact, entropy: (
        exact + textbook_laplace(entropy) * (1 + 2 * (exact > 1))
    ),
}


RARE = {
    "the exact value in 5 % of releases": (3000, r"equal to [01]\.5 came in \d+ of 2000"),
    "the exact value as another type in 5 % of releases": (3000, "came in"),
    "nearly the exact value in 5 % of releases": (3000, "came in"),
    "a billion times the value in 3 % of releases": (4000, "came in"),
    "a billion times the value and noise in 3 % of releases": (4000, "came in"),
    "noise made in floats": (2000, "the lowest bit of the release"),
    "noise made in 32-bit floats": (2000, "came in"),
    "a scale that depends on the value": (1000, "came in"),
    "None, and else the exact value": (600, "the release .*came in"),
    "an error, and else the exact value": (600, "the release .*came in"),
    "the exact value beside a NaN": (600, r"entry 1 of the form .*nan'"),
    "less noise in a rarer form": (800, r"the release .*of the form .*less"),
    "None for one dataset": (300, r"of the form .None"),
}
"""How many releases show a lie, and in what words; 500 show any other."""
CAUGHT = [
    *[(lie, PURE, *RARE.get(lie, (300, "came in"))) for lie in LIES],
    ("NaN for one dataset", ZCDP, 300, "came in"),
    *[(lie, SMOOTH, 300, "came in") for lie in ("None for one dataset", "the parity of the value")],
]


@pytest.mark.parametrize(("lie", "honest", "releases", "words"), CAUGHT, ids=str)
def test_audit_catches(lie, honest, releases, words):
    with pytest.raises(AssertionError, match=words):
        dp.audit(lie_about(honest, LIES[lie]), NONE, ONE, releases=releases)


FUNCTIONS: list[Callable[[np.ndarray], object]] = [
    lambda noisy: float(noisy[0]),
    lambda noisy: round(float(noisy[0])),
    lambda noisy: None if noisy[0] < 0 else noisy,
    lambda noisy: (noisy, np.inf, {"rows": noisy[0]}, [None, "text"]),
    lambda noisy: np.where(noisy > 1, np.nan, noisy),
    lambda noisy: 10**400 if noisy[0] > 1 else -1,
    lambda noisy: np.tile(noisy, 20),
    lambda noisy: np.float32(noisy[0]),
    lambda noisy: "above" if noisy[0] > 1 else "below",
    lambda noisy: {"above"} if noisy[0] > 1 else frozenset(),
    lambda noisy: Estimate(noisy[0], "for all"),
    lambda noisy: noisy.astype(object),
    lambda noisy: [0.0] * (3 + int(noisy[0] > 1)),
    lambda noisy: object(),
]
"""Of a release. Each is of a pure, a concentrated or an approximate one in turn."""


@pytest.mark.parametrize(
    ("make", "honest"), list(zip(FUNCTIONS, cycle([PURE, ZCDP, SMOOTH]), strict=False))
)
def test_audit_lets_any_function_of_an_honest_release_pass(make, honest):
    """Each fails by chance with a probability below 1e-7; the seed is fixed."""
    found = dp.audit(honest >> make, NONE, ONE, releases=400)
    assert found.lower_bound <= found.claim


@attrs.frozen
class Estimate:
    """A release with fields."""

    value: float
    words: str


def test_audit_raises_what_every_release_raises():
    """The data is of another kind: no release could tell anything."""
    with pytest.raises(dp.DataError, match="columns"):
        dp.audit(PURE, np.zeros((2, 2)), np.zeros((3, 2)), releases=100)


def test_audit_comes_near_the_claims():
    """Fixed seeds: without power an audit would say nothing."""
    assert dp.audit(PURE, NONE, ONE, releases=2000).lower_bound > 0.5
    assert dp.audit(ZCDP, NONE, ONE, releases=3500).lower_bound > 0.18
    found = dp.audit(PURE, [0.5] * 3, [0.5] * 3 + [1.0] * 3, d_in=3, releases=1000)
    assert 1.5 < found.lower_bound <= found.claim == 3


def test_audit_of_a_measure_of_ones_own_reads_its_curve():
    class Curve(dp.ZeroConcentratedDivergence.__mro__[1]):  # type: ignore[misc,name-defined]
        """Additive, with the curve of zCDP, and no relative of its class."""

        loss = staticmethod(dp.ZeroConcentratedDivergence().loss)
        group = staticmethod(dp.ZeroConcentratedDivergence().group)
        profile = staticmethod(dp.ZeroConcentratedDivergence().profile)
        words = staticmethod(dp.ZeroConcentratedDivergence().words)

    def remeasure(true):
        return attrs.evolve(true, output_measure=Curve(), privacy_map=lambda d: true.privacy_map(d))

    honest = remeasure(ZCDP.bind(dp.records()))
    found = dp.audit(honest, NONE, ONE, releases=2000)
    assert found.lower_bound <= found.claim
    lie = remeasure(lie_about(ZCDP, LIES["None for one dataset"]))
    with pytest.raises(AssertionError, match="None"):
        dp.audit(lie, NONE, ONE, releases=300)


def test_where_a_lowest_bit_lies():
    found = lowest_bit(np.array([1.0, 3.0, -6.0, 0.5, 0.1, 2.0**60, 5e-324, -0.0]))
    assert found.tolist() == [0, 0, 1, -1, -55, 60, -1074, np.inf]
    assert np.isnan(lowest_bit(np.array([np.nan]))).all()


def test_readings_are_of_each_common_form():
    releases = [1.0, None, {"n": 2.0}, (np.nan, 3.0), None, None, 4.0]
    # Those that are not learnt from choose nothing.
    first = [*map(read, [*releases, (5.0, 6.0, 7.0)])]
    assert len({form for form, _ in first}) == 5
    found = {each.entries[0]: each.data for each in readings(first, first, len(releases))}
    rows = [each[:, 0][~np.isnan(each[:, 0])].tolist() for each in found.values()]
    assert rows == [[1, 2, 4], [1, 4], [2], [3]]


@pytest.mark.parametrize(("x", "y"), [(0, 0), (3, 0), (60, 40), (199, 3), (200, 200), (0, 200)])
def test_the_confidence_region_covers(x, y):
    """No pair of probabilities outside of the cells has tails whose product is above t."""
    trials, product = 200, fisher(1e-3)
    assert product * (1 - log(product)) <= 1e-3
    least, most = region(x, y, trials, 1e-3)
    grid = np.linspace(0, 1, 401)
    p, q = np.meshgrid(grid, grid)
    inside = binom.sf(x - 1, trials, p) * binom.cdf(y, trials, q) > product
    covered = np.zeros_like(inside)
    for low, high in zip(least, most, strict=True):
        covered |= (p >= low) & (q <= high)
    assert not (inside & ~covered).any()


def test_the_bound_exceeds_the_truth_as_seldom_as_it_says():
    """Exactly, over all counts, for two coins with a loss of ln 3 and of ln 1."""
    trials, failure = 40, 0.05
    for p, q in ((0.3, 0.1), (0.9, 0.3), (0.5, 0.5), (0.02, 0.02 / 3)):
        exceeded = 0.0
        for x in range(trials + 1):
            for y in range(trials + 1):
                chance = binom.pmf(x, trials, p) * binom.pmf(y, trials, q)
                if chance < 1e-9:
                    continue
                least, most = region(x, y, trials, failure)
                with np.errstate(divide="ignore"):
                    bound = np.log(least / most).min()
                exceeded += chance * (bound > log(p / q) + 1e-12)
        assert exceeded <= failure


def test_releases_that_chose_the_events_are_not_counted():
    """The first third of the releases differ, and the others are honest."""
    calls = count()

    def function(noisy: np.ndarray, exact: float, entropy: Entropy) -> float:
        return noisy[0] + 100 * (next(calls) < 300)

    found = dp.audit(lie_about(PURE, function), NONE, NONE, releases=900)
    assert (found.releases, found.lower_bound) == (600, 0)


def test_the_failure_is_shared_by_all_events(monkeypatch):
    given: list[float] = []

    def note_failure(x: int, y: int, trials: int, failure: float) -> tuple[Floats, Floats]:
        given.append(failure)
        return region(x, y, trials, failure)

    monkeypatch.setattr(import_module("opendp_lite.testing.audits"), "region", note_failure)
    dp.audit(PURE, NONE, ONE, releases=300, failure=1e-3)
    assert len(given) > 1
    assert sum(given) <= 1e-3 * (1 + 1e-9)


def test_the_divergence_of_two_coins():
    p, q = np.array([0.3, 0.9]), np.array([0.1, 0.4])
    for order in (2.0, 11.0):
        exact = np.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order))
        assert (_renyi(p, q) >= exact / (order - 1) / order * (1 - 1e-3)).all()
    assert _renyi(q, p).tolist() == [0, 0]


def with_noise_of(honest: AnyMechanism, other: AnyMechanism) -> AnyMeasurement:
    """The map of one mechanism with the releases of another."""
    return attrs.evolve(honest.bind(dp.records()), function=other.bind(dp.records()).function)


LESS_NOISE = {
    "half of the scale": (PURE, TOTAL >> dp.laplace(scale=0.5), 1000),
    "half of the Gaussian scale": (ZCDP, TOTAL >> dp.gaussian(rho=2), 2000),
    "too little for delta": (
        TOTAL >> dp.gaussian(epsilon=1, delta=1e-3),
        TOTAL >> dp.gaussian(scale=0.5),
        1000,
    ),
}


@pytest.mark.parametrize("name", LESS_NOISE)
def test_audit_catches_too_little_noise(name):
    honest, careless, releases = LESS_NOISE[name]
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(with_noise_of(honest, careless), NONE, ONE, releases=releases)


def test_audit_catches_noise_for_l2_in_place_of_l1():
    """Half of the noise of four entries: no entry, pair or sum of them tells it."""
    total = dp.records(columns=4) >> dp.clamp(0, 1) >> dp.sum()
    honest, careless = (total >> dp.laplace(scale=scale) for scale in (4, 2))
    lie = attrs.evolve(honest.bound, function=careless.bound.function)
    with pytest.raises(AssertionError, match="the entries between their middles"):
        dp.audit(lie, np.zeros((1, 4)), np.eye(2)[:, :1] * np.ones(4), releases=6000)


def test_audit_catches_a_release_that_depends_on_emptiness():
    lie = lie_about(PURE, lambda noisy, exact, entropy: noisy * (exact != 0))
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(lie, [], [1.0], releases=1000)


def test_audit_calls_an_answer_true_by_its_name():
    lie = lie_about(PURE, lambda noisy, exact, entropy: bool(exact > 1))
    with pytest.raises(AssertionError, match=r"the release True came in"):
        dp.audit(lie, NONE, ONE, releases=1000)
