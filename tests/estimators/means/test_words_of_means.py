"""A mean that is typed wrongly says what to type, and ``explain`` says of it what is true."""

import re
from itertools import takewhile
from math import log

import numpy as np
import pytest

import opendp_lite as dp

AGES = [23.0, 31.0, 38.0, 45.0]
EXAMPLE = "dp.mean(0, 100, epsilon=1)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.mean((0, 100), epsilon=1), f"bounds as two numbers, .* write {EXAMPLE}(data)"),
        (lambda: dp.mean([0, 100], rho=0.03), f"bounds as two numbers, .* write {EXAMPLE}(data)"),
        (lambda: dp.mean(AGES), f"the data in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean(np.array(AGES), 0, 100), f"in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean(lower=AGES, upper=9, rho=1), f"in a second call: write {EXAMPLE}(data)"),
        (lambda: dp.mean("age", 0, 100), f"name: write dp.select('age') >> {EXAMPLE}"),
        (lambda: dp.mean(0, 100, 1), f"after the bounds by name: {EXAMPLE}"),
        (lambda: dp.mean(0, epsilon=1), f"two bounds, lower and upper: write {EXAMPLE}"),
        (lambda: dp.mean(100, 0, epsilon=1), "got 100, 0; swap them: 0, 100"),
        (lambda: dp.mean(0, 100, delta=1e-6), "delta goes with epsilon, .*; add epsilon=1"),
        (lambda: dp.mean(0, 100, rho=1, delta=1e-6), "leave delta out, or give epsilon"),
    ],
)
def test_the_message_says_what_to_type(make, words):
    pattern = re.escape(words).replace(re.escape(".*"), ".*")
    with pytest.raises(dp.ParameterError, match=f"(?i){pattern}"):
        make()


def test_groups_of_nobody_say_that_they_may_be():
    """Of some, noise made the rows seem enough, and an interval of a quarter of the bounds."""
    for loss in ({"epsilon": 1}, {"rho": 0.03}, {"epsilon": 1, "sampling": False}):
        query = dp.by("a", range(200), dp.select("x") >> dp.mean(0, 50, **loss))
        found = query.insecure_release({"a": [-1], "x": [1.0]}, seed=1).value
        assert all("too few rows" in str(each) for each in found.values())


REST = {
    "joint_mean": "epsilon=1",
    "recentred_mean": "rho=0.03",
    "known_size_mean": "epsilon=1",
    "simplex_mean": "epsilon=1",
    "plug_in_mean": "epsilon=1",
    "centered_mean": "epsilon=1",
    "resized_mean": "epsilon=1",
    "weighted_mean": "most=1, epsilon=1",
}


@pytest.mark.parametrize("name", REST)
def test_data_in_place_of_bounds_are_answered_with_a_line_to_type(name):
    room = "dp" if name == "weighted_mean" else "dp.estimators"
    words = re.escape(f"{room}.{name}(0, 100, {REST[name]})(data)")
    with pytest.raises(dp.ParameterError, match=words):
        getattr(eval(room), name)(AGES)


def test_no_value_of_the_data_is_in_a_message():
    for data in (AGES, np.array(AGES), tuple(AGES[:2]), {"age": AGES}):
        with pytest.raises(dp.ParameterError) as refusal:
            dp.mean(data)
        assert not any(f"{each:g}" in str(refusal.value) for each in AGES)


def test_the_budgets_that_messages_propose_protect_alike():
    """At a delta of 1e-6: rho = 0.03 is within 5 % of epsilon = 1, rho = 0.5 was five times it."""
    assert dp.mean(0, 100, rho=0.03).epsilon(1e-6) == pytest.approx(1, rel=0.05)


def test_typing_and_binding_a_mean_builds_few_steps(monkeypatch):
    """It was 86: every recipe inside a recipe was built again, twice. Half is for the interval."""
    built = []
    build = dp.mean(0, 100, rho=1).calls[0].__class__.build
    call = dp.mean(0, 100, rho=1).calls[0].__class__

    def counted(self, space):
        known = self.rehearsal is not None and self.rehearsal.input_space == space
        built.extend([] if known else [self.name])
        return build(self, space)

    monkeypatch.setattr(call, "build", counted)
    for budget in ({"rho": 0.5}, {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}):
        built.clear()
        dp.mean(0, 100, **budget).map(1)
        assert len(built) <= 20, built
        built.clear()
        dp.mean(0, 100, **budget, confidence=None).map(1)
        assert len(built) <= 10, built


SIZED = dp.records(size=300, metric=dp.ChangeOneDistance())
LOSSES = [
    {"rho": 0.5},
    {"rho": 1e-6},
    {"epsilon": 0.01},
    {"epsilon": 1e-4},
    {"epsilon": 0.3, "delta": 1e-6},
]


def line(pipeline, start):
    """The paragraph of the explanation that starts so."""
    lines = pipeline.explain().splitlines()
    (at,) = [i for i, each in enumerate(lines) if each.startswith(start)]
    more = takewhile(lambda each: each.startswith(" "), lines[at + 1 :])
    return " ".join([lines[at], *map(str.strip, more)])


@pytest.mark.parametrize("space", [dp.records(), SIZED], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_is_protected_is_so_by_definition(loss, space):
    """No event is more than ``factor`` times as likely, plus delta: not that odds stay within it.

    At rho = 0.5 the odds change by more than e^4.89 with a chance of 5.7e-6, not of 1e-6.
    """
    pipeline = space >> dp.mean(0, 40, **loss)
    said = line(pipeline, "protected: ")
    found = re.search(r"makes any conclusion at most e\^(\S+) = ([^\s,]+) times as likely", said)
    power, factor = map(float, found.groups())
    plus = re.search(r"likely, plus (\S+)", said)
    assert (plus is None) == (loss.keys() == {"epsilon"})
    assert pipeline.delta(power) <= (float(plus[1]) if plus else 0)
    assert power <= log(factor)
    change = "replacing it" if space is SIZED else "adding or removing it"
    assert f"protected: any one row {change} makes" in said
    if plus is None:
        assert power == loss["epsilon"]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_how_far_off_is_told_for_few_rows_and_for_many(loss):
    """Where the noise hides the mean, ten times as many rows do not divide the error by ten."""
    mean = dp.mean(0, 40, **loss)
    said = line(mean, "how far off: ")
    pairs = re.findall(r"(\S+) to (\S+) with (?:1000 rows|10000)", said)
    assert len(pairs) == 2
    for rows, pair in zip((1000, 10_000), pairs, strict=True):
        told = [float(each) for each in pair]
        assert told == sorted(told)
        known = sorted(dp.expected_error(mean, n=rows, guess=guess) for guess in (20, 35))
        assert np.allclose(told, known, rtol=0.15)


def test_it_says_what_no_interval_shows():
    for asked, words in [
        ({"confidence": None}, "add confidence=0.95 to get one"),
        ({"sampling": False}, "each release has one, for these rows"),
        ({}, "each release has one, for the population that the rows are a sample of"),
    ]:
        for space in (dp.records(), SIZED):
            mean = space >> dp.mean(0, 40, rho=0.5, **asked)
            clipped = "values beyond the bounds are clipped; no interval shows the effect of that"
            assert clipped in line(mean, "how far off: ")
            assert words in line(mean, "interval: ")


def test_nothing_is_simulated_before_it_is_shown(monkeypatch):
    """It took 20 times as long as the release."""

    def simulated(seed):
        raise AssertionError

    monkeypatch.setattr(np.random, "default_rng", simulated)
    pipeline = dp.records() >> dp.mean(0, 7, rho=0.5)
    pipeline([1.0, 2.0])
    with pytest.raises(AssertionError):
        pipeline.explain()


def test_a_person_with_several_rows_is_what_a_neighbour_changes():
    people = dp.table(person="id") >> dp.bound_contributions(5) >> dp.select("age")
    said = (people >> dp.mean(0, 100, epsilon=1)).explain()
    assert "protected: any 5 rows together, the most that a neighbour changes here" in said
    assert "loss for adding or removing one person: epsilon = 1" in said
