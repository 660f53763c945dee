"""CSV files by Arrow: the same cells and the same refusals as our own reader gives."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pytest

import opendp_lite as dp
from opendp_lite.engines import csv_file
from opendp_lite.engines.csv_arrow import _floats, _Watched

CELLS = [
    *("1", "-2.5", "+3", " 4 ", "1e3", "1E-400", "1e400", "inf", "-Infinity", ".5", "5."),
    *("", "NA", " NA ", "nan", "-nan", "NaN", '""', '"NA"', '" 6 "', "1_000", "１２", "1,5"),
    *('"8"', '"9\n"', '"1""2"', '"1"2', '1"2', '"', '""""', "text", "0.1", "123456789.123456789"),
    *("2.2250738585072011e-308", "9007199254740993", "179769313486231580793e289", "\ufffd"),
    *("1\x00", "\u00a07", "0x1p3", "nan(1)", "-nan(ind)"),
]
PLAIN = [cell for cell in CELLS if '"' not in cell and "," not in cell]


def outcome(data: Any) -> tuple[list[Any], str]:
    """The cells of the columns, and why they are refused if they are."""
    cells: list[Any] = []
    try:
        for block in data.open():
            numbers = block["x"].tobytes()
            cells.append((len(numbers), numbers, block["w"].cells.tolist()))
    except dp.DataError as problem:
        return [], str(problem)
    joined = b"".join(numbers for _, numbers, _ in cells)
    words = [word for _, _, words in cells for word in words]
    return [np.frombuffer(joined).tolist(), words], ""


def both(path: Path, table: bytes, **options: Any) -> tuple[list[Any], str]:
    """What the two readers give, which must be the same."""
    path.write_bytes(table)
    kinds = {"x": float, "w": str} if options.get("header", True) else {1: float, 2: str}
    found = []
    for source in (path, io.BytesIO(table)):
        try:
            data = dp.csv_table(source, kinds, **options)
        except dp.DataError as problem:
            found.append(([], str(problem)))
        else:
            found.append(outcome(data))
    assert repr(found[0]) == repr(found[1]), table
    return found[0]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_read_alike(tmp_path: Path, cell: str) -> None:
    for text in (cell, f"1,a\n{cell},b", f"{cell},{cell}\r\n1,a"):
        for more in ({}, {"text": "missing"}, {"na": ["text", "1"]}):
            both(tmp_path / "x.csv", f"x,w\n{text}\n".encode(), **more)


def test_tables_are_read_alike(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    path, refused = tmp_path / "x.csv", 0
    for trial in range(300):
        cells = PLAIN if trial % 2 else CELLS
        ends = ["\n", "\r\n", "\r", "\n\n", " \n", ",\n", ",x\n"][: 4 if trial % 3 else 7]
        rows = [
            ",".join(generator.choice(cells, 2)) + generator.choice(ends)
            for _ in range(generator.integers(0, 9))
        ]
        text = "x,w\n" + "".join(rows)
        if trial % 5 == 0:
            text = text.rstrip()
        refused += bool(both(path, text.encode(), text="missing" if trial % 7 else "refuse")[1])
    assert 20 < refused < 280


def test_bytes_that_are_no_text_and_packed_files(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for text in (b"x,w\n1,\xff\n\xff,b\n", b"\xef\xbb\xbfx,w\n1,a\n", b'\xef\xbb\xbf"x",w\n1,a\n'):
        both(path, text)
        both(path, gzip.compress(text))
    assert both(path, gzip.compress(b"x,w\n" + b"1,a\n" * 9999)[:-9])[1].startswith("the gzip file")


@pytest.mark.parametrize("place", [0, 7, 149_999])
@pytest.mark.parametrize("row", ['"1"x,a', "1,a,b", "1", '"1', "text,a", "1," + "a" * 2**21])
def test_an_odd_row_among_many(tmp_path: Path, place: int, row: str) -> None:
    lines = ["1.5,a"] * 150_000
    lines[place] = row
    cells, words = both(tmp_path / "x.csv", ("x,w\n" + "\n".join(lines)).encode())
    assert bool(words) == (row not in ("1", "1," + "a" * 2**21))
    assert "1.5" not in words
    assert cells == [] or len(cells[0]) == 150_000


def test_arrow_reads_plain_files_to_their_end(tmp_path: Path, monkeypatch: Any) -> None:
    def unused(*given: object) -> None:
        raise AssertionError("our own reader read rows")

    monkeypatch.setattr(csv_file._Table, "blocks", unused)
    path = tmp_path / "x.csv"
    path.write_text('x,w\n1,"a, ""b"""\n,NA\n"2","c\nd"\n')
    found = outcome(dp.csv_table(path, {"x": float, "w": str}))
    assert repr(found) == repr(([[1.0, np.nan, 2.0], ['a, "b"', None, "c\nd"]], ""))


def test_files_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1,a\n2,b\n")
    column = dp.csv_column(path, 1, header=False)
    assert [block.tolist() for block in column.open()] == [[1, 2]]
    path.write_text("x\n1\n\n2\n")
    assert [block.tolist() for block in dp.csv_column(path).open()] == [[1, 2]]


def test_without_pyarrow_our_own_reader_reads(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,w\n1,a\n2,b\n")
    monkeypatch.setattr(csv_file, "_arrow", lambda: None)
    assert outcome(dp.csv_table(path, {"x": float, "w": str})) == ([[1.0, 2.0], ["a", "b"]], "")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_quotes_are_seen_however_a_stream_is_cut(size: int) -> None:
    good = b'x,w\n"1","a"\n"","b""c"\n"""",\n2,"d\ne"\n'
    for text, plain in {
        good: True,
        good[:-2]: False,
        good + b'a"b,1\n': False,
        good + b'"a"b,1\n': False,
        good + b'"a""b,1\n': False,
        good + b'"a"""b",1\n': False,
        good + b'1, "a"\n': False,
        b'"x"': True,
        b'"': False,
        b'""': True,
        b'"""': False,
    }.items():
        watched = _Watched(io.BytesIO(text), b',\r\n"')
        while watched.read(size):
            pass
        assert watched.plain is plain, text


@pytest.mark.parametrize("numbers", [[1.5, None, -0.0, np.nan] * 5, [2.0] * 20, [None] * 20])
def test_numbers_of_any_slice_of_a_column(numbers: list[Any]) -> None:
    column = arrow.array(numbers, arrow.float64())
    for start in (0, 1, 7, 8, 9, 20):
        for count in (0, 1, 8, 11):
            part = column.slice(start, count)
            expected = part.to_numpy(zero_copy_only=False)
            np.testing.assert_array_equal(_floats(part), expected)


def test_bytes_that_are_no_text_are_not_shown(tmp_path: Path, monkeypatch: Any) -> None:
    """pyarrow fails in a callback at such a row, and Python prints what nobody can catch."""
    shown: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", shown.append)
    path = tmp_path / "x.csv"
    path.write_bytes(b"x,w,v\n1,a,b\n2,\xfd\n3,c,d\n")
    total = dp.select("x") >> dp.clamp(0, 9) >> dp.sum()
    assert total(dp.csv_table(path, {"x": float, "w": str})).tolist() == [6]
    assert not shown
