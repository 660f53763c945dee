"""The exponential mechanism over given scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, overload

from opendp_lite.core import Measurement
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.noise import exactly_one
from opendp_lite.measurements.selection import (
    Scores,
    selection_by_epsilon,
    selection_by_rho,
    weighted,
)
from opendp_lite.measures.bounded_range import BoundedRangeProfile
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import LInfDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import vector


@overload
def exponential_mechanism(
    *, epsilon: Number, names: None = None, lowest: bool = False
) -> Mechanism[Scores, MaxDivergence, int]: ...
@overload
def exponential_mechanism(
    *, epsilon: Number, names: Sequence[str], lowest: bool = False
) -> Mechanism[Scores, MaxDivergence, str]: ...
@overload
def exponential_mechanism(
    *, rho: Number, names: None = None, lowest: bool = False
) -> Mechanism[Scores, ZeroConcentratedDivergence, int]: ...
@overload
def exponential_mechanism(
    *, rho: Number, names: Sequence[str], lowest: bool = False
) -> Mechanism[Scores, ZeroConcentratedDivergence, str]: ...
@example(vector(4, LInfDistance()), epsilon=1)
@example(vector(3, LInfDistance(), unit=2.5), rho=0.1, lowest=True)
@example(vector(2, unit=Norms(l1=1, linf=1)), epsilon=0.5, names=["tea", "coffee"])
@mechanism
def exponential_mechanism(
    space: Scores,
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

    Privacy:
        epsilon under ``MaxDivergence``, or rho under ``ZeroConcentratedDivergence``. A loss of
        epsilon knows that its rho is epsilon^2 / 8. The loss grows in proportion to the spread, rho
        with its square. The spread is the most that the difference of two scores changes: the least
        of 2 linf, l1 and sqrt(2) l2.

    Proof:
        Weights are exp(s score) (McSherry and Talwar 2007). The logarithms of the weights change
        within a range of s times the spread. A constant that is added to all scores changes no
        probability. So this range bounds how a probability changes, and it is epsilon. And rho is
        epsilon^2 / 8 (Cesar and Rogers 2021, lemma 3.4).

    Example:
        >>> import opendp_lite as dp
        >>> votes = dp.records(columns=3) >> dp.clip_to_norm(1, p=1) >> dp.sum()
        >>> most = votes >> dp.measurements.exponential_mechanism(rho=0.03, names=["a", "b", "c"])
        >>> most.map(1)
        0.03
        >>> most([[0, 1, 0]] * 300 + [[1, 0, 0]] * 20)
        'b'
    """
    name = "exponential_mechanism"
    if exactly_one(name, epsilon=epsilon, rho=rho) == "epsilon":
        loss = cast(Number, epsilon)
        return selection_by_epsilon(space, name, loss, weighted, BoundedRangeProfile, names, lowest)
    return selection_by_rho(space, name, cast(Number, rho), names, lowest)
