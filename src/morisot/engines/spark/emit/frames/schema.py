"""Element types to Spark's and back."""

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

# from Spark's types to ours; narrower numbers widen without loss, timestamps are read in the session's time zone
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
    """The record type of a table's rows; a column that may hold NULL has an optional type."""
    columns = [(field.name, nullable(type_of(field.dataType), field.nullable)) for field in schema.fields]
    return infer.row_type(columns)


def nullable(type_: Type, may_be_null: bool) -> Type:
    return Optional(type_) if may_be_null else type_


def type_of(spark_type: spark.DataType) -> Type:
    """Our type for one of Spark's."""
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


class UnknownSparkType(Exception):  # noqa: N818 - caught where the column's name is known
    """A Spark type that no element type stands for."""


def ddl(type_: Type, *hidden: str) -> str:
    """The columns an element travels as, in Spark's own words, for mapInArrow; then hidden ones, which hold numbers."""
    columns = [f"{quoted(leaf.column)} {sql_type(leaf.type)}" for leaf in leaves(type_)]
    return ", ".join([*columns, *(f"{name} BIGINT" for name in hidden)])
