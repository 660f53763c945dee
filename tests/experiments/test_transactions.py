"""Files of transactions, and drawn ones of the same shape."""

import gzip
import itertools

import numpy as np
import pytest

import opendp_lite as dp
from transactions import KOSARAK, POS, Shape, read_transactions, synthetic_transactions

WANTED = [[1, 1, 0], [0, 1, 1], [1, 0, 0]]
BASKETS = "3 7\n7 12 7\n3\n"


@pytest.fixture
def file(tmp_path):
    """Writes a file of this text."""

    def write(text: str, name: str = "baskets.dat"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (BASKETS, None),
        (BASKETS, "baskets"),
        ("\n" + BASKETS + "\n", None),
        ("1,3\n1,7\n2,7\n2,12\n2,7\n9,3\n", None),
        ("transaction,item\n1,3\n1,7\n2,7\n2,12\n9,3\n", None),
        ("1\t3\n1\t7\n2\t7\n2\t12\n9\t3\n", None),
        ("1 3\n1 7\n2 7\n2 12\n9 3\n", "pairs"),
        ("transaction item\n1 3\n1 7\n2 7\n2 12\n9 3\n", "pairs"),
    ],
)
def test_layouts(file, text, layout):
    found = read_transactions(file(text), layout)
    assert found.format == "csr"
    assert found.toarray().tolist() == WANTED


def test_compressed(tmp_path):
    path = tmp_path / "baskets.dat.gz"
    path.write_bytes(gzip.compress(BASKETS.encode()))
    assert read_transactions(path).toarray().tolist() == WANTED


def test_columns_of_a_public_list(file):
    found = read_transactions(file(BASKETS), items=[12, 5, 3])
    assert found.toarray().tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]


def test_more_than_the_lines_that_decide_the_layout(file):
    rows = [sorted({row % 7, row % 5, 9}) for row in range(250)]
    found = read_transactions(file("\n".join(" ".join(map(str, row)) for row in rows)))
    assert found.shape == (250, 8)
    assert found.sum() == sum(map(len, rows))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n3 4\n", r'say layout="pairs" or layout="baskets"'),
        ("1 2 3\n4 five\n", "line 2: it should hold item numbers"),
        ("1,2\n3,4,5\n", "line 2: it should hold a transaction number and an item number"),
        ("1,2\nx,y\n", "line 2: it should hold a transaction number"),
    ],
)
def test_bad_lines(file, text, words):
    with pytest.raises(dp.DataError, match=words):
        read_transactions(file(text))


def test_empty_file(file):
    assert read_transactions(file("")).shape == (0, 0)


def test_the_published_shapes():
    assert (KOSARAK.rows, KOSARAK.columns, KOSARAK.ones) == (75462, 27983, 4194414)
    assert (POS.rows, POS.columns, POS.ones) == (515596, 1657, 3367019)


def test_synthetic_shape_and_skew():
    shape = Shape(2000, 300, 20_000)
    found = synthetic_transactions(shape, seed=1)
    assert found.shape == (2000, 300)
    assert found.sum() == found.nnz == 20_000
    assert set(found.data) == {1.0}
    columns, rows = found.sum(axis=0), found.sum(axis=1)
    assert columns[:5].mean() > 10 * columns[-100:].mean()
    assert rows.min() >= 1
    assert np.quantile(rows, 0.95) > 2 * np.median(rows)
    again = synthetic_transactions(shape, seed=1)
    assert (found != again).nnz == 0
    assert (found != synthetic_transactions(shape, seed=2)).nnz > 0


def test_too_full():
    with pytest.raises(dp.ParameterError, match="ask for fewer ones"):
        synthetic_transactions(Shape(10, 10, 51))


def test_the_command_runs_on_a_file_and_goes_on(run, tmp_path):
    file = tmp_path / "small.dat"
    matrix = synthetic_transactions(Shape(400, 12, 900))
    lines = [
        " ".join(map(str, matrix.indices[start:stop]))
        for start, stop in itertools.pairwise(matrix.indptr)
    ]
    file.write_text("\n".join(lines))
    words = ("plan-binary", "--data", file, "--out", tmp_path)
    assert run(*words, "--rho", 1, "--runs", 1)[0] == 0
    status, out, _ = run(*words, "--rho", 1, 4, "--runs", 2)
    assert status == 0
    assert "ours (binary_mean)" in out
    table = (tmp_path / "plan-binary-small.csv").read_text().splitlines()
    assert len(table) == 1 + 3 * 2 * 2
    assert (tmp_path / "plan-binary-small.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "plan-binary-small.svg").read_text()
