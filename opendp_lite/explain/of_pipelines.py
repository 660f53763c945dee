"""From a bound measurement to its statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Final, Protocol, TypeGuard, TypeVar, runtime_checkable

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import ByHand, Spelled, by_hand, one_line
from opendp_lite.explain import statement_parts
from opendp_lite.explain.statement import Position, Statement
from opendp_lite.explain.trace import walk
from opendp_lite.measures.divergences import Conversion
from opendp_lite.numbers.exact import Number, digits_up
from opendp_lite.samplers.law import Errors, Law, half_widths
from opendp_lite.spaces.space import Space
from opendp_lite.spelling.description import description_of
from opendp_lite.spelling.signatures import argument_text, signature_of

T = TypeVar("T")
_LISTED: Final = (
    *("made", "declared", "parameters", "changes", "confidence", "confidence_before"),
    *("after", "steps", "trusted"),
)
_LIKELY: Final = Fraction(19, 20)
_MOST_LAWS: Final = 4
_NOTHING_AFTER: Final = (
    "Nothing follows the last step. What a step computes from its own noisy numbers costs nothing.",
)


def make_statement(measurement: Any, d_in: object, delta: Number | None) -> Statement:
    """The statement of a bound measurement, for inputs ``d_in`` apart.

    Args:
        measurement: The measurement.
        d_in: The distance.
        delta: Where epsilon is read off the curve; by default 1e-6, or the least delta above.
    """
    space, measure, facts = measurement.input_space, measurement.output_measure, measurement.facts
    distance = space.metric.distance(d_in)
    if distance * 0 == distance:
        raise ParameterError(
            "statement: d_in must be above 0. Equal datasets give the same release, so a statement "
            "about a distance of 0 says nothing; statement() is about one unit"
        )
    recipe = measurement.recipe
    of_recipe = list(_links_in(recipe))
    links = [*_links_in([each.step for each in walk(measurement.trace)]), *of_recipe]
    parts = list(_parts_in(recipe))
    joined = [link for link in recipe if _joins(link)]
    given = [each for each in _values_in(joined) if not _joins(each)]
    inner = list(_inner_followers(given))
    functions = [*filter(callable, given), *inner]
    own = [f"the step {it.name}" for it in _once(map(_step_of, filter(_joins, links))) if it.own]
    relied_on = [
        ("domain", space.domain),
        ("metric", space.metric),
        ("measure", measure),
        *(("conversion", link) for link in recipe if isinstance(link, Conversion)),
        *(("class", each) for each in given if _is_spelled(each) and not callable(each)),
    ]
    own += [f"the {kind} {_name_of(each)}" for kind, each in relied_on if not _ours(each)]
    if by_hand(recipe):
        own.append("a part that was put together by hand")
    explanation = str(facts.explanation).splitlines()
    after = [*inner, *(link for link in recipe if not _joins(link))]
    return Statement(
        pipeline=one_line(repr(measurement)),
        made=_once(_step_of(link).does for link in of_recipe if _joins(link)),
        loss=statement_parts.loss_of(measure, measurement.privacy_map(distance), delta),
        unit=statement_parts.unit_of(
            space.metric,
            distance,
            measurement.trace,
            lambda each: measure.words(measurement.privacy_map(each)),
        ),
        data=space.domain.words(),
        declared=space.domain.public(),
        parameters=_once(filter(None, map(_parameters_of, of_recipe))),
        changes=_once(_changes(links)),
        noise=tuple(_noise(facts.laws, facts.errors, len(parts))),
        explanation=tuple(f"{line.strip().rstrip('.')}." for line in explanation),
        confidence=_once(_confidences(parts, followed=False)),
        confidence_before=_once(_confidences(parts, followed=True)),
        after=_once(map(_following, after)) or _NOTHING_AFTER,
        steps=_once(map(_step_of, links)),
        trusted=(
            *own,
            *_once(f"the function {_name_of(each)}" for each in functions if not _ours(each)),
        ),
    )


def state_all(
    stated: Mapping[int, Statement],
    loss: statement_parts.LossStatement,
    group: str,
    position: Position,
) -> Statement:
    """One statement of several releases that protect the same unit.

    Args:
        stated: What each of them says, by its number.
        loss: Of all of them together.
        group: That loss for several rows of a person, in words.
        position: What was spent.
    """
    every = list(stated.values())
    once = {name: _once(chain(*(getattr(each, name) for each in every))) for name in _LISTED}
    said: dict[str, list[str]] = {}
    for number, each in stated.items():
        for line in each.noise:
            said.setdefault(line, []).append(str(number))
    after = tuple(line for line in once.pop("after") if line not in _NOTHING_AFTER)
    unit = every[0].unit
    limits = ", ".join(_once(each.unit.limit for each in every if each.unit.limit))
    return copy_with(
        every[0],
        **once,
        pipeline="\n".join(f"{number}: {each.pipeline}" for number, each in stated.items()),
        loss=loss,
        unit=attrs.evolve(unit, limit=limits, group=group if unit.group else ""),
        noise=tuple(f"In release {', '.join(which)}: {line}" for line, which in said.items()),
        explanation=(),
        after=after or _NOTHING_AFTER,
        position=position,
    )


def _once(values: Iterable[T]) -> tuple[T, ...]:
    """Each value where it comes first."""
    return tuple(dict.fromkeys(values))


def _changes(links: Sequence[Defined]) -> Iterator[str]:
    """What steps say of clipping and of what is left out."""
    for link in links:
        if said := description_of(link.definition).changes:
            yield f"{path_of(link.definition)}: {said}"


def _noise(given: Sequence[Law], errors: Sequence[Errors], recipes: int) -> Iterator[str]:
    """The laws of the noise, and how far off entries may be.

    Args:
        given: The laws of the noise.
        errors: Of the numbers that are released.
        recipes: How many there are in it, of which some may declare no law.
    """
    laws = list(
        dict.fromkeys(
            f"{law.kind} of standard deviation {law.standard_deviation:.6g} on the grid of "
            f"multiples of 2^{law.exponent}"
            for law in given
        )
    )
    if not laws:
        yield "Noise and random choices are those of the steps below."
    # Where the errors of what is released are not those of the noise, something follows it.
    where = "" if errors else ", of each sum or count that the release is computed from"
    for each in laws[:_MOST_LAWS]:
        yield f"Noise: {each}{where}."
    if len(laws) > _MOST_LAWS:
        yield f"Noise: {len(laws) - _MOST_LAWS} further laws of other scales."
    if laws and recipes > 1:
        yield "Other noise and random choices, if there are any, are those of the steps below."
    if errors:
        widths = dict.fromkeys(half_widths(errors, _LIKELY))
        told = ", ".join(digits_up(width, 3) for width in list(widths)[:_MOST_LAWS])
        more = ", ..." if len(widths) > _MOST_LAWS else ""
        yield (
            f"With a probability of {digits_up(100 * _LIKELY)} % the noise moves a released number "
            f"by at most {told}{more}."
        )


def _confidences(parts: Sequence[RecipePart], *, followed: bool) -> Iterator[str]:
    """The confidences of the steps whose noise a function follows, or of the others."""
    for steps, is_followed in parts:
        for link in steps if is_followed is followed else ():
            _, arguments = link.spell()
            default = signature_of(link.definition).parameters.get("confidence")
            given = arguments.get("confidence", default and default.default)
            if given is not None:
                yield argument_text(given)


def _following(link: object) -> str:
    """What follows the noise, in words."""
    if isinstance(link, Conversion) and not _ours(link):
        return f"{_name_of(link)} states the loss in another measure, and the loss relies on it."
    if not _ours(link):
        told = f"The function {_name_of(link)} costs nothing if it reads the release alone."
        return one_line(f"{_said_of(link)} {told}".strip())
    if isinstance(link, Conversion):
        return f"{link!r} states the same loss in another measure: {link.formula()}."
    return f"{_said_of(link)} It reads the release alone and costs nothing."


def _said_of(link: object) -> str:
    """What a function of a release says that it does; empty for a plain one."""
    return f"{link!r}: {_step_of(link).does}" if isinstance(link, Defined) else ""


_PIPELINE: Final = "pipeline"


@runtime_checkable
class Defined(Spelled, Protocol):
    """A step of a recipe that knows the function that defines it."""

    @property
    def definition(self) -> Callable[..., object]: ...


RecipePart = tuple[Sequence[Defined], bool]
"""The steps of a pipeline before and with the noise; whether a function follows their noise."""


def _links_in(value: object) -> Iterator[Defined]:
    """The public steps of a recipe and of the pipelines in its arguments, each before its parts."""
    found = (each for each in _values_in(value) if isinstance(each, Defined))
    return (each for each in found if not each.definition.__name__.startswith("_"))


def _joins(link: object) -> bool:
    """Whether this is a step of the pipeline, and no conversion or function after it."""
    return isinstance(link, ByHand) or (isinstance(link, Defined) and hasattr(link, "join"))


def _inner_followers(values: Iterable[object]) -> Iterator[object]:
    """What follows the noise of the pipelines among some values."""
    for found in filter(_is_spelled, values):
        name, arguments = found.spell()
        for link in arguments["steps"] if name == _PIPELINE else ():
            if not _joins(link) and not isinstance(link, Space):
                yield link


def _ours(link: object) -> bool:
    """Whether it is part of opendp_lite, and not of somebody who gave it the same attributes."""
    if isinstance(link, type):
        return _is_part_of_package(link)
    made = type(link)
    function = link.definition if isinstance(link, Defined) else made
    return _is_part_of_package(made) and _is_part_of_package(function)


def _is_part_of_package(definition: object) -> bool:
    """Whether a function or a class is defined in opendp_lite."""
    return str(definition.__module__).startswith("opendp_lite.")


def _parts_in(recipe: Sequence[object], *, followed: bool = False) -> Iterator[RecipePart]:
    """A recipe and those in it, each without the steps of pipelines within it.

    Args:
        recipe: Of a pipeline.
        followed: Whether a function follows the pipeline around it.
    """
    steps = [link for link in recipe if _joins(link) and isinstance(link, Defined)]
    after = followed or any(
        not _joins(link) and not isinstance(link, Conversion | Space) for link in recipe
    )
    yield steps, after
    for inner in _pipelines_in([link.spell()[1] for link in steps]):
        yield from _parts_in(inner, followed=after)


def _name_of(function: object) -> str:
    """The name of a plain function, in one line."""
    return one_line(str(getattr(function, "__name__", type(function).__name__)))


def _pipelines_in(value: object) -> Iterator[Sequence[object]]:
    """The steps of each pipeline in a value, and not those of pipelines within them."""
    for each in _single(value):
        if _is_spelled(each):
            name, arguments = each.spell()
            yield from [arguments["steps"]] if name == _PIPELINE else _pipelines_in(arguments)


def _values_in(value: object) -> Iterator[object]:
    """All single values in a value and in the arguments of what is written as a call."""
    for each in _single(value):
        yield each
        if _is_spelled(each):
            yield from _values_in(each.spell()[1])


def _single(value: object) -> Iterator[object]:
    """The members of sequences and mappings, and of those within them."""
    if isinstance(value, Mapping):
        yield from _single(list(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _single(each)
    else:
        yield value


def _is_spelled(value: object) -> TypeGuard[Spelled]:
    return isinstance(value, Spelled) and not isinstance(value, Space)


def _step_of(link: Defined) -> statement_parts.StepStatement:
    """What a step says of itself."""
    said = description_of(link.definition)
    return statement_parts.StepStatement(
        name=path_of(link.definition),
        does=said.does or "Its author does not say what it does.",
        proof=said.proof.text,
        sources=tuple(said.proof.sources),
        own=not _is_part_of_package(link.definition),
    )


def _parameters_of(link: Defined) -> statement_parts.PublicParameters | None:
    """The parameters of a step that are neither pipelines nor functions; None without any."""
    _, arguments = link.spell()
    given = tuple(
        (name, argument_text(value))
        for name, value in arguments.items()
        if not callable(value) and not any(True for _ in _links_in(value))
    )
    return statement_parts.PublicParameters(path_of(link.definition), given) if given else None
