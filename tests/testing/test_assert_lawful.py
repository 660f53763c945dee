"""Measures that break a law: ``assert_lawful`` must catch each."""

from collections.abc import Callable
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.measures.curve import curved_number
from opendp_lite.measures.divergences import AdditiveMeasure, proportions
from opendp_lite.measures.profile import ConcentratedProfile, PointProfile, PureProfile
from opendp_lite.testing.lawful import Gaussians, randomised_response

PURE, ZCDP = dp.MaxDivergence, dp.ZeroConcentratedDivergence
APPROXIMATE = dp.ApproximateDivergence
ZERO = Fraction(0)
NUMBERS = [0, 0.5, 2]
PAIRS = [(0, 0), (1, 0)]


def rising(measure: object, loss: Fraction) -> PureProfile:
    """A curve that rises."""

    class Rising(PureProfile):
        """Rises."""

        def delta(self, epsilon: Fraction) -> Fraction:
            return min(Fraction(1), epsilon / 100)

    return Rising(loss)


def cut(loss: Fraction) -> float:
    """Three digits, rounded down."""
    return int(loss * 1000) / 1000


LIES: dict[str, tuple[type, dict[str, Callable[..., object]]]] = {
    "the largest loss for the sum": (PURE, {"compose": lambda m, xs: max(xs, default=ZERO)}),
    "99 % of the sum": (PURE, {"compose": lambda m, xs: sum(xs, ZERO) * Fraction(99, 100)}),
    **{
        f"the sum of {count} at most": (
            PURE,
            {"compose": lambda m, xs, count=count: sum(list(xs)[:count], ZERO)},
        )
        for count in (4, 12)
    },
    "half of the sum of five and more": (
        PURE,
        {"compose": lambda m, xs: sum(xs, ZERO) / (1 + (len(list(xs)) > 4))},
    ),
    "a sum of 20 at most": (PURE, {"compose": lambda m, xs: min(sum(xs, ZERO), Fraction(20))}),
    "a sum without what is small": (
        PURE,
        {"compose": lambda m, xs: sum((x for x in xs if x > Fraction(1, 1000)), ZERO)},
    ),
    "a billionth is forgiven": (PURE, {"within": lambda m, x, b: x <= b + Fraction(1, 10**9)}),
    "a group of 4 is as 3": (PURE, {"group": lambda m, x, k: x * (3 if k == 4 else k)}),
    "a group of 100 and more is as 100": (PURE, {"group": lambda m, x, k: x * min(k, 100)}),
    "groups are as one": (PURE, {"group": lambda m, x, k: x}),
    "a group of 3 and more is as 3": (PURE, {"group": lambda m, x, k: x * min(k, 3)}),
    "shares are the whole": (PURE, {"split": lambda m, x, s: tuple(x for _ in s)}),
    "a profile that rises": (PURE, {"profile": rising}),
    "a profile of half": (PURE, {"profile": lambda m, x: PureProfile(x / 2)}),
    "a profile of 99 %": (PURE, {"profile": lambda m, x: PureProfile(x * Fraction(99, 100))}),
    "typed again as more": (PURE, {"typed": lambda m, x: x + Fraction(1, 10**9)}),
    "half of what is typed": (PURE, {"loss": lambda m, x: PURE().loss(x) / 2}),
    "shown rounded down": (PURE, {"show": lambda m, x: cut(x)}),
    "shown as the nearest float": (PURE, {"show": lambda m, x: float(x)}),
    "within is less": (PURE, {"within": lambda m, x, b: x < b}),
    "left is the whole": (PURE, {"left": lambda m, b, s: b}),
    "within by floats": (PURE, {"within": lambda m, x, b: float(x) <= float(b)}),
    "1 % is forgiven": (PURE, {"within": lambda m, x, b: x <= b * Fraction(101, 100)}),
    "zCDP in k, not its square": (ZCDP, {"group": lambda m, x, k: x * k}),
    "zCDP in 99 % of the square": (
        ZCDP,
        {"group": lambda m, x, k: x * (k * k * Fraction(99, 100) if k > 2 else k * k)},
    ),
    "a zCDP profile of 1/100": (ZCDP, {"profile": lambda m, x: ConcentratedProfile(x / 100)}),
    "a zCDP profile of 1/2": (ZCDP, {"profile": lambda m, x: ConcentratedProfile(x / 2)}),
    "rho is not epsilon": (ZCDP, {"profile": lambda m, x: PureProfile(x)}),
    "half of the rho typed": (ZCDP, {"loss": lambda m, x: ZCDP().loss(x) / 2}),
    "zCDP left is the whole": (ZCDP, {"left": lambda m, b, s: b}),
    "zCDP shown rounded down": (ZCDP, {"show": lambda m, x: cut(x)}),
    "zCDP forgives 1 %": (ZCDP, {"within": lambda m, x, b: x <= b * Fraction(101, 100)}),
    "k delta": (APPROXIMATE, {"group": lambda m, x, k: (x[0] * k, min(Fraction(1), x[1] * k))}),
    "the largest delta": (
        APPROXIMATE,
        {
            "compose": lambda m, xs: (
                sum((e for e, _ in xs), ZERO),
                max((d for _, d in xs), default=ZERO),
            )
        },
    ),
    "the largest epsilon": (
        APPROXIMATE,
        {
            "compose": lambda m, xs: (
                max((e for e, _ in xs), default=ZERO),
                min(Fraction(1), sum((d for _, d in xs), ZERO)),
            )
        },
    ),
    "no delta": (APPROXIMATE, {"profile": lambda m, x: PointProfile(x[0], ZERO)}),
    "a curve of half epsilon": (
        APPROXIMATE,
        {"profile": lambda m, x: PointProfile(x[0] / 2, x[1])},
    ),
    "half of the delta typed": (
        APPROXIMATE,
        {"loss": lambda m, x: (APPROXIMATE().loss(x)[0], APPROXIMATE().loss(x)[1] / 2)},
    ),
    "delta shown rounded down": (
        APPROXIMATE,
        {"show": lambda m, x: (APPROXIMATE().show(x)[0], cut(x[1]))},
    ),
    "the worst is the first": (PURE, {"worst": lambda m, xs: xs[0]}),
    "the worst of the first two": (PURE, {"worst": lambda m, xs: max(xs[:2])}),
    "the worst of the smallest delta": (
        APPROXIMATE,
        {"worst": lambda m, xs: (max(e for e, _ in xs), min(d for _, d in xs))},
    ),
    "the worst is the pair of the largest epsilon": (APPROXIMATE, {"worst": lambda m, xs: max(xs)}),
    "the worst of the smallest curve": (
        ZCDP,
        {"worst": lambda m, xs: curved_number(max(xs), ConcentratedProfile(min(xs)))},
    ),
    "half of a share is covered": (
        PURE,
        {"cover": lambda m, whole, loss, share: max(whole, loss / share / 2)},
    ),
    "a share is covered by less than the whole": (
        ZCDP,
        {"cover": lambda m, whole, loss, share: loss / share},
    ),
    "the delta of a share is the delta of the whole": (
        APPROXIMATE,
        {"cover": lambda m, w, x, share: (max(w[0], x[0] / share), max(w[1], x[1]))},
    ),
    "99 % of what is fixed beforehand": (
        PURE,
        {"together": lambda m, xs: sum(xs, ZERO) * Fraction(99, 100)},
    ),
    "half of what is fixed beforehand": (ZCDP, {"together": lambda m, xs: ZCDP().compose(xs) / 2}),
    "a group that is spread loses 90 %": (
        ZCDP,
        {"spread": lambda m, one, whole, k: one * k * k * Fraction(9, 10)},
    ),
    "a group that is spread is as one": (APPROXIMATE, {"spread": lambda m, one, whole, k: one}),
    "all is admitted": (ZCDP, {"admit": lambda m, profile: Fraction(1, 100)}),
    "a pure loss is admitted as its range": (
        ZCDP,
        {"admit": lambda m, profile: profile.pure and profile.pure**2 / 16},
    ),
    "half of what was lost": (PURE, {"reach": lambda m, x, b: x / 2}),
    "half of what a release adds": (PURE, {"cost": lambda m, x, s, b: x / 2}),
    "half of a budget": (ZCDP, {"stated": lambda m, b: (m, b / 2)}),
    "a budget is enlarged by more": (PURE, {"enlarge": lambda m, b, stated: 2 * stated}),
    "delta left is the whole": (
        APPROXIMATE,
        {"left": lambda m, b, s: (max(b[0] - s[0], ZERO), b[1])},
    ),
}


WORDS = {
    "shown as the nearest float": "is shown as 0.5, which typed again is below it",
    "within is less": "within is not reflexive at 0",
}


@pytest.mark.parametrize("lie", LIES)
def test_assert_lawful_catches(lie):
    base, methods = LIES[lie]
    measure = type("Lying", (base,), methods)()
    with pytest.raises(AssertionError, match=WORDS.get(lie, ".")):
        dp.assert_lawful(measure, PAIRS if base is APPROXIMATE else NUMBERS)


def test_a_sum_that_rounds_says_what_it_comes_to():
    measure = type("Lying", (PURE,), {"compose": lambda m, xs: Fraction(sum(map(float, xs)))})()
    with pytest.raises(AssertionError, match=r"composing 3/100 alone changes it to \d+/\d+$"):
        dp.assert_lawful(measure, [0.03])


class Renyi(AdditiveMeasure):
    """Somebody's own measure: zCDP, and no relative of its class."""

    def loss(self, value: object) -> Fraction:
        return ZCDP().loss(value)

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * size * size

    def profile(self, loss: Fraction) -> ConcentratedProfile:
        return ConcentratedProfile(loss)

    def words(self, loss: Fraction) -> str:
        return f"{loss}"


OWN: dict[str, dict[str, Callable[..., object]]] = {
    "loses less for two": {"group": lambda m, x, k: x * (k if k < 2 else Fraction(k, 2))},
    "left is the whole": {"left": lambda m, b, s: b},
    "1 % is forgiven": {"within": lambda m, x, b: x <= b * Fraction(101, 100)},
    "shown rounded down": {"show": lambda m, x: cut(x)},
    "half of what is typed": {"loss": lambda m, x: ZCDP().loss(x) / 2},
    "a curve that falls with rho": {"profile": lambda m, x: ConcentratedProfile(1 / (1 + x))},
    "shares that sum to 2": {"split": lambda m, x, s: tuple(2 * x * p for p in proportions(s))},
}


def test_a_measure_of_ones_own_is_tested_by_what_follows_from_its_own_curve():
    dp.assert_lawful(Renyi(), NUMBERS)
    for methods in OWN.values():
        with pytest.raises(AssertionError):
            dp.assert_lawful(type("Lying", (Renyi,), methods)(), NUMBERS)


def test_what_cannot_be_seen_of_a_measure_of_ones_own():
    """As the docstring says: no pair is known of it, so a consistent lie passes."""
    dp.assert_lawful(type("Lying", (Renyi,), {"group": lambda m, x, k: x * k})(), NUMBERS)


def test_known_pairs_never_exceed_what_they_are_known_for():
    for epsilon, spill in ((0.3, 0), (2, 1e-9), (400, 0.5)):
        pair = randomised_response(Fraction(epsilon), Fraction(spill))
        assert sum(p for p, _ in pair.masses) == sum(q for _, q in pair.masses) == 1
        curve = PointProfile(Fraction(epsilon), Fraction(spill))
        for level in pair.levels():
            assert pair.delta(level) <= curve.delta(level)
    assert float(randomised_response(Fraction(1)).delta(ZERO)) == pytest.approx(0.46211715726)
    assert float(Gaussians(Fraction(1, 2)).delta(Fraction(1))) == pytest.approx(0.12693673750664)
    assert float((Gaussians(Fraction(1, 2)) * Gaussians(Fraction(3, 2))).delta(ZERO)) == (
        pytest.approx(0.6826894921)
    )


def test_a_loss_that_is_shown_in_text_is_not_rounded_down():
    class Three(dp.ZeroConcentratedDivergence):
        def show(self, loss):
            return f"{float(loss):.3g}"

    with pytest.raises(AssertionError, match=r"shown as 0\.123"):
        dp.assert_lawful(Three(), [0.123456])
