"""Spark's own transpiler of Python UDFs (experimental since 4.3) on the same closures.

It is off unless `spark.sql.experimental.optimizer.transpilePyUDFs` is set. A closure counts as translated if the
optimised plan of a query with it has no Python UDF. A record is a struct column, as far as Spark knows records. Spark
reads a lambda only if it has a name and a line of its own, so lambdas are given both first; and it looks at plain UDFs
only, not at Arrow-optimised ones.
"""

from __future__ import annotations

import ast
import importlib.util
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql.functions import udf

from benchmarks.closures import data
from morisot.compile.syntax.reader import read
from morisot.compile.verdict import Refusal
from morisot.engines.spark.emit.frames.sql import sql_type
from morisot.types.element import Record, Tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from benchmarks.closures.entry import Entry

SETTING = "spark.sql.experimental.optimizer.transpilePyUDFs"
LOOKED_FOR = f"pyspark/sql/transpile.py and the setting {SETTING}"


def is_there() -> bool:
    """Whether this Spark has the transpiler at all."""
    return importlib.util.find_spec("pyspark.sql.transpile") is not None


def lowered(spark: SparkSession, entries: Sequence[Entry], directory: Path) -> list[Entry]:
    """The closures that Spark turns into expressions of its own."""
    named = _named_lambdas(entries, directory / "named_lambdas.py")
    spark.conf.set(SETTING, "true")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of every closure that it does not support
            return [entry for entry in entries if _is_lowered(spark, entry, named.get(entry.key, entry.function))]
    finally:
        spark.conf.unset(SETTING)


def _is_lowered(spark: SparkSession, entry: Entry, function: Callable[..., Any]) -> bool:
    frame = spark.read.parquet(str(data.directory(entry.rows, data.SAMPLE)))
    columns = [sf.col(name) for name in data.columns_of(entry.rows)]
    whole = sf.struct(*columns) if isinstance(entry.rows.type, Record | Tuple) else columns[0]
    try:
        query = frame.select(udf(function, sql_type(entry.returns), useArrow=False)(whole))
        plan = query._jdf.queryExecution().optimizedPlan().toString()
    except Exception:  # a closure that Spark cannot plan is not translated either
        return False
    return "EvalPython" not in plan and "PythonUDF" not in plan and "pythonUDF" not in plan


def _named_lambdas(entries: Sequence[Entry], path: Path) -> dict[str, Callable[..., Any]]:
    """Each lambda under a name, on a line of its own, with the globals it had."""
    lines: dict[str, str] = {}
    functions: dict[str, types.FunctionType] = {}
    for entry in entries:
        function = entry.function
        if not isinstance(function, types.FunctionType) or function.__name__ != "<lambda>" or function.__closure__:
            continue
        source = read(function)
        if not isinstance(source, Refusal):
            lines[entry.key] = f"{entry.key.replace('.', '_')} = {ast.unparse(source.node)}"
            functions[entry.key] = function
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines.values()) + "\n")
    found: dict[str, Callable[..., Any]] = {}
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    for key, function in functions.items():
        made = namespace[key.replace(".", "_")]
        found[key] = types.FunctionType(made.__code__, function.__globals__, made.__name__, made.__defaults__)
    return found
