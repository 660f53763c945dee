"""The steps of a statement: what they do, why their maps hold, and what they were given."""

from __future__ import annotations

from typing import Any

import attrs

from opendp_lite.docstrings import section, sentences, sources, summary
from opendp_lite.documents import path_of
from opendp_lite.signatures import argument_text
from opendp_lite.statements.recipe_parts import Documented, is_part_of_package, links_in
from opendp_lite.statements.wording import short


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


def step_of(link: Documented) -> StepStatement:
    """What the docstring of a step says of it."""
    function = link.documented
    proof = section(function, "Proof")
    return StepStatement(
        name=path_of(function),
        does=summary(function) or "Its author does not say what it does.",
        proof=proof,
        sources=sources(proof),
        own=not is_part_of_package(function),
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
