"""Parquet and Feather files, in directories, partitioned or not, as blocks. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.dataset as datasets  # type: ignore[import-untyped]
from pyarrow.fs import FileSystem  # type: ignore[import-untyped]
from pyarrow.parquet import filters_to_expression  # type: ignore[import-untyped]

from opendp_lite.base.errors import DataError, ParameterError
from opendp_lite.engines.columns import ColumnBlocks
from opendp_lite.engines.containers import of_pyarrow
from opendp_lite.engines.containers.of_pyarrow_dataset import ArrowPart, parts_of
from opendp_lite.engines.data.blocks import Blocks, FileError, NoFileError, pick_column
from opendp_lite.engines.data.values import Values
from opendp_lite.engines.files.cells import MISSING, category_in
from opendp_lite.engines.files.csv_rows import text_cells
from opendp_lite.engines.files.source_files import files_named, is_address, require_no_address
from opendp_lite.numbers.exact import MOST_SHOWN, quote

Paths = str | Path | Sequence[str | Path]

# Of floats from here on one stands for several whole numbers.
_EXACT: Final = 2**53
# Beyond it Arrow knows no number by itself.
_WHOLE: Final = 2**63
_NO_ANSWER: Final = (
    "the store has no such path, did not answer, or refuses what you identify yourself by; its "
    "region, endpoint and keys are looked for in the address and in the environment"
)


def parquet_blocks(
    source: Paths,
    columns: Sequence[str] | None,
    filters: object,
    partitioning: object,
    filesystem: object,
) -> Blocks:
    """As ``dp.parquet``."""
    names = None if columns is None else _names(columns)
    if filters is not None:
        with suppress(OverflowError):  # A number may fit a column.
            _expression(filters)  # Refused before any file is looked for.
    schemes = datasets.Partitioning | datasets.PartitioningFactory | list | None
    if not isinstance(partitioning, schemes) and str(partitioning) != "hive":
        raise ParameterError(
            "dp.parquet: partitioning is 'hive', None, a list of names, or what "
            f"pyarrow.dataset.partitioning makes; got {quote(partitioning)}"
        )
    if filesystem is None and isinstance(source, str) and is_address(source):
        filesystem, source = _find_store(source)
    dataset = _dataset(source, "parquet", partitioning, filesystem)
    files = parts_of(dataset)
    if filters is not None:
        keeps = [_expression(_match_types(filters, file.schema)) for file in files]
        for file, keep in zip(files, keeps, strict=True):
            _require_fit(file, keep)
        here = {file.path for file in dataset.get_fragments(filter=keeps[0])} if keeps else set()
        # A list of another type meets what a file says of its rows as it would meet no row, and an
        # expression does not tell the types in it.
        by_rows = isinstance(filters, datasets.Expression) and "is_in" in str(filters)
        files = tuple(
            _filter_rows(file, keep, file.label in here, by_rows)
            for file, keep in zip(files, keeps, strict=True)
        )
    return ColumnBlocks.of(files, names)


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    listed = isinstance(columns, Iterable) and not isinstance(columns, str)
    if not listed or not all(isinstance(each, str) for each in columns):
        typed = columns if isinstance(columns, str) else "age"
        raise ParameterError(
            f"dp.parquet: columns takes a list of names; write [{typed!r}], got {quote(columns)}"
        )
    return tuple(columns)


def _expression(filters: object) -> datasets.Expression:
    with suppress(arrow.ArrowException, ValueError, TypeError, KeyError):
        return filters_to_expression(filters)
    raise ParameterError(
        "dp.parquet: filters takes an expression of Arrow, or conditions such as [('year', '==', "
        "2024)] with one of ==, !=, <, >, <=, >=, 'in' and 'not in' between a column and a value; "
        f"got {quote(filters)}"
    )


def _match_types(filters: Any, schema: arrow.Schema) -> Any:
    """Conditions whose numbers are of their column's type, where these equal what was typed.

    Else Arrow makes of each number of the column one of the other type, and fails at the first that
    is none: one row would decide whether there is a release.
    """
    if isinstance(filters, datasets.Expression):
        return filters
    if all(isinstance(each, list) for each in filters):
        return [_match_types(each, schema) for each in filters]
    typed = []
    for name, sign, value in filters:
        if name in schema.names:
            kind = of_pyarrow.value_type(schema.field(name).type)
            listed = isinstance(value, list | tuple | set | frozenset)
            cells = [_scalar(each, kind) for each in (value if listed else [value])]
            if all(each is not None for each in cells):
                value = cells if listed else cells[0]
            elif listed or (isinstance(value, int) and abs(value) >= _WHOLE):
                # They would meet what a file says of its rows as they would meet no row.
                raise FileError(
                    f"dp.parquet: the filters look for values of another type in the column "
                    f"{name!r}, which holds {kind}; write them as such"
                )
        typed.append((name, sign, value))
    return typed


def _scalar(value: object, kind: arrow.DataType) -> arrow.Scalar | None:
    with suppress(arrow.ArrowException, ValueError, TypeError, OverflowError):
        if isinstance(value, datetime) and arrow.types.is_date(kind):
            return arrow.scalar(value.date(), kind) if value.time() == time() else None
        found = arrow.scalar(value, kind)
        if found.as_py() == value:
            return found
    return None


def _find_store(address: str) -> tuple[object, str]:
    """The file system of an address, and the path there."""
    # What pyarrow says quotes the address, which may hold a password.
    answers = True
    try:
        found: tuple[object, str] = FileSystem.from_uri(address)
    except OSError:
        answers = False
    except (arrow.ArrowException, ValueError, TypeError, ImportError):
        pass
    else:
        return found
    if not answers:
        raise FileError(_NO_ANSWER)
    require_no_address(address)
    raise FileError("the address names no file; write file:///folder/name.parquet, say")


def _filter_rows(
    file: ArrowPart, keep: datasets.Expression, here: bool, by_rows: bool
) -> ArrowPart:
    """A file of which the rows are taken for which an expression holds.

    What a file says of a group of rows leaves out NaN. So a filter of floats looks at each row:
    else the other rows of its group would decide whether a row with NaN is taken.

    Args:
        file: The whole file, which has the columns that the filters ask for.
        keep: The expression.
        here: Whether it may hold at all in the file's directory.
        by_rows: Whether to look at each row in any case.
    """
    ordered = arrow.schema(field for field in file.schema if _is_ordered(field.type))
    prunes = not here or (not by_rows and _fits(keep, ordered))
    return attrs.evolve(file, keep=keep, prunes=prunes)


def _require_fit(file: ArrowPart, keep: datasets.Expression) -> None:
    if not _fits(keep, file.schema):
        raise FileError(
            f"{file.label}: the filters ask for a column that it does not have, or compare one "
            "with a value of another type, as whole numbers with 0.5; leave out filters= and put "
            "dp.keep('age', between=(0.5, None)) into the pipeline, say"
        )


def _fits(keep: datasets.Expression, schema: arrow.Schema) -> bool:
    """Whether the filters ask for columns of a schema alone, and no value in one can stop them.

    Reads no row: Arrow fails at a value that has no like in another type, so the ends are tried.
    """
    columns = [_extremes(field.type) for field in schema]
    try:
        arrow.table(columns, schema=schema).filter(keep)
    except arrow.ArrowException:
        return False
    return True


def _extremes(kind: arrow.DataType) -> arrow.Array:
    """The ends of a type of whole numbers or times; nothing of others."""
    types = arrow.types
    if types.is_unsigned_integer(kind):
        return arrow.array([0, 2**kind.bit_width - 1], kind)
    if types.is_integer(kind) or types.is_timestamp(kind) or types.is_date(kind):
        most = 2 ** (kind.bit_width - 1) - 1
        return arrow.array([-most, most], f"int{kind.bit_width}").view(kind)
    return arrow.nulls(2, kind)


def _is_ordered(kind: arrow.DataType) -> bool:
    """Whether the values of a type have an order, as all but NaN have."""
    types, kind = arrow.types, of_pyarrow.value_type(kind)
    other = types.is_floating(kind) or types.is_nested(kind)
    return not (other or isinstance(kind, arrow.BaseExtensionType))


def declared_columns(
    source: str, columns: Sequence[tuple[str | None, type]], kind: str, person: str | None = None
) -> ColumnBlocks:
    """Some columns of files that declare their types, as ``csv_table`` reads those of a CSV file.

    Args:
        source: As for ``parquet``.
        columns: The name of each column and what it is read as, ``str`` or ``float``. The name None
            is for the only one. A column of numbers, truths or dates may be read as text. Without
            any, all columns are there as they are.
        kind: "parquet" or "feather".
        person: The column that tells people apart, which may hold no floats.

    Returns:
        The columns as blocks for a pipeline. Its ``names`` are those in the files.

    Raises:
        DataError: As for ``parquet``.
        OSError: If there is no such file.
    """
    files = parts_of(_dataset(source, kind, "hive", None))
    if not columns:
        return ColumnBlocks.of(files, files[0].names)
    names = tuple(pick_column(files[0].names, column) for column, _ in columns)
    # As text two people whose long ids are one float would be one.
    schemas = [file.schema for file in files if person in file.names]
    if any(
        arrow.types.is_floating(of_pyarrow.value_type(each.field(person).type)) for each in schemas
    ):
        raise FileError(
            f"column {person!r} holds floats, of which one may stand for two people; write it anew "
            f"as whole numbers, such as frame[{person!r}].astype('Int64') of pandas, or as text"
        )
    kinds = (wanted for _, wanted in columns)
    shown = partial(_as_asked, dict(zip(names, kinds, strict=True)))
    return ColumnBlocks.of([attrs.evolve(file, shown=shown) for file in files], names)


def _dataset(
    source: Paths, kind: str, partitioning: object, filesystem: object
) -> datasets.Dataset:
    """The files as a dataset; an error of the one whose columns are looked at first names it."""
    paths = _paths(source, filesystem)
    opened = partial(
        datasets.dataset, paths, format=kind, partitioning=partitioning, filesystem=filesystem
    )
    found = gone = None
    try:
        found = opened()
    except FileNotFoundError:
        gone = () if filesystem is not None else _missing(paths)
    except (arrow.ArrowException, OSError, ValueError, TypeError):
        pass  # The refusal comes below: it carries nothing of pyarrow, which may quote a file.
    if gone is not None:
        raise _refuse_missing(gone)
    if found is None:
        try:
            files = parts_of(opened(schema=arrow.schema([]), partitioning=None))
        except FileError:
            raise
        except (arrow.ArrowException, OSError, ValueError, TypeError):
            files = ()
        if not files:
            raise FileError(_NO_ANSWER)
        twice = next((file for file in files if len(set(file.names)) < len(file.names)), None)
        if twice is not None:
            raise FileError(f"{twice.label}: it has two columns of one name; rename one of them")
        raise FileError(
            "the files: a column of a file has the name of a directory, such as year=2024, and "
            "holds another type; leave one of them out, or say partitioning=None"
        )
    if not found.files:
        raise FileError(f"there is no file in {str(source)!r}")
    return found


def _missing(paths: str | list[str]) -> Sequence[str]:
    """The files that are not there: pyarrow says it in its text alone."""
    listed = [paths] if isinstance(paths, str) else paths
    return [path for path in listed if not Path(path).exists()]


def _refuse_missing(gone: Sequence[str]) -> FileError:
    if not gone:
        return FileError("there is no such file or folder in the file system")
    if len(gone) > MOST_SHOWN:  # They may be a column of data, given by mistake.
        return NoFileError(f"parquet: {len(gone)} files are not there; check the list of them")
    return NoFileError.of("parquet", Path(gone[0]))


def _paths(source: Paths, filesystem: object) -> str | list[str]:
    if not isinstance(source, str | Path):
        # No stream: its lines are data, and the refusal of a file that is not there names it.
        listed = list(source) if isinstance(source, Sequence) else None
        if listed is None or not all(isinstance(each, str | Path) for each in listed):
            raise ParameterError(
                "parquet: a source is a path or a list of paths, each a text or a Path; "
                f"got {quote(source)}"
            )
        if filesystem is None:
            for each in listed:
                require_no_address(each)
        return list(map(str, listed))
    found = files_named(source) if filesystem is None else None
    if found is None or Path(source).is_dir():
        return str(source)
    return [str(path) for path in found]


def _as_asked(kinds: Mapping[str, type], table: arrow.Table) -> Mapping[str, object]:
    found = dict(zip(table.schema.names, table.columns, strict=True))
    for name, wanted in kinds.items():
        if name in found and wanted is str:
            found[name] = _text_of(name, found[name])
        elif name in found and of_pyarrow.is_text(found[name].type):
            raise DataError(
                f"column {name!r} is stored as text, not as numbers; choose a column of numbers, "
                "or write the file anew with numbers in it"
            )
    return found


def _spell(number: Any, text: str | None) -> str | None:
    """A number as any file has it: Arrow writes 1e+15 and 5.00, and 0.50 where there is 0.25.

    Two texts of one id would be two people.
    """
    if number is None or (isinstance(number, float) and not abs(number) < _EXACT):
        return text
    whole = int(number)
    if whole == number:
        return str(whole)
    return f"{number:f}".rstrip("0") if isinstance(number, Decimal) else text


def _text_of(name: str, column: arrow.ChunkedArray) -> Values:
    if not (of_pyarrow.is_text(column.type) or arrow.types.is_date(column.type)):
        try:
            of_pyarrow.require_numeric(column.type)
        except DataError:
            raise DataError(
                f"column {name!r} holds {column.type}, not text; make it text first"
            ) from None
    cells: Sequence[str | None] = of_pyarrow.list_values(column.cast(arrow.string()))
    kind = of_pyarrow.value_type(column.type)
    if arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        cells = list(map(_spell, column.to_pylist(), cells))
    texts = (None if cell is None else category_in(cell, MISSING) for cell in cells)
    return text_cells(texts, len(cells))
