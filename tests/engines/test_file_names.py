"""What a directory or a pattern stands for: no file of it is left out in silence."""

from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opendp_lite as dp
from opendp_lite.engines.columns import ColumnBlocks
from opendp_lite.engines.files.source_files import files_named

TOTAL = dp.select("x") >> dp.clamp(0, 999) >> dp.sum()


@pytest.fixture(params=["parquet", "csv"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def write(path: Path, value: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        path.write_text(f"x\n{value}\n")
    else:
        pq.write_table(pa.table({"x": [value]}), path)


def read(source: Path | str, kind: str):
    return dp.csv_table(source, {"x": float}) if kind == "csv" else dp.parquet(source)


def test_links_are_followed_and_hidden_names_are_not(tmp_path, kind):
    folder = tmp_path / "data"
    for place, name in enumerate(("a", "b/c", "b/_d", "_e/f", ".g/h")):
        write(folder / f"{name}.{kind}", 10.0**place)
    write(tmp_path / "elsewhere" / f"i.{kind}", 3.0)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    for source in (folder, f"{folder}/*", f"{folder}/**/*"):
        assert TOTAL(read(source, kind)).tolist() == [14]


def test_a_link_to_a_directory_above_ends(tmp_path):
    write(tmp_path / "a" / "b.csv", 1)
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert files_named(tmp_path) == [tmp_path / "a" / "b.csv"]


def test_a_directory_that_a_pattern_finds_stands_for_its_files(tmp_path, kind):
    for day in (1, 2):
        write(tmp_path / f"day={day}.{kind}" / f"part.{kind}", day)
    assert TOTAL(read(f"{tmp_path}/*.{kind}", kind)).tolist() == [3]


def test_a_file_that_is_not_there_is_named(tmp_path, kind):
    for name in ("a", "c"):
        write(tmp_path / f"{name}.{kind}", 1)
    (tmp_path / f"b.{kind}").symlink_to(tmp_path / "nowhere")
    for source in (tmp_path, f"{tmp_path}/*.{kind}"):
        with pytest.raises(dp.DataError, match=rf"b\.{kind}: it is a link to a file that is not"):
            read(source, kind)


def test_a_file_that_may_not_be_read_is_named(tmp_path):
    """pyarrow's error, since whoever runs this test may read every file."""
    write(tmp_path / "a.parquet", 1)
    data = dp.parquet(tmp_path)

    def forbidden(*arguments, **named) -> None:
        raise PermissionError

    closed = attrs.evolve(data.parts[0], to_batches=forbidden)
    data = ColumnBlocks.of([closed], None)
    with pytest.raises(dp.DataError, match=r"a\.parquet: you may not read the file"):
        TOTAL(data)


REFUSED = {
    "has two columns of one name": pa.table([[1.0], [2.0]], names=["x", "x"]),
    "holds another type": pa.table({"x": [1.0], "day": ["monday"]}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_columns_that_make_no_dataset(tmp_path, words):
    write(tmp_path / "day=1" / "a.parquet", 1)
    pq.write_table(REFUSED[words], tmp_path / "day=1" / "b.parquet")
    pq.write_table(REFUSED[words], tmp_path / "day=1" / "a.parquet")
    with pytest.raises(dp.DataError, match=words):
        TOTAL(dp.parquet(tmp_path))


def test_filters_and_columns_that_do_not_fit(tmp_path):
    write(tmp_path / "a.parquet", 1)
    for filters in ([("y", "==", 1)], [("x", "==", "one")]):
        with pytest.raises(dp.DataError, match=r"a\.parquet: the filters ask for a column that"):
            dp.parquet(tmp_path, filters=filters)
    with pytest.raises(dp.ParameterError, match=r"columns takes a list of names; write \['x'\]"):
        dp.parquet(tmp_path, columns="x")
    for columns in (5, [5], b"x"):
        with pytest.raises(dp.ParameterError, match="columns takes a list of names"):
            dp.parquet(tmp_path, columns=columns)
    for partitioning in ("hiv", 5, b"hive"):
        with pytest.raises(dp.ParameterError, match="partitioning is 'hive', None, a list"):
            dp.parquet(tmp_path, partitioning=partitioning)
    unread = (("x", "==", 1), [("x", "~", 1)], [("x", ">", object())], "x > 1", [1], {"x": 1}, [])
    for filters in unread:
        with pytest.raises(dp.ParameterError, match="filters takes an expression of Arrow, or "):
            dp.parquet(tmp_path, filters=filters)


def test_the_first_line_of_an_open_file_is_no_path(tmp_path):
    (tmp_path / "a.csv").write_text("hunter2,12\n")
    with (tmp_path / "a.csv").open() as lines:
        for source in (lines, None, {"hunter2": [1]}):
            with pytest.raises(dp.ParameterError, match="a path or a list of paths") as refused:
                dp.parquet(source)
            assert "hunter2" not in str(refused.value)
