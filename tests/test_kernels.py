"""What numba compiles finds the bits that numpy finds, and is used only where it is asked for."""

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import nextafter
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies.grid_rounding import ClippedColumn
from opendp_lite.engines.data.open_data import open_source
from opendp_lite.engines.rows import LazyRows
from opendp_lite.numbers import kernels
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.kernels import ADD_BITS, ADD_CLIPPED, DRAW, Kernel
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy
from opendp_lite.samplers.law import LANES, fill
from opendp_lite.samplers.quantile_table import exponential_table
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace

BOUNDS = [
    *((0, 1), (-2, 2), (0, 100), (5, 90), (-90, -5), (100, 101), (-1e-6, 3e5), (0, 1e9)),
    *((Fraction(1, 10), Fraction(3, 10)), (-1e200, 1e200), (0, 3e-200), (-(2**40), 2**40)),
    *((0, 2**62), (-(2**53) - 1, 2**63), (1e6, 1e6 + 1)),
]
LENGTHS = (1, 2, 15, 16, 17, 31, 333, 20_000)


@pytest.fixture(scope="module")
def numba() -> ModuleType:
    """Loaded here and hidden again: other tests of the same process are of numpy's way.

    ``pytest -p numba`` runs all tests with kernels.
    """
    before = sys.modules.get("numba")
    numba: ModuleType = pytest.importorskip("numba")
    if before is None:
        del sys.modules["numba"]
    return numba


@pytest.fixture(autouse=True)
def used(monkeypatch: pytest.MonkeyPatch, numba: ModuleType) -> list[Kernel]:
    """Kernels for however few numbers, and which of them did the work."""
    monkeypatch.setitem(sys.modules, "numba", numba)
    monkeypatch.setattr(kernels, "LEAST_ENTRIES", 1)
    done: list[Kernel] = []
    compiled = kernels._compile

    def spied(kernel: Kernel, kinds: kernels.Kinds):
        made = compiled(kernel, kinds)
        done.extend([] if made is None else [kernel])
        return made

    monkeypatch.setattr(kernels, "_compile", spied)
    return done


def in_numpy(work, *given):
    """What a function finds without kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numba", None)
        return work(*given)


def hostile(column: ClippedColumn, kind: str) -> np.ndarray:
    """Numbers that trip floats, ends and ties of a grid with their neighbours, and any bits."""
    random, count = np.random.default_rng(1), max(LENGTHS) // 3
    bits = random.integers(-(2**63), 2**63 - 1, count)
    if kind == "int64":
        powers = 2 ** np.arange(62) + random.integers(-2, 3, (40, 62))
        few = random.integers(-300, 300, count)
        found = np.concatenate([powers.ravel(), -powers.ravel(), bits, few, [-(2**63), 2**63 - 1]])
    else:
        unit, bounds = 2.0**column.exponent, [float(each) for each in column._bounds]
        around = (column.most - column.least) // 8 + 2
        steps = random.integers(column.least - around, column.most + around, count)
        ties = (steps + 0.5) * unit + column.subtracted
        beside = [np.nextafter(ties, to) for to in (-np.inf, np.inf)]
        ends = [nextafter(end, to) for end in bounds for to in (-np.inf, end, np.inf)]
        wild = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308]
        floats = bits.view(np.float64)
        found = np.concatenate([ties, *beside, ends, wild, floats[~np.isnan(floats)]])
    random.shuffle(found)
    with np.errstate(over="ignore"):
        return found.astype(kind)


def columns() -> Iterator[ClippedColumn]:
    """Those of all bounds, from which nothing is subtracted or something is."""
    for lower, upper in BOUNDS:
        (column,) = dp.bodies.Box(lower, upper).snapper().each_column()
        for subtracted in (0.0, float(lower) / 2 + 0.1):
            yield attrs.evolve(column, subtracted=subtracted)


def total(column: ClippedColumn, entries: np.ndarray, seen: bool = False) -> int | None:
    """A sum modulo 2^64."""
    with np.errstate(all="ignore"):
        found = column.total(entries, seen=seen)
    return None if found is None else found % 2**64


@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_sums_are_those_of_numpy(kind, used):
    several = list(columns())
    for column in several:
        values = hostile(column, kind)
        for length in LENGTHS:
            given = values[:length].copy()
            given.setflags(write=length % 2 == 0)
            for entries in (
                given,
                given[::-1],
                given[::2],
                given.astype(f">{given.dtype.str[1:]}"),
            ):
                expected = in_numpy(total, column, entries)
                assert expected is not None
                assert total(column, entries) == expected, (column, length)
    # All with bounds that floats are, or integers, twice: forwards and backwards.
    assert len(used) >= len(several) * len(LENGTHS) // 2
    assert set(used) == {ADD_CLIPPED} if kind == "int64" else {ADD_BITS}


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_a_missing_value_anywhere_is_seen(kind, used):
    (column,) = dp.bodies.Box(0, 100).snapper().each_column()
    for length in (1, 16, 17, 333):
        for place in range(length):
            for missing in (np.nan, -np.nan):
                values = np.full(length, 7.5, dtype=kind)
                values[place] = missing
                assert total(column, values) is None
    assert set(used) == {ADD_BITS}


def steps(query, data: np.ndarray) -> list[int]:
    """The whole numbers that a pipeline without noise finds."""
    return query.bound.function(LazyRows(open_source(data))).steps.tolist()


def test_releases_of_many_rows_are_the_same(used, monkeypatch):
    """Through pipelines, in pieces and threads, with the kernels' own least size."""
    monkeypatch.setattr(kernels, "LEAST_ENTRIES", 2**14)
    values = np.random.default_rng(3).normal(40, 40, 4_100_001)
    for query in (dp.clamp(0, 100) >> dp.sum(), dp.clamp(0, 90) >> dp.center(45) >> dp.sum()):
        for data in (values, values[::-1], values.astype(np.float32), values.astype(np.int64)):
            assert steps(query, data) == in_numpy(steps, query, data)
    assert {ADD_BITS, ADD_CLIPPED} <= set(used)


def words() -> np.ndarray:
    """Both ends of each segment of a table with their neighbours, short words and any, signed."""
    ends = np.ldexp(1 + np.arange(256) / 256, np.arange(43, 63)[:, None]).astype(np.int64).ravel()
    short = [0, 1, 2**43 - 1, 2**63 - 1, 2**63 - 2**9, 2**62 - 1]
    any_bits = np.random.default_rng(4).integers(0, 2**63 - 1, 3 * LANES)
    found = np.concatenate([ends, ends - 1, ends + 1, short, any_bits >> np.arange(3 * LANES) % 21])
    np.random.default_rng(5).shuffle(found)
    return np.concatenate([found, found ^ -(2**63)]).view(np.uint64)


class Given(Entropy):
    """Words from an array."""

    def __init__(self, given: np.ndarray) -> None:
        self._left = given

    def words(self, count: int) -> np.ndarray:
        found, self._left = self._left[:count], self._left[count:]
        return found

    def word(self) -> int:
        return int(self.words(1)[0])


WORDS = words()
LAWS = [RoundedGaussian, RoundedLaplace, DiscreteLaplace]
SCALES = [Fraction(1, 3), Fraction(70_001), Fraction(2**36), Fraction(2**50)]


def filled(law, given: np.ndarray | None, **how):
    """What many words are made into, and what is decided again, with which words."""
    asked = []

    def exactly(position: int, word: int) -> float:
        asked.append((position, word))
        return -7

    out = np.empty(len(WORDS), dtype=np.int64 if how.get("exponent") is None else np.float64)
    table = exponential_table() if isinstance(law, DiscreteLaplace) else law.table()
    fill(table, law._factor, law._edge, given, exactly, Given(WORDS), out, **how)
    return out.tobytes(), asked


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", LAWS)
def test_words_make_the_noise_that_numpy_makes(kind, scale, used):
    """All bits, and which words floats do not decide, of whole numbers and of floats."""
    law = kind(scale, 0)
    random = np.random.default_rng(6)
    values = random.integers(-(2**63), 2**63 - 1, len(WORDS)).view(np.float64)
    values[::2] = random.normal(size=len(values[::2])) * 2.0 ** random.integers(-70, 70)
    wild = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 2.0**60, -(2.0**60), 1e308, -0.5]
    values[1::7], values[: len(wild)] = -0.0, wild
    ways: list[tuple[Any, dict[str, Any]]]
    if kind is DiscreteLaplace:
        ways = [(None, {"start": law._shift})]
    else:
        ways = [(None, {}), (random.random(len(WORDS)), {})]
        ways += [(values, {"exponent": exponent}) for exponent in (-960, -14, 0, 900)]
    for given, how in ways:
        assert filled(law, given, **how) == in_numpy(partial(filled, law, given, **how))
    assert used == [DRAW] * len(ways) * -(-len(WORDS) // LANES)


@pytest.mark.parametrize("kind", LAWS)
def test_releases_of_many_entries_are_the_same(kind, used):
    """With the words that are decided exactly, of floats and of whole numbers."""
    law, count = kind(Fraction(2**16 + 1), 4), 3 * LANES
    for values in (np.random.default_rng(7).normal(0, 2**20, count), np.arange(count)):
        given = Grid(values, 0)
        found = law.noisy(given, InsecureSeededEntropy(8))
        expected = in_numpy(law.noisy, given, InsecureSeededEntropy(8))
        assert found.steps.tobytes() == expected.steps.tobytes()
    assert set(used) == {DRAW}


def test_numba_is_not_imported_unasked():
    program = """
import sys
import numpy as np, opendp_lite as dp
(dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=1))(np.ones(3_000_000))
(dp.vector(50_000) >> dp.gaussian(rho=1))(np.ones(50_000))
assert "numba" not in sys.modules, "imported"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


SUM = np.arange(9.0), 1.0, 5.0, 0.0, 3 * 2.0**9
with np.errstate(over="ignore"):
    FOUND = ADD_BITS.function(*SUM)


def fresh(monkeypatch: pytest.MonkeyPatch, njit, known: Kernel = ADD_BITS) -> Kernel:
    """A kernel that nobody compiled, in a numba that compiles so."""
    fake = SimpleNamespace(njit=njit, config=SimpleNamespace(DISABLE_JIT=0))
    monkeypatch.setitem(sys.modules, "numba", fake)
    return Kernel(known.function, known.example)


def fails(*given: object):
    raise ValueError(given)


@np.errstate(over="ignore")
def other(*given: Any) -> Any:
    return ADD_BITS.function(*given)[0] ^ 1, 0


@pytest.mark.parametrize(
    "compiled",
    [
        other,
        fails,
        lambda *given: ADD_BITS.function(*given) if len(given[0]) > 9 else fails(),
        None,
    ],
    ids=["other bits", "fails at once", "fails later", "no function"],
)
def test_a_kernel_that_faults_is_not_used(compiled, monkeypatch):
    assert fresh(monkeypatch, lambda **_: lambda function: compiled)(*SUM) is None


def test_a_kernel_that_fills_no_output_is_not_used(monkeypatch):
    idle = fresh(monkeypatch, lambda **_: lambda _: lambda *given: True, DRAW)
    kinds = map(np.dtype, ("i8", "f8", "f8", "f8", "f8", "?"))
    assert kernels._compile(idle, tuple(kinds)) is None


def test_a_kernel_that_is_not_compiled_is_not_used(monkeypatch):
    assert fresh(monkeypatch, lambda **_: fails)(*SUM) is None
    kernel = fresh(monkeypatch, lambda **_: lambda function: function)
    monkeypatch.setattr(sys.modules["numba"].config, "DISABLE_JIT", 1)
    assert kernel(*SUM) is None


def test_a_kernel_is_compiled_where_no_folder_keeps_it(monkeypatch):
    def njit(cache: bool = False, **_: object):
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    with np.errstate(over="ignore"):
        assert fresh(monkeypatch, njit)(*SUM) == FOUND


def test_few_numbers_and_other_arrays_are_left_to_numpy(monkeypatch):
    values, *others = SUM
    unaligned = np.zeros(81, dtype=np.uint8)[1:73].view(np.float64)
    for odd in (values[::2], values.astype(">f8"), values.astype(np.float16), unaligned):
        assert ADD_BITS(odd, *others) is None
    assert ADD_BITS(*SUM) == FOUND
    monkeypatch.setattr(kernels, "LEAST_ENTRIES", 10)
    assert ADD_BITS(*SUM) is None
