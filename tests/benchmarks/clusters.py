"""Releases from dask and Spark on this machine, against their own clipped sums."""

import shutil
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from compare import Row, at_most, compare, power

import opendp_lite as dp

CHUNK = 500_000
ROUNDS = 5
LOWER, UPPER = -2.0, 2.0
SUM_TIMES, MEAN_TIMES, MEDIAN_TIMES, SPARK_TIMES = 1.2, 2.0, 10.0, 2.5
RESIZE_TIMES = 10.0
TOTAL = dp.clamp(LOWER, UPPER) >> dp.sum() >> dp.gaussian(scale=10)
MEAN = dp.mean(LOWER, UPPER, epsilon=1, confidence=None)
RESIZED = dp.clamp(LOWER, UPPER) >> dp.resize(1000) >> dp.sum() >> dp.gaussian(scale=10)
MEDIAN = dp.private_quantile(0.5, bounds=(-9, 9), epsilon=1, confidence=None)


def in_dask(data: Any) -> object:
    """The clipped sum without noise."""
    return data.clip(LOWER, UPPER).sum().compute()


def of_dask(size: int) -> Iterator[Row]:
    """A persisted array on two workers. Numbers are drawn anew in each run, so no key is known."""
    from dask import array
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        data = array.random.default_rng().normal(0.0, 2.0, size=size, chunks=CHUNK).persist()
        wait(data)
        for name, pipeline, most in (
            ("clamp >> sum >> gaussian", TOTAL, SUM_TIMES),
            ("dp.mean", MEAN, MEAN_TIMES),
            ("a median between bounds", MEDIAN, MEDIAN_TIMES),
            ("clamp >> resize(1000) >> sum >> gaussian", RESIZED, RESIZE_TIMES),
        ):
            ours = f"{name}, dask, {power(size)} rows", partial(pipeline, data)
            peer = "da.clip(x, L, U).sum()", partial(in_dask, data)
            yield compare(ours, peer, at_most(most), rounds=ROUNDS, size=size)


def in_spark(frame: Any) -> object:
    """The clipped sum without noise."""
    return frame.selectExpr(f"sum(greatest(least(x, {UPPER}), {LOWER}))").collect()


def of_spark(size: int) -> Iterator[Row]:
    """A cached frame, once everything is warm."""
    from pyspark.sql import SparkSession, functions

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.range(size).select(functions.randn().alias("x")).cache()
    frame.count()
    ours = f"clamp >> sum >> gaussian, Spark, {power(size)} rows", partial(TOTAL, frame)
    peer = "sum(greatest(least(x, U), L))", partial(in_spark, frame)
    yield compare(ours, peer, at_most(SPARK_TIMES), rounds=ROUNDS, size=size)
    session.stop()


def rows(options: Namespace) -> Iterator[Row]:
    """Those of what is installed."""
    if find_spec("distributed") is not None:
        yield from of_dask(options.rows)
    if find_spec("pyspark") is not None and shutil.which("java") is not None:
        yield from of_spark(options.rows)
