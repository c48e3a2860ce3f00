"""A job over the elements of a test, which fails and resumes at the events of the test."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from morisot.api.base import StreamBase
from morisot.api.context import StreamContext
from morisot.api.location import caller
from morisot.errors import ElementError, PlanError
from morisot.plan.snapshots import Snapshots
from morisot.testing.followed import Followed
from morisot.testing.outcome import Outcome, answer
from morisot.testing.script import AdvanceTime, Batches, Crash, JobStart, batches_of, job_starts

Program = Callable[..., Any]


class Trial:
    """A program over followed directories, in several starts of a job."""

    def __init__(self, program: Program, inputs: Sequence[Batches], context: StreamContext, directory: Path) -> None:
        self._program = program
        self._context = context
        self._inputs = [batches_of(each) for each in inputs]
        self._job_starts = job_starts(inputs)
        self._followed = [Followed(directory / f"input-{index}", each) for index, each in enumerate(self._inputs)]
        self._saved = directory / "snapshots"
        self._put = 0
        """The number of micro-batches that were written."""
        self._changes: list[Any] = []
        self._dying = False

    def run(self) -> Outcome:
        *before, last = self._job_starts
        for job_start in before:
            if job_start.end == 0:
                self._put_nothing()  # a job without micro-batches has no watermark
            self._run(job_start)
            for event in job_start.events:
                if isinstance(event, AdvanceTime):
                    self._advance(event.milliseconds)
        return self._run(last)

    def _run(self, job_start: JobStart) -> Outcome:
        """Starts the job and lets it read the micro-batches of one start, and the next one if it fails there."""
        self._put_until(job_start.end)
        with self._new_context() as context:
            stream = result_of(self._program, [context.plain(each.node) for each in self._followed])
            stream.for_each(self._receive)
            job = context.start()
            try:
                job.catch_up()
                if any(isinstance(event, Crash) for event in job_start.events):
                    self._dying = True
                    self._put_until(job_start.end + 1)
                    with contextlib.suppress(ElementError):  # an error of the program itself is raised again
                        job.catch_up()
            finally:
                self._dying = False
                job.stop()
            return Outcome(self._changes, answer(stream._node, self._changes), dict(job.metrics()))

    def _receive(self, *parts: Any) -> None:
        if self._dying:
            raise RuntimeError("the job fails here because of CRASH in the test")
        self._changes.append(parts[0] if len(parts) == 1 else parts)

    def _put_until(self, end: int) -> None:
        for number in range(self._put, end):
            for followed, batches in zip(self._followed, self._inputs, strict=True):
                if number < len(batches):
                    followed.put(batches[number])
            self._put = number + 1

    @contextlib.contextmanager
    def _new_context(self) -> Iterator[StreamContext]:
        """The context of the test, or one with snapshots if the job is started several times."""
        if len(self._job_starts) == 1:
            yield self._context
            return
        config, snapshots = self._context.config, Snapshots(self._saved)
        with StreamContext(self._context.spark, config=config, snapshots=snapshots) as context:
            yield context

    def _advance(self, milliseconds: int) -> None:
        """Advances the watermark of the stopped job, and adds an empty file, so that a micro-batch runs on resume.

        The watermark of the next micro-batch is in the commit log.
        """
        for commits in self._saved.glob("streams/*/spark/commits"):
            entry = max((file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
            version, content = entry.read_text(encoding="utf-8").split("\n", 1)
            values = json.loads(content)
            values["nextBatchWatermarkMs"] = max(values["nextBatchWatermarkMs"], milliseconds)
            entry.write_text(f"{version}\n{json.dumps(values)}", encoding="utf-8")
            (commits / f".{entry.name}.crc").unlink(missing_ok=True)
        self._put_nothing()

    def _put_nothing(self) -> None:
        for followed in self._followed:
            followed.put([])


def result_of(program: Program, streams: Sequence[StreamBase[Any]]) -> Any:
    """The stream that the program returns for its inputs."""
    result = program(*streams)
    if not isinstance(result, StreamBase):
        raise PlanError(
            f"a tested program returns a stream, not {result!r}",
            location=caller(),
            advice="return the stream, without collect() or another sink: the test runs it",
        )
    return result
