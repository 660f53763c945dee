"""Recipes as JSON: every part spells itself as a public name with arguments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from opendp_lite.errors import OpenDPLiteError, ParameterError, SpaceError
from opendp_lite.fraction_array import FractionArray
from opendp_lite.rooms import FRONT, ROOMS

VERSION: Final = 1
F = TypeVar("F", bound=Callable[..., Any])
_DEEPEST: Final = 200
_FRACTION: Final = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,4000})?")


@runtime_checkable
class Spelled(Protocol):
    """What can be written as a call of a public name."""

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        ...


def spellable(public: F) -> F:
    """Marks a public function or class as a name that a pipeline written to JSON may call."""
    cast(Any, public).spells = public.__name__
    return public


def step(public: F) -> F:
    """Marks a function that makes a step of a pipeline, once it is called."""
    cast(Any, public).makes_step = True
    return spellable(public)


def spells(public: object) -> bool:
    """Whether a public name was marked as spellable, itself and not by a base class."""
    return getattr(public, "spells", None) == getattr(public, "__name__", "")


@lru_cache(maxsize=1024)
def path_of(public: Callable[..., Any]) -> str:
    """How a person types a function or a class: ``dp.clamp``, or the bare name of their own."""
    name, module = public.__name__, str(public.__module__)
    if not module.startswith(f"{FRONT}."):
        return name
    own = ".".join(module.split(".")[:2])
    for place in (FRONT, own, *(f"{FRONT}.{room}" for room in ROOMS)):
        if _holds(import_module(place), name, public):
            return f"dp{place.removeprefix(FRONT)}.{name}"
    return name


def _holds(module: ModuleType, name: str, public: Callable[..., Any]) -> bool:
    """Whether a function or a class is a public name of a module, decorated or not."""
    listed = name in getattr(module, "__all__", ())
    return listed and inspect.unwrap(getattr(module, name)) is inspect.unwrap(public)


def one_line(text: str) -> str:
    """A name or a repr in one line: it adds no line of its own to what people read."""
    return "".join(each if each.isprintable() else " " for each in text)


def without_parentheses(other: object) -> SpaceError | None:
    """The refusal of a step whose parentheses were forgotten; None for anything else."""
    if not hasattr(other, "makes_step"):
        return None
    name = path_of(cast(Any, other))
    return SpaceError(f"{name} is a step once it is called: {name}(...)")


def encode(value: Any) -> Any:
    """A value of a recipe as what JSON can hold."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list | FractionArray):
        return [encode(each) for each in value]
    if isinstance(value, Fraction | Decimal):
        return {"fraction": str(Fraction(value))}
    if isinstance(value, Spelled):
        name, arguments = value.spelled()
        return {"name": name, "arguments": {key: encode(each) for key, each in arguments.items()}}
    raise ParameterError(
        f"{getattr(value, '__name__', repr(value))} cannot be written to JSON; steps made with "
        "@dp.stage, @dp.mechanism or @dp.postprocessor can"
    )


def write(value: Any) -> str:
    """A recipe, bound or not, as JSON text."""
    return json.dumps({"opendp_lite": VERSION, "pipeline": encode(value)}, indent=1)


def read(text: str, find: Callable[[str], Callable[..., Any] | None]) -> Any:
    """The pipeline that a JSON text spells, with only the names to call that ``find`` knows."""
    if not isinstance(text, str):
        raise ParameterError("from_json reads the text that to_json() wrote")
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("opendp_lite") != VERSION:
            raise ParameterError("from_json: this is not a pipeline written by to_json()")
        found = _decode(document.get("pipeline"), find)
    except OpenDPLiteError:
        raise
    except (ValueError, RecursionError) as problem:
        raise ParameterError(f"from_json: not JSON ({problem})") from None
    if not isinstance(found, Spelled):
        raise ParameterError("from_json: this spells no pipeline; to_json() writes what does")
    return found


def _decode(value: Any, find: Callable[[str], Callable[..., Any] | None], depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ParameterError(f"from_json reads at most {_DEEPEST} levels of nesting")
    if isinstance(value, list):
        return [_decode(each, find, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    if "fraction" in value:
        return _fraction(value["fraction"])
    name, arguments = value.get("name"), value.get("arguments", {})
    function = find(name) if isinstance(name, str) else None
    if function is None:
        raise ParameterError(
            f"from_json: {name!r} is no step of this package; pass your own as extra=[{name}]"
        )
    if not isinstance(arguments, dict):
        raise ParameterError(f"from_json: the arguments of {name} must be given by name")
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    named: Any = ()
    kinds = inspect.signature(function).parameters
    for key, each in arguments.items():
        kind = kinds[key].kind if key in kinds else None
        found = _decode(each, find, depth + 1)
        if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(each, list):
            positional.extend(found)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named = found
        else:
            keywords[key] = found
    try:
        return function(*positional, **keywords, **dict(named))
    except (OpenDPLiteError, RecursionError):
        raise
    except Exception as problem:
        raise ParameterError(f"from_json: {name} cannot be called like this: {problem}") from None


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ParameterError(f"from_json: {text!r} is no fraction")
    return Fraction(text)
