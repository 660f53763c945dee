"""Loops over numbers that numba compiles, where it is loaded. Without it numpy does the same work.

A kernel does in one pass what numpy does in several: the same operations of IEEE 754 on each number
in the same order, so it finds the same bits. It is used where all of this holds:

- ``numba`` is loaded: ``import numba`` asks for kernels. It takes most of a second, and a kernel
  saves 1 ns a row or 10 ns an entry of noise. Such an import unasked would hardly ever pay.
- The arrays have at least ``LEAST_ENTRIES`` entries, which lie one after another.
- What was compiled found the bits that Python finds by the same lines, on public examples.

Else, and where anything fails, a kernel gives None, and numpy's way is taken. Compiled code is kept
on the disk until this file changes: next to it, or in your own cache.

No branch is to depend on a value. A choice between two numbers becomes an instruction that chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = tuple[Any, ...]
Kinds: TypeAlias = tuple[np.dtype[Any], ...]

LEAST_ENTRIES: Final = 2**14
"""Fewer take microseconds, and the first loop that a program loads takes half a second."""
# Numbers in the byte order of this machine.
_KINDS: Final = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.bool_)))
# No fastmath: it reorders sums and contracts products, and a certificate is of each operation.
_OPTIONS: Final = {"nogil": True, "error_model": "numpy", "fastmath": False}
# Odd, so that the rest after blocks of a processor's registers is seen as well.
_EXAMPLE_ENTRIES: Final = 331


@attrs.frozen(eq=False)
class Kernel:
    """A loop, and how to make public arguments on which it is tried.

    Attributes:
        function: What it finds is not None. It reads its first argument, an array. Constants of
            other files are to be arguments: code on the disk would not see them change.
        example: Makes arguments of which the arrays have these types.
    """

    function: Callable[..., Any]
    example: Callable[[Kinds], Inputs]

    def __call__(self, first: Array, *others: Any) -> Any:
        """What the compiled function finds; None where numpy is to do the work."""
        if len(first) < LEAST_ENTRIES or sys.modules.get("numba") is None:
            return None
        arrays = [first, *(each for each in others if isinstance(each, np.ndarray))]
        kinds = tuple(each.dtype for each in arrays)
        flags = [each.flags for each in arrays]
        if not (_KINDS.issuperset(kinds) and all(x.c_contiguous and x.aligned for x in flags)):
            return None
        compiled = _compile(self, kinds)
        # Arrays that may be written to are another type to numba, to be compiled again.
        constant = first.view()
        constant.setflags(write=False)
        try:
            return None if compiled is None else compiled(constant, *others)
        except Exception:
            return None


@cache
def _compile(kernel: Kernel, kinds: Kinds) -> Callable[..., Any] | None:
    """The compiled function; None where that fails or it finds other bits than Python does."""
    try:
        numba = import_module("numba")
        try:
            made = numba.njit(cache=True, **_OPTIONS)(kernel.function)
        except RuntimeError:  # No folder may be written to.
            made = numba.njit(**_OPTIONS)(kernel.function)
        with np.errstate(all="ignore"):
            example = kernel.example(kinds)
            same = _bits_after(kernel.function, example) == _bits_after(made, example)
    except Exception:
        return None
    return made if same and not numba.config.DISABLE_JIT else None


def _bits_after(function: Callable[..., Any], example: Inputs) -> list[bytes]:
    """What a function finds and leaves in its arguments."""
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in example]
    given[0].setflags(write=False)
    found = np.array(function(*given))
    return [each.tobytes() for each in (found, *given) if isinstance(each, np.ndarray)]


def _example_words() -> NDArray[np.int64]:
    """Bits without a pattern, by multiples of 2^64 over the golden ratio, and short ones."""
    places = np.arange(_EXAMPLE_ENTRIES, dtype=np.int64)
    return places * np.int64(-0x61C8864680B583EB) >> np.where(places % 4, 0, places % 64)


def _example_numbers(kind: np.dtype[Any]) -> Array:
    """Numbers from -8 to 8, odd ones among them."""
    numbers = _example_words() * 2.0**-60
    if kind.kind == "f":
        numbers[::10] = np.resize([0.0, -0.0, np.inf, -np.inf, 5e-324, -1e300, 2.0**-149], 34)
    return numbers.astype(kind)


# A processor reads far memory faster from several places at a time: its prefetchers follow each.
_STREAMS: Final = 4


def _add_bits(
    entries: Array, least: float, most: float, subtracted: float, magic: float
) -> tuple[np.int64, bool]:
    def raise_bits(place: int) -> tuple[np.int64, bool]:
        x = float(entries[place])
        # Written so that NaN stays NaN.
        x = least if x < least else x
        x = most if x > most else x
        raised = np.float64(x - subtracted + magic)
        return raised.view(np.int64), raised != raised

    total, missing = np.int64(0), False
    share = len(entries) // _STREAMS
    for i in range(share):
        for stream in range(_STREAMS):
            bits, lost = raise_bits(i + stream * share)
            total += bits
            missing |= lost
    for i in range(_STREAMS * share, len(entries)):
        bits, lost = raise_bits(i)
        total += bits
        missing |= lost
    return total, missing


ADD_BITS: Final = Kernel(
    _add_bits, lambda kinds: (_example_numbers(kinds[0]), -3.0, 5.0, 0.1, 3 * 2.0**9)
)
"""``(entries, least, most, subtracted, magic)``: clips, subtracts, adds a large number, and adds up
the bits modulo 2^64. Also says whether an entry is NaN."""


def _add_clipped(entries: Array, least: int, most: int) -> np.int64:
    total = np.int64(0)
    for i in range(len(entries)):
        total += min(max(entries[i], least), most)
    return total


ADD_CLIPPED: Final = Kernel(_add_clipped, lambda _: (_example_words(), -(2**62), 2**61))
"""``(entries, least, most)``: the sum of clipped whole numbers modulo 2^64."""


def _draw(
    words: Array,
    cubics: Array,
    shift: int,
    first: int,
    factor: float,
    edge: float,
    sign_first: bool,
    values: Array,
    cells: float,
    split: float,
    unit: float,
    reach: float,
    sizes: Array,
    out: Array,
    near: Array,
) -> bool:
    last = np.int64(len(cubics) - 1)
    sign = np.int64(-0x8000000000000000)
    before = sign if sign_first else np.int64(0)
    after = before ^ sign
    rows = np.empty(len(sizes), np.int32)
    for start in range(0, len(words), len(sizes)):
        some = slice(start, start + len(sizes))
        bits, given, numbers, nears = words[some], values[some], out[some], near[some]
        # Three loops: the first and the last read no table, and work on several words at a time.
        for i in range(len(bits)):
            sizes[i] = u = np.float64(bits[i] & np.int64(0x7FFFFFFFFFFFFFFF))
            row = (np.float64(u).view(np.int64) >> shift) - first
            rows[i] = min(max(row, np.int64(0)), last)
        for i in range(len(bits)):
            # Unsigned, or numba would look for places counted from the end.
            u, k = sizes[i], np.uint64(rows[i])
            y = (cubics[k, 0] * u + cubics[k, 1]) * u + cubics[k, 2]
            sizes[i] = y * u + cubics[k, 3]
        for i in range(len(bits)):
            cell = given[i] * cells
            cell = -reach if cell < -reach else cell
            cell = reach if cell > reach else cell
            cell = cell if cell == cell else 0.0
            floor = np.floor(cell) * split + 0.0
            y = np.float64(sizes[i] * factor)
            y = np.int64(y.view(np.int64) ^ (bits[i] & before)).view(np.float64) + (cell - floor)
            whole = np.rint(y)
            is_near = abs(y - whole) < edge
            whole = np.int64(np.float64(whole).view(np.int64) ^ (bits[i] & after)).view(np.float64)
            numbers[i] = (floor + whole) * unit if is_near else 0.0
            nears[i] = is_near
    return True


def _example_draw(kinds: Kinds) -> Inputs:
    plain, values = _example_words() * 2.0**-60, _example_numbers(kinds[2])
    # As those of a table are: the cube of u counts as much as the rest.
    cubics = np.resize(plain, (64, 4)) * 2.0 ** np.array([-189, -126, -63, 0])
    cubics[0] = np.nan
    cubics.setflags(write=False)
    numbers = 1.7, 1.0, 2.0**-9, 2.0**20, np.empty(100)
    outputs = [np.zeros(_EXAMPLE_ENTRIES, dtype=kind) for kind in kinds[-2:]]
    return _example_words(), cubics, 52, 1023, 1e3, 0.4, True, values, *numbers, *outputs


DRAW: Final = Kernel(_draw, _example_draw)
"""``(words, cubics, shift, before, factor, edge, sign_first, values, cells, split, unit, reach,
sizes, out, near)``: a block of ``samplers.law.fill``. ``values`` times ``cells`` are limited to the
reach. With a ``split`` of 1 their floors are kept apart while numbers are rounded, and added again;
with 0 not. ``out`` is that times ``unit``, and 0 where ``near`` is false. ``sizes`` is for work in
between."""
