"""The refusal of what is no pipeline that ends in noise."""

from __future__ import annotations

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described
from opendp_lite.recipes import Mechanism, Stage


def require_mechanism(given: object, step: str, rows: str) -> None:
    """Refuses what a combinator cannot bind to rows of its own, which are named in words."""
    if isinstance(given, Mechanism):
        return
    wanted = f"{step} takes a pipeline that ends in noise"
    if isinstance(given, Stage):
        raise ParameterError(f"{wanted}; put noise after {given.calls[-1].brief()}")
    if isinstance(given, Measurement):
        raise ParameterError(
            f"{step} takes a pipeline bound to no space, and binds it to {rows}; leave out the "
            "space in front"
        )
    raise ParameterError(f"{wanted}, got {described(given)}")
