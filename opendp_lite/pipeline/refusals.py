"""What is said of steps that do not fit: where the chain broke, and what to type instead."""

from __future__ import annotations

from opendp_lite import explain
from opendp_lite.base.errors import SpaceError
from opendp_lite.base.spelling import without_parentheses
from opendp_lite.measures.divergences import Conversion
from opendp_lite.numbers.exact import quote
from opendp_lite.pipeline.questions import Pipeline, brief, link_text
from opendp_lite.spaces.domains import Domain


def heading(link: object) -> str:
    """A step of a recipe with three dots for each pipeline in it."""
    return link_text(link) if callable(link) else str(getattr(link, "heading", link))


def brief_heading(link: object) -> str:
    """As ``heading``, in a refusal."""
    return brief(getattr(link, "elided", link))


def refuse_no_data(pipeline: object, more: tuple[object, ...]) -> SpaceError:
    """The refusal of a call without data, or with more than that."""
    alone = " alone, and a step before picks a column: dp.select('age') >> pipeline" if more else ""
    return SpaceError(f"{brief(pipeline)} is called on data{alone}: write pipeline(data)")


def check_follower(other: object, recipe: tuple[object, ...]) -> None:
    """Refuses what cannot come after noise."""
    refusal = getattr(other, "refusal", None)
    if refusal is not None and (reason := refusal(recipe)):
        problem = SpaceError(reason)
    elif isinstance(other, Pipeline):
        problem = SpaceError(
            f"{brief(other)} works on data and cannot follow noise; put it before the mechanism. "
            "Only a plain function of the release can follow"
        )
    elif forgotten := without_parentheses(other):
        problem = forgotten
    elif callable(other) or isinstance(other, Conversion):
        return
    else:
        problem = SpaceError(f"only a function of the release can follow it, got {quote(other)}")
    raise _at_the_end(problem, recipe, other)


def refuse_step(other: object, recipe: tuple[object, ...]) -> SpaceError:
    """The refusal of what cannot follow the transformation of a recipe."""
    if forgotten := without_parentheses(other):
        problem = forgotten
    elif callable(other):
        before = recipe[-1] if recipe else "the step before"
        problem = SpaceError(
            f"{brief(other)} is a plain function and follows {before}, before any noise: its "
            "effect on privacy is unknown. Put it after laplace() or gaussian(), or write it as a "
            "step with a stability map under @dp.stage"
        )
    else:
        problem = SpaceError(
            f">> joins pipeline steps; {quote(other)} is not one. To ask something of a whole "
            "pipeline, put parentheses around it: (a >> b).map(1)"
        )
    return _at_the_end(problem, recipe, other)


def _at_the_end(problem: SpaceError, recipe: tuple[object, ...], other: object) -> SpaceError:
    shown = brief(other) if callable(other) else quote(other)
    return explain.pointing(problem, [*map(brief_heading, recipe), shown], len(recipe))


def refuse_kind(
    step: str, needs: tuple[type[Domain], ...], giver: object, given: type[Domain]
) -> SpaceError:
    """The refusal of a kind of domain that a step is not for; it may need none by name."""
    if not needs:
        return SpaceError(f"{step} does not name {given.kind} in its annotation; {given.onward}")
    alone = "" if needs[1:] else needs[0].given
    return SpaceError(
        f"{step} needs {alone or needs[0].kind}; {giver} gives {given.given or given.kind}. "
        f"{needs[0].bridge_from(given)}"
    )


def refuse_no_space(pipeline: object) -> SpaceError:
    """The refusal of steps that bind themselves to no space."""
    shown = brief(pipeline)
    return SpaceError(
        f"{shown} needs an input space. Write dp.records(columns=['age', 'visits']) >> "
        f"{shown}; the pipelines in it have no space of their own (dp.select('age') >> ...)"
    )


def refuse_start(before: object) -> SpaceError:
    """The refusal of what no pipeline starts from."""
    return without_parentheses(before) or SpaceError(
        "a pipeline starts from a space such as dp.records(); call it on data instead: "
        f"pipeline(data). Got {type(before).__name__}"
    )
