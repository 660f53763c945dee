"""From the arguments of a command to one release, and to its report."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.flags import AnyMechanism, Asked, Keys, ReportLine, Statistic
from opendp_lite.cli.output import OUTPUT, Told, align_lines, rounded_down, short, writers
from opendp_lite.numbers.exact import exact, positive, round_up, whole

DELTA: Final = Fraction(1, 10**6)
"""The delta at which a zCDP loss is also shown as an epsilon."""

# Of epsilon, for what is released of groups that are found; the rest finds them. A replaced row is
# in two of them.
_OF_GROUPS: Final = 0.8


@attrs.frozen
class Setting:
    """Everything public about one release."""

    statistic: Statistic
    mechanism: AnyMechanism
    space: when_run.AnySpace
    budget: dict[str, float]
    data: FileInput
    groups: tuple[str, ...]
    people: tuple[str, int] | None
    where: Sequence[Condition]

    @property
    def pipeline(self) -> when_run.AnyMeasurement:
        """The mechanism on its space."""
        return self.mechanism.bind(self.space)

    @property
    def size(self) -> int | None:
        """The number of rows, where it is public."""
        return None if self.people is not None else self.space.domain.size

    @property
    def unit(self) -> tuple[str, str]:
        """The change of the data that the loss bounds, and what is protected from it."""
        if self.people is not None:
            return "adding or removing one person", "any one person with all rows, added or removed"
        if self.size is None:
            return "adding or removing one row", "any one row, added or removed"
        return f"replacing one of {self.size} rows", "any one row, replaced by any other"

    def loss(self, pipeline: when_run.AnyMeasurement) -> dict[str, float]:
        """The loss of the pipeline, by name."""
        loss = pipeline.map(1)
        return dict(zip(self.budget, loss if type(loss) is tuple else (loss,), strict=True))

    def claim(self, pipeline: when_run.AnyMeasurement, *, explain: bool) -> when_run.PrivacyClaim:
        """What the pipeline promises, before any data is read."""
        at_delta = None
        if "rho" in self.budget:
            at_delta = {"epsilon": pipeline.epsilon(DELTA), "delta": round_up(DELTA)}
        by_default = self.size is None and self.people is None
        return when_run.PrivacyClaim(
            *self.unit,
            measure=type(pipeline.output_measure).__name__,
            loss=self.loss(pipeline),
            epsilon_at_delta=at_delta,
            pipeline=repr(self.mechanism if by_default else pipeline),
            explanation=pipeline.explain().splitlines() if explain else None,
        )

    def lines(self, release: Any) -> list[ReportLine]:
        """The lines of a release, group by group.

        Joint intervals hold all at once in their group alone, so they are left out with groups.
        """
        if not self.groups:
            return list(self.statistic.lines(release))
        return [
            attrs.evolve(line, labels=(*parts, *line.labels), joint=None)
            for key, found in release.items()
            for parts in [key if isinstance(key, tuple) else (key,)]
            for line in self.statistic.lines(found)
        ]

    @property
    def titles(self) -> tuple[str, ...]:
        """Of the labels of lines, none of which is that of a number."""
        given = (*map(self.data.title_of, self.groups), *self.statistic.titles)
        taken = {self.statistic.name, *when_run.NUMBERS}
        return tuple(f"column {title}" if title in taken else title for title in given)

    def notes(self) -> dict[str, str]:
        """What happens to the values, by the word for it."""
        word, words = self.statistic.note
        told = " and ".join(each.words for each in self.where)
        parts = [f"where {told}: {words}" if told else words]
        if self.statistic.weights is not None:
            parts.append(f"a row counts by its {self.data.title_of(self.statistic.weights)}")
        if self.groups:
            parts.append("rows of other groups are left out")
        if self.people is not None:
            person, most = self.people
            parts.append(
                f"rows that count of each person: at most {most}, chosen at random; rows without "
                f"{self.data.title_of(person)} are left out"
            )
            if most > 1 and self.statistic.sampling:
                parts.append(when_run.ONE_PERSON)
        return {word: "; ".join(parts)}


def setting_of(arguments: argparse.Namespace, asked: Asked) -> Setting:
    """The release that the arguments ask for, at a loss of no more than the budget.

    What is typed wrong is refused before the first estimator is imported, and most of it before
    numpy.

    The rows that a person has, or a row that is replaced, may be in several groups. The loss of
    some mechanisms is then above the one that they were given, so they are given less.

    Raises:
        ParameterError: If the arguments do not fit together.
    """
    given = budget = flags.budget_of(arguments)
    if not arguments.price:
        _try_names(arguments)
    for _ in range(8):
        setting = _setting(arguments, asked, given)
        loss = setting.loss(setting.pipeline)
        if all(loss[name] <= budget[name] for name in budget):
            return setting
        given = {name: _less(given[name], budget[name], loss[name]) for name in budget}
    raise dp.ParameterError(
        "--by: no budget for each group was found that keeps the loss of all groups within what "
        "you gave; leave out --person or --size, or choose another privacy setting"
    )


def _try_names(arguments: argparse.Namespace) -> None:
    """A misspelt column is refused before estimators are imported, which takes a second."""
    typed = arguments.column
    columns = [*(typed if isinstance(typed, list) else [typed]), *(arguments.by or ())]
    columns += [arguments.person, *(e.column for e in conditions_of(arguments))]
    names = {each.strip(): None for each in columns if each is not None}
    FileInput.of(arguments, [(name, str) for name in names]).try_names()


def _less(given: float, asked: float, found: float) -> float:
    """What is given to a mechanism instead, where its loss was found to be above the asked one."""
    if found <= asked:
        return given
    return rounded_down(exact(given, "budget") * exact(asked, "budget") / exact(found, "budget"))


def _setting(arguments: argparse.Namespace, asked: Asked, budget: dict[str, float]) -> Setting:
    """The release with a budget for its mechanism."""
    size = None if arguments.size is None else whole(arguments.size, "--size", least=1)
    people = _people(arguments)
    groups, keys = _groups(arguments)
    where = conditions_of(arguments)
    if size is not None and where:
        raise dp.ParameterError(
            "--size N says how many rows there are, and how many --where keeps is private; leave "
            "one of them out"
        )
    unknown = bool(groups) and not keys
    if unknown:
        share = _OF_GROUPS / (1 if size is None else 2)
        statistic = asked(arguments, {"epsilon": share * budget["epsilon"]})
    else:
        statistic = asked(arguments, budget)
    others = [*groups, *([] if people is None else [people[0]])]
    weights = [] if statistic.weights is None else [statistic.weights]
    columns = [*((name, statistic.kind) for name in statistic.columns), *((e, str) for e in others)]
    columns += [(name, float) for name in weights]
    kinds = dict(columns)
    found = [(each.column, kinds.setdefault(each.column, each.kind)) for each in where]
    columns += [each for each in dict.fromkeys(found) if each not in columns]
    others += [name for name, _ in found]
    data = FileInput.of(arguments, columns)
    metric = None if size is None else dp.ChangeOneDistance()
    mechanism, space = statistic.mechanism, dp.records(size=size, metric=metric)
    if statistic.picks or others or weights:
        space = dp.table(size=size, metric=metric, person=None if people is None else people[0])
    if (others or weights) and not statistic.picks:
        mechanism = dp.select(str(data.columns[0][0]), *weights) >> mechanism
    if groups:
        column = groups if len(groups) > 1 else groups[0]
        if unknown:
            mechanism = dp.by(column, mechanism, epsilon=budget["epsilon"], delta=budget["delta"])
        else:
            mechanism = dp.by(column, keys if len(groups) > 1 else keys[0], mechanism)
    if people is not None:
        mechanism = dp.bound_contributions(people[1]) >> mechanism
    for each in reversed(where):
        mechanism = each.keep(kinds[each.column]) >> mechanism
    return Setting(statistic, mechanism, space, budget, data, tuple(groups), people, where)


@attrs.frozen
class Payment:
    """What pays for a release, and what is written beside it there.

    Attributes:
        arguments: All that was typed.
        ledger: Opened and checked; None where nothing pays.
    """

    arguments: argparse.Namespace
    ledger: dp.Ledger | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Payment:
        """What was typed of a ledger, which is not opened yet.

        Raises:
            ParameterError: If ``--note`` or ``--data-name`` is given without it, or the data comes
                from a stream.
        """
        if arguments.ledger is None:
            alone = {"--note": arguments.note, "--data-name": arguments.data_name}
            for name, words in alone.items():
                if words is not None:
                    raise dp.ParameterError(f"{name} is written into a ledger; add --ledger FILE")
        elif arguments.file == "-":
            raise dp.ParameterError(
                "--ledger tells the data from other data by its file; give a file in place of -"
            )
        return cls(arguments)

    def open(self, space: when_run.AnySpace) -> Payment:
        """The ledger that is named.

        Args:
            space: Of the release.

        Raises:
            ParameterError: If the release counts rows and the ledger protects a person (or the
                other way round), or a file to write is the witness of the ledger.
            LedgerError: If the ledger cannot be used.
        """
        if self.arguments.ledger is None:
            return self
        ledger = dp.Ledger.open(self.arguments.ledger)
        terms, witness = ledger.file.terms, ledger.file.witness
        if not terms.hold_for(space):
            mend = (
                "Leave out --person and --most, or make a ledger of people: opendp-lite ledger "
                "create FILE --unit person"
                if terms.is_row
                else "Add --person NAME --most K (a saved pipeline begins with "
                "dp.table(person='id') >> dp.bound_contributions(3)), or make a ledger of rows: "
                "opendp-lite ledger create FILE --unit row"
            )
            raise dp.ParameterError(
                f"--ledger: this ledger protects {terms.protects}, and the release is for "
                f"{space.metric.protected(space.unit)}. Nothing was read or spent. {mend}, with "
                "its budget"
            )
        written = {"--output": self.arguments.output, "--statement": self.arguments.statement}
        for flag, name in written.items():
            if witness is not None and name is not None and Path(name).resolve() == witness.path:
                raise dp.ParameterError(
                    f"{flag}: {name!r} is the witness of the ledger; name another file"
                )
        return attrs.evolve(self, ledger=ledger)

    def price(self, pipeline: when_run.AnyMeasurement) -> dict[str, str]:
        """What the release would cost, and what is left now, in words; nothing is paid."""
        if self.ledger is None:
            return {}
        budget, spent = self.ledger.file.budget, self.ledger.file.spent
        measure = budget.measure
        price = budget.cost(when_run.find_price(pipeline, measure), spent)
        return {
            "price": f"{measure.words(price)} of the ledger",
            "left now": measure.words_left(self.ledger.file.left),
        }

    def release(
        self, pipeline: when_run.AnyMeasurement, data: object
    ) -> tuple[Any, dp.releases.Statement, dict[str, str]]:
        """The release, once its price is booked, its statement, and where it stands, in words."""
        if self.ledger is None:
            return pipeline(data), pipeline.statement(), {}
        name = self.arguments.data_name
        ask = self.ledger.session(data, space=pipeline.input_space, name=name)
        release = ask(pipeline, note=self.arguments.note or "")
        stated = release.statement()
        position = stated.position
        assert position is not None
        words = (
            f"release {position.number} (entry {position.entry}); spent: {position.spent}; "
            f"left: {position.left}; head of the chain: {position.head[:12]}"
        )
        return release.value, stated, {"ledger": words}


def release(arguments: argparse.Namespace, asked: Asked) -> Told:
    """Makes one release. A setting is refused before the file is opened.

    Args:
        arguments: What the parser made of the command line.
        asked: What the command asks for.

    Returns:
        The text to print, and the file to write.

    Raises:
        ParameterError: If an argument is out of range or contradicts another.
        DataError: If the file is not as declared.
    """
    writes, payment = writers(arguments, OUTPUT), Payment.of(arguments)
    for_table = _for_table(arguments)
    setting = setting_of(arguments, asked)
    measurement = setting.pipeline
    claim = setting.claim(measurement, explain=arguments.explain)
    payment = payment.open(setting.space)
    if arguments.price:
        price = payment.price(measurement)
        if arguments.json:
            return tell_price(attrs.asdict(claim), price, as_json=True)
        told = {"protected": claim.words(), "pipeline": claim.pipeline}
        return tell_price(told, price, claim.explanation or (), as_json=False)
    data, column = _open_it(setting)
    try:
        found, stated, ledger = payment.release(measurement, data)
    except dp.DataError as problem:
        if arguments.size is None or isinstance(problem, when_run.FileError):
            raise
        refusal = dp.DataError(
            f"--size {short(arguments.size)}: the file has another number of rows. Give the "
            "true number if it is public; otherwise leave --size out and the number stays private"
        )
        for note in getattr(problem, "__notes__", ()):
            refusal.add_note(note)
        raise refusal from None
    # The releases of all groups say the same of themselves.
    one = next(iter(found.values()), None) if setting.groups else found
    told = {} if one is None else setting.statistic.tell(one)
    if setting.groups and found.threshold is not None:
        told["groups"] = f"those with a noisy count below {found.threshold} are not shown"
    table = None
    if for_table:
        try:
            table = found.table(**for_table)
        except dp.ParameterError as problem:
            # The release is paid for, so its numbers are shown as they are.
            told["table"] = f"not made: {problem}"
    report = when_run.Report(
        statistic=setting.statistic,
        column=column,
        titles=setting.titles,
        lines=setting.lines(found),
        confidence=float(arguments.confidence),
        claim=claim,
        notes={**setting.notes(), **ledger, **told},
        grouped=bool(setting.groups),
        table=table,
    )
    text = report.as_json() if arguments.json else report.as_text()
    return Told(text, writes(report, stated))


# Whole steps that are meant for digits where the numbers are not whole.
_DIGITS: Final = (2, 3, 4)


def _for_table(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``table`` of the release is asked for; what is wrong is refused before anything is paid.

    Raises:
        ParameterError: If a flag is not for this release.
    """
    typed, counts = vars(arguments), "categories" in arguments
    asked = {name: typed[name] for name in flags.TABLE if typed[name] is not None}
    for name in [name for name in ("suppress", "round") if name in asked]:
        asked[name] = positive(asked[name], f"--{name}")
    if asked and not counts and not arguments.by:
        raise dp.ParameterError(f"--{next(iter(asked))} is for a table of groups: add --by NAME")
    if asked.get("round") in _DIGITS and not counts:
        raise dp.ParameterError(
            f"--round {asked['round']} makes multiples of {asked['round']}; for decimals type "
            f"--round {float(Fraction(1, 10 ** int(asked['round'])))}"
        )
    if not asked.get("wide"):
        return asked
    columns = [*(arguments.column or ["the only one"]), *(arguments.by or ())]
    ways = typed["categories"], typed["edges"], typed["bins"]
    declared = (arguments.keys or not arguments.by) and any(way is not None for way in ways)
    if len(columns) != 2 or not declared:
        raise dp.ParameterError(
            "--wide lays out counts by two columns with declared categories: --column A B "
            "--categories ... --categories ..."
        )
    if asked.get("total") and arguments.by:
        raise dp.ParameterError(
            "--wide --total is for two columns: --column A B without --by; leave one of them out"
        )
    return asked


def tell_price(
    told: dict[str, Any], price: dict[str, str], explanation: Sequence[str] = (), *, as_json: bool
) -> Told:
    """What a release would cost, and what a ledger has left for it."""
    if as_json:
        return Told(json.dumps({**told, **price}, indent=2, allow_nan=False))
    last = {"next": "nothing was read, paid or released; leave out --price to release it"}
    explained = ["", *explanation] if explanation else []
    return Told("\n".join([*align_lines({**told, **price, **last}), *explained]))


def _open_it(setting: Setting) -> tuple[dp.Blocks, str]:
    """The data, and its columns in words that are public."""
    data, names = setting.data, setting.statistic.columns
    others = setting.groups or setting.where or setting.people or setting.statistic.weights
    if setting.statistic.picks or others:
        return data.table(), ", ".join(map(data.title_of, names)) or "rows"
    column, name = data.column()
    return column, data.title_of(name or None)


def _people(arguments: argparse.Namespace) -> tuple[str, int] | None:
    """The column of ids, and how many rows of a person count."""
    person, most = arguments.person, arguments.most
    if arguments.weights is not None:
        return None
    if (person is None) != (most is None):
        raise dp.ParameterError(
            "--person NAME and --most K go together: at most K rows of each person count"
        )
    if person is None:
        return None
    if arguments.size is not None:
        raise dp.ParameterError(
            "--size N goes with rows, and --person with people, whose number is private; leave "
            "one of them out"
        )
    return person.strip(), whole(most, "--most", least=1)


def _groups(arguments: argparse.Namespace) -> tuple[list[str], Sequence[Keys]]:
    """The columns of groups, and the keys of each; no keys where they are to be found."""
    if arguments.by is None and arguments.keys is not None:
        raise dp.ParameterError("--keys KEY ... names groups: add --by NAME, their column")
    if arguments.by is None:
        return [], []
    columns = [name.strip() for name in arguments.by]
    if arguments.keys is None and getattr(arguments, "delta", None) is None:
        raise dp.ParameterError(
            "--by NAME takes --keys KEY ..., the groups to report, chosen without looking at the "
            "data; or where a command has --delta, --epsilon and --delta, which find the groups"
        )
    if arguments.keys is None:
        return columns, []
    return columns, flags.lists_for(columns, arguments.keys, arguments.na, ("--by", "--keys"))


_CONDITION: Final = re.compile(r"\s*([^<>=!]*[^<>=!\s])\s*(<=|>=|==|=|<|>)\s*([^<>=\s].*)")


@attrs.frozen
class Condition:
    """One condition: its column, how the two compare, and what it is compared with.

    Attributes:
        words: As it was typed.
        column: The column.
        ends: The least and the largest number that it allows; None for one of some words.
        among: These words.
    """

    words: str
    column: str
    ends: tuple[float | None, float | None] | None = None
    among: Sequence[str | None] = ()

    @property
    def kind(self) -> type:
        """What its column is read as, where nothing else reads it."""
        return str if self.ends is None else float

    def keep(self, kind: type) -> Any:
        """The step that keeps these rows, in a column that is read as numbers or as text."""
        if self.ends is not None and kind is str:
            raise dp.ParameterError(
                f"--where: {self.words!r} compares numbers, and column {self.column!r} is read as "
                f"text for --by, --person or another condition; type {self.column}=WORD|WORD"
            )
        if self.ends is not None:
            return dp.keep(self.column, between=self.ends)
        if kind is str:
            return dp.keep(self.column, among=self.among)
        words = [word for word in self.among if word is not None]
        if len(words) < len(self.among) or not all(map(flags.is_number, words)):
            raise dp.ParameterError(
                f"--where: column {self.column!r} is read as numbers, got {self.words!r}"
            )
        return dp.keep(self.column, among=list(map(flags.number, words)))


def conditions_of(arguments: argparse.Namespace) -> list[Condition]:
    """The conditions that were typed.

    Raises:
        ParameterError: If one is not a column, a comparison and a value.
    """
    return [_condition(text, arguments.na) for text in arguments.where]


def _condition(text: str, na: Sequence[str]) -> Condition:
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise dp.ParameterError(
            f"--where: {text.strip()!r} is no condition; type one in quotes, such as 'age >= 18', "
            "'sex = f' or 'region = north|south'"
        )
    column, sign, value = parts.groups()
    if sign in ("=", "=="):
        quote, word = value[0], value.rstrip()
        # Quotes around a comma make one word of it, as in a CSV file.
        if quote in "'\"" and len(word) > 1 and word[-1] == quote and "," not in word:
            raise dp.ParameterError(
                f"--where: words stand without quotes of their own; type '{column} = "
                f"{word.replace(quote, '')}'"
            )
        among = flags.categories(value.split("|"), na, "--where")
        return Condition(text.strip(), column, among=among)
    if not flags.is_number(value) or abs(float(value)) == inf or float(value) != float(value):
        raise dp.ParameterError(
            f"--where: {text.strip()!r} compares with {value!r}, which is not a number; words go "
            "behind =, as in 'sex = f'"
        )
    # The next float is the next number that a column can hold.
    end = flags.number(value)
    strict = {"<": -inf, ">": inf}
    if sign in strict:
        end = nextafter(end, strict[sign])
    return Condition(text.strip(), column, (None, end) if sign[0] == "<" else (end, None))
