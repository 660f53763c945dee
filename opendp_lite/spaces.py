"""A domain with a metric, where a pipeline starts or a step ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import attrs

from opendp_lite.documents import spellable
from opendp_lite.domains import Domain, Origin, Rows, Scalars, Vectors
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, said
from opendp_lite.metrics import (
    AbsoluteDistance,
    L2Distance,
    Metric,
    NormDistance,
    RowMetric,
    SymmetricDistance,
)
from opendp_lite.norms import Norms

KindCo = TypeVar("KindCo", bound=Domain, covariant=True)


@attrs.frozen(repr=False)
class Space(Generic[KindCo]):
    """A domain with a metric.

    ``unit`` is how far one unit of privacy can push a value here: one row at the front, then
    what the stability maps make of it. It takes no part in equality.
    """

    domain: KindCo
    metric: Metric
    unit: Any = attrs.field(eq=False, kw_only=True)
    origin: Origin | None = attrs.field(default=None, eq=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.domain, Rows) != isinstance(self.metric, RowMetric):
            raise SpaceError(f"{self.metric!r} does not measure {self.domain.words()}")
        if not isinstance(self.domain, Rows) or not isinstance(self.metric, RowMetric):
            return
        name, declared = type(self.metric).__name__, self.domain.size is not None
        if self.metric.fixed_size and not declared:
            raise SpaceError(
                f"{name} holds the number of rows fixed, so it is public; declare it: "
                f"dp.records(size=..., metric={self.metric!r})"
            )
        if declared and not self.metric.fixed_size:
            raise SpaceError(
                f"{name} changes the number of rows, so it is private: leave size out, or use "
                "metric=dp.ChangeOneDistance()"
            )

    def words(self) -> str:
        """The space in a few words."""
        return f"{self.domain.words()}, {type(self.metric).__name__}"

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The front function that made this space, and its arguments."""
        if self.origin is None:
            raise ParameterError(f"the space of {self.words()} comes from a pipeline, not a name")
        name, arguments = self.origin
        return name, dict(arguments)

    def __repr__(self) -> str:
        if self.origin is None:
            return f"<{self.words()}>"
        name, arguments = self.origin
        texts = [f"{key}={list(v) if type(v) is tuple else v!r}" for key, v in arguments]
        return f"dp.{name}({', '.join(texts)})"


def _said(**arguments: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((key, value) for key, value in arguments.items() if value is not None)


def row_metric(space: Space[Rows]) -> RowMetric:
    """The metric of a space of rows."""
    return cast(RowMetric, space.metric)


@spellable
def records(
    columns: int | Sequence[str] = 1,
    size: int | None = None,
    metric: RowMetric | None = None,
) -> Space[Rows]:
    """The space of datasets, where a pipeline over rows begins.

    Takes: ``columns``, how many, or their names, by which a table's columns are picked; ``size``,
        the number of rows, only where it is public; ``metric``, what neighbours are: by default
        ``SymmetricDistance()``, one row added or removed; ``ChangeOneDistance()`` is one row
        replaced and needs ``size``.
    Gives: a space to put before ``>>``. Raises ``SpaceError`` where size and metric disagree.

    >>> import opendp_lite as dp
    >>> dp.records(columns=3, size=100, metric=dp.ChangeOneDistance())
    dp.records(columns=3, size=100, metric=dp.ChangeOneDistance())
    """
    chosen = SymmetricDistance() if metric is None else metric
    if not isinstance(chosen, RowMetric):
        raise ParameterError(
            "records: metric is dp.SymmetricDistance() or dp.ChangeOneDistance(), with "
            f"parentheses; got {getattr(metric, '__name__', None) or said(metric)}"
        )
    named = tuple(columns) if isinstance(columns, list | tuple) else columns
    if isinstance(named, str):
        raise ParameterError(f"columns is a number or a list of names: write [{columns!r}]")
    if isinstance(named, tuple):
        if not all(isinstance(name, str) for name in named):
            raise ParameterError("records: columns is a number, or a list of names as text")
        if len(set(named)) < len(named):
            raise ParameterError(f"records: a column is named twice in {list(named)}")
        domain = Rows(len(named), size, names=named)
    else:
        domain = Rows(cast(int, named), size)
    typed = named if isinstance(named, tuple) else domain.columns
    spelling = _said(columns=None if typed == 1 else typed, size=domain.size, metric=metric)
    return Space(domain, chosen, unit=chosen.distance(1), origin=("records", spelling))


@spellable
def vector(
    dimension: int, metric: NormDistance | None = None, unit: Number | Norms = 1
) -> Space[Vectors]:
    """The space of float vectors of a public length, for a mechanism used by itself.

    Takes: ``dimension``; ``metric``: ``L2Distance()`` by default, ``L1Distance()``,
        ``LInfDistance()``, or ``NormDistance()`` with a ``Norms`` as ``unit``; ``unit``, how far
        one unit of privacy moves the vector (what ``epsilon=`` and ``rho=`` are solved for).
    Because: entries beyond +-2^53 count as +-2^53, which moves no two vectors further apart; use
        another unit for larger ones.

    >>> import opendp_lite as dp
    >>> (dp.vector(3) >> dp.gaussian(scale=1)).map(1)
    0.5
    """
    chosen = L2Distance() if metric is None else metric
    domain = Vectors(dimension)
    spelling = _said(dimension=domain.dimension, metric=metric, unit=None if unit == 1 else unit)
    return Space(domain, chosen, unit=chosen.distance(unit), origin=("vector", spelling))


@spellable
def scalar(unit: Number | Norms = 1) -> Space[Scalars]:
    """The space of single numbers, for a mechanism used by itself.

    >>> import opendp_lite as dp
    >>> (dp.scalar() >> dp.laplace(scale=2)).map(1)
    0.5
    """
    metric = AbsoluteDistance()
    spelling = _said(unit=None if unit == 1 else unit)
    return Space(Scalars(), metric, unit=metric.distance(unit), origin=("scalar", spelling))
