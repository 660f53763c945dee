"""The steps, functions and inner pipelines that a recipe is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from opendp_lite.by_hand import ByHand
from opendp_lite.documents import Spelled, one_line
from opendp_lite.measures.conversion import Conversion
from opendp_lite.spaces import Space

_PACKAGE: Final = "opendp_lite."
_PIPELINE: Final = "pipeline"


@runtime_checkable
class Documented(Spelled, Protocol):
    """A step of a recipe that knows the function whose docstring says what it does."""

    @property
    def documented(self) -> Callable[..., Any]: ...


@attrs.frozen
class PartRecipe:
    """The steps of one pipeline, without those of pipelines within it.

    Args:
        steps: The steps before and with the noise.
        followed: Whether a function follows their noise.
    """

    steps: Sequence[Documented]
    followed: bool


def links_in(value: Any) -> Iterator[Any]:
    """The steps of a recipe and of the pipelines among its arguments, each before its parts."""
    return (each for each in _spelled_in(value) if isinstance(each, Documented))


def joins(link: object) -> bool:
    """Whether this is a step of the pipeline, and no conversion or function after it."""
    return isinstance(link, ByHand) or (isinstance(link, Documented) and hasattr(link, "join"))


def functions_in(value: Any) -> Iterator[str]:
    """The names of plain functions that a recipe was given, those of its releases left out."""
    for each in _arguments_in(value):
        if callable(each) and not joins(each) and not ours(each):
            yield name_of(each)


def objects_in(value: Any) -> Iterator[Any]:
    """What a recipe was given beside numbers, texts, functions and pipelines: a basis, say."""
    for each in _arguments_in(value):
        if not callable(each) and _is_spelled(each) and not joins(each):
            yield each


def inner_followers(value: Any) -> Iterator[Any]:
    """What follows the noise of the pipelines among the arguments of steps."""
    for found in _spelled_in(value):
        name, arguments = found.spelled()
        for link in arguments["steps"] if name == _PIPELINE else ():
            if not joins(link) and not isinstance(link, Space):
                yield link


def ours(link: object) -> bool:
    """Whether it is part of opendp_lite, and not of somebody who gave it the same attributes."""
    if isinstance(link, type):
        return is_part_of_package(link)
    made = type(link)
    function = link.documented if isinstance(link, Documented) else made
    return is_part_of_package(made) and is_part_of_package(function)


def is_part_of_package(definition: Any) -> bool:
    """Whether a function or a class is defined in opendp_lite."""
    return str(definition.__module__).startswith(_PACKAGE)


def recipes_in(recipe: Sequence[Any], *, followed: bool = False) -> Iterator[PartRecipe]:
    """A recipe and those in it.

    Args:
        recipe: Of a pipeline.
        followed: Whether a function follows the pipeline around it.
    """
    steps = [link for link in recipe if joins(link) and isinstance(link, Documented)]
    after = followed or any(
        not joins(link) and not isinstance(link, Conversion | Space) for link in recipe
    )
    yield PartRecipe(steps, after)
    for inner in _pipelines_in([link.spelled()[1] for link in steps]):
        yield from recipes_in(inner, followed=after)


def name_of(function: Any) -> str:
    """The name of a plain function, in one line."""
    return one_line(str(getattr(function, "__name__", type(function).__name__)))


def _pipelines_in(value: Any) -> Iterator[Sequence[Any]]:
    """The steps of each pipeline in a value, and not those of pipelines within them."""
    for each in _single(value):
        if _is_spelled(each):
            name, arguments = each.spelled()
            yield from [arguments["steps"]] if name == _PIPELINE else _pipelines_in(arguments)


def _spelled_in(value: Any) -> Iterator[Spelled]:
    """All that is written as a call in a value and in the arguments of the calls."""
    for each in _single(value):
        if _is_spelled(each):
            yield each
            yield from _spelled_in(each.spelled()[1])


def _arguments_in(value: Any) -> Iterator[Any]:
    """The single arguments of all calls in a value."""
    for link in _spelled_in(value):
        yield from _single(link.spelled()[1])


def _single(value: Any) -> Iterator[Any]:
    """The members of sequences and mappings, and of those within them."""
    if isinstance(value, Mapping):
        yield from _single(list(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _single(each)
    else:
        yield value


def _is_spelled(value: Any) -> bool:
    return isinstance(value, Spelled) and not isinstance(value, Space)
