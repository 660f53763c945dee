"""Differentially private means, sums and counts, with a privacy loss derived from the steps.

>>> import opendp_lite as dp
>>> ages = [23, 31, 38, 45, 52, 67] * 1000
>>> mean = dp.mean(0, 100, epsilon=1)
>>> mean.map(1)  # the privacy loss if one row is added or removed
1.0
>>> released = mean(ages)  # a private release; each call is a new one, and losses add up
>>> round(float(released))  # print it for an interval, for the population that the rows are from
43
>>> total = dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)
>>> total.map(1)
1.0

``print(mean.explain())`` shows every step and how far off the release may be. More names
are in ``dp.bases``, ``dp.bodies``, ``dp.combinators``, ``dp.estimators``, ``dp.measurements``,
``dp.measures``, ``dp.metrics``, ``dp.releases`` and ``dp.transformations``. ``dp.plotting`` draws,
and ``dp.data`` has a table to try things on.
"""

from __future__ import annotations

from importlib import import_module

from opendp_lite.base.public_names import lazy_names

TYPE_CHECKING = False  # That of typing, whose import takes longer than all else here.
if TYPE_CHECKING:
    from typing import Any


def _refusal(name: str) -> AttributeError:
    """What is said of a name that is not there; only that needs the names people type."""
    suggestions = import_module("opendp_lite.spelling.suggestions")
    return AttributeError(suggestions.not_there(name))


_public, __dir__, __all__ = lazy_names(__name__, refusal=_refusal)


def __getattr__(name: str) -> Any:
    # Read when it is asked for: the metadata of a package cost more than its import.
    if name == "__version__":
        return import_module("opendp_lite.base.version").find_version()
    return _public(name)
