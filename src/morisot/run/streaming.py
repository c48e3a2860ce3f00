"""Unbounded jobs: each sink is a streaming query, watched by a thread that knows what to do when it fails."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from morisot.errors import MorisotError
from morisot.plan.aggregate import Aggregate
from morisot.plan.graph import walk
from morisot.plan.sink import Sink, WriteSink
from morisot.run.batch import BatchRunner, Receiver, elements
from morisot.run.failures import SPARK_ERRORS
from morisot.run.files import FORMATS, delete, is_connect, refuse_existing, write_options

_POLL_SECONDS = 0.2
_OBSERVED = "morisot"
"""The name under which a query counts what it writes."""


class StreamPart:
    """One sink of an unbounded job."""

    def __init__(
        self, runner: BatchRunner, sink: Sink, receiver: Receiver | None, close: Callable[[], None] | None
    ) -> None:
        self._runner = runner
        self._sink = sink
        self._receiver = receiver
        self._close = close
        self._checkpoint = tempfile.mkdtemp(prefix="morisot-checkpoint-")
        self._stopping = threading.Event()
        self._seen_batches: set[tuple[str, int]] = set()
        self._elements_in = 0
        self._elements_out = 0
        self._rate = 0.0
        self._delivery_failure: BaseException | None = None
        self.error: BaseException | None = None
        self._lowering = runner.lowering(sink)
        self._prepare()
        self._query = self._start()
        self._thread = threading.Thread(target=self._watch, name=f"morisot-{sink.operator}", daemon=True)
        self._thread.start()

    # -- what the job asks ------------------------------------------------------------------------------------------

    def stop(self) -> None:
        self._stopping.set()
        if self._close is not None:
            self._close()  # a sink that waits for its reader lets go
        self._query.stop()
        self._thread.join()

    def join(self, timeout: float | None) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def metrics(self) -> dict[str, Any]:
        self._count_progress()
        return {
            "sink": self._sink.label or self._sink.operator,
            "elements_in": self._elements_in,
            "elements_out": self._elements_out,
            "batches": len(self._seen_batches),
            "elements_per_second": self._rate,
        }

    # -- the query --------------------------------------------------------------------------------------------------

    def _start(self) -> StreamingQuery:
        df = self._lowering.frame(self._sink).df
        running_values = any(isinstance(node, Aggregate) for node in walk(self._sink))
        mode = "update" if running_values else "append"
        if not isinstance(self._sink, WriteSink):
            return self._writer(df, mode).foreachBatch(self._deliver).start()
        if running_values:  # files cannot be updated: each micro-batch's changes are rows of their own
            return self._writer(df, mode).foreachBatch(self._write_changes(self._sink)).start()
        counted = df.observe(_OBSERVED, F.expr("count(1) AS elements"))
        files = self._writer(counted, mode).format(FORMATS[self._sink.operator]).options(**write_options(self._sink))
        return files.start(self._sink.path)

    def _writer(self, df: DataFrame, mode: str) -> DataStreamWriter:
        return df.writeStream.outputMode(mode).option("checkpointLocation", self._checkpoint)

    def _prepare(self) -> None:
        """A directory for the results: new, or emptied if the user says so."""
        if isinstance(self._sink, WriteSink):
            df = self._lowering.frame(self._sink).df
            if not is_connect(df):
                refuse_existing(self._sink, df)
                delete(df, self._sink.path)

    def _deliver(self, df: DataFrame, _batch: int) -> None:
        assert self._receiver is not None
        try:
            delivered = elements(df, self._sink.type)
            self._receiver(delivered)
            self._elements_out += len(delivered)
        except BaseException as error:
            # The JVM would keep only the text, and Spark searches it with a regular expression that overflows the
            # stack on a long one: it gets a short one, and the error itself waits here.
            self._delivery_failure = error
            raise RuntimeError(f"{self._sink.operator} failed") from None

    def _write_changes(self, sink: WriteSink) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, batch: int) -> None:
            writer = df.write.format(FORMATS[sink.operator]).options(**write_options(sink))
            writer.mode("overwrite").save(f"{sink.path}/batch={batch}")
            self._elements_out += df.count()

        return write

    # -- the watch --------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    if self._query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
                        break
                    self._count_progress()
                except (StreamingQueryException, *SPARK_ERRORS) as error:
                    if self._stopping.is_set():
                        break
                    self._restart_or_raise(error)
        except BaseException as error:
            self.error = error
        finally:
            self._count_progress()
            if self._close is not None:
                self._close()
            shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _restart_or_raise(self, error: BaseException) -> None:
        """Go on from the checkpoint with the failing closures in Python, or raise what the user should read."""
        failure, self._delivery_failure = self._delivery_failure or error, None
        if isinstance(failure, MorisotError):
            raise failure
        self._runner.demote_or_raise(self._lowering, failure)
        self._lowering = self._runner.lowering(self._sink)
        self._query = self._start()

    def _count_progress(self) -> None:
        for progress in self._query.recentProgress:
            batch = (str(progress["runId"]), int(progress["batchId"]))
            if batch in self._seen_batches or not progress["numInputRows"]:
                continue
            self._seen_batches.add(batch)
            self._elements_in += progress["numInputRows"]
            self._rate = float(progress["processedRowsPerSecond"] or 0.0)
            observed = (progress["observedMetrics"] or {}).get(_OBSERVED)
            if observed is not None:
                self._elements_out += int(observed["elements"])
