"""Unbounded jobs: each sink is a streaming query, watched by a thread that knows what to do when it fails."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from morisot.errors import MorisotError
from morisot.plan.aggregate import Aggregate
from morisot.plan.graph import walk
from morisot.plan.sink import Sink, WriteSink
from morisot.run.batch import BatchRunner, Receiver, elements, sink_error
from morisot.run.failures import SPARK_ERRORS

_POLL_SECONDS = 0.2
_FORMATS = {"write_text": "text", "write_csv": "csv", "write_json": "json", "write_parquet": "parquet"}


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
        frame = self._lowering.frame(self._sink)
        running_values = any(isinstance(node, Aggregate) for node in walk(self._sink))
        writer = frame.df.writeStream.outputMode("update" if running_values else "append")
        writer = writer.option("checkpointLocation", self._checkpoint)
        try:
            if self._receiver is not None:
                return writer.foreachBatch(self._deliver).start()
            assert isinstance(self._sink, WriteSink)
            if running_values:  # files cannot be updated: each micro-batch's changes are rows of their own
                return writer.foreachBatch(self._write_changes()).start()
            return self._file_writer(writer, self._sink)
        except AnalysisException as error:
            if isinstance(self._sink, WriteSink):
                raise sink_error(self._sink, error) from None
            raise

    def _file_writer(self, writer: Any, sink: WriteSink) -> StreamingQuery:
        writer = writer.format(_FORMATS[sink.operator]).option("path", sink.path)
        if sink.operator == "write_csv":
            writer = writer.option("header", sink.parameters.get("header", True)).option("escape", '"')
        query: StreamingQuery = writer.start()
        return query

    def _deliver(self, df: DataFrame, _batch: int) -> None:
        assert self._receiver is not None
        try:
            delivered = elements(df, self._sink.type)
            self._receiver(delivered)
            self._elements_out += len(delivered)
        except SPARK_ERRORS:
            raise
        except BaseException as error:  # the JVM would keep only its text
            self._delivery_failure = error
            raise

    def _write_changes(self) -> Callable[[DataFrame, int], None]:
        sink = self._sink
        assert isinstance(sink, WriteSink)

        def write(df: DataFrame, batch: int) -> None:
            df.write.format(_FORMATS[sink.operator]).mode("overwrite").save(f"{sink.path}/batch={batch}")

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
        if isinstance(self._delivery_failure, MorisotError):
            raise self._delivery_failure
        self._runner.demote_or_raise(self._lowering, error)
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
            if self._receiver is None:
                self._elements_out += max(0, int(progress["sink"]["numOutputRows"] or 0))
