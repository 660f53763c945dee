"""One release of a mean with its claim, for people and for programs."""

from __future__ import annotations

import json

import attrs

import opendp_lite as dp
from opendp_lite.cli.numbers import rounded_up, short

_HIDDEN = "the noise hides the mean: use more rows, narrower bounds or a larger budget"
_NEXT = "add up the losses of all releases of this data; --explain shows each step and its loss"


@attrs.frozen
class PrivacyClaim:
    """The promise of a pipeline, known before any data is read.

    ``size`` is the public number of rows, or None if it is private.
    """

    size: int | None
    measure: str
    loss: dict[str, float]
    epsilon_at_delta: dict[str, float] | None
    pipeline: str
    explanation: list[str] | None

    @property
    def neighbours(self) -> str:
        """The change of the data that the loss bounds."""
        if self.size is None:
            return "adding or removing one row"
        return f"replacing one of {self.size} rows"

    def words(self) -> str:
        """What is protected, and how well."""
        loss = {name: short(value) for name, value in self.loss.items()}
        rows = "added or removed" if self.size is None else "replaced by any other"
        if self.epsilon_at_delta is not None:
            told = (
                f"rho = {loss['rho']} zCDP, which is "
                f"epsilon = {rounded_up(self.epsilon_at_delta['epsilon'])} "
                f"at delta = {short(self.epsilon_at_delta['delta'])}"
            )
        elif "delta" in loss:
            told = f"epsilon = {loss['epsilon']} at delta = {loss['delta']}"
        else:
            told = f"epsilon = {loss['epsilon']} (pure differential privacy)"
        return f"any one row, {rows}: {told}"


@attrs.frozen
class MeanReport:
    """One release with its claim and with what the command did to the values."""

    column: str
    estimate: dp.Estimate
    claim: PrivacyClaim
    clipped: str
    hidden: bool

    def as_json(self) -> str:
        """One JSON object with all digits."""
        claim, estimate = self.claim, self.estimate
        found = {
            "column": self.column,
            "mean": estimate.value,
            "standard_error": estimate.standard_error,
            "interval": list(estimate.interval),
            "confidence": estimate.confidence,
            "sampling": estimate.sampling,
            "neighbours": claim.neighbours,
            "loss": {"measure": claim.measure, **claim.loss},
            "epsilon_at_delta": claim.epsilon_at_delta,
            "clipped": self.clipped,
            "pipeline": claim.pipeline,
            "explain": claim.explanation,
        }
        given = {key: value for key, value in found.items() if value is not None}
        return json.dumps(given, indent=2, allow_nan=False)

    def as_text(self) -> str:
        """Aligned lines; numbers have the digits that the standard error justifies."""
        told = self.estimate
        numbers = told.value, told.standard_error, *told.interval
        mean, error, low, high = told.justified(*numbers)
        name = self.column if self.column.isprintable() else ascii(self.column)
        source = "noise and sampling" if told.sampling else "noise only"
        covers = "population mean" if told.sampling else "mean of the clipped values"
        entries = {
            f"mean of {name}": mean,
            f"{100 * told.confidence:.4g} % interval": f"{low} to {high} for the {covers}",
            "standard error": f"{error} ({source})",
            "protected": self.claim.words(),
            "clipped": self.clipped,
            "next": _HIDDEN if self.hidden else _NEXT,
            "pipeline": self.claim.pipeline,
        }
        width = max(map(len, entries)) + 3
        lines = [f"{label:<{width}}{value}" for label, value in entries.items()]
        if self.claim.explanation is not None:
            lines.extend(["", *self.claim.explanation])
        return "\n".join(lines)
