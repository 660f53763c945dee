"""A pipeline as one of OpenDP's library, put together of what each step says of its twin there.

A step that has a twin says so beside itself: ``@opendp_twin(lambda here, ...)``. The function is
given a ``Place`` and the arguments that were typed, and gives OpenDP's domain and metric,
transformation or measurement with the step after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import attrs

from opendp_lite.base.errors import SpaceError, find_library
from opendp_lite.base.public_names import FRONT, find_public, path_of, read_stub
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import nearest, round_up
from opendp_lite.samplers.law import Law, asked_scale
from opendp_lite.spaces.space import records

_LIBRARY: Final = "opendp.prelude"
Foreign: TypeAlias = Any
"""OpenDP's library, or what it makes: it may not be installed, so its types are not known here."""


@attrs.frozen
class Place:
    """How far a twin was made, and the step that is next.

    Args:
        library: ``opendp.prelude``.
        link: The step.
        made: OpenDP's domain and metric, transformation or measurement so far.
        space: Ours before the step.
        after: Ours after it; None for a release.
        laws: Of the noise in the whole pipeline.
    """

    library: Foreign
    link: Any
    made: Foreign
    space: Any
    after: Any
    laws: tuple[Law, ...]

    @property
    def may_miss(self) -> bool:
        """Whether values may be missing there: OpenDP bounds and counts only complete rows."""
        domain = self.made[0] if isinstance(self.made, tuple) else self.made.output_domain
        return bool(domain.element_domain.nan)

    def complete(self, middle: Sequence[Fraction] | None = None) -> Foreign:
        """Without missing values: as ours, OpenDP's leaves out a row, or fills in the middle."""
        if not self.may_miss or (self.space.domain.size and middle is None):
            return self.made
        if middle is None or not self.space.domain.size:
            return self.made >> self.library.t.then_drop_null()
        return self.made >> self.library.t.then_impute_constant(nearest(middle[0]))

    def untouched(self) -> Foreign:
        """As long as missing values are still in their rows."""
        if self.may_miss:
            return self.made
        raise self.refuse(
            "put it before all others: OpenDP bounds complete rows alone, so a missing value is "
            "gone after the first step that needs them"
        )

    def refuse(self, words: str) -> SpaceError:
        """What to raise where OpenDP has a twin of the step, but not of its arguments or place."""
        return SpaceError(f"to_opendp: {self.link}: {words}")

    def add_noise(self, constructor: Callable[..., Foreign]) -> Foreign:
        """With noise of the scale of ours, rounded up, which loses no more."""
        (law,) = self.laws
        return self.made >> constructor(scale=round_up(asked_scale(law)))

    def add_parts(self, parts: Sequence[Any]) -> Foreign:
        """With measurements of the same rows, which release all together."""
        start = self.made
        if not isinstance(start, tuple):
            start = start.output_domain, start.output_metric
        made = [translate(each.bind(self.space), start) for each in parts]
        whole = self.library.c.make_composition(made)
        return whole if start is self.made else self.made >> whole


def translate(bound: Any, start: Foreign = None) -> Foreign:
    """OpenDP's twin of a bound pipeline: see ``to_opendp``. ``start`` is a domain and a metric."""
    library = find_library(_LIBRARY, "to_opendp needs OpenDP", "opendp")
    spaces = [bound.input_space, *(step.space for step in bound.trace)]
    made, laws = start or _begin(library, bound.input_space), getattr(bound, "facts", None)
    _, spelled = bound.spell()
    for place, link in enumerate(spelled["steps"][1:]):
        twin = _twin_of(link)
        if twin is None:
            name = getattr(link, "__name__", None) or str(link)
            raise SpaceError(f"to_opendp: OpenDP has no twin of {name}. {_list_twins()}")
        noise = laws.laws if laws else ()
        here = Place(library, link, made, spaces[place], spaces[place + 1], noise)
        _, typed = link.spell()
        try:
            made = twin(here, **typed)
        except library.OpenDPException as problem:
            raise SpaceError(
                f"to_opendp: OpenDP refuses {link}: {problem.message or problem.variant}"
            ) from problem
    return made


def _twin_of(link: object) -> Callable[..., Foreign] | None:
    return getattr(getattr(link, "definition", link), "opendp_twin", None)


def _list_twins() -> str:
    """The public steps that have a twin, found when somebody needs to know."""
    found = (next(find_public(name)) for name in read_stub(FRONT))
    names = sorted(path_of(each) for each in found if _twin_of(each))
    return f"These have one: {', '.join(names)}. What follows a release stays in Python"


def _begin(library: Foreign, space: Any) -> Foreign:
    """OpenDP's rows of a private number, or of a public one and replaced."""
    size, rows = getattr(space.domain, "size", None), library.atom_domain(T=float, nan=True)
    if space == records():
        return library.vector_domain(rows), library.symmetric_distance()
    if size and space == records(size=size, metric=ChangeOneDistance()):
        sized = library.vector_domain(rows, size=size), library.change_one_distance()
        return sized >> library.t.then_metric_unbounded()
    raise SpaceError(
        "to_opendp is for one column of numbers: put dp.records() before the steps, or "
        f"dp.records(size=..., metric=dp.ChangeOneDistance()), in the place of {space!r}, and "
        "hand OpenDP the column"
    )
