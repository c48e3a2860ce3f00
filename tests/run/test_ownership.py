"""One owner for each snapshot directory: who is refused, who is not, and when the lock ends."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints import ownership
from morisot.engines.spark.checkpoints.ownership import SnapshotLock

ROOT = Path(__file__).parents[2]

HOLDER = """
import sys, time
from morisot.engines.spark.checkpoints.ownership import SnapshotLock

lock = SnapshotLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""


def holder(directory: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_is_refused_and_a_killed_owner_blocks_nobody(tmp_path: Path) -> None:
    saves = tmp_path / "saves"
    process = holder(saves)
    try:
        refused = rf"{saves} are in use by the process {process.pid} on {socket.gethostname()}, since 20.*\+00:00"
        with pytest.raises(mo.SnapshotError, match=refused) as caught:
            SnapshotLock(saves).acquire()
        assert "What to do: wait until it ends, stop it, or" in str(caught.value)
        (tmp_path / "link").symlink_to(saves)
        with pytest.raises(mo.SnapshotError):
            SnapshotLock(tmp_path / "link").acquire()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with SnapshotLock(saves).held():
        owner = json.loads((saves / "owner.lock").read_text())
        assert (owner["pid"], owner["format"]) == (os.getpid(), 1)


def test_two_owners_in_one_process(tmp_path: Path) -> None:
    first, second = SnapshotLock(tmp_path), SnapshotLock(tmp_path)
    with first.held():
        with (
            first.held(),
            pytest.raises(mo.SnapshotError, match=rf"another context of this process \(pid {os.getpid()} "),
        ):
            second.acquire()
        with pytest.raises(mo.SnapshotError):
            second.acquire()
    with second.held(), pytest.raises(mo.SnapshotError):
        first.acquire()
    hold = first.hold()
    hold.release()
    hold.release()
    with second.held():
        pass


@pytest.mark.parametrize("content", ["", "{", '{"format": 2, "host": "h", "pid": 1, "started": "s"}'])
def test_an_owner_that_says_nothing_that_we_know(content: str, tmp_path: Path) -> None:
    lock = SnapshotLock(tmp_path)
    with lock.held():
        (tmp_path / "owner.lock").write_text(content)
        with pytest.raises(mo.SnapshotError, match="in use by another program"):
            SnapshotLock(tmp_path).acquire()


def test_an_owner_that_was_forgotten_lets_go(tmp_path: Path) -> None:
    SnapshotLock(tmp_path).acquire()
    with SnapshotLock(tmp_path).held():
        pass


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """It shares the open file. It must neither keep the lock when the owner ends nor release it when it ends itself."""
    lock = SnapshotLock(tmp_path)
    lock.acquire()
    context = multiprocessing.get_context("fork")
    ready, end = context.Event(), context.Event()

    def child(ready: Any, end: Any) -> None:
        assert not ownership._descriptors
        lock._finalizer()  # type: ignore[misc]
        ready.set()
        end.wait(60)

    process = context.Process(target=child, args=(ready, end))
    process.start()
    try:
        assert ready.wait(60)
        with pytest.raises(mo.SnapshotError):
            SnapshotLock(tmp_path).acquire()
        os.close(lock._descriptor)  # type: ignore[arg-type]  # as the kernel does when the owner is killed
        ownership._descriptors.clear()
        with SnapshotLock(tmp_path).held():
            pass
    finally:
        end.set()
        process.join()
    assert process.exitcode == 0


def test_a_program_that_is_started_does_not_get_the_lock(tmp_path: Path) -> None:
    lock = SnapshotLock(tmp_path)
    lock.acquire()
    program = [sys.executable, "-c", "print('ready', flush=True); input()"]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.close(lock._descriptor)  # type: ignore[arg-type]
        ownership._descriptors.clear()
        with SnapshotLock(tmp_path).held():
            pass
    finally:
        process.communicate(b"\n")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_warned_of(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    lock = SnapshotLock(tmp_path)
    with pytest.warns(RuntimeWarning, match=rf"{tmp_path} has no locks .*Run one program at a time"):
        lock.acquire()
    lock.release()
    assert not ownership._descriptors


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        mo.SinkError, match="snapshots cannot be written to .*file/saves: (Not a directory|File exists)"
    ):
        SnapshotLock(tmp_path / "file" / "saves").acquire()


def test_a_directory_that_is_removed_while_it_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that locks a removed file would not see the next owner."""
    flock, calls = fcntl.flock, []

    def removing(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        calls.append(operation)
        if len(calls) == 1:
            (tmp_path / "owner.lock").unlink()

    monkeypatch.setattr(fcntl, "flock", removing)
    with SnapshotLock(tmp_path).held():
        assert len(calls) == 2
        with pytest.raises(mo.SnapshotError):
            SnapshotLock(tmp_path).acquire()


# -- jobs -------------------------------------------------------------------------------------------------------------


def saving(spark: Any, directory: Path, **settings: Any) -> mo.StreamContext:
    snapshots = mo.Snapshots(directory / "saves", **settings)
    return mo.StreamContext(spark, config=mo.Config(progress=False, report=False), snapshots=snapshots)


def sums(ctx: mo.StreamContext) -> mo.Stream[int]:
    return ctx.stream_iter(range(4)).replay(
        3, 0, lambda s, state: s.map(lambda n: n + 1), lambda a, b: a + b, lambda a, b: a + b, lambda _: True, delta=0
    )


def check_refused(other: mo.StreamContext, directory: Path) -> None:
    """No kind of job of another context gets the lock."""
    for run in (
        lambda: sums(other).collect(),
        lambda: other.stream_iter(range(4)).map(lambda n: n + 1).collect(),
        lambda: other.stream_channel(int),
    ):
        with pytest.raises(mo.SnapshotError, match="in use by another context of this process"):
            run()
    other.stream_file(directory / "in", unbounded=True).for_each(print)
    with pytest.raises(mo.SnapshotError, match="in use by another context of this process"):
        other.start()


def test_bounded_jobs_and_loops_hold_the_lock_while_they_run(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    called: list[bool] = []
    with saving(spark, tmp_path) as other, saving(spark, tmp_path) as ctx:

        def refused(*_: Any) -> bool:
            check_refused(other, tmp_path)
            called.append(True)
            return True

        # a bounded job, while it delivers
        ctx.stream_iter([1]).map(lambda n: n + 1).for_each(refused)
        ctx.execute()
        assert called.pop()
        # a loop, while it asks its condition
        asked = ctx.stream_iter(range(4)).replay(
            1, 0, lambda s, state: s.map(lambda n: n + 1), lambda a, b: a + b, lambda a, b: a + b, refused, delta=0
        )
        assert asked.collect() == [10]
        assert called.pop()
        # jobs that have ended hold nothing, though the context is open
        assert sums(other).collect() == [30]


def test_queries_and_channels_hold_the_lock_until_they_are_stopped(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.txt").write_text("1\n")
    other = saving(spark, tmp_path)
    with saving(spark, tmp_path) as ctx:
        ctx.stream_file(tmp_path / "in", unbounded=True).map(lambda line: int(line)).for_each(lambda _: None)
        job = ctx.start()
        job.catch_up()
        check_refused(other, tmp_path)
        assert ctx.stream_iter(range(3)).map(lambda n: n * 2).collect() == [0, 2, 4], "its own jobs are not refused"
        job.stop()
        assert sums(other).collect() == [30]
        # a channel, until the context is closed
        ctx.stream_channel(int)
        check_refused(other, tmp_path)
    assert sums(other).collect() == [30]
    other.close()


def test_a_job_that_fails_or_is_refused_lets_go(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.txt").write_text("x\n")
    (tmp_path / "out").mkdir()
    ctx, other = saving(spark, tmp_path), saving(spark, tmp_path)
    ctx.stream_file(tmp_path / "in", unbounded=True).map(lambda line: int(line)).for_each(lambda _: None)
    job = ctx.start()
    with pytest.raises(mo.ElementError):
        job.wait(60)
    ctx.stream_file(tmp_path / "in", unbounded=True).write_text(tmp_path / "out")
    with pytest.raises(mo.SinkError, match="exists already"):
        ctx.start()
    with pytest.raises(mo.ElementError):
        ctx.stream_iter([0, 1]).map(lambda n: 1 // n).collect()
    assert sums(other).collect() == [30]
    ctx.close()
    other.close()
