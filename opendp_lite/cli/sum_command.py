"""``opendp-lite sum``."""

from __future__ import annotations

import argparse
from typing import Final

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.command import Command
from opendp_lite.cli.numbers import as_typed
from opendp_lite.cli.statistic import Statistic, filled, noise, one_line, treated

_DESCRIPTION: Final = """\
Releases the sum of one column of a CSV file with differential privacy. For example:

  opendp-lite sum survey.csv --column income --bounds 0 1e6 --epsilon 1

The noise grows with the bounds: choose them as narrow as you can without looking at the data."""

_EXAMPLES: Final = """\
more examples:
  opendp-lite sum survey.csv --column income --bounds 0 1e6 --rho 0.03
  opendp-lite sum survey.csv --column income --bounds 0 1e6 --epsilon 1 --by sex --keys f m
  opendp-lite sum log.csv --column minutes --bounds 0 60 --epsilon 1 --person id --most 3"""


def _add(parser: argparse.ArgumentParser) -> None:
    flags.add_data(parser.add_argument_group("the data"), "the name of the column")
    flags.add_privacy(
        parser.add_argument_group("the privacy: one setting (a smaller number protects more)"),
        delta=None,
    )
    flags.add_people(parser.add_argument_group("several rows a person"))
    estimate = parser.add_argument_group("the estimate")
    flags.add_bounds(estimate, required=True)
    flags.add_groups(estimate)
    flags.add_rows(estimate)
    flags.add_confidence(estimate, "the sum")
    flags.add_output(parser.add_argument_group("the output"))


def asked(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The sum that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    lower, upper = flags.rising_ends(arguments.bounds, "--bounds")
    impute = flags.imputed(arguments)
    total = dp.clamp(as_typed(lower), as_typed(upper)) >> dp.sum()
    return Statistic(
        name="sum",
        target="sum of the clipped values",
        columns=(arguments.column,),
        kind=float,
        mechanism=filled(impute, total >> noise(budget, flags.level_of(arguments))),
        lines=one_line,
        note=("clipped", treated((lower, upper), impute, by_middle=flags.fills(arguments))),
    )


SUM: Final = Command(
    name="sum",
    brief="the private sum of one column",
    usage="""\
opendp-lite sum FILE --column NAME --bounds LOWER UPPER (--epsilon E | --rho R)
                        [more options]
       opendp-lite sum --help""",
    description=_DESCRIPTION,
    examples=_EXAMPLES,
    add=_add,
    asked=asked,
)
"""The command."""
