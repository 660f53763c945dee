"""How much the time of a release tells about the values: the table of docs/privacy.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, at_most, compared, power

import opendp_lite as dp
from opendp_lite.engines.data.sparse import cell_bits, floats_beyond

SIZE = 1_000_000
LISTED = 100_000
WIDE, COLUMNS = 10_000, 100
ROUNDS = 11
SEEN = 100
"""These rows have no target; the ratio is what the privacy page warns of."""
SUMMED = dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.03)
RESIZED = dp.clamp(0, 100) >> dp.resize(SIZE // 2, fill=50) >> dp.sum() >> dp.gaussian(rho=0.03)
MEDIAN = dp.private_quantile(0.5, bounds=(0, 100), rho=0.03)
NARROW = dp.private_quantile(0.5, bounds=(1e-9, 100), scale="log", rho=0.03)
FEATURES = (
    dp.transformations.basis_features(dp.bases.Chebyshev(16, 0, 100))
    >> dp.sum()
    >> dp.gaussian(rho=0.03)
)
CLIPPED = dp.records(columns=COLUMNS) >> dp.clip_to_norm(5) >> dp.sum() >> dp.gaussian(rho=0.03)


def at_the_end_of_a_cell() -> float:
    """Rows of this number have norms whose last bits must be decided exactly."""
    cell = 1 << cell_bits(COLUMNS)
    start = np.float64(COLUMNS * 0.3).view(np.int64) // cell * cell
    end = np.int64(start + floats_beyond(COLUMNS))
    return float(np.sqrt(end.view(np.float64) / COLUMNS))


def rows() -> Iterator[Row]:
    """The slower data beside data of the same shape."""
    plain = np.random.default_rng(0).uniform(0, 100, SIZE)
    one = np.where(np.arange(SIZE) == SIZE // 2, np.nan, plain)
    half = np.where(np.arange(SIZE) % 2 == 0, np.nan, plain)
    even = np.full(SIZE, 50.0)
    listed = plain[:LISTED].tolist()
    holed = [*listed[:-1], None]
    cases = [
        ("one None in a list", SUMMED, holed, "no None", listed, LISTED),
        ("one NaN in an array", SUMMED, one, "no NaN", plain, SIZE),
        ("drop_nan, half NaN", dp.drop_nan() >> SUMMED, half, "no NaN", plain, SIZE),
        ("resize, random rows", RESIZED, plain, "equal rows", even, SIZE),
        ("private_quantile, random rows", MEDIAN, plain, "equal rows", even, SIZE),
        ("the same, scale='log'", NARROW, plain, "equal rows", even, SIZE),
        ("Chebyshev(16), random rows", FEATURES, plain, "equal rows", even, SIZE),
    ]
    edge = np.full((WIDE, COLUMNS), at_the_end_of_a_cell())
    cases += [("clip_to_norm, ends of cells", CLIPPED, edge, "rows beside", edge * 1.001, WIDE)]
    for work, release, slow, peer, quick, size in cases:
        bound = release.bound
        yield compared(
            f"{work}, {power(size)} rows",
            partial(bound, slow),
            peer,
            partial(bound, quick),
            at_most(SEEN),
            rounds=ROUNDS,
        )
