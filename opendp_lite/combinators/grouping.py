"""A sum or a count for each group of the rows, as one vector."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import ceil
from typing import Any, Final, TypeAlias, cast, overload

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.combinators.accounts import AnySpace, AnyStage, find_price, require_mechanism
from opendp_lite.combinators.adaptive_programs import Ask, TriedOnNames, make_adaptive
from opendp_lite.combinators.composing import SideBySide
from opendp_lite.combinators.group_keys import Keys, read_columns
from opendp_lite.combinators.losses_of_samples import LossOfGroups
from opendp_lite.engines.plan import Group, Map, Own, Release
from opendp_lite.measurements import gaussian, laplace, private_quantile, thresholded_counts
from opendp_lite.measurements.thresholds import threshold_of
from opendp_lite.measures import budgets
from opendp_lite.measures.curve import Pair
from opendp_lite.measures.divergences import ApproximateDivergence, Conversion
from opendp_lite.metrics.distances import SymmetricDistance
from opendp_lite.numbers.exact import Number, quote
from opendp_lite.numbers.grid import Grid, Grids
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline import core
from opendp_lite.pipeline.core import M, Measurement, R, Transformation
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.step_call import Call, type_step
from opendp_lite.pipeline.steps import Mechanism, Recipe, Stage, mechanism, stage
from opendp_lite.releases import ByGroup, Estimate
from opendp_lite.spaces.domains import Rows, Scalars, Vectors
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import Tables
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations import clamp, count, select, sum
from opendp_lite.transformations.row_maps import fold_to_vector


def space_of_group(space: Space[Tables]) -> Space[Tables]:
    """The space of the rows of one group, whose number is private.

    A unit that replaces a row adds one row and removes one, in one group or in two.
    """
    unit = cast(Fraction, space.unit) * _changes(space)
    domain = attrs.evolve(space.domain, size=None)
    return Space(domain, SymmetricDistance(), unit=unit, divided=unit > 1, kept=space.kept)


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
        replacing="k times: l1 = 2 r, l2 = sqrt(max(2 r^2, D^2)), linf = max(r, D)",
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
    keys: Sequence[object],
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
            f"group_by: {brief(aggregate)} gives {domain.words()}; end it in sum() or count()"
        )
    count = keys.groups.count
    one = _move(space, inner, aggregate, keys.most)
    vectors = Vectors(domain.dimension * count, domain.exponent)
    each = Map(Own(partial(_side_by_side, domain)), before=Group(keys.groups, inner.function))
    return attrs.evolve(fold_to_vector(space, vectors, one, each), trace=inner.trace)


def _side_by_side(domain: Vectors | Scalars, values: Sequence[Grid]) -> Grid:
    if isinstance(values, Grids):
        domain.receive(values[0])
        return values.join()
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
_SMALL: Final = private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)


@overload
def by(
    column: str | Sequence[str],
    keys: Sequence[object],
    pipeline: Mechanism[Any, M, R],
    *,
    other: Hashable = None,
) -> Mechanism[Space[Tables], M, ByGroup[R]]: ...
@overload
def by(
    column: str | Sequence[str],
    pipeline: Mechanism[Any, Any, R],
    /,
    *,
    budget: budgets.PrivacyBudget[ApproximateDivergence] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Mechanism[Space[Tables], ApproximateDivergence, ByGroup[R]]: ...
@mechanism(
    does="Releases a pipeline for each group of the rows.",
    changes=(
        "A row whose key is not declared is in no group. Without declared keys, those with few "
        "rows have none."
    ),
    proof=Proof(
        "Parallel composition: a row is in one group, and the releases are independent. So they "
        "are one release that loses to a row what a group's does, and k rows are k units of it. "
        "Or the worst way to part the rows, or shares of a loss for rows and for groups. "
        "Keys that are not declared: `thresholded_counts`, and then all groups, in an adaptive "
        "program.",
        adding="the loss of one group for one row; the worst way to part k rows, or a bound on it",
        replacing="that of k rows removed and k added, or of the vector of `group_by`",
        sources=["McSherry 2009, theorem 4"],
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "sex", [0, 1], select("age") >> _SMALL),
        example(
            sized_rows(["sex", "age"]),
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
        example(
            records(columns=["sex", "age"]), "sex", select("age") >> _SMALL, epsilon=2, delta=1e-6
        ),
    ],
)
def by(
    space: Space[Tables],
    column: str | Sequence[str],
    keys: Any = None,
    pipeline: Mechanism[Any, Any, Any] | None = None,
    *,
    other: Hashable = None,
    budget: budgets.AnyBudget | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measurement[Space[Tables], Any, ByGroup[Any]]:
    """Releases a pipeline for each group of the rows.

    Under add/remove it costs the loss of one group. If a unit moves several rows, or where rows are
    replaced, it may cost more than you typed: read ``map(1)``.

    Without keys, ``epsilon`` and ``delta`` are for all. What the pipeline does not cost finds the
    keys that the data hold, if they are not too rare: see ``thresholded_counts``.

    Args:
        column: The column that holds the keys, or a list of several.
        keys: The keys to report, chosen without looking at the data; None stands for missing cells.
            For several columns a list for each: there is then one group for each combination. Or a
            tuple for each group, such as ``[("f", "Rome"), ("m", "Oslo")]``: there are no others.
            Leave it out if you do not know them.
        pipeline: A pipeline that ends in noise, such as ``dp.select("income") >>
            dp.mean(0, 150_000, epsilon=1)``. It is bound to no space of its own.
        other: A name for a further group, of all rows whose key is not declared. For lists of keys.
        budget: ``dp.epsilon(1, delta=1e-6)``: the same as ``epsilon=1, delta=1e-6``.
        epsilon: Without keys: the loss of all, more than that of the pipeline.
        delta: With ``epsilon``.

    Returns:
        A ``ByGroup``: the releases by key. Each declared key has one, also where no row has it. A
        row whose key is not declared is in no group.

    Raises:
        ParameterError: If a key is declared twice, the pipeline does not end in noise, or it leaves
            nothing of the budget to find keys.
        SpaceError: If the table has no such column.

    Example:
        >>> import opendp_lite as dp
        >>> ages = dp.select("age") >> dp.mean(0, 100, epsilon=1)
        >>> survey = {"sex": ["f", "m"] * 2000, "age": [41, 38] * 2000}
        >>> found = dp.by("sex", ["f", "m"], ages)(survey)
        >>> round(float(found["f"])), round(float(found["m"]))
        (41, 38)
        >>> unknown = dp.by("sex", ages, epsilon=1.5, delta=1e-6)
        >>> unknown.map(1)
        (1.5, 1e-06)
        >>> list(unknown(survey))
        ['f', 'm']
    """
    if isinstance(keys, Recipe):
        if pipeline is not None:
            raise ParameterError(
                "by: the keys stand before the pipeline: dp.by('sex', ['f', 'm'], pipeline)"
            )
        keys, pipeline = None, cast(Mechanism[Any, Any, Any], keys)
    require_mechanism(pipeline, "by", "the rows of each group")
    inner = cast(Mechanism[Any, Any, Any], pipeline)
    if keys is None:
        if other is not None:
            raise ParameterError("by: other= goes with keys; without keys rare ones have no group")
        return _by_unknown(space, column, inner, epsilon, delta)
    if epsilon is not None or delta is not None:
        raise ParameterError(
            "by: with keys the pipeline says what all costs; leave out epsilon= and delta=, or "
            "leave out the keys to find them"
        )
    return _by_keys(space, Keys.of(space, column, keys, other, "by"), inner)


def _by_keys(
    space: Space[Tables], keys: Keys, pipeline: Mechanism[Any, M, R]
) -> Measurement[Space[Tables], M, ByGroup[R]]:
    """A release for each group, once the keys are known."""
    values = space.domain.mark_periods(keys.columns, keys.values)
    keys = attrs.evolve(keys, values=values, apart=space.unit <= 1)
    return _of_vector(space, keys, pipeline) or _one_by_one(space, keys, pipeline)


def by_found(
    columns: Sequence[str], found: Sequence[Hashable], most: int, pipeline: Mechanism[Any, M, R]
) -> Mechanism[Any, M, ByGroup[R]]:
    """As ``by``, for keys of ``thresholded_counts``. Its loss is that of so many groups at most.

    So it does not depend on how many keys were found.
    """
    return cast(
        Mechanism[Any, M, ByGroup[R]],
        type_step(Mechanism, _by_found, (columns, found, most, pipeline), {}),
    )


def _by_found(
    space: Space[Tables],
    columns: Sequence[str],
    found: Sequence[Hashable],
    most: int,
    pipeline: Mechanism[Any, M, R],
) -> Measurement[Space[Tables], M, ByGroup[R]]:
    return _by_keys(space, Keys.of_found(tuple(columns), found, most, "by"), pipeline)


def _by_unknown(
    space: Space[Tables],
    column: str | Sequence[str],
    pipeline: Mechanism[Any, Any, R],
    epsilon: Number | None,
    delta: Number | None,
) -> Measurement[Space[Tables], ApproximateDivergence, ByGroup[R]]:
    """A program that finds the keys and then releases the pipeline for each."""
    if epsilon is None or delta is None:
        raise ParameterError(
            "by: without keys give epsilon= and delta= for all, such as epsilon=1, delta=1e-6; or "
            "declare the keys, as in dp.by('sex', ['f', 'm'], ...)"
        )
    columns = read_columns(space, column, "by")
    whole = budgets.epsilon(epsilon, delta)
    measure, budget = whole.measure, cast(Pair, whole.loss)
    # A unit moves rows of at most so many groups; of fewer it loses no more.
    most = ceil(cast(Fraction, space.unit) * _changes(space))
    # Two at least: in one number all norms are one, so that noise on it may cost less.
    some = [(key, *[0] * (len(columns) - 1)) for key in range(max(2, most))]
    nobody = [key if len(columns) > 1 else key[0] for key in some]
    inner = pipeline.bind(space_of_group(space))
    try:
        find_price(inner, measure)
    except SpaceError:
        loss = inner.output_measure.words(inner.privacy_map(inner.input_space.unit))
        raise ParameterError(
            f"by: epsilon= and delta= are for all, and the pipeline loses {loss}. Write epsilon= "
            "in it, or >> dp.to_approximate(1e-7) after it"
        ) from None
    trial = by_found(columns, nobody, most, pipeline).bind(space)
    price = cast(Pair, find_price(trial, measure))
    left = measure.left(budget, price)
    if not all(left):
        raise ParameterError(
            f"by: {measure.words(budget)} is for all, and the pipeline costs "
            f"{measure.words(price)}, so that nothing is left to find the keys. Ask for less in "
            "the pipeline, or give by more than it"
        )
    searched = select(*columns) >> thresholded_counts(epsilon=left[0], delta=left[1])
    cost = cast(Pair, find_price(searched.bind(space), measure))
    if not measure.within(measure.compose([price, cost]), budget):
        raise SpaceError("by: keys that are not declared cannot be found here; declare them")
    least = threshold_of(select(*columns).bind(space).output_space, "by", *left).least

    def program(ask: Ask[ApproximateDivergence]) -> ByGroup[R]:
        keys = list(ask(searched))
        # Where none was found, a group of nobody: what a pipeline refuses does not depend on it.
        made = ask(by_found(columns, keys or nobody[:1], most, pipeline))
        return ByGroup(made.column, made.releases if keys else {}, least)

    says = (
        f"{measure.words(left)} finds the keys, those with a noisy count of {least} or more; the "
        f"pipeline for all of them loses {measure.words(price)}"
    )
    made = make_adaptive(space, program, measure, budget, says)
    tried = TriedOnNames(columns, inner.function.of, "by").before(made)
    return attrs.evolve(tried, trace=inner.trace)


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
        if not isinstance(release, np.ndarray):
            alone = isinstance(release, Estimate)
            return keys.label([release] if alone else release.split(count, domain.names))
        if isinstance(domain, Scalars):
            return keys.label(list(map(int if whole else float, release)))
        return keys.label(list(release.reshape(count, domain.dimension)))

    parts = core.follow(made, part)
    parts = attrs.evolve(parts, facts=attrs.evolve(parts.facts, errors=made.facts.errors))
    for link in map(_on_each, pipeline.after):
        parts = core.follow(parts, link)
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
    group, after = space_of_group(space), pipeline.after
    # A conversion of the loss of each group says less than one of the loss of all.
    last = next((at for at, link in enumerate(after) if isinstance(link, Conversion)), len(after))
    inner = attrs.evolve(pipeline, after=after[:last]).bind(group)
    measure = inner.output_measure
    releases = (inner.function,) * keys.groups.count
    inner.privacy_map.require_zero("by")
    loss = LossOfGroups(measure, inner.privacy_map, keys.most)
    changes = _changes(space)

    def privacy_map(distance: Fraction) -> object:
        return loss.of(ceil(distance * changes))

    found: Measurement[Space[Tables], M, ByGroup[R]] = Measurement(
        space,
        measure,
        Release(Group(keys.groups, inner.function.of), SideBySide(releases, keys.label)),
        privacy_map,
        core.Facts(
            explanation=_explanation(inner, changes),
            errors=tuple(
                attrs.evolve(part, entries=part.entries * keys.groups.count)
                for part in inner.facts.errors
            ),
        ),
    )
    found = reduce(core.follow, map(_on_each, after[last:]), found)
    return attrs.evolve(found, trace=pipeline.bind(group).trace)


def _explanation(inner: core.AnyMeasurement, changes: int) -> str:
    moved = "a replaced row may leave one group and enter another"
    if changes == 1:
        moved = "a row is in one group"
    return f"{moved}; in each group {inner.facts.explanation}"
