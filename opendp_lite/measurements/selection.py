"""Choices among scores: what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, cast, overload

import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.engines.data.fold import Floats
from opendp_lite.measurements.noise import exactly_one, require_sensitivity
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.measures.curve import curved_number
from opendp_lite.measures.divergences import AnyMeasure, MaxDivergence, ZeroConcentratedDivergence
from opendp_lite.measures.profile import BoundedRangeProfile, Profile, PureProfile
from opendp_lite.metrics.distances import LInfDistance
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.numbers.grid import Grid, Steps
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Facts, Measurement
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.samplers.choice import FAR_EXPONENT, choose, permute_and_flip
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.spaces.domains import Vectors
from opendp_lite.spaces.space import Example, Space, example, vector
from opendp_lite.spelling.description import Proof

Scores = Space[Vectors]
Exponents = Callable[[int], Fraction]
Sampler = Callable[[Floats, Exponents, Entropy], int]
_MOST: Final = 2.0**53
_LOSS: Final = "epsilon = rate spread, or rho = (rate spread)^2 / 8"


def spread(norms: Norms, dimension: int) -> Fraction:
    """The most that the difference of two entries can change.

    A choice depends on differences alone. With d the change of the vector, max(d) - min(d) is at
    most 2 linf, at most l1, and at most sqrt(2) l2.
    """
    known = norms.over(dimension)
    one, two, most = known.l1, known.l2_squared, known.linf
    return min(
        cast(Fraction, one), exact.sqrt_up(2 * cast(Fraction, two)), 2 * cast(Fraction, most)
    )


def draw_weighted(exponents: Floats, exactly: Exponents, entropy: Entropy) -> int:
    """An index with probability proportional to exp(-exactly(index))."""
    return choose(np.ones(len(exponents), dtype=np.int64), exponents, exactly, entropy)


def _select(
    space: Scores,
    step: str,
    epsilon: Number | None,
    rho: Number | None,
    names: Sequence[str] | None,
    lowest: bool,
    sampler: Sampler,
    curve: Callable[[Fraction], Profile],
) -> Measurement[Scores, AnyMeasure, int | str]:
    """A choice with weights or noise of the rate epsilon / spread, or sqrt(8 rho) / spread.

    ``sampler`` chooses for epsilon, and ``curve`` is that of its loss. For rho it is the
    exponential mechanism.
    """
    dimension = space.domain.dimension
    pure = exactly_one(step, epsilon=epsilon, rho=rho) == "epsilon"
    loss = exact.positive(epsilon, "epsilon") if pure else exact.positive(rho, "rho")
    reach = spread(require_sensitivity(space.unit, step), dimension)
    root = loss if pure else 8 * loss / exact.sqrt_up(8 * loss)
    rate = exact.short_below(root / reach / SCALE_SLACK)
    labels, draw = _labels(names, dimension, step), sampler if pure else draw_weighted

    def release(value: Grid, entropy: Entropy) -> int | str:
        return labels[draw(*exponents(value, rate, lowest), entropy)]

    def privacy_map(distance: Norms) -> Fraction:
        share = spread(distance, dimension) / reach
        if pure:
            return curved_number(loss * share, curve(loss * share))
        moved = loss * share * share
        return curved_number(moved, BoundedRangeProfile(exact.sqrt_up(8 * moved)))

    formula = "epsilon = rate spread" if pure else "rho = (rate spread)^2 / 8"
    return Measurement(
        space,
        MaxDivergence() if pure else ZeroConcentratedDivergence(),
        release,
        privacy_map,
        Facts(explanation=f"{formula}, rate = {exact.nearest(rate):.6g}"),
    )


def _labels(names: Sequence[str] | None, count: int, step: str) -> Sequence[int] | Sequence[str]:
    if names is None:
        return range(count)
    several = isinstance(names, Sequence | np.ndarray) and not isinstance(names, str)
    if not several or not all(isinstance(each, str) for each in names):
        raise ParameterError(
            f"{step}: names is a list of texts, one for each score; got {exact.list_values(names)}"
        )
    if len(set(names)) < len(names):
        raise ParameterError(
            f"{step}: a name stands twice in {exact.list_values(list(names))}; use each once"
        )
    if len(names) != count:
        raise SpaceError(f"{step} was given {len(names)} names for {count} scores; give one each")
    return names


def exponents(value: Grid, rate: Fraction, lowest: bool) -> tuple[Floats, Exponents]:
    """How far scores lie behind the best, times the rate: as floats within 2^-40, and exactly.

    NaN counts as 0, and a float beyond +-2^53 as +-2^53. What is beyond ``FAR_EXPONENT`` is given
    as that.
    """
    steps, unit = _real(value.steps), rate * Fraction(2) ** value.exponent
    plain = steps.tolist()
    best = (min if lowest else max)(plain)

    def exactly(index: int) -> Fraction:
        return abs(Fraction(plain[index]) - Fraction(best)) * unit

    if steps.dtype == object:
        found = [float(min(exactly(i), Fraction(FAR_EXPONENT))) for i in range(len(plain))]
        return np.array(found), exactly
    return _times(_behind(steps, best), unit), exactly


def _real(steps: Steps) -> Steps:
    return np.nan_to_num(steps).clip(-_MOST, _MOST) if steps.dtype == np.float64 else steps


def _behind(steps: Steps, best: float) -> Floats:
    """The distances from the best, each rounded once. Those of int64 may need 64 bits."""
    if steps.dtype == np.float64:
        return np.abs(steps - best)
    apart = np.where(steps < best, best - steps, steps - best)
    return apart.view(np.uint64).astype(np.float64)


def _times(behind: Floats, unit: Fraction) -> Floats:
    """The products with a rational that floats need not hold, up to ``FAR_EXPONENT``."""
    exponent = exact.floor_log2(unit)
    products = np.ldexp(behind, exponent) * float(unit / Fraction(2) ** exponent)
    return np.minimum(products, FAR_EXPONENT)


def _examples() -> list[Example]:
    return [
        example(vector(4, LInfDistance()), epsilon=1),
        example(vector(3, LInfDistance(), unit=2.5), rho=0.1, lowest=True),
        example(vector(2, unit=Norms(l1=1, linf=1)), epsilon=0.5, names=["tea", "coffee"]),
    ]


@overload
def noisy_max(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    names: None = None,
    lowest: bool = False,
) -> Mechanism[Scores, Spent, int]: ...
@overload
def noisy_max(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    names: Sequence[str],
    lowest: bool = False,
) -> Mechanism[Scores, Spent, str]: ...
@mechanism(
    does="Chooses a high score: report noisy max.",
    changes="A score that is NaN counts as 0.",
    proof=Proof(
        "The spread is the most that the difference of two scores changes, the least of 2 "
        "linf, l1 and sqrt(2) l2. With epsilon it is permute-and-flip, with rho the "
        "exponential mechanism. A constant added to all scores changes nothing, so half a "
        "spread is the sensitivity.",
        adding=_LOSS,
        replacing=_LOSS,
        sources=[
            "McKenna and Sheldon 2020, theorem 1",
            "Ding, Kifer, Steinke, Wang, Xiao, Zhang 2021",
            "Cesar and Rogers 2021, lemma 3.4",
        ],
    ),
    examples=_examples,
)
def noisy_max(
    space: Scores,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    names: Sequence[str] | None = None,
    lowest: bool = False,
) -> Measurement[Scores, Any, Any]:
    """Chooses a high score: report noisy max.

    It goes after a vector with a bounded distance, such as ``sum()``. Give ``epsilon`` or ``rho``.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        epsilon: The pure loss, met exactly for one unit at the front of the pipeline.
        rho: The zCDP loss, in place of ``epsilon``.
        names: One for each score. The release is then a name and not an index.
        lowest: Whether low scores are wanted.

    Returns:
        The index of a score, or its name. Equal scores are equally likely. The choice is exact.
        NaN counts as 0.

    Raises:
        ParameterError: If none or both of ``epsilon`` and ``rho`` are given, or names repeat.
        SpaceError: If there are more or fewer names than scores.

    Example:
        >>> import opendp_lite as dp
        >>> votes = dp.records(columns=3) >> dp.clip_to_norm(1, p=1) >> dp.sum()
        >>> favourite = votes >> dp.noisy_max(epsilon=1, names=["tea", "coffee", "water"])
        >>> favourite.map(1)
        1.0
        >>> favourite([[0, 1, 0]] * 300 + [[1, 0, 0]] * 20)
        'coffee'
    """
    return _select(space, "noisy_max", epsilon, rho, names, lowest, permute_and_flip, PureProfile)


@mechanism(
    does="Chooses a high score, by weights that grow exponentially with the scores.",
    changes="A score that is NaN counts as 0.",
    proof=Proof(
        "Each score weighs exp(rate score). The logarithms of the weights change within a "
        "range of rate times spread, and rho is an eighth of its square.",
        adding=_LOSS,
        replacing=_LOSS,
        sources=["McSherry and Talwar 2007", "Cesar and Rogers 2021, lemma 3.4"],
    ),
    examples=_examples,
)
def exponential_mechanism(
    space: Scores,
    budget: PrivacyBudget[AnyMeasure] | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    names: Sequence[str] | None = None,
    lowest: bool = False,
) -> Measurement[Scores, Any, Any]:
    """Chooses a high score, by weights that grow exponentially with the scores.

    It goes after a vector with a bounded distance, such as ``sum()``. Give ``epsilon`` or ``rho``.
    For a pure loss ``noisy_max`` is better.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        epsilon: The pure loss, met exactly for one unit at the front of the pipeline.
        rho: The zCDP loss, in place of ``epsilon``.
        names: One for each score. The release is then a name and not an index.
        lowest: Whether low scores are wanted.

    Returns:
        The index of a score, or its name. Equal scores are equally likely. The choice is exact.
        NaN counts as 0.

    Raises:
        ParameterError: If none or both of ``epsilon`` and ``rho`` are given, or names repeat.
        SpaceError: If there are more or fewer names than scores.

    Example:
        >>> import opendp_lite as dp
        >>> votes = dp.records(columns=3) >> dp.clip_to_norm(1, p=1) >> dp.sum()
        >>> most = votes >> dp.measurements.exponential_mechanism(rho=0.03, names=["a", "b", "c"])
        >>> most.map(1)
        0.03
        >>> most([[0, 1, 0]] * 300 + [[1, 0, 0]] * 20)
        'b'
    """
    step = "exponential_mechanism"
    return _select(space, step, epsilon, rho, names, lowest, draw_weighted, BoundedRangeProfile)
