"""How far apart two datasets, or two vectors, are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from fractions import Fraction
from math import inf
from typing import Any, ClassVar, cast

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import fields_of
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable, spellable
from opendp_lite.bodies.body import Body
from opendp_lite.numbers.exact import exact, exact_size, format_number, quote, whole
from opendp_lite.numbers.norms import Norms

Distance = Fraction | Norms
"""A number between datasets, the norms of a difference between vectors."""


class Metric(Storable, ABC):
    """A metric knows how a person writes its distances and how they show.

    ``adjacency`` says whether neighbours are bounded (as many rows) or unbounded.

    Example:
        >>> import opendp_lite as dp
        >>> metric = dp.SymmetricDistance()
        >>> isinstance(metric, dp.metrics.Metric), metric.words(metric.distance(2))
        (True, 'adding or removing 2 rows')
    """

    adjacency: ClassVar[str] = "Neighbours are those of the metric."

    @abstractmethod
    def distance(self, value: object) -> Any:
        """A distance as typed, exactly."""

    @abstractmethod
    def show(self, distance: Any) -> Any:
        """A distance as a person reads it, rounded up."""

    @abstractmethod
    def words(self, distance: Any) -> str:
        """A distance in words, for example "replacing 2 rows"."""

    def protected(self, distance: Any) -> str:
        """What a loss at this distance protects, for example "2 rows"."""
        return f"a dataset against another that differs by {self.words(distance)}"

    def question(self, distance: Any) -> str:
        """What somebody who sees a release may ask, "whether that row is in the data", say."""
        return "which of two such datasets was used"

    def require(self, distance: object, name: object) -> Distance:
        """A distance that a map takes or gives, refused where it is not exact or below 0.

        Errors call it by the text of ``name``.
        """
        found = exact_size(distance)
        if found is None:
            raise ParameterError(
                f"{name} must be a distance under {self!r}, an exact number of at least 0; got "
                f"{quote(distance)} ({type(distance).__name__}). Give a Fraction or an int, "
                "such as Fraction(1, 2) in place of 0.5"
            )
        return found

    def of_new_values(self) -> Metric:
        """What is left of this metric once a step may have changed the rows' values."""
        return self

    def within(self, claimed: Any, allowed: Any) -> bool:
        """Whether a distance is certainly at most as large as another."""
        return bool(claimed <= allowed)

    def spell(self) -> tuple[str, Mapping[str, object]]:
        """The public name, and the fields as its arguments."""
        return type(self).__name__, fields_of(self)

    def __repr__(self) -> str:
        return f"{path_of(type(self))}({', '.join(map(repr, fields_of(self).values()))})"


class RowMetric(Metric):
    """A metric between datasets. A distance is a whole number of rows.

    ``verb`` is what happens to a row between neighbours, for example "replacing". ``fixed_size``
    says whether datasets at a finite distance have the same number of rows, which is then public.
    Where it is False, steps may leave rows out, so ``per_row`` has to bound the removal of a row,
    too.

    Example:
        >>> import opendp_lite as dp
        >>> metric = dp.ChangeOneDistance()
        >>> isinstance(metric, dp.metrics.RowMetric), metric.fixed_size
        (True, True)
    """

    verb: ClassVar[str]
    fixed_size: ClassVar[bool]

    @abstractmethod
    def per_row(self, body: Body) -> Norms | None:
        """The norms that one unit of distance moves a sum by; None where unbounded."""

    def most_alike(self, distance: Fraction, columns: Collection[str]) -> Fraction:
        """How many rows of one dataset alone may have the same values in some columns."""
        return distance

    def of_places(self, columns: Collection[str]) -> Metric:
        """What is left once rows say in which place a row is, each of which has one key of these.

        Rows in one place have the same key of each of these columns.
        """
        return self.of_new_values()

    def distance(self, value: object) -> Fraction:
        return Fraction(whole(value, "d_in (a number of rows)"))

    def show(self, distance: Fraction) -> int:
        return int(distance)

    def words(self, distance: Fraction) -> str:
        return f"{self.verb} {self.protected(distance)}"

    def protected(self, distance: Fraction) -> str:
        return "one row" if distance == 1 else f"{format_number(distance)} rows"


@spellable
@attrs.frozen(repr=False)
class SymmetricDistance(RowMetric):
    """How many rows you must add or remove to turn one dataset into the other.

    The number of rows is private, and so is their order.

    Example:
        >>> SymmetricDistance().words(SymmetricDistance().distance(2))
        'adding or removing 2 rows'
    """

    verb = "adding or removing"
    fixed_size = False
    adjacency = "Neighbours are unbounded: one has more rows, so the number of rows is private."

    def question(self, distance: Fraction) -> str:
        return f"whether {'that row is' if distance == 1 else 'those rows are'} in the data"

    def per_row(self, body: Body) -> Norms | None:
        return body.radii()


def _is_a_name(metric: object, field: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise ParameterError(
            f"{field.name} is the name of a column, such as 'id'; got {quote(value)}"
        )


def _is_a_number_of_groups(metric: object, field: object, value: Any) -> None:
    whole(value, "groups", least=1)


class Spread(SymmetricDistance):
    """As ``SymmetricDistance``, for rows of which at most one in ``groups`` is of one group."""

    groups: int

    def distance(self, value: object) -> Fraction:
        """A number of rows, as many in each group: fewer would have less than one there."""
        rows = super().distance(value)
        if rows % self.groups:
            raise ParameterError(
                f"d_in is a number of rows in {self.groups} groups, as many in each: a multiple of "
                f"{self.groups}; got {format_number(rows)}. A space with a person says it for you: "
                "dp.table(person='id') >> dp.bound_contributions(1, groups=(column, most))"
            )
        return rows

    def of_new_values(self) -> Metric:
        """Rows that were apart may have become alike."""
        return SymmetricDistance()


@attrs.frozen(repr=False)
class SpreadDistance(Spread):
    """As ``SymmetricDistance``, for rows that are spread over the values of a column.

    Datasets are at most d apart if at most d rows are added or removed, and at most d / ``groups``
    of them share one value of ``column``. Values are one where they are one key of
    ``thresholded_counts``. ``bound_contributions`` with ``groups`` gives it.

    Args:
        column: The name of the column.
        groups: Over how many of its values the rows are spread.
    """

    column: str = attrs.field(validator=_is_a_name)
    groups: int = attrs.field(validator=_is_a_number_of_groups)

    def protected(self, distance: Fraction) -> str:
        most = format_number(distance / self.groups)
        rows = super().protected(distance)
        return f"{rows}, at most {most} of them with one value of {self.column!r}"

    def most_alike(self, distance: Fraction, columns: Collection[str]) -> Fraction:
        """A share of the rows, if the column is among these."""
        return distance / self.groups if self.column in columns else distance

    def of_places(self, columns: Collection[str]) -> Metric:
        """Rows that are apart are in different places."""
        apart = self.column in columns
        return SpreadPlacesDistance(self.groups) if apart else self.of_new_values()


@attrs.frozen(repr=False)
class SpreadPlacesDistance(Spread):
    """As ``SymmetricDistance``, for rows with a one in a place, which are spread over the places.

    Datasets are at most d apart if at most d rows are added or removed, and at most d / ``groups``
    of them have their one in the same place. ``one_hot`` gives it.

    Args:
        groups: Over how many places the rows are spread.
    """

    groups: int = attrs.field(validator=_is_a_number_of_groups)

    def protected(self, distance: Fraction) -> str:
        most = format_number(distance / self.groups)
        return f"{super().protected(distance)}, at most {most} of them in one place"

    def per_row(self, body: Body) -> Norms | None:
        """A mean over rows of which at most one in so many has its one in a place."""
        return body.spread_radii(self.groups)


@spellable
@attrs.frozen(repr=False)
class ChangeOneDistance(RowMetric):
    """How many rows you must replace to turn one dataset into the other, in any order.

    The number of rows is public. Declare it with ``records(size=...)``.

    Example:
        >>> import opendp_lite as dp
        >>> sized = dp.records(size=100, metric=dp.ChangeOneDistance())
        >>> (sized >> dp.clamp(2, 10) >> dp.sum()).map(1)
        dp.Norms(l1=8.0, l2=8.0, linf=8.0)
    """

    verb = "replacing"
    fixed_size = True
    adjacency = "Neighbours are bounded: both have as many rows, so the number of rows is public."

    def question(self, distance: Fraction) -> str:
        return f"which of two contents {'that row has' if distance == 1 else 'those rows have'}"

    def per_row(self, body: Body) -> Norms | None:
        return body.diameters()


@spellable
@attrs.frozen(repr=False)
class SymmetricIdDistance(Metric):
    """How many people you must add or remove, each with all of their rows.

    A person who has other rows in the two tables counts as one removed and one added. Rows without
    an id are nobody's and do not count.

    Args:
        person: The column that tells people apart.

    Example:
        >>> metric = SymmetricIdDistance("id")
        >>> metric.words(metric.distance(2))
        'adding or removing 2 people'
    """

    person: str = attrs.field(validator=_is_a_name)

    def distance(self, value: object) -> Fraction:
        return Fraction(whole(value, "d_in (a number of people)"))

    def show(self, distance: Fraction) -> int:
        return int(distance)

    adjacency = "Neighbours are unbounded: one has more people, so the number of people is private."

    def words(self, distance: Fraction) -> str:
        count = "one person" if distance == 1 else f"{format_number(distance)} people"
        return f"adding or removing {count}"

    def protected(self, distance: Fraction) -> str:
        if distance == 1:
            return "one person, with all rows of that person"
        return f"{format_number(distance)} people, with all of their rows"

    def question(self, distance: Fraction) -> str:
        return f"whether {'that person is' if distance == 1 else 'those people are'} in the data"


@spellable
@attrs.frozen(repr=False)
class NormDistance(Metric):
    """Bounds on the l1, l2 and linf norms of a difference of vectors, at once: see ``Norms``.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 9) >> dp.sum()).bound.output_space.metric
        dp.metrics.NormDistance()
    """

    def distance(self, value: object) -> Norms:
        if not isinstance(value, Norms):
            raise ParameterError(
                f"a distance between vectors is written dp.Norms(l1=..., l2=..., linf=...), "
                f"got {quote(value)}"
            )
        return value

    def show(self, distance: Norms) -> Norms | float:
        return distance

    def require(self, distance: object, name: object) -> Norms:
        # A class of a person's own, or bounds set by Norms.squared, may state what is no norm.
        if type(distance) is Norms:
            for bound in (distance.l1, distance.l2_squared, distance.linf):
                if bound is not None and exact_size(bound) is None:
                    break
            else:
                return distance
        raise ParameterError(
            f"{name} must be a distance under {self!r}, a dp.Norms of exact numbers of at least 0; "
            f"got {quote(distance)} ({type(distance).__name__}). Give dp.Norms(l1=...), say"
        )

    def within(self, claimed: Norms, allowed: Norms) -> bool:
        return claimed.within(allowed)

    adjacency = "Neighbours are two values at most so far apart."

    def words(self, distance: Norms) -> str:
        return f"moving the value by {distance}"

    def protected(self, distance: Norms) -> str:
        return f"a change of the value by at most {distance}"

    def question(self, distance: Norms) -> str:
        return "which of two such values it comes from"


class OneNorm(NormDistance):
    """A norm distance that a plain number may state: a bound on all norms of these names."""

    stated: ClassVar[tuple[str, ...]]

    def distance(self, value: object) -> Norms:
        if isinstance(value, Norms):
            return value
        return Norms(**dict.fromkeys(self.stated, exact(value, "d_in")))

    def show(self, distance: Norms) -> Norms | float:
        _, bounds = distance.spell()
        return cast(float, bounds.get(self.stated[0], inf))


@spellable
class L1Distance(OneNorm):
    """The sum of the absolute differences.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.vector(2, dp.metrics.L1Distance()) >> dp.laplace(scale=2)).map(1)
        0.5
    """

    stated = ("l1",)


@spellable
class L2Distance(OneNorm):
    """The Euclidean distance.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.vector(2, dp.metrics.L2Distance()) >> dp.gaussian(scale=1)).map(1)
        0.5
    """

    stated = ("l2",)


@spellable
class LInfDistance(OneNorm):
    """The largest absolute difference.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.vector(2, dp.metrics.LInfDistance()) >> dp.noisy_max(epsilon=1)).map(1)
        1.0
    """

    stated = ("linf",)


@spellable
class AbsoluteDistance(OneNorm):
    """The absolute difference of two numbers. All norms agree on it.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 9) >> dp.count()).bound.output_space.metric
        dp.metrics.AbsoluteDistance()
    """

    stated = ("l1", "linf")
