"""Names that people type and that are not here: where to go instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from re import compile as compile_pattern
from typing import Any, Final, NoReturn, TypeVar, cast

from opendp_lite.base.errors import name_like
from opendp_lite.base.public_names import FRONT, ROOMS, path_of, read_stub
from opendp_lite.numbers.exact import MOST_SHOWN, quote
from opendp_lite.spelling.signatures import holds_data, signature_of

F = TypeVar("F", bound=Callable[..., object])

_BUDGET: Final = ("epsilon", "rho", "delta", "scale")
_NOT: Final = "that is not here"
_SAID: Final = {"use": "use", "near": f"{_NOT}, and nearest to it is", "not": f"{_NOT}:"}
_ENDS: Final = 2
_STARS: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
# What the parameters are called that take a column's name.
_COLUMNS: Final = frozenset({"by", "column", "columns", "person", "y"})
# Below it, names that have little in common would be offered.
_CLOSE: Final = 0.75
_ARGUMENTS: Final = "arguments.tsv"
_NAME: Final = compile_pattern(r"\w+")
_RELEASES: Final = compile_pattern(r"^dp\.(Result|Histogram)\.")
_PREFIXES: Final = compile_pattern(
    "^(make_|then_|private_|dp_|np_|m_|t_|sized_|bounded_(float|int)_(checked|ordered)_)+"
)


def argument_hint(
    path: str, args: Sequence[object], typed: Collection[str], parameters: Mapping[str, Parameter]
) -> str:
    """What to say of a call that a step does not take; empty where nothing is known.

    Args:
        path: The step, as a person types it.
        args: What was given without a name.
        typed: The names that were typed.
        parameters: What it takes, by name.
    """
    if hint := _value_hint(path, args, parameters) or _call_hint(path, args, typed, parameters):
        return hint
    named = bool(_COLUMNS & set(parameters))
    if set(typed) - set(parameters):
        return _name_hint(path, args, typed, parameters)
    keys = dict(zip(parameters, args, strict=False)).get("keys")
    if list(parameters)[1:2] == ["keys"] and isinstance(keys, str) and isinstance(args[0], str):
        return f"; several columns go into a list: {path}(['sex', 'age'], ...)"
    others = [each for each in args if each is not keys or not isinstance(each, list)]
    if any(holds_data(each) and not _are_names(each) for each in others):
        return f"; data goes into a second call: {path}(...)(data)"
    budget = ", epsilon=1" if "epsilon" in parameters else ""
    if args and _are_names(args[0]) and not named:
        return f"; a step before picks the columns: dp.select({str(args[0])[1:-1]}) >> {path}(...)"
    if args and isinstance(args[0], str) and not named:
        rest = ", ".join(repr(each) for each in args[1:] if isinstance(each, int | float))
        return f"; a step before picks the column: dp.select({args[0]!r}) >> {path}({rest})"
    if {"lower", "upper"} <= set(parameters) and len(args) < _ENDS:
        return f"; bounds on the values come first: {path}(0, 100{budget})"
    if hint := _missing_hint(path, args, typed, parameters):
        return hint
    if "bounds" in parameters and len(args) > _ENDS and "y" not in parameters:
        return f"; write {path}({quote(args[0])}, {_show_argument('bounds')}{budget})"
    if len(args) > 1 and all(isinstance(each, str) for each in args):
        return f"; several columns go into a list: {path}(['sex', 'age'], ...)"
    if args and budget and not {*typed} & {*_BUDGET}:
        return "; give the budget by name, as in epsilon=1"
    if args and isinstance(args[0], str) and "person" in parameters:
        return f"; write {path}(3, person={args[0]!r})"
    kinds = {each.name: each.kind for each in parameters.values()}
    first = next((name for name, kind in kinds.items() if kind is Parameter.KEYWORD_ONLY), None)
    before = [name for name, kind in kinds.items() if kind is not Parameter.KEYWORD_ONLY]
    if first is not None and len(args) > len(before):
        return f"; write {path}({', '.join([*before, _show_argument(first)])})"
    return ""


def _is_list_of(kind: type, given: object) -> bool:
    return isinstance(given, list) and all(isinstance(each, kind) for each in given)


def _are_names(given: object) -> bool:
    """Whether it may be names of columns: a longer list of texts may be data."""
    return _is_list_of(str, given) and len(cast(list[str], given)) <= MOST_SHOWN


def _value_hint(path: str, args: Sequence[object], parameters: Collection[str]) -> str:
    """What to type where values follow the column without a name; empty where none do."""
    column, values = args[:1], list(args[1:])
    named = next((name for name in ("among", "categories") if name in parameters), None)
    if not values or named is None:
        return ""
    tables = _are_names(column[0]) and _is_list_of(list, values[0])
    if tables and named == "categories":
        shown = _read_table("typed")["dp.chi_square.categories"]
        return f"; name the values: {path}({column[0]!r}, {shown})"
    if not isinstance(column[0], str):
        return ""
    start = f"; name the values: {path}({column[0]!r}, "
    if named == next(iter(parameters)):  # It takes no column.
        start = f"; a step before picks the column: dp.select({column[0]!r}) >> {path}("
    if isinstance(values[0], list | tuple | set):  # It may be data, which no message may show.
        other = "between" if named == "among" else "edges"
        return f"{start}{_show_argument(named)}) or {_show_argument(other)}"
    if named == "categories" and isinstance(values[0], int):
        return f"{start}{_show_argument('edges')})"
    words = all(isinstance(each, str) for each in values) and len(values) <= 3
    if named != "among" or not words:
        return ""
    compared = str(values[0])[:1] in ("<", ">")
    return f"{start}{'between=(10, None)' if compared else f'among={values}'})"


def _call_hint(
    path: str, args: Sequence[object], typed: Collection[str], parameters: Collection[str]
) -> str:
    """A whole call, where a formula or bounds in pairs were typed, or too much without a name."""
    known, first = _read_table("call").get(path), args[0] if args else None
    if known is None or set(typed) - set(parameters):
        return ""
    if isinstance(first, str) and "~" in first:
        return f"; {say_formula(first)}"
    many = "budget" in parameters and len(args) > list(parameters).index("budget")
    return f"; write {known}" if many or _are_pairs(first) else ""


def _are_pairs(given: object) -> bool:
    """Whether it is a list of tuples, or a dictionary of some: columns of data are none."""
    return _is_list_of(tuple, list(given.values()) if isinstance(given, dict) else given)


def say_formula(typed: str) -> str:
    """How a formula as in R is typed: its names, without its signs."""
    y, *x = dict.fromkeys(_NAME.findall(typed)) or ["y"]
    columns = ", ".join(f"{each!r}: (0, 100)" for each in (y, *x))
    return (
        f"a formula is written dp.linear_regression({y!r}, {x or ['x']}, bounds={{{columns}}}, "
        "epsilon=1)"
    )


def _missing_hint(
    path: str, args: Sequence[object], typed: Collection[str], parameters: Mapping[str, Parameter]
) -> str:
    """The first argument that has to be there and is not."""
    given = {*list(parameters)[: len(args)], *typed}
    for name, each in parameters.items():
        if each.default is each.empty and name not in given and each.kind not in _STARS:
            return f"; add {_read_table('typed').get(f'{path}.{name}', _show_argument(name))}"
    return ""


def _name_hint(
    path: str, args: Sequence[object], typed: Collection[str], parameters: Collection[str]
) -> str:
    """What to type in place of a name that is not taken; empty where nothing is known."""
    names = list(parameters)
    for name in sorted(set(typed) - set(names)):
        if name in _read_table("budget") and "budget" in names and "epsilon" not in names:
            before = names[: names.index("budget")]
            more = [_show_argument(each) for each in typed if each in names]
            more = [each for each in more if each.partition("=")[0] not in before]
            value = _read_table("budget")[name]
            return f"; a budget is one value: {path}({', '.join([*before, value, *more])})"
        if name in _read_table("say"):
            return f"; {_read_table('say')[name]}"
        listed = (
            each.split()
            for how, each, of in _read_names(_ARGUMENTS)
            if how == "meant" and name in of.split()
        )
        fits = (each for each in (*listed, name_like(name, names)) if set(each) <= set(names))
        if meant := next(fits, None):
            how = ", ".join(_read_table("typed").get(each, each) for each in meant)
            return f"; in place of {name}= it takes {how}"
        if name in _read_table("pick"):
            return f"; {_read_table('pick')[name]}"
        if name in _BUDGET and not set(_BUDGET) & set(names):
            return "; noise is a step of its own: put >> dp.laplace(epsilon=1) after it"
        if name in _read_table("noise"):
            return f"; for {name}= use {_read_table('noise')[name]}"
        if {"column", "among"} <= set(names) and not args and "column" not in typed:
            return f"; the column is text: {path}({name!r}, {_show_argument('among')})"
    return ""


@cache
def _read_table(kind: str) -> Mapping[str, str]:
    """What a table says of arguments, by their names."""
    lines = (line for line in _read_names(_ARGUMENTS) if line[0] == kind)
    return {name: said for _, said, names in lines for name in names.split()}


def _show_argument(name: str) -> str:
    return _read_table("typed").get(name, f"{name}=...")


def usage(name: str, parameters: Mapping[str, Parameter]) -> str:
    """How a function is called, in words."""
    typed = (
        f"{each.name}=" if each.kind is Parameter.KEYWORD_ONLY else each.name
        for each in parameters.values()
    )
    return f"it is called {name}({', '.join(typed)})"


def explain_names(public: F) -> F:
    """A function of the front that says of a call which it does not take what to type instead.

    Steps say so by themselves.
    """

    @wraps(public)
    def call(*args: object, **named: object) -> object:
        try:
            signature_of(public).bind(*args, **named)
        except TypeError as problem:
            taken = {**signature_of(public).parameters}
            given = args[1:] if taken.pop("cls", None) or taken.pop("self", None) else args
            method = public.__name__ != public.__qualname__
            path = f"dp.{public.__qualname__}" if method else path_of(public)
            path = _RELEASES.sub("release.", path)
            hint = _name_hint(path, given, named, taken) or _missing_hint(path, given, named, taken)
            raise TypeError(f"{path}(): {problem}; {usage(path, taken)}{hint}") from None
        return public(*args, **named)

    return cast(F, call)


def not_there(name: str) -> str:
    """What to say of a name that the front does not have."""
    said = f"module 'opendp_lite' has no attribute {name!r}"
    bare = _PREFIXES.sub("", name)
    for each in map(plain_name, (name, bare)):
        if each in other_names():
            return f"{said}; {other_names()[each]}"
        if each in _paths():
            return f"{said}; it is {_paths()[each]}"
    near = name_like(bare, read_stub(FRONT), cutoff=_CLOSE)
    # GaussianNB is no misspelt gaussian: what is typed wrong is about as long as what is meant.
    close = near and abs(len(plain_name(bare)) - len(plain_name(near[0]))) <= 1
    return f"{said}; did you mean {near[0]!r}?" if close else said


@cache
def other_names() -> Mapping[str, str]:
    """What is said of each name that other libraries have, as a table beside this file lists them.

    A name stands there in small letters and without underscores: ``GroupBy``, ``groupby`` and
    ``group_by`` are one.
    """
    lines = _read_names("other_names.tsv")
    return {name: f"{_SAID[how]} {typed}" for how, typed, names in lines for name in names.split()}


def refuse_name(value: Any, name: str, noun: str = "release") -> NoReturn:
    """Raises ``AttributeError`` with what to type for a name that a value does not have."""
    hint = "" if name.startswith("_") else _hint_after_dot(value, name, noun)
    said = f"{type(value).__name__!r} object has no attribute {name!r}"
    raise AttributeError(f"{said}{hint}", name=name, obj=value)


def _hint_after_dot(value: Any, name: str, noun: str) -> str:
    has = [each for each in dir(value) if not each.startswith("_")]
    for how, typed in _names_after_dot().get(name, ()):
        if how in ("say", noun):
            return f"; {typed}"
        if how != "has":
            continue
        for each in typed.split():
            # Those of a mapping are releases, and no numbers.
            if isinstance(value, Mapping) and each == ".values":
                continue
            if _NAME.findall(each)[0] in has:
                return f"; type {noun}{each}" if each[-1] == ")" else f"; it has {each}"
    if isinstance(value, Mapping) and name in value:
        return f"; type {noun}[{name!r}]"
    near = name_like(name, has, _CLOSE)
    return f"; did you mean .{near[0]}?" if near else ""


@cache
def _names_after_dot() -> Mapping[str, Sequence[tuple[str, str]]]:
    """What is said of each name that others have after a dot, in the order of the table."""
    found: dict[str, list[tuple[str, str]]] = {}
    for how, typed, names in _read_names("after_a_dot.tsv"):
        for name in names.split():
            found.setdefault(name, []).append((how, typed))
    return found


def _read_names(file: str) -> list[list[str]]:
    """The lines of a table beside this file, without its comments.

    Its loader reads from an archive, too. ``importlib.resources`` would be a thirtieth of the time
    until the first release.
    """
    spec: Any = find_spec(__name__)
    text = spec.loader.get_data(str(Path(__file__).with_name(file))).decode()
    return [line.split("\t") for line in text.splitlines() if line[0] != "#"]


def plain_name(name: str) -> str:
    """A name as the tables have it: in small letters and without underscores."""
    return name.lower().replace("_", "")


@cache
def _paths() -> Mapping[str, str]:
    """Where each public name is, the front first, by the name in small letters."""
    places = {f"{FRONT}.{room}": f"dp.{room}." for room in reversed(ROOMS)} | {FRONT: "dp."}
    return {
        plain_name(name): path + name for room, path in places.items() for name in read_stub(room)
    }
