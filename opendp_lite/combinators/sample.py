"""A mechanism on a secret random sample of the rows."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, TypeVar

from opendp_lite.combinators._require_mechanism import require_mechanism
from opendp_lite.core import Facts, M, Measurement, R
from opendp_lite.engines.row_sample import row_sample
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, format_number
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measures.amplified import amplified
from opendp_lite.metrics import RowMetric, SymmetricDistance, SymmetricIdDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.coins import coins
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, records
from opendp_lite.tables import PersonTables
from opendp_lite.transformations.bound_contributions import bound_contributions
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

S = TypeVar("S", bound=Space[Any])


@example(records(), 0.1, clamp(0, 3) >> sum() >> laplace(epsilon=1))
@example(records(columns=2), 0.5, count() >> gaussian(epsilon=1, delta=1e-6))
@example(
    records(columns=["id", "visits"], person="id"),
    0.25,
    bound_contributions(2) >> count() >> laplace(epsilon=1),
)
@mechanism
def sample(space: S, rate: Number, pipeline: Mechanism[S, M, R]) -> Measurement[S, M, R]:
    """Releases a pipeline of a secret random sample of the rows, for a smaller loss.

    Each row is in the sample with probability ``rate``, independently of the others. Every release
    draws a new sample, and the whole pipeline reads that one sample. Keep it secret who is in it.

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
        ParameterError: If ``rate`` is not above 0 and at most 1, the pipeline does not end in
            noise, or its loss is neither pure nor (epsilon, delta).
        SpaceError: If the number of rows is public.

    Privacy:
        Pure: epsilon' = log(1 + rate (e^epsilon - 1)). Approximate: the same epsilon', and delta' =
        rate delta. The curve of the pipeline goes along: delta' at epsilon' is rate times its
        delta at epsilon, at every epsilon. For several rows it is the smaller of two bounds. One is
        the same formula, with the loss for that many rows and the probability that any of them is
        in the sample. The other is the loss of a group.

    Proof:
        Balle, Barthe, Gaboardi 2018, theorem 8. With the row, a release has the law (1 - rate) Q +
        rate P of the law Q without it, where P and Q are releases of samples that differ in that
        row. For a = e^epsilon and a' = 1 + rate (a - 1), (1 - rate) Q + rate P - a' Q is rate (P -
        a Q), so its positive part is at most rate delta. The other way round, Q - a' ((1 - rate) Q
        + rate P) is rate (c Q - a' P) with c = 1 - (1 - rate) (a - 1). There c <= 1 and c a <= a',
        so the positive part is at most rate delta again. For several rows: theorem 2 there.

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
    _require_added_rows(space)
    inner = pipeline.bind(space)
    measure, domain = inner.output_measure, space.domain
    amplified(measure, lambda _: measure.zero(), share, 1)
    person = domain.person if isinstance(domain, PersonTables) else None

    def release(rows: Any, entropy: Entropy) -> R:
        words = entropy.words
        chosen = row_sample(rows, partial(coins, share), lambda places: words(len(places)), person)
        return inner.function(chosen, entropy)

    def privacy_map(distance: Fraction) -> Any:
        units = ceil(distance)
        if not units:
            return measure.zero()
        return amplified(measure, lambda each: inner.privacy_map(Fraction(each)), share, units)

    return Measurement(
        space,
        measure,
        release,
        privacy_map,
        Facts(explanation=_explanation(inner, share, person)),
        trace=inner.trace,
    )


def _require_added_rows(space: Space[Any]) -> None:
    """Refuses a space where neighbours do not differ by rows or people that come or go."""
    metric = space.metric
    if isinstance(metric, SymmetricIdDistance) or metric == SymmetricDistance():
        return
    if not isinstance(metric, RowMetric):
        raise SpaceError(
            f"sample takes the rows of a dataset, got {space.domain.words()}. Put all steps inside:"
            " dp.sample(0.1, dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1))"
        )
    if metric.fixed_size:
        raise SpaceError(
            "sample: the number of rows is public here, and that of the sample is secret. Leave "
            "out size and metric, so that a neighbour has one row more or less: dp.records(). Put "
            "dp.resize inside of dp.sample"
        )
    raise SpaceError(f"sample: no loss of a secret sample is known under {metric!r}")


def _explanation(inner: Measurement[Any, Any, Any], rate: Fraction, person: str | None) -> str:
    who = "row" if person is None else "person"
    return (
        f"each {who} is in a secret sample with probability {format_number(rate)}, and intervals "
        f"are for the sample; of the pipeline: {inner.facts.explanation}"
    )
