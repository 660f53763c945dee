"""A mechanism on the half squared differences of random pairs of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.rows import LazyRows, fold, settle
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import said, whole
from opendp_lite.measures.measure import Measure
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.row_map import plain_nan

M = TypeVar("M", bound=Measure[Any])
Floats = NDArray[np.float64]
_MOST_ROWS = 2**31


@mechanism
def on_random_pairs(
    space: Space[Rows], mechanism: Mechanism[Space[Rows], M], group: int = 1
) -> Measurement[Space[Rows], M]:
    """Pairs the rows at random and hands half of each squared difference to a mechanism.

    Takes: ``mechanism``, a pipeline over rows of the same columns; ``group``, of how many pairs
        the mean is taken. Rows that make no full group are left out. Raises ``SpaceError`` where
        the declared size makes no group.
    Gives: the mechanism's release on rows (x - y)^2 / 2, whose mean in each column is the
        variance.
    Costs: what the mechanism costs, for one row replaced; for one row added or removed, what it
        costs for two.
    Because: for each way to pair them, replacing a row replaces one group. Ways to pair n and n + 1
        rows can be matched, each as likely, so that one group is replaced, or one is added: of
        two groups at most one is in one pairing and not in the other. A mixture over pairings
        loses no more than its worst part (joint quasi-convexity of the divergences). Aumueller,
        Lebeda, Nelson, Pagh 2024, appendix D, algorithm 2.

    >>> import opendp_lite as dp, numpy as np
    >>> median = dp.private_quantile(0.5, bounds=(1e-6, 1e6), scale="log", rho=1)
    >>> release = dp.on_random_pairs(median)(np.random.default_rng(0).normal(5, 3, 10_000))
    >>> 3.7 < release < 4.5
    True
    """
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"on_random_pairs takes a pipeline that ends in noise, got {said(mechanism)}"
        )
    rows = 2 * whole(group, "group", least=1)
    if rows > _MOST_ROWS:
        raise ParameterError(f"on_random_pairs: a group has at most {_MOST_ROWS // 2} pairs")
    inner = mechanism.bind(_of_groups(space, rows))
    gather = CollectRows(space.domain.columns)
    factor = 1 if row_metric(space).fixed_size else 2

    def function(columns: Floats, entropy: Entropy) -> Any:
        order = _shuffled(columns.shape[1], entropy)
        order = order[: len(order) - len(order) % rows]
        gaps = columns[:, order[::2]] - columns[:, order[1::2]]
        halves = (gaps * gaps / 2).reshape(len(columns), -1, rows // 2)
        groups = LazyRows(plain_nan(halves.mean(axis=2).T))
        return inner.function(settle(inner.query(groups)), entropy)

    def privacy_map(distance: Fraction) -> Any:
        return inner.privacy_map(distance * factor)

    return Measurement(
        space,
        inner.output_measure,
        function,
        privacy_map,
        formula=f"{inner.formula}; one row moves {factor} of the groups' rows",
        query=lambda data: fold(data, gather, gather.finish),
    )


def _of_groups(space: Space[Rows], rows: int) -> Space[Rows]:
    """The space of groups of so many rows."""
    domain, metric = space.domain, row_metric(space)
    diameters = domain.body.diameters()
    widest = None if diameters is None else diameters.linf
    body = Box(0, widest * widest / 2, domain.columns) if widest else Everything(domain.columns)
    size = None if domain.size is None else domain.size // rows
    if size == 0:
        raise SpaceError(f"on_random_pairs: {domain.size} rows make no group of {rows}")
    factor = 1 if metric.fixed_size else 2
    return Space(attrs.evolve(domain, size=size, body=body), metric, unit=space.unit * factor)


def _shuffled(count: int, entropy: Entropy) -> NDArray[np.intp]:
    """A random order, each as likely: that of random words, drawn again where two are equal."""
    while True:
        words = entropy.words(count)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():
            return order
