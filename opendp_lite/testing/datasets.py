"""Neighbouring datasets, in every container that a pipeline accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.domains import Rows
from opendp_lite.engines.blocks import Blocks
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.spaces import Space

Floats = NDArray[np.float64]
SIZES: Final = (0, 1, 2, 3, 7, 40, 130, 1000)


@attrs.frozen(eq=False)
class Neighbours:
    """Two datasets that are at most ``distance`` rows apart, in the space's metric."""

    data: Floats
    other: Floats
    distance: int


def neighbours(space: Space[Rows], seed: int, trials: int) -> Iterator[Neighbours]:
    """Pairs of datasets of a space: rows added, removed, replaced, and put in another order.

    The rows come from the body's ``draw``: extreme ones, and without a body NaN, infinities,
    subnormal and huge values.
    """
    generator = np.random.default_rng(seed)
    replaces = isinstance(space.metric, ChangeOneDistance)
    for trial in range(trials):
        size = space.domain.size or SIZES[trial % len(SIZES)]
        data = space.domain.body.draw(generator, size)
        distance = trial // len(SIZES) % 4
        other = data.copy()
        if replaces:
            distance = min(distance, size)
            changed = generator.permutation(size)[:distance]
            other[changed] = space.domain.body.draw(generator, distance)
        else:
            gone = min(int(generator.integers(0, distance + 1)), size)
            fresh = space.domain.body.draw(generator, distance - gone)
            other = np.concatenate([other[generator.permutation(size)[gone:]], fresh])
        yield Neighbours(data, generator.permutation(other), distance)


def _cut(data: Floats, lengths: tuple[int, ...]) -> Blocks:
    ends = np.cumsum([0, *lengths])

    def opened() -> list[Floats]:
        return [data[a:b] for a, b in zip(ends, [*ends[1:], len(data)], strict=True)]

    return Blocks(opened, columns=data.shape[1])


def _reversed_view(data: Floats) -> Floats:
    return np.ascontiguousarray(data[::-1])[::-1]


def containers(data: Floats) -> Iterator[tuple[str, Any]]:
    """The same rows in every kind of container that is installed here."""
    yield "array in Fortran order", np.asfortranarray(data)
    yield "array with negative strides", _reversed_view(data)
    yield "Blocks", _cut(data, tuple(n for n in (1, 0, 2) if n <= len(data)))
    if not len(data):
        return
    yield "list", data[:, 0].tolist() if data.shape[1] == 1 else data.tolist()
    for library, make in _FRAMES.items():
        if find_spec(library) is not None:
            yield library, make(import_module(library), data)


def _names(data: Floats) -> list[str]:
    return [f"c{j}" for j in range(data.shape[1])]


_FRAMES: Final[dict[str, Callable[[Any, Floats], Any]]] = {
    "pandas": lambda library, data: library.DataFrame(data, columns=_names(data)),
    "polars": lambda library, data: library.DataFrame(data, schema=_names(data)),
    "pyarrow": lambda library, data: library.table(dict(zip(_names(data), data.T, strict=True))),
}
