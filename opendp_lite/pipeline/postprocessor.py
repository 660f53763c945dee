"""Functions of a release that carry their parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import attrs

from opendp_lite.base.spelling import step
from opendp_lite.spelling.description import UNPROVED, Description, Proof, describe
from opendp_lite.spelling.signatures import (
    TypedCall,
    call_arguments,
    named_arguments,
    without_first,
)

P = ParamSpec("P")
F = TypeVar("F")
Release = TypeVar("Release", contravariant=True)
Next = TypeVar("Next", covariant=True)


@attrs.frozen(repr=False)
class Postprocessor(TypedCall, Generic[Release, Next]):
    """A named function of a release with its parameters, made by ``@postprocessor``."""

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, release: Release, /) -> Next:
        args, kwargs = call_arguments(self.definition, self.arguments)
        return cast(Next, self.definition(release, *args, **kwargs))

    def refusal(self, recipe: tuple[object, ...]) -> str | None:
        """Why this cannot follow such a recipe, where the function can tell; else None."""
        rejects = getattr(self.definition, "rejects", None)
        args, kwargs = call_arguments(self.definition, self.arguments)
        return None if rejects is None else rejects(recipe, *args, **kwargs)


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
