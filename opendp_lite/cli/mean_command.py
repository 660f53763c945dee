"""``opendp-lite mean``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.command import Command
from opendp_lite.cli.numbers import as_typed
from opendp_lite.cli.statistic import MORE, Statistic, filled, one_line, treated

Estimator = Callable[..., "dp.Mechanism[dp.Space[dp.Rows], Any]"]

METHODS: Final[dict[str, Callable[[], Estimator]]] = {
    "best": lambda: dp.mean,
    "centered": lambda: dp.estimators.centered_mean,
    "joint": lambda: dp.estimators.joint_mean,
    "plug-in": lambda: dp.estimators.plug_in_mean,
    "recentred": lambda: dp.estimators.recentred_mean,
    "resized": lambda: dp.estimators.resized_mean,
    "simplex": lambda: dp.estimators.simplex_mean,
}
"""Estimators by the word after ``--method``, each imported when it is chosen."""
_FARTHEST: Final = 2.0**301
"""How wide the interval is if no bounds are found."""
_WITHOUT_BOUNDS: Final = "give --bounds, or use more rows or a larger budget"

_DESCRIPTION: Final = """\
Releases the mean of one column of a CSV file with differential privacy. Noise hides any one row:
the result would look much the same with or without it. For example:

  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --epsilon 1

You say the column, the range that you expect, and how private the release is. The output says how
far off it may be. Invalid input exits with status 2, names the flag and releases nothing."""

_EXAMPLES: Final = """\
more examples:
  opendp-lite mean visits.csv.gz --column mdvis --bounds 0 40 --rho 0.03
  opendp-lite mean bare.csv --no-header --column 3 --bounds 0 40 --epsilon 1
  cut -d, -f1 visits.csv | opendp-lite mean - --bounds 0 40 --epsilon 1 --delta 1e-6
  opendp-lite mean survey.csv --column income --bounds 0 150000 --epsilon 1 --by sex --keys f m
  opendp-lite mean log.csv --column minutes --bounds 0 60 --epsilon 1 --person id --most 3

Choose the bounds, like all options, without looking at the data. Each run is one more release: the
losses of several runs on the same data add up. Without --person the loss is for one row: a person
with several rows is protected less."""


def _add(parser: argparse.ArgumentParser) -> None:
    flags.add_data(parser.add_argument_group("the data"), "the name of the column")
    flags.add_privacy(
        parser.add_argument_group("the privacy: one setting (a smaller number protects more)"),
        delta="the small probability of approximate differential privacy, say 1e-6",
    )
    flags.add_people(parser.add_argument_group("several rows a person"))
    estimate = parser.add_argument_group("the estimate")
    flags.add_bounds(
        estimate,
        required=False,
        without="; without them a part of the budget finds some",
    )
    flags.add_groups(estimate)
    flags.add_rows(estimate)
    flags.add_confidence(estimate, "the mean")
    flags.add_sampling(
        estimate,
        "interval for the population mean, treating the rows as a random sample; a twentieth "
        "of the budget is spent on their variance",
    )
    estimate.add_argument(
        "--method",
        choices=sorted(METHODS),
        default="best",
        help="best (default) takes recentred, joint for --epsilon alone, a sum for --size. Use "
        "the others for comparison: simplex, centered, plug-in, resized",
    )
    flags.add_output(parser.add_argument_group("the output"))


def asked(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The mean that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    bounds = flags.bounds_of(arguments)
    _check_method(arguments, budget)
    impute = flags.imputed(arguments)
    ends = () if bounds is None else tuple(map(as_typed, bounds))
    mechanism = METHODS[arguments.method]()(
        *ends,
        **budget,
        confidence=flags.level_of(arguments),
        sampling=arguments.sampling,
    )
    return Statistic(
        name="mean",
        target="population mean" if arguments.sampling else "mean of the clipped values",
        columns=(arguments.column,),
        kind=float,
        mechanism=filled(impute, mechanism),
        lines=one_line,
        note=("clipped", treated(bounds, impute, by_middle=flags.fills(arguments))),
        reach=_FARTHEST if bounds is None else float(bounds[1] - bounds[0]),
        sampling=arguments.sampling,
        advice=_WITHOUT_BOUNDS if bounds is None else MORE,
    )


def _check_method(arguments: argparse.Namespace, budget: dict[str, float]) -> None:
    """Refuses a method with a setting that it does not know."""
    method, pure = arguments.method, list(budget) == ["epsilon"]
    if arguments.size is not None and method != "best":
        raise dp.ParameterError(
            f"--size N makes the number of rows public, which --method {method} does "
            "not use; leave one of them out"
        )
    if arguments.bounds is None and method != "best":
        raise dp.ParameterError(f"--method {method} needs --bounds LOWER UPPER")
    if method == "joint" and not pure:
        raise dp.ParameterError("--method joint is for a pure loss: give --epsilon alone")
    if method == "recentred" and pure:
        raise dp.ParameterError(
            "--method recentred needs Gaussian noise: give --rho, or --epsilon with --delta"
        )


MEAN: Final = Command(
    name="mean",
    brief="the private mean of one column of a file",
    usage="""\
opendp-lite mean FILE --column NAME [--bounds LOWER UPPER]
                        (--epsilon E | --epsilon E --delta D | --rho R) [more options]
       opendp-lite mean --help""",
    description=_DESCRIPTION,
    examples=_EXAMPLES,
    add=_add,
    asked=asked,
)
"""The command."""
