"""The public names, as a person types them."""

import inspect
import pickle
from importlib import import_module
from pickletools import genops
from pkgutil import walk_packages
from typing import get_origin, get_type_hints

import opendp_lite as dp
from opendp_lite.base.public_names import ROOMS

FRONT = {f"dp.{name}": getattr(dp, name) for name in dp.__all__}
"""The names at the front."""

PUBLIC = {
    **{
        f"dp.{room.__name__.rpartition('.')[2]}.{name}": getattr(room, name)
        for room in (*(getattr(dp, name) for name in ROOMS), dp.data, dp.plotting)
        for name in room.__all__
        if name not in dp.__all__
    },
    **FRONT,
}
"""Each public name once, by the shortest path to it."""


def returned(public):
    """The class that a constructor is annotated to return; None for anything else."""
    function = inspect.unwrap(public)
    if not inspect.isfunction(function):
        return None
    hint = get_type_hints(function).get("return")
    return get_origin(hint) or hint


STEPS = {
    path: public
    for path, public in PUBLIC.items()
    if hasattr(public, "makes_step") and returned(public) in (dp.Transformation, dp.Measurement)
}
"""The constructors of transformations and measurements."""


def every_step():
    """All decorated constructors in the package, public or not, by their module and name."""
    found = {}
    for module in walk_packages(dp.__path__, "opendp_lite."):
        if any(part in module.name for part in ("__main__", ".cli", ".containers.")):
            continue
        for name, value in vars(import_module(module.name)).items():
            made_here = getattr(value, "__module__", "") == module.name
            if made_here and hasattr(value, "makes_step") and not name.startswith("_"):
                found[f"{module.name}.{name}"] = value
    return found


def modules_in(value) -> list[str]:
    """The modules of the package in the pickle of a value, which would not outlive a move of them.

    What is named as a person types it is a text with a colon: ``opendp_lite:clamp``.
    """
    texts = [text for _, text, _ in genops(pickle.dumps(value)) if isinstance(text, str)]
    return [text for text in texts if text.startswith("opendp_lite.") and ":" not in text]
