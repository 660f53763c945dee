"""The steps of a statement: what they do, why their maps hold, and what they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from opendp_lite.by_hand import ByHand
from opendp_lite.docstrings import section, sentences, sources, summary
from opendp_lite.documents import Spelled, one_line, path_of
from opendp_lite.measures.conversion import Conversion
from opendp_lite.signatures import argument_text
from opendp_lite.spaces import Space
from opendp_lite.statements.wording import short

_PACKAGE: Final = "opendp_lite."


@runtime_checkable
class Documented(Spelled, Protocol):
    """A step of a recipe that knows the function whose docstring says what it does."""

    @property
    def documented(self) -> Callable[..., Any]: ...


@attrs.frozen
class PublicParameters:
    """The parameters of one step, which anybody may know.

    Args:
        step: Its name.
        given: The parameters by name, as they were typed.
    """

    step: str
    given: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        typed = ", ".join(f"{name} = {short(text)}" for name, text in self.given)
        return f"{self.step}: {typed}."


@attrs.frozen
class StepStatement:
    """A step and why its map holds.

    Args:
        name: As it is typed, without parameters.
        does: What it does.
        proof: The proof, or where it stands.
        sources: The papers that the proof cites, with their theorems.
        own: Whether it is no part of opendp_lite.
    """

    name: str
    does: str
    proof: str
    sources: tuple[str, ...]
    own: bool

    @property
    def because(self) -> str:
        """The sources, or else the start of the proof."""
        if self.sources:
            return f"{'; '.join(self.sources)}."
        return sentences(self.proof)[0] if self.proof else "No proof is stated."

    def __str__(self) -> str:
        where = "" if self.own else f" (docs/proofs.md, {self.name.rpartition('.')[2]})"
        does = sentences(self.does)[0]
        return f"{self.name}: {does} Proof: {self.because.removesuffix('.')}{where}."


def links_in(value: Any) -> Iterator[Any]:
    """The steps of a recipe and of the pipelines among its arguments, each before its parts."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from links_in(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        if isinstance(value, Documented):
            yield value
        _, arguments = value.spelled()
        yield from links_in(list(arguments.values()))


def joins(link: object) -> bool:
    """Whether this is a step of the pipeline, and no conversion or function after it."""
    return isinstance(link, ByHand) or (isinstance(link, Documented) and hasattr(link, "join"))


def step_of(link: Documented) -> StepStatement:
    """What the docstring of a step says of it."""
    function = link.documented
    proof = section(function, "Proof")
    return StepStatement(
        name=path_of(function),
        does=summary(function) or "Its author does not say what it does.",
        proof=proof,
        sources=sources(proof),
        own=not function.__module__.startswith(_PACKAGE),
    )


def parameters_of(link: Any) -> PublicParameters | None:
    """The parameters of a step that are neither pipelines nor functions; None without any."""
    _, arguments = link.spelled()
    given = tuple(
        (name, argument_text(value))
        for name, value in arguments.items()
        if not callable(value) and not any(True for _ in links_in(value))
    )
    return PublicParameters(path_of(link.documented), given) if given else None


def functions_in(value: Any) -> Iterator[str]:
    """The names of plain functions that a recipe was given, those of its releases left out."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from functions_in(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        _, arguments = value.spelled()
        for each in arguments.values():
            if callable(each) and not ours(each):
                yield name_of(each)
            yield from functions_in(each)


def inner_followers(value: Any) -> Iterator[Any]:
    """What follows the noise of the pipelines among the arguments of steps."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from inner_followers(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        name, arguments = value.spelled()
        for link in arguments["steps"] if name == "pipeline" else ():
            if not joins(link) and not isinstance(link, Space):
                yield link
        yield from inner_followers(list(arguments.values()))


def ours(link: object) -> bool:
    """Whether it is part of opendp_lite, and not of somebody who gave it the same attributes."""
    if isinstance(link, type):
        return link.__module__.startswith(_PACKAGE)
    made = type(link)
    function = link.documented if isinstance(link, Documented) else made
    return all(each.__module__.startswith(_PACKAGE) for each in (made, function))


def recipes_in(
    recipe: Sequence[Any], *, followed: bool = False
) -> Iterator[tuple[list[Documented], bool]]:
    """The steps of a recipe and of those in it, with whether a function follows their noise.

    Args:
        recipe: Of a pipeline.
        followed: Whether a function follows the pipeline around it.
    """
    steps = [link for link in recipe if joins(link) and isinstance(link, Documented)]
    after = followed or any(
        not joins(link) and not isinstance(link, Conversion | Space) for link in recipe
    )
    yield steps, after
    for inner in _pipelines_in([link.spelled()[1] for link in steps]):
        yield from recipes_in(inner, followed=after)


def _pipelines_in(value: Any) -> Iterator[Sequence[Any]]:
    """The steps of each pipeline in a value, and not those of pipelines within them."""
    if isinstance(value, Mapping):
        yield from _pipelines_in(list(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _pipelines_in(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        name, arguments = value.spelled()
        if name == "pipeline":
            yield arguments["steps"]
        else:
            yield from _pipelines_in(arguments)


def name_of(function: Any) -> str:
    """The name of a plain function, in one line."""
    return one_line(str(getattr(function, "__name__", type(function).__name__)))
