"""A sum or a count for each group of the rows, as one vector."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil, prod
from typing import Any, ClassVar, Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.spelling import is_row
from opendp_lite.combinators.sampling import require_mechanism
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.data.categories import Categories, plain_value
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.grouped import Groups
from opendp_lite.engines.plan import Going, Group, Map, Own, Release, together
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.conversion import Conversion
from opendp_lite.measures.measure import Measure
from opendp_lite.metrics.distances import ChangeOneDistance, NormDistance, SymmetricDistance
from opendp_lite.numbers.exact import list_values, quote
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Facts, M, Measurement, R, Transformation, follow
from opendp_lite.pipeline.step_call import Call
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism, stage
from opendp_lite.releases.by_name import ByGroup
from opendp_lite.releases.estimates import Estimate
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces.domains import Rows, Scalars, Vectors
from opendp_lite.spaces.maps import PrivacyMap
from opendp_lite.spaces.space import Space, example, records, row_metric
from opendp_lite.spaces.tables import Tables
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.bounding import clamp
from opendp_lite.transformations.counting import count
from opendp_lite.transformations.rows import select
from opendp_lite.transformations.sums import sum

_MOST: Final = 2**24
# The group of a row is found by a whole number as a float.
_MOST_CODES: Final = 2**53
_FORMS: Final = (
    "Write a list for each column, such as [['f', 'm'], ['Rome', 'Oslo']], for every combination; "
    "or a tuple for each group, such as [('f', 'Rome'), ('m', 'Oslo')]"
)


@attrs.frozen
class Keys:
    """The declared keys of groups.

    Attributes:
        columns: Those that hold the keys.
        values: The keys, in order. Of several columns they are tuples: those listed, or each
            combination, the last column changing fastest.
        groups: The groups as the engine finds them.
    """

    columns: tuple[str, ...]
    values: tuple[Hashable, ...]
    groups: Groups

    @classmethod
    def of(
        cls,
        space: Space[Tables],
        column: str | Sequence[str],
        keys: Sequence[Any],
        other: Hashable,
        step: str,
    ) -> Keys:
        """The keys that a person typed, refused where they do not fit the columns."""
        several = not isinstance(column, str)
        if several and (not isinstance(column, Sequence) or not column):
            raise ParameterError(
                f"{step} takes the name of a column, or a list of names; got {quote(column)}"
            )
        columns = space.domain.named(list(column) if several else [column], step)
        if not several:
            found = cls._of_all(columns, [keys], other, step)
            return attrs.evolve(
                found, values=tuple(key for (key,) in cast(Sequence[tuple[Hashable]], found.values))
            )
        if isinstance(keys, str) or not isinstance(keys, Sequence):
            raise ParameterError(
                f"{step} takes the columns first, then their keys; got {quote(keys)} as keys. "
                f"{_FORMS}"
            )
        tuples = [is_row(each) for each in keys]
        if any(isinstance(each, str) for each in keys) or len(set(tuples)) > 1:
            raise ParameterError(
                f"{step}: the keys of a list of columns are all lists, or all tuples; got "
                f"{list_values(keys)}. {_FORMS}"
            )
        if not any(tuples):
            return cls._of_all(columns, keys, other, step)
        if other is not None:
            raise ParameterError(
                f"{step}: other= goes with a list of keys for each column, not with a tuple for "
                f"each group. {_FORMS}"
            )
        return cls._of_rows(columns, keys, step)

    @classmethod
    def _of_all(
        cls, columns: tuple[str, ...], lists: Sequence[Any], other: Hashable, step: str
    ) -> Keys:
        """Each combination of a key of each column."""
        if len(lists) != len(columns):
            raise ParameterError(
                f"{step}: {len(columns)} columns need as many lists of keys; got {len(lists)}. "
                f"{_FORMS}"
            )
        collected = other is not None
        every = [Categories.of(each, step, other=collected, noun="keys") for each in lists]
        if isinstance(other, tuple):
            raise ParameterError(f"{step}: other is a name such as 'elsewhere', got a list")
        if collected and any(other in each.values for each in every):
            raise ParameterError(f"{step}: other={other!r} is one of the keys; use another name")
        named = [each.values if other is None else (*each.values, other) for each in every]
        count = prod(each.places for each in every)
        if count > _MOST:
            raise ParameterError(f"{step}: {count} groups are more than 2^24")
        return cls(columns, tuple(product(*named)), _groups(columns, every, step))

    @classmethod
    def _of_rows(cls, columns: tuple[str, ...], rows: Sequence[Any], step: str) -> Keys:
        """The combinations that are listed, and no others."""
        for place, row in enumerate(rows, 1):
            if len(row) != len(columns):
                raise ParameterError(
                    f"{step}: a tuple has a key for each of {len(columns)} columns; number {place} "
                    f"of the list has {len(row)}. {_FORMS}"
                )
        typed = [tuple(map(plain_value, each)) for each in zip(*rows, strict=True)]
        every = [Categories.of(each, step, noun="keys", repeated=True) for each in typed]
        if prod(each.places for each in every) > _MOST_CODES:
            raise ParameterError(
                f"{step}: these keys have more than 2^53 combinations, with and without a group; "
                "declare fewer"
            )
        places = [
            each.codes(np.fromiter(column, object, len(rows)))
            for each, column in zip(every, typed, strict=True)
        ]
        groups = _groups(columns, every, step)
        codes = groups.of(np.column_stack(places)).astype(np.int64).tolist()
        chosen = Categories.of(codes, step, noun="groups")
        return cls(columns, tuple(zip(*typed, strict=True)), attrs.evolve(groups, chosen=chosen))

    @property
    def title(self) -> str:
        """The columns in words."""
        return ", ".join(self.columns)


def _groups(columns: Sequence[str], every: Sequence[Categories], step: str) -> Groups:
    """A group for each combination of the categories of some columns."""
    read = (Column(name, Codes(each)) for name, each in zip(columns, every, strict=True))
    return Groups(tuple(read), tuple(each.places for each in every), step)


def space_of_group(space: Space[Tables]) -> Space[Tables]:
    """The space of the rows of one group, whose number is private.

    A unit that replaces a row adds one row and removes one, in one group or in two.
    """
    unit = cast(Fraction, space.unit) * _changes(space)
    domain = attrs.evolve(space.domain, size=None)
    return Space(domain, SymmetricDistance(), unit=unit)


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
    aggregate: Stage[Any, Any],
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
    space: Space[Tables], keys: Keys, aggregate: Stage[Any, Any]
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

    def moved(distance: Fraction) -> Norms:
        return one * distance

    return Transformation(
        space,
        Space(
            Vectors(domain.dimension * count, domain.exponent),
            NormDistance(),
            unit=moved(space.unit),
        ),
        Map(Own(partial(_side_by_side, domain)), before=Group(keys.groups, inner.function)),
        moved,
        trace=inner.trace,
    )


def _side_by_side(domain: Vectors | Scalars, values: Sequence[Grid]) -> Grid:
    found = [domain.received(value) for value in values]
    return Grid(np.concatenate([value.steps for value in found]), found[0].exponent)


def _move(
    space: Space[Tables], inner: Transformation[Any, Any], aggregate: Stage[Any, Any], groups: int
) -> Norms:
    """How far one row of distance moves the vector of all groups."""
    added = cast(Norms, inner.stability_map(Fraction(1)))
    if not row_metric(space).fixed_size:
        return added
    replaced = _replace(inner, aggregate.calls, space_of_group(space))
    if replaced is None:
        return added * 2
    return (added if groups == 1 else added.beside(added)).or_else(replaced)


def _replace(
    inner: Transformation[Any, Any], calls: Sequence[Call], space: Space[Tables]
) -> Norms | None:
    """How far a row that is replaced within its group moves a sum or a count of rows.

    None where the aggregate is not known to take the rows one by one.
    """
    *before, last = calls
    if last.is_of(count):
        moved = cast(Norms, inner.stability_map(Fraction(1)))
        return moved if _row_by_row(before, space) else None
    if not last.is_of(sum) or not before or not _row_by_row(before, space):
        return None
    body = cast(Rows, bound_to(before, space).output_space.domain).body
    return body.diameters()


def _row_by_row(calls: Sequence[Call], space: Space[Tables]) -> bool:
    return not calls or bound_to(calls, space).function.row_by_row


def bound_to(calls: Sequence[Call], space: Space[Any]) -> Transformation[Any, Any]:
    """Some steps of a pipeline on a space."""
    steps: Stage[Any, Any] = Stage(tuple(calls))
    return steps.bind(space)


# Groups, and pieces of rows, of which all ways to part them are looked at.
_MOST_SPLIT: Final = 16
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
    inner = bound_to(before, space_of_group(space))
    vector = attrs.evolve(group_rows(space, keys, Stage(tuple(before))), trace=inner.trace)
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
    measure = inner.output_measure
    loss = _Loss(measure, inner.privacy_map, keys.groups.count)
    changes = 2 if row_metric(space).fixed_size else 1

    def privacy_map(distance: Fraction) -> object:
        return loss.of(ceil(distance * changes))

    return Measurement(
        space,
        measure,
        Release(Group(keys.groups, inner.function.of), _OfEachGroup(inner.function, keys)),
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
class _OfEachGroup:
    """The releases of all groups, side by side; each pass that they ask for is one for all."""

    release: Release
    keys: Keys
    asks: ClassVar[bool] = True

    def __call__(self, values: Sequence[Any], entropy: Entropy) -> Going:
        found = yield from together([self.release.begin(value, entropy) for value in values])
        return ByGroup(self.keys.title, dict(zip(self.keys.values, found, strict=True)))


@attrs.frozen(eq=False)
class _Loss:
    """The loss of independent releases of groups, by how many rows come or go in all of them."""

    measure: Measure[Any]
    privacy_map: PrivacyMap
    groups: int

    def of(self, changes: int) -> Any:
        """The largest over all ways to part the rows among the groups, or a bound on it.

        Up to 16 rows it is the largest. Of more, the rows of each of the 16 groups that change most
        are rounded up to whole pieces. The group that changes n-th most has at most 1/n of them.
        """
        groups = min(self.groups, changes)
        few = min(groups, _MOST_SPLIT)
        width = max(1, -(-changes // _MOST_SPLIT))
        # Rounding adds at most width - 1 rows to each group.
        pieces = range(1, (changes + few * (width - 1)) // width + 1)
        alone = cache(self._alone)

        def of_group(rank: int) -> list[Any]:
            most = [min(piece * width, changes // rank) for piece in pieces]
            return [self.measure.zero(), *map(alone, most)]

        worst = of_group(1)
        for here in map(of_group, range(2, few + 1)):
            worst = [worst[0], *(self._parted(here, worst, piece) for piece in pieces)]
        if width == 1:
            return worst[-1]
        # n is rounded down to a power of two, which leaves few losses to compute: one with a delta
        # may take 50 ms.
        ranks = range(few + 1, groups + 1)
        others = [alone(changes >> (rank.bit_length() - 1)) for rank in ranks]
        by_groups = self.measure.compose([worst[-1], *others])
        by_rows = self.measure.group(self.of(1), changes)
        # Of two pairs neither may be within the other. By groups then has the smaller delta, and an
        # epsilon that is near the truth unless there are many groups.
        within = self.measure.within
        if within(by_groups, by_rows) or not (others or within(by_rows, by_groups)):
            return by_groups
        return by_rows if self._promises(by_rows) else by_groups

    def _promises(self, loss: Any) -> bool:
        """Whether not every release has this loss, as at a delta of 1."""
        try:
            self.measure.require_promise(loss)
        except ParameterError:
            return False
        return True

    def _alone(self, rows: int) -> Any:
        """The loss if so many rows come or go in one group."""
        return self.privacy_map(Fraction(rows))

    def _parted(self, alone: Sequence[Any], others: Sequence[Any], rows: int) -> Any:
        """The worst of giving some rows to one more group and the rest to the groups before."""
        ways = [self.measure.compose([alone[here], others[rows - here]]) for here in range(1, rows)]
        return self.measure.worst([alone[rows], others[rows], *ways])
