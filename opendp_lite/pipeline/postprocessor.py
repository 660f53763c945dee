"""Functions of a release that carry their parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import attrs

from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Named, call_when_read, step
from opendp_lite.spelling.description import UNPROVED, Description, Proof, describe
from opendp_lite.spelling.signatures import (
    Arguments,
    arguments_text,
    call_arguments,
    named_arguments,
    without_first,
)

P = ParamSpec("P")
F = TypeVar("F")
Release = TypeVar("Release", contravariant=True)
Next = TypeVar("Next", covariant=True)


@attrs.frozen(repr=False)
class Postprocessor(Generic[Release, Next]):
    """A named function of a release with its parameters, made by ``@postprocessor``."""

    function: Callable[..., object]
    arguments: Arguments

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def definition(self) -> Callable[..., object]:
        """The function that defines it."""
        return self.function

    def __call__(self, release: Release, /) -> Next:
        args, kwargs = call_arguments(self.function, self.arguments)
        return cast(Next, self.function(release, *args, **kwargs))

    def refusal(self, recipe: tuple[object, ...]) -> str | None:
        """Why this cannot follow such a recipe, where the function can tell; else None."""
        rejects = getattr(self.function, "rejects", None)
        args, kwargs = call_arguments(self.function, self.arguments)
        return None if rejects is None else rejects(recipe, *args, **kwargs)

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""
        return self.__name__, dict(self.arguments)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what a person types."""
        args, kwargs = call_arguments(self.function, self.arguments)
        return call_when_read(Named.of(self.function), *args, **kwargs)

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


@overload
def postprocessor(
    function: Callable[Concatenate[Release, P], Next], /
) -> Callable[P, Postprocessor[Release, Next]]: ...
@overload
def postprocessor(
    *, does: str = "", proof: Proof = UNPROVED
) -> Callable[
    [Callable[Concatenate[Release, P], Next]], Callable[P, Postprocessor[Release, Next]]
]: ...
def postprocessor(
    function: Callable[..., object] | None = None, /, *, does: str = "", proof: Proof = UNPROVED
) -> object:
    """Makes post-processing with parameters that shows in a pipeline's repr and JSON.

    It costs nothing: the privacy map of the pipeline stays (Dwork and Roth 2014, proposition 2.1).

    Args:
        function: ``f(release, *parameters)``, a function of the release alone.
        does: What it does, in a sentence. Statements say it.
        proof: Why the loss stays; ``docs/proofs.md`` shows it.

    Returns:
        A function of the parameters, whose result goes after a mechanism by ``>>``.

    Example:
        >>> import opendp_lite as dp
        >>> @dp.postprocessor(does="Multiplies the release.")
        ... def times(release, factor):
        ...     return release * factor
        >>> (dp.count() >> dp.laplace(epsilon=1) >> times(2)).map(1)
        1.0
    """

    def decorate(function: Callable[..., object]) -> object:
        @functools.wraps(describe(Description(does, proof=proof))(function))
        def recipe(*args: object, **kwargs: object) -> Postprocessor[object, object]:
            return Postprocessor(function, named_arguments(function, args, kwargs))

        typed = without_first(inspect.signature(function))
        cast(Any, recipe).__signature__ = typed.replace(return_annotation="Postprocessor")
        return step(recipe)

    return decorate if function is None else decorate(function)
