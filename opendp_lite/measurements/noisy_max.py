"""The best of several scores."""

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
)
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.profile import PureProfile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import LInfDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.permute_and_flip import permute_and_flip
from opendp_lite.spaces import vector


@overload
def noisy_max(
    *, epsilon: Number, names: None = None, lowest: bool = False
) -> Mechanism[Scores, MaxDivergence, int]: ...
@overload
def noisy_max(
    *, epsilon: Number, names: Sequence[str], lowest: bool = False
) -> Mechanism[Scores, MaxDivergence, str]: ...
@overload
def noisy_max(
    *, rho: Number, names: None = None, lowest: bool = False
) -> Mechanism[Scores, ZeroConcentratedDivergence, int]: ...
@overload
def noisy_max(
    *, rho: Number, names: Sequence[str], lowest: bool = False
) -> Mechanism[Scores, ZeroConcentratedDivergence, str]: ...
@example(vector(4, LInfDistance()), epsilon=1)
@example(vector(3, LInfDistance(), unit=2.5), rho=0.1, lowest=True)
@example(vector(2, unit=Norms(l1=1, linf=1)), epsilon=0.5, names=["tea", "coffee"])
@mechanism
def noisy_max(
    space: Scores,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    names: Sequence[str] | None = None,
    lowest: bool = False,
) -> Measurement[Scores, Any, Any]:
    """Chooses a high score: report noisy max.

    It goes after a vector with a bounded distance, such as ``sum()``. Give ``epsilon`` or ``rho``.

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
        epsilon under ``MaxDivergence``, or rho under ``ZeroConcentratedDivergence``. The loss
        grows in proportion to the spread, rho with its square. The spread is the most that the
        difference of two scores changes: the least of 2 linf, l1 and sqrt(2) l2.

    Proof:
        With ``epsilon`` it is permute-and-flip at the rate epsilon / spread (McKenna and Sheldon
        2020, theorem 1). That is the largest score with exponential noise (Ding, Kifer, Steinke,
        Wang, Xiao, Zhang 2021). Its expected score is never below that of the exponential
        mechanism. A constant that is added to all scores changes nothing. So scores that change
        by values in a range of one spread change by half a spread at most. Permute-and-flip has
        no bounded range of epsilon, so epsilon^2 / 8 is no rho of it. With ``rho`` it is the
        exponential mechanism, which has (Cesar and Rogers 2021, lemma 3.4).

    Example:
        >>> import opendp_lite as dp
        >>> votes = dp.records(columns=3) >> dp.clip_to_norm(1, p=1) >> dp.sum()
        >>> favourite = votes >> dp.noisy_max(epsilon=1, names=["tea", "coffee", "water"])
        >>> favourite.map(1)
        1.0
        >>> favourite([[0, 1, 0]] * 300 + [[1, 0, 0]] * 20)
        'coffee'
    """
    if exactly_one("noisy_max", epsilon=epsilon, rho=rho) == "epsilon":
        loss = cast(Number, epsilon)
        return selection_by_epsilon(
            space, "noisy_max", loss, permute_and_flip, PureProfile, names, lowest
        )
    return selection_by_rho(space, "noisy_max", cast(Number, rho), names, lowest)
