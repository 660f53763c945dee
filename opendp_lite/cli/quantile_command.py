"""``opendp-lite quantile``."""

from __future__ import annotations

import argparse
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.command import Command
from opendp_lite.cli.numbers import as_typed, number, short
from opendp_lite.cli.statistic import ReportLine, Statistic, filled, one_line, treated
from opendp_lite.exact import exact

_HALF: Final = 0.5

_DESCRIPTION: Final = """\
Releases quantiles of one column of a CSV file with differential privacy: 0.5 is the median, 0.9 the
value below which nine tenths of the rows lie. For example:

  opendp-lite quantile survey.csv --column income --quantiles 0.1 0.5 0.9 --bounds 0 1e6 --epsilon 1

Half of the budget finds the quantiles, and the other half an interval for each."""

_EXAMPLES: Final = """\
more examples:
  opendp-lite quantile survey.csv --column income --quantiles 0.5 --bounds 0 1e6 --rho 0.03
  opendp-lite quantile survey.csv --column income --quantiles 0.25 0.5 0.75 --bounds 0 1e6 \\
      --epsilon 1 --by sex --keys f m --output quartiles.csv"""


_MEDIAN: Final = """\
Releases the median of one column of a CSV file with differential privacy. For example:

  opendp-lite median survey.csv --column income --bounds 0 1e6 --epsilon 1

Half of the budget finds the median, and the other half its interval."""


def _add(parser: argparse.ArgumentParser) -> None:
    estimate = _add_common(parser)
    estimate.add_argument(
        "--quantiles",
        metavar="Q",
        nargs="+",
        type=number,
        required=True,
        help="numbers between 0 and 1; 0.5 is the median",
    )


def _add_median(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.set_defaults(quantiles=[_HALF])


def _add_common(parser: argparse.ArgumentParser) -> flags.Group:
    """All options but the quantiles; gives the group of those for the estimate."""
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
    flags.add_confidence(estimate, "the quantile")
    flags.add_sampling(
        estimate,
        "intervals for the quantiles of the population, treating the rows as a random sample",
    )
    flags.add_output(parser.add_argument_group("the output"))
    return estimate


def asked(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The quantiles that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    lower, upper = flags.rising_ends(arguments.bounds, "--bounds")
    quantiles = [_quantile(each) for each in arguments.quantiles]
    impute = flags.imputed(arguments)
    loss: dict[str, Any] = budget
    mechanism = dp.private_quantile(
        quantiles,
        bounds=(as_typed(lower), as_typed(upper)),
        **loss,
        confidence=flags.level_of(arguments),
        sampling=arguments.sampling,
    )

    several = len(quantiles) > 1

    def lines(release: Any) -> list[ReportLine]:
        return [ReportLine.of(each, q) for q, each in zip(quantiles, release, strict=True)]

    return Statistic(
        name="value",
        heading="quantiles",
        target=f"quantile{'s' * several} of the "
        f"{'population' if arguments.sampling else 'clipped values'}",
        columns=(arguments.column,),
        kind=float,
        mechanism=filled(impute, mechanism),
        lines=lines,
        note=("clipped", treated((lower, upper), impute, by_middle=flags.fills(arguments))),
        titles=("quantile",),
        reach=float(upper - lower),
        sampling=arguments.sampling,
        together=several,
    )


def _asked_median(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    found = asked(arguments, budget)
    return attrs.evolve(
        found,
        name="median",
        heading="",
        target=found.target.replace("quantile", "median"),
        lines=lambda release: one_line(release[0]),
        titles=(),
    )


def _quantile(given: float) -> float:
    share = exact(given, "--quantiles")
    if not 0 < share < 1:
        percent = f"; {short(given)} % is {short(given / 100)}" if 1 < given < 100 else ""
        raise dp.ParameterError(
            f"--quantiles must be between 0 and 1, got {short(given)}{percent}. The least and the "
            "largest value have no interval: ask for 0.01 or 0.99"
        )
    return as_typed(share)


MEDIAN: Final = Command(
    name="median",
    brief="the private median of one column",
    usage="""\
opendp-lite median FILE --column NAME --bounds LOWER UPPER (--epsilon E | --rho R)
                        [more options]
       opendp-lite median --help""",
    description=_MEDIAN,
    examples="For other quantiles see opendp-lite quantile.",
    add=_add_median,
    asked=_asked_median,
)
"""The command for the median."""
QUANTILE: Final = Command(
    name="quantile",
    brief="private quantiles of one column, such as the median",
    usage="""\
opendp-lite quantile FILE --column NAME --quantiles Q ... --bounds LOWER UPPER
                        (--epsilon E | --rho R) [more options]
       opendp-lite quantile --help""",
    description=_DESCRIPTION,
    examples=_EXAMPLES,
    add=_add,
    asked=asked,
)
"""The command."""
