"""The best of many releases, for the price of two: private selection."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import expm1, inf, isnan
from typing import Any, Final, TypeVar, cast

import numpy as np

from opendp_lite.core import Facts, Measurement
from opendp_lite.engines.deferred import Released, Together, query_of, release_of
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, described, exact, nearest, short_below
from opendp_lite.measures.exact_loss import checked_loss
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.choice import below
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.logarithmic import logarithmic
from opendp_lite.spaces import Space

S = TypeVar("S", bound=Space[Any])
_MOST_RUNS: Final = 10**4
_FASTEST: Final = 40.0
_HALVINGS: Final = 60


def rate_for(runs: Fraction) -> Fraction:
    """The rate at which a logarithmic number has about this mean, above 1."""
    low, high, mean = 0.0, _FASTEST, nearest(runs)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if expm1(middle) > mean * middle else (middle, high)
    return short_below(Fraction(high))


@mechanism
def best_of(
    space: S,
    *mechanisms: Mechanism[S, MaxDivergence],
    score: Callable[[Any], float],
    runs: Number = 10,
) -> Measurement[S, MaxDivergence, tuple[int, Any]]:
    """Makes many releases and releases only the one of the highest score.

    Each run picks one of the mechanisms, each as likely. It costs twice as much as one release,
    however many runs there are. Use it where a mechanism has parameters to choose, and its release
    says how good they are.

    The number of runs is random and must stay secret. A person who sees how long a release took
    learns about it, and the loss does not count that.

    Only the chosen release may leave. The score, functions after the noise of a mechanism and
    programs in it see the releases of all runs. They must neither keep nor show any of them, such
    as in a list or a log. No library can watch a function of yours.

    Args:
        *mechanisms: One or more pipelines that end in noise, under ``MaxDivergence``. They are
            bound to no space of their own.
        score: A function from a release to a number, which keeps and shows nothing. NaN counts as
            the lowest.
        runs: The mean number of runs, above 1 and at most 10 000. Few runs are likely: at a mean
            of 10, one of 4 releases is the only run.

    Returns:
        The index of the mechanism, and its release. Of equal scores the first is taken.

    Raises:
        ParameterError: If there is no mechanism, or ``runs`` is out of its range.
        SpaceError: If a loss is not under ``MaxDivergence``.

    Privacy:
        Twice the largest loss of the mechanisms, under ``MaxDivergence``, for the chosen release
        alone. It counts no release that a function keeps or shows.

    Proof:
        Papernot and Steinke 2022, for a logarithmic number of runs: (2 + eta) epsilon with eta = 0.
        Geometric stopping has eta = 1 and costs 3 epsilon (Liu and Talwar 2019). Let q be the
        probability that a run scores at most as high, and f(q) the mean of q^K for K runs. A
        release has the probability of one run times a mean of f' between two values of q, and
        f'(q) is in proportion to 1 / (1 - (1 - g) q). Each of the two changes by a factor of
        exp(epsilon) at most. The draw of K is exact. A random choice among mechanisms loses what
        the worst of them loses.

    Example:
        >>> import opendp_lite as dp
        >>> def clipped(limit):
        ...     rows = dp.clamp(0, limit)
        ...     kept = dp.transformations.indicator_below(limit) >> dp.sum()
        ...     return dp.compose(
        ...         rows >> dp.sum() >> dp.laplace(epsilon=0.2), kept >> dp.laplace(epsilon=0.2)
        ...     )
        >>> choice = dp.combinators.best_of(
        ...     clipped(10), clipped(100), score=lambda release: float(release[1][0]), runs=20
        ... )
        >>> choice.map(1)
        0.8
        >>> index, (total, kept) = choice([42.0] * 1000)
    """
    if not mechanisms:
        raise ParameterError("best_of needs at least one mechanism")
    if not callable(score):
        raise ParameterError(f"best_of: score is a function of a release, got {described(score)}")
    mean = exact(runs, "runs")
    if not 1 < mean <= _MOST_RUNS:
        raise ParameterError(
            f"best_of: runs is a mean above 1 and at most {_MOST_RUNS}, got {described(runs)}"
        )
    parts = [_part(each, space) for each in mechanisms]
    releases = [release_of(part.function) for part in parts]
    rate = rate_for(mean)

    def release(values: tuple[Any, ...], entropy: Entropy) -> tuple[int, Any]:
        best: tuple[int, Any] | None = None
        most = -inf
        for _ in range(logarithmic(rate, entropy)):
            index = below(len(parts), entropy)
            found = releases[index](values[index], entropy)
            scored = _number(score(found))
            if best is None or scored > most:
                best, most = (index, found), -inf if isnan(scored) else scored
        assert best is not None
        return best

    def privacy_map(distance: Any) -> Fraction:
        losses = (part.privacy_map(distance) for part in parts)
        name = "best_of: the loss of a mechanism"
        worst: Fraction = max(checked_loss(each, MaxDivergence(), name) for each in losses)
        return 2 * worst

    return Measurement(
        space,
        MaxDivergence(),
        Released(Together(tuple(query_of(part.function) for part in parts)), release),
        privacy_map,
        Facts(explanation=f"twice the largest loss; about {nearest(mean):.6g} runs"),
    )


def _number(scored: object) -> float:
    """What a score function gave, refused where it is no number."""
    if isinstance(scored, np.ndarray) and scored.shape != ():
        first = ", ".join("0" for _ in scored.shape)
        mend = f"write r[{first}]" if scored.size == 1 else "take one of them, or their sum"
        raise ParameterError(
            f"best_of: score must give one number, got an array of shape {scored.shape}; {mend}"
        )
    try:
        return float("" if isinstance(scored, str) else cast(float, scored))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"best_of: score must give one number, got {type(scored).__name__}"
        ) from None


def _part(given: object, space: Any) -> Measurement[Any, MaxDivergence]:
    if type(given) in (tuple, list):
        raise ParameterError("best_of takes mechanisms one by one; write best_of(*list, score=...)")
    if isinstance(given, Measurement):
        raise ParameterError(
            "best_of takes pipelines bound to no space of their own; leave out "
            f"{given.input_space!r}"
        )
    if not isinstance(given, Mechanism):
        raise ParameterError(
            f"best_of takes pipelines that end in noise and are bound to no space, got "
            f"{described(given)}"
        )
    part: Measurement[Any, MaxDivergence] = given.bind(space)
    if part.output_measure != MaxDivergence():
        raise SpaceError(
            f"best_of: {given!r} has its loss under {part.output_measure!r}, for which no exact "
            "price is known; use laplace(epsilon=) or another pure mechanism"
        )
    return part
