"""What a query costs a budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from opendp_lite.core import Measurement
from opendp_lite.errors import SpaceError
from opendp_lite.exact import described, short_above
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.exact_loss import LossOf, checked_loss
from opendp_lite.measures.measure import Measure
from opendp_lite.recipes import Mechanism, Stage


def require_query(given: object) -> None:
    """Refuses what is no pipeline that ends in noise and waits for a space."""
    if not isinstance(given, Mechanism):
        raise SpaceError(_no_query(given))


def priced(bound: Measurement[Any, Any], measure: Measure[Any]) -> Any:
    """The loss of a bound query for one unit, in the measure of a budget.

    A mechanism of another measure is converted, where its own curve says what it loses here. A loss
    that is negative or inexact is refused: it would give budget back, or be lost in rounding.
    """
    loss = bound.privacy_map(bound.input_space.unit)
    if bound.output_measure == measure:
        return checked_loss(without_curve(loss), measure, LossOf(bound))
    profile = bound.output_measure.profile(loss)
    found = measure.admit(profile)
    if found is None:
        stated = " and ".join(measure.parameters) or repr(measure)
        raise SpaceError(
            f"the budget is stated in {stated}, and {bound!r} loses "
            f"{bound.output_measure.words(loss)}, which does not tell what it costs there. State "
            "the loss of the query as the budget does, or take a budget that is stated as this "
            "loss is: dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1). A budget of "
            "epsilon and delta pays for one in rho or mu with >> dp.to_approximate(1e-7) after it"
        )
    admitted = checked_loss(without_curve(found), measure, LossOf(bound))
    return _shortened(admitted, profile.pure)


def _shortened(loss: Any, typed: Fraction | None) -> Any:
    """A loss of few digits, not below the loss: a sum of thousands then has few digits too.

    An epsilon stays as it was typed, so that what is left of a budget can be spent whole.
    """
    if isinstance(loss, tuple):
        return tuple(_shortened(part, typed) for part in loss)
    return loss if loss == typed else short_above(loss)


def _no_query(given: object) -> str:
    if isinstance(given, Stage):
        return f"ask takes a pipeline that ends in noise; put noise after {given.calls[-1].brief()}"
    if isinstance(given, Measurement):
        return (
            "ask takes a pipeline bound to no space, and binds it to its own rows; leave out the "
            "space in front"
        )
    return (
        f"ask takes a pipeline that ends in noise, got {described(given)}; leave out the data, "
        "which the session has"
    )
