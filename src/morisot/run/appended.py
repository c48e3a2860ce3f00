"""The directories that unbounded jobs write, brought to what a snapshot says is in them.

Spark's file sink lists the files of each micro-batch in a log, `_spark_metadata`, and those who read the directory with
Spark see what is listed. Others see every file, so whatever a killed job left unlisted is removed. Values that replace
earlier ones are written into a directory for each micro-batch.
"""

from __future__ import annotations

import re
import shutil
import urllib.parse
from pathlib import Path

from morisot.errors import SinkError
from morisot.plan.files import is_local
from morisot.plan.sink import WriteSink
from morisot.run import logs

_BATCH = re.compile(r"batch=(\d+)")
_LOG = "_spark_metadata"


class Appended:
    """What a sink has written, where that is on this machine's disks."""

    def __init__(self, sink: WriteSink) -> None:
        self._sink = sink
        self.is_local = is_local(sink.path)
        self._directory = Path(sink.path)
        self._log = self._directory / _LOG

    @property
    def exists(self) -> bool:
        return self._directory.is_dir()

    def refuse_lost(self) -> None:
        """Refuse to go on where the results of earlier micro-batches are gone."""
        if self.is_local and not self.exists:
            raise SinkError(
                f"{self._sink.operator} ({self._sink.location}): {self._sink.path!r}, which the job has written "
                "before, is gone; start anew with Snapshots(…, restart=None)"
            )

    def can_go_back(self, number: int) -> bool:
        """Whether it is still known what was there after a micro-batch."""
        return self.is_local and (not self._log.is_dir() or logs.reaching(self._log, number) is not None)

    def go_back(self, number: int) -> None:
        """Remove what later micro-batches wrote."""
        logs.cut(self._log, number)
        for directory in self._directory.glob("batch=*"):
            found = _BATCH.fullmatch(directory.name)
            if found and int(found[1]) > number:
                shutil.rmtree(directory, ignore_errors=True)
        self.remove_strays()

    def remove_strays(self) -> None:
        """Remove the files that no finished micro-batch has written."""
        if not self.is_local or not self.exists:
            return
        for unfinished in self._directory.glob("_writing-*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        if not self._log.is_dir():
            return
        listed = self._listed()
        for file in self._directory.glob("part-*"):
            if file.is_file() and file.name not in listed:
                logs.remove(file)

    def _listed(self) -> set[str]:
        numbers = logs.numbers(self._log)
        entries = logs.reaching(self._log, numbers[-1]) if numbers else []
        assert entries is not None, "Spark drops an entry only when a later one holds what it said"
        paths = (urllib.parse.urlsplit(each["path"]).path for entry in entries for each in logs.lines(entry))
        return {Path(urllib.parse.unquote(path)).name for path in paths}
