"""A map of a person's own is checked at its first use, on every road that a distance can take."""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.measures.curve import CurvedNumber, curved_number, curved_pair
from opendp_lite.measures.profile import GaussianProfile
from opendp_lite.spaces.space import PrivacyMap

ROWS = [1.0, 2.0]
TABLE = {"sex": ["f", "m"], "age": [40.0, 50.0]}
PEOPLE, VISITS = dp.table(person="id"), dp.bound_contributions(2) >> dp.select("visits")


class OwnFraction(Fraction):
    """It stays what it is however often it is paid, and is below every budget."""

    __mul__ = __rmul__ = __add__ = __radd__ = lambda self, other: self
    __le__ = __lt__ = lambda self, other: True


class OwnWhole(int):
    numerator = property(lambda self: self)
    __mul__ = __rmul__ = __add__ = __radd__ = lambda self, other: self


class OwnCurve(CurvedNumber):
    pass


class OwnNorms(dp.Norms):
    def over(self, dimension):
        return dp.Norms(l1=0)


NO_NUMBERS = {
    "below 0": Fraction(-1),
    "whole below 0": -1,
    "float": 0.5,
    "nan": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "none": None,
    "text": "1",
    "pair": (Fraction(1), Fraction(0)),
    "one in a tuple": (Fraction(1),),
    "list": [Fraction(1)],
    "decimal": Decimal(1),
    "numpy float": np.float64(1),
    "numpy whole": np.int64(1),
    "numpy array": np.array([1]),
    "own fraction": OwnFraction(5),
    "fraction of own whole": Fraction(OwnWhole(5)),
    "own whole": OwnWhole(5),
    "own curve": OwnCurve(5),
    "curve below 0": curved_number(Fraction(-1), GaussianProfile(Fraction(1))),
}
NO_PAIRS = {
    "number": Fraction(1),
    "three": (Fraction(1),) * 3,
    "list": [Fraction(1), Fraction(0)],
    "float": (0.5, Fraction(0)),
    "delta below 0": (Fraction(1), Fraction(-1)),
    "true": (Fraction(1), True),
    "own fraction": (OwnFraction(5), Fraction(0)),
    "curve of floats": curved_pair((0.5, Fraction(0)), GaussianProfile(Fraction(1))),  # type: ignore[arg-type]
}
NO_NORMS = {
    **{name: value for name, value in NO_NUMBERS.items() if "numpy array" not in name},
    "number": Fraction(1),
    "own norms": OwnNorms(l1=5),
    "norms below 0": dp.Norms.squared(Fraction(-1), Fraction(0), Fraction(0)),
    "norms of floats": dp.Norms.squared(None, None, 0.5),  # type: ignore[arg-type]
}

ROADS = {
    "map": lambda losing: losing.map(1),
    "loss": lambda losing: losing.loss(1),
    "check": lambda losing: losing.check(1, 2),
    "check of a pair": lambda losing: losing.check(1, (1, 0)),
    "privacy_profile": lambda losing: losing.privacy_profile(),
    "epsilon": lambda losing: losing.epsilon(1e-6),
    "delta": lambda losing: losing.delta(1),
    "tradeoff": lambda losing: losing.tradeoff(0.5),
    "odds": lambda losing: losing.odds(),
    "explain": lambda losing: losing.explain(),
    "draw": lambda losing: str(losing.draw()),
    "statement": lambda losing: losing.statement(),
    "audit": lambda losing: dp.audit(losing, ROWS, ROWS[1:], releases=100),
    "calibrate": lambda losing: dp.calibrate(lambda _: losing, losing.output_measure.zero()),
    "after a stage": lambda losing: (dp.clamp(0, 1) >> losing).map(1),
    "post-processing": lambda losing: (losing >> abs).map(1),
    "bound": lambda losing: losing.bind(dp.records()).map(1),
    "compose": lambda losing: dp.compose(losing, losing).map(1),
    "sample of compose": lambda losing: dp.sample(0.5, dp.compose(losing)).map(1),
    "compose by name": lambda losing: dp.compose(first=losing).map(1),
    "compose within": lambda losing: dp.compose(dp.compose(losing)).explain(),
    "sample": lambda losing: dp.sample(0.1, losing).map(1),
    "by": lambda losing: dp.by("sex", ["f", "m"], dp.select("age") >> losing).map(1),
    "by converted": lambda losing: (
        dp.records(columns=["sex"]) >> dp.by("sex", ["f", "m"], losing)
    ).statement(),
    "on_random_pairs": lambda losing: dp.combinators.on_random_pairs(losing).map(1),
    "person": lambda losing: (PEOPLE >> VISITS >> losing).map(1),
    "session in epsilon": lambda losing: dp.session(ROWS, dp.epsilon(2))(losing),
    "session in rho": lambda losing: dp.session(ROWS, dp.rho(2))(losing),
    "session in mu": lambda losing: dp.session(ROWS, dp.mu(9))(losing),
    "session with delta": lambda losing: dp.session(ROWS, dp.epsilon(2, delta=1e-6))(losing),
    "price": lambda losing: dp.session(ROWS, dp.rho(2)).price(losing),
    "adaptive": lambda losing: dp.adaptive(lambda ask: ask(losing), dp.rho(2))(ROWS),
}
PURE_ROADS = {
    "to_zcdp": lambda losing: (losing >> dp.to_zcdp()).map(1),
    "to_approximate": lambda losing: (losing >> dp.to_approximate(1e-6)).map(1),
    "both": lambda losing: (losing >> dp.to_zcdp() >> dp.to_approximate(1e-6)).statement(),
    "compose of converted": lambda losing: dp.compose(losing >> dp.to_zcdp()).map(1),
    "sample of converted": lambda losing: dp.sample(0.1, losing >> dp.to_approximate(0.1)).map(1),
    "best_of": lambda losing: dp.combinators.best_of(losing, score=float).map(1),
}


class Released(Exception):
    """The step was run."""


def _release(rows, entropy):
    raise Released


@dp.mechanism
def losing(space: dp.Space[dp.Rows], measure, law) -> dp.Measurement[dp.Space[dp.Rows], Any]:
    return dp.Measurement(space, measure, _release, law)


@pytest.mark.parametrize("road", [*ROADS, *PURE_ROADS])
def test_a_loss_that_is_no_exact_number_is_refused_on_every_road(road):
    """One below 0 would give budget back, a float is rounded, a class of one's own may lie."""
    words = r"losing\(.*the loss that its privacy map returns .* Give a Fraction or an int"
    for value in NO_NUMBERS.values():
        lying = losing(dp.MaxDivergence(), lambda distance, value=value: value)
        with pytest.raises(dp.ParameterError, match=words):
            {**ROADS, **PURE_ROADS}[road](lying)


@pytest.mark.parametrize("road", ROADS)
def test_a_loss_that_is_no_exact_pair_is_refused_on_every_road(road):
    for value in NO_PAIRS.values():
        lying = losing(dp.ApproximateDivergence(), lambda distance, value=value: value)
        with pytest.raises(dp.ParameterError, match=r"losing\(.*the loss that its .* a tuple of 2"):
            ROADS[road](lying)


def test_a_ledger_is_not_paid_with_what_is_no_number(tmp_path):
    ledger = dp.Ledger.create(tmp_path / "ledger", dp.rho(2), unit="row")
    ask = ledger.session(ROWS)
    for value in NO_NUMBERS.values():
        with pytest.raises(dp.ParameterError, match="the loss that its privacy map returns"):
            ask(losing(dp.MaxDivergence(), lambda distance, value=value: value))
    assert ledger.left == 2


STABLE_ROADS = {
    "map": lambda moving: moving.map(1),
    "check": lambda moving: moving.check(1, dp.Norms(l1=1)),
    "explain": lambda moving: moving.explain(),
    "draw": lambda moving: str(moving.draw()),
    "assert_stable": dp.assert_stable,
    "noise": lambda moving: (moving >> dp.laplace(scale=1)).map(1),
    "statement": lambda moving: (moving >> dp.gaussian(scale=1)).statement(),
    "session": lambda moving: dp.session(ROWS, dp.rho(1))(moving >> dp.laplace(scale=1)),
    "compose": lambda moving: dp.compose(moving >> dp.laplace(scale=1)).map(1),
    "by": lambda moving: dp.by("sex", ["f"], dp.select("age") >> moving >> dp.laplace(scale=1)).map(
        1
    ),
    "above_threshold": lambda moving: dp.above_threshold(
        lambda test: test(moving), threshold=1, epsilon=1
    )(ROWS),
}


@dp.stage
def moving(
    space: dp.Space[dp.Rows], law
) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Vectors]]:
    total = space >> dp.clamp(0, 1) >> dp.sum()
    return dp.Transformation(space, total.output_space, total.function, law)


@pytest.mark.parametrize("road", STABLE_ROADS)
def test_a_distance_that_is_no_exact_one_is_refused_on_every_road(road):
    words = r"moving\(.*the distance that its stability map"
    for name in NO_NORMS:
        with pytest.raises(dp.ParameterError, match=words):
            STABLE_ROADS[road](moving(lambda distance, name=name: NO_NORMS[name]))


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_number_of_rows_that_is_no_exact_one_is_refused(value):
    @dp.stage
    def kept(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return dp.Transformation(space, space, lambda rows: rows, lambda d: NO_NUMBERS[value])

    with pytest.raises(dp.ParameterError, match=r"kept\(\): the distance that its stability map"):
        (kept() >> dp.count() >> dp.laplace(epsilon=1)).map(1)


@pytest.mark.parametrize(
    "road", [road for road in ROADS if road not in ("check of a pair", "calibrate")]
)
def test_an_exact_loss_of_one_s_own_is_taken(road):
    """Else the tables above would hold for a library that refuses everything."""
    honest = losing(dp.MaxDivergence(), lambda distance: distance / 2)
    with suppress(Released):
        ROADS[road](honest)
    # A whole one is a Fraction from then on: half of it is one too, and no float.
    assert type(losing(dp.MaxDivergence(), int).loss(1)) is Fraction


def test_the_noise_of_a_threshold_is_for_what_the_map_says():
    """What an author writes as the unit of an output space proves nothing."""

    @dp.stage
    def hundredfold(
        space: dp.Space[dp.Rows],
    ) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Vectors]]:
        total = space >> dp.clamp(0, 100) >> dp.sum()
        told = attrs.evolve(total.output_space, unit=dp.Norms(l1=Fraction(1, 10**9)))
        return attrs.evolve(total, output_space=told)

    asked = dp.above_threshold(lambda test: test(hundredfold()), threshold=50, epsilon=0.01)
    assert {asked([0.0]) for _ in range(60)} == {True, False}


NOISY = dp.records() >> dp.count() >> dp.laplace(epsilon=1)
UNIT = "the unit of a space must be a distance"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        *[
            (lambda given=given: attrs.evolve(NOISY, **given), words)
            for given, words in (
                ({"output_measure": dp.MaxDivergence}, r"write dp.MaxDivergence\(\)"),
                ({"output_measure": "pure"}, "a measure such as .* got 'pure'"),
                ({"output_measure": dp.measures.GaussianDivergence()}, "losses under"),
                ({"input_space": "rows"}, "a pipeline lies between spaces .* 'rows'"),
                ({"input_space": dp.scalar()}, "distances under"),
                ({"privacy_map": 1}, "privacy_map is a function of a distance"),
                ({"function": None}, "function is a function of the data, got None"),
            )
        ],
        (lambda: dp.Transformation(dp.records(), "rows", id, id), "spaces such as"),
        (lambda: dp.Transformation(dp.records(), dp.records(), id, None), "stability_map is a fun"),
        *[
            (lambda unit=unit: dp.Space(dp.Rows(), dp.SymmetricDistance(), unit=unit), UNIT)
            for unit in (0.5, -1, True, None, dp.Norms(l1=1))
        ],
        (lambda: dp.Space("rows", dp.SymmetricDistance(), unit=1), "with a metric, got 'rows'"),
        (lambda: dp.Space(dp.Rows(), dp.SymmetricDistance, unit=1), "got an object of type ABCMe"),
    ],
)
def test_what_is_no_pipeline_and_no_space_is_refused_where_it_is_built(build, words):
    with pytest.raises((dp.ParameterError, dp.SpaceError), match=words):
        build()


def test_a_map_class_of_one_s_own_is_checked_as_any_function():
    class OwnMap(PrivacyMap):
        def __call__(self, distance):
            return Fraction(-1)

    honest = (dp.count() >> dp.laplace(epsilon=1)).bind(dp.records())
    own = OwnMap(honest.privacy_map.before, honest.output_measure, honest.privacy_map.law)
    with pytest.raises(dp.ParameterError, match="the loss that its privacy map returns"):
        attrs.evolve(honest, privacy_map=own).map(1)


def test_a_map_takes_no_other_distance():
    noisy = dp.records() >> dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
    for value in (-1, 0.5, True, None, dp.Norms(l1=1)):
        with pytest.raises(dp.ParameterError, match="the distance that a map is given"):
            noisy.privacy_map(value)


def test_a_step_on_another_space_does_not_join():
    """Its map speaks of other distances."""

    @dp.stage
    def elsewhere(
        space: dp.Space[dp.Rows],
    ) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Vectors]]:
        return dp.records(size=3, metric=dp.ChangeOneDistance()) >> dp.clamp(0, 1) >> dp.sum()

    with pytest.raises(dp.SpaceError, match="ChangeOneDistance"):
        dp.records() >> dp.clamp(0, 1) >> elsewhere()
    with pytest.raises(dp.SpaceError, match="ChangeOneDistance"):
        dp.records() >> elsewhere()


def test_a_map_of_other_distances_is_refused():
    sized = dp.records(size=3, metric=dp.ChangeOneDistance())
    total, rows = sized >> dp.clamp(0, 1) >> dp.sum(), dp.records()
    with pytest.raises(dp.SpaceError, match="a map of distances under"):
        dp.Transformation(rows, total.output_space, lambda value: value, total.stability_map)
