"""Replicas and their server, in one process without Spark."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

import morisot as mo
from morisot.engines.spark.replicas.server import ReplicaServer
from morisot.worker.loops.link import Address, connect
from morisot.worker.replicas.replica import LiveReplica, Placed, replica_of

SECONDS = 10.0
MESSAGE = mo.Message(0, None, False, 0, mo.Sender("stream_iter", 0))


class Recording(mo.Operator[Any, Any]):
    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.fails_at: int | None = None

    def on_init(self, place: mo.Replica) -> None:
        self.calls.append(("init", place.instance))

    def process(self, element: Any, message: mo.Message) -> list[Any]:
        self.calls.append(("process", message.instance))
        return [element]

    def on_local_snapshot(self, snapshot: int) -> None:
        self.calls.append(("local", snapshot))

    def on_global_snapshot(self, snapshot: int) -> None:
        if snapshot == self.fails_at:
            raise OSError("disk full")
        self.calls.append(("global", snapshot))

    def on_error(self, error: BaseException) -> None:
        self.calls.append(("error", str(error)))

    def on_exit(self) -> None:
        self.calls.append(("exit", None))


@pytest.fixture
def server() -> Iterator[ReplicaServer]:
    found = ReplicaServer(lambda: "127.0.0.1")
    yield found
    found.end()


def placed(server: ReplicaServer, *, replicas: int = 2, number: int = 0, operator: Any = None) -> Placed:
    address = server.serve(number, "apply", replicas)
    return Placed(server.run, number, replicas, (operator or Recording()).process, address)


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def calls_of(replica: LiveReplica) -> list[Any]:
    calls: list[Any] = replica.operator.calls
    return calls


def test_a_process_keeps_its_replica_from_task_to_task(server: ReplicaServer) -> None:
    spec = placed(server)
    first = replica_of(spec, None)
    first.end_task(leased=True)
    assert replica_of(spec, None) is first
    assert calls_of(first) == [("init", 0)]


def test_a_replica_for_each_instance(server: ReplicaServer) -> None:
    spec = placed(server)
    assert [replica_of(spec, instance).instance for instance in (0, 1)] == [0, 1]


def test_snapshots_are_called_back_in_order(server: ReplicaServer) -> None:
    replica = replica_of(placed(server), 1)
    server.note_stored(4)
    server.note_complete(4)
    server.note_complete(4)
    wait_for(lambda: len(calls_of(replica)) == 3)
    assert calls_of(replica) == [("init", 1), ("local", 4), ("global", 4)]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_fault_around_the_message_about_a_snapshot(server: ReplicaServer, moment: Literal["before", "after"]) -> None:
    """The next look at the checkpoint sends it, if it was not sent."""
    replica = replica_of(placed(server), 0)
    with mo.testing.fault(moment, "link message", number=4), pytest.raises(mo.testing.InjectedFault):
        server.note_complete(4)
    server.note_complete(4)
    server.note_complete(5)
    wait_for(lambda: ("global", 5) in calls_of(replica))
    assert calls_of(replica) == [("init", 0), ("global", 4), ("global", 5)]


def test_a_new_replica_knows_the_last_snapshot_before_its_first_element(server: ReplicaServer) -> None:
    server.note_complete(6)
    replica = replica_of(placed(server), 0)
    assert calls_of(replica) == [("init", 0), ("global", 6)]


def test_a_callback_that_fails_stops_the_job(server: ReplicaServer) -> None:
    operator = Recording()
    operator.fails_at = 2
    replica = replica_of(placed(server, operator=operator), 0)
    server.note_complete(2)
    server.note_complete(3)
    wait_for(lambda: ("global", 3) in calls_of(replica))
    with pytest.raises(OSError, match="disk full"):
        replica.process("element", MESSAGE)


def test_the_failure_of_a_job_is_called_back_everywhere(server: ReplicaServer) -> None:
    replicas = [replica_of(placed(server, number=number), 0) for number in (0, 1)]
    server.fail("ZeroDivisionError: division by zero")
    server.end()
    for replica in replicas:
        assert calls_of(replica)[1:] == [("error", "ZeroDivisionError: division by zero"), ("exit", None)]


def test_the_end_waits_for_on_exit(server: ReplicaServer) -> None:
    replica = replica_of(placed(server), 0)
    server.end()
    assert calls_of(replica)[-1] == ("exit", None)
    assert replica.is_over


def test_leases_limit_how_many_tasks_run(server: ReplicaServer) -> None:
    spec = placed(server, replicas=1)
    first = replica_of(spec, None)
    other = LiveReplica(spec, None)  # that of another process
    took = threading.Event()

    def take() -> None:
        other.take_lease()
        took.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not took.wait(0.1)
    first.end_task(leased=True)
    assert took.wait(SECONDS)
    thread.join()
    assert other.instance == 0
    other.end()


def test_processes_have_leases_of_their_own(server: ReplicaServer) -> None:
    spec = placed(server, replicas=2)
    first = replica_of(spec, None)
    first.end_task(leased=True)
    wait_for(lambda: server.placement()[0].inputs == 0)
    other = LiveReplica(spec, None)
    other.take_lease()
    assert {first.instance, other.instance} == {0, 1}, "the lease of a process that waits is the last one to be given"


def test_placement(server: ReplicaServer) -> None:
    replica = replica_of(placed(server), 1)
    replica.process("element", MESSAGE)
    replica.end_task(leased=False)
    wait_for(lambda: server.placement()[0].inputs)
    (found,) = server.placement()
    assert (found.operator, found.instance, found.inputs, found.outputs) == ("apply", 1, 1, 1)
    server.end()
    assert server.placement() == [found]


def test_a_peer_without_the_key_is_refused(server: ReplicaServer) -> None:
    address = server.serve(0, "apply", 1)
    assert connect(Address(address.host, address.port, b"x" * 32)) is None
    assert replica_of(placed(server), 0).instance == 0


def test_replicas_leave_when_the_driver_is_gone() -> None:
    server = ReplicaServer(lambda: "127.0.0.1")
    spec = placed(server)
    replica = replica_of(spec, 0)
    server.end()
    wait_for(lambda: replica.is_over)
    fresh = Placed(uuid.uuid4().hex, 0, 2, Recording().process, spec.address)
    with pytest.raises(mo.JobError, match="does not answer"):
        replica_of(fresh, 0)
