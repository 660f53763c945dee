"""From a bound measurement to its statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import by_hand, one_line
from opendp_lite.explain.statement import Statement
from opendp_lite.explain.statement_parts import (
    Defined,
    PartRecipe,
    Stated,
    StatedNoise,
    functions_in,
    inner_followers,
    joins,
    links_in,
    loss_of,
    name_of,
    objects_in,
    ours,
    parameters_of,
    recipes_in,
    step_of,
    unit_of,
)
from opendp_lite.explain.trace import walk
from opendp_lite.measures.conversion import Conversion
from opendp_lite.numbers.exact import Number, digits_up
from opendp_lite.samplers.law import half_widths
from opendp_lite.spelling.description import description_of
from opendp_lite.spelling.signatures import argument_text

_LIKELY: Final = Fraction(19, 20)
_MOST_LAWS: Final = 4
_NOTHING_AFTER: Final = (
    "Nothing follows the last step. What a step computes from its own noisy numbers costs nothing.",
)


def make_statement(measurement: Stated, d_in: object, delta: Number | None) -> Statement:
    """The statement of a bound measurement, for inputs ``d_in`` apart.

    Args:
        measurement: The measurement.
        d_in: The distance.
        delta: Where epsilon is read off the curve; by default 1e-6, or the least delta above.
    """
    space = measurement.input_space
    distance = space.metric.distance(d_in)
    if distance * 0 == distance:
        raise ParameterError(
            "statement: d_in must be above 0. Equal datasets give the same release, so a statement "
            "about a distance of 0 says nothing; statement() is about one unit"
        )
    links = list(links_in([*(each.step for each in walk(measurement.trace)), *measurement.recipe]))
    recipes = list(recipes_in(measurement.recipe))
    joined = [link for link in measurement.recipe if joins(link)]
    inner = list(inner_followers(joined))
    functions = [*functions_in(joined), *(name_of(each) for each in inner if not ours(each))]
    steps = tuple(dict.fromkeys(map(step_of, links)))
    explanation = tuple(
        f"{line.strip().rstrip('.')}." for line in str(measurement.facts.explanation).splitlines()
    )
    followers = [*inner, *(link for link in measurement.recipe if not joins(link))]
    before = dict.fromkeys(map(step_of, filter(joins, links)))
    own = [f"the step {step.name}" for step in before if step.own]
    parts = [
        ("domain", space.domain),
        ("metric", space.metric),
        ("measure", measurement.output_measure),
        *(("conversion", link) for link in measurement.recipe if isinstance(link, Conversion)),
        *(("class", each) for each in objects_in(joined)),
    ]
    for kind, each in parts:
        if not ours(each):
            own.append(f"the {kind} {name_of(each)}")
    if by_hand(measurement.recipe):
        own.append("a part that was put together by hand")
    return Statement(
        pipeline=one_line(repr(measurement)),
        made=tuple(dict.fromkeys(map(_make, filter(joins, links_in(measurement.recipe))))),
        loss=loss_of(measurement, distance, delta),
        unit=unit_of(measurement, distance),
        data=space.domain.words(),
        declared=space.domain.public(),
        parameters=tuple(
            dict.fromkeys(filter(None, map(parameters_of, links_in(measurement.recipe))))
        ),
        changes=tuple(dict.fromkeys(_changes(links))),
        noise=tuple(_noise(measurement.facts, len(recipes))),
        explanation=explanation,
        confidence=tuple(dict.fromkeys(_confidences(recipes, followed=False))),
        confidence_before=tuple(dict.fromkeys(_confidences(recipes, followed=True))),
        after=tuple(dict.fromkeys(map(_following, followers))) or _NOTHING_AFTER,
        steps=steps,
        trusted=(*own, *dict.fromkeys(f"the function {name}" for name in functions)),
    )


def _make(link: Defined) -> str:
    return step_of(link).does


def _changes(links: Sequence[Defined]) -> Iterator[str]:
    """What steps say of clipping and of what is left out."""
    for link in links:
        if said := description_of(link.definition).changes:
            yield f"{path_of(link.definition)}: {said}"


def _noise(facts: StatedNoise, recipes: int) -> Iterator[str]:
    """The laws of the noise, and how far off entries may be.

    Args:
        facts: Of the mechanism.
        recipes: How many there are in it, of which some may declare no law.
    """
    laws = list(
        dict.fromkeys(
            f"{law.kind} of standard deviation {law.standard_deviation:.6g} on the grid of "
            f"multiples of 2^{law.exponent}"
            for law in facts.laws
        )
    )
    if not laws:
        yield "Noise and random choices are those of the steps below."
    for each in laws[:_MOST_LAWS]:
        yield f"Noise: {each}."
    if len(laws) > _MOST_LAWS:
        yield f"Noise: {len(laws) - _MOST_LAWS} further laws of other scales."
    if laws and recipes > 1:
        yield "Other noise and random choices, if there are any, are those of the steps below."
    if facts.errors:
        widths = dict.fromkeys(half_widths(facts.errors, _LIKELY))
        told = ", ".join(digits_up(width, 3) for width in list(widths)[:_MOST_LAWS])
        more = ", ..." if len(widths) > _MOST_LAWS else ""
        yield (
            f"With a probability of {digits_up(100 * _LIKELY)} % the noise moves a released number "
            f"by at most {told}{more}."
        )


def _confidences(recipes: Sequence[PartRecipe], *, followed: bool) -> Iterator[str]:
    """The confidences of the steps whose noise a function follows, or of the others."""
    for each in recipes:
        for link in each.steps if each.followed is followed else ():
            _, arguments = link.spell()
            if arguments.get("confidence") is not None:
                yield argument_text(arguments["confidence"])


def _following(link: object) -> str:
    """What follows the noise, in words."""
    if isinstance(link, Conversion) and not ours(link):
        return f"{name_of(link)} states the loss in another measure, and the loss relies on it."
    if not ours(link):
        told = f"The function {name_of(link)} costs nothing if it reads the release alone."
        return one_line(f"{_said_of(link)} {told}".strip())
    if isinstance(link, Conversion):
        return f"{link!r} states the same loss in another measure: {link.formula()}."
    return f"{_said_of(link)} It reads the release alone and costs nothing."


def _said_of(link: object) -> str:
    """What a function of a release says that it does; empty for a plain one."""
    return f"{link!r}: {step_of(link).does}" if isinstance(link, Defined) else ""
