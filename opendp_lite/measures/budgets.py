"""A loss as its exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable
from opendp_lite.display.formatting import html_table
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.divergences import (
    ApproximateDivergence,
    GaussianDivergence,
    MaxDivergence,
    ZeroConcentratedDivergence,
)
from opendp_lite.measures.measure import AnyMeasure, Measure
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.spelling.signatures import Arguments, arguments_text, typed_signature

Loss = Fraction | tuple[Fraction, ...]
_NAMES: Final = ("epsilon", "delta", "rho", "mu")


def numbers_of(loss: Loss) -> tuple[Fraction, ...]:
    """The numbers of a loss, without the curve that it may carry."""
    found = without_curve(loss)
    return found if isinstance(found, tuple) else (found,)


def like(measure: AnyMeasure, numbers: tuple[Fraction, ...]) -> Loss:
    """Numbers as a loss of a measure."""
    return numbers if isinstance(measure.zero(), tuple) else numbers[0]


def exact_loss(loss: object, measure: AnyMeasure, name: object) -> Loss:
    """A loss of a measure, with the curve that it carries; refused where it is none.

    A float may be rounded down, what is below 0 would give budget back, and a class of a person's
    own may add as it likes. Errors call the loss by the text of ``name``, spelled out only there:
    columns may be many.
    """
    zero, given = measure.zero(), without_curve(loss)
    several = isinstance(zero, tuple)
    found: Loss | None = None
    if not several:
        found = exact.exact_size(given)
    elif type(given) is tuple and len(given) == len(zero):
        numbers = tuple(number for each in given if (number := exact.exact_size(each)) is not None)
        found = numbers if len(numbers) == len(zero) else None
    if found is None:
        kind = f"a tuple of {len(zero)} numbers" if several else "a number"
        raise ParameterError(
            f"{name} must be an exact loss under {measure!r}, {kind} of at least 0; got "
            f"{exact.quote(loss)} ({type(loss).__name__}). Give a Fraction or an int, such as "
            "Fraction(1, 2) in place of 0.5"
        )
    return found if given is loss else cast(Loss, loss)


Given = TypeVar("Given")
M_co = TypeVar("M_co", bound=AnyMeasure, covariant=True)

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    # A step whose budget is named leaves it open; one that is given a value has its measure.
    Spent = WithDefault("Spent", bound=AnyMeasure, default=Any)
else:
    Spent = TypeVar("Spent", bound=Measure)


def _plain(loss: Loss) -> Loss:
    """The loss as numbers of Python's own: a class of a person's could compare as it likes."""
    found = without_curve(loss)
    return tuple(map(_number, found)) if isinstance(found, tuple) else _number(found)


def _number(part: Given) -> Given | Fraction:
    return (
        exact.plain(part) if isinstance(part, Fraction | int) and type(part) is not bool else part
    )


def _require_measure(_: object, __: object, measure: Any) -> None:
    """Refuses what is no measure."""
    if not isinstance(measure, Measure):
        raise ParameterError(
            f"a budget is under a measure such as dp.MaxDivergence(), got {exact.quote(measure)}"
        )


def _require_loss(budget: PrivacyBudget[AnyMeasure], _: object, loss: Loss) -> None:
    """Refuses what is no loss of the measure, is below zero or promises nothing."""
    budget.measure.require_promise(exact_loss(loss, budget.measure, "the loss of a budget"))


@attrs.frozen(repr=False)
class PrivacyBudget(Storable, Generic[M_co]):
    """The most that several releases may lose together, in one measure.

    You make it by ``dp.epsilon(1)``, ``dp.epsilon(1, delta=1e-6)``, ``dp.rho(1)`` or ``dp.mu(1)``.
    Give it to a session or a ledger, or to a single step: ``dp.laplace(dp.epsilon(1))``.

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
    loss: Loss = attrs.field(converter=_plain, validator=_require_loss)

    def words(self) -> str:
        """The budget as a person reads it."""
        return self.measure.words(self.loss)

    def reach(self, loss: Loss) -> Any:
        """A loss that this budget pays for, as people read losses."""
        return self.measure.reach(loss, self.loss)

    def cost(self, price: Loss, spent: Loss) -> Any:
        """What a release adds to that, where so much was spent before."""
        return self.measure.cost(price, spent, self.loss)

    @property
    def stated(self) -> PrivacyBudget[Any]:
        """The budget as a person types it: a session may count by more than that."""
        return PrivacyBudget(*self.measure.stated(self.loss))

    def by_name(self) -> dict[str, Number]:
        """The numbers by the names under which a step takes them, as a person would type them.

        Example:
            >>> import opendp_lite as dp
            >>> dp.epsilon(1, delta=1e-6).by_name(), dp.mu(0.5).by_name()
            ({'epsilon': 1, 'delta': 1e-06}, {'mu': 0.5})
        """
        measure, loss = self.measure.stated(self.loss)
        return {name: _type_in(part) for name, part in measure.by_name(loss).items()}

    def epsilon(self, delta: Number) -> float:
        """An epsilon that holds at this delta for all releases together, rounded up.

        Example:
            >>> import opendp_lite as dp
            >>> round(dp.mu(1).epsilon(1e-6), 4), round(dp.rho(0.5).epsilon(1e-6), 4)
            (4.8866, 5.2215)
        """
        level = exact.open_probability(delta, "delta")
        return exact.round_up(self.measure.profile(self.loss).epsilon(level))

    def _repr_html_(self) -> str:
        return html_table({"budget": self.words()})

    def __repr__(self) -> str:
        return f"<budget of {self.words()}>"


def _type_in(part: Fraction) -> Number:
    """A whole number or a decimal where that is exactly the same, else the fraction."""
    if part.denominator == 1:
        return int(part)
    close = exact.nearest(part)
    # A float is read as the decimal that is typed, so the two are compared as such.
    return close if isfinite(close) and exact.rational_of_float(close) == part else part


def require_budget(given: object, step: str) -> None:
    """Refuses what is no budget."""
    if not isinstance(given, PrivacyBudget):
        raise ParameterError(
            f"{step}: a budget is dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1); "
            f"got {exact.quote(given)}"
        )


def budget_by_name(constructor: Callable[..., object], arguments: Arguments) -> Arguments:
    """The arguments, in which numbers by name replace a budget that was given as a value.

    So both spellings are the same value, with one repr and one JSON text.
    """
    given, step = dict(arguments), constructor.__name__
    parameters = typed_signature(constructor).parameters
    if "epsilon" not in parameters:
        return arguments
    for name in _NAMES:
        if isinstance(given.get(name), PrivacyBudget):
            raise _refuse_named_budget(constructor, given, name)
    if "budget" not in given:
        return arguments
    budget = given.pop("budget")
    if not isinstance(budget, PrivacyBudget):
        raise TypeError(f"a budget is dp.epsilon(1) or dp.rho(0.03), got {exact.quote(budget)}")
    numbers = budget.by_name()
    if unknown := set(numbers) - set(parameters):
        known = [name for name in ("epsilon", "rho", "mu") if name in parameters]
        raise ParameterError(
            f"{step} takes no {' and no '.join(sorted(unknown))}; got a budget of "
            f"{budget.words()}. Give it {' or '.join(f'{name}=' for name in known)}"
        )
    if twice := [name for name in _NAMES if name in given]:
        raise ParameterError(
            f"{step} takes one budget; got {twice[0]}= beside a budget of {budget.words()}. Leave "
            "one out"
        )
    every = given | numbers
    return tuple((name, every[name]) for name in parameters if name in every)


def _refuse_named_budget(
    constructor: Callable[..., object], given: dict[str, object], name: str
) -> ParameterError:
    """The refusal of a whole budget as one of its numbers."""
    (kind, number), *more = cast(PrivacyBudget[AnyMeasure], given[name]).by_name().items()
    numbers = ", ".join(map(str, [number, *(f"{key}={each}" for key, each in more)]))
    others = tuple((key, each) for key, each in given.items() if key not in _NAMES)
    typed = filter(None, [arguments_text(constructor, others), f"dp.{kind}({numbers})"])
    return ParameterError(
        f"{constructor.__name__}: {name} is a number, and a budget goes in by itself: "
        f"{path_of(constructor)}({', '.join(typed)})"
    )


@overload
def epsilon(epsilon: Number) -> PrivacyBudget[MaxDivergence]: ...
@overload
def epsilon(epsilon: Number, delta: Number) -> PrivacyBudget[ApproximateDivergence]: ...
def epsilon(epsilon: Number, delta: Number | None = None) -> PrivacyBudget[AnyMeasure]:
    """A budget of pure, or with ``delta`` of approximate differential privacy.

    Args:
        epsilon: All releases together lose at most this.
        delta: Between 0 and 1, the probability with which epsilon may fail. ``dp.session`` and
            ``dp.Ledger.create`` keep a part of it, so that many releases lose less than their sum.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create``, ``dp.adaptive`` and each step that has
        a ``budget``, such as ``dp.mean(0, 100, dp.epsilon(1))``.

    Raises:
        ParameterError: If ``epsilon`` is not above 0, or ``delta`` is not between 0 and 1.

    Proof:
        Losses add where each query is chosen by the answers before (Rogers, Roth, Ullman, Vadhan
        2016, theorem 3.6). For less than their sum see ``dp.measures.RenyiDivergence``.

    Example:
        >>> import opendp_lite as dp
        >>> dp.epsilon(1)
        <budget of epsilon = 1 (pure differential privacy)>
    """
    most = exact.positive(epsilon, "epsilon")
    if delta is None:
        return PrivacyBudget(MaxDivergence(), most)
    return PrivacyBudget(ApproximateDivergence(), (most, exact.open_probability(delta, "delta")))


def rho(rho: Number) -> PrivacyBudget[ZeroConcentratedDivergence]:
    """A budget of zero-concentrated differential privacy (zCDP).

    Args:
        rho: The sum of the rhos of all releases is at most this.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create``, ``dp.adaptive`` and each step that has
        a ``budget``, such as ``dp.mean(0, 100, dp.epsilon(1))``.

    Raises:
        ParameterError: If ``rho`` is not above 0.

    Proof:
        Losses add where each query is chosen by the answers before (Feldman and Zrnic 2021).

    Example:
        >>> import opendp_lite as dp
        >>> dp.rho(0.03)
        <budget of rho = 0.03 zCDP>
    """
    return PrivacyBudget(ZeroConcentratedDivergence(), exact.positive(rho, "rho"))


def mu(mu: Number) -> PrivacyBudget[GaussianDivergence]:
    """A budget of Gaussian differential privacy.

    For releases with Gaussian noise it is the best one: all of them together have the exact curve
    of one Gaussian. It buys as much of them as ``dp.rho(mu * mu / 2)``.

    Args:
        mu: The root of the sum of the squared mus of all releases is at most this.

    Returns:
        A budget for ``dp.session``, ``dp.Ledger.create``, ``dp.adaptive`` and each step that has
        a ``budget``, such as ``dp.mean(0, 100, dp.epsilon(1))``.

    Raises:
        ParameterError: If ``mu`` is not above 0.

    Proof:
        Squares add where each query is chosen by the answers before (Smith and Thakurta 2022).

    Example:
        >>> import opendp_lite as dp
        >>> dp.mu(1)
        <budget of mu = 1 (Gaussian differential privacy)>
    """
    return PrivacyBudget(GaussianDivergence(), exact.positive(mu, "mu") ** 2)
