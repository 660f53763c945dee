"""From a distance to a distance, and to a loss: the only places where either becomes a number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import attrs

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import without_parentheses
from opendp_lite.measures.budgets import Loss, exact_loss
from opendp_lite.measures.measure import AnyMeasure, Measure
from opendp_lite.metrics.distances import Distance, Metric
from opendp_lite.numbers.exact import quote
from opendp_lite.spaces.space import Space

MapFunction = Callable[..., object]
"""A map as a person writes it: from an exact distance to an exact distance or loss."""


@attrs.frozen(eq=False, repr=False)
class _Link:
    """The law of one step, and the metric of what it returns. Its text names it in errors."""

    law: MapFunction
    target: Metric
    step: object

    def __str__(self) -> str:
        return f"{_name(self.step)}: the distance that its stability map returns"


@attrs.frozen(eq=False, repr=False)
class StabilityMap:
    """From how far apart inputs are to how far apart results are, checked at both ends.

    Args:
        source: The metric of the inputs.
        links: The laws of the steps, one after another. Without any, results are the inputs.
    """

    source: Metric
    links: tuple[_Link, ...] = ()

    @classmethod
    def between(cls, before: object, after: object, law: object) -> StabilityMap:
        """The map of one step between two spaces; a map as it is."""
        if not isinstance(before, Space) or not isinstance(after, Space):
            raise _refuse_space(after if isinstance(before, Space) else before)
        source, target = before.metric, after.metric
        if type(law) is StabilityMap:
            _require_same(law.source, source, "distances")
            _require_same(law.target, target, "distances")
            return law
        if not callable(law):
            raise _refuse_law(law, "stability_map")
        return cls(source, (_Link(law, target, None),))

    @property
    def target(self) -> Metric:
        """The metric of the results."""
        return self.links[-1].target if self.links else self.source

    def __call__(self, distance: object) -> Distance:
        found = self.source.require(distance, "the distance that a map is given")
        for link in self.links:
            found = link.target.require(link.law(found), link)
        return found

    def words(self, distance: object) -> str:
        """A result in words."""
        return str(self.target.show(distance))

    def after(self, first: StabilityMap, step: object = None) -> StabilityMap:
        """This map once another goes before it; what has no name yet takes that of the step."""
        _require_same(first.target, self.source, "distances")
        links = [each if each.step else _Link(each.law, each.target, step) for each in self.links]
        return StabilityMap(first.source, (*first.links, *links))


@attrs.frozen(eq=False, repr=False, slots=False)
class PrivacyMap:
    """From how far apart inputs are to the loss of a release, checked at both ends.

    Args:
        before: The map of the steps before the release.
        target: The measure of the loss.
        law: From a distance of what is released to its loss.
        step: Whose law it is, for errors; None of what was put together by hand.
    """

    before: StabilityMap
    target: AnyMeasure
    law: MapFunction
    step: object = None

    @classmethod
    def between(cls, before: object, target: object, law: object) -> PrivacyMap:
        """The map of a mechanism from a space to a measure; a map as it is."""
        if not isinstance(before, Space):
            raise _refuse_space(before)
        source, target = before.metric, _require_measure(target)
        if type(law) is PrivacyMap:
            _require_same(law.before.source, source, "distances")
            _require_same(law.target, target, "losses")
            return law
        if not callable(law):
            raise _refuse_law(law, "privacy_map")
        return cls(StabilityMap(source), target, law)

    def __call__(self, distance: object) -> Loss:
        return exact_loss(self.law(self.before(distance)), self.target, self)

    @cached_property
    def _for_nothing(self) -> Loss:
        # Kept: each query of a session asks for it, and most pipelines are built once.
        return self(Fraction(0))

    def require_zero(self, step: str) -> None:
        """Refuses a loss of equal rows: a release that shows their order differs between them.

        What leaves most rows as they are, such as a sample or groups, counts nothing for the rest.
        """
        lost = self._for_nothing
        if lost != self.target.zero():
            raise SpaceError(
                f"{step}: {self.words(lost)} is lost between equal rows, by {self}. The order of "
                "rows is private; write a step that any order gives the same, and a map that is 0 "
                "at 0"
            )

    def words(self, loss: object) -> str:
        """A loss in words."""
        return self.target.words(loss)

    def after(self, first: StabilityMap, step: object = None) -> PrivacyMap:
        """This map once another goes before it; what has no name yet takes that of the step."""
        return PrivacyMap(self.before.after(first), self.target, self.law, self.step or step)

    def convert(self, target: AnyMeasure, convert: MapFunction, step: object) -> PrivacyMap:
        """The same release, whose loss a function states in another measure."""
        start = StabilityMap(self.before.source)

        def law(distance: object) -> object:
            # Releases of one law have no loss in any measure: a delta would be for nothing.
            found = self(distance)
            return target.zero() if found == self.target.zero() else convert(found)

        return PrivacyMap(start, target, law, step)

    def __str__(self) -> str:
        return f"{_name(self.step)}: the loss that its privacy map returns"


def _name(step: object) -> str:
    return str(step or "a pipeline put together by hand")


def _refuse_space(space: object) -> SpaceError:
    return without_parentheses(space) or SpaceError(
        f"a pipeline lies between spaces such as dp.records(), got {quote(space)}. In a step "
        "take the space that it is given"
    )


def _require_measure(given: object) -> AnyMeasure:
    if isinstance(given, Measure):
        return given
    found = quote(given)
    if isinstance(given, type) and issubclass(given, Measure):
        found = f"the class; write {path_of(given)}()"
    raise ParameterError(f"output_measure is a measure such as dp.MaxDivergence(), got {found}")


def _refuse_law(law: object, field: str) -> ParameterError:
    return ParameterError(
        f"{field} is a function of a distance, such as lambda distance: 2 * distance; got "
        f"{quote(law)}"
    )


def _require_same(found: object, needed: object, what: str) -> None:
    if found != needed:
        raise SpaceError(
            f"a map of {what} under {found!r} is given where they are under {needed!r}. Bind the "
            "pipeline to the space of the step before, or write a function that converts them"
        )
