"""Names that people type and that are not here: where to go instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Final

_INSTEAD: Final = {
    "Gaussian": "dp.gaussian(rho=0.03), or epsilon= with delta=",
    "Laplace": "dp.laplace(epsilon=1)",
    "Session": "dp.adaptive(program, measure, budget): one budget over several releases",
    "filter": "dp.row_map(space, function, body, drops=True) in a step of your own",
    "group_by": "one pipeline for each group, on the rows of that group",
    "histogram": "dp.basis_distribution(dp.bases.Haar(16, lower, upper), epsilon=1)",
    "median": "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)",
    "quantile": "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)",
    "std": "dp.estimators.private_variance(bound, rho=0.03), and its square root",
    "standard_deviation": "dp.estimators.private_variance(bound, rho=0.03), and its square root",
    "var": "dp.estimators.private_variance(bound, rho=0.03)",
    "variance": "dp.estimators.private_variance(bound, rho=0.03)",
    "core": "dp.measurements.sum_and_count(epsilon=1)",
    "clip": "dp.clamp(lower, upper), or dp.clip_to_norm(radius)",
    "size": "dp.count()",
    "exponential": "dp.private_quantile(...); docs/extending.md has one over given scores",
    "geometric": "dp.count() >> dp.laplace(epsilon=1): whole numbers stay whole",
}
"""Typed by people who know pandas, numpy, OpenDP or another library of the field."""
_PREFIXES: Final = ("make_", "then_", "private_", "dp_", "m_", "t_")


def not_there(name: str, front: Collection[str], rooms: Iterable[ModuleType]) -> str:
    """What to say of a name that the front does not have.

    Args:
        name: The name.
        front: The names at the front.
        rooms: The modules that hold the others.
    """
    said = f"module 'opendp_lite' has no attribute {name!r}"
    if name in _INSTEAD:
        return f"{said}; use {_INSTEAD[name]}"
    for room in rooms:
        if name in getattr(room, "__all__", ()):
            return f"{said}; it is dp.{room.__name__.rpartition('.')[2]}.{name}"
    bare = next((name.removeprefix(each) for each in _PREFIXES if name.startswith(each)), name)
    if bare in _INSTEAD:
        return f"{said}; use {_INSTEAD[bare]}"
    near = [bare] if bare in front else get_close_matches(name, front, n=1)
    return f"{said}; did you mean {near[0]!r}?" if near else said
