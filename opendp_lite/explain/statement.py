"""What a statement says, in words, in JSON and in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any, Final

import attrs

from opendp_lite.explain import statement_parts
from opendp_lite.numbers.exact import digits_up
from opendp_lite.samplers.entropy import SecureEntropy


@attrs.frozen
class Position:
    """Where a release stands among others under one budget, or all of them.

    Args:
        ledger: Where the entries stand: "the ledger survey" or "a session", say.
        number: Which release it is there, from 1; of all of them how many there are.
        spent: The loss of all entries so far, this one included, in words.
        left: What may still be spent, in words; empty where there is no budget.
        budget: The whole budget, in words; empty where there is none.
        head: The head of the chain of entries, where the ledger keeps one.
        unit: What the owner of the ledger declares a unit of privacy to be, such as "person".
        note: What was written beside the release.
        entry: The number of its entry in the chain, which counts other entries too; 0 without one.
        releases: A sentence for each release, where the statement is about all of them.
    """

    ledger: str
    number: int
    spent: str
    left: str
    budget: str
    head: str = ""
    unit: str = ""
    note: str = ""
    entry: int = 0
    releases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which release it is, in words."""
        if self.releases:
            return f"All releases of {self.ledger} so far: {self.number}."
        words = f", {self.note!r}" if self.note else ""
        entry = f" (entry {self.entry})" if self.entry else ""
        return f"This is release {self.number}{entry} of {self.ledger}{words}."

    @property
    def budget_left(self) -> tuple[str, ...]:
        """Whom the budget protects, and how much of it is left, in words."""
        owner = f"The owner of the ledger declares that it protects any one {self.unit}."
        left = (
            f"Left for further releases: {self.left}. The whole budget is {self.budget}."
            if self.budget
            else f"Spent so far: {self.spent}. No budget bounds what may still be released."
        )
        return (owner, left) if self.unit else (left,)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The position in words."""
        bounded = [f"The budget for all of its releases is {self.budget}."] if self.budget else []
        found = [
            self.title,
            *self.releases,
            *bounded,
            f"Spent so far{'' if self.releases else ', this release included'}: {self.spent}."
            + (f" Left: {self.left}." if self.budget else ""),
            "The losses of releases that are no entries there add up with these.",
        ]
        if self.head:
            found.append(f"Head of its chain: {self.head}.")
        return tuple(found)


_ROW: Final = "border-top:1px solid #ccc;background:none"
_CELL: Final = "text-align:left;vertical-align:top;white-space:normal;padding:3px 14px 3px 0"

_TRUST: Final = (
    "Model: central. A trusted curator holds the data and makes the release.",
    "The loss bounds what the release tells anybody of what is protected, whatever else they know.",
    "The curator also trusts the computer, the operating system, Python, numpy and the source of "
    "random bits.",
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
_KEEPS_NOTHING: Final = (
    "A function or step of this kind must keep and show nothing of what it sees. The loss counts "
    "nothing but what the pipeline releases."
)
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
    "Not hidden: a refusal of text or another object among numbers, or of a broken CSV file, tells "
    "that it is there (docs/privacy.md).",
)
# Of the deployments registry, by group: the numbers of a loss, and what no pipeline knows.
_PARAMETERS: Final = frozenset({"epsilon", "delta", "rho"})
_TO_FILL: Final[Mapping[str, Sequence[str]]] = {
    "": ("url_slug", "status", "tier"),
    "basic": (
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "data_product_sector", "publication_date"),
    ),
    "deployment_model": (
        *("model_name_details", "actors", "release_type_details", "data_source_type"),
        *("data_source_type_details", "access_type", "access_type_details"),
    ),
    "administrative": ("registry_authors", "sources"),
}
_LISTS: Final = ("changes", "noise", "explanation", "confidence", "confidence_before", "after")
_NO_PROMISE: Final = (
    "Conclusions about people in general. They hold with or without any one of them.",
    "Choices that were made by looking at the data: of bounds, keys, columns or budgets. The loss "
    "does not count them.",
)


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
        confidence_before: Of those that a function follows, which may leave them out.
        after: What follows the noise.
        steps: The steps, with their proofs.
        trusted: Functions and steps that are no part of opendp_lite.
        position: Where it stands in a ledger; None for a pipeline by itself.

    Example:
        >>> import opendp_lite as dp
        >>> statement = (dp.count() >> dp.laplace(epsilon=1)).statement()
        >>> statement.loss.pure, statement.noise[0]
        (Fraction(1, 1), 'Noise: discrete Laplace noise of standard deviation 1.35696 on the grid
        of multiples of 2^0.')
    """

    pipeline: str
    made: tuple[str, ...]
    loss: statement_parts.LossStatement
    unit: statement_parts.UnitStatement
    data: str
    declared: tuple[str, ...]
    parameters: tuple[statement_parts.PublicParameters, ...]
    changes: tuple[str, ...]
    noise: tuple[str, ...]
    explanation: tuple[str, ...]
    confidence: tuple[str, ...]
    confidence_before: tuple[str, ...]
    after: tuple[str, ...]
    steps: tuple[statement_parts.StepStatement, ...]
    trusted: tuple[str, ...]
    position: Position | None = None

    @property
    def sections(self) -> Mapping[str, tuple[str, ...]]:
        """The sentences of the statement, by the title above them."""
        own = _OWN if self.trusted else ()
        return {
            "In short": self._short,
            "What is protected": self.unit.sentences,
            "What is not protected": _NO_PROMISE,
            "How well": (*self.loss.sentences, *self._conclusions),
            "Who is trusted": (*_TRUST, *self._relied_on),
            self._others: (_ALONE,) if self.position is None else self.position.sentences,
            "What is public": (*self.declared, *map(str, self.parameters)),
            "Before the noise": self._before,
            "Noise and intervals": self._accuracy,
            "After the noise": self.after,
            "Arithmetic": (*_EXACT, *own),
            "Randomness": (*_RANDOMNESS, *own),
            "What else could tell": _HIDDEN,
            "Steps and proofs": tuple(map(str, self.steps)) or _NO_STEPS,
        }

    @property
    def _short(self) -> tuple[str, ...]:
        found = [
            f"Protected: {self.unit.protected}. Privacy loss: {self.loss.words}.",
            f"Whoever sees the {self._noun} and guesses {self.unit.question} is right in at most "
            f"{digits_up(100 * self.loss.guess, 3)} % of cases. Without the {self._noun} it is "
            "50 %.",
        ]
        if self.position is not None:
            found = [self.position.title, *found, *self.position.budget_left]
        if self.made:
            found.append(f"Made in these steps: {' '.join(self.made)}")
        return tuple(found)

    @property
    def _of_all(self) -> bool:
        return self.position is not None and bool(self.position.releases)

    @property
    def _noun(self) -> str:
        return "releases" if self._of_all else "release"

    @property
    def _others(self) -> str:
        return "All releases" if self._of_all else "Other releases"

    @property
    def _conclusions(self) -> tuple[str, ...]:
        guess = digits_up(100 * self.loss.guess, 3)
        found = [
            f"Think of somebody who does not know {self.unit.question}, and finds both equally "
            f"likely. After the {self._noun} the right guess has a probability of at most "
            f"{guess} %."
        ]
        if self.loss.odds is not None:
            factor = digits_up(self.loss.odds, 3)
            found.append(f"Anybody's odds change by a factor of at most {factor}.")
        if self.loss.is_weak:
            found.append("A loss this large protects hardly at all.")
        found += [f"Where the loss comes from: {line}" for line in self.explanation[:1]]
        return tuple(found)

    @property
    def _relied_on(self) -> tuple[str, ...]:
        found = tuple(
            f"The loss also relies on {each}, which is no part of opendp_lite."
            for each in self.trusted
        )
        return (*found, _KEEPS_NOTHING) if found else ()

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
        intervals = (
            *(f"The release has intervals at confidence {each}." for each in self.confidence),
            *(
                f"Intervals at confidence {each} are made before a function that follows the "
                "noise. It may leave them out."
                for each in self.confidence_before
            ),
        )
        return (*self.noise, *(intervals or ("The release has no interval of its own.",)))

    def __str__(self) -> str:
        found = ["Statement of privacy"]
        for title, said in self.sections.items():
            found.extend(["", title])
            found.extend(map(_as_point, said))
        return "\n".join([*found, "", "Pipeline", self.pipeline])

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold.

        ``deployment`` has the fields of the Differential Privacy Deployments Registry that follow
        from a pipeline, under the names that they have there, and ``to_fill`` those that are left
        to you: see ``docs/statements.md``.
        """
        said = self.sections
        return {
            "statement": 1,
            "made": list(self.made),
            "deployment": self._as_deployment(),
            "to_fill": {name: list(fields) for name, fields in _TO_FILL.items()},
            "loss": self.loss.as_dict(),
            "unit": attrs.asdict(self.unit),
            "public": [
                *self.declared,
                *({"step": each.step, "given": dict(each.given)} for each in self.parameters),
            ],
            **{name: list(getattr(self, name)) for name in _LISTS},
            "arithmetic": list(said["Arithmetic"]),
            "randomness": list(said["Randomness"]),
            "side_channels": list(_HIDDEN),
            "steps": [{**attrs.asdict(each), "sources": list(each.sources)} for each in self.steps],
            "trusted": list(self.trusted),
            "position": None if self.position is None else attrs.asdict(self.position),
            "pipeline": self.pipeline,
        }

    def _as_deployment(self) -> dict[str, Any]:
        loss, unit = self.loss, self.unit
        lines = {title: "\n".join(said) for title, said in self.sections.items()}
        # The registry has no field for other numbers, such as mu: these are what it implies.
        implied = {"epsilon": loss.epsilon, "delta": loss.delta}
        stated = dict(loss.parts) if _PARAMETERS.issuperset(dict(loss.parts)) else implied
        parameters = {name: statement_parts.number(each) for name, each in stated.items()}
        of_noise = "Noise and intervals", "Arithmetic", "Randomness", "What else could tell"
        return {
            "dp_variant": {
                "variant_name": loss.variant,
                "data_domain": self.data,
                "unprotected_quantities": lines["What is public"],
            },
            "privacy_loss": {
                "privacy_unit": unit.protected,
                "privacy_unit_details": " ".join(unit.sentences),
                # A number beyond floats is in the details.
                "privacy_parameters": {
                    n: each for n, each in parameters.items() if each is not None
                },
                "privacy_parameters_details": " ".join([*loss.sentences, *self._conclusions]),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release" if self.position is None else "Many releases",
            },
            "accounting": {
                "composition": lines[self._others],
                "post_processing": lines["After the noise"],
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": lines["Before the noise"],
                "mechanisms": "\n".join([self.pipeline, *map(lines.__getitem__, of_noise)]),
                "justification": "\n".join([lines["Who is trusted"], *map(str, self.steps)]),
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


def _as_point(sentence: str) -> str:
    """A point of a list."""
    return fill(sentence, 88, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _paragraphs(said: Sequence[str]) -> str:
    return "".join(f"<div style='padding-bottom:3px'>{escape(each)}</div>" for each in said)
