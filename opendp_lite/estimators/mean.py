"""The mean of a column, for who need not know the literature."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any, Final, Protocol, cast, overload

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.column import Column
from opendp_lite.estimators.core_mean import core_mean
from opendp_lite.estimators.loss import Loss, loss_of
from opendp_lite.estimators.recentred_mean import recentred_mean
from opendp_lite.estimators.report import Report
from opendp_lite.estimators.sized_mean import sized_mean
from opendp_lite.estimators.truth import Truth
from opendp_lite.exact import Number, digits_up
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space

_RECENTRED: Final = (
    "recentred_mean was chosen: the number of rows is private too; a first look with a tenth of "
    "the loss says how to divide the rest between sum and count, which comes close to the least "
    "error that Gaussian noise allows"
)
_CORE: Final = (
    "core_mean was chosen: the number of rows is private too; one joint noise for sum and count "
    "comes close to the least error that a pure loss allows"
)
_SIZED: Final = (
    "sized_mean was chosen: the number of rows is public, so all of the loss is for the sum"
)
_THERE: Final = "that it is there at all"
_THIS: Final = "that it is this row and not another"
_LARGEST: Final = 20.0
_ROWS: Final = 1000
_RUNS: Final = 2000
_SEED: Final = 4


@mechanism
def _mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any]:
    """The mean of a column by the best estimator here for the setting; ``explain()`` says which.

    Takes: one column; ``lower`` and ``upper``, bounds on its values, chosen without looking at
        the data: values beyond count as the bound; one of ``rho``, ``epsilon``, and ``epsilon``
        with ``delta``. ``confidence``, such as 0.95: asks for an interval too; ``sampling``: the
        interval is to hold for the mean of all those of whom the rows are a random sample. The
        number of rows is private (``SymmetricDistance``) or public (``ChangeOneDistance``).
    Gives: a number in the bounds, or with a confidence an ``Estimate``: the mean, its standard
        error, and an interval that holds the mean of the bounded values in that share of all
        releases, also for few rows. NaN is left out, or where the number of rows is public counts
        as the middle of the bounds.
    Costs: what was given: rho under ``ZeroConcentratedDivergence``, epsilon under
        ``MaxDivergence``, epsilon and delta under ``ApproximateDivergence``. With ``sampling`` a
        twentieth of it is for the spread of the values.
    Because: measured side by side in ``docs/mean.md``. With a private number of rows
        ``recentred_mean``, or ``core_mean`` for a pure loss; with a public one ``sized_mean``.

    >>> import opendp_lite as dp
    >>> ages = [23.0, 31.0, 38.0, 45.0, 52.0, 67.0] * 1000
    >>> round(dp.mean(0, 100, rho=0.5)(ages))
    43
    >>> estimate = dp.mean(0, 100, rho=0.5, confidence=0.95)(ages)
    >>> low, high = estimate.interval
    >>> 0 < high - low < 0.2
    True
    """
    loss = loss_of("mean", rho, epsilon, delta)
    Report.of("mean", confidence, sampling)
    column = Column.of(space, lower, upper, "mean")
    asked: dict[str, Any] = {"confidence": confidence, "sampling": sampling}
    spent: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho}
    if space.domain.size is not None:
        made, why = sized_mean(lower, upper, **spent, **asked), _SIZED
    elif loss.measure == MaxDivergence():
        made, why = core_mean(lower, upper, epsilon=cast(Number, epsilon), **asked), _CORE
    else:
        made, why = recentred_mean(lower, upper, **spent, **asked), _RECENTRED
    chosen: Measurement[Space[Rows], Any] = made.bind(space)
    formula = (
        f"{why}\n{_protected(chosen, loss, space.domain.size)}\n"
        f"{_how_far_off(chosen, column, space.domain.size, asked=confidence is not None)}"
    )
    return attrs.evolve(chosen, formula=formula, recipe=(), arrows=chosen.arrows[:-1])


def _protected(measurement: Measurement[Any, Any], loss: Loss, size: int | None) -> str:
    """The promise, as a bound on how far the release can move anybody's odds."""
    power = measurement.epsilon(loss.told_at)
    factor = f"e^{digits_up(Fraction(power), 3)}"
    if power < _LARGEST:
        factor += f" = {digits_up(Fraction(exp(power)), 3)}"
    but = f", but for a chance of {float(loss.told_at):g}" if loss.told_at else ""
    return (
        f"protected: any one row, whatever it holds: the odds {_THERE if size is None else _THIS} "
        f"change for nobody by more than a factor of {factor}{but}; several rows of one person "
        "are protected less, see map(2)"
    )


def _how_far_off(measurement: Any, column: Column, size: int | None, *, asked: bool) -> str:
    """What the noise comes to, from releases of made-up data: nobody's."""
    rows = size or _ROWS
    low, high = sorted(f"{_error(measurement, column, rows, share):.2g}" for share in (0, 1))
    few = low if low == high else f"{low} to {high}"
    each = "each release has its interval" if asked else "confidence=0.95 asks for an interval"
    if size is not None:
        return f"how far off: the noise moves the mean by about {few}; {each}"
    return (
        f"how far off: with {rows} rows the noise moves the mean by about {few}, with ten times "
        f"as many rows by a tenth of that; {each}"
    )


def _error(measurement: Any, column: Column, rows: int, share: int) -> float:
    mean = float(column.middle + share * column.half * 3 / 4)
    generator = np.random.default_rng(_SEED)
    found = measurement.forecast(Truth(rows, mean), _RUNS, generator).mean
    return float(np.sqrt(np.mean((found - mean) ** 2)))


class _Mean(Protocol):
    @overload
    def __call__(
        self,
        lower: Number,
        upper: Number,
        *,
        rho: Number,
        confidence: Number | None = None,
        sampling: bool = False,
    ) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]: ...
    @overload
    def __call__(
        self,
        lower: Number,
        upper: Number,
        *,
        epsilon: Number,
        confidence: Number | None = None,
        sampling: bool = False,
    ) -> Mechanism[Space[Rows], MaxDivergence]: ...
    @overload
    def __call__(
        self,
        lower: Number,
        upper: Number,
        *,
        epsilon: Number,
        delta: Number,
        confidence: Number | None = None,
        sampling: bool = False,
    ) -> Mechanism[Space[Rows], ApproximateDivergence]: ...


mean: _Mean = cast(_Mean, _mean)
