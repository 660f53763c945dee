"""Public names of a package, each imported when it is first asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package whose public names stand before its modules of the same name.

    After an import of ``opendp_lite.transformations.sum`` Python sets that module as ``sum`` of
    the package, whoever imported it. Here ``sum`` stays the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        own = value is sys.modules.get(f"{self.__name__}.{name}")
        if not (own and name in self.__all__):
            super().__setattr__(name, value)


def lazy_names(
    package: str, *, refusal: Callable[[str], AttributeError] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package needs to import its public names when they are first asked for.

    The names are those of the stub beside it, ``__init__.pyi``, which type checkers read too
    (SPEC 1 of Scientific Python). Each line of a stub is ``from module import name as name``.
    Modules of the package can be asked for as well, such as ``dp.errors``.

    Args:
        package: The name of the package, or of a module with a stub.
        refusal: What is raised for a name that is not there; None for Python's own.

    Returns:
        The ``__getattr__``, the ``__dir__`` and the ``__all__`` of the package.

    Example:
        >>> import opendp_lite as dp
        >>> dp.bodies.__all__[:3], dp.bodies.Box.__module__
        (['Ball', 'Body', 'Box'], 'opendp_lite.bodies.box')
    """
    module = sys.modules[package]
    module.__class__ = _Package
    modules = _stub(module)
    names = sorted(modules)

    def found(name: str) -> Any:
        if modules.get(name, package) == package:
            return _submodule(module, name, refusal or _refusal(module))
        vars(module)[name] = public = getattr(import_module(modules[name]), name)
        return public

    return found, lambda: list(names), names


def _stub(module: ModuleType) -> dict[str, str]:
    """For each name in the stub of a module, the module that it is imported from."""
    spec: Any = module.__spec__
    text = spec.loader.get_data(f"{spec.origin.rpartition('.')[0]}.pyi").decode()
    lines = (line.split() for line in text.replace("(", " ").split("from ")[1:])
    return {words[2]: words[0] for words in lines}


def _submodule(
    package: ModuleType, name: str, refusal: Callable[[str], AttributeError]
) -> ModuleType:
    """A module of a package by the last part of its name, imported now."""
    path = f"{package.__name__}.{name}"
    if "__path__" in vars(package):
        try:
            return import_module(path)
        except ModuleNotFoundError as problem:
            if problem.name != path:
                raise
    raise refusal(name)


def _refusal(module: ModuleType) -> Callable[[str], AttributeError]:
    """As Python refuses a name that a module does not have."""

    def refused(name: str) -> AttributeError:
        said = f"module {module.__name__!r} has no attribute {name!r}"
        return AttributeError(said, name=name, obj=module)

    return refused
