"""The other libraries' ways to do the same."""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any

import opendp.prelude as odp

odp.enable_features("contrib")

SCALE = 10.0
"""The noise scale of every release that is timed."""


def opendp_name() -> str:
    """OpenDP with its version."""
    return f"OpenDP {version('opendp')}"


def opendp_noise(kind: str, entry: type, *, vector: bool) -> Any:
    """OpenDP's noise on a vector or a number of this type."""
    make = {"gaussian": odp.m.make_gaussian, "laplace": odp.m.make_laplace}[kind]
    distance = float if kind == "gaussian" else entry
    domain = odp.atom_domain(T=float, nan=False) if entry is float else odp.atom_domain(T=int)
    if not vector:
        return make(domain, odp.absolute_distance(T=distance), scale=SCALE)
    norm = odp.l2_distance if kind == "gaussian" else odp.l1_distance
    return make(odp.vector_domain(domain), norm(T=distance), scale=SCALE)


def opendp_sum(kind: str, lower: float, upper: float, size: int) -> Any:
    """OpenDP's clamp, sum and noise for a dataset of public size."""
    noise = {"gaussian": odp.m.then_gaussian, "laplace": odp.m.then_laplace}[kind]
    rows = odp.vector_domain(odp.atom_domain(T=float, nan=False), size=size)
    start = (rows, odp.symmetric_distance())
    return start >> odp.t.then_clamp((lower, upper)) >> odp.t.then_sum() >> noise(scale=SCALE)


def opendp_quantile(points: Sequence[float], quantile: float, scale: float) -> Any:
    """OpenDP's quantile among candidates."""
    space = odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.symmetric_distance()
    return odp.m.make_private_quantile(
        *space, odp.max_divergence(), list(points), quantile, scale=scale
    )


def calibrate_opendp(make: Callable[[float], Any], epsilon: float) -> Any:
    """OpenDP's release at this loss for a row added or removed."""
    return odp.binary_search_chain(make, d_in=1, d_out=epsilon)


def diffprivlib_tools() -> Any:
    """diffprivlib.tools; without its models where those do not fit the installed scikit-learn."""
    try:
        return importlib.import_module("diffprivlib.tools")
    except ImportError:
        for name in [name for name in sys.modules if name.startswith("diffprivlib")]:
            del sys.modules[name]
        sys.modules["diffprivlib.models"] = ModuleType("diffprivlib.models")
        return importlib.import_module("diffprivlib.tools")
