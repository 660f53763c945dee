"""Recipes as JSON: every part spells itself as a public name with arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any, Final, Protocol, Self, TypeVar, cast, runtime_checkable

import attrs
import numpy as np

from opendp_lite.base.errors import OpenDPLiteError, ParameterError, SpaceError
from opendp_lite.base.public_names import FRONT, path_of

VERSION: Final = 1
F = TypeVar("F", bound=Callable[..., object])
Find = Callable[[str], Callable[..., object] | None]
"""The function of a name that may be called; None for another name."""
_DEEPEST: Final = 200
# Classes of pandas that stand for a span of numbers or of time.
_SPANS: Final = ("Interval", "Period")
# The other kinds of objects, which have one field each.
_VALUES: Final = ("tuple", "fraction", "date", "time", "pandas")
# Characters of a stranger's text in a refusal, and of what Python says of it.
_MOST_CITED, _MOST_SAID = 60, 400
_FRACTION: Final = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,4000})?")


@runtime_checkable
class Spelled(Protocol):
    """What can be written as a call of a public name."""

    def spell(self) -> tuple[str, Mapping[str, Any]]:
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


@attrs.frozen
class Named:
    """A function or a class in a pickle, by the name that a person types.

    Pickle itself names the module that defines a thing: a pickle would not outlive a move of it.
    """

    path: str
    """As ``pkgutil.resolve_name`` reads it: ``opendp_lite.bodies:Box``."""

    @classmethod
    def of(cls, named: Callable[..., object]) -> Named:
        """By its public name, or by the module of a person's own."""
        place, _, name = path_of(named).rpartition(".")
        if not place:
            return cls(f"{named.__module__}:{named.__qualname__}")
        return cls(f"{FRONT}{place.removeprefix('dp')}:{name}")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        find, path = self.__reduce__()
        return find(*path)(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        # A function of Python's own, which no version of this package moves. It is imported only
        # here: it costs two milliseconds, and pickles are rare.
        return import_module("pkgutil").resolve_name, (self.path,)


def call_when_read(
    named: Named, *args: object, **kwargs: object
) -> tuple[Callable[[], object], tuple[()]]:
    """What ``__reduce__`` gives for a value that a call makes again."""
    return partial(named, *args, **kwargs), ()


class Storable:
    """An attrs class that is pickled as a call of its public name with its fields."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind: Any = type(self)
        if not path_of(kind).startswith("dp."):
            return super().__reduce_ex__(protocol)
        named = Named.of(kind)
        if hasattr(kind, "__attrs_init__"):
            named = Named(f"{named.path}._of_fields")
        fields = [field for field in attrs.fields(kind) if field.init]
        return call_when_read(named, **{each.alias: getattr(self, each.name) for each in fields})

    @classmethod
    def _of_fields(cls, **fields: object) -> Self:
        """For a class whose own constructor takes other arguments than its fields."""
        found: Any = cls.__new__(cls)
        found.__attrs_init__(**fields)
        return cast(Self, found)


def one_line(text: str) -> str:
    """A name or a repr in one line: it adds no line of its own to what people read."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " for each in text)


def without_parentheses(other: object) -> SpaceError | None:
    """The refusal of a step or a space whose parentheses were forgotten; None for anything else."""
    if hasattr(other, "makes_step"):
        name = path_of(other)
        return SpaceError(f"{name} is a step once it is called: {name}(...)")
    if inspect.isfunction(other) and spells(other):
        name = path_of(other)
        return SpaceError(f"{name} is a space once it is called, with parentheses: {name}()")
    return None


class FrozenList(tuple[object, ...]):
    """A list as a hashable value. A tuple among its entries is not the same as a list there."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        # A step is built again from its frozen arguments, also inside a step of a person's own: so
        # lists carry the mark, and what has none is still a tuple when it is frozen again.
        if not isinstance(other, tuple):
            return NotImplemented
        return super().__eq__(other) is True and all(map(_alike, self, other))

    __ne__ = object.__ne__
    __hash__ = tuple.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as a list, which the step that reads it freezes again."""
        return list, (tuple(self),)

    def __repr__(self) -> str:
        return repr(list(self))


_PLAINLY: Final[dict[type, Callable[[Any], object]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}


def plain_value(typed: Any) -> Any:
    """A number or a text that a person typed, as one of Python's own types.

    A type of one's own may say otherwise what it equals, as an enum of texts has another hash. Or
    it fails once it is compared: only where there is a row.
    """
    value = typed.item() if isinstance(typed, np.generic) else typed
    for kind, to_plain in _PLAINLY.items():
        if isinstance(value, kind) and type(value) not in (kind, bool):
            return to_plain(value)
    return value


def is_row(value: object) -> bool:
    """Whether an entry of an argument was typed as a tuple, such as ``("f", "Rome")``."""
    return isinstance(value, tuple) and not isinstance(value, FrozenList)


def is_span(value: object) -> bool:
    """Whether it is an interval of pandas, such as ``pandas.cut`` makes, or a period."""
    kind = type(value)
    return kind.__name__ in _SPANS and kind.__module__.partition(".")[0] == "pandas"


def _alike(first: object, second: object) -> bool:
    return is_row(first) == is_row(second)


def encode(value: object) -> object:
    """A value of a recipe as what JSON can hold."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction | Decimal):
        return {"fraction": str(Fraction(value))}
    if isinstance(value, date):
        return {"time" if isinstance(value, datetime) else "date": value.isoformat()}
    if is_span(value):
        return {"pandas": [type(value).__name__, *map(encode, _span(value))]}
    if isinstance(value, Spelled):
        name, arguments = value.spell()
        return {"name": name, "arguments": {key: encode(each) for key, each in arguments.items()}}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [{"tuple": encode(each)} if is_row(each) else encode(each) for each in value]
    raise ParameterError(
        f"{getattr(value, '__name__', repr(value))} cannot be written to JSON; steps made with "
        "@dp.stage, @dp.mechanism or @dp.postprocessor can"
    )


def _span(value: Any) -> tuple[object, ...]:
    """The arguments of an interval or a period of pandas."""
    if type(value).__name__ == "Period":
        return str(value), value.freqstr
    ends = (each.item() if hasattr(each, "item") else each for each in (value.left, value.right))
    return *ends, value.closed


def write(value: object) -> str:
    """A recipe, bound or not, as JSON text."""
    return str(
        import_module("json").dumps({"opendp_lite": VERSION, "pipeline": encode(value)}, indent=1)
    )


def read(text: str, find: Find) -> Any:
    """The pipeline that a JSON text spells, with only the names to call that ``find`` knows."""
    if not isinstance(text, str):
        raise ParameterError("from_json reads the text that to_json() wrote")
    try:
        # Imported only here and where a recipe is written: it costs a millisecond.
        document: object = import_module("json").loads(text, object_pairs_hook=_keep_names)
        version = document.get("opendp_lite") if isinstance(document, dict) else None
        if not isinstance(document, dict) or version is True or version != VERSION:
            raise ParameterError("from_json: this is not a pipeline written by to_json()")
        _require_known(document, "opendp_lite", "pipeline")
        found = _decode(document.get("pipeline"), find)
    except OpenDPLiteError:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        said = _cite(str(problem), _MOST_SAID)
        raise ParameterError(f"from_json: no JSON that to_json() wrote ({said})") from None
    if not isinstance(found, Spelled):
        raise ParameterError("from_json: this spells no pipeline; to_json() writes what does")
    return found


def _keep_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON. Of a name that stands twice other readers may take the first."""
    if len(found := dict(pairs)) < len(pairs):
        raise ParameterError("from_json: a name stands twice in one object; to_json() writes none")
    return found


def _require_known(fields: Mapping[str, object], *known: str) -> None:
    """Refuses other fields: a later version that writes one says something by it."""
    unknown = next((each for each in fields if each not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"from_json: this version knows no field {_cite(repr(unknown))}; read the file with "
            "the version that wrote it"
        )


def _cite(text: str, most: int = _MOST_CITED) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _decode(value: object, find: Find, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ParameterError(f"from_json reads at most {_DEEPEST} levels of nesting")
    if isinstance(value, list):
        return [_decode(each, find, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    only = [each for each in _VALUES if each in value][:1]
    _require_known(value, *(only or ("name", "arguments")))
    if "tuple" in value:
        return tuple(_decode([value["tuple"]], find, depth + 1)[0])
    if "fraction" in value:
        return _fraction(value["fraction"])
    if "date" in value:
        return date.fromisoformat(value["date"])
    if "time" in value:
        return datetime.fromisoformat(value["time"])
    if "pandas" in value:
        name, *parts = _decode(value["pandas"], find, depth + 1)
        if name not in _SPANS:
            raise ParameterError(f"from_json: {_cite(repr(name))} is no span of pandas")
        try:
            return getattr(import_module("pandas"), name)(*parts)
        except ImportError:
            raise ParameterError(
                f"from_json: it holds a {name} of pandas, which is not installed; type: pip "
                "install pandas"
            ) from None
    name, arguments = value.get("name"), value.get("arguments", {})
    function = find(name) if isinstance(name, str) else None
    if function is None:
        raise ParameterError(
            f"from_json: {_cite(repr(name))} is no step of this package; pass your own as "
            f"extra=[{_cite(str(name))}]"
        )
    if not isinstance(arguments, dict):
        raise ParameterError(f"from_json: the arguments of {name} must be given by name")
    positional: list[object] = []
    keywords: dict[str, object] = {}
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
        said = _cite(str(problem), _MOST_SAID)
        raise ParameterError(f"from_json: {name} cannot be called like this: {said}") from None


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ParameterError(f"from_json: {_cite(repr(text))} is no fraction")
    return Fraction(text)


NO_RECIPE: Final = (
    "a pipeline put together by hand has no recipe to copy or pickle; write it as a constructor "
    "under @dp.stage or @dp.mechanism"
)


class ByHand:
    """Stands in a recipe for what was put together by hand.

    No two are equal, and neither JSON nor pickle holds one.
    """

    def join(self, before: object) -> Any:
        """Refuses: what was put together by hand cannot be made again."""
        raise ParameterError(NO_RECIPE)

    def __repr__(self) -> str:
        return "<put together by hand>"


def by_hand(recipe: tuple[object, ...]) -> bool:
    """Whether a pipeline, or a part of it, was put together by hand."""
    return not recipe or any(isinstance(link, ByHand) for link in recipe)
