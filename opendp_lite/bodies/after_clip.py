"""The body of clipped rows: what the clip says, or what was known before, where that is more."""

from __future__ import annotations

from fractions import Fraction
from operator import sub
from typing import Final, cast

from opendp_lite.bodies.body import Body
from opendp_lite.bodies.bounds import (
    ZERO,
    Values,
    each,
    larger,
    largest,
    smallest,
    squares_up,
    total_up,
    unsigned,
)
from opendp_lite.bodies.box import Box
from opendp_lite.errors import SpaceError
from opendp_lite.exact import digits_up
from opendp_lite.norms import Norms

_LOST: Final = 2
"""A clip that would make a sensitivity so many times larger is refused."""
_NORMS: Final = (1, 2)


def after_clamp(before: Body, box: Box) -> Body:
    """The body of rows of another body whose entries are brought between the bounds of a box.

    Raises:
        SpaceError: If this box would make a sum twice as sensitive as what was known.

    Proof:
        Where the bounds hold 0, entries move towards 0, and some bodies keep every such row. An
        entry below a bound above 0 rises by at most this bound, so norms by at most its own.
    """
    ends = before.bounds()
    if ends is None:
        return box
    gaps = each(sub, ends[0], box.lower), each(sub, box.upper, ends[1])
    uncut = min(map(smallest, gaps)) >= 0
    lifted = unsigned(box.bounds())[0]
    stays = uncut or (before.shrinks() and largest(lifted) == 0)
    return _best(before, box, stays, lifted, "clamp")


def after_clip_to_norm(before: Body, ball: Body, radius: Fraction, p: float) -> Body:
    """The body of rows of another body that are shortened to a ball.

    Raises:
        SpaceError: If this ball would make a sum twice as sensitive as what was known.

    Proof:
        A shortened row lies between itself and 0, and no norm of it grows.
    """
    radii = before.radii()
    longest = None if radii is None else radii.of(p)
    uncut = longest is not None and longest <= radius
    return _best(before, ball, uncut or before.shrinks(), ZERO, "clip_to_norm")


def _best(before: Body, clipped: Body, stays: bool, lifted: Values, step: str) -> Body:
    """The body that tells more; ``stays`` says whether clipped rows lie in the first, too."""
    known, claimed, ends = before.radii(), clipped.radii(), before.bounds()
    if known is None or claimed is None or ends is None or clipped.columns == 1:
        return clipped
    if _tells(clipped, before) or not _less(known, _furthest(ends, before.columns)):
        return clipped
    if stays and _tells(before, clipped):
        return before
    rise = _norms(lifted, clipped.columns)
    lost = [(_of(claimed, p) / (_of(known, p) + _of(rise, p)), p) for p in _NORMS]
    kept = max(_of(known, p) / _of(claimed, p) for p in _NORMS) if stays else Fraction(_LOST)
    worst, p = max(lost)
    if min(worst, kept) >= _LOST:
        raise SpaceError(_refusal(step, before, clipped, p))
    return before if kept < worst else clipped


def _furthest(ends: tuple[Values, Values], columns: int) -> Norms:
    """The norms of the furthest corner of a box."""
    return _norms(each(lambda low, high: larger(abs(low), abs(high)), *ends), columns)


def _norms(sizes: Values, columns: int) -> Norms:
    """Those of a row with entries of such sizes."""
    repeats = columns // len(sizes)
    return Norms.squared(total_up(sizes) * repeats, squares_up(sizes) * repeats, largest(sizes))


def _of(norms: Norms, p: int) -> Fraction:
    """A norm that is known: bounded bodies bound all of them."""
    return cast(Fraction, norms.of(p))


def _less(norms: Norms, others: Norms) -> bool:
    """Whether an l1 or l2 norm is smaller."""
    pairs = ((norms.l1, others.l1), (norms.l2_squared, others.l2_squared))
    return any(a is not None and b is not None and a < b for a, b in pairs)


def _tells(one: Body, other: Body) -> bool:
    """Whether one body bounds the l1 and l2 norms of rows and differences by no more."""
    pairs = ((one.radii(), other.radii()), (one.diameters(), other.diameters()))
    return all(a is not None and b is not None and not _less(b, a) for a, b in pairs)


def _refusal(step: str, before: Body, clipped: Body, p: int) -> str:
    known, claimed = (_of(cast(Norms, body.radii()), p) for body in (before, clipped))
    return (
        f"{step}: these rows lie in {before!r} already, so sum() after it has an l{p} sensitivity "
        f"of {digits_up(known, 3)}. {clipped!r} forgets that and would make it "
        f"{digits_up(claimed, 3)}. Leave {step} out: {digits_up(claimed / known, 3)} times less "
        "noise. If it is to cut values, put it before the step that bounds the rows as a whole, "
        "or use clip_to_norm(radius, p=1)"
    )
