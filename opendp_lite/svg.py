"""Scalable pictures as text: elements, each with what a person wrote escaped."""

from __future__ import annotations

from hashlib import sha256
from html import escape
from typing import Final

INK_BLUE: Final = "#2f7fb8"
INK_ORANGE: Final = "#b86a00"
INK_GREEN: Final = "#00856a"
"""Colours that colour-blind readers tell apart, on light and on dark."""

_NAMES: Final = 12


def element(name: str, inside: str = "", **attributes: object) -> str:
    """An element around others. An underscore in a name stands for a hyphen.

    Example:
        >>> element("line", x1=0.123, stroke_width=2)
        '<line x1="0.12" stroke-width="2"/>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{inside}</{name}>" if inside else f"<{name}{told}/>"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text, escaped.

    Example:
        >>> text("a < b", 1, 2)
        '<text x="1" y="2">a &lt; b</text>'
    """
    return element("text", escape(words), x=x, y=y, **attributes)


def picture(inside: str, width: float, height: float, title: str, description: str) -> str:
    """A whole picture with its text alternative, as wide as it is or as there is room.

    It takes the colour of the text around it, so it fits a light and a dark page.
    """
    told = "\n".join([title, description])
    name = f"opendp-lite-{sha256(f'{told}{inside}'.encode()).hexdigest()[:_NAMES]}"
    alternative = element("title", escape(title), id=f"{name}-t") + element(
        "desc", escape(description), id=f"{name}-d"
    )
    return element(
        "svg",
        alternative + inside,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        style="max-width:100%;height:auto;font-family:system-ui,sans-serif",
        fill="currentColor",
    )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))
