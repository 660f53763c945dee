"""A mechanism on the half squared differences of random pairs of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.bounds import Values, broadcast
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Facts, M, Measurement
from opendp_lite.domains import Rows
from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.deferred import Released
from opendp_lite.engines.door import opened
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.missing import LEAVE_OUT, fold_present
from opendp_lite.engines.rows import LazyRows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import described, whole
from opendp_lite.examples import example
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.transformations.row_map import plain_nan

_MOST_ROWS = 2**31
_INSTEAD: Final = (
    "use dp.variance or dp.covariance, which add rows up, plan_plus_mean in the place of "
    'plan_mean, or normal_variance(by="magnitude")'
)


@example(records(), private_quantile(0.5, bounds=(0, 9), epsilon=1), group=3)
@example(
    records(columns=2, size=20, metric=ChangeOneDistance()),
    private_quantile(0.5, bounds=(0, 9), rho=1),
)
@mechanism
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

    Privacy:
        For one row replaced, the loss of the mechanism. For one row added or removed, its loss
        for two.

    Proof:
        For each way to pair the rows, replacing a row replaces one group. Ways to pair n and n + 1
        rows can be matched, each as likely, so that one group is replaced or one is added: of two
        groups at most one is in one pairing and not in the other. A mixture over pairings loses no
        more than its worst part (joint quasi-convexity of the divergences). Aumueller, Lebeda,
        Nelson, Pagh 2024, appendix D, algorithm 2.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> median = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=1)
        >>> pairs = dp.combinators.on_random_pairs(median)
        >>> release = pairs(np.random.default_rng(0).normal(5, 3, 10_000))
        >>> 3.7 < release < 4.5
        True
    """
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"on_random_pairs takes a pipeline that ends in noise, got {described(mechanism)}"
        )
    rows = 2 * whole(group, "group", least=1)
    if rows > _MOST_ROWS:
        raise ParameterError(f"on_random_pairs: a group has at most {_MOST_ROWS // 2} pairs")
    inner = mechanism.bind(_of_groups(space, rows))
    gather = CollectRows(space.domain.columns, _INSTEAD)
    sized = row_metric(space).fixed_size
    factor, treatment = (1, space.domain.body.filling()) if sized else (2, LEAVE_OUT)

    def release(columns: Floats, entropy: Entropy) -> Any:
        order = _shuffled(columns.shape[1], entropy)
        order = order[: len(order) - len(order) % rows]
        gaps = columns[:, order[::2]] - columns[:, order[1::2]]
        halves = (gaps * gaps / 2).reshape(len(columns), -1, rows // 2)
        return inner.function(LazyRows(opened(plain_nan(halves.mean(axis=2).T))), entropy)

    def privacy_map(distance: Fraction) -> Any:
        return inner.privacy_map(distance * factor)

    return Measurement(
        space,
        inner.output_measure,
        Released(fold_present(gather, treatment, gather.finish), release),
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
    return Space(attrs.evolve(domain, size=size, body=body), metric, unit=space.unit * factor)


def _halves(lower: Values, upper: Values, columns: int) -> Box:
    """Where half of the squared difference of two rows between bounds lies."""
    kept = max(len(lower), len(upper))
    pairs = zip(broadcast(lower, kept), broadcast(upper, kept), strict=True)
    return Box(0, [(high - low) ** 2 / 2 for low, high in pairs], columns)


def _shuffled(count: int, entropy: Entropy) -> NDArray[np.intp]:
    """A random order, each as likely: that of random words, drawn again where two are equal."""
    while True:
        words = entropy.words(count)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():
            return order
