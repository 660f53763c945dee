"""A pipeline as a scalable picture: boxes in rows, arrows between them, parts in frames."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

import attrs

from opendp_lite.display import pictures
from opendp_lite.explain.trace import Explained, Passage, Role

# The width of a telephone's page: wider ones would be shown there in smaller letters.
_WIDTH: Final = 440.0
_PAD: Final = 8.0
_EDGE: Final = 2.0
_TURN: Final = 6.0
_SKETCH: Final = 28.0
_LINE: Final = 15.0
_GAP: Final = 22.0
_ARROW: Final = 26.0
_HEAD: Final = 6.0
_CODE_SIZE: Final = 12
_CODE_WIDTH: Final = 7.25
_WORD_SIZE: Final = 11
_WORD_WIDTH: Final = 6.4
_BOLD_WIDTH: Final = 6.8
_MOST_CODE: Final = 30
_MOST_WORDS: Final = 24
_MOST_ARROW: Final = 17
_MOST_PILL: Final = 28
_MOST_LINES: Final = 4
_CODE: Final = "ui-monospace,Menlo,Consolas,monospace"
# The lines differ, too.
_LOOKS: Final = {
    Role.DATA: {"stroke": pictures.INK_BLUE, "stroke_width": "1.5"},
    Role.NOISE: {"stroke": pictures.INK_ORANGE, "stroke_width": "2.5"},
    Role.RELEASE: {"stroke": pictures.INK_GREEN, "stroke_width": "1.5", "stroke_dasharray": "5 3"},
}


@attrs.frozen
class _Shape:
    """Something with a size, drawn around its place. ``arriving`` stands at the arrow to it."""

    inside: str
    width: float
    height: float
    arriving: tuple[str, ...] = ()

    @property
    def arrow_length(self) -> float:
        """The length of the arrow to it."""
        return max([_ARROW, *(len(line) * _WORD_WIDTH + 14 for line in self.arriving)])

    def at(self, x: float, y: float) -> str:
        """The piece with its upper left corner there."""
        return pictures.tag("g", self.inside, transform=f"translate({x:.1f} {y:.1f})")


def svg_picture(told: Explained) -> str:
    """The picture, and the same in words for those who do not see it."""
    start = [_pill("unit of privacy", told.start)] if told.start else []
    steps = [_draw(each, _WIDTH) for each in told.passages]
    flow = _flow([*start, *steps, _pill(told.kind, told.result)], _WIDTH)
    sentences = [
        f"Unit of privacy: {told.start}." if told.start else "No space is known.",
        *(sentence for each in told.passages for sentence in each.sentences()),
        f"The {told.kind}: {told.result}.",
    ]
    title = f"Pipeline with the {told.kind} {told.result}"
    return pictures.picture(
        flow.at(_EDGE, _EDGE),
        flow.width + 2 * _EDGE,
        flow.height + 2 * _EDGE,
        title,
        " ".join(sentences),
    )


def _flow(pieces: Sequence[_Shape], width: float, lead_in: bool = False) -> _Shape:
    """Pieces from left to right, in rows of at most this width; arrows join them."""
    rows: list[list[tuple[_Shape, float]]] = [[]]
    x = 0.0
    for place, piece in enumerate(pieces):
        lead = piece.arrow_length if place or lead_in else 0.0
        if rows[-1] and x + lead + piece.width > width:
            rows.append([])
            x = 0.0
        rows[-1].append((piece, x + lead))
        x += lead + piece.width
    drawn, top, before = [], 0.0, None
    widest = max(x + piece.width for row in rows for piece, x in row)
    for row in rows:
        below = max(piece.height / 2 for piece, _ in row)
        # As far above it the words of an arrow reach.
        words = max(len(piece.arriving) * _LINE + _HEAD for piece, _ in row)
        middle = top + max(below, words)
        for piece, x in row:
            if before is not None or lead_in:
                drawn.append(_arrow(before, (x, middle), top, piece))
            drawn.append(piece.at(x, middle - piece.height / 2))
            before = x + piece.width, middle
        top = middle + below + _GAP
    turns = _TURN if len(rows) > 1 else 0.0
    return _Shape("".join(drawn), widest + turns, top - _GAP)


def _arrow(
    before: tuple[float, float] | None, to: tuple[float, float], top: float, piece: _Shape
) -> str:
    """An arrow to a piece, from the row above if the piece begins a row; its words above it."""
    x, y = to
    start = x - piece.arrow_length
    if before is None or before[1] == y:
        path = f"M{start + 2:.1f} {y:.1f}H{x - _HEAD:.1f}"
    else:
        turn = top - _GAP / 2
        path = (
            f"M{before[0]:.1f} {before[1]:.1f}h{_TURN:g}V{turn:.1f}"
            f"H{start + 2:.1f}V{y:.1f}H{x - _HEAD:.1f}"
        )
    tip = f"M{x - 1:.1f} {y:.1f}l-{_HEAD + 1} -4v8z"
    head = pictures.tag("path", d=tip, fill_opacity=0.6)
    middle, lowest = (start + x - _HEAD) / 2 + 1, len(piece.arriving) - 1
    words = "".join(
        _centre(each, middle, y - 6 - _LINE * (lowest - place))
        for place, each in enumerate(piece.arriving)
    )
    return pictures.line(path, stroke_opacity=0.6) + head + words


def _pill(title: str, words: str) -> _Shape:
    lines = wrap(words, _MOST_PILL)
    width = max(_wide([title], _WORD_WIDTH), _wide(lines, _BOLD_WIDTH)) + 2 * _PAD
    height = (1 + len(lines)) * _LINE + 1.2 * _PAD
    look = {"fill_opacity": 0.07, "stroke": "currentColor", "stroke_opacity": 0.5}
    shape = pictures.tag("rect", width=width, height=height, rx=14, **look)
    head = _centre(title, width / 2, _LINE, opacity=0.8)
    told = (
        _centre(line, width / 2, _LINE * (2 + place), font_weight="bold")
        for place, line in enumerate(lines)
    )
    return _Shape(shape + head + "".join(told), width, height)


def _centre(words: str, x: float, y: float, **look: object) -> str:
    return pictures.text(words, x, y, font_size=_WORD_SIZE, text_anchor="middle", **look)


def _draw(passage: Passage, width: float) -> _Shape:
    """A step: a box, or a frame around its parts."""
    role = passage.step.role
    short, _, _ = passage.arriving.partition(" (")
    arriving = tuple(_lines(short.replace(", ", ",\n"), _MOST_ARROW))
    label = _label(passage, width)
    if not passage.inside:
        shape = _rect(label.width, label.height, role)
        return attrs.evolve(label, inside=shape + label.inside, arriving=arriving)
    lead = _Shape("", 0.0, 0.0, arriving).arrow_length
    room = width - 2 * _PAD - lead - _TURN
    parts = [_branch(name, inside, room) for name, inside in passage.branches]
    wide = max(label.width, *(part.width + 2 * _PAD for part in parts))
    inside, y = [label.at(0, 0)], label.height + _PAD / 2
    for part in parts:
        inside.append(part.at(_PAD, y))
        y += part.height + _PAD
    return _Shape(_rect(wide, y, role) + "".join(inside), wide, y, arriving)


def _branch(name: str, passages: Sequence[Passage], width: float) -> _Shape:
    flow = _flow([_draw(each, width) for each in passages], width, lead_in=True)
    if not name:
        return flow
    shown = _lines(name, _MOST_CODE)[0]
    title = pictures.text(shown, 0, _LINE - 3, font_size=_WORD_SIZE, font_weight="bold")
    inside = title + flow.at(0, _LINE + 2)
    return _Shape(inside, max(flow.width, _wide([shown], _BOLD_WIDTH)), flow.height + _LINE + 2)


def _label(passage: Passage, width: float) -> _Shape:
    """The words of a step, with the shape of what comes out beside them."""
    step, sketch = passage.step, passage.step.sketch
    most = _MOST_CODE if not passage.inside else int((width - 80) / _CODE_WIDTH)
    code = _lines(step.heading, most)
    words = _lines(step.domain, _MOST_WORDS)
    left = _PAD + (_SKETCH + _PAD if sketch else 0)
    wide = left + max(_wide(code, _CODE_WIDTH), _wide(words, _WORD_WIDTH)) + _PAD
    high = max(_LINE * (len(code) + len(words)), _SKETCH if sketch else 0) + 1.4 * _PAD
    first = (high - _LINE * (len(code) + len(words))) / 2 + _LINE - 4
    lines = [(line, _CODE_SIZE, {"font_family": _CODE}) for line in code]
    lines += [(line, _WORD_SIZE, {"opacity": "0.8"}) for line in words]
    told = [
        pictures.text(line, left, first + _LINE * place, font_size=size, **more)
        for place, (line, size, more) in enumerate(lines)
    ]
    shape = _shape(sketch, step.role, _PAD, (high - _SKETCH) / 2) if sketch else ""
    return _Shape(shape + "".join(told), wide, high)


def _rect(width: float, height: float, role: Role) -> str:
    look = _LOOKS[role]
    return pictures.tag(
        "rect", width=width, height=height, rx=5, fill=look["stroke"], fill_opacity=0.09, **look
    )


def _shape(sketch: pictures.Sketch, role: Role, x: float, y: float) -> str:
    """A sketch in a square of public size."""
    colour, half = _LOOKS[role]["stroke"], _SKETCH / 2

    def place(point: tuple[float, float]) -> str:
        return f"{x + half * (1 + point[0]):.1f} {y + half * (1 - point[1]):.1f}"

    drawn = []
    if sketch.lines:
        path = "".join(f"M{place(a)}L{place(b)}" for a, b in sketch.lines)
        drawn.append(pictures.line(path, stroke_opacity=0.6))
    if sketch.outline:
        first, *rest = map(place, sketch.outline)
        path = f"M{first}L{' '.join(rest)}Z"
        drawn.append(pictures.tag("path", d=path, stroke=colour, fill=colour, fill_opacity=0.3))
    for dot in sketch.dots:
        cx, cy = place(dot).split()
        drawn.append(pictures.tag("circle", cx=cx, cy=cy, r=2.4, fill=colour))
    return "".join(drawn)


def _lines(words: str, most: int) -> list[str]:
    """The words on lines of so many letters, the rest cut off."""
    lines = [line for row in words.splitlines() for line in wrap(row, most, break_on_hyphens=False)]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1] = f"{lines[_MOST_LINES - 1][: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    return lines[:_MOST_LINES]


def _wide(lines: Sequence[str], letter: float) -> float:
    return max(map(len, lines), default=0) * letter
