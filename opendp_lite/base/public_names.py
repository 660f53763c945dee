"""Public names: where each is defined, and how it is imported when it is first asked for (PEP 562).

The names of a folder are those of the stub beside it, ``__init__.pyi``, which type checkers read
too (SPEC 1 of Scientific Python). Each line of a stub is ``from module import name as name``. No
module bears the name of a public function: Python would set it in that function's place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec

TYPE_CHECKING = False  # That of typing: until the shell is imported, an interruption is not quiet.
if TYPE_CHECKING:
    from typing import Any, Final

FRONT: Final = "opendp_lite"
"""The module of the names that most people need."""
ROOMS: Final = (
    "bases",
    "bodies",
    "combinators",
    "estimators",
    "measurements",
    "measures",
    "metrics",
    "releases",
    "transformations",
)
"""The folders of the others, as ``dp.bodies``."""


def lazy_names(
    package: str, *, refusal: Callable[[str], AttributeError] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package needs to import its public names when they are first asked for.

    Folders and modules of the package can be asked for as well, such as ``dp.bodies``.

    Args:
        package: The name of the package.
        refusal: What is raised for a name that is not there; None for Python's own.

    Returns:
        The ``__getattr__``, the ``__dir__`` and the ``__all__`` of the package.

    Example:
        >>> import opendp_lite as dp
        >>> dp.bodies.__all__[:3], dp.bodies.Box.__module__
        (['Ball', 'Body', 'Box'], 'opendp_lite.bodies.box')
    """
    modules = read_stub(package)
    names = sorted(modules)

    def find(name: str) -> Any:
        if modules.get(name, package) != package:
            public = getattr(import_module(modules[name]), name)
            vars(sys.modules[package])[name] = public
            return public
        # A module that is no folder has no ``__path__``, for which the import of a part would ask.
        if name.startswith("__") or not hasattr(sys.modules[package], "__path__"):
            raise (refusal or refuse)(name)
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError as problem:
            if problem.name != f"{package}.{name}":
                raise
        raise (refusal or refuse)(name)

    def refuse(name: str) -> AttributeError:
        said = f"module {package!r} has no attribute {name!r}"
        return AttributeError(said, name=name, obj=sys.modules[package])

    return find, lambda: list(names), names


@cache
def read_stub(package: str) -> Mapping[str, str]:
    """For each public name of a package, the module that it is imported from."""
    spec: Any = find_spec(package)
    text = spec.loader.get_data(f"{spec.origin.rpartition('.')[0]}.pyi").decode()
    lines = (line.split() for line in text.replace("(", " ").split("from ")[1:])
    return {words[2]: words[0] for words in lines}


@cache
def _typed_paths() -> Mapping[tuple[str, str], str]:
    """How a person types each public name, by its module and itself. The front comes first."""
    places = [f"{FRONT}.{room}" for room in reversed(ROOMS)] + [FRONT]
    return {
        (module, name): f"dp{place.removeprefix(FRONT)}.{name}"
        for place in places
        for name, module in read_stub(place).items()
    }


def path_of(public: Any) -> str:
    """How a person types a function or a class: ``dp.clamp``, or the bare name of their own."""
    name: str = public.__name__
    return _typed_paths().get((str(public.__module__), name), name)


def find_public(name: str) -> Iterator[object]:
    """What bears a public name, in the front or in a folder; imported now."""
    for place in (FRONT, *(f"{FRONT}.{room}" for room in ROOMS)):
        if name in read_stub(place):
            yield getattr(import_module(place), name)
