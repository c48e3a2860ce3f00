"""The lines that a server sends: one connection for all queries of a job, with the lines in channel files.

A query that is restarted, because an operator was demoted or a worker died, replays the lines, and all queries read the
same lines. Lines that were not received when the program ends are lost.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from morisot.engines.spark.streaming.channel_files import ChannelFiles
from morisot.errors import Location, MorisotError, SourceError
from morisot.types.element import STR

_CAPACITY = 100_000
"""The largest backlog of lines. Beyond it the connection is not read, so that the server has to wait."""
_PATIENCE = 30.0
"""Seconds to wait for a connection."""
_BYTES = 2**16


class SocketLines(ChannelFiles):
    """The lines of one server, received while queries read them."""

    def __init__(self, host: str, port: int, location: Location, directory: Path, *, keep: int | None = None) -> None:
        super().__init__(directory, STR, _CAPACITY, keep=keep)
        self._address = (host, port)
        self._title = f"stream_socket ({location})"
        self._line: socket.socket | None = None

    def attach(self, reader: str, done: Iterable[str] = ()) -> None:
        """Called when a query starts to read. The first query opens the connection."""
        super().attach(reader, done)
        if self._line is None:
            self._line = self._connected()
            with self._changed:
                self.closed, self.problem = False, None
            name = f"morisot-socket-{self._address[1]}"
            threading.Thread(target=self._read, args=(self._line,), name=name, daemon=True).start()

    def detach(self, reader: str) -> None:
        """Called when a query has ended. The last one closes the connection."""
        super().detach(reader)
        if not self._done and not self._expected and self._line is not None:
            line, self._line = self._line, None
            with contextlib.suppress(OSError):  # the server may have closed it before
                line.shutdown(socket.SHUT_RDWR)

    def _connected(self) -> socket.socket:
        try:
            line = socket.create_connection(self._address, timeout=_PATIENCE)
        except OSError as error:
            host, port = self._address
            said = error.strerror or error
            raise SourceError(f"{self._title} cannot connect to {host}:{port}: {said}") from None
        line.settimeout(None)
        return line

    def _read(self, line: socket.socket) -> None:
        """Receives lines until the server closes the connection, or the last query has ended."""
        problem: MorisotError | None = None
        try:
            with line:
                for lines in lines_of(line):
                    self.put(lines)
        except MorisotError as error:
            problem = error
        except OSError as error:
            problem = SourceError(f"{self._title}: the connection broke: {error.strerror or error}")
        if self._line is not line:
            return  # it was closed on this side
        if problem is None:
            self.close()
        self.problem = problem


def lines_of(line: socket.socket) -> Iterator[list[str]]:
    """Lists of received lines, as many at a time as are available. The last line may have no newline."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
    rest = ""
    while received := line.recv(_BYTES):
        *whole, rest = (rest + decoder.decode(received)).split("\n")
        yield whole
    *whole, rest = (rest + decoder.decode(b"", final=True)).split("\n")
    yield [*whole, rest] if rest else whole
