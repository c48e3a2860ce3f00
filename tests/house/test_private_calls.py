"""What Spark does not document is called in `engines/spark/internals` alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "morisot"
INTERNALS = PACKAGE / "engines" / "spark" / "internals"

KNOWN = re.compile(r"_j(vm|sc|df|sq|c|sparkSession|map|reader|seq|writer|rdd)|_sc|_gateway|_gateway_client|_origin")
"""Private attributes of PySpark's objects, whatever Morisot calls its own."""
OF_JAVA = re.compile(r"_j[a-z]\w*")
OF_PYTHON = frozenset({"_replace", "_asdict", "_fields", "_make", "_exit", "_getframe"})
"""Documented, or private to the standard library."""
MODULES = re.compile(
    r"pyspark(\.\w+)*\._\w+|pyspark\.(sql\.classic|java_gateway|find_spark_home|daemon|worker\w*|serializers|util|"
    r"sql\.utils|sql\.connect|errors\.exceptions)(\.\w+)*"
)
"""Private names and undocumented modules of PySpark."""
CLASS = re.compile(r"\borg\.apache\.")


def sources() -> list[Path]:
    return [file for file in sorted(PACKAGE.rglob("*.py")) if not file.is_relative_to(INTERNALS)]


def own_names(tree: ast.AST) -> Iterator[str]:
    """The private names that a module gives to something of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def private_calls(source: str, own: frozenset[str] = frozenset()) -> list[str]:
    """Each private Spark call in a module, with its line; `own` are private names of Morisot."""
    tree = ast.parse(source)
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    texts = {id(value) for value in statements if isinstance(value, ast.Constant)}  # documentation
    found = ((node, what) for node in ast.walk(tree) if id(node) not in texts for what in _in_node(node, own))
    return [f"{getattr(node, 'lineno', 0)}: {what}" for node, what in found]


def _in_node(node: ast.AST, own: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=base, attr=name):
            if _is_private(name, base, own) or name == "apache":
                yield name
        case ast.Constant(value=str(text)):
            if CLASS.search(text) or KNOWN.fullmatch(text):
                yield text
        case ast.Import(names=names):
            yield from (each.name for each in names if MODULES.fullmatch(each.name))
        case ast.ImportFrom(module=str(module), names=names):
            imported = (f"{module}.{each.name}" for each in names)
            yield from (name for name in imported if MODULES.fullmatch(name))


def _is_private(name: str, base: ast.expr, own: frozenset[str]) -> bool:
    if not name.startswith("_") or name.startswith("__") or name in OF_PYTHON:
        return False
    of_self = isinstance(base, ast.Name) and base.id in ("self", "cls")
    return bool(KNOWN.fullmatch(name) or (OF_JAVA.fullmatch(name) and not of_self) or name not in own)


def test_private_calls_of_spark_are_in_internals() -> None:
    own = frozenset(name for file in sources() for name in own_names(ast.parse(file.read_text())))
    found = [
        f"{file.relative_to(PACKAGE)}:{call}" for file in sources() for call in private_calls(file.read_text(), own)
    ]
    assert found == [], "\n".join(found)


def test_other_files_name_no_class_of_spark() -> None:
    others = (file for file in PACKAGE.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc"))
    found = [file for file in others if not file.is_relative_to(INTERNALS) and CLASS.search(file.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        "df._jdf.queryExecution()",
        "spark._jsparkSession.sessionState()",
        "self._spark._jvm.java",
        "self._jvm",
        "spark._sc",
        "SparkContext._gateway = None",
        "frame._jother",
        "hasattr(spark, '_jsparkSession')",
        "SparkSession._instantiatedSession",
        "jvm.org.apache.spark.sql",
        "NAME = 'org.apache.spark.sql.Row'",
        "NAME = f'org.apache.spark.{kind}'",
        "from pyspark.sql.classic.dataframe import DataFrame",
        "from pyspark.find_spark_home import _find_spark_home",
        "from pyspark.sql.types import _parse_datatype_string",
        "from pyspark import daemon",
        "import pyspark.java_gateway",
        "from pyspark import _globals",
    ],
)
def test_a_private_call_is_found(planted: str) -> None:
    assert len(private_calls(f"def f():\n    {planted}\n", frozenset({"_spark", "_jvm"}))) == 1


@pytest.mark.parametrize(
    "allowed",
    [
        "self._jobs.append(job)",
        "stage._replace(rows=1)",
        "spark.conf.get('spark.master')",
        "from pyspark.sql import DataFrame",
        "from py4j.protocol import Py4JError",
        "'''As org.apache.spark.sql.Row says.'''",
        "self._spark.sql('')",
    ],
)
def test_what_is_no_private_call(allowed: str) -> None:
    assert private_calls(f"def f():\n    {allowed}\n", frozenset({"_jobs", "_spark"})) == []
