"""The arguments of a decorated function: as a person typed them, and shown so again."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from keyword import iskeyword
from math import isfinite
from typing import Any, cast

import attrs
import numpy as np

from opendp_lite.base.dates import dates_in
from opendp_lite.base.errors import ParameterError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import (
    FrozenList,
    Named,
    Spelled,
    call_when_read,
    is_row,
    is_span,
    plain_value,
)
from opendp_lite.numbers.exact import (
    MOST_SHOWN,
    format_number,
    nearest,
    quote,
    rational_of_float,
)
from opendp_lite.numbers.fraction_array import FractionArray

Arguments = tuple[tuple[str, Any], ...]
"""The arguments of a call, by name."""

# The annotation as ``from __future__ import annotations`` leaves it, and as it is without.
_YES_OR_NO = ("bool", bool)
_STAR = inspect.Parameter.VAR_POSITIONAL
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_NAMED = inspect.Parameter.VAR_KEYWORD
# Types of columns of other libraries that people give where a list is meant.
_COLUMNS = frozenset(
    {
        *("Series", "Categorical", "StringArray", "ArrowStringArray"),
        *("Index", "RangeIndex", "CategoricalIndex", "DatetimeIndex", "IntervalIndex"),
        *("MultiIndex", "PeriodIndex", "TimedeltaIndex"),
    }
)
# Types of data of other libraries, which people give where an argument is meant.
_TABLES = frozenset({"DataFrame", "Table", "LazyFrame", "RecordBatch", "RecordBatchReader"})
# Arguments that are a few words or shares: a column of another library is data there.
_NAMES = frozenset({"column", "columns", "quantiles"})
# Types of entries that are hashable values as they are.
_PLAIN = frozenset({bool, int, float, str, Decimal, Fraction})
# Types of arguments that hold nothing else: no data, and nothing that could change.
_ONE_VALUE = _PLAIN | {type(None)}
# Types of which equal values are one value. Floats are not: 0.0 equals -0.0.
_ATOMS = frozenset({bool, int, str, Fraction, type(None)})
# Types whose repr is one value.
_KNOWN = (str, numbers.Number, Decimal, date, type, type(None), type(...))
_SHORT = 200
_MOST_ENTRIES = 2**24
# Entries of a list that may be part of a key; a longer one is likely to be typed once.
_MOST_IN_KEY = 1000
# Bits of an integer that Python still writes in decimal digits.
_LONGEST_DECIMAL = 14_000
# A longer list of whole numbers in equal steps is written as a range.
_MOST_LISTED = 10


def freeze_argument(value: Any) -> Any:
    """An argument as a hashable value: arrays and lists become lists that do not change."""
    if isinstance(value, FrozenList):
        return value
    if isinstance(value, np.ndarray):
        dates = value.dtype.kind == "M" and value.ndim == 1
        return freeze_argument((dates_in(value) if dates else value).tolist())
    if isinstance(value, np.datetime64):
        return dates_in(np.array([value]))[0]
    if type(value).__name__ in _COLUMNS:
        return freeze_argument(list(value))
    if isinstance(value, list | tuple | range):
        plain = set(map(type, value)) <= _PLAIN
        found = tuple(value if plain else map(freeze_argument, value))
        flat = plain or not any(isinstance(each, tuple) for each in found)
        return found if flat and isinstance(value, tuple) else FrozenList(found)
    return plain_value(value)


def typed_key(value: Any) -> tuple[object, ...] | None:
    """A hashable value that is equal for the same argument alone; None where there is none.

    Equality of arguments will not do: 1 equals True and 1.0, which make other keys of ``by``. A
    function has no key: a cache would keep alive whatever data it refers to.
    """
    kind = type(value)
    if kind in _ATOMS:
        return kind, value
    if kind in (float, Decimal):
        return kind, repr(value)
    if kind in (tuple, list, FrozenList):
        if len(value) > _MOST_IN_KEY:
            return None
        kinds = [(type(each), each) for each in value]
        parts = tuple([pair if pair[0] in _ATOMS else typed_key(pair[1]) for pair in kinds])
        # A tuple among the keys of ``by`` is a group, a list is the keys of one column.
        return None if None in parts else (tuple if kind is tuple else list, parts)
    return getattr(value, "typed_key", None)


def _freeze(parameter: inspect.Parameter, value: Any) -> Any:
    """As ``freeze_argument``; what was given under names of its own becomes pairs."""
    return freeze_argument([*map(list, value.items())] if parameter.kind is _NAMED else value)


def argument_text(value: object) -> str:
    """An argument as it would be typed."""
    if value is ...:
        return "..."
    if isinstance(value, tuple | FractionArray):
        return _range_text(value) or f"[{', '.join(map(_entry_text, value))}]"
    if isinstance(value, Fraction):
        close = nearest(value)
        if isfinite(close) and rational_of_float(close) == value:
            return format_number(value)
        return f"Fraction({', '.join(map(argument_text, value.as_integer_ratio()))})"
    if isinstance(value, int) and value.bit_length() > _LONGEST_DECIMAL:
        return hex(value)
    if isinstance(value, set | frozenset):  # No step takes one: it is data, of few values perhaps.
        return "{...}"
    return str(value.__name__) if inspect.isroutine(value) else repr(value)


def _range_text(values: Sequence[Any]) -> str:
    """More than a few whole numbers in equal steps as ``range`` gives them; empty for others."""
    if len(values) <= _MOST_LISTED or not all(type(each) in (int, Fraction) for each in values):
        return ""
    first, step = values[0], values[1] - values[0]
    evenly = step and all(first + step * i == each for i, each in enumerate(values))
    if not evenly or first.denominator * step.denominator > 1:
        return ""
    end = values[-1] + (1 if step > 0 else -1)
    typed = [first, end] if step == 1 else [first, end, step]
    return f"range({', '.join(argument_text(int(each)) for each in typed)})"


def _entry_text(value: Any) -> str:
    """An entry of a list as it would be typed: there a tuple is no list."""
    if not is_row(value):
        return argument_text(value)
    return f"({', '.join(map(_entry_text, value))}{',' if len(value) == 1 else ''})"


@lru_cache(maxsize=1024)
def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """The signature, read once."""
    return inspect.signature(function)


def without_first(signature: inspect.Signature) -> inspect.Signature:
    """All parameters but the first, which is the space, or the release."""
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(maxsize=1024)
def typed_signature(constructor: Callable[..., object]) -> inspect.Signature:
    """The parameters that a person types."""
    return without_first(signature_of(constructor))


def call_arguments(
    constructor: Callable[..., object], arguments: Arguments
) -> tuple[tuple[object, ...], dict[str, Any]]:
    """Named arguments as those of a call, after the space."""
    signature = typed_signature(constructor)
    given = {
        key: dict(value) if signature.parameters[key].kind is _NAMED else value
        for key, value in arguments
    }
    bound = inspect.BoundArguments(signature, cast(Any, given))
    return bound.args, bound.kwargs


def named_arguments(
    constructor: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Arguments:
    """Arguments by name, those left out that are equal to their default.

    So a pipeline is the same value whether a default was typed or not.
    """
    signature = typed_signature(constructor)
    found = signature.bind(*args, **kwargs).arguments
    several = {key: value for key, value in found.items() if type(value) not in _ONE_VALUE}
    for key, value in several.items():
        _refuse_table(constructor.__name__, key, value)
        _refuse_long(constructor.__name__, key, value)
    known = signature.parameters
    found |= {key: _freeze(known[key], value) for key, value in several.items()}
    for key, value in found.items():
        # A number in its place may pass as one: -1 is true, and as a number of places it is not 1.
        if known[key].annotation in _YES_OR_NO and type(value) is not bool:
            raise ParameterError(
                f"{constructor.__name__}: {key} is True or False, got {quote(value)}"
            )
    return tuple([pair for pair in found.items() if not _is_default(known[pair[0]], pair[1])])


def holds_data(value: object) -> bool:
    """Whether an argument may be data that was given by mistake."""
    known = type(value).__name__ in _TABLES | _COLUMNS
    return known or isinstance(value, list | dict | np.ndarray)


def _refuse_table(step: str, key: str, value: object) -> None:
    """Refuses a table in place of an argument; its values must not get into any message."""
    for kind in dict.fromkeys(map(type, value if isinstance(value, tuple | list) else (value,))):
        if kind.__name__ in (_TABLES if key not in _NAMES else _TABLES | _COLUMNS):
            raise ParameterError(
                f"{step}: {key} is a {kind.__name__}; the data goes into a second call, as "
                f"in dp.{step}(...)(data)"
            )


def _refuse_long(step: str, key: str, value: object) -> None:
    """Refuses more entries than memory is likely to hold, before it makes a tuple of them."""
    entries = entries_of(value)
    if entries > _MOST_ENTRIES:
        raise ParameterError(
            f"{step}: {key} has {entries} entries; at most 2^24 are taken. Give fewer"
        )


def entries_of(value: object) -> int:
    """How many entries a list has; 0 for anything else. Python gives a long range no length."""
    if isinstance(value, range):
        return (value[-1] - value[0]) // value.step + 1 if value else 0
    if isinstance(value, np.ndarray):
        return value.size
    return len(value) if isinstance(value, list | tuple | FractionArray) else 0


def leaves_of(value: object) -> int:
    """How many values an argument holds, those of lists in a list too; of a stranger, many.

    A pipeline or a body is one value, unless an argument in it holds many.
    """
    if isinstance(value, dict):
        value = (*value, *value.values())
    if isinstance(value, tuple | list | FractionArray):
        return len(value) if len(value) > MOST_SHOWN else sum(map(leaves_of, value))
    if isinstance(value, _KNOWN) or inspect.isroutine(value) or is_span(value):
        return 1
    if not isinstance(value, Spelled):
        # A budget or a measure of this library is one value, and holds no data.
        return 1 if type(value).__module__.startswith("opendp_lite.") else MOST_SHOWN + 1
    most = max(map(leaves_of, value.spell()[1].values()), default=1)
    return most if most > MOST_SHOWN else 1


def _is_default(parameter: inspect.Parameter, value: object) -> bool:
    default = parameter.default
    if type(default) not in _ONE_VALUE:
        default = freeze_argument(default)
    same_kind = isinstance(value, bool) == isinstance(default, bool)
    return same_kind and (value is default or bool(value == default))


def arguments_text(constructor: Callable[..., object], arguments: Arguments) -> str:
    """Arguments as they would be typed, without the parentheses."""
    parameters = typed_signature(constructor).parameters
    texts: list[str] = []
    by_name = False
    given = dict(arguments)
    for key, parameter in parameters.items():
        if key not in given:
            by_name = by_name or parameter.kind not in (_STAR, _KEYWORD)
            continue
        if parameter.kind is _STAR:
            texts.extend(map(_entry_text, given[key]))
        elif parameter.kind is _NAMED:
            texts.extend(_named_text(name, argument_text(each)) for name, each in given[key])
        else:
            prefix = f"{key}=" if by_name or parameter.kind is _KEYWORD else ""
            texts.append(prefix + argument_text(given[key]))
    return ", ".join(texts)


def _named_text(name: str, value: str) -> str:
    """An argument under a name of its own."""
    plain = name.isidentifier() and not iskeyword(name)
    return f"{name}={value}" if plain else f"**{{{name!r}: {value}}}"


@attrs.frozen(repr=False)
class TypedCall:
    """A call as a person typed it: a function, and its arguments without the first.

    Args:
        definition: The function.
        arguments: By name; those that are equal to their default are left out.
    """

    definition: Callable[..., object]
    arguments: Arguments

    @property
    def name(self) -> str:
        """The function's name."""
        return self.definition.__name__

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.name, dict(self.arguments)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what a person types, which makes a step of one call."""
        args, kwargs = call_arguments(self.definition, self.arguments)
        return call_when_read(Named.of(self.definition), *args, **kwargs)

    def __repr__(self) -> str:
        inside = arguments_text(self.definition, self.arguments)
        return f"{path_of(self.definition)}({inside})"

    def brief(self) -> str:
        """The repr where it is short: what is long may be data, given by mistake."""
        many = any(leaves_of(value) > MOST_SHOWN for _, value in self.arguments)
        if many or len(text := repr(self)) > _SHORT:
            return f"{path_of(self.definition)}(...)"
        return text

    def __str__(self) -> str:
        return self.brief()
