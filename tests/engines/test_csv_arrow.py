"""CSV files by Arrow: the same cells and refusals as our reader of any row gives."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest

import opendp_lite as dp
from opendp_lite.engines.files import csv as csv_file
from opendp_lite.engines.files import csv_arrow, csv_rows
from opendp_lite.engines.files.csv_arrow import _floats, _Watched

CELLS = [
    *("1", "-2.5", "+3", " 4 ", "1e3", "1E-400", "1e400", "inf", "-Infinity", ".5", "5."),
    *("", "NA", " NA ", "nan", "-nan", "NaN", '""', '"NA"', '" 6 "', "1_000", "１２", "1,5"),
    *('"8"', '"9\n"', '"1""2"', '"1"2', '1"2', '"', '""""', "text", "0.1", "123456789.123456789"),
    *("2.2250738585072011e-308", "9007199254740993", "179769313486231580793e289", "\ufffd"),
    *("1\x00", "\u00a07", "0x1p3", "nan(1)", "-nan(ind)"),
]
PLAIN = [cell for cell in CELLS if '"' not in cell and "," not in cell]


@pytest.fixture(autouse=True)
def blocks_shorter_than_files(monkeypatch) -> None:
    """Files of these tests are cut into several blocks, as longer ones are."""
    monkeypatch.setattr(csv_arrow, "_BLOCK_BYTES", 2**18)


def outcome(data):
    """The cells of the columns, and why they are refused if they are."""
    cells = []
    try:
        for block in data.open():
            numbers = block["x"].tobytes()
            cells.append((len(numbers), numbers, block["w"].column.tolist()))
    except dp.DataError as problem:
        return [], str(problem)
    joined = b"".join(numbers for _, numbers, _ in cells)
    words = [word for _, _, words in cells for word in words]
    return [np.frombuffer(joined).tolist(), words], ""


def by_us(source, **options):
    """What a source gives: a file by Arrow where its rows are plain, and a stream row by row."""
    kinds = {"x": float, "w": str} if options.get("header", True) else {1: float, 2: str}
    try:
        return outcome(dp.csv_table(source, kinds, **options))
    except dp.DataError as problem:
        return [], str(problem)


def both(path: Path, table: bytes, **options):
    """What both readers give, which must be the same."""
    path.write_bytes(table)
    expected = by_us(io.BytesIO(table), **options)
    assert repr(by_us(path, **options)) == repr(expected), table
    return expected


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_read_alike(tmp_path, cell):
    for text in (cell, f"1,a\n{cell},b", f"{cell},{cell}\r\n1,a"):
        for more in ({}, {"text": "missing"}, {"na": ["text", "1"]}):
            both(tmp_path / "x.csv", f"x,w\n{text}\n".encode(), **more)


def test_tables_are_read_alike(tmp_path):
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


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\r\r\n", "\n\r\n", "\r\r\n\r\n"])
def test_ends_of_lines_between_quotes_are_kept_where_a_block_ends(tmp_path, monkeypatch, ends):
    """Arrow leaves out a line feed that begins a block: other rows decided on such a cell."""
    table = "".join(f'1,"a{ends}{"b" * place}"{ends}' for place in range(9))
    for size in range(9, 40):
        monkeypatch.setattr(csv_arrow, "_BLOCK_BYTES", size)
        both(tmp_path / "x.csv", f"x,w\r\n{table}".encode())
    watched = _Watched(io.BytesIO(table.encode()), b',\r\n"')
    cut = list(iter(lambda: watched.read(1 + len(ends)), b""))
    assert b"".join(cut).decode() == table
    assert all(len(part) <= 1 + len(ends) for part in cut)


def test_bytes_that_are_no_text_and_packed_files(tmp_path):
    path = tmp_path / "x.csv"
    for text in (b"x,w\n1,\xff\n\xff,b\n", b"\xef\xbb\xbfx,w\n1,a\n", b'\xef\xbb\xbf"x",w\n1,a\n'):
        both(path, text)
        both(path, gzip.compress(text))
    assert both(path, gzip.compress(b"x,w\n" + b"1,a\n" * 9999)[:-9])[1].startswith("the gzip file")


LONG = "1," + "a" * 2**17
"""A row that no block holds."""


@pytest.mark.parametrize("place", [0, 7, 8999])
@pytest.mark.parametrize("row", ['"1"x,a', "1,a,b", "1", '"1', "text,a", LONG])
def test_an_odd_row_among_many(tmp_path, monkeypatch, place, row):
    """In blocks of a sixteenth of their size."""
    monkeypatch.setattr(csv_arrow, "_BLOCK_BYTES", csv_arrow._BLOCK_BYTES // 16)
    monkeypatch.setattr(csv_rows, "_BLOCK_ROWS", 4096)
    lines = ["1.5,a"] * 9000
    lines[place] = row
    cells, words = both(tmp_path / "x.csv", ("x,w\n" + "\n".join(lines)).encode())
    assert bool(words) == (row not in ("1", LONG))
    assert "1.5" not in words
    assert cells == [] or len(cells[0]) == 9000


def test_plain_files_are_read_to_their_end(tmp_path, monkeypatch):
    def unused(*given: object) -> None:
        raise AssertionError("our own reader read rows")

    monkeypatch.setattr(csv_rows.CsvTable, "blocks", unused)
    path = tmp_path / "x.csv"
    path.write_bytes(b'x,w\r\n1,"a, ""b"""\r\n\r\n,NA\r\n"2","c\nd"')
    found = by_us(path)
    assert repr(found) == repr(([[1.0, np.nan, 2.0], ['a, "b"', None, "c\nd"]], ""))


def test_files_without_a_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,a\n2,b\n")
    column = dp.csv_column(path, 1, header=False)
    assert [block.tolist() for block in column.open()] == [[1, 2]]
    path.write_text("x\n1\n\n2\n")
    assert [block.tolist() for block in dp.csv_column(path).open()] == [[1, 2]]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_rows_are_read_alike_however_a_stream_is_cut(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv_arrow, "_BLOCK_BYTES", size)
    rows = [b"x,w", b'1.5,"a, ""b"""', b'"-2",', b"", b'NA,"c\r\nd"', b'+.5e1,"\xc3\xa9"']
    for end in (b"\n", b"\r\n", b"\r"):
        for table in (end.join(rows), end.join([*rows, b"3"]), end.join([*rows, b'4,"']), end):
            both(tmp_path / "x.csv", table)


def test_files_are_read_row_by_row_where_pyarrow_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp_lite.engines.files.csv_arrow", None)
    csv_file._quick_reader.cache_clear()
    try:
        assert csv_file._quick_reader() is None
        assert both(tmp_path / "x.csv", b'x,w\n1.5,"a, b"\n,c\n')[0][1] == ["a, b", "c"]
    finally:
        csv_file._quick_reader.cache_clear()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_quotes_are_seen_however_a_stream_is_cut(size):
    good = b'x,w\n"1","a"\n"","b""c"\n"""",\n2,"d\ne"\n'
    odd = (b'a"b,1\n', b'"a"b,1\n', b'"a""b,1\n', b'"a"""b",1\n', b'1, "a"\n')
    texts = dict.fromkeys((good[:-2], b'"', b'"""', *(good + row for row in odd)), False)
    for text, plain in {good: True, b'"x"': True, b'""': True, **texts}.items():
        watched = _Watched(io.BytesIO(text), b',\r\n"')
        while watched.read(size):
            pass
        assert watched.plain is plain, text


@pytest.mark.parametrize("numbers", [[1.5, None, -0.0, np.nan] * 5, [2.0] * 20, [None] * 20])
def test_numbers_of_any_slice_of_a_column(numbers):
    column = arrow.array(numbers, arrow.float64())
    for start in (0, 1, 7, 8, 9, 20):
        for count in (0, 1, 8, 11):
            part = column.slice(start, count)
            expected = part.to_numpy(zero_copy_only=False)
            np.testing.assert_array_equal(_floats(part), expected)


def test_bytes_that_are_no_text_are_not_shown(tmp_path, monkeypatch):
    """pyarrow fails in a callback at such a row, and Python prints what nobody can catch."""
    shown = []
    monkeypatch.setattr("sys.unraisablehook", shown.append)
    path = tmp_path / "x.csv"
    path.write_bytes(b"x,w,v\n1,a,b\n2,\xfd\n3,c,d\n")
    total = dp.select("x") >> dp.clamp(0, 9) >> dp.sum()
    table = dp.csv_table(path, {"x": float, "w": str})
    assert total(table).tolist() == [6]
    assert sum(sum(block["x"]) for block in table.open()) == 6
    assert not shown


@pytest.mark.parametrize("cell", [" -99", "-99 ", "\u00a0-99", '" -99"'])
def test_a_mark_with_space_around_it_is_missing_whatever_the_other_cells_are(tmp_path, cell):
    """One cell of text decided whether marks in other rows of its block counted as numbers."""
    for other, total in (("2", 2.0), ("some text", 0.0), ("", 0.0), (" 3", 3.0)):
        table = f"x,w\n{cell},a\n{other},b\n".encode()
        blocks, _ = both(tmp_path / "x.csv", table, na=["-99"], text="missing")
        assert blocks, table
        column = dp.csv_column(tmp_path / "x.csv", "x", na=["-99"], text="missing")
        assert (dp.clamp(-100, 100) >> dp.sum())(column) == total
