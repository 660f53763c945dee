"""A release of any type as numbers, with its form apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import singledispatch
from math import inf
from numbers import Real
from typing import Any

import attrs
import numpy as np

from opendp_lite.engines.fold import Floats
from opendp_lite.sessions.session_release import Release

Leaf = tuple[str, Sequence[float]]


@singledispatch
def leaves(release: Any) -> Iterator[Leaf]:
    """The parts of a release: a name for the form of each, and the numbers in it.

    A part without numbers, such as None or a text, is named by all that it is. Register a type
    of your own to have its numbers looked at.
    """
    if attrs.has(type(release)):
        yield type(release).__name__, ()
        for field in attrs.fields(type(release)):
            yield from leaves(getattr(release, field.name))
    elif not any("__repr__" in vars(kind) for kind in type(release).__mro__[:-1]):
        yield type(release).__name__, ()
    else:
        yield repr(release), ()


@leaves.register
def _of_release(release: Release) -> Iterator[Leaf]:
    """What was released, without what it cost."""
    yield type(release).__name__, ()
    yield from leaves(release.value)


@leaves.register
def _of_number(release: Real) -> Iterator[Leaf]:
    yield type(release).__name__, (_near(release),)


def _near(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


@leaves.register
def _of_array(release: np.ndarray) -> Iterator[Leaf]:
    if release.dtype.kind in "biuf":
        yield f"{release.dtype}{release.shape}", release.astype(np.float64).ravel().tolist()
    else:
        yield f"array{release.shape}", ()
        yield from _of_each(release.ravel().tolist())


@leaves.register
def _of_mapping(release: Mapping) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield f"{type(release).__name__}{list(release)!r}", ()
    yield from _of_each(list(release.values()))


@leaves.register(tuple)
@leaves.register(list)
def _of_sequence(release: Sequence[Any]) -> Iterator[Leaf]:
    yield f"{type(release).__name__}{len(release)}", ()
    yield from _of_each(release)


@leaves.register
def _of_set(release: AbstractSet) -> Iterator[Leaf]:  # type: ignore[type-arg]
    yield f"{type(release).__name__}{sorted(map(repr, release))}", ()


def _of_each(parts: Sequence[Any]) -> Iterator[Leaf]:
    for part in parts:
        yield from leaves(part)


@attrs.frozen(eq=False)
class Readings:
    """Many releases: the form of each, as a text, and its numbers where they are all finite.

    ``numbers`` has one row for each release. A row is NaN where a release has not as many finite
    numbers as the ``usual`` form; its types may differ.
    """

    usual: str
    forms: list[str]
    numbers: Floats

    @property
    def width(self) -> int:
        """How many numbers a release of the usual form has."""
        return int(self.numbers.shape[1])


def readings(releases: Sequence[Any], usual: str | None = None) -> Readings:
    """The releases as numbers; ``usual`` is the form to look into, by default the commonest."""
    pairs = [_form_and_numbers(release) for release in releases]
    forms = [form for form, _ in pairs]
    common = Counter(forms).most_common(1)[0][0] if usual is None else usual
    width = next((len(numbers) for form, numbers in pairs if form == common), 0)
    blank = [np.nan] * width
    rows = [
        numbers if len(numbers) == width and np.isfinite(numbers).all() else blank
        for _, numbers in pairs
    ]
    return Readings(common, forms, np.array(rows, dtype=np.float64).reshape(len(rows), width))


def _form_and_numbers(release: Any) -> tuple[str, list[float]]:
    names: list[str] = []
    numbers: list[float] = []
    for name, found in leaves(release):
        names.append(name)
        numbers.extend(found)
    odd = [f"{place}: {number}" for place, number in enumerate(numbers) if number - number != 0]
    return " ".join([*names, *odd]), numbers
