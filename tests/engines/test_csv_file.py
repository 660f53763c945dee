"""A column of a CSV or Parquet file, and that its values never show."""

import csv
import gc
import gzip
import io
import os
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.blocks import FileColumn
from opendp_lite.engines.data.source import BLOCK_ENTRIES
from opendp_lite.engines.files import csv as csv_file
from opendp_lite.engines.files import csv_arrow, csv_rows
from opendp_lite.engines.files.cells import MISSING
from opendp_lite.engines.files.csv import csv_column
from opendp_lite.engines.files.csv_rows import LONGEST_CELL
from tests.engines import refusals

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def blocks_shorter_than_files(monkeypatch):
    """Files of these tests are cut into several blocks, as longer ones are."""
    monkeypatch.setattr(csv_arrow, "_BLOCK_BYTES", 2**15)
    monkeypatch.setattr(csv_rows, "_BLOCK_ROWS", csv_rows._BLOCK_ROWS // 8)


def read(data: str | bytes, column: str | None = None, **options) -> list[float]:
    """The values of a column of this text."""
    data = data.encode() if isinstance(data, str) else data
    return values(csv_column(io.BytesIO(data), column, **options))


def values(column: FileColumn) -> list[float]:
    blocks = list(column.open())
    assert all(block.dtype == np.float64 and block.ndim == 1 for block in blocks)
    return [float(value) for block in blocks for value in block]


def refusal(data: str | bytes, column: str | None = None, **options) -> str:
    """The message of the ``DataError``, which names no value in any part of its traceback."""
    return refusals.refusal(lambda: read(data, column, **options), secret=SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,5\n2.5,6\n-3e2,7\n",
        "x,y\n1,5\n2.5,6\n-3e2,7",
        "x,y\r\n1,5\r\n2.5,6\r\n-3e2,7\r\n",
        "x,y\r1,5\r2.5,6\r-3e2,7\r",
        "\ufeffx,y\n1,5\n2.5,6\n-3e2,7\n",
        '\ufeff"x","y"\n"1","5"\n"2.5","6"\n"-3e2","7"\n',
        " x , y \n 1 , 5\n\t2.5\t,6\n+-3e2,7\n".replace("+-", "-"),
        "x,y\n\n1,5\n\n\n2.5,6\n-3e2,7\n\n\n",
        "x,y\n1,5,\n2.5,6,,\n-3e2,7\n",
        "\n\nx,y\n1\n2.5\n-3e2\n",
        'x,y\n1,"a, b"\n2.5,"two\nlines"\n-3e2,"""quoted"""\n',
    ],
)
def test_shapes_of_the_same_table(text):
    assert read(text, "x") == [1.0, 2.5, -300.0]
    assert read(gzip.compress(text.encode()), "x") == [1.0, 2.5, -300.0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiter(delimiter):
    assert read("a,b\n1,2\n3,4\n".replace(",", delimiter), "b", delimiter=delimiter) == [2, 4]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "\r", None, b","])
def test_delimiter_that_cannot_be(delimiter):
    with pytest.raises(dp.ParameterError, match=r"^delimiter must be one character"):
        read("a\n1\n", delimiter=delimiter)


OTHER_SPELLINGS = ["  ", " NA ", '""', '" "', "-nan", "NAN", "-99"]


@pytest.mark.parametrize("mark", [*sorted(MISSING), *OTHER_SPELLINGS])
def test_missing_cells(mark):
    found = read(f"a,b\n1,2\n3,{mark}\n5,6\n", "b", na=["-99", " gone "])
    assert found[::2] == [2.0, 6.0]
    assert np.isnan(found[1])
    assert not np.signbit(found[1])


def test_marks_are_added_and_meant_exactly():
    found = read("a\n-99\n-99.0\n gone\nNA\n", na=["-99", "gone"])
    assert np.isnan(found).tolist() == [True, False, True, True]


@pytest.mark.parametrize("na", ["-99", b"-99", -99, [-99], None, {"-99": "a"}])
def test_marks_are_a_list_of_texts(na):
    """Else the letters of one would be marks: a 9 would be missing and -99 would count."""
    with pytest.raises(dp.ParameterError, match=r"^na takes a list of texts: write na=\['-99'\]"):
        read("v\n9\n-99\n5\n", "v", na=na)


@pytest.mark.parametrize("header", ["no", 0, 1, np.False_])
def test_what_says_nothing_of_a_header_is_refused_before_the_first_line_is_read(header):
    stream = io.BytesIO(f"{SECRET},12\n".encode())
    with pytest.raises(dp.ParameterError, match=r"header=False that it is data") as refused:
        csv_column(stream, "v", header=header)
    assert SECRET not in str(refused.value)
    assert stream.tell() == 0


def test_text_is_one_of_two_words():
    for text in ("ignore", None, np.array(["refuse", "missing"])):
        with pytest.raises(dp.ParameterError, match=r"^text must be 'refuse' or 'missing'"):
            read("v\n1\n", text=text)


def test_a_source_is_a_path_or_a_stream_of_bytes():
    for source in (b"v\n1\n", None, ["a.csv"], io.StringIO("v\n1\n"), np.ones(1)):
        for reads in (csv_column, lambda source: dp.csv_table(source, {"v": float})):
            with pytest.raises(dp.ParameterError, match=r"^a source is a path, or an open binary"):
                reads(source)
    with pytest.raises(FileNotFoundError, match=r"there is no file 'a\\x00b'"):
        csv_column("a\0b")


def test_short_rows_and_empty_lines():
    assert np.isnan(read("a,b\n1,2\n3\n\n4,5\n", "b")).tolist() == [False, True, False]
    assert read("a,b\n1,2\n3\n\n4,5\n", "a") == [1, 3, 4]


def test_numbers_of_every_size():
    text = "x\ninf\n-inf\nInfinity\n1e400\n-1e400\n5e-324\n1e-400\n00012\n.5\n5.\n" + "9" * 400
    inf = np.inf
    assert read(text) == [inf, -inf, inf, inf, -inf, 5e-324, 0.0, 12.0, 0.5, 5.0, inf]


TEXTS = [SECRET, f"12 {SECRET}", "True", "$5", "5%", "0x10", "1e"]
SEPARATED = ['"1,234"', "1 234", "1_234", '"1,5"', "1.234.5"]


@pytest.mark.parametrize("cell", [*TEXTS, *SEPARATED])
def test_text_is_refused_and_not_shown(cell):
    for before in (0, 7, BLOCK_ENTRIES + 5):
        message = refusal("a,x\n" + "1,2\n" * before + f"1,{cell}\n", "x")
        assert message.startswith("column 'x' holds text, not numbers. ")
        assert cell.strip('"') not in message.replace("1234.5", "")
        assert not set("6789") & set(message), "neither a place nor a number of rows"
    assert refusal(f"a,x\n1,{cell}\n", "x") == message


def test_text_in_other_columns_is_not_looked_at():
    assert read("a,x\nfoo,1\n\xff,2\n".encode("latin-1"), "x") == [1.0, 2.0]


def test_undecodable_bytes_in_the_column_are_text():
    assert "holds text" in refusal(b"x\n1\xff\n")


def long_name(data: bytes) -> bytes:
    """Packed under a name that fills a buffer."""
    packed = io.BytesIO()
    with gzip.GzipFile("n" * 9000, "wb", fileobj=packed, mtime=0) as file:
        file.write(data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "the file is empty; its first line must hold the names of the columns"),
        ("\n\n", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (f"x,y\n{SECRET},1,2\n", "more cells than the first line"),
        ("x,y\n1,234,5\n", "more cells than the first line"),
        (f'x,y\n1,2\n3,"{SECRET}\n4,5\n', "not proper CSV"),
        (f'x,y\n1,2\n3,"a"{SECRET}\n4,5\n', "not proper CSV"),
        (f"x,y\n1,{'h' * (LONGEST_CELL + 1)}\n", "longer than 16 million"),
        (b"PK\x03\x04" + SECRET.encode(), "an Excel workbook"),
        (b"PAR1" + SECRET.encode(), "a Parquet file"),
        (b"\xff\xfex\x00", "UTF-16 text; save it as UTF-8"),
        (b"\x28\xb5\x2f\xfd..", "packed with zstandard"),
        (gzip.compress("x\n1\n".encode("utf-16"), mtime=0), "UTF-16 text; save it as UTF-8"),
        (gzip.compress(b"PAR1" + SECRET.encode(), mtime=0), "a Parquet file"),
        (gzip.compress(gzip.compress(b"x\n1\n", mtime=0), mtime=0), "packed with gzip twice"),
        (
            gzip.compress(b"", mtime=0) + gzip.compress(b"\xff\xfex\0", mtime=0),
            "UTF-16 text; save it as UTF-8",
        ),
        (long_name(b"\xff\xfex\0"), "UTF-16 text; save it as UTF-8"),
    ],
)
def test_other_files(data, message):
    assert message in refusal(data, "x")


class Drop(io.RawIOBase):
    """A pipe that gives one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def readable(self):
        return True

    def readinto(self, buffer):
        found, self.left = self.left[:1], self.left[1:]
        buffer[: len(found)] = found
        return len(found)


def test_a_pipe_of_single_bytes_is_unpacked():
    for data in (b"x\n1\n2\n", gzip.compress(b"x\n1\n2\n")):
        assert values(csv_column(Drop(data), "x")) == [1, 2]
    with pytest.raises(dp.DataError, match="UTF-16"):
        csv_column(Drop("x\n1\n".encode("utf-16")), "x")


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_broken_gzip(cut):
    noise = np.random.default_rng(1).normal(size=20000)
    packed = gzip.compress(("x\n" + "\n".join(map(repr, noise.tolist()))).encode())
    assert "gzip file is damaged" in refusal(packed[: int(cut * len(packed))], "x")
    flipped = bytearray(packed)
    flipped[-6] ^= 1
    assert "gzip file is damaged" in refusal(bytes(flipped), "x")


def test_column_is_named_or_the_only_one():
    assert read("x\n1\n") == [1.0]
    assert csv_column(io.BytesIO(b"a, size \n1,2\n"), "size ").name == "size"
    assert refusal("a,b\n1,2\n", header=True) == (
        "choose a column (column=...); the columns are 'a', 'b'"
    )


def test_a_name_that_you_neither_typed_nor_declared_is_not_told():
    """The first line of a file without header may be a person's value."""
    assert csv_column(io.BytesIO(b" size \n1\n")).name == ""
    assert csv_column(io.BytesIO(b" size \n1\n"), header=True).name == "size"
    assert csv_column(io.BytesIO(b"5,1\n"), 2, header=False).name == "2"


@pytest.mark.parametrize(
    ("header", "wanted", "message"),
    [
        ("visits,age", "vists", "'vists'; did you mean 'visits'? The columns are 'visits'"),
        ("visits,age", "AGE", "'AGE'; did you mean 'age'? The columns are 'visits', 'age'"),
        ("visits,age", "zzz", "no column 'zzz'; the columns are 'visits', 'age'"),
        ("visits", "zzz", "no column 'zzz'; the column is 'visits'"),
        (",visits", "zzz", "no column 'zzz'; the column is 'visits'"),
        ("age,age", "age", "two columns have the name 'age'"),
        ("age,age,7", "age", "two columns have the name 'age'"),
        ("a;b", "a", "holds ';' and not ',' between the names of the columns; try delimiter=';'"),
        ("a\tb", "a", "try delimiter='\\t'"),
        ("a;b", None, "try delimiter=';'"),
        (",".join(f"c{i}" for i in range(50)), "zzz", "'c19' and 30 more"),
    ],
)
def test_column_that_is_not_among_declared_names(header, wanted, message):
    assert message in refusal(f"{header}\n1,2\n", wanted, header=True)


BESIDE = ["41", "NA", "", "$5", "-1", "2020-01-01", "a\x1b[31m", "age2,Alice", "AGE"]
HEADLESS = [
    *(f"{SECRET},{cell}".encode() for cell in BESIDE),
    *(f"Alice {SECRET},HIV positive".encode(), f"{SECRET};age".encode(), SECRET.encode()),
    *(b"41", b"2", b"age\t41", b"\xff" + SECRET.encode() + b",a"),
]


@pytest.mark.parametrize("row", HEADLESS)
@pytest.mark.parametrize("column", ["age", "2", None])
def test_nothing_of_a_first_line_shows(row, column):
    """The refusal is the same text whatever the first line holds."""
    if column is None and b"," not in row:
        row += b",x"
    assert refusal(row + b"\n" + row + b"\n", column) == refusal("a,41\n", column)


NASTY = [
    *("Zoe Quux", "zquux", "ZQUUX", "zquux;zage", "zquux\tzage", "zquux|positive", "", "77177"),
    *("-77177.5", "NA", '"zquux, zage"', '"zquux', 'z"quux', '"zquux"z', "\x1b[31mzquux"),
    *("\x00zquux", "\ufffdzquux", "\u202ezquux", "77177-01-01", "=zquux()", "_zquux"),
]


def test_no_cell_shows_in_any_refusal():
    """800 random tables, read in all ways but with a declared header; the seed is fixed."""
    random = np.random.default_rng(5)
    refused = 0
    for _ in range(800):
        rows, columns = random.integers(1, 4), random.integers(1, 5)
        text = "\n".join(",".join(random.choice(NASTY, columns)) for _ in range(rows))
        headless = bool(random.integers(2))
        column = random.choice([None, 1, 2, 9] if headless else [None, "age", "2", "zag", "zage"])
        try:
            read(
                text,
                column,
                header=False if headless else None,
                delimiter=random.choice([",", ";", "\t"]),
                text=random.choice(["refuse", "missing"]),
            )
        except dp.DataError as problem:
            message = "".join(traceback.format_exception(problem))
            message = message.replace(repr(column), "").lower()
            refused += 1
            assert not [word for word in ("quux", "zage", "77177", "positive") if word in message]
    assert refused > 400


@pytest.mark.parametrize(
    ("text", "column"), [("1,2\n3,4\n", "2"), ("Ann,2\nBob,4\n", "Ann"), (",x\n1,2\n", "x")]
)
def test_a_value_of_the_first_row_is_no_name(text, column):
    """Only a line of names is a header, also where a value of it is what you asked for."""
    assert "names no column" in refusal(text, column)


def test_unusual_names_are_declared():
    assert read("2019,2020\n1,2\n", "2020", header=True) == [2.0]
    assert read(",x\n1,2\n", "x", header=True) == [2.0]
    assert read(",x\n1,2\n", "", header=True) == [1.0]
    assert read("Age at visit (years),x\n1,2\n", "Age at visit (years)") == [1.0]


def test_without_a_header_the_first_line_is_data():
    assert read("1,2\n3,4\n5,6\n", 2, header=False) == [2, 4, 6]
    assert read("1\n3\n", header=False) == [1, 3]
    assert read("", 7, header=False) == read("\n", header=False) == []
    assert "holds text" in refusal(f"1,{SECRET}\n3,4\n", 2, header=False)
    assert np.isnan(read(f"1,{SECRET}\n3\n", 2, header=False, text="missing")).all()


@pytest.mark.parametrize(
    ("column", "message"),
    [(3, "no column 3: the first line has fewer cells"), (None, "choose a column by its number")],
)
def test_numbers_that_are_no_column(column, message):
    assert message in refusal(f"{SECRET},2\n", column, header=False)


@pytest.mark.parametrize(
    ("column", "header"),
    [
        *((column, False) for column in ("x", 0, -1, True, 1.5, ["x"])),
        *((1, header) for header in (None, True)),
    ],
)
def test_names_go_with_a_header_and_numbers_without(column, header):
    with pytest.raises(dp.ParameterError, match=r"header=False"):
        read("x\n1\n", column, header=header)


FAULTS = {
    "text": f"1,{SECRET}",
    "extra cells": f"1,2,{SECRET}",
    "a quote within": f'1,"2"{SECRET}',
}


class Watched(io.BytesIO):
    """A stream that knows whether it was read to its end."""

    at_end = False

    def read(self, size: int = -1) -> bytes:
        got = super().read(size)
        self.at_end = not got
        return got


def until_refused(column: FileColumn) -> tuple[int, str]:
    """The rows that are gone through before a refusal, and its message."""
    rows, blocks = 0, iter(column.open())
    while True:
        try:
            rows += len(next(blocks))
        except dp.DataError as refused:
            return rows, str(refused)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("header", [True, False])
def test_a_refusal_comes_after_the_whole_file(fault, header):
    """As many blocks are gone through before the refusal wherever the fault stands."""
    places, top = (0, 9_000, 24_999), "x,y\n" if header else "1,2\n"
    seen = set()
    for place in places:
        lines = ["1,2"] * 25_000
        lines[place] = fault
        stream = Watched((top + "\n".join(lines)).encode())
        column = csv_column(stream, "y" if header else 2, header=header)
        rows, message = until_refused(column)
        assert stream.at_end
        assert SECRET not in message
        seen.add((round(rows, -1), message))
    assert len(seen) == 1


def test_an_open_quote_is_refused_after_the_whole_file(monkeypatch):
    """As many cells are read, though the quote swallows those after it."""
    cells, numbers = [], csv_rows.CsvTable.cells
    monkeypatch.setattr(
        csv_rows.CsvTable,
        "cells",
        lambda table, place, found: cells.extend(found) or numbers(table, place, found),
    )
    for place in (0, 5, 19_999):
        cells.clear()
        lines = ["1,2"] * 20_000
        lines[place] = f'1,"{SECRET}'
        stream = Watched(("x,y\n" + "\n".join(lines)).encode())
        assert "not proper CSV" in until_refused(csv_column(stream, "y"))[1]
        assert stream.at_end
        assert abs(len(cells) - 20_000) <= 5
    stream = Watched((f'"{SECRET}"x,y\n' + "1,2\n" * 20_000).encode())
    with pytest.raises(dp.DataError, match="not proper CSV"):
        csv_column(stream, "y")
    assert stream.at_end


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_broken_quote_is_named_whatever_size_is_declared(place):
    lines = ["1,2", "3,4", "5,6"]
    lines[place] = f'1,"{SECRET}'
    space = dp.records(size=3, metric=dp.ChangeOneDistance())
    column = csv_column(io.BytesIO("\n".join(["x,y", *lines]).encode()), "y")
    with pytest.raises(dp.DataError, match="not proper CSV"):
        (space >> dp.clamp(0, 1) >> dp.sum())(column)


def test_which_of_several_faults_is_named_does_not_tell_their_order():
    lines = list(FAULTS.values())
    for order in (lines, lines[::-1], lines[1:] + lines[:1]):
        assert "not proper CSV" in refusal("x,y\n" + "\n".join(order), "y")
    lines = lines[:2]
    for order in (lines, lines[::-1]):
        assert "more cells" in refusal("x,y\n" + "\n".join(order), "y")


def test_text_may_count_as_missing():
    cells = [*TEXTS, *SEPARATED]
    found = read("a,x\n" + "".join(f"1,{cell}\n" for cell in cells) + "1,5\n", "x", text="missing")
    assert np.isnan(found).tolist() == [True] * len(cells) + [False]
    with pytest.raises(dp.ParameterError, match="text must be"):
        read("x\n1\n", text="drop")


def test_a_long_cell_of_another_column_is_read():
    """The limit of the csv module, which is one for the whole process, is not touched."""
    limit = csv.field_size_limit()
    assert read(f"x,y\n1,{'h' * 1_000_000}\n2,3\n", "x") == [1.0, 2.0]
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error):
        list(csv.reader(["h" * (limit + 1)]))


def test_header_only():
    assert read("x,y\n", "y") == []
    assert read("x") == []


def test_a_path_can_be_gone_through_again(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    column = csv_column(path, "y")
    assert values(column) == values(column) == [2.0, 4.0]
    assert values(csv_column(str(path), "y")) == [2.0, 4.0]
    assert (dp.clamp(0, 10) >> dp.sum())(column).tolist() == [6.0]


@pytest.mark.parametrize("reader", [csv_arrow.ArrowRows, None])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("row", ["3,4", "3"])
@pytest.mark.parametrize("several", [False, True])
def test_a_file_that_grows_is_refused(tmp_path, monkeypatch, reader, packed, row, several):
    """The row that is too short is left to the reader that goes row by row."""
    monkeypatch.setattr(csv_file, "_quick_reader", lambda: reader)
    path = tmp_path / "data.csv"
    path.write_bytes(packed(f"x,y\n1,2\n{row}\n".encode()))
    (tmp_path / "other.csv").write_text("x,y\n7,8\n")
    written = path.stat()
    column = csv_column(tmp_path if several else path, "x", text="missing", header=True)
    assert values(column) == [1.0, 3.0, *[7.0] * several]
    halfway = iter(column.open())
    next(halfway)
    with path.open("ab") as stream:
        stream.write(packed(b"5,6\n"))
    words = f"{'data.csv: ' * several}the file was written anew since it was opened; open it again"
    with pytest.raises(dp.DataError, match=words):
        list(halfway)
    with pytest.raises(dp.DataError, match=words):
        dp.mean(0, 9, epsilon=1, confidence=None)(column)
    path.write_bytes(packed(f"x,y\n2,2\n{row}\n".encode()))
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns + 1))
    with pytest.raises(dp.DataError, match=words):
        dp.mean(0, 9, epsilon=1, confidence=None)(column)


@pytest.mark.parametrize("address", ["https://name:hunter2@a.invalid/*.csv", "s3://hunter2/a.csv"])
def test_an_address_is_refused_in_words(address):
    for opens, sources in (
        (lambda source: csv_column(source, "x"), (address, Path(address))),
        (lambda source: dp.csv_table(source, {"x": float}), (address, Path(address))),
        # Arrow asks the store that s3: names.
        (dp.parquet, (Path(address),) if address.startswith("s3") else (address, Path(address))),
    ):
        for source in sources:
            with pytest.raises(dp.DataError, match="download it first") as caught:
                opens(source)
            assert SECRET not in str(caught.value)
    with pytest.raises(dp.DataError, match="download it first"):
        dp.parquet(["a.parquet", address])


@pytest.mark.parametrize(
    "opens", [csv_column, lambda stream: dp.csv_table(stream, {"x": str})], ids=["column", "table"]
)
def test_a_stream_can_be_gone_through_once(opens):
    column = opens(io.BytesIO(b"x\n1\n2\n"))
    assert len(list(column.open())) == 1
    for _ in range(2):
        with pytest.raises(dp.DataError, match=r"only once.* save the data to a file"):
            column.open()


def test_a_pipe_is_read_once_and_from_its_start(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = "x\n" + "1\n" * 50000
    writer = threading.Thread(target=path.write_text, args=[text])
    writer.start()
    column = csv_column(path)
    assert len(values(column)) == 50000
    writer.join()
    with pytest.raises(dp.DataError, match="only once"):
        column.open()


def test_files_are_closed(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x\n1\n2\n")
    column = csv_column(path)
    half_read = iter(column.open())
    next(half_read)
    del half_read
    with pytest.raises(dp.DataError):
        csv_column(path, "zzz")
    gc.collect()


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        csv_column(tmp_path / "none.csv")
    with pytest.raises(dp.DataError, match="there is no file in '"):
        csv_column(tmp_path)
    with pytest.raises(dp.DataError, match="there is no file '"):
        csv_column(tmp_path / "*.csv")


@pytest.mark.parametrize("rows", [BLOCK_ENTRIES - 1, BLOCK_ENTRIES, 2 * BLOCK_ENTRIES + 3])
def test_blocks_join_to_the_whole(rows):
    column = csv_column(io.BytesIO(("x\n" + "\n".join(map(str, range(rows)))).encode()))
    blocks = list(column.open())
    assert max(map(len, blocks)) <= BLOCK_ENTRIES
    assert np.array_equal(np.concatenate(blocks), np.arange(rows))


def test_size_is_checked_without_saying_the_true_one(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x\n" + "1\n" * 777)
    pipeline = dp.clamp(0, 2) >> dp.sum()
    fitting = dp.records(size=777, metric=dp.ChangeOneDistance()) >> pipeline
    assert fitting(csv_column(path)).tolist() == [777.0]
    for size in (776, 778):
        space = dp.records(size=size, metric=dp.ChangeOneDistance())
        with pytest.raises(dp.DataError) as caught:
            (space >> pipeline)(csv_column(path))
        assert "777" not in str(caught.value)


def test_a_file_that_is_gone_is_named(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("x\n1\n")
    total = dp.clamp(0, 9) >> dp.sum()
    one, several = dp.csv_column(tmp_path / "b.csv"), dp.csv_column(tmp_path)
    assert (total(one), total(several)) == (1, 3)
    (tmp_path / "b.csv").unlink()
    for column, words in ((one, "^the file is no longer"), (several, r"b\.csv: the file is no l")):
        with pytest.raises(dp.DataError, match=words):
            total(column)
