"""Conversion between element types and Spark types."""

from __future__ import annotations

from pyspark.sql import types as spark

from morisot.engines.spark.emit.frames.sql import quoted, sql_type
from morisot.types import infer
from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Decimal,
    Dict,
    List,
    Optional,
    Record,
    Type,
    leaves,
)

# from Spark types to element types; narrower numbers are widened, timestamps are read in the session's time zone
_SCALARS: dict[type[spark.DataType], Type] = {
    spark.ByteType: INT,
    spark.ShortType: INT,
    spark.IntegerType: INT,
    spark.LongType: INT,
    spark.FloatType: FLOAT,
    spark.DoubleType: FLOAT,
    spark.BooleanType: BOOL,
    spark.StringType: STR,
    spark.BinaryType: BYTES,
    spark.DateType: DATE,
    spark.TimestampType: DATETIME,
    spark.TimestampNTZType: DATETIME,
}


def row_type_of(schema: spark.StructType) -> Record:
    """The record type of a table's rows. A nullable column has an optional type."""
    columns = []
    for field in schema.fields:
        try:
            columns.append((field.name, nullable(type_of(field.dataType), field.nullable)))
        except UnknownSparkType as unknown:
            raise UnknownSparkType(unknown.type, field.name) from None
    return infer.row_type(columns)


def nullable(type_: Type, may_be_null: bool) -> Type:
    return Optional(type_) if may_be_null else type_


def type_of(spark_type: spark.DataType) -> Type:
    """The element type of a Spark type."""
    match spark_type:
        case spark.DecimalType():
            return Decimal(spark_type.precision, spark_type.scale)
        case spark.ArrayType():
            return List(nullable(type_of(spark_type.elementType), spark_type.containsNull))
        case spark.MapType() if isinstance(spark_type.keyType, spark.StringType):
            return Dict(nullable(type_of(spark_type.valueType), spark_type.valueContainsNull))
        case spark.StructType():
            return row_type_of(spark_type)
        case _ if type(spark_type) in _SCALARS:
            return _SCALARS[type(spark_type)]
        case _:
            raise UnknownSparkType(spark_type.simpleString())


class UnknownSparkType(Exception):  # noqa: N818 - it is caught, and raised with the source
    """A column of a Spark type without an element type."""

    def __init__(self, type_: str, column: str = "") -> None:
        super().__init__(f"the column {column} is {type_}, which no element type has")
        self.type = type_


def ddl(type_: Type, *hidden: str) -> str:
    """The schema of the columns of an element, for mapInArrow; then hidden columns of numbers."""
    columns = [f"{quoted(leaf.column)} {sql_type(leaf.type)}" for leaf in leaves(type_)]
    return ", ".join([*columns, *(f"{name} BIGINT" for name in hidden)])
