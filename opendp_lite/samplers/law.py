"""How far released entries lie from their exact values, and with which probability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import copysign, floor, isnan
from typing import ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import keep_freed
from opendp_lite.numbers.exact import exp_up, floor_log2, log_up, nearest, normal_quantile_up
from opendp_lite.numbers.grid import Grid, Steps
from opendp_lite.numbers.kernels import DRAW
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.lattice import Flags, Floats, LatticeValues
from opendp_lite.samplers.quantile_table import BEFORE, SHIFT, QuantileTable, Work


class ErrorLaw(ABC):
    """The law of the difference between a released entry and its exact value."""

    @abstractmethod
    def half_width(self, miss: Fraction) -> Fraction:
        """A number that the difference exceeds with a probability of at most ``miss``.

        It is the least such number, or hardly larger: at most by a step of the output grid, or as
        the law says. It is in the units of the data.
        """

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of a released value, in the units of the data."""


@attrs.frozen(repr=False)
class NormalError(ErrorLaw):
    """A normal of at most this deviation, and a rounding of at most ``slack`` after it."""

    deviation: Fraction
    slack: Fraction

    def half_width(self, miss: Fraction) -> Fraction:
        return self.deviation * normal_quantile_up(miss) + self.slack

    @property
    def standard_deviation(self) -> float:
        return float(self.deviation)


@attrs.frozen(repr=False)
class ScaledError(ErrorLaw):
    """The error of another law, times a positive number."""

    law: ErrorLaw
    factor: Fraction

    def half_width(self, miss: Fraction) -> Fraction:
        return self.factor * self.law.half_width(miss)

    @property
    def standard_deviation(self) -> float:
        return float(self.factor) * self.law.standard_deviation


@attrs.frozen(repr=False)
class Errors:
    """The law of the errors of so many entries of a release."""

    law: ErrorLaw
    entries: int


def half_widths(
    errors: Sequence[Errors], confidence: Fraction, jointly: bool = False
) -> tuple[Fraction, ...]:
    """How far the entries may be off at this confidence, for each law.

    With ``jointly`` it is the confidence that no entry at all is further off.

    Proof:
        Of m entries each within its half-width with probability c^(1/m), all are within theirs with
        probability c if they are independent, and with at least that if they are jointly normal
        around 0 (Sidak 1967, theorem 1). The entries of one law may also be independent normals of
        one random deviation, as those of the l2 mechanism are: given it, all are within with
        p^m, the mean of which is at least the m-th power of the mean of p, by Jensen's inequality.
        Rounding a release is covered by the slack of its law.
    """
    each = confidence
    if jointly:
        entries = sum(part.entries for part in errors)
        each = confidence if entries == 1 else exp_up(log_up(confidence) / entries)
    return tuple(part.law.half_width(1 - each) for part in errors)


LANES: Final = 34_000
"""Variates in a block. Arrays of a power of two would take the same places in a cache."""
_SIGN: Final = np.uint64(2**63)
# Sizes that a kernel has at hand in a processor's nearest cache.
_NEAREST: Final = 1024


@attrs.frozen(eq=False, repr=False)
class Lanes:
    """Working arrays of a block, of about 2 MB."""

    sizes: Floats = attrs.field(factory=partial(np.empty, LANES))
    same: Floats = attrs.field(factory=partial(np.empty, LANES))
    near: Flags = attrs.field(factory=partial(np.empty, LANES, dtype=np.bool_))
    work: Work = attrs.field(
        factory=lambda: Work(np.empty(LANES), np.empty(LANES), np.empty((LANES, 4)))
    )


def fill(
    table: QuantileTable,
    factor: float,
    edge: float,
    given: Floats | None,
    exactly: Callable[[int, int], float],
    entropy: Entropy,
    out: LatticeValues,
    *,
    start: float | None = None,
    exponent: int | None = None,
) -> None:
    """Fills an array with +-factor Q + offset, to nearest, from a word for each entry.

    Args:
        table: Of the quantile function Q.
        factor: Of all sizes.
        edge: What is not nearer than this to a whole number is decided again.
        given: The offsets, or none. With an exponent, values.
        exactly: ``exactly(position, word)`` is the entry, decided again.
        entropy: Where the words come from.
        out: int64. With an exponent, floats.
        start: Is added where no offsets are given, and then the sign is that of what was rounded.
        exponent: The entries are then the values with this noise on the grid 2^exponent.
    """
    cells = (1.0, 0.0, 1.0) if exponent is None else (2.0**-exponent, 1.0, 2.0**exponent)
    law = table, factor, edge, start is None
    keep_freed()
    lanes = Lanes()
    with np.errstate(all="ignore"):
        if given is None:
            # To add -0.0 changes no float.
            lanes.same[: len(out)] = -0.0 if start is None else start
        for first in range(0, len(out), LANES):
            part = out[first : first + LANES]
            count = len(part)
            words, near = entropy.words(count), lanes.near[:count]
            added = lanes.same[:count] if given is None else given[first : first + count]
            inputs = words.view(np.int64), table.cubics, SHIFT, BEFORE, *law[1:], added, *cells
            if not DRAW(*inputs, _REACH, lanes.sizes[:_NEAREST], part, near):
                if exponent is not None:
                    added = _split_cells(added, exponent, part, lanes.same[:count])
                whole = _round_sizes(*law, words, added, lanes)
                if exponent is None:
                    np.copyto(part, whole, casting="unsafe")
                else:
                    np.add(part, whole, out=part)
                    np.multiply(part, cells[2], out=part)
            if np.count_nonzero(near) < count:
                for lane in np.flatnonzero(~near).tolist():
                    part[lane] = exactly(first + lane, int(words[lane]))


def _round_sizes(
    table: QuantileTable,
    factor: float,
    edge: float,
    sign_first: bool,
    words: Words,
    added: Floats,
    lanes: Lanes,
) -> Floats:
    """The rounded numbers of a block; ``lanes.near`` is whether they are certain."""
    count = len(words)
    y, near, work = lanes.sizes[:count], lanes.near[:count], lanes.work.of(count)
    table.fill(words, y, work)
    np.multiply(y, factor, out=y)
    if sign_first:
        _with_signs(words, y, work.second)
    np.add(y, added, out=y)
    # It takes halves to even numbers and the laws take them up: ties are decided exactly.
    whole: Floats = np.rint(y, out=work.first)
    np.subtract(y, whole, out=y)
    np.abs(y, out=y)
    # NaN, of a word without a float, is not below the edge either.
    np.less(y, edge, out=near)
    if not sign_first:
        _with_signs(words, whole, work.second)
    return whole


def _with_signs(words: Words, sizes: Floats, work: Floats) -> None:
    """Negates those whose word has its highest bit set."""
    bits, signs = sizes.view(np.uint64), work.view(np.uint64)
    np.bitwise_and(words, _SIGN, out=signs)
    np.bitwise_xor(bits, signs, out=bits)


SCALE_BITS: Final = 16
"""Continuous noise is rounded to a grid of which its scale is 2^16 to 2^17 units."""
FEW_VALUES: Final = 8
"""Up to so many draws are made one by one: faster than setting up arrays."""
SCALE_SLACK: Final = 1 + Fraction(1, 2**50)
"""Samplers use a scale so much larger than asked for: the true loss is then below the claimed
one also where a float shown as the claim lies half an ulp below the rational it stands for."""
# Cells of floats are held to it: with noise below 2^62 they fit int64.
_REACH = 2.0**60
_LOWEST, _HIGHEST = np.array(-_REACH), np.array(_REACH)
# What is below it has room in int64 for noise, which is below it as well.
_SAFE = 2**62
# 2^960 and 2^62 steps of it, as 2^-960, are normal floats.
_LARGEST_GRID_EXPONENT = 960
# 2^12 times as much, which noise stays below, is 2^62.
_LARGEST_SCALE = 2**50
# So many bits of an offset fit int64; what they leave out moves it by less than 2^-62.
_OFFSET_BITS = 62


@attrs.frozen(eq=False, repr=False)
class Offsets:
    """Where values lie within their cell of the output grid: floats, and exactly on demand."""

    floats: Floats | None
    exactly: Callable[[int], Fraction]


def usable_scale(law: object, field: object, scale: Fraction) -> None:
    """Refuses a scale whose noise might not fit int64, and one that is not above 0.

    The noise is below 2^12 times the scale, but for once in e^1000 draws.
    """
    if scale <= 0:
        raise ParameterError(
            f"{type(law).__name__}: a scale must be above 0, got {nearest(scale):g}"
        )
    if scale > _LARGEST_SCALE:
        raise ParameterError(
            f"{type(law).__name__}: a scale of {nearest(scale):g} steps is beyond 2^50; take a "
            "larger exponent, of which the scale is 2^16 to 2^17 steps, say"
        )


class Noise(ABC):
    """Noise on the grid 2^``exponent``, drawn for all entries of a value together."""

    exponent: int
    on_grid_only: ClassVar[bool] = False
    """Whether it is private for values on its own grid alone."""

    @abstractmethod
    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        """Noise for so many values that lie at ``offsets`` in their cells."""

    def fill(self, out: LatticeValues, offsets: Offsets, entropy: Entropy) -> None:
        """As ``draw``, into an array."""
        out[:] = self.draw(len(out), offsets, entropy)

    def error_of_each(self, count: int) -> ErrorLaw | None:
        """The law of the error of each of so many entries; None where none is declared."""
        return None

    def noisy(self, value: Grid, entropy: Entropy) -> Grid:
        """A value with noise, on the output grid."""
        if value.steps.dtype.kind == "f":
            return Grid(self.release_floats(value.steps, entropy), 0)
        return Grid(self.release(value.steps, value.exponent, entropy), self.exponent)

    def release(self, values: Steps, exponent: int, entropy: Entropy) -> Steps:
        """Values on the grid 2^exponent, with noise: whole output grid steps."""
        whole, offsets = in_cells(values, exponent, self.exponent)
        return whole + self.draw(len(values), offsets, entropy)

    def release_floats(self, values: Floats, entropy: Entropy) -> Floats:
        """Float values with noise, as floats on the output grid.

        NaN counts as 0, and what is beyond 2^60 cells as 2^60 cells: bringing values into a range
        moves no two of them further apart. Whole numbers are added, and rounded to floats once:
        the noise alone, rounded, would be no function of the value with its noise.
        """
        whole = np.empty(len(values))
        inside = _split_cells(values, self.exponent, whole, np.empty(len(values)))

        def exactly(position: int) -> Fraction:
            return split_cell(float(values[position]), self.exponent)[2]()

        offsets = Offsets(inside, exactly)
        whole[:] = whole.astype(np.int64) + self.draw(len(whole), offsets, entropy)
        return np.multiply(whole, 2.0**self.exponent, out=whole)


class Law(Noise, ErrorLaw):
    """Independent noise on every entry, with the exact law of each release.

    ``scale`` is in units of the output grid. ``kind`` names the noise.
    """

    kind: ClassVar[str] = "noise of a declared law"
    scale: Fraction

    def error_of_each(self, count: int) -> ErrorLaw:
        return self

    @abstractmethod
    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        """As ``draw`` for one value, without arrays: its offset as a float, and on demand."""

    def few(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        """As ``draw``, one by one."""
        inside = [0.0] * count if offsets.floats is None else offsets.floats.tolist()
        each = [self.one(inside[i], partial(offsets.exactly, i), entropy) for i in range(count)]
        return np.array(each, dtype=np.int64)

    @abstractmethod
    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        """The natural logarithm of the probability of each released grid point ``steps``.

        The value itself lies at ``value`` grid units.
        """

    def release(self, values: Steps, exponent: int, entropy: Entropy) -> Steps:
        shift = self.exponent - exponent
        if len(values) > FEW_VALUES:
            if values.dtype != np.int64 or not _stays_narrow(values, shift):
                return super().release(values, exponent, entropy)
            return self._release_runs(values, exponent, entropy)
        found = [self._onto_step(value, shift, entropy) for value in values.tolist()]
        small = max(map(abs, found), default=0) < _SAFE
        return np.array(found, dtype=np.int64 if small else object)

    def _release_runs(self, values: Steps, exponent: int, entropy: Entropy) -> Steps:
        """A run at a time: the working arrays stay in a processor's cache."""
        noisy = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), LANES):
            out = noisy[start : start + LANES]
            whole, offsets = in_cells(values[start : start + LANES], exponent, self.exponent)
            self.fill(out, offsets, entropy)
            np.add(out, whole, out=out)
        return noisy

    def _onto_step(self, value: int, shift: int, entropy: Entropy) -> int:
        if shift <= 0:
            return (value << -shift) + self.one(0.0, Fraction, entropy)
        # Shifts round down, so the rest is at least 0 for negative values as well.
        whole, rest, cell = value >> shift, value & ((1 << shift) - 1), 1 << shift
        return whole + self.one(rest / cell, lambda: Fraction(rest, cell), entropy)

    def release_floats(self, values: Floats, entropy: Entropy) -> Floats:
        """Few values are added to the noise as whole numbers, one by one."""
        if len(values) > FEW_VALUES:
            return super().release_floats(values, entropy)
        return np.array([self._near_float(value, entropy) for value in values.tolist()])

    def _near_float(self, value: float, entropy: Entropy) -> float:
        whole, inside, exactly = split_cell(value, self.exponent)
        return (whole + self.one(inside, exactly, entropy)) * 2.0**self.exponent


def _stays_narrow(values: Steps, shift: int) -> bool:
    """Whether cells of int64 values, with noise, fit int64 as well."""
    if shift > 0:
        # A shift by one or more leaves cells below 2^62; 2^shift itself is to fit, too.
        return shift < _SAFE.bit_length()
    return max(abs(int(v)) for v in (values.min(), values.max())) << -shift < _SAFE


def in_cells(values: Steps, exponent: int, target: int) -> tuple[Steps, Offsets]:
    """The output cell of each value, and where in it the value lies."""
    shift = target - exponent
    if shift <= 0:
        largest = max([abs(int(v)) for v in (values.min(), values.max())], default=0)
        if largest << -shift >= _SAFE:
            values = values.astype(object)
        return values << -shift, Offsets(None, lambda _: Fraction(0))
    if shift >= _SAFE.bit_length():
        # 2^shift is beyond int64.
        values = values.astype(object)
    rest = values & ((1 << shift) - 1)
    spare = max(0, shift - _OFFSET_BITS)
    inside = (rest >> spare).astype(np.float64) * 2.0 ** (spare - shift)
    whole = values >> shift
    if whole.dtype == object and all(abs(each) < _SAFE for each in whole):
        whole = whole.astype(np.int64)
    return whole, Offsets(inside, lambda i: Fraction(int(rest[i]), 1 << shift))


def _split_cells(values: Floats, target: int, whole: LatticeValues, cells: Floats) -> Floats:
    """As ``in_cells``, with the cells in ``whole``, as floats; ``cells`` is for the offsets."""
    np.multiply(values, 2.0**-target, out=cells)
    cells.clip(_LOWEST, _HIGHEST, out=cells)
    np.copyto(cells, 0.0, where=np.isnan(cells))
    np.floor(cells, out=whole)
    np.add(whole, 0.0, out=whole)  # -0.0 becomes 0.0: a release would show its sign
    return np.subtract(cells, whole, out=cells)


def split_cell(value: float, target: int) -> tuple[int, float, Callable[[], Fraction]]:
    """The cell of a float, and where in it the float lies: as a float, and exactly on demand."""
    cell = 0.0 if isnan(value) else min(max(value * 2.0**-target, -_REACH), _REACH)
    whole = floor(cell)
    return whole, cell - whole, lambda: _exact_cell(value, target) - whole


def _exact_cell(value: float, target: int) -> Fraction:
    """Where a float lies, in cells, without the rounding that tiny floats suffer."""
    if isnan(value):
        return Fraction(0)
    cell = value * 2.0**-target
    if abs(cell) >= _REACH:
        return Fraction(copysign(_REACH, cell))
    return Fraction(value) / Fraction(2) ** target


def grid_for(scale: Fraction) -> tuple[Fraction, int]:
    """The scale in units of the grid on which it is 2^16 to 2^17 of them, and its exponent."""
    exponent = floor_log2(scale) - SCALE_BITS
    if abs(exponent) > _LARGEST_GRID_EXPONENT:
        raise ParameterError(
            f"a noise scale of about 2^{exponent + SCALE_BITS} is outside of what floats can hold"
        )
    return scale / Fraction(2) ** exponent * SCALE_SLACK, exponent


def asked_scale(law: Law) -> Fraction:
    """The scale that was asked for, in the units of the data: the reverse of ``grid_for``."""
    return law.scale / SCALE_SLACK * Fraction(2) ** law.exponent
