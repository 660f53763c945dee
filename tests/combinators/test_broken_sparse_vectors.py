"""The sparse vector techniques that were published with a wrong proof, planted and found.

Lyu, Su, Li 2017 list them. Each claims epsilon for values that a row moves by 1. Here 1 is
``STEPS`` steps of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

import attrs
import numpy as np
import pytest
from sparse_vector_laws import Noise, Technique

import opendp_lite as dp

STEPS = 4
EPSILON = 1
Scores = dp.Space[dp.Vectors]
ROUNDING = 1e-9


def laplace(scale: float) -> Noise:
    return Noise(scale * STEPS)


@attrs.frozen
class Lie:
    """A broken technique, neighbouring values and answers that give it away."""

    technique: Technique
    values: Sequence[int]
    others: Sequence[int]
    answers: Sequence[object]


LIES = {
    "Roth 2011 tells the value that it compared": Lie(
        Technique(laplace(2 / EPSILON), laplace(2 / EPSILON), most=1, tells=True),
        [0] * 12 + [0],
        [STEPS] * 12 + [0],
        [False] * 12 + [0],
    ),
    "Lee and Clifton 2014 do not scale the noise by the answers above": Lie(
        Technique(laplace(4 / EPSILON), laplace(4 / 3 / EPSILON), most=8),
        [0] * 4 + [0] * 8,
        [STEPS] * 4 + [-STEPS] * 8,
        [False] * 4 + [True] * 8,
    ),
    "Stoddard and others 2014 add no noise to the values": Lie(
        Technique(laplace(2 / EPSILON), Noise(0), most=inf),
        [0, STEPS],
        [STEPS, 0],
        [False, True],
    ),
    "Chen and others 2015 do not bound the answers above": Lie(
        Technique(laplace(2 / EPSILON), laplace(2 / EPSILON), most=inf),
        [-2 * STEPS] * 6 + [2 * STEPS] * 6,
        [-STEPS] * 6 + [STEPS] * 6,
        [False] * 6 + [True] * 6,
    ),
    "no noise on the threshold": Lie(
        Technique(Noise(0), laplace(2 / EPSILON), most=1),
        [0] * 5,
        [STEPS] * 5,
        [False] * 5,
    ),
    "half of the noise on the values": Lie(
        Technique(laplace(2 / EPSILON), laplace(2 / EPSILON), most=1),
        [0] * 12 + [-8 * STEPS],
        [STEPS] * 12 + [-9 * STEPS],
        [False] * 12 + [True],
    ),
    "a new threshold for each of three answers above, paid once": Lie(
        Technique(laplace(2 / EPSILON), laplace(4 / EPSILON), most=3, renewed=True),
        ([0] * 4 + [-4 * STEPS]) * 3,
        ([STEPS] * 4 + [-5 * STEPS]) * 3,
        ([False] * 4 + [True]) * 3,
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_enumeration_finds_the_lie(name):
    """Its exact probabilities differ by more than epsilon."""
    lie = LIES[name]
    one, two = (lie.technique.probability(each, lie.answers) for each in (lie.values, lie.others))
    assert max(one, two) > 1e-12
    assert min(one, two) == 0 or abs(log(one / two)) > EPSILON * 1.05


def test_enumeration_passes_the_corrected_technique():
    """Lyu, Su, Li 2017, algorithm 1, on the neighbours that give the others away."""
    honest = Technique(laplace(2 / EPSILON), laplace(4 / EPSILON))
    for lie in LIES.values():
        assert honest.loss(lie.values, lie.others) <= EPSILON + ROUNDING


@dp.mechanism
def planted(space: Scores, name: str) -> dp.Measurement[Scores, dp.MaxDivergence, str]:
    """Releases the answers, and claims epsilon."""
    technique = LIES[name].technique

    def function(value, entropy):
        generator = np.random.default_rng(entropy.word())
        return technique.run(np.rint(value.floats).astype(int).tolist(), generator)

    return dp.Measurement(
        space,
        dp.MaxDivergence(),
        function,
        lambda distance: Fraction(EPSILON, STEPS) * distance.linf,
    )


SEEN = {
    "Stoddard and others 2014 add no noise to the values": 4000,
    "Chen and others 2015 do not bound the answers above": 6000,
    "no noise on the threshold": 15000,
}
"""Those whose telling answers are frequent, and how many releases show it."""


@pytest.mark.parametrize("name", SEEN)
def test_the_audit_finds_the_lie(name, seeded):
    lie = LIES[name]
    answers = "".join("+" if each else "-" for each in lie.answers)
    pipeline = dp.vector(len(lie.values), dp.metrics.LInfDistance()) >> planted(name)
    assert pipeline.map(STEPS) == EPSILON
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(
            pipeline,
            lie.values,
            lie.others,
            STEPS,
            releases=SEEN[name],
            score=lambda release: float(release == answers),
        )
