"""Released numbers with their intervals, as small pictures in the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, isnan
from numbers import Real
from typing import Any, Final

import attrs

from opendp_lite.svg import INK_BLUE, INK_ORANGE, element, picture

_WIDTH: Final = 160
_HEIGHT: Final = 16
_EDGE: Final = 5.0
_MIDDLE: Final = _HEIGHT / 2
_BAR: Final = 10
_CAP: Final = 3.0
_DOT: Final = 3.5


@attrs.frozen
class Spot:
    """A released number with the ends of its interval, which are the number where there is none.

    Args:
        value: The number.
        low: The lower end.
        high: The upper end.
    """

    value: float
    low: float
    high: float


@attrs.frozen
class Scale:
    """The numbers at the left and at the right end of a picture.

    Args:
        low: At the left end.
        high: At the right end.
    """

    low: float
    high: float

    @classmethod
    def around(cls, spots: Iterable[Spot], *also: float) -> Scale:
        """The least scale with all finite ends of these, and with some numbers more.

        Example:
            >>> Scale.around([Spot(3, 1, 5), Spot(float("nan"), 2, float("inf"))], 0)
            Scale(low=0, high=5)
        """
        ends = [end for spot in spots for end in (spot.value, spot.low, spot.high)]
        found = [end for end in (*ends, *also) if isfinite(end)] or [0.0]
        return cls(min(found), max(found))

    def share(self, number: float) -> float:
        """Where a number lies from 0 to 1; one beyond the scale lies at its end.

        Example:
            >>> Scale(-1e308, 1e308).share(5e307), Scale(0, 2).share(float("inf"))
            (0.75, 1.0)
        """
        wide = self.high / 2 - self.low / 2
        if wide == 0:
            return 0.5
        return min(max((number / 2 - self.low / 2) / wide, 0.0), 1.0)

    def title(self) -> str:
        """The column's title: both ends, as text of HTML."""
        ends = "".join(f"<span>{end:.4g}</span>" for end in (self.low, self.high))
        style = f"display:flex;justify-content:space-between;gap:1em;min-width:{_WIDTH}px"
        return f"<div style='{style}'>{ends}</div>"

    def bar(self, spot: Spot) -> str:
        """A bar from zero to the number, with its interval. The scale has to hold zero."""
        if isnan(spot.value):
            return ""
        zero, end = self._x(0), self._x(spot.value)
        drawn = element(
            "rect",
            x=min(zero, end),
            y=_MIDDLE - _BAR / 2,
            width=abs(end - zero),
            height=_BAR,
            fill=INK_BLUE,
        )
        line = element("path", d=f"M{zero:.1f} 0V{_HEIGHT}", **_thin(0.5))
        return self._told(drawn + line + self._whiskers(spot), spot)

    def dot(self, spot: Spot) -> str:
        """The number as a dot on its interval."""
        if isnan(spot.value):
            return ""
        line = element("path", d=f"M{_EDGE:g} {_MIDDLE:g}H{_WIDTH - _EDGE:g}", **_thin(0.35))
        drawn = element("circle", cx=self._x(spot.value), cy=_MIDDLE, r=_DOT, fill=INK_ORANGE)
        return self._told(line + self._whiskers(spot) + drawn, spot)

    def _x(self, number: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * self.share(number)

    def _whiskers(self, spot: Spot) -> str:
        if isnan(spot.low) or isnan(spot.high) or spot.low == spot.high:
            return ""
        low, high = self._x(spot.low), self._x(spot.high)
        cap = f"{_MIDDLE - _CAP:g}v{2 * _CAP:g}"
        ends = "".join(
            f"M{x:.1f} {cap}"
            for x, end in ((low, spot.low), (high, spot.high))
            if self.low <= end <= self.high
        )
        path = f"M{low:.1f} {_MIDDLE:g}H{high:.1f}{ends}"
        return element("path", d=path, fill="none", stroke="currentColor", stroke_width=1.5)

    def _told(self, drawn: str, spot: Spot) -> str:
        interval = f", interval {spot.low:.4g} to {spot.high:.4g}"
        title = f"{spot.value:.4g}{interval if spot.low < spot.high else ''}"
        scale = f"On a scale from {self.low:.4g} to {self.high:.4g}."
        return picture(drawn, _WIDTH, _HEIGHT, title, scale)


def spot_of(release: Any) -> Spot | None:
    """A released number as a picture places it; None where it is none.

    Example:
        >>> spot_of(3), spot_of("three")
        (Spot(value=3.0, low=3.0, high=3.0), None)
    """
    own = getattr(release, "spot", None)
    if own is not None:
        found: Spot = own()
        return found
    if isinstance(release, Real):
        number = float(release)
        return Spot(number, number, number)
    return None


def spots_of(releases: Iterable[Any]) -> Sequence[Spot] | None:
    """All of them, if each is a number."""
    found = [spot_of(release) for release in releases]
    spots = [spot for spot in found if spot is not None]
    return spots if len(spots) == len(found) else None


def _thin(opacity: float) -> dict[str, Any]:
    return {"stroke": "currentColor", "stroke_opacity": opacity, "fill": "none"}
