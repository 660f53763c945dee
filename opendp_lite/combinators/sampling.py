"""The loss of a release of a secret sample."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Final, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Values, broadcast
from opendp_lite.bodies.box import Box, Everything
from opendp_lite.combinators.accounts import AnySpace, require_mechanism
from opendp_lite.combinators.losses_of_samples import Sampling, amplify
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.open_data import open_source
from opendp_lite.engines.data.source import Keys, require_here
from opendp_lite.engines.missing import LEAVE_OUT
from opendp_lite.engines.plan import Fold, Release
from opendp_lite.engines.rows import CollectRows, LazyRows
from opendp_lite.engines.sampling.rules import KeyedCoins, row_sample
from opendp_lite.measurements.noise import gaussian, laplace
from opendp_lite.metrics import ChangeOneDistance, RowMetric, SymmetricDistance, SymmetricIdDistance
from opendp_lite.numbers.exact import Number, exact, format_number, whole
from opendp_lite.pipeline.core import AnyMeasurement, Facts, M, Measurement, R
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.samplers.choice import coins
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import PersonTables
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations import bound_contributions, clamp, count, sum
from opendp_lite.transformations.row_maps import plain_nan

S = TypeVar("S", bound=AnySpace)


@mechanism(
    does="Releases a pipeline of a secret random sample of the rows, for a smaller loss.",
    changes=(
        "Each release reads a secret random sample of the rows. An interval is for the sample, "
        "and leaves out how far the sample may lie from all rows."
    ),
    proof=Proof(
        "With the row a release has the law (1 - rate) Q + rate P, without it Q. The positive "
        "part of their difference at 1 + rate (e^epsilon - 1) is at most rate delta, both "
        "ways round. A sample of a fixed size with the replaced row is one without it in which "
        "one row is replaced.",
        adding=(
            "epsilon' = log(1 + rate (e^epsilon - 1)), delta' = rate delta; for k rows that of a "
            "group, or with the loss for k rows and 1 - (1 - rate)^k as the rate. rho and mu stay"
        ),
        replacing=(
            "the same with the share of a fixed number m of n rows as the rate, for k rows with "
            "the probability that one of them is in the sample"
        ),
        sources=["Balle, Barthe, Gaboardi 2018, theorems 2, 8 and 9"],
    ),
    examples=lambda: [
        example(records(), 0.1, clamp(0, 3) >> sum() >> laplace(epsilon=1)),
        example(records(columns=2), 0.5, count() >> gaussian(epsilon=1, delta=1e-6)),
        example(
            records(columns=["id", "visits"], person="id"),
            0.25,
            bound_contributions(2) >> count() >> laplace(epsilon=1),
        ),
        example(sized_rows(size=8), 0.25, clamp(0, 3) >> sum() >> laplace(epsilon=1)),
    ],
)
def sample(space: S, rate: Number, pipeline: Mechanism[S, M, R]) -> Measurement[S, M, R]:
    """Releases a pipeline of a secret random sample of the rows, for a smaller loss.

    Each row is in the sample with probability ``rate``, independently of the others. Where the
    number of rows is public, so is that of the sample: ``rate`` times as many, rounded up. Every
    release draws a new sample, and the whole pipeline reads that one. Keep it secret who is in it.

    The pipeline stands inside of the step, because only a release has a smaller loss. A sample
    alone brings two datasets no nearer to each other.

    Args:
        rate: The probability to be in the sample, above 0 and at most 1.
        pipeline: A pipeline that ends in noise, such as ``dp.mean(0, 100, epsilon=1)``. It is bound
            to no space of its own.

    Returns:
        What the pipeline releases of the sample. A count or a sum is that of the sample: divide it
        by the rate. An interval is for the sample, and leaves out how far the sample may lie from
        all rows. If a neighbour has one person more or less, people are sampled with all of their
        rows. Rows on dask or Spark are sampled there, and the sample comes here.

    Raises:
        ParameterError: If ``rate`` is not above 0 and at most 1, or the pipeline does not end in
            noise.
        SpaceError: If neighbours do not differ by rows or people.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)
        >>> a_tenth = dp.sample(0.1, total)
        >>> round(a_tenth.map(1), 4)
        0.1586
        >>> bool(35_000 < a_tenth([42.0] * 10_000)[0] < 49_000)
        True
    """
    share = exact(rate, "sample: rate")
    if not 0 < share <= 1:
        raise ParameterError(
            f"sample: rate is the probability to be in the sample, above 0 and at most 1; got "
            f"{format_number(share)}"
        )
    require_mechanism(pipeline, "sample", "the sample")
    _require_rows(space)
    domain, within, sampling = space.domain, space, Sampling(share)
    if isinstance(domain, Rows) and domain.size is not None:
        sampling = Sampling(Fraction(ceil(share * domain.size), domain.size), domain.size)
        within = attrs.evolve(space, domain=attrs.evolve(domain, size=sampling.size))
    inner = pipeline.bind(within)
    measure = inner.output_measure
    # By its very class: of another one a number may stand for another loss.
    if type(measure) not in amplify.registry:
        raise ParameterError(f"sample: no loss of a secret sample is known under {measure!r}")
    inner.privacy_map.require_zero("sample")
    person = domain.person if isinstance(domain, PersonTables) else None

    def release(rows: Any, entropy: Entropy) -> R:
        words = entropy.words
        if sampling.among is None:
            tossed: KeyedCoins = partial(coins, share)
        else:
            require_here(rows.library, "sample", _SIZED_ELSEWHERE)
            tossed = _Subset.draw(sampling, entropy)
        chosen = row_sample(rows, tossed, lambda places: words(len(places)), person)
        found: R = inner.function(chosen, entropy)
        return found

    def privacy_map(distance: Fraction) -> object:
        units = ceil(distance)
        if not units:
            return measure.zero()
        return amplify(measure, lambda each: inner.privacy_map(Fraction(each)), sampling, units)

    return Measurement(
        space,
        measure,
        release,
        privacy_map,
        Facts(explanation=_explanation(inner, sampling, person)),
        trace=inner.trace,
    )


_SIZED_ELSEWHERE: Final = "leave out size and metric, so that each row is chosen by itself"


@attrs.define(eq=False)
class _Subset:
    """Coins for the rows of one pass, of which a fixed number are heads: each set as likely."""

    chosen: NDArray[np.bool_]
    seen: int = 0

    @classmethod
    def draw(cls, sampling: Sampling, entropy: Entropy) -> _Subset:
        order = _shuffle(cast(int, sampling.among), entropy)
        return cls(np.isin(np.arange(len(order)), order[: sampling.size]))

    def __call__(self, count: int, keys: Keys) -> NDArray[np.bool_]:
        found = np.zeros(count, dtype=np.bool_)
        # Of too many rows none is chosen: the number of rows is checked once all were read.
        part = self.chosen[self.seen : self.seen + count]
        found[: len(part)] = part
        self.seen += count
        return found


def _require_rows(space: AnySpace) -> None:
    """Refuses a space of which no loss of a sample is known."""
    metric = space.metric
    known = SymmetricDistance(), ChangeOneDistance()
    if isinstance(metric, SymmetricIdDistance) or metric in known:
        return
    if not isinstance(metric, RowMetric):
        raise SpaceError(
            f"sample takes the rows of a dataset, got {space.domain.words()}. Put all steps inside:"
            " dp.sample(0.1, dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1))"
        )
    raise SpaceError(f"sample: no loss of a secret sample is known under {metric!r}")


def _explanation(inner: AnyMeasurement, sampling: Sampling, person: str | None) -> str:
    who = "row" if person is None else "person"
    chosen = f"each {who} is in a secret sample with probability {format_number(sampling.rate)}"
    if sampling.among is not None:
        chosen = f"a secret sample has {sampling.size} of the {sampling.among} rows"
    return f"{chosen}, and intervals are for the sample; of the pipeline: {inner.facts.explanation}"


_MOST_ROWS = 2**31
_INSTEAD: Final = (
    "use dp.variance or dp.covariance, which add rows up, plan_plus_mean in the place of "
    'plan_mean, or normal_variance(by="magnitude")'
)


@mechanism(
    does="Pairs the rows at random and hands half of each squared difference to a mechanism.",
    changes=(
        "Rows that make no full group are left out. So are rows with a missing value, where the "
        "number of rows is private."
    ),
    proof=Proof(
        "For each pairing, a replaced row changes one group. Pairings of n and n + 1 rows can "
        "be matched so that one group is replaced or added. A mixture loses at most what its "
        "worst part loses.",
        adding="what 2 k rows cost",
        replacing="what k rows cost",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, appendix D, algorithm 2"],
    ),
    examples=lambda: [
        example(records(), clamp(0, 9) >> sum() >> laplace(epsilon=1), group=3),
        example(sized_rows(2), clamp(0, 9) >> sum() >> gaussian(rho=1)),
    ],
)
def on_random_pairs(
    space: Space[Rows], mechanism: Mechanism[Space[Rows], M], group: int = 1
) -> Measurement[Space[Rows], M]:
    """Pairs the rows at random and hands half of each squared difference to a mechanism.

    Args:
        mechanism: A pipeline over rows of the same columns that ends in noise.
        group: The mean of so many pairs becomes one row. Rows that make no full group are left
            out. So are rows with a missing value, where the number of rows is private.

    Returns:
        The mechanism's release on rows (x - y)^2 / 2. Their mean in each column is the variance.

    Raises:
        SpaceError: If the declared size makes no group.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> median = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=1)
        >>> pairs = dp.combinators.on_random_pairs(median)
        >>> release = pairs(np.random.default_rng(0).normal(5, 3, 10_000))
        >>> 3.7 < float(release) < 4.5
        True
    """
    require_mechanism(mechanism, "on_random_pairs", "the pairs")
    rows = 2 * whole(group, "group", least=1)
    if rows > _MOST_ROWS:
        raise ParameterError(f"on_random_pairs: a group has at most {_MOST_ROWS // 2} pairs")
    inner = mechanism.bind(_of_groups(space, rows))
    gather = CollectRows(space.domain.columns, _INSTEAD)
    sized = row_metric(space).fixed_size
    factor, treatment = (1, space.domain.body.filling()) if sized else (2, LEAVE_OUT)

    def release(columns: Floats, entropy: Entropy) -> object:
        order = _shuffle(columns.shape[1], entropy)
        order = order[: len(order) - len(order) % rows]
        gaps = columns[:, order[::2]] - columns[:, order[1::2]]
        halves = (gaps * gaps / 2).reshape(len(columns), -1, rows // 2)
        return inner.function(LazyRows(open_source(plain_nan(halves.mean(axis=2).T))), entropy)

    def privacy_map(distance: Fraction) -> object:
        return inner.privacy_map(distance * factor)

    return Measurement(
        space,
        inner.output_measure,
        Release(Fold(gather, gather.finish, treatment), release),
        privacy_map,
        Facts(explanation=f"{inner.facts.explanation}; one row moves {factor} of the groups' rows"),
    )


def _of_groups(space: Space[Rows], rows: int) -> Space[Rows]:
    """The space of groups of so many rows."""
    domain, metric = space.domain, row_metric(space)
    ends = domain.body.bounds()
    body = Everything(domain.columns) if ends is None else _halves(*ends, domain.columns)
    size = None if domain.size is None else domain.size // rows
    if size == 0:
        raise SpaceError(f"on_random_pairs: {domain.size} rows make no group of {rows}")
    factor = 1 if metric.fixed_size else 2
    return attrs.evolve(
        space, domain=attrs.evolve(domain, size=size, body=body), unit=space.unit * factor
    )


def _halves(lower: Values, upper: Values, columns: int) -> Box:
    """Where half of the squared difference of two rows between bounds lies."""
    kept = max(len(lower), len(upper))
    pairs = zip(broadcast(lower, kept), broadcast(upper, kept), strict=True)
    return Box(0, [(high - low) ** 2 / 2 for low, high in pairs], columns)


def _shuffle(count: int, entropy: Entropy) -> NDArray[np.intp]:
    """A random order, each as likely: that of random words, drawn again where two are equal."""
    while True:
        words = entropy.words(count)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():
            return order
