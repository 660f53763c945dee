"""``opendp-lite report``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.output import Told, writers
from opendp_lite.cli.release import Payment, tell_price


@attrs.frozen
class _Releases:
    """A release of any kind, with the promise of its pipeline."""

    pipeline: when_run.AnyMeasurement
    found: object
    explain: bool
    ledger: dict[str, str]

    def as_json(self) -> str:
        """One JSON object with all digits."""
        told: dict[str, object] = {
            "releases": when_run.plain(self.found),
            "neighbours": self.pipeline.neighbours(),
            "loss": {
                "measure": type(self.pipeline.output_measure).__name__,
                "value": self.pipeline.map(1),
            },
            "pipeline": repr(self.pipeline),
            **self.ledger,
        }
        if self.explain:
            told["explain"] = self.pipeline.explain().splitlines()
        return json.dumps(told, indent=2, allow_nan=False)

    def as_text(self) -> str:
        """The release, and what it costs."""
        parts = [str(self.found), "", self.pipeline.explain().closing[0]]
        parts += [f"{word}: {words}" for word, words in self.ledger.items()]
        explained = ["", *self.pipeline.explain().splitlines()] if self.explain else []
        return "\n".join([*parts, *explained])


def report(arguments: argparse.Namespace) -> Told:
    """Makes the releases of a saved pipeline. All that is wrong with it is refused before.

    Raises:
        ParameterError: If the file spells no release, or an option does not fit.
        DataError: If the data are not as declared.
    """
    pipeline = _load(arguments.pipeline)
    writes = writers(arguments, {".json": _as_line})
    payment = Payment.of(arguments).open(pipeline.input_space)
    if arguments.price:
        loss = {"loss": pipeline.explain().closing[0].removeprefix("loss for ")}
        return tell_price(loss, payment.price(pipeline), as_json=arguments.json)
    numbers, words = arguments.numbers or [], arguments.words or []
    if not numbers and not words:
        raise dp.ParameterError(
            "name the columns that the pipeline reads: --numbers NAME ... and --words NAME ..."
        )
    kinds = [*((name, float) for name in numbers), *((name, str) for name in words)]
    data = FileInput.of(arguments, kinds).table()
    _require_named(pipeline, [*numbers, *words])
    found, stated, ledger = payment.release(pipeline, data)
    told = _Releases(pipeline, found, arguments.explain, ledger)
    text = told.as_json() if arguments.json else told.as_text()
    return Told(text, writes(told, stated))


def _as_line(told: _Releases) -> bytes:
    return f"{told.as_json()}\n".encode()


def _require_named(pipeline: when_run.AnyMeasurement, names: Sequence[str]) -> None:
    """Refuses a pipeline that reads a column which no flag names. No row is read."""
    try:
        when_run.try_on_names(pipeline, {name: [] for name in names})
    except when_run.NoColumnError as problem:
        name = problem.column
        raise dp.ParameterError(
            f"the pipeline reads the column {name!r}, which you did not name: add it to --numbers "
            "if it holds numbers, or to --words if it holds categories, keys or ids"
        ) from None


def _load(name: str) -> when_run.AnyMeasurement:
    try:
        text = Path(name).read_text("utf-8")
    except UnicodeDecodeError:
        raise dp.ParameterError(
            f"--pipeline: {name!r} is no UTF-8 text; save it as UTF-8"
        ) from None
    found = dp.from_json(text)
    if not isinstance(found, dp.Mechanism | dp.Measurement):
        raise dp.ParameterError("--pipeline: what the file spells does not end in noise")
    return found.bound


def add_report(commands: flags.Commands) -> None:
    """Adds the command to those of a parser."""
    groups = {
        "the data": f"{flags.FILE} --numbers --words",
        "the release": "--pipeline",
        "the output": flags.OUTPUT,
    }
    parser = flags.add_command(
        commands,
        "report",
        groups,
        usage="""\
opendp-lite report FILE --pipeline PIPELINE.json [--numbers NAME ...] [--words NAME ...]
                        [more options]
       opendp-lite report --help""",
    )
    parser.set_defaults(run=report)
