"""The type of the rows of JSON and Parquet files that are read without a record class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from morisot.errors import Location, SourceError
from morisot.runtime.local_files import local_files
from morisot.types import arrow
from morisot.types.element import BOOL, FLOAT, INT, NONE, STR, List, Optional, Record, Type
from morisot.types.infer import row_type
from morisot.worker.files.format import FileFormat, FileProblem, Kind, RowMisfit
from morisot.worker.files.json_rows import object_of
from morisot.worker.files.lines import BLANK, lines_of, opened

_INT64 = range(-(2**63), 2**63)


def found_files(path: str, kind: Kind, location: Location) -> list[str]:
    """The local files of a path. Raises an error if there is none."""
    files = local_files(path)
    if not files:
        raise SourceError(
            f"stream_{kind} ({location}) finds no file in {path!r}, so the type of its rows is not known"
            "\n  What to do: pass a record class, or start with a file"
        )
    return files


def row_type_of_files(kind: Kind, files: Sequence[str], location: Location, *, skips: bool) -> Record:
    """The type of the rows. All fields may be None. With `skips`, lines that are no JSON object are ignored."""
    format_ = FileFormat(kind, NONE, f"stream_{kind}", location, skips=skips)
    if kind == "parquet":
        return _of_parquet(files[0], format_)
    found = _of_objects(list(objects(files, format_)))
    assert isinstance(found, Record)
    return found


def objects(files: Sequence[str], format_: FileFormat) -> Iterator[dict[str, Any]]:
    """The JSON objects of files. A line that is none is ignored, or stops the program."""
    for file in files:
        try:
            with opened(file) as stream:
                for line in lines_of(stream):
                    if not line.text.strip(BLANK):
                        continue
                    try:
                        yield object_of(line)
                    except RowMisfit as misfit:
                        if not format_.skips:
                            raise format_.row_error(file, line.number, line.text, misfit) from None
        except FileProblem as problem:
            raise format_.file_error(file, problem) from None


def _of_parquet(file: str, format_: FileFormat) -> Record:
    import pyarrow
    import pyarrow.parquet as pq

    try:
        return arrow.row_type_of(pq.read_schema(file))
    except (pyarrow.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise format_.file_error(file, FileProblem(said, "write or download it again")) from None


def _of_objects(found: Sequence[dict[str, Any]]) -> Type:
    names = sorted({name for each in found for name in each if name})
    fields = [(name, _of_values([each.get(name) for each in found])) for name in names]
    return row_type([(name, Optional(type_)) for name, type_ in fields if type_ is not None])


def _of_values(values: Sequence[Any]) -> Type | None:
    """The type of the values of a field. Values of different types are texts, as Spark reads them."""
    given = [value for value in values if value is not None]
    classes = {type(value) for value in given}
    if classes == {dict}:
        return _of_objects(given) if any(given) else None
    if classes == {list}:
        item = _of_values([item for value in given for item in value])
        return None if item is None else List(Optional(item))
    if classes == {bool}:
        return BOOL
    if classes == {int} and all(value in _INT64 for value in given):
        return INT
    return FLOAT if classes and classes <= {int, float} else STR


def first_misfit(files: Sequence[str], location: Location) -> SourceError | None:
    """The error of the first line that is no JSON object."""
    format_ = FileFormat("json", NONE, "stream_json", location)
    try:
        for _ in objects(files, format_):
            pass
    except SourceError as error:
        return error
    return None
