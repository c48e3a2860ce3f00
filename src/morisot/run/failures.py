"""What Spark throws, as what the user should read."""

from __future__ import annotations

import logging
import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from morisot.errors import JobError, MorisotError, SourceError
from morisot.lower.tables import BAD_ROW
from morisot.worker.failure import unpack

# PySpark prints every failure with the JVM's stack before it raises it; here it is caught and said in the user's words.
for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(name).disabled = True

SPARK_ERRORS = (PySparkException, Py4JError)
_BAD_ROW = re.compile(re.escape(BAD_ROW) + r"(.*)")
_MALFORMED = re.compile(r"Malformed records are detected in record parsing: (.*)")
_DATA_ERROR = re.compile(
    r"SQLSTATE: (22\w{3}|P0001)|\[(ARITHMETIC_OVERFLOW|DIVIDE_BY_ZERO|CAST_INVALID_INPUT|CAST_OVERFLOW|"
    r"USER_RAISED_EXCEPTION|INVALID_ARRAY_INDEX|BINARY_ARITHMETIC_OVERFLOW|REMAINDER_BY_ZERO)"
)


_LOST_WORKER = re.compile(
    r"Python worker (exited unexpectedly|process terminated|failed to connect back)|EOF reached before Python server|"
    r"reading the port number from \S+ stdout(\.| and terminated with code: 1[2-9]\d)"  # by a signal, as it started
)


def users_error(error: BaseException) -> MorisotError | None:
    """The failure of a user's function, or of a row of theirs, inside what Spark threw."""
    text = str(error)
    found = unpack(text)
    if found is not None:
        return found
    row = _BAD_ROW.search(text)
    if row:
        return SourceError(row[1].split(" SQLSTATE")[0].strip())
    malformed = _MALFORMED.search(text)
    if malformed:
        return SourceError(f"a row does not fit its record: {malformed[1]}")
    return None


def is_data_error(error: BaseException) -> bool:
    """Whether a native expression met a value it cannot do: Python will do it, or raise what Python raises."""
    state = error.getSqlState() if isinstance(error, PySparkException) else None
    return bool(state and (state.startswith("22") or state == "P0001")) or bool(_DATA_ERROR.search(str(error)))


def is_lost_worker(error: BaseException) -> bool:
    """Whether a Python process of Spark's died, or took too long to start: its work can be done again."""
    return bool(_LOST_WORKER.search(str(error)))


def job_error(error: BaseException) -> JobError:
    """A failure that is neither the user's function's nor the data's, without the JVM's stack."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return JobError("Spark stopped the job: " + "\n".join(lines[:5]))
