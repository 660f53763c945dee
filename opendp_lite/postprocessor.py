"""Functions of a release that carry their parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import attrs

from opendp_lite.documents import path_of, step
from opendp_lite.signatures import (
    again,
    arguments_text,
    call_arguments,
    named_arguments,
    place_of,
    without_first,
)

P = ParamSpec("P")
F = TypeVar("F")
Release = TypeVar("Release", contravariant=True)
Next = TypeVar("Next", covariant=True)


@attrs.frozen(repr=False)
class Postprocessor(Generic[Release, Next]):
    """A named function of a release with its parameters, made by ``@postprocessor``."""

    function: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def documented(self) -> Callable[..., Any]:
        """The function whose docstring says what this does."""
        return self.function

    def __call__(self, release: Release, /) -> Next:
        args, kwargs = call_arguments(self.function, self.arguments)
        return cast(Next, self.function(release, *args, **kwargs))

    def refusal(self, recipe: tuple[Any, ...]) -> str | None:
        """Why this cannot follow such a recipe, where the function can tell; else None."""
        rejects = getattr(self.function, "rejects", None)
        args, kwargs = call_arguments(self.function, self.arguments)
        return None if rejects is None else rejects(recipe, *args, **kwargs)

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.__name__, dict(self.arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the place where the function is defined, and its arguments."""
        return again, (*place_of(self.function), self.arguments)

    def __repr__(self) -> str:
        inside = arguments_text(self.function, self.arguments)
        return f"{path_of(self.function)}({inside})"


def validator(rejects: Callable[..., str | None]) -> Callable[[F], F]:
    """Gives a function ``rejects(recipe, *arguments)``: why it cannot follow a recipe, or None."""

    def mark(function: F) -> F:
        marked: Any = function
        marked.rejects = rejects
        return function

    return mark


def postprocessor(
    function: Callable[Concatenate[Release, P], Next],
) -> Callable[P, Postprocessor[Release, Next]]:
    """Makes post-processing with parameters that shows in a pipeline's repr and JSON.

    Args:
        function: ``f(release, *parameters)``, a function of the release alone.

    Returns:
        A function of the parameters, whose result goes after a mechanism by ``>>``.

    Privacy:
        Costs nothing: the privacy map of the pipeline stays.

    Proof:
        Post-processing (Dwork and Roth 2014, proposition 2.1).

    Example:
        >>> import opendp_lite as dp
        >>> @dp.postprocessor
        ... def times(release, factor):
        ...     return release * factor
        >>> (dp.count() >> dp.laplace(epsilon=1) >> times(2)).map(1)
        1.0
    """
    rest = without_first(inspect.signature(function))

    @functools.wraps(function)
    def recipe(*args: P.args, **kwargs: P.kwargs) -> Postprocessor[Release, Next]:
        return Postprocessor(function, named_arguments(function, args, kwargs))

    made: Any = recipe
    made.__signature__ = rest.replace(return_annotation="Postprocessor")
    return cast(
        Callable[P, Postprocessor[Release, Next]],
        step(made),
    )
