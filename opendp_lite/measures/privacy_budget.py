"""Budgets: how much several releases may lose together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Generic, TypeVar, overload

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, open_probability, plain, positive, round_up
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.exact_loss import checked_loss
from opendp_lite.measures.gaussian_divergence import GaussianDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.shown_results import html_table

M_co = TypeVar("M_co", bound=Measure[Any], covariant=True)


def _plain(loss: Any) -> Any:
    """The loss as numbers of Python's own: a class of a person's could compare as it likes."""
    found = without_curve(loss)
    return tuple(map(_number, found)) if isinstance(found, tuple) else _number(found)


def _number(part: Any) -> Any:
    return plain(part) if isinstance(part, Fraction | int) and type(part) is not bool else part


def _require_measure(_: object, __: object, measure: Any) -> None:
    """Refuses what is no measure."""
    if not isinstance(measure, Measure):
        raise ParameterError(
            f"a budget is under a measure such as dp.MaxDivergence(), got {described(measure)}"
        )


def _require_loss(budget: Any, _: object, loss: Any) -> None:
    """Refuses what is no loss of the measure, is below zero or promises nothing."""
    budget.measure.require_promise(checked_loss(loss, budget.measure, "the loss of a budget"))


@attrs.frozen(repr=False)
class PrivacyBudget(Generic[M_co]):
    """The most that several releases may lose together, in one measure.

    You make it by ``dp.epsilon(1)``, ``dp.epsilon(1, delta=1e-6)``, ``dp.rho(1)`` or ``dp.mu(1)``.

    Args:
        measure: The measure of the loss.
        loss: A loss of the measure, exactly: ``measure.loss(1)``, say. A curve that it carries is
            dropped, since the releases that will spend it are not known.

    Raises:
        ParameterError: If the loss is no exact loss of the measure, is below 0, or is of a delta
            that is not below 1.

    Example:
        >>> import opendp_lite as dp
        >>> dp.epsilon(1, delta=1e-6)
        <budget of epsilon = 1 at delta = 1e-06>
    """

    measure: M_co = attrs.field(validator=_require_measure)
    loss: Any = attrs.field(converter=_plain, validator=_require_loss)

    def words(self) -> str:
        """The budget as a person reads it."""
        return self.measure.words(self.loss)

    def epsilon(self, delta: Number) -> float:
        """An epsilon that holds at this delta for all releases together, rounded up.

        Example:
            >>> import opendp_lite as dp
            >>> round(dp.mu(1).epsilon(1e-6), 4), round(dp.rho(0.5).epsilon(1e-6), 4)
            (4.8866, 5.2215)
        """
        level = open_probability(delta, "delta")
        return round_up(self.measure.profile(self.loss).epsilon(level))

    def _repr_html_(self) -> str:
        return html_table({"budget": self.words()})

    def __repr__(self) -> str:
        return f"<budget of {self.words()}>"


def require_budget(given: object, step: str) -> None:
    """Refuses what is no budget."""
    if not isinstance(given, PrivacyBudget):
        raise ParameterError(
            f"{step}: a budget is dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1); "
            f"got {described(given)}"
        )


@overload
def epsilon(epsilon: Number) -> PrivacyBudget[MaxDivergence]: ...
@overload
def epsilon(epsilon: Number, delta: Number) -> PrivacyBudget[ApproximateDivergence]: ...
def epsilon(epsilon: Number, delta: Number | None = None) -> PrivacyBudget[Any]:
    """A budget of pure, or with ``delta`` of approximate differential privacy.

    Args:
        epsilon: The sum of the epsilons of all releases is at most this.
        delta: Between 0 and 1. The sum of the deltas is at most this.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create`` and ``dp.adaptive``.

    Raises:
        ParameterError: If ``epsilon`` is not above 0, or ``delta`` is not between 0 and 1.

    Proof:
        Losses add where each query is chosen by the answers before (Rogers, Roth, Ullman, Vadhan
        2016, theorem 3.6).

    Example:
        >>> import opendp_lite as dp
        >>> dp.epsilon(1)
        <budget of epsilon = 1 (pure differential privacy)>
    """
    most = positive(epsilon, "epsilon")
    if delta is None:
        return PrivacyBudget(MaxDivergence(), most)
    return PrivacyBudget(ApproximateDivergence(), (most, open_probability(delta, "delta")))


def rho(rho: Number) -> PrivacyBudget[ZeroConcentratedDivergence]:
    """A budget of zero-concentrated differential privacy (zCDP).

    Args:
        rho: The sum of the rhos of all releases is at most this.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create`` and ``dp.adaptive``.

    Raises:
        ParameterError: If ``rho`` is not above 0.

    Proof:
        Losses add where each query is chosen by the answers before (Feldman and Zrnic 2021).

    Example:
        >>> import opendp_lite as dp
        >>> dp.rho(0.03)
        <budget of rho = 0.03 zCDP>
    """
    return PrivacyBudget(ZeroConcentratedDivergence(), positive(rho, "rho"))


def mu(mu: Number) -> PrivacyBudget[GaussianDivergence]:
    """A budget of Gaussian differential privacy.

    For releases with Gaussian noise it is the best one: all of them together have the exact curve
    of one Gaussian. It buys as much of them as ``dp.rho(mu * mu / 2)``.

    Args:
        mu: The root of the sum of the squared mus of all releases is at most this.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create`` and ``dp.adaptive``.

    Raises:
        ParameterError: If ``mu`` is not above 0.

    Proof:
        Squares add where each query is chosen by the answers before (Smith and Thakurta 2022).

    Example:
        >>> import opendp_lite as dp
        >>> dp.mu(1)
        <budget of mu = 1 (Gaussian differential privacy)>
    """
    return PrivacyBudget(GaussianDivergence(), positive(mu, "mu") ** 2)
