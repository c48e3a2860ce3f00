"""Channels into a job, and sources and sinks of the user's own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.operators.test_unbounded import until


class Countdown(mo.Source[int]):
    def __init__(self, start: int) -> None:
        self.start = start

    def read(self) -> Iterator[int]:
        yield from range(self.start, 0, -1)


class Squares(mo.OffsetSource[tuple[int, str | None]]):
    """Ten at a time, thirty in all."""

    def initial_offset(self) -> dict[str, Any]:
        return {"n": 0}

    def read(self, start: dict[str, Any]) -> tuple[list[tuple[int, str | None]], dict[str, Any]]:
        n = start["n"]
        return [(i * i, None if i % 2 else str(i)) for i in range(n, min(n + 10, 30))], {"n": min(n + 10, 30)}


class Kept(mo.Sink[Any]):
    """Remembers what it was told."""

    def __init__(self, last: int | None = None) -> None:
        self.calls: list[Any] = []
        self.elements: list[Any] = []
        self.last = last

    def open(self) -> None:
        self.calls.append("open")

    def last_committed(self) -> int | None:
        return self.last

    def prepare(self, batch: int, elements: Sequence[Any]) -> None:
        self.calls.append(("prepare", batch))
        self.prepared = list(elements)

    def commit(self, batch: int) -> None:
        self.calls.append(("commit", batch))
        self.elements += self.prepared
        self.last = batch

    def close(self) -> None:
        self.calls.append("close")


# -- the user's own -------------------------------------------------------------------------------------------------


def test_a_source_of_the_users_own(ctx: mo.StreamContext) -> None:
    stream = ctx.stream(Countdown(3))
    assert str(stream.type) == "int"
    assert stream.map(lambda n: n * 2).collect() == [6, 4, 2]
    assert stream.bounded


def test_the_type_of_a_source_may_be_given(ctx: mo.StreamContext) -> None:
    class Untyped(mo.Source[Any]):
        def read(self) -> Any:
            return ["a"]

    assert str(ctx.stream(Untyped()).type) == "object"
    assert str(ctx.stream(Untyped(), returns=str).type) == "str"


def test_what_is_no_source_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"stream needs a mo.Source or a mo.OffsetSource, not \[1\]"):
        ctx.stream([1])  # type: ignore[arg-type]


def test_reading_again_goes_from_offset_to_offset() -> None:
    again = Squares().read_again({"n": 0}, {"n": 20})
    assert [square for square, _ in again] == [n * n for n in range(20)]
    with pytest.raises(ValueError, match="does not lead from the offset"):
        Squares().read_again({"n": 0}, {"n": 35})


def test_a_source_without_end_and_a_sink(spark_ctx: mo.StreamContext) -> None:
    sink = Kept()
    spark_ctx.stream(Squares()).rich_map(0, lambda s, x: (s + x[0], (s + x[0], x[1]))).write_to(sink)
    job = spark_ctx.start()
    try:
        until(lambda: len(sink.elements) == 30 or job.wait(0.05), 150)
    finally:
        job.stop()
    total, expected = 0, []
    for n in range(30):
        total += n * n
        expected.append((total, None if n % 2 else str(n)))
    assert sink.elements == expected, "in the order of the source"
    assert (sink.calls[0], sink.calls[-1]) == ("open", "close")
    assert sink.calls[1:3] == [("prepare", 0), ("commit", 0)]


def test_a_source_that_fails_is_named(spark_ctx: mo.StreamContext) -> None:
    class Broken(mo.OffsetSource[int]):
        def initial_offset(self) -> dict[str, Any]:
            return {"n": 0}

        def read(self, start: dict[str, Any]) -> Any:
            return (["text"], {"n": 1}) if start["n"] == 0 else ([], start)

    spark_ctx.stream(Broken()).for_each(print)
    job = spark_ctx.start()
    with pytest.raises(mo.SourceError, match=r"stream \(.*test_endpoints.py:\d+\): Broken.read.*'text' \(str\) is not"):
        job.wait(60)


def test_a_sink_takes_a_bounded_stream_as_one_batch(ctx: mo.StreamContext) -> None:
    sink = Kept()
    ctx.stream_iter([1, 2, 3]).write_to(sink)
    ctx.execute()
    assert sink.elements == [1, 2, 3]
    assert sink.calls == ["open", ("prepare", 0), ("commit", 0), "close"]


def test_a_sink_that_fails_is_named(ctx: mo.StreamContext) -> None:
    class Broken(Kept):
        def commit(self, batch: int) -> None:
            raise KeyError("full")

    sink = Broken()
    ctx.stream_iter([1]).write_to(sink)
    with pytest.raises(mo.SinkError, match=r"write_to \(.*\): Broken.commit of batch 0 failed: KeyError: 'full'"):
        ctx.execute()
    assert sink.calls[-1] == "close"
    with pytest.raises(mo.PlanError, match="write_to needs a mo.Sink, not <built-in function print>"):
        ctx.stream_iter([1]).write_to(print)  # type: ignore[arg-type]


def test_a_sink_is_not_given_again_what_it_has_committed(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    def run(last: int | None, batches: int) -> Kept:
        sink = Kept(last)
        snapshots = mo.Snapshots(tmp_path / "saves")
        with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
            ctx.stream_file(tmp_path / "in", unbounded=True).write_to(sink)
            job = ctx.start()
            until(lambda: len(job.snapshots()) == batches or job.wait(0.05), 150)
            job.stop()
        return sink

    (tmp_path / "in" / "a.txt").write_text("a\n")
    assert run(5, 1).elements == ["a"], "a job that starts from scratch does not ask what an older one committed"
    (tmp_path / "in" / "b.txt").write_text("b\n")
    again = run(1, 2)
    assert again.calls == ["open", "close"], "micro-batch 1 was committed before the job was killed"
    (tmp_path / "in" / "c.txt").write_text("c\n")
    assert run(1, 3).elements == ["c"]


# -- channels -------------------------------------------------------------------------------------------------------


def test_a_channel_on_the_reference_engine() -> None:
    ctx = mo.StreamContext(engine="reference")
    inlet, numbers = ctx.stream_channel(int)
    inlet.send(1)
    with pytest.raises(mo.PlanError, match=r"stream_channel is open: .*\n.*close the inlet"):
        numbers.collect()
    inlet.close()
    assert numbers.collect() == [1]
    assert inlet.closed
    with pytest.raises(mo.PlanError, match="the channel is closed"):
        inlet.send(2)


def test_only_elements_of_its_type_enter_a_channel() -> None:
    inlet, _ = mo.StreamContext(engine="reference").stream_channel(tuple[int, str])
    inlet.send((1, "a"))
    with pytest.raises(mo.PlanError, match=r"stream_channel: .* is not of the type .*test_endpoints.py"):
        inlet.send((1, 2))


def test_threads_send_and_the_job_ends_when_the_channel_is_closed(spark_ctx: mo.StreamContext) -> None:
    inlet, numbers = spark_ctx.stream_channel(int, capacity=60)
    sums: list[int] = []
    numbers.rich_map(0, lambda s, n: (s + n, s + n)).for_each(sums.append)
    even = numbers.filter(lambda n: n % 2 == 0).collect_channel()
    job = spark_ctx.start()

    def send() -> None:
        with inlet:
            inlet.send_all(range(300))

    sender = threading.Thread(target=send)
    sender.start()
    assert job.wait(300), "it ends by itself"
    sender.join()
    assert list(even) == list(range(0, 300, 2)), "in the order in which they were sent, to every sink"
    assert sums == [sum(range(n + 1)) for n in range(300)]
    measured, other = job.metrics()["sinks"]
    assert (measured["elements_in"], measured["elements_out"], other["elements_out"]) == (300, 300, 150)
    assert measured["waiting"] == 0
    assert measured["batch_seconds"]["longest"] >= measured["batch_seconds"]["mean"] > 0
    ((title, size),) = measured["state"].items()
    assert title.startswith("rich_map (")
    assert size["bytes"] > 0
    assert other["state"] == {}


def test_a_channel_gives_so_many_elements_at_a_time(spark: Any, tmp_path: Path) -> None:
    snapshots = mo.Snapshots(tmp_path, items=4)
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
        inlet, numbers = ctx.stream_channel(int)
        sink = Kept()
        numbers.write_to(sink)
        job = ctx.start()
        with inlet:
            inlet.send_all(range(10))
        assert job.wait(300)
        assert sink.elements == list(range(10))
        assert sum(1 for call in sink.calls if call[0] == "commit") >= 3


def test_what_was_sent_before_a_stop_is_read_after_it(spark: Any, tmp_path: Path) -> None:
    sink = Kept()

    def context() -> mo.StreamContext:
        return mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=mo.Snapshots(tmp_path))

    with context() as ctx:
        inlet, numbers = ctx.stream_channel(int)
        numbers.write_to(sink)
        job = ctx.start()
        inlet.send_all([1, 2])
        until(lambda: sink.elements == [1, 2] or job.wait(0.05), 150)
        job.stop()
        inlet.send(3)
        inlet.flush()
    with context() as ctx:
        inlet, numbers = ctx.stream_channel(int)
        numbers.write_to(sink)
        job = ctx.start()
        with inlet:
            inlet.send(4)
        assert job.wait(300)
    assert sink.elements == [1, 2, 3, 4]


# -- sockets --------------------------------------------------------------------------------------------------------


def test_lines_from_a_socket(spark_ctx: mo.StreamContext) -> None:
    seen: list[tuple[int, str]] = []
    words = ["eins", "zwei", "drei", "vier", "fünf", "zwölf"]
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(f"{word}\n" for word in words).encode())
                until(lambda: len(seen) == len(words))

        threading.Thread(target=serve, daemon=True).start()
        lines = spark_ctx.stream_socket("127.0.0.1", server.getsockname()[1]).map(lambda t: t.upper())
        lines.rich_map(0, lambda n, line: (n + 1, (n, line))).for_each(seen.append)
        job = spark_ctx.start()
        try:
            until(lambda: len(seen) == len(words) or job.wait(0.05), 150)
        finally:
            job.stop()
    assert seen == list(enumerate(word.upper() for word in words)), "in the order in which they were sent"


def test_a_socket_is_read_once_for_sinks_that_are_queries_of_their_own(spark_ctx: mo.StreamContext) -> None:
    seen: list[str] = []
    counted: list[tuple[int, str]] = []
    accepted: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                accepted.append(connection)
                with connection:
                    for number in range(200):
                        connection.sendall(f"{number}\n".encode())

        threading.Thread(target=serve, daemon=True).start()
        lines = spark_ctx.stream_socket("127.0.0.1", server.getsockname()[1])
        lines.for_each(seen.append)
        lines.map(lambda text: text[-1]).for_each(seen.append)
        lines.rich_map(0, lambda n, line: (n + 1, (n, line))).for_each(lambda pair: counted.append(pair))
        job = spark_ctx.start()
        assert job.wait(300), "it ends when the server has no more"
        server.shutdown(socket.SHUT_RDWR)
    assert len(accepted) == 1
    texts = [str(n) for n in range(200)]
    assert counted == list(enumerate(texts))
    assert sorted(seen) == sorted([*texts, *(text[-1] for text in texts)])
    assert job.metrics()["elements_in"] == 400, "two queries read what is in the files"


def test_a_rate_is_in_order_where_that_matters(spark_ctx: mo.StreamContext) -> None:
    steps: list[int] = []
    spark_ctx.stream_rate(100).rich_map(-1, lambda last, n: (n, n - last)).for_each(steps.append)
    job = spark_ctx.start()
    try:
        until(lambda: len(steps) >= 150 or job.wait(0.05), 150)
    finally:
        job.stop()
    assert set(steps) == {1}


@pytest.mark.parametrize(("host", "port"), [("", 80), ("localhost", 0), ("localhost", 70000), ("localhost", "80")])
def test_a_socket_needs_a_host_and_a_port(host: str, port: Any) -> None:
    with pytest.raises(mo.PlanError, match="stream_socket needs"):
        mo.StreamContext(engine="reference").stream_socket(host, port)


def test_a_server_that_is_not_there(spark_ctx: mo.StreamContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    spark_ctx.stream_socket("127.0.0.1", port).for_each(print)
    with pytest.raises(mo.MorisotError, match="refused"):
        spark_ctx.start().wait(60)
