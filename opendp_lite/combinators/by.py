"""A mechanism for each group of the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.by_group import ByGroup
from opendp_lite.combinators._require_mechanism import require_mechanism
from opendp_lite.combinators.group_by import Keys, bound_to, grouped, space_of_group
from opendp_lite.core import Facts, M, Measurement, R, follow
from opendp_lite.domains import Scalars
from opendp_lite.engines.deferred import Released, query_of, release_of
from opendp_lite.engines.grouped import EachGroup
from opendp_lite.estimate import Estimate
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.conversion import Conversion
from opendp_lite.measures.exact_loss import exact_loss
from opendp_lite.measures.measure import Measure
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, Stage, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import Tables
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.select import select
from opendp_lite.transformations.sum import sum

_MOST_SPLIT: Final = 16
"""Rows of distance for which all ways to part them among groups are looked at."""
_SMALL: Final = private_quantile(0.5, bounds=(0, 9), epsilon=1)


@example(records(columns=["sex", "age"]), "sex", [0, 1], select("age") >> _SMALL)
@example(
    records(columns=["sex", "age"], size=20, metric=ChangeOneDistance()),
    "sex",
    [0, 1, None],
    select("age") >> clamp(-1, 5) >> sum() >> gaussian(rho=0.1),
)
@example(
    records(columns=["sex", "age"]), ["sex", "age"], [[0], [1, 2]], count() >> laplace(epsilon=1)
)
@mechanism
def by(
    space: Space[Tables],
    column: str | Sequence[str],
    keys: Sequence[Any],
    pipeline: Mechanism[Any, M, R],
    *,
    other: Hashable = None,
) -> Measurement[Space[Tables], M, ByGroup[R]]:
    """Releases a pipeline for each group of the rows.

    Args:
        column: The column that holds the keys, or a list of several.
        keys: The keys to report, chosen without looking at the data; None stands for missing cells.
            For several columns a list for each: there is then one group for each combination.
        pipeline: A pipeline that ends in noise, such as ``dp.select("income") >>
            dp.mean(0, 150_000, epsilon=1)``. It is bound to no space of its own.
        other: A name for a further group, of all rows whose key is not declared.

    Returns:
        A ``ByGroup``: the releases by key. Each declared key has one, also where no row has it. A
        row whose key is not declared is in no group.

    Raises:
        ParameterError: If a key is declared twice, or the pipeline does not end in noise.
        SpaceError: If the table has no such column.

    Privacy:
        Under add/remove the loss of one group. For several rows the worst way to part them among
        the groups. Where rows are replaced, a row may leave one group and enter another: noise is
        made for both. If a unit moves several rows, a program such as ``dp.mean(rho=1)`` may then
        cost more than you typed, and a delta may add up over groups: read ``map(1)``.

    Proof:
        A row is in at most one group, and the groups' releases are independent: parallel
        composition (McSherry 2009, theorem 4). For noise on sums and counts the sensitivity is that
        of ``group_by``. For others a replaced row counts as one removed and one added, and the loss
        is the largest over all ways to part so many rows among the groups.

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
    inner = bound_to(before, space_of_group(space))
    vector = attrs.evolve(grouped(space, keys, Stage(tuple(before))), trace=inner.trace)
    made = cast(Measurement[Space[Tables], M, Any], last.join(vector))
    domain, count = inner.output_space.domain, len(keys.values)
    whole = isinstance(domain, Scalars) and made.facts.laws[0].exponent >= 0

    def parted(release: Any) -> ByGroup[Any]:
        if isinstance(release, np.ndarray):
            pieces: Sequence[Any] = list(release.reshape(count, domain.dimension))
        else:
            alone = isinstance(release, Estimate)
            pieces = [release] if alone else release.parted(count, domain.names)
        if isinstance(domain, Scalars) and isinstance(release, np.ndarray):
            pieces = list(map(int if whole else float, release))
        return ByGroup(keys.title, dict(zip(keys.values, pieces, strict=True)))

    parts = follow(made, parted)
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
    measure, each = inner.output_measure, release_of(inner.function)
    loss = _Loss(measure, inner.privacy_map, keys.groups.count)
    changes = 2 if row_metric(space).fixed_size else 1

    def release(values: Sequence[Any], entropy: Entropy) -> ByGroup[R]:
        found = [each(value, entropy) for value in values]
        return ByGroup(keys.title, dict(zip(keys.values, found, strict=True)))

    def privacy_map(distance: Fraction) -> Any:
        return loss.of(ceil(distance * changes))

    return Measurement(
        space,
        measure,
        Released(EachGroup(query_of(inner.function), keys.groups), release),
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


def _explanation(inner: Measurement[Any, Any, Any], changes: int) -> str:
    moved = (
        "a row is in one group"
        if changes == 1
        else "a replaced row may leave one group and enter another"
    )
    return f"{moved}; in each group {inner.facts.explanation}"


@attrs.frozen(eq=False)
class _Loss:
    """The loss of independent releases of groups, by how many rows come or go in all of them."""

    measure: Measure[Any]
    privacy_map: Callable[[Fraction], Any]
    groups: int

    def of(self, changes: int) -> Any:
        """The largest over all ways to part the rows among the groups, or a bound on it.

        Above a certain number the law of groups bounds it: each row costs what one does.
        """
        if changes > _MOST_SPLIT:
            return self.measure.group(self.of(1), changes)
        losses = (self.privacy_map(Fraction(rows)) for rows in range(changes + 1))
        alone = [exact_loss(each, self.measure, "by: the loss of a group") for each in losses]
        worst = [self.measure.zero(), *alone[1:]]
        for _ in range(min(self.groups, changes) - 1):
            worst = [worst[0], *(self._parted(alone, worst, rows) for rows in range(1, len(worst)))]
        return worst[changes]

    def _parted(self, alone: Sequence[Any], others: Sequence[Any], rows: int) -> Any:
        """The worst of giving some rows to one more group and the rest to the groups before."""
        ways = [self.measure.compose([alone[here], others[rows - here]]) for here in range(1, rows)]
        return self.measure.worst([alone[rows], others[rows], *ways])
