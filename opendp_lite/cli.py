"""The command line: a private mean of one column of a file, and the published experiments."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Final

import attrs

import opendp_lite as dp
from opendp_lite.engines.csv_file import Column, FileError, csv_column
from opendp_lite.estimators.inference.parameters import confidence_of
from opendp_lite.exact import exact, open_probability, positive, shown_up, whole
from opendp_lite.reproduce.free_lunch import settings as free_lunch
from opendp_lite.reproduce.free_lunch.laws import Law
from opendp_lite.reproduce.settings import EXPERIMENTS, Size

DELTA: Final = Fraction(1, 10**6)
"""The delta at which a zCDP loss is also shown as an epsilon."""

_Rows = dp.Space[dp.Rows]

_PARQUET = "opendp_lite.engines.parquet_file"
_REPRODUCE = "opendp_lite.reproduce.command"
_FREE_LUNCH = "opendp_lite.reproduce.free_lunch.command"
_TRANSACTIONS = "opendp_lite.reproduce.transaction_runs"
_FOLDER = "reproduced"
_TITLES = {
    **{name: each.title for name, each in EXPERIMENTS.items()},
    **{name: each.title for name, each in free_lunch.EXPERIMENTS.items()},
}
_DROP = "drop"
_REFUSED = 2
_INTERRUPTED = 130
_NOBODY_READS = 141
_EXACT = 2**53

_HIDDEN = "the noise hides the mean: it takes more rows, narrower bounds or a larger budget"

_REPRODUCED = """\
Runs a published experiment with the estimators of this package, each at its true privacy loss, and
draws the figure. plan-...: Aumueller, Lebeda, Nelson, Pagh 2024 (PLAN). Every run is a line of a
CSV file at once; a run that is there already is not made again, so a stopped command goes on when
it is given again. table1, figure2, figure3: Fitzsimons, Honaker, Shoemate, Singhal 2024 (Private
Means and the Curious Incident of the Free Lunch), simulated in seconds, with the printed numbers
beside ours."""

_USAGE = """\
opendp-lite mean FILE --column NAME --bounds LOWER UPPER
                        (--rho R | --epsilon E | --epsilon E --delta D) [more options]
       opendp-lite mean --help"""

_DESCRIPTION = """\
Releases the mean of one column of a CSV file with differential privacy: noise is added, so that
the result would look much the same with or without any one row of the file."""

_EXAMPLES = """\
examples:
  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --rho 0.5
  opendp-lite mean visits.csv.gz --column mdvis --bounds 0 40 --epsilon 1
  cut -d, -f1 visits.csv | opendp-lite mean - --bounds 0 40 --epsilon 1 --delta 1e-6

Choose the bounds, like everything else here, without looking at the data. Each run is one more
release: the losses of several runs on the same data add up."""


@attrs.frozen
class Setting:
    """What a mean is to be released of, and how: all of it public."""

    mechanism: dp.Mechanism[_Rows, Any]
    space: _Rows
    budget: dict[str, float]
    width: float

    @property
    def pipeline(self) -> dp.Measurement[_Rows, Any]:
        """The mechanism on its space."""
        return self.mechanism.bind(self.space)

    @property
    def neighbours(self) -> str:
        """What the loss is for."""
        size = self.space.domain.size
        return "adding or removing one row" if size is None else f"replacing one of {size} rows"

    def __str__(self) -> str:
        return repr(self.mechanism if self.space.domain.size is None else self.pipeline)


@attrs.frozen
class Claim:
    """What a pipeline promises, known before any data is read."""

    neighbours: str
    measure: str
    loss: dict[str, float]
    epsilon_at_delta: dict[str, float] | None
    pipeline: str
    explanation: list[str] | None

    def words(self) -> str:
        """The loss in a sentence."""
        loss = {name: _short(value) for name, value in self.loss.items()}
        if self.epsilon_at_delta is not None:
            return (
                f"rho = {loss['rho']} zCDP for {self.neighbours}; that is "
                f"epsilon = {_rounded_up(self.epsilon_at_delta['epsilon'])} "
                f"at delta = {_short(self.epsilon_at_delta['delta'])}"
            )
        if "delta" in loss:
            given = f"epsilon = {loss['epsilon']} at delta = {loss['delta']}"
            return f"{given} for {self.neighbours}"
        return f"epsilon = {loss['epsilon']} for {self.neighbours} (pure differential privacy)"


@attrs.frozen
class Report:
    """One release with its claim."""

    column: str
    estimate: dp.Estimate
    claim: Claim
    note: str | None

    def as_json(self) -> str:
        """One JSON object."""
        claim, estimate = self.claim, self.estimate
        found = {
            "column": self.column,
            "mean": estimate.mean,
            "standard_error": estimate.standard_error,
            "interval": list(estimate.interval),
            "confidence": estimate.confidence,
            "sampling": estimate.sampling,
            "neighbours": claim.neighbours,
            "loss": {"measure": claim.measure, **claim.loss},
            "epsilon_at_delta": claim.epsilon_at_delta,
            "pipeline": claim.pipeline,
            "explain": claim.explanation,
        }
        given = {key: value for key, value in found.items() if value is not None}
        return json.dumps(given, indent=2, allow_nan=False)

    def as_text(self) -> str:
        """Aligned lines; numbers with the digits that the standard error justifies."""
        told = self.estimate
        numbers = told.mean, told.standard_error, *told.interval
        mean, error, low, high = told.justified(*numbers)
        name = self.column if self.column.isprintable() else ascii(self.column)
        source = "noise and sampling" if told.sampling else "noise only"
        entries = {
            f"mean of {name}": mean,
            "standard error": f"{error} ({source})",
            f"{100 * told.confidence:.4g} % interval": f"{low} to {high} ({source})",
            "privacy": self.claim.words(),
            "pipeline": self.claim.pipeline,
        }
        if self.note is not None:
            entries["note"] = self.note
        width = max(map(len, entries)) + 3
        lines = [f"{label:<{width}}{value}" for label, value in entries.items()]
        if self.claim.explanation is not None:
            lines.extend(["", *self.claim.explanation])
        return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and gives its exit status: 0, or 2 where it refuses."""
    arguments = _parser().parse_args(_shielded(sys.argv[1:] if argv is None else argv))
    try:
        return _print(arguments.run(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except dp.OpenDPLiteError as problem:
        return _refuse(str(problem))
    except OSError as problem:
        return _refuse(_file_trouble(problem))
    except Exception as problem:
        # The text of an unforeseen exception may quote the data: only its type is shown.
        return _refuse(
            f"this should not happen ({type(problem).__name__}), and no result is shown; please "
            "report it with the command that you gave, without the data"
        )


def _mean(arguments: argparse.Namespace) -> str:
    """The text to print; the setting is refused, where it is, before the file is opened."""
    setting = _setting(arguments)
    measurement = setting.pipeline
    claim = _claim(setting, measurement, explain=arguments.explain)
    column = _column(arguments)
    with _declared(arguments.size):
        estimate = measurement(column)
    hidden = estimate.standard_error >= setting.width / 4
    report = Report(column.name, estimate, claim, note=_HIDDEN if hidden else None)
    return report.as_json() if arguments.json else report.as_text()


def _reproduce(arguments: argparse.Namespace) -> str:
    if arguments.experiment in free_lunch.EXPERIMENTS:
        return _free_lunch(arguments)
    return _plan(arguments)


def _plan(arguments: argparse.Namespace) -> str:
    experiment = EXPERIMENTS[arguments.experiment]
    if arguments.epsilon is not None:
        raise dp.ParameterError(
            f"--epsilon is for table1 and figure3; the budgets of {experiment.name} are --rho"
        )
    if arguments.quick and arguments.full:
        raise dp.ParameterError("--quick and --full are different sizes; give one of them")
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "usual"
    rhos = arguments.rho or experiment.rhos_of(size)
    for rho in rhos:
        positive(rho, "--rho")
    runs = experiment.runs_of(size) if arguments.runs is None else arguments.runs
    workers = os.cpu_count() or 1 if arguments.workers is None else arguments.workers
    command = _plotting(_REPRODUCE)
    if arguments.data is not None:
        return _on_file(arguments, rhos, whole(runs, "--runs", least=1))
    order = command.Order(
        experiment,
        size,
        tuple(dict.fromkeys(map(float, rhos))),
        whole(runs, "--runs", least=1),
        whole(workers, "--workers", least=1),
        Path(arguments.out),
    )
    text: str = command.reproduce(order)
    return text


def _plotting(module: str) -> Any:
    """A module that needs what the core does not."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise dp.ParameterError(
            f"reproduce needs {missing.name}, which is not installed; type: "
            'pip install "opendp_lite[plot]"'
        ) from None


def _on_file(arguments: argparse.Namespace, rhos: Sequence[float], runs: int) -> str:
    if arguments.experiment != "plan-binary":
        raise dp.ParameterError("--data FILE goes with plan-binary: it holds transactions")
    file, folder = Path(arguments.data), Path(arguments.out)
    text: str = importlib.import_module(_TRANSACTIONS).on_file(file, rhos, runs, folder)
    return text


def _free_lunch(arguments: argparse.Namespace) -> str:
    experiment = free_lunch.EXPERIMENTS[arguments.experiment]
    name = experiment.name
    if arguments.data is not None:
        raise dp.ParameterError("--data FILE goes with plan-binary: it holds transactions")
    if arguments.full:
        raise dp.ParameterError(
            f"--full: {name} makes all {free_lunch.RUNS} releases as published anyway; leave it out"
        )
    if arguments.workers is not None:
        raise dp.ParameterError(f"--workers: {name} takes seconds in one process; leave it out")
    losses = _losses(arguments, experiment)
    usual = experiment.quick_runs if arguments.quick else free_lunch.RUNS
    runs = whole(usual if arguments.runs is None else arguments.runs, "--runs", least=2)
    if runs > free_lunch.MOST_RUNS:
        raise dp.ParameterError(f"--runs: {name} holds at most {free_lunch.MOST_RUNS}, got {runs}")
    command = _plotting(_FREE_LUNCH)
    text: str = command.reproduce(command.Order(experiment, losses, runs, Path(arguments.out)))
    return text


def _losses(arguments: argparse.Namespace, experiment: free_lunch.Experiment) -> dict[Law, float]:
    """Of each noise in the experiment: as given, else as published."""
    name, least, most = experiment.name, free_lunch.LEAST_LOSS, free_lunch.MOST_LOSS
    losses = {law: law.loss for law in experiment.laws}
    for law in free_lunch.LAWS:
        given, option = getattr(arguments, law.option), f"--{law.option}"
        if given is None:
            continue
        if law not in losses:
            raise dp.ParameterError(f"{option}: {name} has no {law.name} noise; leave it out")
        if len(given) != 1:
            raise dp.ParameterError(f"{option}: {name} is at one budget, got {len(given)}")
        losses[law] = float(positive(given[0], option))
        if not least <= losses[law] <= most:
            raise dp.ParameterError(
                f"{option} must lie between {least:g} and {most:g}, where the estimators differ, "
                f"got {given[0]}"
            )
    return losses


def _claim(setting: Setting, pipeline: dp.Measurement[_Rows, Any], *, explain: bool) -> Claim:
    loss = pipeline.map(1)
    at_delta = None
    if "rho" in setting.budget:
        at_delta = {"epsilon": pipeline.epsilon(DELTA), "delta": shown_up(DELTA)}
    return Claim(
        neighbours=setting.neighbours,
        measure=type(pipeline.output_measure).__name__,
        loss=dict(zip(setting.budget, loss if type(loss) is tuple else (loss,), strict=True)),
        epsilon_at_delta=at_delta,
        pipeline=str(setting),
        explanation=pipeline.explain().splitlines() if explain else None,
    )


_METHODS: Final[dict[str, Callable[..., dp.Mechanism[_Rows, Any]]]] = {
    "best": dp.mean,
    "centered": dp.centered_mean,
    "core": dp.core_mean,
    "plug-in": dp.plug_in_mean,
    "recentred": dp.recentred_mean,
    "resized": dp.resized_mean,
    "simplex": dp.simplex_mean,
}


def _setting(arguments: argparse.Namespace) -> Setting:
    lower, upper = (
        exact(bound, f"--bounds: the {which} bound")
        for bound, which in zip(arguments.bounds, ("lower", "upper"), strict=True)
    )
    if lower >= upper:
        advice = "they are equal" if lower == upper else "swap them"
        raise dp.ParameterError(f"--bounds: the lower must be below the upper; {advice}")
    if arguments.size is not None and arguments.method != "best":
        raise dp.ParameterError(
            f"--size N makes the number of rows public, which --method {arguments.method} does "
            "not use; leave one of them out"
        )
    size = None if arguments.size is None else whole(arguments.size, "--size", least=1)
    budget = _budget(arguments)
    _suits(arguments.method, budget)
    confidence = _typed(confidence_of(arguments.confidence, "--confidence"))
    mechanism = _METHODS[arguments.method](
        _typed(lower), _typed(upper), **budget, confidence=confidence, sampling=arguments.sampling
    )
    present = _present(arguments.missing, sized=size is not None)
    if present is not None:
        mechanism = present >> mechanism
    metric = None if size is None else dp.ChangeOneDistance()
    return Setting(mechanism, dp.records(size=size, metric=metric), budget, float(upper - lower))


def _suits(method: str, budget: dict[str, float]) -> None:
    """Refuses the methods that know one kind of noise where the other is asked for."""
    pure = list(budget) == ["epsilon"]
    if method == "core" and not pure:
        raise dp.ParameterError("--method core is for a pure loss: give --epsilon alone")
    if method == "recentred" and pure:
        raise dp.ParameterError(
            "--method recentred needs Gaussian noise: give --rho, or --epsilon with --delta"
        )


def _present(missing: str | float | None, *, sized: bool) -> dp.Stage[_Rows, _Rows] | None:
    """What is done about missing values, beside what the estimator does."""
    if missing == _DROP and sized:
        raise dp.ParameterError(
            "--missing drop changes the number of rows, which --size declares as public; "
            "give --missing VALUE, or leave it out for the middle of the bounds"
        )
    if missing is None or missing == _DROP:
        return None
    return dp.impute(_typed(exact(missing, "--missing")))


def _budget(arguments: argparse.Namespace) -> dict[str, float]:
    """The privacy setting: rho, epsilon, or epsilon and delta, by name."""
    rho, epsilon, delta = arguments.rho, arguments.epsilon, arguments.delta
    if rho is None and epsilon is None:
        raise dp.ParameterError(
            ("--delta goes with --epsilon; " if delta is not None else "")
            + "say how private the release is to be, with --rho R, with --epsilon E, or with "
            "--epsilon E --delta D (the smaller, the more private; --epsilon 1 is common)"
        )
    if rho is not None and (epsilon is not None or delta is not None):
        other = "--epsilon" if epsilon is not None else "--delta"
        raise dp.ParameterError(
            f"--rho and {other} belong to different privacy settings; give --rho alone, --epsilon "
            "alone, or --epsilon with --delta"
        )
    if rho is not None:
        return {"rho": _typed(positive(rho, "--rho"))}
    parts = {"epsilon": _typed(positive(epsilon, "--epsilon"))}
    if delta is not None:
        parts["delta"] = _typed(open_probability(delta, "--delta"))
    return parts


def _column(arguments: argparse.Namespace) -> Column:
    if Path(arguments.file).suffix.lower() == ".parquet":
        return _parquet_column(arguments)
    return csv_column(
        _standard_input() if arguments.file == "-" else arguments.file,
        arguments.column,
        delimiter=arguments.delimiter,
        na=arguments.na,
    )


def _standard_input() -> BinaryIO:
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise FileError("there is no standard input to read; give the name of a file")
    return stream


def _parquet_column(arguments: argparse.Namespace) -> Column:
    if arguments.na or arguments.delimiter != ",":
        raise dp.ParameterError("--na and --delimiter are for CSV files; leave them out")
    try:
        engine = importlib.import_module(_PARQUET)
    except ImportError:
        raise dp.ParameterError(
            'a .parquet file is read with pyarrow; install it: pip install "opendp_lite[arrow]"'
        ) from None
    column: Column = engine.parquet_column(arguments.file, arguments.column)
    return column


@contextmanager
def _declared(size: float | None) -> Iterator[None]:
    """A size that does not fit, in words."""
    try:
        yield
    except FileError:
        raise
    except dp.DataError:
        if size is None:
            raise
        raise dp.DataError(
            f"--size {_short(size)}: the file has another number of rows; give the true one where "
            "it is public, else leave --size out and the number stays private"
        ) from None


def _print(text: str) -> int:
    if sys.stdout is None:
        return _refuse("the release was made, but there is no standard output to write it to")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):
            return _NOBODY_READS
        return _refuse(f"the release was made, but writing it failed: {problem.strerror}")
    return 0


def _refuse(text: str) -> int:
    print(f"opendp-lite: error: {text}", file=sys.stderr)
    return _REFUSED


def _file_trouble(problem: OSError) -> str:
    name = "the data" if problem.filename is None else repr(str(problem.filename))
    match problem:
        case FileNotFoundError():
            return f"there is no file {name}; check its name and folder"
        case IsADirectoryError():
            return f"{name} is a folder; give a file in it"
        case PermissionError():
            return f"{name} may not be read by you; ask its owner for the right to"
        case _:
            return f"{name} cannot be read: {problem.strerror or type(problem).__name__}"


def _typed(value: Fraction) -> float:
    """The nearest number as a person would type it: 40, not 40.0."""
    return int(value) if value.denominator == 1 and abs(value) < _EXACT else float(value)


def _short(value: float) -> str:
    """A float without what a reader does not need: 1 for 1.0, 1e-6 for 1e-06."""
    mantissa, _, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent)}" if exponent else "")


def _rounded_up(value: float, digits: int = 3) -> str:
    return _short(float(Context(digits, ROUND_CEILING).create_decimal(repr(value))))


def _shielded(argv: Sequence[str]) -> list[str]:
    """Negative numbers behind a space, so that none is taken for an option: -1e3, -inf, -.5."""
    return [f" {word}" if word.startswith("-") and _is_number(word) else word for word in argv]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    if not _is_number(text):
        raise argparse.ArgumentTypeError(
            f"{text.strip()!r} is not a number; write numbers like 1234.5, without separators"
        )
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


def _missing(text: str) -> str | float:
    if text != _DROP and not _is_number(text):
        raise argparse.ArgumentTypeError(f"give the word {_DROP} or a number, not {text.strip()!r}")
    return _DROP if text == _DROP else _number(text)


def _delimiter(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


def _version() -> str:
    try:
        return f"opendp-lite {version('opendp_lite')}"
    except PackageNotFoundError:
        return "opendp-lite, not installed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opendp-lite",
        description="Differentially private statistics as verified pipelines.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    mean = commands.add_parser(
        "mean",
        help="the mean of one column of a CSV file",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    mean.set_defaults(run=_mean)
    _add_data(mean.add_argument_group("the data"))
    _add_privacy(mean.add_argument_group("the privacy: one setting (smaller is more private)"))
    _add_estimate(mean.add_argument_group("the estimate"))
    _add_output(mean.add_argument_group("the output"))
    again = commands.add_parser(
        "reproduce",
        help="a published experiment, run again",
        description=_REPRODUCED,
        epilog="\n".join(f"{name:16} {title}" for name, title in _TITLES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    again.set_defaults(run=_reproduce)
    _add_experiment(again)
    return parser


_Group = argparse._ArgumentGroup


def _add_data(group: _Group) -> None:
    group.add_argument(
        "file",
        metavar="FILE",
        help="a CSV file with the names of its columns in the first line, gzip allowed; "
        "- for standard input; or a .parquet file",
    )
    group.add_argument(
        "--column", metavar="NAME", help="the column; not needed where the file has only one"
    )
    group.add_argument(
        "--na",
        metavar="MARK",
        action="append",
        default=[],
        help="a cell that means a missing value, besides the empty cell, NA, N/A, NaN, null, None "
        "and a single point; may be given several times",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        type=_delimiter,
        default=",",
        help="what stands between cells: one character, or tab (default: a comma)",
    )


def _add_privacy(group: _Group) -> None:
    group.add_argument(
        "--rho", metavar="R", type=_number, help="zero-concentrated, with Gaussian noise"
    )
    group.add_argument("--epsilon", metavar="E", type=_number, help="pure; or with --delta")
    group.add_argument(
        "--delta", metavar="D", type=_number, help="approximate, with Gaussian noise, say 1e-6"
    )


def _add_estimate(group: _Group) -> None:
    group.add_argument(
        "--bounds",
        metavar=("LOWER", "UPPER"),
        nargs=2,
        type=_number,
        required=True,
        help="the range of the values, from what you know beforehand; values outside count as the "
        "nearer bound",
    )
    group.add_argument(
        "--missing",
        metavar="drop|VALUE",
        type=_missing,
        help="leave out rows without a value (default), or count them as VALUE",
    )
    group.add_argument(
        "--size",
        metavar="N",
        type=_number,
        help="the number of rows, where it is public; then the privacy is that of replacing a row, "
        "and a missing value counts as the middle of the bounds unless --missing says otherwise",
    )
    group.add_argument(
        "--confidence",
        metavar="C",
        type=_number,
        default=0.95,
        help="how surely the interval is to hold the mean (default: 0.95)",
    )
    group.add_argument(
        "--sampling",
        action="store_true",
        help="the rows are a random sample: the interval is to hold the mean of all of whom they "
        "were drawn; a twentieth of the budget is for their spread",
    )
    group.add_argument(
        "--method",
        choices=sorted(_METHODS),
        default="best",
        help="best (default): recentred, core for --epsilon alone, a sum for --size; the others "
        "are for comparison: simplex, centered, plug-in, resized",
    )


def _add_output(group: _Group) -> None:
    group.add_argument("--json", action="store_true", help="one JSON object with all digits")
    group.add_argument(
        "--explain", action="store_true", help="a line for each step, and how the loss comes about"
    )


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        choices=list(_TITLES),
        help="one of those below",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=_number,
        help="how often each estimator runs in each setting (table1, figure2, figure3: 10 000)",
    )
    parser.add_argument(
        "--rho", metavar="R", type=_number, nargs="+", help="the budgets (default: as published)"
    )
    parser.add_argument(
        "--epsilon",
        metavar="E",
        type=_number,
        nargs="+",
        help="with table1 and figure3: the budget of Laplace noise (default: as published)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer settings and runs, in less than a minute"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="with plan-...: all settings and runs as published, for hours",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=_number,
        help="with plan-...: how many processes (default: one for a core)",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="with plan-binary: a file of transactions, such as Kosarak or POS, a line of item "
        "numbers for each or two columns; gzip allowed",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default=_FOLDER,
        help=f"where the table and the figure go (default: {_FOLDER})",
    )


if __name__ == "__main__":
    raise SystemExit(main())
