"""The options of commands, and a command that makes a release."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

import opendp_lite as dp
from opendp_lite.cli import when_run
from opendp_lite.cli.output import EXACT, as_typed
from opendp_lite.numbers.exact import confidence_of, exact, open_probability, positive


def is_number(word: str) -> bool:
    """Whether a word is a number in plain digits, which Python reads as a float."""
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word


def number(text: str) -> float:
    """A number that was typed; an int where it is whole.

    Raises:
        argparse.ArgumentTypeError: If it is no number.
    """
    if not is_number(text):
        raise argparse.ArgumentTypeError(
            f"{text.strip()!r} is not a number; write numbers like 1234.5, without separators, or "
            "fractions like 1/2"
        )
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < EXACT else value


def _number_or_fraction(text: str) -> float | Fraction:
    top, slash, bottom = text.partition("/")
    if slash and text.isascii() and top.isdecimal() and bottom.isdecimal() and int(bottom):
        return Fraction(int(top), int(bottom))
    return number(text)


Commands: TypeAlias = "argparse._SubParsersAction[Any]"
AnyMechanism: TypeAlias = "dp.Mechanism[Any, Any]"
"""A release of whatever rows, in whatever measure, once it is bound."""
Labels = tuple[Hashable, ...]
MORE: Final = "use more rows, narrower bounds or a larger budget"
"""What helps where the noise hides a number, as a rule."""


@attrs.frozen
class ReportLine:
    """One released number, and what it is of.

    ``joint`` is an interval that holds together with those of all other lines, and ``doubt`` says
    when its own may miss.
    """

    estimate: dp.Estimate
    labels: Labels = ()
    joint: tuple[float, float] | None = None
    doubt: str = ""

    @property
    def further(self) -> dict[str, tuple[float, float]]:
        """The other intervals that it has, by name."""
        found = self.estimate
        named = {"noise": found.noise_interval, "clipped": found.clipped_interval}
        named |= {"joint": self.joint, "wide": found.wide_interval}
        return {name: interval for name, interval in named.items() if interval is not None}


@attrs.frozen
class Statistic:
    """A mechanism for some columns, and how its releases are told.

    Attributes:
        name: "mean", say.
        target: What an interval holds, in words.
        columns: Those that it reads, as typed; None for the only one.
        kind: What they are read as.
        mechanism: For rows of the one column of numbers; for a table, if ``picks``.
        picks: Whether the mechanism picks its columns from a table by itself.
        titles: Of the labels of lines.
        lines: From a release.
        note: What happens to the values, after a word for it.
        reach: How far apart two values of the statistic can be; None where they may be anything.
        sampling: Whether the intervals are for the population.
        heading: What stands above a table of releases; empty for the name.
        advice: What helps where the noise hides a number.
        together: Whether the intervals of one release hold all at once.
        tell: What a release says of itself beside its lines, by the word for it.
        weights: The column of weights, which it reads last, as numbers.
    """

    name: str
    target: str
    columns: tuple[str | None, ...]
    kind: type
    mechanism: AnyMechanism
    lines: Callable[[Any], Sequence[ReportLine]]
    note: tuple[str, str]
    picks: bool = False
    titles: tuple[str, ...] = ()
    reach: float | None = None
    sampling: bool = False
    heading: str = ""
    advice: str = MORE
    together: bool = False
    tell: Callable[[Any], dict[str, str]] = lambda _: {}
    weights: str | None = None

    def hides(self, line: ReportLine) -> bool:
        """Whether the noise says little more than what was known before: a count may be 0."""
        if self.reach is None:
            return self.name == "count" and line.estimate.interval[0] <= 0
        return line.estimate.standard_error >= self.reach / 4


Asked = Callable[[argparse.Namespace, dict[str, float]], Statistic]
"""What a command asks for, from the arguments and the budget."""
Keys = list[str | None]

DROP: Final = "drop"
"""The word that leaves out rows without a value."""


def _missing(text: str) -> str | float:
    if text != DROP and not is_number(text):
        raise argparse.ArgumentTypeError(f"give the word {DROP} or a number, not {text.strip()!r}")
    return DROP if text == DROP else number(text)


def _delimiter(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


Option = Mapping[str, Any]
"""What ``add_argument`` takes for a flag."""


def _text(metavar: str, **more: object) -> Option:
    return {"metavar": metavar, **more}


def _number(metavar: str | tuple[str, ...], **more: object) -> Option:
    return {"metavar": metavar, "type": _number_or_fraction, **more}


_SWITCH: Final[Option] = {"action": "store_true"}
_REPEATED: Final[Option] = {"action": "append", "default": []}

METHODS: Final = ("best", "centered", "joint", "plug-in", "recentred", "resized", "simplex")
"""The words after ``--method``: ``dp.mean``, and what ``dp.estimators`` has before ``_mean``."""

# By the flag, or by the command and its flag where this one has it in its own way.
_OPTIONS: Final[Mapping[str, Option]] = {
    "file": _text("FILE"),
    "--header": {"action": argparse.BooleanOptionalAction},
    "--na": _text("MARK", **_REPEATED),
    "--text": {"choices": ("refuse", "missing"), "default": "refuse"},
    "--delimiter": _text("CHAR", type=_delimiter, default=","),
    "--column": _text("NAME"),
    "histogram --column": _text("NAME", nargs="+"),
    "--where": _text("CONDITION", **_REPEATED),
    "--epsilon": _number("E"),
    "--delta": _number("D"),
    "--rho": _number("R"),
    "--mu": _number("M"),
    "--person": _text("NAME"),
    "--most": _number("K"),
    "--bounds": _number(("LOWER", "UPPER"), nargs=2, required=True),
    "mean --bounds": _number(("LOWER", "UPPER"), nargs=2),
    "--by": _text("NAME", nargs="+"),
    "--keys": _text("KEY", nargs="+", action="append"),
    "--missing": _text("drop|VALUE", type=_missing),
    "--size": _number("N"),
    "--weights": _text("NAME"),
    "--confidence": _number("C", default=0.95),
    "--of-rows": {"action": "store_false", "dest": "sampling"},
    "--method": {"choices": METHODS, "default": METHODS[0]},
    "--all": _SWITCH,
    "--whole": _SWITCH,
    "--among": _text("WORD", nargs="+", required=True),
    "--quantiles": _number("Q", nargs="+", required=True),
    "--categories": _text("WORD", nargs="+", action="append"),
    "--edges": _number("X", nargs="+"),
    "--bins": _number(("LOWER", "UPPER", "COUNT"), nargs=3),
    "--other": _SWITCH,
    "--suppress": _number("N"),
    "--round": _number("STEP"),
    "--percent": _SWITCH,
    "--total": _SWITCH,
    "--wide": _SWITCH,
    "--json": _SWITCH,
    "--output": _text("FILE"),
    "--statement": _text("FILE"),
    "--ledger": _text("LEDGER"),
    "--note": _text("WORDS"),
    "--data-name": _text("WORDS"),
    "--explain": _SWITCH,
    "--price": _SWITCH,
    "--force": _SWITCH,
    "--pipeline": _text("FILE", required=True),
    "--numbers": _text("NAME", nargs="+"),
    "--words": _text("NAME", nargs="+"),
    "--unit": _text("WORDS", required=True),
    "--data": _text("WORDS", default=""),
    "--witness": _text("FILE"),
    "--query-delta": _number("D"),
    "--reason": _text("WORDS", required=True),
}
TABLE: Final = ("suppress", "round", "percent", "total", "wide")
"""What ``table`` of a release takes, by the names of the flags."""
FILE: Final = "file --header --na --text --delimiter"
"""How a file is written."""
OUTPUT: Final = "--json --output --statement --ledger --note --data-name --explain --price --force"
"""The form of the result."""


class Once(argparse.Action):
    """Stores what a flag takes, and refuses the flag a second time: the last would win unseen."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None and getattr(namespace, self.dest) is not self.default:
            several = f"; several words go behind one: {option_string} A B"
            raise argparse.ArgumentError(
                self, f"it is given twice{several if self.nargs == '+' else ''}"
            )
        setattr(namespace, self.dest, values)


@cache
def read_help() -> Mapping[str, Sequence[str]]:
    """The texts of ``--help``, in their parts: see ``help.txt``."""
    sections = Path(__file__).with_name("help.txt").read_text("utf-8").split("\n== ")[1:]
    parts = (section.partition("\n") for section in sections)
    return {name: [*map(str.strip, text.split("---\n"))] for name, _, text in parts}


def add_command(
    commands: Commands,
    name: str,
    groups: Mapping[str, str],
    under: str = "",
    words: Mapping[str, str] = MappingProxyType({}),
    **texts: Any,
) -> argparse.ArgumentParser:
    """Adds a command to those of a parser.

    Args:
        commands: Those of the parser.
        name: As it is typed.
        groups: Its flags, by the title above them.
        under: The section of the texts of its flags, where that is not its own.
        words: The texts of some flags, in place of those.
        texts: Of its help, by the names that argparse has for them.
    """
    said = read_help()
    brief, _, description, epilog = [*said.get(name, ()), "", "", "", ""][:4]
    texts = {"help": brief, "description": description, "epilog": epilog, **texts}
    parser: argparse.ArgumentParser = commands.add_parser(
        name, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **texts
    )
    parser.set_defaults(parser=parser)
    parser.register("action", None, Once)
    for title, flags in groups.items():
        group = parser.add_argument_group(title)
        for flag in flags.split():
            own = f"{under or name} {flag}"
            (told,) = said.get(own, said.get(flag, ("",)))
            option = _OPTIONS.get(own, _OPTIONS[flag])
            group.add_argument(flag, help=words.get(flag, told), **option)
    return parser


def typed_budget(arguments: argparse.Namespace, choose: str) -> dict[str, float]:
    """The one privacy setting that was typed, by name: epsilon and delta are one.

    Args:
        arguments: All that was typed.
        choose: What to say where there is none.

    Raises:
        ParameterError: If there is none, or more than one.
    """
    given = vars(arguments)
    typed = {n: given[n] for n in ("rho", "mu", "epsilon", "delta") if given.get(n) is not None}
    if typed.keys() <= {"delta"}:
        raise dp.ParameterError("--delta goes with --epsilon. " * bool(typed) + choose)
    if len(typed) > 1 and list(typed) != ["epsilon", "delta"]:
        first, second, *_ = typed
        raise dp.ParameterError(
            f"--{first} and --{second} belong to different privacy settings; give --{first} alone, "
            "--epsilon alone, or --epsilon with --delta"
        )
    return typed


def budget_of(arguments: argparse.Namespace) -> dict[str, float]:
    """The privacy setting: rho, epsilon, or epsilon and delta, by name.

    Raises:
        ParameterError: If there is none, or more than one.
    """
    choose = (
        "Choose how private the release is: --epsilon E (1 is a common choice), --epsilon E "
        "--delta D, or --rho R (0.03 means epsilon = 1.04 at delta = 1e-6). A smaller number "
        "protects more"
    )
    return {
        name: as_typed((open_probability if name == "delta" else positive)(value, f"--{name}"))
        for name, value in typed_budget(arguments, choose).items()
    }


def rising_ends(given: Sequence[float], flag: str) -> tuple[Fraction, Fraction]:
    """A lower and an upper end, refused where they do not rise."""
    lower, upper = (
        exact(end, f"{flag}: the {which} bound")
        for end, which in zip(given, ("lower", "upper"), strict=True)
    )
    if lower >= upper:
        advice = "they are equal" if lower == upper else "swap them"
        raise dp.ParameterError(f"{flag}: the lower must be below the upper; {advice}")
    return lower, upper


def level_of(arguments: argparse.Namespace) -> float:
    """The confidence."""
    return as_typed(confidence_of(arguments.confidence, "--confidence"))


def lists_for(
    columns: Sequence[str],
    lists: Sequence[Sequence[str]],
    na: Collection[str],
    flags: tuple[str, str],
) -> list[Keys]:
    """A list of categories for each column; None stands for missing cells.

    Args:
        columns: As they were typed.
        lists: As they were typed.
        na: Further marks of missing cells.
        flags: Those of the columns and of the lists.
    """
    of_columns, of_lists = flags
    if len(columns) != len(lists):
        given = "once" if len(lists) == 1 else f"{len(lists)} times"
        raise dp.ParameterError(
            f"{of_lists}: {of_columns} names {len(columns)} columns and {of_lists} is given "
            f"{given}; give it once for each column"
        )
    return [categories(each, na, of_lists) for each in lists]


def categories(words: Sequence[str], na: Collection[str], flag: str) -> Keys:
    """The categories that were typed; None stands for missing cells."""
    marks = when_run.MISSING | {mark.strip() for mark in na}
    found = [when_run.category_in(_whole_category(word, flag), marks) for word in words]
    if len(set(found)) < len(found):
        twice = next(word for word, each in zip(words, found, strict=True) if found.count(each) > 1)
        raise dp.ParameterError(
            f"{flag}: {twice.strip()!r} is given twice; 1 and 1.0 are one category, and so are all "
            "marks of missing values"
        )
    return found


def _whole_category(word: str, flag: str) -> str:
    """A word that is one category: a comma in it is quoted, as a CSV file quotes it."""
    text = word.strip()
    if "," not in text:
        return word
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    apart = " ".join(part.strip() for part in text.split(","))
    raise dp.ParameterError(
        f"{flag}: {text!r} has a comma. For several words put spaces between them: {flag} {apart}. "
        f"For one word that holds the comma quote it as a CSV file does: {flag} '\"{text}\"'"
    )


_PRIVACY: Final = "the privacy: one setting (a smaller number protects more)"
_BUDGETS: Final = "(--epsilon E | --rho R)"
_BUDGETS_WITH_DELTA: Final = "(--epsilon E | --epsilon E --delta D | --rho R)"


@attrs.frozen
class Command:
    """A command: its flags, and what it asks for.

    Attributes:
        name: As it is typed. Its texts are those of ``help.txt``.
        asked: What the arguments ask for.
        flags: Its own, beside those that all commands have.
        held: What an interval holds.
        title: Of its own flags.
        delta: Whether a delta is of use.
        table: Its flags for a table to publish.
        defaults: What is asked for where no flag of its own says so.
    """

    name: str
    asked: Asked
    flags: str
    held: str
    title: str = "the estimate"
    delta: bool = False
    table: str = ""
    defaults: Mapping[str, object] = attrs.Factory(dict)

    def put(self, commands: Commands) -> None:
        """Adds the command to those of a parser."""
        budgets = _BUDGETS_WITH_DELTA if self.delta else _BUDGETS
        _, needs, *_ = read_help()[self.name]
        share = f"the share of releases whose interval holds {self.held} (default: 0.95)"
        pure = read_help()["--epsilon"][0] + "; with --delta: approximate" * self.delta
        groups = {
            "the data": f"{FILE} --column --where",
            _PRIVACY: f"--epsilon {'--delta ' * self.delta}--rho",
            "several rows a person": "--person --most",
            self.title: f"{self.flags} --confidence",
            "a table to publish": self.table,
            "the output": OUTPUT,
        }
        parser = add_command(
            commands,
            self.name,
            groups,
            words={"--confidence": share, "--epsilon": pure},
            usage=f"opendp-lite {self.name} FILE {needs}\n{'':24}{budgets} [more options]\n"
            f"       opendp-lite {self.name} --help",
        )
        nothing = dict.fromkeys(("bounds", "delta", "missing", "size", "weights", *TABLE))
        parser.set_defaults(
            run=lambda typed: when_run.release(typed, self.asked), **nothing, **self.defaults
        )
