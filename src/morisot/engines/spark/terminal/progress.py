"""A progress bar for a long bounded job, erased when the job ends."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.core.status import StatusTracker
    from pyspark.sql import SparkSession

_PATIENCE = 1.0
"""Seconds before a bar appears: a job that ends sooner shows none."""
_INTERVAL = 0.2
"""Seconds between two updates."""


@contextlib.contextmanager
def progress(
    spark: SparkSession,
    *,
    enabled: bool | None = None,
    description: str = "running",
    group: str | None = None,
    note: Callable[[], str] = str,
) -> Iterator[None]:
    """Shows a bar on stderr while the block runs Spark jobs, those of the job group `group` if one is given.

    The text of `note`, the progress of loops, is shown next to it.

    `enabled` is `Config.progress`; None shows the bar when stderr is a terminal. Without Spark's counts (as over Spark
    Connect) there is no bar.
    """
    wanted = sys.stderr is not None and sys.stderr.isatty() if enabled is None else enabled
    tracker = _tracker(spark) if wanted else None
    if tracker is None:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(tracker, group, description, over, note), name="morisot-progress", daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(timeout=5)


def _tracker(spark: SparkSession) -> StatusTracker | None:
    try:
        return spark.sparkContext.statusTracker()
    except Exception:  # a session of Spark Connect, or one that has ended
        return None


def _watch(
    tracker: StatusTracker, group: str | None, description: str, over: threading.Event, note: Callable[[], str]
) -> None:
    """Draws until `over`. Errors here must not affect the job."""
    if over.wait(_PATIENCE):
        return
    # imported here: rich takes a tenth of a second to import, which only a long job needs
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"), TimeElapsedColumn())
    with (
        contextlib.suppress(Exception),
        Progress(
            *columns, console=Console(stderr=True, force_terminal=True), transient=True, redirect_stdout=False
        ) as bar,
    ):
        task = bar.add_task(description, total=None, counts="")
        seen: dict[int, tuple[int, int]] = {}
        while not over.wait(_INTERVAL):
            seen |= _counts(tracker, group)
            done, total = (sum(column) for column in zip(*seen.values(), strict=True)) if seen else (0, 0)
            counts = f"{done}/{total} tasks" if total else ""
            bar.update(task, completed=done, total=total or None, counts=f"{counts} {note()}".strip())


def _counts(tracker: StatusTracker, group: str | None) -> dict[int, tuple[int, int]]:
    """The completed tasks and all tasks of each stage."""
    if group is None:
        stages = set(tracker.getActiveStageIds())
    else:
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    infos = [tracker.getStageInfo(stage) for stage in stages]
    return {info.stageId: (info.numCompletedTasks, info.numTasks) for info in infos if info is not None}
