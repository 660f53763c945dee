"""Events for dp_accounting: of the right kind, and never below the loss."""

import sys
from typing import Any

import attrs
import pytest

import opendp_lite as dp

LAPLACE = dp.laplace(epsilon=0.5)
COUNT = dp.count() >> dp.laplace(epsilon=0.5)
GAUSSIAN = dp.gaussian(rho=0.125)


@attrs.frozen
class Event:
    """An event by its name, and what it was given."""

    name: str
    values: tuple[Any, ...]


NEWER = "ExponentialMechanismDpEvent"


@attrs.frozen
class Library:
    """The events of dp_accounting, by name; some are in its newest sources alone."""

    lacks: tuple[str, ...] = (NEWER,)

    def __getattr__(self, name: str):
        if name in self.lacks:
            raise AttributeError(name)
        return lambda *values: Event(name, values)


@pytest.fixture
def _library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", Library())


def close(event: Event, name: str, *values: float) -> None:
    assert event.name == name
    assert event.values == pytest.approx(values, rel=1e-9)


@pytest.mark.usefixtures("_library")
def test_each_law_has_its_event_and_no_event_loses_less():
    close(LAPLACE.to_dp_event(), "LaplaceDpEvent", 2)
    assert LAPLACE.to_dp_event().values[0] < 2
    close(LAPLACE.to_dp_event(2), "LaplaceDpEvent", 1)
    close(COUNT.to_dp_event(3), "DiscreteLaplaceDpEvent", 0.5, 3)
    assert COUNT.to_dp_event(3).values[0] > 0.5
    close(GAUSSIAN.to_dp_event(), "GaussianDpEvent", 2)
    assert GAUSSIAN.to_dp_event().values[0] < 2
    close(dp.gaussian(mu=0.5).to_dp_event(), "GaussianDpEvent", 2)
    close(dp.gaussian(epsilon=1, delta=1e-6).to_dp_event(), "GaussianDpEvent", 4.224678889399)
    close(LAPLACE.to_zcdp().to_approximate(1e-6).to_dp_event(), "LaplaceDpEvent", 2)
    close(LAPLACE.to_dp_event(0), "NoOpDpEvent")
    close(COUNT.to_dp_event(0), "NoOpDpEvent")
    close(GAUSSIAN.to_dp_event(0), "NoOpDpEvent")


@pytest.mark.usefixtures("_library")
def test_other_losses_become_the_worst_of_their_kind():
    median = dp.private_quantile(0.5, bounds=(0, 1), epsilon=0.25, confidence=None)
    close(median.to_dp_event(), "DiscreteLaplaceDpEvent", 0.25, 1)
    quartiles = dp.private_quantile([0.25, 0.5, 0.75], bounds=(0, 1), rho=0.25, confidence=None)
    close(quartiles.to_dp_event(), "ZCDpEvent", 0.25)
    assert quartiles.to_dp_event().values[0] >= quartiles.privacy_profile().rho


def test_a_choice_has_its_event_where_the_installed_version_knows_it(monkeypatch):
    """dp_accounting's epsilon of it is the range of the loss: rho is epsilon^2 / 8."""
    quantile = dp.private_quantile(0.5, bounds=(0, 1), epsilon=0.25, confidence=None)
    for median in (quantile, quantile.to_zcdp()):
        for lacks, name, values in (
            ((), NEWER, (0.25,)),
            ((NEWER,), "DiscreteLaplaceDpEvent", (0.25, 1)),
        ):
            monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", Library(lacks))
            close(median.to_dp_event(), name, *values)
            assert median.to_dp_event().values[0] >= 0.25


@pytest.mark.usefixtures("_library")
def test_compositions_are_composed_events():
    both = dp.compose(LAPLACE.to_zcdp(), GAUSSIAN, LAPLACE.to_zcdp(), GAUSSIAN)
    gaussian, laplace = both.to_dp_event().values[0]
    assert (gaussian.name, laplace.name) == ("SelfComposedDpEvent",) * 2
    close(gaussian.values[0], "GaussianDpEvent", 2 / 2**0.5)
    close(laplace.values[0], "LaplaceDpEvent", 2)
    assert (gaussian.values[1], laplace.values[1]) == (1, 2)


@pytest.mark.usefixtures("_library")
def test_a_loss_at_one_delta_is_refused():
    point = dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    with pytest.raises(dp.SpaceError, match="one delta alone"):
        (dp.records(columns=["city"]) >> dp.select("city") >> point).to_dp_event()


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(dp.ParameterError, match=r"opendp_lite\[accounting\]"):
        LAPLACE.to_dp_event()


def test_their_accountant_agrees_with_ours():
    """Run where dp-accounting is installed: it pins an old attrs, so the tests do without."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    total = dp.clamp(0, 1) >> dp.sum()
    parts = [(total >> LAPLACE).to_zcdp()] * 3 + [COUNT.to_zcdp()] * 2
    mixed = dp.compose(total >> GAUSSIAN, *parts)
    for pipeline in (LAPLACE, COUNT, GAUSSIAN, dp.compose(*parts), mixed):
        accountant = PLDAccountant(value_discretization_interval=1e-4)
        accountant.compose(pipeline.to_dp_event())
        theirs = accountant.get_epsilon(1e-3)
        assert pipeline.epsilon(1e-3) == pytest.approx(theirs, rel=2e-3)
