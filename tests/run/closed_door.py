"""What other users of the machine reach of a program whose umask is 0: `python closed_door.py DIRECTORY [short]`.

The program says in JSON what it found. TMPDIR has to be DIRECTORY, so that everything the program makes is below it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

import morisot as mo
from morisot.config import Config
from morisot.engines.spark.session.session import build_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = 65534
_SECONDS = 5
"""What serves blocks answers at once; other doors hear the question and say nothing."""
SECRET = "ck-0123456789"
OPEN_BLOCKS, STREAM_HANDLE = 0, 3
CHUNK_REQUEST, CHUNK, RPC_REQUEST, RPC_RESPONSE = 0, 1, 3, 4


def reachable(directory: Path) -> Iterator[str]:
    """What is below a directory that others may read, write or enter; nothing below those that they cannot enter."""
    for entry in os.scandir(directory):
        mode = entry.stat(follow_symlinks=False).st_mode
        if entry.is_symlink() or stat.S_ISSOCK(mode) or not mode & 0o077:
            continue
        yield f"{stat.filemode(mode)} {os.path.relpath(entry.path, directory)}"
        if entry.is_dir() and mode & 0o011:
            yield from reachable(Path(entry.path))


# --- files ---


def run_jobs(spark: SparkSession, saves: Path, *, short: bool) -> list[str]:
    """Jobs of each kind, or only a bounded and an unbounded one; what others reach while they run."""
    config = Config(progress=False, report=False, parallelism=1)
    with mo.StreamContext(spark, config=config, snapshots=mo.Snapshots(saves)) as ctx:
        ctx.stream_iter(range(20)).group_by_count(lambda n: n % 3).unkey().collect()
        if short:
            with streaming(ctx):
                return list(reachable(saves.parent))
        ctx.stream_iter(range(5)).iterate(
            3,
            0,
            lambda s, state: s.map(lambda n: n + 1),
            lambda d, n: d + n,
            lambda s, d: s + d,
            lambda s: True,
            delta=0,
        )[0].collect()
        with streaming(ctx), mo.StreamContext(spark, config=config) as other, streaming(other):
            return list(reachable(saves.parent))


class streaming:  # noqa: N801 - used like a function
    """A job that reads a channel, with states and elements of a bounded stream."""

    def __init__(self, ctx: mo.StreamContext) -> None:
        self._seen: list[Any] = []
        self._inlet, numbers = ctx.stream_channel(int)
        timed = ctx.stream_iter([1, 2]).merge(numbers).add_timestamps(lambda n: n, delay=0, idle="1s")
        timed.for_each(self._seen.append)
        numbers.group_by_count(lambda n: n % 2).for_each(lambda key, count: self._seen.append(key))
        self._job = ctx.start()

    def __enter__(self) -> None:
        self._inlet.send_all([3, 4])
        self._inlet.flush()
        self._job.catch_up()
        assert sorted(self._seen) == [0, 1, 1, 2, 3, 4], self._seen

    def __exit__(self, *_: object) -> None:
        self._job.stop()


# --- sockets ---


def message(kind: int, *parts: bytes) -> bytes:
    """A message of Spark's network protocol."""
    content = bytes([kind]) + b"".join(parts)
    return struct.pack(">q", 8 + len(content)) + content


def text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def answer(line: socket.socket) -> bytes:
    """The next message; nothing if the other side hangs up."""
    received = b""
    while len(received) < 8 or len(received) < struct.unpack(">q", received[:8])[0]:
        more = line.recv(2**16)
        if not more:
            return b""
        received += more
    return received[8:]


def fetched(port: int, app: str, block: str) -> bool:
    """Whether what listens on a port gives a block to a client that asks for it."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as line:
        body = bytes([OPEN_BLOCKS]) + text(app) + text("driver") + struct.pack(">i", 1) + text(block)
        line.sendall(message(RPC_REQUEST, struct.pack(">qi", 1, len(body)), body))
        said = answer(line)
        if not said or said[0] != RPC_RESPONSE or said[13] != STREAM_HANDLE:
            return False
        stream = struct.unpack(">q", said[14:22])[0]
        line.sendall(message(CHUNK_REQUEST, struct.pack(">qi", stream, 0)))
        return answer(line)[:1] == bytes([CHUNK])
    return False


def begin_as_another_user(action: Callable[[], bool]) -> int:
    """Start a process of another user, where this one may become that, or else another process."""
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os._exit(int(action()))
    return child


def answer_of(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def gives_blocks(spark: SparkSession) -> bool:
    """Whether another user gets a block of the session."""
    context = spark.sparkContext
    rows = context.parallelize(["a user's row"], 1).cache()
    assert rows.count() == 1
    app, block = context.applicationId, f"rdd_{rows.id()}_0"
    children = [begin_as_another_user(functools.partial(fetched, port, app, block)) for port in ports()]
    return any([answer_of(child) for child in children])  # noqa: C419 - each is waited for


def ports() -> list[int]:
    """All on which the program and its JVM listen; one of them gives blocks."""
    return sorted({line.laddr.port for line in lines_in()})


def lines_in() -> list[Any]:
    return [line for line in asked(lambda each: each.net_connections("inet")) if line.status == psutil.CONN_LISTEN]


def family() -> list[psutil.Process]:
    """The program, its JVM and the workers; some of those may have ended."""
    me = psutil.Process()
    return [me, *(each for each in me.children(recursive=True) if is_running(each))]


def is_running(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def asked(question: Callable[[psutil.Process], Iterable[Any]]) -> list[Any]:
    found: list[Any] = []
    for each in family():
        with contextlib.suppress(psutil.Error):
            found += question(each)
    return found


def listening() -> list[str]:
    """The addresses on which the program and its JVM listen."""
    return sorted({line.laddr.ip for line in lines_in()})


def outside(directory: str) -> list[str]:
    """Files in the common temporary directory that the JVM has open or mapped; the installation may be there, too."""
    files = {file.path for file in asked(lambda process: (*process.open_files(), *process.memory_maps()))}
    expected = (directory, "/tmp/hsperfdata", sys.prefix, str(Path(__file__).parents[2]))
    return sorted(file for file in files if file.startswith("/tmp/") and not file.startswith(expected))


def main(directory: str, how: str = "") -> None:
    os.umask(0)
    root = Path(directory)
    settings = {"hadoop.fs.s3a.secret.key": SECRET}
    spark = build_session(Config(master="local[2]", parallelism=1, memory="1g", spark=settings))
    found = {
        "reachable": run_jobs(spark, root / "saves", short=how == "short"),
        "outside": outside(directory),
        "listening": listening(),
        "gives blocks": gives_blocks(spark),
        "on command lines": [word for word in asked(lambda process: process.cmdline()) if SECRET in word],
        "secret arrived": spark.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key") == SECRET,
    }
    spark.stop()
    if how != "short":
        spark = build_session(Config(master="local[2]", parallelism=1, memory="1g", spark={"authenticate": "false"}))
        found["gives blocks if the user wants that"] = gives_blocks(spark)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
