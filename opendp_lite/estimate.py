"""A released number with how far off it may be."""

from __future__ import annotations

from typing import Any

import attrs

from opendp_lite.shown_results import for_json, html_table, significant
from opendp_lite.strips import Scale, Spot


@attrs.frozen(repr=False)
class Estimate:
    """A released number with its standard error and an interval. All of it is private.

    Args:
        value: The estimate, of a mean or a count, say.
        standard_error: Of the value, to the first order.
        interval: Holds what is estimated in a share ``confidence`` of all releases. For a mean this
            is the mean of the clipped values.
        confidence: Such as 0.95.
        rows: About how many rows there are; None where the release does not tell.
        sampling: Whether both errors also cover that the rows are a random sample. If not, they
            are those of the noise alone.
        clipped: Whether values were clipped at ends that a private search found. The interval is
            then for the clipped values. With few rows these may lie far from all values.
        wide_interval: With what such clipping may have moved, where the release can tell. It holds
            the statistic of all values within the bounds if tails are thin: ``variance`` says how
            thin.
        bounds: What is estimated lies between them; None where nothing bounds it on both sides.
        too_few: Whether the rows were too few, as a noisy count has it, to learn where the values
            lie. The value is then a private median, or 0, and says nothing of the mean.

    Example:
        >>> estimate = Estimate(41.2587, 0.0821, (41.097, 41.421), 0.95, 600.2)
        >>> estimate
        <Estimate 41.259 +- 0.082, 95 % interval 41.097 to 41.421, from the noise alone>
        >>> float(estimate), f"{estimate:.1f}"
        (41.2587, '41.3')
        >>> estimate.as_dict()["interval"]
        [41.097, 41.421]
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    rows: float | None = None
    sampling: bool = False
    clipped: bool = False
    wide_interval: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    too_few: bool = False

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{self.justified(self.value)[0]} ({self._interval()}, {self._covered()})"

    def __repr__(self) -> str:
        value, error = self.justified(self.value, self.standard_error)
        return f"<Estimate {value} +- {error}, {self._interval()}, {self._covered()}>"

    def _repr_html_(self) -> str:
        value, error = self.justified(self.value, self.standard_error)
        shown = {
            "estimate": value,
            "standard error": error,
            f"{self._share()} interval": self._ends(self.interval),
            "covers": self._source().removeprefix("from "),
        }
        if self.wide_interval is not None:
            shown["with what clipping may move"] = self._ends(self.wide_interval)
        if self.rows is not None:
            shown["rows, about"] = f"{self.rows:.0f}{', too few' if self.too_few else ''}"
        drawn = "" if self.bounds is None else self._on_bounds(*self.bounds)
        return f"<div>{html_table(shown)}{drawn}</div>"

    def _on_bounds(self, lower: float, upper: float) -> str:
        scale = Scale(lower, upper)
        return f"<div style='width:fit-content'>{scale.dot(self.spot())}{scale.title()}</div>"

    def spot(self) -> Spot:
        """The value with its interval, for a picture."""
        return Spot(float(self.value), *map(float, self.interval))

    def _share(self) -> str:
        return f"{100 * self.confidence:.12g} %"

    def _ends(self, interval: tuple[float, float]) -> str:
        low, high = self.justified(*interval)
        return f"{low} to {high}"

    def _interval(self) -> str:
        return f"{self._share()} interval {self._ends(self.interval)}"

    def _covered(self) -> str:
        """What the interval covers, and what it does not."""
        found = self._source()
        if self.wide_interval is not None:
            found += f"; {self._ends(self.wide_interval)} with what clipping may move"
        if self.too_few:
            found += "; too few rows" + ("" if self.rows is None else f", about {self.rows:.0f}")
        return found

    def _source(self) -> str:
        source = "from noise and sampling" if self.sampling else "from the noise alone"
        return f"{source}, after clipping" if self.clipped else source

    def justified(self, *numbers: float) -> tuple[str, ...]:
        """Numbers with as many digits as the second of the standard error.

        Those of a count are whole, and have no decimals.
        """
        shown = significant(self.standard_error, *numbers)
        if not all(float(end).is_integer() for end in (self.value, *self.interval)):
            return shown
        return tuple(
            f"{number:.0f}" if "." in text and "e" not in text and number == int(number) else text
            for number, text in zip(numbers, shown, strict=True)
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``. A number that is not finite is None."""
        return {
            "value": for_json(self.value),
            "standard_error": for_json(self.standard_error),
            "interval": for_json(self.interval),
            "confidence": for_json(self.confidence),
            "rows": None if self.rows is None else for_json(self.rows),
            "sampling": bool(self.sampling),
            "clipped": bool(self.clipped),
            "wide_interval": None if self.wide_interval is None else for_json(self.wide_interval),
            "bounds": None if self.bounds is None else for_json(self.bounds),
            "too_few": bool(self.too_few),
        }
