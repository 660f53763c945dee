"""Privacy maps against the laws that the noises declare, and against many releases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

SMALL = [0.5, 3.0, 11.0]
ORDERS = (1.0001, 1.5, 2.0, 8.0, 32.0)


def masses(law, value: Fraction, reach: float):
    points = np.arange(-int(reach), int(reach) + 1.0)
    return law.log_probability(points, value)


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    keep = np.isfinite(p) & np.isfinite(q)
    exponent = order * p[keep] + (1 - order) * q[keep]
    high = exponent.max()
    return float((high + np.log(np.exp(exponent - high).sum())) / (order - 1))


@pytest.mark.parametrize("kind", [RoundedLaplace, DiscreteLaplace])
@pytest.mark.parametrize("scale", SMALL)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_laplace_laws_meet_their_claim_exactly(kind, scale, shift):
    """The largest log-ratio between neighbours is the claimed l1 / b, and no less."""
    law = kind(Fraction(scale), 0)
    offset = Fraction(0) if kind is DiscreteLaplace else Fraction(1, 3)
    first = masses(law, offset, 60 * scale + 20)
    second = masses(law, offset + shift, 60 * scale + 20)
    worst = np.abs(first - second).max()
    claim = (dp.scalar() >> dp.laplace(scale=scale)).map(shift)
    assert worst <= claim * (1 + 1e-9)
    assert worst >= claim * 0.999


@pytest.mark.parametrize("shift", [Fraction(1, 7), Fraction(2, 3)])
def test_rounded_laplace_for_shifts_within_a_cell(shift):
    law = RoundedLaplace(Fraction(2), 0)
    first, second = masses(law, Fraction(1, 5), 100), masses(law, Fraction(1, 5) + shift, 100)
    worst = np.abs(first - second).max()
    assert worst <= float(shift) / 2 * (1 + 1e-9)


@pytest.mark.parametrize("scale", SMALL)
@pytest.mark.parametrize("shift", [Fraction(1, 3), Fraction(1), Fraction(4)])
def test_gaussian_law_meets_its_rho_at_every_order(scale, shift):
    law = RoundedGaussian(Fraction(scale), 0)
    for offset in (Fraction(0), Fraction(2, 5)):
        first, second = (masses(law, v, 36 * scale + 40) for v in (offset, offset + shift))
        claim = (dp.scalar() >> dp.gaussian(scale=scale)).map(shift)
        for order in ORDERS:
            if order * float(shift) / scale > 20:
                continue
            found = max(renyi(first, second, order), renyi(second, first, order))
            assert found <= order * claim * (1 + 1e-6) + 1e-9
            if scale > 10:
                assert found >= order * claim * 0.99


@pytest.mark.parametrize("scale", [3.0, 11.0])
def test_gaussian_law_meets_its_exact_curve(scale):
    law = RoundedGaussian(Fraction(scale), 0)
    first, second = (np.exp(masses(law, Fraction(v), 40 * scale)) for v in (0, 6))
    mechanism = dp.scalar() >> dp.gaussian(scale=scale)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        found = max(
            np.maximum(first - np.exp(epsilon) * second, 0).sum(),
            np.maximum(second - np.exp(epsilon) * first, 0).sum(),
        )
        claim = mechanism.delta(epsilon, d_in=6)
        assert found <= claim * (1 + 1e-9)
        if scale > 10:
            assert found >= claim * 0.97


BUDGETS = [
    (lambda: dp.laplace(epsilon=0.7), (0.7, 1.4)),
    (lambda: dp.gaussian(rho=0.1), (0.1, 0.4)),
    (lambda: dp.gaussian(rho=1 / 3), (1 / 3, 4 / 3)),
]


@pytest.mark.parametrize(("noise", "losses"), BUDGETS)
@pytest.mark.parametrize(
    "before",
    [
        dp.count(),
        dp.clamp(0, 0.1) >> dp.sum(),
        dp.clamp(-7, 3) >> dp.simplex_augment() >> dp.sum(),
        dp.clip_to_norm(0.3) >> dp.sum(),
    ],
    ids=repr,
)
def test_the_map_returns_what_was_asked_for(noise, losses, before):
    pipeline = before >> noise()
    assert (pipeline.map(1), pipeline.map(2)) == losses
    assert pipeline.map(0) == 0
    assert pipeline.check(1, losses[0])
    assert not pipeline.check(1, losses[0] * (1 - 1e-9))


def test_scales_and_losses_in_closed_form():
    assert (dp.clamp(0, 0.1) >> dp.sum() >> dp.laplace(scale=0.1)).map(1) == 1
    assert (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(scale=4)).map(1) == 0.5
    assert (dp.records(columns=4) >> dp.clip_to_norm(2) >> dp.sum() >> dp.laplace(scale=4)).map(
        1
    ) == 1
    three = dp.records(columns=3, size=20190, metric=dp.ChangeOneDistance())
    assert (three >> dp.clip_to_norm(10) >> dp.sum() >> dp.laplace(epsilon=1)).map(1) == 1
    replaced = three >> dp.clip_to_norm(10) >> dp.sum() >> dp.gaussian(scale=20)
    assert replaced.map(1) == 0.5
    assert dp.gaussian(rho=0.1).map(1) == 0.1
    assert dp.gaussian(scale=2).map(dp.Norms(l2=1)) == 0.125
    assert dp.laplace(scale=2).map(dp.Norms(l1=3)) == 1.5


def test_norms_that_follow_from_the_dimension():
    assert (dp.vector(4) >> dp.laplace(epsilon=1)).map(1) == 1
    assert (dp.vector(4) >> dp.laplace(scale=2)).map(1) == 1
    assert (dp.vector(4, metric=dp.metrics.LInfDistance()) >> dp.laplace(scale=4)).map(1) == 1
    assert (dp.vector(4, metric=dp.metrics.LInfDistance()) >> dp.gaussian(scale=2)).map(1) == 0.5
    assert (dp.vector(4, metric=dp.metrics.L1Distance()) >> dp.gaussian(scale=2)).map(1) == 0.125
    assert (dp.vector(4) >> dp.gaussian(scale=1)).map(dp.Norms(linf=1)) == 2


def test_approximate_gaussian_for_other_distances():
    pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)
    assert pipeline.map(1) == (1, 1e-6)
    epsilon, delta = pipeline.map(2)
    assert (2 < epsilon < 2.2, delta) == (True, 1e-6)
    assert pipeline.map(0) == (0, 0)
    assert pipeline.delta(epsilon=1) <= 1e-6 * (1 + 1e-9)


def test_laws_carry_the_scale_that_the_map_needs():
    (law,) = (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.5)).bind(dp.records()).facts.laws
    assert law.standard_deviation == pytest.approx(4, rel=1e-9)
    (law,) = (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=2)).bind(dp.records()).facts.laws
    assert law.standard_deviation == pytest.approx(2 * 2**0.5, rel=1e-9)
    (law,) = (dp.count() >> dp.laplace(epsilon=1)).bind(dp.records()).facts.laws
    assert isinstance(law, DiscreteLaplace)
    assert law.exponent == 0
    for scale in (1e-12, 1e-3, 1.0, 1e9, 1e15):
        (law,) = (
            (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(scale=scale)).bind(dp.records()).facts.laws
        )
        assert law.scale * Fraction(2) ** law.exponent > Fraction(scale)


DATA = [1.0, 2.0, 3.0]
AUDITED = [
    dp.count() >> dp.laplace(epsilon=1),
    dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=1),
    dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.5),
    dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-3),
    dp.clamp(0, 4) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5),
    dp.clamp(0, 4) >> dp.simplex_augment() >> dp.sum() >> dp.laplace(epsilon=1),
    dp.clip_to_norm(4) >> dp.sum() >> dp.laplace(epsilon=1) >> dp.to_zcdp(),
]


@pytest.mark.parametrize("pipeline", AUDITED, ids=repr)
@pytest.mark.parametrize("added", [4.0, 0.0, np.nan, np.inf, 1e308], ids=str)
def test_audit_finds_nothing(pipeline, added, seeded):
    """Each would fail with probability 1e-7, were the seed not fixed."""
    dp.audit(pipeline, DATA, [*DATA, added], releases=800)


def test_audit_finds_nothing_on_empty_data_and_one_row(seeded):
    for pipeline in AUDITED:
        dp.audit(pipeline, [], [4.0], releases=600)


def test_audit_comes_near_the_claim(seeded):
    found = dp.audit(AUDITED[0], [], [1.0], releases=12_000)
    assert found.lower_bound > 0.8


def test_releases_have_one_shape_and_type():
    pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.5)
    for data in ([], [1.0], [np.nan], [np.inf, -np.inf], [1e308] * 9, [5e-324]):
        release = pipeline(data)
        assert (release.shape, release.dtype) == ((1,), np.float64)
        assert np.isfinite(release).all()
    counted = dp.count() >> dp.laplace(epsilon=1)
    assert type(counted([])) is int
    assert type((dp.count() >> dp.gaussian(rho=1))([])) is float


def test_noise_on_bare_vectors_and_numbers():
    mechanism = dp.vector(5) >> dp.gaussian(scale=1e-9)
    wild = np.array([1.0, np.nan, np.inf, -np.inf, 1e300])
    release = mechanism(wild)
    assert np.isfinite(release).all()
    assert release[0] == pytest.approx(1, abs=1e-6)
    assert abs(release[1]) < 1e-6
    assert (dp.vector(2, metric=dp.metrics.L1Distance()) >> dp.laplace(epsilon=2)).map(1) == 2
    assert dp.laplace(scale=1e-12)(3.0) == pytest.approx(3)
    unit = dp.vector(3, metric=dp.metrics.NormDistance(), unit=dp.Norms(l1=2, l2=1))
    assert (unit >> dp.gaussian(rho=0.5)).map(dp.Norms(l2=1)) == 0.5


LARGE = [2**53, 2**53 + 1, 2**60, 2**61 + 256, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 10**30]


def test_every_type_of_an_entry_is_brought_to_one_range():
    """Else a neighbour that changes the type of the others moves them far apart."""
    one, two = dp.vector(1).domain, dp.vector(2).domain
    for value in LARGE:
        for sign in (1, -1):
            number, limit = sign * value, sign * 2.0**53
            assert one.to_internal([number]) == limit
            assert one.to_internal([float(number)]) == limit
            assert one.to_internal(np.array([number], dtype=object)) == limit
            assert dp.scalar().domain.to_internal(number) == limit
            assert dp.scalar().domain.to_internal(float(number)) == limit
            for other in (1, 1.5, None):
                assert two.to_internal([number, other])[0] == limit
            for kind in (np.int64, np.uint64):
                if np.iinfo(kind).min <= number <= np.iinfo(kind).max:
                    assert one.to_internal(np.array([number], dtype=kind)) == limit
    assert one.to_internal([2**53 - 1]) == 2**53 - 1
    assert one.to_internal(np.array([-7], dtype=np.int8)) == -7
    with pytest.raises(dp.DataError, match="rounded to float64"):
        one.to_internal(np.zeros(1, dtype=np.longdouble))


def test_hand_built_grids_take_whole_numbers_only():
    space = dp.Space(dp.Scalars(0), dp.metrics.AbsoluteDistance(), unit=dp.Norms(l1=1))
    exact = space >> dp.laplace(scale=1e-3)
    assert exact(7) == 7
    assert exact(np.uint64(2**63)) == 2**61
    with pytest.raises(dp.DataError, match="whole numbers"):
        exact(0.999999)
    fine = dp.Space(dp.Vectors(1, -3), dp.metrics.L1Distance(), unit=dp.Norms(l1=1))
    with pytest.raises(dp.DataError, match="comes from sum"):
        (fine >> dp.laplace(scale=1))(np.array([1]))


def test_insecure_releases_repeat_and_are_marked():
    pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.5)
    first, second = (pipeline.insecure_release(DATA, seed=3) for _ in range(2))
    assert first.value == second.value
    assert "NOT PRIVATE" in repr(first)
    assert not isinstance(first, np.ndarray)
    assert pipeline(DATA) != pipeline(DATA)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *(
            (lambda name=name, bad=bad: noise(name, bad), "0|finite|number")
            for name in ("rho", "scale", "epsilon")
            for bad in (0, -1, np.nan, np.inf, "1")
        ),
        (lambda: dp.gaussian(epsilon=1, delta=0), "between 0 and 1"),
        (lambda: dp.gaussian(epsilon=1, delta=1), "between 0 and 1"),
        (lambda: dp.gaussian(epsilon=1), "delta is missing"),
        (lambda: dp.gaussian(delta=0.1), "epsilon is missing"),
        (lambda: dp.gaussian(rho=1, scale=1), "one of"),
        (lambda: dp.gaussian(rho=1, epsilon=1, delta=0.1), "one of"),
        (lambda: dp.laplace(scale=1, epsilon=1), "one of"),
        (lambda: dp.clamp(0, 100) >> dp.gaussian(rho=1), r"Put sum\(\) or count\(\) between"),
        (lambda: dp.gaussian(rho=1).map(-1), "at least 0"),
        (lambda: dp.gaussian(rho=1).map(np.nan), "finite"),
        (lambda: (dp.vector(3) >> dp.gaussian(rho=1))(np.zeros(4)), "3 entries"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()


def noise(name: str, bad: object):
    if name == "epsilon":
        return dp.laplace(epsilon=bad)
    return dp.gaussian(**{name: bad})
