"""One command that makes a release."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from opendp_lite.cli import flags, when_run
from opendp_lite.cli.printing import Told

if TYPE_CHECKING:
    from opendp_lite.cli.release import Asked


_PRIVACY = "the privacy: one setting (a smaller number protects more)"
_BUDGETS = "(--epsilon E | --rho R)"
_BUDGETS_WITH_DELTA = "(--epsilon E | --epsilon E --delta D | --rho R)"


@attrs.frozen
class Command:
    """A command: its options, and what it asks for.

    Attributes:
        name: As it is typed.
        brief: A line in the list of commands.
        needs: The options of its own that it needs, as they are typed.
        description: What it does.
        examples: What stands at the end of its help.
        asked: What the arguments ask for.
        title: Of its own options.
        options: Its own, beside those that all commands have.
        column: The option that names the column.
        delta: What delta is for; empty where it is of no use.
        defaults: What is asked for where no option of its own says so.
    """

    name: str
    brief: str
    description: str
    examples: str
    asked: Asked
    options: Mapping[str, flags.Option]
    needs: str = "--column NAME --bounds LOWER UPPER"
    title: str = "the estimate"
    column: flags.Option = flags.COLUMN
    delta: str = ""
    defaults: Mapping[str, object] = attrs.Factory(dict)

    def release(self, arguments: argparse.Namespace) -> Told:
        """Makes the release that the arguments ask for."""
        return when_run.release(arguments, self.asked)

    def put(self, commands: argparse._SubParsersAction[Any]) -> None:
        """Adds the command to those of a parser."""
        budgets = _BUDGETS_WITH_DELTA if self.delta else _BUDGETS
        epsilon, delta = dict(flags.EPSILON), {}
        if self.delta:
            epsilon["help"] += "; with --delta: approximate"
            delta["--delta"] = flags.number_option("D", self.delta)
        groups = {
            "the data": {**flags.FILE, "--column": self.column},
            _PRIVACY: {"--epsilon": epsilon, **delta, "--rho": flags.RHO},
            "several rows a person": flags.PEOPLE,
            self.title: self.options,
            "the output": flags.OUTPUT,
        }
        parser = flags.add_command(
            commands,
            self.name,
            groups,
            help=self.brief,
            usage=f"opendp-lite {self.name} FILE {self.needs}\n{'':24}{budgets} [more options]\n"
            f"       opendp-lite {self.name} --help",
            description=self.description,
            epilog=self.examples,
        )
        nothing = dict.fromkeys(("bounds", "delta", "missing", "size"))
        parser.set_defaults(run=self.release, **nothing, **self.defaults)
