"""One command that makes a release."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from opendp_lite.cli import when_releasing
from opendp_lite.cli.told import Told

if TYPE_CHECKING:
    from opendp_lite.cli.release import Asked, Setting


@attrs.frozen
class Command:
    """A command: its options, and what it asks for.

    Attributes:
        name: As it is typed.
        brief: A line in the list of commands.
        usage: How it is typed.
        description: What it does.
        examples: What stands at the end of its help.
        add: Adds its options to a parser.
        asked: What the arguments ask for.
    """

    name: str
    brief: str
    usage: str
    description: str
    examples: str
    add: Callable[[argparse.ArgumentParser], None]
    asked: Asked

    def setting(self, arguments: argparse.Namespace) -> Setting:
        """Everything public about the release that the arguments ask for."""
        return when_releasing.setting_of(arguments, self.asked)

    def release(self, arguments: argparse.Namespace) -> Told:
        """Makes the release that the arguments ask for."""
        return when_releasing.release(arguments, self.asked)

    def put(self, commands: argparse._SubParsersAction[Any]) -> None:
        """Adds the command to those of a parser."""
        parser = commands.add_parser(
            self.name,
            help=self.brief,
            usage=self.usage,
            description=self.description,
            epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.set_defaults(run=self.release, parser=parser)
        self.add(parser)
