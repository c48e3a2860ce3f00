"""The coordinator of a loop: a thread of the driver that the tasks connect to.

It sends the state, collects the deltas, folds them in the order of partitions, and evaluates the condition. If a task
is lost, it waits for the tasks of the next attempt, and repeats the incomplete round.
"""

from __future__ import annotations

import os
import socket
import threading
from multiprocessing.connection import wait
from typing import Any

from morisot.engines.spark.checkpoints.snapshot_files import Digest
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.loops.rounds import Rounds
from morisot.errors import JobError, SinkError
from morisot.worker.loops.link import Address, Gone, Link, accept
from morisot.worker.loops.messages import Delta, ElementsSaved, End, Failed, Hello, Round, Save, TaskId, Unsaved
from morisot.worker.report.failure import reported

_NOTICING_SECONDS = 2.0
_STOPPING_SECONDS = 10.0
"""Seconds to wait for the thread: a user's function that never returns must not prevent Ctrl-C."""


class Coordinator:
    """Runs the rounds of one loop in its tasks."""

    def __init__(self, rounds: Rounds, host: str, *, feedback: bool, reads_itself: bool = False) -> None:
        self.rounds = rounds
        self.error: BaseException | None = None
        self._lost = threading.Event()
        self._feedback = feedback
        self._reads_itself = reads_itself
        """Whether the tasks read or generate the elements themselves."""
        self._listener = socket.create_server((host, 0), backlog=256)
        self._listener.settimeout(0)
        self.address = Address(host, self._listener.getsockname()[1], os.urandom(32))
        self._unnamed: list[Link] = []
        """Connections without a first message yet."""
        self._links: dict[int, Link] = {}
        self._deltas: dict[int, Delta] = {}
        self._saved: dict[int, ElementsSaved] = {}
        self._attempt: tuple[int, int] | None = None
        self._has_connected = False
        """Whether a task has connected."""
        self._ended, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._guarded, name="morisot-loop", daemon=True)
        self._thread.start()

    # -- called by the driver ---------------------------------------------------------------------------------------

    def has_lost_a_task(self) -> bool:
        """Whether a task was lost in the middle of the loop. Spark may notice it a little before the coordinator."""
        return self._lost.wait(_NOTICING_SECONDS)

    def finish(self) -> None:
        """Called when the Spark job has ended. If no task has connected, all rounds run without elements."""
        self.stop()
        if self.error is not None:
            raise self.error
        if not self.rounds.over:
            if self._has_connected:
                raise JobError("the tasks of a loop ended before its last round")
            self.rounds.run_empty()  # a stage without tasks

    def stop(self) -> None:
        """Ends all tasks and the thread."""
        if self._thread.is_alive():
            self._wake.send(b"x")
            self._thread.join(_STOPPING_SECONDS)
        self._close()

    def _close(self) -> None:
        for link in (*self._unnamed, *self._links.values()):
            link.close()
        self._unnamed.clear()
        self._links.clear()
        for each in (self._listener, self._ended, self._wake):
            each.close()

    # -- the thread -------------------------------------------------------------------------------------------------

    def _guarded(self) -> None:
        try:
            self._serve()
        except BaseException as error:
            self.error = error
        if self.error is not None:
            self._broadcast(dumps(End(emit=False)))

    def _serve(self) -> None:
        while True:
            lines: list[Any] = [self._listener, self._ended, *self._unnamed, *self._links.values()]
            ready: list[Any] = wait(lines)
            if self._ended in ready:
                return
            if self._listener in ready:
                link = accept(self._listener, self.address.key)
                self._unnamed += [] if link is None else [link]
            named = [(partition, link) for partition, link in self._links.items() if link in ready]
            for link in [link for link in self._unnamed if link in ready]:
                self._unnamed.remove(link)
                self._welcome(link)
            for partition, link in named:
                if self._links.get(partition) is link:  # the connection was closed meanwhile
                    self._receive(partition, link.receive())
            if self.error is not None:
                return

    def _welcome(self, link: Link) -> None:
        hello = link.receive()
        if not isinstance(hello, Hello):
            link.close()
            return
        self._has_connected = True
        task = hello.task
        if self._attempt != (task.attempt, task.partitions):
            self._start_over(task)
        self._links[task.partition] = link
        self.rounds.elements += hello.elements
        if len(self._links) == task.partitions:
            self._lost.clear()
            self._send_round()

    def _start_over(self, task: TaskId) -> None:
        """Starts with the tasks of a new attempt. Those of the old one are closed."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        self._deltas.clear()
        self._saved.clear()
        self._attempt = (task.attempt, task.partitions)
        self.rounds.elements = 0
        if self._feedback:
            self.rounds.rewind()

    def _receive(self, partition: int, message: Any) -> None:
        match message:
            case Delta():
                self._deltas[partition] = message
                if self._attempt is not None and len(self._deltas) == self._attempt[1]:
                    deltas = [self._deltas[index] for index in range(self._attempt[1])]
                    self._deltas.clear()
                    self._fold(deltas)
            case ElementsSaved():
                self._saved[partition] = message
                if self._attempt is not None and len(self._saved) == self._attempt[1]:
                    written = {each.file: Digest(each.size, each.sha256) for each in self._saved.values()}
                    self._saved.clear()
                    if self._feedback:
                        self.rounds.commit(written)
                    else:
                        self.rounds.commit_input(written)
                        self._save_state()
                    self._send_round()
            case Failed(report):
                self.error = reported(report)
            case Unsaved(said):
                self.error = SinkError(said)
            case Gone():
                self._lose(partition)

    def _lose(self, partition: int) -> None:
        self._links.pop(partition).close()
        if not self.rounds.over:
            self._lost.set()
            self._attempt = None
            for link in self._links.values():
                link.close()
            self._links.clear()
            self._deltas.clear()
            self._saved.clear()

    def _fold(self, deltas: list[Delta]) -> None:
        self.rounds.fold([(delta.elements, delta.delta) for delta in deltas])
        if not self.rounds.should_save():
            self._send_round()
        elif self._feedback:
            self._broadcast(dumps(Save(str(self.rounds.begin_saving()))))
        elif self.rounds.needs_input and not self._reads_itself:
            self._broadcast(dumps(Save(str(self.rounds.begin_input()))))
        else:
            self._save_state()
            self._send_round()

    def _save_state(self) -> None:
        self.rounds.begin_saving()
        self.rounds.commit()

    def _send_round(self) -> None:
        if self.rounds.over:
            self._broadcast(dumps(End(emit=True)))
        else:
            self._broadcast(dumps(Round(self.rounds.number + 1, self.rounds.begin())))

    def _broadcast(self, message: bytes) -> None:
        for link in self._links.values():
            link.send(message)
