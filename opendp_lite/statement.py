"""What a release protects, in words, in JSON and in HTML: known before any data is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from math import isfinite
from textwrap import fill
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from opendp_lite.by_hand import ByHand, by_hand
from opendp_lite.docstrings import parameters, section, sentences, sources, summary
from opendp_lite.documents import Spelled, path_of
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, digits_up, exact, exp_up, round_up, sqrt_up
from opendp_lite.explain import TraceStep
from opendp_lite.measures.conversion import Conversion
from opendp_lite.measures.curve import without_curve
from opendp_lite.metrics import RowMetric
from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.samplers.error_law import half_widths
from opendp_lite.shown_results import for_json
from opendp_lite.signatures import argument_text
from opendp_lite.spaces import Space
from opendp_lite.tables import Tables

_DELTA: Final = Fraction(1, 10**6)
_FAR: Final = Fraction(10**9)
_LIKELY: Final = Fraction(19, 20)
_GROUP: Final = 5
_WIDTH: Final = 88
_LONG: Final = 120
_MOST_LAWS: Final = 4
_PACKAGE: Final = "opendp_lite."
_CHANGES: Final = re.compile(
    r"\b(clip(s|ped)?|shorten(s|ed)|left out|leaves? out|likewise|at most so many|counts? as"
    r"|an? missing (value|number|entry)|missing values|keeps the rows|in no group"
    r"|to a public number of rows)\b",
    re.IGNORECASE,
)
_ROW: Final = "border-top:1px solid #ccc;background:none"
_CELL: Final = "text-align:left;vertical-align:top;white-space:normal;padding:3px 14px 3px 0"

_TRUST: Final = (
    "Model: central. A trusted curator holds the data and makes the release.",
    "The loss bounds what the release tells anybody of what is protected, whatever else they know.",
    "The curator also trusts the computer, the operating system, Python, numpy and OpenSSL.",
)
_ALONE: Final = (
    "This release alone is stated here. The losses of other releases of the same data add up."
)
_EXACT: Final = (
    "The loss is computed with exact rational numbers and rounded up where it is shown.",
    "Sums are exact on a public grid. Noise and random choices follow their laws exactly: where "
    "floats could decide a draw wrongly, exact arithmetic decides it (docs/exactness.md).",
)
_OWN: Final = ("This is not said of what is no part of opendp_lite; see who is trusted.",)
_NO_STEPS: Final = ("The pipeline has no steps that name a proof.",)
_RANDOMNESS: Final = (
    f"Random bits come from {SecureEntropy.generator}.",
    "insecure_release(data, seed) is for tests. A release made by it is not covered.",
)
_HIDDEN: Final = (
    "Hidden: steps of opendp_lite show nothing about the values in errors, warnings, logs, shapes "
    "or types.",
    "Not hidden: how long a release takes and how much memory it needs may depend on the data. Do "
    "not let people whom you do not trust measure them.",
    "Not hidden: a refusal of text among numbers, or of a broken CSV file, tells that it is there "
    "(docs/privacy.md).",
)
_NO_PROMISE: Final = (
    "Conclusions about people in general. They hold with or without any one of them.",
    "Choices that were made by looking at the data: of bounds, keys, columns or budgets. The loss "
    "does not count them.",
)

_NOTHING_AFTER: Final = (
    "Nothing follows the last step. What a step computes from its own noisy numbers costs nothing.",
)


@runtime_checkable
class Documented(Protocol):
    """A step of a recipe that knows the function whose docstring says what it does."""

    @property
    def documented(self) -> Callable[..., Any]: ...


@attrs.frozen
class LossStatement:
    """The privacy loss in every measure in which it is known. All numbers are rounded up.

    Args:
        words: The loss in its own measure.
        variant: What public registries call this measure: "Pure DP", say.
        parts: The numbers of the loss in its own measure, exactly, by name.
        epsilon: Holds at ``delta``.
        delta: The probability that epsilon may fail.
        pure: An epsilon that always holds, if there is one.
        rho: Of zero-concentrated privacy, where known.
        mu: Of Gaussian privacy, where all noise is Gaussian.
        guess: Somebody who thinks two neighbouring datasets equally likely, and then sees the
            release, is right about them with at most this probability.
    """

    words: str
    variant: str
    parts: tuple[tuple[str, Fraction], ...]
    epsilon: Fraction
    delta: Fraction
    pure: Fraction | None
    rho: Fraction | None
    mu: Fraction | None
    guess: Fraction

    @property
    def odds(self) -> Fraction | None:
        """The factor by which a release changes anybody's odds at most, if there is one."""
        return None if self.pure is None else exp_up(self.pure)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The loss in words."""
        delta = digits_up(self.delta)
        known = []
        if dict(self.parts).get("delta") != self.delta:
            known.append(f"epsilon = {digits_up(self.epsilon)} at delta = {delta}")
        if self.rho is not None and "rho" not in dict(self.parts):
            known.append(f"rho = {digits_up(self.rho)} (zCDP)")
        if self.mu is not None and "mu squared" not in dict(self.parts):
            known.append(f"mu = {digits_up(self.mu)} (Gaussian privacy)")
        return (f"Loss: {self.words}.", *([f"This implies {', '.join(known)}."] if known else ()))

    def as_dict(self) -> dict[str, Any]:
        """Floats, None where a number is unknown or infinite, and the exact loss as text."""
        numbers = ("epsilon", "delta", "pure", "rho", "mu", "odds", "guess")
        return {
            "words": self.words,
            "variant": self.variant,
            "exact": {name: str(part) for name, part in self.parts},
            **{name: _number(getattr(self, name)) for name in numbers},
        }


@attrs.frozen
class UnitStatement:
    """Who or what the loss protects.

    Args:
        protected: "one row", say.
        neighbours: How two neighbouring datasets differ: "adding or removing one row", say.
        adjacency: Whether neighbours are bounded or unbounded.
        limit: How many rows of a person count; empty where nothing is said.
        question: What somebody who sees the release may ask.
        count: How many rows or people; None for values of another kind.
        group: The loss for five rows, in words; empty where the unit is not one row.
    """

    protected: str
    neighbours: str
    adjacency: str
    limit: str
    question: str
    count: int | None
    group: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The unit in words."""
        found = [
            f"{_begun(self.protected)}.",
            f"Neighbouring datasets differ by {self.neighbours}. {self.adjacency}",
        ]
        if self.limit:
            found.append(f"Rows that count: {self.limit}.")
        if self.group:
            found.append(
                f"A person with several rows is protected less: with {_GROUP} rows the loss is "
                f"{self.group}."
            )
        return tuple(found)


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
        typed = ", ".join(f"{name} = {_short(text)}" for name, text in self.given)
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


@attrs.frozen
class Position:
    """Where a release stands among others under one budget.

    Args:
        ledger: Where the entries stand: "the ledger survey" or "a session", say.
        number: The number of the entry.
        spent: The loss of all entries so far, this one included, in words.
        left: What may still be spent, in words.
        budget: The whole budget, in words.
        head: The head of the chain of entries, where the ledger keeps one.
        unit: What the owner of the ledger declares a unit of privacy to be, such as "person".
        note: What was written beside the release.
    """

    ledger: str
    number: int
    spent: str
    left: str
    budget: str
    head: str = ""
    unit: str = ""
    note: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The position in words."""
        found = [
            f"This is entry {self.number} of {self.ledger}, whose budget for all releases is "
            f"{self.budget}.",
            f"Spent so far, this release included: {self.spent}. Left: {self.left}.",
            "The losses of releases that are no entries there add up with these.",
        ]
        if self.unit:
            found.append(f"Its owner declares that it protects any one {self.unit}.")
        if self.note:
            found.append(f"Note: {self.note}.")
        if self.head:
            found.append(f"Head of its chain: {self.head}.")
        return tuple(found)


@attrs.frozen(repr=False)
class Statement:
    """What a release protects, how well, and what it relies on: see ``pipeline.statement()``.

    It is made from the pipeline alone. Nothing in it depends on data.

    Args:
        pipeline: The pipeline, as it is typed.
        made: What its steps do, a sentence each.
        loss: The privacy loss.
        unit: Who or what it protects.
        data: The data that it works on, in words.
        declared: What the space declares as public, a sentence each.
        parameters: The parameters of the steps, which are public too.
        changes: What the steps do to the data before the noise: clipping and what is left out.
        noise: The laws of the noise, in words, and how far off entries may be.
        explanation: Where the loss comes from, line by line.
        confidence: Of the intervals that were asked for; empty where none was.
        after: What follows the noise.
        steps: The steps, with their proofs.
        trusted: Functions and steps that are no part of opendp_lite.
        position: Where it stands in a ledger; None for a pipeline by itself.
    """

    pipeline: str
    made: tuple[str, ...]
    loss: LossStatement
    unit: UnitStatement
    data: str
    declared: tuple[str, ...]
    parameters: tuple[PublicParameters, ...]
    changes: tuple[str, ...]
    noise: tuple[str, ...]
    explanation: tuple[str, ...]
    confidence: tuple[str, ...]
    after: tuple[str, ...]
    steps: tuple[StepStatement, ...]
    trusted: tuple[str, ...]
    position: Position | None = None

    @property
    def sections(self) -> Mapping[str, tuple[str, ...]]:
        """The sentences of the statement, by the title above them."""
        return {
            "In short": self._short,
            "What is protected": self.unit.sentences,
            "What is not protected": _NO_PROMISE,
            "How well": (*self.loss.sentences, *self._conclusions),
            "Who is trusted": (*_TRUST, *self._relied_on),
            "Other releases": self._composition,
            "What is public": (*self.declared, *map(str, self.parameters)),
            "Before the noise": self._before,
            "Noise and intervals": self._accuracy,
            "After the noise": self.after,
            "Arithmetic": self._arithmetic,
            "Randomness": self._randomness,
            "What else could tell": _HIDDEN,
            "Steps and proofs": tuple(map(str, self.steps)) or _NO_STEPS,
        }

    @property
    def _short(self) -> tuple[str, ...]:
        found = [
            f"Protected: {self.unit.protected}. Privacy loss: {self.loss.words}.",
            f"Whoever sees the release and guesses {self.unit.question} is right in at most "
            f"{digits_up(100 * self.loss.guess, 3)} % of cases. Without the release it is 50 %.",
        ]
        if self.position is not None:
            found.append(f"Left for further releases: {self.position.left}.")
        if self.made:
            found.append(f"Made in these steps: {' '.join(self.made)}")
        return tuple(found)

    @property
    def _conclusions(self) -> tuple[str, ...]:
        guess = digits_up(100 * self.loss.guess, 3)
        found = [
            f"Think of somebody who does not know {self.unit.question}, and finds both equally "
            f"likely. After the release the right guess has a probability of at most {guess} %."
        ]
        if self.loss.odds is not None and isfinite(round_up(self.loss.odds)):
            factor = digits_up(self.loss.odds, 3)
            found.append(f"The release changes anybody's odds by a factor of at most {factor}.")
        found += [f"Where the loss comes from: {line}" for line in self.explanation[:1]]
        return tuple(found)

    @property
    def _relied_on(self) -> tuple[str, ...]:
        return tuple(
            f"The loss also relies on {each}, which is no part of opendp_lite."
            for each in self.trusted
        )

    @property
    def _composition(self) -> tuple[str, ...]:
        return (_ALONE,) if self.position is None else self.position.sentences

    @property
    def _before(self) -> tuple[str, ...]:
        found = self.changes or ("The steps named here say of no value that it is clipped.",)
        more = ("Steps and functions of your own may clip and leave out more.",)
        return (
            *found,
            *(more if self.trusted else ()),
            "No interval shows what clipping and leaving out have moved.",
        )

    @property
    def _accuracy(self) -> tuple[str, ...]:
        intervals = tuple(
            f"The release has intervals at confidence {each}." for each in self.confidence
        )
        return (*self.noise, *(intervals or ("The release has no interval of its own.",)))

    @property
    def _arithmetic(self) -> tuple[str, ...]:
        return (*_EXACT, *_OWN) if self.trusted else _EXACT

    @property
    def _randomness(self) -> tuple[str, ...]:
        return (*_RANDOMNESS, *_OWN) if self.trusted else _RANDOMNESS

    def __str__(self) -> str:
        found = ["Statement of privacy"]
        for title, said in self.sections.items():
            found.extend(["", title])
            found.extend(
                fill(each, _WIDTH, initial_indent="- ", subsequent_indent="  ") for each in said
            )
        return "\n".join([*found, "", "Pipeline", self.pipeline])

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold.

        ``deployment`` has the fields of the Differential Privacy Deployments Registry that follow
        from a pipeline, under the names that they have there: see ``docs/statements.md``.
        """
        return {
            "statement": 1,
            "made": list(self.made),
            "deployment": self._deployment(),
            "loss": self.loss.as_dict(),
            "unit": attrs.asdict(self.unit),
            "public": [
                *self.declared,
                *({"step": each.step, "given": dict(each.given)} for each in self.parameters),
            ],
            "changes": list(self.changes),
            "noise": list(self.noise),
            "explanation": list(self.explanation),
            "confidence": list(self.confidence),
            "after": list(self.after),
            "arithmetic": list(self._arithmetic),
            "randomness": list(self._randomness),
            "side_channels": list(_HIDDEN),
            "steps": [{**attrs.asdict(each), "sources": list(each.sources)} for each in self.steps],
            "trusted": list(self.trusted),
            "position": None if self.position is None else attrs.asdict(self.position),
            "pipeline": self.pipeline,
        }

    def _deployment(self) -> dict[str, Any]:
        loss, unit = self.loss, self.unit
        return {
            "dp_variant": {
                "variant_name": loss.variant,
                "data_domain": self.data,
                "unprotected_quantities": "\n".join([*self.declared, *map(str, self.parameters)]),
            },
            "privacy_loss": {
                "privacy_unit": unit.protected,
                "privacy_unit_details": " ".join(unit.sentences),
                "number_of_privacy_units": unit.count,
                "privacy_parameters": {name: _number(each) for name, each in loss.parts},
                "privacy_parameters_details": " ".join([*loss.sentences, *self._conclusions]),
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": " ".join([*_TRUST, *self._relied_on]),
                "release_type": "One release" if self.position is None else "Many releases",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "\n".join(self._before),
                "mechanisms": "\n".join(
                    [self.pipeline, *self._arithmetic, *self._randomness, *_HIDDEN]
                ),
                "composition": "\n".join(self._composition),
                "post_processing": "\n".join(self.after),
                "justification": "\n".join(map(str, self.steps)),
                "utility": "\n".join(self._accuracy),
            },
        }

    def as_html(self) -> str:
        """A table, with what you typed escaped."""
        told = {title: _paragraphs(said) for title, said in self.sections.items()}
        told["Pipeline"] = f"<code>{escape(self.pipeline)}</code>"
        rows = "".join(
            f"<tr style='{_ROW}'><th style='{_CELL};width:11em'>{title}</th>"
            f"<td style='{_CELL};overflow-wrap:anywhere'>{inner}</td></tr>"
            for title, inner in told.items()
        )
        return (
            "<div style='max-width:60em'><b>Statement of privacy</b>"
            f"<table style='border-collapse:collapse'><tbody>{rows}</tbody></table></div>"
        )

    def _repr_html_(self) -> str:
        return self.as_html()


def stated(measurement: Any, d_in: object, delta: Number | None) -> Statement:
    """The statement of a bound measurement, for inputs ``d_in`` apart.

    Args:
        measurement: The measurement.
        d_in: The distance.
        delta: Where epsilon is read off the curve; by default 1e-6, or the least delta above.
    """
    space: Space[Any] = measurement.input_space
    distance = space.metric.distance(d_in)
    links = list(_links([*(each.step for each in measurement.trace), *measurement.recipe]))
    functions = list(_functions([link for link in measurement.recipe if _joins(link)]))
    steps = tuple(dict.fromkeys(map(_step, links)))
    explanation = tuple(
        f"{line.strip().rstrip('.')}." for line in str(measurement.facts.explanation).splitlines()
    )
    followers = [link for link in measurement.recipe if not _joins(link)]
    before = dict.fromkeys(map(_step, filter(_joins, links)))
    own = [f"the step {step.name}" for step in before if step.own]
    if by_hand(measurement.recipe):
        own.append("a part that was put together by hand")
    return Statement(
        pipeline=repr(measurement),
        made=tuple(dict.fromkeys(map(_made, filter(_joins, _links(measurement.recipe))))),
        loss=_loss(measurement, distance, delta),
        unit=_unit(measurement, distance),
        data=space.domain.words(),
        declared=space.domain.public(),
        parameters=tuple(dict.fromkeys(filter(None, map(_parameters, _links(measurement.recipe))))),
        changes=tuple(
            dict.fromkeys((*_changes(links), *map(_begun, filter(_CHANGES.search, explanation))))
        ),
        noise=tuple(_noise(measurement.facts)),
        explanation=explanation,
        confidence=tuple(dict.fromkeys(_confidences(_links(measurement.recipe)))),
        after=tuple(map(_following, followers)) or _NOTHING_AFTER,
        steps=steps,
        trusted=(*own, *dict.fromkeys(f"the function {name}" for name in functions)),
    )


def _loss(measurement: Any, distance: Any, delta: Number | None) -> LossStatement:
    measure, loss = measurement.output_measure, measurement.privacy_map(distance)
    profile = measure.profile(loss)
    level = max(_DELTA, profile.delta(_FAR)) if delta is None else exact(delta, "delta")
    if not 0 <= level <= 1:
        raise ParameterError(f"statement: delta must be between 0 and 1, got {delta}")
    plain = without_curve(loss)
    numbers = plain if isinstance(plain, tuple) else (plain,)
    epsilon, ratio = profile.epsilon(level), profile.gaussian_ratio
    return LossStatement(
        words=measure.words(loss),
        variant=measure.variant,
        parts=tuple(zip(measure.parameters, numbers, strict=False))
        or (("epsilon", epsilon), ("delta", level)),
        epsilon=epsilon,
        delta=level,
        pure=profile.pure,
        rho=profile.rho,
        mu=None if ratio is None else sqrt_up(ratio),
        guess=(1 + profile.delta(Fraction(0))) / 2,
    )


def _unit(measurement: Any, distance: Any) -> UnitStatement:
    metric = measurement.input_space.metric
    return UnitStatement(
        protected=metric.protected(distance),
        neighbours=metric.words(distance),
        adjacency=metric.adjacency,
        limit=", ".join(dict.fromkeys(_limits(measurement.trace))),
        question=metric.question(distance),
        count=int(distance) if isinstance(distance, Fraction) else None,
        group=_group(measurement, distance),
    )


def _group(measurement: Any, distance: Any) -> str:
    """The loss for several rows, where one row is the unit."""
    if not isinstance(measurement.input_space.metric, RowMetric) or distance != 1:
        return ""
    loss = measurement.privacy_map(_GROUP * distance)
    return str(measurement.output_measure.words(loss))


def _limits(trace: Sequence[TraceStep]) -> Iterator[str]:
    """How many rows of a person count, wherever a step says so."""
    for each in trace:
        domain = None if each.space is None else each.space.domain
        if isinstance(domain, Tables) and domain.limit:
            yield domain.limit


def _links(value: Any) -> Iterator[Any]:
    """The steps of a recipe and of the pipelines among its arguments, each before its parts."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _links(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        if isinstance(value, Documented):
            yield value
        _, arguments = value.spelled()
        yield from _links(list(arguments.values()))


def _functions(value: Any) -> Iterator[str]:
    """The names of plain functions that a recipe was given, those of its releases left out."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _functions(each)
    elif isinstance(value, Spelled) and not isinstance(value, Space):
        _, arguments = value.spelled()
        for each in arguments.values():
            if callable(each) and not isinstance(each, Spelled):
                yield _name(each)
            yield from _functions(each)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _joins(link: object) -> bool:
    """Whether this is a step of the pipeline, and no conversion or function after it."""
    return isinstance(link, ByHand) or (isinstance(link, Documented) and hasattr(link, "join"))


def _made(link: Documented) -> str:
    return sentences(_step(link).does)[0]


def _step(link: Documented) -> StepStatement:
    function = link.documented
    proof = section(function, "Proof")
    return StepStatement(
        name=path_of(function),
        does=summary(function) or "Its author does not say what it does.",
        proof=proof,
        sources=sources(proof),
        own=not function.__module__.startswith(_PACKAGE),
    )


def _parameters(link: Any) -> PublicParameters | None:
    """The parameters of a step that are neither pipelines nor functions; None without any."""
    _, arguments = link.spelled()
    given = tuple(
        (name, argument_text(value))
        for name, value in arguments.items()
        if not callable(value) and not any(True for _ in _links(value))
    )
    return PublicParameters(path_of(link.documented), given) if given else None


def _changes(links: Sequence[Any]) -> Iterator[str]:
    """What the docstrings of steps say of clipping and of what is left out."""
    for link in links:
        function: Callable[..., Any] = link.documented
        _, arguments = link.spelled()
        told = parameters(function)
        described = {
            name: told[name]
            for name, value in arguments.items()
            if name in told and not callable(value)
        }
        name = path_of(function)
        for each in (summary(function), section(function, "Returns")):
            found = [sentence for sentence in sentences(each) if _CHANGES.search(sentence)]
            if found:
                yield f"{name}: {' '.join(found)}"
        for parameter, text in described.items():
            if _CHANGES.search(text):
                value = _short(argument_text(arguments[parameter]))
                yield f"{name}, {parameter} = {value}: {text}"


def _noise(facts: Any) -> Iterator[str]:
    """The laws of the noise, and how far off entries may be."""
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
    if facts.errors:
        widths = dict.fromkeys(half_widths(facts.errors, _LIKELY))
        told = ", ".join(digits_up(width, 3) for width in list(widths)[:_MOST_LAWS])
        more = ", ..." if len(widths) > _MOST_LAWS else ""
        yield (
            f"With a probability of {digits_up(100 * _LIKELY)} % the noise moves a released number "
            f"by at most {told}{more}."
        )


def _confidences(links: Iterator[Any]) -> Iterator[str]:
    for link in links:
        _, arguments = link.spelled()
        if arguments.get("confidence") is not None:
            yield argument_text(arguments["confidence"])


def _following(link: Any) -> str:
    """What follows the noise, in words."""
    if isinstance(link, Conversion):
        return f"{link!r} states the same loss in another measure: {link.formula()}."
    if isinstance(link, Documented):
        return f"{link!r}: {summary(link.documented)} It reads the release alone and costs nothing."
    return f"The function {_name(link)} reads the release alone and costs nothing."


def _begun(text: str) -> str:
    """With a capital letter."""
    return f"{text[0].upper()}{text[1:]}"


def _number(value: Fraction | None) -> float | None:
    """Rounded up; None where it is unknown or beyond floats."""
    found: float | None = None if value is None else for_json(round_up(value))
    return found


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}... (in full under Pipeline)"


def _paragraphs(said: Sequence[str]) -> str:
    return "".join(f"<div style='padding-bottom:3px'>{escape(each)}</div>" for each in said)
