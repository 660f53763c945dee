"""The ledger that pays for the release of a command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import attrs

import opendp_lite as dp
from opendp_lite.sessions.session_release import Release


@attrs.frozen
class LedgerPayment:
    """A ledger, opened and checked, and what is written beside the release there."""

    ledger: dp.Ledger
    note: str
    data_name: str | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> LedgerPayment | None:
        """The ledger that ``--ledger`` names; None without it.

        Raises:
            ParameterError: If ``--note`` or ``--data-name`` is given without it, the data comes
                from a stream, or a file to write is the witness of the ledger.
            LedgerError: If the ledger cannot be used.
        """
        if arguments.ledger is None:
            alone = {"--note": arguments.note, "--data-name": arguments.data_name}
            for name, words in alone.items():
                if words is not None:
                    raise dp.ParameterError(f"{name} is written into a ledger; add --ledger FILE")
            return None
        if arguments.file == "-":
            raise dp.ParameterError(
                "--ledger tells the data from other data by its file; give a file in place of -"
            )
        ledger = dp.Ledger.open(arguments.ledger)
        witness = ledger.file.witness
        written = {"--output": arguments.output, "--statement": arguments.statement}
        for flag, name in written.items():
            if witness is not None and name is not None and Path(name).resolve() == witness.path:
                raise dp.ParameterError(
                    f"{flag}: {name!r} is the witness of the ledger; name another file"
                )
        return cls(ledger, arguments.note or "", arguments.data_name)

    def paid(
        self, measurement: dp.Measurement[Any, Any], data: object, space: dp.Space[Any]
    ) -> Release[Any]:
        """The release, once the ledger has booked its price."""
        ask = self.ledger.session(data, space=space, name=self.data_name)
        return ask(measurement, note=self.note)

    def words(self, release: Release[Any]) -> str:
        """Where the release stands in the ledger."""
        position = release.statement().position
        assert position is not None
        return (
            f"entry {position.number}; spent: {position.spent}; left: {position.left}; head of "
            f"the chain: {position.head[:12]}"
        )
