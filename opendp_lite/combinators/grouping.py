"""A sum or a count for each group of the rows, as one vector."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Final, TypeAlias, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.combinators.accounts import AnySpace, AnyStage, require_mechanism
from opendp_lite.combinators.composing import SideBySide
from opendp_lite.combinators.group_keys import Keys
from opendp_lite.combinators.losses_of_groups import LossOfGroups
from opendp_lite.engines.plan import Group, Map, Own, Release
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.conversion import Conversion
from opendp_lite.metrics.distances import ChangeOneDistance, SymmetricDistance
from opendp_lite.numbers.exact import quote
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import (
    AnyMeasurement,
    Facts,
    M,
    Measurement,
    R,
    Transformation,
    follow,
)
from opendp_lite.pipeline.step_call import Call
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism, stage
from opendp_lite.releases.by_name import ByGroup
from opendp_lite.releases.estimates import Estimate
from opendp_lite.spaces.domains import Rows, Scalars, Vectors
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records, row_metric
from opendp_lite.spaces.tables import Tables
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.bounding import clamp
from opendp_lite.transformations.row_maps import fold_to_vector
from opendp_lite.transformations.rows import select
from opendp_lite.transformations.sums import count, sum


def space_of_group(space: Space[Tables]) -> Space[Tables]:
    """The space of the rows of one group, whose number is private.

    A unit that replaces a row adds one row and removes one, in one group or in two.
    """
    unit = cast(Fraction, space.unit) * _changes(space)
    domain = attrs.evolve(space.domain, size=None)
    return Space(domain, SymmetricDistance(), unit=unit, divided=unit > 1)


def _changes(space: Space[Tables]) -> int:
    """How many rows one row of distance adds or removes."""
    return 2 if row_metric(space).fixed_size else 1


@stage(
    does="A sum or a count for each group of the rows, side by side in one vector.",
    changes="A row whose key is not declared is in no group.",
    proof=Proof(
        "The parts of the vector for two groups are orthogonal. A replaced row stays in its "
        "group (D) or moves r in each of two.",
        adding="k times that of one group",
        replacing="k times: l1 2 r, l2 the root of max(2 r^2, D^2), linf max(r, D)",
    ),
    examples=lambda: [
        example(
            records(columns=["sex", "visits"]),
            "sex",
            [1, 2.5],
            select("visits") >> clamp(-1, 3) >> sum(),
        ),
        example(records(columns=["sex", "region"]), ["sex", "region"], [[0, 1], [1]], count()),
    ],
)
def group_by(
    space: Space[Tables],
    column: str | Sequence[str],
    keys: Sequence[Any],
    aggregate: AnyStage,
    *,
    other: Hashable = None,
) -> Transformation[Space[Tables], Space[Vectors]]:
    """A sum or a count for each group of the rows, side by side in one vector.

    Put noise after it. ``dp.by`` does this for any mechanism and names the groups.

    Args:
        column: The column that holds the keys, or a list of several.
        keys: The keys to report, chosen without looking at the data; None stands for missing cells.
            For several columns a list for each: there is then one group for each combination. Or a
            tuple for each group, such as ``[("f", "Rome"), ("m", "Oslo")]``: there are no others.
        aggregate: A pipeline without noise that ends in a vector or a number, such as
            ``dp.select("income") >> dp.clamp(0, 100) >> dp.sum()``.
        other: A name for a further group, of all rows whose key is not declared. For lists of keys.

    Returns:
        The aggregates of the groups, one group after another. A group without rows has the
        aggregate of no rows. A row whose key is not declared is in no group.

    Raises:
        ParameterError: If a key is declared twice, or ``aggregate`` ends in noise or in rows.
        SpaceError: If the table has no such column.

    Example:
        >>> import opendp_lite as dp
        >>> incomes = dp.select("income") >> dp.clamp(0, 100) >> dp.sum()
        >>> by_sex = dp.combinators.group_by("sex", ["f", "m"], incomes)
        >>> by_sex({"sex": ["f", "m", "f"], "income": [30, 20, 50]})
        NotPrivate([80., 20.])
        >>> by_sex.map(1)
        dp.Norms(l1=100.0, l2=100.0, linf=100.0)
    """
    if not isinstance(aggregate, Stage):
        raise ParameterError(
            "group_by takes a pipeline without noise, such as dp.select('income') >> "
            f"dp.clamp(0, 100) >> dp.sum(); got {quote(aggregate)}. dp.by takes mechanisms"
        )
    return group_rows(space, Keys.of(space, column, keys, other, "group_by"), aggregate)


def group_rows(
    space: Space[Tables], keys: Keys, aggregate: AnyStage
) -> Transformation[Space[Tables], Space[Vectors]]:
    """As ``group_by``, for keys that were read before."""
    inner = aggregate.bind(space_of_group(space))
    domain = inner.output_space.domain
    if not isinstance(domain, Vectors | Scalars):
        raise SpaceError(
            f"group_by: {aggregate!r} gives {domain.words()}; end it in sum() or count()"
        )
    count = keys.groups.count
    one = _move(space, inner, aggregate, count)
    vectors = Vectors(domain.dimension * count, domain.exponent)
    each = Map(Own(partial(_side_by_side, domain)), before=Group(keys.groups, inner.function))
    return attrs.evolve(fold_to_vector(space, vectors, one, each), trace=inner.trace)


def _side_by_side(domain: Vectors | Scalars, values: Sequence[Grid]) -> Grid:
    found = [domain.receive(value) for value in values]
    return Grid(np.concatenate([value.steps for value in found]), found[0].exponent)


def _move(
    space: Space[Tables], inner: AnyTransformation, aggregate: AnyStage, groups: int
) -> Norms:
    """How far one row of distance moves the vector of all groups."""
    added = cast(Norms, inner.stability_map(Fraction(1)))
    if not row_metric(space).fixed_size:
        return added
    replaced = _replace(inner, aggregate.calls, space_of_group(space))
    if replaced is None:
        return added * 2
    return (added if groups == 1 else added.beside(added)).or_else(replaced)


def _replace(inner: AnyTransformation, calls: Sequence[Call], space: Space[Tables]) -> Norms | None:
    """How far a row that is replaced within its group moves a sum or a count of rows.

    None where the aggregate is not known to take the rows one by one.
    """
    *before, last = calls
    if last.is_of(count):
        moved = cast(Norms, inner.stability_map(Fraction(1)))
        return moved if _row_by_row(before, space) else None
    if not last.is_of(sum) or not before or not _row_by_row(before, space):
        return None
    body = cast(Rows, _bind(before, space).output_space.domain).body
    return body.diameters()


def _row_by_row(calls: Sequence[Call], space: Space[Tables]) -> bool:
    return not calls or _bind(calls, space).function.row_by_row


def _bind(calls: Sequence[Call], space: AnySpace) -> AnyTransformation:
    """Some steps of a pipeline on a space."""
    steps: AnyStage = Stage(tuple(calls))
    return steps.bind(space)


AnyTransformation: TypeAlias = Transformation[Any, Any]
_SMALL: Final = private_quantile(0.5, bounds=(0, 9), epsilon=1)


@mechanism(
    does="Releases a pipeline for each group of the rows.",
    changes="A row whose key is not declared is in no group.",
    proof=Proof(
        "Parallel composition: a row is in one group, and the releases are independent. "
        "Of more than 16 rows the group that changes n-th most changes by at most 1/n of them.",
        adding="the loss of one group for one row; the worst way to part k rows, or a bound on it",
        replacing="that of k rows removed and k added, or of the vector of `group_by`",
        sources=["McSherry 2009, theorem 4"],
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "sex", [0, 1], select("age") >> _SMALL),
        example(
            records(columns=["sex", "age"], size=20, metric=ChangeOneDistance()),
            "sex",
            [0, 1, None],
            select("age") >> clamp(-1, 5) >> sum() >> gaussian(rho=0.1),
        ),
        example(
            records(columns=["sex", "age"]),
            ["sex", "age"],
            [[0], [1, 2]],
            count() >> laplace(epsilon=1),
        ),
    ],
)
def by(
    space: Space[Tables],
    column: str | Sequence[str],
    keys: Sequence[Any],
    pipeline: Mechanism[Any, M, R],
    *,
    other: Hashable = None,
) -> Measurement[Space[Tables], M, ByGroup[R]]:
    """Releases a pipeline for each group of the rows.

    Under add/remove it costs the loss of one group. If a unit moves several rows, or where rows are
    replaced, it may cost more than you typed: read ``map(1)``.

    Args:
        column: The column that holds the keys, or a list of several.
        keys: The keys to report, chosen without looking at the data; None stands for missing cells.
            For several columns a list for each: there is then one group for each combination. Or a
            tuple for each group, such as ``[("f", "Rome"), ("m", "Oslo")]``: there are no others.
        pipeline: A pipeline that ends in noise, such as ``dp.select("income") >>
            dp.mean(0, 150_000, epsilon=1)``. It is bound to no space of its own.
        other: A name for a further group, of all rows whose key is not declared. For lists of keys.

    Returns:
        A ``ByGroup``: the releases by key. Each declared key has one, also where no row has it. A
        row whose key is not declared is in no group.

    Raises:
        ParameterError: If a key is declared twice, or the pipeline does not end in noise.
        SpaceError: If the table has no such column.

    Example:
        >>> import opendp_lite as dp
        >>> means = dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 100, epsilon=1))
        >>> means.map(1)
        1.0
        >>> found = means({"sex": ["f", "m"] * 2000, "age": [41, 38] * 2000})
        >>> round(found["f"]), round(found["m"])
        (41, 38)
    """
    require_mechanism(pipeline, "by", "the rows of each group")
    found = Keys.of(space, column, keys, other, "by")
    return _of_vector(space, found, pipeline) or _one_by_one(space, found, pipeline)


def _of_vector(
    space: Space[Tables], keys: Keys, pipeline: Mechanism[Any, M, Any]
) -> Measurement[Space[Tables], M, ByGroup[Any]] | None:
    """Independent noise on the vector of all groups' aggregates; None for other mechanisms."""
    *before, last = pipeline.calls
    if not before or not (last.is_of(gaussian) or last.is_of(laplace)):
        return None
    inner = _bind(before, space_of_group(space))
    vector = attrs.evolve(group_rows(space, keys, Stage(tuple(before))), trace=inner.trace)
    made = cast(Measurement[Space[Tables], M, Any], last.join(vector))
    domain, count = inner.output_space.domain, len(keys.values)
    whole = isinstance(domain, Scalars) and made.facts.laws[0].exponent >= 0

    def part(release: Any) -> ByGroup[Any]:
        if isinstance(release, np.ndarray):
            pieces: Sequence[Any] = list(release.reshape(count, domain.dimension))
        else:
            alone = isinstance(release, Estimate)
            pieces = [release] if alone else release.split(count, domain.names)
        if isinstance(domain, Scalars) and isinstance(release, np.ndarray):
            pieces = list(map(int if whole else float, release))
        return keys.label(pieces)

    parts = follow(made, part)
    parts = attrs.evolve(parts, facts=attrs.evolve(parts.facts, errors=made.facts.errors))
    for link in map(_on_each, pipeline.after):
        parts = follow(parts, link)
    found: Measurement[Space[Tables], M, ByGroup[Any]]
    found = attrs.evolve(parts, trace=made.trace)
    return found


def _on_each(link: Any) -> Any:
    """What follows noise, for the releases of all groups; a conversion as it is."""
    if isinstance(link, Conversion):
        return link

    def on_each(found: ByGroup[Any]) -> ByGroup[Any]:
        return ByGroup(found.column, {key: link(each) for key, each in found.items()})

    return on_each


def _one_by_one(
    space: Space[Tables], keys: Keys, pipeline: Mechanism[Any, M, R]
) -> Measurement[Space[Tables], M, ByGroup[R]]:
    """A release for each group, independent of the others."""
    inner = pipeline.bind(space_of_group(space))
    measure = inner.output_measure
    releases = (inner.function,) * keys.groups.count
    loss = LossOfGroups(measure, inner.privacy_map, keys.groups.count)
    changes = _changes(space)

    def privacy_map(distance: Fraction) -> object:
        return loss.of(ceil(distance * changes))

    return Measurement(
        space,
        measure,
        Release(Group(keys.groups, inner.function.of), SideBySide(releases, keys.label)),
        privacy_map,
        Facts(
            explanation=_explanation(inner, changes),
            errors=tuple(
                attrs.evolve(part, entries=part.entries * keys.groups.count)
                for part in inner.facts.errors
            ),
        ),
        trace=inner.trace,
    )


def _explanation(inner: AnyMeasurement, changes: int) -> str:
    moved = (
        "a row is in one group"
        if changes == 1
        else "a replaced row may leave one group and enter another"
    )
    return f"{moved}; in each group {inner.facts.explanation}"
