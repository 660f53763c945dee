"""One release with its claim, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import attrs

from opendp_lite.cli.flags import ReportLine, Statistic
from opendp_lite.cli.output import align_lines, rounded_up, short
from opendp_lite.display.formatting import align, for_json, plain
from opendp_lite.estimators.distributions.histograms import key_cell, label
from opendp_lite.measures.budgets import WEAK, WEAK_DELTA
from opendp_lite.releases.estimate import say_hidden
from opendp_lite.releases.table import ReleaseTable

# The other intervals that a number may have, by name, and what they hold.
_FURTHER: Final = {
    "noise": "that of these rows",
    "joint": "all at once",
    "clipped": "that of the clipped values",
    "wide": "what clipping may have moved too",
}

_KINDS: Final = ("", *(f"{name}_" for name in _FURTHER))

NUMBERS: Final = (
    "standard_error",
    *(f"{kind}{part}" for kind in _KINDS for part in ("interval", "low", "high")),
)
"""The titles of numbers, beside the name of the statistic."""

_NEXT: Final = (
    "add up the losses of all releases of this data; --explain shows each step and its loss"
)


@attrs.frozen
class PrivacyClaim:
    """The promise of a pipeline, known before any data is read.

    ``neighbours`` is the change of the data that the loss bounds. ``protected`` says it of one row
    or person.
    """

    neighbours: str
    protected: str
    measure: str
    loss: dict[str, float]
    epsilon_at_delta: dict[str, float] | None
    pipeline: str
    explanation: list[str] | None

    def words(self) -> str:
        """What is protected, and how well."""
        loss = {name: _few_digits(value) for name, value in self.loss.items()}
        if self.epsilon_at_delta is not None:
            told = (
                f"rho = {loss['rho']} zCDP, which is "
                f"epsilon = {rounded_up(self.epsilon_at_delta['epsilon'])} "
                f"at delta = {short(self.epsilon_at_delta['delta'])}"
            )
        elif self.loss.get("delta"):
            told = f"epsilon = {loss['epsilon']} at delta = {loss['delta']}"
        else:
            told = f"epsilon = {loss['epsilon']} (pure differential privacy)"
        epsilon = (self.epsilon_at_delta or self.loss)["epsilon"]
        is_weak = epsilon >= WEAK or self.loss.get("delta", 0) >= WEAK_DELTA
        weak = "; a loss this large protects hardly at all" if is_weak else ""
        return f"{self.protected}: {told}{weak}"


@attrs.frozen
class Report:
    """One release with its claim and with what the command did to the values.

    ``titles`` are those of the labels of lines; a release without them is one number.
    Intervals that hold all at once are those of one group where it is ``grouped``. A ``table`` to
    publish takes the place of the lines.
    """

    statistic: Statistic
    column: str
    titles: tuple[str, ...]
    lines: Sequence[ReportLine]
    confidence: float
    claim: PrivacyClaim
    notes: dict[str, str]
    grouped: bool
    table: ReleaseTable | None = None

    @property
    def without_numbers(self) -> dict[str, object]:
        """All but the numbers."""
        claim = self.claim
        found = {
            "confidence": self.confidence,
            "sampling": self.statistic.sampling,
            "neighbours": claim.neighbours,
            "loss": {"measure": claim.measure, **claim.loss},
            "epsilon_at_delta": claim.epsilon_at_delta,
            **self.notes,
            "pipeline": claim.pipeline,
            "explain": claim.explanation,
        }
        return {key: value for key, value in found.items() if value is not None}

    def as_json(self) -> str:
        """One JSON object with all digits."""
        found: dict[str, object] = {"column": self.column}
        if self.table is not None:
            found |= {"releases": list(map(plain, self.table)), "note": self.table.note}
        elif self.titles:
            found["releases"] = [self._as_object(line) for line in self.lines]
        else:
            found.update(self._as_object(self.lines[0]))
        return json.dumps({**found, **self.without_numbers}, indent=2, allow_nan=False)

    def _as_object(self, line: ReportLine) -> dict[str, object]:
        found: dict[str, object] = {
            **dict(zip(self.titles, line.labels, strict=True)),
            self.statistic.name: line.estimate.value,
            "standard_error": for_json(line.estimate.standard_error),
            "interval": for_json(line.estimate.interval),
        }
        further = {f"{name}_interval": for_json(ends) for name, ends in line.further.items()}
        hidden = line.estimate.hidden_rows
        more: dict[str, object] = {} if hidden is None else {"hidden_rows": hidden}
        more |= {"doubt": line.doubt} if line.doubt else {}
        return found | further | more | ({"too_few_rows": True} if line.estimate.too_few else {})

    def columns(self) -> dict[str, list[object]]:
        """The numbers as a table: a list for each column. Ends are named as in tables of Python."""
        if self.table is not None:
            return {name: [*map(key_cell, cells)] for name, cells in self.table.columns.items()}
        found: dict[str, list[object]] = {
            title: [key_cell(line.labels[place]) for line in self.lines]
            for place, title in enumerate(self.titles)
        }
        estimates = [line.estimate for line in self.lines]
        found[self.statistic.name] = [each.value for each in estimates]
        found["standard_error"] = [each.standard_error for each in estimates]
        found["low"] = [each.interval[0] for each in estimates]
        found["high"] = [each.interval[1] for each in estimates]
        for name in self._further:
            ends = [line.further.get(name, (None, None)) for line in self.lines]
            found[f"{name}_low"], found[f"{name}_high"] = map(list, zip(*ends, strict=True))
        return found

    def as_text(self) -> str:
        """Aligned lines; numbers have the digits that the standard error justifies."""
        source = "noise and sampling" if self.statistic.sampling else "noise only"
        name = _printable(self.column)
        heading = self.statistic.heading or self._words
        hides = any(map(self.statistic.hides, self.lines))
        # A ledger adds up the losses itself.
        following = self._hint() if hides else "" if "ledger" in self.notes else _NEXT
        entries = {
            "protected": self.claim.words(),
            **self.notes,
            **({"next": following} if following else {}),
            "pipeline": self.claim.pipeline,
        }
        hidden = [each.estimate.hidden_rows or 0 for each in self.lines]
        if any(hidden):
            entries = {"far rows": say_hidden(max(hidden))} | entries
        if doubts := dict.fromkeys(line.doubt for line in self.lines if line.doubt):
            entries = {"doubt": "; ".join(doubts)} | entries
        if self.table is not None:
            head = [f"{heading} of {name}", "", str(self.table), ""]
            told = [*head, *align_lines(entries)]
        elif not self.titles:
            (line,) = self.lines
            value, error, interval = _numbers(line)
            own = {
                f"{heading} of {name}": value,
                f"{self._share} interval": f"{interval} for the {self.statistic.target}",
                **{
                    f"{name} interval": f"{_ends(line, name)} holds {_FURTHER[name]}"
                    for name in self._further
                },
                "standard error": f"{error} ({source})",
            }
            told = align_lines({**own, **entries})
        else:
            own = {"intervals": f"{self._holders} the {self.statistic.target} ({source})"}
            own |= {name: f"these intervals hold {_FURTHER[name]}" for name in self._further}
            head = [f"{heading} of {name}", "", *self._grid(), ""]
            told = [*head, *align_lines({**own, **entries})]
        if self.claim.explanation is not None:
            told.extend(["", *self.claim.explanation])
        return "\n".join(told)

    @property
    def _holders(self) -> str:
        """Which intervals hold what is estimated at this confidence."""
        if not self.statistic.together:
            return "each by itself holds"
        return f"all of {'one group' if self.grouped else 'them'} at once hold"

    @property
    def _words(self) -> str:
        return self.statistic.name.replace("_", " ")

    @property
    def _share(self) -> str:
        return f"{100 * self.confidence:.4g} %"

    @property
    def _further(self) -> list[str]:
        """The other intervals that some lines have."""
        return list(dict.fromkeys(name for line in self.lines for name in line.further))

    def _hint(self) -> str:
        hidden = f"the {self._words}" if not self.titles else "some of these numbers"
        return f"the noise hides {hidden}: {self.statistic.advice}"

    def _grid(self) -> list[str]:
        """The lines as a table: labels to the left, numbers to the right."""
        titles = [
            *map(_printable, self.titles),
            self._words,
            "std. error",
            f"{self._share} interval",
        ]
        rows = [[*map(label, line.labels), *_numbers(line)] for line in self.lines]
        for name in self._further:
            titles.append(f"{name} interval")
            rows = [[*row, _ends(line, name)] for row, line in zip(rows, self.lines, strict=True)]
        return align([titles, *rows], {len(self.titles), len(self.titles) + 1})


def _few_digits(value: float) -> str:
    """A loss as it was typed, or rounded up where it was computed."""
    told = short(value)
    return told if len(told) <= 12 else rounded_up(value)


def _digits(line: ReportLine, *more: float) -> list[str]:
    """The value, its error and the ends of its interval; whole numbers as they are."""
    estimate = line.estimate
    numbers = [estimate.value, estimate.standard_error, *estimate.interval, *more]
    rounded = estimate.justify(*map(float, numbers))
    return [
        str(number) if type(number) is int else text
        for number, text in zip(numbers, rounded, strict=True)
    ]


def _numbers(line: ReportLine) -> list[str]:
    value, error, low, high = _digits(line)
    return [value, error, f"{low} to {high}"]


def _ends(line: ReportLine, name: str) -> str:
    """One of the other intervals of a line; nothing where it has none."""
    if name not in line.further:
        return ""
    low, high = _digits(line, *line.further[name])[-2:]
    return f"{low} to {high}"


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)
