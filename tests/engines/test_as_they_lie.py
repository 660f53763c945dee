"""Rows as they lie, of any type and any strides, have the sums that their float64 images have."""

import warnings
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, isnan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows
from opendp_lite.numbers.grid import Grid
from opendp_lite.transformations.sums import SumFold

WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
TYPES = [bool, *WHOLE, np.float16, np.float32, np.float64, np.longdouble, ">i4", ">f4", ">f8"]
Real = float | Fraction
BOUNDS: list[tuple[Real, Real]] = [
    (0, 100),
    (-3, 5),
    (5, 90),
    (-90, -5),
    (0, 0.5),
    (-1.3, 2.7),
    (0.1, 0.3),
    (-300, 300),
    (1000, 2000),
    (-70_000, -40_000),
    (-(2**40), 2**40),
    (-5, 2**45),
    (0, 2**62),
    (-(2**53) - 1, 2**63),
    (1e6, 1e6 + 1),
    (1e-30, 3e-30),
    (-1e200, 1e200),
]
THIRD = 10**9 + Fraction(1, 3)
MOVED: list[tuple[Real, Real, Real]] = [
    (0, 100, 50),
    (-3, 5, 1),
    (0, 1, 0.5),
    (0.1, 0.3, 0.2),
    (1e9, 1e9 + 1, 1e9 + 0.5),
]
MOVED += [
    (-300, 300, 1e-9),
    (2**40, 2**41, 2**40),
    (0, 100, 1e15),
    (5, 90, 47.5),
    (0, 3, 1 / 3),
    (2**54, 2**54 + 8, 2**54),
    (THIRD, THIRD + 1, THIRD + Fraction(1, 5)),
    (-THIRD - 1, -THIRD, -THIRD),
]


@pytest.fixture(autouse=True)
def _however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_lite.engines.rows._FEW", 0)


def numbers(dtype: object) -> np.ndarray:
    """Numbers of a type: around its limits, around bounds, and any."""
    kind, generator = np.dtype(dtype), np.random.default_rng(5)
    near = [*range(-6, 7), 89, 90, 91, 99, 100, 101, 254, 300, 301, 1000, 2000, 2001, 40_000]
    if kind.kind == "b":
        return np.array([True, False, True, True, False]).astype(kind)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        powers = (sign * 2**power for power in range(64) for sign in (1, -1))
        around = (power + off for power in powers for off in (-1, 0, 1, 5))
        found = [value for value in (*near, *around) if limits.min <= value <= limits.max]
        return np.array([*found, limits.min, limits.max], dtype=kind)
    tiny = np.finfo(kind.newbyteorder("=")).smallest_subnormal
    wild = [0.0, -0.0, np.inf, -np.inf, float(tiny), -float(tiny)]
    wild += [0.1, 0.3, 0.2, 2.7, -1.3, 6e4, -6e4]
    spread = generator.normal(size=40) * 10.0 ** generator.integers(-4, 4, 40)
    found = np.array([*near, *wild, *spread]).astype(kind)
    if kind.itemsize < 4:
        return found
    far = np.array([1e30, -1e30, 2.0**53 + 1, 1e6 + 0.37, 1e9 + 0.7, 2e-30, 2.0**40 + 0.3])
    return np.append(found, far.astype(kind)).astype(kind)


def laid(values: np.ndarray) -> Iterator[np.ndarray]:
    """The same numbers in the same order, in several ways."""
    beside = np.stack([values, values[::-1]], axis=1)
    yield values
    yield values[::-1].copy()[::-1]
    yield np.repeat(values, 3)[::3]
    yield beside[:, :1]
    yield np.asfortranarray(beside)[:, 0]


def image(value: float, lower: Fraction, upper: Fraction, exponent: int, middle: Fraction) -> int:
    """In exact arithmetic but for one subtraction of floats: rounded to nearest, then clipped."""
    unit = Fraction(2) ** exponent
    least, most = ceil((lower - middle) / unit), floor((upper - middle) / unit)
    moved = min(max(value, float(lower)), float(upper)) - float(middle) if middle else value
    if abs(moved) == np.inf:
        return most if moved > 0 else least
    return min(max(round(Fraction(moved) / unit), least), most)


def grid_of(query: object, data: object) -> Grid:
    found = query.function(LazyRows(opened(data)))
    assert isinstance(found, Grid)
    return found


def agrees(query: object, values: np.ndarray, lower: Real, upper: Real, middle: Real) -> None:
    with np.errstate(all="ignore"):
        floats = [float(value) for value in values.astype(np.float64) if not isnan(value)]
    exponent = grid_of(query, np.zeros(1)).exponent
    ends = Fraction(lower), Fraction(upper)
    expected = sum(image(value, *ends, exponent, Fraction(middle)) for value in floats)
    for data in laid(values):
        data.setflags(write=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert grid_of(query, data).steps.tolist() == [expected], (values.dtype, lower, upper)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: str(np.dtype(dtype)))
def test_each_type_has_the_exact_sum(dtype):
    values = numbers(dtype)
    for lower, upper in BOUNDS:
        query = dp.records() >> dp.clamp(Fraction(lower), Fraction(upper)) >> dp.sum()
        agrees(query, values, lower, upper, 0.0)
        if values.dtype.kind == "f":
            agrees(query, np.insert(values, [0, 7, 30], np.nan), lower, upper, 0.0)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: str(np.dtype(dtype)))
def test_a_centre_is_subtracted_as_a_float_whatever_the_type(dtype):
    values = numbers(dtype)
    for lower, upper, middle in MOVED:
        inside = dp.clamp(Fraction(lower), Fraction(upper)) >> dp.center(Fraction(middle))
        agrees(dp.records() >> inside >> dp.sum(), values, lower, upper, middle)


@pytest.mark.parametrize("entries", [1, 7, 64])
def test_pieces_of_any_size_have_the_same_sums(entries, monkeypatch):
    generator = np.random.default_rng(2)
    column, table = generator.normal(50, 40, 500), generator.normal(0, 3, (60, 5))
    column[::9], table[7, 3], table[8, 2] = np.nan, np.nan, np.inf
    sized = dp.records(size=500, metric=dp.ChangeOneDistance())
    infinitely_far = dp.records() >> dp.center(10**400) >> dp.center(1)
    cases = [
        (dp.records() >> dp.clamp(0, 100) >> dp.sum(), column),
        (dp.records() >> dp.clamp(0, 100) >> dp.center(50) >> dp.sum(), column),
        (dp.records() >> dp.impute(7) >> dp.clamp(0, 100) >> dp.sum(), column),
        (dp.records() >> dp.drop_nan() >> dp.clamp(0, 100) >> dp.sum(), column),
        (dp.records() >> dp.count(), column),
        (dp.records() >> dp.count(missing=True), column),
        (dp.records() >> dp.clamp(0, 100) >> dp.center(50) >> dp.count(), column),
        (infinitely_far >> dp.count(), np.array([-np.inf, np.nan, 3, np.inf])),
        (dp.records(columns=5) >> dp.clamp(-1, 4) >> dp.count(), table),
        (dp.records(columns=5) >> dp.clip_to_norm(4) >> dp.count(), table),
        (sized >> dp.clamp(0, 100) >> dp.sum(), column),
        (dp.records(columns=5) >> dp.clamp(-1, 4) >> dp.sum(), table),
        (dp.records(columns=5) >> dp.clip_to_norm(4) >> dp.sum(), table),
        (dp.records(columns=5) >> dp.clamp(0, 9) >> dp.clip_to_norm(4) >> dp.sum(), table),
    ]
    monkeypatch.setattr("opendp_lite.engines.rows._FEW", 10**9)
    expected = [grid_of(query, data).steps.tolist() for query, data in cases]
    monkeypatch.setattr("opendp_lite.engines.rows._FEW", 0)
    monkeypatch.setattr("opendp_lite.engines.data.source.PIECE_ENTRIES", entries)
    for (query, data), steps in zip(cases, expected, strict=True):
        for each in (data, data.astype(">f8"), np.asfortranarray(data), np.repeat(data, 2, 0)[::2]):
            assert grid_of(query, each).steps.tolist() == steps


def test_rows_beyond_what_one_total_holds_are_added_in_python(monkeypatch):
    monkeypatch.setattr("opendp_lite.engines.data.source._PROCESSORS", 1)
    value = 2**20 + 2.0**-11
    narrow = dp.records() >> dp.clamp(2**20, 2**20 + 2.0**-10) >> dp.sum()
    assert grid_of(narrow, np.full(9000, value)).exact == (9000 * Fraction(value),)
    many = np.full(2**23 + 5, 100, dtype=np.uint8)
    assert grid_of(dp.records() >> dp.clamp(0, 100) >> dp.sum(), many).exact == (100 * len(many),)


def test_two_centres_are_subtracted_one_after_the_other():
    values = np.random.default_rng(9).uniform(-0.9, 0.9, 100)
    moved = dp.clamp(-1, 1) >> dp.center(0.1) >> dp.center(0.7)
    query = dp.records() >> moved >> dp.sum()
    one_by_one = (values - 0.1) - 0.7
    exponent = grid_of(query, values).exponent
    steps = (round(Fraction(value) / Fraction(2) ** exponent) for value in one_by_one.tolist())
    assert grid_of(query, values).steps.tolist() == [sum(steps)]


@pytest.mark.parametrize("sign", [1, -1])
def test_totals_on_both_sides_of_32_bits_are_exact(sign):
    query = dp.records() >> dp.clamp(-(2**14), 2**14) >> dp.sum()
    for rows in (2**17 - 1, 2**17, 2**17 + 1):
        values = np.full(rows, sign * 2**14, dtype=np.int16)
        assert grid_of(query, values).exact == (sign * rows * 2**14,)


def test_whole_numbers_whose_total_is_beyond_64_bits_are_exact():
    values = np.full(2**18 + 3, 2**45 - 1)
    query = dp.records() >> dp.clamp(2**45 - 2, 2**45) >> dp.center(2**45 - 1) >> dp.sum()
    assert grid_of(query, values).exact == (0,)
    assert grid_of(query, values + 5).exact == (len(values),)
    assert grid_of(query, -values).exact == (-len(values),)


def test_a_release_with_a_sum_and_a_count_leaves_out_the_same_rows():
    values = np.random.default_rng(4).normal(5, 30, 3000).astype(np.float32)
    values[[0, 77, 2999]] = np.nan, -np.nan, np.inf
    both = dp.compose(
        dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=1e15), dp.count() >> dp.gaussian(rho=1e15)
    )
    for data in (values, values[::-1], {"a": values}):
        total, rows = both(data)
        assert round(float(rows)) == 2998
        kept = values[~np.isnan(values)].astype(np.float64)
        assert total == pytest.approx(np.clip(kept, 0, 10).sum(), abs=1e-4)


def test_a_sum_that_two_threads_share_takes_nobody_elses_steps():
    """Equal pipelines share one, and Python may change threads while steps are compared."""
    fold = SumFold(dp.bodies.Box(0, 9))

    class Picks:
        """As a block function that picks columns, which rows as they lie cannot do."""

        def __eq__(self, other: object) -> bool:
            fold.as_they_lie([])  # What another thread does meanwhile.
            return isinstance(other, Picks)

        def __hash__(self) -> int:
            return 0

    assert fold.as_they_lie([Picks()]) is None
    assert fold.as_they_lie([Picks()]) is None
    assert fold.as_they_lie([]) is not None


@pytest.mark.parametrize("kind", ["f4", ">f8", "i8"])
def test_less_an_infinity_an_infinite_entry_is_missing(kind):
    total = dp.center(10**400) >> dp.clamp(-1, 1) >> dp.sum()
    rows = [1.0, 2.0] if kind == "i8" else [1.0, 2.0, np.inf]
    exact = np.asarray((dp.records() >> total)(np.array(rows, kind)))
    assert exact.tolist() == [-2.0]
