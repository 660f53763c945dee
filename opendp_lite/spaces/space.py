"""Spaces, where a pipeline starts or a step ends, and the maps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import attrs

from opendp_lite.base import spelling
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.frozen import copy_with
from opendp_lite.base.public_names import FRONT, path_of
from opendp_lite.bodies.body import Body
from opendp_lite.measures.budgets import Loss, exact_loss
from opendp_lite.measures.divergences import AnyMeasure, Measure
from opendp_lite.metrics import distances
from opendp_lite.metrics.distances import Distance, Metric, NormDistance, RowMetric
from opendp_lite.numbers.exact import Number, list_values, quote
from opendp_lite.numbers.norms import Norms
from opendp_lite.spaces.domains import Domain, Origin, Rows, Scalars, Vectors
from opendp_lite.spaces.tables import PersonTables, Tables
from opendp_lite.spelling.description import description_of
from opendp_lite.spelling.signatures import Arguments, holds_data

Kind = TypeVar("Kind", bound=Domain)
KindCo = TypeVar("KindCo", bound=Domain, covariant=True)


@attrs.frozen(repr=False)
class Space(spelling.Storable, Generic[KindCo]):
    """A domain with a metric.

    Args:
        domain: The values.
        metric: How far two values are apart.
        unit: How far one unit of privacy can push a value here. At the front this is one row;
            behind a step it is the distance that the step's stability map gives. It takes no
            part in equality.
        divided: Whether the rows of one unit may lie in several groups, as inside of ``by``. A
            program there promises a part of the unit its share of the loss. It takes no part in
            equality.
        kept: Which rows of a person count, in words, where a step left some out: numbers of these
            rows are none of the whole table. It takes no part in equality.

    Raises:
        SpaceError: If the metric does not measure the domain, or if size and metric disagree.

    Example:
        >>> import opendp_lite as dp
        >>> space = dp.records(columns=2)
        >>> isinstance(space, dp.Space), space.metric, space.unit
        (True, dp.SymmetricDistance(), Fraction(1, 1))
    """

    domain: KindCo
    metric: Metric
    unit: Any = attrs.field(eq=False, kw_only=True)
    divided: bool = attrs.field(default=False, eq=False, kw_only=True)
    kept: str = attrs.field(default="", eq=False, kw_only=True)
    origin: Origin | None = attrs.field(default=None, eq=False, init=False)
    """The function that made this space, and its arguments; None inside a pipeline and of a copy
    by ``attrs.evolve``."""

    def __attrs_post_init__(self) -> None:
        for given, kind in ((self.domain, Domain), (self.metric, Metric)):
            if not isinstance(given, kind):
                raise SpaceError(
                    f"a space is a domain with a metric, got {quote(given)}. Take dp.records()"
                )
        try:
            self.metric.require(self.unit, "the unit of a space")
        except ParameterError as problem:
            # A refusal of this space alone: the step may be typed, since another may do.
            raise SpaceError(str(problem)) from None
        self.domain.check_metric(self.metric)

    if not TYPE_CHECKING:
        # Type checkers see the operator of the step, which knows what it makes of the space.
        def __rshift__(self, other: object) -> Any:
            if forgotten := spelling.without_parentheses(other):
                raise forgotten
            return NotImplemented

    def is_same(self, other: Space[Any]) -> bool:
        """Whether a pipeline bound here is what it would be there."""
        same_unit = self.unit == other.unit and self.divided == other.divided
        return bool(same_unit and self == other)

    def words(self) -> str:
        """The space in a few words."""
        return f"{self.domain.words()}, {type(self.metric).__name__}"

    def spell(self) -> tuple[str, Mapping[str, Any]]:
        """The front function that made this space, and its arguments."""
        if self.origin is None:
            raise ParameterError(f"the space of {self.words()} comes from a pipeline, not a name")
        name, arguments = self.origin
        return name, dict(arguments)

    def __reduce_ex__(self, protocol: object) -> Any:
        if self.origin is None:
            return super().__reduce_ex__(protocol)
        name, arguments = self.origin
        return spelling.call_when_read(spelling.Named(f"{FRONT}:{name}"), **dict(arguments))

    def __repr__(self) -> str:
        if self.origin is None:
            return f"<{self.words()}>"
        name, arguments = self.origin
        texts = [f"{key}={list(v) if type(v) is tuple else v!r}" for key, v in arguments]
        return f"dp.{name}({', '.join(texts)})"


def front_space(
    domain: Kind, metric: Metric, origin: Origin, unit: Number | Norms = 1
) -> Space[Kind]:
    """The space where a pipeline starts, and the public function that makes it."""
    return copy_with(Space(domain, metric, unit=metric.distance(unit)), origin=origin)


def _say(**arguments: object) -> Arguments:
    return tuple((key, value) for key, value in arguments.items() if value is not None)


def row_metric(space: Space[Rows]) -> RowMetric:
    """The metric of a space of rows."""
    if not isinstance(space.metric, RowMetric):
        raise SpaceError(f"needs rows, got {space.domain.words()}. {space.domain.onward}")
    return space.metric


@overload
def records(
    columns: int = 1, size: int | None = None, metric: RowMetric | None = None
) -> Space[Rows]: ...
@overload
def records(
    columns: Sequence[str],
    size: int | None = None,
    metric: RowMetric | None = None,
    *,
    person: str | None = None,
) -> Space[Tables]: ...
@spelling.spellable
def records(
    columns: int | Sequence[str] = 1,
    size: int | None = None,
    metric: RowMetric | None = None,
    *,
    person: str | None = None,
) -> Space[Rows]:
    """The space of datasets, where a pipeline over rows begins.

    Args:
        columns: How many columns of numbers there are, or a list of names. A table's columns are
            then picked by name, and may hold text. An array has them in this order.
        size: The number of rows, only where it is public.
        metric: Which datasets are neighbours. ``SymmetricDistance()``, the default: one row
            added or removed. ``ChangeOneDistance()``: one row replaced; it needs ``size``.
        person: The column that tells people apart, where a person may have several rows. A
            neighbour then has one person more or less, with all rows of that person. Put
            ``dp.bound_contributions`` after it.

    Returns:
        A space to put before ``>>``.

    Raises:
        ParameterError: If ``columns`` or ``size`` is no whole number of at least 1, if a column
            is named twice, if ``metric`` is no metric of datasets, or if there is no column
            ``person``.
        SpaceError: If size and metric disagree.

    Example:
        >>> import opendp_lite as dp
        >>> dp.records(columns=3, size=100, metric=dp.ChangeOneDistance())
        dp.records(columns=3, size=100, metric=dp.ChangeOneDistance())
    """
    if isinstance(columns, list | tuple):
        names = tuple(columns)
        if not all(isinstance(name, str) for name in names):
            raise ParameterError("records: columns is a number, or a list of names as text")
        if twice := Counter(names) - Counter({*names}):
            # More of them may be data, given by mistake.
            shown = f": {quote(*twice)}" if twice.total() == 1 else f" in {list_values(names)}"
            raise ParameterError(f"records: a column is named twice{shown}")
        return _tables("records", names, size, metric, person)
    if isinstance(columns, str):
        raise ParameterError(f"columns is a number or a list of names: write [{columns!r}]")
    if holds_data(columns):
        raise ParameterError(
            "records: data goes into a second call, as in (dp.records() >> dp.count())(data); "
            "columns is a number or a list of names, such as list(df.columns)"
        )
    if person is not None:
        raise ParameterError(
            "records: person= names one of several columns; name them all, as in "
            "dp.records(columns=['id', 'visits'], person='id')"
        )
    rows = Rows(cast(int, columns), size)
    typed = _say(columns=rows.columns if rows.columns > 1 else None, size=rows.size, metric=metric)
    return front_space(rows, _choose(metric), ("records", typed))


@spelling.spellable
def table(
    size: int | None = None, metric: RowMetric | None = None, *, person: str | None = None
) -> Space[Tables]:
    """The space of tables whose columns a pipeline picks by name: the default of ``dp.select``.

    Args:
        size: As for ``records``.
        metric: As for ``records``.
        person: As for ``records``.

    Returns:
        A space to put before ``>>``.

    Raises:
        ParameterError: If ``size`` is no whole number of at least 1, or ``metric`` is no metric of
            datasets.
        SpaceError: If size and metric disagree.

    Example:
        >>> import opendp_lite as dp
        >>> ages = dp.table() >> dp.select("age") >> dp.clamp(0, 100) >> dp.sum()
        >>> ages({"name": ["Ann", "Bob"], "age": [41, 38]})
        NotPrivate([79.])
    """
    if isinstance(size, str):
        raise ParameterError(
            f"table takes no name of a column by itself: write dp.table(person={size!r}) if it "
            "tells people apart, or dp.select() to pick it"
        )
    if holds_data(size):
        raise ParameterError(
            "table: data goes into a second call, as in (dp.table() >> dp.count())(data)"
        )
    return _tables("table", None, size, metric, person)


def _tables(
    name: str,
    columns: tuple[str, ...] | None,
    size: int | None,
    metric: RowMetric | None,
    person: str | None,
) -> Space[Any]:
    """The space of tables whose neighbours have other rows, or one person more or less."""
    tables = Tables(1 if columns is None else len(columns), size, names=columns)
    if person is None:
        typed = _say(columns=columns, size=tables.size, metric=metric)
        return front_space(tables, _choose(metric), (name, typed))
    if size is not None or metric is not None:
        raise ParameterError(
            f"{name}: with person={person!r} a neighbour has one person more or less, so the "
            "number of rows is private; leave out size and metric"
        )
    people = distances.SymmetricIdDistance(person)
    tables.find_names([person], f"{name}: person={person!r}")
    typed = _say(columns=columns, person=person)
    return front_space(PersonTables(tables, person), people, (name, typed))


def _choose(metric: RowMetric | None) -> RowMetric:
    """The metric that was typed, by default that of rows added or removed."""
    if metric is None:
        return distances.SymmetricDistance()
    if not isinstance(metric, RowMetric):
        raise ParameterError(
            "records: metric is dp.SymmetricDistance() or dp.ChangeOneDistance(), with "
            f"parentheses; got {getattr(metric, '__name__', None) or quote(metric)}"
        )
    return metric


@spelling.spellable
def vector(
    dimension: int, metric: NormDistance | None = None, unit: Number | Norms = 1
) -> Space[Vectors]:
    """The space of float vectors of a public length, for a mechanism used by itself.

    Entries beyond +-2^53 count as +-2^53. This moves no two vectors further apart. If yours are
    larger, measure them in another unit.

    Args:
        dimension: The number of entries.
        metric: ``L2Distance()``, the default, ``L1Distance()`` or ``LInfDistance()``; or
            ``NormDistance()`` with a ``Norms`` as ``unit``.
        unit: How far one unit of privacy moves the vector. ``epsilon=`` and ``rho=`` are solved
            for this distance.

    Returns:
        A space to put before ``>>``.

    Raises:
        ParameterError: If ``dimension`` is no whole number of at least 1, or ``unit`` is no
            distance of the metric.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.vector(3) >> dp.gaussian(scale=1)).map(1)
        0.5
    """
    chosen = distances.L2Distance() if metric is None else metric
    domain = Vectors(dimension)
    typed = _say(dimension=domain.dimension, metric=metric, unit=None if unit == 1 else unit)
    return front_space(domain, chosen, ("vector", typed), unit)


@spelling.spellable
def scalar(unit: Number | Norms = 1) -> Space[Scalars]:
    """The space of single numbers, for a mechanism used by itself.

    Args:
        unit: How far one unit of privacy moves the number.

    Returns:
        A space to put before ``>>``.

    Raises:
        ParameterError: If ``unit`` is not a number above 0.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.scalar() >> dp.laplace(scale=2)).map(1)
        0.5
    """
    typed = _say(unit=None if unit == 1 else unit)
    return front_space(Scalars(), distances.AbsoluteDistance(), ("scalar", typed), unit)


@attrs.frozen(eq=False)
class Example:
    """A call of a step, and a space that it can be bound to."""

    space: Space[Domain]
    args: tuple[object, ...]
    kwargs: dict[str, Any]


def example(space: Space[Domain], *args: object, **kwargs: object) -> Example:
    """An example of a step: a space before it, and its parameters.

    Give ``@dp.stage`` or ``@dp.mechanism`` a function that lists some. It runs when somebody asks
    for them. The tests of the package take each example through its repr, JSON, pickling, and the
    falsifiers.

    Args:
        space: A space that the step can be bound to.
        *args: Parameters of the step.
        **kwargs: Parameters by name.

    Returns:
        The example.

    Example:
        >>> import opendp_lite as dp
        >>> Tables = dp.Space[dp.Rows]
        >>> @dp.stage(examples=lambda: [example(dp.records(), 5)])
        ... def floor(space: Tables, least: float) -> dp.Transformation[Tables, Tables]:
        ...     body = space.domain.body
        ...     return dp.row_map(space, lambda rows: rows.clip(least), body)
        >>> [each.args for each in examples_of(floor)]
        [(5,)]
    """
    return Example(space, args, kwargs)


def rows_in(body: Body, size: int | None = None) -> Space[Rows]:
    """The space of datasets in a body, for an example of a step that needs bounded rows.

    Args:
        body: Where each row lies.
        size: The number of rows, where it is public; rows are then replaced, not added.
    """
    metric = distances.SymmetricDistance() if size is None else distances.ChangeOneDistance()
    return Space(Rows(body.columns, size, body), metric, unit=metric.distance(1))


def sized_rows(columns: int | Sequence[str] = 1, size: int = 20) -> Space[Rows]:
    """The space of so many rows, of which one may be replaced, for an example."""
    return records(columns, size=size, metric=distances.ChangeOneDistance())


def examples_of(step: Callable[..., object]) -> tuple[Example, ...]:
    """The examples of a public function; empty where it has none."""
    return tuple(cast(Sequence[Example], description_of(step).examples()))


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
    return spelling.without_parentheses(space) or SpaceError(
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
