"""Times of releases against those of numpy, pandas, OpenDP and diffprivlib, side by side."""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from math import sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import peers
from compare import Row, Work, at_most, compare, faster, power, within

import opendp_lite as dp
from opendp_lite.engines.data.sparse import cell_bits, floats_beyond

MILLION, TEN_MILLION = 1_000_000, 10_000_000
NOISES: dict[str, Any] = {"gaussian": dp.gaussian, "laplace": dp.laplace}
TIMES_FASTER = {"gaussian": (1000, 1000), "laplace": (500, 200)}
TIMES_SLOWER = {"gaussian": 1.3, "laplace": 0.9}


def clip_and_sum(data: np.ndarray, lower: float, upper: float) -> object:
    """The sum without noise."""
    return np.clip(data, lower, upper).sum()


def noise(options: Namespace) -> Iterator[Row]:
    """Noise on a long vector: two rows against OpenDP and one against numpy, for each noise."""
    count, few = 100_000, options.opendp_entries
    generator = np.random.default_rng()
    floats = generator.normal(0.0, 100.0, count)
    entries = {float: floats, int: generator.integers(-100, 100, count)}
    metrics = {"gaussian": None, "laplace": dp.metrics.L1Distance()}
    theirs = {"gaussian": generator.normal, "laplace": generator.laplace}
    note = (
        f"noise: both times are for one entry; OpenDP's vectors had {few} entries, "
        f"the others {count}"
    )
    race = partial(compare, size=count, item="entry", note=note)
    for kind, make in NOISES.items():
        release = dp.vector(count, metrics[kind]) >> make(scale=peers.SCALE)
        for (entry, data), bound in zip(entries.items(), TIMES_FASTER[kind], strict=True):
            name = f"{entry.__name__} vector"
            given = data[:few].astype(np.float64 if entry is float else np.int32)
            peer = (
                f"{peers.opendp_name()}, {name}",
                partial(peers.opendp_noise(kind, entry, vector=True), given),
            )
            ours = f"{kind}, {name} of {power(count)}", partial(release, data)
            yield race(ours, peer, faster(bound), rounds=5, peer_size=few)
        ours = f"{kind}, float vector of {power(count)}", partial(release, floats)
        draw = partial(theirs[kind], 0.0, peers.SCALE, count)
        peer = f"numpy Generator.{theirs[kind].__name__}", draw
        yield race(ours, peer, at_most(TIMES_SLOWER[kind]), rounds=31)


def sums(options: Namespace) -> Iterator[Row]:
    """Three rows for each size, one for each type and way to lie, and one on one thread."""
    yield from _sums_of_sizes()
    bounds = 0, 100
    release = dp.records() >> dp.clamp(*bounds) >> dp.sum() >> dp.gaussian(rho=0.5)

    def race(name: str, data: np.ndarray, most: float) -> Row:
        ours = f"the same, {power(len(data))} rows, {name}", partial(release, data)
        peer = "np.clip(x, L, U).sum()", partial(clip_and_sum, data, *bounds)
        return compare(ours, peer, at_most(most), rounds=21, size=len(data))

    values = np.random.default_rng().normal(50.0, 40.0, 2 * MILLION)
    for name in ("float32", "int8", "uint8", "int16", "int32", "int64", "bool"):
        kind = np.dtype(name)
        limits = np.iinfo(kind) if kind.kind in "iu" else np.finfo(np.float64)
        held = values > bounds[1] / 2 if name == "bool" else values.clip(limits.min, limits.max)
        yield race(name, held[:MILLION].astype(kind), 1.3)
    yield race("x[::2]", values[::2], 1.3)
    yield race("x[::-1]", values[:MILLION][::-1], 1.3)
    data = np.random.default_rng().normal(50.0, 40.0, TEN_MILLION)
    with patch("opendp_lite.engines.data.source._PROCESSORS", 1):
        yield race("one thread", data, 0.6)


def _sums_of_sizes() -> Iterator[Row]:
    lower, upper = -2.0, 2.0
    release = dp.records() >> dp.clamp(lower, upper) >> dp.sum() >> dp.gaussian(scale=peers.SCALE)
    for size, slower in ((MILLION, 1.15), (TEN_MILLION, 1.0)):
        data = np.random.default_rng().normal(0.0, 2.0, size)
        ours = f"clamp >> sum >> gaussian, {power(size)} rows", partial(release, data)
        race = partial(compare, ours, size=size)
        alone = partial(clip_and_sum, data, lower, upper)
        yield race(("np.clip(x, L, U).sum()", alone), at_most(slower), rounds=21)
        peer = partial(peers.opendp_sum("gaussian", lower, upper, size), data)
        yield race((f"{peers.opendp_name()}, sized", peer), faster(8), rounds=7)
        peer = partial(peers.diffprivlib_tools().sum, data, epsilon=1.0, bounds=(lower, upper))
        note = "diffprivlib's sum has Laplace noise; with so many rows the noise costs nothing"
        yield race(("diffprivlib.tools.sum", peer), faster(3), rounds=7, note=note)


def kernels(options: Namespace) -> Iterator[Row]:
    """Sums and noise with numba loaded, against numpy's; what runs after it has kernels too."""
    import_module("numba")
    random, bounds, count = np.random.default_rng(), (0, 100), 100_000
    values = random.normal(50.0, 40.0, TEN_MILLION)
    few = values[:MILLION]
    release = dp.records() >> dp.clamp(*bounds) >> dp.sum() >> dp.gaussian(rho=0.5)
    for name, data, most in (
        ("float64", few, 0.6),
        ("float32", few.astype(np.float32), 1.0),
        ("int64", few.astype(np.int64), 0.6),
        ("x[::-1]", few[::-1], 0.8),
        ("bool", few > bounds[1] / 2, 0.2),
        ("float64", values, 0.2),
    ):
        ours = f"clamp >> sum >> gaussian, {power(len(data))}, {name}", partial(release, data)
        peer = "np.clip(x, L, U).sum()", partial(clip_and_sum, data, *bounds)
        yield compare(ours, peer, at_most(most), rounds=31, size=len(data))
    for kind, most in (("gaussian", 0.6), ("laplace", 0.4)):
        metric = dp.metrics.L1Distance() if kind == "laplace" else None
        noisy = dp.vector(count, metric) >> NOISES[kind](scale=peers.SCALE)
        draw = random.normal if kind == "gaussian" else random.laplace
        peer = f"numpy Generator.{draw.__name__}", partial(draw, 0.0, peers.SCALE, count)
        for name, data in (("float", values[:count]), ("int", values[:count].astype(np.int64))):
            ours = f"{kind}, {name} vector of {power(count)}", partial(noisy, data)
            yield compare(ours, peer, at_most(most), rounds=31, size=count, item="entry")


def mean(options: Namespace) -> Iterator[Row]:
    """The mean of one column, against numpy's own clip and mean."""
    lower, upper, size = 0.0, 100.0, TEN_MILLION
    data = np.random.default_rng().normal(50.0, 20.0, size)
    note = "ours also leaves out NaN, of which there is none, and counts"
    peer = "np.clip(x, L, U).mean()", lambda: np.clip(data, lower, upper).mean()
    for words, asked in {
        "rho=0.5, confidence=None": {"rho": 0.5, "confidence": None},
        "epsilon=0.5, confidence=None": {"epsilon": 0.5, "confidence": None},
        "rho=0.5, sampling=False": {"rho": 0.5, "sampling": False},
    }.items():
        release = dp.mean(lower, upper, **asked).bound
        ours = f"mean({words}), {power(size)} rows", partial(release, data)
        yield compare(ours, peer, at_most(2), rounds=15, size=size, note=note)


def clip_to_norm(options: Namespace) -> Iterator[Row]:
    """Rows clipped in the Euclidean norm, of which half are longer than the radius; one row."""
    generator, race = np.random.default_rng(), partial(compare, rounds=15, item="entry")

    def release(columns: int, radius: float) -> Any:
        space = dp.records(columns=columns)
        return space >> dp.clip_to_norm(radius) >> dp.sum() >> dp.gaussian(scale=peers.SCALE)

    def in_numpy(data: np.ndarray, radius: float) -> object:
        norms = np.linalg.norm(data, axis=1)
        clipped = data * np.minimum(1.0, radius / norms)[:, None]
        return clipped.sum(axis=0) + generator.normal(0.0, peers.SCALE, data.shape[1])

    for (count, columns), most in {
        (100_000, 100): 0.8,
        (1_000, 10_000): 1.0,
        (100, 100_000): 1.0,
    }.items():
        radius = float(np.sqrt(columns))
        data = generator.normal(size=(count, columns))
        name = f"{power(count)} x {power(columns)}, clip_to_norm >> sum >> gaussian"
        peer = "np.linalg.norm form", partial(in_numpy, data, radius)
        ours = name, partial(release(columns, radius), data)
        yield race(ours, peer, at_most(most), size=data.size)
    alone = 100_000
    row = generator.normal(size=(1, alone))
    name = f"1 x {power(alone)}, clip_to_norm >> sum >> gaussian"
    peer = "numpy Generator.normal", partial(generator.normal, 0.0, peers.SCALE, alone)
    yield race((name, partial(release(alone, 1.0), row)), peer, at_most(2.0), size=alone)


def people(options: Namespace) -> Iterator[Row]:
    """The mean of at most three rows of each person, against the first three rows in pandas.

    A row for ids that are whole numbers, and one of a tenth of the people for text.
    """
    upper, of_each, kept = 9.0, 5, 3
    release = (
        dp.records(columns=["id", "x"], person="id")
        >> dp.bound_contributions(kept)
        >> dp.select("x")
        >> dp.mean(0, upper, epsilon=1, confidence=None)
    )

    def in_pandas(frame: pd.DataFrame) -> object:
        """Without noise, of rows that are not chosen at random."""
        return frame.groupby("id", sort=False).head(kept)["x"].clip(0, upper).mean()

    generator = np.random.default_rng()
    for words, count in (("whole numbers", 2_000_000), ("text", 200_000)):
        size = count * of_each
        ids = generator.integers(0, count, size)
        frame = pd.DataFrame({"id": ids, "x": generator.lognormal(size=size)})
        if words == "text":
            frame["id"] = pd.Series(list(map(str, ids)), dtype=object)
        name = f"bound_contributions({kept}) >> mean, ids are {words}, {power(size)} rows"
        peer = f"groupby.head({kept}) in pandas", partial(in_pandas, frame)
        ours, note = (name, partial(release, frame)), "ours chooses at random"
        yield compare(ours, peer, at_most(4), rounds=3, size=size, note=note)


def fixed_costs(options: Namespace) -> Iterator[Row]:
    """What a release, a mean and a pipeline cost whatever the number of rows."""
    rows, columns, us = 100, 10_000, 1e-6
    generator = np.random.default_rng()
    data = generator.random(rows) * 100
    lower, upper = (-generator.random(columns)).tolist(), generator.random(columns).tolist()

    def build_columns() -> object:
        inside = dp.records(columns=columns) >> dp.clamp(lower, upper)
        return (inside >> dp.sum() >> dp.gaussian(rho=1)).bound

    total = dp.records() >> dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.5)
    plain = dp.mean(0, 100, rho=0.5, confidence=None)
    asked = dp.mean(0, 100, rho=0.5, confidence=0.95, sampling=False)
    works: list[tuple[str, Work, float]] = [
        ("scalar() >> gaussian", partial(dp.scalar() >> dp.gaussian(scale=10), 3.0), 10),
        (f"clamp >> sum >> gaussian, {rows} rows", partial(total, data), 30),
        (f"mean(rho), {rows} rows", partial(plain, data), 80),
        (f"mean(rho, confidence), {rows} rows", partial(asked, data), 400),
        (
            "mean(rho), built and bound",
            lambda: dp.mean(0, 100, rho=0.5, confidence=None).bound,
            800,
        ),
        (f"{columns} columns with bounds of their own, built", build_columns, 100_000),
    ]
    for name, work, most in works:
        yield within(name, work, most * us, 21)


def quantile(options: Namespace) -> Iterator[Row]:
    """A median on a lattice against sorting, deciles, and among candidates against OpenDP."""
    bound, count, epsilon = 100.0, 1000, 1.0
    data, race = np.random.default_rng().normal(0.0, 2.0, MILLION), partial(compare, rounds=11)
    made = partial(dp.private_quantile, epsilon=epsilon, confidence=None)
    median = dp.records() >> made(0.5, bounds=(-bound, bound))
    work = f"private_quantile(0.5), {power(MILLION)} rows"
    yield race((work, partial(median, data)), ("np.sort(x)", partial(np.sort, data)), at_most(2.0))
    deciles = dp.records() >> made([i / 10 for i in range(1, 10)], bounds=(-bound, bound))
    ours = f"private_quantile of nine deciles, {power(MILLION)} rows", partial(deciles, data)
    yield race(ours, ("nine medians", lambda: [median(data) for _ in range(9)]), at_most(2.0))
    points = np.linspace(-bound, bound, count)
    among = dp.records() >> made(0.5, candidates=points)
    theirs = partial(peers.opendp_quantile(points, 0.5, 1 / epsilon), data)
    peer = f"{peers.opendp_name()}, {count} candidates", theirs
    yield race((f"{work}, {count} candidates", partial(among, data)), peer, faster(1))


BIN_ERRORS = {
    "epsilon 1": ({"epsilon": 1}, None, 1.44),
    "epsilon 1, rows replaced": ({"epsilon": 1}, 100, 2.88),
    "rho 0.5": ({"rho": 0.5}, None, 1.01),
    "rho 0.5, rows replaced": ({"rho": 0.5}, 100, sqrt(2) * 1.01),
    "epsilon 1, delta 1e-6": ({"epsilon": 1, "delta": 1e-6}, None, 1.44),
}
"""The budget, the number of rows where it is public, and the target."""
SPARE = 1.02
"""For the doubt of 2000 runs: three standard errors."""


def histogram(options: Namespace) -> Iterator[Row]:
    """The error of a bin for each budget, and times of whole numbers and floats."""
    bins, data = 16, np.arange(100.0)
    for words, (budget, size, target) in BIN_ERRORS.items():
        metric = None if size is None else dp.ChangeOneDistance()
        release = dp.histogram(categories=range(bins), **budget)
        release = dp.records(size=size, metric=metric) >> release
        true = np.bincount(data.astype(np.int64) % bins, minlength=bins)
        off = np.array([release(data % bins).counts - true for _ in range(2000)], dtype=float)
        error = sqrt((off**2).mean())
        name, met = f"{bins} bins, {words}", error <= target * SPARE
        yield Row(name, f"{error:.3f} a bin", target=f"<= {target:.2f}", met=met)
    size, categories = TEN_MILLION, 1000
    whole = np.random.default_rng(0).integers(0, categories, size)
    peer = "np.bincount", partial(np.bincount, whole, minlength=categories)
    of_column = partial(dp.histogram, "a", epsilon=1)
    declared = dp.table() >> of_column(categories=range(categories))
    unknown = dp.table() >> of_column(delta=1e-6)
    for kind, data in (("whole numbers", whole), ("floats", whole.astype(np.float64))):
        for name, release, most in (("declared", declared, 4.0), ("unknown", unknown, 10.0)):
            work = f"{categories} {name} categories of {power(size)} {kind}"
            ours = work, partial(release, {"a": data})
            yield compare(ours, peer, at_most(most), rounds=7, size=size)
    numbers = np.random.default_rng(0).normal(50, 10, MILLION)
    for kind, edges in (("even", np.linspace(0, 100, 101)), ("other", np.geomspace(1, 100, 101))):
        release = dp.histogram(edges=edges.tolist(), epsilon=1)
        ours = f"100 {kind} bins of 1e6 floats", partial(release, numbers)
        peer = "np.histogram", partial(np.histogram, numbers, edges)
        yield compare(ours, peer, at_most(3.0), rounds=7, size=MILLION)


SEEN = 100
"""Rows of ``value_times`` have no target; the ratio is what the privacy page warns of."""


def value_times(options: Namespace) -> Iterator[Row]:
    """How much the time of a release tells about the values: slower data beside quicker ones."""
    noise, columns = dp.gaussian(rho=0.03), 100
    total = dp.clamp(0, 100) >> dp.sum() >> noise
    resized = dp.clamp(0, 100) >> dp.resize(MILLION // 2, fill=50) >> dp.sum() >> noise
    median = partial(dp.private_quantile, 0.5, rho=0.03)
    features = dp.transformations.basis_features(dp.bases.Chebyshev(16, 0, 100))
    clipped = dp.records(columns=columns) >> dp.clip_to_norm(5) >> dp.sum() >> noise
    plain = np.random.default_rng(0).uniform(0, 100, MILLION)
    one = np.where(np.arange(MILLION) == MILLION // 2, np.nan, plain)
    half = np.where(np.arange(MILLION) % 2 == 0, np.nan, plain)
    equal = "equal rows", np.full(MILLION, 50.0)
    listed = plain[: MILLION // 10].tolist()
    edge = np.full((10_000, columns), _value_at_the_end_of_a_cell(columns))
    for work, release, slow, (peer, quick) in (
        ("one None in a list", total, [*listed[:-1], None], ("no None", listed)),
        ("one NaN in an array", total, one, ("no NaN", plain)),
        ("drop_nan, half NaN", dp.drop_nan() >> total, half, ("no NaN", plain)),
        ("resize, random rows", resized, plain, equal),
        ("private_quantile, random rows", median(bounds=(0, 100)), plain, equal),
        ("the same, scale='log'", median(bounds=(1e-9, 100), scale="log"), plain, equal),
        ("Chebyshev(16), random rows", features >> dp.sum() >> noise, plain, equal),
        ("clip_to_norm, ends of cells", clipped, edge, ("rows beside", edge * 1.001)),
    ):
        name = f"{work}, {power(len(slow))} rows"
        ours, theirs = (partial(release.bound, data) for data in (slow, quick))
        yield compare((name, ours), (peer, theirs), at_most(SEEN), rounds=11)


def _value_at_the_end_of_a_cell(columns: int) -> float:
    """Rows of this number have norms whose last bits must be decided exactly."""
    cell = 1 << cell_bits(columns)
    start = np.float64(columns * 0.3).view(np.int64) // cell * cell
    end = np.int64(start + floats_beyond(columns))
    return float(np.sqrt(end.view(np.float64) / columns))
