"""Columns of every type that a container may have, and cells that are read amiss."""

import csv
import datetime as dt
import io
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from functools import cache, partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import opendp_lite as dp


class Text(StrEnum):
    ONE = "1"


class Whole(IntEnum):
    ONE = 1


class Other(Enum):
    ONE = 1


class Float(float):
    """A float of a type of its own."""


UTC = ZoneInfo("UTC")
DAY, NANO = pd.Timestamp(2024, 1, 31), pd.Timestamp(1706659200000000001)
NUMBERS_OF_PYTHON = [
    *(0, 1, -1, 2, True, False, 0.0, -0.0, 1.0, 0.5, 0.1, -2.5, 1e-320, 1e300),
    *(2**power + less for power in (11, 24, 31, 52, 53, 63, 64, 70) for less in (-1, 0, 1)),
    *(-(2**53) - 1, -(2**63), -(2**63) - 1, 10**400, float(2**53), float(2**63), 1e20),
    *(-(2**63) + 1, -(2**63) + 999, -(2**31)),
    *(float("nan"), float("inf"), -float("inf"), Float(1), Float(2**53 + 2), Whole.ONE),
    *(Decimal(1), Decimal("1.0"), Decimal("0.1"), Decimal("0.10"), Decimal("NaN")),
    *(Decimal("sNaN"), Decimal("Infinity"), Decimal(2**53 + 1), Decimal("1e400")),
    *(Fraction(1), Fraction(1, 3), Fraction(2**53 + 1)),
]
NUMBERS_OF_NUMPY = [
    *(kind(1) for kind in (np.int8, np.uint8, np.int64, np.uint64, np.bool_, np.float64)),
    *(kind(each) for kind in (np.float16, np.float32) for each in (1, 0.1, 2**11, 2049)),
    *(np.float32(2**24), np.float32(2**24 + 2), np.float64(2**53), np.float64("nan")),
    *(np.int64(2**53 + 1), np.uint64(2**63), np.uint64(2**64 - 1), np.longdouble(1)),
    *(np.longdouble(2**53) + 1, np.longdouble(5) + np.longdouble(2) ** -60),
]
TEXTS = [
    *("a", "A", " a", "a ", "", "\0", "a\0", "1", "01", "1.0", " 1", "nan", "None", "NA", "NaT"),
    *("\u00e9", "e\u0301", "\ufb01", "\U0001f600", "x" * 40, "2024-01-31", "True", "5"),
    *("2024-01-31T00:00:00.000000001", Text.ONE, np.str_("a"), "\ud800", "'\\ud800'"),
]
DATES = [
    *(dt.date(2024, 1, 31), dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 5), dt.date.max),
    *(dt.datetime(2024, 1, 31, tzinfo=UTC), DAY, NANO, DAY.tz_localize("UTC"), DAY.as_unit("s")),
    *(np.datetime64("2024-01-31"), np.datetime64("2024-01"), np.datetime64("2024-01-31T00", "ns")),
    *(np.datetime64("2024-01-31T00:00:00.000000001"), np.datetime64("NaT", "D"), pd.NaT),
    *(pd.Timestamp.min, pd.Timestamp.max, *(np.datetime64(end, "s") for end in (-(2**62), 2**62))),
]
# What a file of text has instead of numbers, and what it needs quotes for.
SPELLED = [
    *(
        "1_0",
        "1e400",
        "+3",
        "3.",
        "-3.00",
        ".5",
        "1 2",
        "0x1",
        "inf",
        "nan(1)",
        "\u0663",
        "\ufeff1",
    ),
    *("1,5", 'a"b', '"a"', "a\nb", "\r", "a\r\nb", ".", "null", "\u00a0a", "\x85", "#a", "\\"),
]
ODD = [
    *(None, pd.NA, np.ma.masked, b"a", b"", Other.ONE, 1j, complex(1, 0), np.complex64(1), object),
    *(dt.time(5), dt.timedelta(1), np.timedelta64(1, "D"), pd.Timedelta(1), pd.Period("2024-01")),
    *(pd.Interval(0, 1), [], (), {}, set(), frozenset(), [1], (1,), range(3), Ellipsis),
]
ARRAYS = [np.array(1), np.array(0.5), np.array(2**53 + 1), np.array("a"), np.array(None)]
CELLS = [*NUMBERS_OF_PYTHON, *NUMBERS_OF_NUMPY, *TEXTS, *DATES, *ODD, *ARRAYS]

Cells = Sequence[Any]
Make = Callable[[Cells], Any]
"""A column of one public type, in which a cell is made of one cell."""


def each_cast(kind, cells: Cells) -> np.ndarray:
    """Each cell by itself: numpy would look for one type of all first."""
    found = np.empty(len(cells), kind)
    for place, cell in enumerate(cells):
        found[place] = cell
    return found


def masked(kind: str, cells: Cells) -> np.ndarray:
    filled = [0 if cell is None else cell for cell in cells]
    return np.ma.array(each_cast(kind, filled), mask=[cell is None for cell in cells])


def of_pandas(kind: str, cells: Cells) -> pd.Series:
    """Each by itself: some types take other cells where numbers or texts are next to them."""
    return pd.Series([pd.Series([cell], dtype=kind).array[0] for cell in cells], dtype=kind)


def write_csv(cells: Cells, w: Cells) -> bytes:
    """A file with columns x and w, of which the standard library writes the cells."""
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("x", "w"), *zip(cells, w, strict=True)])
    return written.getvalue().encode()


def of_csv(kind: type, cells: Cells):
    """The column of a stream, which our own reader reads; texts that are no numbers are missing."""
    if not all(isinstance(cell, str) for cell in cells):
        raise TypeError
    stream = io.BytesIO(write_csv(cells, [0] * len(cells)))
    table = dp.csv_table(stream, {"x": kind}, text="missing")
    return next(iter(table.open()), {"x": np.empty(0, "U9" if kind is str else float)})["x"]


def in_chunks(kind, cells: Cells) -> pa.ChunkedArray:
    half = len(cells) // 2
    return pa.chunked_array([pa.array(part, kind) for part in (cells[:half], cells[half:])], kind)


NUMPY = ("?", "i1", "i4", ">i4", "i8", ">i8", "u8", ">u8", "f2", "f4", ">f4", "f8", ">f8", "g")
NUMPY_TOO = ("O", "U9", "S9", "M8[D]", "M8[ns]", "M8[s]", "m8[s]", "c16")
PANDAS = ("Int8", "Int64", "UInt64", "Float32", "Float64", "boolean", "str", "string", "object")
ARROW = {
    **{each: getattr(pa, each)() for each in ("int8", "int64", "uint64", "bool_", "null")},
    **{each: getattr(pa, each)() for each in ("float16", "float32", "float64", "string")},
    "date32": pa.date32(),
    "binary": pa.binary(),
    "view": pa.string_view(),
    "ns": pa.timestamp("ns"),
    "s": pa.timestamp("s"),
    "decimal": pa.decimal128(38, 2),
    "short": pa.decimal128(9, 1),
    "zone": pa.timestamp("us", "UTC"),
    "duration": pa.duration("s"),
}


_NUMBERS = ["0", "1", "0.1", "0.3", "2048", "2047", "'NaN'", "'inf'", "'-inf'", "'-0'", "1e308"]
_DATES = ["'2024-01-31'", "'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31'"]
_TEXTS = ["'a'", "'A'", "''", "'1'", "'a '", "'NA'", "'2024-01-31'", "'\u00e9'", "'e\u0301'"]
_LONG = ["0", "1", "9007199254740993", "-9223372036854775808", "9223372036854775807"]
_EACH = {
    **{kind: [*_NUMBERS[:-1], "16777217"] for kind in ("float4", "float8")},
    **dict.fromkeys(("int8", "numeric(30, 0)"), _LONG),
    "int2": ["0", "-32768"],
    "bool": ["true", "false"],
    "time": ["'05:00'", "'24:00'"],
    "uuid": ["'4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'"],
    "interval": ["'1 day'"],
    "date": [*_DATES, "'10000-01-01'"],
    "timestamp": [*_DATES, "'2024-01-31 05:00:00.000001'"],
    "varchar": _TEXTS,
    "timestamptz": _DATES,
    "int4[]": ["'{1}'", "NULL"],
}
"""By types of SQL: values that a column of it may have, beside NULL."""
POSTGRESQL = _EACH | {
    "numeric": [*_NUMBERS, *_LONG, "1e400", "-1e400", "1e-400", "1e100000", "0.10"],
    "date": [*_EACH["date"], "'4713-01-01 BC'", "'5874897-12-31'"],
    "timestamp": [*_EACH["timestamp"], "'4713-01-01 BC'", "'294276-12-31'"],
    "text": _TEXTS,
    "name": _TEXTS,
    "char(3)": _TEXTS[:5],
    "bytea": ["'a'", r"'\xff'"],
    "int4range": ["'[1,2)'", "'empty'"],
    "json": ["'1'", "'{}'"],
    "money": ["1"],
}
DUCKDB = _EACH | {
    "int4[]": ["[1]", "[]"],
    "hugeint": [*_LONG, "170141183460469231731687303715884105727"],
    "decimal(18, 3)": ["0", "0.1", "0.3", "999999999999999.999", "2048"],
    "decimal(38, 10)": ["0", "0.1", "9999999999999999999999999999.9999999999"],
    "timestamp_ns": [*_DATES[:3], "'2024-01-31 05:00:00.000000001'", "'1678-01-01'"],
    "timestamp_s": _DATES,
    "varchar collate nocase": _TEXTS[:4],
    "ubigint": ["18446744073709551615", "1"],
    "blob": ["'a'", r"'\xff'"],
    "bit": ["'101'"],
    "enum('a', 'b', '1')": ["'a'", "'1'"],
}


def query_of(kind: str, cells: Cells) -> str:
    """A query of such a column, and of one of numbers that say which rows they are."""
    kind, _, collation = kind.partition(" collate ")
    shown = f"x COLLATE {collation} AS x" if collation else "x"
    rows = [f"(CAST({cell} AS {kind}), {2.0**n}::float8, {n})" for n, cell in enumerate(cells)]
    listed = ", ".join([*rows, f"(CAST(NULL AS {kind}), 0::float8, -1)"])
    return f"SELECT {shown}, w FROM (VALUES {listed}) AS t(x, w, n) WHERE n >= 0 ORDER BY n"


def kinds() -> dict[str, Make]:
    found: dict[str, Make] = {"list": list, "tuple": tuple}
    found |= {f"CSV {kind.__name__}": partial(of_csv, kind) for kind in (str, float)}
    for kind in (*NUMPY, *NUMPY_TOO):
        made = found[f"numpy {kind}"] = partial(each_cast, kind)
        found[f"pandas numpy {kind}"] = lambda cells, m=made: pd.Series(m(cells), dtype=m.args[0])
        found[f"masked {kind}"] = partial(masked, kind)
    found["numpy strided"] = lambda cells: each_cast("f8", [*cells][::-1])[::-1]
    for kind in ("i8", "u8", "f4", "f8", "?"):
        for fill in (0, 1):
            found[f"sparse {kind} {fill}"] = lambda cells, k=kind, f=fill: pd.Series(
                pd.arrays.SparseArray(each_cast(k, cells), fill_value=np.dtype(k).type(f))
            )
        found[f"sparse {kind}"] = lambda cells, k=kind: pd.Series(
            pd.arrays.SparseArray(each_cast(k, cells))
        )
    for kind in PANDAS:
        found[f"pandas {kind}"] = partial(of_pandas, kind)
    for name, kind in ARROW.items():
        made = found[f"Arrow {name}"] = lambda cells, k=kind: pa.array([*cells], k)
        found[f"Arrow chunks {name}"] = partial(in_chunks, kind)
        found[f"Arrow dictionary {name}"] = lambda cells, m=made: m(cells).dictionary_encode()
        found[f"pandas Arrow {name}"] = lambda cells, m=made: pd.Series(
            pd.arrays.ArrowExtensionArray(m(cells))
        )
        # Of some of Python's objects polars itself makes a panic.
        found[f"polars {name}"] = lambda cells, m=made: pl.Series(pl.from_arrow(m(cells)))
    # Dates of files and of other libraries, which may be further away than Python's are.
    for kind in (pa.date32(), pa.date64(), *map(pa.timestamp, ("s", "ns"))):
        whole = pa.int32() if kind == pa.date32() else pa.int64()
        made = found[f"Arrow {kind} of numbers"] = lambda cells, w=whole, k=kind: pa.array(
            [*cells], w
        ).view(k)
        found[f"pandas Arrow {kind} of numbers"] = lambda cells, m=made: pd.Series(
            pd.arrays.ArrowExtensionArray(m(cells))
        )
    found["polars Object"] = lambda cells: pl.Series([*cells], dtype=pl.Object)
    for name, kind in (("int64", pl.Int128), ("string", pl.Categorical)):
        made = found[f"polars {name}"]
        found[f"polars {kind}"] = lambda cells, m=made, k=kind: m(cells).cast(k)
    return found


def holds(make: Make, cell) -> bool:
    try:
        made = make([cell])
        # Of a member of an enum polars makes its value, where it is the first.
        return len(made) == 1 and (getattr(made, "dtype", None) != pl.Object or made[0] is cell)
    except Exception:
        return False


KINDS = kinds()


@cache
def held(kind: str):
    """The cells that a type holds; all others are not a matter of ours."""
    with warnings.catch_warnings(action="ignore"):
        cells = [*CELLS, *SPELLED] if "CSV" in kind else CELLS
        return [cell for cell in cells if holds(KINDS[kind], cell)]


@cache
def levels(kind: str) -> pd.CategoricalDtype:
    """What a categorical may list, so that its type is public."""
    plain = [cell for cell in held(kind) if type(cell) in (int, float, bool, str)]
    listed = KINDS[kind]([each for each in plain if each != "\ud800"]).dropna().unique()
    return pd.CategoricalDtype(listed)


for name in ("pandas numpy i8", "pandas numpy f4", "pandas Int64", "pandas str", "pandas object"):
    KINDS[f"category of {name}"] = lambda cells, n=name: KINDS[n](cells).astype(levels(n))
