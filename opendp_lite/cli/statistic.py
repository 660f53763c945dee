"""What a command releases, before it is known of which rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli.numbers import as_typed, short

Labels = tuple[Hashable, ...]
MORE: Final = "use more rows, narrower bounds or a larger budget"
"""What helps where the noise hides a number, as a rule."""


@attrs.frozen
class ReportLine:
    """One released number: what it is of, and how far off it may be.

    ``joint`` is an interval that holds together with those of all other lines. ``wide`` includes
    what clipping may have moved. ``too_few`` says that there were too few rows for the statistic.
    """

    labels: Labels
    value: float
    standard_error: float
    interval: tuple[float, float]
    joint: tuple[float, float] | None = None
    wide: tuple[float, float] | None = None
    too_few: bool = False

    @classmethod
    def of(cls, estimate: dp.Estimate, *labels: Hashable) -> ReportLine:
        """The line of an estimate."""
        own = estimate.value, estimate.standard_error, estimate.interval
        return cls(labels, *own, wide=estimate.wide_interval, too_few=estimate.too_few)

    @property
    def further(self) -> dict[str, tuple[float, float]]:
        """The other intervals that it has, by name."""
        named = {"joint": self.joint, "wide": self.wide}
        return {name: interval for name, interval in named.items() if interval is not None}


def treated(
    bounds: tuple[Fraction, Fraction] | None, impute: Fraction | None, *, by_middle: bool
) -> str:
    """What happens to values beyond the bounds and to missing ones, in words.

    Args:
        bounds: None where a part of the budget finds them.
        impute: What a missing value counts as, if you named it.
        by_middle: Whether it counts as the middle of the bounds otherwise.
    """
    if bounds is None:
        beyond = "values beyond bounds that a part of the budget finds count as these"
        middle = "the middle of these bounds"
    else:
        lower, upper = (short(as_typed(end)) for end in bounds)
        beyond = f"values below {lower} count as {lower}, values above {upper} as {upper}"
        middle = short(as_typed((bounds[0] + bounds[1]) / 2))
    if impute is None and not by_middle:
        return f"{beyond}; rows without a value are left out"
    value = middle if impute is None else short(as_typed(impute))
    return f"{beyond}; a missing value counts as {value}"


def _nothing(_: Any) -> dict[str, str]:
    return {}


@attrs.frozen
class Statistic:
    """A mechanism for some columns, and how its releases are told.

    Attributes:
        name: "mean", say.
        target: What an interval holds, in words.
        columns: Those that it reads, as typed; None for the only one.
        kind: What they are read as.
        mechanism: For rows of the one column of numbers; for a table, if ``picks``.
        picks: Whether the mechanism picks its columns from a table by itself.
        titles: Of the labels of lines.
        lines: From a release.
        note: What happens to the values, after a word for it.
        reach: How far apart two values of the statistic can be; None where they may be anything.
        sampling: Whether the intervals are for the population.
        heading: What stands above a table of releases; empty for the name.
        advice: What helps where the noise hides a number.
        together: Whether the intervals of one release hold all at once.
        learned: What a release says of itself beside its lines, by the word for it.
    """

    name: str
    target: str
    columns: tuple[str | None, ...]
    kind: type
    mechanism: dp.Mechanism[Any, Any, Any]
    lines: Callable[[Any], Sequence[ReportLine]]
    note: tuple[str, str]
    picks: bool = False
    titles: tuple[str, ...] = ()
    reach: float | None = None
    sampling: bool = False
    heading: str = ""
    advice: str = MORE
    together: bool = False
    learned: Callable[[Any], dict[str, str]] = _nothing

    def hides(self, line: ReportLine) -> bool:
        """Whether the noise says little more than what was known before."""
        return self.reach is not None and line.standard_error >= self.reach / 4


def filled(
    impute: Fraction | None, mechanism: dp.Mechanism[Any, Any, Any]
) -> dp.Mechanism[Any, Any, Any]:
    """A mechanism after missing values were filled, if they are to be."""
    return mechanism if impute is None else dp.impute(as_typed(impute)) >> mechanism


def noise(budget: dict[str, float], confidence: float) -> dp.Mechanism[Any, Any, Any]:
    """Laplace noise for a pure budget and Gaussian noise for rho, with intervals."""
    kind: Callable[..., dp.Mechanism[Any, Any, Any]] = (
        dp.gaussian if "rho" in budget else dp.laplace
    )
    return kind(**budget, confidence=confidence)


def one_line(release: dp.Estimate) -> Sequence[ReportLine]:
    """The line of a release that is one number."""
    return [ReportLine.of(release)]
