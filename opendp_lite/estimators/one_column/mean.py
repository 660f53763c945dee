"""The mean of a column, for who need not know the literature."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any, Final, Protocol, cast, overload

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Report
from opendp_lite.estimators.one_column.joint_mean import core_mean
from opendp_lite.estimators.one_column.known_size_mean import sized_mean
from opendp_lite.estimators.one_column.recentred_mean import recentred_mean
from opendp_lite.exact import Number, digits_up, reading
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
_WITHOUT: Final = "with it as without it, or the reverse"
_ANOTHER: Final = "with it as with any other in its place"
_CUT_OFF: Final = "values beyond the bounds count as the bound, which no interval shows"
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
    report = Report.of("mean", confidence, sampling)
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
    formula = _Formula(why, chosen, loss, column, report, space.domain.size)
    return attrs.evolve(chosen, formula=formula, recipe=(), arrows=chosen.arrows[:-1])


@attrs.frozen(eq=False)
class _Formula:
    """Why this estimator, what is protected and how far off it is: simulated only when shown."""

    why: str
    chosen: Measurement[Space[Rows], Any]
    loss: Loss
    column: Column
    report: Report
    size: int | None

    def __str__(self) -> str:
        return f"{self.why}\n{self._protected()}\n{self._how_far_off()}"

    def _protected(self) -> str:
        """The promise, as it is defined: on what anybody may conclude from the release."""
        power = self.chosen.epsilon(self.loss.told_at)
        factor = f"e^{digits_up(reading(power), 3)}"
        if power < _LARGEST:
            factor += f" = {digits_up(Fraction(exp(power)), 3)}"
        told_at = self.loss.told_at
        plus = f", plus {float(told_at):g}" if told_at else ""
        return (
            "protected: any one row, whatever it holds: any conclusion from the release is at most "
            f"{factor} times as likely {_WITHOUT if self.size is None else _ANOTHER}{plus}; "
            "several rows of one person are protected less, see map(2)"
        )

    def _how_far_off(self) -> str:
        """What the noise comes to, from releases of made-up data: nobody's."""
        if self.size is None:
            few, many = self._errors(_ROWS), self._errors(10 * _ROWS)
            noise = (
                f"with {_ROWS} rows the noise moves the mean by about {few}, with {10 * _ROWS} by "
                f"{many}, depending on where it lies"
            )
        else:
            noise = f"the noise moves the mean by about {self._errors(self.size)}"
        return f"how far off: {noise}; {_CUT_OFF}; {self._interval()}"

    def _errors(self, rows: int) -> str:
        errors = sorted(_error(self.chosen, self.column, rows, share) for share in (0, 1))
        return " to ".join(dict.fromkeys(f"{error:.2g}" for error in errors))

    def _interval(self) -> str:
        if self.report.confidence is None:
            return "confidence=0.95 asks for an interval"
        source = "noise and sampling" if self.report.sampling else "the noise alone"
        return f"each release has its interval, for {source}"


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
