"""The lines of a server, read once for all queries, without Spark."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.streaming.socket_source import SocketLines
from morisot.errors import Location

HERE = Location("program.py", 7)
_PATIENCE = 30


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


class Server:
    """A server on this machine that sends what a test says."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_PATIENCE)
        self.port: int = self._listener.getsockname()[1]

    def accept(self) -> socket.socket:
        connection, _ = self._listener.accept()
        connection.settimeout(_PATIENCE)
        return connection

    def has_another(self) -> bool:
        """Whether another client wants to connect."""
        self._listener.settimeout(0.2)
        try:
            self._listener.accept()[0].close()
        except TimeoutError:
            return False
        finally:
            self._listener.settimeout(_PATIENCE)
        return True

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def lines_in(directory: Path) -> list[str]:
    files = sorted(directory.glob("*.parquet"))
    tables: list[list[Any]] = [pq.read_table(file)["value"].to_pylist() for file in files]
    return [line for table in tables for line in table]


def reading(server: Server, directory: Path, *readers: str) -> tuple[SocketLines, socket.socket]:
    lines = SocketLines("127.0.0.1", server.port, HERE, directory)
    for reader in readers:
        lines.expect(reader)
    for reader in readers:
        lines.attach(reader)
    return lines, server.accept()


def test_lines_wait_in_files_until_every_query_has_read_them(server: Server, tmp_path: Path) -> None:
    lines, connection = reading(server, tmp_path, "one", "two")
    assert not server.has_another(), "one connection serves both"
    connection.sendall(b"eins\nzw")
    until(lambda: lines.backlog == 1)
    connection.sendall("ölf\r\ndrei".encode())
    connection.close()
    until(lambda: lines.closed)
    assert lines_in(tmp_path) == ["eins", "zwölf", "drei"], "a last line may have no end of its own"
    names = {file.name for file in tmp_path.glob("*.parquet")}
    lines.take_note("one", names)
    assert lines.is_drained("one")
    assert not lines.is_drained("two")
    assert lines_in(tmp_path) == ["eins", "zwölf", "drei"]
    lines.take_note("two", names)
    assert lines.is_drained("two")
    assert lines_in(tmp_path) == []


def test_what_is_no_text_is_replaced(server: Server, tmp_path: Path) -> None:
    lines, connection = reading(server, tmp_path, "one")
    connection.sendall(b"\xff\n\n\xe2\x82")
    connection.close()
    until(lambda: lines.closed)
    assert lines_in(tmp_path) == ["\ufffd", "", "\ufffd"]


def test_a_server_that_sends_too_fast_waits(server: Server, tmp_path: Path) -> None:
    lines, connection = reading(server, tmp_path, "one")
    lines._capacity = 10

    def send() -> None:
        with contextlib.suppress(OSError):  # it is cut off at the end
            connection.sendall(b"line\n" * 4_000_000)

    sender = threading.Thread(target=send)
    sender.start()
    until(lambda: lines.backlog == 10)
    sender.join(0.5)
    assert sender.is_alive(), "what is sent finds no room"
    assert lines.backlog == 10
    lines.detach("one")
    connection.close()
    sender.join(_PATIENCE)


def test_the_connection_ends_with_the_last_query_and_is_made_again_by_the_next(server: Server, tmp_path: Path) -> None:
    lines, connection = reading(server, tmp_path, "one", "two")
    lines.detach("one")
    connection.sendall(b"a\n")
    until(lambda: lines.backlog == 1)
    lines.flush()
    lines.detach("two")
    assert connection.recv(1) == b"", "the peer has closed the connection"
    assert lines.problem is None
    lines.attach("three")
    again = server.accept()
    again.sendall(b"b\n")
    again.close()
    until(lambda: lines.closed)
    assert lines_in(tmp_path) == ["a", "b"]
    lines.detach("three")
    lines.attach("four")
    server.accept().close()
    until(lambda: lines.closed)


def test_a_connection_that_breaks_is_a_problem(server: Server, tmp_path: Path) -> None:
    lines, connection = reading(server, tmp_path, "one")
    connection.sendall(b"a\n")
    until(lambda: lines.backlog == 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    until(lambda: lines.problem is not None)
    assert isinstance(lines.problem, mo.SourceError)
    assert str(lines.problem) == "stream_socket (program.py:7): the connection broke: Connection reset by peer"
    assert not lines.closed, "there may have been more"


def test_a_server_that_is_not_there(server: Server, tmp_path: Path) -> None:
    server.close()
    lines = SocketLines("127.0.0.1", server.port, HERE, tmp_path)
    with pytest.raises(
        mo.SourceError, match=r"stream_socket \(program.py:7\) cannot connect to 127.0.0.1:\d+: .*refused"
    ):
        lines.attach("one")
