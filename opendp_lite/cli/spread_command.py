"""``opendp-lite variance`` and ``opendp-lite standard-deviation``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.command import Command
from opendp_lite.cli.numbers import as_typed
from opendp_lite.cli.statistic import Statistic, filled, one_line, treated

Estimator = Callable[..., "dp.Mechanism[Any, Any, Any]"]
Reach = Callable[[Fraction], Fraction]
"""How far apart two values of the statistic can be, from the width of the bounds."""


def _add(parser: argparse.ArgumentParser) -> None:
    flags.add_data(parser.add_argument_group("the data"), "the name of the column")
    flags.add_privacy(
        parser.add_argument_group("the privacy: one setting (a smaller number protects more)"),
        delta="the small probability of approximate differential privacy, say 1e-6",
    )
    flags.add_people(parser.add_argument_group("several rows a person"))
    estimate = parser.add_argument_group("the estimate")
    flags.add_bounds(estimate, required=True)
    flags.add_groups(estimate)
    flags.add_rows(estimate)
    flags.add_confidence(estimate, "the true one")
    flags.add_output(parser.add_argument_group("the output"))


def _asked(
    arguments: argparse.Namespace,
    budget: dict[str, float],
    *,
    name: str,
    estimator: Callable[[], Estimator],
    reach: Reach,
) -> Statistic:
    lower, upper = flags.rising_ends(arguments.bounds, "--bounds")
    impute = flags.imputed(arguments)
    mechanism = estimator()(
        as_typed(lower), as_typed(upper), **budget, confidence=flags.level_of(arguments)
    )
    return Statistic(
        name=name,
        target=f"{name.replace('_', ' ')} of the clipped values",
        columns=(arguments.column,),
        kind=float,
        mechanism=filled(impute, mechanism),
        lines=one_line,
        note=("clipped", treated((lower, upper), impute, by_middle=flags.fills(arguments))),
        reach=float(reach(upper - lower)),
    )


def _command(
    word: str,
    estimator: Callable[[], Estimator],
    reach: Reach,
) -> Command:
    name, words = word.replace("-", "_"), word.replace("-", " ")
    return Command(
        name=word,
        brief=f"the private {words} of one column",
        usage=f"""\
opendp-lite {word} FILE --column NAME --bounds LOWER UPPER
                        (--epsilon E | --epsilon E --delta D | --rho R) [more options]
       opendp-lite {word} --help""",
        description=f"""\
Releases the {words} of one column of a CSV file with differential privacy. For example:

  opendp-lite {word} survey.csv --column income --bounds 0 1e6 --epsilon 1

Bounds that are far too wide cost little: a part of the budget finds where the values lie.""",
        examples="The sum of squared distances from the mean is divided by n, not by n - 1.",
        add=_add,
        asked=partial(_asked, name=name, estimator=estimator, reach=reach),
    )


SPREAD: Final = (
    _command("variance", lambda: dp.variance, lambda width: width * width / 4),
    _command("standard-deviation", lambda: dp.standard_deviation, lambda width: width / 2),
)
"""The commands."""
