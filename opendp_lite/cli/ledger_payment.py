"""The ledger that pays for the release of a command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import attrs

import opendp_lite as dp
from opendp_lite.combinators.accounts import AnySpace
from opendp_lite.explain.statement import Statement
from opendp_lite.pipeline.core import AnyMeasurement


@attrs.frozen
class Payment:
    """What pays for a release, and what is written beside it there.

    Attributes:
        ledger: Opened and checked; None where nothing pays.
        note: Words of the person.
        data_name: A name for other data than before.
    """

    ledger: dp.Ledger | None
    note: str
    data_name: str | None

    @classmethod
    def of(cls, arguments: argparse.Namespace, space: AnySpace) -> Payment:
        """The ledger that ``--ledger`` names.

        Args:
            arguments: All that was typed.
            space: Of the release.

        Raises:
            ParameterError: If ``--note`` or ``--data-name`` is given without it, the data comes
                from a stream, the release counts rows and the ledger protects a person (or the
                other way round), or a file to write is the witness of the ledger.
            LedgerError: If the ledger cannot be used.
        """
        if arguments.ledger is None:
            alone = {"--note": arguments.note, "--data-name": arguments.data_name}
            for name, words in alone.items():
                if words is not None:
                    raise dp.ParameterError(f"{name} is written into a ledger; add --ledger FILE")
            return cls(None, "", None)
        if arguments.file == "-":
            raise dp.ParameterError(
                "--ledger tells the data from other data by its file; give a file in place of -"
            )
        ledger = dp.Ledger.open(arguments.ledger)
        terms, witness = ledger.file.terms, ledger.file.witness
        if not terms.hold_for(space):
            mend = (
                "Leave out --person and --most, or make a ledger of people: opendp-lite ledger "
                "create FILE --unit person"
                if terms.is_row
                else "Add --person NAME --most K (a saved pipeline begins with "
                "dp.table(person='id') >> dp.bound_contributions(3)), or make a ledger of rows: "
                "opendp-lite ledger create FILE --unit row"
            )
            raise dp.ParameterError(
                f"--ledger: this ledger protects {terms.protected}, and the release is for "
                f"{space.metric.protected(space.unit)}. Nothing was read or spent. {mend}, with "
                "its budget"
            )
        written = {"--output": arguments.output, "--statement": arguments.statement}
        for flag, name in written.items():
            if witness is not None and name is not None and Path(name).resolve() == witness.path:
                raise dp.ParameterError(
                    f"{flag}: {name!r} is the witness of the ledger; name another file"
                )
        return cls(ledger, arguments.note or "", arguments.data_name)

    def release(
        self, pipeline: AnyMeasurement, data: object
    ) -> tuple[Any, Statement, dict[str, str]]:
        """The release, once its price is booked, its statement, and where it stands, in words."""
        if self.ledger is None:
            return pipeline(data), pipeline.statement(), {}
        ask = self.ledger.session(data, space=pipeline.input_space, name=self.data_name)
        release = ask(pipeline, note=self.note)
        stated = release.statement()
        position = stated.position
        assert position is not None
        words = (
            f"entry {position.number}; spent: {position.spent}; left: {position.left}; head of "
            f"the chain: {position.head[:12]}"
        )
        return release.value, stated, {"ledger": words}
