"""Converts Spark's exceptions to errors for the user."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Sequence
from typing import cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from morisot.engines.spark.emit.frames.tables import BAD_ROW
from morisot.engines.spark.internals.causes import Cause, causes
from morisot.errors import JobError, MorisotError, SinkError, SnapshotError, SourceError
from morisot.worker.report.failure import ELEMENT, MEMORY, SINK, SOURCE, STATE, Report, reported
from morisot.worker.report.signature import Seal

# PySpark logs every failure with the JVM's stack before it raises it. Here it is caught, and converted.
for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(name).disabled = True

SPARK_ERRORS = (PySparkException, Py4JError)
_RAISED = "USER_RAISED_EXCEPTION"
"""The condition of raise_error(…), by which guards stop a job."""
_READ_CONDITIONS = ("MALFORMED_RECORD_IN_PARSING", "FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER")
"""Conditions of files that Spark cannot read, or of rows in them."""
_WRAPPERS = (None, "STREAM_FAILED", "FAILED_READ_FILE.NO_HINT")
"""Conditions that are less specific than their cause. An exception without a condition often repeats its cause."""
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"

_DATA_CONDITIONS = frozenset(
    {
        *("ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_INVALID_INPUT", "CAST_OVERFLOW", "DIVIDE_BY_ZERO"),
        *("INVALID_ARRAY_INDEX", "REMAINDER_BY_ZERO", _RAISED),
    }
)
"""Conditions of native expressions, for causes without a SQLSTATE."""

# Spark has no conditions for these. Each is the beginning of a message of Spark, before any data.
_LOST_WORKER = re.compile(
    r"Python worker (exited unexpectedly|process terminated|failed to connect back)|"
    r"Timed out while waiting for the Python worker to connect back|EOF reached before Python server|"
    r"State server socket closed before the Python worker connected|"
    r"EOFException occurred while reading the port number from \S+ stdout"
    r"(\.| and terminated with code: 1[2-9]\d)"  # ended by a signal while it started
)
_LOST_EXECUTOR = re.compile(
    r"Job aborted due to stage failure: Task \d+ in stage \S+ failed \d+ times, most recent failure: "
    r"Lost task \S+ in stage \S+ \(TID \d+\) \(\S+ executor \S+\): ExecutorLostFailure"
)


def users_error(error: BaseException, seals: Iterable[Seal]) -> MorisotError | None:
    """The failure of a user's function, or of a row of a source, in a Spark exception."""
    chain = causes(error)
    return _signed(chain, seals) or _row_error(chain)


def _signed(chain: Sequence[Cause], seals: Iterable[Seal]) -> MorisotError | None:
    """The signed report of a task of the job. Other text has no signature."""
    text = "\n".join(text for cause in chain for text in (*cause.parameters.values(), cause.message))
    for message in itertools.chain.from_iterable(seal.messages(text) for seal in seals):
        if message["kind"] == ELEMENT:
            return reported(cast("Report", message))
        if message["kind"] == SOURCE:
            return SourceError(message["said"])
        if message["kind"] == SINK:
            return SinkError(message["said"])
        if message["kind"] == STATE:
            return SnapshotError(message["said"], advice=message["advice"])
        if message["kind"] == MEMORY:
            return JobError(_WORKER_MEMORY)
    return None


def _row_error(chain: Sequence[Cause]) -> SourceError | None:
    """The error of a row of a source, from its reader or from a guard."""
    for cause in chain:
        said = cause.parameters.get("errorMessage", cause.message)
        if cause.has(_RAISED) and said.startswith(BAD_ROW):
            return SourceError(said.removeprefix(BAD_ROW))
    return None


def is_data_error(error: BaseException) -> bool:
    """Whether a native expression failed on an unsupported value: Python then computes it, or raises its exception."""
    return any(
        cause.condition in _DATA_CONDITIONS if cause.state is None else cause.state.startswith(("22", "P0001"))
        for cause in causes(error)
    )


def is_read_error(error: BaseException) -> bool:
    """Whether Spark could not read a file: Python then reads it, or raises its error."""
    return any(cause.has(condition) for cause in causes(error) for condition in _READ_CONDITIONS)


def guards_in(error: BaseException) -> list[str]:
    """The messages of guards that stopped a job."""
    raised = (cause for cause in causes(error) if cause.has(_RAISED))
    return [cause.parameters.get("errorMessage", cause.message) for cause in raised]


def is_lost_worker(error: BaseException) -> bool:
    """Whether a Python worker died, or took too long to start: its task can be retried."""
    return any(_LOST_WORKER.match(cause.message) for cause in causes(error) if not cause.condition)


def job_error(error: BaseException) -> JobError:
    """The error for a failure that neither a user's function nor data caused, without the JVM's stack."""
    chain = causes(error)
    if any(cause.is_a(_OUT_OF_MEMORY) for cause in chain):
        return JobError(_SPARKS_MEMORY)
    if is_lost_worker(error):
        return JobError(_LOST_WORKERS)
    if any(_LOST_EXECUTOR.match(cause.message) for cause in chain):
        return JobError(_LOST_EXECUTORS)
    telling = next((cause for cause in chain if cause.condition not in _WRAPPERS), chain[-1])
    if telling.has("PYTHON_EXCEPTION"):  # not in a user's function; the last line of the traceback has the exception
        trace = telling.parameters.get("traceback", telling.message)
        return JobError(f"A Python worker of Spark failed: {trace.strip().splitlines()[-1]}")
    lines = [line for line in telling.message.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return JobError("Spark stopped the job: " + "\n".join(lines[:5]))


_SPARKS_MEMORY = (
    "Spark ran out of memory."
    "\n  What to do: give it more by Config(memory=…), or collect less: write to files, or use for_each"
)
_WORKER_MEMORY = (
    "A Python worker of Spark ran out of memory."
    "\n  What to do: hold less in a function or a state, use smaller batches with batch_mode(…), or lower parallelism"
)
_LOST_WORKERS = (
    "A Python worker of Spark died, several times."
    "\n  What to do: look for a function that ends its process or crashes in native code. If the system ended the "
    "worker for lack of memory, hold less in a function, or lower parallelism"
)
_LOST_EXECUTORS = (
    "An executor of the Spark cluster was lost, several times."
    "\n  What to do: see its log; a cluster ends an executor that needs more memory than it may have"
)
