"""The SQL that the emission of unbounded operators writes, over Arrow batches.

It is a subset of Spark SQL: names, literals, arithmetic, comparisons, CASE, CAST and some functions. Anything else is
an error, and no test passes because of it.
"""

from __future__ import annotations

import datetime
import functools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

Expression = Callable[[pa.RecordBatch], Any]
"""The array that an expression has over the rows of a batch."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>`(?:[^`]|``)*`) | (?P<hex>X'[0-9A-Fa-f]*') | (?P<text>'[^'\\]*') | (?P<number>\d+(?:\.\d+)?[LD]?)
    | (?P<word>[A-Za-z_]\w*) | (?P<sign><=>|<=|>=|[-+*=<>(),.])
    )""",
    re.VERBOSE,
)
_SECOND = 1_000_000
_TYPES = {"BIGINT": pa.int64(), "INT": pa.int32()}


class UnknownSql(Exception):  # noqa: N818 - it says that this module lacks something
    """An expression that nothing here can evaluate."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


@dataclass(frozen=True)
class Named:
    """An expression and the name of its column."""

    name: str
    expression: Expression


@functools.lru_cache(maxsize=1024)
def named(text: str) -> Named:
    """An expression of a select.

    >>> named("`a` + 1L AS `b`").expression(pa.RecordBatch.from_pydict({"a": [1, 2]})).to_pylist()
    [2, 3]
    """
    parser = Parser(text)
    expression, name = parser.expression(), None
    if parser.takes("AS"):
        name = parser.name()
    elif len(parser.tokens) == 1:
        name = unquoted(parser.tokens[0].text)
    parser.end()
    if name is None:
        raise UnknownSql(f"a column without a name: {text}")
    return Named(name, expression)


@functools.lru_cache(maxsize=1024)
def condition(text: str) -> Expression:
    """An expression of a filter or of a join."""
    parser = Parser(text)
    expression = parser.expression()
    parser.end()
    return expression


def unquoted(name: str) -> str:
    """
    >>> unquoted("`a``b`")
    'a`b'
    """
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def tokens_of(text: str) -> list[Token]:
    found, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise UnknownSql(f"{text[position:]!r} in {text!r}")
        found.append(Token(match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return found


class Parser:
    """Recursive descent, from the operators that bind least to literals and names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.position = 0

    def peek(self) -> Token:
        return self.tokens[self.position] if self.position < len(self.tokens) else Token("end", "")

    def next(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def takes(self, *texts: str) -> str | None:
        """The next token, if it is one of these words or signs."""
        token = self.peek()
        if token.kind in ("word", "sign") and token.text in texts:
            self.position += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        if not self.takes(text):
            raise UnknownSql(f"{text!r} expected at {self.peek().text!r} in {self.text!r}")

    def end(self) -> None:
        if self.peek().kind != "end":
            raise UnknownSql(f"{self.peek().text!r} in {self.text!r}")

    def name(self) -> str:
        token = self.next()
        if token.kind not in ("name", "word"):
            raise UnknownSql(f"{token.text!r} is no name in {self.text!r}")
        return unquoted(token.text)

    def expression(self) -> Expression:
        found = self.comparison()
        while self.takes("AND"):
            found = applied(pc.and_kleene, found, self.comparison())
        return found

    def comparison(self) -> Expression:
        left = self.sum()
        sign = self.takes("<=>", "<=", ">=", "<", ">", "=")
        if sign:
            return applied(_COMPARISONS[sign], left, self.sum())
        if self.takes("IS"):
            is_not = self.takes("NOT")
            self.expect("NULL")
            return applied(pc.is_valid, left) if is_not else applied(pc.is_null, left)
        return left

    def sum(self) -> Expression:
        found = self.product()
        while sign := self.takes("+", "-"):
            found = applied(plus if sign == "+" else minus, found, self.product())
        return found

    def product(self) -> Expression:
        found = self.operand()
        while self.takes("*"):
            found = applied(times, found, self.operand())
        return found

    def operand(self) -> Expression:
        token = self.next()
        match token.kind, token.text:
            case "sign", "(":
                inside = self.expression()
                self.expect(")")
                return inside
            case "sign", "-":
                return applied(pc.negate_checked, self.operand())
            case "name", text:
                return column(unquoted(text))
            case "hex", text:
                return constant(bytes.fromhex(text[2:-1]), pa.binary())
            case "text", text:
                return constant(text[1:-1], pa.string())
            case "number", text:
                return number(text)
            case "word", word:
                return self.word(word)
        raise UnknownSql(f"{token.text!r} in {self.text!r}")

    def word(self, word: str) -> Expression:
        match word:
            case "NULL":
                return constant(None, pa.null())
            case "true" | "false":
                return constant(word == "true", pa.bool_())
            case "CASE":
                return self.case()
            case "CAST":
                return self.cast()
            case "TIMESTAMP_NTZ":
                moment = datetime.datetime.fromisoformat(self.next().text[1:-1])
                return constant(moment, pa.timestamp("us"))
            case "INTERVAL":
                seconds = int(self.next().text[1:-1])
                self.expect("SECOND")
                return constant(seconds * _SECOND, pa.duration("us"))
            case "struct":
                return self.struct()
        if self.peek().text != "(":
            return column(word)
        if word not in _FUNCTIONS:
            raise UnknownSql(f"the function {word} in {self.text!r}")
        return applied(_FUNCTIONS[word], *self.arguments())

    def arguments(self) -> list[Expression]:
        self.expect("(")
        found: list[Expression] = []
        while not self.takes(")"):
            found.append(self.expression())
            self.takes(",")
        return found

    def case(self) -> Expression:
        branches: list[tuple[Expression, Expression]] = []
        otherwise = constant(None, pa.null())
        while self.takes("WHEN"):
            test = self.expression()
            self.expect("THEN")
            branches.append((test, self.expression()))
        if self.takes("ELSE"):
            otherwise = self.expression()
        self.expect("END")

        def evaluate(batch: pa.RecordBatch) -> Any:
            result = otherwise(batch)
            for test, then in reversed(branches):
                value = then(batch)
                if pa.types.is_null(result.type):
                    result = pa.nulls(batch.num_rows, value.type)
                result = pc.if_else(pc.fill_null(test(batch), False), value, result)
            return result

        return evaluate

    def cast(self) -> Expression:
        self.expect("(")
        value = self.expression()
        self.expect("AS")
        words = [self.name()]
        while not self.takes(")"):
            words.append(self.name())
        type_ = " ".join(words)
        if type_ == "INTERVAL SECOND":
            return value
        if type_ not in _TYPES:
            raise UnknownSql(f"a cast to {type_} in {self.text!r}")
        return applied(lambda array: pc.cast(array, _TYPES[type_]), value)

    def struct(self) -> Expression:
        self.expect("(")
        names: list[str] = []
        parts: list[Expression] = []
        while not self.takes(")"):
            parts.append(self.expression())
            self.expect("AS")
            names.append(self.name())
            self.takes(",")
        return applied(lambda *arrays: pa.StructArray.from_arrays(arrays, names), *parts)


def column(name: str) -> Expression:
    return lambda batch: batch.column(name)


def constant(value: Any, type_: pa.DataType) -> Expression:
    return lambda batch: pa.array([value] * batch.num_rows, type_)


def number(text: str) -> Expression:
    if text.endswith("D"):
        return constant(float(text[:-1]), pa.float64())
    return constant(int(text.removesuffix("L")), pa.int64() if text.endswith("L") else pa.int32())


def applied(function: Callable[..., Any], *arguments: Expression) -> Expression:
    """A function over whole columns; one that has none is told how many rows there are."""

    def evaluate(batch: pa.RecordBatch) -> Any:
        if arguments:
            return function(*(each(batch) for each in arguments))
        return function(batch.num_rows)

    return evaluate


def in_python(function: Callable[..., Any], type_: pa.DataType) -> Callable[..., Any]:
    """A function of the values of a row."""

    def evaluate(*arrays: Any) -> Any:
        return pa.array([function(*row) for row in zip(*(each.to_pylist() for each in arrays), strict=True)], type_)

    return evaluate


def plus(left: Any, right: Any) -> Any:
    return pc.add_checked(left, right)


def minus(left: Any, right: Any) -> Any:
    return pc.subtract_checked(left, right)


def times(left: Any, right: Any) -> Any:
    """A product; an interval is a number of microseconds."""
    if pa.types.is_duration(left.type):
        return pc.multiply_checked(left.cast(pa.int64()), right).cast(left.type)
    return pc.multiply_checked(left, right)


def bigint(array: Any) -> Any:
    """A number; of an interval its seconds, towards zero."""
    if not pa.types.is_duration(array.type):
        return array.cast(pa.int64())
    return pc.divide(array.cast(pa.int64()), pa.scalar(_SECOND, pa.int64()))


def same(left: Any, right: Any) -> Any:
    """Equal, or both NULL."""
    equal = pc.fill_null(pc.equal(left, right), False)
    return pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))


def hashed(*values: Any) -> int:
    """Another hash than Spark's: nothing may depend on which one it is."""
    return zlib.crc32(repr(values).encode())


def concatenated(*values: bytes | None) -> bytes | None:
    return None if None in values else b"".join(value for value in values if value is not None)


def partition_id() -> int:
    context = TaskContext.get()
    assert context is not None, "an expression is evaluated in a task"
    return context.partitionId()


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "<": pc.less,
    ">": pc.greater,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "<=>": same,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "array": in_python(lambda *values: list(values), pa.list_(pa.int64())),
    "bigint": bigint,
    "coalesce": lambda *arrays: pc.coalesce(*arrays),
    "concat": in_python(concatenated, pa.binary()),
    "element_at": in_python(lambda values, number: values[number - 1], pa.int64()),
    "greatest": lambda *arrays: pc.max_element_wise(*arrays),
    "hex": in_python(lambda value: None if value is None else f"{value:X}", pa.string()),
    "least": lambda *arrays: pc.min_element_wise(*arrays),
    "lpad": in_python(lambda text, width, pad: None if text is None else text.rjust(width, pad), pa.string()),
    "monotonically_increasing_id": lambda rows: pa.array(
        [(partition_id() << 33) + number for number in range(rows)], pa.int64()
    ),
    "pmod": in_python(lambda value, divisor: value % divisor, pa.int64()),
    "spark_partition_id": lambda rows: pa.array([partition_id()] * rows, pa.int32()),
    "timestamp_micros": lambda array: array.cast(pa.timestamp("us")),
    "timestamp_millis": lambda array: times(array, pa.scalar(1000, pa.int64())).cast(pa.timestamp("us")),
    "unhex": in_python(lambda text: None if text is None else bytes.fromhex(text), pa.binary()),
    "xxhash64": in_python(hashed, pa.int64()),
}


def fields_of(ddl: str) -> list[str]:
    """The names of the columns that a text in Spark's own words describes.

    >>> fields_of("`value/0` BIGINT, `value/1` STRUCT<`a`: BIGINT, `b`: MAP<STRING, INT>>, at BINARY")
    ['value/0', 'value/1', 'at']
    """
    names, depth, begins = [], 0, True
    for part in re.findall(r"`(?:[^`]|``)*`|\w+|[<>(),]", ddl):
        if part in ("<", "("):
            depth += 1
        elif part in (">", ")"):
            depth -= 1
        elif part == "," and depth == 0:
            begins = True
        elif begins:
            names.append(unquoted(part))
            begins = False
    return names


def selected(batch: pa.RecordBatch, columns: Sequence[Named]) -> pa.RecordBatch:
    """The rows with other columns."""
    arrays = [each.expression(batch) for each in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[each.name for each in columns])
