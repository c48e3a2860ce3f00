"""JSON and Parquet files that are read without a record class, on every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.types.infer import without_none
from tests.operators.test_source import write

LINES = [
    '{"b": true, "n": 1, "x": 1, "s": "a", "xs": [1, null], "o": {"k": 1}, "mixed": 1, "none": null, "big": 1}',
    '{"n": null, "x": 0.5, "s": "b", "xs": [], "o": {"j": "t"}, "mixed": "a", "big": 99999999999999999999.5}',
    '{"xs": [2], "o": null, "mixed": [1], "empty": [], "nothing": {}}',
]
TYPES = {
    "b": "bool", "n": "int", "x": "float", "s": "str", "xs": "list[int | None]", "o": "Row", "mixed": "str",
    "none": "str", "big": "float", "empty": "list[str | None]",
}  # fmt: skip


def test_stream_json_infers_the_types_of_fields(ctx: mo.StreamContext, tmp_path: Path) -> None:
    type_ = ctx.stream_json(write(tmp_path, "t.json", "\n".join(LINES))).type
    assert {name: str(without_none(field)) for name, field in type_.children} == TYPES


def test_stream_json_names_the_line_that_is_no_object(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "t.json", '{"a": 1}\n{broken\n{"a": 2}\n')
    with pytest.raises(mo.SourceError, match=r"t\.json, line 2: it is not JSON(.|\n)*What to do: "):
        ctx.stream_json(path)
    rows = ctx.stream_json(path, on_error="skip")
    assert rows.map(lambda row: row.a).collect() == [1, 2]
    assert list(ctx.metrics()["skipped"].values()) == [1]


@pytest.mark.parametrize("content", [b"", b"no parquet", b"PAR1PAR1"])
def test_stream_parquet_names_a_damaged_file(content: bytes, ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(mo.SourceError, match=r"t\.parquet(.|\n)*What to do: "):
        ctx.stream_parquet(tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_an_empty_directory_has_no_row_type(kind: str, ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.SourceError, match=r"finds no file(.|\n)*pass a record class"):
        getattr(ctx, f"stream_{kind}")(tmp_path)


def test_directories_in_a_directory_are_not_ignored_silently(ctx: mo.StreamContext, tmp_path: Path) -> None:
    write(tmp_path, "in/2024/a.txt", "a\n")
    with pytest.raises(mo.SourceError, match=r"such as '2024', which are ignored(.|\n)*What to do: .*\*"):
        ctx.stream_file(tmp_path / "in")
    assert ctx.stream_file(f"{tmp_path}/in/*/").collect() == ["a"]


COLUMNS = ["unit price", "id.x", "class", "${x}", "1a", "plain", "a`b", "id x", "_y", ""]
"""Names of columns that are no identifiers, in another order than their normal forms."""
NAMED = (1, {"in ner": 2, "${z}": 3}, 4, 5, 6, 7, 8, 9, 10, 11)


def odd_names(ctx: mo.StreamContext, kind: str, directory: Path) -> mo.Stream[Any]:
    row = dict(zip(COLUMNS, NAMED, strict=True))
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist([row]), directory / "t.parquet")
        return ctx.stream_parquet(directory / "t.parquet")
    return ctx.stream_json(write(directory, "t.json", json.dumps(row)))


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_columns_with_names_that_are_no_identifiers(kind: str, ctx: mo.StreamContext, tmp_path: Path) -> None:
    rows = odd_names(ctx, kind, tmp_path)
    (found,) = rows.map(lambda row: (row.unit_price, row.class_, row.x, row.plain, row.a_b, row)).collect()
    assert found[:5] == (1, 4, 5, 7, 8)
    columns = COLUMNS if kind == "parquet" else sorted(filter(None, COLUMNS))
    inner = (2, 3) if kind == "parquet" else (3, 2)
    expected = dict(zip(COLUMNS, NAMED, strict=True)) | {"id.x": inner}
    assert dict(zip(columns, found[5], strict=True)) == {name: expected[name] for name in columns}


def test_parquet_columns_of_other_types_than_elements(ctx: mo.StreamContext, tmp_path: Path) -> None:
    """Texts in a dictionary, only NULL, and ints without a sign."""
    wide = pa.array([1, None, 2**63 - 1], pa.uint64())
    table = pa.table({"kind": pa.array(["a", "b", "a"]).dictionary_encode(), "none": pa.nulls(3), "wide": wide})
    pq.write_table(table, tmp_path / "t.parquet")
    rows = ctx.stream_parquet(tmp_path / "t.parquet")
    assert [str(type_) for _, type_ in rows.type.children] == ["str | None", "int | None", "int | None"]
    expected = [("a", None, 1), ("b", None, None), ("a", None, 2**63 - 1)]
    assert rows.map(lambda row: (row.kind, row.none, row.wide)).collect() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.time64("us")),
        pa.array([1], pa.duration("s")),
        pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64())),
    ],
)
def test_a_parquet_column_that_no_element_has_is_named(column: Any, ctx: mo.StreamContext, tmp_path: Path) -> None:
    pq.write_table(pa.table({"odd": column}), tmp_path / "t.parquet")
    with pytest.raises(mo.SourceError, match=r"the column odd is (.|\n)*What to do: "):
        ctx.stream_parquet(tmp_path / "t.parquet").collect()


def partitioned(directory: Path) -> Path:
    for year in (2023, 2024):
        (directory / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [year]}), directory / f"year={year}" / "t.parquet")
    return directory


@pytest.mark.jvm
def test_the_names_of_directories_are_values_of_a_column(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    rows = spark_ctx.stream_parquet(partitioned(tmp_path / "in"))
    assert rows.map(lambda row: (row.a, row.year)).collect() == [(2023, 2023), (2024, 2024)]


def test_the_reference_engine_refuses_partitions(tmp_path: Path) -> None:
    path = partitioned(tmp_path / "in")
    ctx = mo.StreamContext(engine="reference")
    with pytest.raises(mo.SourceError, match=r"values of a column(.|\n)*What to do: "):
        ctx.stream_parquet(path)
    assert [row.a for row in ctx.stream_parquet(f"{path}/*").collect()] == [2023, 2024]


@pytest.mark.jvm
def test_a_column_of_a_dataframe_that_no_element_has_is_named(spark_ctx: mo.StreamContext) -> None:
    spark: Any = spark_ctx.stream_iter([1]).to_dataframe().sparkSession
    with pytest.raises(mo.PlanError, match=r"the column m is map<int,int>(.|\n)*test_row_types(.|\n)*What to do: "):
        spark_ctx.stream_dataframe(spark.sql("SELECT 1 AS a, map(1, 2) AS m"))
