"""``opendp-lite count``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.command import Command
from opendp_lite.cli.statistic import ReportLine, Statistic, noise, one_line

_DESCRIPTION: Final = """\
Counts the rows of a CSV file with differential privacy. For example:

  opendp-lite count survey.csv --column age --epsilon 1

A row counts if it has a value in the column, text or a number. If you name no column, a file of one
column of numbers is counted."""

_EXAMPLES: Final = """\
more examples:
  opendp-lite count survey.csv --column age --all --rho 0.03
  opendp-lite count survey.csv --column age --epsilon 1 --by sex --keys f m
  opendp-lite count log.csv --column minutes --epsilon 1 --person id --most 1

With --person id --most 1 people are counted. For counts of each value see opendp-lite histogram."""


def _add(parser: argparse.ArgumentParser) -> None:
    flags.add_data(parser.add_argument_group("the data"), "the name of the column")
    flags.add_privacy(
        parser.add_argument_group("the privacy: one setting (a smaller number protects more)"),
        delta=None,
    )
    flags.add_people(parser.add_argument_group("several rows a person"))
    count = parser.add_argument_group("the count")
    count.add_argument(
        "--all", action="store_true", help="count rows without a value in the column as well"
    )
    flags.add_groups(count)
    flags.add_confidence(count, "the count")
    flags.add_output(parser.add_argument_group("the output"))
    parser.set_defaults(size=None, missing=None)


def asked(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The count that the arguments ask for."""
    counted: Any = dp.count(missing=True) if arguments.all else dp.count()
    if arguments.column is not None:
        counted = dp.select(arguments.column.strip()) >> counted
    picks = arguments.all or arguments.column is not None
    kept = "all rows" if arguments.all else "rows without a value are left out"
    return Statistic(
        name="count",
        target="count",
        columns=(arguments.column,),
        kind=str if picks else float,
        mechanism=counted >> noise(budget, flags.level_of(arguments)),
        lines=one_line if "rho" in budget else _whole_line,
        note=("counted", kept),
        picks=picks,
    )


def _whole_line(release: dp.Estimate) -> Sequence[ReportLine]:
    """The line of a count with noise that is a whole number."""
    low, high = map(int, release.interval)
    return [ReportLine((), int(release.value), release.standard_error, (low, high))]


COUNT: Final = Command(
    name="count",
    brief="the private number of rows",
    usage="""\
opendp-lite count FILE --column NAME (--epsilon E | --rho R) [more options]
       opendp-lite count --help""",
    description=_DESCRIPTION,
    examples=_EXAMPLES,
    add=_add,
    asked=asked,
)
"""The command."""
