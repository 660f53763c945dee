"""Functions of a release that carry their parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import attrs

from opendp_lite.calls import argument_text, frozen_argument, prefixed, without_first

P = ParamSpec("P")
F = TypeVar("F")


@attrs.frozen(repr=False)
class Postprocessor:
    """A named function of a release with its parameters, made by ``@postprocessor``."""

    function: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, release: Any, /) -> Any:
        return self.function(release, **dict(self.arguments))

    def refusal(self, recipe: tuple[Any, ...]) -> str | None:
        """Why this cannot follow such a recipe, where the function can tell; else None."""
        suits = getattr(self.function, "suits", None)
        return None if suits is None else suits(recipe, **dict(self.arguments))

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.__name__, dict(self.arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the place where the function is defined, and its arguments."""
        return _again, (self.function.__module__, self.function.__qualname__, self.arguments)

    def __repr__(self) -> str:
        texts = [argument_text(value) for _, value in self.arguments]
        return f"{prefixed(self.function, self.__name__)}({', '.join(texts)})"


def suited(suits: Callable[..., str | None]) -> Callable[[F], F]:
    """Gives a function ``suits(recipe, **arguments)``: why it cannot follow a recipe, or None."""

    def mark(function: F) -> F:
        marked: Any = function
        marked.suits = suits
        return function

    return mark


def _again(module: str, name: str, arguments: tuple[tuple[str, Any], ...]) -> Postprocessor:
    made: Postprocessor = getattr(import_module(module), name)(**dict(arguments))
    return made


def postprocessor(function: Callable[Concatenate[Any, P], Any]) -> Callable[P, Postprocessor]:
    """Makes post-processing with parameters that shows in a pipeline's repr and JSON.

    >>> import opendp_lite as dp
    >>> @dp.postprocessor
    ... def times(release, factor):
    ...     return release * factor
    >>> (dp.count() >> dp.laplace(epsilon=1) >> times(2)).map(1)
    1.0
    """
    rest = without_first(inspect.signature(function))

    @functools.wraps(function)
    def recipe(*args: P.args, **kwargs: P.kwargs) -> Postprocessor:
        bound = rest.bind(*args, **kwargs).arguments
        return Postprocessor(
            function, tuple((key, frozen_argument(value)) for key, value in bound.items())
        )

    made: Any = recipe
    made.__signature__ = rest.replace(return_annotation="Postprocessor")
    made.makes_step = prefixed(function, function.__name__)
    return cast(Callable[P, Postprocessor], made)
