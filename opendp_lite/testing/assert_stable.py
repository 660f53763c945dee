"""The stability falsifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.core import Stage, Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.rows import LazyRows, materialise, settle
from opendp_lite.errors import ParameterError
from opendp_lite.metrics import SymmetricDistance
from opendp_lite.spaces import Space, records
from opendp_lite.testing.datasets import Neighbours, containers, neighbours
from opendp_lite.testing.distances import change_one_distance, exact_norms, symmetric_distance
from opendp_lite.testing.require import require


def assert_stable(
    stage: Stage[Any, Any], space: Space[Rows] | None = None, trials: int = 96, seed: int = 0
) -> None:
    """Tries to show that a stage's stability map or output domain is wrong.

    Takes: a stage, or several joined; ``space`` before it, ``records()`` by default, which may
        hold a body: then the rows are drawn from it; ``trials`` pairs of neighbouring datasets:
        adversarial floats, none to a thousand rows, rows added, removed or replaced, other
        orders, and every container that is installed.
    Gives: nothing, or ``AssertionError`` that says which pair, what was claimed and what is true.
    Because: the stability map promises a bound for every pair of datasets, so one pair beyond it
        refutes it; distances between outputs are computed exactly.

    >>> import opendp_lite as dp
    >>> dp.assert_stable(dp.clamp(0, 1) >> dp.sum())
    >>> Tables = dp.Space[dp.Rows]
    >>> @dp.stage
    ... def demean(space: Tables) -> dp.Transformation[Tables, Tables]:
    ...     return dp.row_map(space, lambda block: block - block.mean(axis=0), space.domain.body)
    >>> dp.assert_stable(dp.clamp(0, 1) >> demean())
    Traceback (most recent call last):
    ...
    AssertionError: dp.clamp(0, 1) >> ...demean(): ...
    """
    if not isinstance(stage, Stage):
        raise ParameterError(
            "assert_stable tests a stage, called with its parameters and bound to no space; for a "
            "pipeline that ends in noise use audit"
        )
    bound = stage.bind(records() if space is None else space)
    for pair in neighbours(bound.input_space, seed, trials):
        _check(stage, bound, pair)


def _run(bound: Transformation[Any, Any], data: Any) -> Any:
    with np.errstate(all="ignore"):
        value = settle(bound.function(bound.input_space.domain.to_internal(data)))
        if isinstance(value, LazyRows):
            return materialise(value).reshape(-1, bound.output_space.domain.columns)
        return value


def _check(stage: Stage[Any, Any], bound: Transformation[Any, Any], pair: Neighbours) -> None:
    claimed = bound.stability_map(bound.input_space.metric.distance(pair.distance))
    first, second = _run(bound, pair.data), _run(bound, pair.other)
    where = f"{stage!r}: for {len(pair.data)} rows and a neighbour {pair.distance} away"
    domain = bound.output_space.domain
    if isinstance(domain, Rows):
        for rows in (first, second):
            require(rows.shape[1] == domain.columns, f"{where}: {rows.shape[1]} columns came out")
            require(domain.size in (None, len(rows)), f"{where}: {len(rows)} rows came out")
            inside = domain.body.contains(rows)
            require(inside.all(), f"{where}: a row came out that is not in {domain.body!r}")
        metric = bound.output_space.metric
        measure = (
            symmetric_distance if isinstance(metric, SymmetricDistance) else change_one_distance
        )
        true = measure(first, second)
        require(0 <= true <= claimed, f"{where}: claimed {claimed} rows apart, true {true}")
    else:
        exact = exact_norms(first, second, domain.exponent)
        require(exact.within(claimed), f"{where}: claimed ({claimed}) apart, true ({exact})")
    for name, container in containers(pair.data):
        again = _run(bound, container)
        same = np.array_equal(again, first, equal_nan=again.dtype != object)
        require(same, f"{where}: the same rows as {name} give another result")
