"""Losses as exact numbers, budgets of them, and what a session counts by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeAlias, TypeVar, cast, overload

import attrs

from opendp_lite.base.errors import Argument, ParameterError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable
from opendp_lite.display.formatting import html_table
from opendp_lite.measures.curve import Pair, without_curve
from opendp_lite.measures.divergences import (
    AnyMeasure,
    ApproximateDivergence,
    GaussianDivergence,
    MaxDivergence,
    Measure,
    ZeroConcentratedDivergence,
    proportions,
)
from opendp_lite.measures.profile import PointProfile, Profile
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number, digits_up, log_up, nearest, quote, short_below
from opendp_lite.spelling.signatures import Arguments, arguments_text, typed_signature

Loss = Fraction | tuple[Fraction, ...]
_NAMES: Final = ("epsilon", "delta", "rho", "mu")
WEAK: Final = 10.0
"""From this epsilon on, a guess whether a row is in the data may be right in 99.995 % of cases."""
WEAK_DELTA: Final = Fraction(1, 100)
"""With this probability a release may show a row as it is: of a hundred rows about one."""


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
    def stated(self) -> AnyBudget:
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


AnyBudget: TypeAlias = PrivacyBudget[Any]


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


Charges = tuple[Fraction, ...]
"""The sum of the probabilities of events; what of its delta a budget keeps for composition; and of
what holds outside of the events the sum of the epsilons and that of the divergences of each order.

In the order epsilon, events, kept, divergences."""

_KEPT, _FIRST = 2, 3
_STATED: Final = ApproximateDivergence()
UNBOUNDED: Final = Fraction(2**64)
"""Stands for the epsilon, or the divergence, of a release that has none: no budget is as large."""
_LARGEST: Final = 2**32

# Of the delta, for queries with a delta of their own: it costs less than one count of 45.
_QUERIES: Final = Fraction(1, 8)
# Of delta at least, for the tails that distributions cut off: enough for a million of them.
_TAILS: Final = Fraction(1, 2**20)
# Weights by the share of an order of the one at which zCDP has its largest epsilon. Pure and
# Gaussian noise is counted best near it, and samples below; those above tell how little was spent
# after a few releases. At (3.2, 1e-6) these allow 44 counts of 0.1, and 1780 sampled Gaussians of
# rate 0.01 and scale 1. The best order for each alone, with all of delta, allows 46 and 1937.
_WEIGHTS: Final = (
    (Fraction(19, 20), Fraction(82, 100)),
    (Fraction(7, 10), Fraction(10, 100)),
    (Fraction(1, 2), Fraction(5, 100)),
    (Fraction(2), Fraction(1, 100)),
    (Fraction(4), Fraction(1, 100)),
    (Fraction(8), Fraction(1, 100)),
)
_TRIED: Final = tuple(
    Fraction(each, 2) for each in (*range(3, 65), *(int(64 * 1.1**step) for step in range(140)))
)
_LEAST: Final = Fraction(9, 8)
# Below it nothing is divided by order - 1 in floats.
_LOWEST: Final = Fraction(101, 100)
# A smaller exponent adds nothing to a sum that is to reach 1.
_NOTHING: Final = -64
_TINIEST: Final = Fraction(1, 2**100)
_HALVINGS: Final = 60
_DIGITS: Final = 30


def _read_weights(given: Any) -> tuple[tuple[Fraction, Fraction], ...]:
    """Orders with their weights, from a mapping or pairs."""
    try:
        pairs = dict(given).items()
    except (TypeError, ValueError):
        raise ParameterError(
            f"Renyi divergences take a weight for each order, as {{8: 0.5}}; got {quote(given)}"
        ) from None
    found = tuple(
        (exact.exact(order, "an order"), exact.exact(share, "a weight")) for order, share in pairs
    )
    if not found or any(order < _LOWEST or share <= 0 for order, share in found):
        raise ParameterError("Renyi divergences have orders of 1.01 or more, with weights above 0")
    if sum(share for _, share in found) > 1:
        raise ParameterError("the weights of Renyi divergences add up to 1 at most")
    return found


@attrs.frozen(repr=False)
class RenyiDivergence(Measure[Charges]):
    """What a session or a ledger counts under a budget of epsilon and delta.

    A release has an event of some probability, its delta. Outside of it hold an epsilon and a Renyi
    divergence of each order. A loss has the sums of them, and a budget the most of each.

    Args:
        weights: Of the orders, which are above 1. They add up to 1 and are fixed beforehand.

    Proof:
        Let L be the loss of all releases, R_a the sum of their divergences of order a, and c_a =
        (1 - 1/a)^a / (a - 1). S_a = exp((a - 1)(L - R_a)) is a supermartingale, however queries are
        chosen. (1 - e^(E - L))+ is at most c_a e^((a-1)(L - E)) (Canonne, Kamath, Steinke 2020,
        proposition 12). Of the order a with the weight w_a, a budget of epsilon E has the most
        B_a = E + log(w_a kept / c_a) / (a - 1). Where the sum of exp((a - 1)(B_a - R_a)) is at
        least 1, the inequalities add up to (1 - e^(E - L))+ <= kept sum w_a S_a, whose mean is at
        most ``kept``. Where the sum of the epsilons is at most E, the left side is 0. A path may
        decide late which of the two holds. All of this is outside of the events, whose
        probabilities add up to at most their part of delta on every path. So a release has one
        event for both. A pair (epsilon, delta) beside a curve without it would be two: who sees
        the first may take the other path and spend that part of delta again.

        "Some order is within its budget" is no filter without weights: each path would take the
        order that suits it. E may depend on the path, so ``reach`` holds whenever one stops.

        A divergence may be that of masses that stand for a release (``LossDistribution``). Let V(x)
        be the most that the rest of a path may exceed epsilon by, once x = e^loss. Then x V(x) is
        convex, as a largest of such functions, and 0 at 0. So it is a mixture of hockey sticks, and
        the masses have the larger mean of it.

    Example:
        >>> import opendp_lite as dp
        >>> budget = filter_budget(dp.epsilon(3.2, delta=1e-6))
        >>> budget.measure
        dp.measures.RenyiDivergence({8.125: 0.82, 6: 0.1, 4.25: 0.05, 17: 0.01, 34: 0.01, 68: 0.01})
        >>> budget.stated
        <budget of epsilon = 3.2 at delta = 1e-06>
    """

    weights: tuple[tuple[Fraction, Fraction], ...] = attrs.field(converter=_read_weights)

    variant = _STATED.variant
    parameters = _STATED.parameters

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """Of the divergences."""
        return tuple(order for order, _ in self.weights)

    @property
    def detail(self) -> str:
        """Each order with its weight, as in "8:1/2 16:1/2"."""
        return " ".join(f"{order}:{weight}" for order, weight in self.weights)

    @classmethod
    def of_detail(cls, detail: str) -> Self:
        pairs = (each.split(":") for each in detail.split(" "))
        return cls([(Fraction(order), Fraction(weight)) for order, weight in pairs])

    def loss(self, value: object) -> Charges:
        """That of a release with this epsilon and delta."""
        return self._charge(PointProfile(*_STATED.loss(value)))

    def show(self, loss: Charges) -> tuple[float, float]:
        return _STATED.show(_pair(loss))

    def typed(self, loss: Charges) -> Charges:
        """The largest epsilon that one release may have, and the delta of queries."""
        return _find_largest(self, loss), loss[1]

    def admit(self, profile: Profile) -> Charges | None:
        found = self._charge(profile)
        return None if found[0] == found[_FIRST] == UNBOUNDED else found

    def _charge(self, profile: Profile) -> Charges:
        known = profile.renyi(self.orders)
        if known is None:
            return (UNBOUNDED, Fraction(0), Fraction(0), *(UNBOUNDED for _ in self.weights))
        event, pure, found = known
        epsilon = UNBOUNDED if pure is None else pure
        # What underflow may have lost has hundreds of digits.
        event = max(event, _TINIEST) if event else event
        return epsilon, event, Fraction(0), *map(exact.short_above, found)

    def zero(self) -> Charges:
        return (Fraction(0),) * (_FIRST + len(self.weights))

    def require_promise(self, loss: Charges) -> None:
        _STATED.require_promise(_pair(loss))

    def compose(self, losses: Sequence[Charges]) -> Charges:
        return tuple(sum(parts, Fraction(0)) for parts in zip(self.zero(), *losses, strict=True))

    def left(self, budget: Charges, spent: Charges) -> Charges:
        # An order of which nothing is left counts no more, which can only lose.
        return tuple(max(a - b, Fraction(0)) for a, b in zip(budget, spent, strict=True))

    def split(self, loss: Charges, shares: Sequence[Fraction]) -> tuple[Charges, ...]:
        epsilon, queries = self.typed(loss)
        delta = queries + loss[_KEPT]
        return tuple(
            self.divide(epsilon * share, delta * share, queries * share)
            for share in proportions(shares)
        )

    def group(self, loss: Charges, size: int) -> Charges:
        return self.loss(_STATED.group(_pair(loss), size))

    def worst(self, losses: Sequence[Charges]) -> Charges:
        return tuple(map(max, zip(*losses, strict=True)))

    def within(self, loss: Charges, budget: Charges) -> bool:
        if loss[1] > budget[1]:
            return False
        return loss[0] <= budget[0] or self._is_paid(self._rooms(loss, budget))

    def _rooms(self, loss: Charges, budget: Charges) -> list[tuple[Fraction, Fraction]]:
        """a - 1 of each order that a budget counts, and what is left of it: perhaps below 0."""
        parts = zip(self.orders, loss[_FIRST:], budget[_FIRST:], strict=True)
        return [(order - 1, most - spent) for order, spent, most in parts if most > 0]

    @staticmethod
    def _is_paid(rooms: Sequence[tuple[Fraction, Fraction]], more: Fraction = Fraction(0)) -> bool:
        """Whether the budget pays, if all rooms were larger by ``more``."""
        exponents = [rate * (room + more) for rate, room in rooms]
        if max(exponents, default=Fraction(-1)) >= 0:
            return True
        return (
            sum((exact.exp_down(each) for each in exponents if each > _NOTHING), Fraction(0)) >= 1
        )

    def profile(self, loss: Charges) -> Profile:
        return PointProfile(*_pair(loss))

    def words(self, loss: Charges) -> str:
        return _STATED.words(_pair(loss))

    def words_left(self, loss: Charges) -> str:
        # The rest of delta pays for how queries add up, and none of them can take it.
        epsilon, delta = map(digits_up, _pair(loss))
        return f"epsilon = {epsilon}" + f" (with delta = {delta} for queries that need one)" * (
            loss[1] > 0
        )

    def stated(self, budget: Charges) -> tuple[AnyMeasure, Pair]:
        return _STATED, _pair(budget)

    def divide(self, epsilon: Fraction, delta: Fraction, queries: Fraction) -> Charges:
        """The most of everything that a budget has.

        Args:
            epsilon: Of the budget.
            delta: Of the budget.
            queries: What queries may spend of delta.
        """
        events = max(queries, delta * _TAILS)
        kept = delta - events
        most = []
        for order, weight in self.weights:
            # Rounded so that it can only be too small: the logarithm of c_a up, the other down.
            factor = order * log_up(1 - 1 / order) + log_up(1 / (order - 1))
            found = (
                epsilon - (log_up(1 / (weight * kept)) + factor) / (order - 1) if kept > 0 else kept
            )
            most.append(short_below(found) if found > 0 else Fraction(0))
        return epsilon, events, kept, *most

    def enlarge(self, budget: Charges, stated: Pair) -> Charges:
        if stated[0] > _LARGEST:
            raise ParameterError(f"a budget has an epsilon of at most {_LARGEST}")
        return self.divide(*stated, stated[1] * budget[1] / _pair(budget)[1])

    def reach(self, loss: Charges, budget: Charges) -> Pair:
        """The epsilon and delta that hold of all that was released, under such a budget."""
        rooms = self._rooms(loss, budget)
        if not rooms:
            return loss[0], loss[1]
        more = _find_more(rooms)
        while not self._is_paid(rooms, more):
            more += Fraction(1, 2**40)
        composed = max(budget[0] + more, Fraction(0))
        if loss[0] <= composed:
            return loss[0], loss[1]
        return exact.short_above(composed), max(loss[1], budget[1]) + budget[_KEPT]

    def shortage(self, loss: Charges, spent: Charges, budget: Charges) -> tuple[str, str]:
        if loss[1] > budget[1]:
            left = exact.digits_down(budget[1] - spent[1], 3)
            typed = f"delta={digits_up(left)} or less" if left else "no delta"
            return (
                f"Write {typed} in the query: so much is left of {digits_up(budget[1])}, the part "
                "of the budget's delta that queries may have (query_delta= where the budget is "
                "given makes it more). ",
                "",
            )
        if loss[0] < UNBOUNDED:
            return "", ""
        return "", " To add up epsilons and deltas instead, give query_delta= all of delta there"

    def cost(self, price: Charges, spent: Charges, budget: Charges) -> Pair:
        """Of many releases each adds less than it would cost alone."""
        before, after = (self.reach(each, budget) for each in (spent, self.compose([spent, price])))
        return max(after[0] - before[0], Fraction(0)), max(after[1] - before[1], Fraction(0))

    def __repr__(self) -> str:
        shares = (f"{_digits(order)}: {_digits(weight)}" for order, weight in self.weights)
        return f"{path_of(type(self))}({{{', '.join(shares)}}})"


def _digits(number: Fraction) -> str:
    """As it is typed: a decimal where that is exactly the same."""
    text = f"{float(number):g}"
    return text if Fraction(text) == number else repr(number)


def _pair(loss: Charges) -> Pair:
    """The epsilon and the whole delta of a budget; of a loss those of its queries."""
    return loss[0], sum(loss[1 : _KEPT + 1], Fraction(0))


def _find_more(rooms: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """About the least that all rooms are to grow by: floats propose."""
    enough = min(-room for _, room in rooms)
    parts = [(float(rate), float(room + enough)) for rate, room in rooms]
    low, high = -math.log(len(parts)) / min(rate for rate, _ in parts) - 1, 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        total = sum(math.exp(max(rate * (room + middle), -700.0)) for rate, room in parts)
        low, high = (low, middle) if total >= 1 else (middle, high)
    return enough + Fraction(high)


@lru_cache(maxsize=64)
def _find_largest(measure: RenyiDivergence, left: Charges) -> Fraction:
    """About the largest epsilon of a release that what is left pays for, and certainly one."""
    low = short_below(left[0]) if left[0] else left[0]
    high = max(left[0], *left[_FIRST:]) + 1
    for _ in range(_DIGITS):
        middle = short_below((low + high) / 2)
        paid = measure.within(measure.loss((middle, 0)), left)
        low, high = (middle, high) if paid else (low, middle)
    return max(low, left[0])


def filter_budget(
    budget: PrivacyBudget[AnyMeasure], query_delta: Number | None = None
) -> PrivacyBudget[AnyMeasure]:
    """What a session or a ledger counts by, under a budget as it is typed.

    Args:
        budget: Of any measure. All but pairs of epsilon and delta count as they are typed.
        query_delta: What queries may spend of the delta by deltas of their own, an eighth by
            default. With all of it, epsilons and deltas are added up, and nothing else is counted.

    Raises:
        ParameterError: If ``query_delta`` is no part of the delta of the budget.
    """
    # A budget of a receipt counts as it was typed: what it has of divergences is not believed.
    budget = budget.stated
    if budget.measure != _STATED:
        if query_delta is not None:
            raise ParameterError(
                Argument("query_delta"),
                " is a part of the delta of a budget of epsilon and delta; got a budget of "
                f"{budget.words()}. Leave it out",
            )
        return budget
    epsilon, delta = cast(Pair, budget.loss)
    queries = _share(delta, query_delta)
    if queries == delta or not 0 < epsilon <= _LARGEST:
        return budget
    best = max(_TRIED, key=lambda order: _most_rho(order, epsilon, delta - queries))
    weights: Counter[Fraction] = Counter()
    for share, weight in _WEIGHTS:
        weights[max(_LEAST, Fraction(round(8 * best * share), 8))] += weight  # type: ignore[assignment]
    measure = RenyiDivergence(weights)
    return PrivacyBudget(measure, measure.divide(epsilon, delta, queries))


def _most_rho(order: Fraction, epsilon: Fraction, kept: Fraction) -> float:
    """About the zCDP loss that has this epsilon and delta by the bound of one order."""
    a = float(order)
    factor = a * math.log1p(-1 / a) - math.log(a - 1)
    level = math.log(kept.numerator) - math.log(kept.denominator)
    return (nearest(epsilon) + (level - factor) / (a - 1)) / a


# A meter knows no best order, so all have one weight.
_OF_METERS: Final = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
METERED: Final = Fraction(1024)
"""The largest epsilon that a meter counts to."""


def count_without_end(
    delta: Fraction, query_delta: Number | None = None
) -> PrivacyBudget[AnyMeasure]:
    """What a meter counts by."""
    measure = RenyiDivergence(dict.fromkeys(_OF_METERS, Fraction(1, len(_OF_METERS))))
    return PrivacyBudget(measure, measure.divide(METERED, delta, _share(delta, query_delta)))


def _share(delta: Fraction, query_delta: Number | None) -> Fraction:
    """What queries may spend of a delta."""
    queries = delta * _QUERIES if query_delta is None else exact.exact(query_delta, "query_delta")
    if not 0 <= queries <= delta:
        raise ParameterError(
            Argument("query_delta"),
            f" is a part of the budget's delta, from 0 to {nearest(delta):g}; got "
            f"{quote(query_delta)}",
        )
    return queries
